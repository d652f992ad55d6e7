"""The person at the terminal: what each answer does, and what nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import cast
from zoneinfo import ZoneInfo

import pytest

from kova_auto.app.control import Placed, Said
from kova_auto.cli.account import Account
from kova_auto.cli.attending import Attendant
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import Screen
from kova_auto.cli.through import Through
from kova_auto.core.approval.levels import ApprovalLevel, Decision, Ruling
from kova_auto.core.consent import ApprovalDecided, ApprovalRequested, Standing
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import Event
from kova_auto.core.ids import CallId, RunId
from tests.core.facts import asks_for, judged
from tests.doubles.clock import HandClock
from tests.support import a_request, at

FIRST = CallId("1.1")
KEPT = Standing(commands=("git log *",))


@dataclass
class Typing:
    """Be a person who types these lines, and nothing after them."""

    lines: list[str]

    async def read(self) -> str | None:
        return self.lines.pop(0) if self.lines else None


class Silent:
    """Be a person who does nothing."""

    async def read(self) -> str | None:
        await asyncio.Event().wait()
        return None


@dataclass
class Desk:
    """Take answers."""

    said: list[Said] = field(default_factory=list)
    taken: bool = False

    async def decide(self, run_id: RunId, call_id: CallId, said: Said) -> None:
        del run_id, call_id
        if self.taken:
            msg = "ann has answered already"
            raise IllegalEventError(msg)
        self.said.append(said)

    async def events(self, *_: object) -> Sequence[Placed]:
        return ()


@dataclass
class Connected:
    control: Desk
    house: None = None


def waiting(*, offer: Standing, asks: bool = False) -> tuple[Through, Desk, StringIO]:
    """Return what follows a run whose first call waits."""
    verdict = judged(Ruling.ASK).verdict.model_copy(update={"question": asks})
    facts: list[Event] = [
        a_request(level=ApprovalLevel.WORKSPACE_WRITE),
        *asks_for("bash"),
        judged(Ruling.ASK, verdict=verdict),
        ApprovalRequested(at=at("06:00:03"), call_id=FIRST, offer=offer, no_offer="" if offer else "it is a wrapper"),
    ]
    shown = StringIO()
    account = Account(Screen(shown, shown, {}), as_json=False)
    account.take([Placed(seq=seq, event=event) for seq, event in enumerate(facts, 1)], is_shown=False)
    desk = Desk()
    through = Through(cast("object", Connected(desk)), RunId("a"), account, Presses(), HandClock())  # type: ignore[arg-type]
    return through, desk, shown


async def attend(*typed: str, offer: Standing = KEPT, asks: bool = False) -> tuple[bool, list[Said], str]:
    through, desk, shown = waiting(offer=offer, asks=asks)
    goes_on = await Attendant(Typing([*typed]), ZoneInfo("UTC")).attend(through)
    return goes_on, desk.said, shown.getvalue()


@pytest.mark.parametrize(
    ("typed", "decision", "note"),
    [
        ("o", Decision.ONCE, ""),
        ("yes", Decision.ONCE, ""),
        ("O as you like", Decision.ONCE, "as you like"),
        ("r", Decision.REMEMBER, ""),
        ("always", Decision.REMEMBER, ""),
        ("n", Decision.DENY, ""),
        ("no  use the copy", Decision.DENY, "use the copy"),
    ],
)
async def test_a_letter_or_a_word_decides_and_a_reason_may_follow(typed: str, decision: Decision, note: str) -> None:
    goes_on, said, _ = await attend(typed)

    assert goes_on
    assert [(one.decision, one.note) for one in said] == [(decision, note)]


async def test_what_is_no_answer_is_asked_again() -> None:
    _, said, shown = await attend("", "perhaps", "o")

    assert [one.decision for one in said] == [Decision.ONCE]
    assert shown.count("allow it? [o]nce, [r]emember, [n]o") == 3


async def test_the_card_says_what_would_be_remembered() -> None:
    _, _, shown = await attend("n")

    assert "would be remembered: commands: git log *\n" in shown


async def test_where_nothing_can_be_remembered_there_is_no_third_choice_and_it_says_why() -> None:
    _, said, shown = await attend("r", "o", offer=Standing())

    assert [one.decision for one in said] == [Decision.ONCE]
    assert "for this one time only: it is a wrapper\n" in shown
    assert "allow it? [o]nce, [n]o; a reason may follow the letter\n" in shown


async def test_a_terminal_that_is_closed_answers_nothing() -> None:
    assert (await attend())[:2] == (False, [])


async def test_ctrl_c_at_the_question_leaves_the_call_waiting() -> None:
    through, desk, _ = waiting(offer=KEPT)
    through.presses.press()

    assert (await Attendant(Silent(), ZoneInfo("UTC")).attend(through), desk.said) == (False, [])


async def test_whoever_was_quicker_elsewhere_is_named_and_the_run_goes_on() -> None:
    through, desk, shown = waiting(offer=KEPT)
    desk.taken = True

    assert await Attendant(Typing(["o"]), ZoneInfo("UTC")).attend(through)
    assert "ann has answered already\n" in shown.getvalue()


async def test_a_question_is_answered_with_text_and_an_empty_line_gives_none() -> None:
    assert [one.answers for one in (await attend("the second", asks=True))[1]] == [("the second",)]
    assert [(one.decision, one.answers) for one in (await attend("", asks=True))[1]] == [(Decision.DENY, ())]


async def test_a_run_that_waits_for_nobody_asks_nothing() -> None:
    through, desk, shown = waiting(offer=KEPT)
    decided = ApprovalDecided(at=at("06:00:04"), call_id=FIRST, decision=Decision.DENY, by="ann")
    through.account.take([Placed(seq=through.account.seq + 1, event=decided)], is_shown=False)

    assert not await Attendant(Typing(["o"]), ZoneInfo("UTC")).attend(through)
    assert (desk.said, shown.getvalue()) == ([], "")
