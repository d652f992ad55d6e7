"""One duty to tell an endpoint, and what is to be sent for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kova_auto.core.delivery.alert import AlertFact, Alerts, AlertState, Telling
from kova_auto.core.delivery.alert import fold as fold_alert
from kova_auto.core.delivery.format import Rendered, Wish, form_after
from kova_auto.core.delivery.notice import NOTICE, Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, Terms
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.report import notice_of
from kova_auto.core.delivery.scrub import scrubbed
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, Event
from kova_auto.core.ids import DeliveryId, EndpointName
from kova_auto.core.owed import PUT_OFF, TOLD_TOGETHER, Cause, Owed
from kova_auto.core.ports import Journal
from kova_auto.core.run import fold
from kova_auto.core.state import RunState
from kova_auto.core.view import DeliveryRow

LOG = logging.getLogger(__name__)
_NO_ATTEMPT = frozenset({PUT_OFF, TOLD_TOGETHER})
REPLAYED = ("webhook-replayed", "true")
Targets = Callable[[EndpointName], Target]
Linked = Callable[[Notice, object, str], Notice]
"""Takes a notice, what owes it, and the endpoint's name."""


def unlinked(notice: Notice, state: object, endpoint: str) -> Notice:
    """Leave a notice as it is: nobody outside can answer."""
    del state, endpoint
    return notice


@dataclass(frozen=True, slots=True)
class Duty:
    """Hold one duty, with what owes it, and what came of its attempts since a person last asked.

    Attributes:
        replayed: A person has asked for it.
    """

    state: RunState | AlertState
    owed: Owed
    past: tuple[AttemptOutcome, ...]
    replayed: bool = False

    def after(self, state: RunState | AlertState) -> Duty:
        """Return the same duty in a later state of what owes it."""
        return replace(self, state=state, owed=state.deliveries[self.owed.id])

    def terms(self, target: Target | None) -> Terms:
        """Return under what terms it is owed; an endpoint that is not there is taken for one that drops repeats."""
        tries = FORMATS[target.format].doubts(target.options) if target else None
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
            return _duty(alert, facts, row.delivery_id)
        events = [event for _, event in await self.journal.events(row.run_id)]
        return _duty(fold(events), events, row.delivery_id)

    async def write(self, duty: Duty, fact: Telling) -> Duty:
        """Write one more fact about a duty, and return the duty after it.

        Raises:
            JournalError: It cannot be written, or cannot follow.
        """
        state = duty.state
        if isinstance(state, AlertState):
            return duty.after(await self.alerts.tell(state.run_id, fact))
        return duty.after(await self.journal.append(state, fact))


def _duty(state: RunState | AlertState, facts: Sequence[Event | AlertFact], delivery_id: DeliveryId) -> Duty:
    past: list[AttemptOutcome] = []
    replayed = False
    for fact in facts:
        if isinstance(fact, DeliveryRequeued) and fact.delivery_id == delivery_id:
            past.clear()
            replayed = True
        if isinstance(fact, DeliveryFinished) and fact.delivery_id == delivery_id and fact.result not in _NO_ATTEMPT:
            past.append(AttemptOutcome(fact.result))
    return Duty(state, state.deliveries[delivery_id], tuple(past), replayed)


@dataclass(frozen=True, slots=True)
class Packing:
    """Make what is sent: the notice without secrets, in the endpoint's format.

    Attributes:
        linked: Puts a link into what wants an answer, once all else is clean: a link is a credential on purpose.
    """

    redact: Callable[[str], str]
    linked: Linked

    async def pack(self, duty: Duty, target: Target, instead: Notice | None = None) -> Rendered | AttemptResult:
        """Return what to send, or what comes of an attempt that cannot be made; `instead` is told in its place."""
        try:
            return await self._pack(target, instead or notice_of(duty.state, duty.owed), duty)
        except IllegalEventError as exc:
            return AttemptResult(AttemptOutcome.EXPIRED, str(exc))
        except Exception as exc:  # Nothing was sent, and that is to be on record.
            LOG.exception("delivery %s: a failure that nobody foresaw", duty.owed.id)
            return AttemptResult(AttemptOutcome.NOT_SENT, f"internal error: {type(exc).__name__}", slow=True)

    async def _pack(self, target: Target, notice: Notice, duty: Duty) -> Rendered | AttemptResult:
        clean = NOTICE.validate_json(self.redact(notice.model_dump_json()))
        clean = self.linked(clean, duty.state, target.name)
        wish = Wish(duty.owed.id, form_after(duty.past), target.options)
        if declined := FORMATS[target.format].declines(clean, wish):
            return declined
        message = scrubbed(await asyncio.to_thread(render, target.format, clean, wish), self.redact)
        if not duty.replayed or duty.terms(target).tries_in_doubt is not None:
            return message  # No receiver that people read, and that knows no ids, has a use for it.
        return replace(message, headers=(*message.headers, REPLAYED))
