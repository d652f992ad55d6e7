"""What a run owes to endpoints, and how far each duty may come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import pytest

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, DeliveryStarted, Previous
from kova_auto.core.ids import DeliveryId, EndpointName, blob_hash, delivery_id
from kova_auto.core.job import Notify, Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.owed import Cause, DeliveryStatus, Owed, wants
from kova_auto.core.run import RunState, apply
from kova_auto.core.step import next_step
from kova_auto.core.view import run_row
from tests.core.facts import acquired, answered, asked, asks_for, begun, ended, judged, result, retried, run_of
from tests.support import a_job, at, says

NOW = at("06:00:02")
ANSWER = "All well."


def before(outcome: Outcome, answer: str = ANSWER) -> Previous:
    """Return what came of the job's last run."""
    return Previous(outcome=outcome, answer_hash=blob_hash(answer.encode()))


@pytest.mark.parametrize(
    ("when", "outcome", "previous", "wanted"),
    [
        ("always", Outcome.DONE, None, True),
        ("always", Outcome.CANCELLED, before(Outcome.CANCELLED), True),
        (["done", "failed"], Outcome.DONE, None, True),
        (["done", "failed"], Outcome.FAILED, before(Outcome.FAILED), True),
        (["done", "failed"], Outcome.TIMED_OUT, None, False),
        ([], Outcome.DONE, None, False),
        ("change", Outcome.DONE, None, True),
        ("change", Outcome.DONE, before(Outcome.DONE), False),
        ("change", Outcome.DONE, before(Outcome.DONE, "All bad."), True),
        ("change", Outcome.FAILED, before(Outcome.DONE), True),
        ("recovery", Outcome.DONE, None, False),
        ("recovery", Outcome.DONE, before(Outcome.DONE), False),
        ("recovery", Outcome.DONE, before(Outcome.FAILED), True),
        ("recovery", Outcome.NOTHING_TO_REPORT, before(Outcome.TIMED_OUT), True),
        ("recovery", Outcome.DONE, before(Outcome.NOTHING_TO_REPORT), False),
        ("recovery", Outcome.FAILED, before(Outcome.DONE), False),
        ("recovery", Outcome.FAILED, before(Outcome.BLOCKED), False),
    ],
)
def test_an_endpoint_is_told_of_what_it_was_promised(
    when: str | list[str], outcome: Outcome, previous: Previous | None, wanted: bool
) -> None:
    notify = Notify.model_validate({"endpoint": "ci", "when": when})

    assert wants(notify, ended(outcome, ANSWER, previous=previous)) is wanted


def finished(*notify: Mapping[str, object], **request: object) -> RunState:
    """Return a run of a job that tells these, which has ended well as its sixth fact."""
    return run_of(begun(), answered(says(ANSWER)), ended(), job=a_job(notify=notify), **request)


def test_every_endpoint_is_owed_one_message_of_an_end() -> None:
    state = finished({"endpoint": "ci"}, {"endpoint": "team"})

    assert list(state.deliveries.values()) == [
        Owed(delivery_id(state.run_id, 6, EndpointName(name)), EndpointName(name), Cause.OUTCOME, 6, NOW)
        for name in ("ci", "team")
    ]
    assert all(key == owed.id for key, owed in state.deliveries.items())


def test_that_a_schedule_rests_is_told_to_everybody_once_whatever_they_were_promised() -> None:
    job = a_job(
        notify=[{"endpoint": "ci", "when": when} for when in ([], ["done"])] + [{"endpoint": "team", "when": []}]
    )
    last = ended(Outcome.FAILED).model_copy(update={"pauses": "the key was refused three times"})

    assert [owed.endpoint for owed in run_of(begun(), last, job=job).deliveries.values()] == ["ci", "team"]
    assert run_of(begun(), last, job=job, staged=True).deliveries == {}
    assert run_of(begun(), ended(Outcome.FAILED), job=job).deliveries == {}


