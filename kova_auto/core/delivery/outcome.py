"""Judge what came of one attempt, and decide what becomes of the delivery.

Delivered means that the receiver said so, by its own rule: many answer 200 to what they throw away. What cannot be
known is called ambiguous, and is tried again only where a receiver can tell a repeat by its id, or once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from http import HTTPStatus
from typing import Final, assert_never

from kova_auto.core.delivery.retry import SCHEDULE_S, longest_wait_s, next_attempt_at, parse_retry_after
from kova_auto.core.delivery.text import one_line
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from kova_auto.core.owed import DeliveryStatus

EXCERPT_BYTES: Final = 2048
_SLOW_S: Final = 600.0
_REFUSALS: Final = 3


class AttemptOutcome(StrEnum):
    """Say what came of one attempt; stored with it."""

    DELIVERED = "delivered"
    NOT_SENT = "not_sent"  # nothing of the request left us
    THROTTLED = "throttled"
    AMBIGUOUS = "ambiguous"  # it was on its way, and no status came back
    SERVER_ERROR = "server_error"
    BAD_PAYLOAD = "bad_payload"
    BAD_ENDPOINT = "bad_endpoint"
    REDIRECTED = "redirected"
    POLICY_BLOCK = "policy_block"
    EXPIRED = "expired"  # not made: of no use any more


@dataclass(frozen=True)
class AttemptResult:
    """Hold the judgement on one attempt.

    Attributes:
        detail: One line in our own words: no URL, no secret, nothing of the receiver's text but known codes.
        retry_after_s: What the receiver asked us to wait.
        permanent: Nothing is gained by trying again: the endpoint is gone for good, or a repeat would do harm.
        slow: Only a person can mend it; ask rarely.
        excerpt: Beginning of the answer's body as one clean line. A receiver may echo secrets: redact it before use.
    """

    outcome: AttemptOutcome
    detail: str
    status: int | None = None
    retry_after_s: float | None = None
    permanent: bool = False
    slow: bool = False
    excerpt: str = field(default="", repr=False)


# A format's own rule: its judgement, or None where the status says enough.
Judge = Callable[[HttpResponse], AttemptResult | None]


def classify(reply: HttpResponse | HttpFailure, judge: Judge, *, now: datetime) -> AttemptResult:
    """Return what came of an attempt; the format's own rule is asked first.

    Args:
        reply: What the exchange gave.
        judge: The rule of the endpoint's format.
        now: For a `Retry-After` that is a date.
    """
    if isinstance(reply, HttpFailure):
        return _unanswered(reply)
    result = judge(reply) or _by_status(reply)
    asked = result.retry_after_s
    if asked is None and (header := reply.header("retry-after")):
        asked = parse_retry_after(header, now=now)
    # Twice what is kept: a secret that the end of it would cut in two is still seen whole by whoever takes it out.
    excerpt = one_line(reply.body[: 2 * EXCERPT_BYTES].decode("utf-8", "replace"), 2 * EXCERPT_BYTES)
    return replace(result, status=reply.status, retry_after_s=asked, excerpt=excerpt)


def _unanswered(failure: HttpFailure) -> AttemptResult:
    if failure.kind is FailureKind.POLICY:
        return AttemptResult(AttemptOutcome.POLICY_BLOCK, failure.detail)
    if failure.written:
        return AttemptResult(AttemptOutcome.AMBIGUOUS, f"{failure.detail}; the receiver may have it")
    return AttemptResult(AttemptOutcome.NOT_SENT, failure.detail, slow=failure.kind is FailureKind.TLS)


def _by_status(reply: HttpResponse) -> AttemptResult:
    detail = f"the receiver answered {reply.status}{_phrase(reply.status)}"
    match reply.status:
        case status if 200 <= status < 300:
            return AttemptResult(AttemptOutcome.DELIVERED, detail + _odd_page(reply))
        case status if 300 <= status < 400:
            hint = "; redirects are not followed, so configure the address it points to"
            return AttemptResult(AttemptOutcome.REDIRECTED, detail + hint)
        case 400 | 413 | 415 | 422:
            return AttemptResult(AttemptOutcome.BAD_PAYLOAD, detail)
        case 408 | 425:
            return AttemptResult(AttemptOutcome.SERVER_ERROR, detail)
        case 410:
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=True)
        case 429:
            return AttemptResult(AttemptOutcome.THROTTLED, detail)
        case 503 if reply.header("retry-after"):
            return AttemptResult(AttemptOutcome.THROTTLED, detail)
        case status if 400 <= status < 500:
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
        case _:
            return AttemptResult(AttemptOutcome.SERVER_ERROR, detail)


def _phrase(status: int) -> str:
    try:
        return f" ({HTTPStatus(status).phrase})"
    except ValueError:
        return ""


def _odd_page(reply: HttpResponse) -> str:
    page = reply.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
    return " with a web page: is the URL the receiver's?" if page else ""


@dataclass(frozen=True)
class Terms:
    """Say under what terms a message is owed.

    Attributes:
        tries_in_doubt: How many attempts may end without our knowing whether it arrived; None where the receiver drops
            a repeat by its id.
        interactive: Somebody waits for it: an approval, a question.
        expires_at: Of no use to the receiver from then on.
        schedule_s: Seconds before each attempt, the first included.
    """

    tries_in_doubt: int | None
    interactive: bool = False
    expires_at: datetime | None = None
    schedule_s: Sequence[float] = SCHEDULE_S


@dataclass(frozen=True)
class NextState:
    """Hold what a delivery is after an attempt.

    Attributes:
        next_at: When a waiting one is tried again.
        pause_until: Nothing else should go to this endpoint before.
        disable: The endpoint will not take anything until a person has looked.
    """

    status: DeliveryStatus
    detail: str
    next_at: datetime | None = None
    pause_until: datetime | None = None
    disable: bool = False


def next_state(
    delivery_id: str, past: Sequence[AttemptOutcome], result: AttemptResult, terms: Terms, *, now: datetime
) -> NextState:
    """Return what becomes of a delivery.

    Args:
        delivery_id: Decides the jitter.
        past: Outcomes of the attempts before this one, oldest first, since a person last asked for it.
        result: Of the attempt just made.
        terms: Of the message and the format.
        now: When the attempt ended, UTC.
    """
    case = _Case(delivery_id, (*past, result.outcome), result, terms, now)
    match result.outcome:
        case AttemptOutcome.DELIVERED | AttemptOutcome.EXPIRED:
            return NextState(DeliveryStatus(result.outcome.value), result.detail)
        case AttemptOutcome.POLICY_BLOCK:
            return case.ended()
        case AttemptOutcome.BAD_PAYLOAD:
            return case.misfit()
        case AttemptOutcome.BAD_ENDPOINT | AttemptOutcome.REDIRECTED:
            return case.refused()
        case AttemptOutcome.AMBIGUOUS if case.is_doubtful():
            return case.ended("; not sent again, because the receiver cannot tell a repeat")
        case AttemptOutcome.NOT_SENT if case.is_first_unsent():
            return case.again(0, at_once=True)
        case AttemptOutcome.THROTTLED:
            return case.throttled()
        case AttemptOutcome.NOT_SENT | AttemptOutcome.SERVER_ERROR | AttemptOutcome.AMBIGUOUS:
            return case.again(max(case.asked_s, _SLOW_S if result.slow else 0))
        case _:
            assert_never(result.outcome)


@dataclass(frozen=True)
class _Case:
    """Hold what the decision is about; `done` ends with the attempt just made."""

    delivery_id: str
    done: tuple[AttemptOutcome, ...]
    result: AttemptResult
    terms: Terms
    now: datetime

    def is_doubtful(self) -> bool:
        """Say whether it may have arrived as often as it may have, or once more would do harm."""
        most = self.terms.tries_in_doubt
        return self.result.permanent or (most is not None and self.done.count(AttemptOutcome.AMBIGUOUS) >= most)

    def is_first_unsent(self) -> bool:
        """Say whether nothing was sent for the first time, for a reason that may have passed by now."""
        return self.done.count(AttemptOutcome.NOT_SENT) == 1 and not self.result.slow

    @property
    def asked_s(self) -> float:
        """Return what the receiver asked us to wait, as far as it is heeded."""
        return min(self.result.retry_after_s or 0, longest_wait_s(interactive=self.terms.interactive))

    def misfit(self) -> NextState:
        """Say it once more in its plainest form, where that may help."""
        if self.result.permanent:
            return self.ended()
        if AttemptOutcome.BAD_PAYLOAD in self.done[:-1]:
            return self.ended("; in its plainest form too")
        return self.again(0, at_once=True)

    def throttled(self) -> NextState:
        """Wait as long as it asked for, and let all others to the same endpoint wait."""
        state = self.again(self.asked_s)
        return replace(state, pause_until=state.next_at or self.now + timedelta(seconds=self.asked_s))

    def refused(self) -> NextState:
        """Ask a few times more, far apart; then leave the endpoint alone until a person has looked."""
        refusals = sum(outcome in {AttemptOutcome.BAD_ENDPOINT, AttemptOutcome.REDIRECTED} for outcome in self.done)
        if self.result.permanent or refusals >= _REFUSALS:
            return replace(self.ended(), disable=True)
        return self.again(_SLOW_S)

    def again(self, at_least_s: float, *, at_once: bool = False) -> NextState:
        """Wait for the next attempt, or give up where there is none in time."""
        schedule_s = [0.0] * len(self.terms.schedule_s) if at_once else self.terms.schedule_s
        # The one that follows at once upon a first failure to send is extra: it takes no place of the schedule.
        made = len(self.done) - (AttemptOutcome.NOT_SENT in self.done[:-1])
        next_at = next_attempt_at(self.delivery_id, made, now=self.now, at_least_s=at_least_s, schedule_s=schedule_s)
        if next_at is None:
            return self.ended(f"; {len(self.done)} attempts were made")
        expires_at = self.terms.expires_at
        if expires_at is not None and next_at >= expires_at:
            return NextState(
                DeliveryStatus.EXPIRED, f"{self.result.detail}; of no use after {expires_at:%Y-%m-%d %H:%M} UTC"
            )
        asked_s = self.result.retry_after_s or 0
        is_parked = asked_s > at_least_s > 0
        note = f"; parked: it asked to wait {asked_s:.0f} s, and {at_least_s:.0f} s is the most" if is_parked else ""
        return NextState(DeliveryStatus.WAITING, self.result.detail + note, next_at)

    def ended(self, why: str = "") -> NextState:
        """Give up; after an attempt that may have arrived, nobody can say whether the message did."""
        unsure = AttemptOutcome.AMBIGUOUS in self.done
        return NextState(DeliveryStatus.UNKNOWN if unsure else DeliveryStatus.DEAD, self.result.detail + why)
