"""Calls of one reply that only look run at the same time; all else is as if they had run one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import pytest

from kova_auto.core.approval.levels import Decision, Effect, Verdict
from kova_auto.core.event import ApprovalDecided, CallAdjudicated, CallFinished, CallStarted, Event, StopRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import CallRequest, ResultStatus, TextPart, ToolCall, ToolMessage, told
from kova_auto.core.replay import Ending
from kova_auto.core.steps import TOGETHER
from kova_auto.core.tool import Scene, ToolFact, ToolOutput
from kova_auto.engine.dispatch import Advanced
from tests.doubles.journal import MemoryJournal
from tests.doubles.model import ScriptedModel
from tests.doubles.toolbox import Hands
from tests.engine.replays import Again
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says


@dataclass
class Looking(Hands):
    """Look, and end a look only when it may.

    Attributes:
        gates: Looks that do not end before theirs is open, by what they look at.
        begun: What was looked at, in order.
        crowd: No look ends before so many are under way.
        fails: What a look raises.
        blobs: What is to be kept of a look: it is written at once.
        taints: What brings words from outside.
        most: So many were under way at the same time.
    """

    effects: dict[str, Effect] = field(
        default_factory=lambda: {
            "read": Effect.READ,
            "grep": Effect.READ,
            "web_fetch": Effect.WEB_READ,
            "change": Effect.WRITE,
            "bash": Effect.COMMAND,
        }
    )
    safe: frozenset[str] = frozenset({"read", "grep", "web_fetch"})
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    crowd: int = 1
    fails: dict[str, Exception] = field(default_factory=dict)
    blobs: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    taints: AbstractSet[str] = frozenset()
    under_way: int = 0
    most: int = 0
    crowded: asyncio.Event = field(default_factory=asyncio.Event)

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        if call.tool not in self.safe:
            async for fact in super().execute(call, verdict, scene):
                yield fact
            return
        what = str(call.args["path"])
        self.meanwhile()
        self.begun.append(what)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if len(self.begun) >= self.crowd:
                self.crowded.set()
            await self.crowded.wait()
            if what in self.gates:
                await self.gates[what].wait()
            if what in self.fails:
                raise self.fails[what]
            self.done.append(f"{scene.call_id} {call.tool}")
            result = told(ResultStatus.OK, f"this is {what}").but(taints="a page" if what in self.taints else "")
            yield ToolOutput(result, self.blobs.get(what, ()))
        except asyncio.CancelledError:
            self.left.append(scene.call_id)
            raise
        finally:
            self.under_way -= 1


async def comes_to(hands: Looking, count: int) -> None:
    """Wait until so many looks have ended, and their worker knows it."""
    for _ in range(1000):
        if len(hands.done) >= count:
            break
        await asyncio.sleep(0)
    assert len(hands.done) >= count
    for _ in range(20):
        await asyncio.sleep(0)


def reads(*names: str) -> list[CallRequest]:
    return [call("read", path=name) for name in names]


def results(model: ScriptedModel) -> list[str]:
    """Return what the model was told in the end, in the order in which it was."""
    messages = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


async def a_run(
    hands: Looking, *calls: CallRequest, job: Job | None = None, journal: MemoryJournal | None = None
) -> tuple[Stage, ScriptedModel]:
    stage = Stage(hands=hands, journal=journal or MemoryJournal())
    await stage.opened(job=job or a_job(automation="full"))
    return stage, ScriptedModel(says("Let me see.", *calls), says("Done."))


async def test_eight_looks_of_one_reply_run_at_the_same_time_and_are_told_in_the_models_order() -> None:
    hands = Looking(crowd=8)
    stage, model = await a_run(hands, *reads(*"abcdefgh"))

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE

    assert (hands.most, hands.under_way) == (8, 0)
    assert results(model) == [f"this is {name}" for name in "abcdefgh"]
    kinds = await stage.kinds()
    judged, begun, ended = (kinds.index(kind) for kind in ("call_adjudicated", "call_started", "call_finished"))
    assert kinds[judged:] == [
        *["call_adjudicated"] * 8,
        *["call_started"] * 8,
        *["call_finished"] * 8,
        "model_call_started",
        "model_replied",
        "run_finished",
    ]
    assert judged < begun < ended


async def test_no_more_than_a_bounded_number_run_at_the_same_time() -> None:
    hands = Looking(crowd=TOGETHER)
    stage, model = await a_run(hands, *reads(*"abcdefghijk"))
    await stage.engine(model=model).advance(RUN)
    assert hands.most == TOGETHER
    assert results(model) == [f"this is {name}" for name in "abcdefghijk"]


async def test_where_one_ends_the_next_begins_whatever_the_others_are_at() -> None:
    names = "abcdefghijkl"
    hands = Looking(crowd=TOGETHER, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*names))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, len(names) - 1)
    assert (sorted(hands.begun), hands.under_way) == (list(names), 1)

    hands.gates["a"].set()
    assert await driving is Advanced.DONE
    assert hands.most == TOGETHER
    assert results(model) == [f"this is {name}" for name in names]
    facts = [event for event in await stage.facts() if isinstance(event, CallStarted | CallFinished)]
    assert [event.kind for event in facts[:TOGETHER]] == ["call_started"] * TOGETHER
    under_way = [sum(1 if isinstance(event, CallStarted) else -1 for event in facts[:place]) for place in range(24)]
    assert max(under_way) == TOGETHER


async def test_once_a_page_has_come_none_begins_that_was_judged_before() -> None:
    hands = Looking(crowd=TOGETHER, taints={"b"}, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, TOGETHER - 1)
    assert sorted(hands.begun) == list("abcdefgh")

    hands.gates["a"].set()
    assert await driving is Advanced.DONE
    judged = [event.call_id for event in await stage.facts() if isinstance(event, CallAdjudicated)]
    assert judged[12:] == ["1.9", "1.10", "1.11", "1.12"]
    assert results(model) == [f"this is {name}" for name in "abcdefghijkl"]


async def test_the_journal_has_results_as_they_come_and_the_model_has_them_in_its_order() -> None:
    gates = {name: asyncio.Event() for name in "abc"}
    hands = Looking(crowd=3, gates=gates)
    stage, model = await a_run(hands, *reads(*"abc"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await hands.crowded.wait()
    for ended, name in enumerate("cab", 1):
        gates[name].set()
        await comes_to(hands, ended)

    assert await driving is Advanced.DONE
    finished = [event.call_id for event in await stage.facts() if isinstance(event, CallFinished)]
    assert finished == ["1.3", "1.1", "1.2"]
    assert results(model) == [f"this is {name}" for name in "abc"]


@pytest.mark.parametrize(("tool", "is_told_before"), [("web_fetch", True), ("read", False)])
async def test_what_somebody_else_can_see_is_on_record_before_any_of_it_begins(
    tool: str, *, is_told_before: bool
) -> None:
    """A look at a file may be on record a moment later: nobody can tell that it was made."""
    hands = Looking(crowd=3)
    stage, model = await a_run(hands, call("read", path="a"), call(tool, path="b"), call("read", path="c"))
    kept: list[str] = []
    stage.journal.after_append = lambda _, event: kept.append(event.kind)
    told: list[int] = []
    hands.meanwhile = lambda: told.append(kept.count("call_started"))
    await stage.engine(model=model).advance(RUN)
    assert told[:3] == [3 if is_told_before else 0] * 3
    assert kept.count("call_started") == 3


async def test_a_write_between_looks_keeps_its_place() -> None:
    hands = Looking(crowd=2)
    stage, model = await a_run(hands, *reads(*"ab"), call("change"), *reads(*"cd"))
    await stage.engine(model=model).advance(RUN)
    before, change, behind = hands.done[:2], hands.done[2], hands.done[3:]
    assert (sorted(before), change, sorted(behind)) == (
        ["1.1 read", "1.2 read"],
        "1.3 change",
        ["1.4 read", "1.5 read"],
    )
    assert hands.most == 2


async def test_a_look_whose_arguments_fit_nothing_holds_up_no_other() -> None:
    hands = Looking(crowd=3)
    stage, model = await a_run(hands, *reads("a"), call("read", path=7), *reads("b", "c"))
    await stage.engine(model=model).advance(RUN)
    assert results(model) == ["this is a", "wanted text", "this is b", "this is c"]
    assert hands.most == 3


async def test_a_look_that_needs_a_person_holds_up_those_behind_it() -> None:
    hands = Looking(crowd=2)
    job = a_job(automation="workspace-write", approval={"when_needed": "suspend"})
    stage, model = await a_run(hands, *reads("a", "b"), call("web_fetch", path="c"), *reads("d", "e"), job=job)
    engine = stage.engine(model=model)
    assert await engine.advance(RUN) is Advanced.SUSPENDED
    assert sorted(hands.begun) == ["a", "b"]

    said = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.3"), decision=Decision.ONCE, by="ann")
    await stage.journal.append(await stage.journal.load(RUN), said)
    assert await engine.advance(RUN) is Advanced.DONE
    assert (hands.begun[2], sorted(hands.begun[3:])) == ("c", ["d", "e"])
    assert results(model) == [f"this is {name}" for name in "abcde"]


async def test_a_tool_that_fails_is_told_and_the_others_are_not_disturbed() -> None:
    """What a tool raises never leaves the toolbox; what does, breaks the run, but loses nothing that was found."""
    hands = Looking(crowd=4, fails={"b": ZeroDivisionError()}, gates={"d": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*"abcd"))
    engine = stage.engine(model=model)
    driving = asyncio.create_task(engine.advance(RUN))
    await comes_to(hands, 2)
    hands.gates["d"].set()
    assert await driving is Advanced.BUSY

    state = await stage.journal.load(RUN)
    found = {key: known.result.text for key, known in state.calls.items() if known.result}
    assert found == {"1.1": "this is a", "1.3": "this is c", "1.4": "this is d"}
    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "internal error: ZeroDivisionError")
    assert hands.recovered == ["1.2 read"]


async def _half_done(names: str, done: str) -> tuple[Stage, Looking, asyncio.Task[Advanced]]:
    """Bring a run to where some of its looks have ended and the others have not."""
    hands = Looking(crowd=len(names), gates={name: asyncio.Event() for name in names if name not in done})
    stage, model = await a_run(hands, *reads(*names))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, len(done))
    return stage, hands, driving


async def test_a_run_that_is_stopped_meanwhile_keeps_what_was_done_and_ends_the_others() -> None:
    stage, hands, driving = await _half_done("abcde", "bd")
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")
    unknown, fine = ResultStatus.UNKNOWN, ResultStatus.OK
    assert await stage.statuses() == [unknown, fine, unknown, fine, unknown]
    assert (sorted(hands.left), hands.under_way) == (["1.1", "1.3", "1.5"], 0)
    assert hands.recovered == ["1.1 read", "1.3 read", "1.5 read"]


class Slow(MemoryJournal):
    """Take a while to say what others have written, and let something happen meanwhile."""

    meanwhile: Callable[[], None] | None = None

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        if self.meanwhile:
            self.meanwhile()
            for _ in range(20):
                await asyncio.sleep(0)
        return await super().events(run_id, after)


@pytest.mark.parametrize("blobs", [(), (b"a picture",)], ids=["that may wait", "that is written at once"])
async def test_a_result_that_comes_while_a_stop_is_being_read_does_not_hide_it(blobs: tuple[bytes, ...]) -> None:
    hands = Looking(crowd=2, gates={name: asyncio.Event() for name in "ab"}, blobs={"a": blobs})
    journal = Slow()
    stage, model = await a_run(hands, *reads(*"ab"), journal=journal)
    on_record = asyncio.Event()
    journal.after_append = lambda _, event: on_record.set() if event.kind == "call_started" else None
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await on_record.wait()  # So that nothing waits to be written, which would have the worker look again.
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await journal.append(await journal.load(RUN), stop)
    journal.meanwhile = hands.gates["a"].set
    stage.bells.asked(RUN)

    assert await asyncio.wait_for(driving, 60) is Advanced.DONE
    assert await stage.statuses() == [ResultStatus.OK, ResultStatus.UNKNOWN]


async def test_a_run_whose_time_is_over_meanwhile_ends_the_same_way() -> None:
    hands = Looking(crowd=2, gates={"b": asyncio.Event()})
    job = a_job(automation="full", limits={"timeout": "10s"})
    stage, model = await a_run(hands, *reads(*"ab"), job=job)
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, 1)
    stage.clock.later(10)
    stage.bells.asked(RUN)
    assert await driving is Advanced.DONE
    assert (await stage.ended())[0] is Outcome.TIMED_OUT
    assert await stage.statuses() == [ResultStatus.OK, ResultStatus.UNKNOWN]


@pytest.mark.parametrize("how", ["the service ends", "the worker is cancelled"])
async def test_the_next_worker_looks_again_only_where_it_must(how: str) -> None:
    hands = Looking(crowd=4, gates={name: asyncio.Event() for name in "ad"})
    stage, model = await a_run(hands, *reads(*"abcd"))
    engine = stage.engine(model=model)
    driving = asyncio.create_task(engine.advance(RUN))
    await comes_to(hands, 2)
    if how == "the service ends":
        engine.stopping.gently.set()
        engine.stopping.now.set()
        assert await driving is Advanced.YIELDED
    else:
        driving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await driving
    assert hands.under_way == 0

    hands.gates.clear()
    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    assert (sorted(hands.begun[:4]), hands.begun[4:]) == (["a", "b", "c", "d"], ["a", "d"])
    assert results(model) == [f"this is {name}" for name in "abcd"]
    starts = [event.call_id for event in await stage.facts() if isinstance(event, CallStarted)]
    assert starts == ["1.1", "1.2", "1.3", "1.4", "1.1", "1.4"]


async def test_of_many_the_next_worker_looks_again_only_at_those_that_were_under_way() -> None:
    names, late = "abcdefghijkl", "adjl"
    hands = Looking(crowd=TOGETHER, gates={name: asyncio.Event() for name in late})
    stage, model = await a_run(hands, *reads(*names))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, len(names) - len(late))
    driving.cancel()
    await asyncio.wait({driving})
    assert (hands.under_way, sorted(hands.left)) == (0, ["1.1", "1.10", "1.12", "1.4"])

    hands.gates.clear()
    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    assert (sorted(hands.begun[:12]), sorted(hands.begun[12:])) == (list(names), list(late))
    assert results(model) == [f"this is {name}" for name in names]


async def test_of_many_those_that_had_not_begun_are_not_executed_when_the_run_is_stopped() -> None:
    hands = Looking(crowd=TOGETHER, gates={name: asyncio.Event() for name in "abcdefgh"})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await hands.crowded.wait()
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert sorted(hands.begun) == list("abcdefgh")
    assert await stage.statuses() == [*[ResultStatus.UNKNOWN] * 8, *[ResultStatus.CANCELLED] * 4]
    replay = await Again(stage).played()
    assert (replay.differs, replay.ended) == (False, Ending.FINISHED), replay.why


@pytest.mark.parametrize("page", ["", "b", "k"])
async def test_a_run_of_more_looks_is_replayed_as_it_was(page: str) -> None:
    hands = Looking(crowd=TOGETHER, taints={page}, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, TOGETHER - 1)
    hands.gates["a"].set()
    await driving

    replay = await Again(stage).played()
    assert (replay.differs, replay.ended) == (False, Ending.FINISHED), replay.why
    assert [found.verdict_now == found.verdict_then for found in replay.iterations[0].calls] == [True] * 12


@pytest.mark.parametrize("how", ["to its end", "stopped", "cut off"])
async def test_a_run_whose_looks_ran_at_the_same_time_is_replayed_as_it_was(how: str) -> None:
    stage, _, driving = await _half_done("abcd", "abcd" if how == "to its end" else "bd")
    if how == "stopped":
        stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
        await stage.journal.append(await stage.journal.load(RUN), stop)
        stage.bells.asked(RUN)
    if how == "cut off":
        driving.cancel()
    await asyncio.wait({driving})

    replay = await Again(stage).played()
    assert not replay.differs, replay.why
    assert replay.ended is (Ending.RECORDING if how == "cut off" else Ending.FINISHED)
    assert [found.verdict_now == found.verdict_then for found in replay.iterations[0].calls] == [True] * 4
