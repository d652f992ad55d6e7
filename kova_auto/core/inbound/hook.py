"""The requests that were believed: kept before they are answered, each once, until long after its run was opened."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.value import Value

KEPT_FOR: Final = timedelta(days=30)
"""So long a request is known again; senders give up after three days."""

_PLAIN: Final = re.compile(r"[\x21-\x7e]{1,200}")


class HookStatus(StrEnum):
    """Say what is to become of a request."""

    ACCEPTED = "accepted"  # it is to start its job, as the job's policy says
    SETTLED = "settled"  # its row in the ledger says what became of it
    IGNORED = "ignored"  # the job does not want it


class HookRequest(Value):
    """Hold one request.

    Attributes:
        hook_id: Ours: what the sender is answered, and the commands take.
        source: Kind of the sender.
        delivery_id: The sender's own.
        digest: Of its body: another body under the same id is no repetition.
        received_at: The instant for which its job runs; no two requests of a job share one.
        why: It is ignored; else empty.
        inputs: What the run is given, as JSON.
    """

    hook_id: str
    job: JobName
    source: str
    delivery_id: str
    digest: str
    received_at: datetime
    event: str
    actor: str
    status: HookStatus
    why: str = ""
    inputs: str = "{}"

    @property
    def given(self) -> tuple[tuple[str, str], ...]:
        """Return the inputs."""
        return tuple(json.loads(self.inputs).items())


class HookRow(HookRequest):
    """Hold a request and what became of it.

    Attributes:
        became: Status of its row in the ledger; empty where it has none, or none yet.
        became_why: Of a row that was skipped or missed.
        run_id: Of the run that was opened.
    """

    became: str = ""
    became_why: str = ""
    run_id: RunId | None = None


class Kept(Value):
    """Say what became of keeping a request.

    Attributes:
        request: The one that is kept.
        is_new: It was not there before.
    """

    request: HookRequest
    is_new: bool


class Hooks(Protocol):
    """Keep requests."""

    async def keep(self, request: HookRequest, ids: Sequence[str], *, by_body: bool) -> Kept:
        """Keep a request, unless one like it is there; the instant may become a later one.

        Args:
            request: With the first of the ids.
            ids: A request of its job and source under any of these is the same.
            by_body: So is one with its body.
        """

    async def waiting(self) -> Sequence[HookRequest]:
        """Return what was accepted and has no row in the ledger yet, oldest first."""

    async def settle(self, requests: Sequence[HookRequest]) -> None:
        """Write down that requests have their rows, so that nobody looks again; forgetting it does no harm."""

    async def at(self, job: JobName, received_at: datetime) -> HookRequest | None:
        """Return the request of an instant of a job."""

    async def rows(self, job: JobName | None = None, *, like: str = "", limit: int = 100) -> Sequence[HookRow]:
        """Return requests with what became of them, newest first; `like` begins our id."""


def safe_ids(ids: Sequence[str]) -> tuple[str, ...]:
    """Return ids that can be kept: one that is long, or holds what is no plain character, is told by its hash."""
    return tuple(
        one if _PLAIN.fullmatch(one) else f"hash-{hashlib.sha256(repr(one).encode()).hexdigest()}" for one in ids
    )


def hook_id(job: str, source: str, delivery_id: str) -> str:
    """Return our id of a request: the same whenever it comes again."""
    body = hashlib.sha256(f"{job}\n{source}\n{delivery_id}".encode()).digest()
    return "hook_" + base64.b32encode(body).decode().lower()[:26]
