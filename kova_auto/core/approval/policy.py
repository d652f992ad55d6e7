"""Gather what a run may do into one frozen value, and name it by its hash.

A policy is made from the frozen job and what this machine allowed (`core.policy`).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from kova_auto.core.approval.levels import ApprovalLevel, Mode
from kova_auto.core.approval.network import Network
from kova_auto.core.approval.tables import Level

HASH_VERSION = 2


class Origin(StrEnum):
    """Say who made a standing decision."""

    JOB = "job"  # the job file's author, for this job alone
    USER = "user"  # the user's own permission file
    LOCAL = "local"  # allowed and remembered on this machine


@dataclass(frozen=True, slots=True)
class Grant:
    """Hold one standing decision: a command rule, or the full name of a tool."""

    text: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Grants:
    """Hold the standing decisions of one run, in the order they are consulted."""

    commands: tuple[Grant, ...] = ()
    tools: tuple[Grant, ...] = ()

    def plus(self, other: Grants) -> Grants:
        """Return both; the own ones are consulted first."""
        if not (other.commands or other.tools):
            return self
        return Grants(self.commands + other.commands, self.tools + other.tools)


@dataclass(frozen=True, slots=True)
class Policy:
    """Hold everything about a run that adjudication may look at, besides the call.

    Attributes:
        web: Hosts that may be read; see `hosts`.
        write_roots: Of the job, the user and this machine; the facts of a call say where its paths lie.
        secrets: Names of the variables that the job gives to its commands.
        parent: Of the run that dispatched this one: both must allow a call; see `narrowing`.
        digest: What `policy_hash` has computed; empty before.
        attended: Whether `level` is one of the attended levels; both enums share spellings.
    """

    mode: Mode
    level: Level
    grants: Grants = Grants()
    web: tuple[str, ...] = ()
    write_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    sandbox: Literal["auto", "required", "off"] = "auto"
    commands: Literal["rules", "confined"] = "rules"
    network: Network = "off"
    when_needed: Literal["deny", "suspend"] = "deny"
    questions: Literal["assume", "suspend"] = "assume"
    secrets: tuple[str, ...] = ()
    parent: Policy | None = None
    attended: bool = field(init=False)
    digest: str = field(init=False, default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        """Keep the level's kind apart from its spelling."""
        object.__setattr__(self, "attended", isinstance(self.level, ApprovalLevel))

    @property
    def lineage(self) -> tuple[Policy, ...]:
        """Return the policies that must allow a call: this one, its parent's, and so on."""
        return (self,) if self.parent is None else (self, *self.parent.lineage)

    @property
    def can_ask(self) -> bool:
        """Say whether a call that needs a person can wait for one."""
        return self.attended or self.when_needed == "suspend"


def policy_hash(policy: Policy) -> str:
    """Return the SHA-256 of the policy's canonical JSON, in hexadecimal; the same in every process."""
    if not policy.digest:
        object.__setattr__(policy, "digest", _digest(policy))
    return policy.digest


@lru_cache(maxsize=256)  # The runs of a job are under equal policies.
def _digest(policy: Policy) -> str:
    text = json.dumps({"v": HASH_VERSION} | _plain(policy), sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Policy | Grants | Grant) -> dict[str, object]:
    return {known.name: getattr(value, known.name) for known in fields(value) if known.compare}
