"""`kova-auto runs replay`: a run that really ran, replayed with nothing executed and nothing written."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from typer.testing import Result

from kova_auto.core.replay import Replay
from tests.e2e.scenes import READS, UNCONFINED, WAIT_S, WRITES, Scene
from tests.llm.chat_stream import DONE, Chunk, calls, delta, fragment, sse, usage
from tests.llm.fault_server import FaultServer, serving, streams

MAY_WRITE = 'automation = "workspace-write"\n'
NO_DIFFERENCE = "└─ no difference: done"
COMMANDS = """
[[turns]]
calls = [{ tool = "bash", args = { command = "echo once >> witness" } }]
[[turns]]
text = "Done."
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def facts(scene: Scene) -> list[tuple[object, ...]]:
    """Return everything that the journal holds."""
    with closing(sqlite3.connect(scene.database)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(name, *row) for name in sorted(tables) for row in database.execute(f"SELECT * FROM {name}")]


def replay(scene: Scene, *args: str) -> Result:
    """Replay the newest run; the journal and the workspace must stay as they are."""
    before = facts(scene), sorted((path, path.read_bytes()) for path in scene.workspace.iterdir())
    result = scene.run("runs", "replay", "last", *args)
    assert (facts(scene), sorted((path, path.read_bytes()) for path in scene.workspace.iterdir())) == before
    return result


@pytest.mark.parametrize(
    ("script", "more"),
    [(READS, ""), (WRITES, ""), (WRITES, MAY_WRITE), (COMMANDS, UNCONFINED)],
    ids=["reads", "is refused", "writes", "commands"],
)
def test_a_run_comes_out_as_it_did_and_nothing_is_executed(scene: Scene, script: str, more: str) -> None:
    scene.scripted("look", script, more)
    scene.run("run", "look")
    result = replay(scene)
    assert (result.exit_code, result.stderr, result.stdout.splitlines()[-2]) == (0, "", NO_DIFFERENCE)
    assert "nothing was executed" in result.stdout.splitlines()[0]


def test_files_that_have_changed_since_change_nothing_of_what_calls_brought(scene: Scene) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    (scene.workspace / "notes.txt").unlink()
    for args in ((), ("--model", "scripted")):
        result = replay(scene, *args)
        assert (result.exit_code, "│    It says: first line\n" in result.stdout) == (0, True)


def test_a_verdict_of_today_is_another_one_where_the_workspace_is(scene: Scene) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    (scene.workspace / "notes.txt").unlink()
    (scene.path / ".ssh").mkdir()
    (scene.path / ".ssh" / "id").write_text("key")
    (scene.workspace / "notes.txt").symlink_to(scene.path / ".ssh" / "id")
    result = replay(scene)
    assert (result.exit_code, "├─ iteration 1  differs" in result.stdout) == (1, True)
    assert "allow level.read-only.read_inside → deny " in result.stdout


def test_a_program_gets_every_difference_by_name(scene: Scene) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    body = json.loads(replay(scene, "--json").stdout)
    assert (list(body), body["differs"], body["outcome_now"]) == (list(Replay.model_fields), False, "done")
    promised = " ".join(scene.run("runs", "replay", "--help").stdout.split())
    assert ", ".join(Replay.model_fields) in promised


def test_a_copy_that_is_gone_leaves_the_recorded_verdicts(scene: Scene) -> None:
    scene.scripted("make", WRITES, MAY_WRITE)
    scene.run("run", "make", "--staged")
    result = replay(scene)
    assert (result.exit_code, result.stdout.splitlines()[1]) == (
        0,
        "├─ the copy that it worked in is gone: the recorded verdicts stand",
    )


def test_an_earlier_attempt_is_replayed_where_it_is_named(scene: Scene) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    (scene.workspace / "notes.txt").write_text("other line\n")
    scene.run("runs", "retry", "last")
    assert "It says: first line" in replay(scene, "--attempt", "1").stdout
    assert "It says: other line" in replay(scene).stdout
    result = replay(scene, "--attempt", "3")
    assert (result.exit_code, result.stderr) == (2, "error: --attempt: wanted an attempt from 1 to 2, found 3\n")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("openai/gpt-5", "error: --model: provider 'openai' has no key"),
        ("nobody/m", "error: model: no provider is called 'nobody'"),
        ("gpt-5", 'error: model: wanted "provider/model" or "auto", found'),
    ],
)
def test_a_model_that_cannot_be_asked_is_refused_though_there_is_a_script(scene: Scene, model: str, said: str) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    result = replay(scene, "--model", model)
    assert (result.exit_code, result.stdout, result.stderr.startswith(said)) == (2, "", True)


