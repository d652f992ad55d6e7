"""The tools that touch nothing outside the run: todo, question, nothing_to_report."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue, ValidationError

from kova_auto.core.approval.levels import Effect
from kova_auto.core.message import ResultStatus, TextPart, ToolResult, told
from kova_auto.core.tool import CallFacts, ToolOutput
from kova_auto.tools.failure import ReportFailureTool
from kova_auto.tools.nothing import NothingToReportTool
from kova_auto.tools.question import QuestionTool
from kova_auto.tools.todo import TodoTool
from kova_auto.tools.tool import Tool
from tests.tools.tool_scenes import a_call, a_scene, play

SCENE = a_scene(Path("/w"))
ASKED: dict[str, JsonValue] = {"title": "Which branch?", "options": [{"title": "main"}, {"title": "next"}]}


def an_item(**changed: JsonValue) -> dict[str, JsonValue]:
    return {"subject": "Read", "status": "pending", **changed}


async def test_the_list_is_replaced_and_shown() -> None:
    items: list[JsonValue] = [
        an_item(status="completed"),
        an_item(subject="Grep", status="in_progress", active_form="Grepping"),
        an_item(subject="Tell"),
    ]
    played = await play(TodoTool(), SCENE, items=items)

    assert played.output == ToolOutput(
        ToolResult(
            status=ResultStatus.OK,
            parts=(TextPart(text="1 of 3 completed:\n[x] Read\n[>] Grep\n[ ] Tell"),),
            todo=(
                {"subject": "Read", "status": "completed"},
                {"subject": "Grep", "status": "in_progress", "active_form": "Grepping"},
                {"subject": "Tell", "status": "pending"},
            ),
        )
    )


async def test_the_list_may_be_emptied() -> None:
    played = await play(TodoTool(), SCENE, items=[])

    assert (played.result.todo, played.text) == ((), "The list is empty.")


@pytest.mark.parametrize(
    "items",
    [
        [an_item()] * 101,
        [an_item(subject="x" * 501)],
        [an_item(subject="")],
        [an_item(active_form="x" * 501)],
        [an_item(status="deleted")],
        [an_item(id=1)],
    ],
)
def test_a_list_out_of_bounds_is_refused(items: list[JsonValue]) -> None:
    with pytest.raises(ValidationError):
        TodoTool.arguments.model_validate({"items": items})


@pytest.mark.parametrize(("count", "what"), [(1, "this question"), (2, "these 2 questions")])
async def test_a_question_is_answered_at_once(count: int, what: str) -> None:
    played = await play(QuestionTool(), SCENE, questions=[ASKED] * count)

    assert played.output == ToolOutput(
        told(
            ResultStatus.OK,
            f"Nobody is there to answer {what}. Take the most careful reading: the one that changes least and that can "
            "be undone. Go on with it, and state in your final message what you asked and what you assumed. Where no "
            "careful reading lets you go on, leave that part undone and say what you need to know. Do not ask again.",
        )
    )


@pytest.mark.parametrize("questions", [[], [ASKED] * 5, [{"title": ""}], [{**ASKED, "options": [{"title": "a"}] * 9}]])
def test_questions_are_few_and_short(questions: list[JsonValue]) -> None:
    with pytest.raises(ValidationError):
        QuestionTool.arguments.model_validate({"questions": questions})


async def test_nothing_to_report_concludes_the_run() -> None:
    played = await play(NothingToReportTool(), SCENE, reason="No commits since yesterday.")

    assert played.output == ToolOutput(
        ToolResult(
            status=ResultStatus.OK,
            parts=(TextPart(text="Noted: nothing to report. End now, with one short sentence and no further calls."),),
            concludes="nothing_to_report",
        )
    )


@pytest.mark.parametrize(
    ("tool", "effect", "args"),
    [
        (TodoTool(), Effect.NOTE, {"items": []}),
        (QuestionTool(), Effect.QUESTION, {"questions": [ASKED]}),
        (NothingToReportTool(), Effect.NOTE, {"reason": "quiet"}),
        (ReportFailureTool(), Effect.NOTE, {"reason": "the page was gone"}),
    ],
)
async def test_they_touch_nothing_and_may_be_called_again(
    tool: Tool, effect: Effect, args: dict[str, JsonValue]
) -> None:
    call = a_call(tool.name, **args)

    assert await tool.facts(call, tool.arguments(**args), SCENE) == CallFacts(call, effect)
    assert tool.replay_safe


async def test_a_reason_that_tells_of_a_mishap_is_something_to_report() -> None:
    played = await play(NothingToReportTool(), SCENE, reason="The fetch of the feed timed out.")

    assert (played.result.status, played.result.concludes) == (ResultStatus.ERROR, None)
    assert played.text.startswith("The reason tells of something that went wrong ('timed out')")


async def test_a_declared_failure_concludes_the_run() -> None:
    played = await play(ReportFailureTool(), SCENE, reason="The repository could not be read.")

    assert (played.result.status, played.result.concludes) == (ResultStatus.OK, "failed")
