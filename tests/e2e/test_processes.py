"""The command as a process of its own: signals, a service that lives, and the two together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kova_auto import __version__
from tests.e2e.scenes import COMMAND, READS, WRITES, Program, Scene
from tests.support import ROOT

READY = r"jobs?, \d+ broken"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.scripted("look", READS)
    return scene


@pytest.fixture
def service(scene: Scene) -> Iterator[Program]:
    """Give a service that is ready; it is asked to stop, and must."""
    program = scene.start("serve")
    program.says(READY)
    yield program
    program.signal(signal.SIGTERM)
    assert (program.ends(), program.notes.splitlines()[-1].endswith("stopped")) == (0, True)


def test_a_service_says_what_it_is_and_what_is_wrong_and_stops_when_asked(scene: Scene) -> None:
    scene.job("broken", "prompt = 3\n")
    scene.job("weekly", 'prompt = "x"\n[schedule]\ncron = "0 7 * * MON"\n')
    program = scene.start_anew("serve")
    program.says("job weekly is loaded")
    program.signal(signal.SIGTERM)
    assert (program.ends(), program.answer) == (0, "")
    for said in (
        f"kova-auto {__version__}, data in {scene.database.parent}\n",
        "SQLite 3.",
        "time zone rules 20",
        "2 jobs, 1 broken file\n",
        "next: weekly at Mon ",
        f"{scene.jobs / 'broken.toml'}:1: prompt: wanted text, found 3\n",
        "SIGTERM: stopping\n",
    ):
        assert said in program.notes


def test_a_supervisor_hears_that_the_service_is_ready_and_that_it_stops(scene: Scene) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(scene.path / "notify"))
        supervisor.settimeout(60)
        program = scene.start_anew("serve", NOTIFY_SOCKET=str(scene.path / "notify"))
        assert supervisor.recv(100) == b"READY=1"
        program.signal(signal.SIGINT)
        assert supervisor.recv(100) == b"STOPPING=1"
        assert program.ends() == 0


def test_the_journal_gets_priorities_instead_of_times(scene: Scene, service: Program, tmp_path: Path) -> None:
    with (tmp_path / "journal").open("w+") as journal:
        status = os.fstat(journal.fileno())
        environ = {**scene.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}
        second = subprocess.run([*COMMAND, "serve"], cwd=ROOT, env=environ, stderr=journal, check=False)
        journal.seek(0)
        first, *_, last = journal.read().splitlines()
    assert second.returncode == 1
    assert first == f"<6>kova_auto.cli.serve: kova-auto {__version__}, data in {scene.database.parent}"
    assert last.startswith(f"error: process {service.process.pid} is ")


def test_a_second_service_names_the_first(scene: Scene, service: Program) -> None:
    result = scene.run("serve")
    assert result.exit_code == 1
    assert f"error: process {service.process.pid} is a kova-auto serve of " in result.stderr


def test_a_live_service_runs_what_a_command_asks_for(scene: Scene, service: Program) -> None:
    result = scene.run("run", "look")
    assert (result.exit_code, result.stdout.partition("\n")[0]) == (0, "It says: first line")
    assert "done" in service.says(r"run look\+\S+: done")


def test_a_live_service_delivers_to_the_command_that_listens(scene: Scene, service: Program) -> None:
    result = scene.run("run", "look", "--listen")
    assert (result.exit_code, "  verified: the signature fits" in result.stderr) == (0, True)


def test_a_live_service_takes_answers_and_goes_on(scene: Scene, service: Program) -> None:
    scene.scripted("make", WRITES, '[approval]\nwhen_needed = "suspend"\n')
    assert scene.run("run", "make").exit_code == 3
    allowed = scene.run("approvals", "allow", "last", "1.1")
    assert (allowed.exit_code, "the service goes on with it" in allowed.stderr) == (0, True)
    assert scene.run("runs", "tail", "last").stdout.startswith("It is written.\n")


def test_a_schedule_runs_by_itself(scene: Scene) -> None:
    scene.scripted("tick", READS, 'allow_scripted = true\n[schedule]\nevery = "5s"\n')
    program = scene.start("serve")
    assert "done" in program.says(r"run tick@\S+: done")
    program.signal(signal.SIGTERM)
    assert program.ends() == 0


def test_ctrl_c_once_ends_the_run_and_the_command(scene: Scene) -> None:
    scene.sleeper()
    program = scene.start_anew("run", "nap")
    scene.falls_asleep()
    program.signal(signal.SIGINT)
    assert program.ends() == 130
    assert "\nis being ended as cancelled: interrupted in the terminal\n" in program.notes
    assert "\ncancelled, partial: interrupted in the terminal" in program.notes


def test_a_run_that_was_left_goes_on_under_the_next_service(scene: Scene) -> None:
    scene.sleeper()
    program = scene.start_anew("run", "nap")
    scene.falls_asleep()
    program.signal(signal.SIGTERM)
    assert (program.ends(), "left as it is: run nap+" in program.notes) == (130, True)
    service = scene.start_anew("serve")
    service.says(r"run nap\+\S+: done")
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
    assert scene.run("runs", "show", "last").stdout.endswith("answer\nThe nap ended as unknown.\n")


def test_a_service_that_is_hurried_stops_at_once_and_says_so(scene: Scene) -> None:
    scene.sleeper()
    service = scene.start_anew("serve")
    service.says(READY)
    asking = scene.start_anew("run", "nap")
    scene.falls_asleep()
    service.signal(signal.SIGTERM)
    service.says("SIGTERM: stopping")
    service.signal(signal.SIGTERM)
    assert service.ends() == 130
    asking.signal(signal.SIGTERM)
    assert asking.ends() == 130
    (row,) = scene.run("runs", "list", "--unfinished").stdout.splitlines()[1:]
    assert "running, scripted" in row


def test_of_a_file_that_breaks_it_is_said_what_goes_on(scene: Scene) -> None:
    path = scene.job("weekly", 'prompt = "x"\nschedule.cron = "0 7 * * MON"\n')
    program = scene.start("serve")
    program.says("job weekly is loaded")
    written = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    path.write_text("prompt = 7\n")
    program.says("its last good version goes on")

    listed, examined = scene.run("jobs", "list").stdout, scene.run("doctor", "--offline").stdout
    rows = {row["name"]: row for row in json.loads(scene.run("jobs", "list", "--json").stdout)}
    program.signal(signal.SIGTERM)
    assert program.ends() == 0
    said = f"its last good version, of {written:%Y-%m-%d %H:%M:%S} UTC, goes on"
    assert f"wanted text, found 7; {said}" in " ".join(listed.split())
    assert f"warn  job       weekly: its file is broken: {said}" in examined
    assert (rows["look"]["goes_on"], rows["weekly"]["goes_on"]) == (None, f"{written:%Y-%m-%dT%H:%M:%SZ}")
    assert "goes on" not in scene.run("jobs", "list").stdout
