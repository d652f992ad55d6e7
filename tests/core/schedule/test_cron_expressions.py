"""What an expression may look like, and what is said about one that may not."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import parse_cron
from tests.core.schedule.schedule_oracle import fires

COMPLAINTS = [
    ("5/15 * * * *", "minute: wanted a range or * before the step, found '5/15'", "write 5-59/15"),
    (
        "*/90 * * * *",
        "minute: wanted a step from 1 to 60, found '*/90'",
        'a step begins anew with each round; for an interval write every = "90m" instead of cron',
    ),
    ("*/x * * * *", "minute: wanted a step from 1 to 60, found '*/x'", "for example */15"),
    ("0 22-2 * * *", "hour: wanted a range that ascends, found '22-2'", "write 22-23,0-2"),
    ("0 24 * * *", "hour: wanted 0-23, found '24'", "midnight is hour 0"),
    ("0 0 * * FRI-MON", "weekday: wanted a range that ascends, found 'FRI-MON'", "write FRI-SAT,SUN-MON"),
    ("0 0 * * 6-0", "weekday: wanted a range that ascends, found '6-0'", "write 6,0"),
    ("0 0 1 NOV-FEB *", "month: wanted a range that ascends, found 'NOV-FEB'", "write NOV-DEC,JAN-FEB"),
    ("0 0 * * monday", "weekday: wanted 0-7 or SUN-SAT, found 'monday'", "write MON"),
    ("0 0 1 January *", "month: wanted 1-12 or JAN-DEC, found 'January'", "write JAN"),
    ("0 0 * * L", "weekday: wanted 0-7 or SUN-SAT, found 'L'", "SAT is Saturday, SATL the month's last"),
    (
        "0 0 1 1 * 2027",
        "weekday: wanted 0-7 or SUN-SAT, found '2027'",
        "a year needs all seven fields: second minute hour day month weekday year",
    ),
    (
        "0 0 * * 1#6",
        "weekday: wanted 1 to 5 or L after #, found '1#6'",
        "5#2 is the second Friday, 5#L the last",
    ),
    (
        "0 0 * * *#2",
        "weekday: wanted a weekday or a range of them before # or L, found '*#2'",
        "5#2 is the second Friday",
    ),
    (
        "0 0 L-3 * *",
        "day of month: wanted 1-31, found 'L-3'",
        "L is the last day, LW the last Monday to Friday; an offset from it cannot be written",
    ),
    (
        "0 0 32W * *",
        "day of month: wanted one day before W, found '32W'",
        "15W is the Monday to Friday nearest the 15th, LW the month's last",
    ),
    ("1,,2 * * * *", "minute: wanted 0-59, found ''", "take out the extra comma"),
    (
        "0 0 0 1 1 * */2",
        "year: wanted a range before the step, to say where it begins, found '*/2'",
        "write 2026-2099/2",
    ),
    ("0 0 0 1 1 * 10000", "year: wanted 1-9999, found '10000'", "for example 2027-2029"),
    (f"{'9' * 5000} * * * *", f"minute: wanted 0-59, found '{'9' * 5000}'", "for example */15"),
    (
        "0 0 0 29 2 * 2026-2027",
        "day of month: wanted a day that exists in the months and years given, found '29'",
        "this would never fire; the last day of any month is L",
    ),
    (
        "* * *",
        "wanted 5 fields (minute hour day month weekday), 6 with seconds or 7 with years, found 3",
        "for example 30 8 * * MON-FRI",
    ),
    (
        "@reboot",
        "wanted one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, found '@reboot'",
        'write on = "startup" instead of cron',
    ),
    (
        "@every 5m",
        "wanted one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, found '@every 5m'",
        'write every = "5m" instead of cron',
    ),
    (
        "@dayly",
        "wanted one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, found '@dayly'",
        "did you mean @daily?",
    ),
]


@pytest.mark.parametrize(("expression", "message", "hint"), COMPLAINTS, ids=[row[0][:20] for row in COMPLAINTS])
def test_a_complaint_names_the_field_what_was_wanted_and_what_to_write(
    expression: str, message: str, hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cron(expression)
    assert (caught.value.key, caught.value.message, caught.value.hint) == ("cron", message, hint)


@pytest.mark.parametrize(
    "expression",
    [
        "0 0 * * MON-FRI/2#2",
        "0 0 L/2 * *",
        "0 0 1-5W * *",
        "/5 * * * *",
        "0 0 * * +",
        "0 0 * * ++5",
        "0 0 +1 * *",
        "0 0 * * 5,+6",
        "0 0 * * 5L#2",
        "0 0 * * \u017fun",
        "0 0 * * fr\u0131",
        "\u0663 * * * *",
        "-5 * * * *",
        "1- * * * *",
        "*/5/5 * * * *",
    ],
)
def test_what_no_grammar_allows_is_refused(expression: str) -> None:
    with pytest.raises(ConfigError):
        parse_cron(expression)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("@daily", "0 0 * * *"),
        ("@HOURLY ", "0 * * * *"),
        ("30 ? * * *", "30 * * * *"),
        ("0 0 * * sun", " 0  0 ? * 7"),
        ("0 9 * * MON-FRI", "00 09 * * 1,2,3,4,5"),
        ("0 0 9 * * *", "0 9 * * *"),
        ("0 0 * * FRIL", "0 0 * * 5#L"),
        ("0 0 * * MON-WED#2", "0 0 * * 1#2,2#2,3#2"),
        ("0 0 * * 7-sun", "0 0 * * 0"),
    ],
)
def test_two_spellings_of_one_meaning_are_equal_and_hash_alike(one: str, other: str) -> None:
    first, second = parse_cron(one), parse_cron(other)
    assert (first, hash(first), first.text) == (second, hash(second), one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0 0-23 * * *", "0 * * * *"),  # the same hours, but only the star follows real time
        ("0 0 13 * 5", "0 0 13 * +5"),
        ("0 0 LW * *", "0 0 L * *"),
    ],
)
def test_expressions_of_different_meaning_are_not_equal(one: str, other: str) -> None:
    assert parse_cron(one) != parse_cron(other)


def test_a_stepped_star_beside_another_day_field_draws_a_warning() -> None:
    (warning,) = parse_cron("0 0 */2 * 1").warnings
    assert warning == (
        "day of month '*/2' and weekday '1': a date that fits either one fires; "
        "Debian's cron wants both (for that, write +1)"
    )


@pytest.mark.parametrize("expression", ["0 0 */2 * *", "0 0 * * */2", "0 0 */2 * +1", "0 0 13 * 5", "*/5 */2 * * *"])
def test_nothing_else_draws_a_warning(expression: str) -> None:
    assert parse_cron(expression).warnings == ()


@pytest.mark.parametrize(
    ("expression", "day"),
    [
        ("0 0 1W 8 *", "2026-08-03"),  # a Saturday, and no Friday before it in the month
        ("0 0 8W 8 *", "2026-08-07"),  # a Saturday
        ("0 0 9W 8 *", "2026-08-10"),  # a Sunday
        ("0 0 31W 5 *", "2026-05-29"),  # a Sunday, and no Monday after it in the month
        ("0 0 LW 2 *", "2026-02-27"),  # the 28th is a Saturday
        ("0 0 31W 4,7 *", "2026-07-31"),  # April has none
    ],
)
def test_the_nearest_workday_lies_in_the_same_month(expression: str, day: str) -> None:
    assert fires(expression, "UTC", "2026-01-01T00:00Z", 1) == [f"{day}T00:00:00+00:00"]


def test_the_search_ends_after_150_years() -> None:
    # 29 February is a Sunday every 28 years, and 150 years on lies the last one found from here.
    assert fires("0 0 0 29 2 +0 2150-2200", "UTC", "2000-06-01T00:00Z", 1) == []
    assert fires("0 0 0 29 2 +0 2150-2200", "UTC", "2020-06-01T00:00Z", 1) == ["2156-02-29T00:00:00+00:00"]


def test_a_wildcard_that_only_ever_meets_a_gap_is_given_up() -> None:
    assert fires("*/30 2 * 3 7L", "Europe/Berlin", "2026-01-01T00:00Z", 1) == []


def test_the_end_of_the_calendar_is_no_error() -> None:
    assert fires("0 0 * * *", "Pacific/Kiritimati", "9998-12-30T09:00Z", 2) == ["9998-12-31T00:00:00+14:00"]
    assert fires("0 0 * * *", "Pacific/Kiritimati", "9999-12-31T23:00Z", 1) == []
