"""Examine a service without changing it: whether its jobs can run, and what stands in their way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

from kova_auto.app.agent_findings import of_agent_skills, of_agents
from kova_auto.app.agents import agents_of
from kova_auto.app.cadence_findings import of_cadence
from kova_auto.app.discovery import Discovery, nobody
from kova_auto.app.explaining import explaining
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.house_findings import of_data, of_secret, of_settings
from kova_auto.app.inbound_findings import of_inbound
from kova_auto.app.mcp import servers_of
from kova_auto.app.mcp_findings import of_mcp
from kova_auto.app.model_findings import Asking, of_job, of_servers
from kova_auto.app.models import Providers
from kova_auto.app.parking import of_parked
from kova_auto.app.permission_findings import of_permissions
from kova_auto.app.permissions import permissions_of
from kova_auto.app.pinning import Pinning
from kova_auto.app.places import places_of
from kova_auto.app.post_findings import of_endpoints
from kova_auto.app.sandbox_findings import of_sandbox, of_unconfined
from kova_auto.app.skills import of_skills, skills_of
from kova_auto.app.tooling import sandbox_of
from kova_auto.app.vault import Vault
from kova_auto.app.zones import of_zones, zone_rules
from kova_auto.clock import SystemClock
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.llm.catalog import models_at
from kova_auto.llm.choice import Pin
from kova_auto.scheduling.jobfiles import load_jobs
from kova_auto.settings.model import Settings


async def examine(
    settings: Settings, environ: Mapping[str, str], now: datetime, *, offline: bool
) -> AsyncIterator[Finding]:
    """Yield what was found, in the order in which it matters; no secret is in it.

    Args:
        settings: Of the service.
        environ: Of this process, which may see other secrets than the service does.
        now: Prices are looked up for it.
        offline: Nobody is asked anything, on this machine neither.
    """
    vault = Vault(settings, environ)
    async for finding in _examined(settings, environ, vault, now, offline=offline):
        yield Finding(finding.check, finding.name, finding.mark, vault.redact(finding.text))


async def _examined(
    settings: Settings, environ: Mapping[str, str], vault: Vault, now: datetime, *, offline: bool
) -> AsyncIterator[Finding]:
    async for finding in _of_ground(settings, environ, now):
        yield finding
    try:
        sandbox = sandbox_of(places_of(settings, environ), leaves_record=False)
    except ConfigError as exc:
        yield Finding("sandbox", "commands", Mark.FAIL, f"no run can begin: {exc}")
        return
    async for finding in of_sandbox(sandbox, now):
        yield finding
    providers, used = Providers(settings.providers, vault), list[Pin]()
    server = None if offline or not settings.discover else Discovery(providers, SystemClock())
    pinning = Pinning(providers, server or nobody)
    jobs, broken = _jobs(settings)
    broken += await of_parked(settings, environ) if broken else []
    broken += await of_cadence(settings, environ, jobs, now)
    said = await asyncio.to_thread(_of_files, settings, environ, jobs)
    said += await asyncio.to_thread(_of_servers, settings, environ, vault, jobs, now)
    said += await _of_needs(settings, environ, jobs, now)
    for finding in (*broken, *of_unconfined(jobs), *said):
        yield finding
    for job in jobs:
        finding, chain = await of_job(job, pinning, sandbox, now, has_looked=not offline)
        used += [Pin(provider, model) for provider, _, model in (pin.name.partition("/") for pin in chain.pins)]
        yield finding
        for name, reference in job.env.items():
            yield of_secret(f"{job.name}: env.{name}", reference, settings, environ)
    ask = None if offline else partial(models_at, weights_dir=settings.weights_dir)
    asking = Asking(settings.providers, providers, environ, ask)
    async for finding in asking.findings(used):
        yield finding
    if server:
        for finding in of_servers(await server.everyone()):
            yield finding


async def _of_ground(settings: Settings, environ: Mapping[str, str], now: datetime) -> AsyncIterator[Finding]:
    """Yield what is found of settings, data directory and endpoints."""
    for finding in of_settings(settings, environ, now):
        yield finding
    yield await of_data(settings, environ)
    yield of_zones(zone_rules())
    async for finding in of_endpoints(settings, environ, now):
        yield finding


def _of_files(settings: Settings, environ: Mapping[str, str], jobs: list[Job]) -> list[Finding]:
    """Return what there is to say of what is allowed for good, of subagents, skills, and what starts jobs."""
    agents = agents_of(settings, environ)
    with skills_of(settings, environ) as skills:
        said = [*of_skills(skills, jobs), *of_agent_skills(skills, agents, jobs)]
    return [
        *of_permissions(permissions_of(settings, environ), jobs),
        *of_agents(agents, jobs),
        *said,
        *of_inbound(settings, environ, jobs),
    ]


def _of_servers(
    settings: Settings, environ: Mapping[str, str], vault: Vault, jobs: list[Job], now: datetime
) -> list[Finding]:
    plugins = agents_of(settings, environ).plugins
    return list(of_mcp(servers_of(places_of(settings, environ), environ, vault, plugins), jobs, now))


async def _of_needs(settings: Settings, environ: Mapping[str, str], jobs: list[Job], now: datetime) -> list[Finding]:
    """Return which jobs would be refused what they cannot do without."""
    found: list[Finding] = []
    for job in jobs:
        if job.limits.required_tools:
            async with explaining(settings, environ, job, now) as explainer:
                found += [Finding("job", job.name, Mark.FAIL, reason)] if (reason := await explainer.needs()) else []
    return found


def _jobs(settings: Settings) -> tuple[list[Job], list[Finding]]:
    """Return the jobs, and what is wrong with files that are none."""
    try:
        jobs, errors = load_jobs(
            settings.jobs_dir,
            timezone=settings.timezone,
            endpoints=tuple(settings.endpoints),
            calendars=settings.calendar_dates,
        )
    except ConfigError as exc:
        return [], [Finding("job", "files", Mark.WARN, str(exc))]
    return jobs, [
        Finding("job", Path(error.path).stem, Mark.FAIL, problem.sentence)
        for error in errors
        for problem in error.problems
    ]
