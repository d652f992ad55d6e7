"""Say which policy a run is under: the job's own words, and what this machine allowed besides."""

from __future__ import annotations

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy
from kova_auto.core.job import JobFile


def policy_of(job: JobFile, attended: ApprovalLevel | None = None, remembered: Grants | None = None) -> Policy:
    """Return the policy of a run of `job`.

    Args:
        job: Its own grants come first.
        attended: Level of an attended run; None takes the job's automation level.
        remembered: What the user's file and this machine allowed.
    """
    asked, granted = job.approval, job.permissions
    own = Grants(
        tuple(Grant(rule, Origin.JOB) for rule in granted.allow_commands),
        tuple(Grant(tool, Origin.JOB) for tool in granted.allow_mcp_tools),
    )
    return Policy(
        mode=job.mode,
        level=job.automation if attended is None else attended,
        grants=own.plus(remembered) if remembered else own,
        web=granted.web,
        write_roots=granted.write_roots,
        read_roots=granted.read_roots,
        sandbox=granted.sandbox,
        commands=granted.commands,
        network=granted.network,
        when_needed=asked.when_needed,
        questions=asked.questions,
    )
