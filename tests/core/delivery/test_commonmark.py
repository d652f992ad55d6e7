"""A model's Markdown in other Markdown: a receiver reads it as meant, and it can call nobody."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.markdown import Preformatted, parse
from kova_auto.core.delivery.limits import Unit
from kova_auto.core.delivery.text import clean

PLAIN = Dialect()
NO_BACKSLASH = Dialect(backslash=False, autolinks=False)
BARE = Dialect(bold="", italic="", strike="", code=False, fences=False, backslash=False, links=False, autolinks=False)
BYTES = Dialect(unit=Unit.BYTES)
DIALECTS = [PLAIN, NO_BACKSLASH, BARE, BYTES, Dialect(newline="  \n")]


def written(markdown: str, dialect: Dialect = PLAIN, limit: int = 3000) -> list[str]:
    return dialect.pack(parse(markdown), limit)


@pytest.mark.parametrize(
    ("markdown", "as_written"),
    [
        ("plain", "plain"),
        ("**bold** *it* ~~no~~ `code`", "**bold** *it* ~~no~~ `code`"),
        ("***both***", "***both***"),
        ("**a\nb**", "**a**\n**b**"),
        ("**a**_b_", "**a**\u200b*b*"),
        ("# Title", "**Title**"),
        ("- a\n- b\n  - c\n\nafter", "• a\n• b\n\u2003• c\n\nafter"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> said\n> so", "> said\n> so"),
        ("\\# no title\n\\- no list\n\\> no quote", "\\# no title\n\\- no list\n\\> no quote"),
        ("in 1986\\. It", "in 1986. It"),
        ("1986\\. It", "1986\\. It"),
        ("0.5 USD", "0.5 USD"),
        ("&#32;    x", "x"),
        ("2 * 3 * snake_case [x]", "2 \\* 3 \\* snake\\_case \\[x\\]"),
        ("```py\na < b & c\n```", "```\na < b & c\n```"),
        ("````\n```\n@here\n````", "```\n``\u200b`\n@\u200bhere\n```"),
        ("|a|bb|\n|-|-|\n|111|2|", "```\na    bb\n---  --\n111  2\n```"),
        ("[label](https://e.org/?a=b&c=d)", "[label](https://e.org/?a=b&c=d)"),
        ("[a](https://e.org/x_(y)*)", "[a](https://e.org/x_%28y%29%2A)"),
        ("**[label](https://e.org)**", "**[label](https://e.org)**"),
        ("[a|b](https://e.org)", "[a\\|b](https://e.org)"),
        ("<https://e.org>", "<https://e.org>"),
        ("https://e.org/@bob/a_b?c=d.", "<https://e.org/%40bob/a_b?c=d>."),
        ("https://bank.com@evil.org", "https://bank.com@evil.org"),
        ("(https://e.org), https://", "(<https://e.org>), https://"),
        ("see https://e.org/a_b.", "see <https://e.org/a_b>."),
        ("[bank.com](https://evil.org)", "[bank.com](https://evil.org) (evil.org)"),
        ("<a@e.org>", "a@e.org"),
        ("[write](mailto:a@e.org)", "write (a@e.org)"),
        ("[x](javascript:alert)", "\\[x\\](javascript:alert)"),
        ("<b>hi</b> &lt;i>", "<\u200bb>hi<\u200b/b> <\u200bi>"),
        ("&amp;lt;", "&\u200blt;"),
        ("@everyone @bob a@b.org", "@\u200beveryone @\u200bbob a@b.org"),
        ("<@1> <!channel>", "<\u200b@\u200b1> <\u200b!channel>"),
        ("``a`b``", "``a`b``"),
        ("```a``b```", "a\\`\\`b"),
        ("`` `a` ``", "`` `a` ``"),
        ("`@property`, `@here`", "`@property`, `@\u200bhere`"),
        ("\\![a](https://e.org)", "!\u200b[a](https://e.org)"),
        ("||spoiler||", "\\|\\|spoiler\\|\\|"),
    ],
)  # fmt: skip
def test_markdown_is_written_as_meant(markdown: str, as_written: str) -> None:
    assert written(markdown) == [as_written]


@pytest.mark.parametrize(
    ("markdown", "as_written"),
    [
        ("**bold** *it* `code`", "bold it code"),
        ("\\[a](https://e.org)", "[a]\u200b(https://e.org)"),
        ("[a](https://e.org)", "a (https://e.org)"),
        ("<https://e.org>", "https://e.org"),
        ("\\# x", "\u200b# x"),
        ("```\na\n\nb\n```", "a\n\nb"),
    ],
)
def test_a_receiver_that_knows_no_marks_gets_none(markdown: str, as_written: str) -> None:
    assert written(markdown, BARE) == [as_written]


def test_code_is_code_line_by_line_where_there_are_no_blocks() -> None:
    assert written("```\na\n\nb\n```", Dialect(fences=False)) == ["`a`\n\n`b`"]


PIECES = st.sampled_from(
    ["**", "*", "_", "~~", "`", "```\n", "~~~\n", "\n", "\n\n", "- ", "1. ", "> ", "# ", "<!channel>",
     "<@U1>", "<#@here>", "@here", "@bob", "<users/all>", "<at id=all>", "[", "](http://x)",
     "](<http://x>)", "<http://x>", "<a@b.c>",
     "&lt;", "&", "|", "|-|\n", "\\", "(", ")", " ", "word", "日本", "🇩🇪", "![i](http://i)", "<b>", "[r]: http://r\n",
     "https://e.org/a_b", "===\n", "---\n", "+ ", "    ", "\u00a0", "&#32;"]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=60).map("".join)
CALLS = re.compile(r"@(?:all|here|channel|everyone)\b|<(?:[@#]|!channel|users/|at )", re.IGNORECASE)
NAMES = re.compile(r"(?<![A-Za-z0-9/])@bob")
CODE = re.compile(r"(?s)(?<!\\)(`+)(?!`).*?(?<!`)\1(?!`)")
FENCED = re.compile(r"(?s)```\n.*?\n```")


@given(TEXTS, st.sampled_from(DIALECTS), st.integers(min_value=150, max_value=400))
@example("`@here", PLAIN, 150)
@example("`@bob` @bob\n```\n@bob", NO_BACKSLASH, 150)
def test_nobody_is_called_and_no_piece_is_too_long(markdown: str, dialect: Dialect, limit: int) -> None:
    for text in written(clean(markdown), dialect, limit):
        assert not CALLS.search(text)
        assert not NAMES.search((CODE if dialect.backslash else FENCED).sub("", text))
        assert dialect.unit.size(text) <= limit
        assert text.count("\n```\n") + text.startswith("```\n") <= 2 * text.count("\n```")


@given(TEXTS)
@example("[(x <#@here>](http://x)")
@example("https://e.org/a_b_")
def test_a_reader_of_markdown_finds_our_links_our_code_and_no_tag(markdown: str) -> None:
    blocks = parse(clean(markdown))
    ours = {_normal(span.href) for block in blocks if not isinstance(block, Preformatted) for span in block.spans}
    bare = set(map(_normal, re.findall(r"https?://[^\s<>]+", clean(markdown))))
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for text in PLAIN.pack(blocks, 100_000):
        for token in reader.parse(text):
            assert token.type not in {"html_block", "code_block", "heading_open", "bullet_list_open", "table_open"}
            for child in token.children or ():
                assert child.type not in {"html_inline", "image"}
                if child.type == "link_open":
                    href = _normal(str(child.attrs["href"]))
                    assert href in ours or any(href in one for one in bare)


def _normal(url: str) -> str:
    """Return an address without what encoding may change."""
    return re.sub(r"%[0-9A-Fa-f]{2}|[^A-Za-z0-9:/]", "", url)


def test_a_long_code_block_is_closed_and_opened_again() -> None:
    lines = [f"line {n} &" for n in range(1000)]
    texts = written("```\n" + "\n".join(lines) + "\n```")

    assert all(text.startswith("```\n") and text.endswith("\n```") for text in texts)
    assert "\n".join(texts).replace("```\n", "").replace("\n```", "").split("\n") == lines


def test_style_and_links_survive_a_split() -> None:
    texts = written("**" + "bold " * 50 + "** " + "[label](https://e.org/long/path) " * 20, limit=200)

    assert sum(text.count("[label](https://e.org/long/path)") for text in texts) == 20
    assert sum(len(re.findall(r"\bbold\b", text)) for text in texts) == 50
    assert all(text.count("**") % 2 == 0 for text in texts)


@pytest.mark.parametrize("character", ["a", "日", "👩\u200d👩\u200d👧", "@x ", "_"])
@pytest.mark.parametrize("dialect", [PLAIN, BYTES])
def test_a_line_is_cut_to_its_limit_and_never_inside_a_character(character: str, dialect: Dialect) -> None:
    line = dialect.shortened(character * 500, 200)

    assert dialect.unit.size(line) <= 200
    assert line.endswith("…")
    assert not line.removesuffix("…").endswith(("\u200d", "\\"))


def test_an_address_that_is_too_long_becomes_text() -> None:
    assert written(f"[label](https://e.org/{'a' * 2000})") == ["label"]
