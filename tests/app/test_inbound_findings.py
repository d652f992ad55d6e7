"""The doctor looks at what starts jobs from outside."""

from __future__ import annotations

from pathlib import Path

from kova_auto.app.inbound_findings import of_inbound
from kova_auto.core.job import Job
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.support import ALONE
from tests.web.outside import a_home, a_hook

TLS = 'listen = "127.0.0.1:8788"\npublic_url = "https://a.example"\n'
LONG = "a-secret-of-more-than-sixteen"


def said(tmp_path: Path, ingress: str, *sources: str, **secrets: str) -> list[str]:
    """Return what is found, a line each, of jobs that these senders start."""
    home = a_home(tmp_path)
    home.settings(f"[ingress]\n{ingress}")
    jobs: list[Job] = []
    for number, source in enumerate(sources):
        a_hook(home, source, name=f"job{number}")
        jobs.append(load_job(home.jobs / f"job{number}.toml"))
    environ = {"HOME": str(tmp_path), **ALONE, **secrets}
    settings = load_settings(None, environ)
    return [f"{one.mark.value} {one.check} {one.name}: {one.text}" for one in of_inbound(settings, environ, jobs)]


def test_without_hooks_and_a_listener_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert said(tmp_path, "") == []


def test_hooks_that_nobody_listens_for_are_named(tmp_path: Path) -> None:
    first, *_ = said(tmp_path, "", "github", GITHUB_SECRET=LONG)
    assert first.startswith("warn ingress listen: nobody listens, so that nothing starts job0")


def test_a_listener_behind_tls_with_its_secrets_is_well(tmp_path: Path) -> None:
    assert said(tmp_path, TLS, "github", GITHUB_SECRET=LONG) == [
        "ok ingress 127.0.0.1:8788: requests come to https://a.example/hooks/JOB",
        "ok secret job0: schedule.webhook.secret: can be had from env GITHUB_SECRET",
    ]


def test_a_secret_that_is_missing_short_or_none_of_its_sender_is_named(tmp_path: Path) -> None:
    found = said(tmp_path, TLS, "github", "slack", "standard", SLACK_SECRET="short", STANDARD_SECRET=LONG)
    assert [line.partition(": wanted")[0].partition(", and")[0] for line in found[1:]] == [
        "fail secret job0: schedule.webhook.secret",
        "ok secret job1: schedule.webhook.secret: can be had from env SLACK_SECRET",
        "warn hook job1: schedule.webhook.secret: is shorter than 16 characters",
        "ok secret job2: schedule.webhook.secret: can be had from env STANDARD_SECRET",
        "fail hook job2: schedule.webhook.secret",
    ]
    assert "short" not in " ".join(found).replace("shorter", "")
    assert LONG not in " ".join(found)


def test_a_secret_that_two_jobs_share_is_named(tmp_path: Path) -> None:
    found = said(tmp_path, TLS, "github", "github", GITHUB_SECRET=LONG)
    assert found[-1].startswith("warn hook job0 and job1: env GITHUB_SECRET is the secret of them all")


def test_what_travels_without_tls_is_named(tmp_path: Path) -> None:
    plain = 'listen = "0.0.0.0:8788"\npublic_url = "http://a.example"\n'
    found = said(tmp_path, plain, "token", "github", TOKEN_SECRET=LONG, GITHUB_SECRET=LONG)
    warned = [line for line in found if line.startswith("warn")]

    assert warned[0].startswith("warn ingress public_url: is plain http")
    assert warned[1].startswith("warn ingress 0.0.0.0:8788: is reached without TLS, and job0 takes the secret itself")
    assert len(warned) == 2


def test_a_listener_of_which_nobody_outside_knows_is_named(tmp_path: Path) -> None:
    found = said(tmp_path, 'listen = "127.0.0.1:8788"\n')
    assert found[1].startswith("warn ingress public_url: nobody outside is told where")
