"""Commands are run for real here: bash, groups, signals, pipes and a parent that is killed."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.environment import MARKER
from kova_auto.tools.leftovers import Leader, kill_leftovers, started_of
from kova_auto.tools.process import BACKGROUND, Ended, Ending, Limits, Overflow, Process, bash_argv, run_process, spawn

FOREVER = "sleep 300"
DEFAULT = Limits()
QUICK = Limits(timeout_s=2, grace_s=60)
"""Enough for a busy machine to have bash begin, and end what is asked to."""
STUBBORN = Limits(timeout_s=2, grace_s=0.2)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="found through /proc")


def an_environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", MARKER: str(tmp_path), **more}


async def spawned(tmp_path: Path, command: str, limits: Limits = DEFAULT, *, spool: Path | None = None) -> Process:
    env = an_environment(tmp_path)
    return await spawn(bash_argv(command), env=env, cwd=tmp_path, token=str(tmp_path), limits=limits, spool=spool)


async def ran(
    tmp_path: Path,
    command: str,
    limits: Limits = DEFAULT,
    *,
    env: Mapping[str, str] | None = None,
    spool: Path | None = None,
) -> Ended:
    env = an_environment(tmp_path, **(env or {}))
    return await run_process(bash_argv(command), env=env, cwd=tmp_path, token=str(tmp_path), limits=limits, spool=spool)


async def is_alive(pid: int) -> bool:
    return await started_of(pid) != ""


def a_pipe(path: Path) -> Path:
    """Make a named pipe: who reads it waits until a command has written to it."""
    os.mkfifo(path)
    return path


@contextmanager
def somebody_else() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["/bin/sleep", "300"], start_new_session=True) as other:
        yield other
        other.kill()


async def test_output_and_errors_come_in_their_order_with_the_exit_code(tmp_path: Path) -> None:
    ended = await ran(tmp_path, "echo one; echo two >&2; echo three; exit 7")

    assert (ended.ending, ended.exit_code, ended.output.text()) == (Ending.EXITED, 7, "one\ntwo\nthree\n")


async def test_a_signal_is_told_as_a_shell_tells_it(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "kill -9 $$")).exit_code == 137


async def test_a_command_that_begins_with_a_dash_gives_the_shell_no_option(tmp_path: Path) -> None:
    ended = await ran(tmp_path, "-x; echo here")

    assert (ended.exit_code, ended.output.text()) == (0, "/bin/bash: line 1: -x: command not found\nhere\n")


async def test_a_command_has_nothing_to_read(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "readlink /dev/fd/0 || true; cat; echo done")).output.text().endswith("done\n")


async def test_a_command_starts_where_it_is_told(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "pwd")).output.text() == f"{tmp_path}\n"


async def test_no_start_up_file_or_function_replaces_a_program(tmp_path: Path) -> None:
    (tmp_path / "startup").write_text("echo from the start-up file\n")
    hostile = {"BASH_ENV": str(tmp_path / "startup"), "BASH_FUNC_true%%": "() { echo replaced; }"}

    assert (await ran(tmp_path, "true", env=hostile)).output.text() == ""


@on_linux
async def test_a_command_leads_its_own_session_and_group(tmp_path: Path) -> None:
    process = await spawned(tmp_path, "cut -d' ' -f5,6 < /proc/$$/stat")
    process.release()
    ended = await process.ended()

    assert ended.output.text().split() == [str(process.leader.pid)] * 2


@on_linux
async def test_nothing_of_ours_is_left_open_in_a_command(tmp_path: Path) -> None:
    ours = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(ours, True)
    try:
        ended = await ran(tmp_path, "for fd in {0..255}; do [ -e /proc/$$/fd/$fd ] && echo $fd; done")
    finally:
        os.close(ours)

    assert ended.output.text().split() == ["0", "1", "2"]


async def test_what_a_command_makes_is_private_and_its_core_is_not_kept(tmp_path: Path) -> None:
    assert (await ran(tmp_path, "umask; ulimit -c")).output.text().split() == ["0077", "0"]


async def test_a_command_runs_within_its_limits(tmp_path: Path) -> None:
    limits = Limits(timeout_s=10, file_bytes=64 << 10, processes=500)
    ended = await ran(tmp_path, "ulimit -f; ulimit -u; ulimit -t; head -c 100000 /dev/zero > big; wc -c < big", limits)

    processor_s = str(10 * (os.cpu_count() or 1) + 60)
    assert ended.output.text().split()[:3] == ["64", "500", processor_s]
    assert (tmp_path / "big").stat().st_size == 64 << 10


@pytest.mark.parametrize(
    "program", ["git --version", f"{sys.executable} -m pytest --version", "node -e 'console.log(1)'"]
)
async def test_usual_programs_work_within_the_default_limits(tmp_path: Path, program: str) -> None:
    ended = await ran(tmp_path, f"command -v {program.split(maxsplit=1)[0]} > /dev/null || exit 0; {program}")

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)


async def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"

    with pytest.raises(ToolFailedError, match=f"could not be started in {gone}: No such file or directory"):
        await run_process(bash_argv("true"), env={}, cwd=gone, token="t", limits=Limits())


async def test_both_ends_of_a_long_output_are_kept(tmp_path: Path) -> None:
    ended = await ran(tmp_path, "seq 100000", Limits(head_bytes=4, tail_bytes=7, timeout_s=30))

    assert ended.output.text() == "1\n2\n\n[... 588884 bytes left out ...]\n100000\n"


async def test_all_of_the_output_goes_to_the_spool(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    ended = await ran(tmp_path, "seq 100000", Limits(head_bytes=4, tail_bytes=4), spool=spool)

    assert (ended.ending, spool.read_text()) == (Ending.EXITED, "".join(f"{n}\n" for n in range(1, 100_001)))
    assert spool.stat().st_mode & 0o777 == 0o600


async def test_a_command_that_prints_without_end_is_ended(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    ended = await ran(tmp_path, "yes", Limits(spool_bytes=1 << 20, grace_s=60), spool=spool)

    assert (ended.ending, ended.exit_code, spool.stat().st_size) == (Ending.OVERFLOWED, 143, 1 << 20)


async def test_a_planted_spool_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "spool").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ToolFailedError):
        await ran(tmp_path, "echo x", spool=tmp_path / "spool")
    assert not (tmp_path / "elsewhere").exists()


async def test_a_command_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    ended = await ran(tmp_path, f"echo started; {FOREVER}", QUICK)

    assert (ended.ending, ended.exit_code, ended.output.text()) == (Ending.TIMED_OUT, 143, "started\n")
    assert QUICK.timeout_s <= ended.duration_s < 60


async def test_a_command_has_time_to_tidy_up(tmp_path: Path) -> None:
    ended = await ran(tmp_path, f"trap 'echo tidied; exit 3' TERM; {FOREVER} & wait", QUICK)

    assert (ended.ending, ended.exit_code, ended.output.text()) == (Ending.TIMED_OUT, 3, "tidied\n")


async def test_a_command_that_will_not_go_is_killed(tmp_path: Path) -> None:
    ended = await ran(tmp_path, f"trap '' TERM; while true; do {FOREVER}; done", STUBBORN)

    assert (ended.ending, ended.exit_code) == (Ending.TIMED_OUT, 137)


async def test_grandchildren_end_with_the_group(tmp_path: Path) -> None:
    ended = await ran(tmp_path, f"bash -c '{FOREVER} & echo $!; wait' & wait", QUICK)

    assert ended.ending is Ending.TIMED_OUT
    assert not await is_alive(int(ended.output.text()))


async def test_what_a_command_leaves_running_ends_after_it(tmp_path: Path) -> None:
    ended = await ran(tmp_path, f"{FOREVER} & echo $!")

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)
    assert ended.leftovers == (int(ended.output.text()),)
    assert not await is_alive(ended.leftovers[0])


@on_linux
async def test_an_unmarked_process_in_the_group_ends_after_its_leader(tmp_path: Path) -> None:
    ended = await ran(
        tmp_path, f"/usr/bin/env -i {FOREVER} & until grep -qa ^sleep /proc/$!/cmdline; do :; done; echo $!"
    )

    assert ended.leftovers == (int(ended.output.text()),)
    assert not await is_alive(ended.leftovers[0])


@on_linux
@pytest.mark.parametrize("ending", [Ending.EXITED, Ending.TIMED_OUT])
async def test_a_process_that_left_the_session_ends_too(tmp_path: Path, ending: Ending) -> None:
    leave = f"setsid --fork bash -c 'echo $$ > left; exec {FOREVER}'; until [ -s left ]; do :; done"
    ended = await ran(
        tmp_path, leave if ending is Ending.EXITED else f"{leave}; {FOREVER}", Limits(timeout_s=2, grace_s=0.2)
    )
    left = int((tmp_path / "left").read_text())

    assert (ended.ending, left in ended.leftovers) == (ending, True)
    assert not await is_alive(left)


async def test_cancelling_the_wait_ends_the_command_first(tmp_path: Path) -> None:
    said = a_pipe(tmp_path / "said")
    process = await spawned(tmp_path, f"{FOREVER} & echo $! > said; wait", Limits(grace_s=0.2))
    process.release()
    waiting = asyncio.create_task(process.ended())
    child = int(await asyncio.to_thread(said.read_text))
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert process.is_over
    assert [await is_alive(pid) for pid in (process.leader.pid, child)] == [False, False]


async def test_a_background_command_is_looked_at_and_stopped(tmp_path: Path) -> None:
    said = a_pipe(tmp_path / "said")
    process = await spawned(tmp_path, f"seq 200000; echo ready > said; {FOREVER}", BACKGROUND)
    process.release()
    await asyncio.to_thread(said.read_text)
    seen = process.output()  # all but what the pipe itself may still hold
    ended = await process.stop()

    assert (process.is_over, seen.head, len(seen.tail)) == (True, b"", 256 << 10)
    assert (ended.ending, ended.exit_code, ended.output.total_bytes) == (Ending.STOPPED, 143, 1_288_895)
    assert (ended.output.tail[-7:], await process.stop()) == (b"200000\n", ended)


async def test_a_background_command_may_print_more_than_is_kept(tmp_path: Path) -> None:
    limits = Limits(spool_bytes=1000, overflow=Overflow.ROLL, head_bytes=0, tail_bytes=5)
    ended = await ran(tmp_path, "seq 1000; echo last", limits, spool=tmp_path / "spool")

    assert (ended.ending, ended.output.tail, (tmp_path / "spool").stat().st_size) == (Ending.EXITED, b"last\n", 1000)


async def test_a_command_that_is_not_released_never_runs(tmp_path: Path) -> None:
    process = await spawned(tmp_path, "touch ran")
    waiting = await is_alive(process.leader.pid)
    ended = await process.stop()

    process.release()

    assert (waiting, ended.ending, (tmp_path / "ran").exists()) == (True, Ending.STOPPED, False)


async def test_the_leader_is_known_before_the_command_runs(tmp_path: Path) -> None:
    process = await spawned(tmp_path, "true")
    known = Leader(process.leader.pid, await started_of(process.leader.pid))
    await process.stop()

    assert process.leader == known
    assert os.getpid() != known.pid


# A service that announces a command, releases it where it is told to, and waits until it is killed.
SERVICE = """
import asyncio, json, sys
from pathlib import Path
from kova_auto.tools.environment import MARKER
from kova_auto.tools.process import Limits, bash_argv, spawn
async def main(cwd, released, command):
    env = {"PATH": "/usr/bin:/bin", MARKER: cwd}
    process = await spawn(bash_argv(command), env=env, cwd=Path(cwd), token=cwd, limits=Limits())
    if released:
        process.release()
    print(json.dumps([process.leader.pid, process.leader.started]), flush=True)
    await process.ended()
