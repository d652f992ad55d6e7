"""Ask the person at the terminal about the calls of an attended run: once, always, or no."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kova_auto.cli.asking import person
from kova_auto.cli.card import card, dispatched
from kova_auto.cli.chosen import chosen
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.text import clean
from kova_auto.core.errors import ConfigError, IllegalEventError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from kova_auto.app.control import Said
    from kova_auto.cli.through import Through
    from kova_auto.core.run import CallState, RunState

_ONCE, _ALWAYS, _NO = ("o", "once", "y", "yes"), ("r", "remember", "a", "always"), ("n", "no", "d", "deny")


class Lines(Protocol):
    """Give what a person types."""

    async def read(self) -> str | None:
        """Return the next line without its end; None where there will be none."""


class TerminalLines:
    """Read the terminal without keeping the loop from anything else."""

    async def read(self) -> str | None:
        """Return the next line without its end; None at the end of input."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(sys.stdin.fileno(), ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(sys.stdin.fileno())
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None


@dataclass(frozen=True, slots=True)
class Attendant:
    """Ask a person about each call that waits."""

    lines: Lines
    zone: ZoneInfo

    async def attend(self, through: Through) -> bool:
        """Ask about the first call that waits, and hand the answer in; False where the person has left."""
        waiting = through.following.pending
        if not waiting:
            return False
        asking = asyncio.ensure_future(self._ask(through, *waiting[0]))
        leaving = asyncio.ensure_future(through.presses.once.wait())
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            return asking.done() and await asking
        finally:
            for task in (asking, leaving):
                task.cancel()
            await asyncio.gather(asking, leaving, return_exceptions=True)

    async def _ask(self, through: Through, state: RunState, known: CallState) -> bool:
        line = through.account.screen.line
        line()
        for text in (*dispatched(state), *card(known, self.zone, state.plan)):
            line(text)
        said = await self._said(through, known)
        if said is None:
            return False
        try:
            await through.connection.control.decide(state.run_id, known.call.id, said)
        except IllegalEventError as exc:
            line(clean(str(exc)))  # Somebody was quicker, elsewhere.
        except ConfigError as exc:
            line(clean(str(exc)))
            return True
        await through.catch_up(is_shown=True)
        return True

    async def _said(self, through: Through, known: CallState) -> Said | None:
        asks = known.verdict is not None and known.verdict.question
        return await (self._answers(through, known) if asks else self._decision(through, known))

    async def _decision(self, through: Through, known: CallState) -> Said | None:
        from kova_auto.app.control import Said

        offered = known.approval is not None and bool(known.approval.offer)
        choices = "[o]nce, [r]emember, [n]o" if offered else "[o]nce, [n]o"
        while True:
            through.account.screen.line(f"allow it? {choices}; a reason may follow the letter")
            typed = await self.lines.read()
            if typed is None:
                return None
            word, _, reason = typed.strip().partition(" ")
            decision = _decision_of(word.casefold(), offered=offered)
            if decision:
                return Said(decision=decision, by=person(), note=reason.strip())

    async def _answers(self, through: Through, known: CallState) -> Said | None:
        from kova_auto.app.control import Said

        asked = known.call.args.get("questions")
        given: list[str] = []
        for number in range(1, (len(asked) if isinstance(asked, list) else 1) + 1):
            through.account.screen.line(f"answer to question {number} (a number, or any text; nothing gives no answer)")
            typed = await self.lines.read()
            if typed is None:
                return None
            if not typed.strip():
                return Said(decision=Decision.DENY, by=person())
            given.append(typed)
        return self._chosen(through, known, given)

    def _chosen(self, through: Through, known: CallState, given: Sequence[str]) -> Said:
        from kova_auto.app.control import Said

        answers = tuple(given)
        with contextlib.suppress(ConfigError):  # What is no option's number is an answer of its own.
            answers = chosen(known, given)
        del through
        return Said(decision=Decision.ONCE, by=person(), answers=answers)


def _decision_of(word: str, *, offered: bool) -> Decision | None:
    if word in _ONCE:
        return Decision.ONCE
    if word in _NO:
        return Decision.DENY
    return Decision.REMEMBER if offered and word in _ALWAYS else None
