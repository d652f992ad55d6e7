"""The steps that concern the other runs of a family: count what they have used, and end children."""

from __future__ import annotations

from kova_auto.core.event import ChildrenStopped, FamilyCounted
from kova_auto.core.state import RunState
from kova_auto.core.steps import CountFamily, StopChildren
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.world import World


def about_family(step: CountFamily | StopChildren, state: RunState, world: World) -> Entries:
    """Do one such step."""
    return _stop_children(step, state, world) if isinstance(step, StopChildren) else _count_family(state, world)


async def _count_family(state: RunState, world: World) -> Entries:
    """Find out what the others have used, so that no ceiling is passed together."""
    by = state.request.child_of
    since = by.charged_since if by else state.charged_since
    used = await world.views.family_use(by.root if by else state.run_id, state.run_id, since)
    counted = FamilyCounted(
        at=world.clock.now(),
        tokens=used.tokens,
        cost_usd=used.cost_usd,
        members=max(used.members, 1),
        reserved_tokens=used.reserved_tokens,
        reserved_usd=used.reserved_usd,
    )
    yield Entry(counted, waits=True)


async def _stop_children(step: StopChildren, state: RunState, world: World) -> Entries:
    """Ask children to end; safe to do twice."""
    await world.stop([state.children[call_id].run_id for call_id in step.call_ids], step.reason)
    yield Entry(ChildrenStopped(at=world.clock.now(), call_ids=step.call_ids, reason=step.reason))
