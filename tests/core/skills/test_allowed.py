"""`allowed-tools` is read in every way in which it is published, and means tools by our names."""

from __future__ import annotations

import pytest

from kova_auto.core.skills.allowed import is_among, names_in, tools_of

COMMANDS = ("bash", "task_output", "task_stop")


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("", ()),
        ("Read", ("Read",)),
        ("Read Grep", ("Read", "Grep")),
        ("Read, Grep,Glob", ("Read", "Grep", "Glob")),
        ("Bash(git:*) Read", ("Bash(git:*)", "Read")),
        ("Bash(ddev exec npm:*), Bash(npm run test, lint)", ("Bash(ddev exec npm:*)", "Bash(npm run test, lint)")),
        ("Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh *)", ("Bash(${CLAUDE_SKILL_DIR}/scripts/x.sh *)",)),
        ("Bash (git:*) Read", ("Bash (git:*)", "Read")),
    ],
)
def test_names_are_told_apart_by_blanks_and_commas(written: str, names: tuple[str, ...]) -> None:
    assert names_in(written) == names


@pytest.mark.parametrize(
    ("names", "tools", "unknown"),
    [
        ((), (), ()),
        (("Read", "Bash(git:*)"), ("read", *COMMANDS), ()),
        (("read", "web_fetch", "memory_search"), ("read", "web_fetch", "memory_search"), ()),
        (("LS", "Glob", "MultiEdit", "TodoWrite"), ("glob", "edit", "todo"), ()),
        (("apply_patch", "Bash(*)", "run_shell_command"), ("write", "edit", *COMMANDS), ()),
        (("mcp__github__search", "mcp__db"), ("mcp__github__search", "mcp__db__*"), ()),
        (("WebFetch(domain:example.org)", "AskUserQuestion"), ("web_fetch", "question"), ()),
        (("Read", "WebSearch", "fly"), ("read",), ("WebSearch", "fly")),
        (("Read", "*"), None, ()),
        (("all",), None, ()),
    ],
)
def test_names_mean_tools(names: tuple[str, ...], tools: tuple[str, ...] | None, unknown: tuple[str, ...]) -> None:
    assert tools_of(names) == (tools, unknown)


@pytest.mark.parametrize(
    ("tool", "is_one"),
    [
        ("read", True),
        ("write", False),
        ("mcp", True),
        ("mcp__github__search", True),
        ("mcp__github__delete", False),
        ("mcp__workspace:github__search", True),
        ("mcp__db__anything", True),
        ("mcp__database__anything", False),
    ],
)
def test_tools_of_servers_go_by_their_full_names(tool: str, is_one: bool) -> None:
    assert is_among(tool, ("read", "mcp__github__search", "mcp__db__*")) is is_one


def test_without_a_server_named_the_gateway_is_left_out() -> None:
    assert not is_among("mcp", ("read",))
