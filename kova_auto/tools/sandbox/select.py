"""Chooses how commands are confined on this machine: what is proved, or a refusal that says what to do."""

from __future__ import annotations

import asyncio
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kova_auto.tools.sandbox import landlock, seccomp
from kova_auto.tools.sandbox.confiners import BwrapConfiner, Confiner, LandlockConfiner, OpenConfiner, SeatbeltConfiner
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.network import no_network
from kova_auto.tools.sandbox.plan import Level, Method, Policy, Refusal
from kova_auto.tools.sandbox.selftest import SelfTest, self_test

_OFF = 'or set sandbox = "off" under [permissions] to run commands unconfined'
_ADVICE = (
    ("not installed", f"Install bubblewrap, {_OFF}."),
    ("Unknown option", f"Install bubblewrap 0.8 or newer, {_OFF}."),
    ("RTM_NEWADDR", f"On Ubuntu load the bwrap-userns-restrict AppArmor profile, {_OFF}."),
    ("uid map", f"On Ubuntu load the bwrap-userns-restrict AppArmor profile, {_OFF}."),
    ("new namespace", f"Allow user name spaces (user.max_user_namespaces; in Docker, its seccomp profile), {_OFF}."),
    ("proc", f"Run the service outside the container or let it mount /proc, {_OFF}."),
    ("required", 'Make bubblewrap work, or accept what Landlock lacks with sandbox = "auto" under [permissions].'),
)


@dataclass(frozen=True, slots=True)
class LastProof:
    """Say how a self-test went.

    Attributes:
        at: Seconds since 1970, UTC.
        reason: Why it failed; empty where it did not.
    """

    at: float
    reason: str


class Sandbox:
    """Prove once per process which confinement this machine gives, and remember it with its reason."""

    def __init__(
        self,
        scratch: Path,
        hidden: tuple[Path, ...],
        *,
        bwrap: Path | None,
        landlock_abi: int,
        seatbelt: Path | None = None,
        leaves_record: bool = True,
    ) -> None:
        """Prove nothing yet.

        Args:
            scratch: An existing directory of the service's own, for self-tests.
            hidden: What the service hides from its commands.
            bwrap: `find_bwrap()`; None where there is none.
            landlock_abi: `landlock.abi()`; 0 where there is none.
            seatbelt: `find_seatbelt()`; None on every system but macOS.
            leaves_record: Whether what is proved is written down, for `last`.
        """
        self._scratch, self._hidden = scratch, hidden
        self._live, self._leaves_record = Live(), leaves_record
        self._bwrap = BwrapConfiner(bwrap, self._live) if bwrap else None
        self._seatbelt = SeatbeltConfiner(seatbelt, self._live) if seatbelt else None
        self.methods = (Method.SEATBELT,) if seatbelt else (Method.BWRAP, Method.LANDLOCK)
        self._landlock, self._numbers = landlock_abi, seccomp.numbers()
        self._proofs: dict[tuple[Method, Level], SelfTest] = {}
        self._proving = asyncio.Lock()

    async def select(self, policy: Policy, level: Level, *, network: bool = False) -> Confiner | Refusal:
        """Return what confines commands at a level; bubblewrap first, then Landlock, never a silent nothing.

        `REQUIRED` does not accept Landlock at `READING`: it cannot keep a command from changing the modes and times of
        files, so the workspace would not be as it was. At `WORKSPACE` it does: grants lie outside every workspace.
        A command that is to have a network is never held by Landlock: it cannot lead it to a proxy.
        """
        if policy is Policy.OFF or level is Level.OPEN:
            return OpenConfiner()
        reasons = []
        for method in self.methods:
            proof = await self.proof(method, level)
            strict = policy is Policy.REQUIRED and level is Level.READING and bool(proof.lacks)
            lost = network and method is not Method.BWRAP
            if proof.ok and not strict and not lost and (confiner := self._confiner(method, level)):
                return confiner
            why = (
                proof.reason
                or (lost and no_network(method.title()))
                or f'sandbox = "required" does not accept that {proof.lacks[0]}'
            )
            reasons.append(f"{method}: {why.removeprefix(f'{method}: ')}")
        return Refusal(f"bash is unavailable: sandbox self-test failed ({'; '.join(reasons)}). {advice(reasons)}")

    def settle_left(self, controls: Controls) -> tuple[str, ...]:
        """Tidy up after a command whose service was killed, once all of it is gone; see `Confiner.settle`."""
        return self._live.leave(controls)

    async def proof(self, method: Method, level: Level) -> SelfTest:
        """Return the self-test of a method; it runs once."""
        async with self._proving:
            if (method, level) not in self._proofs:
                self._proofs[method, level] = proof = await self._prove(method, level)
                if self._leaves_record:
                    await asyncio.to_thread(_write_down, self._record(method, level), proof.reason)
            return self._proofs[method, level]

    def last(self, method: Method, level: Level) -> LastProof | None:
        """Return how a self-test last went in another process, where one left a record."""
        path = self._record(method, level)
        try:
            return LastProof(path.stat().st_mtime, path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return None

    def _record(self, method: Method, level: Level) -> Path:
        return self._scratch / f"self-test.{method}.{level}"

    async def _prove(self, method: Method, level: Level) -> SelfTest:
        confiner = self._confiner(method, level)
        if confiner is None:
            return SelfTest(method, level, reason=self._why_not(method))
        return await self_test(confiner, level, scratch=self._scratch, hidden=self._hidden)

    def _confiner(self, method: Method, level: Level) -> Confiner | None:
        if method is Method.BWRAP:
            return self._bwrap
        if method is Method.SEATBELT:
            return self._seatbelt
        if self._numbers is None or landlock.why_not(self._landlock, self._numbers):
            return None
        return LandlockConfiner(Path(sys.executable).resolve(), self._landlock, self._numbers, level, self._live)

    def _why_not(self, method: Method) -> str:
        if sys.platform != "linux":
            return "confinement needs Linux or macOS"
        return "not installed" if method is Method.BWRAP else landlock.why_not(self._landlock, self._numbers)


def find_bwrap() -> Path | None:
    """Return bubblewrap, the distribution's own first: security profiles name that path."""
    usual = Path("/usr/bin/bwrap")
    if usual.exists():
        return usual
    found = shutil.which("bwrap")
    return Path(found).resolve() if found else None


def _write_down(path: Path, reason: str) -> None:
    with suppress(OSError):  # it is looked at by people only
        path.write_text(reason, encoding="utf-8")


def advice(reasons: list[str]) -> str:
    """Return what to do about the reasons for which nothing confines."""
    text = " ".join(reasons)
    return next((advice for sign, advice in _ADVICE if sign in text), f"Mend what it names, {_OFF}.")
