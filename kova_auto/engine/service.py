"""Advance runs for an engine that must never hear of our errors.

The one broad catch is here: a failure nobody foresaw ends the run with an outcome and a reason, as an event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from datetime import timedelta

from kova_auto.core.errors import FencedError, JournalError, KovaError, UnknownRunError
from kova_auto.core.ids import RunId
from kova_auto.engine import driver
from kova_auto.engine.bells import Alarm, Bells
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.driver import Stopping
from kova_auto.engine.giving_up import last_words
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
        self.stopping = Stopping(gently=asyncio.Event(), now=Alarm())
        self.running = 0
        self._broke: Counter[RunId] = Counter()

    async def advance(self, run_id: RunId) -> Advanced:
        """Bring a run as far as it goes now; never raises but for cancellation."""
        self.running += 1
        try:
            return await self._advance(run_id)
        finally:
            self.running -= 1

    async def _advance(self, run_id: RunId) -> Advanced:
        try:
            advanced = await driver.advance(run_id, self._world, self._bells, self.stopping, lease=self._lease)
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
        self._broke.pop(run_id, None)
        return advanced

    async def _broken(self, run_id: RunId, exc: Exception) -> Advanced:
        """Write down what follows from a failure; where even that cannot be written, try again later."""
        text = str(exc) if isinstance(exc, KovaError) else type(exc).__name__
        reason = self._world.redact(f"internal error: {text}")
        self._broke[run_id] += 1
        try:
            state = await self._world.journal.load(run_id)
            for event in last_words(state, reason, self._broke[run_id], self._world.clock.now()):
                state = await self._world.journal.append(state, event, epoch=state.epoch)
        except JournalError as second:
            LOG.warning("run %s: its failure could not be recorded: %s", run_id, second)
        return Advanced.BUSY
