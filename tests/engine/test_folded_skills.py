"""What a loaded skill says stays with a run whose older iterations are folded, time and again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import pytest

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.message import AssistantMessage, ModelReply, ModelRequest, ResultStatus, TextPart, ToolCall, told
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.tool import Scene, ToolFact, ToolOutput
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import Turns, call, says
from tests.doubles.toolbox import Hands
from tests.engine.test_compacting import DONE, FULL, PIN, SUMMED, looks
from tests.engine.worlds import RUN, Stage
from tests.support import a_job

SKILL = UsedSkill(name="notes", folder="/ws/.kova/skills/notes", tools=("look",))
TEXT = "Sort the changes, the newest first."


@dataclass
class Shelf(Hands):
    """Give the first look the words of a skill."""

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        if scene.call_id == "1.1":
            yield ToolOutput(told(ResultStatus.OK, TEXT).but(skill=SKILL))
            return
        async with aclosing(super().execute(call, verdict, scene)) as facts:
            async for fact in facts:
                yield fact


def text_of(request: ModelRequest) -> str:
    said = [message for message in request.messages if not isinstance(message, AssistantMessage)]
    return "\n".join(part.text for message in said for part in message.parts if isinstance(part, TextPart))


async def ran(*lines: ModelReply) -> tuple[Stage, list[ModelRequest]]:
    stage, model = Stage(hands=Shelf()), Turns(*lines)
    await stage.opened(job=a_job(limits={"tokens": 1_000_000}), pins=(PIN,))
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    return stage, model.requests


@pytest.mark.parametrize("times", [1, 2])
async def test_every_request_holds_it_once(times: int) -> None:
    again = [*(looks(number, 2_000) for number in range(7, 12)), looks(12, 9_000), SUMMED] * (times - 1)
    stage, requests = await ran(*FULL, SUMMED, *again, DONE)

    assert len((await stage.journal.load(RUN)).compactions) == times
    assert [text_of(request).count(TEXT) for request in requests[1:]] == [1] * (len(requests) - 1)


async def test_it_narrows_after_that_as_before() -> None:
    changes = says("Now.", call("change"))
    stage, _ = await ran(*FULL, SUMMED, changes, DONE)
    state = await stage.journal.load(RUN)
    verdict = state.call(state.replies[-2].calls[0].id).verdict

    assert verdict
    assert verdict.rule == "skill.allowed_tools"
