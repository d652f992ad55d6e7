"""What happens to a run between its iterations, as one sentence each."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Mode
from kova_auto.core.event import (
    ChangesSettled,
    CheckResult,
    ChecksFinished,
    CompactionFailed,
    ContextAssembled,
    ContextCompacted,
    Event,
    ModeEntered,
    WorkspaceAwaited,
)
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.loop.interludes import interlude
from kova_auto.core.loop.values import InterludeKind
from kova_auto.core.message import Usage
from kova_auto.core.source import Source, SourceKind
from tests.story import Story
from tests.support import at, call, says

NOW = at("06:10:00")
STATE = Story().says(says("", call("plan_exit"))).waits("1.1").answers("1.1").state
SHOWN = (
    Source(kind=SourceKind.INSTRUCTIONS, name="A.md", chars=1200, cut=True),
    Source(kind=SourceKind.ATTACHMENT, name="a.bin", problem="it is gone"),
)
COMPACTED = ContextCompacted(
    at=NOW,
    iteration=1,
    through=1,
    summary="So far.",
    strategy="summary",
    reason="threshold",
    tokens_before=12_000,
    tokens_after=3_000,
    restored=("report.md",),
    model="m",
    usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.5),
)


@pytest.mark.parametrize(
    ("event", "kind", "text"),
    [
        (
            WorkspaceAwaited(at=NOW, holder=RunId("b@1"), job="b"),
            InterludeKind.WORKSPACE,
            "it had to wait for run b@1 of b, which had its workspace",
        ),
        (
            ChangesSettled(at=NOW, how="applied", by="ada"),
            InterludeKind.CHANGES,
            "what it left was applied by ada",
        ),
        (
            ContextAssembled(at=NOW, system="", prompt=(), tools=(), sources=SHOWN),
            InterludeKind.CONTEXT,
            "besides its prompt: instructions A.md (1,200 characters, cut); not attachment a.bin, as it is gone",
        ),
        (
            COMPACTED,
            InterludeKind.COMPACTION,
            (
                "the iterations up to 1 were folded (a summary), as the window was nearly full: about 12,000 tokens "
                "became 3,000; put back: report.md"
            ),
        ),
        (
            COMPACTED.model_copy(
                update={"through": 0, "strategy": "fresh", "reason": "overflow", "restored": (), "usage": None}
            ),
            InterludeKind.COMPACTION,
            (
                "the history was folded (no summary), as the provider found the request too large: about 12,000 tokens "
                "became 3,000"
            ),
        ),
        (
            CompactionFailed(at=NOW, iteration=1, error="ModelUnavailable", message="busy"),
            InterludeKind.COMPACTION,
            "the older iterations could not be summed up (ModelUnavailable): busy",
        ),
        (
            ModeEntered(at=NOW, mode=Mode.AGENT, call_id=CallId("1.1"), tools=()),
            InterludeKind.MODE,
            "it goes on in mode agent, as ada let it (call 1.1)",
        ),
        (
            ChecksFinished(
                at=NOW,
                iteration=1,
                results=(
                    CheckResult(command="test -s a", exit_code=0, took_s=0.25),
                    CheckResult(command="sleep 9", exit_code=None, took_s=5.0),
                ),
            ),
            InterludeKind.CHECKS,
            "the answer was checked: `test -s a` ended with 0 after 0.2 s; `sleep 9` did not end by itself after 5.0 s",
        ),
    ],
)
def test_each_is_told_in_a_sentence(event: Event, kind: InterludeKind, text: str) -> None:
    told = interlude(event, STATE)
    assert told is not None
    assert (told.kind, told.text, told.before, told.attempt) == (kind, text, 2, 1)


def test_what_a_summary_used_is_told_with_it() -> None:
    told = interlude(COMPACTED, STATE)
    assert told is not None
    assert (told.tokens, told.cost_usd) == (1_000, 0.5)


def test_what_belongs_to_an_iteration_is_no_interlude() -> None:
    story = Story().says(says("", call("look"))).does("1.1")
    context = story.events[2]
    assert [event.kind for event in story.events if interlude(event, STATE)] == []
    assert context.kind == "context_assembled"
