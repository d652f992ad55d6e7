"""Commands that judge: real bash in the confinement of the job's own commands."""

from __future__ import annotations

import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Mode
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.tool import ProcessAnnounced, Scene
from kova_auto.core.turn_facts import CheckResult
from kova_auto.tools.commands import Commands
from kova_auto.tools.leftovers import started_of
from kova_auto.tools.sandbox.select import Sandbox
from kova_auto.tools.verifying import Verifier, Verifying, verified
from tests.tools.command_scenes import a_workspace, granting, journaled, some_commands
from tests.tools.tool_scenes import a_scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")


async def outcome(commands: Commands, scene: Scene, command: str) -> tuple[int | None, str]:
    result = await verified(Verifier(commands).verify(command, scene))
    assert (result.command, result.took_s >= 0) == (command, True)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("command", "found"),
    [
        pytest.param("true", (0, ""), id="well"),
        pytest.param("echo so; echo and >&2; exit 3", (3, "so\nand\n[exit code 3]"), id="with an exit code"),
        pytest.param("no-such-program-here", (127, None), id="unknown"),
        pytest.param("pwd", (0, "{workspace}"), id="in the workspace"),
        pytest.param("kill -9 $$", (137, "[exit code 137]"), id="killed by itself"),
    ],
)
async def test_a_command_is_judged_by_its_exit_code(
    tmp_path: Path, command: str, found: tuple[int, str | None]
) -> None:
    workspace = a_workspace(tmp_path)
    code, output = await outcome(some_commands(tmp_path), a_scene(workspace), command)

    assert code == found[0]
    assert found[1] is None or output == found[1].format(workspace=workspace)


async def test_one_command_after_the_other_may_be_run_for_one_call(tmp_path: Path) -> None:
    commands, scene = some_commands(tmp_path), a_scene(a_workspace(tmp_path))

    assert [await outcome(commands, scene, f"echo {number}; exit {number}") for number in (0, 2)] == [
        (0, "0"),
        (2, "2\n[exit code 2]"),
    ]


async def test_what_is_not_over_at_the_runs_limit_has_not_passed(tmp_path: Path) -> None:
    scene = replace(a_scene(a_workspace(tmp_path)), left_s=0.1)
    code, output = await outcome(some_commands(tmp_path), scene, "echo begun; sleep 300")

    assert (code, output) == (None, "begun\n[ended at its limit of 1 s, with everything it had started]")


async def test_only_the_end_of_a_long_output_is_kept(tmp_path: Path) -> None:
    code, output = await outcome(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "seq 1 20000")

    assert (code, output[-12:], len(output) < 5000) == (0, "\n19999\n20000", True)
    assert "bytes left out ...]" in output.splitlines()[0]


@pytest.mark.parametrize(
    ("level", "mode", "sandbox", "written"),
    [
        ("full", Mode.AGENT, "auto", ["inside"]),
        ("workspace-write", Mode.GOAL, "auto", ["inside"]),
        ("auto-edit", Mode.GOAL, "auto", ["inside"]),
        ("read-only", Mode.GOAL, "auto", []),
        ("full", Mode.PLAN, "auto", []),
        ("full", Mode.ASK, "off", []),
        ("full", Mode.GOAL, "off", ["inside", "outside"]),
    ],
)
async def test_it_may_touch_what_the_jobs_own_commands_may(
    tmp_path: Path, level: str, mode: Mode, sandbox: str, written: list[str]
) -> None:
    workspace, outside = a_workspace(tmp_path), tmp_path / "elsewhere"
    outside.mkdir()
    scene = granting(replace(a_scene(workspace), level=level), sandbox=sandbox)
    scene = replace(scene, mode=mode)
    await outcome(some_commands(tmp_path), scene, f"touch inside; touch {outside}/outside; true")

    assert sorted(path.name for top in (workspace, outside) for path in top.iterdir()) == written


async def test_where_nothing_confines_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    bare = Sandbox(tmp_path / "scratch", (), bwrap=None, landlock_abi=0)
    workspace = a_workspace(tmp_path)
    code, output = await outcome(some_commands(tmp_path, sandbox=bare), a_scene(workspace), "touch file")

    assert (code, [*workspace.iterdir()]) == (None, [])
    assert output.startswith("[it could not be run: a command runs only confined, and here it cannot be: ")


async def test_nothing_runs_before_it_is_announced_and_closing_ends_it(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)
    async with aclosing(Verifier(some_commands(tmp_path)).verify("touch file", a_scene(workspace))) as facts:
        fact = await anext(facts)
        assert isinstance(fact, ProcessAnnounced)
        waiting = (await started_of(fact.pid), [*workspace.iterdir()])

    assert waiting == (fact.started, [])
    assert (await started_of(fact.pid), [*workspace.iterdir()]) == ("", [])


async def test_one_that_was_cut_off_is_ended_and_may_be_run_again(tmp_path: Path) -> None:
    commands, scene = some_commands(tmp_path), a_scene(a_workspace(tmp_path))
    lost = Verifier(some_commands(tmp_path)).verify("touch begun; sleep 300", scene)
    fact = await anext(lost)
    assert isinstance(fact, ProcessAnnounced)
    remains = await commands.recover(scene, journaled(scene.call_id, fact))
    found = await outcome(commands, scene, "echo again")
    await lost.aclose()

    assert (remains.ended, found) == (1, (0, "again"))


async def test_one_that_says_nothing_is_an_error() -> None:
    async def silent() -> Verifying:
        nothing: tuple[CheckResult, ...] = ()
        for fact in nothing:
            yield fact

    with pytest.raises(ToolFailedError, match="without a result"):
        await verified(silent())


def test_a_result_has_passed_only_with_exit_code_0() -> None:
    assert [CheckResult(command="x", exit_code=code).passed for code in (0, 1, None)] == [True, False, False]
