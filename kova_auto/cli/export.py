"""`kova-auto runs export`: all that is on record of one run, for programs, people and tracing."""

from __future__ import annotations

import json as jsonlib
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.asking import ask
from kova_auto.cli.changes import RunArgument
from kova_auto.cli.frame import FAILED
from kova_auto.cli.options import ConfigOption, settings_of
from kova_auto.cli.output import complain, say
from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.zone import parse_zone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zoneinfo import ZoneInfo

    from kova_auto.app.control import Answers
    from kova_auto.app.exporting import Extract

EXPORT = """\
Write all that is on record of one run, and of its subagents.

json: its facts, its loop, everything that was said, and what its contents and requests hash to. md: a transcript to
read. otlp: spans for a collector of traces, in one line; what was said is in them only with --content.

--requests writes the bodies that providers were sent, byte for byte, each into a file of its own. Exit code 1: one of
them could not be written again as it was, or a content is not kept any more.
"""


class Format(StrEnum):
    """Name the forms in which a run can be written."""

    JSON = "json"
    MD = "md"
    OTLP = "otlp"


def export(
    run: RunArgument,
    *,
    form: Annotated[Format, typer.Option("--format", help="In which form.")] = Format.JSON,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write there; - or nothing: the terminal.", show_default=False
        ),
    ] = None,
    blobs: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the contents that the run points to there.", show_default=False),
    ] = None,
    requests: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the bodies that providers were sent there.", show_default=False),
    ] = None,
    content: Annotated[bool, typer.Option("--content", help="Of otlp: with what was said.")] = False,
    config: ConfigOption = None,
) -> None:
    """Write one run."""
    from kova_auto.app.exporting import extract_of

    if content and form is not Format.OTLP:
        message = f"wanted --format otlp with it, found {form}: there, what was said is always in it"
        raise ConfigError(message, key="--content")
    settings = settings_of(config)

    async def question(answers: Answers) -> Extract:
        whole = form is Format.JSON
        return await extract_of(answers, run, sizes=whole, contents=blobs is not None, bodies=requests is not None)

    extract = ask(settings, question, kind="runs")
    text = _text(extract, form, settings.timezone, content=content)
    if output is None or str(output) == "-":
        say(text)
    else:
        _write(output, f"{text}\n".encode())
    if not _write_beside(extract, requests, blobs):
        raise typer.Exit(FAILED)


def _write_beside(extract: Extract, requests: Path | None, blobs: Path | None) -> bool:
    """Write what a run and its subagents point to, of each subagent the bodies in a directory named as its call."""
    is_whole = _write_bodies(extract, requests) if requests else True
    if blobs and not _write_blobs(extract, blobs):
        is_whole = False
    for child in extract.children:
        by = child.state.request.child_of
        beneath = requests / by.call_id if requests and by else None
        is_whole = _write_beside(child, beneath, blobs) and is_whole
    return is_whole


def _text(extract: Extract, form: Format, timezone: str, *, content: bool) -> str:
    from kova_auto.app.exporting import export_of, traces_of

    match form:
        case Format.JSON:
            return jsonlib.dumps(export_of(extract).model_dump(mode="json"), indent=2, ensure_ascii=False)
        case Format.OTLP:
            return jsonlib.dumps(traces_of(extract, content=content), ensure_ascii=False)
        case Format.MD:
            return "\n\n".join(_paragraphs(extract, parse_zone(timezone)))


def _paragraphs(extract: Extract, zone: ZoneInfo) -> Iterator[str]:
    """Yield a run's transcript, and behind it those of its subagents."""
    from kova_auto.core.loop.view import loop_view
    from kova_auto.core.transcript.markdown import markdown
    from kova_auto.core.transcript.told import told_in

    yield from markdown(extract.state, loop_view(extract.events, extract.others), told_in(extract.events), zone)
    for child in extract.children:
        yield from _paragraphs(child, zone)


def _write_bodies(extract: Extract, directory: Path) -> bool:
    """Write the bodies, and say of each that is not what was sent; say whether there is none."""
    from kova_auto.app.exporting import name_of

    exact = 0
    for body in extract.bodies:
        if body.data is not None:
            _write(directory / name_of(body), body.data)
        if body.is_exact:
            exact += 1
        elif body.data is None:
            complain(f"{name_of(body)}: this version does not know how it was worded", "not written")
        elif body.is_exact is None:
            complain(f"{name_of(body)}: its process died, so that nobody knows whether it was sent like this", "note")
        else:
            complain(
                f"{name_of(body)}: it is not what was sent: {_why_not(body.sent and body.sent.wording)}", "differs"
            )
    if extract.bodies:
        complain(f"{exact} of {len(extract.bodies)} bodies are on record and the same to the byte", "note")
    else:
        complain(
            "no body is on record: a script was played, or a model in this process; older versions kept none", "note"
        )
    return all(body.is_exact is not False for body in extract.bodies)


def _why_not(wording: object) -> str:
    return (
        "a secret is left out of it, or another version wrote it" if wording else "how it was worded is not on record"
    )


def _write_blobs(extract: Extract, directory: Path) -> bool:
    """Write the contents under their hashes, and say of each that is gone; say whether there is none."""
    for key, data in extract.contents.items():
        if not (directory / key).exists():
            _write(directory / key, data)
    gone = [ref for ref in extract.blobs if ref.hash not in extract.contents]
    for ref in gone:
        complain(f"{ref.hash} ({ref.use} {ref.name})", "not kept any more")
    return not gone


def _write(path: Path, data: bytes) -> None:
    """Write a new file that nobody else can read.

    Raises:
        ConfigError: It is there already, or cannot be written.
    """
    try:
        _make(path.parent)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError as exc:
        hint = "nothing is overwritten: move it away, or choose another name"
        msg = "wanted a new file, found one that is there already"
        raise ConfigError(msg, path=str(path), hint=hint) from exc
    except OSError as exc:
        msg = f"wanted to write it: {exc.strerror or exc}"
        raise ConfigError(msg, path=str(path)) from exc


def _make(directory: Path) -> None:
    """Make a directory, where there is none."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except FileExistsError as exc:
        raise NotADirectoryError(exc.errno, "a file is where its directory should be") from exc
