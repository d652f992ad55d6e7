"""What a job wants of its answers: a schema that they fit, commands that end well after them, one repair of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from datetime import timedelta

import pytest

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.event import ChecksFinished, ModelCallStarted, RunAcquired
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import ModelReply, ResultStatus, ToolCall, UserMessage, told
from kova_auto.core.state import RunState
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.tool import Scene, ToolFact, ToolOutput
from kova_auto.engine.conversation import conversation
from kova_auto.engine.dispatch import Advanced
from tests.doubles.checks import Proof
from tests.doubles.toolbox import Hands
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

SCHEMA = '{"type": "object", "required": ["risk"], "properties": {"risk": {"enum": ["low", "high"]}}}'
GOOD = '{"risk": "low"}'
MAKE = "make check"


def a_contract(schema: str | None = None, *checks: str, limits: dict[str, object] | None = None) -> Job:
    named = {"schema": "triage.schema.json"} if schema else {}
    output = {**named, "checks": checks}
    return a_job(schema_text=schema, output=output, automation="workspace-write", limits=limits or {})


async def a_run(job: Job, *replies: ModelReply, **fails: int) -> Stage:
    stage = Stage(proof=Proof(fails={MAKE: fails.get("fails", 0)}))
    await stage.opened(job=job)
    assert await stage.advance(*replies) is Advanced.DONE
    return stage


async def repairs(stage: Stage) -> list[str]:
    return [event.repairs for event in await stage.facts() if isinstance(event, ModelCallStarted)]


async def answered(stage: Stage) -> tuple[Outcome, str]:
    finished = (await stage.journal.load(RUN)).finished
    assert finished
    return finished.outcome, finished.answer


def texts_told(state: RunState) -> list[str]:
    """Return what the model was told besides its calls' results."""
    return [
        "\n".join(part.text for part in message.parts if part.kind == "text")
        for message in conversation(state)
        if isinstance(message, UserMessage)
    ]


async def test_an_answer_that_fits_is_kept_without_its_fence() -> None:
    stage = await a_run(a_contract(SCHEMA), says(f"```json\n{GOOD}\n```"))
    assert (await answered(stage), await repairs(stage)) == ((Outcome.DONE, GOOD), [""])


async def test_the_model_is_shown_the_schema_and_the_checks_behind_its_prompt() -> None:
    stage = await a_run(a_contract(SCHEMA, MAKE), says(GOOD))
    [prompt] = texts_told(await stage.journal.load(RUN))
    assert prompt.startswith("Look around.\nYour final answer must be JSON that fits this JSON Schema")
    assert SCHEMA in prompt
    assert prompt.endswith(f"each must end with exit code 0:\n\n    {MAKE}")


async def test_a_misfit_is_told_once_with_its_places_and_put_right() -> None:
    stage = await a_run(a_contract(SCHEMA), says('{"risk": "none"}'), says(GOOD))
    assert (await answered(stage), await repairs(stage)) == ((Outcome.DONE, GOOD), ["", "schema"])
    assert "- at /risk: 'none' is not one of ['low', 'high']" in texts_told(await stage.journal.load(RUN))[1]


async def test_a_second_misfit_breaks_the_contract_and_is_kept() -> None:
    stage = await a_run(a_contract(SCHEMA), says("Low."), says('{"risk": 3}'), says(GOOD))
    assert (await answered(stage), await repairs(stage)) == ((Outcome.CONTRACT_FAILED, '{"risk": 3}'), ["", "schema"])
    assert (await stage.ended())[1] == "its answer does not fit the schema: at /risk: 3 is not one of ['low', 'high']"


async def test_the_model_may_work_on_before_it_answers_again() -> None:
    stage = await a_run(a_contract(SCHEMA), says("Low."), says("", call("look", path="a")), says(GOOD))
    assert (await answered(stage), await repairs(stage)) == ((Outcome.DONE, GOOD), ["", "schema", ""])


