"""A played script: which turn is next, what it says, and when it does not fit."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ScriptMismatchError
from kova_auto.core.ids import call_id
from kova_auto.core.message import (
    AssistantMessage,
    Message,
    ModelReply,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.script import Script, parse_script
from kova_auto.llm.scripted import play
from tests.llm.chat_stream import PROMPT, asked

SCRIPT = """
[[turns]]
expect = "Look"
text = "Turn {{ turn }}: {{ prompt }}"
[[turns.calls]]
id = "files"
tool = "glob"
args = { pattern = "*.md" }

[[turns]]
text = "{{ results.files.line_count }} files."
[[turns.calls]]
id = "each"
tool = "read"
args = { path = "{{ item }}", limit = "{{ index }}" }
each = "{{ results.files.lines }}"
when = "{{ item != 'skip.md' }}"

[[turns]]
expect = ["one", "two"]
text = "{{ results.each | map(attribute='text') | join(', ') }}"
"""


def script(text: str = SCRIPT) -> Script:
    return parse_script(text, "jobs/a.script.toml")


def after(reply: ModelReply, *results: str | tuple[ResultStatus, str], iteration: int = 1) -> tuple[Message, ...]:
    """Return what a conversation holds after a reply and the results of its calls."""
    made = [ToolCall(id=call_id(iteration, at), **dict(ask)) for at, ask in enumerate(reply.calls, 1)]
    told = [(ResultStatus.OK, result) if isinstance(result, str) else result for result in results]
    return (
        AssistantMessage(text=reply.text, calls=tuple(made)),
        *(
            ToolMessage(call=call, status=status, parts=(TextPart(text=text),))
            for call, (status, text) in zip(made, told, strict=True)
        ),
    )


def mismatch(text: str, *messages: Message) -> str:
    with pytest.raises(ScriptMismatchError) as caught:
        play(script(text), (PROMPT, *messages))
    assert not caught.value.retryable
    return str(caught.value)


def test_a_conversation_is_played_from_what_really_came_back() -> None:
    first = play(script(), (PROMPT,))
    assert first == ModelReply(
        text="Turn 1: Look around.",
        calls=(asked("glob", "files", pattern="*.md"),),
        stop=StopReason.TOOL_CALLS,
        usage=Usage(cost_usd=0.0),
        model="scripted/a",
    )
    so_far = (PROMPT, *after(first, "a.md\nskip.md\nb.md"))
    second = play(script(), so_far)
    assert (second.text, second.calls) == (
        "3 files.",
        (asked("read", "each.1", path="a.md", limit=1), asked("read", "each.3", path="b.md", limit=3)),
    )
    third = play(script(), (*so_far, *after(second, "one", "two", iteration=2)))
    assert (third.text, third.calls, third.stop) == ("one, two", (), StopReason.END)


def test_the_same_conversation_always_gets_the_same_turn() -> None:
    so_far = (PROMPT, *after(play(script(), (PROMPT,)), "a.md"))
    assert play(script(), so_far) == play(script(), so_far)


def test_another_result_gives_another_reply() -> None:
    first = play(script(), (PROMPT,))
    assert [play(script(), (PROMPT, *after(first, files))).text for files in ("a\nb", "")] == ["2 files.", "0 files."]


def test_a_script_that_is_over_does_not_go_on() -> None:
    said = mismatch("[[turns]]\ntext = 'Done.'", AssistantMessage(text="Done."), UserMessage(parts=()))
    assert said == "jobs/a.script.toml: turn 2: the script ends after 1 turns, and the run goes on"


def test_a_prompt_that_is_not_the_expected_one_stops_the_run() -> None:
    said = mismatch("[[turns]]\nexpect = 'Deploy'\ntext = 'Done.'")
    assert said == (
        "jobs/a.script.toml:2: turn 1, expect: wanted 'Deploy' in what the model was told, found 'Look around.'"
    )


def test_results_that_are_not_the_expected_ones_stop_the_run() -> None:
    text = "[[turns]]\n[[turns.calls]]\ntool = 't'\n[[turns]]\nexpect = 'Look'\ntext = 'Done.'"
    first = play(script(text), (PROMPT,))
    assert "wanted 'Look' in what the model was told, found 'no" in mismatch(text, *after(first, "no" * 999))


def test_a_template_that_asks_for_what_is_not_there_stops_the_run() -> None:
    text = "[[turns]]\n[[turns.calls]]\ntool = 't'\nid = 'a'\nargs = { n = '{{ results.b.ok }}' }"
    said = "jobs/a.script.toml:5: turn 1, calls[0].args: there is no result 'b' at this turn (there: none yet)"
    assert mismatch(text) == said


@pytest.mark.parametrize(
    ("each", "said"),
    [
        ('"{{ prompt }}"', "wanted a list, found 'Look around.'"),
        ('"{{ 7 }}"', "wanted a list, found '7'"),
        ('"{{ range(101) | list }}"', "wanted at most 100 items, found 101: take some of them, as in [:10]"),
    ],
)
def test_each_wants_a_list_that_is_not_too_long(each: str, said: str) -> None:
    assert mismatch(f"[[turns]]\n[[turns.calls]]\ntool = 't'\neach = {each}").endswith(f"calls[0].each: {said}")


def test_each_over_nothing_makes_no_call_and_has_no_results() -> None:
    text = """
