"""A server by others that breaks in every way it knows, and judges how we took it: no failure and no warning."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.event import ModelCallFailed
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from tests.app.houses import Home
from tests.peers.servers import BIN, ask, served
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

PROTOCOLS = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic-messages": "/anthropic/v1",
}
ASKS = "Say what notes.txt says."

Scenario = Sequence[Mapping[str, object]]
FINE: Scenario = ()
PASSES: dict[str, tuple[Scenario, list[Fault]]] = {
    "nothing": (FINE, []),
    "429 with a wait": ([{"type": "fail", "status": 429, "retry_after": 1}], [Fault.RATE_LIMITED]),
    "429 twice": ([{"type": "fail", "status": 429, "retry_after": 1, "times": 2}], [Fault.RATE_LIMITED] * 2),
    "500": ([{"type": "fail", "status": 500}], [Fault.SERVER]),
    "503 twice": ([{"type": "fail", "status": 503, "times": 2}], [Fault.OVERLOADED] * 2),
    "529 twice": ([{"type": "fail", "status": 529, "times": 2}], [Fault.OVERLOADED] * 2),
    "cut at the start": ([{"type": "stream_fault", "kind": "truncate", "after_chunks": 1}], [Fault.TRUNCATED]),
    "cut": ([{"type": "stream_fault", "kind": "truncate", "after_chunks": 3}], [Fault.TRUNCATED]),
    "cut in the answer": (
        [{"type": "stream_fault", "kind": "truncate", "after_chunks": 3, "match": {"tools": True}, "times": 2}],
        [Fault.TRUNCATED] * 2,
    ),
    "lost": ([{"type": "stream_fault", "kind": "disconnect", "after_chunks": 3}], [Fault.NETWORK]),
    "garbled": ([{"type": "stream_fault", "kind": "malformed", "after_chunks": 3}], [Fault.MALFORMED]),
    "stalled": ([{"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 8}], [Fault.TIMEOUT]),
    "slow": ([{"type": "slow_first_token", "seconds": 1}], []),
    "late": ([{"type": "delay", "seconds": 1}], []),
}
FAILS: dict[str, tuple[Scenario, Fault]] = {
    "400": ([{"type": "fail", "status": 400, "message": "no", "code": "invalid_value"}], Fault.INVALID),
    "401": ([{"type": "fail", "status": 401}], Fault.AUTH),
    "403": ([{"type": "fail", "status": 403}], Fault.AUTH),
    "404": ([{"type": "fail", "status": 404}], Fault.NOT_FOUND),
    "a quota": (
        [{"type": "fail", "status": 429, "message": "spent", "code": "insufficient_quota"}],
        Fault.SPENT,
    ),
}


@pytest.fixture(scope="module")
def llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the judge; what it has seen before is forgotten at the start of each test."""
    base = f"http://127.0.0.1:{(port := free_port())}"
    log = tmp_path_factory.mktemp("llmock") / "log"
    # A real model takes its time. What is sent at once is sent before the judge can see that we have hung up.
    command: list[str | Path] = [BIN / "llmock", "serve", "--port", str(port), "--stream-chunk-delay-ms", "10"]
    with served(command, f"{base}/_llmock/requests", log):
        yield base


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def run(house: House, home: Home) -> RunState:
    row = await house.control.request(home.ask("asks"))
    await drive_one(house, row.run_id, asyncio.Event())
    return await house.store.journal.load(row.run_id)


def _reads(scenario: Scenario) -> Mapping[str, object]:
    """Have the first whole reply, and those that are broken off before it, ask for the file."""
    broken = sum(int(str(one.get("times", 1))) for one in scenario if one["type"] == "stream_fault")
    call = {"name": "read", "arguments": {"file_path": "notes.txt"}}
    return {"type": "reply", "tool_calls": [call], "times": 1 + broken}


async def asked(home: Home, base: str, protocol: str, scenario: Scenario) -> tuple[RunState, Any]:
    """Run a job against the judge; return what came of it, and the verdict."""
    ask(f"{base}/_llmock/reset", {})
    ask(f"{base}/_llmock/scenario", {"behaviors": [*scenario, _reads(scenario)]})
    home.settings(
        f'[providers.judge]\nprotocol = "{protocol}"\nbase_url = "{base}{PROTOCOLS[protocol]}"\n'
        '[providers.judge.timeouts]\nidle = "5s"\nfirst_token = "5s"\n'
    )
    home.jobs.mkdir(parents=True, exist_ok=True)
    home.workspace.mkdir()
    job = f'prompt = "{ASKS}"\nmodel = "judge/gpt-4o"\nworkspace = "{home.workspace}"\n'
    (home.jobs / "asks.toml").write_text(job)
    (home.workspace / "notes.txt").write_text("The lamp is on.\n")
    async with home.house() as house:
        state = await run(house, home)
        events = [event for _, event in await house.store.journal.events(state.run_id)]
    failures = [event for event in events if isinstance(event, ModelCallFailed)]
    assert state.finished is not None
    return state, (ask(f"{base}/_llmock/verdict"), [failure.fault for failure in failures])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", PASSES)
async def test_what_passes_is_lived_through(llmock: str, home: Home, protocol: str, name: str) -> None:
    scenario, faults = PASSES[name]
    state, (verdict, failed) = await asked(home, llmock, protocol, scenario)

    assert state.finished is not None
    assert (state.finished.outcome, failed) == (Outcome.DONE, faults)
    assert [call.result.text for call in state.calls.values() if call.result] == ["1\tThe lamp is on."]
    assert (verdict["errors"], verdict["warnings"]) == (0, 0), verdict
    assert verdict["attempts"] >= 2 + len(faults)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", FAILS)
async def test_what_does_not_pass_is_not_tried_again(llmock: str, home: Home, protocol: str, name: str) -> None:
    scenario, fault = FAILS[name]
    state, (verdict, failed) = await asked(home, llmock, protocol, scenario)

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.fault, failed) == (Outcome.FAILED, fault, [fault])
    assert (verdict["errors"], verdict["warnings"], verdict["attempts"]) in {(0, 0, 1), (0, 1, 1)}, verdict
    codes = {finding["code"] for finding in verdict["findings"]}
    assert codes <= ({"gave_up"} if fault is Fault.SPENT else set())  # It takes a spent quota for one that passes.


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
async def test_a_call_that_makes_no_sense_is_told_to_the_model(
    llmock: str, home: Home, protocol: str, kind: str
) -> None:
    state, (verdict, _) = await asked(home, llmock, protocol, [{"type": "tool_fault", "kind": kind}])

    assert state.finished is not None
    assert state.finished.outcome is Outcome.DONE
    results = [call.result.status for call in state.calls.values() if call.result]
    assert results[0] in {ResultStatus.ERROR, ResultStatus.DENIED}
    assert (verdict["errors"], verdict["warnings"]) == (0, 0), verdict
