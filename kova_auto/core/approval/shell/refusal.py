"""Why a command is not read: a closed set of codes, each with a sentence that says what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """Name what the lexer met and does not read; the lexer's own tests pin which text gives which."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    CHARACTER = "character"  # control, invisible, or a blank that bash does not take for one
    UNCLOSED_QUOTE = "unclosed_quote"
    TRAILING_BACKSLASH = "trailing_backslash"
    SUBSTITUTION = "substitution"  # $( ` <( >( ${x…} $[ $' $"
    VARIABLE = "variable"  # IFS, BASH_ENV and their like
    BRACES = "braces"
    HISTORY = "history"
    REDIRECT = "redirect"  # one that writes a file, or whose target is not one plain word
    HERE_DOCUMENT = "here_document"
    OPERATOR = "operator"  # ;; leading, doubled or missing operators
    PARENTHESES = "parentheses"  # functions, arrays, extglob, (( ; too deep; unbalanced
    BACKGROUND = "background"
    ASSIGNMENT = "assignment"
    RESERVED = "reserved"
    COMMAND_WORD = "command_word"  # the first word is quoted, a variable, a glob, not ASCII


@dataclass(frozen=True, slots=True)
class Refused:
    """Say why a command is not read, and where.

    Attributes:
        at: Offset in characters of what was met, from 0.
    """

    code: Refusal
    at: int
