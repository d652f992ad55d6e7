"""What the doctor says of confinement: proved for the purpose, by what this machine has."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.sandbox_findings import of_sandbox, of_unconfined
from kova_auto.core.job import Job, Permissions
from kova_auto.tools.sandbox import landlock
from kova_auto.tools.sandbox.plan import Level, Method, Policy
from kova_auto.tools.sandbox.select import Sandbox, find_bwrap
from tests.support import a_job, at
from tests.tools.sandbox.tries import methods_here

NOW = at("07:00:00")
with_bwrap = pytest.mark.skipif(Method.BWRAP not in methods_here(), reason="bubblewrap is not installed")
with_landlock = pytest.mark.skipif(Method.LANDLOCK not in methods_here(), reason="this kernel has no Landlock")


def a_sandbox(scratch: Path, method: Method, *, leaves_record: bool = False) -> Sandbox:
    bwrap = find_bwrap() if method is Method.BWRAP else None
    return Sandbox(scratch, (), bwrap=bwrap, landlock_abi=landlock.abi(), leaves_record=leaves_record)


def files_in(scratch: Path) -> list[Path]:
    return sorted(scratch.iterdir())


async def found_of(sandbox: Sandbox) -> list[Finding]:
    return [finding async for finding in of_sandbox(sandbox, NOW)]


@with_bwrap
async def test_what_was_proved_is_named_for_each_box(tmp_path: Path) -> None:
    found = await found_of(a_sandbox(tmp_path, Method.BWRAP))
    outside = (
        "write a control file, write outside, read the hidden state, connect to loopback or create a user name space"
    )

    assert found == [
        Finding("sandbox", "reading", Mark.OK, "bubblewrap, proved just now by 7 attempts: it could write a temporary "
                f"file, and could not write in the workspace, {outside}."),
        Finding("sandbox", "workspace", Mark.OK, "bubblewrap, proved just now by 7 attempts: it could write in the "
                f"workspace or write a temporary file, and could not {outside}."),
    ]  # fmt: skip
    assert files_in(tmp_path) == []


@with_landlock
async def test_what_a_lesser_method_lacks_is_a_warning_with_the_way_to_the_better(tmp_path: Path) -> None:
    _, workspace = await found_of(a_sandbox(tmp_path, Method.LANDLOCK))

    assert (workspace.mark, workspace.text.startswith("Landlock, proved just now by 7 attempts: ")) == (Mark.WARN, True)
    assert all(lack in workspace.text for lack in landlock.lacks(Level.WORKSPACE, landlock.abi()))
    assert workspace.text.endswith(
        "Jobs with a network are refused. bubblewrap would hold it and cannot be used: not installed. "
        'Install bubblewrap, or set sandbox = "off" under [permissions] to run commands unconfined.'
    )


async def test_commands_that_cannot_be_confined_are_a_warning(tmp_path: Path) -> None:
    found = await found_of(Sandbox(tmp_path, (), bwrap=None, landlock_abi=0))

    assert [(one.name, one.mark) for one in found] == [("reading", Mark.WARN), ("workspace", Mark.WARN)]
    assert all("Install bubblewrap" in one.text for one in found)


@with_bwrap
async def test_it_is_said_how_long_ago_a_run_proved_it(tmp_path: Path) -> None:
    for level in (Level.READING, Level.WORKSPACE):
        await a_sandbox(tmp_path, Method.BWRAP, leaves_record=True).select(Policy.AUTO, level)
    (tmp_path / "self-test.bwrap.workspace").write_text("to write outside: worked")
    before = (NOW - timedelta(hours=3)).timestamp()
    for path in files_in(tmp_path):
        os.utime(path, (before, before))
    reading, workspace = await found_of(a_sandbox(tmp_path, Method.BWRAP))

    assert reading.text.endswith(" A run proved the same 3h ago.")
    assert workspace.text.endswith(
        " For a run 3h ago it failed (to write outside: worked): restart the service, which proves it once."
    )


@with_bwrap
async def test_it_is_said_where_it_worked_before(tmp_path: Path) -> None:
    await a_sandbox(tmp_path, Method.BWRAP, leaves_record=True).select(Policy.AUTO, Level.READING)
    reading, workspace = await found_of(Sandbox(tmp_path, (), bwrap=None, landlock_abi=0, leaves_record=False))

    assert re.search(r" It passed for a run \S+ ago\.$", reading.text)
    assert "It passed" not in workspace.text


def test_jobs_whose_commands_nothing_confines_are_listed() -> None:
    jobs: list[Job] = [
        a_job().model_copy(update={"permissions": Permissions(sandbox=value), "path": f"/jobs/{value}.toml"})
        for value in ("auto", "required", "off")
    ]

    assert list(of_unconfined(jobs)) == [
        Finding("sandbox", jobs[2].name, Mark.WARN, "its commands run unconfined, as /jobs/off.toml says by "
                'sandbox = "off": they reach what you can')
    ]  # fmt: skip
