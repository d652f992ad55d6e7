"""What every set of views answers: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

from datetime import timedelta
from random import Random

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    ChildOf,
    ContextAssembled,
    DeliveryFinished,
    DeliveryStarted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    Origin,
    Previous,
    RunFinished,
    RunRetried,
    StopRequested,
)
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId, DeliveryId, JobName, RunId, blob_hash
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelReply, TextPart, Usage
from kova_auto.core.pausing import Pause
from kova_auto.core.ports import Agenda, Journal, Views
from kova_auto.core.run import RunState, opened
from kova_auto.core.view import approval_rows, run_row, usage_rows
from tests.doubles.journal import MemoryJournal
from tests.ports.conftest import Ports
from tests.support import a_job, a_request, at, call, ready, replied, ruled, says
from tests.walks import a_talkative_request, walk

LEASE = timedelta(seconds=30)
NIGHTLY = JobName("nightly")
FIRST = CallId("1.1")


async def a_run(
    journal: Journal,
    run_id: str,
    *events: Event,
    clock: str = "06:00:00",
    asked: tuple[str, ...] = (),
    **changes: object,
) -> RunState:
    """Open a run, take it for a moment, and append facts; `asked` are the endpoints that requests go to."""
    job = a_job(
        run_id.partition("@")[0],
        notify=({"endpoint": "ci"},),
        approval={"when_needed": "suspend", "notify": tuple(asked)},
    )
    await journal.open(a_request(run_id, job=job, at=at(clock), **changes))
    state = await journal.acquire(RunId(run_id), worker="one", now=at(clock), lease=LEASE)
    assert isinstance(state, RunState)
    for event in events:
        state = await journal.append(state, event, epoch=state.epoch)
    await journal.release(state.run_id, epoch=state.epoch)
    return state


def ends(
    clock: str,
    outcome: Outcome = Outcome.DONE,
    answer: str = "All well.",
    *,
    pauses: str = "",
    fault: Fault | None = None,
) -> RunFinished:
    """Return the end of a run."""
    return RunFinished(at=at(clock), outcome=outcome, answer=answer, pauses=pauses, fault=fault)


def asks(expires: str | None = "18:00:00") -> list[Event]:
    """Return the facts up to a question that nobody has answered."""
    return [
        ContextAssembled(at=at("06:00:01"), system="", prompt=(TextPart(text="Go."),), tools=()),
        ModelCallStarted(at=at("06:00:01"), iteration=1, model="test/model", request_hash="hash"),
        replied(1, says("Hm.", call("bash", command="make"))),
        CallAdjudicated(at=at("06:00:03"), call_id=FIRST, verdict=ruled(Ruling.ASK)),
        ApprovalRequested(at=at("06:00:04"), call_id=FIRST, expires_at=at(expires) if expires else None),
    ]


async def test_runs_are_listed_newest_first(journal: Journal, views: Views) -> None:
    old = await a_run(journal, "nightly@1", ends("06:00:05"))
    new = await a_run(journal, "nightly@2", clock="07:00:00")
    other = await a_run(journal, "weekly@1", clock="08:00:00")

    assert await views.runs() == [run_row(other), run_row(new), run_row(old)]
    assert await views.runs(limit=1) == [run_row(other)]
    assert await views.runs(job=NIGHTLY) == [run_row(new), run_row(old)]
    assert await views.runs(unfinished=True) == [run_row(other), run_row(new)]
    assert await views.runs(job=JobName("nothing")) == []


async def test_one_run_is_found_by_its_id(journal: Journal, views: Views) -> None:
    state = await a_run(journal, "nightly@1", ends("06:00:05", answer="x" * 2000))

    assert await views.run(state.run_id) == run_row(state)
    assert await views.run(RunId("nightly@2")) is None


async def test_ids_are_found_by_what_they_begin_with(journal: Journal, views: Views) -> None:
    for run_id in ("nightly@1", "nightly@2", "Nightly@3", "night_y@4", "weekly@1"):
        await a_run(journal, run_id)

    assert await views.matching("nightly") == ["nightly@2", "nightly@1"]
    assert await views.matching("night_") == ["night_y@4"]
    assert await views.matching("%") == []
    assert sorted(await views.matching("")) == ["Nightly@3", "night_y@4", "nightly@1", "nightly@2", "weekly@1"]


async def test_ids_of_children_are_found_by_what_names_their_parent(journal: Journal, views: Views) -> None:
    parent = await a_run(journal, "nightly@1")
    by = ChildOf(
        run_id=parent.run_id, call_id=CallId("1.1"), root=parent.run_id, depth=1, agent="fixer", prompt="", tools=()
    )
    await journal.open(a_request("nightly@1~1.1", origin=Origin.PARENT, child_of=by))

    assert await views.matching("nightly") == ["nightly@1"]
    assert await views.matching("nightly@1~") == ["nightly@1~1.1"]


async def test_at_most_twenty_ids_are_found(journal: Journal, views: Views) -> None:
    for minute in range(25):
        await journal.open(a_request(f"nightly@{minute:02}", at=at(f"06:{minute:02}:00")))

    assert await views.matching("nightly@") == [f"nightly@{minute:02}" for minute in range(24, 4, -1)]


async def test_runs_that_can_go_on_are_found_oldest_first(journal: Journal, views: Views) -> None:
    await a_run(journal, "late@1", clock="07:00:00")
    await a_run(journal, "early@1", clock="05:00:00")
    await a_run(journal, "done@1", ends("06:00:05"))
    await a_run(journal, "waits@1", *asks(expires=None))
    await a_run(journal, "expires@1", *asks(expires="18:00:00"))
    held = await a_run(journal, "held@1")
    await journal.acquire(held.run_id, worker="two", now=at("07:00:00"), lease=LEASE)

    assert ready(await views.agenda(at("07:00:29"))) == ["early@1", "late@1"]
    assert ready(await views.agenda(at("07:00:30"))) == ["early@1", "held@1", "late@1"]
    assert ready(await views.agenda(at("18:00:00"))) == ["early@1", "expires@1", "held@1", "late@1"]
    assert ready(await views.agenda(at("18:00:00"), limit=2)) == ["early@1", "expires@1"]


async def test_an_answered_run_can_go_on_at_once(journal: Journal, views: Views) -> None:
    state = await a_run(journal, "nightly@1", *asks(expires=None))
    await journal.append(state, ApprovalDecided(at=at("06:10:00"), call_id=FIRST, decision=Decision.ONCE, by="ada"))

    assert ready(await views.agenda(at("06:10:00"))) == ["nightly@1"]


async def test_a_stopped_run_can_go_on_to_its_end(journal: Journal, views: Views) -> None:
    state = await a_run(journal, "nightly@1", *asks(expires=None))
    await journal.append(state, StopRequested(at=at("06:10:00"), outcome=Outcome.CANCELLED, reason="", by="ada"))

    assert ready(await views.agenda(at("06:10:00"))) == ["nightly@1"]


async def test_the_next_wake_is_the_earliest_of_runs_and_deliveries(journal: Journal, views: Views) -> None:
    failed = ModelCallFailed(
        at=at("06:00:02"), iteration=1, error="E", message="busy", retryable=True, retry_at=at("06:20:00")
    )
    await a_run(journal, "expires@1", *asks(expires="18:00:00"))
    await a_run(journal, "retries@1", *asks()[:2], failed)
    ended = await a_run(journal, "told@1", ends("06:00:05"))
    owed = next(iter(ended.deliveries))
    started = await journal.append(ended, DeliveryStarted(at=at("06:01:00"), delivery_id=owed, attempt=1))
    await journal.append(started, a_failed_attempt(owed, next_at="06:30:00"))

    assert await views.next_wake(at("06:10:00")) == at("06:20:00")
    assert await views.next_wake(at("06:20:00")) == at("06:30:00")
    assert await views.next_wake(at("06:30:00")) == at("18:00:00")
    assert await views.next_wake(at("18:00:00")) is None


async def test_the_agenda_says_when_the_next_run_goes_on_and_where_the_ready_ones_work(
    journal: Journal, views: Views
) -> None:
    await a_run(journal, "expires@1", *asks(expires="18:00:00"))
    await a_run(journal, "early@1", clock="05:00:00")

    assert await views.agenda(at("07:00:00")) == Agenda((RunId("early@1"),), at("18:00:00"))
    assert (await views.agenda(at("18:00:00"))).wake_at is None


def a_failed_attempt(owed: DeliveryId, next_at: str) -> DeliveryFinished:
    """Return the end of a first attempt that is to be tried again."""
    return DeliveryFinished(
        at=at("06:01:01"),
        delivery_id=owed,
        attempt=1,
        result="server_error",
        status="waiting",
        http_status=503,
        next_at=at(next_at),
    )


async def test_what_came_of_the_last_run_leaves_out_this_staged_and_open_ones(journal: Journal, views: Views) -> None:
    this = await a_run(journal, "nightly@9", clock="09:00:00")
    assert await views.previous(NIGHTLY, this.run_id) is None

    await a_run(journal, "nightly@3", ends("08:00:00", Outcome.FAILED, "broken"), clock="05:00:00")
    await a_run(journal, "nightly@1", ends("07:00:00"))
    await a_run(journal, "nightly@2", ends("08:30:00"), staged=True)
    again = await a_run(journal, "nightly@4", ends("08:40:00"))
    await journal.append(again, RunRetried(at=at("08:41:00"), attempt=2, by="ada"))
    await a_run(journal, "weekly@1", ends("08:50:00"))
    await journal.append(await journal.load(this.run_id), ends("09:00:05"))

    assert await views.previous(NIGHTLY, this.run_id) == Previous(
        outcome=Outcome.FAILED, answer_hash=blob_hash(b"broken")
    )


async def test_the_last_runs_are_listed_by_their_ends(journal: Journal, views: Views) -> None:
    late = await a_run(journal, "nightly@1", ends("08:00:00", Outcome.FAILED, pauses="the key was refused"))
    early = await a_run(journal, "nightly@2", ends("07:00:00"), clock="06:30:00")
    await a_run(journal, "nightly@3", ends("09:00:00"), staged=True)
    await a_run(journal, "nightly@4")
    await a_run(journal, "weekly@1", ends("08:50:00"))

    assert await views.last_runs(NIGHTLY) == [run_row(late)]
    assert await views.last_runs(NIGHTLY, limit=5) == [run_row(late), run_row(early)]
    assert await views.last_runs(NIGHTLY, before=late.run_id) == [run_row(early)]
    assert await views.last_runs(JobName("nothing")) == []


async def test_jobs_whose_last_run_let_them_rest_are_found(journal: Journal, views: Views) -> None:
    assert await views.pausing() == []

    await a_run(journal, "nightly@1", ends("06:10:00", pauses="the key was refused"))
    await a_run(journal, "nightly@2", ends("06:20:00"), staged=True)
    await a_run(journal, "nightly@3", clock="06:30:00")
    await a_run(journal, "weekly@1", ends("06:10:00", pauses="the key was refused"))
    await a_run(journal, "weekly@2", ends("06:20:00"))
    both = ("06:10:00", Outcome.FAILED, "")
    await a_run(journal, "adhoc@1", ends(*both, pauses="the key was refused"))
    await a_run(journal, "adhoc@2", ends(*both, pauses="the quota is used up"))

    assert await views.pausing() == [
        Pause(job=JobName("adhoc"), at=at("06:10:00"), by="run adhoc@2", reason="the quota is used up"),
        Pause(job=NIGHTLY, at=at("06:10:00"), by="run nightly@1", reason="the key was refused"),
    ]


async def test_a_run_that_meets_what_let_its_job_rest_lifts_nothing(journal: Journal, views: Views) -> None:
    why = "the key was refused"
    await a_run(journal, "nightly@1", ends("06:10:00", Outcome.FAILED, pauses=why, fault=Fault.AUTH))
    await a_run(journal, "nightly@2", ends("06:20:00", Outcome.FAILED, fault=Fault.AUTH))
    await a_run(journal, "nightly@3", ends("06:30:00", Outcome.FAILED, fault=Fault.SPENT))
    rests = [Pause(job=NIGHTLY, at=at("06:10:00"), by="run nightly@1", reason=why)]
    assert await views.pausing() == rests

    await a_run(journal, "nightly@4", ends("06:40:00", Outcome.FAILED, fault=Fault.OVERFLOW))
    assert await views.pausing() == []


async def test_what_calls_of_models_used_is_found_by_job_run_and_time(journal: Journal, views: Views) -> None:
    begins = [asks()[0], ModelCallStarted(at=at("06:00:01"), iteration=1, model="test/model", request_hash="hash")]
    used = Usage(input_tokens=7, output_tokens=2, cost_usd=0.25)
    broken = {"error": "E", "message": "broke off", "retryable": True}
    failed = ModelCallFailed(at=at("06:00:02"), iteration=1, usage=used, **broken)
    unused = ModelCallFailed(at=at("06:00:02"), iteration=1, **broken)
    first = await a_run(journal, "nightly@1", *begins, failed, *asks()[1:2], late(says("Done.", cost_usd=0.5)))
    other = await a_run(journal, "nightly@2", *begins, unused, *asks()[1:2], late(says("Done.", cost_usd=None)))
    weekly = await a_run(journal, "weekly@1", *begins, replied(1, says("Done.", cost_usd=0.125)))
    one, two, three, four = (*usage_rows(first), *usage_rows(other), *usage_rows(weekly))

    assert await views.usage() == [one, four, two, three]
    assert await views.usage(job=NIGHTLY) == [one, two, three]
    assert await views.usage(run_id=first.run_id) == [one, two]
    assert await views.usage(since=at("07:00:00")) == [two, three]
    assert await views.usage(job=JobName("nothing")) == []
    assert await views.spent_usd(NIGHTLY, at("06:00:02")) == 0.75
    assert await views.spent_usd(NIGHTLY, at("06:00:03")) == 0.5
    assert await views.spent_usd(NIGHTLY, at("07:00:01")) == 0.0


def late(reply: ModelReply) -> ModelReplied:
    """Return the fact that a reply came at seven."""
    return replied(1, reply, when=at("07:00:00"))


async def test_open_questions_are_listed_newest_first(journal: Journal, views: Views) -> None:
    first = await a_run(journal, "nightly@1", *asks())
    second = await a_run(journal, "nightly@2", *asks())
    answered = await journal.append(
        first, ApprovalDecided(at=at("06:10:00"), call_id=FIRST, decision=Decision.DENY, by="ada")
    )

    assert await views.approvals() == list(approval_rows(second))
    assert await views.approvals(open_only=False) == [*approval_rows(second), *approval_rows(answered)]
    assert await views.approvals(open_only=False, limit=1) == list(approval_rows(second))


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happened_the_answers_are_those_of_the_double(ports: Ports, seed: int) -> None:
    chance, double = Random(seed), MemoryJournal()
    for index in range(3):
        request = a_talkative_request(f"job{index}@1")
        for journal in (ports.journal, double):
            await journal.open(request)
        for state, event in walk(opened(request), chance, 40):
            await ports.journal.append(state, event)
            await double.append(state, event)

    views, now = ports.views, at("06:00:30")
    assert await views.runs() == await double.runs()
    assert await views.runs(unfinished=True) == await double.runs(unfinished=True)
    assert ready(await views.agenda(now)) == ready(await double.agenda(now))
    assert await views.next_wake(now) == await double.next_wake(now)
    assert await views.usage() == await double.usage()
    assert await views.pausing() == await double.pausing()
    assert await views.approvals() == await double.approvals()
    assert await views.deliveries() == await double.deliveries()
    assert await views.due_deliveries(now) == await double.due_deliveries(now)
