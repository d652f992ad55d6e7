"""The units for systemd and launchd can be read, start what there is, and leave the confinement what it needs."""

from __future__ import annotations

import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_references import complaint

UNITS = ROOT / "systemd"
SERVICES = ("kova-auto.service", "kova-auto-system.service")
HARMFUL = (
    "RestrictNamespaces",
    "PrivateUsers",
    "MemoryDenyWriteExecute",
    "SystemCallFilter",
    "ProtectProc",
    "ProcSubset",
)


def settings_of(name: str) -> list[tuple[str, str]]:
    """Return the settings of a unit, in their order."""
    lines = (UNITS / name).read_text().splitlines()
    return [
        (key, value) for key, _, value in (line.partition("=") for line in lines if not line.startswith("#")) if value
    ]


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_starts_a_command_that_is_there(name: str) -> None:
    started = [value for key, value in settings_of(name) if key == "ExecStart"]
    program, *words = started[0].split()
    assert (len(started), Path(program).name, words[0], complaint(words)) == (1, "kova-auto", "serve", "")


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_leaves_user_name_spaces_alone(name: str) -> None:
    assert [key for key, _ in settings_of(name) if key in HARMFUL] == []


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_gives_the_service_time_to_end(name: str) -> None:
    """The service takes 30 seconds for its steps and 10 to cut off what is late; systemd must not be first."""
    said = dict(settings_of(name))
    assert (said["KillSignal"], said["KillMode"], int(said["TimeoutStopSec"]) > 40) == ("SIGTERM", "mixed", True)
    assert (said["Restart"], said["RestartPreventExitStatus"]) == ("on-failure", "2")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", SERVICES)
def test_systemd_finds_nothing_wrong_with_a_unit(name: str, tmp_path: Path) -> None:
    text = (UNITS / name).read_text()
    program = dict(settings_of(name))["ExecStart"].split()[0]
    (tmp_path / "kova-auto.service").write_text(text.replace(program, "/bin/true"))
    kind = ["--user"] if "default.target" in text else []
    result = subprocess.run(
        ["systemd-analyze", "verify", *kind, str(tmp_path / "kova-auto.service")],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, [line for line in result.stderr.splitlines() if "kova-auto" in line]) == (0, [])


def test_the_agent_of_launchd_starts_a_command_that_is_there() -> None:
    agent = plistlib.loads((UNITS / "com.kova.auto.plist").read_bytes())
    program, *words = agent["ProgramArguments"]
    assert (Path(program).name, words[0], complaint(words)) == ("kova-auto", "serve", "")
    assert (agent["Label"], agent["Umask"], agent["ExitTimeOut"] > 40) == ("com.kova.auto", 0o077, True)
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
