"""Show standing decisions: where each comes from, whether it counts, and what it reaches beyond what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kova_auto.cli.job_rows import JsonDict, problem_json
from kova_auto.core.approval.policy import Origin
from kova_auto.core.approval.rules import heeded
from kova_auto.core.approval.shell.diagnosis import Diagnosis, diagnose
from kova_auto.core.approval.tables import Cell, Row, cell
from kova_auto.core.consent import Standing
from kova_auto.core.delivery.text import one_line
from kova_auto.core.policy import policy_of

if TYPE_CHECKING:
    from kova_auto.app.permissions import Survey
    from kova_auto.core.job import Job

HEAD: Final = ("KIND", "FROM", "ENTRY", "NOTE")
PROJECT: Final = "project"
_ENTRY: Final = 80
_PROPOSED = "proposed only: it grants nothing"
_UNHEEDED = "does not count at this job's level"


@dataclass(frozen=True, slots=True)
class RuleRow:
    """Hold one standing decision, or proposal.

    Attributes:
        kind: `command`, `root` or `tool`.
        origin: `job`, `user`, `local` (this machine's) or `project`.
        counts: Runs heed it.
        diagnosis: What a command rule reaches beyond what it shows; None where nothing is known.
    """

    kind: str
    origin: str
    text: str
    counts: bool = True
    diagnosis: Diagnosis | None = None

    @property
    def note(self) -> str:
        """Return what a person should know of it; empty where there is nothing."""
        reach = self.diagnosis.says if self.diagnosis else ""
        unheeded = "" if self.counts else _PROPOSED if self.origin == PROJECT else _UNHEEDED
        return ". ".join(part.rstrip(".") for part in (unheeded, reach) if part)

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        return self.kind, self.origin, one_line(self.text, _ENTRY), self.note

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        return {
            "kind": self.kind,
            "origin": self.origin,
            "text": self.text,
            "counts": self.counts,
            "grade": self.diagnosis.grade.value if self.diagnosis else None,
            "note": self.note,
        }


def rows_of(survey: Survey, job: Job | None) -> list[RuleRow]:
    """Return every standing decision that there is for a workspace, or for one job in it, and what is proposed."""
    user, here = survey.user.standing, survey.here.standing
    counting = _counting(job, user, here) if job else None
    rows = list(_rows(_of_job(job), Origin.JOB, counting)) if job else []
    rows += _rows(user, Origin.USER, counting)
    rows += _rows(here, Origin.LOCAL, counting)
    return [*rows, *_rows(survey.proposed, PROJECT, frozenset())]


def survey_json(survey: Survey, job: Job | None) -> JsonDict:
    """Return everything about a workspace as a program reads it; the names stay."""
    files = ((Origin.USER.value, survey.user), (Origin.LOCAL.value, survey.here), (PROJECT, survey.project))
    return {
        "workspace": str(survey.workspace),
        "job": job.name if job else None,
        "files": [{"origin": origin, "path": str(said.path), "there": said.is_there} for origin, said in files],
        "ignored": str(survey.ignored) if survey.ignored else None,
        "entries": [row.json for row in rows_of(survey, job)],
        "problems": [problem_json(problem) for problem in survey.problems],
    }


def _rows(standing: Standing, origin: str, counting: frozenset[tuple[str, str, str]] | None) -> Iterator[RuleRow]:
    named = (("command", standing.commands), ("root", standing.write_roots), ("tool", standing.tools))
    for kind, entries in named:
        for text in entries:
            counts = counting is None or (kind, origin, text) in counting
            yield RuleRow(kind, str(origin), text, counts, diagnose(text) if kind == "command" else None)


def _of_job(job: Job) -> Standing:
    granted = job.permissions
    return Standing(commands=granted.allow_commands, write_roots=granted.write_roots, tools=granted.allow_mcp_tools)


def _counting(job: Job, user: Standing, here: Standing) -> frozenset[tuple[str, str, str]]:
    """Return what a run of the job heeds, as kind, origin and text."""
    policy = policy_of(job, user=user, remembered=here)
    free = cell(policy.level, Row.COMMAND) is Cell.ALLOW
    own = cell(policy.level, Row.OUTWARD) is Cell.OWN_EXEMPT
    commands = policy.grants.commands if free else heeded(policy)
    counting = {("command", str(grant.origin), grant.text) for grant in commands}
    counting |= {
        ("tool", str(grant.origin), grant.text)
        for grant in policy.grants.tools
        if not own or grant.origin is Origin.JOB
    }
    origins = ((Origin.JOB, _of_job(job)), (Origin.USER, user), (Origin.LOCAL, here))
    counting |= {("root", str(origin), root) for origin, standing in origins for root in standing.write_roots}
    return frozenset(counting)
