"""Of skills with one name the first place counts, and what it stands before is not forgotten."""

from __future__ import annotations

from dataclasses import replace

from kova_auto.core.errors import ConfigError
from kova_auto.core.skills.precedence import Broken, chosen
from kova_auto.core.skills.skill import Layer
from tests.core.skills.skills import a_file, a_skill


def test_the_first_of_a_name_counts_and_the_others_are_named_with_it() -> None:
    near, own, plugin = (a_skill("notes", layer) for layer in Layer)
    other = a_skill("other", Layer.USER)
    shelf = chosen([near, own, other, plugin])

    assert shelf.skills == (near, other)
    assert shelf.shadowed == ((own, near), (plugin, near))
    assert shelf.by_name == {"notes": near, "other": other}


def test_a_folder_to_which_two_places_lead_is_there_once() -> None:
    near = a_skill("notes")
    linked = replace(near, file=replace(near.file, within=".claude/skills"))

    assert chosen([near, linked]).skills == (near,)
    assert chosen([near, linked]).shadowed == ()


def test_what_is_broken_stands_before_nothing() -> None:
    broken, own = Broken(a_file("notes"), ConfigError("is no YAML")), a_skill("notes", Layer.USER)
    shelf = chosen([broken, own], ["64 are enough"])

    assert (shelf.skills, shelf.broken, shelf.notices) == ((own,), (broken,), ("64 are enough",))
