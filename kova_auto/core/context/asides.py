"""What we tell the model between its replies: that it was cut off, that it repeats itself, that it must come to an end.

Each aside is written down with the call before which it was said, so that a conversation is told again word by word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from kova_auto.core.approval.levels import Mode
from kova_auto.core.budget import used_up
from kova_auto.core.children.reports import reported, reports_of
from kova_auto.core.goal.ending import conclusion
from kova_auto.core.goal.turns import ends_turn
from kova_auto.core.goal.words import WRAP_UP as GOAL_WRAP_UP
from kova_auto.core.goal.words import go_on
from kova_auto.core.ids import CallId
from kova_auto.core.output.contract import repair
from kova_auto.core.repetition import TOO_OFTEN, circle
from kova_auto.core.state import RunState
from kova_auto.core.stop_reason import StopReason

HURRY: Final = 0.8

CUT: Final = "Your reply was cut off by the output limit. Go on exactly where it broke off, and repeat nothing."
CUT_AGAIN: Final = (
    "Your reply was cut off again. Go on exactly where it broke off, think less before you write, and keep it short."
)
SILENT: Final = "You ended your turn without a word. Give your final answer now, or go on with the tools."
WRAP_UP: Final = (
    "About {used:.0%} of {what} is used. Begin nothing new: finish what is under way and give your final answer, "
    "saying what is left undone."
)
CIRCLES: Final = (
    "You have called {tools} {times} times in a row with the same arguments. Unless what you wait for has changed, "
    "do something else, or say what keeps you from going on."
)


@dataclass(frozen=True, slots=True)
class Asides:
    """Hold what is told before the next reply.

    Attributes:
        hurries: It is to be the end of the work.
        repairs: What of its answer the model is to put right; empty where that is nothing.
        reports: Calls that dispatched the children whose reports are among it.
    """

    texts: tuple[str, ...] = ()
    hurries: bool = False
    repairs: Literal["", "schema", "checks"] = ""
    reports: tuple[CallId, ...] = ()


def asides(state: RunState, ran_s: float) -> Asides:
    """Return what the model is told before its next reply; what it was told before an attempt that failed stays.

    Args:
        state: Of a run that calls its model next.
        ran_s: Its running time, seconds.
    """
    if told := state.asides.get(state.iteration + 1):
        return Asides(told)
    ended = reported(state) if state.children else ()
    wrong = None if ended else repair(state)
    texts = [wrong.text] if wrong else [reports_of(ended)] if ended else list(_about_the_reply(state))
    used, what = used_up(state, ran_s)
    hurries = not state.hurried and used >= HURRY
    if hurries:
        texts.append(WRAP_UP.format(used=min(used, 0.99), what=what))
        texts += [GOAL_WRAP_UP] if state.mode is Mode.GOAL else []
    reports = tuple(child.call_id for child in ended)
    return Asides(tuple(texts), hurries, wrong.kind if wrong else "", reports)


def _about_the_reply(state: RunState) -> Iterator[str]:
    replies = state.replies[state.first_reply :]
    if not replies:
        return
    newest = replies[-1]
    if newest.reply.stop is StopReason.LENGTH and not newest.calls:
        yield CUT if len(replies) < 2 or replies[-2].reply.stop is not StopReason.LENGTH else CUT_AGAIN
    elif not newest.calls and not newest.reply.text.strip() and newest.reply.stop is not StopReason.PAUSED:
        yield SILENT
    elif state.mode is Mode.GOAL and ends_turn(replies) and not conclusion(state):
        yield go_on(state)
    found = circle(state) if newest.calls else None
    if found and (found.times < TOO_OFTEN or found.times % TOO_OFTEN == 0):
        yield CIRCLES.format(tools=found.names, times=found.times)
