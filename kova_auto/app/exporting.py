"""Fetch everything that is on record of one run, and put it into one document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from zoneinfo import ZoneInfo

from kova_auto import __version__
from kova_auto.app.bodies import Body, bodies_of
from kova_auto.app.control import Answers, Placed
from kova_auto.app.family import Kin, facts_beneath, kin_of
from kova_auto.core.errors import JournalBusyError, JournalError
from kova_auto.core.event import Event, ModelCallStarted
from kova_auto.core.ids import BlobHash, RunId
from kova_auto.core.loop.values import LoopView
from kova_auto.core.loop.view import loop_view
from kova_auto.core.run import RunState
from kova_auto.core.transcript.blobs import BlobRef, blobs_in
from kova_auto.core.transcript.content import Input, add_content
from kova_auto.core.transcript.otlp import Beneath, Json, otlp
from kova_auto.core.transcript.span import Span
from kova_auto.core.transcript.told import Told, told_in
from kova_auto.core.transcript.tracing import spans_of
from kova_auto.core.usage import By, Used, report
from kova_auto.core.value import Value
from kova_auto.core.view import DeliveryRow, RunRow, delivery_rows, run_row, usage_rows
from kova_auto.core.wording import Sent
from kova_auto.engine.retelling import retold


class SentBody(Value):
    """Tell of one body that a provider was sent.

    Attributes:
        seq: Position of the fact that announces the call.
        iteration: Of the reply that is asked for; for a summary, of the last one before it.
        number: Which of that call's bodies it is, from 1.
        hash: SHA-256 of what was sent; None where that is not on record.
        exact: Whether it was written again to the byte; None where nobody has tried, or nobody can know.
        file: Its name, where it was written again.
    """

    seq: int
    attempt: int
    iteration: int
    purpose: Literal["reply", "summary"]
    model: str
    number: int
    hash: BlobHash | None
    size: int | None
    exact: bool | None = None
    file: str | None = None


class Export(Value):
    """Hold all that is on record of a run.

    Attributes:
        version: Of this form; a name that is taken away, or means something else, raises it.
        program: The version of the program that wrote it.
        answer: None before the end.
        usage: What each iteration has used of each model.
        transcript: Everything that was said, each thing once.
        requests: What was sent to providers.
        facts: The run itself: all else is computed from them.
        subagents: The runs that it has dispatched, each as this one.
    """

    format: Literal["kova-auto.run"] = "kova-auto.run"
    version: Literal[1] = 1
    program: str
    run: RunRow
    why: str
    answer: str | None
    usage: tuple[Used, ...]
    deliveries: tuple[DeliveryRow, ...]
    loop: LoopView
    transcript: tuple[Told, ...]
    requests: tuple[SentBody, ...]
    blobs: tuple[BlobRef, ...]
    facts: tuple[Placed, ...]
    subagents: tuple[Export, ...] = ()


@dataclass(frozen=True, slots=True)
class Extract:
    """Hold a run's facts, and what was fetched of what they point to.

    Attributes:
        blobs: What the facts point to, with sizes where somebody has looked.
        contents: Of those that were wanted and are there.
        bodies: Written again; empty where nobody wanted them.
        children: The runs that it has dispatched.
    """

    facts: tuple[Placed, ...]
    state: RunState
    blobs: tuple[BlobRef, ...]
    contents: Mapping[BlobHash, bytes] = field(default_factory=dict)
    bodies: tuple[Body, ...] = ()
    children: tuple[Extract, ...] = ()

    @property
    def others(self) -> dict[RunId, Sequence[Event]]:
        """Return the facts of its subagents and theirs."""
        return facts_beneath(self)

    @property
    def events(self) -> list[Event]:
        """Return the facts alone."""
        return [placed.event for placed in self.facts]


async def extract_of(
    answers: Answers, run: str, *, sizes: bool = False, contents: bool = False, bodies: bool = False
) -> Extract:
    """Fetch a run, and those that it has dispatched.

    Args:
        answers: Of a service, or of the database.
        run: Its id, or the beginning of it.
        sizes: Look how large the contents are that its facts point to.
        contents: Keep the contents that its facts point to.
        bodies: Write what was sent to providers again.

    Raises:
        UnknownRunError: There is no such run.
    """
    kin = await kin_of(answers, (await answers.find(run)).run_id)
    return await _extract(answers, kin, _Wanted(sizes, contents, bodies))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Hold what is fetched besides facts; see `extract_of`."""

    sizes: bool
    contents: bool
    bodies: bool


