"""Commands by which a job file judges a run: real bash in a real confinement."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.event import CheckResult
from kova_auto.core.ids import CallId
from kova_auto.core.redact import Redactor
from kova_auto.core.tool import Scene
from kova_auto.tools.checking import SHOWN_BYTES, CommandChecks
from kova_auto.tools.commands import Commands
from kova_auto.tools.leftovers import Leader, started_of
from kova_auto.tools.sandbox.plan import Level, Method
from tests.tools.command_scenes import METHODS, a_pipe, a_workspace, confined, granting, some_commands, until_kept
from tests.tools.tool_scenes import a_scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

CHECK = "output.checks-1.1"
SECRET = "hunter2-hunter2"
KILLED_SERVICE = "tests.tools.service_to_kill"
FOREVER = "sleep 300"


def checks(commands: Commands) -> CommandChecks:
    return CommandChecks(commands, Redactor({"TOKEN": SECRET}).redact)


def a_check_scene(workspace: Path) -> Scene:
    return replace(a_scene(workspace), call_id=CallId(CHECK))


async def checked(
    top: Path, command: str, *, level: Level | str = Level.WORKSPACE, timeout_s: float = 60.0, **said: object
) -> CheckResult:
    scene = replace(a_check_scene(a_workspace(top)), **said)  # type: ignore[arg-type]  # fields of the scene
    return await checks(some_commands(top)).check(command, confined(level), scene, timeout_s)


def outcome(result: CheckResult) -> tuple[bool, int | None, str]:
    return result.passed, result.exit_code, result.output


async def test_a_command_that_ends_well_has_passed(tmp_path: Path) -> None:
    result = await checked(tmp_path, "pwd; test -n x")
    assert outcome(result) == (True, 0, str(tmp_path / "workspace"))
    assert result.took_s > 0


async def test_one_that_does_not_has_failed_and_shows_what_it_printed(tmp_path: Path) -> None:
    assert outcome(await checked(tmp_path, "echo no such report; exit 3")) == (
        False,
        3,
        "no such report\n[exit code 3]",
    )


async def test_where_it_may_only_read_it_writes_nothing_but_temporary_files(tmp_path: Path) -> None:
    result = await checked(tmp_path, "echo x > $TMPDIR/a && ! echo x > report.md", level=Level.READING)
    assert (result.passed, [*(tmp_path / "workspace").iterdir()]) == (True, [])


async def test_what_takes_too_long_has_failed_and_is_ended_with_all_it_started(tmp_path: Path) -> None:
    result = await checked(tmp_path, f"echo waiting; ({FOREVER})& {FOREVER}", timeout_s=2.0)
    assert outcome(result) == (
        False,
        None,
        "waiting\n[ended at its limit of 2 s, with everything it had started]",
    )


async def test_no_check_outlasts_the_time_that_its_run_has_left(tmp_path: Path) -> None:
    result = await checked(tmp_path, FOREVER, left_s=0.5)
    assert "[ended at its limit of 1 s, with everything it had started]" in result.output


async def test_of_much_output_both_ends_are_kept(tmp_path: Path) -> None:
    output = (await checked(tmp_path, "seq 1 20000")).output
    assert (len(output) <= SHOWN_BYTES + 100, output[:4], output[-11:]) == (True, "1\n2\n", "19999\n20000")


async def test_a_secret_that_it_prints_is_not_kept(tmp_path: Path) -> None:
    commands = some_commands(tmp_path, secrets={"OUTER": SECRET})
    scene = granting(a_check_scene(a_workspace(tmp_path)), env={"TOKEN": "OUTER"})
    result = await checks(commands).check('echo "$TOKEN"', confined(Level.WORKSPACE), scene, 60.0)

    assert outcome(result) == (True, 0, "[redacted:TOKEN]")


async def test_what_cannot_be_run_has_failed_and_says_why(tmp_path: Path) -> None:
    scene = a_check_scene(tmp_path / "gone")
    result = await checks(some_commands(tmp_path)).check("true", confined(Level.WORKSPACE), scene, 60.0)

    reason = f"the workspace {tmp_path / 'gone'} is not there any more, or a symbolic link leads to it"
    assert outcome(result) == (False, None, reason)


async def test_it_says_how_it_could_be_confined(tmp_path: Path) -> None:
    facts = await checks(some_commands(tmp_path)).facts("make test", a_check_scene(a_workspace(tmp_path)))
    assert (facts.command, facts.confinable) == ("make test", frozenset({"reading", "workspace"}))


async def test_a_check_that_is_cut_off_ends_and_leaves_nothing(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    said = a_pipe(workspace / "said")
    scene = a_check_scene(workspace)
    task = asyncio.create_task(
        checks(commands).check(f"echo $$ > said; {FOREVER}", confined(Level.WORKSPACE), scene, 60.0)
    )
    await asyncio.to_thread(said.read_text)
    [(_, leader)] = commands.dirs(scene.run_id).led()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await started_of(leader.pid) == ""
    await commands.settle(scene)
    assert not commands.dirs(scene.run_id).are_there()


async def left_by_a_killed_service(top: Path, method: Method, commands: Commands) -> Leader:
    """Let a process run a check until that prints "so far", kill it, and return the check's first process."""
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", KILLED_SERVICE, str(top), str(method), f"echo so far; {FOREVER}", CHECK),
        cwd=Path(__file__).parents[2],
    )
    await until_kept(commands, "so far", CHECK)
    service.kill()
    await service.wait()
    [(_, leader)] = commands.dirs(a_scene(top).run_id).led()
    return leader


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ends", ["clear", "settle"])
async def test_what_a_killed_service_left_of_a_check_is_ended(tmp_path: Path, method: Method, ends: str) -> None:
    commands, scene = some_commands(tmp_path, method=method), a_check_scene(a_workspace(tmp_path))
    leader = await left_by_a_killed_service(tmp_path, method, commands)
    if method is not Method.BWRAP:  # there, a command dies with whoever started it
        assert await started_of(leader.pid) == leader.started
    await (checks(commands).clear(scene) if ends == "clear" else commands.settle(scene))

    assert await started_of(leader.pid) == ""
    assert [*commands.dirs(scene.run_id).led()] == []


async def test_half_a_note_names_no_process(tmp_path: Path) -> None:
    commands, scene = some_commands(tmp_path), a_check_scene(a_workspace(tmp_path))
    dirs = commands.dirs(scene.run_id)
    dirs.make(str(tmp_path))
    dirs.leader(scene.call_id).write_text(f'{{"pid":{os.getpid()},"sta')
    await checks(commands).clear(scene)

    assert [*dirs.led()] == []


async def test_what_a_killed_service_had_begun_is_run_again_and_shows_only_what_it_prints_then(tmp_path: Path) -> None:
    commands, scene = some_commands(tmp_path), a_check_scene(a_workspace(tmp_path))
    await left_by_a_killed_service(tmp_path, METHODS[0], commands)
    await checks(commands).clear(scene)
    result = await checks(commands).check("echo anew", confined(Level.WORKSPACE), scene, 60.0)

    assert outcome(result) == (True, 0, "anew")
    assert commands.dirs(scene.run_id).printed(scene.call_id) == b"anew\n"
