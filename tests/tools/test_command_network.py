"""What a job's commands reach where it says `network`: real bubblewrap, the real proxy, hosts on loopback."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.approval.network import Network
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus
from kova_auto.core.tool import Scene, ToolOutput
from kova_auto.net.proxy import Proxy
from kova_auto.tools.commands import Commands
from kova_auto.tools.sandbox.plan import Level, Method
from kova_auto.tools.tasks import TaskOutputTool
from tests.net.proxied import BOUNDS, LOOPBACK, Names, a_server, opened
from tests.tools.command_scenes import METHODS, a_task, a_workspace, bash, granting, some_commands, use
from tests.tools.tool_scenes import a_scene

pytestmark = pytest.mark.skipif(Method.BWRAP not in METHODS, reason="bubblewrap is not installed")
with_landlock = pytest.mark.skipif(Method.LANDLOCK not in METHODS, reason="this kernel has no Landlock")

FETCH = """/usr/bin/python3 -I -S -c "
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())" """
SAY = 'exec 3<>/dev/tcp/127.0.0.1/3128; printf "%s\\r\\n\\r\\n" "$LINE" >&3; cat <&3'


async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nthe page")
    await writer.drain()


def networked(workspace: Path, network: Network) -> Scene:
    scene = replace(a_scene(workspace), level="workspace-write")
    granted = scene.job.permissions.model_copy(update={"network": network})
    return replace(scene, job=scene.job.model_copy(update={"permissions": granted}))


@asynccontextmanager
async def a_host(
    top: Path, network: Network | None = None, *, answers: Mapping[str, Sequence[str]] | None = None
) -> AsyncIterator[tuple[Commands, Scene, int]]:
    """Yield what runs commands, a scene whose job may reach pypi.test (or `network`), and the port that serves it."""
    names = answers or {"pypi.test": ["127.0.0.1"], "evil.test": ["127.0.0.1"]}
    async with a_server(page) as port:
        listed = (f"pypi.test:{port}",) if network is None else network
        gateway = Proxy(Names(dict(names)), LOOPBACK, BOUNDS)
        scene = networked(a_workspace(top), listed)
        yield some_commands(top, gateway=gateway), scene, port


def later(scene: Scene, number: int) -> Scene:
    return replace(scene, call_id=CallId(f"{number}.1"))


def told(output: ToolOutput) -> str:
    return output.result.text


async def test_a_listed_host_is_reached_by_a_program_that_heeds_the_variables(tmp_path: Path) -> None:
    async with a_host(tmp_path) as (commands, scene, port):
        output = await bash(commands, scene, f"{FETCH} http://pypi.test:{port}/simple")
    assert (output.result.status, told(output)) == (ResultStatus.OK, "the page")


async def test_another_host_is_refused_and_the_model_is_told_which(tmp_path: Path) -> None:
    async with a_host(tmp_path) as (commands, scene, port):
        output = await bash(commands, scene, f"{FETCH} http://evil.test:{port}/ 2>/dev/null")
    assert output.result.status is ResultStatus.ERROR
    assert told(output) == (
        f"[no output]\n[exit code 1]\n[network: evil.test:{port} is not listed in [permissions] network]"
    )


@pytest.mark.parametrize("how", ["127.0.0.1", "localhost", "[::1]", "2130706433", "[::ffff:127.0.0.1]"])
async def test_no_spelling_of_this_machine_is_reached_where_any_public_host_is(tmp_path: Path, how: str) -> None:
    async with a_server(page) as port:
        gateway = Proxy(Names({"localhost": ["127.0.0.1", "::1"]}), (), BOUNDS)
        scene = networked(a_workspace(tmp_path), "on")
        output = await bash(
            some_commands(tmp_path, gateway=gateway),
            scene,
            f'LINE="GET http://{how}:{port}/ HTTP/1.0"; {SAY}; exec 4<>/dev/tcp/127.0.0.1/{port}',
        )
    assert ("the page" in told(output), "[network: " in told(output)) == (False, True)
    assert output.result.status is ResultStatus.ERROR


