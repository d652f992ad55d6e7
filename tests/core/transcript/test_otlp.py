"""Traces as a collector reads them: by its own definitions, with ids that are always the same."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue

from kova_auto.core.ids import RunId
from kova_auto.core.message import AssistantMessage, TextPart, UserMessage
from kova_auto.core.transcript.content import Input, add_content
from kova_auto.core.transcript.otlp import Beneath, otlp
from kova_auto.core.transcript.span import span_id, trace_id
from kova_auto.core.transcript.told import told_in
from kova_auto.core.transcript.tracing import spans_of
from tests.core.transcript.scenes import eventful, lost
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import call, says

Json = dict[str, Any]
WORDS = ("I look.", "seen", "Be brief.", "Done.", "written")


def written(story: Story, *, content: bool = False, continues: RunId | None = None) -> Json:
    spans = spans_of(story.events)
    if content:
        said = tuple(told.message for told in told_in(story.events) if told.message)
        seqs = [seq for seq, event in enumerate(story.events, 1) if event.kind == "model_call_started"]
        add_content(spans, story.events, {seq: Input("You are one.", said) for seq in seqs})
    return otlp(story.run_id, spans, "1.2.3", continues)


def spans_in(document: Json) -> Sequence[Json]:
    (resource,) = document["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans: Sequence[Json] = scope["spans"]
    return spans


def attributes(span: Json) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in span["attributes"]}


def with_binary_ids(document: JsonValue) -> JsonValue:
    """Return it with ids as the mapping of protobuf has bytes: OTLP has them in hexadecimal instead."""
    if isinstance(document, list):
        return [with_binary_ids(one) for one in document]
    if not isinstance(document, dict):
        return document
    return {
        key: base64.b64encode(bytes.fromhex(str(value))).decode()
        if key in {"traceId", "spanId", "parentSpanId"}
        else with_binary_ids(value)
        for key, value in document.items()
    }


@pytest.mark.parametrize("story", [eventful(), lost(), Story()], ids=["eventful", "lost", "begun"])
@pytest.mark.parametrize("content", [False, True])
def test_it_is_what_the_definitions_of_the_protocol_say(story: Story, *, content: bool) -> None:
    service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
    json_format = pytest.importorskip("google.protobuf.json_format")
    document = written(story, content=content, continues=RunId("before"))
    request = json_format.Parse(json.dumps(with_binary_ids(document)), service.ExportTraceServiceRequest())

    (resource,) = request.resource_spans
    (scope,) = resource.scope_spans
    assert len(scope.spans) == len(spans_in(document))
    assert {len(span.trace_id) for span in scope.spans} == {16}
    assert {len(span.span_id) for span in scope.spans} == {8}
    assert scope.spans[0].links[0].trace_id.hex() == trace_id(RunId("before"))
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in scope.spans)
    back = json_format.MessageToDict(request, preserving_proto_field_name=False)
    assert json_format.Parse(json.dumps(back), service.ExportTraceServiceRequest()) == request


def test_ids_are_of_the_right_form_and_each_its_own() -> None:
    spans = spans_in(written(eventful()))
    assert {span["traceId"] for span in spans} == {trace_id(eventful().run_id)}
    assert len({span["spanId"] for span in spans}) == len(spans)
    assert all(re.fullmatch("[0-9a-f]{16}", span["spanId"]) for span in spans)
    assert re.fullmatch("[0-9a-f]{32}", spans[0]["traceId"])
    known = {"", *(span["spanId"] for span in spans)}
    assert [span["parentSpanId"] for span in spans].count("") == 1
    assert all(span["parentSpanId"] in known for span in spans)


def test_what_is_written_later_keeps_the_ids_of_what_was_there_before() -> None:
    story = eventful()
    before = [span["spanId"] for span in spans_in(otlp(story.run_id, spans_of(story.events[:8]), "1"))]
    after = [span["spanId"] for span in spans_in(written(story))]
    assert after[: len(before)] == before
    assert written(story) == written(eventful())


def test_errors_have_the_status_of_one_and_nothing_else_has() -> None:
    spans = spans_in(written(eventful()))
    assert [span["status"] for span in spans if span["status"]["code"]] == [{"code": 2, "message": "busy"}]


def test_calls_of_models_go_out_and_all_else_stays_inside() -> None:
    assert {(span["name"].split()[0], span["kind"]) for span in spans_in(written(eventful()))} == {
        ("invoke_agent", 1),
        ("iteration", 1),
        ("chat", 3),
        ("wait", 1),
        ("execute_tool", 1),
    }


def test_numbers_of_64_bits_are_text() -> None:
    chat = next(span for span in spans_in(written(Story().says(says("Done.")))) if span["name"].startswith("chat"))
    values = {one["key"]: one["value"] for one in chat["attributes"]}
    assert values["gen_ai.usage.input_tokens"] == {"intValue": "10"}
    assert values["kova.cost_usd"] == {"doubleValue": 0.001}
    assert chat["startTimeUnixNano"] == "1796104803000000000"


def test_what_was_said_is_left_out() -> None:
    text = json.dumps(written(eventful()))
    assert [word for word in WORDS if word in text] == []


def test_with_content_each_call_has_what_it_was_given_and_what_came_of_it() -> None:
    spans = spans_in(written(eventful(), content=True))
    *_, last = (attributes(span) for span in spans if span["name"].startswith("chat"))
    assert json.loads(last["gen_ai.system_instructions"]) == [{"type": "text", "content": "You are one."}]
    assert json.loads(last["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "Done."}], "finish_reason": "end"}
    ]
    prompt, reply, seen, picture, *_ = json.loads(last["gen_ai.input.messages"])
    assert prompt == {"role": "user", "parts": [{"type": "text", "content": "Look."}]}
    assert [part["type"] for part in reply["parts"]] == ["text", "tool_call", "tool_call"]
    assert seen["parts"] == [{"type": "tool_call_response", "id": "1.1", "response": "seen"}]
    assert "[image/png " in picture["parts"][0]["response"]
    look = next(attributes(span) for span in spans if span["name"] == "execute_tool look")
    assert (look["gen_ai.tool.call.arguments"], look["gen_ai.tool.call.result"]) == ('{"path": "a"}', "seen")


def test_what_happened_between_iterations_is_named_and_told_with_content_alone() -> None:
    plain, whole = (spans_in(written(lost(), content=content))[0] for content in (False, True))
    assert [event["name"] for event in plain["events"]] == ["kova.taken_up"] * 2
    assert [event["attributes"] for event in plain["events"]] == [[], []]
    assert "was lost while m was asked" in str(whole["events"][0]["attributes"])


def test_a_call_that_failed_has_no_output() -> None:
    failed = next(span for span in spans_in(written(eventful(), content=True)) if span["name"].startswith("chat"))
    assert "gen_ai.output.messages" not in attributes(failed)


def test_arguments_that_were_none_are_the_text_that_they_were() -> None:
    story = Story().says(says("", call("look").model_copy(update={"unparsed": '{"a'}))).refuses("1.1")
    spans = spans_of(story.events)
    add_content(
        spans, story.events, {4: Input("", (UserMessage(parts=(TextPart(text="x"),)), AssistantMessage(text="")))}
    )
    (tool,) = (span for span in spans if span.kind == "tool")
    assert tool.attributes["gen_ai.tool.call.arguments"] == '{"a'


def test_an_id_is_of_its_run_its_kind_and_its_place() -> None:
    ids = {span_id(RunId(run), kind, seq) for run in ("a", "b") for kind in ("run", "tool") for seq in (1, 2)}
    assert len(ids) == 8


def test_the_spans_of_a_subagent_lie_beneath_the_call_that_dispatched_it_in_the_same_trace() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("It is empty."))
    ends(parent, child, answer="It is empty.")
    spans = spans_of(parent.events)
    (above,) = (span for span in spans if span.kind == "tool")
    beneath = Beneath(child.run_id, spans_of(child.events), parent.run_id, above)
    found = spans_in(otlp(parent.run_id, spans, "1", children=[beneath]))
    (own,) = (span for span in found if span["name"] == "invoke_agent explorer")
    (dispatching,) = (span for span in found if span["name"] == "execute_tool Task")

    assert own["parentSpanId"] == dispatching["spanId"]
    assert {span["traceId"] for span in found} == {found[0]["traceId"]}
    assert len({span["spanId"] for span in found}) == len(found)
    assert attributes(own)["gen_ai.agent.name"] == "explorer"
    assert attributes(own)["kova.parent.run.id"] == parent.run_id
