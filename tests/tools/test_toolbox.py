"""What holds for every tool: arguments, failures, secrets and bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, Field, JsonValue

from kova_auto.core.approval.levels import Effect, Mode, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.event import CallStarted
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import (
    FileChange,
    ImagePart,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolResult,
    told,
)
from kova_auto.core.ports import Toolbox
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, ProcessAnnounced, Scene, ToolFact, ToolOutput, ToolRun, WriteAnnounced
from kova_auto.core.value import Value
from kova_auto.tools.toolbox import LocalToolbox
from tests.tools.tool_scenes import ALLOWED, NOW, RUN, a_call, a_scene, played

SCENE = a_scene(Path("/w"))
SECRET = "hunter2-hunter2"


class Inner(Value):
    """Hold one item."""

    title: str


class EchoArguments(Value):
    """Say what to echo."""

    text: str = Field(description="What to say.")
    times: int | None = Field(default=None, ge=1)
    style: Literal["plain", "loud"] = "plain"
    items: tuple[Inner, ...] = ()


class EchoTool:
    """Play what it was given."""

    name = "echo"
    description = "Says it again."
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = EchoArguments

    def __init__(self, *facts: ToolFact | Exception, effect: Effect = Effect.READ, name: str = "echo") -> None:
        self.plays, self.effect, self.name = facts, effect, name
        self.closed, self.settled = False, 0

    async def facts(self, call: ToolCall, args: EchoArguments, scene: Scene) -> CallFacts:
        if args.text == "impossible":
            message = f"the text is impossible {SECRET}"
            raise ToolFailedError(message)
        return CallFacts(call, self.effect)

    async def run(self, args: EchoArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        try:
            for fact in self.plays:
                if isinstance(fact, Exception):
                    raise fact
                yield fact
        finally:
            self.closed = True

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        return told(ResultStatus.OK, f"it said {SECRET}") if self.effect is Effect.WRITE else None

    async def settle(self, scene: Scene) -> None:
        self.settled += 1


def a_toolbox(*tools: EchoTool) -> LocalToolbox:
    return LocalToolbox(
        tools,
        redact=lambda text: text.replace(SECRET, "[redacted:S]"),
        holds_secret=lambda text: SECRET in text,
    )


async def outcome(tool: EchoTool, **args: JsonValue) -> ToolOutput:
    given: dict[str, JsonValue] = args or {"text": "hi"}
    return (await played(a_toolbox(tool).execute(a_call("echo", **given), ALLOWED, SCENE))).output


def an_output(text: str, **more: object) -> ToolOutput:
    return ToolOutput(told(ResultStatus.OK, text).model_copy(update=more))


def test_it_is_a_toolbox() -> None:
    box: Toolbox = a_toolbox()
    assert box.specs(SCENE, Mode.AGENT) == ()


def test_a_mode_offers_the_tools_it_reaches_in_a_stable_order() -> None:
    tools = [EchoTool(name=effect.value, effect=effect) for effect in (Effect.WRITE, Effect.READ, Effect.COMMAND)]
    names = {mode: [spec.name for spec in a_toolbox(*tools).specs(SCENE, mode)] for mode in Mode}
    assert names == {
        Mode.AGENT: ["write", "read", "command"],
        Mode.GOAL: ["write", "read", "command"],
        Mode.PLAN: ["read", "command"],
        Mode.ASK: ["read"],
    }


def test_the_model_is_told_a_plain_schema() -> None:
    (spec,) = a_toolbox(EchoTool()).specs(SCENE, Mode.AGENT)
    assert spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "description": "What to say."},
            "times": {"type": "integer", "minimum": 1},
            "style": {"type": "string", "enum": ["plain", "loud"], "default": "plain"},
            "items": {
                "type": "array",
                "default": [],
                "items": {
                    "type": "object",
                    "description": "Hold one item.",
                    "additionalProperties": False,
                    "required": ["title"],
                    "properties": {"title": {"type": "string"}},
                },
            },
        },
    }


async def test_wrong_arguments_are_answered_field_by_field() -> None:
    output = await outcome(EchoTool(), txt="hi", times=0, style="soft")
    assert output.result == told(
        ResultStatus.ERROR,
        "the arguments of echo do not fit its schema: text is missing; "
        "times: input should be greater than or equal to 1, found 0; "
        "style: input should be 'plain' or 'loud', found 'soft'; "
        "txt is unknown, did you mean text? (known: text, times, style, items)",
    )


async def test_arguments_that_are_no_json_are_answered_with_the_complaint() -> None:
    call = a_call("echo").model_copy(update={"unparsed": '{"text": '})
    box = a_toolbox(EchoTool())
    output = (await played(box.execute(call, ALLOWED, SCENE))).output
    (spec,) = box.specs(SCENE, Mode.AGENT)
    said, _, schema = output.result.text.partition("; their schema: ")
    assert said == (
        "the arguments of echo must be a JSON object: Expecting value: line 1 column 10 (char 9); found '{\"text\": '"
    )
    assert (output.result.status, json.loads(schema)) == (ResultStatus.ERROR, spec.parameters)


async def test_arguments_that_are_no_object_are_answered() -> None:
    call = a_call("echo").model_copy(update={"unparsed": "[1]"})
    facts = await a_toolbox(EchoTool()).facts(call, SCENE)
    assert facts.problem.startswith("the arguments of echo must be a JSON object: found list '[1]'; ")


async def test_what_is_wrong_with_a_call_is_its_problem() -> None:
    box, call = a_toolbox(EchoTool()), a_call("echo", text="impossible")
    assert await box.facts(call, SCENE) == CallFacts(call, Effect.READ, problem="the text is impossible [redacted:S]")


async def test_a_tool_that_nobody_knows_has_no_effect() -> None:
    box, call = a_toolbox(EchoTool()), a_call("sing")
    assert await box.facts(call, SCENE) == CallFacts(call, None)
    output = (await played(box.execute(call, ALLOWED, SCENE))).output
    assert output.result == told(ResultStatus.ERROR, "there is no tool 'sing'; there are echo")
    assert not box.replay_safe("sing")
    assert box.replay_safe("echo")
    assert not box.only_looks("sing")


@pytest.mark.parametrize("effect", Effect)
def test_only_what_reads_files_and_may_be_made_again_does_nothing_but_look(effect: Effect) -> None:
    tool = EchoTool(effect=effect)
    assert a_toolbox(tool).only_looks("echo") is (effect is Effect.READ)
    tool.replay_safe = False
    assert not a_toolbox(tool).only_looks("echo")


async def test_a_failing_tool_is_answered_and_closed() -> None:
    tool = EchoTool(ToolFailedError(f"no {SECRET} today"))
    assert (await outcome(tool)).result == told(ResultStatus.ERROR, "no [redacted:S] today")
    assert tool.closed


async def test_only_the_first_output_counts() -> None:
    tool = EchoTool(ProcessAnnounced(1, "now"), an_output("one"), an_output("two"))
    facts = [fact async for fact in a_toolbox(tool).execute(a_call("echo", text="hi"), ALLOWED, SCENE)]
    assert facts == [ProcessAnnounced(1, "now"), an_output("one")]
    assert tool.closed


async def test_a_tool_without_an_output_is_answered() -> None:
    assert (await outcome(EchoTool())).result == told(ResultStatus.ERROR, "echo ended without a result")


async def test_secrets_leave_neither_in_text_nor_in_what_was_left_out() -> None:
    blob = f"before {SECRET} after".encode()
    output = await outcome(EchoTool(replace(an_output(f"x {SECRET}", rest=blob_hash(blob)), blobs=(blob,))))
    clean = b"before [redacted:S] after"
    hint = f'[shortened; the whole output (1 lines) is kept: read it with file_path="blob:{blob_hash(clean)[:12]}"]'
    assert output == ToolOutput(
        ToolResult(
            status=ResultStatus.OK,
            parts=(TextPart(text="x [redacted:S]"), TextPart(text=hint)),
            rest=blob_hash(clean),
        ),
        (clean,),
    )


async def test_an_image_passes_as_it_is() -> None:
    data = b"\x89PNG\r\n\x1a\n" + SECRET.encode()
    image = ImagePart(blob=blob_hash(data), media_type="image/png")
    output = ToolOutput(ToolResult(status=ResultStatus.OK, parts=(image,)), (data,))
    assert await outcome(EchoTool(output)) == output


async def test_more_text_than_the_bound_goes_to_a_blob() -> None:
    whole = "\n".join(f"line {number} é" for number in range(20_000))
    output = await outcome(EchoTool(an_output(whole)))
    assert output.blobs == (whole.encode(),)
    assert output.result.rest == blob_hash(whole.encode())
    shown, hint = output.result.parts
    assert isinstance(shown, TextPart)
    assert isinstance(hint, TextPart)
    assert whole.startswith(shown.text + "\n")
    assert 62 * 1024 < len(shown.text.encode()) <= 63 * 1024
    assert hint.text.startswith("[shortened; the whole output (20000 lines) is kept: read it with file_path=")


async def test_one_endless_line_is_bounded_too() -> None:
    output = await outcome(EchoTool(an_output("é" * 100_000)))
    assert len(output.result.text.encode()) <= 64 * 1024


def a_write(before: bytes | None, after: bytes) -> WriteAnnounced:
    change = FileChange(path="/w/a", before=blob_hash(before) if before is not None else None, after=blob_hash(after))
    return WriteAnnounced(change, blobs=(after,) if before is None else (before, after))


async def test_a_write_passes_with_both_contents() -> None:
    write = a_write(b"old", b"new")
    facts = [
        fact
        async for fact in a_toolbox(EchoTool(write, an_output("done"))).execute(
            a_call("echo", text="hi"), ALLOWED, SCENE
        )
    ]
    assert facts == [write, an_output("done")]


async def test_a_file_that_holds_a_secret_is_not_changed() -> None:
    for write in (a_write(SECRET.encode(), b"new"), a_write(None, SECRET.encode())):
        tool = EchoTool(write, an_output("done"))
        said = "/w/a holds a configured secret: tools do not change it; nothing was written"
        assert (await outcome(tool)).result == told(ResultStatus.ERROR, said)
        assert tool.closed


async def test_a_redactions_mark_never_takes_the_place_of_what_was_hidden() -> None:
    assert (
        await outcome(EchoTool(a_write(b"url = x", b"url = [redacted:password]"), an_output("done")))
    ).result.text == (
        "/w/a would hold '[redacted:...]' where the file has what you were not shown; "
        "use edit on the parts that you were shown; nothing was written"
    )
    documented = b"shown as [redacted:password]"
    assert (await outcome(EchoTool(a_write(documented, documented + b"!"), an_output("done")))).result.text == "done"


async def test_a_cut_off_call_is_unknown_unless_its_tool_knows_better() -> None:
    call = CallState(a_call("echo", text="hi"), started=CallStarted(at=NOW, call_id=CallId("1.1")))
    unknown = await a_toolbox(EchoTool()).recover(call, SCENE)
    assert unknown.status is ResultStatus.UNKNOWN
    known = await a_toolbox(EchoTool(effect=Effect.WRITE)).recover(call, SCENE)
    assert known == told(ResultStatus.OK, "it said [redacted:S]")


async def test_settling_reaches_what_can_be_settled() -> None:
    tool, other = EchoTool(), EchoTool()
    box = LocalToolbox((tool,), redact=str, holds_secret=lambda _: False, settles=(other,))
    await box.settle(SCENE)
    await box.settle(SCENE)
    assert (tool.settled, other.settled, SCENE.run_id) == (2, 2, RUN)
