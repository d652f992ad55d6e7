"""The first oracle: `bash --pretty-print` prints how bash parses a script, and runs nothing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence

from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.word import Lexed, Reading

BASH = "/bin/bash"
_CLEAN = {"LC_ALL": "C.UTF-8", "PATH": "/nowhere"}
_Read = Callable[[str], Reading]


def disagreements(commands: Sequence[str], read: _Read = lex) -> dict[str, str]:
    """Return the commands that `read` understands and bash parses otherwise, and how.

    All are put into one script, with a mark behind each. Where bash refuses one, or one swallows its mark, its own mark
    is the first that is missing; the others are asked anew.
    """
    found: dict[str, str] = {}
    left = [command for command in commands if isinstance(read(command), Lexed)]
    while left:
        blocks, complaint = _parsed(left)
        for command, block in zip(left, blocks, strict=False):
            if difference := _difference(read(command), read(block)):
                found[command] = difference
        if len(blocks) < len(left):
            found[left[len(blocks)]] = f"bash stops: {complaint}"
        left = left[len(blocks) + 1 :]
    return found


def _parsed(commands: Sequence[str]) -> tuple[list[str], str]:
    """Return what bash prints for each command, up to the first that it does not parse as a whole."""
    script = "".join(f"{command}\n: mark-{at}\n" for at, command in enumerate(commands))
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "--pretty-print", "/dev/stdin"],
        input=script.encode(),
        capture_output=True,
        env=_CLEAN,
        check=False,
        timeout=120,
    )
    parts = re.split(r"^: mark-(\d+)\n", done.stdout.decode(), flags=re.MULTILINE)
    blocks = []
    for at, (block, mark) in enumerate(zip(parts[0::2], parts[1::2], strict=False)):
        if int(mark) != at:
            break
        blocks.append(block)
    return blocks, done.stderr.decode()


def _difference(ours: Reading, canonical: Reading) -> str:
    if not isinstance(ours, Lexed) or not isinstance(canonical, Lexed):
        return f"{ours} is {canonical} to bash"
    if _shape(ours) != _shape(canonical):
        return f"{_shape(ours)} is {_shape(canonical)} to bash"
    return ""


def _shape(reading: Lexed) -> list[tuple[object, ...]]:
    return [
        (segment.depth, [word.raw for word in segment.words], [word.raw for word in segment.reads])
        for segment in reading.segments
    ]
