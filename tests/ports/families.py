"""Write into a journal what a parent and its children have done so far."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.dispatching import Dispatch, child_of
from kova_auto.core.event import (
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    Event,
    ModelCallStarted,
    ModelReplied,
    RunAcquired,
    RunFinished,
)
from kova_auto.core.ids import RunId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, TextPart, told
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState
from kova_auto.core.subagents.definition import Subagent
from tests.support import a_job, a_request, at, call, replied, ruled, says

PARENT = RunId("nightly@1")
AGENT = Subagent(name="fixer", description="Mends.", prompt="Mend.", tools=("read",))
ASSEMBLED = ContextAssembled(at=at("06:00:01"), system="Be brief.", prompt=(TextPart(text="Look."),), tools=())


def asking(iteration: int, clock: str = "06:00:02") -> ModelCallStarted:
    """Return that the model is asked."""
    return ModelCallStarted(at=at(clock), iteration=iteration, model="test/model", request_hash="hash")


async def write(journal: Journal, state: RunState, *events: Event) -> RunState:
    """Append one fact after the other."""
    for event in events:
        state = await journal.append(state, event)
    return state


async def a_parent(journal: Journal, children: int, **job: object) -> RunState:
    """Open a parent that dispatches so many, and them."""
    asked = a_request(PARENT, job=a_job("nightly", agents={"allow": ["fixer"]}, **job), nominal_at=at("06:00:00"))
    state, _ = await journal.open(asked)
    reply = replied(1, says("", *[call("Task", agent="fixer", task="mend")] * children))
    begun = RunAcquired(at=at("06:00:01"), epoch=1, worker="one")
    state = await write(journal, state, begun, ASSEMBLED, asking(1), reply)
    for one in reply.calls:
        state = await write(
            journal,
            state,
            CallAdjudicated(at=at("06:00:02"), call_id=one.id, verdict=ruled(Ruling.ALLOW)),
            CallStarted(at=at("06:00:02"), call_id=one.id),
        )
        await journal.open(child_of(state, Dispatch(one.id, AGENT, "mend"), at("06:00:02")))
        result = told(ResultStatus.OK, "dispatched").but(child=child_run_id(PARENT, one.id))
        state = await write(journal, state, CallFinished(at=at("06:00:02"), call_id=one.id, result=result))
    return state


async def answers(journal: Journal, run_id: RunId, clock: str = "06:00:03") -> RunState:
    """Have a child say something, at a price of 10 tokens and a thousandth of a dollar."""
    reply: ModelReplied = replied(1, says("mended"), when=at(clock))
    begun: Sequence[Event] = (RunAcquired(at=at(clock), epoch=1, worker="one"), ASSEMBLED, asking(1, clock), reply)
    return await write(journal, await journal.load(run_id), *begun)


def ended(clock: str = "06:00:04", **more: object) -> RunFinished:
    """Return a good end."""
    return RunFinished.model_validate({"at": at(clock), "outcome": Outcome.DONE, "answer": "mended", **more})
