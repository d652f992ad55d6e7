"""What a verdict costs, and an explanation: processor time, the best of many; run with `pytest -n0 -s -m bench`."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.explanation import explain
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import AutomationLevel, Effect
from tests.core.approval.approval_support import command, facts, policy, read, rules, written

pytestmark = pytest.mark.bench

VERDICT_US, EXPLANATION_MS = 200, 20
UNDER = policy(AutomationLevel.WORKSPACE_WRITE, grants=rules(*(f"tool{number} *" for number in range(12)), "git *"))
CALLS = {
    "a file": facts(Effect.READ, read(Zone.INSIDE)),
    "three files": facts(Effect.WRITE, written(Zone.INSIDE), written(Zone.INSIDE), read(Zone.ELSEWHERE)),
    "an allowed command": command("git log -3 && git status"),
    "a refused command": command("git log && rm -rf build | tee log"),
    "a tainted call": facts(Effect.OUTWARD, tainted_by="the web page https://a.example"),
}


def best_us(work: Callable[[], object]) -> float:
    return min(timeit.repeat(work, number=100, repeat=20, timer=time.process_time)) / 100 * 1e6


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_verdict_and_its_explanation_cost_little(call: CallFacts) -> None:
    verdict, told = best_us(lambda: adjudicate(call, UNDER)), best_us(lambda: explain(call, UNDER))
    print(f"{call.command or call.effect}: verdict {verdict:.0f} us, explanation {told / 1000:.2f} ms")
    assert verdict < VERDICT_US
    assert told < EXPLANATION_MS * 1000
