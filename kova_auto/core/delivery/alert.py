"""What endpoints are told without a run that tells it: that the run itself did not come, or that an endpoint is down.

An alert is a list of facts, as a run is: it is raised, and then told to one endpoint after the other. It is written in
the transaction that makes it true, and its id is derived from what it says, so that nobody is told twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cache, reduce
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field, TypeAdapter, ValidationError

from kova_auto.core.delivery.notice import EndpointNotice, ScheduleNotice
from kova_auto.core.errors import IllegalEventError, UnknownEventError
from kova_auto.core.fact import Fact
from kova_auto.core.ids import DeliveryId, EndpointName, JobName, RunId, delivery_id, run_id
from kova_auto.core.owed import Cause, Owed
from kova_auto.core.telling import DeliveryFinished, DeliveryRequeued, DeliveryStarted
from kova_auto.core.view import DeliveryRow, delivery_row

RAISED_AT: Final = 1
"""Position of the fact that raises an alert; every duty is about it."""


AlertNotice = ScheduleNotice | EndpointNotice


class AlertRaised(Fact):
    """Raise an alert: what is told, and to whom.

    Attributes:
        alert_id: Stands in the outbox where the id of a run would.
        endpoints: Each is told once, however often it is named.
    """

    kind: Literal["alert_raised"] = "alert_raised"
    alert_id: RunId
    job: JobName
    endpoints: tuple[EndpointName, ...]
    notice: AlertNotice = Field(discriminator="kind")


Telling = DeliveryStarted | DeliveryFinished | DeliveryRequeued
AlertFact = AlertRaised | Telling


@dataclass(frozen=True, slots=True)
class AlertState:
    """Hold an alert as its facts leave it."""

    raised: AlertRaised
    deliveries: Mapping[DeliveryId, Owed]
    seq: int = RAISED_AT

    @property
    def run_id(self) -> RunId:
        """Return its id, by which the outbox knows it as it knows a run by its own."""
        return self.raised.alert_id


def alert_id(notice: AlertNotice) -> RunId:
    """Return the id of the one alert that says this of a job's instant, or of an endpoint's trouble; no run has it."""
    if isinstance(notice, ScheduleNotice):
        return RunId(f"{run_id(JobName(notice.job), notice.nominal_at)}/{notice.what}")
    # One for all that fails in a row; what fails while all else is taken is a trouble of its own.
    since = f"{notice.since.astimezone(UTC):%Y%m%dT%H%M%SZ}" if notice.since else notice.delivery_id
    return RunId(f"{notice.endpoint}@{since}/{notice.what}")


def alert(notice: AlertNotice, endpoints: Iterable[str]) -> AlertRaised:
    """Return the fact that raises an alert."""
    names = tuple(map(EndpointName, dict.fromkeys(endpoints)))
    key = alert_id(notice)
    return AlertRaised(at=notice.at, alert_id=key, job=JobName(notice.job), endpoints=names, notice=notice)


def raised(fact: AlertRaised) -> AlertState:
    """Return an alert as it is raised: every endpoint is owed it."""
    deliveries: dict[DeliveryId, Owed] = {}
    for endpoint in fact.endpoints:
        key = delivery_id(fact.alert_id, RAISED_AT, endpoint)
        deliveries[key] = Owed(id=key, endpoint=endpoint, cause=Cause.ALERT, cause_seq=RAISED_AT, owed_at=fact.at)
    return AlertState(fact, deliveries)


def told(state: AlertState, fact: Telling) -> AlertState:
    """Return an alert after one more fact about its telling.

    Raises:
        IllegalEventError: The fact cannot follow.
    """
    owed = state.deliveries.get(fact.delivery_id)
    if owed is None:
        raise _refuse(state, fact, f"nothing is owed as {fact.delivery_id}")
    try:
        changed = owed.after(fact)
    except ValueError as exc:
        raise _refuse(state, fact, str(exc)) from exc
    return replace(state, deliveries={**state.deliveries, fact.delivery_id: changed}, seq=state.seq + 1)


def fold(facts: Iterable[AlertFact]) -> AlertState:
    """Return the state that an alert's facts lead to.

    Raises:
        IllegalEventError: They do not begin with the alert, or one cannot follow.
    """
    rest = iter(facts)
    first = next(rest, None)
    if not isinstance(first, AlertRaised):
        msg = f"an alert begins with alert_raised, found {first.kind if first else 'nothing'}"
        raise IllegalEventError(msg)
    return reduce(_next, rest, raised(first))


def _next(state: AlertState, fact: AlertFact) -> AlertState:
    if isinstance(fact, AlertRaised):
        raise _refuse(state, fact, "it is raised already")
    return told(state, fact)


def _refuse(state: AlertState, fact: AlertFact, why: str) -> IllegalEventError:
    return IllegalEventError(f"{fact.kind} cannot follow in alert {state.run_id}: {why}")


def alert_rows(state: AlertState) -> tuple[DeliveryRow, ...]:
    """Return the rows of everything that an alert owes or owed, in their order."""
    return tuple(delivery_row(state.run_id, state.raised.job, owed) for owed in state.deliveries.values())


@cache
def _adapter() -> TypeAdapter[AlertFact]:
    return TypeAdapter(Annotated[AlertFact, Field(discriminator="kind")])


def load(text: str) -> AlertFact:
    """Return the fact that a row holds.

    Raises:
        UnknownEventError: The row is of a newer program, or no fact of an alert at all.
    """
    try:
        return _adapter().validate_json(text)
    except ValidationError as exc:
        msg = f"the journal holds a row that is no fact of an alert: {exc.error_count()} problem(s); upgrade kova-auto"
        raise UnknownEventError(msg) from exc


class Alerts(Protocol):
    """Keep alerts; the ledger raises them."""

    async def alert(self, alert_id: RunId) -> list[AlertFact]:
        """Return an alert's facts, oldest first; empty where there is none of this id."""

    async def tell(self, alert_id: RunId, fact: Telling) -> AlertState:
        """Write one more fact about an alert's telling.

        Raises:
            IllegalEventError: The fact cannot follow.
        """
