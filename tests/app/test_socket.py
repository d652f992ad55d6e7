"""What comes over the socket: garbage harms nobody, and every question gets one answer."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from kova_auto import __version__
from kova_auto.app.control import Control, RunAsk, Status
from kova_auto.app.local import LocalAnswers
from kova_auto.app.post import Post
from kova_auto.app.remote import PAGE, RemoteControl
from kova_auto.app.socket import LONGEST_QUESTION, listening
from kova_auto.core.errors import ConfigError, IllegalEventError, JournalBusyError, KovaError
from kova_auto.core.event import RunAcquired
from kova_auto.core.ids import RunId
from kova_auto.core.view import RunRow
from kova_auto.engine.bells import Bells
from tests.doubles.healths import MemoryHealths
from tests.doubles.hooks import MemoryHooks
from tests.doubles.journal import MemoryJournal
from tests.support import a_request, at


class Clerk:
    """Answer one question well, and others badly."""

    def __init__(self) -> None:
        self.waiting, self.goes_on = asyncio.Event(), asyncio.Event()

    async def status(self) -> Status:
        return Status(pid=7, version=__version__, started_at=at("06:00:00"), running=0, database="sqlite")

    async def find(self, text: str) -> RunRow:
        if text == "twice":
            raise IllegalEventError("it was done already")  # noqa: EM101
        if text == "nowhere":
            raise ConfigError("there is none", path="a.toml", line=3, hint="make one")  # noqa: EM101
        raise ZeroDivisionError

    async def diff(self, run_id: RunId) -> str:
        self.waiting.set()
        await self.goes_on.wait()
        return run_id


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "control.sock"


@asynccontextmanager
async def answering(path: Path, clerk: Clerk | None = None) -> AsyncIterator[RemoteControl]:
    async with listening(cast("Control", clerk or Clerk()), path):
        control = await RemoteControl.connect(path)
        yield control
        await control.close()


async def ask(path: Path, *pieces: bytes) -> bytes:
    """Send bytes, half-close, and return everything that is answered."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.writelines(pieces)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"nonsense\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"{}\n",
        b'{"method": ["status"], "params": {}}\n',
        b'{"method": "status", "params": [1]}\n',
        b'{"method": "status", "params": {"more": 1}}\n',
        b'{"method": "__init__", "params": {}}\n',
        b'{"method": "find", "params": {}}\n',
        b'{"method": "find", "params": {"text": 3}}\n',
        b'{"method": "status", "params": {}, "more": 1}\n',
        b"[" * 100_000 + b"\n",
        b'{"method": "sta',
    ],
    ids=range(14),
)
async def test_a_question_that_is_none_gets_an_error_and_spoils_no_other(path: Path, line: bytes) -> None:
    async with answering(path) as control:
        answers = (await ask(path, line)).splitlines()
        assert [answer[:1] for answer in answers] == ([b"-"] if line else [])
        assert all(json.loads(answer[1:])["error"] == "KovaError" for answer in answers)
        assert (await control.status()).pid == 7


async def test_a_question_that_is_too_long_is_refused_unread(path: Path) -> None:
    async with answering(path) as control:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"x" * (2 * LONGEST_QUESTION + 1))
        assert json.loads((await reader.readline())[1:])["message"] == "the question is longer than 4,194,304 bytes"
        writer.close()
        assert (await control.status()).pid == 7
        with pytest.raises(KovaError, match="the question is longer"):
            await control.find("x" * LONGEST_QUESTION)
        assert (await control.status()).pid == 7


async def test_an_error_comes_over_as_what_it_is(path: Path) -> None:
    async with answering(path) as control:
        with pytest.raises(IllegalEventError, match="it was done already"):
            await control.find("twice")
        with pytest.raises(ConfigError, match=r"^a\.toml:3: there is none \(make one\)$"):
            await control.find("nowhere")