async def test_checks_run_after_the_answer() -> None:
    stage = await a_run(a_contract(None, MAKE), says("Made."))
    assert (await answered(stage), stage.proof.ran) == (
        (Outcome.DONE, "Made."),
        [(MAKE, "output.checks-1.1", "workspace")],
    )
    assert (await stage.kinds())[-3:] == ["checks_started", "checks_finished", "run_finished"]


async def test_a_check_that_failed_is_told_once_with_its_evidence_and_put_right() -> None:
    stage = await a_run(a_contract(None, MAKE), says("Made."), says("Now it is."), fails=1)
    assert (await answered(stage), await repairs(stage)) == ((Outcome.DONE, "Now it is."), ["", "checks"])
    assert [call_id for _, call_id, _ in stage.proof.ran] == ["output.checks-1.1", "output.checks-2.1"]
    assert "did not pass 1 of the 1 checks" in texts_told(await stage.journal.load(RUN))[1]
    assert "$ make check\nit is not there\n[exit code 1]" in texts_told(await stage.journal.load(RUN))[1]


async def test_a_check_that_fails_again_breaks_the_contract() -> None:
    stage = await a_run(a_contract(None, "true", MAKE), says("Made."), says("Really."), fails=2)
    assert await answered(stage) == (Outcome.CONTRACT_FAILED, "Really.")
    assert (await stage.ended())[1] == "1 of 2 checks failed: make check (exit code 1)"


async def test_the_schema_comes_first_and_each_has_a_repair_of_its_own() -> None:
    stage = await a_run(a_contract(SCHEMA, MAKE), says("Low."), says(GOOD), says(GOOD), fails=1)
    assert (await answered(stage), await repairs(stage)) == ((Outcome.DONE, GOOD), ["", "schema", "checks"])
    assert [call_id for _, call_id, _ in stage.proof.ran] == ["output.checks-2.1", "output.checks-3.1"]


async def test_after_a_repair_of_the_checks_the_schema_still_holds() -> None:
    stage = await a_run(a_contract(SCHEMA, MAKE), says("Low."), says(GOOD), says("Fixed."), fails=1)
    assert await answered(stage) == (Outcome.CONTRACT_FAILED, "Fixed.")


async def test_who_is_cut_short_is_held_to_nothing() -> None:
    job = a_contract(SCHEMA, MAKE, limits={"iterations": 1})
    stage = await a_run(job, says("", call("look", path="a")), says("x"))
    assert ((await answered(stage))[0], stage.proof.ran) == (Outcome.BUDGET_EXCEEDED, [])


async def test_no_room_for_a_repair_ends_the_run_as_its_ceiling_does() -> None:
    stage = await a_run(a_contract(SCHEMA, limits={"iterations": 1}), says("Low."))
    assert await answered(stage) == (Outcome.BUDGET_EXCEEDED, "Low.")


async def test_json_that_fits_asks_nobody_anything() -> None:
    stage = await a_run(a_contract('{"type": "string"}'), says('"Shall I go on?"'))
    assert await answered(stage) == (Outcome.DONE, '"Shall I go on?"')


async def test_a_question_in_place_of_the_json_needs_a_person() -> None:
    stage = await a_run(a_contract(SCHEMA), says("Shall I go on?"))
    assert await answered(stage) == (Outcome.NEEDS_INPUT, "Shall I go on?")


async def test_what_is_told_holds_no_secret_that_the_parts_of_an_answer_make() -> None:
    schema = '{"type": "object"}'
    halves = (says('"hunter2-').model_copy(update={"stop": StopReason.LENGTH}), says('hunter2"'), says("{}"))
    stage = await a_run(a_contract(schema), *halves)
    assert "hunter2-hunter2" not in json.dumps(texts_told(await stage.journal.load(RUN)))
    assert await repairs(stage) == ["", "", "schema"]


