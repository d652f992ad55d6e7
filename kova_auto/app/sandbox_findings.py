"""Say how commands are confined here: what was proved, what it lacks, when it was last proved, and what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import datetime, timedelta

from kova_auto.app.finding import Finding, Mark
from kova_auto.core.duration import render_duration
from kova_auto.core.job import Job
from kova_auto.tools.sandbox.plan import Level, Method, Policy, Refusal
from kova_auto.tools.sandbox.select import LastProof, Sandbox, advice
from kova_auto.tools.sandbox.selftest import SelfTest

_NAMES = {Method.BWRAP: "bubblewrap", Method.LANDLOCK: "Landlock", Method.SEATBELT: "macOS's sandbox"}


async def of_sandbox(sandbox: Sandbox, now: datetime) -> AsyncIterator[Finding]:
    """Yield a line for each box that commands run in: it is proved for the purpose, by trying to break out."""
    for level in (Level.READING, Level.WORKSPACE):
        found = await sandbox.select(Policy.AUTO, level)
        if isinstance(found, Refusal):
            once = [last for method in sandbox.methods if (last := sandbox.last(method, level)) and not last.reason]
            said = [found.reason, *(f"It passed for a run {_age(last, now)} ago." for last in once[:1])]
            yield Finding("sandbox", level, Mark.WARN, " ".join(said))
            continue
        proof = await sandbox.proof(found.method, level)
        said = [f"{_NAMES[found.method]}, {_proved(proof)}"]
        if proof.lacks:
            said.append(f"It lacks this: {'; '.join(proof.lacks)}. Jobs with a network are refused.")
            said += [_passed_over(await sandbox.proof(other, level)) for other in _better(sandbox, found.method)]
        said.append(_before(sandbox.last(found.method, level), proof.reason, now))
        yield Finding("sandbox", level, Mark.WARN if proof.lacks else Mark.OK, " ".join(filter(None, said)))


def of_unconfined(jobs: Iterable[Job]) -> Iterator[Finding]:
    """Yield a line for each job whose commands nothing confines, since its file says so."""
    for job in jobs:
        if job.permissions.sandbox == "off":
            text = f'its commands run unconfined, as {job.path} says by sandbox = "off": they reach what you can'
            yield Finding("sandbox", job.name, Mark.WARN, text)


def _proved(proof: SelfTest) -> str:
    """Return what a self-test tried, and how it went."""
    did = [check.name for check in proof.checks if check.detail == "worked" and check.held]
    could_not = [check.name for check in proof.checks if check.detail != "worked"]
    tried = f"it could {_listed(did)}, and could not {_listed(could_not)}."
    return f"proved just now by {len(proof.checks)} attempts: {tried}"


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else "".join(names)


def _better(sandbox: Sandbox, method: Method) -> tuple[Method, ...]:
    return sandbox.methods[: sandbox.methods.index(method)]


def _passed_over(proof: SelfTest) -> str:
    """Return why a method that holds more is not used, and what to do about it."""
    why = proof.reason.removeprefix(f"{proof.method}: ")
    return f"{_NAMES[proof.method]} would hold it and cannot be used: {why}. {advice([why])}"


def _before(last: LastProof | None, reason: str, now: datetime) -> str:
    """Return how it went before, in another process, and what follows where it went otherwise."""
    if last is None:
        return ""
    if last.reason == reason:
        return f"A run proved the same {_age(last, now)} ago."
    return f"For a run {_age(last, now)} ago it failed ({last.reason}): restart the service, which proves it once."


def _age(last: LastProof, now: datetime) -> str:
    return render_duration(timedelta(seconds=max(0, round(now.timestamp() - last.at))))
