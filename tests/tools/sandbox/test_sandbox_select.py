"""Which confinement is chosen, and what a refusal says. The self-tests are real; a broken bubblewrap is a script."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from kova_auto.tools.sandbox import landlock
from kova_auto.tools.sandbox.confiners import Confiner, OpenConfiner
from kova_auto.tools.sandbox.plan import Level, Method, Policy, Refusal, hidden_places
from kova_auto.tools.sandbox.select import Sandbox, find_bwrap
from kova_auto.tools.sandbox.selftest import Check, SelfTest, self_test
from tests.tools.sandbox.tries import methods_here

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")
CONFINED = [Level.READING, Level.WORKSPACE]
with_bwrap = pytest.mark.skipif(Method.BWRAP not in methods_here(), reason="bubblewrap is not installed")
with_landlock = pytest.mark.skipif(Method.LANDLOCK not in methods_here(), reason="this kernel has no Landlock")


def a_sandbox(tmp_path: Path, *, bwrap: Path | None = None, landlock_abi: int = 0) -> Sandbox:
    return Sandbox(tmp_path, hidden_places(Path("/home/kova")), bwrap=bwrap, landlock_abi=landlock_abi)


def this_machine(tmp_path: Path) -> Sandbox:
    return a_sandbox(tmp_path, bwrap=find_bwrap(), landlock_abi=landlock.abi())


def a_broken_bwrap(tmp_path: Path, complaint: str) -> Path:
    program = tmp_path / "bwrap"
    program.write_text(f'#!/bin/sh\necho run >> "{tmp_path}/runs"\necho "{complaint}" >&2\nexit 1\n')
    program.chmod(0o755)
    return program


def chosen(choice: Confiner | Refusal) -> str:
    return choice.reason if isinstance(choice, Refusal) else choice.method


@pytest.mark.parametrize("level", CONFINED)
async def test_this_machine_proves_a_confinement(tmp_path: Path, level: Level) -> None:
    assert chosen(await this_machine(tmp_path).select(Policy.AUTO, level)) in {"bwrap", "landlock"}


@pytest.mark.parametrize("level", CONFINED)
@pytest.mark.parametrize("method", methods_here())
async def test_whatever_this_machine_has_is_proved(tmp_path: Path, method: Method, level: Level) -> None:
    proof = await this_machine(tmp_path).proof(method, level)
    unmasked = method is Method.LANDLOCK and level is Level.WORKSPACE

    assert (proof.ok, proof.reason) == (True, "")
    assert {check.name: check.held for check in proof.checks} == {
        "write in the workspace": True,
        "write a temporary file": True,
        "write a control file": not unmasked,
        "write outside": True,
        "read the hidden state": True,
        "connect to loopback": True,
        "create a user name space": True,
    }


@pytest.mark.parametrize("level", CONFINED)
async def test_a_confinement_that_confines_nothing_is_not_proved(tmp_path: Path, level: Level) -> None:
    proof = await self_test(OpenConfiner(), level, scratch=tmp_path, hidden=())
    got_out = ["write a control file", "write outside", "read the hidden state", "connect to loopback"]

    assert not proof.ok
    assert set(got_out) <= {check.name for check in proof.checks if check == Check(check.name, False, "worked")}
    assert all(f"to {name} inside: worked" in proof.reason for name in got_out)


def test_a_self_test_leaves_nothing_behind(tmp_path: Path) -> None:
    asyncio.run(self_test(OpenConfiner(), Level.READING, scratch=tmp_path, hidden=()))

    assert list(tmp_path.iterdir()) == []


@with_bwrap
@pytest.mark.parametrize("policy", [Policy.AUTO, Policy.REQUIRED])
@pytest.mark.parametrize("level", CONFINED)
async def test_bubblewrap_comes_first(tmp_path: Path, policy: Policy, level: Level) -> None:
    assert chosen(await this_machine(tmp_path).select(policy, level)) == "bwrap"


@with_landlock
@pytest.mark.parametrize("level", CONFINED)
async def test_landlock_comes_where_bubblewrap_fails(tmp_path: Path, level: Level) -> None:
    broken = a_broken_bwrap(tmp_path, "bwrap: setting up uid map: Permission denied")
    choice = await a_sandbox(tmp_path, bwrap=broken, landlock_abi=landlock.abi()).select(Policy.AUTO, level)

    assert not isinstance(choice, Refusal)
    assert (choice.method, "control files inside the workspace can be changed" in choice.lacks) == (
        Method.LANDLOCK,
        level is Level.WORKSPACE,
    )


@with_landlock
async def test_where_proof_is_required_landlock_is_not_enough_for_reading(tmp_path: Path) -> None:
    sandbox = a_sandbox(tmp_path, landlock_abi=landlock.abi())
    reading, workspace = [await sandbox.select(Policy.REQUIRED, level) for level in CONFINED]

    assert chosen(workspace) == "landlock"
    assert chosen(reading) == (
        'bash is unavailable: sandbox self-test failed (bwrap: not installed; landlock: sandbox = "required" does not'
        " accept that mode, owner, times and attributes of files outside can be changed)."
        ' Install bubblewrap, or set sandbox = "off" under [permissions] to run commands unconfined.'
    )


OFF = 'or set sandbox = "off" under [permissions] to run commands unconfined.'


@pytest.mark.parametrize(
    ("complaint", "advice"),
    [
        ("bwrap: setting up uid map: Permission denied", "On Ubuntu load the bwrap-userns-restrict AppArmor profile, "),
        (
            "bwrap: No permissions to create a new namespace",
            "Allow user name spaces (user.max_user_namespaces; in Docker, its seccomp profile), ",
        ),
        ("bwrap: Unknown option --disable-userns", "Install bubblewrap 0.8 or newer, "),
        ("bwrap: Something else", "Mend what it names, "),
    ],
)
@pytest.mark.parametrize("policy", [Policy.AUTO, Policy.REQUIRED])
async def test_a_refusal_says_why_and_what_to_do(tmp_path: Path, policy: Policy, complaint: str, advice: str) -> None:
    sandbox = a_sandbox(tmp_path, bwrap=a_broken_bwrap(tmp_path, complaint))

    assert await sandbox.select(policy, Level.WORKSPACE) == Refusal(
        f"bash is unavailable: sandbox self-test failed ({complaint}; landlock: this kernel has no Landlock)."
        f" {advice}{OFF}"
    )


async def test_what_is_not_installed_is_said(tmp_path: Path) -> None:
    assert await a_sandbox(tmp_path).select(Policy.AUTO, Level.READING) == Refusal(
        "bash is unavailable: sandbox self-test failed (bwrap: not installed; landlock: this kernel has no Landlock)."
        f" Install bubblewrap, {OFF}"
    )


async def test_a_self_test_runs_once_and_its_reason_is_kept(tmp_path: Path) -> None:
    sandbox = a_sandbox(tmp_path, bwrap=a_broken_bwrap(tmp_path, "bwrap: no"))
    first = await sandbox.proof(Method.BWRAP, Level.READING)
    again = await sandbox.proof(Method.BWRAP, Level.READING)
    await sandbox.select(Policy.AUTO, Level.READING)

    assert first is again
    assert first == SelfTest(Method.BWRAP, Level.READING, reason="bwrap: no")
    assert (tmp_path / "runs").read_text() == "run\n"


@pytest.mark.parametrize(("policy", "level"), [(Policy.OFF, Level.READING), (Policy.REQUIRED, Level.OPEN)])
async def test_where_confinement_is_switched_off_it_says_so(tmp_path: Path, policy: Policy, level: Level) -> None:
    choice = await a_sandbox(tmp_path).select(policy, level)

    assert choice == OpenConfiner()
