"""By what a goal is judged: named by its job, or proposed by the model and, where somebody is at hand, agreed to.

pending ──proposed by the model──► proposed ──a person agrees──► confirmed (or skipped, where that person wants none)
   ▲                                   │
   └───────────a person refuses────────┘

Unattended, what the model proposes stands at once; what a job names stands from the start.

Source: reference on Kova, 3.3.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from kova_auto.core.approval.levels import Mode
from kova_auto.core.criterion import Criterion
from kova_auto.core.job import CommandCriterion, Job
from kova_auto.core.state import RunState
from kova_auto.core.tool_names import GOAL_PROPOSE
from kova_auto.core.value import Value

MOST: Final = 8
LONGEST: Final = 500
"""Characters of one criterion."""


class Phase(StrEnum):
    """Say how far it is agreed by what a goal is judged."""

    PENDING = "pending"
    PROPOSED = "proposed"  # a person is asked
    CONFIRMED = "confirmed"
    SKIPPED = "skipped"  # by a person who wants no criteria: the objective alone counts


SETTLED: Final = frozenset((Phase.CONFIRMED, Phase.SKIPPED))


class Author(StrEnum):
    """Say who stands behind the criteria."""

    JOB = "job"
    PERSON = "person"  # the model proposed them, and a person agreed
    MODEL = "model"  # nobody was there to agree


class Contract(Value):
    """Hold by what a goal is judged; `author` is None where nothing stands yet."""

    phase: Phase = Phase.PENDING
    criteria: tuple[Criterion, ...] = ()
    author: Author | None = None

    @property
    def is_settled(self) -> bool:
        """Say whether the goal can be judged by it."""
        return self.phase in SETTLED

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids, in their order."""
        return tuple(criterion.id for criterion in self.criteria)


def contract_of(state: RunState) -> Contract:
    """Return by what the goal of a run's present attempt is judged, as far as that is known."""
    if named := named_by(state.job):
        return Contract(phase=Phase.CONFIRMED, criteria=named, author=Author.JOB)
    author = Author.MODEL if state.request.level is None else Author.PERSON
    if state.criteria is not None:
        phase = Phase.CONFIRMED if state.criteria else Phase.SKIPPED
        return Contract(phase=phase, criteria=numbered(state.criteria), author=author)
    asked = next((call.call for call in state.pending if call.call.tool == GOAL_PROPOSE), None)
    if asked is None:
        return Contract()
    proposed = asked.args.get("criteria")
    texts = [text for text in proposed if isinstance(text, str)] if isinstance(proposed, list) else []
    return Contract(phase=Phase.PROPOSED, criteria=numbered(distinct(texts)), author=Author.MODEL)


def named_by(job: Job) -> tuple[Criterion, ...]:
    """Return the criteria that a job names."""
    return numbered(job.goal.criteria)


def numbered(criteria: Iterable[str | CommandCriterion]) -> tuple[Criterion, ...]:
    """Return criteria under their ids, in their order."""
    return tuple(
        Criterion(id=f"c{number}", text=one)
        if isinstance(one, str)
        else Criterion(id=f"c{number}", command=one.command)
        for number, one in enumerate(criteria, start=1)
    )


def folded(text: str) -> str:
    """Return what two criteria that say the same have in common: neither case, width nor blanks count."""
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def distinct(texts: Iterable[str]) -> tuple[str, ...]:
    """Return each criterion once, without blanks around it, in the order of the first of its kind."""
    kept = {folded(text): " ".join(text.split()) for text in reversed(list(texts))}
    return tuple(reversed([text for key, text in kept.items() if key]))


def unfit(texts: Sequence[str]) -> str:
    """Return what is wrong with proposed criteria; empty where nothing is."""
    if len(texts) > MOST:
        return f"wanted at most {MOST} criteria, found {len(texts)}: put together what belongs together"
    for number, text in enumerate(texts, start=1):
        if len(text) > LONGEST:
            return f"wanted at most {LONGEST} characters, found {len(text)} in criterion {number}"
    return ""


def is_agreed(state: RunState) -> bool:
    """Say whether a run may change things: in goal mode with a person at hand, not before the criteria stand."""
    if state.mode is not Mode.GOAL or state.request.level is None:
        return True
    return contract_of(state).is_settled