asyncio.run(main(sys.argv[1], sys.argv[2] == "released", sys.argv[3]))
"""


@contextmanager
def a_service(tmp_path: Path, fate: str, runs: str) -> Iterator[Leader]:
    """Run a service until it has announced a command; it is killed in the end, and its command waited for."""
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", SERVICE, str(tmp_path), fate, runs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as service:
        assert service.stdout
        yield Leader(*json.loads(service.stdout.readline()))
        service.kill()


def a_command_of_a_dead_service(tmp_path: Path, command: str = f"echo $$ > ran; exec {FOREVER}") -> Leader:
    said = a_pipe(tmp_path / "ran")
    with a_service(tmp_path, "released", command) as leader:
        assert said.read_text()
    return leader


@on_linux
def test_nothing_runs_where_the_service_dies_before_the_release(tmp_path: Path) -> None:
    with a_service(tmp_path, "waiting", "touch ran") as leader:
        waiting = os.pidfd_open(leader.pid)
    ended, _, _ = select.select([waiting], [], [], 60)
    os.close(waiting)

    assert (ended, (tmp_path / "ran").exists()) == ([waiting], False)


@on_linux
async def test_what_a_dead_service_left_running_is_found_and_ended(tmp_path: Path) -> None:
    leader = await asyncio.to_thread(a_command_of_a_dead_service, tmp_path)
    alive = await is_alive(leader.pid)
    found = await kill_leftovers(leader, "another mark")

    assert (alive, found, await is_alive(leader.pid)) == (True, (leader.pid,), False)


@on_linux
async def test_a_group_is_ended_though_its_leader_goes_first(tmp_path: Path) -> None:
    stubborn = "/usr/bin/env -i /bin/bash -c 'trap \"\" TERM; echo $$ > ran; while true; do sleep 300; done' & wait"
    leader = await asyncio.to_thread(a_command_of_a_dead_service, tmp_path, stubborn)
    found = await kill_leftovers(leader, "another mark", grace_s=0.1)

    assert leader.pid in found
    assert [await is_alive(pid) for pid in found] == [False] * len(found)
    assert len(found) >= 3


@on_linux
async def test_a_marked_process_is_ended_whatever_its_group(tmp_path: Path) -> None:
    leader = await asyncio.to_thread(a_command_of_a_dead_service, tmp_path)
    found = await kill_leftovers(Leader(1, "long ago"), str(tmp_path))

    assert (found, await is_alive(leader.pid)) == ((leader.pid,), False)


async def test_a_pid_that_was_given_to_another_is_left_alone(tmp_path: Path) -> None:
    with somebody_else() as other:
        found = await kill_leftovers(Leader(other.pid, "long ago"), str(tmp_path))
        alive = await is_alive(other.pid)

    assert (found, alive) == ((), True)
