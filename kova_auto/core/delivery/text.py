"""Make text fit to be sent: clean of what could act on a reader's screen, and cut where it does no harm."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

# What a terminal obeys: colours, cursor, title.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# C0 but tab and newline, DEL and C1; marks that turn the direction of what follows; halves of surrogate pairs.
_HARMFUL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|(?P<half>[\ud800-\udfff])"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\u20e3")


def clean(text: str) -> str:
    """Return the text without escape sequences, control and direction characters; lines end with a line feed alone.

    Half a surrogate pair, which no UTF-8 can carry, becomes U+FFFD.
    """
    lines = _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _HARMFUL.sub(lambda found: "\ufffd" if found["half"] else "", lines)


def visible(text: str) -> str:
    r"""Return the text with all that acts or hides on a screen spelled out, as `\u202e`; line feeds stay.

    For what somebody has to judge: there nothing may be left out, and nothing may look like something else.
    """
    return "".join(one if one == "\n" or one.isprintable() else json.dumps(one)[1:-1] for one in text)


def one_line(text: str, limit: int) -> str:
    """Return the text as one clean line of at most `limit` characters."""
    return cut(" ".join(clean(text).split()), limit)


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters, with `…` for what is missing, between words if there is a space near by."""
    if len(text) <= limit:
        return text
    head = text[: border(text, max(0, limit - 1))]
    space = max(head.rfind(" "), head.rfind("\n"))
    return (head[:space] if space > len(head) / 2 else head).rstrip() + "…" if limit else ""


def border(text: str, at: int) -> int:
    """Return the nearest place at or before `at` that does not split what a reader sees as one character."""
    if at >= len(text):
        return len(text)
    place, floor = at, max(0, at - 32)
    while place > floor and _continues(text, place):
        place -= 1
    return at if place and _continues(text, place) else place


def _continues(text: str, at: int) -> bool:
    """Say whether the character at `at` belongs to the one before it."""
    here, before = text[at], text[at - 1]
    if here in _JOINERS or before == "\u200d" or unicodedata.category(here).startswith("M"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    return _is_flag(here) and _flags_before(text, at) % 2 == 1


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    count = 0
    while count < at and _is_flag(text[at - 1 - count]):
        count += 1
    return count


@dataclass(frozen=True)
class Excerpt:
    """Hold what is left of a Markdown text, and how many of its characters were left out."""

    text: str
    left_out: int = 0


def excerpt(markdown: str, limit: int) -> Excerpt:
    """Return head and tail of a Markdown text, two thirds to one, with every fence closed that the cut opened.

    The result has at most `limit` characters, its marker included; `limit` is at least 400.
    """
    if len(markdown) <= limit:
        return Excerpt(markdown)
    room = limit - 200
    end = _last_gap(markdown, room * 2 // 3)
    start = _next_gap(markdown, len(markdown) - (room - room * 2 // 3))
    head, tail = markdown[:end], markdown[start:]
    closing, opening = _open_fence(head), _open_fence(markdown[:start])
    parts = [
        head + (f"\n{closing.marks}" if closing else ""),
        f"[… {start - end} characters left out …]",
        (f"{opening.marks}{opening.info}\n" if opening else "") + tail,
    ]
    return Excerpt("\n\n".join(parts), start - end)


def _last_gap(text: str, at: int) -> int:
    """Return the best place to end a head of at most `at` characters: after a line, after a word, or anywhere."""
    for gap in ("\n", " "):
        if (place := text.rfind(gap, at // 2, at)) >= 0:
            return place
    return border(text, at)


def _next_gap(text: str, at: int) -> int:
    """Return the best place at or behind `at` to begin a tail."""
    for gap in ("\n", " "):
        if (place := text.find(gap, at, (at + len(text)) // 2)) >= 0:
            return place + 1
    place = at
    while place < len(text) and border(text, place) != place:
        place += 1
    return place


@dataclass(frozen=True)
class _Fence:
    marks: str
    info: str


def _open_fence(text: str) -> _Fence | None:
    """Return the fence in which a text ends, by the rules of CommonMark for fences outside lists and quotes."""
    fence: _Fence | None = None
    for line in text.split("\n"):
        if not (found := _FENCE.match(line)):
            continue
        marks, rest = found[1], line[found.end() :].strip()
        if fence is None and not ("`" in rest and marks[0] == "`"):
            fence = _Fence(marks[:20], rest[:40])
        elif fence and marks.startswith(fence.marks) and not rest:
            fence = None
    return fence
