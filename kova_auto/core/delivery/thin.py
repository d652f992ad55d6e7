"""Say what of a notice is ours alone: ids, times, counts and states, and not a word that a model or a receiver wrote.

For whom a text is a danger: a receiver that hands what it gets to a shell, or that many people read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import describe
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

KEPT: Final[Mapping[type[Notice], frozenset[str]]] = {
    RunReport: frozenset(
        {
            "run_id", "job", "outcome", "execution", "scripted", "model", "mode", "level", "nominal_at", "started_at",
            "finished_at", "duration_s", "attempts", "iterations", "tool_calls", "tokens_in", "tokens_out", "cost_usd",
            "partial",
        }
    ),
    ApprovalNotice: frozenset(
        {
            "run_id", "job", "call_id", "tool", "rule", "asks", "subagent", "parent", "root", "scripted",
            "requested_at", "expires_at",
        }
    ),
    ScheduleNotice: frozenset(
        {"what", "job", "nominal_at", "count", "expected_at", "noticed_at", "late_s", "became", "run_id", "scripted"}
    ),
    EndpointNotice: frozenset(
        {"what", "endpoint", "happened_at", "since", "failures", "delivery_id", "run_id", "job", "probe_at"}
    ),
    Digest: frozenset({"endpoint", "count", "since", "until", "outcomes", "scripted"}),
    EndpointTest: frozenset({"endpoint", "sent_at"}),
}  # fmt: skip
"""Of each kind of notice, the fields that are sent; the others are texts, or may hold some."""


def thin_data(notice: Notice) -> dict[str, JsonValue]:
    """Return what of a notice is ours, with how to see the rest: addresses, and what to type."""
    document = describe(notice)
    return {
        **notice.model_dump(mode="json", include=set(KEPT[type(notice)])),
        **counts(notice),
        "links": [{"label": label, "url": url} for label, url in document.links],
        "commands": list(document.commands),
        "thin": True,
    }


def counts(notice: Notice) -> dict[str, JsonValue]:
    """Return how many entries the lists of a notice have, and that no model was called where that is so."""
    said: dict[str, JsonValue] = {}
    if isinstance(notice, RunReport):
        said = {"denied_count": len(notice.denied), "changes_count": len(notice.changes)}
    if not isinstance(notice, EndpointTest) and notice.scripted:
        said["note"] = SCRIPTED
    return said
