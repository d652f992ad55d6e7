"""Write explanations for a person: one verdict with all that led to it, or a table of many."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from kova_auto.cli.ink import Ink
from kova_auto.cli.listing import listing
from kova_auto.cli.output import GREEN, RED, YELLOW
from kova_auto.core.approval.asking import asking_rows, asking_when_tainted
from kova_auto.core.approval.explanation import Explanation, SegmentSaid, Settled, StageSaid
from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.tables import Cell, cell
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import one_line
from kova_auto.core.job import Job

if TYPE_CHECKING:
    from kova_auto.app.explaining import Rejudged, Specimen

_LABEL: Final = 13
_LONG: Final = 400
_COLORS: Final = {Settled.ALLOW: GREEN, Settled.DENY: RED, Settled.WAITS: YELLOW}
_NOBODY: Final = "nobody is there to be asked, so it is denied at once"
_UNLESS: Final = {
    Cell.LISTED: "hosts that are not listed",
    Cell.RULE: "commands that no rule covers",
    Cell.OWN_OR_SAFE: "commands that no rule of the job covers and that do not only read",
    Cell.RULE_OR_SAFE: "commands that no rule covers and that do not only read",
    Cell.EXEMPT: "tools that are not exempt",
    Cell.OWN_EXEMPT: "tools that the job does not exempt",
}


def explanation_lines(
    told: Explanation, tool: str, arguments: Mapping[str, JsonValue], job: Job, policy: Policy, ink: Ink
) -> Iterator[str]:
    """Yield the lines of one explanation: the verdict first, then what led to it."""
    yield ink(_verdict(told), _COLORS[told.settled], bold=True)
    yield one_line(told.verdict.reason, 4_000)
    yield ""
    yield from _labelled("job", [f"{job.name}: {_under(policy)}"])
    yield from _labelled("call", [f"{tool} {_spelled(arguments)}".rstrip()])
    if told.unread:
        yield from _labelled("not read", [told.unread])
    yield from _labelled("segments", list(_segments(told)))
    yield from _labelled("asked", list(_stages(told.stages)))
    if told.verdict.confinement:
        yield from _labelled("confinement", [told.verdict.confinement])


def survey_lines(specimens: Sequence[Specimen], job: Job, policy: Policy, ink: Ink) -> Iterator[str]:
    """Yield a table of calls, and what can need a person at all."""
    yield f"{job.name}: {_under(policy)}"
    yield ""
    rows = [
        (one.tool, one_line(one.shown, _LONG), _settled(one.explanation.verdict, one.explanation.settled), _rules(one))
        for one in specimens
    ]
    yield listing(("TOOL", "CALL", "VERDICT", "RULE"), rows, ink)
    yield ""
    yield from _asking(policy)


def rejudged_lines(changed: Sequence[Rejudged], runs: int, calls: int, since: datetime, ink: Ink) -> Iterator[str]:
    """Yield a table of recorded calls whose ruling would be another one today."""
    looked = f"{count(runs, 'run')} with {count(calls, 'call')} since {since:%Y-%m-%d %H:%M} UTC"
    if not changed:
        yield f"{looked}: every ruling would be the same today."
        return
    yield f"{looked}: {len(changed)} would be ruled otherwise today."
    yield ""
    rows = [
        (one.run_id, one.call_id, f"{one.tool} {_spelled(one.arguments)}", _ruled(one.then), _now(one))
        for one in changed
    ]
    yield listing(("RUN", "CALL", "WHAT", "THEN", "TODAY"), rows, ink)


def _now(one: Rejudged) -> str:
    return f"{_settled(one.now, one.settled)} {one.now.rule}"


def _ruled(verdict: Verdict) -> str:
    return f"{verdict.ruling} {verdict.rule}"


def _verdict(told: Explanation) -> str:
    verdict = told.verdict
    if verdict.ruling is not Ruling.ASK:
        return f"{verdict.ruling}: {verdict.rule}"
    return f"ask: {verdict.rule}: " + ("it waits for a person" if told.settled is Settled.WAITS else _NOBODY)


def _settled(verdict: Verdict, settled: Settled) -> str:
    match settled:
        case Settled.WAITS:
            return "ask a person"
        case Settled.DENY if verdict.ruling is Ruling.ASK:
            return "deny: nobody there"
        case _:
            return settled.value


def _under(policy: Policy) -> str:
    attended = "a person attends" if policy.attended else "nobody attends"
    waits = 'calls wait for a person (when_needed = "suspend")' if policy.can_ask else "nobody can be asked"
    return f"{policy.mode} mode, level {policy.level}, {attended if policy.attended else f'{attended}, {waits}'}"


def _spelled(arguments: Mapping[str, JsonValue]) -> str:
    """Return what matters of the arguments: one text as it is, several by their names."""
    texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in arguments.values()]
    if len(texts) == 1:
        return one_line(texts[0], _LONG)
    return one_line(" ".join(f"{name}={text}" for name, text in zip(arguments, texts, strict=True)), _LONG)


def _labelled(label: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"{'' if number else label:<{_LABEL}}{line}"


def _segments(told: Explanation) -> Iterator[str]:
    for segment in told.segments:
        yield one_line(segment.text, _LONG)
        if told.heeds_rules:
            yield from (f"  {line}" for line in _coverage(segment))


def _coverage(segment: SegmentSaid) -> Iterator[str]:
    for tried in segment.rules:
        said = "covers it" if tried.matched else f"can never match: {tried.flaw}" if tried.flaw else "does not match"
        yield f"grant.{tried.origin}:{tried.rule}  {said}"
    if segment.safe:
        yield f"safe:{segment.safe}  is on the list of commands that only read"
    elif segment.needs_no_rule:
        yield "a plain cd needs no rule"
    elif not any(tried.matched for tried in segment.rules):
        yield "no rule covers it, and it is not on the list of commands that only read"


def _stages(stages: Sequence[StageSaid]) -> Iterator[str]:
    for stage in stages:
        said = f"{stage.said} {stage.rule}" if stage.said else "nothing against it"
        yield f"{stage.stage:<12} {said}  ({one_line(stage.looked_at, _LONG)})"


def _rules(one: Specimen) -> str:
    return one.explanation.verdict.rule


def _asking(policy: Policy) -> Iterator[str]:
    rows = asking_rows(policy)
    fate = "wait for a person" if policy.can_ask else "are denied at once, for nobody is there to be asked"
    if not rows:
        yield "No class of calls can ask."
    else:
        yield f"Classes that can ask; such calls {fate}:"
        for row in rows:
            only = _UNLESS.get(cell(policy.level, row))
            yield f"  {row}" + (f": {only}" if only else "")
    if tainted := [row for row in asking_when_tainted(policy) if row not in rows or cell(policy.level, row) in _UNLESS]:
        yield f"Once the run has read untrusted text, these ask whatever the level: {', '.join(tainted)}."
