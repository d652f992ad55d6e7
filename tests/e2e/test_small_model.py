"""A real engine with a real model, very small, in this process: from the command line to its end.

What it says is hardly ever worth anything, and no test asks for it. What it may do is: it reads the file that the task
names, and no other.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.core.message import TextDelta
from kova_auto.llm.local.engine import Engine, Said, Tell, load
from kova_auto.llm.local.model import LocalModel
from kova_auto.llm.local.weights import SMOLLM2, add
from tests.e2e.loading import Held, asking, reply_of, small
from tests.e2e.scenes import Scene
from tests.support import ROOT

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
LOADS = 5
"""Were each kept, four weights would be there at the end that were not after the first."""


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


class Overheard:
    """Be an engine of which is kept what it says to each question."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self.answers, self.begun = engine, list[list[Said]](), threading.Event()

    def ask(self, question: Mapping[str, JsonValue], tell: Tell) -> None:
        answer: list[Said] = []
        self.answers.append(answer)

        def hear(said: Said) -> bool:
            answer.append(said)
            self.begun.set()
            return tell(said)

        self._engine.ask(question, hear)

    def close(self) -> None:
        self._engine.close()


@pytest.fixture
async def overheard(weights: Path) -> AsyncIterator[tuple[LocalModel, Overheard]]:
    engine = Overheard(load(SMOLLM2.file(weights), SMOLLM2.window))
    async with small(weights, lambda path, window: engine) as model:
        yield model, engine


def has_ended(answer: list[Said]) -> bool:
    return any(choice["finish_reason"] for said in answer for choice in said["choices"])


async def test_an_answer_that_is_left_in_its_middle_ends_and_the_next_begins(
    overheard: tuple[LocalModel, Overheard],
) -> None:
    model, engine = overheard
    async with aclosing(model.stream(asking(STORY))) as chunks:
        assert isinstance(await anext(chunks), TextDelta)
    reply = await reply_of(model, "Say hello.")

    assert reply.text
    assert [has_ended(answer) for answer in engine.answers] == [False, True]


async def test_a_prompt_that_is_being_read_is_left_at_once(overheard: tuple[LocalModel, Overheard]) -> None:
    model, engine = overheard
    reading = asyncio.create_task(reply_of(model, "The cat sat on the mat. " * 200))
    assert await asyncio.to_thread(engine.begun.wait, 60)
    reading.cancel()
    await model.aclose()

    assert reading.cancelled() or reading.cancelling() > 0
    read = [said["prompt_progress"] for said in engine.answers[0] if "prompt_progress" in said]
    assert read[-1]["processed"] < read[-1]["total"] / 2


def test_closing_gives_memory_and_threads_back_and_nobody_can_reach_the_engine(weights: Path) -> None:
    command = [sys.executable, "-m", "tests.e2e.loading", str(weights), str(LOADS)]
    ran = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=240)
    before, *later = [Held(**moment) for moment in json.loads(ran.stdout)]
    loaded, closed = later[::2], later[1::2]

    weight = loaded[0].resident_mb - before.resident_mb
    assert weight > 100
    assert [moment.mapped > 0 and not moment.sockets for moment in loaded] == [True] * LOADS
    assert [moment.mapped for moment in closed] == [0] * LOADS
    assert closed[-1].resident_mb - closed[0].resident_mb < weight
    assert closed[-1].threads < closed[0].threads + (loaded[0].threads - before.threads)


def test_a_task_that_is_larger_than_the_window_says_so(scene: Scene) -> None:
    scene.job("large", f'prompt = "{"word " * 3000}"\nworkspace = "{scene.workspace}"\n{MODEL}\n')
    result = scene.run("run", "large")
    assert (result.exit_code, "the task alone is" in result.output) == (1, True)


def test_without_weights_a_run_says_what_to_do(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.job("look", f'prompt = "Look."\n{MODEL}\n')
    result = scene.run("run", "look")
    assert (result.exit_code, "kova-auto models add smollm2" in result.output) == (1, True)
