"""What an answer means, and what becomes of the delivery."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kova_auto.core.delivery.formats import slack, standard
from kova_auto.core.delivery.outcome import (
    AttemptOutcome,
    AttemptResult,
    NextState,
    Terms,
    classify,
    next_state,
)
from kova_auto.core.delivery.retry import SCHEDULE_S
from kova_auto.core.net.http import BodyEnd, FailureKind, HttpFailure, HttpResponse
from kova_auto.core.owed import DeliveryStatus

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
DEDUPES, CHAT = Terms(tries_in_doubt=None), Terms(tries_in_doubt=2)
Is = AttemptOutcome


def answer(
    status: int, body: bytes = b"", *headers: tuple[str, str], ending: BodyEnd = BodyEnd.COMPLETE
) -> HttpResponse:
    return HttpResponse(status, headers, body, ending)


def judged(reply: HttpResponse | HttpFailure) -> AttemptResult:
    return classify(reply, standard.judge, now=NOW)


@pytest.mark.parametrize(
    ("outcome", "statuses"),
    [
        (Is.DELIVERED, [200, 201, 202, 204, 206, 299]),
        (Is.REDIRECTED, [300, 301, 302, 303, 304, 307, 308]),
        (Is.BAD_PAYLOAD, [400, 413, 415, 422]),
        (Is.BAD_ENDPOINT, [401, 403, 404, 405, 407, 410, 418, 451, 499]),
        (Is.SERVER_ERROR, [101, 408, 425, 500, 502, 503, 504, 520, 524, 599, 999]),
        (Is.THROTTLED, [429]),
    ],
)
def test_a_status_stands_for_an_outcome(outcome: AttemptOutcome, statuses: list[int]) -> None:
    assert [judged(answer(status)).outcome for status in statuses] == [outcome] * len(statuses)


def test_503_with_a_time_to_wait_is_throttling() -> None:
    result = judged(answer(503, b"", ("retry-after", "7")))

    assert (result.outcome, result.retry_after_s) == (Is.THROTTLED, 7)


def test_the_first_of_two_retry_after_counts() -> None:
    assert judged(answer(429, b"", ("retry-after", "7"), ("retry-after", "99"))).retry_after_s == 7


def test_only_gone_is_for_good() -> None:
    assert [judged(answer(status)).permanent for status in (401, 403, 404, 410)] == [False, False, False, True]


def test_a_generic_receiver_is_believed_even_if_its_body_breaks_off() -> None:
    assert judged(answer(200, b"ha", ending=BodyEnd.BROKEN)).outcome is Is.DELIVERED


def test_a_web_page_is_pointed_out() -> None:
    assert judged(answer(200, b"\n<!DOCTYPE html><html>log in")).detail == (
        "the receiver answered 200 (OK) with a web page: is the URL the receiver's?"
    )


@pytest.mark.parametrize(
    ("failure", "outcome", "slow"),
    [
        (HttpFailure(FailureKind.POLICY, written=False, detail="x"), Is.POLICY_BLOCK, False),
        (HttpFailure(FailureKind.NAME, written=False, detail="x"), Is.NOT_SENT, False),
        (HttpFailure(FailureKind.CONNECT, written=False, detail="x"), Is.NOT_SENT, False),
        (HttpFailure(FailureKind.TLS, written=False, detail="x"), Is.NOT_SENT, True),
        (HttpFailure(FailureKind.DEADLINE, written=False, detail="x"), Is.NOT_SENT, False),
        (HttpFailure(FailureKind.DEADLINE, written=True, detail="x"), Is.AMBIGUOUS, False),
        (HttpFailure(FailureKind.LOST, written=True, detail="x"), Is.AMBIGUOUS, False),
    ],
)
def test_without_an_answer_it_counts_whether_anything_was_sent(
    failure: HttpFailure, outcome: AttemptOutcome, slow: bool
) -> None:
    result = judged(failure)

    assert (result.outcome, result.slow, result.status) == (outcome, slow, None)


def test_what_the_receiver_wrote_is_kept_as_one_clean_bounded_line_and_not_shown() -> None:
    result = judged(answer(500, b"\x1b[31mno\r\n\xff \xe2\x80\xae" + b"x" * 9000))

    assert result.excerpt.startswith("no \ufffd xxx")
    assert len(result.excerpt) <= 4096
    assert "xxx" not in repr(result) + result.detail


SLACK = [
    (answer(200, b"ok"), Is.DELIVERED, False),
    (answer(200, b"ok\n"), Is.DELIVERED, False),
    (answer(200, b""), Is.DELIVERED, False),
    (answer(200, b'{"ok":true}'), Is.DELIVERED, False),
    (answer(200, b'{"success":true}'), Is.DELIVERED, False),
    (answer(200, b"OK"), Is.AMBIGUOUS, True),
    (answer(200, b"\xef\xbb\xbfok"), Is.AMBIGUOUS, True),
    (answer(200, b"thanks"), Is.AMBIGUOUS, True),
    (answer(200, b"o", ending=BodyEnd.BROKEN), Is.AMBIGUOUS, False),
    (answer(200, b"no_text"), Is.BAD_PAYLOAD, False),
    (answer(200, b'{"ok":false,"error":"invalid_blocks"}'), Is.BAD_PAYLOAD, False),
    (answer(200, b'{"ok":false}'), Is.BAD_ENDPOINT, False),
    (answer(200, b'{"success":false}'), Is.BAD_ENDPOINT, False),
    (answer(200, b"<!doctype html><title>Log in"), Is.BAD_ENDPOINT, False),
    (answer(400, b"invalid_payload"), Is.BAD_PAYLOAD, False),
    (answer(400, b"msg_blocks_too_long"), Is.BAD_PAYLOAD, False),
    (answer(400, b"user_not_found"), Is.BAD_ENDPOINT, False),
    (answer(400, b"invalid_token"), Is.BAD_ENDPOINT, True),
    (answer(403, b"action_prohibited"), Is.BAD_ENDPOINT, False),
    (answer(404, b"no_service"), Is.BAD_ENDPOINT, True),
    (answer(404, b"channel_not_found"), Is.BAD_ENDPOINT, False),
    (answer(410, b"channel_is_archived"), Is.BAD_ENDPOINT, True),
    (answer(500, b"rollup_error"), Is.SERVER_ERROR, False),
    (answer(302), Is.REDIRECTED, False),
    (answer(200, b"[" * 100_000), Is.AMBIGUOUS, True),
]


@pytest.mark.parametrize(
    ("reply", "outcome", "permanent"), SLACK, ids=[str((r.status, r.body[:20])) for r, *_ in SLACK]
)
def test_slack_is_judged_by_its_own_words(reply: HttpResponse, outcome: AttemptOutcome, permanent: bool) -> None:
    result = classify(reply, slack.judge, now=NOW)

    assert (result.outcome, result.permanent, result.status) == (outcome, permanent, reply.status)


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (answer(429, b"", ("retry-after", "30")), 30),
        (answer(429, b'{"ok":false,"error":"rate_limited","retry_after":64.57}'), 64.57),
        (answer(200, b'{"ok":false,"error":"ratelimited","retry_after":1}'), 1),
        (answer(429, b'{"retry_after":NaN}'), None),
        (answer(429, b'{"retry_after":-1}'), None),
        (answer(429, b'{"retry_after":true}'), None),
        (answer(429, b"slow down"), None),
    ],
)
def test_slack_says_how_long_to_wait_in_a_header_or_the_body(reply: HttpResponse, seconds: float | None) -> None:
    result = classify(reply, slack.judge, now=NOW)

    assert (result.outcome, result.retry_after_s) == (Is.THROTTLED, seconds)


def after(
    *outcomes: AttemptOutcome,
    terms: Terms = DEDUPES,
    retry_after_s: float | None = None,
    permanent: bool = False,
    slow: bool = False,
) -> NextState:
    """Return the state after attempts of which the last had these facts."""
    result = AttemptResult(outcomes[-1], "why", retry_after_s=retry_after_s, permanent=permanent, slow=slow)
    return next_state("msg_a", outcomes[:-1], result, terms, now=NOW)


def waits_s(state: NextState) -> float:
    assert (state.status, state.next_at is not None) == (DeliveryStatus.WAITING, True)
    return (state.next_at - NOW).total_seconds() if state.next_at else -1


def test_delivered_is_delivered() -> None:
    assert after(Is.SERVER_ERROR, Is.DELIVERED) == NextState(DeliveryStatus.DELIVERED, "why")


@pytest.mark.parametrize("outcome", [Is.SERVER_ERROR, Is.AMBIGUOUS, Is.THROTTLED])
def test_what_may_pass_is_tried_by_the_schedule(outcome: AttemptOutcome) -> None:
    for made in range(1, len(SCHEDULE_S)):
        assert SCHEDULE_S[made] * 0.8 <= waits_s(after(*[outcome] * made)) <= SCHEDULE_S[made] * 1.2


def test_what_could_not_be_sent_is_tried_once_more_at_once_and_then_by_the_schedule() -> None:
    assert after(Is.NOT_SENT) == NextState(DeliveryStatus.WAITING, "why", NOW)
    for made in range(1, len(SCHEDULE_S)):
        waited = waits_s(after(*[Is.NOT_SENT] * (made + 1)))
        assert SCHEDULE_S[made] * 0.8 <= waited <= SCHEDULE_S[made] * 1.2
    assert after(*[Is.NOT_SENT] * 11) == NextState(DeliveryStatus.DEAD, "why; 11 attempts were made")


@pytest.mark.parametrize("outcome", [Is.SERVER_ERROR, Is.AMBIGUOUS, Is.THROTTLED])
def test_only_what_left_nothing_behind_is_tried_again_at_once(outcome: AttemptOutcome) -> None:
    assert waits_s(after(outcome)) > 0
    assert waits_s(after(Is.NOT_SENT, outcome)) > 0


def test_a_schedule_of_one_attempt_allows_no_second_at_once() -> None:
    assert after(Is.NOT_SENT, terms=Terms(tries_in_doubt=None, schedule_s=())).status is DeliveryStatus.DEAD


def test_a_delivery_whose_attempts_are_used_up_is_dead() -> None:
    assert after(*[Is.SERVER_ERROR] * 10) == NextState(DeliveryStatus.DEAD, "why; 10 attempts were made")


def test_a_delivery_that_may_have_arrived_is_not_called_dead() -> None:
    assert after(Is.AMBIGUOUS, *[Is.SERVER_ERROR] * 9).status is DeliveryStatus.UNKNOWN


def test_a_refusal_of_our_own_is_never_tried_again() -> None:
    assert after(Is.POLICY_BLOCK) == NextState(DeliveryStatus.DEAD, "why")


def test_a_message_that_does_not_fit_is_tried_once_more_at_once() -> None:
    assert after(Is.BAD_PAYLOAD) == NextState(DeliveryStatus.WAITING, "why", NOW)
    assert after(Is.BAD_PAYLOAD, Is.BAD_PAYLOAD) == NextState(DeliveryStatus.DEAD, "why; in its plainest form too")


@pytest.mark.parametrize("outcome", [Is.BAD_ENDPOINT, Is.REDIRECTED])
def test_a_refusing_endpoint_is_asked_twice_more_and_then_left_alone(outcome: AttemptOutcome) -> None:
    assert waits_s(after(outcome)) == 600
    assert waits_s(after(outcome, outcome)) == 600
    assert after(outcome, outcome, outcome) == NextState(DeliveryStatus.DEAD, "why", disable=True)


def test_an_endpoint_that_is_gone_is_left_alone_at_once() -> None:
    assert after(Is.BAD_ENDPOINT, permanent=True) == NextState(DeliveryStatus.DEAD, "why", disable=True)


def test_a_certificate_problem_is_asked_about_rarely() -> None:
    assert waits_s(after(Is.NOT_SENT, slow=True)) == 600


def test_a_receiver_that_cannot_tell_repeats_gets_two_unsure_attempts() -> None:
    assert waits_s(after(Is.AMBIGUOUS, terms=CHAT)) < 10
    assert after(Is.AMBIGUOUS, Is.SERVER_ERROR, Is.AMBIGUOUS, terms=CHAT).status is DeliveryStatus.UNKNOWN


def test_an_answer_in_doubt_is_not_sent_again() -> None:
    assert after(Is.AMBIGUOUS, permanent=True, terms=CHAT).status is DeliveryStatus.UNKNOWN


def test_throttling_pauses_the_endpoint_for_as_long_as_it_asked() -> None:
    state = after(Is.THROTTLED, retry_after_s=64.57)

    assert state == NextState(
        DeliveryStatus.WAITING, "why", NOW + timedelta(seconds=64.57), pause_until=NOW + timedelta(seconds=64.57)
    )


@pytest.mark.parametrize(
    ("terms", "hours"), [(DEDUPES, 24), (Terms(tries_in_doubt=None, interactive=True), 1)], ids=["result", "approval"]
)
def test_a_wait_past_the_cap_is_cut_and_said(terms: Terms, hours: int) -> None:
    state = after(Is.THROTTLED, retry_after_s=172_800, terms=terms)

    assert state.next_at == NOW + timedelta(hours=hours)
    assert state.pause_until == state.next_at
    assert state.detail == f"why; parked: it asked to wait 172800 s, and {hours * 3600} s is the most"


def test_what_would_come_too_late_is_expired_now() -> None:
    terms = Terms(tries_in_doubt=None, expires_at=NOW + timedelta(seconds=60))

    assert waits_s(after(Is.SERVER_ERROR, terms=terms)) < 60
    assert after(*[Is.SERVER_ERROR] * 4, terms=terms) == NextState(
        DeliveryStatus.EXPIRED, "why; of no use after 2026-12-01 07:01 UTC"
    )


def test_an_attempt_that_was_not_made_in_time_is_expired() -> None:
    assert after(Is.EXPIRED) == NextState(DeliveryStatus.EXPIRED, "why")
