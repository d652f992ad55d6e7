"""Start servers that others wrote, on loopback, and end them again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BIN = HERE / ".venv" / "bin"
NODE_MODULES = HERE / "node_modules"
SET_UP = """\
wanted the servers by others in tests/peers, found none; to set them up:
  python3 -m venv tests/peers/.venv
  tests/peers/.venv/bin/pip install --require-hashes -r .ci/peers.txt
  PATH="$PWD/tests/peers/.venv/bin:$PATH" npm ci --prefix tests/peers --ignore-scripts"""
PATIENCE_S = 60


def ask(url: str, body: object = None, *, method: str | None = None) -> Any:  # noqa: ANN401  # whatever JSON it is
    """Ask a server for JSON; a body is sent as JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


@contextmanager
def served(
    command: Sequence[str | Path], ready: str, log: Path, environ: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Run a server until the block ends.

    Args:
        command: Its program must be there, or the test fails and says how to set it up.
        ready: A URL that it answers once it is up, with any status but 503.
        log: Where its output goes.
        environ: Added to PATH and HOME.
    """
    assert Path(command[0]).exists(), SET_UP
    path = f"{BIN}{os.pathsep}{os.defpath}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={"PATH": path, "HOME": str(log.parent), **(environ or {})},
            start_new_session=True,
        )
        try:
            _await(process, ready, log)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(process: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(ready, timeout=5):
                return
        except urllib.error.HTTPError as exc:
            if exc.code != 503:  # It says itself that it is not up.
                return
        except OSError:
            pass
        time.sleep(0.1)
    msg = f"it did not come up in {PATIENCE_S} s: {log.read_text()}"
    raise AssertionError(msg)
