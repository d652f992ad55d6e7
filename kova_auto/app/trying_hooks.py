"""Send the own listener a request as its sender would write it, to try a hook out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address

from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError, KovaError
from kova_auto.core.inbound.body import FORM, JSON
from kova_auto.core.inbound.request import Headers
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.core.job import Job, WebhookTable
from kova_auto.core.net.address import parse_cidr
from kova_auto.core.net.http import HttpFailure, HttpRequest, HttpResponse
from kova_auto.core.net.url import Egress, parse_url
from kova_auto.net.exchange import GuardedExchange
from kova_auto.settings.ingress import IngressTable
from kova_auto.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold what is sent: its body, and what tells it from any other.

    Attributes:
        is_form: It is a form, not JSON.
    """

    body: bytes
    msg_id: str
    event: str
    is_form: bool = False


def hook_of(job: Job) -> WebhookTable:
    """Return what starts a job from outside.

    Raises:
        ConfigError: Nothing does.
    """
    if job.schedule is None or job.schedule.webhook is None:
        message = f"job {job.name} is not started by a webhook"
        raise ConfigError(
            message, path=job.path, key="schedule", hint='[schedule.webhook] with source = "github" makes it'
        )
    return job.schedule.webhook


def local_url(table: IngressTable, name: str) -> str:
    """Return the URL of a hook as this machine reaches it.

    Raises:
        ConfigError: Nothing listens, or nobody knows where.
    """
    place = table.place
    if place is None or place[1] == 0:
        message = (
            "wanted a listener, and the settings name none" if place is None else "wanted a port, found any free one"
        )
        raise ConfigError(message, key="ingress.listen", hint='[ingress] listen = "127.0.0.1:8788" makes serve listen')
    host, port = place
    if ip_address(host).is_unspecified:
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/hooks/{name}"


def signed_trial(settings: Settings, environ: Mapping[str, str], job: Job, trial: Trial, now: datetime) -> Headers:
    """Return the headers of a request that is signed with the job's newest secret.

    Raises:
        ConfigError: Nothing starts the job from outside, or the secret cannot be had here.
    """
    table = hook_of(job)
    scheme = scheme_of(table)
    key = scheme.parse_key(Vault(settings, environ).value(table.secrets[0]))
    return scheme.sign(key, trial.body, int(now.timestamp()), trial.msg_id, trial.event)


async def send_trial(
    settings: Settings, environ: Mapping[str, str], job: Job, trial: Trial, now: datetime
) -> HttpResponse:
    """Send it, and return the answer.

    Raises:
        KovaError: Nobody answered, or it could not be sent.
    """
    signed = signed_trial(settings, environ, job, trial, now)
    url = local_url(settings.ingress, job.name)
    place = settings.ingress.place or ("127.0.0.1", 0)
    nets = {"127.0.0.0/8", "::1/128", *([] if ip_address(place[0]).is_unspecified else [place[0]])}
    egress = Egress(allow_http=True, allow_cidrs=tuple(map(parse_cidr, sorted(nets))))
    kind = ("Content-Type", FORM if trial.is_form else JSON)
    headers = (kind, *((name.decode(), value.decode("latin-1")) for name, value in signed))
    request = HttpRequest("POST", parse_url(url, egress), headers, trial.body, egress)
    answer = await GuardedExchange().exchange(request)
    if isinstance(answer, HttpFailure):
        msg = f"{url}: {answer.detail}; is kova-auto serve running?"
        raise KovaError(msg)
    return answer
