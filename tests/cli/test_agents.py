"""`kova-auto agents`: which definitions there are, how each stands, and what is wrong with files of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.cli.command import Home
from tests.docs.pages import bare, tables_under

BUILT_IN = ["code-reviewer", "explorer", "fixer", "test-runner"]
AGENT = "---\nname: {name}\ndescription: Looks for things.\n{more}tools: {tools}\n---\nLook.\n"


def put(folder: Path, name: str, tools: str = "Read", **lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    more = "".join(f"{key}: {value}\n" for key, value in lines.items())
    path = folder / f"{name}.md"
    path.write_text(AGENT.format(name=name, more=more, tools=tools))
    return path


@dataclass(frozen=True)
class Desk:
    """Sit in a workspace, at home."""

    home: Home

    @property
    def workspace(self) -> Path:
        return self.home.path / "app"

    @property
    def own(self) -> Path:
        return self.home.path / ".kova" / "subagents"

    @property
    def theirs(self) -> Path:
        return self.workspace / ".claude" / "agents"

    def run(self, *words: str) -> Result:
        return self.home.run("agents", *words)

    def here(self, *words: str) -> Result:
        return self.run(*words, "--workspace", str(self.workspace))

    def said(self, *words: str) -> Any:  # noqa: ANN401  # whatever it writes
        result = self.here(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(Home(tmp_path.resolve()))
    desk.workspace.mkdir()
    return desk


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_built_in_ones_are_always_there(desk: Desk) -> None:
    result = desk.here("list")
    assert (result.exit_code, result.stderr) == (0, "")
    assert lines(result.stdout) == [
        "NAME FROM TURNS TOOLS MODEL NOTE",
        "code-reviewer built-in 50 read,glob,grep its parent's",
        "explorer built-in 60 read,glob,grep,bash its parent's",
        "fixer built-in 80 read,glob,grep,edit,write,bash its parent's",
        "test-runner built-in 40 read,glob,grep,bash its parent's",
    ]


def test_who_takes_whose_place_is_shown(desk: Desk) -> None:
    put(desk.own, "explorer", maxTurns="5")
    put(desk.theirs, "fixer", "'*'")
    put(desk.theirs, "free", model="opus")
    shown = lines(desk.here("list").stdout)
    assert "explorer user 5 read its parent's replaces the built-in one" in shown
    assert (
        "explorer built-in 60 read,glob,grep,bash its parent's shadowed by user:explorer; a job has it as "
        "built-in:explorer" in shown
    )
    assert "fixer workspace 50 all its parent's shadowed by built-in:fixer; a job has it as workspace:fixer" in shown
    assert "free workspace 50 read its parent's only for jobs that name it; 1 remark: agents check" in shown


def test_what_is_broken_is_shown_and_said(desk: Desk) -> None:
    path = put(desk.own, "mine", maxTurns="0")
    result = desk.here("list")
    assert result.exit_code == 0
    assert any(line.startswith("mine user - - - cannot be used:") for line in lines(result.stdout))
    assert result.stderr == (f"warning: {path}:4: maxTurns: wanted a whole number from 1 to 1000, found 0\n")


def test_the_settings_give_models_and_disable(desk: Desk) -> None:
    desk.home.settings('[agents]\nmodels = { opus = "openai/gpt-5" }\ndisabled = ["fixer"]\nmax_turns = 7\n')
    put(desk.own, "mine", model="opus")
    shown = lines(desk.here("list").stdout)
    assert "mine user 7 read openai/gpt-5" in shown
    assert any(line.startswith("fixer ") and line.endswith("the settings disable it") for line in shown)


def test_a_plugins_are_listed_under_its_name(desk: Desk) -> None:
    root = desk.home.path / ".kova" / "plugins" / "kit"
    (root / ".kova-plugin").mkdir(parents=True)
    (root / ".kova-plugin" / "plugin.json").write_text('{"name": "kit"}')
    put(root / "agents", "brought")
    desk.home.settings('[plugins]\nenabled = ["kit"]\n')
    assert "brought kit 50 read its parent's" in lines(desk.here("list").stdout)


def test_a_program_reads_the_list(desk: Desk) -> None:
    path = put(desk.theirs, "explorer", model="opus")
    said = desk.said("list")
    assert {key: said[key] for key in ("workspace", "job", "missing", "problems")} == {
        "workspace": str(desk.workspace),
        "job": None,
        "missing": [],
        "problems": [],
    }
    assert [(one["address"], one["use"]) for one in said["agents"]] == [
        ("built-in:code-reviewer", "name"),
        ("built-in:explorer", "name"),
        ("workspace:explorer", "address"),
        ("built-in:fixer", "name"),
        ("built-in:test-runner", "name"),
    ]
    shadowed = said["agents"][2]
    assert shadowed["problems"][0].pop("message").startswith("`opus` names no provider")
    assert shadowed["problems"][0].pop("hint")
    assert shadowed == {
        "name": "explorer",
        "address": "workspace:explorer",
        "layer": "workspace",
        "plugin": None,
        "path": str(path),
        "description": "Looks for things.",
        "tools": ["read"],
        "max_turns": 50,
        "model": None,
        "alias": "opus",
        "skills": None,
        "servers": [],
        "use": "address",
        "allowed": None,
        "shadowed_by": "built-in:explorer",
        "shadows": [],
        "note": "shadowed by built-in:explorer; a job has it as workspace:explorer",
        "problems": [{"path": str(path), "line": 4, "key": "model"}],
    }


def test_the_page_on_json_names_what_is_written(desk: Desk) -> None:
    broken = put(desk.own, "broken", maxTurns="0")
    listed, shown = desk.said("list"), desk.said("show", "explorer")
    checked = json.loads(desk.run("check", str(broken), "--json").stdout)
    under = {
        heading: [bare(row[0]) for table in tables_under("docs/json.md", heading) for row in table.body]
        for heading in (
            "`kova-auto agents list`",
            "A definition",
            "`kova-auto agents show`",
            "`kova-auto agents check`",
        )
    }
    assert list(listed) == under["`kova-auto agents list`"]
    assert all(list(one) == under["A definition"] for one in (*listed["agents"], *checked["agents"]))
    assert list(shown) == under["A definition"] + under["`kova-auto agents show`"]
    assert list(checked) == under["`kova-auto agents check`"]


def test_one_is_shown_with_its_prompt(desk: Desk) -> None:
    path = put(desk.theirs, "explorer", "Read, Frobnicate", skills="notes")
    result = desk.here("show", "Workspace:Explorer")
    assert (result.exit_code, result.stdout) == (
        0,
        f"""\
