"""Calls of one reply that only look run at the same time; all else is as if they had run one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import ApprovalDecided, CallFinished, CallStarted, Event, StopRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.replay import Ending
from kova_auto.engine.dispatch import Advanced
from tests.doubles.journal import MemoryJournal
from tests.engine.looks import Looking, a_run, comes_to, reads, results
from tests.engine.replays import Again
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call


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
