"""Which `cd` needs no rule."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.shell.cd import is_cd, passes
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.word import Lexed, Segment


def segment(command: str) -> Segment:
    read = lex(command)
    assert isinstance(read, Lexed)
    return read.segments[0]


@pytest.mark.parametrize(
    "command",
    [
        *("cd", "cd src", "cd ..", "cd /tmp", "cd ~", "cd ~/x", "cd -", "cd --", "cd -- src", "cd -- -x", "cd -P src"),
        *("cd -L", "cd -L -- src", "cd 'my dir'", 'cd "my dir"', r"cd my\ dir", r"cd a\*b", "cd 'a*b'", 'cd "{a}"'),
        *("cd $HOME", "cd ${HOME}/x", 'cd "$HOME/my dir"', "cd src 2>/dev/null", "cd src >/dev/null 2>&1", "cd é"),
    ],
)
def test_a_plain_cd_passes(command: str) -> None:
    assert is_cd(segment(command))
    assert passes(segment(command))


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cd a b",
            "cd -e src",
            "cd -P -L src",
            "cd -LP",
            "cd '-e'",
            "cd -- a b",
            "cd -x",
            "cd *",
            "cd s?c",
            "cd [ab]",
        ),
        *("cd src/{a,b}", "cd < x", "cd src < x", "cd -@ x"),
    ],
)
def test_any_other_cd_needs_a_rule(command: str) -> None:
    assert is_cd(segment(command))
    assert not passes(segment(command))


@pytest.mark.parametrize("command", ["cdx", "pushd /tmp", "builtin cd /tmp", "./cd x", "CD x", "ls cd"])
def test_no_other_command_is_taken_for_one(command: str) -> None:
    assert not is_cd(segment(command))
    assert not passes(segment(command))
