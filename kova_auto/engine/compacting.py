"""Fold older iterations into one text: ask for a summary, check it, or begin a fresh window where none is to be had."""

from __future__ import annotations

from datetime import datetime

from kova_auto.core.context.compaction import LESS, appendable, size_after, waiting
from kova_auto.core.context.kept import lost
from kova_auto.core.context.summing import shown
from kova_auto.core.errors import ConfigError, ModelError
from kova_auto.core.event import CompactionFailed, CompactionStarted, ContextCompacted
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelReply, ReplyDone
from kova_auto.core.patience import again_at
from kova_auto.core.run import RunState
from kova_auto.core.state import replace
from kova_auto.core.steps import Compact
from kova_auto.core.stop_reason import StopReason
from kova_auto.engine.conversation import images_of, request_hash
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.folding import folded, summary_request
from kova_auto.engine.hearing import Heard, hear, noted, priced
from kova_auto.engine.world import Senses


async def compact(step: Compact, state: RunState, senses: Senses) -> Entries:
    """Fold older iterations; where a model is asked, that is announced before and told after, whatever came of it."""
    if not step.model:
        yield Entry(_compacted(step, "", state, senses))
        return
    images = {key: await senses.journal.blob(key) for key in images_of(folded(state, step))}
    request = summary_request(state, step, images)
    yield Entry(
        CompactionStarted(
            at=senses.clock.now(),
            iteration=state.iteration,
            through=step.through,
            model=step.model,
            reason=step.reason,
            tokens=step.tokens,
            request_hash=request_hash(request),
            max_output_tokens=step.max_output_tokens,
            words=step.words,
            shown_from=step.shown_from,
            trimmed=step.trimmed,
        )
    )
    try:
        done = await hear(request, step.model, state, senses, Heard())
    except (ModelError, ConfigError) as exc:
        yield Entry(_failed(exc, step, state, senses))
        return
    yield Entry(_heard(done, step, state, senses), waits=True)


def _heard(done: ReplyDone, step: Compact, state: RunState, senses: Senses) -> ContextCompacted | CompactionFailed:
    reply = done.reply
    usage, sent = priced(reply.usage, step.model, state), noted(done.sent, step.model, state, senses)
    found = _compacted(step, reply.text.strip(), state, senses)
    if why := _objection(reply, found):
        error, message = why
        return CompactionFailed(
            at=senses.clock.now(),
            iteration=state.iteration,
            error=error,
            message=senses.redact(message),
            usage=usage,
            sent=sent,
        )
    return found.model_copy(update={"usage": usage, "sent": sent})


def _objection(reply: ModelReply, found: ContextCompacted) -> tuple[str, str] | None:
    """Return what is wrong with a summary, as a name and a sentence; None where it is worth having."""
    if reply.calls:
        return "CalledTool", f"it called {reply.calls[0].tool} instead"
    if reply.stop is not StopReason.END:
        cut = {StopReason.REFUSED: "it refused", StopReason.LENGTH: "the output limit cut it off"}
        return "CutOff", f"{cut.get(reply.stop, 'it broke off')}{f': {said}' if (said := reply.stop_detail) else ''}"
    if not reply.text.strip():
        return "Empty", "it said nothing"
    if found.tokens_after > LESS * found.tokens_before:
        return "TooLong", (
            f"with it the next request would have about {found.tokens_after:,} tokens of {found.tokens_before:,}, "
            "and wanted is a fifth less"
        )
    return None


def _compacted(step: Compact, said: str, state: RunState, senses: Senses) -> ContextCompacted:
    restored = lost(state, step.through, said, appendable(state, step))
    text = senses.redact(shown(state, step, said, restored))
    return ContextCompacted(
        at=senses.clock.now(),
        iteration=state.iteration,
        through=step.through,
        summary=text,
        strategy="fresh" if not step.model else "trimmed" if step.trimmed else "summary",
        reason=step.reason,
        tokens_before=step.tokens,
        tokens_after=size_after(state, step.through, text),
        restored=tuple(senses.redact(line) for line in restored),
        model=step.model,
    )


def _failed(exc: ModelError | ConfigError, step: Compact, state: RunState, senses: Senses) -> CompactionFailed:
    now = senses.clock.now()
    known = exc if isinstance(exc, ModelError) else ModelError(str(exc), fault=Fault.SETTINGS)
    return CompactionFailed(
        at=now,
        iteration=state.iteration,
        error=type(exc).__name__.removesuffix("Error"),
        message=senses.redact(str(exc)),
        retry_at=_again_at(known, step, state, now),
        fault=known.fault,
        usage=priced(known.spent, step.model, state) if known.spent else None,
        sent=noted(known.sent, step.model, state, senses),
    )


def _again_at(exc: ModelError, step: Compact, state: RunState, now: datetime) -> datetime | None:
    """Return when the same is asked again, with the patience of every call of a model; None where it is given up."""
    asking = replace(state, asked=step.model, failures=len(waiting(state)))
    return again_at(asking, exc.fault, exc.retry_after_s, now)
