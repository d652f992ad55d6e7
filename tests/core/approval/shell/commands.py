"""Commands made at random: tidy ones, tidy ones with an accident, and soup; every hole that a shell has is in reach."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from kova_auto.core.approval.shell.word import Lexed, Reading

PROGRAMS = ("git", "ls", "wc", "head", "grep", "a1", "g++")
WORDS = ("log", "src", "x", "pwned", "touch", "rm", "f", "2", "1", "-n", "--all", "a.txt", "k=v")
NAMES = tuple(dict.fromkeys(name for name in (*PROGRAMS, *WORDS, "a", "b", "1f", "2x") if "=" not in name))
"""Whatever of this bash runs as a program, a stub is there to tell."""

VARIABLES = {"X": "a b", "EMPTY": "", "STAR": "*"}

_PLAIN = (
    *(*WORDS, "HEAD~1", "stash@{0}", "a#b", "#b", "+%s", "{}", "é", "[", "]", "-", "--", "a,b", "!", "}", "a}b"),
    "^{tree}",
)
_SINGLE = (
    *(
        "'a b'",
        "'a;b'",
        "''",
        "'\"'",
        "'\\'",
        "'$X'",
        "'#'",
        "'>f'",
        "'a\nb'",
        "'!x'",
        "'{a,b}'",
        "'*'",
        "'end$'",
        "'|'",
    ),
)
_DOUBLE = (
    *('"a b"', '"a & b"', '""', '"it\'s"', '"\\""', '"a\\\\"', '"$X"', '"${X}y"', '"\\$X"', '"a\\b"', '"#"', '"a\nb"'),
    *('"> f"', '"*"', '"a\\\nb"', '"$"', '"(x)"', '"ok!"', '"`"', '"$\'"', '"~"'),
)
_ESCAPED = (
    *("\\;", "\\&", "\\|", "\\>", "\\<", "\\#x", "\\'", '\\"', "\\\\", "a\\ b", "\\*", "\\~", "\\$X", "\\{a,b}", "\\("),
)
_VARYING = (
    *(
        "$X",
        "${X}",
        "$EMPTY",
        "$?",
        "$#",
        "a$X",
        "${EMPTY}/x",
        "/dev/nul?",
        "*",
        "~",
        "k=~",
        "src/*.{ts,tsx}",
        "a{b,c}",
    ),
)
_REDIRECTS = (
    *(">/dev/null", "2>/dev/null", "> /dev/null", ">>/dev/null", "&>/dev/null", "&>>/dev/null", "2>&1", ">&2", "1>&2"),
    *("2>'/dev/null'", '>"/dev/null"', "</dev/null", "< /dev/null", "0</dev/null", "<'/dev/null'", ">\\\n/dev/null"),
)
_OPERATORS = (
    " && ",
    " || ",
    " | ",
    "; ",
    "\n",
    " & ",
    "|",
    ";",
    "&&",
    " |& ",
    " |\n",
    " &&\n# why\n",
    " # c\n",
    "\n\n",
    "&",
)
_COMMENTS = (" # done", " # don't", ' # "', " # \\", " # $(x) `", " #", " # (", " # > f")
_HAZARDS = (
    *(
        "'",
        '"',
        "\\",
        "\\\n",
        "\n",
        "#",
        " #",
        ";",
        ";;",
        "&",
        "&&",
        "|",
        "||",
        ">",
        ">>",
        "<",
        "<<",
        "<<<",
        ">&",
        "<&",
    ),
    *("&>", ">|", "<>", "(", ")", "((", "{", "}", "{a,b}", "-{a,b}", "{1..3}", "$", "$(", "${", "`", "$'", '$"', "$X"),
    *(
        "$!",
        "!",
        "!x",
        "~",
        "*",
        "?",
        "[",
        "]",
        "=",
        "+=",
        ",",
        "..",
        "\t",
        "\r",
        "\u00a0",
        "1",
        "2",
        "2>",
        "10>",
        "{fd}>",
    ),
    *("/dev/null", "> /dev/null", ">&1f", ">&2x", "\\>&", "if ", "then ", "time ", "! ", "function ", "A=b ", "a[1]="),
    *("touch pwned", "; touch pwned", "\ntouch pwned", "x ", "log ", " ", " ", " ", "# don't\n", "' ", '" ', "@(a|b)"),
    *("; (", "&& (x", "(", ")", " \\\n", "{fd}>/dev/null", "((x) ", '"#x', "'#x", "()", "; ()", "; ;", ";;\n"),
    *("; then x", "\nfi\n", "; done", "; }", "&& time ls", "| while x", "$'a'", "`x`", "\\>&", "{1..3}"),
)
CHARACTERS = "'\"\\$`#;&|<>(){}[]!~*?=,.-+12ax \t\n"


def features(command: str, reading: Reading) -> frozenset[str]:
    """Return what a command that was read has: quotes, escapes, redirects, operators."""
    unquoted = re.sub(r"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|(?<!\S)#[^\n]*", "", command, flags=re.DOTALL)
    has = {
        "quotes": bool(re.search(r"['\"]", command)),
        "escapes": bool(re.search(r"\\[^\n]", command)),
        "redirects": bool(re.search(r"[<>]", unquoted)),
        "operators": isinstance(reading, Lexed) and len(reading.segments) > 1,
    }
    return frozenset(name for name, there in has.items() if there)


def generated(seed: int) -> Iterator[str]:
    """Yield commands without end; the same for a seed, always."""
    chance = random.Random(seed)
    while True:
        make = chance.choices((_tidy, _soup, _accident), (5, 3, 3))[0]
        yield make(chance)


def accepted(seed: int, count: int, read: Callable[[str], Reading]) -> list[str]:
    """Return the first `count` different commands of a seed that `read` understands."""
    found: dict[str, None] = {}
    for command in generated(seed):
        if command not in found and isinstance(read(command), Lexed):
            found[command] = None
        if len(found) == count:
            break
    return list(found)


def changed(chance: random.Random, command: str) -> str:
    """Return the command with one character more."""
    at = chance.randint(0, len(command))
    return command[:at] + chance.choice(CHARACTERS) + command[at:]


def _accident(chance: random.Random) -> str:
    command = _tidy(chance)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(command))
        kind = chance.random()
        if kind < 0.5:
            command = changed(chance, command)
        elif kind < 0.7:
            command = command[:at] + chance.choice(_HAZARDS) + command[at:]
        elif kind < 0.8:
            command = command.replace(" ", f" {chance.choice(_HAZARDS)} ", 1)
        else:
            command = (command[:at] + command[at + 1 :]) or "ls"
    return command


def _soup(chance: random.Random) -> str:
    opened = chance.choice(("", "", "", "("))
    return opened + "".join((chance.choice(PROGRAMS), " ", *chance.choices(_HAZARDS, k=chance.randint(2, 9))))


def _tidy(chance: random.Random) -> str:
    command = _simple(chance)
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 3))):
        command += chance.choice(_OPERATORS) + _simple(chance)
        if chance.random() < 0.1:
            command = f"({command})" + chance.choice(("", "", "", " 2>/dev/null", ">/dev/null", " x"))
            command = f"({command})" if chance.random() < 0.1 else command
    return command + (chance.choice(_COMMENTS) if chance.random() < 0.15 else "")


def _simple(chance: random.Random) -> str:
    words = [_word(chance) for _ in range(chance.randint(0, 4))]
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        words.insert(chance.randint(0, len(words)), chance.choice(_REDIRECTS))
    blanks = (" ", " ", " ", "  ", "\t", " \\\n ")
    tail = "".join(chance.choice(blanks) + word for word in words)
    before = chance.choice(_REDIRECTS) + " " if chance.random() < 0.05 else ""
    return before + chance.choice(PROGRAMS) + tail


def _word(chance: random.Random) -> str:
    kinds = (_PLAIN, _SINGLE, _DOUBLE, _ESCAPED, _VARYING)
    pieces = [
        chance.choice(chance.choices(kinds, (6, 3, 3, 3, 2))[0]) for _ in range(chance.choice((1, 1, 1, 1, 2, 3)))
    ]
    return chance.choice(("", "", "", "", "\\\n")).join(pieces)
