"""Commands in the background: looked at, ended, and found again by the next process of the service."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import CallId, RunId, blob_hash
from kova_auto.core.message import ResultStatus, TextPart, ToolResult, told
from kova_auto.core.tool import CallFacts, ProcessAnnounced, Scene, ToolOutput
from kova_auto.tools.bash import BashTool
from kova_auto.tools.commands import MAX_LEFT, Commands
from kova_auto.tools.leftovers import started_of
from kova_auto.tools.sandbox.plan import Method
from kova_auto.tools.tasks import TaskOutputTool, TaskStopTool, command_tools
from tests.tools.command_scenes import (
    METHODS,
    a_bash_run,
    a_pipe,
    a_task,
    a_workspace,
    cut_off,
    finish,
    some_commands,
    until_kept,
    use,
)
from tests.tools.tool_scenes import a_call, a_scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

FOREVER = "sleep 300"


def said(status: ResultStatus, text: str, exit_code: int | None = None) -> ToolOutput:
    return ToolOutput(ToolResult(status=status, parts=(TextPart(text=text),), exit_code=exit_code))


async def look(commands: Commands, scene: Scene, *, wait_s: float = 0) -> ToolOutput:
    return await use(TaskOutputTool(commands), scene, task_id="1.1", wait_s=wait_s)


async def stop(commands: Commands, scene: Scene) -> ToolOutput:
    return await use(TaskStopTool(commands), scene, task_id="1.1")


async def alive(scene: Scene) -> list[str]:
    return [call for call, process in scene.processes.items() if await started_of(process.pid) == process.started]


async def test_a_command_in_the_background_returns_at_once_and_goes_on(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (output, scene):
        assert output.result == told(
            ResultStatus.OK,
            "Started in the background as task 1.1. See what it prints with task_output, end it with task_stop; "
            "it ends with the run at the latest.",
        )
        assert await alive(scene) == ["1.1"]
        assert scene.processes[CallId("1.1")].background


async def test_a_task_is_shown_while_it_runs(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, f"echo so far; {FOREVER}") as (_, scene):
        await until_kept(commands, "so far")

        assert await look(commands, scene) == said(ResultStatus.OK, "so far\n[still running]")


@pytest.mark.parametrize(
    ("command", "status", "text", "exit_code"),
    [
        ("echo done", ResultStatus.OK, "done\n[ended with exit code 0]", 0),
        ("echo bad; exit 4", ResultStatus.ERROR, "bad\n[exit code 4]", 4),
    ],
)
async def test_looking_can_wait_for_the_end(
    tmp_path: Path, command: str, status: ResultStatus, text: str, exit_code: int
) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, command) as (_, scene):
        assert await look(commands, scene, wait_s=60) == said(status, text, exit_code)


async def test_waiting_ends_with_its_time_and_leaves_the_task_running(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (_, scene):
        seen = await look(commands, scene, wait_s=0.05)

        assert (seen, await alive(scene)) == (said(ResultStatus.OK, "[no output]\n[still running]"), ["1.1"])


async def test_a_wait_that_is_cancelled_leaves_the_task_running(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (_, scene):
        looking = asyncio.ensure_future(look(commands, scene, wait_s=60))
        await asyncio.wait({looking}, timeout=0.05)
        looking.cancel()
        await asyncio.wait({looking})

        assert (looking.cancelled(), await alive(scene)) == (True, ["1.1"])


async def test_the_end_of_a_long_output_is_shown_and_all_of_it_is_kept(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    whole = "".join(f"{number}\n" for number in range(1, 10001)).encode()
    async with a_task(commands, workspace, "seq 1 10000") as (_, scene):
        output = await look(commands, scene, wait_s=60)
    lines = output.result.text.split("\n")

    assert (output.result.rest, output.blobs) == (blob_hash(whole), (whole,))
    assert (lines[0], lines[-2:]) == (
        f"[... {len(whole) - len(chr(10).join(lines[1:-1])) - 1} bytes left out ...]",
        ["10000", "[ended with exit code 0]"],
    )
    assert 16000 < len(output.result.text) < 17000


async def test_of_an_output_that_never_ends_the_tail_is_kept(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, "yes | head -c 6000000; echo last") as (_, scene):
        output = await look(commands, scene, wait_s=60)

    assert (len(output.blobs[0]), output.blobs[0][-7:]) == (256 << 10, b"y\nlast\n")
    assert output.result.text.endswith("y\nlast\n[ended with exit code 0]")


async def test_a_task_is_stopped_with_everything_it_started(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    async with a_task(commands, workspace, f"trap '' TERM; {FOREVER} & echo x > pipe; {FOREVER}") as (_, scene):
        await asyncio.to_thread(pipe.read_text)
        before = asyncio.get_running_loop().time()
        output = await stop(commands, scene)
        took_s = asyncio.get_running_loop().time() - before

        assert output == said(ResultStatus.OK, "[no output]\n[stopped]", 137)
        assert (await alive(scene), took_s < 60) == ([], True)
        assert await look(commands, scene) == said(ResultStatus.ERROR, "[no output]\n[stopped]", 137)


async def test_a_task_is_asked_politely_first(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    command = f"trap 'echo bye; exit 0' TERM; {FOREVER} & echo x > pipe; wait"
    async with a_task(commands, workspace, command) as (_, scene):
        await asyncio.to_thread(pipe.read_text)

        assert await stop(commands, scene) == said(ResultStatus.OK, "bye\n[stopped]", 0)


async def test_stopping_what_is_over_says_how_it_went(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, "echo bad; exit 4") as (_, scene):
        await look(commands, scene, wait_s=60)

        assert await stop(commands, scene) == said(ResultStatus.OK, "bad\n[exit code 4]", 4)


@pytest.mark.parametrize("tool", [TaskOutputTool, TaskStopTool])
async def test_a_task_of_another_run_is_not_known(
    tmp_path: Path, tool: type[TaskOutputTool] | type[TaskStopTool]
) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (_, scene):
        other = replace(a_scene(workspace), run_id=RunId("other@20250310T070000Z"))
        with pytest.raises(ToolFailedError, match=r"this run has no background task 1\.1; there are: none"):
            await use(tool(commands), other, task_id="1.1")

        assert await alive(scene) == ["1.1"]


async def test_a_task_that_adds_a_control_file_is_told_so_as_soon_as_it_is_over(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, "echo evil > .envrc") as (_, scene):
        output = await look(commands, scene, wait_s=60)

    assert output.result.text == (
        f"[no output]\n[commands may not add control files: renamed, with .refused at the end: {workspace / '.envrc'}]"
    )


async def test_a_run_leaves_only_so_many_commands_running(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    try:
        for number in range(MAX_LEFT):
            scene = a_scene(workspace, call_id=f"1.{number}")
            await finish(a_bash_run(commands, scene, FOREVER, run_in_background=True, level="open"))

        with pytest.raises(ToolFailedError, match="16 commands are running in the background"):
            await finish(a_bash_run(commands, a_scene(workspace, call_id="2.1"), FOREVER, run_in_background=True))
    finally:
        await commands.close()


async def test_everything_that_a_run_left_ends_with_it(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (_, scene):
        await BashTool(commands).settle(scene)
        await BashTool(commands).settle(scene)

        assert (await alive(scene), [*workspace.iterdir()], [*(tmp_path / "service/runs").iterdir()]) == ([], [], [])


async def test_what_a_service_leaves_running_ends_with_it(tmp_path: Path) -> None:
    commands, workspace = some_commands(tmp_path), a_workspace(tmp_path)
    async with a_task(commands, workspace, FOREVER) as (_, scene):
        await commands.close()

        assert await alive(scene) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tool", [TaskOutputTool, TaskStopTool])
async def test_after_a_restart_a_task_is_ended_and_what_it_printed_is_shown(
    tmp_path: Path, method: Method, tool: type[TaskOutputTool] | type[TaskStopTool]
) -> None:
    earlier, workspace = some_commands(tmp_path, method=method), a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    async with a_task(earlier, workspace, f"echo so far; echo x > pipe; {FOREVER}") as (_, scene):
        await asyncio.to_thread(pipe.read_text)
        output = await use(tool(some_commands(tmp_path, method=method)), scene, task_id="1.1")

        assert output == said(
            ResultStatus.ERROR,
            "so far\n[it ended when the service was restarted; start it again if it is still needed]",
        )
        assert await alive(scene) == []


@pytest.mark.parametrize("method", METHODS)
async def test_a_run_that_ends_after_a_restart_leaves_nothing_either(tmp_path: Path, method: Method) -> None:
    earlier, workspace = some_commands(tmp_path, method=method), a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    async with a_task(earlier, workspace, f"echo evil > .envrc; echo x > pipe; {FOREVER}") as (_, scene):
        await asyncio.to_thread(pipe.read_text)
        await some_commands(tmp_path, method=method).settle(scene)

        assert await alive(scene) == []
        assert sorted(path.name for path in workspace.iterdir()) == [".envrc.refused", "pipe"]
        assert [*(tmp_path / "service/runs").iterdir()] == []


@pytest.mark.parametrize("method", METHODS)
async def test_after_its_service_was_killed_a_command_is_ended_settled_and_unknown(
    tmp_path: Path, method: Method
) -> None:
    workspace = a_workspace(tmp_path)
    commands = some_commands(tmp_path, method=method)
    fact = await killed_while_running(tmp_path, method, f"echo x > .envrc; echo so far; {FOREVER}", commands)
    found = await BashTool(commands).recover(cut_off("1.1", fact), a_scene(workspace))

    assert found is not None
    ended = [line for line in found.text.split("\n") if line.startswith("[processes that were still running: ")]
    assert found == told(
        ResultStatus.UNKNOWN,
        "This command was cut off: it had been started, and may have done all of its work, a part of it, or nothing. "
        "Look at what is there before you run it again.\n"
        f"[commands may not add control files: renamed, with .refused at the end: {workspace / '.envrc'}]\n"
        + "".join(f"{line}\n" for line in ended)
        + "It had printed:\nso far",
    )
    assert (await started_of(fact.pid), sorted(path.name for path in workspace.iterdir())) == (
        "",
        [".envrc.refused"],
    )


async def killed_while_running(top: Path, method: Method, command: str, commands: Commands) -> ProcessAnnounced:
    """Let a process run a command until that prints "so far", kill it, and return what it had announced."""
    service = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.tools.service_to_kill", str(top), str(method), command),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert service.stdout is not None
    pid, started = (await service.stdout.readline()).decode().split(maxsplit=1)
    await until_kept(commands, "so far")
    service.kill()
    await service.wait()
    await service.stdout.read()
    return ProcessAnnounced(int(pid), started.strip())


async def test_the_task_tools_touch_only_what_the_run_started(tmp_path: Path) -> None:
    call, scene = a_call("task_stop", task_id="1.1"), a_scene(tmp_path)
    tools = command_tools(some_commands(tmp_path))

    assert [(tool.name, tool.effect, tool.replay_safe) for tool in tools] == [
        ("bash", Effect.COMMAND, False),
        ("task_output", Effect.NOTE, True),
        ("task_stop", Effect.NOTE, True),
    ]
    assert [await tool.facts(call, tool.arguments(task_id="1.1"), scene) for tool in tools[1:]] == [
        CallFacts(call, Effect.NOTE)
    ] * 2
