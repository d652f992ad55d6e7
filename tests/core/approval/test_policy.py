"""How a run's policy comes about, and what its hash covers."""

from __future__ import annotations

import dataclasses
import hashlib

import pytest

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Mode
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy, policy_hash
from kova_auto.core.consent import Standing
from kova_auto.core.job import ApprovalTable, JobFile, Permissions
from kova_auto.core.policy import policy_of
from tests.core.approval.approval_support import exempt, rules

PLAIN = Policy(Mode.AGENT, AutomationLevel.READ_ONLY)


def test_a_job_file_that_says_nothing_gives_the_strictest_policy() -> None:
    assert policy_of(JobFile()) == Policy(
        mode=Mode.AGENT,
        level=AutomationLevel.READ_ONLY,
        grants=Grants(),
        web=(),
        write_roots=(),
        read_roots=(),
        sandbox="auto",
        commands="rules",
        network="off",
        when_needed="deny",
        questions="assume",
    )


def test_a_policy_is_the_jobs_own_with_what_was_remembered_behind_it() -> None:
    job = JobFile(
        mode=Mode.GOAL,
        automation=AutomationLevel.WORKSPACE_WRITE,
        permissions=Permissions(
            allow_commands=("git log *",),
            allow_mcp_tools=("mcp__a",),
            write_roots=("../lib",),
            read_roots=("~/docs",),
            web=("*",),
            sandbox="required",
            commands="confined",
            network="on",
        ),
        approval=ApprovalTable(when_needed="suspend", questions="suspend"),
    )
    user, remembered = Standing(tools=("mcp__b",)), Standing(commands=("npm *",), write_roots=("/srv/lib",))
    assert policy_of(job, user=user, remembered=remembered) == Policy(
        mode=Mode.GOAL,
        level=AutomationLevel.WORKSPACE_WRITE,
        grants=Grants(
            commands=(Grant("git log *", Origin.JOB), Grant("npm *", Origin.LOCAL)),
            tools=(Grant("mcp__a", Origin.JOB), Grant("mcp__b", Origin.USER)),
        ),
        web=("*",),
        write_roots=("../lib", "/srv/lib"),
        read_roots=("~/docs",),
        sandbox="required",
        commands="confined",
        network="on",
        when_needed="suspend",
        questions="suspend",
    )


def test_an_attended_run_has_its_own_level() -> None:
    job = JobFile(automation=AutomationLevel.FULL)
    assert (policy_of(job, ApprovalLevel.ASK).level, policy_of(job, ApprovalLevel.ASK).attended) == ("ask", True)
    assert (policy_of(job).level, policy_of(job).attended) == ("full", False)


def test_levels_that_share_a_spelling_make_different_policies() -> None:
    attended = Policy(Mode.AGENT, ApprovalLevel.WORKSPACE_WRITE)
    unattended = Policy(Mode.AGENT, AutomationLevel.WORKSPACE_WRITE)
    assert attended != unattended
    assert policy_hash(attended) != policy_hash(unattended)


def test_a_hash_is_that_of_the_policys_canonical_json() -> None:
    granted = rules("git log *").plus(exempt("mcp__\u00e4", origin=Origin.USER))
    text = (
        '{"attended":false,"commands":"rules","grants":{"commands":[{"origin":"job","text":"git log *"}],'
        '"tools":[{"origin":"user","text":"mcp__\\u00e4"}]},"level":"read-only","mode":"agent","network":"off",'
        '"parent":null,"questions":"assume","read_roots":[],"sandbox":"auto","secrets":[],"v":2,"web":["*"],"when_needed":"deny","write_roots":[]}'
    )
    filled = dataclasses.replace(PLAIN, grants=granted, web=("*",))
    assert policy_hash(filled) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(PLAIN, mode=Mode.PLAN),
        dataclasses.replace(PLAIN, level=AutomationLevel.FULL),
        dataclasses.replace(PLAIN, grants=rules("ls")),
        dataclasses.replace(PLAIN, grants=rules("ls", origin=Origin.USER)),
        dataclasses.replace(PLAIN, grants=exempt("ls")),
        dataclasses.replace(PLAIN, web=("a.example",)),
        dataclasses.replace(PLAIN, write_roots=("a",)),
        dataclasses.replace(PLAIN, read_roots=("a",)),
        dataclasses.replace(PLAIN, sandbox="off"),
        dataclasses.replace(PLAIN, commands="confined"),
        dataclasses.replace(PLAIN, network="on"),
        dataclasses.replace(PLAIN, when_needed="suspend"),
        dataclasses.replace(PLAIN, questions="suspend"),
        dataclasses.replace(PLAIN, secrets=("GH_TOKEN",)),
    ],
)
def test_whatever_adjudication_looks_at_changes_the_hash(other: Policy) -> None:
    judged = [known.name for known in dataclasses.fields(Policy) if known.compare]
    changed = {name for name in judged if getattr(other, name) != getattr(PLAIN, name)}
    assert len(changed) == 1
    assert policy_hash(other) != policy_hash(PLAIN)


def test_what_was_allowed_elsewhere_is_not_inside_for_a_run_that_reads_only() -> None:
    kept = Standing(write_roots=("/srv/lib",))
    job = JobFile(permissions=Permissions(write_roots=("/srv/own",)))
    assert policy_of(job, user=kept, remembered=kept).write_roots == ("/srv/own",)
    assert policy_of(job, ApprovalLevel.ASK, remembered=kept).write_roots == ("/srv/own", "/srv/lib")
