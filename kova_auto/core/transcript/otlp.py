"""Write spans as OTLP in JSON: what a collector takes at `/v1/traces`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pydantic import JsonValue

from kova_auto.core.ids import RunId, root_of
from kova_auto.core.transcript.span import Moment, Span, span_id, trace_id

Json = dict[str, JsonValue]

INTERNAL, CLIENT = 1, 3
UNSET, ERROR = 0, 2
SCOPE: Final = "kova-auto"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLED: Final = 1


@dataclass(frozen=True, slots=True)
class Beneath:
    """Hold the spans of a subagent.

    Attributes:
        above: The span of the call that dispatched it.
        parent: The run that made the call.
    """

    run_id: RunId
    spans: Sequence[Span]
    parent: RunId
    above: Span


def otlp(
    run_id: RunId,
    spans: Iterable[Span],
    version: str,
    continues: RunId | None = None,
    children: Iterable[Beneath] = (),
) -> Json:
    """Return the request that carries a run's spans; all of a family are of one trace.

    Args:
        run_id: Of the run.
        spans: As `spans_of` returns them.
        version: Of this program.
        continues: The run that this one goes on with; the run's span is linked to it.
        children: Its subagents, and theirs.
    """
    resource: Json = {"attributes": _attributes({"service.name": SCOPE, "service.version": version})}
    scope: Json = {"name": SCOPE, "version": version}
    written: list[JsonValue] = [_span(run_id, span, continues) for span in spans]
    for child in children:
        above = span_id(child.parent, child.above.kind, child.above.seq)
        written += [_span(child.run_id, span, None, above) for span in child.spans]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": written}]}]}


def _span(run_id: RunId, span: Span, continues: RunId | None, above: str = "") -> Json:
    parent = span.parent
    status: Json = {"code": UNSET} if span.error is None else {"code": ERROR, "message": span.error}
    written: Json = {
        "traceId": trace_id(root_of(run_id)),
        "spanId": span_id(run_id, span.kind, span.seq),
        "parentSpanId": span_id(run_id, parent.kind, parent.seq) if parent else above,
        "flags": _SAMPLED,
        "name": span.name,
        "kind": CLIENT if span.calls_out else INTERNAL,
        "startTimeUnixNano": _nanos(span.began_at),
        "endTimeUnixNano": _nanos(max(span.ended_at or span.began_at, span.began_at)),
        "attributes": _attributes(span.attributes),
        "events": [_event(moment) for moment in span.moments],
        "status": status,
    }
    if parent is None and continues:
        written["links"] = [
            {"traceId": trace_id(root_of(continues)), "spanId": span_id(continues, span.kind, span.seq)}
        ]
    return written


def _event(moment: Moment) -> Json:
    return {"timeUnixNano": _nanos(moment.at), "name": moment.name, "attributes": _attributes(moment.attributes)}


def _nanos(instant: datetime) -> str:
    """Return nanoseconds as JSON has 64-bit numbers: as text."""
    return str((instant - _EPOCH) // timedelta(microseconds=1) * 1_000)


def _attributes(values: Mapping[str, JsonValue]) -> list[JsonValue]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: JsonValue) -> Json:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": str(value)}
        case list():
            return {"arrayValue": {"values": [_value(one) for one in value]}}
        case _:
            return {"stringValue": json.dumps(value, ensure_ascii=False)}
