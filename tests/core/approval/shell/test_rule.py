"""What one rule covers of one segment, and which rules are refused when they are read."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.rule import Flawed, Rule, matches, parse_rule
from kova_auto.core.approval.shell.word import Lexed


def covers(rule: str, command: str) -> bool:
    parsed, read = parse_rule(rule), lex(command)
    assert isinstance(parsed, Rule)
    assert isinstance(read, Lexed)
    assert len(read.segments) == 1
    return matches(parsed, read.segments[0], command)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git log *", "git log"),
        ("git log *", "git log -3 'a b'"),
        ("git log *", "git\t log \t--stat"),
        ("git log *", "git log $REF *.py"),
        ("git log *", "git log 2>/dev/null --stat"),
        ("git log*", "git log -1"),
        ("git  log  *", "git log -1"),
        ("\tgit log * \n", "git log -1"),
        ("ls *", "ls"),
        ("cat *", "cat < /etc/hosts"),
        ("[ *", "[ -f x ]"),
        ('grep "a.*b" *', 'grep "a.*b" x'),
        ("npm test", "npm test"),
        (" npm test ", "  npm test "),
        ("npm test", "npm test 2>&1"),
        ("lsof -ti:1420", "lsof -ti:1420"),
        ('echo "a b"', 'echo "a b"'),
        ("ls *.py", "ls *.py"),
        ("echo $HOME", "echo $HOME"),
    ],
)
def test_a_rule_covers(rule: str, command: str) -> None:
    assert covers(rule, command)


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("git log *", "git logx"),
        ("git log*", "git logx"),
        ("git log *", "git"),
        ("git log *", "git stash"),
        ("git log *", "GIT log"),
        ("git log *", "/usr/bin/git log"),
        ("git log *", "./git log"),
        ("git log *", "git 'log'"),
        ("git log *", "git l\\og"),
        ("git log *", "git l*g"),
        ("git log *", "git $SUB"),
        ("git log *", "git lo\\\ng"),
        ("git log *", "gitlog"),
        ("npm test", "npm test --watch"),
        ("npm test", "npm"),
        ("npm test", "npm  test"),
        ("npm test", "npm 2>&1 test"),
        ("npm test", "npm test < answers"),
        ("lsof -ti:1420", "lsof -ti:1421"),
        ("echo 'a b'", 'echo "a b"'),
        ("ls *.py", "ls a.py"),
        ("test *", "test -v a*"),
        ("printf *", "printf -v $X y"),
        ("[ *", "[ -v ~/a ]"),
    ],
)
def test_a_rule_does_not_cover(rule: str, command: str) -> None:
    read = lex(command)
    parsed = parse_rule(rule)
    assert isinstance(parsed, Rule)
    assert not isinstance(read, Lexed) or not matches(parsed, read.segments[0], command)


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ("", "an empty rule matches nothing"),
        (" \t ", "an empty rule matches nothing"),
        ("*", "would be every command"),
        (" * ", "would be every command"),
        ("**", "would be every command"),
        ("* *", "would be every command"),
        ("git * log", "because * may turn into anything"),
        ("git l*g *", "because l*g may turn into anything"),
        ("git log **", "because * may turn into anything"),
        ("echo $HOME *", "because $HOME may turn into anything"),
        ("ls ~ *", "because ~ may turn into anything"),
        ("npm test && ls", "this is 2; write a rule for each"),
        ("npm test; ls | head *", "this is 3; write a rule for each"),
        ("npm test > out.txt", "(redirect at character 10)"),
        ("npm test 2>&1", "leave out redirects"),
        ("ls # all", "leave out redirects, comments"),
        ("(ls)", "parentheses"),
        ("ls;", "what ends a command"),
        ("ls \\\n-a *", "leave out"),
        ("LD_PRELOAD=./x.so git *", "(assignment at character 1)"),
        ("$CMD *", "(command_word at character 1)"),
        ("'git' log *", "(command_word at character 1)"),
        ("Bash(git log *)", "(parentheses at character 5)"),
        ("echo $(id) *", "(substitution at character 6)"),
        ("echo 'a", "(unclosed_quote at character 6)"),
        ("ls \\*", "(trailing_backslash at character 4)"),
        ("time *", "(reserved at character 1)"),
        ("git\u00a0log *", "(character at character 4)"),
        ("git  log", "compared letter by letter"),
    ],
)
def test_a_rule_that_can_never_match_says_why(rule: str, says: str) -> None:
    parsed = parse_rule(rule)
    assert isinstance(parsed, Flawed)
    assert says in parsed.says
