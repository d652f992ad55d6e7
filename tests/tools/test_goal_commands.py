"""Criteria that are commands: real bash, and its exit code against the model's word."""

from __future__ import annotations

import sys
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.core.approval.levels import Mode
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.goal.contract import Contract
from kova_auto.core.goal.pursuit import Pursuit
from kova_auto.core.job import CommandCriterion
from kova_auto.core.message import ResultStatus
from kova_auto.core.tool import ProcessAnnounced
from kova_auto.tools.goal import CompleteTool
from kova_auto.tools.leftovers import started_of
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.verifying import Verifier
from tests.tools.command_scenes import a_workspace, cut_off, some_commands
from tests.tools.goal_scenes import met, standing, with_goal
from tests.tools.tool_scenes import ALLOWED, Played, a_call, a_scene, play

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")


def by_commands(*commands: str) -> Contract:
    return standing("the README explains the flag", *(CommandCriterion(command=command) for command in commands))


async def judged_by(top: Path, *commands: str, **scene: object) -> Played:
    pursuit = Pursuit(contract=by_commands(*commands), has_worked=True)
    found = replace(with_goal(pursuit, a_workspace(top)), **scene)  # type: ignore[arg-type]  # fields of a scene
    results: list[JsonValue] = [met(number + 1, "" if number else "README.md:3") for number in range(len(commands) + 1)]
    return await play(CompleteTool(Verifier(some_commands(top))), found, summary="All is done.", results=results)


async def test_a_criterion_that_is_a_command_is_judged_by_its_exit_code(tmp_path: Path) -> None:
    played = await judged_by(tmp_path, "echo good", "echo 1 failed; exit 1")

    assert (played.result.status, played.result.concludes) == (ResultStatus.ERROR, None)
    assert played.text == (
        "Not accepted, the goal is not reached:\n"
        "- c3: the command `echo 1 failed; exit 1`: exit code 1\n1 failed\n[exit code 1]\n\n"
        "Go on working, and call goal_complete again once that is put right."
    )
    assert [(one.id, one.met, one.by_command) for one in played.result.judged or ()] == [
        ("c1", True, False),
        ("c2", True, True),
        ("c3", False, True),
    ]


async def test_a_goal_whose_commands_end_well_is_reached_and_says_what_they_printed(tmp_path: Path) -> None:
    played = await judged_by(tmp_path, "echo 12 passed")

    assert (played.result.concludes, played.result.judged) == (
        "done",
        (
            CriterionResult(id="c1", met=True, evidence="README.md:3"),
            CriterionResult(
                id="c2", met=True, evidence="the command `echo 12 passed`: exit code 0\n12 passed", by_command=True
            ),
        ),
    )
    assert played.text.endswith("\n- c2: the command `echo 12 passed`: exit code 0\n12 passed")


async def test_a_command_that_does_not_end_is_not_met(tmp_path: Path) -> None:
    played = await judged_by(tmp_path, "sleep 300", left_s=0.1)

    assert "- c2: the command `sleep 300`: it did not end by itself\n[ended at its limit of 1 s" in played.text


async def test_no_command_is_run_where_the_model_itself_says_no(tmp_path: Path) -> None:
    pursuit = Pursuit(contract=by_commands("touch ran"), has_worked=True)
    scene = with_goal(pursuit, a_workspace(tmp_path))
    results: list[JsonValue] = [met(1, is_met=False), met(2)]
    await play(CompleteTool(Verifier(some_commands(tmp_path))), scene, summary="So.", results=results)

    assert [*(tmp_path / "workspace").iterdir()] == []


async def test_after_untrusted_text_a_command_is_given_no_secrets(tmp_path: Path) -> None:
    scene = a_scene(a_workspace(tmp_path))
    job = scene.job.model_copy(update={"env": {"KEY": {"env": "KEY"}}})
    pursuit = Pursuit(contract=by_commands('test -z "$KEY"'), has_worked=True)
    tainted = replace(scene, job=job, goal=pursuit, mode=Mode.GOAL, tainted_by="the web page https://example.org")
    tool = CompleteTool(Verifier(some_commands(tmp_path, secrets={"KEY": "swordfish"})))
    played = await play(tool, tainted, summary="So.", results=[met(1), met(2)])

    assert played.result.concludes == "done"


async def test_each_command_is_announced_before_it_runs_and_ended_where_the_call_is_cut_off(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    scene = with_goal(Pursuit(contract=by_commands("touch one", "sleep 300"), has_worked=True), workspace)
    tool = CompleteTool(Verifier(commands))
    args = tool.arguments.model_validate({"summary": "So.", "results": [met(1), met(2), met(3)]})
    seen: list[tuple[ProcessAnnounced, list[str]]] = []
    async with aclosing(tool.run(args, scene, ALLOWED)) as facts:  # type: ignore[arg-type]  # its own arguments
        async for fact in facts:
            assert isinstance(fact, ProcessAnnounced)
            seen.append((fact, [path.name for path in workspace.iterdir()]))
            if len(seen) == 2:
                break

    assert [there for _, there in seen] == [[], ["one"]]
    assert [await started_of(fact.pid) for fact, _ in seen] == ["", ""]


async def test_one_that_was_cut_off_is_ended_and_decides_nothing(tmp_path: Path) -> None:
    commands, lost = some_commands(tmp_path), some_commands(tmp_path)
    scene = with_goal(Pursuit(contract=by_commands("sleep 300"), has_worked=True), a_workspace(tmp_path))
    args = CompleteTool.arguments.model_validate({"summary": "So.", "results": [met(1), met(2)]})
    run = CompleteTool(Verifier(lost)).run(args, scene, ALLOWED)  # type: ignore[arg-type]  # its own arguments
    fact = await anext(run)
    assert isinstance(fact, ProcessAnnounced)
    tool = CompleteTool(Verifier(commands))
    found = await tool.recover(cut_off("1.1", fact), scene)
    again = await tool.recover(cut_off("1.1", None), scene)
    await run.aclose()

    assert await started_of(fact.pid) == ""
    assert (found, found and found.status, tool.replay_safe) == (again, ResultStatus.UNKNOWN, True)


async def test_a_secret_that_a_command_prints_is_kept_nowhere(tmp_path: Path) -> None:
    def redact(text: str) -> str:
        return text.replace("swordfish", "[redacted]")

    tool = CompleteTool(Verifier(some_commands(tmp_path)))
    box = LocalToolbox([tool], redact=redact, holds_secret=lambda _: False)
    scene = with_goal(Pursuit(contract=by_commands("echo swordfish; exit 1"), has_worked=True), a_workspace(tmp_path))
    call = a_call("goal_complete", summary="So.", results=[met(1), met(2)])
    async with aclosing(box.execute(call, ALLOWED, scene)) as facts:
        found = [fact async for fact in facts]

    assert "swordfish" not in repr(found[-1]).replace("echo swordfish", "")
    assert "[redacted]" in repr(found[-1])
