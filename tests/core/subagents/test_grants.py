"""Which tools the names of a definition mean, in the ways in which people write them."""

from __future__ import annotations

import pytest

from kova_auto.core.subagents.definition import GRANTABLE
from kova_auto.core.subagents.grants import granted, names_in, refused


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Read, Grep, Glob", ("read", "glob", "grep")),
        ("read grep\n glob", ("read", "glob", "grep")),
        ("MultiEdit, NotebookEdit, Write", ("write", "edit")),
        ("BashOutput, KillShell, TodoWrite, WebFetch, Skill", GRANTABLE[-5:]),
        ("web_fetch, task-output, USE_SKILL", ("task_output", "web_fetch", "use_skill")),
        ("view_file, replace_file_content, write_to_file, grep_search, list_dir", GRANTABLE[1:6]),
        ("Bash(*), LS", ("bash", "glob")),
        ("*", GRANTABLE),
        ("All tools", GRANTABLE),
        ("", ()),
    ],
)
def test_names_of_several_systems_mean_our_tools(text: str, tools: tuple[str, ...]) -> None:
    found = granted(names_in(text))
    assert (found.tools, found.remarks, found.unknown) == (tools, (), ())


@pytest.mark.parametrize(
    ("name", "remark"),
    [
        ("Bash(git diff:*, git log:*)", "bash cannot be held to a part; write it without (…)"),
        ("Edit (docs/**)", "edit cannot be held to a part; write it without (…)"),
        ("Task(worker)", "a subagent dispatches no others"),
        ("WebSearch", "there is no search of the web here"),
        ("AskUserQuestion", "a subagent asks nobody"),
        ("mcp__github__search_code", "no single tool of an MCP server is; mcp__github grants it all"),
    ],
)
def test_what_cannot_be_held_or_is_never_there_grants_nothing(name: str, remark: str) -> None:
    found = granted(names_in(f"Read, {name}"))
    assert (found.tools, found.servers) == (("read",), ())
    assert found.remarks == (f"`{name}` is not granted: {remark}",)


def test_an_unknown_name_is_named_with_the_nearest_one() -> None:
    assert granted(("Wrte", "Frobnicate")).unknown == (
        "there is no tool `Wrte`; did you mean write?",
        "there is no tool `Frobnicate`",
    )


def test_a_whole_mcp_server_is_granted() -> None:
    assert granted(("mcp__github", "mcp__my-db__*")).servers == ("github", "my-db")


def test_a_narrowed_refusal_takes_the_whole_tool() -> None:
    found = refused(("Bash(rm:*)", "Write", "mcp__github__delete", "Task", "Nonsense"))
    assert (found.tools, found.servers) == (("bash", "write"), ("github",))
    assert (found.remarks, found.unknown) == ((), ("there is no tool `nonsense`",))


@pytest.mark.parametrize("text", ["((", "a)b(c", "Bash(", ")", ",,", "Bash(a(b),c)"])
def test_parentheses_that_do_not_match_grant_nothing(text: str) -> None:
    assert granted(names_in(text)).tools == ()
