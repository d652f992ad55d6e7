"""Build skills for tests that read no file."""

from __future__ import annotations

from kova_auto.core.skills.skill import Layer, Skill, SkillFile

WITHIN = {Layer.WORKSPACE: ".kova/skills", Layer.USER: "~/.kova/skills", Layer.PLUGIN: "plugin acme"}
ABOVE = {Layer.WORKSPACE: "/srv/app/.kova/skills", Layer.USER: "/home/me/.kova/skills", Layer.PLUGIN: "/acme/skills"}


def a_file(name: str, layer: Layer = Layer.WORKSPACE) -> SkillFile:
    return SkillFile(layer, WITHIN[layer], name, f"{ABOVE[layer]}/{name}")


def a_skill(
    name: str, layer: Layer = Layer.WORKSPACE, *, description: str = "Does one thing.", hidden: bool = False
) -> Skill:
    return Skill(a_file(name, layer), name, description, "Do it.", hidden=hidden)
