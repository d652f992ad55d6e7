"""A run whose window is nearly full: who is asked for a summary, what is made of it, and what where there is none."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

import pytest

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.errors import ContextOverflowError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.event import CompactionFailed, CompactionStarted, ContextCompacted
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.message import (
    AssistantMessage,
    Message,
    ModelReply,
    ModelRequest,
    ResultStatus,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
)
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.price import Price
from kova_auto.core.provider import BUILT_IN
from kova_auto.core.stop_reason import StopReason
from kova_auto.engine.dispatch import Advanced
from kova_auto.llm.openai_chat.wire import OpenAiChat
from tests.doubles.model import Failure, Turns, call, fails, says
from tests.engine.replays import Again
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, tool_call

PIN = ModelPin(name="test/model", capability=Capability(window=16_000), price=Price(input=1.0, output=1.0))
SUMMARY = "## Objective\nLook around.\n## Next steps\nGo on."


def used(tokens: int) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=10)


def looks(number: int, tokens: int = 1_000) -> ModelReply:
    return says(f"Look {number}.", call("look", path=f"{number}.txt"), usage=used(tokens))


FULL = (*[looks(number) for number in range(1, 6)], looks(6, 9_000))
"""After these the window of a request is full."""
DONE = says("Done.", usage=used(900))
SUMMED = says(SUMMARY, usage=used(9_500))


@dataclass
class Long:
    """Hold a stage on which such a run goes on.

    Attributes:
        model: Says its lines in their order, whatever it is asked.
    """

    model: Turns
    stage: Stage = field(default_factory=Stage)

    async def opened(self, *pins: ModelPin, **limits: object) -> None:
        job = a_job(limits={"tokens": 1_000_000, **limits})
        await self.stage.opened(job=job, pins=pins or (PIN,))

    async def goes_on(self) -> Advanced:
        return await self.stage.engine(model=self.model).advance(RUN)

    async def folded(self) -> list[ContextCompacted]:
        return [event for event in await self.stage.facts() if isinstance(event, ContextCompacted)]

    async def failed(self) -> list[CompactionFailed]:
        return [event for event in await self.stage.facts() if isinstance(event, CompactionFailed)]


async def ran(*lines: ModelReply | Failure, pins: tuple[ModelPin, ...] = (PIN,)) -> Long:
    """Return a run that says these lines to its end."""
    long = Long(Turns(*lines))
    await long.opened(*pins)
    assert await long.goes_on() is Advanced.DONE
    return long


def text_of(request: ModelRequest) -> str:
    return "\n".join(
        part.text
        for message in request.messages
        if not isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, TextPart)
    )


def _wire(request: ModelRequest) -> str:
    body = OpenAiChat().encode(BUILT_IN["openai"], request)
    return json.dumps([body["tools"], body["messages"]]).removesuffix("]]")


async def test_older_iterations_become_one_text_and_the_run_goes_on() -> None:
    long = await ran(*FULL, SUMMED, DONE)
    (one,) = await long.folded()
    *_, asked, last = long.model.requests

    assert await long.stage.ended() == (Outcome.DONE, "")
    assert (one.iteration, one.strategy, one.reason, one.model) == (6, "summary", "threshold", "test/model")
    assert one.tokens_after <= 0.8 * one.tokens_before
    prompt, summary, *rest = last.messages
    assert isinstance(summary, UserMessage)
    assert (prompt, summary.parts) == (asked.messages[0], (TextPart(text=one.summary),))
    assert SUMMARY in one.summary
    assert "no longer visible to you" in one.summary
    assert len([message for message in rest if isinstance(message, AssistantMessage)]) == 6 - one.through


async def test_the_request_for_a_summary_begins_as_the_one_before_and_offers_the_same_tools() -> None:
    long = await ran(*FULL, SUMMED, DONE)
    *_, before, asked, _ = long.model.requests

    *folded, instruction = asked.messages
    assert (asked.system, asked.tools, asked.cache_key) == (before.system, before.tools, before.cache_key)
    assert folded == [*before.messages][: len(folded)]
    assert "## Unfinished objectives" in str(instruction)
    assert asked.max_output_tokens == 4_000
    assert _wire(before).startswith(_wire(asked.model_copy(update={"messages": tuple(folded)})))


async def test_what_a_summary_uses_counts() -> None:
    long = await ran(*FULL, SUMMED, DONE)
    state = await long.stage.journal.load(RUN)

    assert [spent.usage.input_tokens for spent in state.spent] == [1_000] * 5 + [9_000, 9_500, 900]
    assert state.spent[6].usage.cost_usd == pytest.approx(0.00951)


async def test_the_next_summary_is_made_of_the_last_one() -> None:
    more = [looks(number, 2_000) for number in range(7, 12)]
    long = await ran(*FULL, SUMMED, *more, looks(12, 9_000), says("## Objective\nAgain."), DONE)
    first, second = await long.folded()

    assert "[Summary 1 of" in first.summary
    assert "[Summary 2 of" in second.summary
    assert SUMMARY in text_of(long.model.requests[-2])
    assert SUMMARY not in second.summary
    assert first.through < second.through


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (says("  ", usage=used(9_500)), "Empty"),
        (says("", call("look", path="again"), usage=used(9_500)), "CalledTool"),
        (says("## Objec", stop=StopReason.LENGTH, usage=used(9_500)), "CutOff"),
        (says("I will not.", stop=StopReason.REFUSED, usage=used(9_500)), "CutOff"),
        (says("x" * 40_000, usage=used(9_500)), "TooLong"),
        (fails(ContextOverflowError("too long")), "ContextOverflow"),
        (fails(ModelRefusedError("no such field", fault=Fault.INVALID)), "ModelRefused"),
    ],
)
async def test_a_summary_that_is_not_worth_having_is_asked_for_with_less(bad: ModelReply | Failure, error: str) -> None:
    long = await ran(*FULL, bad, SUMMED, DONE)
    (failed,), (one,) = await long.failed(), await long.folded()
    whole, less = long.model.requests[6:8]

    assert await long.stage.ended() == (Outcome.DONE, "")
    assert (failed.error, failed.retry_at) == (error, None)
    assert (one.strategy, len(less.messages) < len(whole.messages)) == ("trimmed", True)
    assert "only a part of what came before" in text_of(less)
    assert "made of a part of them only" in one.summary
    assert long.stage.hands.done == [f"{number}.1 look" for number in range(1, 7)]


async def test_where_no_summary_is_to_be_had_the_window_begins_afresh_and_the_run_goes_on() -> None:
    long = await ran(*FULL, says(" "), says(" "), DONE)
    (one,) = await long.folded()

    assert await long.stage.ended() == (Outcome.DONE, "")
    assert (one.strategy, one.model, one.usage) == ("fresh", "", None)
    assert "could not be summed up" in one.summary
    assert f"The last that you wrote:\nLook {one.through}." in one.summary


async def test_a_fresh_window_keeps_the_last_summary_that_there_was() -> None:
    more = [looks(number, 2_000) for number in range(7, 12)]
    long = await ran(*FULL, SUMMED, *more, looks(12, 9_000), says(" "), says(" "), DONE)

    assert SUMMARY in (await long.folded())[1].summary


async def test_a_provider_that_is_busy_is_asked_again_later_for_the_same() -> None:
    busy = fails(ModelUnavailableError("busy", fault=Fault.RATE_LIMITED, retry_after_s=600.0))
    long = Long(Turns(*FULL, busy, SUMMED, DONE))
    await long.opened()
    assert await long.goes_on() is Advanced.SUSPENDED
    long.stage.clock.later(300)
    assert await long.goes_on() is Advanced.SUSPENDED
    long.stage.clock.later(302)
    assert await long.goes_on() is Advanced.DONE

    first, second = long.model.requests[6:8]
    assert (first, await long.stage.ended()) == (second, (Outcome.DONE, ""))
    assert (await long.stage.journal.load(RUN)).ran_s < 3.0


async def test_a_provider_that_stays_away_is_asked_four_times() -> None:
    long = Long(Turns(*FULL, *[fails(ModelUnavailableError("down"))] * 4, DONE))
    await long.opened()
    while await long.goes_on() is not Advanced.DONE:
        long.stage.clock.later(31)

    assert [one.strategy for one in await long.folded()] == ["fresh"]
    assert len(await long.failed()) == 4


async def test_an_overflow_has_it_folded_and_the_same_asked_again() -> None:
    lines = [looks(number) for number in range(1, 7)]
    long = await ran(*lines, fails(ContextOverflowError("too long")), SUMMED, DONE)
    (one,) = await long.folded()

    assert await long.stage.ended() == (Outcome.DONE, "")
    assert (one.reason, one.tokens_before) == ("overflow", 16_000)


async def test_a_second_overflow_is_the_end() -> None:
    lines = [looks(number) for number in range(1, 7)]
    again = fails(ContextOverflowError("too long"))
    long = await ran(*lines, again, SUMMED, again)
    outcome, reason = await long.stage.ended()

    assert (outcome, reason.startswith("ContextOverflow: too long (of the 8,000 tokens")) == (Outcome.FAILED, True)


async def test_secrets_are_in_no_summary() -> None:
    long = await ran(*FULL, says("The key is hunter2-hunter2.", usage=used(9_500)), DONE)
    (one,) = await long.folded()

    assert "The key is [redacted]." in one.summary
    assert "hunter2" not in "".join(map(text_of, long.model.requests))


async def test_a_worker_that_dies_while_it_asks_for_a_summary_leaves_it_to_the_next() -> None:
    long = Long(Turns(*FULL, None, SUMMED, DONE))
    await long.opened()
    driving = asyncio.create_task(long.goes_on())
    await long.model.stuck.wait()
    driving.cancel()
    await asyncio.wait({driving})
    long.stage.clock.later(31)

    assert await long.goes_on() is Advanced.DONE
    facts = await long.stage.facts()
    assert [fact.kind for fact in facts if isinstance(fact, CompactionStarted | ContextCompacted)] == [
        "compaction_started",
        "compaction_started",
        "context_compacted",
    ]
    assert long.model.requests[6] == long.model.requests[7]


@pytest.mark.parametrize(
    "lines",
    [
        (*FULL, SUMMED, DONE),
        (*FULL, says(" "), SUMMED, DONE),
        (*FULL, says(" "), says(" "), DONE),
        (*FULL[:5], fails(ContextOverflowError("too long")), SUMMED, DONE),
    ],
)
async def test_a_run_that_was_folded_is_replayed_as_it_was(lines: tuple[ModelReply | Failure, ...]) -> None:
    long = await ran(*lines)
    replay = await Again(long.stage).played()

    assert (replay.differs, replay.outcome_now, replay.tokens_now) == (False, Outcome.DONE, replay.tokens_then)


async def test_another_model_sums_up_anew_in_a_replay() -> None:
    long = await ran(*FULL, SUMMED, DONE)
    live = Turns(*FULL, SUMMED, DONE)
    replay = await Again(long.stage).asked(live, PIN.model_copy(update={"name": "live/small"}))

    assert (replay.outcome_now, len(live.requests)) == (Outcome.DONE, 8)


def said_before(results: int, chars: int) -> Briefing:
    """Return what a run that goes on with another is shown of it: a summary, and results of so many characters."""
    asks = [tool_call("look", number, path=f"{number}.txt") for number in range(1, results + 1)]
    messages: list[Message] = [UserMessage(parts=(TextPart(text=f"<<< summary\n{SUMMARY}\n>>> summary"),))]
    for ask in asks:
        messages.append(AssistantMessage(text=f"Before {ask.id}.", calls=(ask,)))
        found = (TextPart(text="x" * chars),)
        messages.append(ToolMessage(call=ask, status=ResultStatus.OK, parts=found))
    return Briefing(history=tuple(messages))


@pytest.mark.parametrize(
    ("results", "chars", "strategy"), [(9, 4_000, "summary"), (4, 20_000, "trimmed"), (40, 4_000, "fresh")]
)
async def test_what_an_earlier_run_said_is_folded_before_the_first_reply(
    results: int, chars: int, strategy: str
) -> None:
    long = Long(Turns(*([SUMMED] if strategy != "fresh" else []), DONE))
    long.stage.brief = said_before(results, chars)
    await long.opened()
    assert await long.goes_on() is Advanced.DONE
    (one,) = await long.folded()

    assert (one.through, one.strategy) == (0, strategy)
    assert "those of the run that this one continues" in one.summary
    assert SUMMARY in one.summary
    assert ("The last that you wrote:\nBefore 40.1." in one.summary) is (strategy == "fresh")
    assert len(long.model.requests[-1].messages) == 2


async def test_no_result_is_parted_from_its_call() -> None:
    both = says("", call("look", path="a"), call("look", path="b"), usage=used(1_000))
    last = says("", call("look", path="c"), call("look", path="d"), usage=used(9_000))
    long = await ran(both, both.model_copy(update={"text": "Hm."}), last, SUMMED, DONE)

    for request in long.model.requests:
        called = [ask.id for said in request.messages if isinstance(said, AssistantMessage) for ask in said.calls]
        assert called == [said.call.id for said in request.messages if isinstance(said, ToolMessage)]
