"""The page on formats: what it shows of each is what is sent today, and what it says of limits is what we keep to."""

from __future__ import annotations

import re

import pytest

from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.target import FormatName
from tests.core.delivery.recorded import PAGE, rewritten
from tests.docs.pages import blocks, headings, table

PLACE = "docs/formats.md"


def test_the_page_shows_what_is_sent_today() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == rewritten(page), "run: python -m tests.core.delivery.recorded --write"


def test_a_change_of_what_is_sent_would_be_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert rewritten(page.replace("✅ nightly: done", "nightly ended")) == page


@pytest.mark.parametrize("name", list(FORMATS))
def test_each_format_has_its_section_with_one_example(name: FormatName) -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert f"`{name}`" in headings(PLACE)
    assert re.findall(rf"<!-- (limits|recorded): {name} -->", page) == ["limits", "recorded"]
    assert [block.rest for block in blocks(PLACE) if block.rest == name] == [name]


def test_the_table_of_formats_names_them_all() -> None:
    assert table(PLACE, "Formats").names == [name.value for name in FormatName]