async def test_a_failure_that_nobody_foresaw_is_told_and_logged(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with answering(path) as control:
        with pytest.raises(KovaError, match="internal error of the service: ZeroDivisionError; its log says more"):
            await control.find("else")
        assert (await control.status()).pid == 7
    assert "ZeroDivisionError" in caplog.text


async def test_two_clients_do_not_wait_for_each_other(path: Path) -> None:
    clerk = Clerk()
    async with answering(path, clerk) as one, _another(path) as two:
        slow = asyncio.create_task(one.diff(RunId("a")))
        await clerk.waiting.wait()
        assert (await two.status()).pid == 7
        clerk.goes_on.set()
        assert await slow == "a"


@asynccontextmanager
async def _another(path: Path) -> AsyncIterator[RemoteControl]:
    control = await RemoteControl.connect(path)
    yield control
    await control.close()


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        pytest.param(b'+{"pid": 7}\n', KovaError, "is it of another version", id="an answer of another version"),
        pytest.param(b"-[]\n", KovaError, "is it of another version", id="no error"),
        pytest.param(b'-{"error": "os", "message": "x"}\n', KovaError, "x", id="an error that nobody knows"),
        pytest.param(b'+{"pi', JournalBusyError, "went away", id="half an answer"),
        pytest.param(b"", JournalBusyError, "went away", id="none"),
    ],
)
async def test_what_a_service_answers_amiss_is_an_error_in_words(
    path: Path, answer: bytes, error: type[KovaError], said: str
) -> None:
    gone = asyncio.Event()

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(answer)
        writer.close()
        await writer.wait_closed()
        gone.set()

    server = await asyncio.start_unix_server(welcome, path)
    control = await RemoteControl.connect(path)
    with pytest.raises(error, match=said) as caught:
        await control.status()
    await control.close()
    await gone.wait()
    server.close()
    await server.wait_closed()
    assert type(caught.value) is error


async def test_the_socket_is_its_owner_s_alone_whatever_the_umask(path: Path) -> None:
    before = os.umask(0)
    try:
        async with answering(path):
            mode = (await asyncio.to_thread(path.stat)).st_mode
    finally:
        os.umask(before)
    assert stat.S_IMODE(mode) == 0o600


async def test_a_socket_left_behind_is_in_nobody_s_way(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    async with answering(path) as control:
        assert (await control.status()).pid == 7
    assert not await asyncio.to_thread(path.exists)


@pytest.mark.parametrize(("limit", "count"), [(None, 2 * PAGE), (PAGE + 1, PAGE + 1), (1, 1)])
async def test_the_facts_of_a_long_run_come_in_pages(path: Path, limit: int | None, count: int) -> None:
    journal = MemoryJournal()
    state, _ = await journal.open(a_request("nightly@1"))
    for epoch in range(1, 2 * PAGE):
        state = await journal.append(state, RunAcquired(at=at("06:00:00"), epoch=epoch, worker="one"))
    post = Post(journal, journal, journal, MemoryHealths())
    answers = LocalAnswers(journal, journal, journal, Bells(), MemoryHooks(journal), post)

    async with answering(path, cast("Clerk", answers)) as control:
        found = await control.events(state.run_id, 0, 0, limit)
        assert [placed.seq for placed in found] == list(range(1, count + 1))
        assert await control.events(state.run_id, 2 * PAGE, 0) == ()


async def test_a_run_is_asked_for_with_everything_that_was_said(path: Path) -> None:
    asked: list[RunAsk] = []

    class Taker(Clerk):
        async def request(self, ask: RunAsk) -> RunRow:
            asked.append(ask)
            message = "not today"
            raise ConfigError(message)

    wish = RunAsk(job="/jobs/a.toml", key="k", asked_at=at("06:00:00"), inputs={"branch": "main"}, staged=True)
    async with answering(path, Taker()) as control:
        with pytest.raises(ConfigError, match="not today"):
            await control.request(wish)
    assert asked == [wish]
