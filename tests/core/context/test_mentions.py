"""A prompt's mentions are found by how they are written; what only looks like one stays text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.context.mentions import Mention, mentions


def found(prompt: str) -> list[tuple[str, int | None, int | None]]:
    return [(mention.path, mention.first, mention.last) for mention in mentions(prompt)]


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("Read @src/a.py", ("src/a.py", None, None)),
        ("@README.md says it", ("README.md", None, None)),
        ("(see @docs/a.md)", ("docs/a.md", None, None)),
        ("see @docs/a.md.", ("docs/a.md", None, None)),
        ("see @docs/a.md, then", ("docs/a.md", None, None)),
        ("what is in @docs/?", ("docs/", None, None)),
        ("look:@a.md!", ("a.md", None, None)),
        ("请看@a.md。", ("a.md", None, None)),
        ("see @a.md\uff0cthen", ("a.md", None, None)),
        ("@src/a.py:10-40", ("src/a.py", 10, 40)),
        ("@src/a.py:10", ("src/a.py", 10, 10)),
        ("@src/a.py#L10-L40.", ("src/a.py", 10, 40)),
        ("@src/a.py#L10-40", ("src/a.py", 10, 40)),
        ("@src/a.py#L7,", ("src/a.py", 7, 7)),
        ("@src/a.py: it is", ("src/a.py", None, None)),
        ('@"a b.md" is', ("a b.md", None, None)),
        ('@"a b.md":3-4', ("a b.md", 3, 4)),
        ('@"a b.md"#L3', ("a b.md", 3, 3)),
        ('@"a b.md": it', ("a b.md", None, None)),
        ("@src/**/*.py", ("src/**/*.py", None, None)),
        ("@src/{a,b}.py, and", ("src/{a,b}.py", None, None)),
        ("@app/[id]/page.tsx", ("app/[id]/page.tsx", None, None)),
        ("@/srv/shared/a.md", ("/srv/shared/a.md", None, None)),
        ("@node_modules/@types/x.d.ts", ("node_modules/@types/x.d.ts", None, None)),
        ("@notes(1).md", ("notes(1).md", None, None)),
        ("@Makefile", ("Makefile", None, None)),
        ("@.github/", (".github/", None, None)),
    ],
)
def test_a_mention_is_what_stands_behind_the_sign(prompt: str, wanted: tuple[str, int | None, int | None]) -> None:
    assert found(prompt) == [wanted]


@pytest.mark.parametrize(
    "prompt",
    [
        "ask ann@example.org",
        "mailto:ann.b+c@example.org",
        "a @ b",
        "@",
        "@.",
        "@@a.md",
        r"\@a.md",
        "`@a.md` stays",
        "```\n@a.md\n```",
        "~~~\n@a.md\n",
        "@{{ inputs.file }}",
        "@docs/{{ inputs.file }}.md",
        "@app.route('/x')",
        "<@U123>",
        "https://example.org/@ann/a.md",
        '@""',
        '@"a\nb"',
    ],
)
def test_what_is_no_mention_is_not_found(prompt: str) -> None:
    assert found(prompt) == []


@pytest.mark.parametrize(
    ("prompt", "sure"),
    [
        ("@decorator", False),
        ("@pytest.fixture", False),
        ("@scope/package", False),
        ("@ann", False),
        ("@cache(maxsize=3)", False),
        ("@Makefile", False),
        ("@a.md", True),
        ("@src/a.unknown", True),
        ("@docs/", True),
        ("@./x", True),
        ("@/etc/x", True),
        ("@~/x", True),
        ("@../x", True),
        ('@"x"', True),
        ("@x:3", True),
        ("@src/*", True),
        ("@*.md", True),
        ("@[x]", False),
    ],
)
def test_only_what_can_hardly_be_anything_else_is_surely_a_file(prompt: str, sure: bool) -> None:
    assert [mention.sure for mention in mentions(prompt)] == [sure]


def test_several_are_found_in_their_order_and_each_once() -> None:
    prompt = "@b.md and @a.md:1-2, again @b.md, and @a.md"

    assert found(prompt) == [("b.md", None, None), ("a.md", 1, 2), ("a.md", None, None)]


def test_a_mention_keeps_how_it_was_written() -> None:
    assert mentions('@"a b.md":3') == (Mention('@"a b.md":3', "a b.md", 3, 3, sure=True),)
    assert mentions("(@src/a.py#L1-L2)") == (Mention("@src/a.py#L1-L2", "src/a.py", 1, 2, sure=True),)


@given(st.text(alphabet='@ab./*{}[]():,#L1-"`\\ \n~{{', max_size=60))
def test_any_text_can_be_read_and_each_mention_stands_in_it(prompt: str) -> None:
    for mention in mentions(prompt):
        assert mention.text in prompt
        assert mention.path
        assert mention.path in mention.text


def test_a_long_text_is_read_in_no_time() -> None:
    assert len(mentions("@" * 200_000 + " @a.md " + "`" * 200_001 + '@"' * 1000)) <= 1
