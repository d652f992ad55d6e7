"""Read one word as bash would: its quotes, escapes and variables; and say what may still become of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from kova_auto.core.approval.shell.cursor import Cursor, Unreadable
from kova_auto.core.approval.shell.refusal import Refusal
from kova_auto.core.approval.shell.tables import METACHARACTERS, UNTOUCHABLE_VARIABLES
from kova_auto.core.approval.shell.word import Word

_SIMPLE = re.compile(r"[A-Za-z0-9_@%+=:,./^#-]++(?=[ \t\n;|&()<>]|\Z)")
_BARE = re.compile(r"[^ \t\n;|&()<>'\"\\$`!{]++")
_IN_DOUBLE_QUOTES = re.compile(r"[^\"\\$`!]++")
_ESCAPED_IN_DOUBLE_QUOTES = frozenset('$`"\\')
_NAME = re.compile(r"[A-Za-z0-9_]++")
_BRACED_NAME = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SPECIAL_PARAMETERS = frozenset("?#@*-$0123456789")
_BEGINS_HISTORY = frozenset("!?$#-{")
_NOT_PLAIN = re.compile(r"[~*?\[{}$!]")
_GLOB = re.compile(r"[*?\[]")
_VARIABLE = "\0"
_TILDE = re.compile(r"(?:^|[=:])~")
# A variable may end in a dollar (the name of a directory can) or go on where one stands.
_EVALUATED = re.compile(r"[$\0][(\[{]|\$\0|`")


@dataclass(slots=True)
class _Building:
    """Hold what is known of a word so far.

    Attributes:
        bare: The word with one apostrophe for each quoted piece and one dollar for each variable: what bash still
            expands stands here, and nothing else.
        fixed: The value, with NUL for each variable.
        lead: The value of what stands before the first bare `{`.
    """

    raw: list[str] = field(default_factory=list)
    value: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    joined: bool = False
    fixed: list[str] = field(default_factory=list)
    lead: str | None = None

    def add(self, raw: str, value: str, bare: str, fixed: str | None = None) -> None:
        """Add a piece."""
        self.raw.append(raw)
        self.value.append(value)
        self.fixed.append(value if fixed is None else fixed)
        self.bare.append(bare)


@lru_cache(maxsize=256)
def plain_word(raw: str) -> Word:
    """Return a word in which every character is itself."""
    return Word(raw, raw, plain=True, literal=True)


def read_word(cursor: Cursor) -> Word:
    """Return the word that begins at the cursor, and leave the cursor on what ends it.

    Raises:
        Unreadable: It holds what is not read.
    """
    if simple := _SIMPLE.match(cursor.text, cursor.at):
        cursor.at = simple.end()
        return plain_word(simple[0])
    start = cursor.at
    word = _Building()
    while True:
        before = cursor.at
        char = cursor.peek()
        if not char or char in METACHARACTERS:
            return _finished(word, start)
        word.joined |= cursor.at != before
        _PIECES.get(char, _bare)(cursor, word)


def _bare(cursor: Cursor, word: _Building) -> None:
    run = _BARE.match(cursor.text, cursor.at)
    text = run[0] if run else cursor.text[cursor.at]
    if text == "{" and word.lead is None:
        word.lead = "".join(word.value)
    cursor.at += len(text)
    word.add(text, text, text)


def _single(cursor: Cursor, word: _Building) -> None:
    end = cursor.text.find("'", cursor.at + 1)
    if end < 0:
        raise Unreadable(Refusal.UNCLOSED_QUOTE, cursor.at)
    word.add(cursor.text[cursor.at : end + 1], cursor.text[cursor.at + 1 : end], "'")
    cursor.at = end + 1


def _double(cursor: Cursor, word: _Building) -> None:
    opened = cursor.at
    cursor.at += 1
    word.add('"', "", "'")
    while (char := cursor.peek()) != '"':
        if not char:
            raise Unreadable(Refusal.UNCLOSED_QUOTE, opened)
        if run := _IN_DOUBLE_QUOTES.match(cursor.text, cursor.at):
            word.add(run[0], run[0], "")
            cursor.at = run.end()
        else:
            _IN_QUOTES[char](cursor, word)
    word.add('"', "", "")
    cursor.at += 1


def _escape(cursor: Cursor, word: _Building) -> None:
    escaped = cursor.text[cursor.at + 1 : cursor.at + 2]
    if not escaped:
        raise Unreadable(Refusal.TRAILING_BACKSLASH, cursor.at)
    word.add("\\" + escaped, escaped, "'")
    cursor.at += 2


def _quoted_escape(cursor: Cursor, word: _Building) -> None:
    escaped = cursor.text[cursor.at + 1 : cursor.at + 2]
    if escaped in _ESCAPED_IN_DOUBLE_QUOTES:
        word.add("\\" + escaped, escaped, "")
        cursor.at += 2
    else:
        word.add("\\", "\\", "")
        cursor.at += 1


def _dollar(cursor: Cursor, word: _Building) -> None:
    _expansion(cursor, word, bare="$", substitutes="([\"'")


def _quoted_dollar(cursor: Cursor, word: _Building) -> None:
    _expansion(cursor, word, bare="", substitutes="([")


def _expansion(cursor: Cursor, word: _Building, *, bare: str, substitutes: str) -> None:
    at = cursor.at
    cursor.at += 1
    char = cursor.peek()
    if char and char in substitutes:
        raise Unreadable(Refusal.SUBSTITUTION, at)
    if char == "!":
        raise Unreadable(Refusal.VARIABLE, at)
    name = _name(cursor, char, at)
    if name in UNTOUCHABLE_VARIABLES:
        raise Unreadable(Refusal.VARIABLE, at)
    typed = "$" if not name else f"${{{name}}}" if char == "{" else f"${name}"
    word.add(typed, typed, bare, _VARIABLE if name else None)


def _name(cursor: Cursor, char: str, at: int) -> str:
    """Return the name of the variable at the cursor and step over it; empty where the dollar means itself."""
    if char == "{":
        braced = _BRACED_NAME.match(cursor.text, cursor.at)
        if not braced:
            raise Unreadable(Refusal.SUBSTITUTION, at)
        cursor.at = braced.end()
        return braced[1]
    if char and char in _SPECIAL_PARAMETERS:
        cursor.at += 1
        return char
    parts = []
    while part := _NAME.match(cursor.text, cursor.at):
        parts.append(part[0])
        cursor.at = part.end()
        cursor.peek()  # the name goes on in a joined line
    return "".join(parts)


def _bang(cursor: Cursor, word: _Building) -> None:
    _history(cursor, word, "!")


def _quoted_bang(cursor: Cursor, word: _Building) -> None:
    _history(cursor, word, "")


def _history(cursor: Cursor, word: _Building, bare: str) -> None:
    at = cursor.at
    cursor.at += 1
    following = cursor.peek()
    if following and (following.isalnum() or following in _BEGINS_HISTORY):
        raise Unreadable(Refusal.HISTORY, at)
    word.add("!", "!", bare)


def _backtick(cursor: Cursor, _word: _Building) -> None:
    raise Unreadable(Refusal.SUBSTITUTION, cursor.at)


_Piece = Callable[[Cursor, _Building], None]
_PIECES: dict[str, _Piece] = {
    "'": _single,
    '"': _double,
    "\\": _escape,
    "$": _dollar,
    "!": _bang,
    "`": _backtick,
}
_IN_QUOTES: dict[str, _Piece] = {
    "\\": _quoted_escape,
    "$": _quoted_dollar,
    "!": _quoted_bang,
    "`": _backtick,
}


def _finished(word: _Building, start: int) -> Word:
    raw, bare, fixed = "".join(word.raw), "".join(word.bare), "".join(word.fixed)
    lists = word.lead is not None and _lists(bare)
    # A dollar in one item and a name behind the list would make a variable that nobody saw.
    if _counts(bare) or (lists and (not word.lead or word.lead.startswith("-") or "$" in raw)):
        raise Unreadable(Refusal.BRACES, start)
    # Text that is quoted may still be evaluated by what it is handed to: `printf -v`, `test -v`.
    if _EVALUATED.search(fixed):
        raise Unreadable(Refusal.SUBSTITUTION, start)
    plain = not word.joined and raw == bare and (raw == "[" or not _NOT_PLAIN.search(raw))
    expands = _VARIABLE in fixed or lists or bool(_TILDE.search(bare)) or (raw != "[" and bool(_GLOB.search(bare)))
    return Word(raw, "".join(word.value), plain=plain, literal=not expands)


def _lists(bare: str) -> bool:
    """Return whether the braces may stand for several words, as `{a,b}` does."""
    return "," in bare[bare.index("{") :]


def _counts(bare: str) -> bool:
    """Return whether the braces may count, as `{1..3}` and `{a..z}` do; the latter can make a backtick."""
    if "{" not in bare or ".." not in bare:
        return False
    depth = 0
    for before, char, after in zip(" " + bare, bare, bare[1:] + " ", strict=False):
        if char == "." and after == "." and depth:
            return True
        # As in csh, the brace that closes `{}` closes nothing.
        depth += (char == "{") - (char == "}" and before != "{" and depth > 0)
    return False
