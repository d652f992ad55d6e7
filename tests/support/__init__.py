"""Small builders of values, one line where a test needs one; nothing here opens, waits or remembers."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path

from pydantic import JsonValue

from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.event import ModelReplied, Origin, RunRequested
from kova_auto.core.ids import RunId, call_id
from kova_auto.core.job import Job
from kova_auto.core.message import (
    CallRequest,
    ModelReply,
    ResultStatus,
    ToolCall,
    ToolResult,
    Usage,
    told,
)
from kova_auto.core.ports import Agenda
from kova_auto.core.stop_reason import StopReason

DAY = date(2026, 12, 1)
ROOT = Path(__file__).parents[2]
"""The repository: where a program that a test starts finds `kova_auto` and `tests`."""
ALONE = {"KOVA_AUTO_DISCOVER": "false"}
"""Variables of every service that a test builds: which servers of models run on this machine is nothing to it."""


def at(clock: str) -> datetime:
    """Return an instant of the one day that tests live on, as `at("06:00:01")`, UTC."""
    return datetime.combine(DAY, time.fromisoformat(clock), UTC)


def ready(agenda: Agenda) -> list[RunId]:
    """Return the runs of an agenda that can go on."""
    return [*agenda.ready]


def a_job(name: str = "nightly", **changes: object) -> Job:
    """Return a job with every default, and what a test says differs."""
    fields = {"name": name, "path": f"/jobs/{name}.toml", "prompt": "Look around.", "workspace": "/srv/app"}
    return Job.model_validate({**fields, **changes})


def a_request(run_id: str = "nightly@20261201T060000Z", *, job: Job | None = None, **changes: object) -> RunRequested:
    """Return the fact that opens a run; the job's name is the id's unless a job is given."""
    job = job or a_job(run_id.replace("+", "@").partition("@")[0])
    fields = {
        "run_id": run_id,
        "job": job,
        "at": at("06:00:00"),
        "policy_hash": "policy",
        "origin": Origin.SCHEDULE,
        "model": "test/model",
        "workspace": job.workspace,
    }
    return RunRequested.model_validate({**fields, **changes})


def call(tool: str, /, **args: JsonValue) -> CallRequest:
    """Return a call as a model asks for it."""
    return CallRequest(tool=tool, args=args)


def tool_call(tool: str, /, iteration: int = 1, index: int = 1, **args: JsonValue) -> ToolCall:
    """Return a call under the id that it has in its run."""
    return ToolCall(id=call_id(iteration, index), tool=tool, args=args)


def says(text: str, *calls: CallRequest, tokens: int = 10, cost_usd: float | None = 0.001) -> ModelReply:
    """Return a whole reply; one without calls ends the turn."""
    return ModelReply(
        text=text,
        calls=calls,
        stop=StopReason.TOOL_CALLS if calls else StopReason.END,
        usage=Usage(input_tokens=tokens, cost_usd=cost_usd),
        model="test/model",
    )


def replied(iteration: int, reply: ModelReply, *, when: datetime | None = None) -> ModelReplied:
    """Return the fact that a reply came, its calls under their ids."""
    calls = tuple(
        ToolCall(id=call_id(iteration, index), **asked.model_dump()) for index, asked in enumerate(reply.calls, 1)
    )
    return ModelReplied(at=when or at("06:00:02"), iteration=iteration, reply=reply, calls=calls)


def ruled(ruling: Ruling, reason: str = "because") -> Verdict:
    """Return a verdict."""
    return Verdict(ruling=ruling, reason=reason, rule=f"test.{ruling}")


def ok(text: str = "fine") -> ToolResult:
    """Return the result of a call that went well."""
    return told(ResultStatus.OK, text)