def test_an_endpoint_that_is_named_twice_is_told_once() -> None:
    state = finished({"endpoint": "ci"}, {"endpoint": "ci", "when": ["done"]}, {"endpoint": "ci", "when": ["failed"]})

    assert [owed.endpoint for owed in state.deliveries.values()] == ["ci"]


def test_a_staged_run_owes_nothing() -> None:
    assert finished({"endpoint": "ci"}, staged=True).deliveries == {}


def test_each_attempt_owes_its_own_message() -> None:
    again = [retried(), acquired(2), *answered(says(ANSWER), 2), ended()]
    state = reduce(apply, again, finished({"endpoint": "ci"}))

    assert [owed.cause_seq for owed in state.deliveries.values()] == [6, 11]


ASKS = a_job(approval={"when_needed": "suspend", "notify": ["desk", "desk", "phone"]}, notify=[{"endpoint": "ci"}])
QUESTION = [*asks_for("bash"), judged(Ruling.ASK), asked(expires=at("07:00:00"))]


def test_a_question_is_told_to_those_who_answer_and_is_of_no_use_after_its_time() -> None:
    state = run_of(QUESTION, job=ASKS)

    assert [(owed.endpoint, owed.cause, owed.cause_seq, owed.expires_at) for owed in state.deliveries.values()] == [
        ("desk", Cause.APPROVAL, 7, at("07:00:00")),
        ("phone", Cause.APPROVAL, 7, at("07:00:00")),
    ]


def test_the_end_is_owed_besides_the_question() -> None:
    refused = result(ResultStatus.DENIED)
    state = run_of(QUESTION, refused, answered(says(ANSWER), 2), ended(), job=ASKS)

    assert [(owed.endpoint, owed.cause) for owed in state.deliveries.values()] == [
        ("desk", Cause.APPROVAL),
        ("phone", Cause.APPROVAL),
        ("ci", Cause.OUTCOME),
    ]


DUTY = Owed(DeliveryId("msg_a"), EndpointName("ci"), Cause.OUTCOME, 6, NOW)


def sent(attempt: int) -> DeliveryStarted:
    """Announce an attempt."""
    return DeliveryStarted(at=NOW, delivery_id=DUTY.id, attempt=attempt)


def came(attempt: int, status: str, **more: object) -> DeliveryFinished:
    """Hold what came of an attempt."""
    fields = {"at": NOW, "delivery_id": DUTY.id, "attempt": attempt, "result": "server_error", "status": status}
    return DeliveryFinished.model_validate({**fields, **more})


REQUEUED = DeliveryRequeued(at=NOW, delivery_id=DUTY.id, by="ada")
Fate = DeliveryStarted | DeliveryFinished | DeliveryRequeued


def after(*fates: Fate) -> Owed:
    """Return the duty after these."""
    return reduce(Owed.after, fates, DUTY)


def test_an_attempt_is_in_flight_until_its_end_is_known() -> None:
    under_way = after(sent(1))
    waiting = after(sent(1), came(1, "waiting", http_status=503, detail="busy", next_at=at("06:05:00")))

    assert (under_way.status, under_way.attempts, under_way.in_flight) == (DeliveryStatus.PENDING, 1, True)
    assert waiting == Owed(
        DUTY.id,
        DUTY.endpoint,
        DUTY.cause,
        6,
        NOW,
        status=DeliveryStatus.WAITING,
        attempts=1,
        next_at=at("06:05:00"),
        http_status=503,
        result="server_error",
        detail="busy",
    )


def test_a_later_attempt_forgets_when_it_was_to_be_made() -> None:
    again = after(sent(1), came(1, "waiting", next_at=at("06:05:00")), sent(2))

    assert (again.attempts, again.in_flight, again.next_at) == (2, True, None)


