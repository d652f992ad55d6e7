"""Commands as the model runs them: real bash in a real confinement."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import ResultStatus, TextPart, ToolResult, told
from kova_auto.core.skill_facts import OfferedSkill
from kova_auto.core.tool import CallFacts, ToolOutput
from kova_auto.tools.bash import BashArguments, BashTool
from kova_auto.tools.leftovers import started_of
from kova_auto.tools.sandbox.plan import Level, Method
from tests.tools.command_scenes import (
    METHODS,
    a_bash_run,
    a_pipe,
    a_workspace,
    announced,
    bash,
    cut_off,
    finish,
    granting,
    some_commands,
)
from tests.tools.tool_scenes import a_call, a_scene

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")


def ok(text: str) -> ToolOutput:
    return ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=text),), exit_code=0))


def error(text: str, exit_code: int) -> ToolOutput:
    return ToolOutput(ToolResult(status=ResultStatus.ERROR, parts=(TextPart(text=text),), exit_code=exit_code))


def counted(first: int, end: int) -> bytes:
    return "".join(f"{number}\n" for number in range(first, end)).encode()


async def test_a_command_runs_in_the_workspace_and_its_output_is_shown(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)

    assert await bash(some_commands(tmp_path), a_scene(workspace), "pwd; echo oops >&2") == ok(f"{workspace}\noops")


async def test_a_command_that_fails_is_an_error_with_its_exit_code(tmp_path: Path) -> None:
    output = await bash(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "echo half; exit 3")

    assert output == error("half\n[exit code 3]", 3)


async def test_a_command_that_prints_nothing_says_so(tmp_path: Path) -> None:
    assert await bash(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "true") == ok("[no output]")


async def test_nothing_runs_before_it_is_written_down(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)
    run = a_bash_run(some_commands(tmp_path), a_scene(workspace), "echo ran > witness")
    fact = await announced(run)
    waiting = (await started_of(fact.pid), fact.background, [*workspace.iterdir()])
    await run.aclose()

    assert waiting == (fact.started, False, [])
    assert (await started_of(fact.pid), [*workspace.iterdir()]) == ("", [])


async def test_a_command_is_ended_at_its_limit(tmp_path: Path) -> None:
    output = await bash(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "echo a; sleep 300", timeout_s=2.0)

    assert output.result.text == "a\n[ended at its limit of 2 s, with everything it had started]"
    assert output.result.status is ResultStatus.ERROR


async def test_the_time_left_to_the_run_limits_a_command_too(tmp_path: Path) -> None:
    scene = replace(a_scene(a_workspace(tmp_path)), left_s=0.2)
    output = await bash(some_commands(tmp_path), scene, "sleep 300")

    assert output.result.text == "[no output]\n[ended at its limit of 1 s, with everything it had started]"


async def test_both_ends_of_a_long_output_are_shown_and_all_of_it_is_kept(tmp_path: Path) -> None:
    output = await bash(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "seq 1 10000; exit 2")
    whole, beginning, end = counted(1, 10001), counted(1, 1860), counted(8363, 10001)
    left_out = len(whole) - len(beginning) - len(end)

    assert (output.blobs, output.result.rest) == ((whole,), blob_hash(whole))
    assert output.result.text == (
        f"{beginning.decode()}[... {left_out} bytes left out ...]\n{end.decode()}[exit code 2]"
    )


async def test_a_command_that_prints_too_much_is_ended(tmp_path: Path) -> None:
    output = await bash(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), "yes; sleep 300")

    assert output.result.text.endswith("\n[ended because it printed more than 4194304 bytes]")
    assert (output.result.status, len(output.blobs[0])) == (ResultStatus.ERROR, 4194304)


@pytest.mark.parametrize("method", METHODS)
async def test_a_command_confined_to_reading_changes_nothing(tmp_path: Path, method: Method) -> None:
    workspace = a_workspace(tmp_path)
    commands = some_commands(tmp_path, method=method)
    output = await bash(
        commands, a_scene(workspace), 'echo x > file; echo y > "$TMPDIR/y" && cat "$TMPDIR/y"', level=Level.READING
    )

    assert (output.result.text.split("\n")[-1], [*workspace.iterdir()]) == ("y", [])


async def test_a_command_confined_to_the_workspace_changes_nothing_else(tmp_path: Path) -> None:
    workspace, outside = a_workspace(tmp_path), tmp_path / "outside"
    outside.mkdir()
    await bash(some_commands(tmp_path), a_scene(workspace), f"echo x > file; echo x > {outside}/file")

    assert ((workspace / "file").read_text(), [*outside.iterdir()]) == ("x\n", [])


async def test_the_verdict_alone_lifts_the_confinement(tmp_path: Path) -> None:
    workspace, outside = a_workspace(tmp_path), tmp_path / "outside"
    outside.mkdir()
    scene = granting(a_scene(workspace), sandbox="off")
    await bash(some_commands(tmp_path), scene, f"echo x > {outside}/confined", level=Level.WORKSPACE)
    await bash(some_commands(tmp_path), replace(scene, call_id=CallId("2.1")), f"echo x > {outside}/open", level="open")

    assert [path.name for path in outside.iterdir()] == ["open"]


async def test_a_verdict_without_a_confinement_runs_nothing(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)

    with pytest.raises(ToolFailedError, match="names no confinement"):
        await bash(some_commands(tmp_path), a_scene(workspace), "echo x > file", level="")
    assert [*workspace.iterdir()] == []


@pytest.mark.parametrize("method", METHODS)
async def test_control_files_that_a_command_adds_are_set_aside_and_told(tmp_path: Path, method: Method) -> None:
    workspace = a_workspace(tmp_path)
    commands = some_commands(tmp_path, method=method)
    output = await bash(commands, a_scene(workspace), "echo evil > .envrc; echo fine > file")

    assert output == ok(
        f"[no output]\n[commands may not add control files: renamed, with .refused at the end: {workspace / '.envrc'}]"
    )
    assert sorted(path.name for path in workspace.iterdir()) == [".envrc.refused", "file"]


async def test_a_command_is_given_what_the_job_gives_and_nothing_of_the_service(tmp_path: Path) -> None:
    commands = some_commands(tmp_path, secrets={"OUTER": "s3cret-value"})
    scene = granting(a_scene(a_workspace(tmp_path)), env={"GH_TOKEN": "OUTER"})

    assert await bash(commands, scene, 'echo "$GH_TOKEN-$SERVICE_KEY-$OUTER"') == ok("s3cret-value--")


async def test_a_variable_that_may_not_be_given_is_said(tmp_path: Path) -> None:
    commands = some_commands(tmp_path, secrets={"OUTER": "x"})
    scene = granting(a_scene(a_workspace(tmp_path)), env={"LD_PRELOAD": "OUTER"})

    with pytest.raises(ToolFailedError, match=r"env.LD_PRELOAD: LD_PRELOAD is never given to a command"):
        await bash(commands, scene, "true")


async def test_a_workspace_that_is_gone_is_said(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match=r"workspace .* is not there any more"):
        await bash(some_commands(tmp_path), a_scene(tmp_path / "gone"), "true")


async def test_a_write_root_that_is_gone_stops_no_command(tmp_path: Path) -> None:
    scene = a_scene(a_workspace(tmp_path), write_roots=(tmp_path / "gone",))

    assert await bash(some_commands(tmp_path), scene, "echo fine") == ok("fine")


async def test_a_root_to_which_a_link_leads_by_now_opens_nothing_to_a_command(tmp_path: Path) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    elsewhere.mkdir()
    (elsewhere / "note").write_text("not for commands\n")
    root.symlink_to(elsewhere)
    commands = some_commands(tmp_path, others=(elsewhere,))
    scene = a_scene(a_workspace(tmp_path), write_roots=(root,), read_roots=(root,))
    command = f"cat {elsewhere}/note 2>&-; touch {elsewhere}/new 2>&-; echo fine"

    assert await bash(commands, scene, command) == ok("fine")
    assert [path.name for path in elsewhere.iterdir()] == ["note"]


async def test_the_folder_of_a_skill_is_seen_by_commands_and_not_written(tmp_path: Path) -> None:
    folder = tmp_path / "service" / "skills" / "notes"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("echo from the skill\n")
    (folder.parent / "private").write_text("not for commands\n")
    scene = replace(a_scene(a_workspace(tmp_path)), skills=(OfferedSkill(name="notes", folder=str(folder)),))
    command = f"sh {folder}/run.sh; cat {folder.parent}/private 2>&-; touch {folder}/new 2>&-; echo fine"

    assert await bash(some_commands(tmp_path), scene, command) == ok("from the skill\nfine")
    assert [path.name for path in folder.iterdir()] == ["run.sh"]


async def test_a_workspace_to_which_a_link_leads_by_now_is_said(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)
    workspace.rename(tmp_path / "elsewhere")
    workspace.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(ToolFailedError, match=r"workspace .* is not there any more, or a symbolic link leads to it"):
        await bash(some_commands(tmp_path), a_scene(workspace), "true")


async def test_the_commands_of_a_run_share_their_temporary_files(tmp_path: Path) -> None:
    workspace, commands = a_workspace(tmp_path), some_commands(tmp_path)
    await bash(commands, a_scene(workspace), "echo kept > $TMPDIR/note")

    assert await bash(commands, a_scene(workspace, call_id="2.1"), "cat /tmp/note") == ok("kept")


async def test_the_files_of_a_run_go_with_it_whatever_a_command_did_to_them(tmp_path: Path) -> None:
    workspace, commands = a_workspace(tmp_path), some_commands(tmp_path)
    scene = a_scene(workspace)
    await bash(commands, scene, "mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR")
    await commands.settle(scene)
    await commands.settle(scene)

    assert [*(tmp_path / "service/runs").iterdir()] == []


@pytest.mark.parametrize("method", METHODS)
async def test_a_command_whose_call_is_cancelled_is_ended_and_settled(tmp_path: Path, method: Method) -> None:
    workspace = a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    commands = some_commands(tmp_path, method=method)
    run = a_bash_run(commands, a_scene(workspace), "touch .envrc; echo running > pipe; sleep 300")
    fact = await announced(run)
    waiting = asyncio.ensure_future(anext(run))
    await asyncio.to_thread(pipe.read_text)
    waiting.cancel()
    await asyncio.wait({waiting})

    assert (waiting.cancelled(), await started_of(fact.pid)) == (True, "")
    assert sorted(path.name for path in workspace.iterdir()) == [".envrc.refused", "pipe"]


async def test_a_call_that_is_cancelled_while_its_command_is_prepared_leaves_nothing(tmp_path: Path) -> None:
    commands = some_commands(tmp_path)
    scene = a_scene(a_workspace(tmp_path))
    run = a_bash_run(commands, scene, "true")
    preparing = asyncio.ensure_future(anext(run))
    await asyncio.sleep(0)
    preparing.cancel()
    await asyncio.wait({preparing})

    assert preparing.cancelled()
    assert [path.name for path in commands.dirs(scene.run_id).outputs.iterdir()] == ["1.1"]


async def test_judging_is_told_the_command_and_what_can_confine_it(tmp_path: Path) -> None:
    tool = BashTool(some_commands(tmp_path))
    call = a_call("bash", command="ls")
    facts = await tool.facts(call, BashArguments(command="ls"), granting(a_scene(a_workspace(tmp_path)), sandbox="off"))

    assert facts == CallFacts(call, Effect.COMMAND, command="ls", confinable=frozenset({"reading", "workspace"}))


@pytest.mark.skipif(Method.LANDLOCK not in METHODS, reason="this kernel has no Landlock")
async def test_judging_is_told_why_a_confinement_is_missing(tmp_path: Path) -> None:
    tool = BashTool(some_commands(tmp_path, method=Method.LANDLOCK))
    call = a_call("bash", command="ls")
    scene = granting(a_scene(a_workspace(tmp_path)), sandbox="required")
    facts = await tool.facts(call, BashArguments(command="ls"), scene)

    assert facts.confinable == frozenset({"workspace"})
    assert facts.no_confinement.startswith("bash is unavailable: sandbox self-test failed (bwrap: not installed; ")


async def test_a_call_cut_off_before_its_command_was_announced_was_not_run(tmp_path: Path) -> None:
    found = await BashTool(some_commands(tmp_path)).recover(cut_off("1.1", None), a_scene(tmp_path))

    assert found == told(
        ResultStatus.ERROR,
        "This command was not run: the service stopped before it started. Make the call again if it is still needed.",
    )


async def test_a_command_that_was_cancelled_is_unknown_to_the_model_with_what_it_printed(tmp_path: Path) -> None:
    workspace = a_workspace(tmp_path)
    pipe = a_pipe(workspace / "pipe")
    commands, scene = some_commands(tmp_path), a_scene(workspace)
    run = a_bash_run(commands, scene, "echo so far; echo running > pipe; sleep 300")
    fact = await announced(run)
    waiting = asyncio.ensure_future(anext(run))
    await asyncio.to_thread(pipe.read_text)
    waiting.cancel()
    await asyncio.wait({waiting})

    assert await BashTool(commands).recover(cut_off("1.1", fact), scene) == told(
        ResultStatus.UNKNOWN,
        "This command was cut off: it had been started, and may have done all of its work, a part of it, or nothing. "
        "Look at what is there before you run it again.\nIt had printed:\nso far",
    )


def test_a_command_must_be_text() -> None:
    with pytest.raises(ValidationError, match="cannot hold NUL"):
        BashArguments(command="a\0b")


async def test_output_that_is_no_text_is_shown_as_far_as_it_can_be(tmp_path: Path) -> None:
    output = await finish(
        a_bash_run(some_commands(tmp_path), a_scene(a_workspace(tmp_path)), r"printf 'a\0b\377c\n'", level="open")
    )

    assert output == ok("a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c")
