"""What the tests of the service and of the page share: a browser, and a server of an empty folder, once a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from web.browser import chromium
from web.server_process import Server, serving


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a Chromium."""
    with chromium() as made:
        yield made


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Return a server; a file whose studies all tests share makes its own."""
    with serving(tmp_path_factory.mktemp("studies")) as made:
        yield made
