"""Runs the commands of all runs: each in its confinement, settled when it is over, and those that were left running.

Whatever happens in between, a command that was spawned is ended and settled: by whoever waits for it, at its run's end,
or, after this process was killed, by the next one, which finds the note that lies beside what was printed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from kova_auto.core.approval.levels import AutomationLevel, Mode
from kova_auto.core.errors import ConfigError, ToolFailedError
from kova_auto.core.event import ProcessStarted
from kova_auto.core.gateway import Door, Gateway
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.secret import SecretRef
from kova_auto.core.tool import ProcessAnnounced, Scene
from kova_auto.tools.environment import clean_environment
from kova_auto.tools.leftovers import Leader, kill_leftovers
from kova_auto.tools.printed import Finished
from kova_auto.tools.process import Limits, Process, bash_argv, spawn
from kova_auto.tools.run_dirs import RunDirs
from kova_auto.tools.sandbox.confiners import Confined, Confiner
from kova_auto.tools.sandbox.others import others
from kova_auto.tools.sandbox.plan import Confinement, Level, Policy, Refusal
from kova_auto.tools.sandbox.select import Sandbox

MAX_LEFT = 16
"""So many commands a run may have in the background at a time."""


@dataclass(frozen=True, slots=True)
class Host:
    """Hold what commands are given of this machine.

    Attributes:
        base: Directory of the service's own, below a hidden one, for what runs need while they go on.
        environment: The service's environment; only harmless variables of it pass.
        hidden: What no command sees.
        toolchains: Programs below a hidden directory that are to be seen.
        gateway: Gives a command its network, where its job wants one.
        job_dirs: Directories of job files, besides that of a run's own job.
        secret: Returns the value of a job's `[env]` entry, or raises ConfigError.
        others: Returns the workspaces of all jobs that are known; a command sees none but its own.
    """

    base: Path
    environment: Mapping[str, str]
    hidden: tuple[Path, ...]
    toolchains: tuple[Path, ...]
    secret: Callable[[SecretRef], str]
    gateway: Gateway
    job_dirs: tuple[Path, ...] = ()
    others: Callable[[], Iterable[Path]] = tuple


class Running:
    """Hold one spawned command until it is settled; as a context, it sees to that unless the command is `kept`."""

    def __init__(
        self,
        process: Process,
        limits: Limits,
        spool: Path,
        tidy: Callable[[], tuple[str, ...]],
        door: Door | None = None,
    ) -> None:
        """Take over a process and its way to the network; `tidy` is called once, when all of it is gone."""
        self.process, self.limits, self.spool = process, limits, spool
        self.kept = False
        self._door = door
        self._tidy = tidy
        self._settling: asyncio.Task[tuple[str, ...]] | None = None

    def announced(self, *, background: bool) -> ProcessAnnounced:
        """Return what is to be written down before the command is released."""
        return ProcessAnnounced(self.process.leader.pid, self.process.leader.started, background)

    def refused(self) -> tuple[str, ...]:
        """Return what the network refused it so far, one line each."""
        return self._door.told() if self._door else ()

    async def finished(self) -> Finished:
        """Wait for the end, and settle. Cancelling the wait ends the command first.

        Raises:
            ToolFailedError: The output could not be kept.
        """
        try:
            ended = await self.process.ended()
        finally:
            set_aside = await self.settle()
        return Finished(ended, set_aside, self.refused())

    async def settle(self) -> tuple[str, ...]:
        """End it if it still runs, tidy up, and return the control files that it added. Safe to call twice."""
        if self._settling is None:
            self._settling = asyncio.create_task(self._settle())
        return await asyncio.shield(self._settling)

    async def _settle(self) -> tuple[str, ...]:
        with suppress(ToolFailedError):  # the output could not be kept: said to whoever waits for it
            await self.process.stop()
        if self._door:
            await self._door.close()
        return await asyncio.to_thread(self._tidy)

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End and settle what nobody keeps."""
        if not self.kept:
            await self.settle()


class Left:
    """Hold a command that goes on after its call."""

    def __init__(self, running: Running) -> None:
        """Watch over it from now on, so that it is settled as soon as it is over."""
        running.kept = True
        self.running = running
        self.over = asyncio.create_task(running.finished())

    async def stop(self) -> Finished:
        """End it, politely first, and say how it went. Calling twice is safe.

        Raises:
            ToolFailedError: The output could not be kept.
        """
        await self.running.process.stop()
        return await asyncio.shield(self.over)