explorer (workspace)
  Looks for things.
  note     shadowed by built-in:explorer; a job has it as workspace:explorer
  file     {path}
  tools    read
  replies  50
  model    its parent's
  skills   notes

Look.
""",
    )
    assert result.stderr == f"warning: {path}:5: tools: there is no tool `Frobnicate`\n"
    assert desk.here("show", "explorer").stdout.startswith("explorer (built-in)\n")


def test_what_a_prompt_holds_does_not_act_on_the_screen(desk: Desk) -> None:
    path = put(desk.theirs, "sly")
    path.write_text(path.read_text() + "\x1b[2Jgone\u202e\n")
    assert "\x1b" not in desk.here("show", "sly").stdout


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("explorr", "there is no subagent explorr (did you mean explorer?)"),
        ("buildin:fixer", "there is no subagent buildin:fixer (did you mean built-in:fixer?)"),
        ("", "there is no subagent  (known here: code-reviewer, explorer, fixer, test-runner)"),
    ],
)
def test_one_that_is_not_there_is_an_error(desk: Desk, name: str, sentence: str) -> None:
    result = desk.here("show", name)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {sentence}\n")


def test_one_that_is_broken_is_an_error_with_every_reason(desk: Desk) -> None:
    path = put(desk.theirs, "bad", maxTurns="0", model="[a]")
    result = desk.here("show", "bad")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines() == [
        f"error: {path}:4: maxTurns: wanted a whole number from 1 to 1000, found 0",
        f"error: {path}:5: model: wanted provider/model, found a list",
    ]


def test_a_file_is_checked(desk: Desk) -> None:
    path = put(desk.theirs, "mine", model="opus")
    result = desk.run("check", str(path))
    assert (result.exit_code, result.stdout) == (0, f"{path}: mine is sound, with remarks\n")
    assert result.stderr.startswith(f"warning: {path}:4: model: `opus` names no provider")


def test_a_name_that_is_taken_is_named(desk: Desk) -> None:
    path, own = put(desk.theirs, "explorer"), put(desk.own, "mine")
    result = desk.run("check", str(path), str(own))
    assert (result.exit_code, result.stdout) == (0, f"{path}: explorer is sound\n{own}: mine is sound\n")
    assert result.stderr == (
        f"note: {path}: built-in:explorer has this name too: in a workspace it is the one that the name means\n"
    )
    assert desk.here("check").stdout.splitlines() == [
        f"{path}: explorer is sound; shadowed by built-in:explorer; a job has it as workspace:explorer",
        f"{own}: mine is sound",
    ]


def test_a_folder_with_a_broken_file_is_wrong(desk: Desk) -> None:
    good, bad = put(desk.theirs, "good"), put(desk.theirs, "bad", "Bash(git:*)")
    result = desk.run("check", str(desk.theirs))
    assert (result.exit_code, result.stdout) == (2, f"{good}: good is sound\n")
    assert result.stderr.startswith(f"error: {bad}:4: tools: grants nothing:")


def test_a_plugin_is_checked_whole(desk: Desk) -> None:
    root = desk.home.path / "kit"
    (root / ".claude-plugin").mkdir(parents=True)
    manifest = root / ".claude-plugin" / "plugin.json"
    manifest.write_text('{"name": "kit", "agents": "../outside"}')
    path = put(root / "agents", "brought")
    result = desk.run("check", str(root))
    assert (result.exit_code, result.stdout) == (0, f"{path}: brought is sound\n")
    assert result.stderr.startswith(
        f"warning: {manifest}: agents: `../outside` is not used: it leads out of the plugin"
    )
    manifest.write_text("{}")
    assert desk.run("check", str(root)).exit_code == 2


def test_without_a_file_everything_here_is_checked(desk: Desk) -> None:
    path = put(desk.own, "mine")
    assert desk.here("check").stdout == f"{path}: mine is sound\n"
    put(desk.theirs, "bad", maxTurns="0")
    assert desk.here("check").exit_code == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("check", "gone.md"), "error: gone.md: there is no such file\n"),
        (
            ("check", "gone.md", "--workspace", "."),
            "error: wanted files, or one of --workspace and --job, found both\n",
        ),
        (("list", "--workspace", ".", "--job", "x"), "error: wanted one of --workspace and --job, found both\n"),
    ],
)
def test_a_command_line_that_is_wrong_is_said(desk: Desk, words: tuple[str, ...], sentence: str) -> None:
    result = desk.run(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", sentence)


def test_an_empty_folder_has_nothing_to_check(desk: Desk) -> None:
    assert desk.run("check", str(desk.workspace)).stdout == "No definition is there.\n"


def test_a_jobs_workspace_is_looked_at(desk: Desk) -> None:
    put(desk.theirs, "free")
    desk.home.job("look", f'prompt = "Look."\nworkspace = "{desk.workspace}"\n')
    said = json.loads(desk.run("list", "--job", "look", "--json").stdout)
    assert (said["job"], said["workspace"]) == ("look", str(desk.workspace))
    assert {one["name"]: one["allowed"] for one in said["agents"]} == dict.fromkeys(sorted([*BUILT_IN, "free"]), False)


def test_what_there_is_is_named_once_whoever_defines_it(desk: Desk) -> None:
    put(desk.own, "fixer")
    put(desk.theirs, "fixer")
    assert "(known here: code-reviewer, explorer, fixer, test-runner)" in desk.here("show", "zzz").stderr
