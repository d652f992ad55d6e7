"""What opens a run: everything that must not change later, and what stands in its way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.tooling import unproven
from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.event import CallAdjudicated, RunRequested, dump, load
from kova_auto.core.job import Job, Outcome
from kova_auto.core.policy import policy_of
from kova_auto.core.run import fold
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.tools.sandbox.select import Sandbox
from tests.app.houses import Home, id_of
from tests.support import a_job, at

EVERYTHING = """
description = "All of it"
model = "ollama/tiny"
mode = "agent"
automation = "workspace-write"
isolation = "copy"
allow_scripted = true
[schedule]
cron = ["0 7 * * MON-FRI", "0 9 * * SAT"]
timezone = "Europe/Berlin"
[policy]
missed = "all"
missed_window = "36h"
start_deadline = "10m"
overlap = "allow"
[limits]
timeout = "1h30m"
cost_usd = 0.1
[permissions]
allow_commands = ["git log *"]
write_roots = ["../shared"]
read_roots = ["../docs"]
web = ["docs.python.org"]
sandbox = "required"
commands = "confined"
[env]
GH_TOKEN = { env = "GH_TOKEN" }
KEY = { file = "key" }
[inputs]
branch = { default = "main", max_length = 20, description = "of git" }
other = "plain"
[approval]
when_needed = "suspend"
timeout = "3h"
notify = ["ci"]
[[notify]]
endpoint = "ci"
when = ["done", "failed"]
[[notify]]
endpoint = "ci"
when = "change"
"""
CI = '[endpoints.ci]\nurl = "https://ci.example.org/"\nsecret = { env = "CI" }\n'
LISTS = """
[[turns]]
text = "I look."
[[turns.calls]]
tool = "glob"
args = { pattern = "*" }
[[turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made" }
[[turns.calls]]
tool = "bash"
args = { command = "ls" }
[[turns]]
text = "Done."
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def _scheduled(house: House, job: Path) -> RunRequested:
    loaded = load_job(job, endpoints=tuple(house.settings.endpoints))
    return await house.opening.of_occurrence(loaded, at("07:00:00"))


async def test_the_schedules_next_instant_is_known_to_a_run_that_may_take_further_attempts(home: Home) -> None:
    schedule = 'schedule.every = "15m"\n'
    once, patient = home.job("once", schedule), home.job("patient", f"{schedule}policy.retry.attempts = 1\n")
    last = home.job("last", 'schedule.at = "2026-12-01T07:00"\npolicy.retry.attempts = 1\n')
    async with home.house() as house:
        opened = [await _scheduled(house, job) for job in (once, patient, last)]

    assert [run.next_at for run in opened] == [None, at("07:15:00"), None]


async def test_a_job_comes_back_from_the_journal_as_it_was_in_its_file(home: Home) -> None:
    home.settings(CI)
    path = home.job("all", EVERYTHING)
    async with home.house() as house:
        opened = await _scheduled(house, path)
        state, _ = await house.store.journal.open(opened)
        again = await house.store.journal.load(opened.run_id)

    assert load(dump(opened)) == opened
    assert again.job == state.job == opened.job == load_job(path)
    assert type(again.job.permissions.write_roots) is tuple
    assert (again.job.script_text, again.request.nominal_at) == ('[[turns]]\ntext = "Well."\n', at("07:00:00"))


async def test_a_scheduled_run_is_played_from_a_script_only_where_its_job_says_so(home: Home) -> None:
    plain, willing = home.job("plain"), home.job("willing", "allow_scripted = true\n")
    async with home.house() as house:
        blocked, scripted = await _scheduled(house, plain), await _scheduled(house, willing)

    assert "allow_scripted = true" in blocked.blocked
    assert (scripted.blocked, scripted.scripted, scripted.model) == ("", True, "scripted/willing")


@pytest.mark.parametrize(
    ("settings", "more", "why"),
    [
        pytest.param("", "", "no provider is configured", id="no provider"),
        pytest.param(
            '[providers.openai]\napi_key = { env = "NOT_SET" }\ndefault_model = "m"\n',
            "",
            "env NOT_SET: found none",
            id="no key",
        ),
        pytest.param("", 'model = "nowhere/x"\n', "no provider is called 'nowhere'", id="unknown provider"),
        pytest.param(
            '[providers.openai]\napi_key = { file = "key" }\ndefault_model = "m"\n',
            "",
            "providers.openai.api_key: wanted printable ASCII",
            id="a key that no header can carry",
        ),
        pytest.param(
            "", "[inputs]\nbranch = {}\n", "inputs.branch: it has no default and no value was given", id="no input"
        ),
    ],
)
async def test_what_a_scheduled_run_lacks_blocks_it_and_is_told(home: Home, settings: str, more: str, why: str) -> None:
    home.settings(settings)
    (home.jobs.parent / "key").write_text("two\nlines\n")
    path = home.job("look", more, script=None)
    async with home.house() as house:
        opened = await _scheduled(house, path)
        await house.store.journal.open(opened)
        await drive_one(house, opened.run_id, asyncio.Event())
        state = await house.store.journal.load(opened.run_id)

    assert why in opened.blocked
    assert "two" not in opened.blocked
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.reason, state.model_calls) == (
        Outcome.BLOCKED,
        opened.blocked,
        0,
    )


async def test_a_run_that_was_opened_without_what_it_needs_is_not_tried_again(home: Home) -> None:
    path = home.job("look")
    async with home.house() as house:
        opened = await _scheduled(house, path)
        await house.store.journal.open(opened)
        await drive_one(house, opened.run_id, asyncio.Event())
        with pytest.raises(IllegalEventError, match="a new one: kova-auto run look"):
            await house.control.retry(opened.run_id, "ann")


async def test_a_provider_without_its_key_is_nothing_to_jobs_that_name_another(home: Home) -> None:
    home.settings('[providers.openai]\napi_key = { env = "NOT_SET" }\n')
    path = home.job("local", 'model = "ollama/tiny"\n', script=None)
    async with home.house() as house:
        opened = await _scheduled(house, path)

    assert (opened.blocked, opened.model) == ("", "ollama/tiny")


async def test_who_asks_for_a_run_that_lacks_something_is_told_at_once(home: Home) -> None:
    home.job("look", "[inputs]\nbranch = {}\n", script=None)
    async with home.house() as house:
        with pytest.raises(ConfigError, match=r"inputs\.branch"):
            await house.control.request(home.ask("look"))
        with pytest.raises(ConfigError, match="no provider is configured"):
            await house.control.request(home.ask("look", inputs={"branch": "main"}))


@pytest.mark.parametrize(("isolation", "staged"), [("copy", False), ("in-place", True), ("copy", True)])
async def test_a_run_in_a_copy_leaves_the_workspace_alone_and_only_a_staged_ones_copy_goes(
    home: Home, isolation: str, staged: bool
) -> None:
    home.job("look", f'isolation = "{isolation}"\nautomation = "workspace-write"\n', LISTS)
    async with home.house() as house:
        await house.control.request(home.ask("look", staged=staged))
        await drive_one(house, id_of("look"), asyncio.Event())
        state = await house.store.journal.load(id_of("look"))
        diff = await house.control.diff(id_of("look"))

    assert state.finished is not None
    assert (state.finished.outcome, state.request.staged) == (Outcome.DONE, staged)
    assert "+made" in diff
    assert not (home.workspace / "made.txt").exists()
    assert await asyncio.to_thread(Path(state.request.workspace).exists) is not staged


async def test_a_staged_run_owes_nobody_anything(home: Home) -> None:
    home.settings(CI)
    home.job("look", '[[notify]]\nendpoint = "ci"\n')
    async with home.house() as house:
        await house.control.request(home.ask("look", staged=True))
        await drive_one(house, id_of("look"), asyncio.Event())

        assert await house.control.deliveries(None, None, 10) == ()


@pytest.mark.parametrize("level", [None, ApprovalLevel.WORKSPACE_WRITE])
async def test_the_policy_that_a_run_names_is_the_one_that_judges_every_call(
    home: Home, level: ApprovalLevel | None
) -> None:
    home.job("look", '[permissions]\nallow_commands = ["ls"]\nweb = ["example.org"]\n', LISTS)
    async with home.house() as house:
        await house.control.request(home.ask("look", level=level))
        await drive_one(house, id_of("look"), asyncio.Event())
        events = [placed.event for placed in await house.control.events(id_of("look"), 0, 0)]

    judged = [event.verdict.policy_hash for event in events if isinstance(event, CallAdjudicated)]
    (opened,) = (event for event in events if isinstance(event, RunRequested))
    assert judged == [opened.policy_hash] * len(judged)
    assert judged


def _wants_proof(**more: object) -> Job:
    return a_job("careful", permissions={"sandbox": "required"}, **more)


async def test_a_job_that_insists_on_confinement_is_told_what_this_machine_lacks(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0)

    for automation in ("read-only", "workspace-write", "full"):
        reason = await unproven(sandbox, policy_of(_wants_proof(automation=automation)))
        assert reason.startswith('permissions.sandbox = "required": bash is unavailable: sandbox self-test failed')
        assert "Install bubblewrap" in reason
    assert await unproven(sandbox, policy_of(a_job())) == ""
    assert await unproven(sandbox, policy_of(_wants_proof(mode="ask"))) == ""


async def test_a_goal_that_a_command_judges_needs_one_to_be_run(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0)

    async def lacks(*criteria: object, sandboxed: str = "auto", mode: str = "goal") -> str:
        job = a_job("green", mode=mode, goal={"criteria": criteria}, permissions={"sandbox": sandboxed})
        return await unproven(sandbox, policy_of(job), job)

    command = {"command": "true"}
    assert (await lacks("it is short", command)).startswith("goal.criteria names a command: bash is unavailable: ")
    assert (await lacks(command, sandboxed="required")).startswith('permissions.sandbox = "required": ')
    assert [await lacks("it is short"), await lacks(command, sandboxed="off"), await lacks(command, mode="agent")] == [
        "",
        "",
        "",
    ]


@pytest.mark.parametrize(("inputs", "tainted"), [("parent_answer", True), ("parent_outcome", False)])
async def test_who_is_given_an_answer_is_given_the_taint_behind_it(home: Home, inputs: str, tainted: bool) -> None:
    job = home.job("child", f'[inputs]\n{inputs} = ""\n')
    source = "the answer of fetch, which had read a page of example.org"
    given = {"parent_answer": "Hm.", "parent_outcome": "done", "parent_tainted_by": source}
    async with home.house() as house:
        loaded = load_job(job, endpoints=())
        request = await house.opening.of_occurrence(loaded, at("07:00:00"), given=given)

    assert fold([request]).tainted_by == (source if tainted else "")
