"""A model's Markdown in Slack's markup: it looks as meant, and it can mention nobody."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kova_auto.core.delivery.formats.markdown import LONGEST, Preformatted, parse
from kova_auto.core.delivery.formats.mrkdwn import pack, size
from kova_auto.core.delivery.text import clean


def mrkdwn(markdown: str, limit: int = 3000) -> list[str]:
    return pack(parse(markdown), limit)


@pytest.mark.parametrize(
    ("markdown", "written"),
    [
        ("plain", "plain"),
        ("**bold** *it* ~~no~~ `code`", "*bold* _it_ ~no~ `code`"),
        ("***both***", "*_both_*"),
        ("**a\nb**", "*a*\n*b*"),
        ("**a *b* c**", "*a* *_b_* *c*"),
        ("# Title with `code`", "*Title with* `code`"),
        ("one\n\ntwo", "one\n\ntwo"),
        ("- a\n- b\n  - c\n\nafter", "• a\n• b\n    • c\n\nafter"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> said\n> so", "> said\n> so"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("```py\na < b & c\n```", "```\na &lt; b &amp; c\n```"),
        ("|a|bb|\n|-|-|\n|111|2|", "```\na    bb\n---  --\n111  2\n```"),
        ("[label](https://e.org/?a=b&c=d)", "<https://e.org/?a=b&amp;c=d|label>"),
        ("**[label](https://e.org)**", "*<https://e.org|label>*"),
        ("[a **b** c](https://e.org)", "<https://e.org|a b c>"),
        ("[a|b](https://e.org/x|y)", "<https://e.org/x%7Cy|a¦b>"),
        ("<https://e.org>", "<https://e.org|https://e.org>"),
        ("[bank.com](https://evil.org)", "<https://evil.org|bank.com> (evil.org)"),
        ("[bank.com](https://bank.com/x)", "<https://bank.com/x|bank.com>"),
        ("![alt](https://e.org/a.png)", "<https://e.org/a.png|[image: alt]>"),
        ("[x](ftp://e.org/a)", "x"),
        ("a ``` b", "a ``\u200b` b"),
        ("`a```", "`a``\u200b`"),
        ("[x](https://bank.com@evil.org)", "x"),
        ("<!channel> <@U123> <#C1> & <b>", "&lt;!channel&gt; &lt;@U123&gt; &lt;#C1&gt; &amp; &lt;b&gt;"),
        ("`@here`", "`@\u200bhere`"),
        ("`<!here>` and @here, @Channel", "`&lt;!here&gt;` and @\u200bhere, @\u200bChannel"),
        ("``a`b``", "a`b"),
        ("````\n```\n````", "```\n``\u200b`\n```"),
        ("a&lt;!here&gt;", "a&lt;!here&gt;"),
        ("[(x <#@here>](http://x)", "<http://x|(x #@\u200bhere>"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
    ],
)
def test_markdown_is_written_as_meant(markdown: str, written: str) -> None:
    assert mrkdwn(markdown) == [written]


PIECES = st.sampled_from(
    ["**", "*", "_", "~~", "`", "```\n", "\n", "\n\n", "- ", "1. ", "> ", "# ", "<!channel>", "<@U1>", "<#@here>",
     "@here", "[", "](http://x)", "](<http://x>)", "<http://x>", "<a@b.c>", "&lt;", "&", "|", "|-|\n", "\\", "(", ")",
     " ", "word", "日本", "🇩🇪", "![i](http://i)", "<b>", "[r]: http://r\n"]
)  # fmt: skip
LINK = re.compile(r"<(?:https?|mailto):[^<>|\s]+\|[^<>|\n]+>")


@given(st.lists(PIECES | st.text(max_size=5), max_size=60).map("".join), st.integers(min_value=60, max_value=400))
@example("[(x <#@here>](http://x)", 3000)
def test_the_only_angle_brackets_are_those_of_our_own_links(markdown: str, limit: int) -> None:
    for text in mrkdwn(clean(markdown), limit):
        without = LINK.sub("", text)
        assert "<" not in without
        assert re.search(r"&(?!amp;|lt;|gt;)", without) is None
        assert re.search(r"@(?:here|channel)\b", text) is None


@given(st.lists(PIECES | st.text(max_size=40), max_size=60).map("".join), st.integers(min_value=100, max_value=400))
def test_no_piece_is_longer_than_its_limit_and_no_block_is_left_open(markdown: str, limit: int) -> None:
    for text in mrkdwn(clean(markdown), limit):
        assert size(text) <= limit
        assert text.count("```") % 2 == 0


def test_a_long_paragraph_keeps_its_words() -> None:
    words = [f"word{n}" for n in range(2000)]

    assert " ".join(mrkdwn(" ".join(words))).split() == words


def test_a_long_code_block_is_closed_and_opened_again() -> None:
    lines = [f"line {n} &" for n in range(1000)]
    texts = mrkdwn("```\n" + "\n".join(lines) + "\n```")

    assert all(text.startswith("```\n") and text.endswith("\n```") for text in texts)
    assert "\n".join(texts).replace("```\n", "").replace("\n```", "").replace("&amp;", "&").split("\n") == lines


def test_style_and_links_survive_a_split() -> None:
    markdown = "**" + "bold " * 50 + "** " + "[label](https://e.org/long/path) " * 20
    texts = mrkdwn(markdown, 200)

    assert sum(text.count("<https://e.org/long/path|label>") for text in texts) == 20
    assert sum(len(re.findall(r"\bbold\b", text)) for text in texts) == 50
    assert all(text.count("*") % 2 == 0 for text in texts)


def test_an_address_that_is_too_long_becomes_text() -> None:
    assert mrkdwn(f"[label](https://e.org/{'a' * 2000})") == ["label"]


@pytest.mark.parametrize("character", ["😀", "&", "日"])
def test_length_is_counted_as_it_is_sent(character: str) -> None:
    assert [size(text) <= 3000 for text in mrkdwn(character * 8000)].count(False) == 0


def test_a_wide_cell_does_not_fill_the_others_with_spaces() -> None:
    wide = "x" * 1000
    (text,) = mrkdwn(f"|a|b|\n|-|-|\n|{wide}|1|\n" + "|2|3|\n" * 20)

    assert f"\n{wide}  1\n{'2'.ljust(40)}  3\n" in text


def test_a_table_that_is_all_empty_cells_is_kept_as_it_stands() -> None:
    (text,) = mrkdwn("|" + "a|" * 100 + "\n|" + "-|" * 100 + "\n" + "|b\n" * 500)

    assert text.endswith("\n|b\n|b")


def test_a_text_that_would_take_long_to_read_is_kept_as_it_stands() -> None:
    markdown = "**x** " * (LONGEST // 6 + 1)

    assert parse(markdown) == [Preformatted(markdown)]
