"""Take a run: at once, or together with the first facts about it where finding them out needs no lease."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kova_auto.core.event import Event, RunAcquired
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState, apply
from kova_auto.core.steps import AssembleContext, Step
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.world import World

_MEANS = {
    Unavailable.FINISHED: Advanced.DONE,
    Unavailable.HELD: Advanced.BUSY,
    Unavailable.WORKSPACE: Advanced.SUSPENDED,
}


class NotTakenError(Exception):
    """Say that a run cannot be had, and how far it came."""

    def __init__(self, unavailable: Unavailable) -> None:
        """Keep what that means for who wanted it."""
        super().__init__(unavailable)
        self.advanced = _MEANS[unavailable]


@dataclass(frozen=True, slots=True)
class Taking:
    """Hold what it takes to have a run.

    Attributes:
        known: The run as it was read.
        at: When it is taken, as its fact will say; UTC.
        lease: For how long.
    """

    known: RunState
    world: World
    at: datetime
    lease: timedelta

    def may_wait(self, step: Step) -> bool:
        """Say whether a run's first step is done before the run is taken: nobody has had it, and the step only reads.

        What comes of it is written with the lease, or not at all; nothing that changes anything comes before that.
        """
        is_in_place = self.known.request.workspace == self.known.job.workspace
        return isinstance(step, AssembleContext) and self.known.epoch == 0 and is_in_place

    @property
    def expected(self) -> RunState:
        """Return the run as it will be, if nobody else is there first."""
        return apply(self.known, RunAcquired(at=self.at, epoch=self.known.epoch + 1, worker=self.world.worker))

    async def take(self, then: Sequence[Event] = (), reached: RunState | None = None) -> RunState:
        """Take the run, with what follows if nobody else was there meanwhile; return it as it is.

        What took so long to find out that much of the lease would be over is left out, too.

        Args:
            then: Facts that follow.
            reached: What these make of the run that is expected, as far as that is worked out.

        Raises:
            NotTakenError: It cannot be had.
        """
        now = self.world.clock.now()
        is_late = now - self.at > self.lease / 3
        taken = await self.world.journal.acquire(
            self.known.run_id,
            worker=self.world.worker,
            now=now if is_late else self.at,
            lease=self.lease,
            known=self.known,
            then=() if is_late else then,
            reached=None if is_late else reached,
        )
        if isinstance(taken, Unavailable):
            raise NotTakenError(taken)
        return taken
