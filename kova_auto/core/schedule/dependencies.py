"""Check a set of jobs that wait for one another: every job exists, none waits for itself, no chain is too long.

Source: reference on scheduling, 3.3, `after`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.toml.complaints import did_you_mean

LONGEST_CHAIN: Final = 16
_SHOWN: Final = LONGEST_CHAIN + 2
Waits = Mapping[str, Sequence[str]]
"""Of each job that waits, whom it waits for, in the order in which its file names them."""


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """Hold what is wrong with one entry of a job's `after`.

    Attributes:
        index: Which entry, from 0.
    """

    job: str
    index: int
    message: str
    hint: str


def faults(waits: Waits, known: Collection[str]) -> tuple[Fault, ...]:
    """Return what is wrong with whom jobs wait for, by job and entry; empty where all is well.

    Args:
        waits: The jobs that wait for others.
        known: All jobs there are, those whose file is broken among them.
    """
    found = [*_unknown(waits, known)]
    depths = _depths(waits)
    for job in waits.keys() - depths.keys():
        found += _circle(job, waits, depths.keys())
    for job, depth in depths.items():
        if depth > LONGEST_CHAIN:
            found.append(_long(job, waits, depths))
    return tuple(sorted(found))


def _unknown(waits: Waits, known: Collection[str]) -> list[Fault]:
    names = sorted(known)
    return [
        Fault(
            job, index, f"no job is called {parent!r}", did_you_mean(parent, names) or "kova-auto jobs list shows them"
        )
        for job, parents in waits.items()
        for index, parent in enumerate(parents)
        if parent not in known and parent != job
    ]


def _depths(waits: Waits) -> dict[str, int]:
    """Return how many jobs end one after the other before each may begin; nothing for those behind a circle."""
    children: dict[str, list[str]] = {}
    for job, parents in waits.items():
        for parent in set(parents):
            children.setdefault(parent, []).append(job)
    open_parents = {job: len(set(parents)) for job, parents in waits.items()}
    depths = dict.fromkeys(children.keys() - waits.keys(), 0)
    depths |= {job: 0 for job, count in open_parents.items() if not count}
    queue = deque(depths)
    while queue:
        parent = queue.popleft()
        for child in children.get(parent, ()):
            open_parents[child] -= 1
            if not open_parents[child]:
                depths[child] = 1 + max(depths[each] for each in waits[child])
                queue.append(child)
    return depths


def _circle(job: str, waits: Waits, settled: Collection[str]) -> list[Fault]:
    """Return the fault of a job that waits for itself; none for one that only waits for such a job."""
    back = {job: job}  # of each job that was found, the one that waits for it
    queue = deque([job])
    while queue:
        child = queue.popleft()
        for parent in waits[child]:
            if parent == job:
                path = _path(child, job, back)
                index = list(waits[job]).index(path[1])
                return [Fault(job, index, _said("wanted jobs that do not wait for themselves", path), "leave one out")]
            if parent not in settled and parent not in back:
                back[parent] = child
                queue.append(parent)
    return []


def _path(last: str, job: str, back: Mapping[str, str]) -> list[str]:
    """Return the circle from a job by those it waits for back to itself; `last` is the one that waits for it."""
    path = [job]
    while last != job:
        path.append(last)
        last = back[last]
    return [job, *reversed(path)]


def _long(job: str, waits: Waits, depths: Mapping[str, int]) -> Fault:
    chain = [job]
    while parents := waits.get(chain[-1]):
        chain.append(max(parents, key=lambda parent: depths[parent]))
    index = list(waits[job]).index(chain[1])
    return Fault(job, index, _said(f"wanted at most {LONGEST_CHAIN} jobs before it, one after the other", chain), "")


def _said(wanted: str, chain: Sequence[str]) -> str:
    shown = " after ".join(chain[:_SHOWN])
    return f"{wanted}, found {shown}{' after …' if len(chain) > _SHOWN else ''}"
