"""What stands against calling a goal reached: ids that do not match, criteria that are not met, work that was not done.

All of it is said at once, so that the model need not find it out one by one.

Source: reference on Kova, 3.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kova_auto.core.criterion import CriterionResult
from kova_auto.core.goal.admissions import admission
from kova_auto.core.goal.contract import Contract


def objections(
    results: Sequence[CriterionResult], summary: str, contract: Contract, *, has_worked: bool
) -> tuple[str, ...]:
    """Return what stands against a completion, a sentence each, before any command has had its say.

    Args:
        results: What the model says of each criterion.
        summary: What it says of the whole.
        contract: By which the goal is judged.
        has_worked: It has run a tool that does more than talk about the goal.
    """
    return tuple(_objections(results, summary, contract, has_worked=has_worked))


def _objections(
    results: Sequence[CriterionResult], summary: str, contract: Contract, *, has_worked: bool
) -> Iterator[str]:
    if not has_worked:
        yield "Nothing was done yet: no tool has looked at anything or changed anything."
    yield from _mismatches([result.id for result in results], contract)
    commands = {criterion.id for criterion in contract.criteria if criterion.command is not None}
    said = {criterion.id: criterion.said for criterion in contract.criteria}
    for result in results:
        if result.id in said and not result.met:
            yield f"Not met, as you say yourself: {said[result.id]}."
        elif result.id in said and result.id not in commands and not result.evidence.strip():
            yield f"{result.id} is without evidence: say by what one can see that it is met."
    if admitted := admission(summary):
        yield f'The summary says that something is left or fails: "{admitted}".'


def _mismatches(found: Sequence[str], contract: Contract) -> Iterator[str]:
    wanted = contract.ids
    if missing := [each for each in wanted if each not in found]:
        yield f"There is no result for {_listed(missing)}."
    if foreign := [each for each in dict.fromkeys(found) if each not in wanted]:
        there = f"there are {_listed(wanted)}" if wanted else "there are none, so results must be empty"
        yield f"There is no criterion {_listed(foreign)}: {there}."
    if twice := [each for each, times in Counter(found).items() if times > 1 and each in wanted]:
        yield f"There is more than one result for {_listed(twice)}."


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(ids)
