"""A goal that is reached with an answer that does not do yet: put right, and judged again where that changes things."""

from __future__ import annotations

import pytest

from kova_auto.core.event import ModelCallStarted
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import ModelReply
from tests.doubles.checks import Proof
from tests.doubles.goals import GoalHands
from tests.engine.test_goals import CHANGE, LOOK, complete
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, says

MAKE = "make check"


def wanting(**output: object) -> Job:
    schema = '{"type": "object"}' if "schema" in output else None
    return a_job("nightly", mode="goal", goal={"criteria": ["x"]}, automation="full", output=output, schema_text=schema)


async def ended(job: Job, *lines: ModelReply, fails: int = 0) -> tuple[Outcome, str, list[bool]]:
    """Return how a run ended, its answer, and before which replies it was told that its goal is not reached."""
    hands = GoalHands(safe=frozenset({"look", "change"}))
    stage = Stage(hands=hands, proof=Proof(fails={MAKE: fails}))
    await stage.opened(job=job)
    await stage.advance(*lines)
    finished = (await stage.journal.load(RUN)).finished
    assert finished is not None
    asked = [event.asides for event in await stage.facts() if isinstance(event, ModelCallStarted)]
    sent_back = [any(aside.startswith("The goal is not reached yet") for aside in asides) for asides in asked]
    return finished.outcome, finished.answer, sent_back


async def test_an_answer_that_does_not_fit_is_put_right_and_the_goal_stays_reached() -> None:
    lines = (LOOK, complete("c1"), says("All of it."), says('{"all": true}'))

    assert await ended(wanting(schema="a.schema.json"), *lines) == (Outcome.DONE, '{"all": true}', [False] * 4)


async def test_an_answer_that_never_fits_is_no_success() -> None:
    lines = (LOOK, complete("c1"), says("All of it."), says("All of it, really."))

    assert (await ended(wanting(schema="a.schema.json"), *lines))[0] is Outcome.CONTRACT_FAILED


@pytest.mark.parametrize("judges_again", [True, False])
async def test_what_is_changed_for_the_checks_is_judged_again(judges_again: bool) -> None:
    again = () if judges_again else (says("Repaired."),)
    lines = (LOOK, complete("c1"), says("All."), CHANGE, *again, complete("c1"), says("Now all."))
    outcome, answer, sent_back = await ended(wanting(checks=[MAKE]), *lines, fails=1)

    assert (outcome, answer) == (Outcome.DONE, "Now all.")
    assert [place for place, told in enumerate(sent_back) if told] == ([] if judges_again else [5])
