"""Show a run as it goes on: one line for each thing that happened, plain where nobody looks at a terminal."""

from __future__ import annotations

import json
from datetime import datetime

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import (
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    DeliveryFinished,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
)
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus, ToolCall
from kova_auto.core.run import RunState, apply, opened

SCRIPTED = "scripted: no model was called"
_MARKS = {
    ResultStatus.OK: ("ok", "32"),
    ResultStatus.ERROR: ("error", "31"),
    ResultStatus.DENIED: ("refused", "33"),
    ResultStatus.UNKNOWN: ("unknown", "35"),
    ResultStatus.CANCELLED: ("cancelled", "33"),
}
_WIDTH = 110


class Progress:
    """Turn facts into lines, in their order."""

    def __init__(self, *, colour: bool) -> None:
        """Begin before the first fact."""
        self._colour = colour
        self._state: RunState | None = None

    @property
    def state(self) -> RunState | None:
        """Return what the facts so far add up to."""
        return self._state

    def lines(self, event: Event) -> list[str]:
        """Return what there is to show of one more fact."""
        if isinstance(event, RunRequested):
            self._state = opened(event)
            return self._opened(event)
        if self._state is None:
            return []
        before, self._state = self._state, apply(self._state, event)
        return self._shown(event, before)

    def _opened(self, event: RunRequested) -> list[str]:
        facts = [event.job.mode, event.level or event.job.automation, SCRIPTED if event.scripted else event.model]
        if event.staged:
            facts.append("staged: writes go to a copy, nothing is delivered")
        return [self._paint("1", f"run {event.run_id}") + "  " + " · ".join(facts)]

    def _shown(self, event: Event, before: RunState) -> list[str]:
        match event:
            case RunAcquired() if before.epoch:
                return [f"resumed by {event.worker} from exactly where it was"]
            case ModelCallStarted():
                return [self._paint("1", f"iteration {event.iteration}") + self._elapsed(event.at)]
            case ModelReplied():
                text = _first_line(event.reply.text)
                usage = event.reply.usage
                return [f"  {text}" if text else "", f"  {usage.tokens} tokens" if usage.tokens else ""]
            case ModelCallFailed():
                again = f", again at {event.retry_at:%H:%M:%S}" if event.retry_at else ""
                return [self._paint("31", f"  model call failed: {event.message}{again}")]
            case CallAdjudicated():
                return [self._verdict(event)]
            case ApprovalRequested():
                return [self._paint("33", f"  waits for a person: call {event.call_id}")]
            case CallFinished():
                return [self._result(event)]
            case _:
                return self._ending(event)

    def _ending(self, event: Event) -> list[str]:
        match event:
            case StopRequested():
                return [self._paint("33", f"stopping ({event.outcome}): {event.reason}")]
            case RunFinished():
                return ["", self._summary(event)]
            case RunRetried():
                return [self._paint("1", f"attempt {event.attempt}, asked for by {event.by}")]
            case DeliveryFinished():
                return [self._delivery(event)]
            case _:
                return []

    def _verdict(self, event: CallAdjudicated) -> str:
        call, verdict = self._call(event.call_id), event.verdict
        painted = self._paint("32" if verdict.ruling is Ruling.ALLOW else "33", verdict.ruling)
        return f"  {call.tool} {_short_args(call)}  {painted} ({verdict.rule})"

    def _result(self, event: CallFinished) -> str:
        word, colour = _MARKS[event.result.status]
        text = event.result.text
        count = text.count("\n") + 1 if text else 0
        shown = _first_line(text)
        more = f" (+{count - 1} lines)" if count > 1 else ""
        return f"    {self._paint(colour, word)}: {shown}{more}"

    def _delivery(self, event: DeliveryFinished) -> str:
        status = f" {event.http_status}" if event.http_status else ""
        owed = self._state.deliveries.get(event.delivery_id) if self._state else None
        name = owed.endpoint if owed else event.delivery_id
        again = f", again at {event.next_at:%Y-%m-%d %H:%M:%S} UTC" if event.next_at else ""
        detail = f": {event.detail}" if event.detail and event.status != "delivered" else ""
        return f"delivery to {name}: {event.status}{status} (attempt {event.attempt}){detail}{again}"

    def _summary(self, event: RunFinished) -> str:
        state = self._state
        if state is None:
            return event.outcome
        good = event.outcome in {"done", "nothing_to_report"}
        denied = f" ({state.denials} refused)" if state.denials else ""
        cost = "cost unknown" if state.usage.cost_usd is None else f"{state.usage.cost_usd:.4f} USD"
        parts = [
            self._paint("32" if good else "31", event.outcome) + (f": {event.reason}" if event.reason else ""),
            f"{state.ran_s:.1f} s",
            f"{state.iteration - state.first_reply} iterations",
            f"{len(state.calls)} calls{denied}",
            f"{state.usage.tokens} tokens",
            cost,
        ]
        return " · ".join([*parts, SCRIPTED] if state.request.scripted else parts)

    def _elapsed(self, at: datetime) -> str:
        began = self._state.started_at if self._state else None
        return f"  +{(at - began).total_seconds():.1f} s" if began else ""

    def _call(self, call_id: CallId) -> ToolCall:
        if self._state is None:
            msg = "no run is open"
            raise KeyError(msg)
        return self._state.calls[call_id].call

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _short_args(call: ToolCall) -> str:
    """Show the arguments on one line, the long ones cut."""
    if call.unparsed is not None:
        return "(arguments that are no JSON object)"
    parts = []
    for name, value in call.args.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        text = text.replace("\n", "⏎")
        parts.append(f"{name}={text if len(text) <= 60 else text[:59] + '…'}")
    return " ".join(parts)
