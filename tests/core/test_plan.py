"""Plan mode, step by step: what a call of `plan_exit` leads to, and what a plan's file is called."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Decision, Mode, Ruling
from kova_auto.core.context.plan import is_plan, plan_name
from kova_auto.core.event import ModeEntered
from kova_auto.core.holding import workspace_wanted
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import ResultStatus, ToolResult
from kova_auto.core.policy import policy_of_run
from kova_auto.core.run import RunState
from kova_auto.core.settling import NOBODY, NOT_ALONE, PLAN_IS_RESULT
from kova_auto.core.step import PLAN_NOT_CARRIED_OUT, next_step
from kova_auto.core.steps import AskPerson, EnterMode, Execute, Finish, Refuse
from tests.core.facts import FIRST, NOW, asked, asks_for, decided, judged, result, run_of, started
from tests.support import a_job


def a_planner(**approval: object) -> Job:
    return a_job(mode="plan", automation="workspace-write", approval=approval)


def planned(job: Job, *more: object) -> RunState:
    """Return a run whose plan is written, and whose second reply asks to carry it out."""
    return run_of(*asks_for("plan_exit"), judged(Ruling.ASK), *more, job=job)  # type: ignore[arg-type]  # facts


def test_where_the_job_waits_for_nobody_the_plan_is_the_result() -> None:
    state = planned(a_planner())
    assert next_step(state, NOW) == Refuse(FIRST, PLAN_IS_RESULT, ResultStatus.CANCELLED, Outcome.DONE)

    ended = planned(a_planner(), result(ResultStatus.CANCELLED, concludes="done", plan="First, look."))
    assert next_step(ended, NOW) == Finish(Outcome.DONE, "First, look.", PLAN_NOT_CARRIED_OUT)
    assert ended.denials == 0


def test_where_the_job_waits_a_person_is_asked() -> None:
    assert next_step(planned(a_planner(when_needed="suspend")), NOW) == AskPerson(FIRST)


@pytest.mark.parametrize(("by", "concludes"), [(NOBODY, Outcome.DONE), ("ada", None)])
def test_a_person_who_refuses_has_it_changed_and_one_who_is_not_there_ends_it(
    by: str, concludes: Outcome | None
) -> None:
    state = planned(a_planner(when_needed="suspend"), asked(), decided(Decision.DENY, by=by))
    step = next_step(state, NOW)
    assert isinstance(step, Refuse)
    assert step.concludes == concludes


def test_a_plan_that_is_let_through_leads_into_agent_mode_with_the_workspace_to_itself() -> None:
    facts = (asked(), decided(Decision.ONCE))
    let = planned(a_planner(when_needed="suspend"), *facts)
    assert next_step(let, NOW) == Execute(FIRST)
    assert (let.mode, let.heading_for, workspace_wanted(let)) == (Mode.PLAN, Mode.AGENT, let.request.workspace)
    assert workspace_wanted(planned(a_planner(when_needed="suspend"))) == ""

    done = ToolResult(status=ResultStatus.OK, parts=(), enters=Mode.AGENT)
    through = planned(a_planner(when_needed="suspend"), *facts, started(), result(**dict(done)))
    assert next_step(through, NOW) == EnterMode(Mode.AGENT, FIRST)

    entered = planned(
        a_planner(when_needed="suspend"),
        *facts,
        started(),
        result(**dict(done)),
        ModeEntered(at=NOW, mode=Mode.AGENT, call_id=FIRST, tools=()),
    )
    assert (entered.mode, policy_of_run(entered).mode) == (Mode.AGENT, Mode.AGENT)
    assert not isinstance(next_step(entered, NOW), EnterMode)


def test_a_call_that_decides_how_the_run_goes_on_must_be_alone() -> None:
    state = run_of(*asks_for("plan_exit", "read"), job=a_planner())
    assert next_step(state, NOW) == Refuse(FIRST, NOT_ALONE.format(tool="plan_exit"), ResultStatus.ERROR)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Make it!", "plan-make-it-nightly-20261201t060000z.md"),
        ("", "plan-nightly-20261201t060000z.md"),
        ("../../etc/passwd", "plan-etc-passwd-nightly-20261201t060000z.md"),
        ("ü" * 10, "plan-nightly-20261201t060000z.md"),
        ("a" * 200, f"plan-{'a' * 60}-nightly-20261201t060000z.md"),
    ],
)
def test_a_plan_is_named_by_its_title_its_run_and_when_it_was_first_written(title: str, name: str) -> None:
    assert plan_name(title, "nightly@20261201T060000Z") == name
    assert is_plan((name,))


@pytest.mark.parametrize("parts", [(), ("a", "plan-b.md"), ("notes.md",), ("plan-a.txt",), ("plan-a\n.md",), ("..",)])
def test_what_is_no_plan_is_not_taken_for_one(parts: tuple[str, ...]) -> None:
    assert not is_plan(parts)