def test_what_a_person_asks_for_is_taken_up_at_once_and_for_ever() -> None:
    dead = after(sent(1), came(1, "dead"))
    asked_for = dead.after(REQUEUED)

    assert (asked_for.status, asked_for.attempts, asked_for.next_at) == (DeliveryStatus.PENDING, 1, None)
    assert after(came(0, "expired"), REQUEUED, sent(1), came(1, "delivered")).status is DeliveryStatus.DELIVERED


@pytest.mark.parametrize(
    ("fates", "cannot_follow"),
    [
        pytest.param([], sent(2), id="an attempt that skips one"),
        pytest.param([sent(1)], sent(1), id="an attempt twice"),
        pytest.param([], came(0, "delivered"), id="an end of no attempt"),
        pytest.param([sent(1)], came(2, "delivered"), id="an end of another attempt"),
        pytest.param([sent(1), came(1, "waiting")], came(1, "delivered"), id="a second end"),
        pytest.param([sent(1)], came(1, "splendid"), id="a status that nobody knows"),
        *(
            pytest.param([sent(1), came(1, status)], sent(2), id=f"an attempt at what is {status}")
            for status in ("delivered", "dead", "expired", "unknown")
        ),
        pytest.param([sent(1), came(1, "delivered")], came(1, "expired"), id="what was delivered expires"),
        pytest.param([sent(1), came(1, "dead")], came(1, "expired"), id="what is dead expires"),
        pytest.param([sent(1), came(1, "delivered")], REQUEUED, id="what was delivered is taken up"),
    ],
)
def test_what_cannot_follow_is_refused(fates: Sequence[Fate], cannot_follow: Fate) -> None:
    duty = after(*fates)

    with pytest.raises(ValueError, match=r"attempt|delivered|splendid"):
        duty.after(cannot_follow)


def test_nothing_may_be_said_of_what_is_not_owed() -> None:
    with pytest.raises(IllegalEventError, match="nothing is owed as msg_a"):
        apply(finished({"endpoint": "ci"}), sent(1))


def test_what_is_put_off_or_told_with_others_needs_no_attempt() -> None:
    put_off = after(came(0, "waiting", result="put_off"))
    told = after(came(0, "delivered", result="told_together"))

    assert (put_off.put_off, put_off.failed, put_off.attempts) == (True, True, 0)
    assert (told.status, told.failed) == (DeliveryStatus.DELIVERED, False)
    assert not after(came(0, "waiting", result="put_off"), sent(1)).put_off
    assert not after(came(0, "waiting", result="put_off"), REQUEUED).put_off


def test_nothing_is_said_of_an_attempt_that_is_made_again_at_once() -> None:
    assert not after(sent(1), came(1, "waiting", next_at=NOW)).failed
    assert after(sent(1), came(1, "waiting", next_at=at("06:05:00"))).failed
    assert after(sent(1), came(1, "waiting", next_at=NOW), sent(2), came(2, "dead")).failed
    assert not after(sent(1), came(1, "dead"), REQUEUED).failed


ENDS = [
    *((status, "server_error") for status in ("waiting", "dead", "unknown", "delivered", "expired", "cancelled")),
    ("waiting", "put_off"),
    ("delivered", "told_together"),
]


@pytest.mark.parametrize(("status", "result"), ENDS)
@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.FAILED])
def test_what_becomes_of_a_delivery_changes_nothing_of_its_run(outcome: Outcome, status: str, result: str) -> None:
    job = a_job(notify=({"endpoint": "ci"},), policy={"pause_after_failures": 1})
    state = run_of(*begun(), answered(says(ANSWER)), ended(outcome), job=job)
    (owed,) = state.deliveries
    with_attempt = result == "server_error"
    fates: list[Fate] = [DeliveryStarted(at=NOW, delivery_id=owed, attempt=1)] if with_attempt else []
    fates.append(DeliveryFinished(at=NOW, delivery_id=owed, attempt=int(with_attempt), result=result, status=status))
    later = reduce(apply, fates, state)

    assert run_row(later) == run_row(state)
    assert next_step(later, NOW) == next_step(state, NOW)
    assert later.deliveries[owed].status == status
