"""The facts about people: what is asked about a call, and what somebody said.

A question of the model is asked in the same way; its answers come with the decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import AwareDatetime, Field, JsonValue

from kova_auto.core.approval.levels import Decision
from kova_auto.core.fact import Fact
from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.value import Value


class Standing(Value):
    """Hold standing decisions: command rules, directories that count as inside, full names of tools."""

    commands: tuple[str, ...] = ()
    write_roots: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return bool(self.commands or self.write_roots or self.tools)

    def plus(self, other: Standing) -> Standing:
        """Return both, each thing once, the own ones first."""
        return Standing(
            commands=tuple(dict.fromkeys(self.commands + other.commands)),
            write_roots=tuple(dict.fromkeys(self.write_roots + other.write_roots)),
            tools=tuple(dict.fromkeys(self.tools + other.tools)),
        )


NOTHING = Standing()


@dataclass(frozen=True, slots=True)
class Offer:
    """Hold what "allow and remember" would keep of a call.

    Attributes:
        kept: Empty where nothing can be remembered.
        why_not: Then why: a sentence for a person.
        proposed: What the workspace's own permission file proposes of it; it grants nothing.
    """

    kept: Standing = NOTHING
    why_not: str = ""
    proposed: Standing = NOTHING


class Target(Value):
    """Hold what lay at a path when a person was asked about a call that writes there.

    Attributes:
        path: Absolute and canonical.
        content: Hash of what it held; None where there was nothing.
    """

    path: str
    content: BlobHash | None = None


class ApprovalRequested(Fact):
    """Ask a person about a call; the run rests until somebody answers or the time is over.

    Attributes:
        offer: What "allow and remember" would keep; empty where nothing can be remembered.
        no_offer: Why nothing can be remembered, a sentence for a person.
        proposed: What the workspace's own permission file proposes of what this call needs; it grants nothing.
        targets: What the call would write over; it is not executed over anything else.
    """

    kind: Literal["approval_requested"] = "approval_requested"
    call_id: CallId
    expires_at: AwareDatetime | None = None
    offer: Standing = Standing()
    no_offer: str = ""
    proposed: Standing = Standing()
    targets: tuple[Target, ...] = ()


class ApprovalDecided(Fact):
    """Hold what a person said, or what stands for it.

    Attributes:
        by: Who; `timeout` where the time was over, `unreachable` where nobody could be asked.
        args: The arguments as the person changed them: the call is judged anew with these.
        answers: To the questions of a call that asks, in their order.
        remembered: What is kept for later runs.
    """

    kind: Literal["approval_decided"] = "approval_decided"
    call_id: CallId
    decision: Decision
    by: str
    note: str = ""
    args: dict[str, JsonValue] | None = None
    answers: tuple[str, ...] = Field(default=())
    remembered: Standing = Standing()
