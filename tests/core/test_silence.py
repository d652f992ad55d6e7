"""No text is silence: words that look like it are an answer like any other, and are delivered as they stand.

T121: a reply that nearly says a word of silence was posted, and a report that merely mentions one was swallowed. Here
only a tool's result is silence, so nothing is near it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product

import pytest

from kova_auto.core.delivery.notice import RunReport
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.report import notice_of
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.delivery.text import clean
from kova_auto.core.job import Outcome
from kova_auto.core.owed import Cause
from kova_auto.core.run import RunState, apply
from kova_auto.core.step import next_step
from kova_auto.core.steps import Finish
from tests.core.delivery.notices import wish_of
from tests.core.facts import NOW, answered, asks_for, begun, ended, ran, run_of
from tests.support import a_job, says

JOB = a_job("nightly", notify=[{"endpoint": "ci", "when": ["done", "failed", "needs_input"]}])
WORDS = ("nothing to report", "silent", "no reply", "heartbeat ok", "report failure")
JOINTS = ("_", "-", " ", "")
CASES = (str.upper, str.lower, str.title)
BRACKETS = (
    ("[", "]"),
    ("[[", "]]"),
    ("[", ""),
    ("", "]"),
    ("(", ")"),
    ("{", "}"),
    ("<", ">"),
    ("</", ">"),
    ("\uff3b", "\uff3d"),
)
QUOTES = (('"', '"'), ("'", "'"), ("`", "`"), ("```\n", "\n```"), ("“", "”"), ("«", "»"), ("**", "**"), ("~~", "~~"))
MARKS = (("", "."), ("", "!"), ("", "…"), ("", "()"), ("¡", "!"), ("!", ""), ("\\", ""))
BLANKS = (("\n", "\n"), ("  ", ""), ("\t", ""), ("\u00a0", ""), ("\u200b", ""), ("\ufeff", ""), ("\r\n", "\r\n"))
BEFORE = ("> ", "- ", "# ", "Report:\n", "Final answer: ", "The log says ", "I was told never to say ")
BEHIND = ("\nThat is all.", " is what the log says twice.", " (three errors)", ": the disk is full", "\n\n- a\n- b")
AROUND = (*BRACKETS, *QUOTES, *MARKS, *BLANKS, *((text, "") for text in BEFORE), *(("", text) for text in BEHIND))


def near_misses() -> Iterator[str]:
    """Yield the words spelled in each way, and each of them in all that may stand around it."""
    for word, joint, case in product(WORDS, JOINTS, CASES):
        yield case(word.replace(" ", joint))
    for word, (before, behind) in product(WORDS, AROUND):
        yield f"{before}{word.replace(' ', '_').upper()}{behind}"


NEAR = tuple(dict.fromkeys(near_misses()))


def told_of(run: RunState) -> list[str]:
    """Return the answer that each endpoint which is told of a run's end reads."""
    owed = [duty for duty in run.deliveries.values() if duty.cause is Cause.OUTCOME]
    notices = [notice_of(run, duty) for duty in owed]
    bodies = [render(FormatName.STANDARD, notice, wish_of(FormatName.STANDARD)).body for notice in notices]
    assert all(isinstance(notice, RunReport) for notice in notices)
    return [json.loads(body)["data"]["answer"] for body in bodies]


def finished(run: RunState) -> RunState:
    """Return a run that has come to the end that is its next step."""
    step = next_step(run, NOW)
    assert isinstance(step, Finish)
    return apply(run, ended(step.outcome, step.answer))


def test_there_are_as_many_as_we_say() -> None:
    assert len(NEAR) >= 200
    assert not any(not text.strip() for text in NEAR)


@pytest.mark.parametrize("text", NEAR, ids=repr)
def test_what_looks_like_silence_is_an_answer_that_is_delivered(text: str) -> None:
    run = finished(run_of(begun(), answered(says(text)), job=JOB))

    assert run.finished
    assert (run.finished.outcome, run.finished.answer) == (Outcome.DONE, text)
    assert told_of(run) == [clean(text)]


@pytest.mark.parametrize("text", NEAR[::10], ids=repr)
def test_it_is_an_answer_behind_calls_too(text: str) -> None:
    run = finished(run_of(asks_for("read"), ran(), answered(says(text), 2), job=JOB))

    assert told_of(run) == [clean(text)]


@pytest.mark.parametrize("text", NEAR[::10], ids=repr)
def test_only_what_the_tool_concludes_is_silence_whatever_the_last_words_are(text: str) -> None:
    quiet = ran(concludes="nothing_to_report")
    run = finished(run_of(asks_for("nothing_to_report"), quiet, answered(says(text), 2), job=JOB))

    assert run.finished
    assert (run.finished.outcome, told_of(run)) == (Outcome.NOTHING_TO_REPORT, [])
