"""Follow a page as a reader does: write its files, type its commands, compare what is shown."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.docs.pages import Block
from tests.docs.terminal import Shown, environment, fits, on_terminal
from tests.support.ports import free_port

PORT = "8080"  # what pages write; a test takes a free one
NOTHING = Shown(0, "")


@dataclass
class Reader:
    """Hold what one reader has done so far; used as a context, ends what runs beside."""

    home: Path
    cwd: Path | None = None
    shown: Shown = NOTHING
    _port: str = ""
    _beside: subprocess.Popen[str] | None = None
    _first: str = ""

    def __enter__(self) -> Self:
        self._port = str(free_port())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_beside()

    def follow(self, block: Block) -> None:
        """Do what one block says."""
        block = replace(block, text=block.text.replace(PORT, self._port))
        match block.mark:
            case "file":
                path = self.home / block.rest.removeprefix("~/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.text)
            case "run":
                self.shown = on_terminal(block.text, self.home, cwd=self.cwd)
                wanted = int(block.rest.removeprefix("exit ") or 0)
                assert (block.place, self.shown.code) == (block.place, wanted), self.shown.text
            case "run beside":
                self._begin_beside(block.text, block.rest)
            case "output":
                self._compare(block, self.shown.text)
            case "output beside":
                self._compare(block, self._end_beside())
            case _:
                pass

    def _compare(self, block: Block, shown: str) -> None:
        assert fits(block.text, shown), f"{block.place} shows\n{block.text}\nand it was\n{shown}"

    def _begin_beside(self, command: str, until: str) -> None:
        """Start a command that goes on, and wait for its first line, or one in its log that holds a word."""
        self._beside = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.home,
            env=environment(self.home),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if until else None,
            stdin=subprocess.DEVNULL,
            text=True,
        )
        assert self._beside.stdout is not None
        self._first = self._beside.stdout.readline()
        while until and until not in self._first.rpartition("\n")[0].rpartition("\n")[2]:
            line = self._beside.stdout.readline()
            assert line, f"it ended without a word of {until}: {self._first}"
            self._first += line

    def _end_beside(self) -> str:
        """End it, and return all that it printed."""
        if self._beside is None:
            return ""
        self._beside.terminate()
        rest, _ = self._beside.communicate()
        self._beside = None
        return self._first + rest
