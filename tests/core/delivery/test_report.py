"""What an endpoint is told of a call that waits: all that a person has to judge, or how much of it is missing."""

from __future__ import annotations

import json

from pydantic import JsonValue

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.consent import Target
from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.notice import ApprovalNotice
from kova_auto.core.delivery.report import LONGEST_ARGUMENTS, notice_of, report_of, request_of
from kova_auto.core.event import CallFinished
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus
from kova_auto.core.message import told as done
from tests.core.facts import answered, asked, begun, judged, run_of
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import a_job, call, says

OLD, NEW = blob_hash(b"old"), blob_hash(b"new")


def told_of(*targets: Target, **args: JsonValue) -> ApprovalNotice:
    request = asked().model_copy(update={"targets": targets})
    asks = [*begun(), *answered(says("Hm.", call("bash", **args))), judged(Ruling.ASK), request]
    state = run_of(asks, job=a_job(approval={"when_needed": "suspend", "notify": ["ci"]}))
    notice = notice_of(state, next(iter(state.deliveries.values())))
    assert isinstance(notice, ApprovalNotice)
    return notice


def test_what_acts_or_hides_on_a_screen_is_spelled_out() -> None:
    told = told_of(Target(path="/srv/\u202egpj.exe", content=blob_hash(b"")), command="ls \u202e\x1b[2J\u200b ü\n日")

    assert told.overwrites == (r"/srv/\u202egpj.exe",)
    assert told.arguments == '{\n  "command": "ls \\u202e\\u001b[2J\\u200b ü\\n日"\n}'


def test_arguments_that_are_too_long_to_be_sent_say_how_much_is_missing() -> None:
    command = f"echo {'a' * 3000}; rm -rf /"
    whole = json.dumps({"command": command}, indent=2)

    head, mark = told_of(command=command).arguments.rsplit("\n", 1)
    assert head == whole[:LONGEST_ARGUMENTS]
    assert mark == f"[… {len(whole) - LONGEST_ARGUMENTS} more characters: kova-auto approvals show says all of it]"


def test_a_call_of_a_subagent_names_it_and_the_runs_above_it() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("", call("bash", command="make"))).waits("1.1")
    told = request_of(child.state, child.state.call(CallId("1.1")))

    assert (told.run_id, told.subagent) == (f"{parent.run_id}~1.1", "explorer")
    assert (told.parent, told.root) == (parent.run_id, parent.run_id)
    assert ("Subagent", f"explorer, of run {parent.run_id}") in describe(told).facts


def test_a_call_of_a_run_that_nobody_dispatched_names_no_subagent() -> None:
    assert [label for label, _ in describe(told_of(command="ls")).facts if label == "Subagent"] == []


def test_files_that_a_subagent_changed_are_changes_of_the_run() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("", call("write", file_path="a"), call("edit", file_path="b"))).starts("1.1")
    made, edited = FileChange(path="/srv/app/a", before=None, after=OLD), FileChange(path="b", before=OLD, after=NEW)
    wrote(child, "1.1", made)
    wrote(child.starts("1.2"), "1.2", edited)
    ends(parent, child, answer="Both are written.")
    parent.says(says("", call("edit", file_path="b"))).starts("2.1")
    wrote(parent, "2.1", FileChange(path="b", before=NEW, after=OLD))

    found = report_of(parent.ends().state).changes
    assert [(one.path, one.what) for one in found] == [("a", "created")]


def wrote(story: Story, call_id: str, change: FileChange) -> None:
    result = done(ResultStatus.OK, "written").model_copy(update={"changes": (change,)})
    story.events.append(CallFinished(at=story.later(), call_id=CallId(call_id), result=result))
