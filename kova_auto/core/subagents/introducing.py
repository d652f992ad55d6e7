"""Tell a run's model which subagents it may dispatch; pure."""

from __future__ import annotations

from typing import Final

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.subagents.roster import Offered, Roster

DESCRIPTION_CHARS: Final = 600
_HEAD: Final = "Subagents that you may dispatch with Task, each with what it is for and the tools that it has:"


def introduced(roster: Roster) -> Briefing:
    """Return what a run is told of those that it may dispatch; one that is missing keeps it from beginning."""
    lines = [_HEAD, *map(_line, roster.available)] if roster.available else []
    lacks = "; ".join(missing.sentence for missing in roster.missing)
    return Briefing(agents="\n".join(lines), lacks=f"agents.allow: {lacks}" if lacks else "")


def _line(offered: Offered) -> str:
    agent = offered.agent
    text = " ".join(agent.description.split())
    short = text if len(text) <= DESCRIPTION_CHARS else f"{text[:DESCRIPTION_CHARS].rstrip()} ..."
    return f"- {offered.name}: {short} (tools: {', '.join(agent.tools) or 'none'})"
