"""Runs a server on this machine and carries its messages, a line each, within bounds.

The process waits behind a gate until it is written down; its group is ended as a whole.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from kova_auto.core.mcp.listing import ending, seen
from kova_auto.tools.environment import MARKER
from kova_auto.tools.leftovers import Leader, end, started_of
from kova_auto.tools.mcp.launch import Program, Record
from kova_auto.tools.mcp.sieve import FloodError, Sieve

_GATE: Final = """
read -r word && [ "$word" = go ] || exit 125
ulimit -c 0
exec "$@"
"""
_SHELL: Final = ("/bin/bash", "--norc", "--noprofile", "-p", "-c", _GATE, "gate")
_CHUNK = 1 << 16
_TAIL_BYTES = 4_096
_TAIL_SHOWN = 600
_DEATH_S = 5.0
_LAST_WORDS_S = 0.5


class Stdio:
    """Hold one server's process and the streams of its messages."""

    def __init__(self, program: Program, record: Record, sieve: Sieve, *, max_line: int, grace_s: float) -> None:
        """Take what is to be started; `running` starts it.

        Args:
            program: The server.
            record: Where its process is written down.
            sieve: What its messages pass.
            max_line: Bytes of one message; a longer one ends the connection.
            grace_s: Between the polite signal and the other one.
        """
        self._program, self._record, self._sieve = program, record, sieve
        self._max_line, self._grace_s = max_line, grace_s
        self._stderr = bytearray()
        self._process: Process | None = None
        self._ended = asyncio.Event()
        self._is_stopping = self._ended_itself = False
        self._heard = 0
        self.fault = ""
        """What its output was ended for; empty where it was not."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[tuple[Any, Any]]:
        """Run it, and give the streams to and from it; the block's end is its own.

        Raises:
            OSError: It could not be started.
        """
        with ExitStack() as pipes:
            out, complaints = await _pipe(pipes), await _pipe(pipes)
            process, leader = await self._started(out.theirs, complaints.theirs)
            out.hand_over()
            complaints.hand_over()
            async with self._pumped(process, leader, out.reader, complaints.reader) as streams:
                yield streams

    @asynccontextmanager
    async def _pumped(
        self, process: Process, leader: Leader, out: asyncio.StreamReader, complaints: asyncio.StreamReader
    ) -> AsyncIterator[tuple[Any, Any]]:
        inward, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outward = anyio.create_memory_object_stream[SessionMessage](0)
        pumps = [
            asyncio.create_task(self._from_server(out, inward)),
            asyncio.create_task(self._to_server(process, outward, inward)),
            asyncio.create_task(self._complaints(complaints)),
            asyncio.create_task(self._death(process, inward)),
        ]
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                await self._stop(process, leader)
                for pump in pumps:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (inward, read, write, outward):
                stream.close()

    async def over(self) -> None:
        """Wait until it says nothing more."""
        await self._ended.wait()

    @property
    def ended_itself(self) -> bool:
        """Say whether it ended, or was ended for what it sent, before anybody stopped it."""
        return self._ended_itself

    def epitaph(self) -> str:
        """Say how it ended, and what it complained of last."""
        code = self._process.returncode if self._process else None
        how = self.fault or ("it ended" if code is None else f"it ended with exit code {code}")
        return f"{how}{self.remarks()}"

    def remarks(self) -> str:
        """Return what it wrote instead of a message, and what it complained of last, as clauses."""
        said = ending(" ".join(seen(self._stderr.decode(errors="replace")).split()), _TAIL_SHOWN)
        wrote = seen(self._sieve.excerpt).strip()
        noise = f"; instead of a message it wrote {wrote!r}" if wrote else ""
        return noise + (f"; its last words: {said}" if said else "")

    async def _started(self, out: int, complaints: int) -> tuple[Process, Leader]:
        await self._record.end_leftover()
        process = await asyncio.create_subprocess_exec(
            *_SHELL,
            *self._program.argv,
            stdin=PIPE,
            stdout=out,
            stderr=complaints,
            env={**self._program.env, MARKER: self._record.token},
            cwd=self._program.cwd,
            start_new_session=True,
            umask=0o077,
        )
        self._process = process
        leader = Leader(process.pid, await started_of(process.pid))
        try:
            await asyncio.to_thread(self._record.write, leader)
        except BaseException:
            await self._stop(process, leader)
            raise
        if process.stdin:
            process.stdin.write(b"go\n")
        return process, leader

    async def _from_server(self, out: asyncio.StreamReader, inward: Any) -> None:  # noqa: ANN401  # the library's stream
        held = bytearray()
        try:
            while chunk := await out.read(_CHUNK):
                self._heard += 1
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    await self._take(bytes(held) + line, inward)
                    held.clear()
                held += rest
                self._bound(held)
        except FloodError as exc:
            self.fault = str(exc)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # Nobody reads any more.
        finally:
            self._end(inward)

    def _end(self, inward: Any) -> None:  # noqa: ANN401  # the library's stream
        """Tell everybody that nothing more is to be had of it."""
        if not self._ended.is_set():
            self._ended_itself = not self._is_stopping
            self._ended.set()
        inward.close()

    async def _death(self, process: Process, inward: Any) -> None:  # noqa: ANN401  # as above
        """Take it for over once its process has ended, though what that has started may hold its pipes open."""
        await process.wait()
        heard = -1
        while heard != self._heard and not self._ended.is_set():
            heard = self._heard
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), _LAST_WORDS_S)
        self._end(inward)

    def _bound(self, line: bytes | bytearray) -> None:
        if len(line) > self._max_line:
            message = f"it sent a message of more than {self._max_line} bytes"
            raise FloodError(message)

    async def _take(self, line: bytes, inward: Any) -> None:  # noqa: ANN401  # the library's stream
        self._bound(line)
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            self._sieve.drops(len(line), line)
            return
        head = message.model_dump(by_alias=True, exclude={"params", "result"}, exclude_unset=True)
        if self._sieve.passes(head, len(line)):
            await inward.send(SessionMessage(message))

    async def _to_server(self, process: Process, outward: Any, inward: Any) -> None:  # noqa: ANN401  # as above
        try:
            async for sent in outward:
                message = sent.message
                self._sieve.asks(message.model_dump(by_alias=True, exclude={"params"}, exclude_unset=True))
                line = message.model_dump_json(by_alias=True, exclude_unset=True)
                if process.stdin:
                    process.stdin.write(line.encode(errors="replace") + b"\n")
                    await process.stdin.drain()
        except OSError:
            with suppress(TimeoutError):  # It may have ended, which says more.
                await asyncio.wait_for(process.wait(), _LAST_WORDS_S)
            self.fault = self.fault or ("it reads no more of what it is sent" if process.returncode is None else "")
            self._end(inward)

    async def _complaints(self, complaints: asyncio.StreamReader) -> None:
        while chunk := await complaints.read(_CHUNK):
            self._stderr += chunk
            del self._stderr[:-_TAIL_BYTES]

    async def _stop(self, process: Process, leader: Leader) -> None:
        """End the whole group, and all that bears its mark, wherever it went."""
        self._is_stopping = True
        if process.stdin:
            process.stdin.close()
        await end(leader, self._record.token, grace_s=self._grace_s if process.returncode is None else 0)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _DEATH_S)
        await asyncio.to_thread(self._record.forget)


@dataclass(slots=True)
class _Pipe:
    """Hold a pipe from a process: its end, until it has it, and a reader of ours that can be closed."""

    theirs: int
    reader: asyncio.StreamReader

    def hand_over(self) -> None:
        """Leave its end to the process alone."""
        if self.theirs >= 0:
            os.close(self.theirs)
        self.theirs = -1


async def _pipe(undo: ExitStack) -> _Pipe:
    ours, theirs = os.pipe()
    reader = asyncio.StreamReader()
    pipe = _Pipe(theirs, reader)
    undo.callback(pipe.hand_over)
    file = undo.enter_context(os.fdopen(ours, "rb", buffering=0))
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    undo.callback(transport.close)
    return pipe
