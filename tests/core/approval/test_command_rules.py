"""What a command rule covers, and which rules are refused."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.policy import Grant, Origin
from kova_auto.core.approval.rules import check_rule, granting, matches
from tests.core.approval.approval_support import rules


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("git log *", ("git", "log")),
        ("git log *", ("git", "log", "-3", "'a b'")),
        ("git log*", ("git", "log", "-1")),
        ("ls *", ("ls",)),
        ("npm test", ("npm", "test")),
        (" npm test ", ("npm", "test")),
        ('echo "a b"', ("echo", '"a b"')),
        ('grep "a.*b" *', ("grep", '"a.*b"', "x")),
    ],
)
def test_a_rule_covers(rule: str, words: tuple[str, ...]) -> None:
    assert matches(rule, words)
    assert check_rule(rule) is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("git log *", ("git", "logx")),
        ("git log*", ("git", "logx")),
        ("git log *", ("git",)),
        ("git log *", ("git", "stash")),
        ("git log *", ("GIT", "log")),
        ("git log *", ("/usr/bin/git", "log")),
        ("git log *", ("git", "'log'")),
        ("npm test", ("npm", "test", "--watch")),
        ("npm test", ("npm",)),
        ("echo 'a b'", ("echo", '"a b"')),
    ],
)
def test_a_rule_does_not_cover(rule: str, words: tuple[str, ...]) -> None:
    assert not matches(rule, words)


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("*", "every command"),
        (" * ", "every command"),
        ("**", "every command"),
        ("git * log", "plain words"),
        ("git l*g *", "plain words"),
        ("git log **", "plain words"),
        ("npm test && ls", "plain words"),
        ("npm test > out.txt", "plain words"),
        ("LD_PRELOAD=./x.so git *", "plain words"),
        ("$CMD *", "plain words"),
        ("Bash(git log *)", "plain words"),
        ("git  log *", "single blanks"),
        ("time *", "plain words"),
    ],
)
def test_a_rule_that_grants_nothing_sensible_is_refused_and_covers_nothing(rule: str, complaint: str) -> None:
    assert complaint in (check_rule(rule) or "")
    assert not any(matches(rule, words) for words in [(), ("git", "log"), ("npm", "test"), tuple(rule.split())])


def test_the_first_grant_that_covers_a_command_is_named() -> None:
    offered = rules("git diff *", "git *").commands + rules("git log *", origin=Origin.USER).commands
    assert granting(offered, "git log -3") == (Grant("git *", Origin.JOB),)
    assert granting(offered, "git log -3; id") == ()
    assert granting(offered, "npm test") == ()
    assert granting((), "git log") == ()
