"""Fill in a script's templates with what a conversation holds.

A string that is one `{{ expression }}` and nothing else keeps the value's type (`limit = "{{ results.a.line_count }}"`
is a number); every other string is text. Importing this imports Jinja2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

import jinja2
from jinja2 import meta, nodes
from jinja2.environment import Template, TemplateExpression
from pydantic import JsonValue

from kova_auto.core.errors import ConfigError
from kova_auto.llm.arguments import is_storable
from kova_auto.llm.results import Result
from kova_auto.llm.sandbox import COUNTER, MAX_OUTPUT, Sandbox, Steps
from kova_auto.llm.script import Script, ScriptTurn

Names = Mapping[str, object]

NAMES: Final = frozenset({"prompt", "results", "turn"})
ITEM_NAMES: Final = frozenset({"item", "index"})
_FALSE: Final = frozenset({"", "false", "no", "none", "0"})
_SANDBOX: Final = Sandbox()
_SURPRISES: Final = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)


class TemplateFaultError(Exception):
    """Say what is wrong with a template, or why it cannot be filled in here."""


def fill_text(template: str, names: Names) -> str:
    """Return the text that a template gives.

    Raises:
        TemplateFaultError: It is no template, asks for what is not there, or grows too large.
    """
    try:
        return _bounded(_template(template).generate({**names, COUNTER: Steps()}))
    except _SURPRISES as exc:
        raise TemplateFaultError(_said(exc)) from exc


def fill(value: JsonValue, names: Names) -> JsonValue:
    """Return a JSON value whose strings are templates, filled in, single expressions keeping their type.

    Raises:
        TemplateFaultError: As `fill_text`, or an expression gives what is no JSON.
    """
    match value:
        case str():
            return _evaluate(value, names)
        case dict():
            return {key: fill(item, names) for key, item in value.items()}
        case list():
            return [fill(item, names) for item in value]
        case _:
            return value


def holds(condition: JsonValue, names: Names) -> bool:
    """Say whether a condition is true; text that says no is not.

    Raises:
        TemplateFaultError: As `fill`.
    """
    value = fill(condition, names)
    return value.strip().lower() not in _FALSE if isinstance(value, str) else bool(value)


def check_templates(script: Script) -> None:
    """Look at every template of a script without filling it in.

    Raises:
        ConfigError: One is no template, or names a variable or a result that cannot be there; says which turn.
    """
    for part in (script, *(script.part(one.agent, "\n".join(one.expect)) for one in script.subagents)):
        _check_turns(part)


def _check_turns(script: Script) -> None:
    known: set[str] = set()
    for number, turn in enumerate(script.turns):
        for key, template, names in _templates(turn):
            try:
                _check(template, names, known)
            except jinja2.TemplateSyntaxError as exc:
                line = script.line_of(number, key)
                raise ConfigError(
                    _said(exc), path=script.path, line=line, key=f"{script.place}[{number}].{key}"
                ) from exc
        known.update(call.id for call in turn.calls)


def _templates(turn: ScriptTurn) -> Iterator[tuple[str, str, frozenset[str]]]:
    yield "text", turn.text, NAMES
    for number, call in enumerate(turn.calls):
        inner = NAMES if call.each is None else NAMES | ITEM_NAMES
        places = (
            ("each", call.each, NAMES),
            ("when", call.when, inner),
            ("args", call.args, inner),
            ("unparsed", call.unparsed, inner),
        )
        for key, value, names in places:
            for template in _strings(value):
                yield f"calls[{number}].{key}", template, names


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)
        case _:
            return


def _check(template: str, names: frozenset[str], known: set[str]) -> None:
    tree = _SANDBOX.syntax_tree(template)
    _SANDBOX.compile(tree)
    tree = _SANDBOX.parse(template)
    for name in sorted(meta.find_undeclared_variables(tree) - names - _SANDBOX.globals.keys()):
        msg = f"there is no {name!r} here (there: {', '.join(sorted(names))})"
        raise jinja2.TemplateSyntaxError(msg, 1)
    for asked in tree.find_all(nodes.Getattr):
        if isinstance(asked.node, nodes.Name) and asked.node.name == "results" and asked.attr not in known:
            msg = f"no earlier turn has a call {asked.attr!r} (there: {', '.join(sorted(known)) or 'none yet'})"
            raise jinja2.TemplateSyntaxError(msg, asked.lineno)


@lru_cache(maxsize=512)
def _template(text: str) -> Template:
    code = _SANDBOX.compile(_SANDBOX.syntax_tree(text))
    return Template.from_code(_SANDBOX, code, _SANDBOX.make_globals(None))


@lru_cache(maxsize=512)
def _expression(text: str) -> TemplateExpression | None:
    """Return the one expression that a string is; None where it is text."""
    if not (text.startswith("{{") and text.endswith("}}")):
        return None
    inner = text[2:-2].removeprefix("-").removeprefix("+").removesuffix("-").removesuffix("+")
    try:
        return _SANDBOX.compile_expression(inner, undefined_to_none=False)
    except jinja2.TemplateSyntaxError:
        return None  # Several expressions, or a mistake that compiling the whole will name.


def _evaluate(text: str, names: Names) -> JsonValue:
    expression = _expression(text)
    if expression is None:
        return fill_text(text, names)
    try:
        value = _json(expression({**names, COUNTER: Steps()}), Steps())
    except _SURPRISES as exc:
        raise TemplateFaultError(_said(exc)) from exc
    if not is_storable(value):
        msg = "the expression gives a value that is too large, or that no JSON holds"
        raise TemplateFaultError(msg)
    return value


def _json(value: object, steps: Steps) -> JsonValue:
    steps.take()
    match value:
        case None | bool() | int() | float():
            return value
        case str() | jinja2.Undefined() | Result():
            return _bounded([str(value)])
        case Mapping():
            return {str(key): _json(item, steps) for key, item in value.items()}
        case Iterable():
            return [_json(item, steps) for item in value]
        case _:
            msg = f"the expression gives a {type(value).__name__}, which is no value of JSON"
            raise TypeError(msg)


def _bounded(pieces: Iterable[str]) -> str:
    kept: list[str] = []
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_OUTPUT:
            msg = f"the text is longer than {MAX_OUTPUT:,} characters"
            raise ValueError(msg)
        kept.append(piece)
    return "".join(kept)


def _said(exc: Exception) -> str:
    if isinstance(exc, jinja2.TemplateSyntaxError):
        line = f" (line {exc.lineno} of it)" if exc.lineno > 1 else ""
        return f"{exc.message}{line}"
    return str(exc) or type(exc).__name__
