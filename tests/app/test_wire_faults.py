"""Faults and odd ends of streams, as bytes from a server, and what a whole run makes of them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.event import CallStarted
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import Home, id_of
from tests.app.wire_runs import TONGUES, Played, Tongue, driven, played, reads, written
from tests.doubles.clock import HandClock
from tests.llm import messages_stream as messages
from tests.llm.fault_server import refuses, serving, streams
from tests.llm.messages_stream import RECORDED
from tests.support import ready

MESSAGES = "anthropic-messages"
each_tongue = pytest.mark.parametrize("tongue", TONGUES.values(), ids=TONGUES)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def end(run: Played) -> tuple[Outcome, str]:
    assert run.state.finished is not None
    return run.state.finished.outcome, run.state.finished.answer or run.state.finished.reason


@each_tongue
async def test_half_calls_of_lost_replies_are_in_no_request_and_are_never_made(home: Home, tongue: Tongue) -> None:
    broken = tongue.broken(reads(), reads("other.txt", "call_2"))
    run = await played(
        home, tongue.protocol, *[broken] * 3, streams(tongue.calls(reads())), streams(tongue.says("On."))
    )

    assert (end(run), run.faults) == ((Outcome.DONE, "On."), [Fault.NETWORK] * 3)
    *tries, last = run.bodies
    assert len(tries) == 4
    assert all(body == tries[0] for body in tries)
    assert tongue.pairs(tries[0]) == ([], [])
    assert len(tongue.turns(last)) == len(tongue.turns(tries[0])) + 2
    assert [call.result.text for call in run.state.calls.values() if call.result] == ["1\tThe lamp is on."]


@each_tongue
async def test_ids_that_come_again_in_each_reply_are_told_apart(home: Home, tongue: Tongue) -> None:
    again = [streams(tongue.calls(reads("notes.txt", "call_1"), reads("gone.txt", "call_1"))) for _ in range(2)]
    run = await played(home, tongue.protocol, *again, streams(tongue.says("On.")))

    calls, results = tongue.pairs(run.bodies[-1])
    assert end(run) == (Outcome.DONE, "On.")
    assert (len(set(calls)), results) == (4, calls)
    statuses = [call.result.status for call in run.state.calls.values() if call.result]
    assert statuses == [ResultStatus.OK, ResultStatus.ERROR] * 2


@each_tongue
async def test_a_tool_that_nobody_knows_is_answered_and_the_other_call_is_made(home: Home, tongue: Tongue) -> None:
    both = tongue.calls(("sing", '{"song": "any"}', "call_1"), reads(own="call_2"))
    run = await played(home, tongue.protocol, streams(both), streams(tongue.says("On.")))

    assert end(run) == (Outcome.DONE, "On.")
    assert [(call.call.tool, call.result.status) for call in run.state.calls.values() if call.result] == [
        ("sing", ResultStatus.DENIED),
        ("read", ResultStatus.OK),
    ]
    assert tongue.pairs(run.bodies[-1]) == (["call_1", "call_2"],) * 2


@each_tongue
async def test_arguments_that_are_none_are_not_executed_and_go_back_as_valid_ones(home: Home, tongue: Tongue) -> None:
    half = ("read", '{"file_path": "notes.t', "call_1")
    run = await played(home, tongue.protocol, streams(tongue.calls(half)), streams(tongue.says("Never mind.")))

    assert end(run) == (Outcome.DONE, "Never mind.")
    assert not any(isinstance(event, CallStarted) for event in run.events)
    (result,) = [call.result for call in run.state.calls.values() if call.result]
    assert result.status is ResultStatus.ERROR
    assert "must be a JSON object" in result.text
    assert '"required":["file_path"]' in result.text.replace(" ", "")
    assert tongue.pairs(run.bodies[-1]) == (["call_1"], ["call_1"])


@each_tongue
async def test_an_empty_file_is_told_in_words(home: Home, tongue: Tongue) -> None:
    home.workspace.mkdir()
    (home.workspace / "empty.txt").write_text("\n")
    run = await played(home, tongue.protocol, streams(tongue.calls(reads("empty.txt"))), streams(tongue.says("Empty.")))

    assert end(run) == (Outcome.DONE, "Empty.")
    assert [call.result.status for call in run.state.calls.values() if call.result] == [ResultStatus.OK]


async def test_an_overload_inside_a_stream_is_asked_again_with_the_history_as_it_was(home: Home) -> None:
    busy = streams(RECORDED["overloaded"])
    tongue = TONGUES[MESSAGES]
    answers = [streams(tongue.calls(reads())), busy, busy, streams(tongue.says("On."))]
    run = await played(home, MESSAGES, *answers)

    assert (end(run), run.faults) == ((Outcome.DONE, "On."), [Fault.OVERLOADED] * 2)
    assert run.bodies[1] == run.bodies[2] == run.bodies[3]


async def test_a_reply_that_pauses_twice_is_one_answer_of_three_calls(home: Home) -> None:
    parts = [("One, ", "pause_turn"), ("two, ", "pause_turn"), ("three.", "end_turn")]
    told = [
        streams(messages.sse(messages.told(messages.begins(), messages.text(0, said), messages.ends(stop))))
        for said, stop in parts
    ]
    run = await played(home, MESSAGES, *told)

    assert end(run) == (Outcome.DONE, "One, two, three.")
    assert len(run.bodies) == 3


async def test_a_refusal_ends_the_run_with_its_category_and_is_asked_once(home: Home) -> None:
    run = await played(home, MESSAGES, streams(RECORDED["refusal"]))

    assert end(run)[0] is Outcome.FAILED
    assert end(run)[1].startswith("the model refused: ")
    assert len(run.bodies) == 1


async def test_thoughts_without_an_answer_are_asked_about_once_and_are_no_success(home: Home) -> None:
    thinks = messages.sse(messages.told(messages.begins(), messages.thinking(0, "Hm."), messages.ends()))
    run = await played(home, MESSAGES, streams(thinks))

    assert end(run) == (Outcome.FAILED, "the model ended its turn without a word, twice")
    assert len(run.bodies) == 2


async def test_a_write_that_is_cut_by_the_output_limit_is_never_made(home: Home) -> None:
    start = messages.told(
        messages.begins(), messages.call(0, '{"file_path": "a.txt", "content": "Once"}', name="write")
    )
    cut = messages.sse(messages.told(start, messages.ends("max_tokens")))
    run = await played(home, MESSAGES, streams(cut), more='automation = "workspace-write"\n')

    assert end(run) == (Outcome.FAILED, "the model's output limit cut its reply off, time and again")
    assert not (home.workspace / "a.txt").exists()
    assert (len(run.bodies), [event for event in run.events if isinstance(event, CallStarted)]) == (2, [])


async def test_a_wait_of_hours_is_slept_by_nobody_and_outlasts_the_service(home: Home) -> None:
    home.job("look", 'model = "openai/gpt"\n')
    clock = HandClock()
    busy = refuses(429, {"error": {"message": "later", "code": "rate_limit_exceeded"}}, retry_after="10800")
    async with serving(busy, streams(TONGUES["openai-chat"].says("Well."))) as server:
        written(home, server.port, "openai-chat")
        async with home.house(clock) as house:
            row = await house.control.request(home.ask("asks"))
            assert await house.engine.advance(row.run_id) is Advanced.SUSPENDED
            await house.control.request(home.ask("look"))
            assert await house.engine.advance(id_of("look")) is Advanced.DONE
            assert ready(await house.store.views.agenda(clock.now() + timedelta(seconds=10_799))) == []
        clock.later(10_801)
        async with home.house(clock) as house:
            assert ready(await house.store.views.agenda(clock.now())) == [row.run_id]
            await driven(house, clock, row.run_id)
            state = await house.store.journal.load(row.run_id)

    assert state.finished is not None
    assert (state.finished.outcome, len(server.requests)) == (Outcome.DONE, 2)
    assert state.ran_s < 5.0
