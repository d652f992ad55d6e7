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
from kova_auto.core.approval.safe_commands import COMMANDS
from kova_auto.core.approval.safe_table import Option, Style, Table, reader

PARTS = 4
OPERANDS = ("a.txt", "src", "HEAD", "main", "v1", "newname", "HEAD~1", "'x y'", "+%F", "10", ".", "HEAD:a.txt", "--")
VALUES = (
    "5",
    "a",
    "newfile",
    "%h",
    "1,2",
    "main",
    "'2 days ago'",
    "-h",
    "+2",
    "1,2:a.txt",
    "short",
    "n",
    "out.txt",
    "refname",
    "1p",
    ".a",
)
# They ask other machines, or are programs of which the machine at hand may have any version.
ELSEWHERE = frozenset(("npm", "pip", "pip3", "cargo", "go", "node", "ruby", "perl", "python", "python3"))
SETUP = """
git init -q -b main && printf 'alpha\\nbeta\\n' > a.txt && mkdir src && printf 'import x\\n' > src/b.py && git add -A
git commit -q -m one && git tag v1 && git branch side && printf more >> a.txt && git commit -q -a -m two
printf stashed >> a.txt && git stash -q && printf dirty >> a.txt
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("seed", range(4))
def test_no_accepted_command_changes_a_file_or_starts_a_helper(seed: int, part: int, tmp_path: Path) -> None:
    work, stubs = tmp_path / "work", tmp_path / "stubs"
    work.mkdir()
    stubs.mkdir()
    for helper in ("gpg", "less", "more", "man", "pr", "ssh", "vi"):
        (stubs / helper).write_text(f"#!/bin/bash\ntouch {tmp_path}/{helper}.ran\n", encoding="utf-8")
        (stubs / helper).chmod(0o755)
    assert _run(SETUP, work, stubs) == 0
    before, chosen = _contents(tmp_path), [*_accepted(random.Random(seed))][part::PARTS]
    for command in chosen:
        _run(command, work, stubs)
        assert _contents(tmp_path) == before, command
    assert len(chosen) > 3000 / PARTS


def _accepted(source: random.Random) -> Iterator[str]:
    """Yield, for every option of every command, a command with it that the list accepts, if one is found soon."""
    for name, table in COMMANDS.items():
        if table.network or name[0] in ELSEWHERE:
            continue
        for option in sorted(reader(table).options):
            tries = (_command(source, name, table, option) for _ in range(20))
            yield from islice(filter(read_only, tries), 1)


def _command(source: random.Random, name: tuple[str, ...], table: Table, option: str) -> str:
    options = reader(table).options
    others = sorted(other for other, found in options.items() if not (found.kinds and found.waits))
    words = [_spelled(source, table, option, options[option])]
    words += source.choices([*OPERANDS, *others], k=source.randint(0, 2))
    source.shuffle(words)
    return " ".join([*name, *words])


def _spelled(source: random.Random, table: Table, option: str, found: Option) -> str:
    values = source.choices(VALUES, k=len(found.kinds))
    if not values:
        return option
    joined = f"{option}{'=' if option.startswith('--') or table.style is Style.GO else ''}{values[0]}"
    apart = " ".join([option, *values]) if found.waits else option
    return source.choice([joined, apart])


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
