"""Hold what a run is shown besides its prompt: passages of the system prompt, and what stands behind the prompt.

What is gathered from files and tables, and how much of it, is decided where it is read. Here is only where each part
goes: nothing that the author of the job did not write comes before our own words, or in front of the prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kova_auto.core.context.history import without_secrets
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import Message, Part, TextPart
from kova_auto.core.skill_facts import OfferedSkill
from kova_auto.core.source import Source

NOT_SHOWN: Final = "[{kind} {name} is not shown: {problem}]"


@dataclass(frozen=True, slots=True)
class Briefing:
    """Hold what was gathered for a run; every text says itself what it is.

    Attributes:
        memory: Notes of earlier sessions.
        digest: What earlier runs of the job came to.
        servers: Servers that lend the run tools.
        agents: Subagents that it may dispatch, by name and description.
        skills: Skills that it may read, by name and description.
        instructions: AGENTS.md files.
        history: What was said in the run that this one continues, oldest first.
        behind: What stands behind the prompt: mentioned files, attachments.
        sources: Each piece that was gathered, or was to be.
        remarks: What else the model is told of what it is not shown, a sentence each.
        blobs: What `behind` and `rests` point to.
        rests: Blobs with the whole of what is cut, which a tool may read.
        reads: Content hash of each file that is shown whole, by absolute path.
        taints: Untrusted text in all this, as `the web page https://…`; empty where there is none.
        lacks: Why the run must not begin; empty where it may.
        offers: Skills that it may load, which `skills` tells of.
    """

    memory: str = ""
    digest: str = ""
    servers: str = ""
    agents: str = ""
    skills: str = ""
    instructions: str = ""
    history: tuple[Message, ...] = ()
    behind: tuple[Part, ...] = ()
    sources: tuple[Source, ...] = ()
    remarks: tuple[str, ...] = ()
    blobs: tuple[bytes, ...] = ()
    rests: tuple[BlobHash, ...] = ()
    reads: Mapping[str, BlobHash] = field(default_factory=dict)
    taints: str = ""
    lacks: str = ""
    offers: tuple[OfferedSkill, ...] = ()

    @property
    def passages(self) -> tuple[str, ...]:
        """Return what the system prompt says of it, in its order; some may be empty."""
        return (self.memory, self.digest, self.servers, self.agents, self.skills, self.instructions)

    @property
    def notices(self) -> tuple[str, ...]:
        """Return a line for each piece that is not shown."""
        unshown = [source for source in self.sources if source.problem]
        named = [NOT_SHOWN.format(kind=each.kind, name=each.name, problem=each.problem) for each in unshown]
        return (*named, *(f"[{remark}]" for remark in self.remarks))

    def plus(self, other: Briefing) -> Briefing:
        """Return both, what the other holds behind what is held here."""
        if self is NOTHING or other is NOTHING:  # Of most kinds there is nothing.
            return other if self is NOTHING else self
        return Briefing(
            memory=_joined(self.memory, other.memory),
            digest=_joined(self.digest, other.digest),
            servers=_joined(self.servers, other.servers),
            agents=_joined(self.agents, other.agents),
            skills=_joined(self.skills, other.skills),
            instructions=_joined(self.instructions, other.instructions),
            history=self.history + other.history,
            behind=self.behind + other.behind,
            sources=self.sources + other.sources,
            remarks=self.remarks + other.remarks,
            blobs=self.blobs + other.blobs,
            rests=self.rests + other.rests,
            reads={**self.reads, **other.reads},
            taints=self.taints or other.taints,
            lacks=self.lacks or other.lacks,
            offers=self.offers + other.offers,
        )

    def redacted(self, redact: Callable[[str], str]) -> Briefing:
        """Return it without the secrets that are known; blobs are no text and stay as they are."""
        return replace(
            self,
            memory=redact(self.memory),
            digest=redact(self.digest),
            servers=redact(self.servers),
            agents=redact(self.agents),
            skills=redact(self.skills),
            instructions=redact(self.instructions),
            history=tuple(without_secrets(message, redact) for message in self.history),
            behind=tuple(
                TextPart(text=redact(part.text)) if isinstance(part, TextPart) else part for part in self.behind
            ),
            sources=tuple(
                source.model_copy(update={"name": redact(source.name), "problem": redact(source.problem)})
                for source in self.sources
            ),
            remarks=tuple(redact(remark) for remark in self.remarks),
            taints=redact(self.taints),
            lacks=redact(self.lacks),
        )


NOTHING: Final = Briefing()


def _joined(one: str, other: str) -> str:
    return "\n\n".join(passage for passage in (one, other) if passage)


def prompt_parts(prompt: str, brief: Briefing) -> tuple[Part, ...]:
    """Return what the model is asked: the prompt, what stands behind it, and what could not be shown."""
    notices = (TextPart(text="\n".join(brief.notices)),) if brief.notices else ()
    return (TextPart(text=prompt), *brief.behind, *notices)
