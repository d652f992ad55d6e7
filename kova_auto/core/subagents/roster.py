"""Choose the subagents that a run may dispatch, out of everything that is defined; say which one a name means.

A plain name means the user's own, else the built-in one, else a plugin's, else the workspace's: what comes with a
repository never takes the place of anything that the user of this machine has. An address (`workspace:explorer`) means
one alone. A file that is broken keeps its name: no other definition slips into its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.definition import Layer, Subagent
from kova_auto.core.toml.complaints import did_you_mean

EVERY: Final = "*"
"""In a job's `agents.allow`: the built-in ones, the user's and those of plugins; never one of the workspace."""
PRECEDENCE: Final = (Layer.USER, Layer.BUILT_IN, Layer.PLUGIN, Layer.WORKSPACE)


@dataclass(frozen=True, slots=True)
class Defined:
    """Hold one definition as it was read.

    Attributes:
        alias: What its file calls its model, where only another system knows that; the settings may say what it means.
        problems: What its file says and does not mean here.
    """

    agent: Subagent
    alias: str = ""
    problems: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True)
class Broken:
    """Hold a file that defines nothing.

    Attributes:
        name: That it was to define, as far as that can be told.
        problem: Why it does not.
    """

    name: str
    problem: ConfigError


@dataclass(frozen=True, slots=True)
class Shelf:
    """Hold what one layer defines; of plugins, what one of them does.

    Attributes:
        plugin: Its name; empty for every other layer.
        defined: In the order of their names, no name twice.
        problems: Of the folder itself.
    """

    layer: Layer
    plugin: str = ""
    defined: tuple[Defined, ...] = ()
    broken: tuple[Broken, ...] = ()
    problems: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True)
class Layers:
    """Hold everything that is defined, and what the settings say of it.

    Attributes:
        shelves: Plugins in the order of the settings.
        disabled: Names and addresses of subagents that no run has.
        models: `provider/model` by the name or address of a subagent, or by the alias that a definition uses.
    """

    shelves: tuple[Shelf, ...] = ()
    disabled: tuple[str, ...] = ()
    models: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offered:
    """Hold a subagent under the name by which a run dispatches it; that is an address where the job wrote one."""

    name: str
    agent: Subagent


@dataclass(frozen=True, slots=True)
class Missing:
    """Hold an entry of a job's `agents.allow` that means no subagent, and why."""

    name: str
    why: str
    hint: str = ""

    @property
    def sentence(self) -> str:
        """Return all of it, for a person."""
        return f"{self.name}: {self.why}" + (f" ({self.hint})" if self.hint else "")


@dataclass(frozen=True, slots=True)
class Roster:
    """Hold the subagents that a run may dispatch.

    Attributes:
        available: By name; each with the model that it is to have, empty for its parent's.
        missing: In the order of the job.
        warnings: What the files of those that are available say and does not mean here.
    """

    available: tuple[Offered, ...] = ()
    missing: tuple[Missing, ...] = ()
    warnings: tuple[ConfigError, ...] = ()

    def find(self, name: str) -> Subagent | None:
        """Return the one that a run means; by its plain name too, where only one of these has it."""
        wanted = _known_as(name)
        exact = [offered.agent for offered in self.available if offered.name == wanted]
        alike = exact or [offered.agent for offered in self.available if offered.agent.name == wanted]
        return alike[0] if len(alike) == 1 else None


def definitions_for(allow: Sequence[str], layers: Layers) -> Roster:
    """Return what a job's `agents.allow` means; nothing allowed, nothing available.

    Args:
        allow: Names, addresses, and `*`.
        layers: As `knowledge.subagents` reads them.
    """
    chosen: dict[str, Defined] = {}
    missing: list[Missing] = []
    for entry in dict.fromkeys(map(_known_as, allow)):
        for name in _everyone(layers) if entry == EVERY else (entry,):
            found = look_up(name, layers)
            if isinstance(found, Defined):
                if all(known.agent != found.agent for known in chosen.values()):
                    chosen[name] = found
            else:
                missing.append(found)
    having = {name: modelled(found, layers.models) for name, found in chosen.items()}
    return Roster(
        tuple(Offered(name, found.agent) for name, found in sorted(having.items())),
        tuple(missing),
        tuple(problem for _, found in sorted(having.items()) for problem in found.problems),
    )


def look_up(name: str, layers: Layers) -> Defined | Missing:
    """Return the definition that a name or an address means, or why it means none."""
    found = next(meant(name, layers), None)
    if found is None:
        known = sorted({known for one in placed(layers) for known in (one.name, one.address)})
        return Missing(name, "nobody defines a subagent of this name", did_you_mean(name, known))
    if is_disabled(found, layers):
        return Missing(name, "the settings disable it", "agents.disabled")
    if isinstance(found.entry, Broken):
        return Missing(name, f"its definition cannot be used: {found.entry.problem.sentence}")
    return found.entry


@dataclass(frozen=True, slots=True)
class Placed:
    """Hold a definition, or what was to be one, with the shelf on which it stands."""

    shelf: Shelf
    entry: Defined | Broken

    @property
    def name(self) -> str:
        """Return its plain name."""
        return self.entry.agent.name if isinstance(self.entry, Defined) else self.entry.name

    @property
    def address(self) -> str:
        """Return the name that means it alone."""
        return f"{self.shelf.plugin or self.shelf.layer}:{self.name}"


def placed(layers: Layers) -> Iterator[Placed]:
    """Yield everything that is defined, in the order in which it counts."""
    for shelf in sorted(layers.shelves, key=lambda shelf: PRECEDENCE.index(shelf.layer)):
        yield from (Placed(shelf, broken) for broken in shelf.broken)
        yield from (Placed(shelf, defined) for defined in shelf.defined)


def meant(name: str, layers: Layers) -> Iterator[Placed]:
    """Yield what a name or an address means, first what counts."""
    return (one for one in placed(layers) if name == (one.address if ":" in name else one.name))


def _everyone(layers: Layers) -> list[str]:
    """Return what `*` means: plain names, and the address of a plugin's whose plain name means another one."""
    names: dict[str, None] = {}
    for one in placed(layers):
        if one.shelf.layer is Layer.WORKSPACE or is_disabled(one, layers):
            continue
        if next(meant(one.name, layers)) == one:
            names[one.name] = None
        elif one.shelf.layer is Layer.PLUGIN:
            names[one.address] = None
    return sorted(names)


def is_disabled(one: Placed, layers: Layers) -> bool:
    """Say whether the settings disable it, by its name or its address."""
    return not {one.name, one.address}.isdisjoint(map(_known_as, layers.disabled))


def modelled(found: Defined, models: Mapping[str, str]) -> Defined:
    """Return a definition with the model that the settings give it; an alias that they explain needs no warning."""
    agent = found.agent
    keys = (agent.address, agent.name, found.alias)
    named = next((models[key] for key in keys if key and key in models), "")
    if not named:
        return found
    kept = tuple(problem for problem in found.problems if problem.key != "model")
    return replace(found, agent=agent.but(model=named), problems=kept)


def _known_as(name: str) -> str:
    return name.strip().lower()
