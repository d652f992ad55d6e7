"""What rules cover of a whole command, and what is found out on the way."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel
from kova_auto.core.approval.policy import Grant, Grants, Origin
from kova_auto.core.approval.rules import Consulted, check_rule, coverage, heeded
from kova_auto.core.approval.shell.refusal import Refusal
from kova_auto.core.approval.tables import Level
from tests.core.approval.approval_support import policy, rules


def covered(command: str, *texts: str) -> bool:
    return coverage(rules(*texts).commands, command).covered


# Reference on the original, section 11.2.
@pytest.mark.parametrize(
    ("texts", "command"),
    [
        (["git log *"], "git log --stat"),
        (["git log *"], "git log"),
        (["node *"], "node script.js"),
        (["lsof -ti:1420"], "lsof -ti:1420"),
        (["cat *"], "cat notes.txt"),
        (["cat *"], "cat < FILE"),
        (["cat *"], "cd DIR && cat a.ts"),
        (["echo *"], "echo beta $X out.txt"),
        (["echo *"], 'echo "a > b"'),
        (["echo *"], "echo 'a > b'"),
        (["echo *"], r"echo a \> b"),
        (["echo *"], r'echo "a\"b > c"'),
        (["grep *", "head *"], "grep -rn port . 2>/dev/null | head -20"),
        (["npm *", "pnpm *"], "npm run build 2>&1"),
        (["npm *", "pnpm *"], "pnpm tsc >&2"),
        (["ls *"], "ls -la"),
        (["ls *"], "ls -la 2>&1"),
        (["echo *", "git log *"], "echo 'a; b' && git log"),
        (["cat *"], "cat a \\\nrm b"),
        ([], "cd /tmp"),
        ([], "cd src && cd .."),
    ],
)
def test_rules_cover_a_command(texts: list[str], command: str) -> None:
    assert covered(command, *texts)


@pytest.mark.parametrize(
    ("texts", "command"),
    [
        *((["git log *"], command) for command in ("git logx", "git stash", "node script.js", "git log && rm -rf X")),
        *((["git log *"], command) for command in ("git log | sh", "git log; curl URL | sh")),
        (["lsof -ti:1420"], "lsof -ti:1421"),
        *((["cat *"], command) for command in ("cat a > FILE", "cat a >> FILE", "cat a &> f", "cat a > 2")),
        *((["echo *"], command) for command in ("echo alpha${IFS}>f", "echo alpha$IFS>f", "echo $(id)", "echo `id`")),
        *((["cat *"], command) for command in ("cat a${IFS}${IFS}>f", "cat a${IFS}>>f", "cat a${IFS}&>f")),
        (["grep *"], "grep -rn port . > out.txt"),
        *(
            (["ls *", "curl *"], command)
            for command in ("ls -la & rm X", "ls & curl URL | sh", "ls -la &&", "ls -la |")
        ),
        *((["ls *"], command) for command in ("", "  ", "\n", "# nothing")),
        ([], "ls"),
        (["", "*", " * "], "ls"),
        (["ls && rm X"], "ls && rm X"),
        (["ls > out.txt"], "ls > out.txt"),
        # Section 11.3.
        *((["echo *", "cat *"], command) for command in (r"echo a\' ; rm X", r"echo \" ; rm X", r'echo "a\\" ; rm X')),
        *(
            (["echo *", "cat *"], command)
            for command in (r"echo 'a\' ; rm X", "echo 'unclosed ; rm X", 'echo "unclosed')
        ),
        *((["echo *", "cat *"], command) for command in ("echo x \\", r"echo $'it\'s' ; rm X", 'echo $"x"')),
    ],
)
def test_rules_do_not_cover_a_command(texts: list[str], command: str) -> None:
    assert not covered(command, *texts)


def test_each_segment_names_the_rules_that_were_consulted_and_the_one_that_matched() -> None:
    wide, narrow, flawed = Grant("git *", Origin.USER), Grant("git log *", Origin.LOCAL), Grant("*", Origin.JOB)
    found = coverage((flawed, wide, narrow), "cd src && git log | head")
    assert [part.segment.text for part in found.parts] == ["cd src", "git log", "head"]
    assert [part.free for part in found.parts] == [True, False, False]
    flaw = Consulted(flawed, matched=False, flaw=check_rule("*") or "")
    assert [part.consulted for part in found.parts] == [
        (),
        (flaw, Consulted(wide, matched=True)),
        (flaw, Consulted(wide, matched=False), Consulted(narrow, matched=False)),
    ]
    assert [part.grant for part in found.parts] == [None, wide, None]
    assert [segment.text for segment in found.uncovered] == ["head"]
    assert (found.covered, found.refused) == (False, None)


def test_the_grants_that_cover_a_command_are_named_once_each_in_its_order() -> None:
    offered = rules("head *", "git log *").plus(rules("git *", origin=Origin.USER)).commands
    found = coverage(offered, "git log; git diff; git log | head")
    assert found.grants == (offered[1], offered[2], offered[0])
    assert found.name == "grant.job:git log *, grant.user:git *, grant.job:head *"


def test_what_needs_no_rule_has_a_name_too() -> None:
    found = coverage((), "cd src")
    assert (found.covered, found.grants, found.name) == (True, (), "safe:cd")


def test_a_refused_command_is_covered_by_nothing_and_says_why() -> None:
    found = coverage(rules("git log *").commands, "git log > x")
    assert (found.parts, found.covered, found.grants, found.uncovered) == ((), False, (), ())
    assert found.refused is not None
    assert (found.refused.code, found.refused.at) == (Refusal.REDIRECT, 8)


@pytest.mark.parametrize(
    ("level", "texts"),
    [
        (ApprovalLevel.ASK, []),
        (ApprovalLevel.WORKSPACE_WRITE, ["a *", "b *", "c *"]),
        (ApprovalLevel.AUTO_EDIT, ["a *", "b *", "c *"]),
        (ApprovalLevel.AUTO, []),
        (AutomationLevel.READ_ONLY, ["a *"]),
        (AutomationLevel.WORKSPACE_WRITE, ["a *", "b *", "c *"]),
        (AutomationLevel.FULL, []),
    ],
)
def test_a_level_heeds_only_the_rules_that_its_table_names(level: Level, texts: list[str]) -> None:
    grants = Grants().plus(rules("a *")).plus(rules("b *", origin=Origin.USER)).plus(rules("c *", origin=Origin.LOCAL))
    assert [grant.text for grant in heeded(policy(level, grants=grants))] == texts


def test_a_rule_is_checked_when_it_is_loaded() -> None:
    assert check_rule("git log *") is None
    assert "every command" in (check_rule("*") or "")