async def _extract(answers: Answers, kin: Kin, wanted: _Wanted) -> Extract:
    events = kin.events
    refs = blobs_in(events)
    known, kept = dict[BlobHash, int](), dict[BlobHash, bytes]()
    for key in dict.fromkeys(ref.hash for ref in refs if wanted.sizes or wanted.contents):
        if (data := await _content(answers, key)) is not None:
            known[key] = len(data)
            kept |= {key: data} if wanted.contents else {}
    return Extract(
        facts=kin.facts,
        state=kin.state,
        blobs=tuple(ref.model_copy(update={"size": known.get(ref.hash)}) for ref in refs),
        contents=kept,
        bodies=tuple([body async for body in bodies_of(answers, events)]) if wanted.bodies else (),
        children=tuple([await _extract(answers, child, wanted) for child in kin.children]),
    )


async def _content(answers: Answers, key: BlobHash) -> bytes | None:
    """Return a content; None where it is not kept any more."""
    try:
        return (await answers.blob(key)).data
    except JournalBusyError:  # It may be there.
        raise
    except JournalError:
        return None


def export_of(extract: Extract) -> Export:
    """Return the document."""
    events, state = extract.events, extract.state
    view = loop_view(events, extract.others)
    return Export(
        program=__version__,
        run=run_row(state),
        why=view.why,
        answer=state.finished.answer if state.finished else None,
        usage=report(usage_rows(state), {By.ITERATION, By.MODEL}, ZoneInfo("UTC")).rows,
        deliveries=tuple(delivery_rows(state)),
        loop=view,
        transcript=told_in(events),
        requests=tuple(map(_written_again, extract.bodies)) or tuple(_on_record(events)),
        blobs=extract.blobs,
        facts=extract.facts,
        subagents=tuple(map(export_of, extract.children)),
    )


def traces_of(extract: Extract, *, content: bool) -> Json:
    """Return the run's spans as a collector takes them; what was said is in them only with `content`."""
    spans = _spans(extract, content=content)
    beneath = _beneath(extract, spans, content=content)
    return otlp(extract.state.run_id, spans, __version__, extract.state.request.continues, beneath)


def _spans(extract: Extract, *, content: bool) -> tuple[Span, ...]:
    events = extract.events
    spans = spans_of(events)
    if content:
        requests = ((asked.seq, asked.request()) for asked in retold(events))
        inputs = {seq: Input(request.system, request.messages) for seq, request in requests}
        add_content(spans, events, inputs)
    return spans


def _beneath(extract: Extract, spans: Sequence[Span], *, content: bool) -> Iterator[Beneath]:
    """Yield the spans of subagents, each beneath the call that dispatched it."""
    calls = {span.attributes["gen_ai.tool.call.id"]: span for span in spans if span.kind == "tool"}
    for child in extract.children:
        if by := child.state.request.child_of:
            own = _spans(child, content=content)
            yield Beneath(child.state.run_id, own, by.run_id, calls[by.call_id])
            yield from _beneath(child, own, content=content)


def name_of(body: Body) -> str:
    """Return the name of a body's file."""
    return f"{body.asked.seq:06}-{body.number}.json"


def _written_again(body: Body) -> SentBody:
    sent = body.sent
    return SentBody(
        seq=body.asked.seq,
        attempt=body.asked.attempt,
        iteration=body.asked.fact.iteration,
        purpose="reply" if isinstance(body.asked.fact, ModelCallStarted) else "summary",
        model=body.asked.fact.model,
        number=body.number,
        hash=sent.hash if sent else None,
        size=sent.size if sent else None,
        exact=body.is_exact,
        file=None if body.data is None else name_of(body),
    )


def _on_record(events: Sequence[Event]) -> list[SentBody]:
    """Return what is on record of bodies that nobody has written again."""
    found = list[SentBody]()
    for asked in retold(events):
        lost: tuple[Sent | None, ...] = (None,) if asked.is_lost and asked.wording else ()
        for number, sent in enumerate(asked.bodies or lost, start=1):
            found.append(_written_again(Body(asked, number, sent, None)).model_copy(update={"exact": None}))
    return found
