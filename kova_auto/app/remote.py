"""Ask the service that owns the database, over its socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from kova_auto import __version__
from kova_auto.app.asked import Asked
from kova_auto.app.control import Annals, Applied, Content, Placed, RunAsk, Said, Status, Told, Undone
from kova_auto.app.socket import LONGEST_LINE, LONGEST_QUESTION, short_name, too_long
from kova_auto.core import errors
from kova_auto.core.backfill import Backfill
from kova_auto.core.delivery.health import Health
from kova_auto.core.delivery.story import Story
from kova_auto.core.errors import JournalBusyError, KovaError
from kova_auto.core.ids import BlobHash, CallId, DeliveryId, RunId
from kova_auto.core.inbound.hook import HookRow
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import Pause
from kova_auto.core.usage import UsageReport
from kova_auto.core.view import DeliveryRow, RunRow

_T = TypeVar("_T")
_RUN = TypeAdapter(RunRow)
_RUNS: TypeAdapter[tuple[RunRow, ...]] = TypeAdapter(tuple[RunRow, ...])
_PLACED: TypeAdapter[tuple[Placed, ...]] = TypeAdapter(tuple[Placed, ...])
_APPROVALS: TypeAdapter[tuple[Asked, ...]] = TypeAdapter(tuple[Asked, ...])
_DELIVERIES: TypeAdapter[tuple[DeliveryRow, ...]] = TypeAdapter(tuple[DeliveryRow, ...])
_REFUSAL: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])
_OCCURRENCES: TypeAdapter[tuple[Occurrence, ...]] = TypeAdapter(tuple[Occurrence, ...])

_HEALTHS: TypeAdapter[tuple[Health, ...]] = TypeAdapter(tuple[Health, ...])
_BACKFILLS: TypeAdapter[tuple[Backfill, ...]] = TypeAdapter(tuple[Backfill, ...])
_HOOKS: TypeAdapter[tuple[HookRow, ...]] = TypeAdapter(tuple[HookRow, ...])
_PAUSES: TypeAdapter[tuple[Pause, ...]] = TypeAdapter(tuple[Pause, ...])
_RESTED: TypeAdapter[Pause | None] = TypeAdapter(Pause | None)

PAGE = 200
Talk = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Param = BaseModel | Sequence[BaseModel] | datetime | StrEnum | str | int | float | bool | None


class RemoteControl:
    """Ask a live service; one question at a time. Close it when done."""

    def __init__(self, path: Path, talk: Talk) -> None:
        """Use `RemoteControl.connect`."""
        self._path = path
        self._talk: Talk | None = talk
        self._turn = asyncio.Lock()

    @classmethod
    async def connect(cls, path: Path) -> RemoteControl:
        """Connect to a socket.

        Raises:
            JournalBusyError: Nobody listens there yet, or not any more.
        """
        return cls(path, await _dial(path))

    async def close(self) -> None:
        """Hang up."""
        if self._talk:
            self._talk[1].close()
            with contextlib.suppress(ConnectionError):
                await self._talk[1].wait_closed()

    async def _ask(self, method: str, kind: TypeAdapter[_T], /, **params: Param) -> _T:
        plain = {name: _plain(value) for name, value in params.items()}
        async with self._turn:
            answer = await self._exchange(json.dumps({"method": method, "params": plain}).encode() + b"\n")
        try:
            if answer.startswith(b"-"):
                raise _raised(_REFUSAL.validate_json(answer[1:]))
            return kind.validate_json(answer[1:])
        except ValidationError as exc:
            msg = (
                f"the service answered {method} in words that this kova-auto ({__version__}) does not know; "
                "is it of another version? Restart it after an upgrade"
            )
            raise KovaError(msg) from exc

    async def _exchange(self, question: bytes) -> bytes:
        """Return the answer; a question that is cut off hangs up, or the next one would be given its answer."""
        if len(question) > LONGEST_QUESTION:
            raise KovaError(too_long("question", LONGEST_QUESTION))
        (reader, writer), self._talk = self._talk or await _dial(self._path), None
        try:
            writer.write(question)
            await writer.drain()
            answer = await reader.readline()
            if not answer.endswith(b"\n"):
                raise _gone()
            self._talk = reader, writer
        except ConnectionError as exc:
            raise _gone() from exc
        except ValueError as exc:
            raise KovaError(too_long("answer", LONGEST_LINE)) from exc
        finally:
            if self._talk is None:
                writer.close()
        return answer

    async def status(self) -> Status:
        """Describe the service."""
        return await self._ask("status", TypeAdapter(Status))

    async def request(self, ask: RunAsk) -> RunRow:
        """Open a run; the same key twice is one run."""
        return await self._ask("request", _RUN, ask=ask)

    async def runs(self, job: str | None, *, unfinished: bool, limit: int) -> tuple[RunRow, ...]:
        """Return runs, newest first."""
        return await self._ask("runs", _RUNS, job=job, unfinished=unfinished, limit=limit)

    async def find(self, text: str) -> RunRow:
        """Return the one run whose id begins with the text; `last` is the newest, `last~1.2` a subagent of it."""
        return await self._ask("find", _RUN, text=text)

    async def family(self, run_id: RunId) -> tuple[RunRow, ...]:
        """Return the runs that one has dispatched, itself or through others, oldest first."""
        return await self._ask("family", _RUNS, run_id=run_id)

    async def events(self, run_id: RunId, after: int, wait_s: float, limit: int | None = None) -> tuple[Placed, ...]:
        """Return facts behind a position, all of them or the first few; where there are none yet, wait for one.

        They come in pages: those of a long run together would fit in no answer.
        """
        found: list[Placed] = []
        while limit is None or len(found) < limit:
            wanted = PAGE if limit is None else min(PAGE, limit - len(found))
            page = await self._ask("events", _PLACED, run_id=run_id, after=after, wait_s=wait_s, limit=wanted)
            found += page
            if len(page) < wanted:
                break
            after, wait_s = page[-1].seq, 0
        return tuple(found)

    async def cancel(self, run_id: RunId, by: str, reason: str) -> RunRow:
        """Ask a run to end."""
        return await self._ask("cancel", _RUN, run_id=run_id, by=by, reason=reason)

    async def retry(self, run_id: RunId, by: str) -> RunRow:
        """Begin a further attempt of a finished run."""
        return await self._ask("retry", _RUN, run_id=run_id, by=by)

    async def approvals(self, *, open_only: bool) -> tuple[Asked, ...]:
        """Return calls that need a person, newest first."""
        return await self._ask("approvals", _APPROVALS, open_only=open_only)

    async def decide(self, run_id: RunId, call_id: CallId, said: Said) -> RunRow:
        """Answer for a call; the first answer counts."""
        return await self._ask("decide", _RUN, run_id=run_id, call_id=call_id, said=said)

    async def deliveries(self, status: str | None, endpoint: str | None, limit: int) -> tuple[DeliveryRow, ...]:
        """Return duties to tell, newest first."""
        return await self._ask("deliveries", _DELIVERIES, status=status, endpoint=endpoint, limit=limit)

    async def delivery(self, delivery_id: DeliveryId) -> Story:
        """Return all that is on record of one duty."""
        return await self._ask("delivery", TypeAdapter(Story), delivery_id=delivery_id)

    async def healths(self) -> tuple[Health, ...]:
        """Return how endpoints are doing, by name."""
        return await self._ask("healths", _HEALTHS)

    async def enable_endpoint(self, name: str) -> Health:
        """Let things be sent to an endpoint again; return how it was before."""
        return await self._ask("enable_endpoint", TypeAdapter(Health), name=name)

    async def requeue(self, delivery_id: DeliveryId, by: str) -> DeliveryRow:
        """Take up a duty at once."""
        return await self._ask("requeue", TypeAdapter(DeliveryRow), delivery_id=delivery_id, by=by)

    async def test_endpoint(self, name: str, outcome: Outcome | None) -> Told:
        """Send an endpoint a test message; with an outcome, as the report of a run that ended so."""
        return await self._ask("test_endpoint", TypeAdapter(Told), name=name, outcome=outcome)

    async def occurrences(self, job: str | None, limit: int) -> tuple[Occurrence, ...]:
        """Return rows of the ledger, newest first."""
        return await self._ask("occurrences", _OCCURRENCES, job=job, limit=limit)

    async def hooks(self, job: str | None, like: str, limit: int) -> tuple[HookRow, ...]:
        """Return requests of webhooks with what became of them, newest first; `like` begins an id."""
        return await self._ask("hooks", _HOOKS, job=job, like=like, limit=limit)

    async def annals(self, job: str | None, since: datetime, until: datetime) -> Annals:
        """Return what is on record of schedules for a stretch, `until` excluded."""
        return await self._ask("annals", TypeAdapter(Annals), job=job, since=since, until=until)

    async def blob(self, key: BlobHash) -> Content:
        """Return a blob."""
        return await self._ask("blob", TypeAdapter(Content), key=key)

    async def usage(
        self, by: str, zone: str, *, job: str | None, run_id: RunId | None, since: datetime | None
    ) -> UsageReport:
        """Return what calls of models have used."""
        asked: dict[str, Param] = {"by": by, "zone": zone, "job": job, "run_id": run_id, "since": since}
        return await self._ask("usage", TypeAdapter(UsageReport), **asked)

    async def pauses(self) -> tuple[Pause, ...]:
        """Return the jobs whose schedules rest."""
        return await self._ask("pauses", _PAUSES)

    async def pause_job(self, job: str, by: str, reason: str) -> Pause:
        """Let a job's schedule rest until it is resumed."""
        return await self._ask("pause_job", TypeAdapter(Pause), job=job, by=by, reason=reason)

    async def resume_job(self, job: str, by: str, *, catch_up: bool = False) -> Pause | None:
        """Let a job's schedule go on; return what it had rested for, None where it did not."""
        return await self._ask("resume_job", _RESTED, job=job, by=by, catch_up=catch_up)

    async def backfill(self, items: tuple[Backfill, ...]) -> tuple[Backfill, ...]:
        """Have instants filled in, and return those; what waits already is left out."""
        return await self._ask("backfill", _BACKFILLS, items=items)

    async def backfills(self, job: str) -> tuple[Backfill, ...]:
        """Return what of a job waits to be filled in, in its order."""
        return await self._ask("backfills", _BACKFILLS, job=job)

    async def drop_backfills(self, job: str) -> int:
        """Let what waits to be filled in be; return how much that was."""
        return await self._ask("drop_backfills", TypeAdapter(int), job=job)

    async def diff(self, run_id: RunId) -> str:
        """Return what a run's writes changed, as a unified diff."""
        return await self._ask("diff", TypeAdapter(str), run_id=run_id)

    async def undo(self, run_id: RunId) -> Undone:
        """Take a run's writes back, unless a file has changed since."""
        return await self._ask("undo", TypeAdapter(Undone), run_id=run_id)

    async def apply(self, run_id: RunId, by: str, *, control: bool, check: bool) -> Applied:
        """Bring what a run changed in a workspace of its own into the real one, unless a file has changed there."""
        return await self._ask("apply", TypeAdapter(Applied), run_id=run_id, by=by, control=control, check=check)

    async def discard(self, run_id: RunId, by: str) -> RunRow:
        """Throw away what a run changed in a workspace of its own."""
        return await self._ask("discard", _RUN, run_id=run_id, by=by)


async def _dial(path: Path) -> Talk:
    try:
        with short_name(path) as name:
            return await asyncio.open_unix_connection(name, limit=LONGEST_LINE)
    except (OSError, ValueError) as exc:
        msg = f"the service does not answer at {path}; try again in a moment"
        raise JournalBusyError(msg) from exc


def _plain(value: Param) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [one.model_dump(mode="json") for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _gone() -> JournalBusyError:
    return JournalBusyError("the service went away in the middle of the question; ask again")


def _raised(body: dict[str, str]) -> KovaError:
    kind = getattr(errors, body.get("error", ""), KovaError)
    if not (isinstance(kind, type) and issubclass(kind, KovaError)):
        kind = KovaError
    return kind(body.get("message", "the service refused"))
