"""A home with scripted jobs, a receiver to tell, and programs that run beside the test."""

from __future__ import annotations

import asyncio
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from textwrap import dedent

from kova_auto.clock import SystemClock
from kova_auto.core.delivery.signature import SigningSecret, spell_secret
from kova_auto.delivery.receiver import Receiver
from tests.cli.command import Home
from tests.e2e.warm import Order, WarmProcess
from tests.support import ALONE, ROOT

SECRET = bytes(range(32))
SPELLED = spell_secret(SECRET)
WAIT_S = 120
COMMAND = (sys.executable, "-m", "kova_auto")

READS = """
[[turns]]
text = "I look."
[[turns.calls]]
id = "notes"
tool = "read"
args = { file_path = "notes.txt" }
[[turns]]
text = "It says: {{ results.notes.lines[0] }}"
"""
WRITES = """
[[turns]]
text = "I write."
[[turns.calls]]
id = "made"
tool = "write"
args = { file_path = "made.txt", content = "made\\n" }
[[turns]]
text = "{% if results.made.ok %}It is written.{% else %}It is not: {{ results.made.text }}{% endif %}"
"""
SLEEPS = """
[[turns]]
text = "I sleep."
[[turns.calls]]
id = "nap"
tool = "bash"
args = { command = "echo > asleep; sleep 600" }
[[turns]]
text = "The nap ended as {{ results.nap.status }}."
"""
ASLEEP = "asleep"
"""A pipe in the workspace, which the script that sleeps fills as it falls asleep."""
UNCONFINED = 'automation = "full"\n[permissions]\nsandbox = "off"\n'
"""Needs no confinement, which not every machine that runs tests can prove."""


@dataclass(frozen=True)
class Scene(Home):
    """Hold a home with a workspace in it."""

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.path), "PATH": os.defpath, **ALONE}

    @property
    def workspace(self) -> Path:
        return self.path / "work"

    @property
    def database(self) -> Path:
        return self.path / ".local" / "share" / "kova-auto" / "kova-auto.db"

    def scripted(self, name: str, script: str, more: str = "") -> None:
        """Write a job that a script plays; `more` are further keys and tables."""
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / "notes.txt").write_text("first line\nsecond line\n")
        self.job(name, f'prompt = "Look."\nworkspace = "{self.workspace}"\nscript = "{name}.script.toml"\n{more}')
        (self.jobs / f"{name}.script.toml").write_text(script)

    def sleeper(self) -> None:
        """Write the job that sleeps."""
        self.scripted("nap", SLEEPS, UNCONFINED)
        os.mkfifo(self.workspace / ASLEEP)

    def falls_asleep(self) -> None:
        """Wait until the command of the job that sleeps has begun; not for ever, should it have died."""
        pipe = os.open(self.workspace / ASLEEP, os.O_RDONLY | os.O_NONBLOCK)
        try:
            said, _, _ = select.select([pipe], [], [], WAIT_S)
            assert said, "the command never began"
        finally:
            os.close(pipe)

    def secret(self) -> None:
        """Write the endpoint's secret, for its owner alone."""
        path = self.config / "secret"
        path.touch(mode=0o600)
        path.write_text(SPELLED)

    def start(self, *args: str, **environ: str) -> Program:
        """Start the command beside the test, forked from a process that has it imported."""
        return Program(WarmProcess(Order([*args], {**self.environ, **environ}, f"{ROOT}")))

    def start_anew(self, *args: str, **environ: str) -> Program:
        """Start the command beside the test as a person does, from nothing."""
        return Program(
            subprocess.Popen(
                COMMAND + args,
                cwd=ROOT,
                env={**self.environ, **environ},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )


class Program:
    """Be a command that runs beside the test; it is killed where it does not come to what is waited for."""

    def __init__(self, process: subprocess.Popen[str] | WarmProcess) -> None:
        self.process = process
        self.notes = ""
        self._watchdog = threading.Timer(WAIT_S, process.kill)
        self._watchdog.start()

    def says(self, pattern: str) -> str:
        """Return the first line on standard error that holds this."""
        assert self.process.stderr
        for line in self.process.stderr:
            self.notes += line
            if re.search(pattern, line):
                return line
        message = f"wanted {pattern!r}, found {self.notes}"
        raise AssertionError(message)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        """Return the exit code, once it has ended."""
        out, err = self.process.communicate()
        self._watchdog.cancel()
        self.answer, self.notes = out, self.notes + err
        code = self.process.returncode
        assert code is not None
        return code


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Give a receiver that listens in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    receiver = Receiver((SigningSecret(SECRET),), SystemClock().now)
    try:
        asyncio.run_coroutine_threadsafe(receiver.__aenter__(), loop).result(WAIT_S)
        yield receiver
    finally:
        asyncio.run_coroutine_threadsafe(receiver.__aexit__(None, None, None), loop).result(WAIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def gone() -> Iterator[str]:
    """Give the address of a receiver that says that it is gone for good."""
    with HTTPServer(("127.0.0.1", 0), _Gone) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class _Gone(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # `http.server` finds it by this name.
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(410)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def endpoint(url: str, **keys: str) -> str:
    """Return settings with one endpoint, whose secret lies in a file beside them."""
    more = "".join(f"{key} = {value}\n" for key, value in keys.items())
    return dedent(f"""
        [endpoints.ci]
        url = "{url}"
        secret = {{ file = "secret" }}
        """) + (more or 'allow_http = true\nallow_cidrs = ["127.0.0.0/8"]\n')
