"""Replays of what happened on a stage."""

from __future__ import annotations

from dataclasses import dataclass, field

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.consent import Offer
from kova_auto.core.job import Job
from kova_auto.core.pin import ModelPin
from kova_auto.core.policy import policy_of
from kova_auto.core.ports import Model
from kova_auto.core.price import Price
from kova_auto.core.recording import Recording, recording_of
from kova_auto.core.replay import Match, Replay
from kova_auto.core.run import RunState
from kova_auto.engine.playing import Lines, PlayClock, began_at
from kova_auto.engine.replaying import Replaying
from kova_auto.engine.world import Enquiry, Senses
from tests.engine.worlds import Stage

DEAR = ModelPin(name="live/dear", price=Price(input=1_000.0, output=0.0))


@dataclass
class Again:
    """Replay the run of a stage.

    Attributes:
        level: What judges its calls today; None for what the job says.
        waited: Seconds that it let go by, in order.
    """

    stage: Stage = field(default_factory=Stage)
    level: AutomationLevel | None = None
    unjudged: str = ""
    toolbox: Enquiry | None = None
    waited: list[float] = field(default_factory=list)

    async def played(self, attempt: int | None = None) -> Replay:
        """Play the recorded replies."""
        return await self.of(recording_of(await self.stage.facts(), attempt))

    async def of(self, recording: Recording) -> Replay:
        """Play the replies of a recording."""
        clock = PlayClock(began_at(recording))
        lines = Lines(recording.lines, clock)
        senses = self._senses(clock, lines)
        return await Replaying(recording, senses, clock, lines=lines, wait=self._wait, unjudged=self.unjudged).replay()

    async def asked(self, model: Model, pin: ModelPin = DEAR) -> Replay:
        """Ask another model."""
        recording = recording_of(await self.stage.facts())
        request = recording.begun.request.model_copy(update={"model": pin.name, "pins": (pin,)})
        clock = PlayClock(began_at(recording), self.stage.clock.steady_s)
        return await Replaying(
            recording.asking(request),
            self._senses(clock, model),
            clock,
            lines=None,
            wait=self._wait,
            unjudged=self.unjudged,
        ).replay()

    def _senses(self, clock: PlayClock, model: Model) -> Senses:
        return Senses(
            clock=clock,
            journal=self.stage.journal,
            toolbox=self.toolbox or self.stage.hands,
            models=lambda *_: model,
            policies=lambda state: policy_of(self._job(state), state.request.level),
            offers=_nothing_kept,
            redact=lambda text: text,
        )

    def _job(self, state: RunState) -> Job:
        return state.job if self.level is None else state.job.model_copy(update={"automation": self.level})

    async def _wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.stage.clock.later(seconds)


def matches(replay: Replay) -> list[list[tuple[str | None, Match]]]:
    """Return, by iteration, the calls of a replay and how they go with the recording."""
    return [[(call.call_id or call.recorded_id, call.match) for call in one.calls] for one in replay.iterations]


async def _nothing_kept(*_: object) -> Offer:
    return Offer()
