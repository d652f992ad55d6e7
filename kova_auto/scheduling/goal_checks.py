"""Check by what a job file says that its goal is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kova_auto.core.approval.levels import Mode
from kova_auto.core.goal.contract import LONGEST, MOST, folded
from kova_auto.core.job import CommandCriterion
from kova_auto.core.toml.places import Key
from kova_auto.scheduling.draft import Draft

LONGEST_COMMAND: Final = 2_000
_KEY: Key = ("goal", "criteria")


def check_goal(draft: Draft) -> None:
    """Check that the criteria are few and short, that each says something of its own, and that they count."""
    criteria, mode = draft.file.goal.criteria, draft.file.mode
    if not criteria:
        return
    if mode is not Mode.GOAL:
        message = f'wanted mode = "goal" for a job that names criteria, found "{mode}"'
        draft.problems.add(_KEY, message, 'say mode = "goal", or leave the criteria out')
    if len(criteria) > MOST:
        message = f"wanted at most {MOST} criteria, found {len(criteria)}"
        draft.problems.add(_KEY, message, "put together what belongs together")
    for index, message in _problems(criteria):
        draft.problems.add((*_KEY, index), message)


def _problems(criteria: tuple[str | CommandCriterion, ...]) -> Iterator[tuple[int, str]]:
    first: dict[tuple[bool, str], int] = {}
    for index, criterion in enumerate(criteria):
        is_command = isinstance(criterion, CommandCriterion)
        text = criterion.command if isinstance(criterion, CommandCriterion) else criterion
        if problem := _problem(text, is_command=is_command):
            yield index, problem
            continue
        same = first.setdefault((is_command, text if is_command else folded(text)), index)
        if same != index:
            yield index, f"wanted each criterion once, found the one at place {same + 1} again"


def _problem(text: str, *, is_command: bool) -> str:
    most = LONGEST_COMMAND if is_command else LONGEST
    if not text.strip():
        return f"wanted {'a command' if is_command else 'what must be so'}, found only blanks"
    if len(text) > most:
        return f"wanted at most {most} characters, found {len(text)}"
    return "a command cannot hold NUL" if is_command and "\0" in text else ""
