"""What bash takes for something special, as far as the lexer must know it."""

from __future__ import annotations

import re

BLANKS = " \t"
METACHARACTERS = frozenset(" \t\n;|&()<>")
"""What ends a word where it is not quoted."""

RESERVED = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do", "done"),
        *("in", "function", "time", "coproc", "{", "}", "!", "[[", "]]"),
    )
)

UNTOUCHABLE_VARIABLES = frozenset(
    (
        *("IFS", "BASH_ENV", "ENV", "PROMPT_COMMAND"),  # shells act on them; IFS stands for blanks that nobody sees
        *("_", "BASH_COMMAND", "BASH_EXECUTION_STRING"),  # text of the command itself comes back in them
    )
)

COMMAND = re.compile(r"[A-Za-z0-9_./:][A-Za-z0-9_./+:@,%-]*|\[")
"""What a command's name may look like; `[` is a program. Bash takes a text that begins with `-` or `+` for options."""

SIMPLE_WORD = re.compile(r"[ \t]*+((?!#)[A-Za-z0-9_@%+=:,./^#-]++)(?=[ \t\n;|&]|\Z)")
"""Blanks, and a word in which every character is itself, up to what certainly ends it."""

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^]]*\])?\+?=")
