"""What the model is sent: each request begins with all of the one before, so that a provider's cache hits."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise

from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import BUILT_IN
from kova_auto.engine.dispatch import Advanced
from kova_auto.llm.openai_chat.wire import OpenAiChat
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

A_DAY = 86_400
REPLIES = (
    says("First.", call("run", command="ls"), call("change", path="b")),
    says("", call("look", path="c")),
    says("Third.", call("look", path="a"), call("look", path=7)),
    says("Done."),
)


def _sent(requests: list[ModelRequest]) -> list[str]:
    """Return each request's messages and tools as they go over the wire, without the list's closing bracket."""
    bodies = [OpenAiChat().encode(BUILT_IN["openai"], request) for request in requests]
    return [json.dumps([body["tools"], body["messages"]]).removesuffix("]]") for body in bodies]


async def test_each_request_begins_with_the_one_before_byte_by_byte() -> None:
    stage, model = Stage(), ScriptedModel(*REPLIES)
    stage.hands.meanwhile = lambda: stage.clock.later(60)
    await stage.opened(job=a_job(limits={"timeout": "10h"}))

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    sent = _sent(model.requests)
    assert len(sent) == len(REPLIES)
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
    assert len(set(sent)) == len(sent)


async def test_another_worker_on_another_day_sends_the_same() -> None:
    stage, model = Stage(), ScriptedModel(*REPLIES)
    stage.hands.waits = frozenset({"run"})
    await stage.opened(job=a_job(automation="full", limits={"timeout": "10h"}))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await stage.hands.working.wait()
    driving.cancel()
    await asyncio.wait({driving})
    stage.clock.later(A_DAY)
    stage.hands.waits = frozenset()

    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    sent = _sent(model.requests)
    assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
