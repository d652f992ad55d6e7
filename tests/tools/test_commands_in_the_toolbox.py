"""What the model is told of commands once the toolbox has redacted and bounded it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Mode
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ResultStatus
from kova_auto.core.redact import Redactor
from kova_auto.core.tool import ProcessAnnounced, Scene, ToolOutput
from kova_auto.tools.tasks import command_tools
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.web_fetch import WebFetchTool
from tests.tools.command_scenes import a_workspace, confined, granting, some_commands
from tests.tools.tool_scenes import a_call, a_scene
from tests.tools.web_pages import LOOPBACK, a_site, an_exchange, says

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Linux")

SECRET = "hunter2-hunter2"


@pytest.fixture
async def toolbox(tmp_path: Path) -> AsyncIterator[LocalToolbox]:
    """Yield a toolbox, and end what it left running."""
    commands = some_commands(tmp_path, secrets={"OUTER": SECRET})
    redact = Redactor({"TOKEN": SECRET}).redact
    tools = (*command_tools(commands), WebFetchTool(an_exchange(), LOOPBACK))
    yield LocalToolbox(tools, redact=redact, holds_secret=lambda text: SECRET in text)
    await commands.close()


async def last(toolbox: LocalToolbox, scene: Scene, tool: str, **args: str | bool) -> ToolOutput:
    facts = [fact async for fact in toolbox.execute(a_call(tool, **args), confined("workspace"), scene)]
    assert isinstance(facts[-1], ToolOutput)
    assert all(isinstance(fact, ProcessAnnounced) for fact in facts[:-1])
    return facts[-1]


async def test_a_secret_given_to_a_command_leaves_neither_in_what_is_shown_nor_in_what_is_kept(
    toolbox: LocalToolbox, tmp_path: Path
) -> None:
    scene = granting(a_scene(a_workspace(tmp_path)), env={"TOKEN": "OUTER"})
    output = await last(toolbox, scene, "bash", command='for i in {1..3000}; do echo "$i $TOKEN"; done')
    [kept] = output.blobs

    assert output.result.rest == blob_hash(kept)
    assert kept.decode().split("\n")[:2] == ["1 [redacted:TOKEN]", "2 [redacted:TOKEN]"]
    assert f'(3001 lines) is kept: read it with file_path="blob:{blob_hash(kept)[:8]}' in output.result.text
    assert "hunter" not in output.result.text
    assert b"hunter" not in kept


async def test_of_a_long_page_the_beginning_is_shown_and_the_rest_kept(toolbox: LocalToolbox) -> None:
    page = "".join(f"line {number}\n" for number in range(20_000))
    async with a_site(says(page, "Content-Type: text/plain")) as site:
        output = await last(toolbox, a_scene(Path("/w")), "web_fetch", url=site.url())

    assert len(output.result.text.encode()) <= 64 << 10
    assert output.blobs[0].decode().endswith("line 19999\n")
    assert output.result.rest == blob_hash(output.blobs[0])


async def test_what_a_run_left_running_ends_when_the_toolbox_settles(toolbox: LocalToolbox, tmp_path: Path) -> None:
    scene = a_scene(a_workspace(tmp_path))
    await last(toolbox, scene, "bash", command="sleep 300", run_in_background=True)
    await toolbox.settle(scene)
    output = await last(toolbox, scene, "task_output", task_id="1.1")

    assert output.result.status is ResultStatus.ERROR
    assert output.result.text == "this run has no background task 1.1; there are: none"


def test_only_a_look_at_a_task_is_there_for_being_taken_again_and_again(toolbox: LocalToolbox) -> None:
    specs = toolbox.specs(a_scene(Path("/w")), Mode.AGENT)

    assert [spec.name for spec in specs if spec.polling] == ["task_output"]
