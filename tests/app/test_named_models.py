"""A job's own model is the one that is asked, whatever the default is; without a list, nothing takes its place."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState
from tests.app.houses import Home, id_of
from tests.llm.chat_stream import delta, sse
from tests.llm.fault_server import Answer, refuses, serving, streams

SAYS = streams(sse(delta(content="Well."), delta("stop"), "[DONE]"))
GONE = refuses(404, {"error": {"message": "the model does not exist", "code": "model_not_found"}})


async def run(home: Path, model: str, *answers: Answer) -> tuple[RunState, list[object]]:
    """Run a job that names a model, where another is the default; return its end, and which models were asked."""
    there = Home(home)
    async with serving(*answers) as server:
        said = f'[providers.here]\nbase_url = "http://127.0.0.1:{server.port}/v1"\ndefault_model = "dear"\n'
        there.settings(said)
        there.job("look", f"model = {model}\n", script=None)
        async with there.house() as house:
            await house.control.request(there.ask("look"))
            await drive_one(house, id_of("look"), asyncio.Event())
            state = await house.store.journal.load(id_of("look"))
    return state, [request.body["model"] for request in server.requests]


@pytest.mark.parametrize(("model", "asked"), [('"here/cheap"', "cheap"), ('"auto"', "dear")])
async def test_the_provider_is_asked_for_the_model_that_the_job_names(tmp_path: Path, model: str, asked: str) -> None:
    state, models = await run(tmp_path, model, SAYS)

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "Well.")
    assert (models, state.request.model) == ([asked], f"here/{asked}")


async def test_a_model_that_is_not_there_fails_the_run_and_no_other_is_asked(tmp_path: Path) -> None:
    state, models = await run(tmp_path, '"here/cheap"', GONE)

    assert state.finished is not None
    assert (state.finished.outcome, set(models)) == (Outcome.FAILED, {"cheap"})


async def test_a_list_goes_on_with_the_next_model(tmp_path: Path) -> None:
    state, models = await run(tmp_path, '["here/cheap", "here/dear"]', GONE, SAYS)

    assert state.finished is not None
    assert (state.finished.outcome, models) == (Outcome.DONE, ["cheap", "dear"])


async def test_a_key_that_was_changed_after_it_was_refused_is_used_by_the_next_run(tmp_path: Path) -> None:
    there, key = Home(tmp_path), tmp_path / "key"
    async with serving(refuses(401, {"error": {"message": "no such key"}}), SAYS) as server:
        place = f'base_url = "http://127.0.0.1:{server.port}/v1"'
        there.settings(f'[providers.here]\n{place}\napi_key = {{ file = "{key}" }}\n')
        there.job("look", 'model = "here/cheap"\n', script=None)
        there.job("then", 'model = "here/cheap"\n', script=None)
        key.write_text("an-old-key")
        async with there.house() as house:
            for name in ("look", "then"):
                await house.control.request(there.ask(name))
                await drive_one(house, id_of(name), asyncio.Event())
                key.write_text("a-new-key")

    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer an-old-key",
        "Bearer a-new-key",
    ]
