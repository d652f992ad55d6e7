"""Run what a page shows as its reader does: in bash, on a terminal, with a home directory that holds nothing else."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from pathlib import Path

from tests.support import ALONE

COLUMNS = 120
_LONGEST_S = 60


@dataclass(frozen=True)
class Shown:
    """Hold what a reader sees."""

    code: int
    text: str


def on_terminal(command: str, home: Path, *, cwd: Path | None = None) -> Shown:
    """Run a command line and return what the terminal shows of it."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    line = ["timeout", "--foreground", f"{_LONGEST_S}", "bash", "-euo", "pipefail", "-c", command]
    with subprocess.Popen(
        line,
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        cwd=cwd or home,
        env=environment(home),
        start_new_session=True,
    ) as process:
        os.close(slave)
        text = _read(master)
    os.close(master)
    return Shown(process.returncode, text.replace("\r\n", "\n"))


def environment(home: Path) -> dict[str, str]:
    """Return the variables of a plain login, the program under test first on the path."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    plain = {"LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": f"{COLUMNS}", "TZ": "UTC"}
    return {"HOME": str(home), "PATH": path, **plain, **ALONE}


def _read(master: int) -> str:
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(master, 65_536)
        except OSError:  # everybody who had the terminal is gone
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode()


def fits(wanted: str, shown: str) -> bool:
    """Say whether a page's output is what was shown: … stands for anything in a line, alone for any lines."""
    lines = [line.rstrip() for line in wanted.strip("\n").split("\n")]
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else f"{_pattern(line)}[ \t]*\n" for line in lines)
    return re.fullmatch(pattern, shown.strip("\n") + "\n") is not None


def _pattern(line: str) -> str:
    return ".*?".join(map(re.escape, line.split("…")))
