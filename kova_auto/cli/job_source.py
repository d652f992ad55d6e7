"""Find and load the jobs that a command line names, with the settings where these matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kova_auto.cli.instants import instant
from kova_auto.cli.options import settings_of
from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.scheduling.dependencies import dependency_errors
from kova_auto.scheduling.jobfiles import find_job, is_path, job_files, load_job

if TYPE_CHECKING:
    from kova_auto.settings.model import Settings


@dataclass(frozen=True, slots=True)
class JobSource:
    """Load jobs.

    Attributes:
        settings: None where only files were named and nothing but their own text matters.
    """

    settings: Settings | None

    @classmethod
    def with_settings(cls, config: Path | None) -> JobSource:
        """Return a source that knows the service's zone and endpoints.

        Raises:
            SettingsError: Something is wrong with the settings.
        """
        return cls(settings_of(config))

    @classmethod
    def for_check(cls, jobs: Sequence[str], config: Path | None) -> JobSource:
        """Return a source for a check: files by themselves need no settings, unless these were named."""
        if config is None and jobs and all(map(is_path, jobs)):
            return cls(None)
        return cls.with_settings(config)

    def instant(self, text: str) -> datetime:
        """Read an instant as the service's clock shows it; a date alone is its midnight.

        Raises:
            ConfigError: It is none.
        """
        return instant(text, self.settings.timezone if self.settings else "UTC")

    def paths(self, jobs: Sequence[str]) -> list[Path]:
        """Return the files of the jobs that were named, or of all.

        Raises:
            ConfigError: There is no such job or file.
        """
        if not jobs and self.settings:
            return job_files(self.settings.jobs_dir)
        return [self._path(job) for job in jobs]

    def load(self, path: Path) -> Job:
        """Load one job.

        Raises:
            JobFileError: Something is wrong with it.
        """
        if self.settings is None:
            return load_job(path)
        known = self.settings
        return load_job(path, timezone=known.timezone, endpoints=known.endpoints, calendars=known.calendar_dates)

    def load_each(self, paths: Sequence[Path]) -> list[tuple[Path, Job | ConfigError]]:
        """Load several jobs, and check them against one another; one that cannot be loaded is its error."""
        found = [(path, self._loaded(path)) for path in paths]
        jobs = [loaded for _, loaded in found if isinstance(loaded, Job)]
        depending = dependency_errors(jobs, {path.stem for path in self._beside(jobs)})
        return [(path, depending.get(JobName(path.stem), loaded)) for path, loaded in found]

    def _beside(self, jobs: Sequence[Job]) -> Iterator[Path]:
        """Yield the job files that lie where some jobs do that wait for others."""
        for folder in {Path(job.path).parent for job in jobs if job.schedule and job.schedule.after}:
            yield from job_files(folder)

    def _loaded(self, path: Path) -> Job | ConfigError:
        try:
            return self.load(path)
        except JobFileError as exc:
            return exc

    def _path(self, job: str) -> Path:
        if self.settings is not None and not is_path(job):
            return find_job(job, self.settings.jobs_dir)
        path = Path(job)
        if not path.exists():
            message = "wanted a job file, found nothing"
            raise ConfigError(message, path=job, hint="kova-auto jobs list shows the jobs")
        return path
