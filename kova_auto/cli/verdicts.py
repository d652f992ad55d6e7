"""Show what rules make of a command: each part of it, each rule that was compared, and the one that decided."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kova_auto.cli.job_rows import JsonDict
from kova_auto.core.approval.rules import Consulted, Coverage, Part
from kova_auto.core.approval.shell.refusal import say as spell
from kova_auto.core.delivery.text import one_line

_WIDE: Final = 200


def coverage_lines(found: Coverage) -> Iterator[str]:
    """Yield a line for each part of a command, and below it one for each rule that was compared."""
    if found.refused:
        yield f"not read: {one_line(spell(found.refused), 10 * _WIDE)}"
    for number, part in enumerate(found.parts, start=1):
        yield f"{number}. {one_line(part.segment.text, _WIDE)}"
        yield f"   {_covering(part)}"
        yield from (f"   {_compared(one)}" for one in part.consulted)


def coverage_json(found: Coverage) -> JsonDict:
    """Return the same for a program; the names stay."""
    refused = found.refused
    return {
        "covered": found.covered,
        "refused": {"code": refused.code.value, "at": refused.at, "says": spell(refused)} if refused else None,
        "parts": [_part_json(part) for part in found.parts],
    }


def _covering(part: Part) -> str:
    if part.free:
        return "needs no rule: a plain cd"
    return f"covered by grant.{part.grant.origin}:{one_line(part.grant.text, _WIDE)}" if part.grant else "not covered"


def _compared(one: Consulted) -> str:
    outcome = "matches" if one.matched else f"can never match: {one.flaw}" if one.flaw else "does not match"
    return f"  {one.grant.origin}  {one_line(one.grant.text, _WIDE)}  {outcome}"


def _part_json(part: Part) -> JsonDict:
    return {
        "text": part.segment.text,
        "covered": part.covered,
        "free": part.free,
        "rule": f"grant.{part.grant.origin}:{part.grant.text}" if part.grant else None,
        "consulted": [
            {"origin": one.grant.origin.value, "text": one.grant.text, "matched": one.matched, "flaw": one.flaw}
            for one in part.consulted
        ],
    }
