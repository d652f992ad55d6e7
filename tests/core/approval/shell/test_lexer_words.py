"""What is read: which simple commands, which words, and what is said about each."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.shell.lexer import MAX_BYTES, MAX_DEPTH, lex
from kova_auto.core.approval.shell.word import Lexed, Word


def _lexed(command: str) -> Lexed:
    reading = lex(command)
    assert isinstance(reading, Lexed), reading
    return reading


COMMANDS = [
    ("git log", ["git log"]),
    ("  git\t log  ", ["git log"]),
    ("a;b;", ["a", "b"]),
    ("a&&b||c|d|&e", ["a", "b", "c", "d", "e"]),
    ("a & b", ["a", "b"]),
    ("a &\nb", ["a", "b"]),
    ("a\n\n\nb\n", ["a", "b"]),
    ("a &&\n\n# why\nb", ["a", "b"]),
    ("a |\nb", ["a", "b"]),
    ("a;\nb", ["a", "b"]),
    ("a &\\\n& b", ["a", "b"]),
    ("(a; b) | c", ["a", "b", "c"]),
    ("(a\nb\n)", ["a", "b"]),
    ("( (a) )", ["a"]),
    ("(a)>/dev/null", ["a"]),
    ("(a) 2>/dev/null | b", ["a", "b"]),
    ("a # it's; b", ["a"]),
    ("# a\nb", ["b"]),
    ("a # \\\nb", ["a", "b"]),
    ("a # (\nb # )", ["a", "b"]),
    ("a b#c #d", ["a b#c"]),
    ("a \\#b", ["a \\#b"]),
    ("a \\\n#b", ["a"]),
    ("a ''#b", ["a ''#b"]),
    ("(a)#b", ["a"]),
    ("a \\\n b", ["a b"]),
    ("a b\\\nc", ["a bc"]),
    ("a\\\n", ["a"]),
    ("a \\>& b", ["a \\>", "b"]),
    ("a \\\\& b", ["a \\\\", "b"]),
    ("a \\\\\nb", ["a \\\\", "b"]),
    ("a 'b\\' ; c", ["a 'b\\'", "c"]),
    ("a '\\\n' ; c", ["a '\\\n'", "c"]),
    ('a "b\\\\" ; c', ['a "b\\\\"', "c"]),
    ('a \\" ; c \\"', ['a \\"', 'c \\"']),
    ("a '\"' ; c '\"'", ["a '\"'", "c '\"'"]),
    ("a 'b\nc'", ["a 'b\nc'"]),
    ("a >/dev/null b 2>&1 c", ["a b c"]),
    ("2>/dev/null a &>>'/dev/null'", ["a"]),
    ("a 2 >/dev/null", ["a 2"]),
    ("a x2>/dev/null", ["a x2"]),
    ("a 2\\\n>&\\\n1", ["a"]),
    ("a > \\\n /dev/\\\nnull", ["a"]),
    ("a 2&>/dev/null", ["a 2"]),
    ("a ! b", ["a ! b"]),
    ("a {} { }", ["a {} { }"]),
    ("a if then", ["a if then"]),
    ("a b=c", ["a b=c"]),
    ("[ -f a ] && b", ["[ -f a ]", "b"]),
]


@pytest.mark.parametrize(("command", "texts"), COMMANDS)
def test_a_command_is_the_simple_commands_that_bash_would_run(command: str, texts: list[str]) -> None:
    assert [segment.text for segment in _lexed(command).segments] == texts


def _plain(text: str) -> Word:
    return Word(text, text, plain=True, literal=True)


def _literal(raw: str, value: str) -> Word:
    return Word(raw, value, plain=False, literal=True)


def _varying(raw: str, value: str | None = None) -> Word:
    return Word(raw, raw if value is None else value, plain=False, literal=False)


WORDS = [
    *map(_plain, ("log", "--a=b", "a.b/c", "a,b..c", "-", "--", "HEAD^", "@", "a#b", "é", "漢字", "]", "[")),
    _literal("'a b'", "a b"),
    _literal('"a b"', "a b"),
    _literal("''", ""),
    _literal("a'b'\"c\"\\d", "abcd"),
    _literal("\\;", ";"),
    _literal("\\\\", "\\"),
    _literal("'\\'", "\\"),
    _literal('"\\\\"', "\\"),
    _literal('"\\$\\""', '$"'),
    _literal('"\\a"', "\\a"),
    _literal("'$X'", "$X"),
    _literal("\\$X", "$X"),
    _literal("\\*'?'\"[a]\"", "*?[a]"),
    _literal("\\~", "~"),
    _literal("'{a,b}'", "{a,b}"),
    _literal("\\{a,b}", "{a,b}"),
    _literal("HEAD~1", "HEAD~1"),
    _literal("stash@{0}", "stash@{0}"),
    _literal("a@{1}..b@{2}", "a@{1}..b@{2}"),
    _literal("{}", "{}"),
    _literal("a$", "a$"),
    _literal('"$"', "$"),
    _literal('"$\'"', "$'"),
    _literal("a$/b", "a$/b"),
    _literal("'a!b'", "a!b"),
    _literal('"a!"', "a!"),
    _literal("!", "!"),
    _literal("\\!a", "!a"),
    _literal('"é\n"', "é\n"),
    _varying("$X"),
    _varying("${X}"),
    _varying('"$X"', "$X"),
    _varying('"a ${X}b"', "a ${X}b"),
    _varying("a$X-b"),
    _varying("$?"),
    _varying("$1"),
    _varying("$#"),
    _varying("$$"),
    _varying("*"),
    _varying("a?"),
    _varying("[ab]"),
    _varying("a["),
    _varying("~"),
    _varying("~/a"),
    _varying("a=~"),
    _varying("a=b:~"),
    _varying("a{b,c}"),
    _varying("src/*.{ts,tsx}"),
    _varying("'a b'*", "a b*"),
    _varying("a{b,'c d'}", "a{b,c d}"),
]


@pytest.mark.parametrize("word", WORDS, ids=lambda word: ascii(word.raw))
def test_a_word_is_what_was_typed_what_it_stands_for_and_whether_it_may_change(word: Word) -> None:
    assert _lexed(f"run {word.raw} x").segments[0].words == (_plain("run"), word, _plain("x"))


def test_a_joined_line_leaves_its_word_readable_but_not_plain() -> None:
    assert _lexed("git lo\\\ng").segments[0].words[1] == _literal("log", "log")
    assert _lexed('git "a\\\nb"').segments[0].words[1] == _literal('"ab"', "ab")
    assert _lexed("git $HO\\\nME").segments[0].words[1] == _varying("$HOME")


def test_what_a_command_reads_is_told_with_its_segment() -> None:
    first, second = _lexed("sort 0<a <'b c' 2>/dev/null | wc < /dev/null").segments
    assert first.reads == (_plain("a"), _literal("'b c'", "b c"))
    assert second.reads == (_plain("/dev/null"),)


def test_a_segment_knows_how_many_subshells_it_stands_in() -> None:
    assert [segment.depth for segment in _lexed("a; (b; (c) ; d) && e").segments] == [0, 1, 2, 1, 0]


def test_the_longest_and_the_deepest_command_are_read() -> None:
    assert len(_lexed("a" + " b" * ((MAX_BYTES - 1) // 2)).segments[0].words) == MAX_BYTES // 2
    assert _lexed("( " * MAX_DEPTH + "a" + " )" * MAX_DEPTH).segments[0].depth == MAX_DEPTH


def test_asking_twice_gives_the_same_reading() -> None:
    for command in ("git log", "git 'log", "a " + "b" * 5000):
        assert lex(command) == lex(command)
