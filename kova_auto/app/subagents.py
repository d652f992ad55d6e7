"""Dispatch the children of runs: find the definition, pin the model, open the run; end children that nobody needs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kova_auto.app.pinning import Pinning
from kova_auto.core.children.waiting import running
from kova_auto.core.dispatching import Dispatch, child_of
from kova_auto.core.errors import ConfigError, IllegalEventError, KovaError, ToolFailedError, UnknownRunError
from kova_auto.core.event import RunRequested, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job, Outcome
from kova_auto.core.nursery import Task
from kova_auto.core.pin import ModelPin
from kova_auto.core.ports import Clock, Journal, Views
from kova_auto.core.state import RunState
from kova_auto.core.subagents.definition import Subagent
from kova_auto.core.subagents.reading import INHERITED
from kova_auto.core.subagents.roster import Layers, Roster, definitions_for
from kova_auto.core.tool import Scene
from kova_auto.core.view import RunRow
from kova_auto.engine.bells import Bells
from kova_auto.knowledge.subagents import Definitions
from kova_auto.threads import aside

PARENT = "parent"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Hold what the settings say of subagents.

    Attributes:
        max_concurrent: Children of one run that may be under way at once.
        max_depth: Children at this depth dispatch nobody.
        max_turns: Replies that one may have, where its definition does not say.
    """

    max_concurrent: int = 8
    max_depth: int = 1
    max_turns: int = 50


@dataclass(frozen=True, slots=True)
class Rosters:
    """Know whom runs may dispatch.

    Attributes:
        layers: Reads the definitions that are there for a run that works in a workspace.
    """

    layers: Callable[[str], Awaitable[Layers]]

    async def roster(self, job: Job, workspace: str) -> Roster:
        """Return whom a run of a job may dispatch."""
        return definitions_for(job.agents.allow, await self.layers(workspace))

    async def known(self, name: str, scene: Scene) -> Subagent:
        """Return the definition that the run means by a name."""
        roster = await self.roster(scene.job, scene.workspace)
        found = roster.find(name)
        if found is None:
            there = ", ".join(offered.name for offered in roster.available) or "none"
            message = f"this run may dispatch no subagent {name!r}; it may dispatch: {there}"
            raise ToolFailedError(message)
        return found

    async def model(self, said: str, scene: Scene) -> str:
        """Return the `provider/model` that a run means by what it says: also by a name that the settings explain.

        Empty for that of the run itself.
        """
        known = said.strip().lower()
        if known in INHERITED:
            return ""
        return (await self.layers(scene.workspace)).models.get(known, said)


@dataclass(frozen=True, slots=True)
class Nobody:
    """Be the `Nursery` where calls are judged and none is made."""

    rosters: Rosters

    async def known(self, name: str, scene: Scene) -> Subagent:
        """Return the definition that the run means by a name."""
        return await self.rosters.known(name, scene)

    async def dispatch(self, task: Task, scene: Scene) -> RunId:
        """Refuse: nothing is opened here."""
        del scene
        message = f"{task.agent} is not dispatched: calls are only judged here"
        raise ToolFailedError(message)

    async def stop(self, children: Sequence[RunId], reason: str) -> None:
        """End nobody: there is none."""

    async def found(self, run_id: RunId) -> RunRow | None:
        """Return that there is none."""
        del run_id
        return None


@dataclass(frozen=True, slots=True)
class Children:
    """Be the `Nursery` of one service."""

    journal: Journal
    views: Views
    clock: Clock
    bells: Bells
    pinning: Pinning
    rosters: Rosters
    bounds: Bounds = Bounds()

    async def known(self, name: str, scene: Scene) -> Subagent:
        """Return the definition that the run means by a name."""
        return await self.rosters.known(name, scene)

    async def dispatch(self, task: Task, scene: Scene) -> RunId:
        """Open the run of a child."""
        agent, parent = await self.known(task.agent, scene), await self.journal.load(scene.run_id)
        asking = parent.calls.get(scene.call_id)
        if parent.finished or (asking and asking.result):
            message = f"another worker has settled call {scene.call_id} meanwhile; nobody is dispatched"
            raise ToolFailedError(message)
        others = [child for child in running(parent) if child.call_id != scene.call_id]
        if len(others) >= self.bounds.max_concurrent:
            message = (
                f"{len(others)} subagents are at work, and no more may be (agents.max_concurrent = "
                f"{self.bounds.max_concurrent}); wait for one with TaskWait"
            )
            raise ToolFailedError(message)
        opening = child_of(parent, await self._dispatch(task, agent, parent, scene), self.clock.now())
        state = await self._opened(opening)
        self.bells.work()
        return state.run_id

    async def _opened(self, opening: RunRequested) -> RunState:
        """Open a run; whoever is cut off meanwhile goes on once it is there, so that nobody overlooks it."""
        writing = asyncio.create_task(self.journal.open(opening))
        try:
            state, _ = await asyncio.shield(writing)
        except asyncio.CancelledError:
            with suppress(KovaError):
                await writing
            raise
        return state

    async def _dispatch(self, task: Task, agent: Subagent, parent: RunState, scene: Scene) -> Dispatch:
        model = await self.rosters.model(task.model, scene) if task.model else agent.model
        pins = () if parent.request.scripted or not model else await self._pins(model, parent)
        return Dispatch(
            scene.call_id,
            agent,
            task=task.task,
            title=task.title,
            pins=pins,
            max_turns=self.bounds.max_turns,
            deepest=self.bounds.max_depth,
        )

    async def _pins(self, model: str, parent: RunState) -> tuple[ModelPin, ...]:
        """Return the model that a child asks in place of its parent's.

        Raises:
            ToolFailedError: There is none of this name, or its price is not known and a ceiling wants it.
        """
        job = parent.job.model_copy(update={"model": model, "script_text": None})
        try:
            chain = await self.pinning.chain(job, self.clock.now())
        except ConfigError as exc:
            message = f"the model {model!r} cannot be asked: {exc.message}"
            raise ToolFailedError(message) from exc
        if chain.lacks:
            message = f"the model {model!r} cannot be asked: {chain.lacks}"
            raise ToolFailedError(message)
        return chain.pins

    async def stop(self, children: Sequence[RunId], reason: str) -> None:
        """Ask children to end."""
        for run_id in children:
            with suppress(UnknownRunError, IllegalEventError):  # It was never opened, has ended, or is ending.
                state = await self.journal.load(run_id)
                wish = StopRequested(at=self.clock.now(), outcome=Outcome.CANCELLED, reason=reason, by=PARENT)
                await self.journal.append(state, wish)
                self.bells.asked(run_id)

    async def found(self, run_id: RunId) -> RunRow | None:
        """Return how a child is doing; None where it was never opened."""
        return await self.views.run(run_id)


def rosters_of(definitions: Definitions) -> Rosters:
    """Return what knows whom runs may dispatch, as the files of definitions are when it is asked."""

    async def layers(workspace: str) -> Layers:
        return await aside(partial(definitions.of, Path(workspace)))

    return Rosters(layers)
