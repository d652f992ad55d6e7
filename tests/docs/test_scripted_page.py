"""The pages on scripts and models list what the code has."""

from __future__ import annotations

from functools import cached_property

from kova_auto.app.discovery import CONNECT_S, LISTED_S
from kova_auto.core.patience import ATTEMPTS, BOUNDS_S, BUDGET, PARKS_S
from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol
from kova_auto.llm.results import Result
from kova_auto.llm.script import ScriptCall, ScriptTurn
from kova_auto.llm.templates import ITEM_NAMES, NAMES
from tests.docs.pages import bare, codes, paragraph, table, tables_under

PAGE = "docs/scripted.md"
NOTHING = "none"


def test_turns_and_calls_have_the_keys_of_their_tables() -> None:
    assert sorted(table(PAGE, "A turn").names) == sorted(ScriptTurn.model_fields)
    assert sorted(table(PAGE, "A call").names) == sorted(ScriptCall.model_fields)


def test_templates_know_the_names_of_the_table_and_no_others() -> None:
    names, result = tables_under(PAGE, "Templates")
    assert set(names.names) == NAMES | ITEM_NAMES
    computed = {name for name, value in vars(Result).items() if isinstance(value, property | cached_property)}
    assert set(result.names) == computed | set(Result.__dataclass_fields__)


def test_the_built_in_providers_are_those_of_the_table() -> None:
    listed = {
        bare(row[0]): [bare(cell) for cell in row[1:]] for row in table("docs/models.md", "Built-in providers").body
    }
    assert listed == {name: _cells(provider) for name, provider in BUILT_IN.items()}


def _cells(provider: Provider) -> list[str]:
    said = (provider.protocol.value, provider.base_url, provider.key_env, provider.default_model)
    return [text or NOTHING for text in said]


def test_every_protocol_is_named() -> None:
    assert {protocol.value for protocol in WireProtocol} <= set(codes(paragraph("docs/models.md", "There are three")))


def test_the_waits_before_a_model_is_asked_again_are_those_of_the_page() -> None:
    text = paragraph("docs/models.md", "A fault that may pass")
    assert ATTEMPTS == 4
    assert f"{BOUNDS_S[0]:g}, {BOUNDS_S[1]:g} and {BOUNDS_S[2]:g} seconds" in text
    assert f"{PARKS_S[0] / 60:g}, {PARKS_S[1] / 60:g} and {PARKS_S[2] / 60:g} minutes" in text
    assert f"at most {BUDGET} failures" in text


def test_how_long_servers_on_this_machine_have_is_what_the_page_says() -> None:
    text = paragraph("docs/models.md", "Where `auto` finds no configured provider")
    assert f"given {CONNECT_S:g} seconds to be there and {LISTED_S:g} to answer" in text
    servers = [name for name, known in BUILT_IN.items() if known.is_local and known.base_url]
    assert codes(text)[1:5] == servers
