"""`why` and `worth` say the same over HTTP, to a client, in a report and here."""

from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra web is not installed")

import zonal as zn
from web.server_process import line, serving


def test_why_and_worth_are_the_same_everywhere(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        study = line(tmp_path, told=6)
        sentences = str(study.why()).splitlines()
        path = "/api/v1/studies/line"
        assert server.get(f"{path}/why").json["sentences"] == sentences
        assert server.get(f"{path}/why?trial=2").json["sentences"] == str(study.why(2)).splitlines()
        assert server.get(f"{path}/worth?region=x%3D0..0.3").json["sentences"] == [str(study.worth([(0, 0.3)]))]
        assert server.get(f"{path}/why?trial=99").status == 404
        remote = zn.connect(server.url("line"))
        assert str(remote.why()).splitlines() == sentences
        assert str(remote.why(2)) == str(study.why(2))
        assert str(remote.worth([(0, 0.3)])) == str(study.worth([(0, 0.3)]))
        assert "The answer is" in study.report()
