"""Where log records go, and in which form."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kova_auto.cli.logs import JournalFormatter, goes_to_journal
from kova_auto.cli.systemd import notify


def record(level: int, message: str) -> logging.LogRecord:
    return logging.LogRecord("kova_auto.engine", level, __file__, 1, message, None, None)


def test_the_journal_is_told_the_priority_of_every_line_and_no_time() -> None:
    formatter = JournalFormatter()
    assert formatter.format(record(logging.INFO, "fine")) == "<6>kova_auto.engine: fine"
    assert formatter.format(record(logging.WARNING, "one\ntwo")) == "<4>kova_auto.engine: one\n<4>two"
    assert formatter.format(record(logging.ERROR, "bad")) == "<3>kova_auto.engine: bad"


def test_only_the_very_stream_that_systemd_names_is_its_journal() -> None:
    status = os.fstat(2)
    assert goes_to_journal({"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"})
    assert not goes_to_journal({"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino + 1}"})
    assert not goes_to_journal({})


@pytest.fixture
def supervisor(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        sock.setblocking(False)
        yield sock


def test_a_supervisor_that_asks_is_told(supervisor: socket.socket) -> None:
    notify({"NOTIFY_SOCKET": supervisor.getsockname()}, "READY=1")
    assert supervisor.recv(100) == b"READY=1"


def test_a_supervisor_that_is_gone_harms_nothing(tmp_path: Path) -> None:
    notify({"NOTIFY_SOCKET": str(tmp_path / "nobody")}, "READY=1")
    notify({}, "READY=1")


@pytest.mark.skipif(not Path("/proc").exists(), reason="Linux alone knows abstract sockets")
def test_an_abstract_socket_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(f"\0kova-auto-test-{os.getpid()}")
        notify({"NOTIFY_SOCKET": f"@kova-auto-test-{os.getpid()}"}, "STOPPING=1")
        assert sock.recv(100) == b"STOPPING=1"