def test_a_run_that_is_not_there_is_exit_code_2(scene: Scene) -> None:
    result = scene.run("runs", "replay", "last")
    assert (result.exit_code, result.stderr) == (2, "error: no run has been made yet\n")


@contextmanager
def answering(*replies: list[Chunk]) -> Iterator[FaultServer]:
    """Give a model on loopback that listens in a thread of its own, and says these replies."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    served = serving(*(streams(sse(*chunks, usage(40, 2), DONE)) for chunks in replies))
    try:
        yield asyncio.run_coroutine_threadsafe(served.__aenter__(), loop).result(WAIT_S)
    finally:
        asyncio.run_coroutine_threadsafe(served.__aexit__(None, None, None), loop).result(WAIT_S)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def asks_for(tool: str, arguments: str) -> list[Chunk]:
    return [calls(fragment(arguments, index=0, id="c1", name=tool)), delta("tool_calls")]


def priced(server: FaultServer) -> str:
    """Return settings with this server, whose model has a price."""
    return f"""
        [providers.acme]
        base_url = "http://127.0.0.1:{server.port}/v1"
        [providers.acme.models."m-1"]
        price = {{ input = 10, output = 0 }}
        """


def test_another_model_is_asked_with_what_was_recorded_and_its_cost_is_shown(scene: Scene) -> None:
    scene.scripted("look", READS)
    scene.run("run", "look")
    (scene.workspace / "notes.txt").write_text("other line\n")
    reads = asks_for("read", '{"file_path": "notes.txt"}')
    with answering(reads, [delta(content="It says: first line"), delta("stop")]) as server:
        scene.settings(priced(server))
        result = replay(scene, "--model", "acme/m-1")
    assert (result.exit_code, result.stderr) == (1, "")
    shown = result.stdout.splitlines()
    assert shown[0].endswith("asked of acme/m-1; nothing was executed")
    assert shown[-2:] == ["└─ differs: done", "   0 tokens, 0.0000 USD → 84 tokens, 0.0008 USD"]
    told = server.requests[1].body["messages"][-1]
    assert (told["role"], "first line" in told["content"]) == ("tool", True)


def test_a_call_that_was_never_recorded_is_not_executed(scene: Scene) -> None:
    scene.scripted("make", WRITES, MAY_WRITE)
    scene.run("run", "make")
    with answering(asks_for("write", '{"file_path": "made.txt", "content": "mine"}')) as server:
        scene.settings(priced(server))
        result = replay(scene, "--model", "acme/m-1")
    assert (result.exit_code, (scene.workspace / "made.txt").read_text()) == (1, "made\n")
    assert [line for line in result.stdout.splitlines() if "recorded" in line or "diverged" in line] == [
        '│      recorded: write {"file_path": "made.txt", "content": "made\\n"}',
        "│      diverged here",
        "└─ diverged here: call 1.1: the recording holds no such call of write",
        "   1 recorded iteration it did not come to",
    ]
    assert len(server.requests) == 1


def test_a_ceiling_in_money_wants_the_price_of_the_other_model(scene: Scene) -> None:
    scene.scripted("look", READS, "[limits]\ncost_usd = 1.0\n")
    scene.run("run", "look")
    scene.settings('[providers.acme]\nbase_url = "https://models.example.org/v1"\napi_key = { file = "secret" }\n')
    scene.secret()
    result = replay(scene, "--model", "acme/m-1")
    assert (result.exit_code, "a ceiling in money wants the price of acme/m-1" in result.stderr) == (2, True)


def test_a_service_that_lives_lends_the_recording_of_a_run_under_way(scene: Scene) -> None:
    scene.sleeper()
    service = scene.start("serve")
    service.says(r"jobs?, \d+ broken")
    running = scene.start("run", "nap")
    scene.falls_asleep()
    result = scene.run("runs", "replay", "last")
    assert (result.exit_code, result.stdout.splitlines()[-2]) == (
        0,
        "└─ no difference: the recording ends before call 1.1 has its result",
    )
    assert scene.run("runs", "cancel", "last").exit_code == 0
    running.ends()
    service.signal(signal.SIGTERM)
    assert service.ends() == 0
