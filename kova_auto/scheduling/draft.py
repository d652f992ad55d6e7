"""A job file on its way to a job: what it says as far as it can be read, and everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.job import JobFile
from kova_auto.core.toml.document import parse_document
from kova_auto.core.toml.problems import Problems
from kova_auto.settings.text import read_text

# Given as empty, a table is filled in by the file's own validator; left out, it would have to build one for itself.
_TABLES = ("policy", "limits", "permissions", "approval", "output", "goal", "agents", "mcp", "context")
_EMPTY: dict[str, object] = {name: {} for name in _TABLES}


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold a job file that was read.

    Attributes:
        name: Stem of the file as it was named; a link gives a job its own name.
        path: Absolute and canonical: behind a link, the file itself, at which relative paths begin.
        file: What it says, the wrong keys left out.
    """

    name: str
    path: Path
    file: JobFile
    problems: Problems[JobFileError]


def read_draft(path: Path) -> Draft:
    """Read a job file, and check each of its keys by itself.

    Raises:
        JobFileError: There is no such file, or it is no TOML.
    """
    try:
        text = read_text(path)
    except ConfigError as exc:
        raise JobFileError(exc.message, path=str(path)) from exc
    document = parse_document(text, str(path), JobFileError)
    problems = Problems(document.error)
    return Draft(path.stem, path.resolve(), problems.validated(JobFile, {**_EMPTY, **document.data}), problems)
