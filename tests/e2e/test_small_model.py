"""A real engine with a real model, very small, in this process: from the command line to its end.

What it says is hardly ever worth anything, and no test asks for it. What it may do is: it reads the file that the task
names, and no other.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from kova_auto.core.message import ModelReply, ModelRequest, ReplyDone, TextDelta, TextPart, UserMessage
from kova_auto.core.provider import BUILT_IN
from kova_auto.llm.local.model import LocalModel
from kova_auto.llm.local.weights import SMOLLM2, add
from tests.e2e.scenes import Scene

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("small-model")]

NOTES = {
    "note-01.txt": "The meeting with Ana Petrova is moved to Thursday at 14:30.",
    "note-02.txt": "Server web-3 was rebooted on 4 May because its disk was full.",
    "note-03.txt": "The invoice 2031 of 480 euros is still unpaid.",
    "note-04.txt": "Version 2.4 removes the flag --fast and needs Python 3.11.",
    "note-05.txt": "Tom found a leak in the parser and fixed it in commit 9fe2a1c.",
    "note-06.txt": "The backup of Sunday failed with error 28 on host db-1.",
    "note-07.txt": "Room 12 is closed until Monday for painting.",
    "note-08.txt": "The new release date is 15 March; Lena writes the notes.",
    "note-09.txt": "Two tests fail on macOS: test_clock and test_lock.",
    "note-10.txt": "The certificate of shop.example expires on 9 January.",
}
MODEL = f'model = "local/{SMOLLM2.model}"'
STORY = "Tell a very long story about a cat and a fish."
MB = 1 << 20


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fetch the weights once, as a person does."""
    place = tmp_path_factory.mktemp("weights")
    add(SMOLLM2, place)
    return place


@pytest.fixture
def scene(tmp_path: Path, weights: Path) -> Scene:
    scene = Scene(tmp_path)
    place = scene.database.parent / "models"
    place.mkdir(parents=True)
    SMOLLM2.file(place).symlink_to(SMOLLM2.file(weights))
    scene.workspace.mkdir()
    for name, text in NOTES.items():
        (scene.workspace / name).write_text(f"{text}\n")
        prompt = f"Read {name} and say in one sentence what it says."
        scene.job(name.removesuffix(".txt"), f'prompt = "{prompt}"\nworkspace = "{scene.workspace}"\n{MODEL}\n')
    return scene


@pytest.mark.parametrize("name", NOTES)
def test_a_run_reads_the_file_that_its_task_names_and_answers(scene: Scene, name: str) -> None:
    result = scene.run("run", name.removesuffix(".txt"), "--json")
    events = [json.loads(line)["event"] for line in result.stdout.splitlines()]
    replies = [event for event in events if event["kind"] == "model_replied"]
    calls = [(call["tool"], call["args"]) for event in replies for call in event["calls"]]

    assert (result.exit_code, events[-1]["kind"], events[-1]["outcome"]) == (0, "run_finished", "done")
    assert calls == [("read", {"file_path": name})]
    usage = [event["reply"]["usage"] for event in replies]
    assert [(counts["input_tokens"] > 50, counts["output_tokens"] > 5, counts["cost_usd"]) for counts in usage] == [
        (True, True, 0.0)
    ] * 2


def test_the_engine_writes_nothing_of_its_own(scene: Scene) -> None:
    program = scene.start("run", "note-03", KOVA_AUTO_DISCOVER="false")
    assert program.ends() == 0, program.notes
    assert program.answer.strip()
    assert program.notes.splitlines()[0].startswith("run note-03+")
    assert not [line for line in program.notes.splitlines() if "llama" in line or "ggml" in line]


@asynccontextmanager
async def small(weights: Path) -> AsyncIterator[LocalModel]:
    model = LocalModel(BUILT_IN["local"], weights)
    yield model
    await model.aclose()


def asking(prompt: str) -> ModelRequest:
    return ModelRequest(model=SMOLLM2.model, system="", messages=(UserMessage(parts=(TextPart(text=prompt),)),))


async def reply_of(model: LocalModel, prompt: str) -> ModelReply:
    async for chunk in model.stream(asking(prompt)):
        if isinstance(chunk, ReplyDone):
            return chunk.reply
    raise AssertionError


def resident() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def threads() -> set[str]:
    return {path.name for path in Path("/proc/self/task").iterdir()}


async def test_an_answer_that_is_left_in_its_middle_ends_and_the_next_begins(weights: Path) -> None:
    async with small(weights) as model:
        async with aclosing(model.stream(asking(STORY))) as chunks:
            assert isinstance(await anext(chunks), TextDelta)
        async with asyncio.timeout(30):
            reply = await reply_of(model, "Say hello.")
    assert reply.text


async def test_a_prompt_that_is_being_read_is_left_at_once(weights: Path) -> None:
    async with small(weights) as model:
        await reply_of(model, "Say hello.")
        reading = asyncio.create_task(reply_of(model, "The cat sat on the mat. " * 200))
        done, _ = await asyncio.wait([reading], timeout=1)
        reading.cancel()
        async with asyncio.timeout(10):
            await model.aclose()
    assert (done, reading.cancelled() or reading.cancelling() > 0) == (set(), True)


async def test_closing_gives_memory_and_threads_back_and_nobody_can_reach_the_engine(weights: Path) -> None:
    async with small(weights) as model:
        await reply_of(model, "Say hello.")  # What is loaded once for good is loaded now.
    before, alive = resident(), threads()
    async with small(weights) as model:
        await reply_of(model, "Say hello.")
        loaded = resident()
        assert listening() == set()
        await model.aclose()
        await model.aclose()
    assert loaded - before > 100 * MB
    assert resident() - before < 20 * MB
    assert len(threads()) <= len(alive) + 1


def listening() -> set[str]:
    """Return the paths of the sockets that this process listens on, and that are still there."""
    own = {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {line[7] for line in lines if len(line) > 7 and f"socket:[{line[6]}]" in own and Path(line[7]).exists()}


def test_a_task_that_is_larger_than_the_window_says_so(scene: Scene) -> None:
    scene.job("large", f'prompt = "{"word " * 3000}"\nworkspace = "{scene.workspace}"\n{MODEL}\n')
    result = scene.run("run", "large")
    assert (result.exit_code, "the task alone is" in result.output) == (1, True)


def test_without_weights_a_run_says_what_to_do(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.job("look", f'prompt = "Look."\n{MODEL}\n')
    result = scene.run("run", "look")
    assert (result.exit_code, "kova-auto models add smollm2" in result.output) == (1, True)
