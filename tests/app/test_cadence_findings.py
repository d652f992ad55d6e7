"""The doctor names the jobs whose runs take longer than their schedules leave them."""

from __future__ import annotations

from pathlib import Path

from kova_auto.app.cadence_findings import findings, of_cadence
from kova_auto.app.finding import Finding, Mark
from kova_auto.settings.load import load_settings
from tests.app.houses import Home
from tests.core.schedule.test_cadence import ended
from tests.support import ALONE, a_job, at

NOW = at("07:00:00")


def test_each_job_whose_runs_lose_slots_is_a_warning(tmp_path: Path) -> None:
    Home(tmp_path).jobs.mkdir(parents=True)
    settings = load_settings(None, {"HOME": str(tmp_path), **ALONE})
    jobs = [
        a_job("nightly", schedule={"cron": "*/10 * * * * *"}),
        a_job("daily", schedule={"cron": "0 8 * * *"}),
        a_job("by-hand"),
        a_job("new", schedule={"every": "10s"}),
    ]
    rows = [ended(5, 25, job=name) for name in ("nightly", "daily", "by-hand", "gone") for _ in range(3)]
    said = (
        "its runs take 25s (median of 3) after 5s of waiting, and it is due every 10s: "
        "instants are skipped (policy.overlap = skip)"
    )

    assert findings(settings, jobs, rows, NOW) == [Finding("job", "nightly", Mark.WARN, said)]


async def test_where_nothing_has_run_yet_nothing_is_asked_or_made(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), **ALONE}

    assert await of_cadence(load_settings(None, environ), environ, [a_job("a")], NOW) == []
    assert not (tmp_path / ".local").exists()
