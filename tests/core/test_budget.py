"""What one more call of the model may cost, decided before it is made."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kova_auto.core.budget import LARGEST_REPLY, SMALLEST_REPLY, Room, next_call, used_up
from kova_auto.core.event import FamilyCounted
from kova_auto.core.job import Outcome
from kova_auto.core.limits import Reached
from kova_auto.core.message import Usage
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.price import FREE, Price, most_usd
from kova_auto.core.run import RunState
from tests.core.facts import answered, asks_for, assembled, begun, broke, ended, ran, retried, run_of
from tests.support import a_job, at, says

TWO_REPLIES = [*asks_for("bash"), *ran(), *answered(says("Well.", tokens=5, cost_usd=0.25), 2)]
DEAR = ModelPin(name="test/model", price=Price(input=10.0, output=50.0))


def over(reason: str) -> Reached:
    return Reached(Outcome.BUDGET_EXCEEDED, reason)


def room(state: RunState) -> Room | Reached:
    return next_call(state, state.pin)


@pytest.mark.parametrize(
    ("limits", "reached"),
    [
        ({}, Room()),
        ({"iterations": 3}, Room()),
        ({"iterations": 2}, over("limits.iterations = 2 is reached")),
        ({"tokens": 15}, over("15 tokens were used (limits.tokens = 15)")),
        ({"tokens": 500}, over("15 tokens were used, and the next call would pass limits.tokens = 500")),
        ({"tokens": 2000}, Room(2000 - 15 - 5)),
        ({"cost_usd": 0.26}, Room()),
        ({"cost_usd": 0.251}, over("0.2510 USD were spent (limits.cost_usd = 0.251)")),
        ({"cost_usd": 0.2}, over("0.2510 USD were spent (limits.cost_usd = 0.2)")),
        ({"cost_usd_per_day": 0.25}, over("0.2510 USD were spent (limits.cost_usd_per_day = 0.25)")),
    ],
)
def test_iterations_tokens_and_money_forbid_one_more_call(
    limits: Mapping[str, object], reached: Room | Reached
) -> None:
    assert room(run_of(TWO_REPLIES, job=a_job(limits=limits))) == reached


def test_an_unknown_price_hides_no_known_one() -> None:
    free = answered(says("Hm.", cost_usd=None), 1)
    dear = answered(says("Well.", cost_usd=2.0), 2)

    assert room(run_of(begun(), free)) == Room()
    assert room(run_of(begun(), free, dear)) == over("2.0000 USD were spent (limits.cost_usd = 1)")


def test_every_attempt_has_its_own_budget_and_the_day_is_one_for_all() -> None:
    again = [*TWO_REPLIES, ended(), retried()]

    def limited(**limits: object) -> Room | Reached:
        return room(run_of(again, job=a_job(limits=limits)))

    assert limited(iterations=1, tokens=600, cost_usd=0.1) == Room(600)
    assert limited(cost_usd_per_day=0.2) == over("0.2510 USD were spent (limits.cost_usd_per_day = 0.2)")


def test_a_further_attempt_knows_what_others_have_spent_meanwhile() -> None:
    state = run_of(TWO_REPLIES, ended(), retried(day_spent_usd=4.999), assembled(), pins=(DEAR,))

    assert room(state) == over("0.0010 USD are left, and the next call would pass limits.cost_usd_per_day = 5")


def test_a_script_is_played_to_its_end_on_a_day_that_is_spent() -> None:
    assert room(run_of(begun(), scripted=True, day_spent_usd=6.0)) == Room()


def test_a_reply_is_bounded_to_what_its_price_leaves_room_for() -> None:
    state = run_of(asks_for("bash"), ran(), pins=(DEAR,), job=a_job(limits={"cost_usd": 0.1}))
    # 0.1 - 0.001 spent - 17 tokens of input leave 0.09883 USD, at 50 USD a million.
    assert room(state) == Room(1976)


def test_a_call_that_would_pass_the_ceiling_is_not_made() -> None:
    said = says("Look.", cost_usd=0.98)
    state = run_of(begun(), answered(said), pins=(DEAR,))

    assert room(state) == over("0.0200 USD are left, and the next call would pass limits.cost_usd = 1")
    assert room(run_of(begun(), answered(said), pins=(ModelPin(name="test/model", price=FREE),))) == Room()


def test_what_earlier_runs_have_spent_today_counts() -> None:
    state = run_of(begun(), pins=(DEAR,), day_spent_usd=4.999)

    assert room(state) == over("0.0010 USD are left, and the next call would pass limits.cost_usd_per_day = 5")


def test_a_reply_is_never_asked_for_that_the_model_could_not_give() -> None:
    def bounded(most: int) -> Room | Reached:
        pin = ModelPin(name="test/model", capability=Capability(max_output=most))
        return next_call(run_of(begun(), pins=(pin,)), pin)

    assert (bounded(4096), bounded(128_000)) == (Room(4096), Room(LARGEST_REPLY))


@pytest.mark.parametrize(("window", "bound"), [(1_000_000, LARGEST_REPLY), (LARGEST_REPLY + 100, None), (None, None)])
def test_a_reply_is_bounded_where_the_window_has_room_for_the_largest(window: int | None, bound: int | None) -> None:
    pin = ModelPin(name="test/model", capability=Capability(window=window))
    state = run_of(begun(), answered(says("Hm.", tokens=60)))

    assert next_call(state, pin) == Room(bound)


def test_what_a_cache_serves_trips_no_ceiling_in_tokens() -> None:
    cached = Usage(input_tokens=100_000, cache_read_tokens=99_000, output_tokens=500, cost_usd=0.0)
    facts = asks_for("bash")[:-1]
    replies = [answered(says("Hm.").model_copy(update={"usage": cached}), number) for number in range(1, 11)]

    assert room(run_of(facts[:2], *replies, job=a_job(limits={"tokens": 20_000}))) == Room(20_000 - 15_000 - 500)


def test_what_one_models_cache_served_another_model_reads_anew() -> None:
    cached = Usage(input_tokens=100_000, cache_read_tokens=99_000, output_tokens=500, cost_usd=0.0)
    reply = answered(says("Hm.").model_copy(update={"usage": cached}))
    state = run_of(begun(), reply, job=a_job(limits={"tokens": 20_000}))

    assert next_call(state, ModelPin(name="test/model")) == Room(20_000 - 1_500 - 500)
    assert next_call(state, ModelPin(name="other/model")) == over(
        "1500 tokens were used, and the next call would pass limits.tokens = 20000"
    )


def test_failed_calls_are_paid_for_too() -> None:
    failed = broke()
    spent = failed[-1].model_copy(update={"usage": Usage(input_tokens=9_600, cost_usd=0.5)})
    state = run_of(begun(), failed[:-1], spent, job=a_job(limits={"tokens": 10_000, "cost_usd": 0.4}))

    assert room(state) == over("9600 tokens were used, and the next call would pass limits.tokens = 10000")
    assert state.usage.cost_usd == 0.5


@pytest.mark.parametrize(
    ("limits", "ran_s", "used", "what"),
    [
        ({}, 0.0, 0.251, "the money it may spend"),
        ({"iterations": 8}, 0.0, 0.251, "the money it may spend"),
        ({"iterations": 3}, 0.0, 1.0, "the replies it may have"),
        ({"tokens": 16}, 0.0, 15 / 16, "the tokens it may use"),
        ({"timeout": "10m"}, 540.0, 0.9, "its running time"),
    ],
)
def test_how_much_of_the_tightest_ceiling_is_used(
    limits: Mapping[str, object], ran_s: float, used: float, what: str
) -> None:
    found, which = used_up(run_of(TWO_REPLIES, job=a_job(limits=limits)), ran_s)

    assert (round(found, 9), which) == (used, what)


def test_the_smallest_reply_is_worth_asking_for() -> None:
    exactly = run_of(asks_for("bash"), ran(), job=a_job(limits={"tokens": 10 + 17 + SMALLEST_REPLY}))

    assert room(exactly) == Room(SMALLEST_REPLY)


def counted(tokens: int = 0, cost_usd: float = 0.0, members: int = 1, **reserved: float) -> FamilyCounted:
    said = {"at": at("06:00:05"), "tokens": tokens, "cost_usd": cost_usd, "members": members, **reserved}
    return FamilyCounted.model_validate(said)


def with_family(fact: FamilyCounted, **limits: object) -> RunState:
    return run_of(TWO_REPLIES, fact, job=a_job(limits=limits), pins=(DEAR,))


def test_what_its_family_has_used_counts_against_the_ceilings_of_a_run() -> None:
    used = "1015 tokens were used"
    assert room(with_family(counted(1_000), tokens=1_000)) == over(f"{used} (limits.tokens = 1000)")
    assert room(with_family(counted(1_000), tokens=1_500)) == over(
        f"{used}, and the next call would pass limits.tokens = 1500"
    )
    assert room(with_family(counted(cost_usd=0.75))) == over("1.0010 USD were spent (limits.cost_usd = 1)")


@pytest.mark.parametrize(("members", "most"), [(1, 8_995), (2, 4_753), (9, 1_454), (100, 596)])
def test_what_is_left_is_shared_by_those_that_may_ask_at_the_same_time(members: int, most: int) -> None:
    assert room(with_family(counted(985, members=members), tokens=10_000)) == Room(most)


def test_a_run_is_refused_only_where_its_need_and_what_others_set_aside_pass_the_ceiling() -> None:
    left = 10_000 - 1_000 - 5 - SMALLEST_REPLY
    fits, passes = (
        with_family(counted(985, members=9, reserved_tokens=reserved), tokens=10_000) for reserved in (left, left + 1)
    )
    assert room(fits) == Room(SMALLEST_REPLY)
    why = f"1000 tokens were used, {left + 1} are set aside for the rest of its family, and the next call would pass"
    assert room(passes) == over(f"{why} limits.tokens = 10000")


def test_money_that_others_set_aside_is_theirs() -> None:
    need = most_usd(Price(input=10.0, output=50.0), 5, SMALLEST_REPLY)
    fits, passes = (
        with_family(counted(cost_usd=0.001, members=9, reserved_usd=0.748 - need + more)) for more in (-1e-6, 1e-6)
    )
    found, refused = room(fits), room(passes)
    assert isinstance(found, Room)
    assert found.max_output_tokens == SMALLEST_REPLY
    assert isinstance(refused, Reached)
    assert "of them set aside for the rest of its family" in refused.reason


def test_money_that_is_left_is_shared_too() -> None:
    alone, shared = (room(with_family(counted(cost_usd=0.1, members=members))) for members in (1, 4))
    assert isinstance(alone, Room)
    assert isinstance(shared, Room)
    assert alone.max_output_tokens
    assert shared.max_output_tokens
    assert shared.max_output_tokens == SMALLEST_REPLY + (alone.max_output_tokens - SMALLEST_REPLY) // 4


def test_a_family_that_has_used_most_of_it_is_told_to_come_to_an_end() -> None:
    share, what = used_up(with_family(counted(8_000), tokens=10_000), 0.0)
    assert share > 0.8
    assert what == "the tokens it may use"
