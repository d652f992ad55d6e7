"""What a search finds, by ripgrep and by ourselves."""

from __future__ import annotations

import asyncio
from asyncio import run
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolArgumentsError, ToolError
from kova_auto.core.tool import CallFacts, PathFact, Zone
from kova_auto.tools.dialect import common_dialect
from kova_auto.tools.grep import GrepArguments, GrepTool
from kova_auto.tools.ignore import Lister
from kova_auto.tools.search import Answer, Engine, Lines, Question, own_engine, ripgrep
from tests.tools.tool_scenes import a_call, a_scene, play, put, some_roots

RG = ripgrep(which("rg") or "rg")
ENGINES = pytest.mark.parametrize("engine", [RG, own_engine()], ids=["ripgrep", "our own"])


def a_tool(engine: Engine) -> GrepTool:
    roots = some_roots()
    return GrepTool(roots, Lister(roots, which("git")), engine)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    put(made / "a.py", b"import os\n\ndef main() -> None:\n    print('one')\n    # TODO: two\n")
    put(made / "src/b.ts", b"// todo three\r\nexport {}\r\n")
    put(made / "notes.txt", "\ufeffTODO grün\n".encode("utf-16-le"))
    put(made / "bin", b"TODO\0")
    put(made / "src/node.log", b"TODO ignored\n")
    put(made / ".gitignore", b"*.log\n")
    return made


async def grep(workspace: Path, engine: Engine, **args: str | int) -> list[str]:
    return (await play(a_tool(engine), a_scene(workspace), **args)).text.split("\n")


@ENGINES
@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"pattern": "TODO"}, ["a.py:5:    # TODO: two", "notes.txt:1:TODO grün"]),
        (
            {"pattern": "todo", "case": "ignore"},
            ["a.py:5:    # TODO: two", "notes.txt:1:TODO grün", "src/b.ts:1:// todo three"],
        ),
        ({"pattern": "todo", "case": "ignore", "include": "*.ts"}, ["src/b.ts:1:// todo three"]),
        ({"pattern": "exp", "include": "src/*.{ts,js}"}, ["src/b.ts:2:export {}"]),
        ({"pattern": "three$", "path": "src"}, ["src/b.ts:1:// todo three"]),
        ({"pattern": "^$"}, ["a.py:2:"]),
        ({"pattern": "TODO", "path": "src/node.log"}, ["src/node.log:1:TODO ignored"]),
        ({"pattern": "def", "context": 1}, ["a.py-2-", "a.py:3:def main() -> None:", "a.py-4-    print('one')"]),
        ({"pattern": "import|two", "context": 1}, [
            "a.py:1:import os", "a.py-2-", "--", "a.py-4-    print('one')", "a.py:5:    # TODO: two",
        ]),
        ({"pattern": "main() {"}, ["[no line matches; 4 files were searched]"]),
        ({"pattern": "gr.n"}, ["notes.txt:1:TODO grün"]),
        ({"pattern": "-v"}, ["[no line matches; 4 files were searched]"]),
    ],
)  # fmt: skip
async def test_a_search_finds_the_lines(
    workspace: Path, engine: Engine, args: dict[str, str | int], expected: list[str]
) -> None:
    assert await grep(workspace, engine, **args) == expected


@ENGINES
async def test_no_more_than_the_bound_are_shown(workspace: Path, engine: Engine) -> None:
    for number in range(130):
        put(workspace / f"many/{number:03}", b"needle\nneedle\n")
    shown = await grep(workspace, engine, pattern="needle")
    assert shown == [
        *(f"many/{number:03}:{line}:needle" for number in range(100) for line in (1, 2)),
        "[there are more than 200 matches; narrow the pattern, the path or `include`]",
    ]


@ENGINES
async def test_many_files_are_searched_in_turn(workspace: Path, engine: Engine) -> None:
    for number in range(12):
        put(workspace / f"many/{number:02}", b"%d\n" % number + b"x" * 1_500_000)
    assert await grep(workspace, engine, pattern="^(7|11)$") == ["many/07:1:7", "many/11:1:11"]


@ENGINES
async def test_a_long_line_is_cut_and_a_large_file_passed_over(workspace: Path, engine: Engine) -> None:
    put(workspace / "long", b"needle" + b"x" * 1000)
    put(workspace / "large", b"needle\n" * 400_000)
    assert await grep(workspace, engine, pattern="needle") == [
        f"long:1:needle{'x' * 394}[... 606 more characters]",
        "[1 files over 2097152 bytes were not searched]",
    ]


@ENGINES
async def test_links_are_not_followed(workspace: Path, engine: Engine) -> None:
    put(workspace.parent / "out/secret", b"needle\n")
    (workspace / "link").symlink_to("../out/secret")
    (workspace / "dir").symlink_to("../out")
    assert await grep(workspace, engine, pattern="needle") == ["[no line matches; 4 files were searched]"]


@ENGINES
async def test_a_named_file_that_cannot_be_searched_is_refused(workspace: Path, engine: Engine) -> None:
    put(workspace / "large", b"needle\n" * 400_000)
    for path, why in (("bin", "bin is a binary file"), ("large", "at most 2097152"), ("none", "there is no none")):
        with pytest.raises(ToolError, match=why):
            await grep(workspace, engine, pattern="TODO", path=path)


