"""`allowed-tools` is read in every way in which it is published, and means tools by our names."""

from __future__ import annotations

import pytest

from kova_auto.core.skills.allowed import names_in, tools_of

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
        ("Bash(git:* Read", ("Bash", "git:*", "Read")),
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
        (("WebFetch(domain:example.org)", "AskUserQuestion"), ("web_fetch", "question"), ()),
        (("Read", "WebSearch", "fly"), ("read",), ("WebSearch", "fly")),
        (("Read", "*"), None, ()),
    ],
)
def test_names_mean_tools(names: tuple[str, ...], tools: tuple[str, ...] | None, unknown: tuple[str, ...]) -> None:
    assert tools_of(names) == (tools, unknown)
