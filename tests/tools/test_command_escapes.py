"""What no command gets out of its confinement by: each attempt as a call of the tool, at each level, by each method.

Nothing outside is changed or read, and the model is told that it failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from _pytest.mark import ParameterSet

from kova_auto.core.message import ResultStatus, ToolResult
from kova_auto.core.secret import SecretRef
from kova_auto.core.tool import Scene as Call
from kova_auto.net.proxy import Proxy
from kova_auto.tools.commands import Commands, Host
from kova_auto.tools.sandbox.plan import Level, Method
from tests.net.proxied import Names
from tests.tools.command_scenes import METHODS, a_sandbox, bash
from tests.tools.sandbox.breakout import Scene, a_scene
from tests.tools.sandbox.escapes import ESCAPES, EVERYDAY, Escape, Everyday
from tests.tools.tool_scenes import a_scene as a_call_scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

LEVELS = {Level.READING: "read-only", Level.WORKSPACE: "full"}


def _tries() -> Iterator[ParameterSet]:
    """Yield each attempt against each method: at one of its levels at every change, at all when slow."""
    for (number, escape), (turn, method) in product(enumerate(ESCAPES), enumerate(METHODS)):
        held = [level for level in escape.levels if escape.is_held(method, level)]
        for place, level in enumerate(held):
            marks = () if place == (number + turn) % len(held) else (pytest.mark.slow,)
            yield pytest.param(escape, method, level, marks=marks, id=f"{method}-{level}-{escape.name}")


SIGNS = (
    *("denied", "not permitted", "Read-only", "No such", "cannot", "refused", "busy", "unreachable", "failed"),
    *("cross-device", "[commands may not add control files", "unknown", "not a mountpoint", "not mounted"),
)


@pytest.fixture
def scene() -> Iterator[Scene]:
    with a_scene() as made:
        yield made


def some_commands(scene: Scene, method: Method) -> tuple[Commands, Call]:
    """Return what runs commands in a scene, and a call of a job whose workspace is there."""
    variables = scene.variables()
    host = Host(
        base=scene.top / "service",
        environment={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
        hidden=scene.hidden,
        toolchains=(),
        secret=lambda ref: variables[ref.env or ""],
        gateway=Proxy(Names({})),
    )
    call = a_call_scene(scene.workspace, write_roots=(scene.top / "shared-lib",), read_roots=(scene.outside,))
    env = {name: SecretRef(env=name) for name in variables}
    return Commands(a_sandbox(method), host), replace(call, job=call.job.model_copy(update={"env": env}))


async def tried(scene: Scene, method: Method, level: Level, script: str) -> ToolResult:
    commands, call = some_commands(scene, method)
    output = await bash(commands, replace(call, level=LEVELS[level]), script, level=level, timeout_s=60)
    await commands.settle(call)
    return output.result


def test_the_attempts_are_many_and_tried_by_all_that_this_machine_has() -> None:
    assert len({escape.name for escape in ESCAPES}) == len(ESCAPES) >= 60
    assert METHODS
    assert all(escape.is_held(Method.BWRAP, level) for escape in ESCAPES for level in escape.levels)


@pytest.mark.parametrize(("escape", "method", "level"), [*_tries()])
async def test_an_escape_fails_and_is_told(scene: Scene, escape: Escape, method: Method, level: Level) -> None:
    scene.before = scene.photograph(whole_workspace=level is Level.READING)
    result = await tried(scene, method, level, escape.script)

    assert scene.escaped(result.text, level=level) == ""
    if method not in escape.lands_inside:
        assert is_told(result), result.text


def is_told(result: ToolResult) -> bool:
    return result.status is ResultStatus.ERROR or any(sign in result.text for sign in SIGNS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("everyday", [pytest.param(one, id=one.name) for one in EVERYDAY])
async def test_everyday_work_succeeds(scene: Scene, everyday: Everyday, method: Method) -> None:
    result = await tried(scene, method, everyday.level, f"set -e\n{everyday.script}")

    assert result.status is ResultStatus.OK, result.text
    assert "[commands may not" not in result.text