async def test_a_worker_that_dies_in_the_middle_of_a_check_has_it_run_again() -> None:
    stage = Stage(proof=Proof(waits=True), lease=timedelta(0))
    await stage.opened(job=a_contract(None, MAKE))
    dying = asyncio.create_task(stage.engine(says("Made.")).advance(RUN))
    await stage.proof.working.wait()
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    stage.proof.waits = False
    assert (await stage.journal.load(RUN)).checking is not None
    stage.clock.later(60)
    assert await stage.engine(worker="two").advance(RUN) is Advanced.DONE

    facts = await stage.facts()
    assert [event.kind for event in facts if isinstance(event, ChecksFinished | RunAcquired)] == [
        "run_acquired",
        "run_acquired",
        "checks_finished",
    ]
    assert (await answered(stage))[0] is Outcome.DONE
    assert (stage.proof.cleared, len(stage.proof.ran)) == (2, 1)


async def test_a_run_that_is_stopped_while_it_is_checked_ends_at_once() -> None:
    stage = Stage(proof=Proof(waits=True))
    await stage.opened(job=a_contract(None, MAKE, limits={"timeout": "1m"}))
    going = asyncio.create_task(stage.engine(says("Made.")).advance(RUN))
    await stage.proof.working.wait()
    stage.clock.later(61)
    stage.bells.told(RUN)
    assert await going is Advanced.DONE
    assert (await answered(stage)) == (Outcome.TIMED_OUT, "Made.")


NEAR = ("nothing_to_report", "NOTHING_TO_REPORT", "[nothing_to_report]", "[SILENT", "SILENT]", "[SILENT]", "NO_REPLY")


@pytest.mark.parametrize("word", NEAR)
async def test_a_word_that_looks_like_silence_is_an_answer_like_any_other(word: str) -> None:
    stage = await a_run(a_job(), says(word))
    assert await answered(stage) == (Outcome.DONE, word)


class Declaring(Hands):
    """Conclude what a model declares."""

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        del verdict, scene
        concludes = {"report_failure": "failed", "nothing_to_report": "nothing_to_report"}[call.tool]
        yield ToolOutput(told(ResultStatus.OK, "Noted.").model_copy(update={"concludes": concludes}))


def declaring() -> Stage:
    effects = {"report_failure": Effect.NOTE, "nothing_to_report": Effect.NOTE}
    return Stage(hands=Declaring(effects=effects, safe=frozenset()))


async def test_a_failure_that_the_model_declares_is_one() -> None:
    stage = declaring()
    await stage.opened(job=a_contract(SCHEMA, MAKE))
    await stage.advance(says("", call("report_failure", reason="The feed is gone: hunter2-hunter2.")), says("Sorry."))

    assert await stage.ended() == (Outcome.FAILED, "the model says that it failed: The feed is gone: [redacted].")
    assert (stage.proof.ran, await repairs(stage)) == ([], ["", ""])


@pytest.mark.parametrize("together", [True, False], ids=["in one reply", "one after the other"])
async def test_a_declared_failure_is_no_silence_whatever_is_said_after_it(together: bool) -> None:
    stage = declaring()
    await stage.opened(job=a_job())
    failure, silence = call("report_failure", reason="The feed is gone."), call("nothing_to_report", reason="Quiet.")
    said = [says("", failure, silence)] if together else [says("", failure), says("", silence)]
    await stage.advance(*said, says("Quiet."))

    assert await stage.ended() == (Outcome.FAILED, "the model says that it failed: The feed is gone.")


async def test_a_declared_failure_is_tried_again_as_far_as_the_policy_says() -> None:
    stage = declaring()
    await stage.opened(job=a_job(policy={"retry": {"attempts": 1, "on": ["failed"]}}))
    await stage.advance(says("", call("report_failure", reason="The feed is gone.")), says("Sorry."))

    assert (await stage.kinds())[-1] == "run_retried"


async def test_a_failure_that_is_only_quoted_is_none() -> None:
    stage = await a_run(a_job(), says("The log says report_failure twice, and FAILED."))
    assert (await answered(stage))[0] is Outcome.DONE


async def test_who_has_nothing_to_report_is_held_to_nothing() -> None:
    stage = declaring()
    await stage.opened(job=a_contract(SCHEMA, MAKE))
    await stage.advance(says("", call("nothing_to_report", reason="Quiet.")), says("Quiet."))

    assert ((await answered(stage))[0], stage.proof.ran) == (Outcome.NOTHING_TO_REPORT, [])
