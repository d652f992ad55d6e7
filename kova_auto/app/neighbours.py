"""Know the workspaces of all jobs of a service, so that each job's commands see their own alone."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from kova_auto.core.errors import ConfigError
from kova_auto.scheduling.jobfiles import job_files

_LINE = re.compile(r"""^\s*workspace\s*=\s*(["'])(?P<named>[^"'\\]*)\1""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Known:
    """Hold what one file said when it was last read."""

    mark: tuple[int, int]
    workspace: Path


class Neighbours:
    """Read where jobs work, from their files and from nothing else: each is read again only when it has changed.

    A file that is broken just now still names its job's workspace, by what it said before or by as much of it as can
    be read: what is hidden does not come to light by a slip of the pen.
    """

    def __init__(self, jobs_dir: Path) -> None:
        """Take the directory of job files; it may be missing."""
        self._jobs_dir = jobs_dir
        self._known: dict[Path, _Known] = {}
        self._lock = Lock()

    def workspaces(self) -> tuple[Path, ...]:
        """Return the workspaces, each once; from any thread."""
        with self._lock:
            with suppress(ConfigError):
                self._known = {path: self._look(path) for path in job_files(self._jobs_dir)}
            return tuple(dict.fromkeys(known.workspace for known in self._known.values()))

    def _look(self, path: Path) -> _Known:
        known = self._known.get(path)
        try:
            status = path.stat()
            mark = (status.st_mtime_ns, status.st_size)
            if known and known.mark == mark:
                return known
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return known or _Known((0, 0), path.resolve().parent)
        return _Known(mark, _place(path, _named(text, known)))


def _named(text: str, known: _Known | None) -> str:
    """Return the workspace that a file names; `.` where it names none."""
    try:
        named = tomllib.loads(text).get("workspace")
    except ValueError:
        found = _LINE.search(text)
        return found["named"] if found else str(known.workspace) if known else "."
    return named if isinstance(named, str) else "."


def _place(path: Path, named: str) -> Path:
    """Return where a job works, as its file means it; behind a link, paths begin at the file."""
    home = path.resolve().parent
    try:
        return (home / Path(named).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError):
        return home
