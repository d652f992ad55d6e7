"""Which hosts a job's list covers."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.hosts import check_host, listing


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        ("docs.python.org", "docs.python.org"),
        ("Docs.Python.org.", "docs.python.org"),
        ("*.python.org", "docs.python.org"),
        ("*.python.org", "a.b.python.org"),
        ("*", "example.org"),
        ("*", None),
        ("bücher.example", "xn--bcher-kva.example"),
        ("93.184.216.34", "93.184.216.34"),
        ("2606:4700::1111", "2606:4700::1111"),
    ],
)
def test_an_entry_covers_a_host(entry: str, host: str | None) -> None:
    assert listing(["other.example", entry], host) == entry
    assert check_host(entry) is None


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        ("python.org", "docs.python.org"),
        ("*.python.org", "python.org"),
        ("*.python.org", "evilpython.org"),
        ("docs.python.org", "docs.python.org.evil.example"),
        ("docs.python.org", None),
        ("docs.python.org", ""),
        ("docs.python.org", "docs.python.org/"),
    ],
)
def test_an_entry_does_not_cover_a_host(entry: str, host: str | None) -> None:
    assert listing([entry], host) is None


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*.",
        "*.org",
        "*python.org",
        "a.*.org",
        "**",
        "https://docs.python.org",
        "docs.python.org/3",
        "a b",
        "*.1.2.3",
    ],
)
def test_an_entry_that_is_no_host_is_refused_and_covers_nothing(entry: str) -> None:
    assert repr(entry) in (check_host(entry) or "")
    assert listing([entry], "docs.python.org") is None
