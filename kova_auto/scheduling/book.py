"""Keep the job files of a directory as they are now: changed files are read anew, broken ones parked.

A file that breaks keeps its last good version running, unless the file is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import JobFileError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.scheduling.jobfiles import job_files, load_job

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one file: its last good job, if there was one, and what is wrong with it now.

    Attributes:
        stamp: Tells whether the file, or one that it draws in, has changed.
    """

    path: Path
    stamp: tuple[tuple[str, int, int], ...]
    job: Job | None
    problem: JobFileError | None = None


class JobBook:
    """Know the jobs of one directory."""

    def __init__(self, directory: Path, *, timezone: str, endpoints: Collection[str]) -> None:
        """Begin with no jobs; `refresh` reads them.

        Args:
            directory: Where the job files are.
            timezone: For schedules that name none.
            endpoints: Names that a job may tell.
        """
        self._directory, self._timezone, self._endpoints = directory, timezone, endpoints
        self._entries: dict[JobName, Entry] = {}

    @property
    def entries(self) -> Mapping[JobName, Entry]:
        """Return every file by its job's name."""
        return self._entries

    @property
    def jobs(self) -> list[Job]:
        """Return the jobs that can run, by name."""
        return [entry.job for entry in self._entries.values() if entry.job]

    def refresh(self) -> bool:
        """Read what has changed; say whether anything had.

        Raises:
            ConfigError: There is no such directory.
        """
        found: dict[JobName, Entry] = {}
        for path in job_files(self._directory):
            name = JobName(path.stem)
            found[name] = self._read(path, self._entries.get(name))
        changed = found != self._entries
        self._entries = found
        return changed

    def _read(self, path: Path, known: Entry | None) -> Entry:
        """Read a file that has changed, or that is broken: what it lacks may have come without it."""
        here = _stat(path)  # Before it is read: what changes meanwhile is read again.
        if known and not known.problem and known.stamp == (here, *_drawn_in(path, known.job)):
            return known
        try:
            job = load_job(path, timezone=self._timezone, endpoints=self._endpoints)
        except JobFileError as exc:
            if known and known.problem and str(known.problem) == str(exc):
                return known
            LOG.warning("%s", exc)
            return Entry(path, (here,), known.job if known else None, exc)
        LOG.info("job %s is loaded", job.name)
        return Entry(path, (here, *_drawn_in(path, job)), job)


def _drawn_in(path: Path, job: Job | None) -> list[tuple[str, int, int]]:
    """Return size and time of the files that a job names."""
    named = (job.prompt_file, job.script, job.output.schema_file) if job else ()
    return [_stat(path.parent / name) for name in named if name]


def _stat(path: Path) -> tuple[str, int, int]:
    try:
        stat = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), stat.st_size, stat.st_mtime_ns
