"""A run that goes on with a session: what it is shown of what was folded there, and whose words it has read."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import pytest

from kova_auto.app.control import RunAsk
from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.context.stamp import stamp
from kova_auto.core.event import CallAdjudicated, Event, Fact, ModelCallStarted
from kova_auto.core.ids import RunId
from kova_auto.core.message import AssistantMessage, Message, TextPart
from kova_auto.core.run import RunState, fold
from kova_auto.core.step import next_step
from kova_auto.core.steps import Compact
from kova_auto.engine.conversation import conversation
from kova_auto.scheduling.jobfiles import load_job
from tests.app.houses import UNCONFINED, Home, id_of
from tests.core.context.foldings import SMALL, asked, context, looked, summed
from tests.core.facts import NOW, acquired, answered, ended
from tests.support import a_request, at, says

FOLDED = RunId("look@folded")
SUMMARY = "<<< summary\nThe first files say nothing.\n>>> summary"
LOOKS = """
[[turns]]
[[turns.calls]]
tool = "read"
args = { file_path = "a.txt" }
"""
ANSWERS = """
[[turns]]
text = "So it is."
"""
READS_NOTES = """
[[turns]]
[[turns.calls]]
tool = "memory_read"
args = { scope = "workspace", file = "notes.md" }
[[turns]]
text = "I know."
"""
LISTS = """
[[turns]]
[[turns.calls]]
tool = "bash"
args = { command = "make" }
[[turns]]
text = "Done."
"""
PAGE = "a page of example.org"
REPLIES_SHOWN = 3
SUMMARY_JSON = json.dumps(SUMMARY)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def driven(house: House, ask: RunAsk) -> RunState:
    row = await house.control.request(ask)
    await drive_one(house, RunId(row.run_id), asyncio.Event())
    return await house.store.journal.load(RunId(row.run_id))


async def continued(house: House, before: RunId, key: str) -> RunState:
    """Go on with the session of a run, as a person asks for it."""
    return await driven(house, RunAsk(key=key, asked_at=at("07:00:00"), continues=before, prompt="And then?"))


async def facts(house: House, run: RunId) -> list[Event]:
    return [event for _, event in await house.store.journal.events(run)]


def a_look(number: int, counted: int = 1_000) -> list[Event]:
    return looked(number, counted, result={"parts": (TextPart(text=f"found {number}"),)})


async def a_folded_run(home: Home, house: House, script: str) -> RunState:
    """Write down a run whose older iterations were folded once, as a model with a small window had it."""
    job = load_job(home.job("look", script=script), endpoints=())
    state, _ = await house.store.journal.open(a_request(FOLDED, job=job, pins=(SMALL,)))

    async def append(*happened: Fact) -> RunState:
        known = await house.store.journal.load(FOLDED)
        for event in happened:
            known = await house.store.journal.append(known, event)  # type: ignore[arg-type]  # a fact of some kind
        return known

    early = [event for number in range(1, 6) for event in a_look(number)]
    state = await append(acquired(), context(), *early, *a_look(6, 9_000))
    step = next_step(state, NOW)
    assert isinstance(step, Compact)
    state = await append(asked(state, step), summed(state, step, summary=SUMMARY))
    return await append(*a_look(7), *answered(says("Only the last says something."), 8), ended())


def spoken(messages: tuple[Message, ...]) -> list[str]:
    return [
        message.text
        if isinstance(message, AssistantMessage)
        else "".join(getattr(p, "text", "") for p in message.parts)
        for message in messages
    ]


def written(messages: tuple[Message, ...]) -> list[str]:
    return [message.model_dump_json() for message in messages]


async def test_what_was_folded_is_shown_as_its_summary_and_the_rest_as_it_was(home: Home) -> None:
    async with home.house() as house:
        first = await a_folded_run(home, house, LOOKS * 20)
        second = await continued(house, FOLDED, "b")

    kept = [number for number in range(1, 8) if number > first.compactions[-1].through]
    assert 1 < kept[0] < 7
    assert second.context
    assert spoken(second.context.history) == [
        "Look around.",
        SUMMARY,
        *[text for number in kept for text in ("Hm.", f"found {number}")],
        "Only the last says something.",
    ]


async def requests(house: House, run: RunId) -> list[str]:
    """Return what the model was sent in each request of a run, without the bracket at its end."""
    told = await facts(house, run)
    asks = [place for place, event in enumerate(told, start=1) if isinstance(event, ModelCallStarted)]
    return [",".join(written(conversation(fold(told[:place])))) for place in asks]


async def test_what_is_shown_of_a_folded_session_only_grows(home: Home) -> None:
    script = LOOKS * (REPLIES_SHOWN + 2) + ANSWERS + LOOKS + ANSWERS
    async with home.house() as house:
        first = await a_folded_run(home, house, script)
        second = await continued(house, FOLDED, "b")
        third = await continued(house, second.run_id, "c")
        sent = [*await requests(house, second.run_id), *await requests(house, third.run_id)]
        sent = [text.replace(f"{second.run_id}/", "") for text in sent]  # The next run counts calls of its own.
    async with home.house() as house:
        again = await continued(house, FOLDED, "d")

    assert sum(isinstance(message, AssistantMessage) for message in conversation(first)) == REPLIES_SHOWN
    assert [text.startswith(before) for before, text in pairwise(sent)] == [True] * 4
    assert third.finished
    assert (third.finished.answer, sent[-1].count(SUMMARY_JSON), "found 1" in sent[-1]) == ("So it is.", 1, False)
    assert second.context
    assert again.context
    assert written(again.context.history) == written(second.context.history)


def a_note(home: Home, read: str) -> None:
    """Keep a note as a run does that has read so much."""
    notes = home.workspace / ".kova" / "memory" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text(f"{stamp(at('05:00:00'), RunId('look@before'), read)}\nUse make.\n")


async def rulings(house: House, run: RunId) -> list[str]:
    return [event.verdict.rule for event in await facts(house, run) if isinstance(event, CallAdjudicated)]


@pytest.mark.parametrize(
    ("read", "tainted_by", "rule"),
    [
        (PAGE, f"the note workspace/notes.md, kept after reading {PAGE}", "taint"),
        ("", "", "level.full.command"),
    ],
    ids=["untrusted", "its own"],
)
async def test_what_a_run_has_read_counts_in_all_of_its_session(
    home: Home, read: str, tainted_by: str, rule: str
) -> None:
    home.job("look", UNCONFINED, READS_NOTES + LISTS * 2)
    a_note(home, read)
    async with home.house() as house:
        first = await driven(house, home.ask("look"))
        second = await continued(house, id_of("look"), "b")
        third = await continued(house, second.run_id, "c")
        ruled = [(await rulings(house, run.run_id))[0] for run in (second, third)]

    assert first.request.tainted_by == ""
    assert [state.tainted_by for state in (first, second, third)] == [tainted_by] * 3
    assert [state.request.tainted_by for state in (second, third)] == [tainted_by] * 2
    assert ruled == [rule] * 2
