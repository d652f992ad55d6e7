"""The page on confinement says what the code does: places, bounds, variables."""

from __future__ import annotations

import re
from pathlib import Path

from kova_auto.net.proxy import Bounds
from kova_auto.tools.environment import place_variables
from kova_auto.tools.sandbox import network, search, seatbelt
from tests.docs.pages import ROOT, bare, table, text_of

PAGE = "docs/confinement.md"


def page() -> str:
    return " ".join((ROOT / PAGE).read_text(encoding="utf-8").split())


def test_the_caches_are_those_that_commands_are_given() -> None:
    given = place_variables(Path("/t"), Path("/c"))
    caches = {name: value.removeprefix("/c/") for name, value in given.items() if value.startswith("/c/")}

    assert {bare(row[0]): bare(row[1]) for row in table(PAGE, "Caches").body} == caches


def test_the_search_goes_as_deep_and_as_far_as_the_page_says() -> None:
    said = page()

    assert f"and {search.MAX_DEPTH} directories deep" in said
    assert f"once {search.MAX_ENTRIES} names were read" in said
    *names, last = (f"`{name}`" for name in search.NEVER_ENTERED)
    assert f"{', '.join(names)} and {last} are not entered" in said


def test_the_proxy_has_the_bounds_and_names_on_the_page() -> None:
    said, bounds = page(), Bounds()

    assert f"at most {bounds.at_once} connections at a time" in said
    assert f"nothing moves for {bounds.idle_s:g} s" in said
    assert f"`127.0.0.1:{network.PORT}`" in said
    names = {name.upper() for name in network.proxy_variables()}
    assert names == set(re.findall(r"`([A-Z_]+_PROXY)`", said))


def test_what_macos_lacks_is_listed() -> None:
    assert all(f"- {lack}" in text_of(PAGE) for lack in seatbelt.LACKS)
