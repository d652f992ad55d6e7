"""Run commands by bash with stub programs only, and tell what each ran and wrote. Runs alone, inside a confinement.

Reads a JSON object from standard input (`names` of stubs, `commands`, `variables`), writes a JSON list: for each
command the argument lists that programs were handed, the files that are there afterwards, what bash complained of.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

TOP = Path("/dev/shm")  # the confinement's own; everything else there is read-only
WORK, STUBS, LOG = TOP / "work", TOP / "stubs", TOP / "log"
STUB = '#!/bin/sh\nprintf \'%s\\0\' "$#" "${0##*/}" "$@" >>"$STUB_LOG"\n'
PATIENCE_S = 20.0


def main() -> None:
    asked = json.load(sys.stdin)
    WORK.mkdir()
    STUBS.mkdir()
    for name in asked["names"]:
        stub = STUBS / Path(name).name
        stub.write_text(STUB)
        stub.chmod(0o755)
    environment = {"PATH": str(STUBS), "HOME": "/dev/shm/home", "LC_ALL": "C.UTF-8", "STUB_LOG": str(LOG)}
    environment |= asked["variables"]
    json.dump([run(command, environment) for command in asked["commands"]], sys.stdout)


def run(command: str, environment: dict[str, str]) -> dict[str, object]:
    LOG.write_bytes(b"")
    ours, theirs = os.pipe()
    bash = subprocess.Popen(
        ["/bin/bash", "--norc", "--noprofile", "-p", "-c", command],
        cwd=WORK,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=(theirs,),
    )
    os.close(theirs)
    assert bash.stderr is not None
    complaints = bash.stderr.read()
    bash.wait()
    # Whatever bash left in the background holds the other end.
    ended = bool(select.select([ours], [], [], PATIENCE_S)[0])
    os.close(ours)
    files = _left_behind()
    text = complaints.decode(errors="replace") + ("" if ended else "/bin/bash: never ended")
    return {"ran": _ran(LOG.read_bytes()), "files": files, "complaints": text}


def _left_behind() -> list[str]:
    """Return the names of what was written, and remove it."""
    found = [path for path in (*WORK.iterdir(), *TOP.iterdir()) if path not in (WORK, STUBS, LOG)]
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return sorted(path.name for path in found)


def _ran(log: bytes) -> list[list[str]]:
    fields = iter(log.decode(errors="replace").split("\0")[:-1])
    return [[next(fields) for _ in range(int(count) + 1)] for count in fields]


if __name__ == "__main__":
    main()
