"""Small sets of small numbers, kept as the bits of an integer.

Bit n stands for the number n. Such a set is frozen, hashable and equal by content; its next member is one shift away.
"""

from __future__ import annotations

from collections.abc import Iterator

Mask = int


def span(low: int, high: int, step: int = 1) -> Mask:
    """Return the numbers from `low` to `high`, both included, `step` apart."""
    if step == 1:
        return (2 << high) - (1 << low)
    count = len(range(low, high + 1, step))
    return ((1 << step * count) - 1) // ((1 << step) - 1) << low  # the ones of a number to the base of 2 ** step


def first_from(mask: Mask, low: int) -> int | None:
    """Return the smallest member that is not below `low`, or None."""
    rest = mask >> low
    return low + (rest & -rest).bit_length() - 1 if rest else None


def lowest(mask: Mask) -> int:
    """Return the smallest member of a set that is not empty."""
    return (mask & -mask).bit_length() - 1


def members(mask: Mask, low: int = 0) -> Iterator[int]:
    """Yield the members from `low` on, ascending."""
    rest = mask >> low << low
    while rest:
        yield lowest(rest)
        rest &= rest - 1
