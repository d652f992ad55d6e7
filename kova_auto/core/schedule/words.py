"""How a sentence counts things up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

_SHORTEST_RUN = 3


def listing(words: Sequence[str], conjunction: str = "and") -> str:
    """Join as "a, b and c"."""
    return f" {conjunction} ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def runs(numbers: Iterable[int], spell: Callable[[int], str]) -> str:
    """Count ascending numbers up, three or more in a row as "first to last"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    words: list[str] = []
    for run in found:
        if len(run) >= _SHORTEST_RUN:
            words.append(f"{spell(run[0])} to {spell(run[-1])}")
        else:
            words += map(spell, run)
    return listing(words)


def ordinal(number: int) -> str:
    """Spell 1 as "1st", 22 as "22nd"."""
    teens = 10 <= number % 100 <= 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
