"""Script files: what is read, and what is said about a wrong one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.script import Script, ScriptCall, ScriptTurn, parse_script, scripted_name


def problems(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_script(text, "a.script.toml")
    return [problem.sentence.removeprefix("a.script.toml") for problem in caught.value.problems]


def test_a_script_is_its_turns() -> None:
    text = """
description = "Two turns"

[[turns]]
expect = "Look"
text = "Hm."
calls = [{ id = "readme", tool = "read", args = { path = "README.md", limit = 3 } }, { tool = "todo" }]

[[turns]]
expect = ["a", "b"]
text = "Done."
stop = "length"
[[turns.calls]]
tool = "todo"
when = "{{ results.readme.ok }}"
[[turns.calls]]
tool = "mcp__a-b"
each = ["x"]
unparsed = "{"
"""
    script = parse_script(text, "jobs/a.script.toml")
    assert script.model_copy(update={"lines": {}}) == Script(
        path="jobs/a.script.toml",
        description="Two turns",
        turns=(
            ScriptTurn(
                expect=("Look",),
                text="Hm.",
                calls=(
                    ScriptCall(id="readme", tool="read", args={"path": "README.md", "limit": 3}),
                    ScriptCall(id="todo_1", tool="todo"),
                ),
            ),
            ScriptTurn(
                expect=("a", "b"),
                text="Done.",
                calls=(
                    ScriptCall(id="todo_2", tool="todo", when="{{ results.readme.ok }}"),
                    ScriptCall(id="mcp__a_b_1", tool="mcp__a-b", each=["x"], unparsed="{"),
                ),
                stop=StopReason.LENGTH,
            ),
        ),
    )
    assert (script.line_of(0), script.line_of(1, "text"), script.line_of(1, "calls[1].each")) == (4, 11, 18)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("turns = ", [":1: wanted TOML: invalid value"]),
        ("", [": turns: wanted a value, found none"]),
        ("turns = []", [":1: turns: wanted at least one turn, found none"]),
        ("turns = 1", [":1: turns: wanted a list, found 1"]),
        ("[[turns]]\ntex = 'a'", [":2: turns[0].tex: unknown key (did you mean text?)"]),
        ("[[turns]]\n", [':1: turns[0]: wanted text or calls, found neither; an empty reply is text = ""']),
        (
            "[[turns]]\ntext = 7\nstop = 'never'",
            [
                ":2: turns[0].text: wanted text, found 7",
                ':3: turns[0].stop: wanted "end", "tool_calls", "length", "refused" or "paused", found "never"',
            ],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntol = 'read'",
            [
                ":2: turns[0].calls[0].tool: wanted a value, found none",
                ":3: turns[0].calls[0].tol: unknown key (did you mean tool?)",
            ],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntool = 't'\nid = 'a-b'",
            [":4: turns[0].calls[0].id: wanted letters, digits and _, as templates write results.NAME; found 'a-b'"],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntool = 't'\nid = 'a'\n[[turns]]\n[[turns.calls]]\ntool = 't'\nid = 'a'",
            [":8: turns[1].calls[0].id: two calls are called 'a': later templates could not tell their results apart"],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntool = 't'\nargs = { a = 1 }\nunparsed = '{'",
            [":2: turns[0].calls[0]: wanted args or unparsed, found both"],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntool = 't'\nwhen = 3",
            [":4: turns[0].calls[0].when: wanted true or false or text, found 3"],
        ),
        (
            "[[turns]]\n[[turns.calls]]\ntool = 't'\neach = 3",
            [":4: turns[0].calls[0].each: wanted text or a list, found 3"],
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, said: list[str]) -> None:
    assert problems(text) == said


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("jobs/repo-digest.script.toml", "scripted/repo-digest"),
        ("a.toml", "scripted/a"),
        ("a", "scripted/a"),
        ("", "scripted/script"),
    ],
)
def test_a_script_names_the_model_that_it_plays(path: str, name: str) -> None:
    assert scripted_name(path) == name


def test_a_call_without_a_name_gets_one_that_is_free() -> None:
    calls = "".join(
        f"[[turns.calls]]\n{line}\n" for line in ("tool='a-b'", "tool='a_b'\nid='a_b_2'", "tool='a_b'", "tool='c'")
    )
    (turn,) = parse_script(f"[[turns]]\n{calls}", "a").turns
    assert [call.id for call in turn.calls] == ["a_b_1", "a_b_2", "a_b_3", "c_1"]


def test_checking_and_choosing_import_nothing_heavy() -> None:
    code = (
        "import sys\nimport kova_auto.llm.script, kova_auto.llm.catalog, kova_auto.core.provider\n"
        "print(sorted({'httpx', 'jinja2', 'tomli_w', 'ssl'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