[[turns]]
text = "Nothing to do."
[[turns.calls]]
id = "each"
tool = "t"
each = []
[[turns]]
text = "{{ results.each | length }}"
"""
    first = play(script(text), (PROMPT,))
    assert (first.calls, first.stop) == ((), StopReason.END)
    assert play(script(text), (PROMPT, AssistantMessage(text="x"), UserMessage(parts=()))).text == "0"


def test_a_list_of_templates_can_be_gone_through() -> None:
    text = "[[turns]]\n[[turns.calls]]\ntool = 't'\neach = ['a', '{{ turn }}']\nargs = { x = '{{ item }}' }"
    assert play(script(text), (PROMPT,)).calls == (asked("t", "t_1.1", x="a"), asked("t", "t_1.2", x=1))


@pytest.mark.parametrize(
    ("when", "made"), [("true", 1), ("false", 0), ("'{{ turn == 1 }}'", 1), ("'{{ turn == 2 }}'", 0)]
)
def test_a_call_is_made_only_when_its_condition_holds(when: str, made: int) -> None:
    reply = play(script(f"[[turns]]\ntext = 'x'\n[[turns.calls]]\ntool = 't'\nwhen = {when}"), (PROMPT,))
    assert (len(reply.calls), reply.stop) == (made, StopReason.TOOL_CALLS if made else StopReason.END)


def test_results_say_what_became_of_their_call() -> None:
    text = """
[[turns]]
[[turns.calls]]
id = "a"
tool = "write"
[[turns.calls]]
id = "b"
tool = "bash"
[[turns]]
text = "{{ results.a.denied }} {{ results.a.error }} | {{ results.b.ok }} {{ results.b.exit_code }}"
"""
    first = play(script(text), (PROMPT,))
    results = ((ResultStatus.DENIED, "not allowed"), (ResultStatus.ERROR, "boom\n[exit code 2]"))
    assert play(script(text), (PROMPT, *after(first, *results))).text == "True not allowed | False 2"


def test_a_turn_may_end_as_models_end_and_write_arguments_as_models_do() -> None:
    text = "[[turns]]\ntext = 'Half'\nstop = 'length'\n[[turns.calls]]\ntool = 'write'\nunparsed = '{\"path\": \"a'"
    reply = play(script(text), (PROMPT,))
    assert (reply.stop, reply.calls) == (StopReason.LENGTH, (asked("write", "write_1", unparsed='{"path": "a'),))
