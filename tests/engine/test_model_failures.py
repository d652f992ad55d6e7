"""A model that gives no reply: when it is asked again, and when the run gives it up."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.event import ModelCallFailed
from kova_auto.core.job import Outcome
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import ScriptedModel, fails
from tests.engine.worlds import RUN, Stage
from tests.support import says


async def _waits(stage: Stage) -> list[float | None]:
    """Return for how many seconds each failure makes the run wait."""
    failures = [event for event in await stage.facts() if isinstance(event, ModelCallFailed)]
    return [(event.retry_at - event.at).total_seconds() if event.retry_at else None for event in failures]


async def test_a_model_that_is_unavailable_is_asked_again_ever_later_and_then_given_up() -> None:
    stage, model = Stage(), ScriptedModel(*[fails(ModelUnavailableError("busy"), "Well")] * 4)
    await stage.opened()
    engine = stage.engine(model=model)
    for wait_s in (1, 4, 15):
        assert await engine.advance(RUN) is Advanced.SUSPENDED
        stage.clock.later(wait_s)

    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "ModelUnavailable: busy")
    assert await _waits(stage) == [1.0, 4.0, 15.0, 15.0]
    assert len(model.requests) == 4


async def test_what_the_provider_asks_to_wait_is_waited_and_is_no_running_time() -> None:
    stage = Stage()
    model = ScriptedModel(fails(ModelUnavailableError("busy", retry_after_s=3000.0)), says("Well."))
    await stage.opened()
    engine = stage.engine(model=model)
    assert await engine.advance(RUN) is Advanced.SUSPENDED
    stage.clock.later(3000)

    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert (await stage.journal.load(RUN)).ran_s == 0.0


@pytest.mark.parametrize("asked_s", [3601.0, 1e9, 1e18])
async def test_a_provider_that_asks_for_too_much_patience_ends_the_run(asked_s: float) -> None:
    stage, model = Stage(), ScriptedModel(fails(ModelUnavailableError("busy", retry_after_s=asked_s)))
    await stage.opened()

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (
        Outcome.FAILED,
        f"ModelUnavailable: busy (it asks to wait {asked_s:.0f} s; a run waits 3600 s at most)",
    )


async def test_a_refusal_is_not_asked_again() -> None:
    stage, model = Stage(), ScriptedModel(fails(ModelRefusedError("no such model; hunter2-hunter2")))
    await stage.opened()

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "ModelRefused: no such model; [redacted]")
    assert len(model.requests) == 1
