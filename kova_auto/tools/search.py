"""Finds the lines that match, by a process that can be ended: ripgrep's, or one of our own.

Both are handed the same text, as an open file without a name, and both only say which lines match: so they give the
same answers, and neither looks for files.
"""

from __future__ import annotations

import os
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Self

from kova_auto.core.errors import ToolArgumentsError
from kova_auto.tools.child import run_child

_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
_MAX_OUTPUT_BYTES = 1024 * 1024
_SCAN = Path(__file__).with_name("scan.py")


@dataclass(frozen=True, slots=True)
class Question:
    """Hold what is searched for: a pattern in the common dialect, and how many lines at most."""

    pattern: str
    ignore_case: bool
    most: int


@dataclass(frozen=True, slots=True)
class Lines:
    """Hold a text as programs are handed it: in UTF-8, each of its lines ended; `count` is how many these are."""

    data: bytes
    count: int

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the lines of a text; none of an empty one."""
        data = text.encode()
        data = data if not data or data.endswith(b"\n") else data + b"\n"
        return cls(data, data.count(b"\n"))

    @property
    def text(self) -> str:
        """Return them as text."""
        return self.data.decode()


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the numbers of the lines that match, of each text; `complete` is False where the time was over."""

    lines: tuple[tuple[int, ...], ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Engine:
    """Search with one program; `command` returns its arguments but for the file."""

    command: Callable[[Question], Sequence[str]]

    async def search(self, question: Question, texts: Sequence[Lines], *, seconds: float) -> Answer:
        """Return which lines of the texts match.

        Raises:
            ToolArgumentsError: The pattern is too large for the program.
        """
        ends = list(accumulate(lines.count for lines in texts))
        if not ends or not ends[-1]:
            return Answer(((),) * len(texts))
        with _unnamed_file(b"".join(lines.data for lines in texts)) as fd:
            argv = [*self.command(question), f"/dev/fd/{fd}"]
            ended = await run_child(argv, env=_ENVIRONMENT, seconds=seconds, max_bytes=_MAX_OUTPUT_BYTES, fds=(fd,))
        if ended.code not in (None, 0, 1):
            said = ended.errors.decode(errors="replace").strip()[-500:]
            message = f"the pattern cannot be searched for: {said}"
            raise ToolArgumentsError(message)
        found: list[list[int]] = [[] for _ in texts]
        for number in _numbers(ended.output):
            at = bisect_right(ends, number - 1)
            found[at].append(number - (ends[at - 1] if at else 0))
        return Answer(tuple(map(tuple, found)), complete=ended.code is not None)


def ripgrep(program: str) -> Engine:
    """Return the engine of ripgrep, whose absolute path is given."""

    def command(question: Question) -> Sequence[str]:
        case = "--ignore-case" if question.ignore_case else "--case-sensitive"
        reading = "--no-config --no-mmap --no-ignore --text --encoding=none --threads=1"
        writing = "--line-buffered --no-filename --no-heading --line-number --color=never --max-columns=1"
        bounds = f"--max-count={question.most} --regex-size-limit=64M"
        return [program, *f"{reading} {writing} {bounds} {case}".split(), f"--regexp={question.pattern}", "--"]

    return Engine(command)


def own_engine(python: str = sys.executable) -> Engine:
    """Return the engine that needs nothing but Python."""

    def command(question: Question) -> Sequence[str]:
        case = "i" if question.ignore_case else "-"
        return [python, "-I", "-S", str(_SCAN), case, str(question.most), question.pattern]

    return Engine(command)


@contextmanager
def _unnamed_file(data: bytes) -> Iterator[int]:
    """Hold a content as an open file that no path leads to."""
    with ExitStack() as stack:
        if sys.platform == "linux":
            fd = os.memfd_create("text")
            stack.callback(os.close, fd)
        else:
            fd = stack.enter_context(tempfile.TemporaryFile(buffering=0)).fileno()
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left) :]
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd


def _numbers(output: bytes) -> Iterator[int]:
    """Yield the numbers of the lines; one that the program was ended in the middle of is left out."""
    for line in output.split(b"\n"):
        number, colon, _ = line.partition(b":")
        if colon and number.isdigit():
            yield int(number)
