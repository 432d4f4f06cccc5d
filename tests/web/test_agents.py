"""Agents over the Model Context Protocol: they cannot overspend or erase, and `verify` decides the same again."""

import asyncio
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zonal as zn
from zonal.engine.events import Asked
from zonal.storage.verify import first_difference
from zonal.web.agent_tools import TOOLS, AgentTools

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from zonal.web.mcp_server import mcp_server

MAX_TOKENS, CHARACTERS_PER_TOKEN = 2500, 3.5  # the rule of docs/manual/agents.md


@pytest.fixture
def study(tmp_path: Path) -> zn.Study:
    space = zn.Box([(0, 1)], smallest=1 / 16)
    return zn.Study.create(tmp_path / "sky.db", space, budget=12, kernel=zn.RBF(1.0, 0.2), noise=0.1)


async def call(client: Any, name: str, **fields: Any) -> tuple[bool, str]:
    result = await client.call_tool(name, fields)
    return bool(result.is_error), "".join(block.text for block in result.content)


def clean(study: zn.Study) -> None:
    study.refresh()
    assert first_difference(study.settings, study.events) == ""


def test_a_whole_campaign(tmp_path: Path, study: zn.Study) -> None:
    async def campaign() -> None:
        async with Client(mcp_server(AgentTools(tmp_path, by="robot"))) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == list(TOOLS)
            text = "".join(
                json.dumps({"name": tool.name, "description": tool.description, "schema": tool.input_schema})
                for tool in listed
            )
            assert len(text) / CHARACTERS_PER_TOKEN < MAX_TOKENS
            assert json.loads((await call(client, "studies"))[1])[0]["study"] == "sky"
            while json.loads((await call(client, "describe", study="sky"))[1])["remaining"]:
                _, asked = await call(client, "ask", study="sky")
                (trial,) = json.loads(asked)["trials"]
                low, high = trial["region"]["bounds"]["x"]
                value = math.sin(3 * (low + high) / 2)
                failed, _ = await call(client, "tell", study="sky", trial=trial["trial"], value=value)
                assert not failed
            failed, sentence = await call(client, "ask", study="sky")
            assert failed
            assert "budget" in sentence
            assert "best" in json.loads((await call(client, "recommend", study="sky"))[1])
            assert "The answer is" in (await call(client, "why", study="sky"))[1]
            assert "Trial 3" in (await call(client, "why", study="sky", trial=3))[1]

    asyncio.run(campaign())
    clean(study)
    assert study.measured == 12
    assert all(event.by == "robot" for events in study.events for event in events if isinstance(event, Asked))


def test_500_random_calls_keep_the_budget(tmp_path: Path, study: zn.Study) -> None:
    rng = np.random.default_rng(0)
    odd: list[Any] = ["sky", "sky", "sky", "none", "../sky", ""]
    regions = ["x=0..0.5", "x=0.2..0.3", "x=5..6", "", "y", "x=0.5..0.1"]
    numbers: list[Any] = [0, 1, 2, 5, 11, -1, 99, 10**20, 1.5, "three", None]
    values: list[Any] = [0.3, -1.0, 1e308, "nan", "high", None, 0]

    def pick(choices: list[Any]) -> Any:
        return choices[int(rng.integers(len(choices)))]

    async def play() -> None:
        async with Client(mcp_server(AgentTools(tmp_path, cap=10))) as client:
            for _ in range(500):
                name, fields = pick([*TOOLS]), {"study": pick(odd)}
                more = {"n": pick(numbers), "trial": pick(numbers), "value": pick(values), "region": pick(regions)}
                more |= {"regions": [pick(regions)], "k": pick(numbers)}
                wanted = {"ask": "n", "tell": "trial value", "observe": "region value", "correct": "trial value"}
                wanted |= {"predict": "regions", "recommend": "k", "why": "trial", "extend": "n"}
                fields |= {field: more[field] for field in wanted.get(name, "").split() if rng.random() < 0.9}
                _, text = await call(client, name, **({} if name == "studies" else fields))
                assert "Traceback" not in text
                study.refresh()
                assert study.measured + len(study.pending) <= min(study.budget, 10)

    asyncio.run(play())
    clean(study)
    assert study.measured > 0


def test_wrong_arguments_are_refused_in_a_sentence(tmp_path: Path, study: zn.Study) -> None:
    """What a tool does not have is not dropped: a standard error under another name would be lost."""

    async def play() -> None:
        async with Client(mcp_server(AgentTools(tmp_path))) as client:
            await call(client, "ask", study="sky")
            wrong: list[tuple[str, dict[str, Any], str]] = [
                ("tell", {"trial": 0, "value": 0.5, "standard_error": 0.1}, "no such argument"),
                ("tell", {"trial": 0}, "needs the argument value"),
                ("tell", {"trial": 0, "value": "high"}, "got 'high'"),
                ("predict", {"regions": [3]}, "regions.0 of predict has a wrong type; got 3"),
            ]
            for name, fields, expected in wrong:
                failed, sentence = await call(client, name, study="sky", **fields)
                assert failed
                assert expected in sentence
                assert "pydantic" not in sentence
                assert "\n" not in sentence

    asyncio.run(play())
    study.refresh()
    assert study.measured == 0


def test_calls_at_the_same_time_do_not_exceed_the_cap(tmp_path: Path, study: zn.Study) -> None:
    async def ask() -> list[tuple[bool, str]]:
        async with Client(mcp_server(AgentTools(tmp_path, cap=5))) as client:
            return await asyncio.gather(*[call(client, "ask", study="sky") for _ in range(30)])

    refused = [sentence for failed, sentence in asyncio.run(ask()) if failed]
    study.refresh()
    assert len(study.pending) == 5
    assert len(refused) == 25
    assert all("may ask for 0 more" in sentence for sentence in refused)


def test_a_campaign_over_standard_input_and_output(tmp_path: Path, study: zn.Study) -> None:
    """As an agent's host starts it: a process of its own, spoken to by the SDK's own client."""
    command = [sys.executable, "-m", "zonal", "mcp", str(tmp_path), "--by", "robot 1"]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))

    async def campaign() -> None:
        async with Client(stdio_client(server)) as client:
            for _ in range(12):
                _, asked = await call(client, "ask", study="sky")
                (trial,) = json.loads(asked)["trials"]
                failed, _ = await call(client, "tell", study="sky", trial=trial["trial"], value=0.5)
                assert not failed
            failed, sentence = await call(client, "ask", study="sky")
            assert failed
            assert "Traceback" not in sentence

    asyncio.run(campaign())
    clean(study)
    assert study.measured == 12


def test_read_only_changes_nothing(tmp_path: Path, study: zn.Study) -> None:
    async def look() -> None:
        async with Client(mcp_server(AgentTools(tmp_path, read_only=True))) as client:
            changes: dict[str, dict[str, object]] = {
                "ask": {},
                "extend": {"n": 5},
                "observe": {"region": "x=0..1", "value": 1},
            }
            for name, fields in changes.items():
                failed, sentence = await call(client, name, study="sky", **fields)
                assert failed
                assert "may only read" in sentence

    asyncio.run(look())
    study.refresh()
    assert len(study.events) == 1
