"""Which subagents a job's `agents.allow` means, and that nothing slips into the place of another."""

from __future__ import annotations

import pytest

from kova_auto.core.subagents.definition import GRANTABLE, Layer
from kova_auto.core.subagents.roster import Layers, Roster, Shelf, definitions_for
from tests.core.subagents.layers import defined, layers, plugin, user, workspace

ALL_BUILT_IN = ["code-reviewer", "explorer", "fixer", "test-runner"]


def meant(roster: Roster) -> dict[str, str]:
    """Return the address of each by the name that a run has for it."""
    return {offered.name: offered.agent.address for offered in roster.available}


def test_nothing_is_available_where_nothing_is_allowed() -> None:
    assert definitions_for((), layers(user("mine"))) == Roster()


def test_the_built_in_ones_grant_what_may_be_granted() -> None:
    found = {offered.name: offered.agent for offered in definitions_for(["*"], layers()).available}
    assert {name: (agent.tools, agent.max_turns) for name, agent in found.items()} == {
        "explorer": (("read", "glob", "grep", "bash"), 60),
        "code-reviewer": (("read", "glob", "grep"), 50),
        "test-runner": (("read", "glob", "grep", "bash"), 40),
        "fixer": (("read", "glob", "grep", "edit", "write", "bash"), 80),
    }
    assert all(set(agent.tools) <= set(GRANTABLE) for agent in found.values())


def test_names_are_listed_in_order_whatever_the_job_says() -> None:
    roster = definitions_for(["fixer", " Explorer ", "fixer"], layers())
    assert [offered.name for offered in roster.available] == ["explorer", "fixer"]


@pytest.mark.parametrize(
    ("shelves", "means"),
    [
        ((user("explorer"), workspace("explorer"), plugin("kit", "explorer")), "user:explorer"),
        ((workspace("explorer"), plugin("kit", "explorer")), "built-in:explorer"),
        ((), "built-in:explorer"),
    ],
)
def test_a_plain_name_means_the_users_else_the_built_in_one(shelves: tuple[Shelf, ...], means: str) -> None:
    assert meant(definitions_for(["explorer"], layers(*shelves))) == {"explorer": means}


@pytest.mark.parametrize(
    ("shelves", "means"),
    [
        ((workspace("scribe"), plugin("kit", "scribe")), "kit:scribe"),
        ((plugin("kit", "scribe"), plugin("box", "scribe")), "kit:scribe"),
        ((workspace("scribe"),), "workspace:scribe"),
    ],
)
def test_any_other_means_the_first_plugins_else_the_workspaces(shelves: tuple[Shelf, ...], means: str) -> None:
    assert meant(definitions_for(["scribe"], layers(*shelves))) == {"scribe": means}


@pytest.mark.parametrize("address", ["built-in:explorer", "user:explorer", "kit:explorer", "workspace:explorer"])
def test_an_address_means_one_alone(address: str) -> None:
    everything = layers(user("explorer"), workspace("explorer"), plugin("kit", "explorer"))
    assert meant(definitions_for([address], everything)) == {address: address}


def test_the_same_one_under_two_names_is_there_once() -> None:
    assert meant(definitions_for(["explorer", "built-in:explorer"], layers())) == {"explorer": "built-in:explorer"}


def test_everyone_leaves_out_what_came_with_the_workspace() -> None:
    everything = layers(user("mine", "fixer"), workspace("theirs", "explorer"), plugin("kit", "mine", "other"))
    assert meant(definitions_for(["*"], everything)) == {
        "code-reviewer": "built-in:code-reviewer",
        "explorer": "built-in:explorer",
        "fixer": "user:fixer",
        "kit:mine": "kit:mine",
        "mine": "user:mine",
        "other": "kit:other",
        "test-runner": "built-in:test-runner",
    }


def test_one_of_the_workspace_is_named_besides_everyone() -> None:
    roster = definitions_for(["*", "theirs", "workspace:explorer"], layers(workspace("theirs", "explorer")))
    assert [offered.name for offered in roster.available] == sorted([*ALL_BUILT_IN, "theirs", "workspace:explorer"])


def test_an_unknown_name_is_missing_with_the_nearest_one() -> None:
    (missing,) = definitions_for(["exploer"], layers()).missing
    assert missing.sentence == "exploer: nobody defines a subagent of this name (did you mean explorer?)"


def test_a_broken_file_keeps_its_name_from_every_other() -> None:
    everything = layers(user(broken=["explorer"]), workspace("explorer"))
    roster = definitions_for(["explorer"], everything)
    assert roster.available == ()
    assert [missing.sentence for missing in roster.missing] == [
        "explorer: its definition cannot be used: explorer.md: wanted a prompt"
    ]
    assert [missing.name for missing in definitions_for(["*"], everything).missing] == ["explorer"]


def test_a_broken_file_of_the_workspace_is_nobodys_business() -> None:
    everything = layers(workspace(broken=["explorer"]))
    assert meant(definitions_for(["explorer"], everything)) == {"explorer": "built-in:explorer"}
    assert definitions_for(["*"], everything).missing == ()


@pytest.mark.parametrize("disabled", ["explorer", "Built-in:Explorer"])
def test_a_disabled_one_is_missing_and_nobody_takes_its_place(disabled: str) -> None:
    everything = layers(workspace("explorer"), disabled=[disabled])
    assert [missing.why for missing in definitions_for(["explorer"], everything).missing] == ["the settings disable it"]
    roster = definitions_for(["*"], everything)
    assert (sorted(meant(roster)), roster.missing) == (["code-reviewer", "fixer", "test-runner"], ())


def test_a_run_finds_one_by_the_name_that_it_was_told_or_the_plain_one() -> None:
    roster = definitions_for(["workspace:scribe"], layers(workspace("scribe")))
    assert roster.find("workspace:scribe") == roster.find(" Scribe") == roster.available[0].agent
    assert roster.find("fixer") is None


def test_the_plain_name_means_the_one_that_has_it_where_two_are_allowed() -> None:
    roster = definitions_for(["explorer", "workspace:explorer"], layers(workspace("explorer")))
    found = roster.find("explorer")
    assert found is not None
    assert found.layer is Layer.BUILT_IN
    both = definitions_for(["user:explorer", "workspace:explorer"], layers(user("explorer"), workspace("explorer")))
    assert both.find("explorer") is None


@pytest.mark.parametrize("key", ["user:scribe", "scribe", "sonnet"])
def test_the_settings_say_which_model_an_alias_means(key: str) -> None:
    shelf = Shelf(Layer.USER, defined=(defined("scribe", Layer.USER, alias="sonnet"),))
    roster = definitions_for(["scribe"], Layers((shelf,), models={key: "openai/gpt-5"}))
    assert (roster.available[0].agent.model, roster.warnings) == ("openai/gpt-5", ())


def test_an_alias_that_nobody_explains_leaves_the_parents_model_and_a_warning() -> None:
    shelf = Shelf(Layer.USER, defined=(defined("scribe", Layer.USER, alias="sonnet"),))
    roster = definitions_for(["scribe"], Layers((shelf,)))
    assert roster.available[0].agent.model == ""
    assert [warning.sentence for warning in roster.warnings] == ["scribe.md: model: sonnet is no model here"]


def test_the_settings_outrank_the_model_of_a_definition() -> None:
    shelf = Shelf(Layer.USER, defined=(defined("scribe", Layer.USER, model="openai/gpt-5"),))
    roster = definitions_for(["scribe"], Layers((shelf,), models={"scribe": "local/small"}))
    assert roster.available[0].agent.model == "local/small"
