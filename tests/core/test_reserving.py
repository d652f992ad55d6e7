"""What a run of a family sets aside of the ceilings that all of it share."""

from __future__ import annotations

from kova_auto.core.budget import LARGEST_REPLY, SMALLEST_REPLY
from kova_auto.core.event import Event, FamilyCounted, ModelCallStarted, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.pin import ModelPin
from kova_auto.core.price import Price
from kova_auto.core.reserving import Reserved, reserved
from kova_auto.core.run import RunState
from tests.core.facts import answered, begun, ended, run_of
from tests.support import at, says

ONE_REPLY = [*begun(), *answered(says("Hm.", tokens=5), 1)]
COUNTED = FamilyCounted(at=at("06:00:05"), tokens=0, cost_usd=0.0, members=2)
DEAR = ModelPin(name="test/model", price=Price(input=10.0, output=50.0))


def asked(most: int | None) -> ModelCallStarted:
    return ModelCallStarted(
        at=at("06:00:06"), iteration=2, model="test/model", request_hash="hash", max_output_tokens=most
    )


def member(*more: Event) -> RunState:
    return run_of(ONE_REPLY, COUNTED, *more, pins=(DEAR,))


def test_a_run_that_nobody_shares_with_sets_nothing_aside() -> None:
    assert reserved(run_of(ONE_REPLY)) == Reserved()


def test_between_two_calls_a_run_sets_aside_what_the_next_needs_at_least() -> None:
    assert reserved(member()) == Reserved(5 + SMALLEST_REPLY, (5 * 10.0 + SMALLEST_REPLY * 50.0) / 1e6)


def test_while_its_model_is_asked_it_sets_aside_all_that_the_reply_may_have() -> None:
    assert reserved(member(asked(4_000))) == Reserved(5 + 4_000, (5 * 10.0 + 4_000 * 50.0) / 1e6)
    assert reserved(member(asked(None))).tokens == 5 + LARGEST_REPLY


def test_whoever_is_to_end_sets_nothing_aside() -> None:
    stop = StopRequested(at=at("06:00:07"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    assert reserved(member(stop)) == Reserved()
    assert reserved(member(ended())) == Reserved()
