"""A run's loop as a person reads it."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from kova_auto.cli.ink import Ink
from kova_auto.cli.loop import loop_lines
from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import CallFinished, RunAcquired
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.loop.view import loop_view
from kova_auto.core.message import Usage
from kova_auto.core.stop_reason import StopReason
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import a_request, at, call, ok, says


def lines(story: Story) -> list[str]:
    return list(loop_lines(loop_view(story.events), ZoneInfo("Europe/Berlin"), Ink()))


def test_the_loop_is_drawn_with_its_end() -> None:
    billed = Usage(input_tokens=7, output_tokens=2, cost_usd=0.25)
    story = Story().fails("busy", usage=billed).says(says("I look.", call("look", path="a"), call("change")))
    story.does("1.1", "seen").waits("1.2").answers("1.2", Decision.DENY)
    assert lines(story) == [
        "run nightly@20261201T060000Z",
        "├─ iteration 1  6.0 s · 10 tokens of context · 17 in, 2 out · 0.2510 USD",
        "│    no reply (ModelUnavailable, 9 tokens all the same): busy",
        "│    I look.",
        '│    → look {"path": "a"}',
        "│      allow: because  test.allow",
        "│    ← ok, 1.0 s: seen",
        "│    → change {}",
        "│      ask: because  test.ask",
        "│      ada refused it at 2026-12-01 07:00:12, after 1.0 s",
        "└─ running: it goes on",
        "   10.0 s · 19 tokens · 0.2510 USD",
    ]


def test_calls_that_ran_at_the_same_time_say_so() -> None:
    story = Story().says(says("I look.", call("read", path="a"), call("grep", pattern="b"), call("glob")))
    shown = lines(story.does_together("1.1", "1.2", "1.3"))
    assert [line for line in shown if "←" in line] == [
        "│    ← ok, 3.0 s beside 2 others: fine 1.1",
        "│    ← ok, 2.0 s beside 2 others: fine 1.2",
        "│    ← ok, 1.0 s beside 2 others: fine 1.3",
    ]
    assert "├─ iteration 1  8.0 s" in shown[1]  # Their times overlap.


def test_attempts_are_kept_apart() -> None:
    story = Story().says(says("One.", cost_usd=None)).ends(Outcome.FAILED, reason="because").again().asks()
    assert [line for line in lines(story) if "attempt" in line or "iteration" in line or "└" in line] == [
        "├─ iteration 1  1.0 s · 10 tokens of context · 10 in, 0 out · cost unknown",
        "── attempt 2, asked for by ada",
        "├─ iteration 2  0.0 s · about 6 tokens of context",
        "└─ running: it goes on",
    ]


def test_a_scripted_loop_says_so() -> None:
    assert lines(Story(a_request(scripted=True)))[0].endswith("scripted: no model was called")


def test_a_call_that_waits_says_since_when() -> None:
    story = Story().says(says("", call("change"))).waits("1.1")
    assert "│      waits for a person since 2026-12-01 07:00:06" in lines(story)


def test_what_happened_in_between_stands_where_it_happened() -> None:
    story = Story().says(says("", call("look"))).starts("1.1")
    story.events.append(RunAcquired(at=at("06:05:00"), epoch=2, worker="two", lease_broken=True))
    story.events.append(CallFinished(at=at("06:05:01"), call_id=CallId("1.1"), result=ok()))
    shown = lines(story.says(says("Done.")))

    (place,) = (number for number, line in enumerate(shown) if "was lost during call 1.1" in line)
    assert shown[place].startswith("│  2026-12-01 07:05:00 the process")
    assert shown[place + 1].startswith("├─ iteration 2")


def test_a_command_that_failed_shows_its_exit_code_and_a_cut_reply_that_it_was_cut() -> None:
    cut = says("I try.", call("bash")).model_copy(update={"stop": StopReason.LENGTH})
    story = Story().says(cut).starts("1.1")
    failed = ok("no such file").model_copy(update={"exit_code": 2})
    story.events.append(CallFinished(at=at("06:01:00"), call_id=CallId("1.1"), result=failed))
    shown = lines(story)
    assert "│    the reply ended early: length" in shown
    assert any(line.startswith("│    ← ok, exit code 2, ") for line in shown)


def test_a_subagent_stands_beneath_its_call() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("It is empty."))
    ends(parent, child, answer="It is empty.")
    view = loop_view(parent.events, {child.run_id: child.events})
    lines = list(loop_lines(view, ZoneInfo("Europe/Berlin"), Ink()))
    first = next(number for number, line in enumerate(lines) if "→ Task" in line)

    assert lines[first + 3] == f"│      run {child.run_id}  subagent explorer (reading)"
    assert lines[first + 5] == "│      │    It is empty."
    assert lines[first + 6] == "│      └─ done: the model asked for nothing more and gave its answer"
    assert lines[first + 8].endswith(" the subagent explorer (reading) of call 1.1 ended as done")
