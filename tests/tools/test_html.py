"""Web pages become text, whatever they are made of."""

from __future__ import annotations

import pytest

from kova_auto.tools.html import MAX_CHARS, markdown_of
from kova_auto.tools.html_program import convert

BASE = "https://site.example/docs/page"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("plain", "plain"),
        ("<title> A\n b </title>", "Title: A b"),
        ("<h1>One</h1><h2>Two</h2>", "# One\n\n## Two"),
        ("<p>a_b and c*d</p>", "a_b and c*d"),
        ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
        ("<pre><code>def f():\n    pass</code></pre>", "```\ndef f():\n    pass\n```"),
        (
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
            "| a | b |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("a<script>x()</script><style>y</style><!-- z --><svg><text>s</text></svg>b", "ab"),
        ("<p>a</p>\n\n<div> </div>\n\n<div></div><p>b</p>", "a\n\nb"),
        ("<a href='next'>n</a>", "[n](https://site.example/docs/next)"),
        ("<a href='//other.example/x'>n</a>", "[n](https://other.example/x)"),
        ("<a href='mailto:a@b.example'>n</a>", "[n](mailto:a@b.example)"),
        ("<a href='#part'>here</a>, <a href='javascript:x()'>run</a>, <a href='http://[x'>bad</a>", "here, run, bad"),
        ("<img src='data:image/png;base64,AAAA' alt='a cat'><img src='x.png'>", "a cat"),
    ],
)
def test_a_page_becomes_markdown(page: str, text: str) -> None:
    assert convert(page, BASE) == text


async def test_a_page_is_read_in_a_process_of_its_own() -> None:
    assert await markdown_of("<p>caf\u00e9 \ud800</p>", BASE) == "caf\u00e9 ?"


async def test_a_page_that_takes_too_long_is_given_up() -> None:
    assert await markdown_of("<a" * (MAX_CHARS // 2), BASE, seconds=1.0) is None


async def test_a_page_that_is_nested_deeper_than_anything_keeps_its_words() -> None:
    assert await markdown_of("<div>" * 3_000 + "deep" + "<p>down", BASE) == "deep\ndown"


async def test_only_so_much_of_a_page_is_read() -> None:
    assert await markdown_of("<p>first</p>" + " " * MAX_CHARS + "<p>last</p>", BASE) == "first"
