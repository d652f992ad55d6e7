"""Look at what starts jobs from outside: whether anybody listens, and whether its secrets are what they should be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.house_findings import is_elsewhere, of_secret
from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.core.job import Job, WebhookTable
from kova_auto.core.secret import SecretRef
from kova_auto.core.webhook_source import UNSIGNED
from kova_auto.settings.model import Settings
from kova_auto.settings.secrets import read_secret

SHORT: Final = 16


def of_inbound(settings: Settings, environ: Mapping[str, str], jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield what there is to say of the listener, and of each job that a webhook starts."""
    hooks = [(job, job.schedule.webhook) for job in jobs if job.schedule and job.schedule.webhook]
    yield from _of_listener(settings, hooks)
    shared: dict[SecretRef, list[str]] = defaultdict(list)
    for job, table in hooks:
        for index, reference in enumerate(table.secrets):
            key = "secret" if len(table.secrets) == 1 else f"secret[{index}]"
            yield from _of_secret(f"{job.name}: schedule.webhook.{key}", table, reference, settings, environ)
            shared[reference].append(job.name)
    for reference, names in shared.items():
        if len(names) > 1:
            text = (
                f"{reference.source} is the secret of them all: a request to one of them can be sent to another again"
            )
            yield Finding("hook", " and ".join(names), Mark.WARN, text)


def _of_listener(settings: Settings, hooks: Sequence[tuple[Job, WebhookTable]]) -> Iterator[Finding]:
    table = settings.ingress
    if table.listen is None:
        if hooks:
            names = ", ".join(job.name for job, _ in hooks)
            text = f'nobody listens, so that nothing starts {names}: set [ingress] listen = "127.0.0.1:8788"'
            yield Finding("ingress", "listen", Mark.WARN, text)
        return
    yield Finding("ingress", table.listen, Mark.OK, f"requests come to {table.url_of('/hooks/JOB')}")
    if table.public_url is None:
        text = "nobody outside is told where: set public_url to what your proxy is called"
        yield Finding("ingress", "public_url", Mark.WARN, text)
    elif table.public_url.startswith("http://"):
        yield Finding("ingress", "public_url", Mark.WARN, "is plain http: whoever is in between reads what is sent")
    open_ = [job.name for job, hook in hooks if hook.source in UNSIGNED]
    if not table.is_local and open_:
        text = f"is reached without TLS, and {', '.join(open_)} takes the secret itself: put a proxy with TLS before it"
        yield Finding("ingress", table.listen, Mark.WARN, text)


def _of_secret(
    key: str, table: WebhookTable, reference: SecretRef, settings: Settings, environ: Mapping[str, str]
) -> Iterator[Finding]:
    yield of_secret(key, reference, settings, environ)
    if is_elsewhere(reference, environ):
        return
    try:
        secret = read_secret(reference, environ, base=settings.path.parent)
        scheme_of(table).parse_key(secret)
    except ConfigError as exc:
        if exc.key:  # It is there, and no secret of this sender; what is missing is said already.
            yield Finding("hook", key, Mark.FAIL, exc.message)
        return
    if len(secret) < SHORT:
        yield Finding("hook", key, Mark.WARN, f"is shorter than {SHORT} characters, and could be guessed")
