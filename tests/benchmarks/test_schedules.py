"""What many schedules cost, beside APScheduler with its own trigger and stores.

Run it with `pytest -n0 -s -m bench -o faulthandler_timeout=3600`: it takes minutes, and longer than tests may.

The jobs are in memory, so that only the scheduling is measured: reading ten thousand files is another matter.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.benchmarks.schedule_subjects import Cost
from tests.support import ROOT

pytestmark = pytest.mark.bench

BURST = 1_000
PATIENCE_S = 60
"""So long APScheduler's persistent store may take to be filled, by the clock: 100,000 jobs are a matter of hours."""
SUBJECTS = {
    "ours": "ours on SQLite: a row, a run and its first fact for each",
    "decides": "ours, deciding alone: nothing is written",
    "memory": "APScheduler in memory: nothing is written",
    "sqlalchemy": "APScheduler on SQLite: when each job runs next",
}


def measured(name: str, many: int) -> Cost:
    """Measure a subject in a process of its own."""
    argv = [sys.executable, "-m", "tests.benchmarks.schedule_subjects", name, str(many - BURST), str(BURST)]
    said = subprocess.run([*argv, str(PATIENCE_S)], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return Cost(**json.loads(said))


def best(costs: list[Cost]) -> Cost:
    """Return the least of each: a busy machine makes everything longer and nothing shorter."""
    return Cost(**{name: min(getattr(cost, name) for cost in costs) for name in Cost.__dataclass_fields__})


def shown(name: str, cost: Cost) -> str:
    """Return one line."""
    times = (
        f"{cost.idle_s * 1e6:9.0f} us {cost.due_s * 1e6:8.0f} us {cost.first_s * 1e3:8.1f} {cost.last_s * 1e3:8.0f} ms"
    )
    return f"  {name:10} {cost.jobs:7} {cost.load_s:7.2f} s {cost.memory / 1e6:7.1f} MB {times}   {SUBJECTS[name]}"


def ratios(name: str, ours: Cost, other: Cost) -> str:
    """Return how much of another's costs ours are; of what is loaded, for each job."""
    each = (ours.load_s / ours.jobs) / (other.load_s / other.jobs)
    memory = (ours.memory / ours.jobs) / (other.memory / other.jobs)
    late = f"first start {ours.first_s / other.first_s:.3f}, last start {ours.last_s / other.last_s:.2f}"
    return f"  {name:32} load {each:.2f}, memory {memory:.2f}, due job {ours.due_s / other.due_s:.2f}, {late}"


@pytest.mark.parametrize(("many", "rounds"), [(10_000, 1), (100_000, 1)])
def test_many_schedules_cost_little(many: int, rounds: int) -> None:
    found: dict[str, list[Cost]] = {name: [] for name in SUBJECTS}
    for _ in range(rounds):
        for name, costs in found.items():
            costs.append(measured(name, many))
    of = {name: best(costs) for name, costs in found.items()}
    print(f"\n{many} jobs, {BURST} of them due in one second; processor time, and lateness by the clock")
    print(
        f"  {'':10} {'jobs':>7} {'load':>9} {'memory':>10} {'idle pass':>12} {'due job':>11} {'first':>8} {'last':>11}"
    )
    for name, cost in of.items():
        print(shown(name, cost))
    print("ratios, ours to APScheduler's:")
    for mine, their in (("ours", "sqlalchemy"), ("ours", "memory"), ("decides", "memory")):
        print(ratios(f"{mine} / {their}", of[mine], of[their]))
    ours = of["ours"]
    assert ours.due_s < of["sqlalchemy"].due_s, "who writes as much as they do and more takes no longer"
    assert of["decides"].due_s < of["memory"].due_s, "who writes nothing takes no longer than who writes nothing"
    assert ours.idle_s < 0.05, "a pass at which nothing is due asks the database only a few times"
    assert ours.first_s < ours.last_s / 10, "the first run does not wait for the last"
