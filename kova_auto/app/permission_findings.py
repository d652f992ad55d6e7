"""Look at what is allowed for good: files that are broken, and rules that reach further than they look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.permissions import Permissions
from kova_auto.core.approval.shell.diagnosis import Grade, diagnose
from kova_auto.core.delivery.document import count
from kova_auto.core.job import Job
from kova_auto.knowledge.permissions import Said

_TOLD = (Grade.ANY_CODE, Grade.WRITES)


def of_permissions(permissions: Permissions, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield what there is to say of the user's own file, of each workspace, and of each job's own rules."""
    surveys = [permissions.survey(place) for place in dict.fromkeys(job.workspace for job in jobs)]
    own = permissions.survey(permissions.places.home).user if not surveys else surveys[0].user
    yield from _of_file(own, str(own.path), "everywhere")
    for survey in surveys:
        place = str(survey.workspace)
        yield from _of_file(survey.here, place, "here")
        yield from (Finding("rules", place, Mark.WARN, problem.sentence) for problem in survey.project.problems)
        if survey.ignored:
            text = f"{survey.ignored} is not read: a repository could bring it along; kova-auto rules add allows here"
            yield Finding("rules", place, Mark.WARN, text)
    for job in jobs:
        yield from _reaching(job.name, job.permissions.allow_commands)


def _of_file(said: Said, name: str, where: str) -> Iterator[Finding]:
    if not said.is_there:
        return
    kept = said.standing
    rules, roots, tools = count(len(kept.commands), "rule"), len(kept.write_roots), len(kept.tools)
    text = f"{rules}, {count(roots, 'write root')}, {count(tools, 'tool')} count {where}"
    yield Finding("rules", name, Mark.OK, text)
    yield from (Finding("rules", name, Mark.WARN, problem.sentence) for problem in said.problems)
    yield from _reaching(name, kept.commands)


def _reaching(name: str, rules: Iterable[str]) -> Iterator[Finding]:
    """Yield the rules that grant more than they show."""
    for rule in rules:
        if (found := diagnose(rule)) and found.grade in _TOLD:
            yield Finding("rules", name, Mark.WARN, found.says)
