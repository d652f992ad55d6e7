"""A run that nobody has had is taken with the first facts about it; nobody is asked and nothing changed before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kova_auto.core.errors import JournalBusyError
from kova_auto.core.event import Event, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from tests.doubles.journal import MemoryJournal
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

LEASE = timedelta(seconds=30)
FIRST = ["run_requested", "run_acquired", "context_assembled", "model_call_started"]


class Contested(MemoryJournal):
    """Let something happen just before a run is taken."""

    def __init__(self, before: Callable[[MemoryJournal], Awaitable[object]] | None = None) -> None:
        super().__init__()
        self._before, self.taken = before, asyncio.Event()

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
        before, self._before = self._before, None
        if before:
            await before(self)
        found = await super().acquire(
            run_id, worker=worker, now=now, lease=lease, known=known, then=then, reached=reached
        )
        self.taken.set()
        return found


@dataclass
class Assembling(Stage):
    """Say what goes on while the context is assembled."""

    meanwhile: Callable[[], Awaitable[object]] | None = None
    before: list[str] = field(default_factory=list)

    async def _hindrance(self, _: RunState) -> str:
        self.before = await self.kinds()
        if self.meanwhile:
            await self.meanwhile()
        return self.hindrance


async def test_a_run_is_taken_with_its_first_facts_before_its_model_is_asked() -> None:
    stage, model = Assembling(), ScriptedModel(says("Done."))
    await stage.opened()
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE

    assert stage.before == FIRST[:1]
    assert (await stage.kinds())[:4] == FIRST
    assert len(model.requests) == 1


async def test_a_run_with_a_workspace_of_its_own_is_taken_before_that_is_made() -> None:
    stage = Assembling()
    await stage.opened(workspace="/copies/of/it")
    assert await stage.advance(says("Done.")) is Advanced.DONE

    assert stage.before == FIRST[:2]


async def test_a_run_that_was_had_before_is_taken_before_its_context_is_assembled() -> None:
    stage = Assembling()
    await stage.opened()
    await stage.journal.acquire(RUN, worker="lost", now=stage.clock.now(), lease=timedelta(0))
    assert await stage.advance(says("Done.")) is Advanced.DONE

    assert stage.before == ["run_requested", "run_acquired", "run_acquired"]


async def test_a_run_is_taken_in_a_moment_although_its_context_takes_longer() -> None:
    journal = Contested()
    stage = Assembling(journal=journal, meanwhile=journal.taken.wait)
    await stage.opened()
    assert await stage.advance(says("Done.")) is Advanced.DONE

    assert (await stage.kinds())[:4] == FIRST


async def test_a_lease_begins_when_the_run_is_taken_whatever_was_found_out_before() -> None:
    async def machine_sleeps() -> None:
        stage.clock.later(20)

    stage = Assembling(meanwhile=machine_sleeps)
    await stage.opened()
    began_at = stage.clock.now()
    assert await stage.advance(says("Done.")) is Advanced.DONE

    acquired = next(event for event in await stage.facts() if event.kind == "run_acquired")
    assert acquired.at == began_at + timedelta(seconds=20)
    assert (await stage.kinds())[:4] == FIRST


async def test_a_run_that_another_has_taken_meanwhile_is_left_to_it() -> None:
    async def another(journal: MemoryJournal) -> None:
        await journal.acquire(RUN, worker="two", now=stage.clock.now(), lease=LEASE)

    stage, model = Stage(journal=Contested(another)), ScriptedModel(says("Never said."))
    await stage.opened()
    assert await stage.engine(model=model).advance(RUN) is Advanced.BUSY

    assert (await stage.kinds(), model.requests) == (FIRST[:2], [])
    renewal = await stage.journal.renew(RUN, epoch=1, now=stage.clock.now(), lease=LEASE)
    assert renewal.held  # Its lease was not given back by who never had it.


async def test_what_somebody_has_written_meanwhile_counts() -> None:
    async def stop(journal: MemoryJournal) -> None:
        wish = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ada")
        await journal.append(await journal.load(RUN), wish)

    stage, model = Stage(journal=Contested(stop)), ScriptedModel(says("Never said."))
    await stage.opened()
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE

    assert await stage.kinds() == ["run_requested", "stop_requested", "run_acquired", "run_finished"]
    assert model.requests == []


async def test_a_run_whose_workspace_another_has_waits_before_its_model_is_asked() -> None:
    stage, model = Stage(), ScriptedModel(says("Never said."))
    other = await stage.opened(job=a_job(automation="full"))
    await stage.journal.acquire(RUN, worker="two", now=stage.clock.now(), lease=LEASE)
    later = RunId("nightly@20261202T060000Z")
    await stage.journal.open(other.request.model_copy(update={"run_id": later}))
    assert await stage.engine(model=model).advance(later) is Advanced.SUSPENDED

    assert (await stage.journal.load(later)).awaited is not None
    assert model.requests == []


async def test_a_run_is_not_begun_while_the_journal_does_not_answer() -> None:
    async def no_answer(_: MemoryJournal) -> None:
        message = "no answer"
        raise JournalBusyError(message)

    stage, model = Stage(journal=Contested(no_answer)), ScriptedModel(says("", call("look")), says("Done."))
    await stage.opened()
    engine = stage.engine(model=model)
    assert await engine.advance(RUN) is Advanced.BUSY
    assert (await stage.kinds(), model.requests) == (FIRST[:1], [])

    assert await engine.advance(RUN) is Advanced.DONE
    assert len(model.requests) == 2
