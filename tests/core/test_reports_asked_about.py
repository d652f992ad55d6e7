"""A run whose model has been shown the reports of its subagents, and has not answered yet, has not ended."""

from __future__ import annotations

from datetime import datetime, timedelta

from kova_auto.core.event import ModelCallFailed, ModelCallStarted, RunAcquired
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.step import next_step
from kova_auto.core.steps import AwaitUntil, CallModel, CountFamily, Finish
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import says


def asked() -> Story:
    """Tell a run that would end, and asks its model once more because of a report."""
    parent = a_parent().says(says("That is all."))
    ends(parent, its_child(parent), answer="It is empty.")
    parent.events.append(
        ModelCallStarted(
            at=parent.later(),
            iteration=3,
            model=parent.model,
            request_hash="h",
            asides=("It has ended.",),
            reports=(CallId("1.1"),),
        )
    )
    return parent


def failed(parent: Story, *, retry_at: datetime | None) -> ModelCallFailed:
    return ModelCallFailed(
        at=parent.later(),
        iteration=3,
        error="ModelUnavailable",
        message="overloaded",
        retryable=retry_at is not None,
        retry_at=retry_at,
    )


def test_a_model_that_is_busy_then_is_asked_again() -> None:
    parent = asked()
    again_at = parent.events[-1].at + timedelta(minutes=1)
    parent.events.append(failed(parent, retry_at=again_at))

    assert next_step(parent.state, parent.later()) == AwaitUntil(again_at)
    assert isinstance(next_step(parent.state, again_at), CountFamily | CallModel)


def test_a_model_that_fails_for_good_then_fails_the_run() -> None:
    parent = asked()
    parent.events.append(failed(parent, retry_at=None))
    step = next_step(parent.state, parent.later())

    assert isinstance(step, Finish)
    assert step.outcome is Outcome.FAILED


def test_a_process_that_is_lost_then_is_no_answer() -> None:
    parent = asked()
    parent.events.append(RunAcquired(at=parent.later(), epoch=2, worker="two", lease_broken=True))

    assert isinstance(next_step(parent.state, parent.later()), CountFamily | CallModel)
