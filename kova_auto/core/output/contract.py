"""Hold an answer to what its job wants of it: JSON that fits a schema, and commands that end well after it.

What is wrong is told once for each of the two; after that it ends the run. Only an end as `done` is held to it: who had
nothing to report, was blocked or gave up, or was cut short, has no such answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from kova_auto.core.answer import answer_of
from kova_auto.core.approval.levels import Mode
from kova_auto.core.event import CheckResult
from kova_auto.core.goal.ending import goal_end
from kova_auto.core.job import Outcome
from kova_auto.core.output.fit import fit
from kova_auto.core.state import RunState
from kova_auto.core.steps import Finish, RunChecks
from kova_auto.core.stop_reason import StopReason

WANTED: Final = """\
Your final answer must be JSON that fits this JSON Schema (draft 2020-12), and nothing else: no text before or after it.

{schema}"""
CHECKED: Final = """\
After your final answer these commands are run, where you worked; each must end with exit code 0:

{commands}"""
MISFIT: Final = """\
Your answer is not what the job asks for, which is JSON that fits its JSON Schema and nothing else. What is wrong:

{problems}

Give the whole answer again, as JSON alone. It is the last time that you are asked."""
FAILED: Final = """\
Your work did not pass {failed} of the {all} checks that were run after your answer:

{evidence}

Put it right, and then give your whole final answer again. It is the last time that you are asked."""
MAX_REASON: Final = 1000
MAX_TOLD: Final = 5

Kind = Literal["schema", "checks"]


@dataclass(frozen=True, slots=True)
class Repair:
    """Hold what of its answer a model is to put right, and how it is told."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class _Breach:
    """Hold what an answer is not.

    Attributes:
        told: What the model is told of it.
        reason: The same in short, for people.
    """

    kind: Kind
    told: str
    reason: str


def held(state: RunState, end: Finish) -> Finish | RunChecks | None:
    """Return what comes of an end as done: the end, or what it lacks; None where the model is told to put it right.

    Calling it again gives the same: nothing but facts is looked at.
    """
    found = _breach(state, end.answer)
    if isinstance(found, RunChecks):
        return found
    if found is None:
        return replace(end, answer=_clean(state, end.answer))
    if found.kind not in state.repaired:
        return None
    return replace(end, outcome=Outcome.CONTRACT_FAILED, reason=found.reason)


def fits(state: RunState, answer: str) -> bool:
    """Say whether a job wants its answers to fit a schema, and this one does."""
    return _wants_schema(state) and not fit(answer, state.job.schema_text or "").problems


def repair(state: RunState) -> Repair | None:
    """Return what the model is to be told before its next reply; None where its newest one is no such answer."""
    replies = state.replies[state.first_reply :]
    if not replies or replies[-1].calls or replies[-1].reply.stop not in (StopReason.END, StopReason.TOOL_CALLS):
        return None
    answer = _final(state)
    found = _breach(state, answer) if answer is not None else None
    if not isinstance(found, _Breach) or found.kind in state.repaired:
        return None
    return Repair(found.kind, found.told)


def _final(state: RunState) -> str | None:
    """Return the answer with which a run would end as done; None where it would end otherwise, or go on."""
    if state.mode is Mode.GOAL:
        end = goal_end(state)
        return end.answer if end and end.outcome is Outcome.DONE else None
    answer = answer_of(state.replies[state.first_reply :])
    if state.concludes:
        return answer if state.concludes == Outcome.DONE else None
    return answer if answer.strip() else None


def told_beforehand(state: RunState) -> tuple[str, ...]:
    """Return what the model is told of all this behind its prompt."""
    job, texts = state.job, list[str]()
    if job.schema_text is not None:
        texts.append(WANTED.format(schema=job.schema_text.strip()))
    if job.output.checks:
        texts.append(CHECKED.format(commands="\n".join(f"    {command}" for command in job.output.checks)))
    return tuple(texts)


def _wants_schema(state: RunState) -> bool:
    """Say whether answers are to fit a schema; where a plan is all that is asked for, the answer is the plan."""
    return state.job.schema_text is not None and state.mode is not Mode.PLAN


def _clean(state: RunState, answer: str) -> str:
    """Return an answer as it is kept: of one that is JSON, the JSON."""
    return fit(answer, state.job.schema_text or "").text if _wants_schema(state) else answer


def _breach(state: RunState, answer: str) -> _Breach | RunChecks | None:
    if _wants_schema(state) and (problems := fit(answer, state.job.schema_text or "").problems):
        told = MISFIT.format(problems="\n".join(f"- {problem}" for problem in problems))
        return _Breach("schema", told, _bounded(f"its answer does not fit the schema: {'; '.join(problems)}"))
    if not state.job.output.checks:
        return None
    if state.checked is None or state.checked.iteration != state.iteration:
        return RunChecks(state.iteration)
    results = state.checked.results
    failed = tuple(result for result in results if not result.passed)
    return _failed(failed, len(results)) if failed else None


def _failed(failed: tuple[CheckResult, ...], count: int) -> _Breach:
    evidence = [f"$ {result.command}\n{result.output}" for result in failed[:MAX_TOLD]]
    evidence += [f"$ {result.command}\n[{_how(result)}]" for result in failed[MAX_TOLD:]]
    told = FAILED.format(failed=len(failed), all=count, evidence="\n\n".join(evidence))
    named = "; ".join(f"{result.command} ({_how(result)})" for result in failed)
    return _Breach("checks", told, _bounded(f"{len(failed)} of {count} checks failed: {named}"))


def _how(result: CheckResult) -> str:
    if result.exit_code is not None:
        return f"exit code {result.exit_code}"
    return result.output.strip().rpartition("\n")[2].strip("[]")[:200]


def _bounded(text: str) -> str:
    return text if len(text) <= MAX_REASON else f"{text[: MAX_REASON - 1]}…"
