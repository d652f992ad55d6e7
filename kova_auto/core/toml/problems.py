"""Collect everything that is wrong with one text, so that a person can mend it in one go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from kova_auto.core.errors import ConfigError
from kova_auto.core.toml.complaints import ErrorAt, complaints
from kova_auto.core.toml.document import together
from kova_auto.core.toml.places import Key

E = TypeVar("E", bound=ConfigError)
M = TypeVar("M", bound=BaseModel)


class Problems(Generic[E]):
    """Hold what was found so far: one problem for each key, the first one."""

    def __init__(self, error_at: ErrorAt[E]) -> None:
        """Begin with none; `error_at` makes an error from key, sentence and hint."""
        self._error_at = error_at
        self._found: dict[Key, E] = {}

    def __contains__(self, key: Key) -> bool:
        """Say whether something is wrong with a key, around it or inside it."""
        return any(known[: len(key)] == key or key[: len(known)] == known for known in self._found if known)

    def __iter__(self) -> Iterator[E]:
        """Yield the errors, in the order in which they were found."""
        return iter(self._found.values())

    def add(self, key: Key, message: str, hint: str = "") -> None:
        """Note a problem, unless that key has one already; the empty key means the whole text."""
        if key not in self:
            self._found[key] = self._error_at(key, message, hint)

    def pass_on(self, key: Key, problem: ConfigError) -> None:
        """Note a problem that was found elsewhere, under its place in this text."""
        place = problem.path + (f":{problem.line}" if problem.line else "")
        self.add(key, f"{place}: {problem.message}" if place else problem.message, problem.hint)

    def raise_any(self) -> None:
        """Raise one error for all problems, if there are any."""
        if self._found:
            raise together(list(self._found.values()))

    def validated(self, model: type[M], data: Mapping[str, object]) -> M:
        """Return what the data says, the wrong keys left out; each of these is a problem.

        Args:
            model: Every field of it has a default.
            data: As it was read.
        """
        kept = dict(data)
        for depth in (None, 1, 1):  # without the wrong keys; if that leaves a table incomplete, without the table
            try:
                return model.model_validate(kept)
            except ValidationError as exc:
                wrong = complaints(exc, model, data, lambda *problem: problem)
            for problem in wrong.values():
                self.add(*problem)
            kept = _without(kept, {_cut(key[:depth]) for key in wrong})
        return model()


def _cut(key: Key) -> Key:
    """End a key before its first array: elements that are left must keep their places."""
    return next((key[:index] for index, part in enumerate(key) if isinstance(part, int)), key)


def _without(table: Mapping[str, object], keys: Collection[Key]) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in table.items():
        inner = {key[1:] for key in keys if key[:1] == (name,)}
        if () not in inner:
            kept[name] = _without(value, inner) if inner and isinstance(value, Mapping) else value
    return kept
