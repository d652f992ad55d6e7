"""Tell a run to tests that has dispatched a subagent, and that subagent."""

from __future__ import annotations

from kova_auto.core.children.reports import told_parent
from kova_auto.core.event import CallFinished, ChildOf, Origin, RunFinished
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, told
from tests.story import Story
from tests.support import a_request, call, says


def a_parent(*titles: str) -> Story:
    """Tell a run that has dispatched an explorer for each title, and has its results."""
    calls = [call("Task", agent="explorer", description=title, task="Look.") for title in titles or ("reading",)]
    story = Story().says(says("I send somebody.", *calls))
    for number in range(1, len(calls) + 1):
        call_id = CallId(f"1.{number}")
        result = told(ResultStatus.OK, "Dispatched.").model_copy(update={"child": child_run_id(story.run_id, call_id)})
        story.starts(call_id).events.append(CallFinished(at=story.later(), call_id=call_id, result=result))
    return story


def its_child(parent: Story, call_id: str = "1.1", title: str = "reading") -> Story:
    """Tell the run that a call has dispatched, up to its context."""
    by = ChildOf(
        run_id=parent.run_id,
        call_id=CallId(call_id),
        root=parent.run_id,
        depth=1,
        agent="explorer",
        title=title,
        prompt="Explore.",
        tools=("read",),
    )
    run_id = child_run_id(parent.run_id, CallId(call_id))
    return Story(a_request(run_id=run_id, origin=Origin.PARENT, child_of=by))


def ends(parent: Story, child: Story, outcome: Outcome = Outcome.DONE, *, answer: str = "", reason: str = "") -> None:
    """End a child, and tell its parent."""
    before = child.state
    child.ends(outcome, answer=answer, reason=reason)
    finished = child.events[-1]
    assert isinstance(finished, RunFinished)
    told_of = told_parent(before, finished)
    assert told_of is not None
    parent.events.append(told_of.model_copy(update={"at": parent.later()}))
