"""Read what a person answers to the questions of a model: an option by its number or title, or any text."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.errors import ConfigError
from kova_auto.core.run import CallState


def chosen(known: CallState, given: Sequence[str]) -> tuple[str, ...]:
    """Return one answer for each question, options spelled out.

    Args:
        known: The call that asks.
        given: As typed; several options of one question are joined by commas.

    Raises:
        ConfigError: They are too many or too few, or one is no option's number.
    """
    asked = _asked(known)
    if len(given) != len(asked):
        plural = "s" * (len(asked) != 1)
        message = f"wanted {len(asked)} answer{plural}, one for each question in its order, found {len(given)}"
        raise ConfigError(message, hint="kova-auto questions show lists them; quote each answer")
    return tuple(_answer(question, text) for question, text in zip(asked, given, strict=True))


def _asked(known: CallState) -> list[dict[str, object]]:
    questions = known.call.args.get("questions")
    return [dict(one) for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []


def _answer(question: dict[str, object], text: str) -> str:
    options = question.get("options")
    titles = (
        [str(one.get("title", "")) for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    )
    numbers = [part.strip() for part in text.split(",")]
    if not titles or not all(number.isdecimal() for number in numbers):
        return text.strip()
    if len(numbers) > 1 and not question.get("multi_select"):
        message = f"{question.get('title')}: wanted one option, found {text}"
        raise ConfigError(message)
    return ", ".join(_title(titles, int(number)) for number in dict.fromkeys(numbers))


def _title(titles: Sequence[str], number: int) -> str:
    if not 1 <= number <= len(titles):
        message = f"wanted an option from 1 to {len(titles)}, found {number}"
        raise ConfigError(message)
    return titles[number - 1]
