"""Subagents in the loop: each stands in the call that dispatched it, with why it ended."""

from __future__ import annotations

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import CallStarted, ChildrenStopped
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.loop.values import Interlude, InterludeKind, LoopView
from kova_auto.core.loop.view import loop_view
from kova_auto.core.loop.why import why_it_stopped
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import call, says


def told(parent: Story) -> list[Interlude]:
    return [one for one in loop_view(parent.events).interludes if one.kind is InterludeKind.SUBAGENT]


def test_the_loop_of_a_subagent_stands_in_the_call_that_dispatched_it() -> None:
    parent = a_parent("reading")
    child = its_child(parent).says(says("", call("read"))).does("1.1").says(says("It is empty."))
    ends(parent, child, answer="It is empty.")
    view = loop_view(parent.says(says("All in.")).events, {child.run_id: child.events})
    dispatching = view.iterations[0].calls[0]

    assert dispatching.child == child_run_id(parent.run_id, CallId("1.1"))
    assert dispatching.subagent is not None
    assert (dispatching.subagent.parent, dispatching.subagent.agent, dispatching.subagent.title) == (
        parent.run_id,
        "explorer",
        "reading",
    )
    assert [one.intent for one in dispatching.subagent.iterations] == ["calls read", "It is empty."]
    assert dispatching.subagent.why == "the model asked for nothing more and gave its answer"
    assert view.iterations[1].calls == ()


def test_the_loop_is_the_same_after_it_was_written_as_json() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("It is empty."))
    view = loop_view(parent.events, {child.run_id: child.events})

    assert LoopView.model_validate_json(view.model_dump_json()) == view


def test_a_subagent_whose_facts_are_not_at_hand_is_named_all_the_same() -> None:
    parent = a_parent()
    shown = loop_view(parent.events).iterations[0].calls[0]

    assert (shown.child, shown.subagent) == (child_run_id(parent.run_id, CallId("1.1")), None)


def test_the_end_of_a_subagent_is_told_where_it_happened_and_why() -> None:
    parent = a_parent("reading", "counting")
    ends(parent, its_child(parent, "1.1"), answer="Empty.")
    ends(parent, its_child(parent, "1.2"), Outcome.TIMED_OUT, reason="the time is over")

    assert [(one.before, one.text) for one in told(parent)] == [
        (2, "the subagent explorer (reading) of call 1.1 ended as done"),
        (2, "the subagent explorer (counting) of call 1.2 ended as timed out: the time is over"),
    ]


def test_subagents_that_had_to_end_first_are_counted_with_the_reason() -> None:
    parent = a_parent("reading", "counting")
    parent.events.append(ChildrenStopped(at=parent.later(), call_ids=(CallId("1.1"), CallId("1.2")), reason="enough"))

    assert [one.text for one in told(parent)] == ["2 subagents had to end first: enough"]


def test_waiting_for_subagents_is_shown_apart_from_the_running_time_of_the_call() -> None:
    parent = a_parent().says(says("", call("TaskWait"))).rules("2.1", Ruling.ALLOW)
    ends(parent, its_child(parent), answer="Empty.")
    parent.events.append(CallStarted(at=parent.later(), call_id=CallId("2.1")))

    assert loop_view(parent.events).iterations[1].calls[0].awaited_s == 2.0


def test_a_run_that_waits_for_subagents_says_for_whom() -> None:
    parent = a_parent("reading", "counting")
    ends(parent, its_child(parent, "1.1"), answer="Empty.")
    waits = f"it waits for 1 subagent: explorer ({child_run_id(parent.run_id, CallId('1.2'))})"

    assert why_it_stopped(parent.state) == "it goes on"
    assert why_it_stopped(parent.says(says("That is all.")).state) == waits


def test_a_call_that_waits_for_subagents_says_for_whom() -> None:
    parent = a_parent().says(says("", call("TaskWait")))

    assert why_it_stopped(parent.state) == "it goes on"
    assert why_it_stopped(parent.rules("2.1", Ruling.ALLOW).state).startswith("it waits for 1 subagent: explorer (")
