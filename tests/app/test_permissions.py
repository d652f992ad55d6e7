"""What was allowed for good reaches every run in the same way, and no file of a workspace changes what a run may do."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.permissions import Permissions, permissions_of
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import ApprovalLevel, Effect, Ruling
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.consent import Offer, Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import CallAdjudicated, RunRequested
from kova_auto.core.ids import CallId
from kova_auto.core.message import ToolCall
from kova_auto.core.policy import policy_of_run
from kova_auto.core.run import opened
from kova_auto.mounts import mounts
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.app.houses import Home, id_of
from tests.support import ALONE, a_job, at

RULES = Standing(commands=("make lint",))
WRITES = """
[[turns]]
[[turns.calls]]
tool = "write"
args = { file_path = "%s", content = "made" }
[[turns]]
text = "Done."
"""
SUSPENDS = 'automation = "workspace-write"\n[approval]\nwhen_needed = "suspend"\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def permissions(home: Home) -> Permissions:
    environ = {"HOME": str(home.path), "PATH": f"{os.defpath}:{home.path / 'tools' / 'bin'}", **ALONE}
    return permissions_of(load_settings(None, environ), environ)


def user_says(home: Home, value: object) -> None:
    _says(home.path / ".kova" / "permissions.json", value)


def project_says(home: Home, value: object, name: str = "permissions.json") -> None:
    _says(home.workspace / ".kova" / name, value)


def _says(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


async def asked(house: House, home: Home, name: str, **more: object) -> RunRequested:
    return await house.opening.of_request(home.ask(name, **more))


async def timed(house: House, home: Home, name: str) -> RunRequested:
    return await house.opening.of_occurrence(load_job(home.jobs / f"{name}.toml"), at("07:00:00"))


async def test_a_run_now_and_a_timed_run_of_an_unchanged_job_are_under_one_policy(home: Home) -> None:
    home.job("look", 'allow_scripted = true\nautomation = "workspace-write"\n')
    shared = home.path / "shared"
    shared.mkdir()
    user_says(home, {"allowCommands": ["npm test"], "allowMcpTools": ["mcp__a__b"]})
    project_says(home, {"allowCommands": ["make *"]})
    async with home.house() as house:
        house.opening.permissions.remember(home.workspace, RULES.plus(Standing(write_roots=(str(shared),))))
        now, then = await asked(house, home, "look"), await timed(house, home, "look")

    assert now.policy_hash == then.policy_hash == policy_hash(policy_of_run(opened(now)))
    assert (now.user, now.remembered) == (then.user, then.remembered)
    assert now.user == Standing(commands=("npm test",), tools=("mcp__a__b",))
    assert now.remembered == Standing(commands=("make lint",), write_roots=(str(shared),))


async def test_what_was_remembered_counts_for_an_attended_run_and_for_a_copy_too(home: Home) -> None:
    home.job("look", 'isolation = "copy"\n')
    async with home.house() as house:
        house.opening.permissions.remember(home.workspace, RULES)
        found = [await asked(house, home, "look", level=level) for level in (None, ApprovalLevel.WORKSPACE_WRITE)]
        found.append(await asked(house, home, "look", staged=True))

    assert [run.remembered for run in found] == [RULES] * 3
    assert {run.workspace == str(home.workspace) for run in found} == {False}


async def test_what_is_remembered_meanwhile_changes_later_runs_only(home: Home) -> None:
    home.job("look")
    async with home.house() as house:
        before = await asked(house, home, "look")
        await house.opening.permissions.keep(str(home.workspace), RULES)
        after = await asked(house, home, "look")

    assert (before.remembered, after.remembered) == (Standing(), RULES)
    assert before.policy_hash != after.policy_hash


async def test_a_run_writes_unasked_into_a_root_of_this_machine(home: Home) -> None:
    shared = home.path / "shared"
    shared.mkdir()
    home.job("look", 'automation = "workspace-write"\n', WRITES % (shared / "made.txt"))
    async with home.house() as house:
        house.opening.permissions.remember(home.workspace, Standing(write_roots=(str(shared),)))
        await house.control.request(home.ask("look"))
        await drive_one(house, id_of("look"), asyncio.Event())
        events = [placed.event for placed in await house.control.events(id_of("look"), 0, 0)]

    assert [event.verdict.ruling for event in events if isinstance(event, CallAdjudicated)] == [Ruling.ALLOW]
    assert (shared / "made.txt").read_text() == "made"


@pytest.mark.parametrize("text", ["{", "[]", '{"allowCommands": 7}', '{"allowCommands": ["*"]}', "\0"])
async def test_a_broken_file_of_the_user_stops_no_job_and_is_said_once(
    home: Home, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    home.job("look", "allow_scripted = true\n")
    user_says(home, text)
    async with home.house() as house:
        with caplog.at_level(logging.WARNING):
            found = [await asked(house, home, "look"), await timed(house, home, "look")]

    assert [(run.user, run.blocked) for run in found] == [(Standing(), "")] * 2
    assert [record.message.startswith(str(home.path / ".kova" / "permissions.json")) for record in caplog.records] == [
        True
    ]


texts = st.one_of(
    st.text(max_size=40),
    st.fixed_dictionaries(
        {},
        optional={
            name: st.lists(
                st.sampled_from(["git *", "make lint", "..", "/", "~", "../shared", "mcp__a__b"]), max_size=4
            )
            for name in ("writeRoots", "allowCommands", "allowMcpTools", "workspace", "rootIdentities")
        },
    ).map(json.dumps),
    st.binary(max_size=40).map(lambda data: data.decode("latin-1")),
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60, deadline=None
)
@given(project=texts, local=texts)
def test_no_file_of_a_workspace_changes_what_counts(home: Home, project: str, local: str) -> None:
    home.workspace.mkdir(exist_ok=True)
    user_says(home, {"allowCommands": ["npm test"], "writeRoots": ["~/none"]})
    known = permissions(home)
    known.remember(home.workspace, RULES)
    (home.workspace / ".kova" / "permissions.json").unlink(missing_ok=True)
    before = known.standing(str(home.workspace))
    project_says(home, project)
    project_says(home, local, "permissions.local.json")
    after = known.standing(str(home.workspace))

    assert (after.user, after.remembered) == (before.user, before.remembered)
    assert (after.user.commands, after.remembered) == (("npm test",), RULES)


def test_a_proposal_is_what_does_not_count_already(home: Home) -> None:
    home.workspace.mkdir()
    user_says(home, {"allowCommands": ["npm test"]})
    known = permissions(home)
    known.remember(home.workspace, RULES)
    project_says(home, {"allowCommands": ["npm test", "make lint", "make *"], "allowMcpTools": ["mcp__a__b"]})

    assert known.standing(str(home.workspace)).proposed == Standing(commands=("make *",), tools=("mcp__a__b",))


def test_no_place_of_the_service_or_of_another_job_becomes_a_root(home: Home) -> None:
    home.job("look")
    other = home.path / "src" / "other"
    other.mkdir(parents=True)
    (home.jobs / "other.toml").write_text(f'prompt = "x"\nworkspace = "{other}"\n')
    allowed_once = home.path / "src" / "third"
    programs = home.path / "tools" / "bin"
    for place in (
        allowed_once,
        programs,
        home.path / ".ssh",
        home.path / ".local" / "share" / "kova-auto",
        home.path / ".cache",
    ):
        place.mkdir(parents=True)
    known = permissions(home)
    known.remember(allowed_once, RULES)
    refused = [
        home.path,
        home.path.parent,
        home.path / ".ssh",
        home.path / ".local" / "share" / "kova-auto",
        home.path / ".local",
        home.path / ".cache",
        home.jobs,
        home.jobs.parent,
        other,
        other.parent,
        allowed_once,
        programs,
        programs.parent,
        Path("/"),
        Path("/etc"),
    ]
    for place in refused:
        with pytest.raises(ConfigError, match="no write root"):
            known.remember(home.workspace, Standing(write_roots=(str(place),)))
    assert known.standing(str(home.workspace)).remembered == Standing()


def write_to(path: Path) -> CallFacts:
    call = ToolCall(id=CallId("1.1"), tool="write")
    return CallFacts(call, Effect.WRITE, paths=(PathFact(str(path), Zone.ELSEWHERE, writes=True),))


async def test_a_directory_is_offered_where_it_can_be_remembered_and_else_it_is_said_why(home: Home) -> None:
    home.job("look", SUSPENDS)
    (home.path / "src" / "lib").mkdir(parents=True)
    project_says(home, {"writeRoots": ["../src"]})
    async with home.house() as house:
        state = opened(await asked(house, home, "look"))
        offers = house.opening.permissions.offers
        found = await offers(state, write_to(home.path / "src" / "lib" / "a.txt"))
        at_home = await offers(state, write_to(home.path / "a.txt"))
        missing = await offers(state, write_to(home.path / "none" / "a.txt"))

    proposed = Standing(write_roots=(str(home.path / "src"),))
    assert found == Offer(proposed, proposed=proposed)
    assert at_home == Offer(why_not=f"{home.path} is your home directory")
    assert missing == Offer(why_not=f"'{home.path}/none' cannot be used: No such file or directory")


async def test_what_cannot_be_kept_is_logged_and_nothing_else_comes_of_it(
    home: Home, caplog: pytest.LogCaptureFixture
) -> None:
    home.workspace.mkdir()
    with caplog.at_level(logging.WARNING):
        await permissions(home).keep(str(home.workspace), Standing(write_roots=("/",)))
    assert [record.message for record in caplog.records] == [
        f"what was allowed for good in {home.workspace} is not remembered: no write root: / is the whole machine"
    ]


def test_what_is_forgotten_counts_no_more_whoever_allowed_it(home: Home) -> None:
    home.workspace.mkdir()
    known = permissions(home)
    assert (known.remember(home.workspace, RULES), known.remember_everywhere(RULES)) == (RULES, RULES)
    assert known.standing(str(home.workspace)).user == RULES
    assert (known.forget(home.workspace, RULES), known.forget_everywhere(RULES)) == (RULES, RULES)
    assert known.standing(str(home.workspace))[:3] == (Standing(), Standing(), Standing())


def test_what_no_file_says_is_told_at_once_where_nothing_is_far(home: Home) -> None:
    home.workspace.mkdir(parents=True, exist_ok=True)
    known, job = permissions(home), a_job(workspace=str(home.workspace))
    near = mounts().are_near(str(home.path))

    assert known.at_once(job) == (known.of_job(job) if near else None)
    assert known.at_once(job.model_copy(update={"workspace": "/proc/self"})) is None


def test_what_a_file_says_is_not_told_at_once(home: Home) -> None:
    home.workspace.mkdir(parents=True, exist_ok=True)
    project_says(home, {"allowCommands": ["make lint"]})

    assert permissions(home).at_once(a_job(workspace=str(home.workspace))) is None


async def test_a_run_counts_what_was_allowed_since_the_one_before(home: Home) -> None:
    job = load_job(home.job("often"), timezone="UTC", endpoints=())
    async with home.house() as house:
        first = await house.opening.of_occurrence(job, at("06:00:00"))
        user_says(home, {"allowCommands": ["make lint"]})
        second = await house.opening.of_occurrence(job, at("07:00:00"))

    assert (first.user, second.user) == (Standing(), permissions(home).standing(job.workspace).user)
    assert second.user != Standing()
