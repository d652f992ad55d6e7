"""Say what a person is shown who follows a link, and read what they send back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from pydantic import JsonValue

from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.document import Document, describe
from kova_auto.core.delivery.notice import ApprovalNotice
from kova_auto.core.delivery.text import visible

LARGEST_FORM: Final = 65_536
_MOST_FIELDS: Final = 32


@dataclass(frozen=True, slots=True)
class Choice:
    """Hold one answer to choose."""

    title: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold one question; without choices any text answers it."""

    title: str
    choices: tuple[Choice, ...] = ()
    several: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Hold what a link's page says.

    Attributes:
        arguments: Of the call, as text; empty for one that asks.
        questions: Of a call that asks; empty for one that waits for leave.
        until: When the link's time is over, as a person reads it.
    """

    document: Document
    arguments: str
    questions: tuple[Asked, ...]
    until: str


@dataclass(frozen=True, slots=True)
class Filled:
    """Hold what somebody sent with the page."""

    decision: Decision
    note: str = ""
    answers: tuple[str, ...] = ()


def shown(notice: ApprovalNotice, args: Mapping[str, JsonValue], until: str) -> Shown:
    """Return what the page of a call says."""
    here = notice.model_copy(update={"remembers": (), "no_offer": ""})  # A link is for this one time.
    questions = _questions(args) if notice.asks else ()
    return Shown(describe(here), "" if questions else notice.arguments, questions, until)


def _questions(args: Mapping[str, JsonValue]) -> tuple[Asked, ...]:
    """Return the questions of a call; what does not look like one is asked as it stands."""
    found = args.get("questions")
    return tuple(map(_question, found)) if isinstance(found, list) and found else (Asked("Your answer"),)


def _question(one: JsonValue) -> Asked:
    if not isinstance(one, dict):
        return Asked(visible(str(one)))
    options = one.get("options")
    choices = tuple(map(_choice, options)) if isinstance(options, list) else ()
    return Asked(visible(str(one.get("title", ""))), choices, one.get("multi_select") is True)


def _choice(one: JsonValue) -> Choice:
    if not isinstance(one, dict):
        return Choice(visible(str(one)))
    return Choice(visible(str(one.get("title", ""))), visible(str(one.get("description") or "")))


def filled(body: bytes, questions: Sequence[Asked]) -> Filled | None:
    """Return what a form says; None where it says nothing that could be meant."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError:
        return None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value.replace("\r\n", "\n"))
    decision = _DECISIONS.get(fields.get("decision", [""])[-1])
    if decision is None:
        return None
    note = fields.get("note", [""])[-1].strip()
    if decision is Decision.DENY:
        return Filled(decision, note)
    return Filled(decision, note, tuple(_answer(fields, number) for number in range(len(questions))))


def _answer(fields: Mapping[str, list[str]], number: int) -> str:
    """Return an answer: what was chosen, then what was written."""
    said = [*fields.get(f"choice-{number}", []), *fields.get(f"answer-{number}", [])]
    return "; ".join(one.strip() for one in said if one.strip())


_DECISIONS: Final = {"once": Decision.ONCE, "deny": Decision.DENY}
