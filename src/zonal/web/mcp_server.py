"""The tools of `agent_tools` over the Model Context Protocol, by its own SDK (extra `mcp`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from zonal.errors import ZonalError
from zonal.web.agent_tools import TOOLS, AgentTools

INSTRUCTIONS = (
    "Zonal finds the region with the highest (or lowest) average. Loop: ask, measure the region, tell; then "
    "recommend and why. Tell only what was measured."
)


def mcp_server(tools: AgentTools) -> MCPServer:
    """Return a server with these tools."""
    server = MCPServer("zonal", instructions=INSTRUCTIONS, log_level="ERROR")
    for name in TOOLS:
        server.tool(name, structured_output=False)(_refusing(getattr(tools, name)))
    return server


def _refusing(tool: Callable[..., str]) -> Callable[..., str]:
    """Return a tool whose refusals are sentences."""

    @wraps(tool)
    def call(*arguments: Any, **named: Any) -> str:
        try:
            return tool(*arguments, **named)
        except (ZonalError, OSError) as error:
            raise ToolError(str(error)) from None

    return call
