"""Build everything once: the only place where adapters are constructed and handed to the loops."""

from __future__ import annotations

import asyncio
import os
import platform
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from kova_auto import __version__
from kova_auto.app.agents import Agents, agents_of
from kova_auto.app.answering import linked_by
from kova_auto.app.archive import database_of
from kova_auto.app.briefing import Briefings
from kova_auto.app.checkpoints import RunCheckpoints
from kova_auto.app.control import RunAsk, Status, Told
from kova_auto.app.discovery import Discovery, nobody
from kova_auto.app.endpoints import Endpoints
from kova_auto.app.local import LocalControl
from kova_auto.app.models import Models, Providers
from kova_auto.app.opening import Opening
from kova_auto.app.past import Past
from kova_auto.app.permissions import permissions_of
from kova_auto.app.pinning import Pinning
from kova_auto.app.places import HousePlaces, places_of
from kova_auto.app.post import Post
from kova_auto.app.preflight import Preflight
from kova_auto.app.skills import Skills
from kova_auto.app.staging import Copies
from kova_auto.app.subagents import Bounds, Children, rosters_of
from kova_auto.app.tooling import Tooling, tooling_of, unproven
from kova_auto.app.vault import Vault
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.errors import KovaError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Job, Outcome
from kova_auto.core.policy import policy_of_run
from kova_auto.core.ports import SteadyClock
from kova_auto.core.run import RunState
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.delivery.attempt import Attempts
from kova_auto.delivery.courier import Courier
from kova_auto.delivery.gate import Gatekeeper
from kova_auto.delivery.parcel import Books
from kova_auto.engine.bells import Bells
from kova_auto.engine.service import Engine
from kova_auto.engine.world import World
from kova_auto.knowledge.memory import global_memory
from kova_auto.net.exchange import GuardedExchange
from kova_auto.net.notifier import AppriseNotifier
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.model import Settings
from kova_auto.store.sqlite import Synchronous
from kova_auto.store.store import Store, open_store
from kova_auto.tools.isolation.applying import Held


@dataclass(frozen=True, slots=True)
class House:
    """Hold one service: its adapters and its loops. Close it when done.

    Attributes:
        books: What it has read of job files, once it serves.
        agents: The subagents and the plugins that its runs may have.
    """

    settings: Settings
    clock: SteadyClock
    places: HousePlaces
    vault: Vault
    store: Store
    bells: Bells
    tooling: Tooling
    models: Models
    opening: Opening
    engine: Engine
    courier: Courier
    control: LocalControl
    books: list[JobBook]
    agents: Agents

    async def close(self) -> None:
        """End what was left running and let go of the database."""
        await self.tooling.close()
        await self.models.close()
        await self.store.close()


async def build(settings: Settings, environ: Mapping[str, str], *, clock: SteadyClock | None = None) -> House:
    """Build a service; for SQLite the caller owns the data directory.

    Raises:
        KovaError: The settings or the database cannot be used.
    """
    clock, vault = clock or SystemClock(), Vault(settings, environ)
    store = await _opened(settings, environ, vault)
    try:
        if settings.database == "sqlite":
            await store.end_leases(clock.now())  # We own it: whoever held a lease is dead.
        return _furnished(settings, environ, vault, store, clock)
    except BaseException:
        await store.close()
        raise


async def _opened(settings: Settings, environ: Mapping[str, str], vault: Vault) -> Store:
    """Open the database; whoever gives up meanwhile leaves nothing open."""
    place = database_of(settings, environ)
    opening = asyncio.create_task(
        asyncio.to_thread(
            open_store, place, create=True, guard=vault.guard, synchronous=Synchronous(settings.sqlite_synchronous)
        )
    )
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        with suppress(KovaError):
            await (await opening).close()
        raise


def _furnished(settings: Settings, environ: Mapping[str, str], vault: Vault, store: Store, clock: SteadyClock) -> House:
    places, exchange, bells = places_of(settings, environ), GuardedExchange(), Bells()
    providers, endpoints = Providers(settings.providers, vault), Endpoints(settings, vault, clock)
    pinning = Pinning(providers, Discovery(providers, clock) if settings.discover else nobody)
    agents = agents_of(settings, environ)
    rosters, bounds = rosters_of(agents.definitions), _bounds(settings)
    children = Children(store.journal, store.views, clock, bells, pinning, rosters, bounds)
    tooling = tooling_of(places, environ, vault, store.journal, exchange, nursery=children, plugins=agents.plugins)
    models, copies = Models(providers, settings.weights_dir), Copies(places.work, str(places.data), _held(places))
    attempts = _attempts(settings, store, vault, endpoints, exchange=exchange, bells=bells, clock=clock)
    courier = Courier(attempts, store.views, _worker())
    past = Past(store.journal, store.views, _zones(settings))
    permissions = permissions_of(settings, environ, tooling.servers.exempt)
    at_hand = all(reference.env for _, reference in settings.secrets)
    opening = Opening(clock, pinning, past, copies, permissions, _loader(settings, vault), vault.learn, at_hand)
    skills = Skills(tooling.roots, places.home, agents.plugins.skills)
    briefings = _briefings(tooling, past, places, vault, children, skills)
    world = _world(
        store,
        vault,
        tooling,
        clock=clock,
        models=models,
        opening=opening,
        briefings=briefings,
        children=children,
    )
    engine = Engine(world, bells)
    files: list[JobBook] = []
    desk = _Desk(settings, clock, clock.now(), opening, endpoints, courier, engine, files)
    control = LocalControl(
        journal=store.journal,
        views=store.views,
        ledger=store.ledger,
        bells=bells,
        requests=store.hooks,
        post=Post(store.journal, store.views, store.alerts, store.healths),
        clock=clock,
        filling=store.backfills,
        checkpoints=RunCheckpoints(tooling.roots, store.journal, copies),
        past=past,
        opening=desk.open,
        testing=desk.test,
        describe=desk.describe,
        resume=courier.resume,
        redact=vault.redact,
        remember=permissions.keep,
    )
    loops = opening, engine, courier
    return House(settings, clock, places, vault, store, bells, tooling, models, *loops, control, files, agents)


