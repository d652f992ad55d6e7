"""Every listed option is really used, in commands made up at random: what is let through changes no file."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

import pytest

from kova_auto.core.approval.safe import read_only
from kova_auto.core.approval.safe_commands import COMMANDS, Reader

OPERANDS = ("a.txt", "src", "HEAD", "main", "v1", "newname", "HEAD~1", "'x y'", "+%F", "10", ".", "HEAD:a.txt", "--")
VALUES = ("5", "a", "newfile", "%h", "1,2", "main", "'2 days ago'", "-h", "+2", "1,2:a.txt", "short", "n", "out.txt")
SETUP = """
git init -q -b main && printf 'alpha\\nbeta\\n' > a.txt && mkdir src && printf 'import x\\n' > src/b.py && git add -A
git commit -q -m one && git tag v1 && git branch side && printf more >> a.txt && git commit -q -a -m two
printf stashed >> a.txt && git stash -q && printf dirty >> a.txt
"""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_accepted_command_changes_a_file_or_starts_a_helper(seed: int, tmp_path: Path) -> None:
    work, stubs = tmp_path / "work", tmp_path / "stubs"
    work.mkdir()
    stubs.mkdir()
    for helper in ("gpg", "less", "more", "man", "pr", "ssh", "vi"):
        (stubs / helper).write_text(f"#!/bin/bash\ntouch {tmp_path}/{helper}.ran\n", encoding="utf-8")
        (stubs / helper).chmod(0o755)
    assert _run(SETUP, work, stubs) == 0
    before, chosen = _contents(tmp_path), [*_accepted(random.Random(seed))]
    for command in chosen:
        _run(command, work, stubs)
        assert _contents(tmp_path) == before, command
    assert len(chosen) > 500


def _accepted(source: random.Random) -> Iterator[str]:
    """Yield, for every option of every command, a command with it that the list accepts, if one is found soon."""
    for name, reader in COMMANDS.items():
        for option in sorted({*reader.flags, *reader.joined, *reader.values}):
            tries = (_command(source, name, reader, option) for _ in range(20))
            yield from islice(filter(read_only, tries), 1)


def _command(source: random.Random, name: tuple[str, ...], reader: Reader, option: str) -> str:
    others = sorted({*reader.flags, *reader.joined})
    words = [_spelled(source, reader, option), *source.choices([*OPERANDS, *others], k=source.randint(0, 2))]
    source.shuffle(words)
    return " ".join([*name, *words])


def _spelled(source: random.Random, reader: Reader, option: str) -> str:
    value = source.choice(VALUES)
    joined = f"{option}={value}" if option.startswith("--") else f"{option}{value}"
    if option in reader.values:
        return source.choice([joined, f"{option} {value}"])
    return source.choice([option, joined]) if option in reader.joined else option


def _run(command: str, work: Path, stubs: Path) -> int:
    env = {
        "PATH": f"{stubs}:/usr/bin:/bin",
        "HOME": str(work.parent),
        "LC_ALL": "C.UTF-8",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Ann"),
        **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ann@example.org"),
    }
    argv = ["/bin/bash", "--norc", "--noprofile", "-p", "-c", command]
    done = subprocess.run(
        argv, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    return done.returncode


def _contents(top: Path) -> dict[str, tuple[int, str]]:
    return {
        str(path): (path.lstat().st_mode, sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in top.rglob("*")
    }
