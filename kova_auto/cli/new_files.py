"""Write new files without ever overwriting one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kova_auto.cli.job_source import JobSource
from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.scheduling.checks import is_job_name
from kova_auto.scheduling.jobfiles import SUFFIX


def write_new(files: Mapping[Path, str]) -> None:
    """Write several files, or none of them; missing directories are made.

    Raises:
        ConfigError: One is there already, or cannot be written.
    """
    written: list[Path] = []
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
        except OSError as exc:
            _remove(written)
            raise _unwritten(path, exc) from exc


def write_job(source: JobSource, name: str, text: str, beside: Mapping[str, str] | None = None) -> Path:
    """Write a job file into the jobs directory, and load it: what is left there is a job.

    Args:
        source: With settings.
        name: The job's name.
        text: The file.
        beside: Further files by name, as the job's script.

    Raises:
        ConfigError: It would be no job, or one is there already.
    """
    if source.settings is None:
        msg = "wanted the settings, found none"
        raise ConfigError(msg)
    if not is_job_name(name):
        msg = f"wanted a name of letters, digits, - and _, at most 64, found {name!r}"
        raise ConfigError(msg)
    directory = source.settings.jobs_dir
    path = directory / f"{name}{SUFFIX}"
    others = {directory / other: content for other, content in (beside or {}).items()}
    write_new({path: text, **others})
    try:
        source.load(path)
    except JobFileError as exc:
        _remove([path, *others])
        message = f"nothing was written: {exc.message}"
        raise ConfigError(message, key=exc.key, hint=exc.hint) from exc
    return path


def _unwritten(path: Path, exc: OSError) -> ConfigError:
    if isinstance(exc, FileExistsError):
        hint = "nothing is overwritten: edit it, move it away, or choose another name"
        return ConfigError("wanted a new file, found one that is there already", path=str(path), hint=hint)
    return ConfigError(f"wanted to write it: {exc.strerror or exc}", path=str(path))


def _remove(paths: list[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
