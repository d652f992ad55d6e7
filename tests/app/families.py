"""Families of runs in a whole service: scripts for a parent and its children, and what drives them by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import tomli_w
from pydantic import BaseModel

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.levels import Verdict
from kova_auto.core.ids import CallId, RunId, child_run_id
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.run import CallState, RunState
from kova_auto.core.tool import Scene, ToolOutput, ToolRun
from tests.app.houses import UNCONFINED, Home, id_of
from tests.doubles.clock import HandClock

RUN = id_of("lead")
FIRST, SECOND = child_run_id(RUN, CallId("1.1")), child_run_id(RUN, CallId("1.2"))
Part = dict[str, Any]
Then = Callable[[], Awaitable[None]]


def call(tool: str, **args: object) -> Part:
    """Return a call of a turn."""
    return {"tool": tool, "args": args}


def task(agent: str = "fixer", what: str = "mend it", **more: object) -> Part:
    """Return a call that dispatches."""
    return call("Task", agent=agent, task=what, **more)


def turn(text: str, *calls: Part) -> Part:
    """Return a reply."""
    return {"text": text, "calls": list(calls)}


def child(*turns: Part, agent: str = "fixer", expect: str = "") -> Part:
    """Return what is played for a child."""
    return {"agent": agent, **({"expect": expect} if expect else {}), "turns": list(turns)}


def played(turns: Sequence[Part], *children: Part) -> str:
    """Return a script."""
    return tomli_w.dumps({"turns": list(turns), "subagents": list(children)})


def leads(home: Home, script: str, more: str = UNCONFINED, allow: str = '"fixer", "explorer"') -> None:
    """Write the job `lead`, which may dispatch; `more` are further keys and tables."""
    home.job("lead", f"agents.allow = [{allow}]\n{more}", script)


async def asked(house: House, home: Home, **more: object) -> RunId:
    """Open the run of `lead`."""
    await house.control.request(home.ask("lead", **more))
    return RUN


async def driven(house: House, home: Home, **more: object) -> RunState:
    """Bring a family to its end, or to its rest."""
    await drive_one(house, await asked(house, home, **more), asyncio.Event())
    return await house.store.journal.load(RUN)


async def state_of(house: House, run_id: RunId = RUN) -> RunState:
    """Return a run as its journal has it."""
    return await house.store.journal.load(run_id)


def text_of(state: RunState, call_id: str) -> str:
    """Return the result of a call."""
    result = state.call(CallId(call_id)).result
    assert result
    return result.text


class Found:
    """Be a tool that finds what nobody vouches for."""

    def __init__(self, house: House, name: str, source: str) -> None:
        """Take the place of the tool of this name."""
        tool = self._tool = house.tooling.toolbox._tools[name]
        self._source = source
        self.name, self.description, self.effect = tool.name, tool.description, tool.effect
        self.replay_safe, self.polling, self.arguments = tool.replay_safe, tool.polling, tool.arguments
        house.tooling.toolbox._tools[name] = self

    async def facts(self, call: ToolCall, args: BaseModel, scene: Scene) -> CallFacts:
        return await self._tool.facts(call, args, scene)

    async def run(self, args: BaseModel, scene: Scene, verdict: Verdict) -> ToolRun:
        async for fact in self._tool.run(args, scene, verdict):
            yield ToolOutput(fact.result.but(taints=self._source)) if isinstance(fact, ToolOutput) else fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        return await self._tool.recover(call, scene)


class Slow:
    """Be a tool that takes a while, on a clock that is moved by hand."""

    def __init__(self, house: House, name: str, clock: HandClock, seconds: float, then: Then | None = None) -> None:
        """Take the place of the tool of this name; `then` happens once the time is over."""
        self._then = then
        self._tool, self._clock, self.seconds = house.tooling.toolbox._tools[name], clock, seconds
        tool, self.used = self._tool, 0
        self.name, self.description, self.effect = tool.name, tool.description, tool.effect
        self.replay_safe, self.polling, self.arguments = tool.replay_safe, tool.polling, tool.arguments
        house.tooling.toolbox._tools[name] = self

    async def facts(self, call: ToolCall, args: BaseModel, scene: Scene) -> CallFacts:
        return await self._tool.facts(call, args, scene)

    async def run(self, args: BaseModel, scene: Scene, verdict: Verdict) -> ToolRun:
        self.used += 1
        self._clock.later(self.seconds)
        if self._then:
            await self._then()
        async for fact in self._tool.run(args, scene, verdict):
            yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        return await self._tool.recover(call, scene)
