"""Definitions in the shapes in which people publish them: each loads, or fails with one clear sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kova_auto.core.subagents.definition import GRANTABLE
from kova_auto.core.subagents.roster import Defined, Shelf
from kova_auto.knowledge.subagents import definitions_at

FILES = Path(__file__).parent / "subagent_files"
SIX = ("bash", "read", "write", "edit", "glob", "grep")
READING = ("read", "glob", "grep")

GOOD: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "api-critic": (SIX, ("5: model: `opus` names no provider",)),
    "archivist": (
        (*READING, "task_output", "task_stop", "use_skill", "todo"),
        (
            " name: wanted a name, found none: it is archivist, as its file",
            "5: temperature: is not obeyed: that is left to the provider",
            "10: permission: bash: rules for a part of it cannot be kept; it is not granted",
        ),
    ),
    "citation-checker": (
        READING,
        (
            "6: tools: `mcp__tickets__create` is not granted: no single tool of an MCP server is; mcp__tickets grants",
            "9: effort: is not obeyed",
        ),
    ),
    "code-reviewer-v2-1": (READING, ("2: name: wanted a name of letters, digits, - and _: it is known as",)),
    "dependency-watch": (READING, ()),
    "diff-guard": (
        ("read", "grep"),
        (
            "4: tools: `Bash(git diff:*)` is not granted: bash cannot be held to a part",
            "4: tools: `Bash(git log:*)` is not granted: bash cannot be held to a part",
            "4: tools: `WebSearch` is not granted: there is no search of the web here",
            "4: tools: `Task(helper)` is not granted: a subagent dispatches no others",
        ),
    ),
    "flash-executor": (SIX[1:], ("5: model: `flash` names no provider",)),
    "front-desk": (
        SIX,
        (
            "6: permissionMode: is not obeyed: a subagent may do what its parent may, and no more",
            "7: model: `sonnet` names no provider",
            "18: hooks: is not obeyed: nothing is run",
            "24: memory: is not obeyed: a subagent keeps no notes of its own",
        ),
    ),
    "incident-scribe": (GRANTABLE, ("4: model: `haiku` names no provider",)),
    "planner": (
        (*READING, "todo"),
        (
            "4: tools: `AskUserQuestion` is not granted: a subagent asks nobody",
            "5: model: `claude-sonnet-4-6` names no provider",
            "9: isolation: is not obeyed: it works where its parent works",
            "11: when_to_use: this key is not known, and means nothing",
        ),
    ),
    "release-notes": (
        ("bash", "read", "write", "glob"),
        ("4: knowledge: is not obeyed: there are no knowledge bases here", "7: memory: is not obeyed"),
    ),
    "swallowed-errors": (GRANTABLE, ("3: description: wanted a value in quotes",)),
    "tabbed": (
        ("read", "grep"),
        (
            "3: description: wanted a value in quotes",
            "5: wanted spaces before the text, found a tab",
            "6: wanted spaces before the text, found a tab",
        ),
    ),
}
BROKEN: Mapping[str, str] = {
    "askew": "4: found a second colon in the line (put the value in quotes)",
    "empty": " wanted a prompt below the front matter, found none",
    "endless": "4: maxTurns: wanted a whole number from 1 to 1000, found `unlimited`",
    "laughs": "2: wanted a value, found an anchor or alias (& or *) (write the value out, or put it in quotes)",
    "listed": "1: wanted keys with values, found something else (write each as `name: value`)",
    "no-prompt": " prompt: wanted a prompt, found none",
    "no-tools": f" tools: wanted the tools that it may use, found none; there are {', '.join(GRANTABLE)}",
    "odd-tools": "4: tools: grants nothing: there is no tool `Frobnicate`; there are " + ", ".join(GRANTABLE),
    "only-git": "4: tools: grants nothing: `Bash(git:*)` is not granted: bash cannot be held to a part; "
    f"write it without (…); there are {', '.join(GRANTABLE)}",
    "open-ended": "6: wanted a line of --- that ends the front matter, found none (write it below the last key)",
    "plain-prompt": "1: wanted front matter, found no --- in the first line (begin with ---, the keys, and --- again)",
    "silent": " description: wanted a sentence that says when to use it, found none",
    "twice": "4: description: stands twice, first in line 3 (take one of them out)",
}


@pytest.fixture(scope="module")
def good() -> Shelf:
    return definitions_at(FILES / "good")


@pytest.fixture(scope="module")
def broken() -> Shelf:
    return definitions_at(FILES / "broken")


def sentences(found: Defined) -> list[str]:
    return [problem.sentence.removeprefix(f"{found.agent.path}:") for problem in found.problems]


def test_every_file_is_expected_to_be_what_it_is(good: Shelf, broken: Shelf) -> None:
    assert ([found.agent.name for found in good.defined], good.broken, good.problems) == (sorted(GOOD), (), ())
    assert ([found.name for found in broken.broken], broken.defined, broken.problems) == (sorted(BROKEN), (), ())


@pytest.mark.parametrize("name", GOOD)
def test_what_others_publish_loads(good: Shelf, name: str) -> None:
    (found,) = (found for found in good.defined if found.agent.name == name)
    tools, problems = GOOD[name]
    assert found.agent.tools == tools
    said = sentences(found)
    assert [sentence[: len(problem)] for sentence, problem in zip(said, problems, strict=True)] == list(problems)
    assert found.agent.prompt
    assert len(found.agent.summary.splitlines()) == 1


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_fails_with_one_sentence(broken: Shelf, name: str) -> None:
    (found,) = (found for found in broken.broken if found.name == name)
    (problem,) = found.problem.problems
    assert problem.sentence.split(Path(problem.path).name + ":", 1)[1] == BROKEN[name]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(good: Shelf, tmp_path: Path) -> None:
    for file in sorted((FILES / "good").iterdir()):
        (tmp_path / file.name).write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    there = definitions_at(tmp_path)
    assert [found.agent.but(path="") for found in there.defined] == [found.agent.but(path="") for found in good.defined]


def test_a_file_that_is_no_utf_8_fails_likewise(tmp_path: Path) -> None:
    (tmp_path / "bytes.md").write_bytes(b"---\nname: bytes\ndescription: Is Latin-1 \xe9\n---\nOui.\n")
    (found,) = definitions_at(tmp_path).broken
    assert found.problem.message == "wanted text in UTF-8, found byte 0xe9 at 40"


def test_what_the_shapes_say_besides_their_tools_counts(good: Shelf) -> None:
    agents = {found.agent.name: found.agent for found in good.defined}
    watch, desk = agents["dependency-watch"], agents["front-desk"]
    assert (watch.model, watch.max_turns, watch.skills) == ("anthropic/claude-sonnet-4-5", 25, ("release-notes",))
    assert (watch.servers, agents["citation-checker"].servers) == (("registry",), ("corpus", "notes"))
    assert (desk.max_turns, desk.skills) == (30, ("code-style", "page-patterns"))
    assert agents["swallowed-errors"].summary.endswith("It should be called after such code was written.")
    assert "---\nSay which are not used" in watch.prompt
