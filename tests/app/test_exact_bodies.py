"""What a provider was sent is written again from the journal alone, byte for byte, whatever happened on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from kova_auto.app.bodies import Body, bodies_of
from kova_auto.app.house import House
from kova_auto.core.event import CompactionStarted, ModelCallStarted
from kova_auto.core.ids import RunId, blob_hash
from kova_auto.engine.retelling import retold
from tests.app.houses import Home, id_of
from tests.app.wire_runs import TONGUES, Tongue, driven, reads, written
from tests.doubles.clock import HandClock
from tests.llm.fault_server import Act, Answer, FaultServer, Request, refuses, serving, streams

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
each_tongue = pytest.mark.parametrize("tongue", TONGUES.values(), ids=TONGUES)
EXTRA = "[providers.here.models.m-1]\nextra_body = { top_k = 5, seed = 7 }\n"
NO_TOP_K = refuses(
    400,
    {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "Unsupported parameter: 'top_k': Extra inputs are not permitted",
            "param": "top_k",
        },
    },
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def written_again(house: House, run_id: RunId) -> list[Body]:
    events = [event for _, event in await house.store.journal.events(run_id)]
    return [body async for body in bodies_of(house.control, events)]


async def asked(home: Home, tongue: Tongue, *answers: Answer, extra: str = "") -> tuple[Sequence[Request], list[Body]]:
    """Run a job whose model gives these answers; return what the server was sent, and what is written again."""
    clock = HandClock()
    async with serving(*answers) as server:
        prepared(home, server, tongue, extra)
        async with home.house(clock) as house:
            row = await house.control.request(home.ask("asks"))
            await driven(house, clock, row.run_id)
        async with home.house(clock) as house:  # Which remembers nothing.
            return server.requests, await written_again(house, row.run_id)


def prepared(home: Home, server: FaultServer, tongue: Tongue, extra: str = "") -> None:
    written(home, server.port, tongue.protocol)
    settings = home.jobs.parent / "kova-auto.toml"
    settings.write_text(settings.read_text() + extra)
    (home.workspace / "lamp.png").write_bytes(PNG)


def same(requests: Sequence[Request], bodies: Sequence[Body]) -> bool:
    return [body.data for body in bodies] == [request.raw for request in requests]


@each_tongue
async def test_results_images_and_asides_are_said_again_to_the_byte(home: Home, tongue: Tongue) -> None:
    looks = [streams(tongue.calls(reads("lamp.png"), reads("gone.txt", "call_2"))) for _ in range(4)]
    requests, bodies = await asked(home, tongue, *looks, streams(tongue.says("Ja — „on“ \U0001f4a1.")))

    assert same(requests, bodies)
    assert [body.is_exact for body in bodies] == [True] * 5
    assert all(body.asked.is_same for body in bodies)
    assert any(getattr(body.asked.fact, "asides", ()) for body in bodies)
    assert b"iVBORw0KGgo" in (bodies[-1].data or b"")


@each_tongue
async def test_what_was_asked_in_vain_is_said_again_too(home: Home, tongue: Tongue) -> None:
    busy = refuses(503, {"error": {"message": "busy"}})
    first, second = streams(tongue.calls(reads())), streams(tongue.says("On."))
    requests, bodies = await asked(home, tongue, busy, first, tongue.broken(reads(), reads("other.txt")), second)

    assert same(requests, bodies)
    assert [(body.asked.fact.iteration, body.is_exact) for body in bodies] == [
        (1, True),
        (1, True),
        (2, True),
        (2, True),
    ]


@each_tongue
async def test_what_a_server_refused_is_left_out_where_it_was_left_out(home: Home, tongue: Tongue) -> None:
    answers = [NO_TOP_K, streams(tongue.calls(reads())), streams(tongue.says("On."))]
    requests, bodies = await asked(home, tongue, *answers, extra=EXTRA)

    assert same(requests, bodies)
    assert [b'"top_k"' in request.raw for request in requests] == [True, False, False]
    assert [b'"seed"' in request.raw for request in requests] == [True, True, True]
    assert [(body.asked.fact.iteration, body.number) for body in bodies] == [(1, 1), (1, 2), (2, 1)]
    assert all(body.is_exact for body in bodies)


@each_tongue
async def test_what_a_model_was_asked_to_sum_up_and_what_followed_are_said_again(home: Home, tongue: Tongue) -> None:
    home.workspace.mkdir()
    names = [f"part{number}.txt" for number in range(4)]
    for name in names:
        (home.workspace / name).write_text(f"{name} says nothing of note.\n" * 400)
    looks = [streams(tongue.calls(reads(name, f"call_{name}"))) for name in names]
    full = refuses(400, {"error": {"message": "prompt is too long", "code": "context_length_exceeded"}})
    answers = [*looks, full, streams(tongue.says("Four parts were read.")), streams(tongue.says("On."))]
    window = "[providers.here.models.m-1]\nwindow = 100_000\n"
    requests, bodies = await asked(home, tongue, *answers, extra=window)

    assert same(requests, bodies)
    assert [body.is_exact for body in bodies] == [True] * 7
    assert [isinstance(body.asked.fact, CompactionStarted) for body in bodies] == [False] * 5 + [True, False]
    assert all(body.asked.is_same for body in bodies)
    assert b"Four parts were read." in requests[-1].raw
    assert len(requests[-1].raw) < len(requests[-3].raw)


@each_tongue
async def test_how_it_was_said_is_written_down_once(home: Home, tongue: Tongue) -> None:
    looks = [streams(tongue.calls(reads())) for _ in range(3)]
    _, bodies = await asked(home, tongue, NO_TOP_K, *looks, streams(tongue.says("On.")), extra=EXTRA)

    async with home.house(HandClock()) as house:
        events = [event for _, event in await house.store.journal.events(id_of("asks"))]
    said = [sent.wording for event in events for sent in getattr(event, "sent", ())]
    assert [wording is not None for wording in said] == [True, True, False, False, False]
    assert {body.sent.wording.protocol for body in bodies if body.sent and body.sent.wording} == {tongue.protocol}


@each_tongue
async def test_a_call_whose_process_died_is_said_again_as_the_others_were(home: Home, tongue: Tongue) -> None:
    clock = HandClock()
    answers = [streams(tongue.calls(reads())), streams(Act.NO_ANSWER), streams(tongue.says("On."))]
    async with serving(*answers) as server:
        prepared(home, server, tongue, EXTRA)
        async with home.house(clock) as house:
            row = await house.control.request(home.ask("asks"))
            going_on = asyncio.create_task(house.engine.advance(row.run_id))
            while len(server.requests) < 2:
                server.asked.clear()
                await server.asked.wait()
            going_on.cancel()
            with suppress(asyncio.CancelledError):
                await going_on
        clock.later(3600)
        async with home.house(clock) as house:
            await driven(house, clock, row.run_id)
            bodies = await written_again(house, row.run_id)

    assert same(server.requests, bodies)
    assert [body.is_exact for body in bodies] == [True, None, True]


async def test_a_body_of_other_settings_than_todays_is_said_in_its_own(home: Home) -> None:
    tongue = TONGUES["openai-chat"]
    async with serving(streams(tongue.says("On."))) as server:
        dialect = '[providers.here.dialect]\nmax_tokens_key = "max_completion_tokens"\nstream_usage = false\n'
        prepared(home, server, tongue, dialect)
        async with home.house() as house:
            row = await house.control.request(home.ask("asks"))
            await house.engine.advance(row.run_id)
        home.settings("")
        async with home.house() as house:
            (body,) = await written_again(house, row.run_id)
    assert (body.data, body.is_exact) == (server.requests[0].raw, True)
    assert b"stream_options" not in server.requests[0].raw


async def test_a_body_that_cannot_be_the_same_says_so(home: Home) -> None:
    tongue = TONGUES["openai-chat"]
    _, bodies = await asked(home, tongue, streams(tongue.says("On.")))
    (body,) = bodies
    assert body.sent is not None
    other = Body(body.asked, 1, body.sent.model_copy(update={"hash": blob_hash(b"other")}), body.data)
    unknown = Body(body.asked, 1, body.sent, None)
    assert (body.is_exact, other.is_exact, unknown.is_exact) == (True, False, False)


async def test_a_script_is_sent_nothing(home: Home) -> None:
    home.job("plays")
    async with home.house() as house:
        row = await house.control.request(home.ask("plays"))
        await house.engine.advance(row.run_id)
        assert await written_again(house, row.run_id) == []
        events = [event for _, event in await house.store.journal.events(row.run_id)]
    (only,) = retold(events)
    assert (only.is_same, only.is_lost, sum(isinstance(event, ModelCallStarted) for event in events)) == (
        True,
        False,
        1,
    )


async def test_a_secret_in_what_the_settings_add_is_kept_nowhere_and_the_body_is_not_called_exact(
    tmp_path: Path,
) -> None:
    home, key = Home(tmp_path, {"HERE_KEY": "canary-4711-0815"}), "canary-4711-0815"
    extra = f'[providers.here.api_key]\nenv = "HERE_KEY"\n[providers.here.extra_body]\nuser = "{key}"\n'
    requests, (body,) = await asked(
        home, TONGUES["openai-chat"], streams(TONGUES["openai-chat"].says("On.")), extra=extra
    )

    assert key.encode() in requests[0].raw
    assert (key.encode() in (body.data or b""), body.is_exact) == (False, False)
    async with home.house(HandClock()) as house:
        events = [event.model_dump_json() for _, event in await house.store.journal.events(id_of("asks"))]
    assert not any(key in event for event in events)
