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
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import get_type_hints

from pydantic import TypeAdapter, ValidationError, validate_call

from kova_auto.app.control import Control
from kova_auto.core.errors import ConfigError, KovaError

LOG = logging.getLogger(__name__)
LONGEST_LINE = 64 * 1024 * 1024
LONGEST_PATH = 100  # Bytes that every kernel takes for a socket's name.
DESCRIPTORS = Path("/proc/self/fd")  # Linux: what a directory's descriptor stands for, under a short name.

METHODS = frozenset(name for name in dir(Control) if not name.startswith("_"))


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
        server = await asyncio.start_unix_server(welcome, name, limit=LONGEST_LINE)
        _keep_to_owner(path)
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


def _keep_to_owner(path: Path) -> None:
    path.chmod(0o600)


async def _talk(control: Control, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while line := await reader.readline():
            writer.write(await _answer(control, line) + b"\n")
            await writer.drain()
    except (ConnectionError, ValueError):
        LOG.debug("a client went away in the middle of a question")
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def _answer(control: Control, line: bytes) -> bytes:
    """Return the answer's line; a question that cannot be answered gets an error and harms nothing."""
    try:
        question = json.loads(line)
        name, given = question["method"], question["params"]
        if name not in METHODS:
            return _error(KovaError(f"the service knows no method {name!r}; is it of another version?"))
        result = await validate_call(getattr(control, name))(**given)
        kind = get_type_hints(getattr(Control, name))["return"]
        return b"+" + TypeAdapter(kind).dump_json(result)
    except KovaError as exc:
        return _error(exc)
    except (ValidationError, ValueError, KeyError, TypeError) as exc:
        return _error(KovaError(f"the service could not read the question: {exc}"))


def _error(exc: KovaError) -> bytes:
    return b"-" + json.dumps({"error": type(exc).__name__, "message": str(exc)}).encode()
