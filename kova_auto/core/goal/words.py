"""What a run in goal mode is told of its goal: once, before everything else, and again after each turn.

Nothing that counts stands in what is told first: it is the same bytes from the first request to the last.
"""

from __future__ import annotations

from typing import Final

from kova_auto.core.criterion import Criterion
from kova_auto.core.goal.contract import LONGEST, MOST, Contract, Phase, contract_of, named_by
from kova_auto.core.goal.judging import unmet
from kova_auto.core.goal.turns import turns_of
from kova_auto.core.job import Job
from kova_auto.core.message import TextPart
from kova_auto.core.state import RunState

LONGEST_OBJECTIVE: Final = 4_000
"""Characters of the objective that are said again."""

_HOW: Final = """\
The prompt is your objective. A reply without a call ends a turn, not the job: you are then told to go on, until \
goal_complete is accepted, or goal_blocked.
- goal_complete wants a result for each criterion, by its id, with evidence that somebody could check: what you saw \
and where. Say that a criterion is met only if you have looked. A criterion that is a command is judged by its exit \
code alone, and goal_complete runs it.
- goal_blocked is for what you cannot get past, whatever you try. Try something else first.
- Each of these calls stands alone in its reply.
- After goal_complete is accepted, give your final message and change nothing more."""
_PROPOSE: Final = f"""\
No criteria are given. Begin by looking at what there is; then call goal_propose_criteria with at most {MOST}, each of \
at most {LONGEST} characters: what must be so for the objective to be reached, so that one can look and see. Do not \
make them easier than the objective."""
_AGREE: Final = "A person sees them before they stand. Until then nothing is written."
_GIVEN: Final = "The criteria, from the job itself:\n{}"

_GO_ON: Final = (
    "The goal is not reached yet: that was turn {turn} of {most}{last}. Go on working, as far as you can get.\n"
)
_LAST: Final = ", and the next is the last"
_OBJECTIVE: Final = "The objective:\n{}\n"
_OPEN: Final = "Not yet found met:\n{}\n"
_ALL_FOUND: Final = (
    "All criteria were found met, but goal_complete was not accepted, or things were changed behind it.\n"
)
_JUDGE: Final = (
    "Once every criterion is met, call goal_complete. If nothing gets you past what blocks you, call goal_blocked."
)
_NO_CRITERIA: Final = "No criteria stand yet: call goal_propose_criteria."
_SKIPPED: Final = "There are no criteria: the objective alone counts.\n"

WRAP_UP: Final = "If every criterion is met, call goal_complete before that answer: it ends the run in any case."


def goal_block(job: Job, *, is_attended: bool) -> str:
    """Return what is told first of a job's goal; two calls with equal arguments give equal bytes."""
    named = named_by(job)
    if named:
        return f"{_HOW}\n\n{_GIVEN.format(_listed(named))}"
    return "\n\n".join((_HOW, " ".join((_PROPOSE, _AGREE)) if is_attended else _PROPOSE))


def go_on(state: RunState) -> str:
    """Return what is told after a turn that did not end the run: the objective again, and what is not met."""
    turn, most = sum(1 for turn in turns_of(state) if turn.has_ended), state.job.goal.turns
    parts = (
        _GO_ON.format(turn=turn, most=most, last=_LAST if turn + 1 == most else ""),
        _OBJECTIVE.format(objective_of(state)),
        _state_of(contract_of(state), unmet(state)),
    )
    return "\n".join(parts)


def objective_of(state: RunState) -> str:
    """Return the objective, as far as it is said again."""
    parts = state.context.prompt if state.context else ()
    text = next((part.text for part in parts if isinstance(part, TextPart)), "").strip()
    return text if len(text) <= LONGEST_OBJECTIVE else f"{text[: LONGEST_OBJECTIVE - 1]}…"


def _state_of(contract: Contract, still_open: tuple[Criterion, ...]) -> str:
    if not contract.is_settled:
        return _NO_CRITERIA
    if contract.phase is Phase.SKIPPED:
        return f"{_SKIPPED}\n{_JUDGE}"
    return f"{_OPEN.format(_listed(still_open)) if still_open else _ALL_FOUND}\n{_JUDGE}"


def _listed(criteria: tuple[Criterion, ...]) -> str:
    return "\n".join(f"- {criterion.said}" for criterion in criteria)
