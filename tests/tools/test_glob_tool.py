"""Which paths a pattern finds, and how they are shown."""

from __future__ import annotations

import os
from pathlib import Path
from shutil import which

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolArgumentsError, ToolError
from kova_auto.core.tool import CallFacts, PathFact, Zone
from kova_auto.tools.glob import GlobArguments, GlobTool, compiled
from kova_auto.tools.ignore import Lister
from kova_auto.tools.wildcard import BadPatternError, compile_wildcard, expand_braces
from tests.tools.tool_scenes import a_call, a_scene, play, put, some_roots

FILES = ("README.md", ".env", ".github/ci.yml", "src/a.py", "src/b.ts", "src/deep/c.py", "src/deep/er/d.py", "x[1].txt")


def a_tool() -> GlobTool:
    roots = some_roots()
    return GlobTool(roots, Lister(roots, which("git")))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    for name in FILES:
        put(made / name, b"")
    return made


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", [".env", ".github/", "README.md", "src/", "x[1].txt"]),
        ("*/", [".github/", "src/"]),
        ("./*.md", ["README.md"]),
        ("**/*.py", ["src/a.py", "src/deep/c.py", "src/deep/er/d.py"]),
        ("src/*.{py,ts}", ["src/a.py", "src/b.ts"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/deep/", "src/deep/c.py", "src/deep/er/", "src/deep/er/d.py"]),
        ("src/**/[cd].py", ["src/deep/c.py", "src/deep/er/d.py"]),
        ("**/deep/**/*.py", ["src/deep/c.py", "src/deep/er/d.py"]),
        ("**/deep", ["src/deep/"]),
        ("?ead*", []),
        ("?EAD*", ["README.md"]),
        ("src/[!a].??", ["src/b.ts"]),
        ("x\\[1\\].txt", ["x[1].txt"]),
        ("{src/a.py,{.env,none}}", [".env", "src/a.py"]),
    ],
)
async def test_a_pattern_finds_what_it_says(workspace: Path, pattern: str, expected: list[str]) -> None:
    done = await play(a_tool(), a_scene(workspace), pattern=pattern)
    assert done.text.split("\n") == (expected or [f"[nothing fits; {len(FILES)} files were looked at]"])


async def test_paths_are_named_so_that_another_tool_finds_them(workspace: Path) -> None:
    below = await play(a_tool(), a_scene(workspace), pattern="*", path="src/deep")
    assert below.text.split("\n") == ["src/deep/c.py", "src/deep/er/"]
    outside = await play(a_tool(), a_scene(workspace / "src"), pattern="*.md", path=str(workspace))
    assert outside.text == f"{workspace}/README.md"


async def test_no_more_than_the_bound_are_shown_and_the_rest_is_counted(workspace: Path) -> None:
    for number in range(230):
        put(workspace / f"many/{number:03}", b"")
    done = await play(a_tool(), a_scene(workspace), pattern="many/*")
    *shown, note = done.text.split("\n")
    assert shown == [f"many/{number:03}" for number in range(200)]
    assert note == "[30 more of 230; narrow the pattern or give a path]"


async def test_an_odd_name_cannot_forge_a_line(workspace: Path) -> None:
    put(workspace / "odd/a\nb\u202e", b"")
    put(workspace / os.fsdecode(b"odd/\xff"), b"")
    done = await play(a_tool(), a_scene(workspace), pattern="odd/*")
    assert done.text.split("\n") == ["odd/a\\nb\\u202e", "odd/\\xff"]


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "src/../*", "[a", "a\\", "{a,b}" * 7])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ToolArgumentsError, match="pattern"):
        compiled(pattern)


@pytest.mark.parametrize(
    ("path", "why"), [("README.md", "one of its components is no directory"), ("none", "there is no none")]
)
async def test_what_is_no_directory_is_refused(workspace: Path, path: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await play(a_tool(), a_scene(workspace), pattern="*", path=path)


async def test_the_facts_name_the_directory(workspace: Path) -> None:
    tool, call = a_tool(), a_call("glob", pattern="*")
    assert await tool.facts(call, GlobArguments(pattern="*"), a_scene(workspace)) == CallFacts(
        call, Effect.READ, paths=(PathFact(str(workspace), Zone.INSIDE, writes=False),)
    )


def test_no_pattern_takes_long_to_fail() -> None:
    name = "a" * 250
    assert not compile_wildcard("*a" * 40 + "b").fullmatch(name)
    assert not compile_wildcard("**/a*" * 20 + "/b").fullmatch("/".join(["aa"] * 100))
    assert compile_wildcard("**/a*" * 20 + "/b").fullmatch("/".join(["aa"] * 100 + ["b"]))


def test_braces_are_expanded_one_by_one() -> None:
    assert expand_braces("a{b,c{d,e}}f\\{g,h}") == ["abf\\{g,h}", "acdf\\{g,h}", "abf\\{g,h}", "acef\\{g,h}"]
    assert expand_braces("{a}") == ["{a}"]
    with pytest.raises(BadPatternError):
        expand_braces("{a,b}" * 10)
