"""Take a shell command apart into plain words, or refuse it.

Only what bash cannot read in two ways is understood: one simple command of bare and simply quoted words. Whatever else
a shell can do (operators, redirects, expansions, escapes, comments, assignments) makes a command *not plain*, and a
command that is not plain matches no rule and no list.

A word is kept as it was typed, quotes and all: `value` gives what the program would be handed.
"""

from __future__ import annotations

import re

MAX_CHARS = 32 * 1024

# A `~` at a word's start or behind `=` and `:` would become a home directory.
_BARE = r"(?:[A-Za-z0-9_@%+=:,./^-]|(?<=[A-Za-z0-9_^~])~)"
# Not even quoted text may hold a substitution: `printf -v` and its like evaluate text.
_SINGLE = r"'(?:[^'`$]|\$(?![(\[{]))*'"
_DOUBLE = r'"[^"\\`$!]*"'
_WORD = re.compile(rf"(?:{_BARE}|{_SINGLE}|{_DOUBLE})+")
# Single blanks, so that words compared one by one are the text compared whole.
_COMMAND = re.compile(rf" *{_WORD.pattern}(?: {_WORD.pattern})* *")
_NAME = re.compile(r"[A-Za-z0-9_./+-]+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_RESERVED = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done"),
        *("in", "function", "time", "coproc"),
    )
)


def segments(command: str) -> tuple[tuple[str, ...], ...] | None:
    """Return the simple commands that bash would run, each as its words, or None where the command is not plain.

    For now there is at most one: a command with any operator is not plain.
    """
    if len(command) > MAX_CHARS or not command.isprintable() or not _COMMAND.fullmatch(command):
        return None
    words = tuple(_WORD.findall(command))
    if not _NAME.fullmatch(words[0]) or words[0] in _RESERVED:
        return None
    return (words,)


def value(word: str) -> str:
    """Return the text that a plain word stands for, its quotes removed."""
    return _QUOTED.sub(lambda found: found[1] if found[1] is not None else found[2], word)
