from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.approval.network import Destination, Network, check_entry, destination, refusal
from kova_auto.core.net.address import EgressRefusedError


@pytest.mark.parametrize(
    "entry",
    [
        "pypi.example",
        "pypi.example:443",
        "*.npm.example",
        "*.npm.example:443",
        "*",
        "*:8443",
        "8.8.8.8:53",
        "[2606:4700::1111]:443",
    ],
)
def test_a_host_with_or_without_a_port_may_be_listed(entry: str) -> None:
    assert check_entry(entry) is None


@pytest.mark.parametrize(
    "entry",
    [
        *(
            "",
            ":443",
            "pypi.example:",
            "pypi.example:0",
            "pypi.example:65536",
            "pypi.example:https",
            "https://pypi.example",
            "pypi.example/x",
        ),
        *(
            "a@pypi.example",
            "*.org:443",
            "*.*",
            "pypi .org",
            "pypi.example:443:443",
            "**.pypi.example",
            "pypi.example:-1",
            "[::1:443",
        ),
    ],
)
def test_anything_else_is_told_apart(entry: str) -> None:
    assert check_entry(entry)


@pytest.mark.parametrize(
    ("network", "wanted", "why"),
    [
        ("off", ("pypi.example", 443), "pypi.example is out of reach: [permissions] network is off"),
        ("on", ("pypi.example", 443), None),
        ("on", ("pypi.example", 8080), None),
        ("on", ("smtp.org", 25), "port 25 of smtp.org is only reached where [permissions] network lists it"),
        (("pypi.example",), ("pypi.example", 443), None),
        (("pypi.example",), ("pypi.example", 80), None),
        (("PyPI.example.",), ("pypi.example", 80), None),
        (("pypi.example",), ("pypi.example", 22), "pypi.example:22 is not listed in [permissions] network"),
        (("pypi.example:22",), ("pypi.example", 22), None),
        (("pypi.example:22",), ("pypi.example", 443), "pypi.example is not listed in [permissions] network"),
        (("pypi.example",), ("files.pypi.example", 443), "files.pypi.example is not listed in [permissions] network"),
        (("pypi.example",), ("evilpypi.example", 443), "evilpypi.example is not listed in [permissions] network"),
        (("*.pypi.example",), ("files.pypi.example", 443), None),
        (("*.pypi.example",), ("pypi.example", 443), "pypi.example is not listed in [permissions] network"),
        (
            ("*.pypi.example:443",),
            ("files.pypi.example", 80),
            "files.pypi.example is not listed in [permissions] network",
        ),
        (("*",), ("any.org", 443), None),
        (("*",), ("any.org", 25), "any.org:25 is not listed in [permissions] network"),
        (("*:8443",), ("any.org", 8443), None),
        (("a.org", "b.org:8443"), ("b.org", 8443), None),
        ((), ("b.org", 443), "b.org is not listed in [permissions] network"),
        (("[2606:4700::1111]:443",), ("2606:4700::1111", 443), None),
        (("a.org",), ("2606:4700::1111", 81), "[2606:4700::1111]:81 is not listed in [permissions] network"),
    ],
)
def test_a_destination_is_reached_as_the_job_says(network: Network, wanted: tuple[str, int], why: str | None) -> None:
    assert refusal(network, Destination(*wanted)) == why


@pytest.mark.parametrize(
    ("authority", "found"),
    [
        ("PyPI.example:443", ("pypi.example", 443)),
        ("bücher.example:443", ("xn--bcher-kva.example", 443)),
        ("pypi.example.:443", ("pypi.example", 443)),
        ("[2606:4700::1111]:443", ("2606:4700::1111", 443)),
        ("pypi.example", ("pypi.example", 80)),
    ],
)
def test_a_destination_is_read_as_a_client_writes_it(authority: str, found: tuple[str, int]) -> None:
    assert destination(authority, 80) == Destination(*found)


@pytest.mark.parametrize(
    "authority",
    [
        *("", ":443", "a b:443", "a@b:443", "u:p@b:443", "2130706433:443", "0x7f.1:443", "0177.0.0.1:443"),
        *("127.0.0.1:443", "[::1]:443", "[::ffff:127.0.0.1]:443", "169.254.169.254:80", "10.0.0.1:443"),
        *("a/b:443", "a?b:443", "a#b:443", "a%2eb:443", "a\\b:443", "a\nb:443", "a:99999", "a:443:443", "::1:443"),
    ],
)
def test_what_is_no_public_destination_is_refused(authority: str) -> None:
    with pytest.raises(EgressRefusedError):
        destination(authority, 80)


def test_a_tunnel_names_its_port() -> None:
    with pytest.raises(EgressRefusedError, match="wanted a host and a port"):
        destination("pypi.example")


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_whatever_is_asked_for_is_a_destination_or_refused(authority: str, entries: list[str]) -> None:
    try:
        wanted = destination(authority, 443)
    except EgressRefusedError:
        return
    listed = tuple(entry for entry in entries if check_entry(entry) is None)
    assert refusal(listed, wanted) is None or str(wanted) in (refusal(listed, wanted) or "")
    assert refusal((str(wanted),), wanted) is None
