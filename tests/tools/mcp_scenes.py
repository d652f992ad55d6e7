"""Runs with servers of ours: what a run may use, and the tool that reaches it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Mcp
from kova_auto.core.mcp.roster import Chosen
from kova_auto.core.mcp.server import Layer, Server
from kova_auto.core.message import ToolCall
from kova_auto.core.tool import CallFacts, Scene
from kova_auto.tools.mcp.cache import Cache
from kova_auto.tools.mcp.launch import Address, Launch, Limits, Program
from kova_auto.tools.mcp.pool import Pool
from kova_auto.tools.mcp.tool import McpTool
from kova_auto.tools.run_dirs import RunDirs
from kova_auto.tools.toolbox import LocalToolbox
from tests.doubles import hostile_mcp
from tests.tools.tool_scenes import ALLOWED, Played, a_scene, played

PROGRAM = str(Path(hostile_mcp.__file__))
FAST = Limits(idle_s=60, backoff_s=60, grace_s=0.2)


def server(way: str = "good", *args: str, name: str = "db", **keys: JsonValue) -> Server:
    """Return a server that behaves in a way; it is given the time that a busy machine takes."""
    said = {"name": name, "layer": Layer.USER, "timeout_s": 60.0, "tool_timeout_s": 60.0, **keys}
    return Server.model_validate({**said, "command": sys.executable, "args": ["-I", PROGRAM, way, *args]})


@asynccontextmanager
async def no_dialler(address: Address) -> AsyncIterator[tuple[Any, Any]]:
    """Refuse to connect: these servers run on this machine."""
    message = f"nothing is connected to here, and {address.url} was wanted"
    raise OSError(message)
    yield


@dataclass
class Desk:
    """Hold a run's tool with its servers."""

    tool: McpTool
    pool: Pool
    scene: Scene
    toolbox: LocalToolbox
    dirs: RunDirs

    async def do(self, action: str, **args: JsonValue) -> Played:
        """Make a call as the service makes it: a failure is a result."""
        return await played(self.toolbox.execute(_asked(action, args), ALLOWED, self.scene))

    async def call(self, tool: str = "echo", server: str = "db", **arguments: JsonValue) -> Played:
        """Call a tool."""
        return await self.do("call", server=server, tool=tool, arguments=arguments)

    async def facts(self, action: str = "call", **args: JsonValue) -> CallFacts:
        """Return what a call would touch."""
        return await self.toolbox.facts(_asked(action, args), self.scene)


def _redact(text: str) -> str:
    return text.replace("s3cr3t-t0k3n", "[redacted]")


def _asked(action: str, args: Mapping[str, JsonValue]) -> ToolCall:
    return ToolCall(id=CallId("1.1"), tool="mcp", args={"action": action, **args})


@asynccontextmanager
async def a_desk(
    path: Path, *servers: Server, limits: Limits = FAST, env: Mapping[str, str] | None = None
) -> AsyncIterator[Desk]:
    """Give a run some servers; whatever of them is left at the end is ended."""
    workspace = path / "work"
    workspace.mkdir(parents=True, exist_ok=True)
    scene = a_scene(workspace)
    named = Mcp(servers=tuple(one.address for one in servers))
    scene = replace(scene, job=scene.job.model_copy(update={"mcp": named}))

    def launch(one: Server, scene: Scene) -> Launch:
        if one.url:
            return Address(one.url, {}, allow_private=one.allow_private)
        return Program((one.command, *one.args), {"PATH": "/usr/bin:/bin", **(env or {})}, Path(scene.workspace))

    def dirs(run_id: RunId) -> RunDirs:
        return RunDirs(path / "cache", run_id)

    pool = Pool(launch, dirs, Cache(path / "tools", str), no_dialler, limits)
    tool = McpTool(lambda _: Chosen(servers), pool, _redact)
    toolbox = LocalToolbox((tool,), redact=_redact, holds_secret=bool)
    try:
        yield Desk(tool, pool, scene, toolbox, dirs(scene.run_id))
    finally:
        await pool.close()
