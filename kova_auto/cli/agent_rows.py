"""Show definitions of subagents: how each stands, what it grants, and what of its file is not obeyed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kova_auto.cli.job_rows import JsonDict, problem_json
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.definition import GRANTABLE, Subagent
from kova_auto.core.subagents.roster import Broken, Defined, Roster, modelled
from kova_auto.core.subagents.standing import Standing

HEAD: Final = ("NAME", "FROM", "TURNS", "TOOLS", "MODEL", "NOTE")
_MOST_TOOLS: Final = 6
_PARENTS: Final = "its parent's"


@dataclass(frozen=True)
class AgentRow:
    """Hold one definition, or what was to be one.

    Attributes:
        turns: That a dispatch may have where the definition names no number.
        models: Of the settings.
        roster: What a job has; None where none was named.
    """

    standing: Standing
    turns: int
    models: Mapping[str, str]
    roster: Roster | None = None

    @cached_property
    def entry(self) -> Defined | Broken:
        """Return what its file says, with the model that the settings give it."""
        entry = self.standing.placed.entry
        return modelled(entry, self.models) if isinstance(entry, Defined) else entry

    @property
    def agent(self) -> Subagent | None:
        """Return what is defined; None where the file is broken."""
        return self.entry.agent if isinstance(self.entry, Defined) else None

    @property
    def problems(self) -> tuple[ConfigError, ...]:
        """Return everything that is wrong with its file."""
        return self.entry.problems if isinstance(self.entry, Defined) else self.entry.problem.problems

    @property
    def is_allowed(self) -> bool | None:
        """Say whether the job has it; None where none was named."""
        if self.roster is None:
            return None
        return any(offered.agent.address == self.standing.placed.address for offered in self.roster.available)

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        placed, agent = self.standing.placed, self.agent
        name, owner = one_line(placed.name, 64), placed.shelf.plugin or placed.shelf.layer
        if agent is None:
            return name, owner, "-", "-", "-", f"cannot be used: {one_line(self.problems[0].message, 200)}"
        turns = str(agent.max_turns or self.turns)
        return name, owner, turns, _tools(agent.tools), one_line(agent.model, 40) or _PARENTS, self._note

    @property
    def _note(self) -> str:
        used = {True: "the job has it", False: "the job has it not", None: ""}[self.is_allowed]
        remarks = f"{count(len(self.problems), 'remark')}: agents check" if self.problems else ""
        return "; ".join(part for part in (used, self.standing.note, remarks) if part)

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        placed, standing, agent, entry = self.standing.placed, self.standing, self.agent, self.entry
        return {
            "name": placed.name,
            "address": placed.address,
            "layer": placed.shelf.layer,
            "plugin": placed.shelf.plugin or None,
            "path": (agent.path if agent else self.problems[0].path) or None,
            "description": agent.description if agent else None,
            "tools": list(agent.tools) if agent else None,
            "max_turns": (agent.max_turns or self.turns) if agent else None,
            "model": (agent.model or None) if agent else None,
            "alias": (entry.alias or None) if isinstance(entry, Defined) else None,
            "skills": list(agent.skills) if agent and agent.skills is not None else None,
            "servers": list(agent.servers) if agent else None,
            "use": standing.use,
            "allowed": self.is_allowed,
            "shadowed_by": standing.shadowed_by or None,
            "shadows": list(standing.shadows),
            "note": standing.note,
            "problems": [problem_json(problem) for problem in self.problems],
        }

    def lines(self) -> Iterator[str]:
        """Yield what a person is shown of a definition that can be used, its prompt last."""
        agent = self.agent
        if agent is None:
            return
        yield f"{agent.name} ({agent.plugin or agent.layer})"
        yield f"  {agent.summary}"
        facts = {
            "note": self.standing.note,
            "file": agent.path,
            "tools": ", ".join(agent.tools) or "none",
            "replies": str(agent.max_turns or self.turns),
            "model": agent.model or _PARENTS,
            "skills": "as its parent" if agent.skills is None else ", ".join(agent.skills) or "none",
            "servers": ", ".join(agent.servers),
        }
        yield from (f"  {name:<8} {one_line(text, 400)}" for name, text in facts.items() if text)
        yield ""
        yield clean(agent.prompt)


def _tools(tools: tuple[str, ...]) -> str:
    if tools == GRANTABLE:
        return "all"
    more = len(tools) - _MOST_TOOLS
    return ",".join(tools[:_MOST_TOOLS]) + (f"+{more}" if more > 0 else "") or "none"
