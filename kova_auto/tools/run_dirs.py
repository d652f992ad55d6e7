"""Names the directories in which a run keeps what its commands need, and takes them away with the run."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from kova_auto.core.ids import CallId, RunId
from kova_auto.tools.leftovers import Leader
from kova_auto.tools.sandbox.control import Controls

_CONTROLS = TypeAdapter(Controls)
_LEADER = TypeAdapter(Leader)
_NOTE = ".held"
_LED = ".leader"


@dataclass(frozen=True, slots=True)
class RunDirs:
    """Name what one run has below a directory of the service's own, which no command sees."""

    base: Path
    run_id: RunId

    @property
    def root(self) -> Path:
        """Return what is removed when the run ends."""
        return Path(self._root)

    @property
    def _root(self) -> str:
        return f"{self.base}/runs/{_short(self.run_id)}"

    @property
    def temp(self) -> Path:
        """Return what commands find as TMPDIR; all that they may write of this."""
        return self.root / "tmp"

    @property
    def outputs(self) -> Path:
        """Return where it lies what commands printed."""
        return self.root / "out"

    def cache(self, workspace: str) -> Path:
        """Return what package managers may fill: one directory for each workspace, kept between runs."""
        return self.base / "caches" / _short(workspace)

    def are_there(self) -> bool:
        """Say whether the run has kept anything: most run no command."""
        return os.path.lexists(self._root)

    def make(self, workspace: str) -> None:
        """Make the directories, for this user only; calling twice is safe."""
        for directory in (self.temp, self.outputs, self.cache(workspace)):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def token(self, call_id: CallId) -> str:
        """Return the mark of a call's processes, unique on this machine."""
        run = _short(f"{self.base}\n{self.run_id}")
        return f"{run}:{call_id}"

    def spool(self, call_id: CallId) -> Path:
        """Return the file that takes what a call's command prints."""
        return self.outputs / call_id

    def printed(self, call_id: CallId) -> bytes | None:
        """Return what a call's command printed, as far as it was kept; None where nothing was."""
        try:
            return self.spool(call_id).read_bytes()
        except OSError:
            return None

    def note(self, call_id: CallId) -> Path:
        """Return the file that says, after this process is killed, what is to be settled after a call's command."""
        return self.outputs / f"{call_id}{_NOTE}"

    def write_note(self, call_id: CallId, controls: Controls) -> None:
        """Write down what a command holds, before it runs; nothing where there is nothing to settle."""
        if controls != Controls():
            self.note(call_id).write_bytes(_CONTROLS.dump_json(controls))

    def read_note(self, call_id: CallId) -> Controls:
        """Return what a command held; nothing where no note was left, or only half of one: then it never ran."""
        try:
            return _CONTROLS.validate_json(self.note(call_id).read_bytes())
        except (OSError, ValidationError):
            return Controls()

    def noted(self) -> Iterator[CallId]:
        """Yield the calls whose notes are still there."""
        with suppress(OSError):
            yield from sorted(CallId(path.name.removesuffix(_NOTE)) for path in self.outputs.glob(f"*{_NOTE}"))

    def leader(self, call_id: CallId) -> Path:
        """Return the file that says which process runs a command of which no fact tells."""
        return self.outputs / f"{call_id}{_LED}"

    def write_leader(self, call_id: CallId, leader: Leader) -> None:
        """Write down the process of such a command, before it runs."""
        self.leader(call_id).write_bytes(_LEADER.dump_json(leader))

    def led(self) -> Iterator[tuple[CallId, Leader]]:
        """Yield the commands that are written down so; of half a note, no command ever ran."""
        for path in sorted(self.outputs.glob(f"*{_LED}")):
            with suppress(OSError, ValidationError):
                yield CallId(path.name.removesuffix(_LED)), _LEADER.validate_json(path.read_bytes())

    def remove(self) -> None:
        """Remove all but the cache, whatever commands did to it; calling twice is safe."""
        shutil.rmtree(self.root, ignore_errors=True)
        if self.root.exists():
            _open_up(self.temp)
            shutil.rmtree(self.root, ignore_errors=True)


def _open_up(top: Path) -> None:
    """Let ourselves into the directories that a command closed; links are not followed."""
    with suppress(OSError):
        top.chmod(0o700)
    for here, names, _ in os.walk(top):
        for path in (Path(here, name) for name in names):
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]
