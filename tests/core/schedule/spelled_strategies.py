"""Random cron expressions, each with what it means."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.core.schedule.schedule_oracle import WEEKDAYS, DayItem, LastDay, NearestWorkday, Numbered, Spelled, Weekdays

Plain = tuple[str, frozenset[int]]


@st.composite
def _items(draw: st.DrawFn, low: int, high: int) -> Plain:
    start, end = sorted((draw(st.integers(low, high)), draw(st.integers(low, high))))
    step = draw(st.integers(1, high - low + 1))
    return draw(
        st.sampled_from(
            [
                (str(start), frozenset({start})),
                (f"{start}-{end}", frozenset(range(start, end + 1))),
                (f"{start}-{end}/{step}", frozenset(range(start, end + 1, step))),
                (f"*/{step}", frozenset(range(low, high + 1, step))),
                ("*", frozenset(range(low, high + 1))),
            ]
        )
    )


@st.composite
def fields(draw: st.DrawFn, low: int, high: int) -> Plain:
    """Draw a plain field of one to three items."""
    drawn = draw(st.lists(_items(low, high), min_size=1, max_size=3))
    return ",".join(text for text, _ in drawn), frozenset[int]().union(*(numbers for _, numbers in drawn))


@st.composite
def _days(draw: st.DrawFn) -> DayItem:
    number = draw(st.integers(1, 31))
    text, numbers = draw(_items(1, 31).filter(lambda item: item[0] != "*"))
    return draw(
        st.sampled_from(
            [
                Numbered(text, numbers),
                LastDay("L"),
                NearestWorkday("LW", None),
                NearestWorkday(f"{number}W", number),
            ]
        )
    )


@st.composite
def _weekdays(draw: st.DrawFn) -> DayItem:
    number, nth = draw(st.integers(0, 7)), draw(st.integers(1, 5))
    spelling = draw(st.sampled_from([str(number), WEEKDAYS[number % 7], WEEKDAYS[number % 7].lower()]))
    start, end = sorted((draw(st.integers(0, 7)), draw(st.integers(0, 7))))
    one = frozenset({number % 7})
    return draw(
        st.sampled_from(
            [
                Weekdays(spelling, one),
                Weekdays(f"{spelling}#{nth}", one, nth),
                Weekdays(f"{spelling}L", one, 0),
                Weekdays(f"{spelling}#L", one, 0),
                Weekdays(f"{start}-{end}", frozenset(day % 7 for day in range(start, end + 1))),
            ]
        )
    )


@st.composite
def expressions(draw: st.DrawFn, *, with_seconds: bool = False) -> Spelled:
    """Draw an expression with every kind of field."""
    days = draw(st.none() | st.lists(_days(), min_size=1, max_size=3).map(tuple))
    weekdays = draw(st.none() | st.lists(_weekdays(), min_size=1, max_size=3).map(tuple))
    return Spelled(
        seconds=draw(fields(0, 59)) if with_seconds else None,
        minutes=draw(fields(0, 59)),
        hours=draw(fields(0, 23)),
        months=draw(st.just(("*", frozenset(range(1, 13)))) | fields(1, 12)),
        days=days,
        weekdays=weekdays,
        is_forced_and=draw(st.booleans()),
    )