async def test_a_pattern_that_takes_for_ever_is_ended(workspace: Path) -> None:
    put(workspace / "a", b"needle\n")
    put(workspace / "evil", b"x" * 40 + b"!\n")
    roots = some_roots()
    tool = GrepTool(roots, Lister(roots, None), own_engine(), seconds=2.0)
    done = await asyncio.wait_for(play(tool, a_scene(workspace), pattern="needle|(x+x+)+y"), timeout=60)
    assert done.text.split("\n") == [
        "a:1:needle",
        "[stopped: it took too long; narrow the pattern, the path or `include`]",
    ]


async def test_the_facts_name_what_is_searched(workspace: Path) -> None:
    tool, call = a_tool(RG), a_call("grep", pattern="x", path="/etc")
    assert await tool.facts(call, GrepArguments(pattern="x", path="/etc"), a_scene(workspace)) == CallFacts(
        call, Effect.READ, paths=(PathFact("/etc", Zone.ELSEWHERE, writes=False),)
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"a\.b", r"a\.b"),
        (r"\"\/\ ", '"/ '),
        ("f() {", r"f() \{"),
        ("a{2}b{3,}c{,4}d{x", r"a{2}b{3,}c{0,4}d\{x"),
        ("^a$", r"^a(?:\r?$)"),
        ("(?<name>a)", "(?P<name>a)"),
        ("[[:alpha:]_]", "[A-Za-z_]"),
        ("[]a]", r"[\]a]"),
        ("[^]a[&]", r"[^\]a\[\&]"),
        (r"[\w.-]", r"[\w.-]"),
        ("(?i)A", "(?i)A"),
        (r"\x41\u00e9", r"\x41\u00e9"),
    ],
)
def test_a_pattern_is_written_so_that_there_is_one_reading(pattern: str, expected: str) -> None:
    assert common_dialect(pattern) == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)", "(?<!a)", "(?>a)", r"(a)\1", r"\0", r"\p{L}", r"\<a", r"\Z", "a++", "a**", "a{2}{3}", "a{2000}",
        "a\nb", r"a\nb", r"a\B", "[a", "(a", "a)", "*a", "[z-a]", "(?s)a", "(?P=a)", "[a--b]", "[[:nope:]]", "a???",
        "x" * 1001,
    ],
)  # fmt: skip
def test_what_the_two_would_read_differently_is_refused(pattern: str) -> None:
    with pytest.raises(ToolArgumentsError, match="pattern"):
        common_dialect(pattern)


async def test_a_pattern_too_large_for_the_program_is_refused() -> None:
    with pytest.raises(ToolArgumentsError, match="cannot be searched for"):
        await RG.search(Question(r"(\w{900}){900}", ignore_case=False, most=1), [Lines.of("a")], seconds=60)


ATOMS = st.sampled_from(
    ["a", "b", "É", "é", "ß", "_", " ", ".", r"\.", r"\d", r"\w", r"\s", r"\W", "[ab]", "[^a]", "[a-c_]", r"[\d-]", "$",
     "^", r"\b", "(a|b)", "(?:ab)", "(?i:a)", "{", "}", "]", "&", "[[:upper:]]", "[]a]", "#", "()", "|"]
)  # fmt: skip
QUANTIFIERS = st.sampled_from(["", "", "", "*", "+", "?", "*?", "{2}", "{1,}", "{,2}"])
PATTERNS = st.lists(st.tuples(ATOMS, QUANTIFIERS).map("".join), min_size=1, max_size=4).map("".join)
TEXTS = st.lists(
    st.text(alphabet="abcAB0_-. \tÉéß漢{}[]&#\r\0", max_size=8), max_size=5
).map("\n".join) | st.sampled_from(["", "\n", "a\r\n\r\nb\r\n", "a\n\n"])  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(pattern=PATTERNS, texts=st.lists(TEXTS, min_size=1, max_size=4), ignore_case=st.booleans())
def test_both_engines_find_the_same_lines(pattern: str, texts: list[str], ignore_case: bool) -> None:
    try:
        written = common_dialect(pattern)
    except ToolArgumentsError:
        return
    question = Question(written, ignore_case, most=3)
    assert run(_answer(RG, question, texts)) == run(_answer(own_engine(), question, texts))


TREES = st.dictionaries(
    st.sampled_from(["a", "b.py", "d/c.py", "d/e/f", ".g", "x.log", "bin"]),
    st.binary(max_size=12) | TEXTS.map(str.encode) | TEXTS.map(lambda text: ("\ufeff" + text).encode("utf-16")),
    max_size=5,
)


@example(tree={"bin": b"a\0"}, pattern="a", include="bin", context=0)
@example(tree={"a": b"\xff\xfe\xff\xfe"}, pattern="a*", include=None, context=0)
@settings(max_examples=30, deadline=None)
@given(tree=TREES, pattern=PATTERNS, include=st.sampled_from([None, "*.py", "d/**"]), context=st.integers(0, 2))
def test_both_engines_give_the_same_answer_for_a_tree(
    tree: dict[str, bytes], pattern: str, include: str | None, context: int
) -> None:
    with TemporaryDirectory() as name:
        workspace = put(Path(name).resolve() / "W/.gitignore", b"*.log\n").parent
        for path, data in tree.items():
            put(workspace / path, data)
        told = [run(_told(workspace, engine, pattern, include, context)) for engine in (RG, own_engine())]
    assert told[0] == told[1]


async def _told(workspace: Path, engine: Engine, pattern: str, include: str | None, context: int) -> str:
    try:
        done = await play(a_tool(engine), a_scene(workspace), pattern=pattern, include=include, context=context)
    except ToolArgumentsError as exc:
        return str(exc)
    return done.text


async def _answer(engine: Engine, question: Question, texts: Sequence[str]) -> Answer:
    return await engine.search(question, [Lines.of(text) for text in texts], seconds=60)
