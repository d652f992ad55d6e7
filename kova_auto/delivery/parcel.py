"""One duty to tell an endpoint, and what is to be sent for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from kova_auto.core.alert import AlertFact, Alerts, AlertState, Telling
from kova_auto.core.alert import fold as fold_alert
from kova_auto.core.delivery.format import Rendered, Wish, form_after
from kova_auto.core.delivery.notice import NOTICE
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, Terms
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.report import notice_of
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError, IllegalEventError, UnknownEndpointError
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, Event
from kova_auto.core.ids import DeliveryId, EndpointName
from kova_auto.core.owed import Cause, Owed
from kova_auto.core.ports import Journal
from kova_auto.core.run import fold
from kova_auto.core.state import RunState
from kova_auto.core.view import DeliveryRow

LOG = logging.getLogger(__name__)
Targets = Callable[[EndpointName], Target]


@dataclass(frozen=True, slots=True)
class Duty:
    """Hold one duty, with what owes it, and what came of its attempts since a person last asked."""

    state: RunState | AlertState
    owed: Owed
    past: tuple[AttemptOutcome, ...]

    def after(self, state: RunState | AlertState) -> Duty:
        """Return the same duty in a later state of what owes it."""
        return replace(self, state=state, owed=state.deliveries[self.owed.id])

    def terms(self, targets: Targets) -> Terms:
        """Return under what terms it is owed; an endpoint that is not there is taken for one that drops repeats."""
        try:
            tries = FORMATS[targets(self.owed.endpoint).format].tries_in_doubt
        except ConfigError:
            tries = None
        interactive = self.owed.cause is Cause.APPROVAL
        return Terms(tries_in_doubt=tries, interactive=interactive, expires_at=self.owed.expires_at)


@dataclass(frozen=True, slots=True)
class Books:
    """Know where the facts of a duty are: in the journal of a run, or with an alert."""

    journal: Journal
    alerts: Alerts

    async def duty(self, row: DeliveryRow) -> Duty:
        """Return what a row of the view is about.

        Raises:
            JournalError: It cannot be read.
        """
        if row.cause == Cause.ALERT:
            facts = await self.alerts.alert(row.run_id)
            alert = fold_alert(facts)
            return Duty(alert, alert.deliveries[row.delivery_id], _past(facts, row.delivery_id))
        events = [event for _, event in await self.journal.events(row.run_id)]
        state = fold(events)
        return Duty(state, state.deliveries[row.delivery_id], _past(events, row.delivery_id))

    async def write(self, duty: Duty, fact: Telling) -> Duty:
        """Write one more fact about a duty, and return the duty after it.

        Raises:
            JournalError: It cannot be written, or cannot follow.
        """
        state = duty.state
        if isinstance(state, AlertState):
            return duty.after(await self.alerts.tell(state.run_id, fact))
        return duty.after(await self.journal.append(state, fact))


def _past(events: Iterable[Event | AlertFact], delivery_id: DeliveryId) -> tuple[AttemptOutcome, ...]:
    past: list[AttemptOutcome] = []
    for event in events:
        if isinstance(event, DeliveryRequeued) and event.delivery_id == delivery_id:
            past.clear()
        if isinstance(event, DeliveryFinished) and event.delivery_id == delivery_id:
            past.append(AttemptOutcome(event.result))
    return tuple(past)


@dataclass(frozen=True, slots=True)
class Packing:
    """Make what is sent: the endpoint as it is configured now, the notice without secrets, in the endpoint's format."""

    targets: Targets
    redact: Callable[[str], str]

    async def pack(self, duty: Duty) -> tuple[Target, Rendered] | AttemptResult:
        """Return where to send what, or what comes of an attempt that cannot be made.

        Raises:
            ConfigError: A secret of the endpoint cannot be had: only a person can mend that.
        """
        try:
            return await self._pack(duty)
        except UnknownEndpointError as exc:
            return AttemptResult(AttemptOutcome.NOT_SENT, self.redact(str(exc)), slow=True)
        except ConfigError:
            raise
        except IllegalEventError as exc:
            return AttemptResult(AttemptOutcome.EXPIRED, str(exc))
        except Exception as exc:  # Nothing was sent, and that is to be on record.
            LOG.exception("delivery %s: a failure that nobody foresaw", duty.owed.id)
            return AttemptResult(AttemptOutcome.NOT_SENT, f"internal error: {type(exc).__name__}", slow=True)

    async def _pack(self, duty: Duty) -> tuple[Target, Rendered]:
        target = self.targets(duty.owed.endpoint)
        notice = NOTICE.validate_json(self.redact(notice_of(duty.state, duty.owed).model_dump_json()))
        wish = Wish(duty.owed.id, form_after(duty.past), target.options)
        return target, await asyncio.to_thread(render, target.format, notice, wish)
