"""Remember what each model of a provider turned out to refuse, so that it is asked without it from then on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pydantic import JsonValue

from kova_auto.core.fault import Fault
from kova_auto.llm.faults import REFUSES_A_PART, Problem, fault_of
from kova_auto.llm.wire import Wire

Body = dict[str, JsonValue]

MOST: Final = 3
"""Requests to ask again within one call; a provider that wants more than that is not asked as it means to be."""


class Concessions:
    """Hold what was left out with success, by model, for as long as this process lives."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._made: dict[str, tuple[Problem, ...]] = {}

    def known(self, model: str) -> tuple[Problem, ...]:
        """Return what this model is known to refuse, in the order in which it did."""
        return self._made.get(model, ())

    def applied(self, model: str, body: Body) -> Body:
        """Return a request's body without what this model is known to refuse."""
        for problem in self.known(model):
            body = self._wire.without(body, problem) or body
        return body

    def next_body(self, body: Body, problem: Problem, status: int, made: Sequence[Problem]) -> Body | None:
        """Return what to ask instead after a refusal; None where there is nothing to concede.

        Args:
            body: What was asked.
            problem: What the provider said to it.
            status: Of its answer.
            made: What was conceded in this call before.
        """
        refuses_a_part = problem.is_opaque or fault_of(problem, status) is Fault.INVALID
        if status not in REFUSES_A_PART or len(made) == MOST or not refuses_a_part:
            return None
        return self._wire.without(body, problem)

    def worked(self, model: str, made: Sequence[Problem]) -> None:
        """Take note that a model answered after these concessions; what one history made necessary is forgotten."""
        known = self._made.get(model, ())
        lasting = (problem for problem in made if not self._wire.is_about_history(problem))
        if new := tuple(problem for problem in lasting if problem not in known):
            self._made[model] = known + new
