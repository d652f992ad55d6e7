"""Look at what runs will ask: the models of each job, the providers, and the servers on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.house_findings import ELSEWHERE, is_elsewhere
from kova_auto.app.pinning import Chain, Pinning
from kova_auto.app.tooling import unproven
from kova_auto.core.delivery.document import count
from kova_auto.core.errors import ConfigError, ModelError
from kova_auto.core.job import Job
from kova_auto.core.policy import policy_of
from kova_auto.core.provider import BUILT_IN, Provider
from kova_auto.llm.choice import AUTO, Pin
from kova_auto.settings.model import ProviderTable
from kova_auto.tools.sandbox.select import Sandbox

CHECK_S = 15.0

Ask = Callable[[Provider], Awaitable[tuple[str, ...]]]


async def of_job(
    job: Job, pinning: Pinning, sandbox: Sandbox, now: datetime, *, has_looked: bool
) -> tuple[Finding, Chain]:
    """Say which model a job would get now, and what stands in the way of a run.

    Args:
        job: As its file says.
        pinning: Finds its models.
        sandbox: Proves what the job wants proved.
        now: Prices are looked up for it.
        has_looked: Servers on this machine were looked for: without them nobody is at fault.
    """
    try:
        chain = await pinning.chain(job, now)
    except ConfigError as exc:
        chain = Chain(lacks=str(exc))
    lacks = chain.lacks or await unproven(sandbox, policy_of(job, None), job)
    if not lacks and chain.scripted and job.schedule and not job.allow_scripted:
        lacks = "no model can be asked, and its script is not played by itself unless it says allow_scripted = true"
    if lacks and not has_looked and AUTO in job.models and not chain.pins:
        return Finding("job", job.name, Mark.WARN, f"{lacks}; nobody looked for a server on this machine"), chain
    if lacks:
        return Finding("job", job.name, Mark.FAIL, lacks), chain
    if chain.scripted:
        return Finding("job", job.name, Mark.WARN, "no model can be asked: its script is played"), chain
    asks = f"asks {', then '.join(pin.name for pin in chain.pins)}"
    if chain.unpriced:
        unknown = f"the price of {', '.join(chain.unpriced)} is not known: tokens bound its runs, money does not"
        return Finding("job", job.name, Mark.WARN, f"{asks}; {unknown}"), chain
    return Finding("job", job.name, Mark.OK, asks), chain


@dataclass(frozen=True, slots=True)
class Asking:
    """Ask providers what costs nothing.

    Attributes:
        tables: What the settings say of each.
        providers: The same, with their secrets; reading one raises ConfigError where such a one cannot be had.
        environ: Of this process.
        ask: Returns what a provider lists; None where nobody is to be asked.
    """

    tables: Mapping[str, ProviderTable]
    providers: Mapping[str, Provider]
    environ: Mapping[str, str]
    ask: Ask | None

    async def findings(self, used: Sequence[Pin]) -> AsyncIterator[Finding]:
        """Yield each provider that is configured, or that a job uses."""
        names = dict.fromkeys((*self.tables, *(pin.provider for pin in used)))
        wanted = {name: [pin.model for pin in used if pin.provider == name] for name in names}
        for finding in await asyncio.gather(*(self._of(name, models) for name, models in wanted.items())):
            yield finding

    async def _of(self, name: str, models: Sequence[str]) -> Finding:
        try:
            provider = self.providers[name] if name in self.providers else BUILT_IN[name]
        except ConfigError as exc:
            if any(is_elsewhere(reference, self.environ) for _, reference in self.tables[name].secrets):
                return Finding("provider", name, Mark.WARN, ELSEWHERE)
            return Finding("provider", name, Mark.FAIL, f"cannot be asked: {exc}")
        if not provider.usable:
            return Finding("provider", name, Mark.FAIL, f"has no key: set api_key in [providers.{name}]")
        if self.ask is None:
            place = provider.place or "home, in this process"
            return Finding("provider", name, Mark.OK, f"is at {place}; nobody asked it")
        return await self._answer(provider, self.ask, models)

    async def _answer(self, provider: Provider, ask: Ask, models: Sequence[str]) -> Finding:
        name, key = provider.name, "takes its key" if provider.api_key else "answers"
        try:
            async with asyncio.timeout(CHECK_S):
                listed = await ask(provider)
        except TimeoutError:
            return Finding("provider", name, Mark.FAIL, f"{provider.place} did not answer within {CHECK_S:g} s")
        except (ModelError, ConfigError) as exc:
            return Finding("provider", name, Mark.FAIL, str(exc).removeprefix(f"{name} "))
        wanted = dict.fromkeys((*models, provider.default_model) if provider.default_model else models)
        if missing := [model for model in wanted if listed and model not in listed]:
            unlisted = f"does not list {', '.join(missing)}: it may be another name of a model, or none"
            return Finding("provider", name, Mark.WARN, f"{key}, and {unlisted}")
        return Finding("provider", name, Mark.OK, f"{key}, and lists {count(len(listed), 'model')}")


def of_servers(found: Sequence[Pin]) -> list[Finding]:
    """Say which servers of models were found on this machine."""
    if not found:
        return [Finding("server", "this machine", Mark.OK, "no server of models answers on loopback")]
    return [
        Finding("server", pin.provider, Mark.OK, f'serves {pin.model}, for an "auto" without a provider')
        for pin in found
    ]
