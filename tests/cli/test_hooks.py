"""`kova-auto hooks`: what came and what became of it, where it goes, and what stands in the way of trying one out."""

from __future__ import annotations

import asyncio
import json
import socket
from datetime import datetime
from pathlib import Path

import pytest

from kova_auto.core.inbound.hook import HookRow
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.scheduling.jobfiles import load_job
from tests.cli.command import Home
from tests.cli.ledgers import version, write_ledger
from tests.docs.pages import table
from tests.ports.test_hooks import a_request, a_row
from tests.support import at
from tests.web.outside import a_home, a_hook


@pytest.fixture
def home(tmp_path: Path) -> Home:
    a_hook(a_home(tmp_path), more='events = ["push"]\n')
    return Home(tmp_path)


def keep(home: Home) -> None:
    """Have three requests on record: one that ran, one that was skipped, one that is ignored."""

    async def write() -> None:
        async with a_home(home.path).house() as house:
            ignored = a_request("3", status="ignored", why="event 'x' is not …")
            ran, skipped, _ = [
                (await house.store.hooks.keep(one, (one.delivery_id,), by_body=False)).request
                for one in (a_request("1"), a_request("2"), ignored)
            ]
            row = a_row(ran, status=OccurrenceStatus.RAN, why="", run_id="deploy@1")
            await house.store.ledger.settle((), (row, a_row(skipped)))

    asyncio.run(write())


def test_nothing_has_come_yet(home: Home) -> None:
    assert home.run("hooks", "list").stdout == "No request has come.\n"


def test_requests_are_listed_newest_first_with_what_became_of_them(home: Home) -> None:
    keep(home)
    lines = home.run("hooks", "list").stdout.splitlines()
    rows = json.loads(home.run("hooks", "list", "deploy", "--limit", "2", "--json").stdout)

    assert [line.split("  ")[-1].strip() for line in lines] == ["WHY", "event 'x' is not …", "overlap", "deploy@1"]
    assert [(row["delivery_id"], row["status"], row["became"]) for row in rows] == [
        ("3", "ignored", ""),
        ("2", "accepted", "skipped"),
    ]
    assert home.run("hooks", "list", "nobody").stdout == "No request has come.\n"


def test_one_request_is_shown_with_what_its_run_was_given(home: Home) -> None:
    keep(home)
    key = a_request("1").hook_id
    shown = home.run("hooks", "show", key[:12]).stdout
    row = json.loads(home.run("hooks", "show", key, "--json").stdout)

    for line in (
        "sender     github, 1",
        "actor      ada",
        "became     ran",
        "run        deploy@1",
        "inputs.branch main",
    ):
        assert line in shown
    assert (row["hook_id"], row["run_id"]) == (key, "deploy@1")


@pytest.mark.parametrize(("key", "said"), [("hook_", "several requests begin"), ("x", "no request's id begins")])
def test_a_request_that_is_not_one_is_not_guessed(home: Home, key: str, said: str) -> None:
    keep(home)
    result = home.run("hooks", "show", key)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_where_requests_go_is_shown_and_no_secret(home: Home) -> None:
    result = home.run("hooks", "urls")
    assert result.stdout.splitlines()[1] == "deploy  github  /hooks/deploy  env GITHUB_SECRET"
    assert "nothing listens" in result.stderr

    home.settings('[ingress]\nlisten = "127.0.0.1:1"\npublic_url = "https://a.example/"\n')
    (one,) = json.loads(home.run("hooks", "urls", "--json").stdout)
    assert (one["url"], one["secrets_from"]) == ("https://a.example/hooks/deploy", ["env GITHUB_SECRET"])


def test_without_any_hook_it_is_said_how_to_make_one(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("a", 'prompt = "x"')
    assert home.run("hooks", "urls").stdout.startswith("No job is started by a webhook. [schedule.webhook]")


@pytest.mark.parametrize(
    ("settings", "job", "more", "said"),
    [
        ("", "deploy", (), "ingress.listen: wanted a listener, and the settings name none"),
        ('[ingress]\nlisten = "127.0.0.1:0"\n', "deploy", (), "wanted a port, found any free one"),
        ('[ingress]\nlisten = "127.0.0.1:1"\n', "byhand", (), "job byhand is not started by a webhook"),
        ('[ingress]\nlisten = "127.0.0.1:1"\n', "deploy", ("--file", "nothing"), "wanted a file that can be read"),
    ],
)
def test_what_stands_in_the_way_of_a_test_is_said(
    home: Home, monkeypatch: pytest.MonkeyPatch, settings: str, job: str, more: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("GITHUB_SECRET", "a-secret-that-is-long")
    home.job("byhand", 'prompt = "x"')
    home.settings(settings)
    result = home.run("hooks", "send", job, *more)

    assert said in result.stderr
    assert result.exit_code in {1, 2}


def test_where_nobody_listens_it_is_said_what_to_start(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SECRET", "a-secret-that-is-long")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # Nobody else gets it, and nobody listens.
        home.settings(f'[ingress]\nlisten = "127.0.0.1:{taken.getsockname()[1]}"\n')
        result = home.run("hooks", "send", "deploy")

    assert (result.exit_code, "no connection: connection refused; is kova-auto serve" in result.stderr) == (1, True)


def test_a_secret_that_only_the_service_has_is_named(home: Home) -> None:
    home.settings('[ingress]\nlisten = "127.0.0.1:1"\n')
    result = home.run("hooks", "send", "deploy")
    assert (result.exit_code, "wanted a secret in env GITHUB_SECRET" in result.stderr) == (2, True)


def test_a_job_that_a_webhook_starts_is_said_to_run_then(home: Home) -> None:
    assert "whenever GitHub sends push" in home.run("jobs", "list").stdout
    assert home.run("jobs", "next").stdout == "deploy runs whenever GitHub sends push.\n"
    assert json.loads(home.run("jobs", "next", "--json").stdout) == []


def test_an_instant_that_a_webhook_asked_for_is_explained(home: Home) -> None:
    job = load_job(home.jobs / "deploy.toml")
    begun, asked = at("05:00:00"), at("06:00:00.25")
    ran = a_row(a_request("1", when=asked), schedule="a", status=OccurrenceStatus.RAN, why="", run_id="deploy@1")
    write_ledger(home, [version(job, begun)], cursor=asked, rows=[ran])

    told = home.run("explain", "deploy@2026-12-01T06:00:00.25Z", clock=Noon())
    assert told.stdout.splitlines()[1:3] == ["  A webhook asked for it: kova-auto hooks list deploy.", "  It ran."]
    nothing = home.run("explain", "deploy@2026-12-01T06:00:01Z", clock=Noon())
    assert (nothing.exit_code, "No webhook asked for it" in nothing.stdout) == (1, True)
    calendar = home.run("jobs", "calendar", "deploy", "--from", "2026-12-01", "--to", "2026-12-02", clock=Noon())
    assert "2026-12-01T06:00:00.250000Z  deploy  ran" in calendar.stdout


class Noon:
    def now(self) -> datetime:
        return at("12:00:00")


def test_the_page_on_json_names_every_field_of_a_request() -> None:
    assert table("docs/json.md", "`kova-auto hooks list`").names == list(HookRow.model_fields)
