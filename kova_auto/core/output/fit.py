"""Say whether an answer fits the schema of its job, and where it does not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from pydantic import JsonValue

from kova_auto.core.output.extract import NoJsonError, extract
from kova_auto.core.output.schema import applied, at

MAX_PROBLEMS: Final = 20
MAX_SHOWN: Final = 300
_MOST_ERRORS = 200
_ALTERNATIVES = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class Fit:
    """Hold what was found of an answer.

    Attributes:
        text: Its JSON, as the model wrote it; the answer itself where that is none.
        problems: What does not fit, each with its JSON pointer, in the order of the answer; empty where it fits.
    """

    text: str
    problems: tuple[str, ...] = ()


@lru_cache(maxsize=16)  # A run asks several times about each answer.
def fit(answer: str, schema: str) -> Fit:
    """Return what an answer is by a schema's text, which was found to be sound."""
    try:
        found = extract(answer)
    except NoJsonError as exc:
        return Fit(answer, (f"{at(())}: {exc}",))
    return Fit(found.text, tuple(_problems(found.value, json.loads(schema))))


def _problems(value: JsonValue, schema: dict[str, Any]) -> Iterator[str]:
    from referencing.exceptions import Unresolvable

    from kova_auto.core.output.keywords import MAX_LOOKS, TooMuchError, bounded, validator_of

    try:
        with bounded():
            errors = [*islice(validator_of(applied(schema)).iter_errors(value), _MOST_ERRORS)]
    except TooMuchError:
        yield f"{at(())}: wanted an answer that is checked in {MAX_LOOKS} steps; make it smaller or less nested"
        return
    except Unresolvable as exc:
        yield f"{at(())}: the schema refers to what it does not hold: {exc}"
        return
    said = list(dict.fromkeys(_said(error) for error in _in_order(_leaves(errors))))
    yield from said[:MAX_PROBLEMS]
    if len(said) > MAX_PROBLEMS:
        yield f"and {len(said) - MAX_PROBLEMS} more"


def _leaves(errors: Iterable[Any]) -> Iterator[Any]:
    """Yield the errors that say something: in place of alternatives none of which fits, those of the nearest."""
    for error in errors:
        nearest = _nearest(error) if error.validator in _ALTERNATIVES else []
        yield from _leaves(nearest) if nearest else (error,)


def _nearest(error: Any) -> list[Any]:  # noqa: ANN401  # the library has no type for it
    """Return the errors of the alternative that an answer comes nearest to; none where no single one is meant."""
    by_branch: dict[int, list[Any]] = {}
    for inner in error.context:
        by_branch.setdefault(inner.schema_path[0], []).append(inner)
    ranked = sorted(by_branch.values(), key=_distance)
    return [] if len(ranked) > 1 and _distance(ranked[0]) == _distance(ranked[1]) else ranked[0] if ranked else []


def _distance(errors: list[Any]) -> tuple[int, int]:
    """Return how far an answer is from an alternative: what is wrong at its top, as another kind, counts most."""
    return sum(1 for error in errors if len(error.path) == 0), len(errors)


def _in_order(errors: Iterable[Any]) -> list[Any]:
    return sorted(errors, key=lambda error: [(isinstance(step, str), step) for step in error.absolute_path])


def _said(error: Any) -> str:  # noqa: ANN401  # the library has no type for it
    message = error.message
    if len(message) > MAX_SHOWN:
        message = f"{message[: MAX_SHOWN // 2]} … {message[-MAX_SHOWN // 2 :]}"
    return f"{at(tuple(error.absolute_path))}: {message}"
