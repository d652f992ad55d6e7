"""Finds the lines that match, by a process that can be ended: ripgrep's, or one of our own.

Both are handed the same texts, as open files without a name, and both only say which lines match: so they give the
same answers, and neither opens anything.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ToolArgumentsError
from kova_auto.tools.child import run_child

_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_SCAN = Path(__file__).with_name("scan.py")


@dataclass(frozen=True, slots=True)
class Question:
    """Hold what is searched for; `pattern` is in the common dialect, `most` counts the lines of each file."""

    pattern: str
    ignore_case: bool
    most: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold the numbers of the lines that match, of each text; `complete` is False where the time was over."""

    lines: tuple[tuple[int, ...], ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Engine:
    """Search with one program; `command` returns its arguments but for the files."""

    command: Callable[[Question], Sequence[str]]

    async def search(self, question: Question, texts: Sequence[str], *, seconds: float) -> Answer:
        """Return which lines of the texts match.

        Raises:
            ToolArgumentsError: The pattern is too large for the program.
        """
        if not texts:  # ripgrep without a file would search a whole directory
            return Answer(())
        with _unnamed_files(texts) as fds:
            names = [f"/dev/fd/{fd}" for fd in fds]
            argv = [*self.command(question), *names]
            ended = await run_child(argv, env=_ENVIRONMENT, seconds=seconds, max_bytes=_MAX_OUTPUT_BYTES, fds=fds)
        if ended.code not in (None, 0, 1):
            said = ended.errors.decode(errors="replace").strip()[-500:]
            message = f"the pattern cannot be searched for: {said}"
            raise ToolArgumentsError(message)
        found: dict[str, list[int]] = {name: [] for name in names}
        for name, number in _matches(ended.output):
            found.setdefault(name, []).append(number)
        return Answer(tuple(tuple(sorted(found[name])) for name in names), complete=ended.code is not None)


def ripgrep(program: str) -> Engine:
    """Return the engine of ripgrep, whose absolute path is given."""

    def command(question: Question) -> Sequence[str]:
        case = "--ignore-case" if question.ignore_case else "--case-sensitive"
        reading = "--no-config --no-messages --no-mmap --no-ignore --text --encoding=none --threads=1"
        writing = "--null --line-buffered --with-filename --no-heading --line-number --color=never --max-columns=1"
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
def _unnamed_files(texts: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Hold the texts as open files that no path leads to."""
    with ExitStack() as stack:
        fds = tuple(_unnamed_file(stack) for _ in texts)
        for fd, text in zip(fds, texts, strict=True):
            left = memoryview(text.encode())
            while left:
                left = left[os.write(fd, left) :]
            os.lseek(fd, 0, os.SEEK_SET)
        yield fds


def _unnamed_file(stack: ExitStack) -> int:
    if sys.platform == "linux":
        fd = os.memfd_create("text")
        stack.callback(os.close, fd)
        return fd
    return stack.enter_context(tempfile.TemporaryFile(buffering=0)).fileno()


def _matches(output: bytes) -> Iterator[tuple[str, int]]:
    for line in output.split(b"\n"):
        name, _, rest = line.partition(b"\0")
        number = rest.partition(b":")[0]
        if number.isdigit():
            yield name.decode(errors="replace"), int(number)
