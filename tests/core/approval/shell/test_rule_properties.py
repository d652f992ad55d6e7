"""What holds for every command, made of pieces that are read and pieces that are not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.policy import Grant, Origin
from kova_auto.core.approval.rules import Coverage, coverage
from kova_auto.core.approval.shell.cd import passes
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.remember import MAX_RULES, offer
from kova_auto.core.approval.shell.rule import Rule, parse_rule
from kova_auto.core.approval.shell.word import Lexed

NAMES = [
    "git",
    "npm",
    "ls",
    "cat",
    "echo",
    "cd",
    "grep",
    "/usr/bin/git",
    "node",
    "rm",
    "./x",
    "a1",
    "pytest",
    "[",
    "GIT",
]
WORDS = [
    *(
        "log",
        "test",
        "run",
        "exec",
        "-la",
        "--stat",
        "x.txt",
        "'a b'",
        '"a > b"',
        r"a\;b",
        "$HOME",
        '"$X"',
        "*.py",
        "~",
    ),
    *("a=b", "test:unit", "..", "é", "''", "20", "stash@{0}", "l\\og", "lo\\\ng"),
]
REDIRECTS = ["", "", "", " 2>/dev/null", " >/dev/null 2>&1", " < a.txt"]
JOINTS = [" && ", " || ", " | ", "; ", "\n", "&&", " |& ", " # a comment\n"]
BREAKERS = [" > x", " >> x", " $(id)", " `id`", " &", " <<E\nE", " '", " \\", " $IFS", " ${x:-y}", " )", " &&"]

simple = st.builds(
    lambda name, words, redirect: " ".join([name, *words]) + redirect,
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(WORDS), max_size=3),
    st.sampled_from(REDIRECTS),
)


@st.composite
def commands(draw: st.DrawFn) -> str:
    parts = draw(st.lists(simple, min_size=1, max_size=8))
    text = parts[0]
    for part in parts[1:]:
        text += draw(st.sampled_from(JOINTS)) + part
    return f"({text})" if draw(st.booleans()) and "#" not in text else text


RULES = [
    *(
        "git *",
        "git log *",
        "npm *",
        "npm test",
        "ls *",
        "cat *",
        "echo *",
        "grep *",
        "/usr/bin/git *",
        "node *",
        "rm *",
    ),
    *("./x *", "a1 *", "pytest *", "[ *", "GIT *", "cd *", "echo 'a b'", "*", ""),
]
rule_sets = st.lists(st.sampled_from(RULES), max_size=12, unique=True) | st.just(RULES)
thoroughly = settings(deadline=None, max_examples=100)


def covering(rules: list[str] | tuple[str, ...], command: str) -> Coverage:
    return coverage([Grant(rule, Origin.JOB) for rule in rules], command)


@thoroughly
@given(command=commands(), rules=rule_sets)
def test_one_more_command_without_a_rule_is_never_covered(command: str, rules: list[str]) -> None:
    for addition in (" ; touch x", "\ntouch x", " && touch x", " | touch x", "; (touch x)", " & touch x"):
        assert not covering(rules, command + addition).covered


@thoroughly
@given(command=commands(), rules=rule_sets, breaker=st.sampled_from(BREAKERS))
def test_what_hides_a_write_or_a_command_is_never_covered_nor_remembered(
    command: str, rules: list[str], breaker: str
) -> None:
    assert not covering(rules, command + breaker).covered
    assert offer(command + breaker).texts == ()


@thoroughly
@given(command=commands(), rules=rule_sets, more=rule_sets)
def test_more_rules_never_cover_less(command: str, rules: list[str], more: list[str]) -> None:
    assert not covering(rules, command).covered or covering([*more, *rules], command).covered


@thoroughly
@given(command=commands(), rules=rule_sets)
def test_a_command_is_covered_exactly_where_each_of_its_segments_is(command: str, rules: list[str]) -> None:
    read = lex(command)
    assert isinstance(read, Lexed)
    each = all(passes(part) or covering(rules, part.text).covered for part in read.segments)
    found = covering(rules, command)
    assert found.covered is (found.uncovered == ())
    # Alone a segment has single blanks and no redirect, so that an exact rule may cover it there only.
    assert not found.covered or each


@thoroughly
@given(command=commands())
def test_what_is_remembered_covers_every_segment_that_is_not_named_as_uncovered(command: str) -> None:
    made = offer(command)
    found = covering(made.texts, command)
    assert sorted(segment.text for segment in found.uncovered) == sorted(one.text for one in made.uncovered)
    assert bool(made.texts) is (made.why_not == "")


@thoroughly
@given(command=commands())
def test_a_remembered_rule_is_short_sound_and_begins_as_a_segment_does(command: str) -> None:
    read = lex(command)
    assert isinstance(read, Lexed)
    texts = offer(command).texts
    assert len(texts) <= MAX_RULES
    begins = [tuple(word.raw for word in segment.words) for segment in read.segments]
    for text in texts:
        rule = parse_rule(text)
        assert isinstance(rule, Rule)
        words = tuple(word.raw for word in rule.words)
        assert rule.is_prefix
        assert len(words) in (1, 2)
        assert text == f"{' '.join(words)} *"
        assert any(begin[: len(words)] == words for begin in begins)


@thoroughly
@given(command=commands(), other=commands())
def test_a_remembered_rule_matches_nothing_that_begins_with_another_word(command: str, other: str) -> None:
    texts = offer(command).texts
    first_words = {text.split(" ")[0] for text in texts}
    for part in covering(texts, other).parts:
        assert part.free or not part.covered or part.segment.words[0].raw in first_words


@thoroughly
@given(command=commands())
def test_remembering_what_was_remembered_changes_nothing(command: str) -> None:
    for text in offer(command).texts:
        assert offer(text.removesuffix(" *")).texts == (text,)
