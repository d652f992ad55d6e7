"""Which commands are plain, and what their words are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.words import MAX_CHARS, segments, value


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls", ("ls",)),
        ("  git log -3 ", ("git", "log", "-3")),
        ("git log --format='%h %an' -- src", ("git", "log", "--format='%h %an'", "--", "src")),
        ("git diff HEAD~2 origin/main^ v1.2..v1.3", ("git", "diff", "HEAD~2", "origin/main^", "v1.2..v1.3")),
        ('grep -n "a > b; c | d & e" x', ("grep", "-n", '"a > b; c | d & e"', "x")),
        ("grep 'end$' x", ("grep", "'end$'", "x")),
        ("""echo 'it is "so"' "isn't" """, ("echo", "'it is \"so\"'", '"isn\'t"')),
        ("./run.sh a=b c:d,e%f@g+h", ("./run.sh", "a=b", "c:d,e%f@g+h")),
        ("echo 'grün — 漢字'", ("echo", "'grün — 漢字'")),
        ("echo ''", ("echo", "''")),
    ],
)
def test_a_plain_command_is_its_words_as_typed(command: str, words: tuple[str, ...]) -> None:
    assert segments(command) == (words,)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "   ",
        "a; b",
        "a && b",
        "a | b",
        "a & b",
        "a &",
        "a\nb",
        "a\n",
        "a\tb",
        "a\rb",
        "a  b",
        "(a)",
        "{ a; }",
        "a > f",
        "a < f",
        "a >&f",
        "a 2>/dev/null",
        "a $B",
        'a "$B"',
        "a ${B}",
        "a $(b)",
        "a 'x$(b)'",
        "a 'x${b}'",
        "a 'x$[b]'",
        "a `b`",
        "a '`b`'",
        'a "`b`"',
        "a $'b'",
        'a $"b"',
        "a \\b",
        'a "b\\c"',
        'a "b!c"',
        "a !b",
        "a *",
        "a b?",
        "a [b]",
        "a {b,c}",
        "a #b",
        "# a",
        "a ~",
        "a ~/b",
        "a b=~/c",
        "a b:~/c",
        "a -~",
        "A=b c",
        "A+=b c",
        "a 'b",
        'a "b',
        "'a' b",
        '"a" b',
        "'' a",
        "a'b' c",
        "~/a",
        "%1",
        "if a",
        "time a",
        "coproc a",
        "a\u00a0b",
        "a\u200bb",
        "a\ufeff",
        "a \u202e b",
        "a\x00b",
        "a \ud800",
        "grün",
        "a " + "b" * MAX_CHARS,
    ],
)
def test_anything_else_a_shell_can_do_is_not_plain(command: str) -> None:
    assert segments(command) is None


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("a", "a"),
        ("'a b'", "a b"),
        ('"a b"', "a b"),
        ("--x='a \"b\"'", '--x=a "b"'),
        ("a'b'\"c\"d", "abcd"),
        ("''", ""),
    ],
)
def test_the_value_of_a_word_is_without_its_quotes(word: str, text: str) -> None:
    assert value(word) == text


@settings(deadline=None, max_examples=500)
@given(st.lists(st.sampled_from(["a", "git", "-x", "'b c'", '"d;e"', "x=y", "f~1", "'$'"]), min_size=1, max_size=8))
def test_joining_the_words_gives_the_command_back(words: list[str]) -> None:
    command = " ".join(["run", *words])
    assert segments(command) == (("run", *words),)


@settings(deadline=None, max_examples=500)
@given(st.text("ab'\"\\$`(){}<>|&;!*?[]~#=: \n\t\u00e9\u200b", max_size=24))
def test_no_character_that_bash_would_act_on_is_left_outside_quotes(text: str) -> None:
    for words in segments(f"run {text}") or ():
        for word in words:
            unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", word)
            assert not set(unquoted) & set("'\"\\$`(){}<>|&;!*?[]#\n\t")
            assert not set(value(word)) & set("`\n\t")
