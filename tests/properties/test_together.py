"""In whatever order calls end that run at the same time: the model is told what it would be had they run in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import CallFinished, CallStarted, Event
from kova_auto.core.ids import CallId, call_id
from kova_auto.core.message import CallRequest, ResultStatus, ToolMessage, told
from kova_auto.core.run import RunState, apply
from kova_auto.core.run_calls import keeps_verdicts
from kova_auto.core.step import next_step
from kova_auto.core.steps import TOGETHER, Adjudicate, CallModel, Execute, ExecuteTogether, Recover, Refuse
from kova_auto.core.tool_names import LOOKS
from kova_auto.engine.conversation import conversation
from tests.core.facts import NOW, acquired, answered, begun, judged, run_of, started
from tests.properties.deeds import Draw
from tests.support import a_job, call, says

JOB = a_job(limits={"denials": 100})
ASKED = st.lists(
    st.tuples(st.sampled_from(["read", "grep", "web_fetch", "write", "bash"]), st.sampled_from([*[True] * 4, False])),
    min_size=1,
    max_size=14,
)


def brings(state: RunState, key: CallId) -> CallFinished:
    """Return what a call brings: always the same, whenever it is made."""
    result = told(ResultStatus.OK, f"what {key} brings")
    taints = "a page" if state.call(key).call.tool == "web_fetch" else ""
    return CallFinished(at=NOW, call_id=key, result=result.model_copy(update={"taints": taints}))


def settled(state: RunState, allowed: Sequence[bool], draw: Draw) -> Iterator[RunState]:
    """Yield the states of a run behind each step until the model is asked again."""
    while not isinstance(step := next_step(state, NOW), CallModel):
        for event in facts(step, state, allowed, draw):
            state = apply(state, event)
            yield state


def facts(step: object, state: RunState, allowed: Sequence[bool], draw: Draw) -> Iterator[Event]:
    match step:
        case Adjudicate(key):
            yield judged(Ruling.ALLOW if allowed[int(key.partition(".")[2]) - 1] else Ruling.DENY, key)
        case Refuse(key):
            yield CallFinished(at=NOW, call_id=key, result=told(ResultStatus.DENIED, f"not {key}"))
        case Execute(key) | Recover(key):
            yield started(key)
            yield brings(state, key)
        case ExecuteTogether(keys):
            yield from together(keys, state, draw)
        case _:
            raise AssertionError(step)


def together(keys: Sequence[CallId], state: RunState, draw: Draw) -> Iterator[Event]:
    """Yield the facts of calls of which so many are under way at a time, until none may begin or their worker dies."""
    left, under_way = list(keys), list[CallId]()
    dies_after = draw(st.sampled_from([len(keys), draw(st.integers(0, len(keys)))]))
    for _ in range(dies_after):
        begin, left = left[: TOGETHER - len(under_way)], left[TOGETHER - len(under_way) :]
        yield from map(started, begin)
        under_way += begin
        if not under_way:
            return
        ended = brings(state, under_way.pop(draw(st.integers(0, len(under_way) - 1))))
        yield ended
        left = left if keeps_verdicts(ended.result) else []
    if left or under_way:
        yield acquired(state.epoch + 1, broken=draw(st.booleans()))


@given(ASKED, st.data())
@settings(deadline=None, max_examples=200)
def test_any_interleaving_gives_the_conversation_that_their_order_gives(
    asked: list[tuple[str, bool]], data: st.DataObject
) -> None:
    calls: list[CallRequest] = [call(tool, of=place) for place, (tool, _) in enumerate(asked)]
    state = run_of(begun(), answered(says("Let me see.", *calls)), job=JOB)
    for after in settled(state, [allowed for _, allowed in asked], data.draw):
        keeps_order(after)
        state = after

    messages = [message for message in conversation(state) if isinstance(message, ToolMessage)]
    in_order = [
        (call_id(1, place), f"what 1.{place} brings" if allowed else f"not 1.{place}")
        for place, (_, allowed) in enumerate(asked, 1)
    ]
    assert [(message.call.id, said(message)) for message in messages] == in_order


def said(message: ToolMessage) -> str:
    (part,) = message.parts
    return getattr(part, "text", "")


def keeps_order(state: RunState) -> None:
    """Hold that whatever was begun has before it only what has ended, unless all of that only looks, as it does."""
    calls = [state.call(key) for key in state.open_calls]
    for place, known in enumerate(calls):
        before = [other for other in calls[:place] if other.result is None]
        if known.started and before:
            assert known.call.tool in LOOKS
            assert {other.call.tool for other in before} <= LOOKS
    under_way = [known for known in calls if isinstance(known.started, CallStarted) and known.is_under_way]
    assert len(under_way) <= TOGETHER
    assert len(under_way) <= 1 or {known.call.tool for known in under_way} <= LOOKS
