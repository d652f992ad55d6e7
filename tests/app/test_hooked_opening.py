"""What opens a run that a webhook asks for: its origin, its taint, its inputs, and no instant that follows."""

from __future__ import annotations

from pathlib import Path

from kova_auto.core.event import Origin
from kova_auto.scheduling.jobfiles import load_job
from tests.support import at
from tests.web.outside import a_home, a_hook


async def test_the_run_of_a_hook_is_tainted_whatever_it_was_given(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    a_hook(home, more="[policy]\nretry.attempts = 2\n")
    job = load_job(home.jobs / "deploy.toml")
    async with home.house() as house:
        opened = [
            await house.opening.of_occurrence(job, at("06:00:00"), None, given)
            for given in ({"branch": "x" * 100, "other": "y"}, {})
        ]

    assert [(run.origin, run.tainted_by, run.next_at) for run in opened] == [
        (Origin.WEBHOOK, "webhook deploy", None)
    ] * 2
    assert [run.inputs for run in opened] == [{"branch": "x" * 40}, {"branch": "none"}]


async def test_the_secrets_of_a_hook_are_redacted_from_the_start(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    a_hook(home)
    job = load_job(home.jobs / "deploy.toml")
    async with home.house() as house:
        house.vault.vet(job)
        assert house.vault.redact("It's a Secret to Everybody") == "[redacted:env:GITHUB_SECRET]"
