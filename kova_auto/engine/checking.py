"""Run the commands by which a job file judges a run, each judged before as any command of the run is.

That the file names them is their grant; everything else holds for them as for the model's own: the mode, the
confinement that the level asks for, what a run that has read untrusted text may do. Nobody is asked about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.approval.policy import Policy
from kova_auto.core.event import CheckResult, ChecksFinished, ChecksStarted
from kova_auto.core.ids import CallId
from kova_auto.core.limits import left_s
from kova_auto.core.run import RunState
from kova_auto.core.steps import RunChecks
from kova_auto.core.tool import Scene
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.scene import scene_of
from kova_auto.engine.world import World


async def run_checks(step: RunChecks, state: RunState, world: World) -> Entries:
    """Check an answer by the commands of its job."""
    yield Entry(ChecksStarted(at=world.clock.now(), iteration=step.iteration))
    wanted = state.job.output
    timeout_s = wanted.check_timeout.total_seconds()
    results = await run_own(wanted.checks, state, world, key="output.checks", timeout_s=timeout_s)
    yield Entry(ChecksFinished(at=world.clock.now(), iteration=step.iteration, results=results))


async def run_own(
    commands: Sequence[str], state: RunState, world: World, *, key: str, timeout_s: float
) -> tuple[CheckResult, ...]:
    """Run commands of the job file to their ends, one after the other, and say what came of each.

    Args:
        commands: As the file has them.
        state: Of the run.
        world: Its worker's.
        key: Where the file has them, as `output.checks`.
        timeout_s: For each; the run's own limit holds besides.
    """
    policy, base = _policy(world.policies(state), state.tainted_by), _scene(scene_of(state, world), state.tainted_by)
    await world.checks.clear(base)
    results: list[CheckResult] = []
    for number, command in enumerate(commands, start=1):
        call = CallId(f"{key}-{state.iteration}.{number}")
        scene = replace(base, call_id=call, left_s=left_s(state, world.clock.now()))
        facts = replace(await world.checks.facts(command, scene), tainted_by=state.tainted_by, own=key)
        verdict = adjudicate(facts, policy)
        if verdict.ruling is Ruling.ALLOW:
            results.append(await world.checks.check(command, verdict, scene, timeout_s))
        else:
            reason = world.redact(verdict.reason)
            results.append(CheckResult(command=world.redact(command), exit_code=None, output=reason))
    return tuple(results)


def _policy(policy: Policy, tainted_by: str) -> Policy:
    """Return the policy for such commands. After untrusted text it gives them no network and no secrets.

    The model's own commands need a person then. Nobody is asked about these, and without both they carry nothing out.
    """
    if not tainted_by:
        return policy
    parent = _policy(policy.parent, tainted_by) if policy.parent else None
    return replace(policy, network="off", secrets=(), parent=parent)


def _scene(scene: Scene, tainted_by: str) -> Scene:
    if not tainted_by:
        return scene
    permissions = scene.job.permissions.model_copy(update={"network": "off"})
    return replace(scene, job=scene.job.model_copy(update={"permissions": permissions, "env": {}}))
