"""Answer commands over a Unix socket beside the database.

One question is one JSON line; its answer is one line that begins with `+` (the result) or `-` (the error). The
socket is mode 0600: who may connect may ask everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import get_type_hints

from pydantic import JsonValue, TypeAdapter, ValidationError, validate_call

from kova_auto.app.control import Control
from kova_auto.core.errors import ConfigError, KovaError
from kova_auto.core.value import Value

LOG = logging.getLogger(__name__)
LONGEST_LINE = 64 * 1024 * 1024
LONGEST_QUESTION = 4 * 1024 * 1024
LONGEST_PATH = 100  # Bytes that every kernel takes for a socket's name.
DESCRIPTORS = Path("/proc/self/fd")  # Linux: what a directory's descriptor stands for, under a short name.

METHODS = frozenset(name for name in dir(Control) if not name.startswith("_"))


class Question(Value):
    """Hold one question."""

    method: str
    params: dict[str, JsonValue]


def socket_path(data_dir: Path) -> Path:
    """Return where the service of a data directory listens."""
    return data_dir / "control.sock"


@contextlib.asynccontextmanager
async def listening(control: Control, path: Path) -> AsyncIterator[None]:
    """Answer questions until the block ends; the caller owns the database, so a socket left behind is stale.

    Raises:
        ConfigError: The path is too long for a socket of this system.
    """
    _clear(path)
    talks: set[asyncio.Task[None]] = set()

    def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(_talk(control, reader, writer))
        talks.add(task)
        task.add_done_callback(talks.discard)

    with short_name(path) as name:
        server = await asyncio.start_unix_server(welcome, sock=_bound(name), limit=LONGEST_QUESTION)
        try:
            yield
        finally:
            server.close()
            for task in tuple(talks):
                task.cancel()
            await asyncio.gather(*talks, return_exceptions=True)
            _clear(path)


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[Path]:
    """Give a name of a socket that its kernel takes, for as long as the block lasts: a long path is too much for it.

    Raises:
        ConfigError: There is none.
        OSError: The directory is not there.
    """
    if len(bytes(path)) <= LONGEST_PATH:
        yield path
        return
    if not DESCRIPTORS.is_dir():
        msg = f"the data directory's path is too long for a socket: {path}"
        raise ConfigError(msg, key="data_dir", hint=f"at most {LONGEST_PATH} bytes with the socket's own name")
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield DESCRIPTORS / str(directory) / path.name
    finally:
        os.close(directory)


def _clear(path: Path) -> None:
    path.unlink(missing_ok=True)


def _bound(name: Path) -> socket.socket:
    """Return a socket that is its owner's alone before anybody can connect to it."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        bound.bind(str(name))
        name.chmod(0o600)
    except OSError:
        bound.close()
        raise
    return bound


async def _talk(control: Control, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while line := await reader.readline():
            writer.write(await _answer(control, line) + b"\n")
            await writer.drain()
    except ValueError:
        writer.write(_error(KovaError(too_long("question", LONGEST_QUESTION))) + b"\n")
    except ConnectionError:
        LOG.debug("a client went away in the middle of a question")
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def too_long(what: str, limit: int) -> str:
    """Return what is said about a question or an answer that does not fit."""
    return f"the {what} is longer than {limit:,} bytes"


async def _answer(control: Control, line: bytes) -> bytes:
    """Return the answer's line; a question that cannot be answered gets an error and harms nothing."""
    try:
        question = Question.model_validate_json(line)
        if question.method not in METHODS:
            return _error(KovaError(f"the service knows no method {question.method!r}; is it of another version?"))
        ask = validate_call(getattr(control, question.method))
        answer = b"+" + _kind(question.method).dump_json(await ask(**question.params))
    except KovaError as exc:
        return _error(exc)
    except ValidationError as exc:
        return _error(KovaError(f"the service could not read the question: {_first(exc)}"))
    except Exception as exc:  # As in engine/service.py: whoever asks is told, and the service goes on.
        LOG.exception("a question could not be answered, for a reason that nobody foresaw")
        return _error(KovaError(f"internal error of the service: {type(exc).__name__}; its log says more"))
    if len(answer) >= LONGEST_LINE:
        return _error(KovaError(too_long("answer", LONGEST_LINE)))
    return answer


@cache
def _kind(method: str) -> TypeAdapter[object]:
    return TypeAdapter(get_type_hints(getattr(Control, method))["return"])


def _first(exc: ValidationError) -> str:
    problem = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    return ": ".join(part for part in (".".join(map(str, problem["loc"])), problem["msg"]) if part)


def _error(exc: KovaError) -> bytes:
    return b"-" + json.dumps({"error": type(exc).__name__, "message": str(exc)}).encode()
