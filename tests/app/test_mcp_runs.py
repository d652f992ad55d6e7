"""Runs that use MCP servers: which they may use, how their calls are judged, and what is never written down."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.app.explaining import explaining
from kova_auto.core.event import CallFinished
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.app.houses import Home, id_of
from tests.app.mcp_homes import DB, FULL, a_script, configure, echo, ran, rules, runs, texts
from tests.support import ALONE, ROOT, at

OK, DENIED = ResultStatus.OK, ResultStatus.DENIED
SEARCH: dict[str, JsonValue] = {"action": "search", "query": "again"}
LOOK: dict[str, JsonValue] = {"action": "call", "server": "db", "tool": "look"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path)
    found.workspace.mkdir()
    return found


async def test_a_run_finds_and_calls_a_tool(home: Home) -> None:
    configure(home.path, db=runs(description="The database of customers"))
    async with home.house() as house:
        state = await ran(home, house, FULL + DB, a_script(SEARCH, echo()))
    assert texts(state) == ["[1 of 1 tools that were found, 3 in all]\n- server=db tool=echo: Say it again", "echo: hi"]
    assert state.context
    assert "- db: The database of customers" in state.context.system
    assert state.tainted_by == "an answer of the MCP server db"
    assert [tool.name for tool in state.context.tools].count("mcp") == 1


async def test_a_run_whose_job_names_no_server_is_told_of_none(home: Home) -> None:
    configure(home.path, db=runs())
    async with home.house() as house:
        state = await ran(home, house, FULL, a_script(SEARCH))
    assert state.context
    assert "mcp" not in [tool.name for tool in state.context.tools]
    assert "no MCP server" not in state.context.system
    assert texts(state) == ["this run has no MCP servers: its job names none"]


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ('automation = "read-only"\n', "level.read-only.outward"),
        ('automation = "workspace-write"\n', "level.workspace-write.outward"),
        ('permissions.allow_mcp_tools = ["mcp__db__echo"]\n', "grant.job:mcp__db__echo"),
        ('permissions.allow_mcp_tools = ["mcp__db__ec*"]\n', "grant.job:mcp__db__ec*"),
        ('permissions.allow_mcp_tools = ["mcp__db__look"]\n', "level.read-only.outward"),
        (FULL, "level.full.outward"),
        ('mode = "plan"\n' + FULL, "mode.plan.outward"),
        ('mode = "ask"\n' + FULL, "mode.ask.outward"),
    ],
)
async def test_the_job_says_which_tools_are_called_unasked(home: Home, more: str, rule: str) -> None:
    log = home.path / "log"
    configure(home.path, db=runs("good", str(log)))
    async with home.house() as house:
        state = await ran(home, house, more + DB, a_script(echo()))
    assert rules(state) == [rule]
    assert log.exists() == ("grant" in rule or rule == "level.full.outward")


@pytest.mark.parametrize(
    ("level", "rule"),
    [("read-only", "level.read-only.outward"), ("workspace-write", "grant.user:mcp__db__Ec*")],
)
async def test_what_the_user_approves_counts_as_the_users_own_grants_do(home: Home, level: str, rule: str) -> None:
    configure(home.path, db=runs(approveTools=["Ec*"]))
    async with home.house() as house:
        state = await ran(home, house, f'automation = "{level}"\n{DB}', a_script(echo()))
    assert rules(state) == [rule]


async def test_what_a_workspace_approves_itself_counts_for_nothing(home: Home) -> None:
    configure(home.workspace, ".mcp.json", db=runs(approveTools=["*"], trustReadOnlyHint=True))
    calls = (SEARCH, LOOK)
    async with home.house() as house:
        state = await ran(home, house, f'automation = "workspace-write"\n{DB}', a_script(*calls))
    assert rules(state) == ["level.workspace-write.read_inside", "level.workspace-write.outward"]


async def test_what_only_reads_by_the_users_word_is_called_at_any_level(home: Home) -> None:
    configure(home.path, db=runs(trustReadOnlyHint=True))
    async with home.house() as house:
        state = await ran(home, house, DB, a_script(SEARCH, LOOK, LOOK, echo()))
    assert [call.result.status for call in state.calls.values() if call.result] == [OK, OK, OK, DENIED]


async def test_a_call_after_an_answer_needs_a_person_whatever_the_level(home: Home) -> None:
    configure(home.path, db=runs())
    async with home.house() as house:
        state = await ran(home, house, FULL + DB, a_script(echo("one"), echo("two")))
    assert rules(state) == ["level.full.outward", "taint"]
    assert "an answer of the MCP server db" in texts(state)[1]


async def test_a_call_that_waits_names_its_server_its_tool_and_its_arguments(home: Home) -> None:
    configure(home.path, db=runs())
    suspends = 'automation = "workspace-write"\napproval.when_needed = "suspend"\n'
    async with home.house() as house:
        state = await ran(home, house, suspends + DB, a_script(echo()))
        (row,) = await house.control.approvals(open_only=True)
    (call,) = state.calls.values()
    assert (row.tool, call.call.args) == ("mcp", echo())
    assert "(mcp__db__echo)" in row.reason
    assert call.approval
    assert call.approval.offer.tools == ("mcp__db__echo",)


async def test_a_server_of_the_workspace_is_used_where_the_job_names_it(home: Home) -> None:
    configure(home.workspace, ".mcp.json", own=runs(), db=runs("dies"))
    configure(home.path, db=runs())
    both = '[mcp]\nservers = ["db", "own"]\n'
    async with home.house() as house:
        state = await ran(home, house, FULL + both, a_script(SEARCH))
    assert "server=db tool=echo" in texts(state)[0]
    assert "server=workspace:own tool=echo" in texts(state)[0]


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ({}, "mcp.servers names 'db': no file configures a server of this name"),
        ({"db": {"command": "no-such-program"}}, "mcpServers.db.command: there is no program no-such-program"),
        ({"db": {"command": "./run"}}, "mcpServers.db.command: a relative path would start"),
        ({"db": {"type": "sse", "url": "https://x.test"}}, "mcpServers.db.type: the transport sse is not spoken here"),
        ({"db": {"url": "http://x.test"}}, "mcpServers.db.url: plain http is not allowed here"),
        ({"db": {"url": "https://127.0.0.1:8080/mcp"}}, "mcpServers.db.url: "),
        ({"db": {"command": "true", "env": {"A": {"env": "NOPE"}}}}, "mcpServers.db.env.A: "),
        ({"db": {"command": "true", "args": ["${NOPE}"]}}, "mcpServers.db.args[0]: ${NOPE} has no value here"),
        ({"db": {"command": "true", "env": {"LD_PRELOAD": "x"}}}, "mcpServers.db.env.LD_PRELOAD: LD_PRELOAD is never"),
        ({"db": {"command": "true", "cwd": "/no/such"}}, "mcpServers.db.cwd: there is no directory /no/such"),
        ({"db": {"command": "true", "disabled": True}}, "disables it"),
    ],
)
async def test_what_a_run_lacks_blocks_it_before_a_model_is_asked(
    home: Home, servers: dict[str, JsonValue], said: str
) -> None:
    configure(home.path, ".kova/mcp.json", **servers)
    async with home.house() as house:
        state = await ran(home, house, DB, a_script(SEARCH))
    assert state.finished
    assert (state.finished.outcome, state.replies, state.model_calls) == (Outcome.BLOCKED, (), 0)
    assert said in state.finished.reason


async def test_a_secret_reaches_the_server_and_nothing_else(home: Home) -> None:
    given: dict[str, JsonValue] = {"TOKEN": {"env": "DB_TOKEN"}}
    configure(home.path, db=runs("leaks", env=given))
    house_of = Home(home.path, {"DB_TOKEN": "s3cr3t-t0k3n-of-the-db"})
    async with house_of.house() as house:
        state = await ran(home, house, FULL + DB, a_script(echo()))
        events = await house.store.journal.events(id_of("look"))
    (text,) = texts(state)
    assert text.startswith("my token is [redacted:")
    assert not any("s3cr3t" in event.model_dump_json() for _, event in events)
    assert any(isinstance(event, CallFinished) for _, event in events)


async def test_a_secret_that_a_server_tells_with_its_tools_is_on_no_disk(home: Home) -> None:
    configure(home.path, db=runs("leaks", env={"TOKEN": {"env": "DB_TOKEN"}}))
    house_of = Home(home.path, {"DB_TOKEN": "s3cr3t-t0k3n-of-the-db"})
    async with house_of.house() as house:
        state = await ran(home, house, FULL + DB, a_script({"action": "describe", "server": "db", "tool": "echo"}))
    assert "For [redacted:" in texts(state)[0]
    told = [path.read_bytes() for path in home.path.rglob("*") if path.is_file()]
    assert [text for text in told if b"s3cr3t" in text] == []
    assert any(b"For [redacted:" in text for text in told)


@pytest.mark.parametrize("layer", ["user", "workspace"])
async def test_a_reference_in_a_file_of_others_names_only_what_the_job_gives(home: Home, layer: str) -> None:
    folder = home.path if layer == "user" else home.workspace
    configure(folder, db=runs("leaks", env={"TOKEN": "${API_KEY:-none}"}))
    house_of = Home(home.path, {"API_KEY": "the-key-of-a-provider", "GIVEN": "what-the-job-gives"})
    async with house_of.house() as house:
        state = await ran(home, house, FULL + DB, a_script(echo()))
    found = {"user": "my token is [redacted:", "workspace": "my token is none"}
    assert texts(state)[0].startswith(found[layer])


async def test_what_the_job_gives_is_given_to_a_server_of_the_workspace(home: Home) -> None:
    configure(home.workspace, db=runs("leaks", env={"TOKEN": "${API_KEY}"}))
    house_of = Home(home.path, {"GIVEN": "what-the-job-gives"})
    more = 'automation = "full"\n[env]\nAPI_KEY = { env = "GIVEN" }\n'
    async with house_of.house() as house:
        state = await ran(home, house, more + DB, a_script(echo()))
    assert texts(state) == ["my token is [redacted:env:GIVEN]"]


async def test_a_server_gets_no_more_of_the_services_environment_than_a_command(home: Home) -> None:
    configure(home.path, db=runs())
    where: dict[str, JsonValue] = {"action": "call", "server": "db", "tool": "where"}
    house_of = Home(home.path, {"API_KEY": "the-key-of-a-provider", "LD_LIBRARY_PATH": "/nowhere"})
    async with house_of.house() as house:
        state = await ran(home, house, FULL + DB, a_script(where))
    assert "API_KEY" not in texts(state)[0]
    assert "LD_LIBRARY_PATH" not in texts(state)[0]
    assert f'"HOME": "{home.path}"' in texts(state)[0]
    assert f'"cwd": "{home.workspace}"' in texts(state)[0]


async def test_other_clients_words_for_the_workspace_and_the_home_are_read(home: Home) -> None:
    configure(home.path, db=runs(env={"PLACES": "${workspaceFolder}:${userHome}"}))
    where: dict[str, JsonValue] = {"action": "call", "server": "db", "tool": "where"}
    async with home.house() as house:
        state = await ran(home, house, FULL + DB, a_script(where))
    assert f'"PLACES": "{home.workspace}:{home.path}"' in texts(state)[0]


async def test_a_server_that_hangs_does_not_hold_up_the_run(home: Home) -> None:
    configure(home.path, db=runs("silent", tool_timeout=0.3))
    async with home.house() as house:
        state = await ran(home, house, FULL + DB, a_script(echo()))
    assert "it did not answer to echo within 0.3 s, and was ended" in texts(state)[0]
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


async def test_a_large_answer_is_read_on_by_the_tool_that_reads(home: Home) -> None:
    configure(home.path, db=runs("large", tool_timeout=60))
    async with home.house() as house:
        state = await ran(home, house, FULL + DB, a_script(echo()))
        (call,) = state.calls.values()
        assert call.result
        assert call.result.rest
        assert len(await house.store.journal.blob(call.result.rest)) == len("line of text\n") * 400_000
    assert len(texts(state)[0]) < 17 << 10


@pytest.mark.parametrize(
    ("tool", "args", "rule"),
    [
        ("mcp", {"action": "call", "server": "db", "tool": "echo"}, "grant.job:mcp__db__ec*"),
        ("mcp__db__echo", {}, "grant.job:mcp__db__ec*"),
        ("mcp__db__look", {}, "level.read-only.outward"),
        ("mcp", {"action": "search"}, "level.read-only.read_inside"),
        ("mcp__other__look", {}, "arguments"),
    ],
)
async def test_a_call_is_explained_by_the_rule_that_would_decide(
    home: Home, tool: str, args: dict[str, JsonValue], rule: str
) -> None:
    configure(home.path, db=runs("stubborn"))
    path = home.job("look", f'permissions.allow_mcp_tools = ["mcp__db__ec*"]\n{DB}')
    environ = {"HOME": str(home.path), "PATH": os.defpath, **ALONE}
    async with explaining(load_settings(None, environ), environ, load_job(path), at("06:00:00")) as explainer:
        assert (await explainer.explain(tool, args)).verdict.rule == rule
        shown = [(one.tool, one.shown) for one in await explainer.survey()]
    assert ("mcp", "db: any") in shown


async def test_a_run_reads_not_what_configures_servers(home: Home) -> None:
    path = configure(home.path, db=runs())
    script = (
        f'[[turns]]\n[[turns.calls]]\ntool = "read"\nargs = {{ file_path = "{path}" }}\n[[turns]]\ntext = "Done."\n'
    )
    async with home.house() as house:
        state = await ran(home, house, FULL, script)
    assert rules(state) == ["floor.secret"]


async def test_a_plugin_lends_its_servers_under_its_name(home: Home) -> None:
    plugin = home.path / ".kova" / "plugins" / "kit"
    configure(plugin, ".mcp.json", lint=runs("leaks", env={"TOKEN": "${KOVA_PLUGIN_ROOT}"}))
    (plugin / ".kova-plugin").mkdir()
    (plugin / ".kova-plugin" / "plugin.json").write_text('{"name": "kit"}')
    home.settings('[plugins]\nenabled = ["kit"]\n')
    lint = '[mcp]\nservers = ["lint"]\n[permissions]\nallow_mcp_tools = ["mcp__kit:lint__echo"]\n'
    async with home.house() as house:
        state = await ran(home, house, lint, a_script({"action": "search", "query": "echo"}, echo(server="lint")))
    assert "server=kit:lint tool=echo" in texts(state)[0]
    assert rules(state)[1] == "grant.job:mcp__kit:lint__echo"
    assert texts(state)[1].startswith("my token is ")


async def test_without_the_extra_a_run_is_blocked_and_told_what_to_install(home: Home) -> None:
    configure(home.path, db=runs())
    home.job("look", DB)
    done = await asyncio.to_thread(without_the_extra, home.path)
    assert done.returncode == 3, done.stderr
    assert "MCP servers need the extra kova-auto[mcp]: pip install 'kova-auto[mcp]'" in done.stderr + done.stdout


def without_the_extra(home: Path) -> subprocess.CompletedProcess[str]:
    """Run the job where the library cannot be found."""
    program = "import sys; sys.modules['mcp'] = None; from kova_auto.__main__ import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "run", "look"]
    environ = {"HOME": str(home), "PATH": os.defpath, **ALONE}
    return subprocess.run(command, env=environ, cwd=ROOT, check=False, capture_output=True, text=True)
