"""A run recorded as a script says and does the same again."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.event import Event, ModelCallFailed, ModelReplied, RunRequested, RunRetried
from kova_auto.core.ids import RunId, call_id
from kova_auto.core.job import Job
from kova_auto.core.message import (
    AssistantMessage,
    CallRequest,
    Message,
    ModelReply,
    ResultStatus,
    ToolCall,
    ToolMessage,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.recording import literal, record
from kova_auto.llm.script import parse_script
from kova_auto.llm.scripted import play
from kova_auto.llm.templates import check_templates, fill, fill_text
from tests.lineage import a_parent, its_child
from tests.llm.chat_stream import PROMPT

NOW = datetime(2026, 12, 1, tzinfo=UTC)
Said = tuple[str, StopReason, tuple[tuple[str, dict[str, JsonValue], str | None], ...]]


def opening() -> RunRequested:
    job = Job(name="a", path="a.toml", prompt="Look around.", workspace="/w")
    return RunRequested(
        at=NOW, run_id=RunId("a@1"), job=job, policy_hash="", origin="request", model="acme/m", workspace="/w"
    )


def replied(iteration: int, reply: ModelReply) -> ModelReplied:
    calls = tuple(ToolCall(id=call_id(iteration, at), **dict(ask)) for at, ask in enumerate(reply.calls, 1))
    return ModelReplied(at=NOW, iteration=iteration, reply=reply, calls=calls)


def says(text: str, *calls: CallRequest, stop: StopReason | None = None) -> ModelReply:
    return ModelReply(text=text, calls=calls, stop=stop or (StopReason.TOOL_CALLS if calls else StopReason.END))


def said(reply: ModelReply) -> Said:
    return reply.text, reply.stop, tuple((call.tool, call.args, call.unparsed) for call in reply.calls)


def played(text: str, count: int) -> list[Said]:
    script = parse_script(text, "a.script.toml")
    check_templates(script)
    messages: list[Message] = [PROMPT]
    found = []
    for iteration in range(1, count + 1):
        reply = play(script, tuple(messages))
        found.append(said(reply))
        calls = replied(iteration, reply).calls
        messages.append(AssistantMessage(text=reply.text, calls=calls))
        messages += [ToolMessage(call=call, status=ResultStatus.OK, parts=()) for call in calls]
    assert len(script.turns) == count
    return found


def again(*replies: ModelReply) -> list[Said]:
    events: list[Event] = [opening(), *(replied(number, reply) for number, reply in enumerate(replies, 1))]
    return played(record(events), len(replies))


def test_a_recorded_run_plays_the_same_replies() -> None:
    replies = (
        says(
            "Hm.", CallRequest(tool="read", args={"path": "a", "n": None, "deep": [{"x": 1.5}]}, provider_id="call_9")
        ),
        says("", CallRequest(tool="write", unparsed='{"path": "a'), stop=StopReason.LENGTH),
        says("# Report\n\nDone.\n"),
    )
    assert again(*replies) == [said(reply) for reply in replies]


def test_only_the_last_attempt_is_recorded() -> None:
    failed = ModelCallFailed(at=NOW, iteration=2, error="ModelUnavailable", message="m", retryable=True)
    retried = RunRetried(at=NOW, attempt=2, by="somebody")
    events: list[Event] = [opening(), replied(1, says("Old.")), failed, retried, replied(2, says("New."))]
    assert played(record(events), 1) == [said(says("New."))]


def test_a_recording_says_where_it_comes_from() -> None:
    text = record([opening(), replied(1, says("Done."))])
    assert tomllib.loads(text) == {"description": "Recorded from run a@1, acme/m", "turns": [{"text": "Done."}]}


def test_text_of_several_lines_is_written_so_that_people_can_edit_it() -> None:
    assert 'text = """\n# Report\n\nDone."""' in record([opening(), replied(1, says("# Report\n\nDone."))])


TEXTS = st.text() | st.lists(
    st.sampled_from(
        [
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            "{",
            "}",
            "%",
            "-",
            "raw",
            "endraw",
            " ",
            "\n",
            "\r\n",
            '"""',
            "'''",
            "\\",
            "x",
        ]
    )
).map("".join)
ARGS = st.dictionaries(
    TEXTS,
    st.recursive(
        TEXTS
        | st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63 - 1)
        | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
CALLS = st.builds(CallRequest, tool=st.text(min_size=1), args=ARGS) | st.builds(
    CallRequest, tool=st.text(min_size=1), unparsed=TEXTS
)
REPLIES = st.builds(
    lambda text, calls, stop: says(text, *calls, stop=stop),
    TEXTS,
    st.lists(CALLS, max_size=3),
    st.none() | st.sampled_from(StopReason),
)


@settings(deadline=None)
@given(TEXTS)
def test_a_literal_is_a_template_for_exactly_its_text(text: str) -> None:
    assert fill_text(literal(text), {}) == text
    assert fill(literal(text), {}) == text


def test_a_tool_whose_name_has_line_ends_keeps_them() -> None:
    reply = says("One\ntwo\r\n", CallRequest(tool="\r\n"))
    assert again(reply) == [said(reply)]


@settings(deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=3))
def test_whatever_was_said_is_said_again(replies: Sequence[ModelReply]) -> None:
    assert again(*replies) == [said(reply) for reply in replies]


def test_the_replies_of_subagents_are_found_again_by_their_task() -> None:
    parent = a_parent()
    child = its_child(parent).says(ModelReply(text="It is empty.", stop=StopReason.END))
    script = parse_script(record(parent.events, [child.events]), "a.script.toml")
    part = script.part("explorer", child.request.job.prompt)

    assert [turn.text for turn in part.turns] == ["It is empty."]


def test_a_subagent_that_was_given_no_reply_is_left_out_of_a_script() -> None:
    parent = a_parent()

    assert parse_script(record(parent.events, [its_child(parent).events]), "a.script.toml").subagents == ()
