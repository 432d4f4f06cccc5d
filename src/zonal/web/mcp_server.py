"""The tools of `agent_tools` over the Model Context Protocol, by its own SDK (extra `mcp`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from zonal.errors import InvalidInput, ZonalError
from zonal.web.agent_tools import TOOLS, AgentTools

INSTRUCTIONS = (
    "Zonal finds the region with the highest (or lowest) average. Loop: ask, measure the region, tell; then "
    "recommend and why. Tell only what was measured."
)


def mcp_server(tools: AgentTools) -> MCPServer:
    """Return a server with these tools."""
    server = RefusingServer("zonal", instructions=INSTRUCTIONS, log_level="ERROR")
    for name in TOOLS:
        server.tool(name, structured_output=False)(_refusing(getattr(tools, name)))
    return server


class RefusingServer(MCPServer):
    """A server that refuses wrong arguments in a sentence; the SDK drops those that a tool does not have."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool."""
        if name in TOOLS:
            named = [*inspect.signature(getattr(AgentTools, name)).parameters][1:]
            fix = f"Pass {', '.join(named) or 'none'}."
            unknown = [argument for argument in arguments if argument not in named]
            if unknown:
                raise ToolError(str(InvalidInput(f"{name} has no such argument", unknown[0], fix)))
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_sentence(name, error.__cause__)) from None
            raise


def _sentence(name: str, invalid: ValidationError) -> str:
    """Return what is wrong with the first wrong argument of a tool."""
    wrong = invalid.errors()[0]
    argument = ".".join(map(str, wrong["loc"]))
    if wrong["type"] == "missing":
        return f"{name} needs the argument {argument}. Pass it."
    return str(InvalidInput(f"{argument} of {name} has a wrong type", wrong["input"], f"{wrong['msg']}."))


def _refusing(tool: Callable[..., str]) -> Callable[..., str]:
    """Return a tool whose refusals are sentences."""

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> str:
        try:
            return tool(*arguments, **named)
        except (ZonalError, OSError) as error:
            raise ToolError(str(error)) from None

    return call
