"""Definitions of every layer, as a reader hands them over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.built_in import BUILT_IN
from kova_auto.core.subagents.definition import Layer, Subagent
from kova_auto.core.subagents.roster import Broken, Defined, Layers, Shelf


def defined(name: str, layer: Layer, *, plugin: str = "", alias: str = "", model: str = "") -> Defined:
    prompt = f"{name} of {plugin or layer}"
    agent = Subagent(
        name=name, description=prompt, prompt=prompt, tools=("read",), layer=layer, plugin=plugin, model=model
    )
    problems = (ConfigError(f"{alias} is no model here", path=f"{name}.md", key="model"),) if alias else ()
    return Defined(agent, alias, problems)


def shelf(layer: Layer, *names: str, plugin: str = "", broken: Iterable[str] = ()) -> Shelf:
    wrong = tuple(Broken(name, ConfigError("wanted a prompt", path=f"{name}.md")) for name in broken)
    return Shelf(layer, plugin, tuple(defined(name, layer, plugin=plugin) for name in names), wrong)


def user(*names: str, broken: Iterable[str] = ()) -> Shelf:
    return shelf(Layer.USER, *names, broken=broken)


def workspace(*names: str, broken: Iterable[str] = ()) -> Shelf:
    return shelf(Layer.WORKSPACE, *names, broken=broken)


def plugin(owner: str, *names: str, broken: Iterable[str] = ()) -> Shelf:
    return shelf(Layer.PLUGIN, *names, plugin=owner, broken=broken)


def layers(*shelves: Shelf, disabled: Iterable[str] = (), models: Mapping[str, str] | None = None) -> Layers:
    return Layers((BUILT_IN, *shelves), tuple(disabled), models or {})
