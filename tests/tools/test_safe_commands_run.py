"""Each case that only reads is run for real: nothing in the workspace, in HOME or of the index changes.

The box is the one that may write the workspace, so that a write would be seen; what runs is the listed programs, and
in the place of all others on PATH a stub that leaves a file behind. (A program that is started by its whole path, as
`diff -l` starts `pr`, is not seen so.)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from kova_auto.core.approval.safe_commands import COMMANDS
from kova_auto.core.message import ResultStatus
from kova_auto.tools.commands import Commands
from kova_auto.tools.sandbox.plan import Level
from tests.tools.command_scenes import bash, some_commands
from tests.tools.tool_scenes import a_scene

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux"),
]

PARTS_OF_CASES = 5
CASES = Path(__file__).parents[1] / "cases"
SYSTEM = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")
# What listed programs are made of: `npm` is a script of node's, `egrep` one of grep's.
PARTS = ("env", "sh", "dash", "bash")
STUB = '#!/bin/bash\n: > "started-${0##*/}"\n'
SETUP = r"""
git init -q -b main && git config user.name Ann && git config user.email ann@example.org
git remote add origin https://example.org/app.git
mkdir -p src docs .github && printf '# App\n\nalpha\nbeta\ngamma\n' > README.md
printf 'alpha\nbeta\nbeta\r\n' > notes.txt
printf 'import os\n\n\ndef main():  # todo\n    return os\n' > src/app.py && printf 'import app\n' > src/b.py
printf 'ann\nbob\nbob\n' > names.txt && printf '3\n1\n2\n' > numbers.txt && printf 'a,2,x\nb,1,y\n' > data.csv
printf '{"name": "app", "version": "1.0.0", "scripts": {"test": "touch ran"}, "dependencies": {}}\n' > package.json
printf '[{"name": "a", "items": [1]}]\n' > items.json && printf '# c\n\n[a]\nb = 1\n' > settings.ini
printf 'ERROR one\nok\n' > app.log && printf 'alpha\n' > docs/index.md && cp data.csv data.txt && printf 'end\n' > f.txt
cp notes.txt a.txt && cp names.txt b.txt && printf 'module app\n\ngo 1.19\n' > go.mod
printf '[project]\nname = "app"\n' > pyproject.toml && printf 'build/\n' > .gitignore
printf '[package]\nname = "app"\nversion = "1.0.0"\n' > Cargo.toml
printf 'version = 3\n\n[[package]]\nname = "app"\nversion = "1.0.0"\n' > Cargo.lock
printf 'fn main() {}\n' > src/main.rs
git add -A && git commit -q -m one && git tag v1.0 && git branch feature/x && printf 'delta\n' >> README.md
git commit -q -a -m 'two: a fix' && printf 'dirty\n' >> notes.txt && git stash -q && printf 'more\n' >> notes.txt
touch -d '2 days ago' *.* src/* && git update-index -q --refresh || true
"""


def _commands() -> list[str]:
    rows = [json.loads(line) for name in ("shell_safe.jsonl", "shell_safe_more.jsonl") for line in _lines(name)]
    return [row["command"] for row in rows if row["safe"]]


def _lines(name: str) -> list[str]:
    return (CASES / name).read_text(encoding="utf-8").splitlines()


def a_farm(top: Path) -> Path:
    """Make a directory that holds the listed programs, and a stub by each other name on the system's PATH."""
    farm = top / "farm"
    farm.mkdir()
    stub = farm / "a-stub"
    stub.write_text(STUB, encoding="utf-8")
    stub.chmod(0o755)
    listed = {name[0] for name in COMMANDS} | set(PARTS)
    for place in map(Path, SYSTEM):
        for program in place.iterdir() if place.is_dir() else ():
            if not (link := farm / program.name).is_symlink():
                link.symlink_to(program if program.name in listed else stub)
    return farm


def a_repository(top: Path) -> Path:
    work = top / "work"
    work.mkdir()
    env = {"PATH": ":".join(SYSTEM), "HOME": str(top), "LC_ALL": "C.UTF-8"}
    subprocess.run(["/bin/bash", "-e", "-c", SETUP], cwd=work, env=env, check=True, capture_output=True, timeout=60)
    return work


@pytest.fixture
async def commands(tmp_path: Path) -> AsyncIterator[Commands]:
    """Yield what runs commands with nothing but the listed programs, and end what it left running."""
    made = some_commands(tmp_path, programs=[a_farm(tmp_path)])
    yield made
    await made.close()


def _contents(top: Path) -> dict[str, tuple[int, int, str]]:
    return {
        str(path.relative_to(top)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(top.rglob("*"))
    }


@pytest.mark.parametrize("part", range(PARTS_OF_CASES))
async def test_no_listed_case_changes_a_byte_or_starts_an_unlisted_program(
    commands: Commands, tmp_path: Path, part: int
) -> None:
    work, numbers, done = a_repository(tmp_path), count(1), 0
    before = _contents(work)
    for command in _commands()[part::PARTS_OF_CASES]:
        output = await bash(commands, a_scene(work, call_id=f"{next(numbers)}.1"), command, level=Level.WORKSPACE)
        home = sorted(path.name for homes in (tmp_path / "service").rglob("home") for path in homes.iterdir())
        assert (_contents(work), home) == (before, []), command
        done += output.result.status is ResultStatus.OK
    assert done > 150 / PARTS_OF_CASES


@pytest.mark.parametrize(
    "command",
    [
        "git branch new",
        "git log --output=x",
        "git describe --dirty",
        "sort -o x a.txt",
        "uniq a.txt x",
        "sed -n 'w x' a.txt",
        "find . -name a.txt -delete",
        "rg --pre less alpha",
        "find . -name a.txt -exec less {} +",
    ],
)
async def test_what_is_left_off_the_list_would_be_seen(commands: Commands, tmp_path: Path, command: str) -> None:
    work = a_repository(tmp_path)
    _make_index_stale(work)
    before = _contents(work)
    await bash(commands, a_scene(work), command, level=Level.WORKSPACE)
    assert _contents(work) != before


@pytest.mark.parametrize("command", ["git diff", "git diff --stat HEAD", "git status"])
async def test_a_stale_index_stays_as_it_is_where_a_command_may_only_read(
    commands: Commands, tmp_path: Path, command: str
) -> None:
    work = a_repository(tmp_path)
    _make_index_stale(work)
    before = _contents(work)
    output = await bash(commands, a_scene(work), command, level=Level.READING)
    assert (output.result.status, _contents(work)) == (ResultStatus.OK, before)


def _make_index_stale(work: Path) -> None:
    for path in work.glob("*.*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