@dataclass(frozen=True, slots=True)
class Remains:
    """Say what was found of a command that nobody waits for any more.

    Attributes:
        ended: How many of its processes were still there, and were ended.
        set_aside: Former paths of the control files that it had added.
        printed: What it printed, as far as it was kept; None where nothing was.
    """

    ended: int
    set_aside: tuple[str, ...]
    printed: bytes | None


class Commands:
    """Spawn commands, and know those that this process left running."""

    def __init__(self, sandbox: Sandbox, host: Host) -> None:
        """Take what confines, and what commands are given."""
        self._sandbox, self._host = sandbox, host
        self._left: dict[tuple[RunId, CallId], Left] = {}

    def dirs(self, run_id: RunId) -> RunDirs:
        """Return where a run keeps what it needs while it goes on."""
        return RunDirs(self._host.base, run_id)

    async def confinable(self, scene: Scene) -> tuple[frozenset[str], str]:
        """Return the confinements that are proven here, and why one is not; empty where all are.

        What cannot hold a job's commands to its network does not count: they would be run without it, and fail.
        """
        policy, network, levels = _policy(scene), _wants_network(scene), (Level.READING, Level.WORKSPACE)
        found = {level: await self._sandbox.select(policy, level, network=network) for level in levels}
        reasons = [chosen.reason for chosen in found.values() if isinstance(chosen, Refusal)]
        proven = frozenset(str(level) for level, chosen in found.items() if not isinstance(chosen, Refusal))
        return proven, reasons[0] if reasons else ""

    async def spawn(self, command: str, scene: Scene, level: Level, limits: Limits) -> Running:
        """Return a command behind its gate: announce it, then release it.

        Raises:
            ToolFailedError: It cannot be confined, or not be started.
        """
        making = asyncio.create_task(self._spawn(command, scene, level, limits))
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            with suppress(ToolFailedError):
                await (await making).settle()
            raise

    async def _spawn(self, command: str, scene: Scene, level: Level, limits: Limits) -> Running:
        networked = level is Level.WORKSPACE and _wants_network(scene)
        confiner = await self._sandbox.select(_policy(scene), level, network=networked)
        if isinstance(confiner, Refusal):
            raise ToolFailedError(confiner.reason)
        door = self._host.gateway.door(scene.job.permissions.network) if networked else None
        try:
            return await self._begin(command, scene, level, limits, confiner, door)
        except BaseException:
            if door:
                await door.close()
            raise

    async def _begin(
        self, command: str, scene: Scene, level: Level, limits: Limits, confiner: Confiner, door: Door | None
    ) -> Running:
        dirs, call = self.dirs(scene.run_id), scene.call_id
        token, spool = dirs.token(call), dirs.spool(call)
        with _in_words():
            confinement = await asyncio.to_thread(self._confinement, dirs, scene, level)
            confinement = replace(confinement, handover=door.descriptor if door else None)
            confined = await asyncio.to_thread(confiner.prepare, confinement, bash_argv(command), token)
            tidy = partial(_tidy, confiner, confined, dirs.note(call))
            try:
                await asyncio.to_thread(dirs.write_note, call, confined.controls)
                process = await spawn(
                    confined.argv,
                    env=confined.env,
                    cwd=confined.cwd,
                    token=token,
                    limits=limits,
                    spool=spool,
                    inherits=(*confined.inherits, *((door.descriptor,) if door else ())),
                )
            except BaseException:
                await asyncio.to_thread(tidy)
                raise
        if door:
            door.watch()
        return Running(process, limits, spool, tidy, door)

    def _confinement(self, dirs: RunDirs, scene: Scene, level: Level) -> Confinement:
        workspace = Path(scene.workspace)
        if not _is_still(workspace):
            message = f"the workspace {workspace} is not there any more, or a symbolic link leads to it"
            raise ToolFailedError(message)
        dirs.make(scene.job.workspace)
        write_roots = tuple(root for root in map(Path, scene.write_roots) if _is_still(root))
        read_roots = tuple(root for root in map(Path, scene.read_roots) if _is_still(root))
        own = (workspace, Path(scene.job.workspace), *write_roots, *read_roots)
        given = {name: self._host.secret(ref) for name, ref in scene.job.env.items()}
        return Confinement(
            level=level,
            workspace=workspace,
            temp=dirs.temp,
            cwd=workspace,
            cache=dirs.cache(scene.job.workspace),
            write_roots=write_roots,
            read_roots=read_roots,
            hidden=(*self._host.hidden, *others(self._host.others(), own)),
            toolchains=self._host.toolchains,
            job_dirs=(*self._host.job_dirs, Path(scene.job.path).parent),
            env=clean_environment(self._host.environment, given, untrusted=(workspace, *write_roots)),
        )

    def wants_room(self, scene: Scene) -> None:
        """Let a run leave one more command running.

        Raises:
            ToolFailedError: It has enough of them.
        """
        live = [call for (run, call), left in self._left.items() if run == scene.run_id and not left.over.done()]
        if len(live) >= MAX_LEFT:
            message = f"{len(live)} commands are running in the background ({', '.join(live)}); stop one with task_stop"
            raise ToolFailedError(message)

    def leave(self, scene: Scene, running: Running) -> None:
        """Let a command go on after its call, at most until the run ends."""
        self._left[scene.run_id, scene.call_id] = Left(running)

    def left(self, run_id: RunId, call_id: CallId) -> Left | None:
        """Return a command that this process left running; None for one of an earlier process, or none at all."""
        return self._left.get((run_id, call_id))

    async def recover(self, scene: Scene, process: ProcessStarted) -> Remains:
        """End what is left of a command that nobody waits for any more, settle it, and say what is known."""
        dirs, call = self.dirs(scene.run_id), process.call_id
        await self._stop((scene.run_id, call))
        ended = await kill_leftovers(Leader(process.pid, process.started), dirs.token(call))
        set_aside = await asyncio.to_thread(self._settle_noted, dirs, call)
        return Remains(len(ended), set_aside, await asyncio.to_thread(dirs.printed, call))

    async def clear(self, scene: Scene) -> None:
        """End what an earlier process left of a run's commands of which no fact tells. Safe to call twice."""
        dirs = self.dirs(scene.run_id)
        if not dirs.are_there():  # To be told so by a thread would take longer than to ask.
            return
        for call, leader in await asyncio.to_thread(lambda: tuple(dirs.led())):
            await kill_leftovers(leader, dirs.token(call))
            await asyncio.to_thread(self._settle_noted, dirs, call)
            dirs.leader(call).unlink(missing_ok=True)

    async def settle(self, scene: Scene) -> None:
        """End everything that a run left running, and remove what it kept. Safe to call twice."""
        await self.clear(scene)
        for call, process in scene.processes.items():
            if (scene.run_id, call) not in self._left:
                await self.recover(scene, process)
        await asyncio.gather(*(self._stop(key) for key in list(self._left) if key[0] == scene.run_id))
        if (dirs := self.dirs(scene.run_id)).are_there():
            await asyncio.to_thread(self._remove, dirs)

    async def close(self) -> None:
        """End everything that this process left running, for it is about to end itself."""
        await asyncio.gather(*(self._stop(key) for key in list(self._left)))

    async def _stop(self, key: tuple[RunId, CallId]) -> None:
        if left := self._left.pop(key, None):
            with suppress(ToolFailedError):  # its output could not be kept, and nobody asks for it
                await left.stop()

    def _remove(self, dirs: RunDirs) -> None:
        for call in dirs.noted():
            self._settle_noted(dirs, call)
        dirs.remove()

    def _settle_noted(self, dirs: RunDirs, call: CallId) -> tuple[str, ...]:
        set_aside = self._sandbox.settle_left(dirs.read_note(call))
        dirs.note(call).unlink(missing_ok=True)
        return set_aside