async def test_there_is_no_other_way_out(tmp_path: Path) -> None:
    async with a_host(tmp_path, "on") as (commands, scene, port):
        tries = (
            f"echo x > /dev/tcp/127.0.0.1/{port}",
            f"echo x > /dev/tcp/[::1]/{port}",
            "echo x > /dev/tcp/93.184.215.14/80",
            "echo x > /dev/udp/93.184.215.14/53",
            "getent hosts pypi.test",
        )
        came = [(await bash(commands, later(scene, at), script)).result.status for at, script in enumerate(tries)]
        interfaces = await bash(
            commands, later(scene, 9), "grep : /proc/net/dev | cut -d: -f1 | tr -d ' '; ls /proc/self/fd"
        )
    assert came == [ResultStatus.ERROR] * len(tries)
    assert told(interfaces).split() == ["lo", "0", "1", "2", "3"]  # the last is that of the listing itself


async def test_a_command_serves_itself_on_its_own_loopback(tmp_path: Path) -> None:
    script = """/usr/bin/python3 -I -S -c "
import http.server, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.handle_request).start()
print(urllib.request.urlopen('http://127.0.0.1:8000/mine').read().decode())" 2>/dev/null"""
    async with a_host(tmp_path) as (commands, scene, _):
        (Path(scene.workspace) / "mine").write_text("my own")
        output = await bash(commands, scene, script)
    assert told(output) == "my own"


async def test_the_variables_are_there_in_both_cases_and_only_with_a_network(tmp_path: Path) -> None:
    async with a_host(tmp_path) as (commands, scene, _):
        script = "env | grep -i proxy | sort"
        networked = await bash(commands, scene, script)
        without = await bash(commands, later(granting(scene, network="off"), 2), script)
    url = "http://127.0.0.1:3128"
    assert told(networked).splitlines() == sorted(
        [f"{name}={url}" for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy", "https_proxy")]
        + [f"http_proxy={url}", "NODE_USE_ENV_PROXY=1"]
        + [f"{name}=localhost,127.0.0.1,::1" for name in ("NO_PROXY", "no_proxy")]
    )
    assert told(without) == "[no output]"


@pytest.mark.parametrize("level", [AutomationLevel.READ_ONLY, AutomationLevel.WORKSPACE_WRITE])
async def test_what_only_reads_has_no_network(tmp_path: Path, level: AutomationLevel) -> None:
    async with a_host(tmp_path) as (commands, scene, port):
        output = await bash(
            commands,
            replace(scene, level=level.value),
            f"{FETCH} http://pypi.test:{port}/ 2>&1 | tail -1",
            level=Level.READING,
        )
    assert "the page" not in told(output)


async def test_a_background_command_is_told_what_it_was_refused_while_it_runs(tmp_path: Path) -> None:
    async with a_host(tmp_path) as (commands, scene, _):
        refused = f'LINE="CONNECT evil.test:443 HTTP/1.0"; {SAY} > answer; cat > /dev/null < <(sleep 600)'
        async with a_task(commands, Path(scene.workspace), refused, scene=scene) as (_, after):
            await asyncio.to_thread(_until, Path(scene.workspace) / "answer")
            output = await use(TaskOutputTool(commands), after, task_id="1.1")
    assert told(output).endswith("[still running]\n[network: evil.test is not listed in [permissions] network]")


def _until(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists() or "network:" not in path.read_text():
        assert time.monotonic() < deadline, "the command was never answered"
        time.sleep(0.01)


async def test_a_network_is_closed_with_its_command(tmp_path: Path) -> None:
    async with a_host(tmp_path) as (commands, scene, port):
        await bash(commands, scene, "true")
        before = opened()
        hanging = f'LINE="CONNECT pypi.test:{port} HTTP/1.0"; {SAY}'
        output = await bash(commands, later(scene, 2), hanging, timeout_s=1.0)
        after = opened()
    assert told(output).endswith("[ended at its limit of 1 s, with everything it had started]")
    assert after <= before


@with_landlock
@pytest.mark.parametrize("network", ["on", ("pypi.test",)])
async def test_landlock_refuses_a_command_that_is_to_have_a_network(tmp_path: Path, network: Network) -> None:
    scene = networked(a_workspace(tmp_path), network)
    commands = some_commands(tmp_path, method=Method.LANDLOCK)
    confinable, why = await commands.confinable(scene)
    assert confinable == frozenset()
    assert "Landlock cannot hold a command to the hosts of a network: it needs bubblewrap" in why
    with pytest.raises(ToolFailedError, match="Landlock cannot hold a command to the hosts"):
        await bash(commands, scene, "true")
    reading = replace(scene, level=AutomationLevel.READ_ONLY.value)
    assert (await commands.confinable(reading))[1] == ""
    assert (await bash(commands, later(granting(scene, network="off"), 2), "true")).result.status is ResultStatus.OK
