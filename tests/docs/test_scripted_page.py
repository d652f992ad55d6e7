"""The pages on scripts and models list what the code has."""

from __future__ import annotations

from functools import cached_property

from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol
from kova_auto.engine.perform import BACKOFF_S
from kova_auto.llm.results import Result
from kova_auto.llm.script import ScriptCall, ScriptTurn
from kova_auto.llm.templates import ITEM_NAMES, NAMES
from tests.docs.pages import bare, paragraph, table, tables_under

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
    assert {provider.protocol for provider in BUILT_IN.values()} == {WireProtocol.OPENAI_CHAT}


def _cells(provider: Provider) -> list[str]:
    return [provider.base_url or NOTHING, provider.key_env or NOTHING, provider.default_model or NOTHING]


def test_the_waits_before_a_model_is_asked_again_are_those_of_the_page() -> None:
    text = paragraph("docs/models.md", "A fault that may pass")
    assert f"{BACKOFF_S[0]:g}, {BACKOFF_S[1]:g} and {BACKOFF_S[2]:g} seconds" in text
