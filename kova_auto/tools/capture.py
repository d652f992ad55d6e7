"""Keeps what a command printed: both ends in memory, all of it, up to a bound, in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True, slots=True)
class Output:
    """Hold both ends of what a command printed, stdout and stderr in the order they came."""

    head: bytes
    tail: bytes
    total_bytes: int

    @property
    def left_out_bytes(self) -> int:
        """Return how many bytes lie between the two ends."""
        return self.total_bytes - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Return both ends as text, with a line between them saying how much is left out."""
        if not self.left_out_bytes:
            return (self.head + self.tail).decode(errors="replace")
        head, tail = self.head.decode(errors="replace"), self.tail.decode(errors="replace")
        return f"{head}\n[... {self.left_out_bytes} bytes left out ...]\n{tail}"


class Capture:
    """Take a stream in chunks. The caller closes it."""

    def __init__(self, head_bytes: int, tail_bytes: int, *, spool: Path | None, spool_bytes: int) -> None:
        """Open `spool`, which must not exist, for this user only.

        Args:
            head_bytes: How much of the beginning is kept in memory.
            tail_bytes: How much of the end is kept in memory.
            spool: Where everything goes, in a directory that no command can write; None keeps the two ends only.
            spool_bytes: How much that file takes; what is beyond is counted, and overflows.
        """
        self._head_bytes, self._tail_bytes, self._spool_bytes = head_bytes, tail_bytes, spool_bytes
        self._head, self._tail, self._total = bytearray(), bytearray(), 0
        self._spool: BinaryIO | None = None
        if spool is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._spool = os.fdopen(os.open(spool, flags, 0o600), "wb")

    @property
    def overflowed(self) -> bool:
        """Say whether more came than the spool takes."""
        return self._total > self._spool_bytes

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the stream."""
        if self._spool is not None and (room := self._spool_bytes - self._total) > 0:
            self._spool.write(chunk[:room])
            self._spool.flush()  # what was printed is still there where this process is killed
        self._total += len(chunk)
        room = self._head_bytes - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._tail_bytes:
            self._trim()

    def output(self) -> Output:
        """Return what is known so far."""
        self._trim()
        return Output(bytes(self._head), bytes(self._tail), self._total)

    def close(self) -> None:
        """Close the spool; calling twice is safe."""
        if self._spool is not None:
            self._spool.close()

    def _trim(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_bytes)]
