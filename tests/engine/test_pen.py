"""What a worker writes together, and what becomes of it where somebody else was first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import ApprovalDecided, Event, StopRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from tests.doubles.flaky import FlakyJournal
from tests.doubles.journal import MemoryJournal
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

LONG_S = 60.0
"""A moment that no machine is slow enough to pass."""
LOOKS = ["call_adjudicated", "call_started", "call_finished"]


class Writes(MemoryJournal):
    """Remember which facts were written together."""

    def __init__(self) -> None:
        super().__init__()
        self.together: list[list[str]] = []
        self._awaited: dict[str, asyncio.Event] = {}

    async def wrote(self, kind: str) -> None:
        """Wait for the next fact of a kind to be written."""
        written = self._awaited[kind] = asyncio.Event()
        await written.wait()

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
        reached: RunState | None = None,
    ) -> RunState:
        self.together.append([one.kind for one in (*first, event)])
        after = await super().append(state, event, first=first, epoch=epoch, blobs=blobs, reached=reached)
        self._tell()
        return after

    async def acquire(
        self,
        run_id: RunId,
        *,
        worker: str,
        now: datetime,
        lease: timedelta,
        known: RunState | None = None,
        then: Sequence[Event] = (),
        reached: RunState | None = None,
    ) -> RunState | Unavailable:
        self.together.append(["run_acquired", *(one.kind for one in then)])
        taken = await super().acquire(
            run_id, worker=worker, now=now, lease=lease, known=known, then=then, reached=reached
        )
        self._tell()
        return taken

    def _tell(self) -> None:
        for kind in self.together[-1]:
            if kind in self._awaited:
                self._awaited[kind].set()


async def test_every_fact_is_written_before_anything_happens_that_it_comes_before() -> None:
    journal = Writes()
    stage = Stage(journal=journal, moment_s=LONG_S)
    await stage.opened(job=a_job(automation="workspace-write"))
    assert await stage.advance(says("I look.", call("look"), call("change")), says("Well.")) is Advanced.DONE

    assert journal.together == [
        ["run_acquired", "context_assembled", "model_call_started"],
        ["model_replied", *LOOKS, "call_adjudicated", "call_started"],
        ["call_finished"],  # It has changed something: nothing is waited for.
        ["model_call_started"],
        ["model_replied", "run_finished"],
    ]


async def test_a_call_that_only_looks_is_written_with_what_follows_from_it() -> None:
    journal = Writes()
    stage = Stage(journal=journal, moment_s=LONG_S)
    await stage.opened()
    assert await stage.advance(says("I look.", call("look"), call("look")), says("Well.")) is Advanced.DONE

    assert journal.together[1:] == [
        ["model_replied", *LOOKS, *LOOKS, "model_call_started"],
        ["model_replied", "run_finished"],
    ]


async def test_a_call_that_only_looks_is_on_record_when_it_takes_longer_than_a_moment() -> None:
    journal = Writes()
    stage = Stage(journal=journal)
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    driving = asyncio.create_task(stage.advance(says("I look.", call("look")), says("Well.")))
    await stage.hands.working.wait()
    before = await stage.kinds()
    await journal.wrote("call_started")
    stage.hands.goes_on.set()

    assert before[-1] == "model_call_started"
    assert await driving is Advanced.DONE
    assert journal.together[1:3] == [["model_replied", *LOOKS[:-1]], ["call_finished", "model_call_started"]]


async def test_an_answer_is_on_record_when_the_end_of_its_run_takes_longer_than_a_moment() -> None:
    journal, settled = Writes(), asyncio.Event()
    stage = Stage(journal=journal)
    stage.hands.settles = settled.wait
    await stage.opened()
    driving = asyncio.create_task(stage.advance(says("Done.")))
    await journal.wrote("model_replied")
    settled.set()

    assert await driving is Advanced.DONE
    assert journal.together[-2:] == [["model_replied"], ["run_finished"]]


async def test_an_answer_is_on_record_before_anything_that_its_run_left_is_tidied_up() -> None:
    journal, settling = Writes(), list[list[str]]()
    stage = Stage(journal=journal, moment_s=LONG_S)

    async def settles() -> None:
        settling.append(await stage.kinds())

    stage.hands.settles = settles
    await stage.opened(job=a_job(automation="full"))
    assert await stage.advance(says("", call("run", command="ls")), says("Done.")) is Advanced.DONE
    assert [kinds[-1] for kinds in settling] == ["model_replied"]
    assert journal.together[-1] == ["run_finished"]


async def test_an_answer_is_on_record_although_the_end_of_its_run_breaks() -> None:
    stage = Stage(moment_s=LONG_S)
    stage.hands.settles = _breaks
    await stage.opened()

    assert await stage.advance(says("Paid for.")) is Advanced.BUSY
    assert (await stage.kinds())[-2:] == ["model_replied", "stop_requested"]


async def _breaks() -> None:
    raise ZeroDivisionError


async def test_a_worker_that_is_cancelled_writes_what_it_has_done() -> None:
    stage = Stage(moment_s=LONG_S)
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    driving = asyncio.create_task(stage.advance(says("I look.", call("look"))))
    await stage.hands.working.wait()
    driving.cancel()
    await asyncio.wait({driving})

    assert (await stage.kinds())[-3:] == ["model_replied", *LOOKS[:-1]]


async def test_a_run_that_rests_has_written_everything() -> None:
    journal = Writes()
    stage = Stage(journal=journal, moment_s=LONG_S)
    await stage.opened(job=a_job(approval={"when_needed": "suspend"}))
    assert await stage.advance(says("", call("change"))) is Advanced.SUSPENDED

    assert journal.together[-1] == ["model_replied", "call_adjudicated", "approval_requested"]


async def test_what_can_follow_is_written_although_somebody_else_was_first() -> None:
    journal = FlakyJournal()
    stage = Stage(journal=journal, moment_s=LONG_S)
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    journal.overtakes["call_started"] = stop
    await stage.opened()
    assert await stage.advance(says("I look.", call("look")), says("Never said.")) is Advanced.DONE

    kinds = await stage.kinds()
    assert kinds.index("stop_requested") < kinds.index("call_adjudicated")
    assert await stage.ended() == (Outcome.CANCELLED, "enough")


async def test_facts_that_nobody_else_let_follow_are_given_up_one_by_one() -> None:
    journal = FlakyJournal()
    stage = Stage(journal=journal, moment_s=LONG_S)
    await stage.opened(job=a_job(approval={"when_needed": "suspend", "timeout": "1h"}))
    assert await stage.advance(says("", call("change"))) is Advanced.SUSPENDED
    answer = ApprovalDecided(
        at=stage.clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ada", note="go on"
    )
    journal.overtakes["approval_decided"] = answer  # just before the time to answer is over
    stage.clock.later(3601)
    assert await stage.advance(says("", call("change")), says("Done.")) is Advanced.DONE

    state = await journal.load(RunId(RUN))
    assert state.calls[CallId("1.1")].decision == answer
    assert stage.hands.done == ["1.1 change"]
