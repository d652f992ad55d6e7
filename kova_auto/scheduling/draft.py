"""A job file on its way to a job: what it says as far as it can be read, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.job import JobFile
from kova_auto.core.toml.complaints import complaints
from kova_auto.core.toml.document import Document, parse_document, together
from kova_auto.core.toml.places import Key
from kova_auto.settings.text import read_text


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold a job file that was read.

    Attributes:
        path: Absolute and canonical.
        file: What it says, the wrong keys left out.
        problems: What is wrong, by key; the empty key is the file as a whole.
    """

    path: Path
    document: Document[JobFileError]
    file: JobFile
    problems: dict[Key, JobFileError] = field(default_factory=dict)

    def complain(self, key: Key, message: str, hint: str = "") -> None:
        """Note a problem, unless something is wrong with that key, around it or inside it already."""
        if not any(known[: len(key)] == key or key[: len(known)] == known for known in self.problems if known):
            self.problems[key] = self.document.error(key, message, hint)

    def pass_on(self, key: Key, problem: ConfigError) -> None:
        """Note a problem that was found elsewhere, under its place in this file."""
        place = problem.path + (f":{problem.line}" if problem.line else "")
        self.complain(key, f"{place}: {problem.message}" if place else problem.message, problem.hint)

    def raise_problems(self) -> None:
        """Raise one error for all problems, if there are any."""
        if self.problems:
            raise together(list(self.problems.values()))


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
    return _validated(path.resolve(), document)


def _validated(path: Path, document: Document[JobFileError]) -> Draft:
    data = dict(document.data)
    draft = Draft(path, document, JobFile())
    for depth in (None, 1, 1):  # without the wrong keys; if that leaves a table incomplete, without the table
        try:
            return Draft(path, document, JobFile.model_validate(data), draft.problems)
        except ValidationError as exc:
            found = complaints(exc, JobFile, document.data, document.error)
        for key, problem in found.items():
            draft.complain(key, problem.message, problem.hint)
        data = _without(data, {_cut(key[:depth]) for key in found})
    return draft


def _cut(key: Key) -> Key:
    """End a key before its first array: elements that are left must keep their places."""
    return next((key[:index] for index, part in enumerate(key) if isinstance(part, int)), key)


def _without(table: Mapping[str, object], keys: Collection[Key]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in table.items():
        inner = {key[1:] for key in keys if key[0] == name}
        if () in inner:
            continue
        kept[name] = _without(value, inner) if inner and isinstance(value, Mapping) else value
    return kept