def _is_still(root: Path) -> bool:
    """Say whether a canonical directory is still one: where a link leads by now was never granted."""
    return root.is_dir() and root.resolve() == root


def _policy(scene: Scene) -> Policy:
    """Return how much proof is wanted. "off" is the verdict's to say, as the level OPEN: nothing else is unconfined."""
    return Policy.REQUIRED if scene.job.permissions.sandbox == "required" else Policy.AUTO


def _wants_network(scene: Scene) -> bool:
    """Say whether a run's commands are to have a network: what may only read has none, whatever the job says."""
    only_reads = scene.level == AutomationLevel.READ_ONLY or scene.mode is Mode.PLAN
    return scene.job.permissions.network != "off" and not only_reads


def _tidy(confiner: Confiner, confined: Confined, note: Path) -> tuple[str, ...]:
    set_aside = confiner.settle(confined)
    note.unlink(missing_ok=True)
    return set_aside


@contextmanager
def _in_words() -> Iterator[None]:
    """Turn what stands in a command's way into an error that the model can read."""
    try:
        yield
    except ConfigError as exc:
        message = f"the job's environment cannot be given to a command: {exc}"
        raise ToolFailedError(message) from exc
    except OSError as exc:
        message = f"the command could not be prepared: {exc.strerror or exc}"
        raise ToolFailedError(message) from exc
