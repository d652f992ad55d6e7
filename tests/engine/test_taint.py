"""A run that has read untrusted text is judged as such a one from then on, whatever its level."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest

from kova_auto.core.approval.levels import Decision, Effect, Ruling, Verdict
from kova_auto.core.event import ApprovalDecided, CallAdjudicated, Origin
from kova_auto.core.ids import CallId
from kova_auto.core.job import Job
from kova_auto.core.message import CallRequest, ResultStatus, ToolCall, told
from kova_auto.core.tool import CallFacts, Scene, ToolFact, ToolOutput
from kova_auto.engine.dispatch import Advanced
from tests.doubles.toolbox import Hands
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

PAGE = "the web page https://a.example"


@dataclass
class Fetching(Hands):
    """Read pages, too, each of which says whose words it holds."""

    effects: dict[str, Effect] = field(
        default_factory=lambda: {
            "look": Effect.READ,
            "change": Effect.WRITE,
            "run": Effect.COMMAND,
            "fetch": Effect.WEB_READ,
            "send": Effect.OUTWARD,
        }
    )

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        found = await super().facts(call, scene)
        return replace(found, paths=(), host=str(call.args["host"])) if call.tool == "fetch" else found

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        if call.tool != "fetch":
            async for fact in super().execute(call, verdict, scene):
                yield fact
            return
        self.done.append(f"{scene.call_id} fetch")
        yield ToolOutput(told(ResultStatus.OK, "a page").model_copy(update={"taints": PAGE}))


def job(when_needed: str = "deny") -> Job:
    return a_job(
        automation="full",
        permissions={"web": ["docs.example"], "network": "on"},
        limits={"denials": 50},
        approval={"when_needed": when_needed},
    )


async def rulings(stage: Stage) -> list[tuple[str, Ruling, str]]:
    events = [event for _, event in await stage.journal.events(RUN)]
    return [(e.call_id, e.verdict.ruling, e.verdict.rule) for e in events if isinstance(e, CallAdjudicated)]


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        (call("look"), "level.full.read_inside"),
        (call("change"), "level.full.write_inside"),
        (call("run", command="make"), "taint"),
        (call("send"), "taint"),
        (call("fetch", host="b.example"), "taint"),
        (call("fetch", host="docs.example"), "level.full.web_read"),
    ],
    ids=["read", "write", "command", "outward", "any host", "a host that is named"],
)
async def test_what_is_free_before_a_page_asks_behind_it_where_something_could_get_out(
    wanted: CallRequest, rule: str
) -> None:
    stage = Stage(hands=Fetching())
    await stage.opened(job=job())
    page = call("fetch", host="docs.example")
    await stage.advance(says("Now.", wanted, page, wanted), says("Then.", wanted), says("Done."))
    untainted, read, behind, later = await rulings(stage)
    assert untainted[1] is Ruling.ALLOW
    assert read == ("1.2", Ruling.ALLOW, "level.full.web_read")
    assert untainted[2].startswith("level.full.")
    assert (behind[2], later[2]) == (rule, rule)
    asked = rule == "taint"
    assert [f"{call_id} {wanted.tool}" in stage.hands.done for call_id in ("1.3", "2.1")] == [not asked] * 2


async def test_the_model_is_told_which_text_it_is() -> None:
    stage = Stage(hands=Fetching())
    await stage.opened(job=job())
    await stage.advance(
        says("I read.", call("fetch", host="a.example")), says("I run.", call("run", command="make")), says("So.")
    )
    result = (await stage.journal.load(RUN)).calls[CallId("2.1")].result
    assert result is not None
    assert result.status is ResultStatus.DENIED
    assert f"This run has read {PAGE}, and the command could reach the network." in result.text


async def test_a_run_that_a_webhook_began_is_tainted_from_its_first_call() -> None:
    stage = Stage(hands=Fetching())
    await stage.opened(job=job(), origin=Origin.WEBHOOK)
    await stage.advance(says("I run.", call("run", command="make")), says("So."))
    assert await rulings(stage) == [("1.1", Ruling.ASK, "taint")]


async def test_a_person_may_let_a_call_of_a_tainted_run_happen() -> None:
    stage = Stage(hands=Fetching())
    await stage.opened(job=job("suspend"))
    replies = (says("I read and send.", call("fetch", host="a.example"), call("send")), says("Done."))
    assert await stage.advance(*replies) is Advanced.SUSPENDED
    allowed = ApprovalDecided(at=stage.clock.now(), call_id=CallId("1.2"), decision=Decision.ONCE, by="ann")
    await stage.journal.append(await stage.journal.load(RUN), allowed)
    await stage.advance(replies[1])
    assert stage.hands.done == ["1.1 fetch", "1.2 send"]
