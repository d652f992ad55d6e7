"""Narrow a child run's policy by its parent's: both must allow a call, and what is no verdict takes the stricter value.

Rules, hosts and modes of two policies cannot be cut down to one that holds what they share; so the child's own stay,
and its parent's policy judges each call besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel
from kova_auto.core.approval.network import Network
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.tables import Level

_SANDBOXES = ("required", "auto", "off")  # the strictest first
_ATTENDED, _UNATTENDED = tuple(ApprovalLevel), tuple(AutomationLevel)


def narrowed(parent: Policy, child: Policy) -> Policy:
    """Return the policy of a child run: no verdict under it is looser than under its parent's.

    Roots are those that lie in roots of both; the facts of a call have to be found out under the policy returned.
    """
    return replace(
        child,
        level=_level(parent.level, child.level),
        write_roots=_shared(parent.write_roots, child.write_roots),
        read_roots=_shared(parent.read_roots, child.read_roots),
        sandbox=min(parent.sandbox, child.sandbox, key=_SANDBOXES.index),
        commands="confined" if parent.commands == child.commands == "confined" else "rules",
        network=_network(parent.network, child.network),
        when_needed="suspend" if parent.when_needed == child.when_needed == "suspend" else "deny",
        questions="suspend" if parent.questions == child.questions == "suspend" else "assume",
        secrets=tuple(name for name in child.secrets if name in parent.secrets),
        parent=parent,
    )


def _level(parent: Level, child: Level) -> Level:
    """Return the stricter level; a child is attended as its parent is, and a level that nobody knows stays unknown."""
    if isinstance(parent, ApprovalLevel) and isinstance(child, ApprovalLevel):
        return min(parent, child, key=_ATTENDED.index)
    if isinstance(parent, AutomationLevel) and isinstance(child, AutomationLevel):
        return min(parent, child, key=_UNATTENDED.index)
    return parent if type(child) in (ApprovalLevel, AutomationLevel) else child


def _shared(parent: Sequence[str], child: Sequence[str]) -> tuple[str, ...]:
    """Return the roots of either that lie in a root of the other."""
    inner = [root for root in child if _lies_in(root, parent)] + [root for root in parent if _lies_in(root, child)]
    return tuple(dict.fromkeys(inner))


def _lies_in(root: str, others: Sequence[str]) -> bool:
    return any(PurePosixPath(root).is_relative_to(other) for other in others)


def _network(parent: Network, child: Network) -> Network:
    if isinstance(parent, tuple) and isinstance(child, tuple):
        return tuple(entry for entry in child if entry in parent) or "off"
    if "off" in (parent, child):
        return "off"
    return child if parent == "on" else parent
