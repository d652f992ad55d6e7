"""`kova-auto hooks`: the requests that start jobs, where they go, and trying one out."""

from __future__ import annotations

import asyncio
import json as json_text
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.asking import ask
from kova_auto.cli.frame import FAILED, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.job_rows import JsonDict
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import complain, say, say_json, table
from kova_auto.cli.run_rows import when
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.hook import HookRow, HookStatus
from kova_auto.core.job import Job
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from kova_auto.app.control import Answers
    from kova_auto.settings.model import Settings

app = new_app("List requests that start jobs; show where they go; send a test.")

HEAD = ("REQUEST", "RECEIVED", "JOB", "EVENT", "ACTOR", "BECAME", "WHY")
_URL_HEAD = ("JOB", "SOURCE", "URL", "SECRETS")
_NAME = 60
_LIST = f"""\
List the requests that were believed, newest first, and what became of them. Those that were not are only in the log.

With --json: a list of objects with {", ".join(HookRow.model_fields)}. Instants are UTC.
"""
_SHOW = """\
Show one request: what it said, what its run was given, and what became of it.

With --json: the object of hooks list.
"""
_URLS = """\
Show where each job that a webhook starts takes its requests, and where its secrets come from; never a secret.

With --json: a list of objects with job, source, url, path, secrets_from, listens.
"""
_SEND = """\
Send the listener of the running service a request that is signed as the job's sender would sign it.

The body is read from --file, or is {}. The same body again is the same request to GitHub's rules, and to those of a
sender that gives no ids. Exits with 1 if it was not accepted.
"""

RequestArgument = Annotated[
    str, typer.Argument(metavar="REQUEST", help="Id of a request, or how it begins.", show_default=False)
]


@app.command("list", help=_LIST)
def list_hooks(
    job: Annotated[str | None, typer.Argument(metavar="JOB", help="Only this job's.", show_default=False)] = None,
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 50,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show requests in a table."""
    settings = settings_of(config)
    rows = _rows(settings, job, "", limit)
    if json:
        say_json([row.model_dump(mode="json") for row in rows])
    elif rows:
        zone = parse_zone(settings.timezone)
        say(listing(HEAD, [_cells(row, zone) for row in rows], ink()))
    else:
        say("No request has come.")


@app.command("show", help=_SHOW)
def show(request: RequestArgument, *, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show one request."""
    settings = settings_of(config)
    found = _rows(settings, None, request, 2)
    if len(found) != 1:
        many = "several requests begin" if found else "no request's id begins"
        message = f"{many} with {request!r}"
        raise ConfigError(message, hint="kova-auto hooks list shows them")
    row = found[0]
    if json:
        say_json(row.model_dump(mode="json"))
        return
    lines = [
        ("request", row.hook_id),
        ("job", row.job),
        ("received", f"{when(row.received_at, parse_zone(settings.timezone))} ({row.received_at.isoformat()})"),
        ("sender", f"{row.source}, {one_line(row.delivery_id, _NAME)}"),
        ("event", one_line(row.event, _NAME)),
        ("actor", one_line(row.actor, _NAME)),
        ("became", " ".join(part for part in (_became(row), f"({_why(row)})" if _why(row) else "") if part)),
        ("run", row.run_id or ""),
        *((f"inputs.{name}", one_line(value, 400)) for name, value in row.given),
    ]
    say("\n".join(f"{name:10} {value}".rstrip() for name, value in lines if value))


@app.command("urls", help=_URLS)
def urls(*, config: ConfigOption = None, json: JsonOption = False) -> None:
    """Show hooks."""
    settings = settings_of(config)
    source = JobSource(settings)
    found = [
        _url(settings, job) for _, job in source.load_each(source.paths([])) if isinstance(job, Job) and _is_hook(job)
    ]
    if json:
        say_json(found)
    elif found:
        say(table(_URL_HEAD, [_url_cells(one) for one in found]))
        if settings.ingress.listen is None:
            complain(
                'nothing listens: [ingress] listen = "127.0.0.1:8788" in the settings makes serve do it', "warning"
            )
    else:
        say('No job is started by a webhook. [schedule.webhook] with source = "github" in a job makes it so.')


@app.command("send", help=_SEND)
def send(
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of a job, or a job file.", show_default=False)],
    *,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Holds the body.", show_default=False)
    ] = None,
    event: Annotated[
        str, typer.Option("--event", metavar="NAME", help="What happened, for GitHub and GitLab.")
    ] = "push",
    msg_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Of the delivery; else a new one.", show_default=False)
    ] = None,
    form: Annotated[bool, typer.Option("--form", help="The body is a form.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Send one request."""
    from kova_auto.app.trying_hooks import Trial, send_trial

    settings = settings_of(config)
    source = JobSource(settings)
    loaded = source.load(source.paths([job])[0])
    trial = Trial(_body(file), msg_id or f"test-{secrets.token_hex(8)}", event, is_form=form)
    answer = asyncio.run(send_trial(settings, environment(), loaded, trial, now_of(context)))
    text = answer.body.decode("utf-8", "replace").strip()
    if json:
        say_json({"http_status": answer.status, "answer": _object(text)})
    else:
        say(f"{loaded.name}: HTTP {answer.status}: {one_line(text, 400)}")
    if answer.status not in {200, 202}:
        raise typer.Exit(FAILED)


def _rows(settings: Settings, job: str | None, like: str, limit: int) -> tuple[HookRow, ...]:
    async def question(answers: Answers) -> tuple[HookRow, ...]:
        return await answers.hooks(job, like, limit)

    return ask(settings, question, kind="hooks")


def _cells(row: HookRow, zone: ZoneInfo) -> tuple[str, ...]:
    event, actor = one_line(row.event, _NAME), one_line(row.actor, _NAME)
    return row.hook_id, when(row.received_at, zone), row.job, event, actor, _became(row), row.run_id or _why(row)


def _became(row: HookRow) -> str:
    if row.status is HookStatus.IGNORED:
        return "ignored"
    return row.became or "accepted"


def _why(row: HookRow) -> str:
    return row.why or row.became_why


def _is_hook(job: Job) -> bool:
    return job.schedule is not None and job.schedule.webhook is not None


def _url(settings: Settings, job: Job) -> JsonDict:
    hook, path = job.schedule.webhook if job.schedule else None, f"/hooks/{job.name}"
    return {
        "job": job.name,
        "source": hook.source.value if hook else None,
        "url": settings.ingress.url_of(path) if settings.ingress.listen or settings.ingress.public_url else None,
        "path": path,
        "secrets_from": [reference.source for reference in hook.secrets] if hook else [],
        "listens": settings.ingress.listen,
    }


def _url_cells(one: JsonDict) -> tuple[str, ...]:
    return str(one["job"]), str(one["source"]), str(one["url"] or one["path"]), ", ".join(_texts(one))


def _texts(one: JsonDict) -> list[str]:
    found = one["secrets_from"]
    return [str(text) for text in found] if isinstance(found, list) else []


def _body(file: Path | None) -> bytes:
    if file is None:
        return b"{}"
    try:
        return file.read_bytes()
    except OSError as exc:
        message = f"wanted a file that can be read: {exc.strerror or exc}"
        raise ConfigError(message, path=str(file), key="--file") from exc


def _object(text: str) -> object:
    try:
        return json_text.loads(text)
    except ValueError:
        return text
