"""A transcript as Markdown: readable, and nothing that was said leaves its place."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from markdown_it import MarkdownIt

from kova_auto.core.loop.view import loop_view
from kova_auto.core.transcript.markdown import fenced, markdown, quoted
from kova_auto.core.transcript.told import told_in
from tests.core.transcript.scenes import eventful, lost
from tests.lineage import a_parent, ends, its_child
from tests.story import Story
from tests.support import call, says

HOSTILE = [
    "```\n# Not a heading\n",
    "````\n```\n# Not a heading",
    "~~~\n# Not a heading",
    "</details><script>alert(1)</script>\n\n# Not a heading",
    "<!-- \n\n# Not a heading",
    "a\n===\n\n# Not a heading",
    "> # Not a heading\n\n1. # Not a heading",
    "[x]: http://evil.example\n\n# Not a heading [x]",
    "\x1b[31m# Not a heading\x1b[0m\u202e",
]


def written(story: Story) -> str:
    return "\n\n".join(markdown(story.state, loop_view(story.events), told_in(story.events), ZoneInfo("Europe/Berlin")))


def headings(text: str) -> list[str]:
    """Return the headings outside quotations, as a reader of CommonMark finds them."""
    tokens, found, depth = MarkdownIt("commonmark").parse(text), list[str](), 0
    for place, token in enumerate(tokens):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "heading_open" and depth == 0:
            found.append(tokens[place + 1].content)
    return found


def test_a_run_is_told_under_headings() -> None:
    text = written(eventful())
    assert headings(text) == [
        "Run `nightly@20261201T060000Z`",
        "System prompt of attempt 1",
        "Prompt of attempt 1",
        "Iteration 1",
        "1.1 `look`",
        "1.2 `change`",
        "Iteration 2",
        "End",
        "Answer",
    ]
    assert '```json\n{\n  "path": "a"\n}\n```' in text
    assert "**allow**: because (`test.allow`)" in text
    assert "ada said **once** at 2026-12-01 07:00:12+01:00, after 1.0 s: Go on." in text
    assert "Wrote `/w/b`" in text
    assert "Told besides:\n\n> Be brief." in text
    assert "no reply (ModelUnavailable): busy" in text


def test_calls_that_ran_at_the_same_time_are_named() -> None:
    reads = [call("read", path=name) for name in "abc"]
    text = written(Story().says(says("I look.", *reads)).does_together("1.1", "1.2", "1.3"))
    assert "**ok**, 3.0 s beside 1.2, 1.3:\n\n```\nfine 1.1\n```" in text


@pytest.mark.parametrize("said", HOSTILE)
def test_what_was_said_stays_inside_its_place(said: str) -> None:
    story = Story().says(says(said, call("look", text=said))).does("1.1", said).ends(answer=said, reason=said)
    plain = Story().says(says("a", call("look", text="a"))).does("1.1", "a").ends(answer="b", reason="a")
    assert headings(written(story)) == headings(written(plain))


@pytest.mark.parametrize("said", HOSTILE)
def test_no_tag_and_no_control_character_is_let_through(said: str) -> None:
    tokens = MarkdownIt("commonmark").parse(quoted(said))
    inline = [child.type for token in tokens for child in token.children or ()]
    assert "html_block" not in [token.type for token in tokens]
    assert "html_inline" not in inline
    assert not {"\x1b", "\u202e"} & set(quoted(said) + fenced(said))


@pytest.mark.parametrize("text", ["", "`", "```", "a\n````\nb", "`````` x", "~~~", "    indented", "ends in\n"])
def test_code_is_exactly_what_it_was(text: str) -> None:
    (token,) = MarkdownIt("commonmark").parse(fenced(text, "json"))
    assert (token.type, token.info, token.content) == ("fence", "json", f"{text}\n")


def test_of_a_long_result_the_head_is_shown_and_how_much_more_there_was() -> None:
    story = Story().says(says("", call("look"))).does("1.1", "\n".join(f"line {number}" for number in range(1000)))
    text = written(story)
    assert ("line 39\n" in text, "line 40\n" in text) == (True, False)
    assert "more characters." in text


def test_a_run_that_goes_on_and_was_lost_in_between_says_so() -> None:
    text = written(lost())
    assert "the process that had the run was lost while m was asked; it was taken up again" in text
    assert text.endswith("**running**: it goes on")
    assert "## Answer" not in text


def test_a_subagent_is_named_where_it_was_dispatched_and_says_by_whom() -> None:
    parent = a_parent()
    child = its_child(parent).says(says("It is empty."))
    ends(parent, child, answer="It is empty.")
    zone = ZoneInfo("UTC")
    above = "\n".join(
        markdown(parent.state, loop_view(parent.events, {child.run_id: child.events}), told_in(parent.events), zone)
    )
    own = "\n".join(markdown(child.state, loop_view(child.events), told_in(child.events), zone))

    assert f"It is run `{child.run_id}`, which stands below. **done**: the model asked for nothing more" in above
    assert f"- **Subagent**: `explorer` (reading), dispatched by 1.1 of `{parent.run_id}`" in own
