"""Advance runs for an engine that must never hear of our errors.

The one broad catch is here: a failure nobody foresaw ends the run with an outcome and a reason, as an event.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from kova_auto.core.errors import FencedError, IllegalEventError, JournalError, KovaError, UnknownRunError
from kova_auto.core.event import StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.engine import driver
from kova_auto.engine.bells import Bells
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.driver import Stopping
from kova_auto.engine.world import World

LOG = logging.getLogger(__name__)


class Engine:
    """Advance the runs of one worker.

    Attributes:
        stopping: Set its events to end every drive.
        running: How many runs are being driven now.
    """

    def __init__(self, world: World, bells: Bells, *, lease: timedelta = driver.LEASE) -> None:
        """Take the worker's world; `bells` are shared with whoever appends facts to its runs."""
        self._world, self._bells, self._lease = world, bells, lease
        self.stopping = Stopping(gently=asyncio.Event(), now=asyncio.Event())
        self.running = 0

    async def advance(self, run_id: RunId) -> Advanced:
        """Bring a run as far as it goes now; never raises but for cancellation."""
        self.running += 1
        try:
            return await self._advance(run_id)
        finally:
            self.running -= 1

    async def _advance(self, run_id: RunId) -> Advanced:
        try:
            return await driver.advance(run_id, self._world, self._bells, self.stopping, lease=self._lease)
        except FencedError:
            return Advanced.SUPERSEDED
        except UnknownRunError:
            LOG.warning("run %s is not in the journal", run_id)
            return Advanced.DONE
        except JournalError as exc:
            LOG.warning("run %s: %s", run_id, exc)
            return Advanced.BUSY if exc.retryable else await self._broken(run_id, exc)
        except Exception as exc:  # The one broad catch: an engine must not see our errors.
            LOG.exception("run %s: a failure that nobody foresaw", run_id)
            return await self._broken(run_id, exc)

    async def _broken(self, run_id: RunId, exc: Exception) -> Advanced:
        """Ask the run to end as failed; where even that cannot be written, try again later."""
        text = str(exc) if isinstance(exc, KovaError) else type(exc).__name__
        reason = self._world.redact(f"internal error: {text}")
        event = StopRequested(at=self._world.clock.now(), outcome=Outcome.FAILED, reason=reason, by="service")
        try:
            state = await self._world.journal.load(run_id)
            await self._world.journal.append(state, event)
        except (JournalError, IllegalEventError) as second:
            LOG.warning("run %s: its failure could not be recorded: %s", run_id, second)
        return Advanced.BUSY
