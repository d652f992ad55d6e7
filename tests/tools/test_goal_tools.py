"""The tools of goal mode: what they accept, what they refuse and in which words; commands are real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import BaseModel, JsonValue, ValidationError

from kova_auto.core.approval.levels import Effect, Mode
from kova_auto.core.criterion import CriterionResult
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.goal.contract import Contract, Phase
from kova_auto.core.goal.pursuit import Pursuit
from kova_auto.core.job import CommandCriterion
from kova_auto.core.message import ResultStatus
from kova_auto.core.tool import CallFacts
from kova_auto.tools.goal import BlockedTool, CompleteTool, ProposeCriteriaTool
from kova_auto.tools.tool import Tool
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.verifying import Verifier
from tests.tools.goal_scenes import met, standing, with_goal
from tests.tools.tool_scenes import Played, a_call, a_scene, play

FREE, BUSY = Pursuit(), Pursuit(has_worked=True)
NO_COMMANDS = CompleteTool(Verifier(None))  # type: ignore[arg-type]  # no criterion of these tests is a command
TOOLS: tuple[Tool, ...] = (ProposeCriteriaTool(), NO_COMMANDS, BlockedTool())

ONE = standing("the README explains the flag")
TWO = standing("the README explains the flag", "the flag is tested")


async def proposing(pursuit: Pursuit, *criteria: str) -> Played:
    return await play(ProposeCriteriaTool(), with_goal(pursuit), criteria=list(criteria))


async def problem(tool: Tool, pursuit: Pursuit | None, **args: JsonValue) -> str:
    scene = replace(a_scene(Path("/w")), goal=pursuit)
    return (await tool.facts(a_call(tool.name, **args), tool.arguments(**args), scene)).problem


async def test_criteria_that_nobody_has_to_agree_to_stand_at_once_and_are_called_its_own() -> None:
    played = await proposing(FREE, "It is green.", " it is GREEN.", "It is short.")

    assert played.result.criteria == ("It is green.", "It is short.")
    assert played.text == (
        "The goal is judged by these criteria. Nobody was there to agree to them: they are your own, and people are "
        "told so:\n- c1: It is green.\n- c2: It is short.\n\n"
        "Go on working; call goal_complete once all of them are met."
    )


async def test_criteria_that_a_person_agreed_to_are_not_called_its_own() -> None:
    played = await proposing(replace(FREE, is_attended=True), "It is green.")

    assert played.text.startswith("The goal is judged by these criteria:\n- c1: It is green.\n")


async def test_a_person_may_want_none() -> None:
    edited = replace(FREE, is_attended=True, is_edited=True)

    assert (await proposing(edited)).result.criteria == ()
    assert await problem(ProposeCriteriaTool(), edited, criteria=[]) == ""


@pytest.mark.parametrize(
    ("pursuit", "criteria", "why"),
    [
        (FREE, [], "name at least one criterion"),
        (FREE, [" ", ""], "name at least one criterion"),
        (FREE, [f"{number}" for number in range(9)], "wanted at most 8 criteria, found 9"),
        (FREE, ["x" * 501], "wanted at most 500 characters, found 501 in criterion 1"),
        (replace(FREE, contract=ONE), ["x"], "the criteria stand already; they are not changed: c1: the README"),
        (replace(FREE, contract=Contract(phase=Phase.SKIPPED)), ["x"], "the criteria stand already"),
    ],
)
async def test_what_cannot_be_proposed_is_put_before_nobody(pursuit: Pursuit, criteria: list[str], why: str) -> None:
    assert (await problem(ProposeCriteriaTool(), pursuit, criteria=[*criteria])).startswith(why)
    with pytest.raises(ToolFailedError, match=why.split(";", maxsplit=1)[0]):
        await proposing(pursuit, *criteria)


@pytest.mark.parametrize("tool", [NO_COMMANDS, BlockedTool()])
async def test_before_criteria_stand_the_goal_is_neither_reached_nor_blocked(tool: Tool) -> None:
    args: dict[str, JsonValue] = {"summary": "So.", "results": []}
    args = args if isinstance(tool, CompleteTool) else {"reason": "x", "evidence": "x"}
    pending = "no criteria stand yet: call goal_propose_criteria first"

    assert [await problem(tool, goal, **args) for goal in (FREE, replace(FREE, contract=ONE), None)] == [
        pending,
        "",
        "",
    ]


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
async def test_a_run_without_a_goal_has_no_use_for_them(tool: Tool) -> None:
    args: dict[str, dict[str, JsonValue]] = {
        "goal_propose_criteria": {"criteria": ["x"]},
        "goal_complete": {"summary": "x", "results": []},
        "goal_blocked": {"reason": "x", "evidence": "x"},
    }
    with pytest.raises(ToolFailedError, match="this run has no goal"):
        await play(tool, a_scene(Path("/w")), **args[tool.name])


@pytest.mark.parametrize(
    ("contract", "worked", "summary", "results", "objections"),
    [
        pytest.param(ONE, False, "Done.", [met(1)], ["Nothing was done yet"], id="nothing done"),
        pytest.param(TWO, True, "Done.", [met(1)], ["There is no result for c2."], id="one is missing"),
        pytest.param(TWO, True, "Done.", [], ["There is no result for c1, c2."], id="all are missing"),
        pytest.param(
            ONE, True, "Done.", [met(1), met(2)], ["There is no criterion c2: there are c1."], id="one is foreign"
        ),
        pytest.param(
            ONE, True, "Done.", [met(1), met(1)], ["There is more than one result for c1."], id="one stands twice"
        ),
        pytest.param(
            TWO,
            True,
            "Done.",
            [met(1), {"id": "C2", "met": True, "evidence": "x"}],
            ["There is no result for c2.", "There is no criterion C2: there are c1, c2."],
            id="nearly its id",
        ),
        pytest.param(
            TWO,
            True,
            "Done.",
            [met(1), met(2, is_met=False)],
            ["Not met, as you say yourself: c2: the flag is tested."],
            id="one is not met",
        ),
        pytest.param(
            TWO, True, "Done.", [met(1, " "), met(2)], ["c1 is without evidence: say by what"], id="no evidence"
        ),
        pytest.param(
            ONE,
            True,
            "Written, but two tests still fail.",
            [met(1)],
            ['The summary says that something is left or fails: "but two tests still fail".'],
            id="the summary admits it",
        ),
        pytest.param(
            Contract(phase=Phase.SKIPPED),
            True,
            "Done.",
            [met(1)],
            ["There is no criterion c1: there are none, so results must be empty."],
            id="there are none",
        ),
        pytest.param(
            TWO,
            False,
            "Two items are left.",
            [met(3)],
            ["Nothing was done yet", "There is no result for c1, c2.", "There is no criterion c3", "The summary says"],
            id="everything at once",
        ),
    ],
)
async def test_a_goal_is_not_reached_by_saying_so(
    contract: Contract, worked: bool, summary: str, results: list[JsonValue], objections: Sequence[str]
) -> None:
    pursuit = Pursuit(contract=contract, has_worked=worked)
    played = await play(NO_COMMANDS, with_goal(pursuit), summary=summary, results=results)
    said = [line.removeprefix("- ") for line in played.text.splitlines() if line.startswith("- ")]

    assert (played.result.status, played.result.concludes, len(said)) == (ResultStatus.ERROR, None, len(objections))
    assert [line[: len(want)] for line, want in zip(said, objections, strict=True)] == [*objections]


@pytest.mark.parametrize("contract", [TWO, Contract(phase=Phase.SKIPPED)])
async def test_a_goal_whose_criteria_are_met_is_reached(contract: Contract) -> None:
    results: list[JsonValue] = [met(number + 1) for number in range(len(contract.criteria))]
    pursuit = Pursuit(contract=contract, has_worked=True)
    played = await play(NO_COMMANDS, with_goal(pursuit), summary="All is done.", results=results)

    assert (played.result.status, played.result.concludes) == (ResultStatus.OK, "done")
    assert played.result.judged == tuple(CriterionResult.model_validate(result) for result in results)


async def test_what_was_said_of_each_is_kept_where_the_whole_is_refused() -> None:
    pursuit = Pursuit(contract=standing("a", CommandCriterion(command="true"), "b"), has_worked=True)
    results = [met(3, is_met=False), met(1), met(2)]
    played = await play(NO_COMMANDS, with_goal(pursuit), summary="So far.", results=[*results])

    assert played.result.judged == (
        CriterionResult(id="c1", met=True, evidence="README.md:3"),
        CriterionResult(id="c3", met=False, evidence="README.md:3"),
    )


@pytest.mark.parametrize(
    ("before", "status", "concludes"),
    [
        (0, ResultStatus.ERROR, None),
        (1, ResultStatus.ERROR, None),
        (2, ResultStatus.OK, "blocked"),
        (7, "ok", "blocked"),
    ],
)
async def test_a_run_is_blocked_once_it_was_in_three_turns_in_a_row(
    before: int, status: ResultStatus, concludes: str | None
) -> None:
    pursuit = Pursuit(contract=ONE, blocked_before=before)
    played = await play(BlockedTool(), with_goal(pursuit), reason="no key", evidence="I asked.")

    assert (played.result.status, played.result.concludes) == (status, concludes)
    if not concludes:
        assert played.text.startswith(f"Noted, but not accepted yet: this is turn {before + 1} of 3 in a row ")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (NO_COMMANDS, {"summary": "", "results": []}),
        (NO_COMMANDS, {"summary": "x" * 4001, "results": []}),
        (NO_COMMANDS, {"summary": "x", "results": [{"id": "c1", "met": True, "evidence": "x" * 2001}]}),
        (NO_COMMANDS, {"summary": "x", "results": [met(1)] * 17}),
        (NO_COMMANDS, {"summary": "x", "results": [{"id": "c1"}]}),
        (BlockedTool(), {"reason": "", "evidence": "x"}),
        (BlockedTool(), {"reason": "x" * 1001, "evidence": "x"}),
        (BlockedTool(), {"reason": "x", "evidence": ""}),
        (BlockedTool(), {"reason": "x"}),
    ],
)
def test_arguments_are_bounded(tool: Tool, args: dict[str, JsonValue]) -> None:
    arguments: type[BaseModel] = tool.arguments
    with pytest.raises(ValidationError):
        arguments.model_validate(args)


async def test_they_touch_nothing_that_is_adjudicated_by_path_or_command() -> None:
    effects = [
        await tool.facts(a_call(tool.name), tool.arguments.model_construct(criteria=("x",)), a_scene(Path("/w")))
        for tool in TOOLS
    ]

    assert [facts.effect for facts in effects] == [Effect.CONTRACT, Effect.GOAL, Effect.GOAL]
    assert [replace(facts, call=effects[0].call, effect=None) for facts in effects] == [
        CallFacts(effects[0].call, None)
    ] * 3


def test_a_job_that_names_criteria_is_not_offered_to_propose_any() -> None:
    box = LocalToolbox(TOOLS, redact=str, holds_secret=lambda _: False)
    scene = a_scene(Path("/w"))
    named = replace(
        scene, job=scene.job.model_copy(update={"goal": scene.job.goal.model_copy(update={"criteria": ("x",)})})
    )

    assert [spec.name for spec in box.specs(scene, Mode.GOAL)] == [tool.name for tool in TOOLS]
    assert [spec.name for spec in box.specs(named, Mode.GOAL)] == ["goal_complete", "goal_blocked"]
    assert box.specs(named, Mode.AGENT) == ()
