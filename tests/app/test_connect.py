"""Reaching the service of some settings: the live one, or this process for its moment."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from kova_auto import __version__
from kova_auto.app.connect import SERVICE, connected, owning, reading
from kova_auto.app.control import Control, Placed, Status
from kova_auto.app.local import LocalAnswers
from kova_auto.app.remote import RemoteControl
from kova_auto.app.socket import DESCRIPTORS, METHODS, listening, socket_path
from kova_auto.core.errors import DatabaseInUseError, JournalBusyError
from kova_auto.core.ids import RunId
from kova_auto.settings.load import load_settings
from kova_auto.settings.model import Settings
from kova_auto.store.owner import Owner, acquire_owner
from tests.support import ALONE, at


class Clerk:
    """Answer who it is, and never say that anything happened."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def status(self) -> Status:
        return Status(pid=os.getpid(), version=__version__, started_at=at("06:00:00"), running=0, database="sqlite")

    async def events(self, run_id: RunId, after: int, wait_s: float, limit: int | None = None) -> tuple[Placed, ...]:
        self.asked.set()
        await asyncio.Event().wait()
        return ()


@asynccontextmanager
async def a_service(settings: Settings, clerk: Clerk, kind: str = SERVICE) -> AsyncIterator[None]:
    """Own the data directory and answer at its socket, as a service does."""
    with owned(settings, kind):
        async with listening(cast("Control", clerk), socket_path(settings.data_dir)):
            yield


def owned(settings: Settings, kind: str) -> Owner:
    owner = acquire_owner(settings.data_dir, kind=kind)
    assert isinstance(owner, Owner)
    return owner


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": os.defpath, **ALONE}


@pytest.fixture
def settings(environ: dict[str, str]) -> Settings:
    return load_settings(None, environ)


async def test_every_question_can_be_asked_at_the_socket() -> None:
    own = {name for name in vars(RemoteControl) if not name.startswith("_")} - {"connect", "close"}
    assert own == METHODS


async def test_without_a_service_this_process_is_the_owner_for_its_moment(
    settings: Settings, environ: dict[str, str]
) -> None:
    async with connected(settings, environ, kind="run") as connection:
        assert connection.house is not None
        assert (await connection.control.status()).pid == os.getpid()
        async with connected(settings, environ, kind="runs") as other:
            assert other.house is None
            assert await other.control.runs(None, unfinished=False, limit=5) == ()
    owned(settings, "next").release()


async def test_a_live_service_is_asked(settings: Settings, environ: dict[str, str]) -> None:
    async with a_service(settings, Clerk()), connected(settings, environ, kind="run", drives=True) as connection:
        assert (await connection.control.status()).started_at == at("06:00:00")
        assert connection.house is None


async def test_a_second_service_is_told_who_is_the_first(settings: Settings, environ: dict[str, str]) -> None:
    async with a_service(settings, Clerk()):
        with pytest.raises(DatabaseInUseError, match=f"process {os.getpid()} is a kova-auto serve of"):
            async with owning(settings, environ):
                pass


async def test_who_would_drive_a_run_waits_for_the_end_of_another_command(
    settings: Settings, environ: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    other = owned(settings, "run")
    asyncio.get_running_loop().call_later(0.01, other.release)
    async with connected(settings, environ, kind="run", drives=True) as connection:
        assert connection.house is not None
    assert f"process {os.getpid()} (kova-auto run) has the database; waiting for its end" in caplog.messages


async def test_an_owner_that_does_not_answer_yet_is_asked_again(settings: Settings, environ: dict[str, str]) -> None:
    other = owned(settings, "runs")
    asyncio.get_running_loop().call_later(0.01, other.release)
    async with reading(settings, environ, kind="runs") as answers:
        assert await answers.runs(None, unfinished=False, limit=5) == ()


async def test_only_to_read_no_house_is_built(settings: Settings, environ: dict[str, str]) -> None:
    async with reading(settings, environ, kind="runs") as answers:
        assert type(answers) is LocalAnswers


async def test_a_question_that_was_cut_off_spoils_no_other(settings: Settings) -> None:
    clerk = Clerk()
    async with a_service(settings, clerk):
        control = await RemoteControl.connect(socket_path(settings.data_dir))
        waiting = asyncio.create_task(control.events(RunId("a"), 0, 10))
        await clerk.asked.wait()
        waiting.cancel()
        assert (await control.status()).pid == os.getpid()
        await control.close()


async def test_a_service_that_ends_in_the_middle_of_a_question_is_an_error_and_its_return_is_noticed(
    settings: Settings,
) -> None:
    clerk = Clerk()
    async with a_service(settings, clerk):
        control = await RemoteControl.connect(socket_path(settings.data_dir))
        waiting = asyncio.create_task(control.events(RunId("a"), 0, 10))
        await clerk.asked.wait()
    with pytest.raises(JournalBusyError, match="went away"):
        await waiting
    with pytest.raises(JournalBusyError, match="does not answer"):
        await control.status()
    async with a_service(settings, Clerk()):
        assert (await control.status()).pid == os.getpid()
        await control.close()


@pytest.mark.skipif(not DESCRIPTORS.is_dir(), reason="elsewhere a long path is refused")
async def test_a_data_directory_may_lie_deep(tmp_path: Path) -> None:
    settings = load_settings(None, {"HOME": str(tmp_path / ("deep" * 40))})
    async with a_service(settings, Clerk()):
        control = await RemoteControl.connect(socket_path(settings.data_dir))
        assert (await control.status()).pid == os.getpid()
        assert stat.S_IMODE(socket_path(settings.data_dir).stat().st_mode) == 0o600
        await control.close()
    assert not socket_path(settings.data_dir).exists()