def _attempts(
    settings: Settings,
    store: Store,
    vault: Vault,
    endpoints: Endpoints,
    *,
    exchange: GuardedExchange,
    bells: Bells,
    clock: SteadyClock,
) -> Attempts:
    return Attempts(
        Books(store.journal, store.alerts),
        store.views,
        clock,
        exchange,
        Gatekeeper(store.healths, endpoints.kin, endpoints.hears),
        endpoints.target,
        vault.redact,
        bells.told,
        bells.asked,
        wardens=settings.alerts,
        linked=linked_by(settings),
        notifier=AppriseNotifier(),
    )


def _bounds(settings: Settings) -> Bounds:
    said = settings.agents
    return Bounds(max_concurrent=said.max_concurrent, max_depth=said.max_depth, max_turns=said.max_turns)


def _briefings(
    tooling: Tooling, past: Past, places: HousePlaces, vault: Vault, children: Children, skills: Skills
) -> Briefings:
    return Briefings(
        tooling.roots,
        tooling.lister,
        past,
        places.home,
        global_memory(places.home).resolve(),
        skills,
        vault.redact,
        tooling.servers,
        children.rosters.roster,
    )


def _worker() -> str:
    """Return the name of this process in leases."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _world(
    store: Store,
    vault: Vault,
    tooling: Tooling,
    *,
    clock: SteadyClock,
    models: Models,
    opening: Opening,
    briefings: Briefings,
    children: Children,
) -> World:
    return World(
        clock=clock,
        journal=store.journal,
        views=store.views,
        toolbox=tooling.toolbox,
        checks=tooling.checks,
        models=models.of,
        policies=policy_of_run,
        offers=opening.permissions.offers,
        learn=lambda state: _learned(state, vault, tooling),
        redact=vault.redact,
        zone=lambda state: opening.past.zone(state.job),
        hindrance=lambda state: unproven(tooling.sandbox, policy_of_run(state), state.job),
        refused=Preflight(store.journal, store.views, tooling.toolbox, tooling.servers, clock).refused,
        prepare=opening.copies.prepare,
        brief=briefings.of,
        tidy=opening.copies.tidy,
        stop=children.stop,
        worker=_worker(),
        system=f"{platform.system()} {platform.machine()}",
    )


def _learned(state: RunState, vault: Vault, tooling: Tooling) -> None:
    """Get to know what a run's commands and servers are given."""
    vault.learn(state.job.env.values())
    if state.job.mcp.servers:
        tooling.servers.learn(state.job)


@dataclass(frozen=True, slots=True)
class _Desk:
    """Answer what the control cannot from the journal alone."""

    settings: Settings
    clock: SteadyClock
    started_at: datetime
    opening: Opening
    endpoints: Endpoints
    courier: Courier
    engine: Engine
    books: list[JobBook]

    async def open(self, ask: RunAsk) -> RunRequested:
        """Return what opens the run that is asked for, its listener known as an endpoint from now on."""
        if ask.listener:
            self.endpoints.listen(ask.listener.name, ask.listener)
        return await self.opening.of_request(ask)

    async def test(self, name: str, outcome: Outcome | None) -> Told:
        """Send an endpoint a test message."""
        result = await self.courier.test(EndpointName(name), outcome)
        delivered = result.outcome is AttemptOutcome.DELIVERED
        return Told(delivered=delivered, result=result.outcome, http_status=result.status, detail=result.detail)

    def describe(self) -> Status:
        """Describe the service."""
        kind = "sqlite" if self.settings.database == "sqlite" else "postgresql"
        return Status(
            pid=os.getpid(),
            version=__version__,
            started_at=self.started_at,
            running=self.engine.running,
            database=kind,
            parked=tuple(parked for book in self.books for parked in book.parked),
        )


def _held(places: HousePlaces) -> Held:
    """Return what no run's changes are applied to."""
    return Held((*places.secret, *places.control), places.job_dirs)


def _loader(settings: Settings, vault: Vault) -> Callable[[Path], Job]:
    names, calendars = tuple(settings.endpoints), settings.calendar_dates

    def load(path: Path) -> Job:
        job = load_job(path, timezone=settings.timezone, endpoints=names, calendars=calendars)
        vault.vet(job)
        return job

    return load


def _zones(settings: Settings) -> Callable[[Job], ZoneInfo]:
    """Return what knows the zone in which a job's schedule is said."""

    def zone_of(job: Job) -> ZoneInfo:
        schedule = job.schedule
        return parse_zone(schedule.timezone if schedule and schedule.timezone else settings.timezone)

    return zone_of
