"""Keep the job files of a directory as they are now: changed files are read anew, broken ones parked.

A file that breaks keeps its last good version running, unless the file is gone. One that somebody may still be writing
is left for the next look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.parked import Parked
from kova_auto.core.ports import Clock
from kova_auto.scheduling.dependencies import dependency_errors
from kova_auto.scheduling.jobfiles import SUFFIX, drawn_in, files_of, load_job
from kova_auto.scheduling.stamps import Look, Stamp, is_young, look, stamp
from kova_auto.scheduling.triggers import Calendars

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one file: its last good job, if there was one, and what is wrong with it now.

    Attributes:
        files: Paths of the file itself and of those that it draws in.
        stamps: Tell whether any of them has changed; empty where they are to be read anew anyway.
        good_ns: When the file was written that `job` was read from; 0 where there is none.
    """

    files: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    job: Job | None
    problem: JobFileError | None = None
    good_ns: int = 0


class JobBook:
    """Know the jobs of one directory."""

    def __init__(
        self,
        directory: Path,
        *,
        timezone: str,
        endpoints: Collection[str],
        calendars: Calendars | None = None,
        clock: Clock | None = None,
        vet: Callable[[Job], None] = lambda _: None,
    ) -> None:
        """Begin with no jobs; `refresh` reads them.

        Args:
            directory: Where the job files are.
            timezone: For schedules that name none.
            endpoints: Names that a job may tell.
            calendars: What a schedule may exclude.
            clock: The one by which files get their times; without it every file is taken to be written to its end.
            vet: Raises JobFileError for a job that must not run here, though its file is right.
        """
        self._directory, self._clock, self._vet = directory, clock, vet
        self._load_job = partial(load_job, timezone=timezone, endpoints=endpoints, calendars=calendars)
        self._entries: dict[JobName, Entry] | None = None
        self._depending: Mapping[JobName, JobFileError] = {}
        self._seen: tuple[Mapping[JobName, Entry], Mapping[str, Stamp]] = {}, {}  # with nothing to be read

    @property
    def entries(self) -> Mapping[JobName, Entry]:
        """Return every file by its job's name."""
        return self._entries or {}

    @property
    def jobs(self) -> list[Job]:
        """Return the jobs that can run, by name; one that waits for itself in the end, or for nobody, cannot."""
        return [entry.job for name, entry in self.entries.items() if entry.job and name not in self._depending]

    @property
    def parked(self) -> list[Parked]:
        """Return the jobs whose files are broken, by name."""
        broken = [(name, entry) for name, entry in sorted(self.entries.items()) if entry.problem]
        return [Parked(job=name, good_at=_instant(entry.good_ns) if entry.job else None) for name, entry in broken]

    def has_changed(self) -> bool:
        """Say whether there is something to be read, reading nothing; may be asked from another thread."""
        known = self.entries
        try:
            here = look(self._directory)
        except ConfigError:  # The next pass says so.
            return False
        if known is self._seen[0] and here.stamps == self._seen[1]:
            return False
        paths = here.jobs
        if known.keys() - map(_name, paths):
            return True
        if any(self._is_to_be_read(path, known.get(_name(path)), here) for path in paths):
            return True
        if self._rests(known, here):
            self._seen = known, here.stamps
        return False

    def refresh(self) -> bool:
        """Read what has changed; say whether anything had.

        Raises:
            ConfigError: There is no such directory.
        """
        found: dict[JobName, Entry] = {}
        here, known = look(self._directory), self.entries
        if known is self._seen[0] and here.stamps == self._seen[1] and not any(map(_is_broken, known.values())):
            return False
        for path in here.jobs:
            name = _name(path)
            if entry := self._entry(path, known.get(name), here):
                found[name] = entry
        for name in sorted(known.keys() - found.keys()):
            LOG.info("job %s is gone", name)
        changed = found != known
        self._entries = found
        if changed:
            self._heed_dependencies()
        return changed

    def _heed_dependencies(self) -> None:
        """Find the jobs that wait for others in a way that comes to nothing; each is named once."""
        loaded = [entry.job for entry in self.entries.values() if entry.job]
        depending = dependency_errors(loaded, self.entries.keys())
        for name, error in depending.items():
            if str(self._depending.get(name)) != str(error):
                LOG.warning("%s", error)
        self._depending = depending

    def _rests(self, known: Mapping[JobName, Entry], here: Look) -> bool:
        """Say whether only a change of the directory matters: no file is being written, none lies elsewhere."""
        inside = all(path in here.stamps for entry in known.values() for path in entry.files)
        return inside and not self._is_young(here.stamps.values())

    def _is_to_be_read(self, path: str, known: Entry | None, here: Look) -> bool:
        """Say whether a file has changed, and is not being written."""
        if known is None:
            return not self._is_young(here.of((path,)))
        found = here.of(known.files)
        return known.stamps != found and not self._is_young(found)

    def _entry(self, path: str, known: Entry | None, here: Look) -> Entry | None:
        """Read a file that has changed, or that is broken: what it lacks may have come without it.

        Returns:
            What was known, where the file is being written; at the very first look it is read all the same, or a job
            that has something to catch up with would be taken for a new one.
        """
        found = here.of(known.files if known else (path,))
        if known and not known.problem and known.stamps == found:
            return known
        first = self._entries is None
        if self._is_young(found) and not first:
            return known
        entry = self._load(path, found[0], known)
        if not self._is_young(entry.stamps):
            return self._told(entry, known)
        return self._told(replace(entry, stamps=()), known) if first else known

    def _load(self, path: str, here: Stamp, known: Entry | None) -> Entry:
        """Read a file; its stamp is from before that, so that what changes meanwhile is read again."""
        file, job, problem = Path(path), known.job if known else None, None
        good_ns = known.good_ns if known else 0
        try:
            read = self._load_job(file)
            self._vet(read)
            job, named, good_ns = read, files_of(read, Path(read.path)), here[1] if here else 0
        except JobFileError as exc:
            problem, named = exc, drawn_in(file)
        files = tuple(map(str, named))
        return Entry((path, *files), (here, *map(stamp, files)), job, problem, good_ns)

    def _told(self, entry: Entry, known: Entry | None) -> Entry:
        """Say in the log what a file has become, once; return the entry, or the one that says the same."""
        problem = entry.problem
        if problem is None:
            LOG.info("job %s is loaded", _name(entry.files[0]))
        elif known and str(known.problem) == str(problem):  # Errors are the same only if they are one.
            return known if known.stamps == entry.stamps else replace(entry, problem=known.problem)
        else:
            LOG.warning("%s%s", problem, "; its last good version goes on" if entry.job else "")
        return entry

    def _is_young(self, found: Collection[Stamp]) -> bool:
        return self._clock is not None and is_young(found, self._clock.now())


def _is_broken(entry: Entry) -> bool:
    return entry.problem is not None


def _instant(written_ns: int) -> datetime:
    return datetime.fromtimestamp(written_ns // 1_000_000_000, UTC)


def _name(path: str) -> JobName:
    return JobName(path[path.rfind("/") + 1 : -len(SUFFIX)])
