"""Runs whose window is filling up, and facts about folding them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import cast

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import (
    CallFinished,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    Event,
    Fact,
    ModelCallFailed,
)
from kova_auto.core.fault import Fault
from kova_auto.core.ids import call_id
from kova_auto.core.message import ResultStatus, TextPart, ToolResult, Usage
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.run import RunState, apply
from kova_auto.core.steps import Compact
from tests.core.facts import NOW, acquired, answered, calling, judged, run_of, started
from tests.support import call, says

SMALL = ModelPin(name="test/model", capability=Capability(window=16_000))
"""A request to it may have 8,000 tokens."""
NOTHING: Mapping[str, object] = MappingProxyType({})
OTHER = ModelPin(name="other/model", capability=Capability(window=16_000))


def context(system: str = "Be brief.", **more: object) -> ContextAssembled:
    return ContextAssembled.model_validate(
        {"at": NOW, "system": system, "prompt": (TextPart(text="Look around."),), "tools": (), **more}
    )


def looked(iteration: int, counted: int, *, chars: int = 400, result: Mapping[str, object] = NOTHING) -> list[Event]:
    """Hold one iteration: a call that brings so many characters, in a request that the provider counted so."""
    key = call_id(iteration, 1)
    reply = says("Hm.", call("read", path=f"{iteration}.txt")).model_copy(
        update={"usage": Usage(input_tokens=counted, cost_usd=0.0)}
    )
    said = {"status": ResultStatus.OK, "parts": (TextPart(text="x" * chars),)}
    found = ToolResult.model_validate({**said, **result})
    return [
        *answered(reply, iteration),
        judged(Ruling.ALLOW, key),
        started(key),
        CallFinished(at=NOW, call_id=key, result=found),
    ]


def filled(iterations: int, counted: int, *, chars: int = 400, **request: object) -> RunState:
    """Return a run that has looked so many times, the last request of which was counted so."""
    facts = [event for number in range(1, iterations + 1) for event in looked(number, counted, chars=chars)]
    return run_of(acquired(), context(), facts, **{"pins": (SMALL,), **request})


def after(state: RunState, *facts: Fact | Iterable[Fact]) -> RunState:
    """Return a run after further facts."""
    for given in facts:
        for fact in [given] if isinstance(given, Fact) else given:
            state = apply(state, cast("Event", fact))
    return state


def overflowed(state: RunState, fault: Fault = Fault.OVERFLOW) -> RunState:
    """Return a run whose request was larger than the window, as its provider said, or met what else never passes."""
    number, model = state.iteration + 1, state.pin.name
    said = {"error": "ContextOverflow", "message": "too long", "fault": fault, "retryable": False}
    begun = calling(number).model_copy(update={"model": model})
    return after(state, begun, ModelCallFailed.model_validate({"at": NOW, "iteration": number, **said}))


def asked(state: RunState, step: Compact) -> CompactionStarted:
    return CompactionStarted(
        at=NOW,
        iteration=state.iteration,
        through=step.through,
        model=step.model,
        reason=step.reason,
        tokens=step.tokens,
        request_hash="hash",
    )


def unsummed(state: RunState, **more: object) -> CompactionFailed:
    return CompactionFailed.model_validate(
        {"at": NOW, "iteration": state.iteration, "error": "Empty", "message": "it said nothing", **more}
    )


def summed(state: RunState, step: Compact, *, share: float = 0.3, summary: str = "It looked.") -> ContextCompacted:
    return ContextCompacted(
        at=NOW,
        iteration=state.iteration,
        through=step.through,
        summary=summary,
        strategy="summary" if step.model else "fresh",
        reason=step.reason,
        tokens_before=step.tokens,
        tokens_after=round(share * step.tokens),
        model=step.model,
    )


def folded(state: RunState, step: Compact, *, share: float = 0.3, summary: str = "It looked.") -> RunState:
    """Return a run after one step that folds."""
    asks = [asked(state, step)] if step.model else []
    return after(state, asks, summed(state, step, share=share, summary=summary))
