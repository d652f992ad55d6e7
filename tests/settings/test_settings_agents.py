"""What settings may say of subagents and plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.settings.agents import AgentsTable, PluginsTable
from tests.settings.test_settings_load import loaded, problems_of


def test_without_a_word_the_defaults_hold(tmp_path: Path) -> None:
    settings = loaded(tmp_path, "")
    assert (settings.agents, settings.plugins) == (AgentsTable(), PluginsTable())
    assert (settings.agents.max_concurrent, settings.agents.max_depth, settings.agents.max_turns) == (8, 1, 50)


def test_models_and_plugins_are_named(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path,
        """
        [agents]
        max_turns = 20
        models = { sonnet = "anthropic/claude-sonnet-4-5", "workspace:scribe" = "desk/small" }
        disabled = ["fixer"]

        [providers.desk]
        base_url = "http://127.0.0.1:8000/v1"

        [plugins]
        enabled = ["/opt/kit", "~/kits/other", "third"]
        """,
    )
    assert settings.agents == AgentsTable(
        max_turns=20,
        models={"sonnet": "anthropic/claude-sonnet-4-5", "workspace:scribe": "desk/small"},
        disabled=("fixer",),
    )
    assert settings.plugins.enabled == ("/opt/kit", "~/kits/other", "third")


def test_a_variable_names_plugins(tmp_path: Path) -> None:
    assert loaded(tmp_path, "", KOVA_AUTO_PLUGINS__ENABLED='["kit"]').plugins.enabled == ("kit",)


@pytest.mark.parametrize("model", ["sonnet", "anthropic/", "/sonnet", "Open AI/x", ""])
def test_a_model_without_a_provider_is_wrong(tmp_path: Path, model: str) -> None:
    (problem,) = problems_of(tmp_path, f'[agents]\nmodels = {{ fixer = "{model}" }}')
    assert problem == f"kova-auto.toml:2: agents.models.fixer: wanted \"provider/model\", found '{model}'"


def test_a_provider_that_nobody_knows_is_wrong(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, '[agents]\nmodels = { fixer = "antropic/x" }')
    assert problem.endswith("found the unknown provider antropic (did you mean anthropic?)")


@pytest.mark.parametrize("entry", ["kits/kit", "../kit", "~other/kit", "", "."])
def test_a_plugin_is_a_path_that_means_the_same_everywhere_or_a_folders_name(tmp_path: Path, entry: str) -> None:
    (problem,) = problems_of(tmp_path, f'[plugins]\nenabled = ["kit", "{entry}"]')
    assert problem.startswith("kova-auto.toml:2: plugins.enabled[1]: wanted an absolute path, one that begins with ~/")
