"""The commands of a job file are judged as any of the run's, and run one after the other."""

from __future__ import annotations

from kova_auto.core.event import CheckResult, Origin
from kova_auto.core.job import Job
from kova_auto.core.run import RunState
from kova_auto.engine.checking import run_own
from kova_auto.engine.world import World
from tests.doubles.checks import Proof
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import Stage
from tests.support import a_job

PASSED = "[no output]"


def a_stage(**proof: object) -> Stage:
    return Stage(proof=Proof(**proof))  # type: ignore[arg-type]  # fields of the double


def world_of(stage: Stage) -> World:
    return stage.world(ScriptedModel())


async def run(stage: Stage, state: RunState, *commands: str) -> tuple[CheckResult, ...]:
    return await run_own(commands, state, world_of(stage), key="output.checks", timeout_s=60.0)


def outcomes(results: tuple[CheckResult, ...]) -> list[tuple[str, int | None, str]]:
    return [(result.command, result.exit_code, result.output) for result in results]


async def test_each_runs_as_a_call_of_its_own_whatever_came_of_the_one_before() -> None:
    stage = a_stage(fails={"make": 1})
    results = await run(stage, await stage.opened(job=a_job(automation="workspace-write")), "make", "make test")

    assert outcomes(results) == [("make", 1, "it is not there\n[exit code 1]"), ("make test", 0, PASSED)]
    assert stage.proof.ran == [
        ("make", "output.checks-0.1", "workspace"),
        ("make test", "output.checks-0.2", "workspace"),
    ]


async def test_what_an_earlier_worker_left_is_ended_first() -> None:
    stage = a_stage()
    await run(stage, await stage.opened(), "make")
    assert stage.proof.cleared == 1


async def test_what_may_not_run_has_failed_and_says_why() -> None:
    stage = a_stage(confinable=frozenset())
    [result] = await run(stage, await stage.opened(), "echo hunter2-hunter2")

    assert (result.command, result.exit_code, stage.proof.ran) == ("echo [redacted]", None, [])
    assert result.output.startswith("A command runs only confined, and here it cannot be: nothing on this machine")


def a_networked_job() -> Job:
    granted = {"network": "on"}
    return a_job(automation="workspace-write", permissions=granted, env={"TOKEN": {"env": "OUTER"}})


async def test_after_untrusted_text_it_has_no_network_and_no_secrets() -> None:
    tainted, clean = a_stage(), a_stage()
    [result] = await run(tainted, await tainted.opened(job=a_networked_job(), origin=Origin.WEBHOOK), "make")
    await run(clean, await clean.opened(job=a_networked_job()), "make")

    assert result.passed
    given = [
        (scene.job.permissions.network, sorted(scene.job.env))
        for stage in (tainted, clean)
        for scene in stage.proof.scenes
    ]
    assert given == [("off", []), ("on", ["TOKEN"])]


async def test_after_untrusted_text_nothing_runs_without_confinement() -> None:
    stage = a_stage()
    job = a_job(automation="full", permissions={"sandbox": "off"})
    [result] = await run(stage, await stage.opened(job=job, origin=Origin.WEBHOOK), "make")

    assert (result.passed, stage.proof.ran) == (False, [])
    assert "This run has read the webhook that began this run, and the command would run without confinement." in (
        result.output
    )
