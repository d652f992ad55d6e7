"""Runs that may change one workspace in place have it one at a time: which those are, and what follows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ChangesSettled,
    Event,
    RunAcquired,
    RunFinished,
    RunRetried,
    StopRequested,
    WorkspaceAwaited,
)
from kova_auto.core.holding import (
    Hold,
    overlap,
    rival,
    said_busy,
    wants_workspace,
    workspace_held,
    workspace_wanted,
)
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.limits import running_s
from kova_auto.core.loop.why import why_it_stopped
from kova_auto.core.run import Execution, RunState, apply, fold
from kova_auto.core.step import next_step
from kova_auto.core.steps import AssembleContext, AwaitWorkspace, Finish
from kova_auto.core.view import run_row
from tests.support import a_job, a_request, at

WRITER = a_request(job=a_job(automation="workspace-write"))
TAKEN = RunAcquired(at=at("06:00:01"), epoch=1, worker="one")
WAITS = WorkspaceAwaited(at=at("06:00:01"), holder=RunId("other@1"), job="other")
STOP = StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="enough", by="ann")
END = RunFinished(at=at("06:00:03"), outcome=Outcome.DONE, answer="Done.")


def of(*events: Event) -> RunState:
    return fold([WRITER, *events])


@pytest.mark.parametrize(
    ("one", "other", "do"),
    [
        ("/srv/app", "/srv/app", True),
        ("/srv/app", "/srv/app/web", True),
        ("/srv/app/web", "/srv/app", True),
        ("/", "/srv/app", True),
        ("/srv/app", "/srv/application", False),
        ("/srv/app", "/srv/other", False),
    ],
)
def test_directories_overlap_where_one_lies_in_the_other(one: str, other: str, do: bool) -> None:
    assert overlap(one, other) is do


@pytest.mark.parametrize(
    ("job", "request_", "wanted"),
    [
        ({"automation": "workspace-write"}, {}, True),
        ({"automation": "full"}, {}, True),
        ({"automation": "full", "mode": "goal"}, {}, True),
        ({"automation": "read-only"}, {}, False),
        ({"automation": "full", "mode": "ask"}, {}, False),
        ({"automation": "full", "mode": "plan"}, {}, False),
        ({"automation": "full", "isolation": "copy"}, {"workspace": "/cache/copies/1/app"}, False),
        ({"automation": "full", "isolation": "worktree"}, {"workspace": "/cache/copies/1/app"}, False),
        ({"automation": "full"}, {"staged": True, "workspace": "/cache/copies/1/app"}, False),
        ({"automation": "read-only"}, {"level": ApprovalLevel.ASK}, True),
        ({"automation": "read-only"}, {"level": ApprovalLevel.AUTO}, True),
    ],
)
def test_a_run_that_may_change_its_workspace_in_place_wants_it(
    job: dict[str, Any], request_: dict[str, Any], wanted: bool
) -> None:
    state = fold([a_request(job=a_job(**job), **request_)])

    assert wants_workspace(state) is wanted
    assert workspace_wanted(state) == ("/srv/app" if wanted else "")


def test_a_run_has_its_workspace_from_its_first_step_to_its_end() -> None:
    later = RunAcquired(at=at("06:00:02"), epoch=2, worker="two", lease_broken=True)

    assert [
        workspace_held(state) for state in (of(), of(TAKEN), of(TAKEN, later), of(TAKEN, STOP), of(TAKEN, END))
    ] == [
        "",
        "/srv/app",
        "/srv/app",
        "/srv/app",
        "",
    ]


def test_a_further_attempt_wants_it_again() -> None:
    state = of(TAKEN, END, RunRetried(at=at("06:00:04"), attempt=2, by="ann"))

    assert (workspace_held(state), wants_workspace(state)) == ("", True)


def test_a_run_that_waits_rests_and_runs_no_time() -> None:
    state = of(WAITS)
    row = run_row(state)

    assert next_step(state, at("09:00:00")) == AwaitWorkspace(RunId("other@1"))
    assert (row.execution, row.resting, row.wake_at, row.waits_for) == (Execution.QUEUED, True, None, "other@1")
    assert running_s(state, at("09:00:00")) == 0
    assert why_it_stopped(state) == "it waits for run other@1 of other, which has its workspace to itself"
    begun = apply(state, TAKEN.model_copy(update={"at": at("09:00:00")}))
    assert next_step(begun, at("09:00:00")) == AssembleContext()
    assert running_s(begun, at("09:00:00") + timedelta(seconds=5)) == 5
    assert (run_row(begun).waits_for, run_row(begun).holds) == ("", "/srv/app")


def test_a_run_that_is_to_be_ended_waits_for_no_workspace_and_takes_none() -> None:
    state = of(WAITS, STOP)

    assert next_step(state, at("06:00:03")) == Finish(Outcome.CANCELLED, reason="enough")
    assert workspace_held(apply(state, TAKEN)) == ""
    assert not wants_workspace(fold([WRITER.model_copy(update={"blocked": "no model"})]))


@pytest.mark.parametrize("before", [[TAKEN], [WAITS], [STOP], [TAKEN, END]])
def test_a_run_begins_to_wait_only_where_it_lacks_a_workspace(before: list[Event]) -> None:
    with pytest.raises(IllegalEventError, match="workspace_awaited cannot follow"):
        apply(of(*before), WAITS)


def test_whoever_has_the_workspace_next_is_waited_for_too() -> None:
    another = WorkspaceAwaited(at=at("06:00:09"), holder=RunId("third@1"), job="third")

    assert run_row(of(WAITS, another)).waits_for == "third@1"


def test_a_rival_is_another_run_in_an_overlapping_workspace() -> None:
    holds = [
        Hold(run_id=RunId("c@1"), job=JobName("c"), workspace="/srv/other"),
        Hold(run_id=RunId("b@1"), job=JobName("b"), workspace="/srv/app/web"),
        Hold(run_id=RunId("a@1"), job=JobName("a"), workspace="/srv/app"),
    ]

    assert rival(holds, "/srv/app", RunId("a@1")) == holds[1]
    assert rival(holds, "/srv/app/docs") == holds[2]
    assert rival(holds, "/srv/third") is None


def test_who_has_a_jobs_workspace_is_said_unless_it_is_the_job_itself_or_it_writes_nothing_there() -> None:
    holds = [Hold(run_id=RunId("a@1"), job=JobName("a"), workspace="/srv/app")]

    assert said_busy(holds, a_job("b", automation="full")) == "workspace busy: a@1 of a"
    assert said_busy(holds, a_job("a", automation="full")) == ""
    assert said_busy(holds, a_job("b", automation="read-only")) == ""
    assert said_busy(holds, a_job("b", automation="full", isolation="copy")) == ""
    assert said_busy(holds, a_job("b", automation="full", workspace="/srv/b")) == ""


def test_what_a_run_left_is_settled_once_and_only_where_there_is_something() -> None:
    kept = END.model_copy(update={"kept": "3 files"})
    applied = ChangesSettled(at=at("07:00:00"), how="applied", by="ann", files=("a",))
    state = of(TAKEN, kept, applied)

    assert (run_row(of(TAKEN, kept)).kept, run_row(state).kept) == ("3 files", "")
    with pytest.raises(IllegalEventError, match="its changes were applied by ann already"):
        apply(state, applied)
    with pytest.raises(IllegalEventError, match="it has left no changes"):
        apply(of(TAKEN, END), applied)
    with pytest.raises(IllegalEventError, match="it has left no changes"):
        apply(of(TAKEN), applied)
