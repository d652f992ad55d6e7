"""How each definition stands beside the others: what its name means, and whose place it takes."""

from __future__ import annotations

from kova_auto.core.subagents.roster import Layers
from kova_auto.core.subagents.standing import Use, standings
from tests.core.subagents.layers import layers, plugin, user, workspace


def notes(everything: Layers) -> dict[str, str]:
    return {standing.placed.address: standing.note for standing in standings(everything)}


def test_nothing_is_said_of_what_stands_alone() -> None:
    assert set(notes(layers(user("mine"), plugin("kit", "theirs"))).values()) == {""}


def test_the_users_own_replaces_the_built_in_one_and_that_is_said_of_both() -> None:
    found = notes(layers(user("explorer")))
    assert found["user:explorer"] == "replaces the built-in one"
    assert found["built-in:explorer"] == "shadowed by user:explorer; a job has it as built-in:explorer"


def test_one_of_the_workspace_is_shadowed_by_any_other() -> None:
    found = notes(layers(user("mine"), plugin("kit", "brought"), workspace("mine", "brought", "fixer", "new")))
    assert {address: note for address, note in found.items() if address.startswith("workspace:")} == {
        "workspace:brought": "shadowed by kit:brought; a job has it as workspace:brought",
        "workspace:fixer": "shadowed by built-in:fixer; a job has it as workspace:fixer",
        "workspace:mine": "shadowed by user:mine; a job has it as workspace:mine",
        "workspace:new": "only for jobs that name it",
    }


def test_broken_and_disabled_ones_are_not_used() -> None:
    everything = layers(user(broken=["explorer"]), disabled=["fixer"])
    found = notes(everything)
    assert found["user:explorer"] == "cannot be used: explorer.md: wanted a prompt"
    assert found["built-in:explorer"] == "shadowed by user:explorer; a job has it as built-in:explorer"
    assert found["built-in:fixer"] == "the settings disable it"


def test_of_one_name_comes_first_what_it_means() -> None:
    everything = layers(user("explorer"), workspace("explorer"), plugin("kit", "explorer"))
    found = [(standing.placed.address, standing.use) for standing in standings(everything)]
    assert [one for one in found if one[0].endswith(":explorer")] == [
        ("user:explorer", Use.NAME),
        ("built-in:explorer", Use.ADDRESS),
        ("kit:explorer", Use.ADDRESS),
        ("workspace:explorer", Use.ADDRESS),
    ]
