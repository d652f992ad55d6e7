"""A worker's world made of doubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from zoneinfo import ZoneInfo

from kova_auto.core.consent import Offer
from kova_auto.core.context.briefing import NOTHING, Briefing
from kova_auto.core.errors import IllegalEventError, UnknownRunError
from kova_auto.core.event import Event, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelReply, ResultStatus
from kova_auto.core.policy import policy_of_run
from kova_auto.core.ports import Model
from kova_auto.core.run import RunState
from kova_auto.engine.bells import Bells
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.driver import LEASE
from kova_auto.engine.service import Engine
from kova_auto.engine.world import World
from tests.doubles.checks import Proof
from tests.doubles.clock import HandClock
from tests.doubles.journal import MemoryJournal
from tests.doubles.model import ScriptedModel
from tests.doubles.toolbox import Hands
from tests.support import a_request

RUN = RunId("nightly@20261201T060000Z")


@dataclass
class Stage:
    """Hold one journal, and make workers that share it."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    clock: HandClock = field(default_factory=HandClock)
    hands: Hands = field(default_factory=Hands)
    proof: Proof = field(default_factory=Proof)
    bells: Bells = field(default_factory=Bells)
    lease: timedelta = LEASE
    moment_s: float = 0.05
    hindrance: str = ""
    refused: str = ""
    notices: tuple[str, ...] = ()
    brief: Briefing = NOTHING
    kept: str = ""
    offer: Offer = field(default_factory=Offer)
    learned: list[str] = field(default_factory=list)

    async def opened(self, **changes: object) -> RunState:
        state, _ = await self.journal.open(a_request(RUN, **changes))  # type: ignore[arg-type]  # fields of the request
        return state

    def engine(
        self,
        *replies: ModelReply,
        worker: str = "one",
        model: Model | None = None,
        models: Mapping[str, Model] | None = None,
    ) -> Engine:
        player = model or ScriptedModel(*replies)
        return Engine(self.world(player, models, worker=worker), self.bells, lease=self.lease)

    def world(self, player: Model, models: Mapping[str, Model] | None = None, *, worker: str = "one") -> World:
        return World(
            clock=self.clock,
            journal=self.journal,
            views=self.journal,
            toolbox=self.hands,
            checks=self.proof,
            models=lambda _, name: models[name] if models else player,
            policies=policy_of_run,
            offers=self._offers,
            learn=lambda state: self.learned.append(state.run_id),
            redact=lambda text: text.replace("hunter2-hunter2", "[redacted]"),
            zone=lambda _: ZoneInfo("UTC"),
            hindrance=self._hindrance,
            refused=self._refused,
            prepare=self._prepare,
            brief=self._brief,
            tidy=self._tidy,
            stop=self._stop,
            worker=worker,
            system="Linux",
            moment_s=self.moment_s,
        )

    async def _offers(self, *_: object) -> Offer:
        return self.offer

    async def _hindrance(self, _: RunState) -> str:
        return self.hindrance

    async def _refused(self, _: RunState) -> str:
        return self.refused

    async def _prepare(self, _: RunState) -> tuple[str, ...]:
        return self.notices

    async def _brief(self, _: RunState) -> Briefing:
        return self.brief

    async def _stop(self, children: Sequence[RunId], reason: str) -> None:
        """Ask children to end, as the service does."""
        for run_id in children:
            wish = StopRequested(at=self.clock.now(), outcome=Outcome.CANCELLED, reason=reason, by="parent")
            with suppress(UnknownRunError, IllegalEventError):
                await self.journal.append(await self.journal.load(run_id), wish)
            self.bells.asked(run_id)

    async def _tidy(self, _: RunState) -> str:
        return self.kept

    async def advance(self, *replies: ModelReply) -> Advanced:
        return await self.engine(*replies).advance(RUN)

    async def facts(self) -> Sequence[Event]:
        return [event for _, event in await self.journal.events(RUN)]

    async def ended(self) -> tuple[Outcome, str]:
        """Return how the run ended, and why."""
        finished = (await self.journal.load(RUN)).finished
        assert finished is not None
        return finished.outcome, finished.reason

    async def kinds(self) -> list[str]:
        return [event.kind for event in await self.facts()]

    async def statuses(self) -> list[ResultStatus]:
        """Return how the calls ended that have ended, in their order."""
        calls = (await self.journal.load(RUN)).calls.values()
        return [call.result.status for call in calls if call.result]
