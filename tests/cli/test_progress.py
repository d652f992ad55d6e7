"""What is shown of a run as it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from zoneinfo import ZoneInfo

from kova_auto.cli.doing import doing
from kova_auto.cli.ink import Ink
from kova_auto.cli.loop import loop_lines
from kova_auto.cli.progress import progress, summary
from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.children.reports import reports_of
from kova_auto.core.event import ContextCompacted, RunAcquired, StopRequested
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.loop.view import loop_view
from kova_auto.core.pin import ModelPin
from kova_auto.core.price import FREE
from kova_auto.core.run import apply
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import a_job, a_request, at, call, says

NOTIFIED = a_job(notify=[{"endpoint": "ci"}])


def lines(story: Story, ink: Ink | None = None, *, last: int = 0) -> Sequence[str]:
    """Return the lines of the last facts of a story, or of all of them."""
    return [line for event, state in list(story.states())[-last:] for line in progress(event, state, ink or Ink())]


def test_a_run_is_told_line_by_line() -> None:
    story = Story().says(says("I look.", call("look", path="a b"), call("change")))
    story.does("1.1", "first\nsecond").refuses("1.2", "not here").says(says("All is well."))
    assert lines(story) == [
        "run nightly@20261201T060000Z  agent · read-only · test/model · in /srv/app",
        "iteration 1  +2.0 s",
        "  I look.",
        "  10 tokens · 0.0010 USD",
        "  look path=a b  allow test.allow",
        "    ok: first (+1 line)",
        "  change  deny test.deny",
        "    refused: not here",
        "iteration 2  +9.0 s",
        "  10 tokens · 0.0010 USD",
    ]


def test_results_of_calls_that_ran_at_the_same_time_say_whose_they_are() -> None:
    story = Story().says(says("", call("read", path="a"), call("grep", pattern="b"), call("write", path="c")))
    story.does_together("1.1", "1.2").does("1.3")
    assert lines(story)[-6:] == [
        "  read path=a  allow test.allow",
        "  grep pattern=b  allow test.allow",
        "    ok, grep pattern=b: fine 1.2",
        "    ok, read path=a: fine 1.1",
        "  write path=c  allow test.allow",
        "    ok: fine",
    ]


def test_a_scripted_and_a_staged_run_say_so_first() -> None:
    assert lines(Story(a_request(scripted=True, staged=True, model="scripted/script")))[0] == (
        "run nightly@20261201T060000Z  agent · read-only · scripted: no model was called · in /srv/app"
        " · staged: writes go to a copy, nothing is delivered"
    )


def test_a_run_whose_price_is_not_known_says_what_bounds_it() -> None:
    pins = (ModelPin(name="house/large"), ModelPin(name="openai/gpt-5", price=FREE))

    assert lines(Story(a_request(model="house/large", pins=pins)))[1:] == [
        "the price of house/large is not known: limits.tokens = 500000 bounds it, limits.cost_usd does not"
    ]
    assert lines(Story(a_request(pins=pins[1:])))[1:] == []


def test_what_a_model_and_a_tool_say_cannot_act_on_the_terminal() -> None:
    story = (
        Story()
        .says(says("a\x1b[2Jb\x07\nc", call("look\x1b]0;t\x07", path="x\ry\u202e")))
        .does("1.1", "\x1b[31mred\x9b")
    )
    shown = "\n".join(lines(story, last=5))
    assert [character for character in shown if not (character.isprintable() or character == "\n")] == []
    assert "  ab c" in shown


def test_a_line_fits_its_terminal() -> None:
    story = Story().says(says("word " * 100, call("look", path="x" * 500))).does("1.1", "y" * 500)
    assert max(map(len, lines(story, Ink(width=80), last=5))) <= 80


def test_a_line_that_says_whose_result_it_is_fits_its_terminal() -> None:
    story = Story().says(says("", call("read", path="x" * 500), call("grep", pattern="y" * 500)))
    assert max(map(len, lines(story.does_together("1.1", "1.2"), Ink(width=80), last=6))) <= 80


def test_a_failed_call_of_the_model_says_when_it_is_made_again() -> None:
    story = Story().fails("overloaded", at("06:00:30")).asks()
    assert lines(story, last=2) == [
        "  the model did not answer: overloaded; again at 06:00:30 UTC",
        "iteration 1, try 2  +4.0 s",
    ]


def test_a_call_that_waits_and_its_answer_are_told() -> None:
    story = Story().says(says("", call("change"))).waits("1.1").answers("1.1", Decision.DENY, "not today")
    assert lines(story, last=2) == ["    waits for a person: call 1.1", "    refused by ada: not today"]


def test_only_a_run_that_had_begun_is_called_taken_up_again() -> None:
    story = Story().ends().again()
    assert lines(story, last=3) == ["attempt 2, asked for by ada"]


def test_a_wait_that_is_over_is_told_by_what_follows() -> None:
    story = Story().fails("overloaded", at("06:00:30"))
    again = RunAcquired(at=at("06:00:30"), epoch=2, worker="one")
    state = apply(story.state, again)
    assert list(progress(again, state, Ink())) == []
    broken = again.model_copy(update={"lease_broken": True})
    assert list(progress(broken, state, Ink())) == ["taken up again from exactly where it was"]


def test_the_end_that_somebody_asked_for_is_told() -> None:
    story = Story()
    story.events.append(StopRequested(at=at("06:00:09"), outcome=Outcome.CANCELLED, reason="enough", by="ada"))
    assert lines(story, last=1) == ["is being ended as cancelled: enough"]


def test_a_delivery_is_told_with_its_next_try() -> None:
    story = Story(a_request(job=NOTIFIED)).ends(answer="A.").delivers("waiting", at("07:00:00")).delivers("delivered")
    assert lines(story, last=4) == [
        "delivery to ci: waiting: the receiver answered; serve tries again at 2026-12-01 07:00:00 UTC",
        "delivery to ci: delivered (attempt 2): the receiver answered",
    ]


def test_the_summary_names_refused_calls_and_what_was_used() -> None:
    story = Story().says(says("", call("change", path="a"))).refuses("1.1", "not here").says(says("Done."))
    assert list(summary(story.ends(answer="Done.").state, Ink())) == [
        "refused  change path=a: not here",
        "done · 8.0 s · 2 iterations · 1 call (1 refused) · 20 tokens · 0.0020 USD",
    ]


def test_the_summary_of_a_scripted_run_says_so() -> None:
    story = Story(a_request(scripted=True)).ends(Outcome.FAILED, reason="the script ends here")
    assert list(summary(story.state, Ink())) == [
        "failed: the script ends here · 2.0 s · 0 iterations · 0 calls · scripted: no model was called"
    ]


def test_there_is_no_summary_of_a_run_that_goes_on() -> None:
    assert list(summary(Story().state, Ink())) == []


def test_it_says_what_a_run_is_doing_now() -> None:
    now = at("06:00:33")
    doings = {
        "waiting for m · 30 s": Story().asks(),
        "look path=a · 27 s": Story().says(says("", call("look", path="a"))).starts("1.1"),
        "read path=a and 2 others · 22 s": begun_together(),
        "asks the model again in 27 s": Story().fails(retry_at=at("06:01:00")),
        "waits for a person · 27 s · kova-auto approvals list shows how to answer": (
            Story().says(says("", call("change"))).waits("1.1")
        ),
        "sums up older iterations · 28 s": summing_up(),
        "asks for a summary again in 27 s": Story().says(says("A.")).sums_up(then="busy", retry_at=at("06:01:00")),
        "": Story().ends(),
    }
    assert {doing(story.state, now): story for story in doings.values()} == doings


def begun_together() -> Story:
    story = Story().says(says("", call("grep", pattern="b"), *[call("read", path="a")] * 3))
    story.does("1.1").does_together("1.2", "1.3", "1.4")
    del story.events[-3:]
    return story


def summing_up() -> Story:
    return Story().says(says("One.")).sums_up()


def test_what_was_folded_is_told_as_it_happens() -> None:
    story = summing_up()
    folded = {"iteration": 1, "through": 1, "summary": "So far.", "strategy": "summary", "reason": "threshold"}
    used = {"tokens_before": 9, "tokens_after": 3, "model": "a/b"}
    story.events.append(ContextCompacted.model_validate({"at": story.later(), **folded, **used}))
    assert lines(story)[-1] == (
        "the iterations up to 1 were folded (a summary), as the window was nearly full: about 9 tokens became 3"
    )


def test_a_chain_and_a_demonstration_say_what_they_are() -> None:
    pins = (ModelPin(name="house/large", price=FREE), ModelPin(name="local/small", price=FREE, quality="demo"))

    assert lines(Story(a_request(pins=pins)))[0] == (
        "run nightly@20261201T060000Z  agent · read-only · house/large → local/small (demo) · in /srv/app"
    )


def test_of_reports_that_the_model_is_given_a_person_sees_the_reports() -> None:
    parent = a_parent()
    child = its_child(parent)
    ends(parent, child, answer="It is green.")
    reports = reports_of(parent.state.children.values())
    parent.asks()
    parent.events[-1] = parent.events[-1].model_copy(update={"asides": (reports,), "reports": (CallId("1.1"),)})

    shown = f"told besides: [{child.run_id} explorer: completed] It is green."
    assert lines(parent, last=1)[-1] == f"  {shown}"
    assert f"│    {shown}" in list(loop_lines(loop_view([*parent.events]), ZoneInfo("UTC"), Ink()))


def test_what_the_model_is_told_between_its_replies_is_shown() -> None:
    story = Story().asks()
    story.events[-1] = story.events[-1].model_copy(update={"asides": ("Come to an end.",)})

    assert lines(story, last=1) == ["iteration 1  +2.0 s", "  told besides: Come to an end."]


def test_a_further_attempt_says_when_it_begins_and_because_of_what() -> None:
    story = Story().begins_again(at("07:00:30"))
    assert lines(story, last=1) == ["attempt 2 at 07:00:30 UTC, because attempt 1 ended as failed: busy"]
    assert doing(story.state, at("07:00:00")) == "begins attempt 2 in 30 s"
    assert doing(story.state, at("07:00:30")) == ""
    assert lines(Story().ends(Outcome.FAILED).again())[-1] == "attempt 2, asked for by ada"


def test_a_call_that_waits_for_subagents_says_for_whom() -> None:
    parent = a_parent("reading", "counting").says(says("", call("TaskWait"))).rules("2.1", Ruling.ALLOW)

    assert lines(parent, last=1)[-1] == "    waits for 2 subagents: explorer (reading), explorer (counting)"


def test_a_run_that_would_end_and_has_subagents_at_work_says_so() -> None:
    parent = a_parent().says(says("That is all."))

    assert lines(parent, last=1)[1:] == ["  waits for 1 subagent: explorer (reading)"]


def test_a_run_that_waited_for_subagents_is_not_said_to_be_taken_up_again() -> None:
    parent = a_parent()
    ends(parent, its_child(parent), answer="Empty.")
    parent.events.append(RunAcquired(at=parent.later(), epoch=2, worker="one"))

    assert lines(parent, last=1) == []


def test_the_end_of_a_subagent_says_how_it_ended_and_why() -> None:
    parent = a_parent("reading", "counting")
    ends(parent, its_child(parent, "1.1").says(says("Empty.")), answer="Empty.")
    ends(parent, its_child(parent, "1.2", "counting"), Outcome.TIMED_OUT, reason="the time is over")

    good, bad = lines(parent, last=2)
    assert good.startswith("explorer 1.1 (reading) done: Empty. · ")
    assert " · 1 iteration · " in good
    assert bad.startswith("explorer 1.2 (counting) timed out: the time is over · ")


def test_what_a_run_does_that_waits_for_subagents_is_what_they_do() -> None:
    parent = a_parent().says(says("That is all."))
    child = its_child(parent).says(says("", call("read", file_path="a"))).starts("1.1")
    now = child.events[-1].at + timedelta(seconds=3)

    assert (
        doing(parent.state, now, [child.state]) == "waits for 1 subagent: explorer (reading) · read file_path=a · 3 s"
    )


def test_a_run_whose_subagent_waits_for_a_person_says_that_a_person_is_waited_for() -> None:
    parent = a_parent().says(says("That is all."))
    child = its_child(parent).says(says("", call("write"))).waits("1.1")

    assert doing(parent.state, at("06:10:00"), [child.state]).endswith("explorer (reading) · waits for a person")


def test_the_last_line_counts_the_subagents() -> None:
    parent = a_parent("reading", "counting")
    for number, title in enumerate(("reading", "counting"), 1):
        ends(parent, its_child(parent, f"1.{number}", title))
    (line,) = summary(parent.ends().state, Ink())

    assert " · 2 calls · 2 subagents · " in line


def test_a_subagent_that_is_followed_by_itself_says_what_it_is() -> None:
    child = its_child(a_parent())

    assert lines(child)[0].startswith(f"run {child.run_id}  subagent explorer (reading) · agent · ")
