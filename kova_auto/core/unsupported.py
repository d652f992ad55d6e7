"""Name what a job file declares and this version does not do yet: such a job is parked, never half obeyed."""

from __future__ import annotations

from collections.abc import Iterator

from kova_auto.core.job import JobFile


def unsupported(job: JobFile) -> Iterator[tuple[str, str]]:
    """Yield each such key with what it may be today."""
    present = {
        "agents.allow": job.agents.allow,
    }
    yield from ((key, "leave it out") for key, value in present.items() if value)
