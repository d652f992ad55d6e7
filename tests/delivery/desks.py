"""A courier with a journal in memory, endpoints that can be mended, and receivers that answer as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError, UnknownEndpointError
from kova_auto.core.event import (
    ApprovalRequested,
    CallAdjudicated,
    ContextAssembled,
    ModelCallStarted,
    RunAcquired,
    RunFinished,
)
from kova_auto.core.ids import CallId, EndpointName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import HttpFailure, HttpRequest, HttpResponse
from kova_auto.core.run import RunState
from kova_auto.core.view import DeliveryRow
from kova_auto.delivery.attempt import Attempts
from kova_auto.delivery.courier import Courier
from kova_auto.delivery.gate import Gatekeeper
from kova_auto.delivery.parcel import Books
from tests.doubles.clock import HandClock
from tests.doubles.flaky import FlakyJournal
from tests.doubles.healths import MemoryHealths
from tests.support import a_job, a_request, call, replied, ruled, says

SECRET = parse_secret(spell_secret(bytes(range(32))))
Answer = HttpResponse | HttpFailure | Exception | None
OK = HttpResponse(204)


@dataclass
class Desk:
    """Hold one courier's world.

    Attributes:
        answers: What each endpoint answers, 204 where nothing is said; None: nothing, until it is told to.
        broken: Endpoints whose secret cannot be had.
        unknown: Endpoints that the settings do not have.
        sent: The endpoint of each request, in order.
        requests: What was sent to them.
        kinship: Endpoints that share a credential.
        formats: Of endpoints that are no `standard` ones.
        shared: Endpoints with one address, at the host `shared`.
        wardens: Endpoints that hear of the trouble of any other.
    """

    journal: FlakyJournal = field(default_factory=FlakyJournal)
    clock: HandClock = field(default_factory=HandClock)
    answers: dict[str, Answer] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)
    requests: list[HttpRequest] = field(default_factory=list)
    kinship: set[EndpointName] = field(default_factory=set)
    formats: dict[str, FormatName] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    wardens: tuple[str, ...] = ()
    healths: MemoryHealths = field(default_factory=MemoryHealths)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    bell: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stirred: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.healths.alerts = self.journal._alerts

    def courier(self, worker: str = "one") -> Courier:
        """Return a courier that begins now: what is not on record it does not know."""

        def told(_: RunId) -> None:
            self.stirred.set()

        gate = Gatekeeper(self.healths, self.kin)
        books = Books(self.journal, self.journal)
        made = Attempts(
            books,
            self.journal,
            self.clock,
            self,
            gate,
            self.target,
            lambda text: text.replace("hunter2", "…"),
            told,
            told,
            self.wardens,
        )
        return Courier(made, self.journal, worker)

    def kin(self, name: EndpointName) -> set[EndpointName]:
        return self.kinship | {name} if name in self.kinship else {name}

    def target(self, name: EndpointName) -> Target:
        if name in self.unknown:
            message = f"there is no endpoint {name}"
            raise UnknownEndpointError(message)
        if name in self.broken:
            message = "wanted a secret in env HOOK: found none"
            raise ConfigError(message)
        host = "shared" if name in self.shared else name
        return Target(name, self.formats.get(name, FormatName.STANDARD), f"https://{host}.example.org/", (SECRET,))

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        name = request.url.host.partition(".")[0]
        self.sent.append(name)
        self.requests.append(request)
        self.stirred.set()
        answer = self.answers.get(name, OK)
        if answer is None:
            await self.goes_on.wait()
            return OK
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def owes(self, *endpoints: str, name: str = "nightly@1") -> RunState:
        """Make a finished run that owes these endpoints its result."""
        job = a_job(name.partition("@")[0], notify=tuple({"endpoint": endpoint} for endpoint in endpoints))
        state, _ = await self.journal.open(a_request(name, job=job, at=self.clock.now()))
        return await self.journal.append(state, RunFinished(at=self.clock.now(), outcome=Outcome.DONE, answer="Well."))

    async def asks(self, endpoint: str) -> RunState:
        """Make a run that asks a person through an endpoint, for an hour."""
        now = self.clock.now()
        job = a_job("nightly", approval={"when_needed": "suspend", "notify": (endpoint,)})
        state, _ = await self.journal.open(a_request("nightly@1", job=job, at=now))
        for event in (
            RunAcquired(at=now, epoch=1, worker="one"),
            ContextAssembled(at=now, system="", prompt=(), tools=()),
            ModelCallStarted(at=now, iteration=1, model="m", request_hash="h"),
            replied(1, says("Hm.", call("change")), when=now),
            CallAdjudicated(at=now, call_id=CallId("1.1"), verdict=ruled(Ruling.ASK)),
            ApprovalRequested(at=now, call_id=CallId("1.1"), expires_at=now.replace(hour=now.hour + 1)),
        ):
            state = await self.journal.append(state, event)
        return state

    async def rows(self) -> list[DeliveryRow]:
        return list(reversed(await self.journal.deliveries()))

    async def statuses(self) -> dict[str, str]:
        return {row.endpoint: row.status for row in await self.rows()}

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.courier().serve(self.bell, self.stop))
        yield task
        self.goes_on.set()
        self.stop.set()
        self.bell.set()
        await asyncio.wait({task})

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what the courier does to bring something about."""
        async with asyncio.timeout(60):
            while not holds():
                self.stirred.clear()
                await self.stirred.wait()
