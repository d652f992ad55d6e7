"""Say a notice in neutral words: what every format renders, and none has to think about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import assert_never

from kova_auto.core.delivery.notice import (
    SCRIPTED,
    ApprovalNotice,
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.text import one_line
from kova_auto.core.job import Outcome

_NAMED_DENIALS = 5
_NAMED_CHANGES = 10


class Status(StrEnum):
    """Say how a reader should take it."""

    GOOD = "good"
    BAD = "bad"
    ATTENTION = "attention"
    NEUTRAL = "neutral"


@dataclass(frozen=True)
class Document:
    """Hold one message.

    Attributes:
        title: One line.
        summary: One line that stands for the whole where there is no room.
        facts: Label and value, the most telling first; one line each.
        body_markdown: Untrusted: a model wrote it.
        links: Label and URL.
        commands: What to type to act on it, or to see the whole of it.
        buttons: Id, label and value of each that may be pressed where the message is shown.
        footer: Short remarks that must not get lost.
    """

    title: str
    status: Status
    summary: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    body_markdown: str = ""
    links: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    buttons: tuple[tuple[str, str, str], ...] = ()
    footer: tuple[str, ...] = ()


def describe(notice: Notice) -> Document:
    """Return the document that says a notice."""
    match notice:
        case RunReport():
            return _report(notice)
        case ApprovalNotice():
            return _approval(notice)
        case ScheduleNotice():
            return _schedule(notice)
        case EndpointNotice():
            return _endpoint(notice)
        case Digest():
            return _digest(notice)
        case EndpointTest():
            return Document(
                title=f"Test of the endpoint {notice.endpoint}",
                status=Status.NEUTRAL,
                summary="A test message: nothing ran, and nothing is wrong.",
                body_markdown=notice.text,
            )
        case _:
            assert_never(notice)


def _report(report: RunReport) -> Document:
    marks = {"partial": report.partial, "schedule paused": report.pauses}
    words = ", ".join([report.outcome.replace("_", " "), *(mark for mark, is_so in marks.items() if is_so)])
    resume = [f"kova-auto jobs resume {report.job}"] if report.pauses else []
    return Document(
        title=f"{report.job}: {words}",
        status=_STATUS[report.outcome],
        summary=one_line(report.reason or report.answer, 200),
        facts=tuple((label, value) for label, value in _facts(report) if value),
        body_markdown=f"{report.answer or report.reason or 'The run gave no answer.'}{_denied(report)}",
        commands=(f"kova-auto runs show {report.run_id}", *resume),
        footer=(f"run {report.run_id}", *([SCRIPTED] if report.scripted else [])),
    )


_STATUS = {
    Outcome.DONE: Status.GOOD,
    Outcome.NOTHING_TO_REPORT: Status.NEUTRAL,
    Outcome.NEEDS_INPUT: Status.ATTENTION,
    Outcome.BLOCKED: Status.ATTENTION,
    Outcome.FAILED: Status.BAD,
    Outcome.CONTRACT_FAILED: Status.BAD,
    Outcome.TIMED_OUT: Status.BAD,
    Outcome.BUDGET_EXCEEDED: Status.BAD,
    Outcome.CANCELLED: Status.NEUTRAL,
    Outcome.INTERRUPTED: Status.BAD,
}


def _facts(report: RunReport) -> list[tuple[str, str]]:
    tokens, cost = report.tokens_in + report.tokens_out, report.cost_usd
    return [
        ("Schedule", f"paused: {one_line(report.pauses, 300)}" if report.pauses else ""),
        ("Why", one_line(report.reason, 300) if report.answer else ""),
        ("Model", f"{report.model} ({SCRIPTED})" if report.scripted else report.model),
        ("Mode", f"{report.mode}, {report.level}"),
        ("Took", f"{spell_duration(report.duration_s)}, {count(report.iterations, 'iteration')}"),
        ("Attempts", f"{report.attempts}" if report.attempts > 1 else ""),
        ("Tools", f"{count(report.tool_calls, 'call')}, {len(report.denied)} denied"),
        ("Tokens", f"{tokens}" if tokens else ""),
        ("Cost", f"{cost:.4f} USD" if cost else ""),
        ("Changed", _changed(report)),
        ("Scheduled for", spell_instant(report.nominal_at) if report.nominal_at else ""),
        ("Workspace", one_line(report.workspace, 200)),
    ]


def _changed(report: RunReport) -> str:
    names = [f"{one_line(change.path, 100)} {change.what}" for change in report.changes[:_NAMED_CHANGES]]
    more = len(report.changes) - len(names)
    return ", ".join([*names, *([f"and {more} more"] if more else [])]) or "no file"


def _denied(report: RunReport) -> str:
    if not report.denied:
        return ""
    shown = [f"- `{one_line(d.tool, 60)}`: {one_line(d.reason, 300)}" for d in report.denied[:_NAMED_DENIALS]]
    more = len(report.denied) - len(shown)
    return "\n".join(["", "", "**Not allowed:**", "", *shown, *([f"- and {more} more"] if more else [])])


def _approval(notice: ApprovalNotice) -> Document:
    wants = "asks you something" if notice.asks else "needs your approval"
    if notice.unreached:
        wants = f"{notice.tool}: nobody could be asked" if notice.tool else "nobody could be asked"
    until = f" until {spell_instant(notice.expires_at)}" if notice.expires_at else ""
    waits = f"no more: {notice.settled}" if notice.settled else until.strip() or "for you"
    facts = (
        ("Tool", one_line(notice.tool, 60)),
        ("Subagent", f"{one_line(notice.subagent, 60)}, of run {notice.root}" if notice.subagent else ""),
        ("Not reached", one_line(notice.unreached, 300)),
        ("Why", one_line(notice.reason, 300)),
        ("Rule", one_line(notice.rule, 100)),
        ("Overwrites", one_line(", ".join(notice.overwrites), 300)),
        ("Would be remembered", one_line("; ".join(notice.remembers), 300)),
        ("Cannot be remembered", one_line(notice.no_offer, 300)),
        ("The workspace proposes", one_line("; ".join(notice.proposes), 300)),
        ("Waits", waits),
    )
    return Document(
        title=f"{notice.job}: {wants}" if notice.unreached else f"{notice.job}: {notice.tool} {wants}",
        status=Status.ATTENTION,
        summary=one_line(f"{notice.tool} waits{until}. {notice.reason}", 200),
        facts=tuple((label, value) for label, value in facts if value),
        body_markdown=_fenced(notice.arguments) if notice.arguments else "",
        links=(("Answer", notice.answer_url),) if notice.answer_url and not notice.settled else (),
        commands=() if notice.settled else _answering(notice),
        buttons=_buttons(notice) if notice.answer_token and not notice.settled else (),
        footer=(f"run {notice.run_id}", *([SCRIPTED] if notice.scripted else [])),
    )


def _schedule(notice: ScheduleNotice) -> Document:
    is_late, late_by = notice.what == "late", spell_duration(notice.late_s)
    what = "late: no success came in time" if is_late else f"recovered, late by {late_by}"
    others = f", and {count(notice.count - 1, 'later instant')}" if notice.count > 1 else ""
    meant, by = f"{spell_instant(notice.nominal_at)}{others}", spell_instant(notice.expected_at)
    facts = (
        ("Scheduled for", meant),
        ("Success expected by", by),
        ("Success came", "" if is_late else spell_instant(notice.noticed_at)),
        ("So far", one_line(notice.became, 200)),
        ("Run", one_line(notice.run_id, 200)),
        ("Why", one_line(notice.reason, 300)),
    )
    explained = [f"kova-auto explain {notice.job}@{spell_stamp(notice.nominal_at)}"] if is_late else []
    shown = [f"kova-auto runs show {notice.run_id}"] if notice.run_id else []
    return Document(
        title=f"{notice.job}: {what}",
        status=Status.BAD if is_late else Status.GOOD,
        summary=one_line(f"Scheduled for {meant}; a success was expected by {by}.", 200),
        facts=tuple((label, value) for label, value in facts if value),
        commands=(*explained, *shown),
        footer=(f"job {notice.job}", *([SCRIPTED] if notice.scripted else [])),
    )


def _buttons(notice: ApprovalNotice) -> tuple[tuple[str, str, str], ...]:
    """Return the buttons of a call; a question wants words, which no button has."""
    deny = ("kova_deny", "Deny", notice.answer_token)
    return () if notice.asks else (("kova_allow", "Allow once", notice.answer_token), deny)


_TROUBLES = {
    "disabled": "nothing is sent there any more",
    "undelivered": "a delivery was given up",
    "untrusted": "its certificate cannot be trusted, so nothing is sent",
    "recovered": "it takes deliveries again",
}


def _endpoint(notice: EndpointNotice) -> Document:
    is_good, name = notice.what == "recovered", one_line(notice.endpoint, 60)
    what = f"{notice.what}: {_TROUBLES[notice.what]}"
    facts = (
        ("Why", one_line(notice.reason, 300)),
        ("Failing since", spell_instant(notice.since) if notice.since else ""),
        ("Failed attempts", f"{notice.failures}" if notice.failures else ""),
        ("Job", one_line(notice.job, 60)),
        ("Run", one_line(notice.run_id, 200)),
        ("Tried again", spell_instant(notice.probe_at) if notice.probe_at else ""),
    )
    mend = [f"kova-auto endpoints test {name}"] if notice.what in {"disabled", "untrusted"} else []
    return Document(
        title=f"Endpoint {name}: {what}",
        status=Status.GOOD if is_good else Status.BAD,
        summary=one_line(notice.reason or what, 200),
        facts=tuple((label, value) for label, value in facts if value),
        commands=(
            "kova-auto endpoints list",
            *mend,
            f"kova-auto deliveries list --endpoint {name}",
            f"kova-auto deliveries retry --all-dead --endpoint {name}",
        ),
        footer=(f"delivery {notice.delivery_id}",) if notice.delivery_id else (),
    )


def _digest(digest: Digest) -> Document:
    said = ", ".join(f"{number} {outcome.replace('_', ' ')}" for outcome, number in digest.outcomes.items())
    is_good = digest.outcomes.keys() <= {Outcome.DONE, Outcome.NOTHING_TO_REPORT}
    stretch = f"{spell_instant(digest.since)} to {spell_instant(digest.until)}"
    return Document(
        title=f"{digest.count} more results: {said}",
        status=Status.GOOD if is_good else Status.BAD,
        summary=f"Too many at once for a message each; from {stretch}.",
        facts=(("Ended", stretch),),
        body_markdown=digest.text,
        commands=(f"kova-auto deliveries list --endpoint {one_line(digest.endpoint, 60)}",),
        footer=((SCRIPTED,) if digest.scripted else ()),
    )


def _answering(notice: ApprovalNotice) -> tuple[str, ...]:
    """Return what to type to answer."""
    who = f"{notice.run_id} {notice.call_id}"
    if notice.asks:
        return (f"kova-auto questions answer {who}",)
    remember = [f"kova-auto approvals allow {who} --remember"] if notice.remembers else []
    return (f"kova-auto approvals allow {who}", *remember, f"kova-auto approvals deny {who}")


def _fenced(text: str) -> str:
    marks = "```"
    while marks in text:
        marks += "`"
    return f"{marks}\n{text}\n{marks}"


def spell_duration(seconds: float) -> str:
    """Return a duration as a person says it, in its two largest units."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def spell_instant(at: datetime) -> str:
    """Return an instant to the minute, in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def spell_stamp(at: datetime) -> str:
    """Return an instant in UTC as commands take it, exactly."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
