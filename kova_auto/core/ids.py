"""Ids are derived from what they name, so that a duplicate cannot exist.

Where a request has no natural key ("run it now"), its key is made at the edge and passed in.
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from typing import NewType

JobName = NewType("JobName", str)
RunId = NewType("RunId", str)
CallId = NewType("CallId", str)
EndpointName = NewType("EndpointName", str)
DeliveryId = NewType("DeliveryId", str)
BlobHash = NewType("BlobHash", str)

DISPATCHED = "~"
"""Stands in the id of a child between that of its parent and the call that dispatched it."""
_STAMP = "%Y%m%dT%H%M%SZ"
_FINE_STAMP = "%Y%m%dT%H%M%S.%fZ"


def run_id(job: JobName, nominal: datetime) -> RunId:
    """Return the id of the one run of `job` for the nominal instant, which may be the end of another run."""
    stamp = _FINE_STAMP if nominal.microsecond else _STAMP
    return RunId(f"{job}@{nominal.astimezone(UTC):{stamp}}")


def requested_run_id(job: JobName, asked_at: datetime, key: str) -> RunId:
    """Return the id of a run that somebody asked for; `key` tells two requests of one second apart."""
    return RunId(f"{job}+{asked_at.astimezone(UTC):{_STAMP}}-{key}")


def call_id(iteration: int, index: int) -> CallId:
    """Return the id of the tool call at `index` (1-based) of an iteration (1-based).

    Providers repeat their own ids across turns; this one is unique within a run.
    """
    return CallId(f"{iteration}.{index}")


def child_run_id(parent: RunId, call: CallId) -> RunId:
    """Return the id of the run that a call of `parent` dispatches: made again, it is the same run."""
    return RunId(f"{parent}{DISPATCHED}{call}")


def root_of(run_id: RunId) -> RunId:
    """Return the first of a run's line: itself, where nobody dispatched it."""
    return RunId(run_id.partition(DISPATCHED)[0])


def iteration_of(call: CallId) -> int:
    """Return the iteration that a call's id names."""
    return int(call.partition(".")[0])


def delivery_id(run: RunId, cause: int, endpoint: EndpointName) -> DeliveryId:
    """Return the id that every attempt to tell `endpoint` of one event carries; it holds no dot.

    Args:
        run: The run whose event is told.
        cause: The event's position in that run's journal.
        endpoint: The endpoint's name in the settings.
    """
    body = hashlib.sha256(f"{run}\n{cause}\n{endpoint}".encode()).digest()
    return DeliveryId("msg_" + base64.b32encode(body).decode().lower()[:26])


def blob_hash(data: bytes) -> BlobHash:
    """Return the SHA-256 of the content, in hexadecimal."""
    return BlobHash(hashlib.sha256(data).hexdigest())
