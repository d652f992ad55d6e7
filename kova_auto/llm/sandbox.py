"""The sandbox that a script's templates run in: it reaches nothing, repeats itself exactly, and does not grow for ever.

Importing this imports Jinja2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kova_auto.llm.results import Results

MAX_OUTPUT: Final = 1_000_000
MAX_STEPS: Final = 100_000
COUNTER: Final = "steps left"  # no template can write this name
_REFUSED: Final = (
    nodes.Macro,
    nodes.CallBlock,
    nodes.Include,
    nodes.Import,
    nodes.FromImport,
    nodes.Extends,
    nodes.Block,
)
_GROWING: Final = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "format", "format_map"})
_GLOBALS: Final = ("cycler", "joiner", "lipsum", "namespace")
_FILTERS: Final = ("center", "random", "indent", "format", "pprint", "xmlattr", "urlize", "wordwrap")


class Steps:
    """Count down what a template may still repeat."""

    def __init__(self, left: int = MAX_STEPS) -> None:
        self.left = left

    def take(self, count: int = 1) -> None:
        """Use up some of it.

        Raises:
            SecurityError: There is nothing left.
        """
        self.left -= count
        if self.left < 0:
            msg = f"more than {MAX_STEPS:,} repetitions"
            raise SecurityError(msg)


class Missing(jinja2.StrictUndefined):
    """Say which result is missing, and which are there."""

    @property
    def _undefined_message(self) -> str:
        if isinstance(self._undefined_obj, Results):
            there = ", ".join(self._undefined_obj) or "none yet"
            return f"there is no result {self._undefined_name!r} at this turn (there: {there})"
        return super()._undefined_message


class Sandbox(ImmutableSandboxedEnvironment):
    """Compile templates whose loops are counted and whose operators cannot multiply text."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        """Take out what is random, what repeats without counting, and what pads to any width."""
        super().__init__(undefined=Missing, keep_trailing_newline=True, autoescape=False)
        for name in _GLOBALS:
            del self.globals[name]
        for name in _FILTERS:
            del self.filters[name]
        self.globals["range"] = _range
        self.filters["counted"] = _counted

    def syntax_tree(self, text: str) -> nodes.Template:
        """Return a template's tree, its loops counted.

        Raises:
            jinja2.TemplateSyntaxError: It is no template, or uses what scripts do not have.
        """
        tree = self.parse(text)
        for node in tree.find_all(_REFUSED):
            msg = f"{type(node).__name__.lower()} is not for scripts"
            raise jinja2.TemplateSyntaxError(msg, node.lineno)
        for loop in tree.find_all(nodes.For):
            if loop.recursive:
                msg = "a recursive loop is not for scripts"
                raise jinja2.TemplateSyntaxError(msg, loop.lineno)
            loop.iter = nodes.Filter(loop.iter, "counted", [], [], None, None, lineno=loop.lineno)
        return tree

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Multiply numbers only, and only such that fit 64 bits."""
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            msg = f"{operator} is for numbers only"
            raise SecurityError(msg)
        if operator == "**" or max(abs(left), abs(right)) >= 2**63:
            msg = "the number would be too large"
            raise SecurityError(msg)
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Refuse also the methods of text that pad it to any width."""
        return attr not in _GROWING and super().is_safe_attribute(obj, attr, value)


def _range(*args: int) -> range:
    found = range(*args)
    Steps().take(len(found))
    return found


@jinja2.pass_context
def _counted(context: Context, items: Iterable[object]) -> Iterator[object]:
    steps: Steps = context[COUNTER]
    for item in items:
        steps.take()
        yield item
