"""The local model as a run asks it, with an engine that says what a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kova_auto.core.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
)
from kova_auto.core.fault import Fault
from kova_auto.core.message import (
    CallDelta,
    CallRequest,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    Usage,
)
from kova_auto.core.provider import BUILT_IN, configured
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.local.model import LocalModel
from tests.llm.local.parts import (
    CONTENT,
    MODEL,
    FakeEngine,
    a_wheel,
    after,
    asking,
    chunks_of,
    local,
    says,
    user,
    weights_of,
)

READS = asking(user("Read a.txt."))
DONE = says('{"final": "', "Do", 'ne."}')
TOO_LONG = [{"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9000, "message": "too long"}}]


async def failure_of(model: LocalModel, request: ModelRequest = READS) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await chunks_of(model, request)
    return caught.value


async def test_an_answer_is_shown_while_it_is_written_and_counted_by_the_engine(tmp_path: Path) -> None:
    async with local(tmp_path, FakeEngine([DONE])) as model:
        chunks = await chunks_of(model, READS)
    usage = Usage(input_tokens=9, output_tokens=3, cache_read_tokens=4, cost_usd=0.0)
    reply = ModelReply(text="Done.", stop=StopReason.END, usage=usage, model=MODEL)
    assert chunks == [TextDelta(text="Do"), TextDelta(text="ne."), ReplyDone(reply=reply)]


async def test_an_action_becomes_a_call(tmp_path: Path) -> None:
    async with local(tmp_path, FakeEngine([says('{"tool": "read", ', '"file_path": "a.txt"}')])) as model:
        called, done = await chunks_of(model, READS)
    assert called == CallDelta(name="read")
    assert isinstance(done, ReplyDone)
    assert (done.reply.text, done.reply.stop) == ("", StopReason.TOOL_CALLS)
    assert done.reply.calls == (CallRequest(tool="read", args={"file_path": "a.txt"}),)


async def test_what_was_cut_is_never_called_and_says_that_it_was_cut(tmp_path: Path) -> None:
    half = says('{"tool": "read", "file_path": "a.txt"}', finish="length")
    async with local(tmp_path, FakeEngine([half])) as model:
        (done,) = await chunks_of(model, READS)
    assert isinstance(done, ReplyDone)
    assert (done.reply.calls, done.reply.stop) == ((), StopReason.LENGTH)


async def test_the_engine_may_write_the_choices_and_no_more_than_its_bound(tmp_path: Path) -> None:
    engine = FakeEngine([DONE, DONE])
    async with local(tmp_path, engine) as model:
        await chunks_of(model, READS)
        await chunks_of(model, asking(user("Read a.txt."), most=20))
    assert [asked["max_tokens"] for asked in engine.asked] == [256, 20]
    assert '"enum": ["a.txt"]' in str(engine.asked[0]["response_format"]).replace("'", '"')


async def test_results_are_told_shorter_until_the_prompt_fits(tmp_path: Path) -> None:
    engine = FakeEngine([TOO_LONG, says("never", tokens=1900), DONE])
    read = after("read", "\n".join(f"{number:6}\tline {number}" for number in range(500)), file_path="a.txt")
    async with local(tmp_path, engine) as model:
        chunks = await chunks_of(model, asking(user("Read a.txt."), *read))
    sizes = [len(str(asked["messages"])) for asked in engine.asked]
    assert (len(sizes), sizes == sorted(sizes, reverse=True)) == (3, True)
    assert engine.stopped in {None, 1}  # The second answer is left at its first piece; it may be through by then.
    assert "characters left out" in str(engine.asked[-1]["messages"])
    assert isinstance(chunks[-1], ReplyDone)


async def test_a_task_that_does_not_fit_overflows_the_window(tmp_path: Path) -> None:
    async with local(tmp_path, FakeEngine([TOO_LONG])) as model:
        error = await failure_of(model)
    assert isinstance(error, ContextOverflowError)
    assert str(error) == f"the task alone is 9000 tokens, and {MODEL} takes 1792 besides its answer"


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (DONE[:2], Fault.TRUNCATED),
        (DONE[:-2], Fault.TRUNCATED),
        ([{"error": {"type": "server_error", "message": "out of memory"}}], Fault.SERVER),
    ],
)
async def test_an_engine_that_fails_may_be_asked_again(
    tmp_path: Path, said: Sequence[Mapping[str, object]], fault: Fault
) -> None:
    async with local(tmp_path, FakeEngine([said])) as model:
        error = await failure_of(model)
    assert (type(error), error.fault) == (ModelUnavailableError, fault)


async def test_an_endless_answer_is_broken_off_and_not_asked_for_again(tmp_path: Path) -> None:
    engine = FakeEngine([says('{"final": "', *["la la "] * 200)])
    async with local(tmp_path, engine) as model:
        error = await failure_of(model)
    assert (type(error), error.retryable) == (ModelRefusedError, False)
    assert str(error) == f"{MODEL} came into a loop: it is too small for this"
    assert engine.stopped != len(engine.answers[0])


async def test_an_engine_that_says_nothing_is_not_waited_for(tmp_path: Path) -> None:
    engine = FakeEngine([DONE], is_stuck=True)
    async with local(tmp_path, engine, timeouts={"idle_s": 0.01}) as model:
        error = await failure_of(model)
        engine.goes_on.set()
    assert (error.fault, str(error)) == (Fault.TIMEOUT, f"{MODEL} sent nothing new for 0.01 s")
    assert engine.stopped == 1


async def test_a_reader_who_leaves_stops_the_engine_and_the_next_one_is_answered(tmp_path: Path) -> None:
    engine = FakeEngine([DONE, says('{"final": "Next."}')], is_stuck=True)
    async with local(tmp_path, engine) as model:
        reading = asyncio.create_task(chunks_of(model, READS))
        await asyncio.to_thread(engine.began.wait, 60)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        engine.goes_on.set()
        chunks = await chunks_of(model, READS)
    assert (engine.stopped, chunks[0]) == (1, TextDelta(text="Next."))


async def test_one_answer_is_written_at_a_time(tmp_path: Path) -> None:
    engine = FakeEngine([DONE, DONE, DONE])
    async with local(tmp_path, engine) as model:
        replies = await asyncio.gather(*(chunks_of(model, READS) for _ in range(3)))
    assert [len(chunks) for chunks in replies] == [3, 3, 3]


async def test_closing_lets_go_of_the_weights_and_asking_loads_them_again(tmp_path: Path) -> None:
    engine = FakeEngine([DONE, DONE])
    async with local(tmp_path, engine) as model:
        await model.aclose()
        await chunks_of(model, READS)
        await model.aclose()
        await model.aclose()
        assert engine.closed == 1
        await chunks_of(model, READS)
    assert engine.closed == 2


async def test_closing_ends_what_is_being_written(tmp_path: Path) -> None:
    engine = FakeEngine([DONE], is_stuck=True)
    async with local(tmp_path, engine) as model:
        reading = asyncio.create_task(failure_of(model))
        await asyncio.to_thread(engine.began.wait, 60)
        closing = asyncio.create_task(model.aclose())
        for _ in range(5):  # It says that all is over some steps of the loop later.
            await asyncio.sleep(0)
        engine.goes_on.set()
        await closing
        error = await reading
    assert (error.fault, engine.stopped, engine.closed) == (Fault.TRUNCATED, 1, 1)


async def test_a_model_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    async with local(tmp_path, FakeEngine([])) as model:
        error = await failure_of(model, asking(user("Hi."), model="gpt"))
    assert (type(error), error.fault) == (ModelRefusedError, Fault.NOT_FOUND)


async def test_weights_that_are_missing_or_damaged_are_said_with_what_to_do(tmp_path: Path) -> None:
    async with local(tmp_path, FakeEngine([])) as model:
        assert await model.check() == (MODEL,)
        (tmp_path / f"{MODEL}.gguf").write_bytes(CONTENT[::-1])
        damaged = await failure_of(model)
        (tmp_path / f"{MODEL}.gguf").unlink()
        missing = await failure_of(model)
        with pytest.raises(ModelRefusedError, match="kova-auto models add small"):
            await model.check()
    assert str(damaged).endswith(f"{MODEL}.gguf is damaged: remove it, then kova-auto models add small")
    assert str(missing) == f"the weights of {MODEL} are not on this machine: kova-auto models add small"
    assert damaged.fault == missing.fault == Fault.SETTINGS


async def test_nothing_is_loaded_before_the_first_call(tmp_path: Path) -> None:
    model = LocalModel(BUILT_IN["local"], tmp_path, lambda _path, _window: pytest.fail("loaded"), [])
    await model.aclose()


@pytest.mark.parametrize(("said", "window"), [({}, 8192), ({"window": 4096}, 4096), ({"window": 100_000}, 8192)])
async def test_settings_choose_a_window_that_the_model_was_trained_for(
    tmp_path: Path, said: dict[str, int], window: int
) -> None:
    loaded: list[int] = []

    def load(_path: Path, window: int) -> FakeEngine:
        loaded.append(window)
        return FakeEngine([DONE])

    (tmp_path / f"{MODEL}.gguf").write_bytes(CONTENT)
    provider = configured("mine", {"protocol": "local", "models": {MODEL: said}})
    model = LocalModel(provider, tmp_path, load, [weights_of(a_wheel(tmp_path, "small/a.gguf"))])
    await chunks_of(model, READS)
    await model.aclose()
    assert loaded == [window]
