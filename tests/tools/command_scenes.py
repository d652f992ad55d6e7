"""Builders for tests of the tools that run commands: real bash, in the confinement that this machine gives."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.event import CallStarted, ProcessStarted
from kova_auto.core.gateway import Gateway
from kova_auto.core.ids import CallId
from kova_auto.core.message import ToolCall
from kova_auto.core.run import CallState
from kova_auto.core.secret import SecretRef
from kova_auto.core.tool import ProcessAnnounced, Scene, ToolOutput, ToolRun
from kova_auto.net.proxy import Proxy
from kova_auto.tools.bash import BashTool
from kova_auto.tools.commands import Commands, Host
from kova_auto.tools.sandbox import landlock
from kova_auto.tools.sandbox.plan import Level, Method
from kova_auto.tools.sandbox.select import Sandbox, find_bwrap
from kova_auto.tools.tool import Tool
from tests.net.proxied import Names
from tests.tools.sandbox.tries import methods_here
from tests.tools.tool_scenes import NOW, RUN, a_scene

METHODS = methods_here()
SYSTEM_PROGRAMS = (Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin"))


@cache
def a_sandbox(method: Method = Method.BWRAP) -> Sandbox:
    """Return a sandbox that proves what it does once for all tests; Landlock where there is no bubblewrap."""
    scratch = Path(tempfile.mkdtemp(prefix="kova-scratch-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    return sandbox_in(scratch, method)


def sandbox_in(scratch: Path, method: Method) -> Sandbox:
    bwrap = find_bwrap() if method is Method.BWRAP else None
    return Sandbox(scratch, (), bwrap=bwrap, landlock_abi=landlock.abi())


def some_commands(
    top: Path,
    *,
    method: Method = Method.BWRAP,
    secrets: Mapping[str, str] | None = None,
    sandbox: Sandbox | None = None,
    gateway: Gateway | None = None,
    others: Sequence[Path] = (),
    programs: Sequence[Path] = (),
) -> Commands:
    """Return what runs commands, as one process of the service would have it; its state lies below `top`.

    Args:
        top: A directory of the test's own.
        method: What confines.
        secrets: What the job's `[env]` may name.
        sandbox: Another than the one that all tests share.
        gateway: Another than one that leads nowhere.
        others: The workspaces of other jobs.
        programs: Directories of programs, the only ones on PATH.
    """
    known = secrets or {}
    host = Host(
        base=top / "service",
        environment={"PATH": ":".join(map(str, programs or SYSTEM_PROGRAMS)), "SERVICE_KEY": "of the service"},
        hidden=(top / "service",),
        toolchains=tuple(programs),
        secret=lambda ref: known[ref.env or ""],
        gateway=gateway or Proxy(Names({})),
        others=lambda: others,
    )
    return Commands(sandbox or a_sandbox(method), host)


def a_workspace(top: Path) -> Path:
    path = top / "workspace"
    path.mkdir()
    return path


def granting(scene: Scene, env: Mapping[str, str] | None = None, **permissions: JsonValue) -> Scene:
    """Return the scene of a job with other permissions; `env` names variables of the service by variable."""
    granted = scene.job.permissions.model_copy(update=permissions)
    given = {name: SecretRef(env=source) for name, source in (env or {}).items()}
    return replace(scene, job=scene.job.model_copy(update={"permissions": granted, "env": given}))


def confined(level: Level | str = Level.WORKSPACE) -> Verdict:
    return Verdict(ruling=Ruling.ALLOW, reason="allowed", rule="rule", confinement=str(level))


def a_bash_run(
    commands: Commands, scene: Scene, command: str, *, level: Level | str = Level.WORKSPACE, **args: JsonValue
) -> ToolRun:
    tool: Tool = BashTool(commands)
    return tool.run(tool.arguments(command=command, **args), scene, confined(level))


async def finish(run: ToolRun) -> ToolOutput:
    """Let a tool go on, and return its output."""
    async for fact in run:
        if isinstance(fact, ToolOutput):
            return fact
    message = "the tool ended without an output"
    raise AssertionError(message)


async def bash(
    commands: Commands, scene: Scene, command: str, *, level: Level | str = Level.WORKSPACE, **args: JsonValue
) -> ToolOutput:
    return await finish(a_bash_run(commands, scene, command, level=level, **args))


async def use(tool: Tool, scene: Scene, **args: JsonValue) -> ToolOutput:
    return await finish(tool.run(tool.arguments(**args), scene, confined("")))


async def announced(run: ToolRun) -> ProcessAnnounced:
    """Return what a command announces; it waits behind its gate."""
    fact = await anext(run)
    assert isinstance(fact, ProcessAnnounced)
    return fact


def cut_off(call_id: str, fact: ProcessAnnounced | None) -> CallState:
    """Return a call that was started and has no result, and the process that it announced."""
    call = CallId(call_id)
    return CallState(
        ToolCall(tool="bash", args={}, id=call),
        started=CallStarted(at=NOW, call_id=call),
        in_doubt=True,
        process=journaled(call_id, fact) if fact else None,
    )


def journaled(call_id: str, fact: ProcessAnnounced) -> ProcessStarted:
    return ProcessStarted(
        at=NOW, call_id=CallId(call_id), pid=fact.pid, started=fact.started, background=fact.background
    )


@asynccontextmanager
async def a_task(
    commands: Commands, workspace: Path, command: str, call_id: str = "1.1", scene: Scene | None = None
) -> AsyncIterator[tuple[ToolOutput, Scene]]:
    """Start a command in the background; yield what its call gave and the scene of the next call. Ends it after."""
    scene = replace(scene or a_scene(workspace), call_id=CallId(call_id))
    run = a_bash_run(commands, scene, command, run_in_background=True)
    fact = await announced(run)
    output = await finish(run)
    later = replace(scene, call_id=CallId("9.1"), processes={CallId(call_id): journaled(call_id, fact)})
    try:
        yield output, later
    finally:
        await commands.close()


def a_pipe(path: Path) -> Path:
    """Make a named pipe: who reads it waits until a command has written to it."""
    os.mkfifo(path)
    return path


async def until_kept(commands: Commands, text: str, call_id: str = "1.1") -> None:
    """Wait until what a command printed has been taken from it."""
    spool = commands.dirs(RUN).spool(CallId(call_id))

    async with asyncio.timeout(60):
        while not (spool.exists() and text in spool.read_text()):  # noqa: ASYNC110  # another process writes it
            await asyncio.sleep(0.01)
