"""A model that gives no reply: when it is asked again, and when the run gives it up."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.event import ModelCallFailed, RunFinished
from kova_auto.core.fault import Fault
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import CallRequest, ResultStatus, ToolMessage, Usage
from kova_auto.core.pin import ModelPin
from kova_auto.core.price import Price
from kova_auto.core.stop_reason import StopReason
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import ScriptedModel, fails
from tests.engine.worlds import RUN, Stage
from tests.support import a_request, call, says


async def _failures(stage: Stage) -> list[ModelCallFailed]:
    return [event for event in await stage.facts() if isinstance(event, ModelCallFailed)]


async def test_a_model_that_is_unavailable_is_asked_again_ever_later_and_then_given_up() -> None:
    stage, model = Stage(), ScriptedModel(*[fails(ModelUnavailableError("down"), "Well")] * 4)
    await stage.opened()
    engine = stage.engine(model=model)
    for bound_s in (2, 8, 30):
        assert await engine.advance(RUN) is Advanced.SUSPENDED
        stage.clock.later(bound_s)

    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "ModelUnavailable: down")
    failures = await _failures(stage)
    assert [failure.retryable for failure in failures] == [True, True, True, False]
    assert {(failure.fault, failure.partial_text) for failure in failures} == {(Fault.SERVER, "Well")}
    assert len(model.requests) == 4


async def test_a_run_rests_for_hours_where_the_provider_asks_for_them_and_that_is_no_running_time() -> None:
    stage = Stage()
    busy = ModelUnavailableError("busy", fault=Fault.RATE_LIMITED, retry_after_s=10_800.0)
    model = ScriptedModel(fails(busy), says("Well."))
    await stage.opened()
    engine = stage.engine(model=model)
    assert await engine.advance(RUN) is Advanced.SUSPENDED
    stage.clock.later(10_799)
    assert await engine.advance(RUN) is Advanced.SUSPENDED
    stage.clock.later(2)

    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert (await stage.journal.load(RUN)).ran_s < 2.0


@pytest.mark.parametrize("asked_s", [86_401.0, 1e9, 1e18])
async def test_a_provider_that_asks_for_too_much_patience_ends_the_run(asked_s: float) -> None:
    stage, model = Stage(), ScriptedModel(fails(ModelUnavailableError("busy", retry_after_s=asked_s)))
    await stage.opened()

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (
        Outcome.FAILED,
        f"ModelUnavailable: busy (it asks to wait {asked_s:.0f} s; a run waits 86400 s at most)",
    )


async def test_a_failed_call_leaves_on_record_what_it_was_and_what_it_used() -> None:
    error = ModelUnavailableError("lost", fault=Fault.NETWORK, status=200, request_id="req-1")
    error.spent = Usage(input_tokens=100_000)
    stage, model = Stage(), ScriptedModel(fails(error, "So"), says("Well."))
    await stage.opened(pins=(ModelPin(name="test/model", price=Price(input=0.1, output=1.0)),))
    await stage.engine(model=model).advance(RUN)
    stage.clock.later(2)
    await stage.engine(model=model).advance(RUN)

    (failure,) = await _failures(stage)
    assert (failure.fault, failure.status, failure.request_id) == (Fault.NETWORK, 200, "req-1")
    assert failure.usage == Usage(input_tokens=100_000, cost_usd=0.01)
    assert [spent.failed for spent in (await stage.journal.load(RUN)).spent] == [True, False]


async def test_nothing_of_an_attempt_that_failed_is_told_to_the_model() -> None:
    lost = ModelUnavailableError("lost", fault=Fault.TRUNCATED)
    stage, model = Stage(), ScriptedModel(*[fails(lost, "Half a c")] * 3, says("Well."))
    await stage.opened()
    for _ in range(4):
        await stage.engine(model=model).advance(RUN)
        stage.clock.later(30)

    assert await stage.ended() == (Outcome.DONE, "")
    assert len({request.model_dump_json() for request in model.requests}) == 1


async def test_the_next_model_of_a_chain_goes_on_where_the_first_is_given_up() -> None:
    stage = Stage()
    first = ScriptedModel(says("Look.", call("look")), fails(ModelRefusedError("no credit", fault=Fault.SPENT)))
    second = ScriptedModel(says("never asked for"), says("Done."))
    models = {"one/big": first, "two/small": second}
    await stage.opened(model="one/big", pins=tuple(ModelPin(name=name) for name in models))
    assert await stage.engine(models=models).advance(RUN) is Advanced.DONE

    assert await stage.ended() == (Outcome.DONE, "")
    assert [request.model for request in (*first.requests, *second.requests)] == ["big", "big", "small"]
    assert [spent.model for spent in (await stage.journal.load(RUN)).spent] == ["one/big", "two/small"]


async def test_three_runs_in_a_row_without_a_good_key_let_the_schedule_rest_and_say_so_once() -> None:
    stage, pauses = Stage(), []
    for hour in range(6, 11):
        run_id = f"nightly@20261201T{hour:02}0000Z"
        model = ScriptedModel(fails(ModelRefusedError("the key is wrong", fault=Fault.AUTH)))
        await stage.journal.open(a_request(run_id))
        await stage.engine(model=model).advance(RunId(run_id))
        finished = (await stage.journal.load(RunId(run_id))).finished
        assert finished is not None
        pauses.append(finished.pauses)
        stage.clock.later(3600)

    why = "3 runs in a row met the same at the provider: ModelRefused: the key is wrong"
    assert pauses == ["", "", why, "", ""]


async def test_failures_that_pass_let_no_schedule_rest() -> None:
    stage = Stage()
    for hour in range(6, 10):
        run_id = f"nightly@20261201T{hour:02}0000Z"
        fault = Fault.INVALID if hour == 7 else Fault.AUTH
        await stage.journal.open(a_request(run_id))
        await stage.engine(model=ScriptedModel(fails(ModelRefusedError("no", fault=fault)))).advance(RunId(run_id))
        finished = (await stage.journal.load(RunId(run_id))).finished
        assert finished is not None
        assert finished.pauses == ""
        stage.clock.later(3600)


async def test_what_is_told_besides_is_said_again_word_by_word() -> None:
    stage = Stage()
    cut = says("One, ").model_copy(update={"stop": StopReason.LENGTH})
    model = ScriptedModel(cut, fails(ModelUnavailableError("lost")), says("two."))
    await stage.opened()
    await stage.engine(model=model).advance(RUN)
    stage.clock.later(2)
    await stage.engine(model=model).advance(RUN)

    first, second, third = model.requests
    assert (len(first.messages), len(second.messages)) == (1, 3)
    assert second.messages[:1] == first.messages
    assert third == second
    (finished,) = [event for event in await stage.facts() if isinstance(event, RunFinished)]
    assert finished.answer == "One, two."


async def test_a_call_that_the_output_limit_cut_off_is_not_made_and_the_model_hears_why() -> None:
    stage = Stage()
    half = CallRequest(tool="change", unparsed='{"path": "a", "content": "Once u')
    cut = says("", half).model_copy(update={"stop": StopReason.LENGTH})
    model = ScriptedModel(cut, says("Never mind."))
    stage.hands.problems["change"] = "wanted one JSON object"
    await stage.opened()
    await stage.engine(model=model).advance(RUN)

    assert (stage.hands.done, await stage.statuses()) == ([], [ResultStatus.ERROR])
    told = model.requests[1].messages[-1]
    assert isinstance(told, ToolMessage)
    assert "cut off by the output limit" in str(told.parts)


async def test_a_refusal_is_not_asked_again() -> None:
    stage, model = Stage(), ScriptedModel(fails(ModelRefusedError("no such model; hunter2-hunter2")))
    await stage.opened()

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "ModelRefused: no such model; [redacted]")
    assert len(model.requests) == 1


async def test_a_secret_that_the_output_limit_cut_in_two_is_in_no_answer() -> None:
    stage = Stage()
    model = ScriptedModel(says("It is hunter2-").model_copy(update={"stop": StopReason.LENGTH}), says("hunter2."))
    await stage.opened()
    await stage.engine(model=model).advance(RUN)

    (finished,) = [event for event in await stage.facts() if isinstance(event, RunFinished)]
    assert finished.answer == "It is [redacted]."
