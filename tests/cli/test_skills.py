"""`kova-auto skills`: looking at the skills of a workspace and of the user, and checking their files."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from tests.cli.command import Home, StoppedClock, logging_restored
from tests.knowledge.skill_shapes import BROKEN, FOLDERS
from tests.support import ALONE


@dataclass(frozen=True)
class Desk:
    """Sit in a workspace, at home."""

    home: Home

    @property
    def workspace(self) -> Path:
        return self.home.path / "app"

    @property
    def here(self) -> Path:
        return self.workspace / ".kova/skills"

    @property
    def own(self) -> Path:
        return self.home.path / ".kova/skills"

    def run(self, command: str, *words: str) -> Result:
        variables = {"HOME": str(self.home.path), "TZ": "Europe/Berlin", "COLUMNS": "200", **ALONE}
        with logging_restored():
            return CliRunner(env=variables).invoke(
                app, ["skills", command, *words], obj=StoppedClock(), prog_name="kova-auto"
            )

    def here_(self, command: str, *words: str) -> Result:
        return self.run(command, *words, "--workspace", str(self.workspace))

    def said(self, command: str, *words: str) -> Any:  # noqa: ANN401  # whatever it writes
        return json.loads(self.here_(command, *words, "--json").stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(Home(tmp_path.resolve()))
    desk.workspace.mkdir()
    return desk


def a_skill(place: Path, name: str, more: str = "") -> Path:
    folder = place / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n\nDo it.\n")
    return folder


def test_where_there_are_none_the_list_says_so(desk: Desk) -> None:
    assert desk.here_("list").stdout.startswith("There are no skills here.")
    assert desk.said("list") == {"workspace": str(desk.workspace), "job": None, "skills": [], "problems": []}


def test_skills_are_listed_in_the_order_of_their_places_with_whether_runs_are_told(desk: Desk) -> None:
    a_skill(desk.own, "notes")
    a_skill(desk.here, "notes")
    a_skill(desk.own, "deploy", "disable-model-invocation: true\n")
    result = desk.here_("list")

    assert result.stdout.splitlines() == [
        "NAME    FROM            SHOWN     DESCRIPTION",
        "notes   .kova/skills    yes       Does notes.",
        "deploy  ~/.kova/skills  if named  Does deploy.",
        "notes   ~/.kova/skills  shadowed  Does notes.",
    ]
    paths = f"{desk.own}/notes/SKILL.md is not read: {desk.here}/notes/SKILL.md"
    assert result.stderr == f"note: {paths} has the same name and comes first\n"
    listed = desk.said("list")["skills"]
    assert [(one["shown"], one["shadowed_by"]) for one in listed] == [
        ("yes", None),
        ("if named", None),
        ("shadowed", f"{desk.here}/notes/SKILL.md"),
    ]


def test_for_a_job_they_are_listed_as_it_names_them(desk: Desk) -> None:
    for name in ("deploy", "notes"):
        a_skill(desk.here, name, "disable-model-invocation: true\n" if name == "deploy" else "")
    text = f'prompt = "Go."\nworkspace = "{desk.workspace}"\ncontext = {{ skills = ["deploy", "gone"] }}\n'
    desk.home.job("tag", text)
    result = desk.run("list", "--job", "tag")

    assert [line.split()[0:3:2] for line in result.stdout.splitlines()[1:]] == [["deploy", "yes"], ["notes", "not"]]
    assert "warning: context.skills: wanted skills that are there, found no gone" in result.stderr


def test_what_cannot_be_used_is_warned_of_and_hides_nothing(desk: Desk) -> None:
    a_skill(desk.here, "notes")
    (a_skill(desk.here, "bad") / "SKILL.md").write_text("# Nothing\n")
    result = desk.here_("list")

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr.startswith(f"warning: {desk.here}/bad/SKILL.md:1: wanted front matter, found no ---")


def test_a_skill_is_shown_with_all_that_it_says(desk: Desk) -> None:
    shutil.copytree(FOLDERS / "release-notes", desk.here / "release-notes")
    result = desk.here_("show", "release-notes")

    assert result.stdout.splitlines()[:8] == [
        "name:        release-notes",
        f"path:        {desk.here}/release-notes/SKILL.md",
        "description: Write release notes from merged changes. Use when a version is about to be tagged.",
        "license:     Apache-2.0",
        "needs:       Needs git.",
        "metadata:    author: example-org, version: 1.0",
        (
            "narrows to:  bash, task_output, task_stop, read, once a run has loaded it; they are judged as ever "
            "(allowed-tools: Bash(git:*) Read)"
        ),
        "",
    ]
    assert "# Release notes" in result.stdout
    said = desk.said("show", "release-notes")
    assert (said["tools"], said["allowed_tools"]) == (
        ["bash", "task_output", "task_stop", "read"],
        ["Bash(git:*)", "Read"],
    )
    assert said["text"].startswith("# Release notes")


def test_one_that_is_not_there_or_broken_is_an_error(desk: Desk) -> None:
    a_skill(desk.here, "notes")
    (a_skill(desk.here, "bad") / "SKILL.md").write_text("# Nothing\n")
    gone, bad = desk.here_("show", "gone"), desk.here_("show", "bad")

    assert (gone.exit_code, bad.exit_code) == (2, 2)
    assert gone.stderr == f"error: {desk.workspace}: there is no skill gone (there are: notes)\n"
    assert bad.stderr.startswith(f"error: {desk.here}/bad/SKILL.md:1: wanted front matter")


def test_a_sound_folder_and_a_sound_file_pass_the_check(desk: Desk) -> None:
    folder = a_skill(desk.workspace / "elsewhere", "notes")
    for path in (folder, folder / "SKILL.md"):
        result = desk.run("check", str(path))
        assert (result.exit_code, result.stdout) == (0, f"ok  notes  {folder}/SKILL.md\n")


def test_every_problem_is_named_with_its_line(desk: Desk) -> None:
    result = desk.run("check", str(FOLDERS / "site-search"), str(FOLDERS / "broken-key-twice"))

    assert result.exit_code == 2
    lines = [line.split("SKILL.md:")[1].split(":")[0] for line in result.stderr.splitlines()]
    assert lines == ["4", "5", "5", "5", "5", "8", "9", "13", "16", "5"]
    [search, twice] = json.loads(
        desk.run("check", str(FOLDERS / "site-search"), str(FOLDERS / "broken-key-twice"), "--json").stdout
    )
    assert (search["name"], search["errors"], len(search["warnings"])) == ("site-search", [], 9)
    assert (twice["name"], twice["warnings"]) == (None, [])
    assert twice["errors"] == [
        {
            "line": 5,
            "key": "description",
            "message": "stands twice, first in line 3",
            "hint": "take one of them out",
        }
    ]


def test_strict_counts_warnings_as_well(desk: Desk) -> None:
    assert desk.run("check", str(FOLDERS / "pr-review")).exit_code == 0
    assert desk.run("check", str(FOLDERS / "pr-review"), "--strict").exit_code == 1
    assert desk.run("check", str(FOLDERS / "release-notes"), "--strict").exit_code == 0


def test_without_a_path_all_of_a_workspace_are_checked(desk: Desk) -> None:
    shutil.copytree(FOLDERS, desk.here)
    found = json.loads(desk.here_("check", "--json").stdout)

    assert len(found) == len(list(FOLDERS.iterdir()))
    assert {Path(one["path"]).parent.name for one in found if one["errors"]} == set(BROKEN)
    assert desk.here_("check").exit_code == 2


def test_where_there_is_nothing_to_check_that_is_an_error(desk: Desk) -> None:
    (desk.workspace / "empty").mkdir()
    empty, gone = desk.run("check", str(desk.workspace / "empty")), desk.run("check", str(desk.workspace / "gone"))
    both = desk.here_("check", str(desk.workspace))

    assert (empty.exit_code, gone.exit_code, both.exit_code) == (2, 2, 2)
    assert "wanted a folder with a SKILL.md, found none in it" in empty.stderr
    assert "wanted a folder with a SKILL.md, found nothing" in gone.stderr
    assert "wanted paths, or one of --workspace and --job, found both" in both.stderr


def test_a_job_that_names_a_missing_skill_does_not_pass_its_check(desk: Desk) -> None:
    a_skill(desk.here, "notes")
    text = 'prompt = "Go."\nworkspace = "{place}"\ncontext = {{ skills = {skills} }}\n'
    desk.home.job("tag", text.format(place=desk.workspace, skills='["notes", "gone"]'))
    desk.home.job("sound", text.format(place=desk.workspace, skills='["notes"]'))
    result = desk.home.run("jobs", "check")

    assert result.exit_code == 1
    assert "tag.toml: context.skills: wanted skills that are there, found no gone (there are: notes)" in result.stderr
    assert "kova-auto skills list shows what is there" in result.stderr
    assert "ok  sound" in result.stdout


def test_a_file_that_is_checked_by_itself_says_what_was_not_looked_for(desk: Desk) -> None:
    text = f'prompt = "Go."\nworkspace = "{desk.workspace}"\n'
    plain = desk.home.job("plain", text)
    named = desk.home.job("tag", f'{text}context = {{ skills = ["gone"] }}\nagents = {{ allow = ["gone"] }}\n')
    result = desk.home.run("jobs", "check", str(plain), str(named))

    assert result.exit_code == 0
    assert result.stderr == f"note: {named}: its skills and subagents were not looked for: name the job, or --config\n"


def test_doctor_names_what_jobs_would_miss(desk: Desk) -> None:
    a_skill(desk.here, "notes")
    a_skill(desk.own, "notes")
    (a_skill(desk.here, "bad") / "SKILL.md").write_text("# Nothing\n")
    text = f'prompt = "Go."\nworkspace = "{desk.workspace}"\ncontext = {{ skills = ["gone"] }}\n'
    desk.home.job("tag", text)
    found = json.loads(desk.home.run("doctor", "--offline", "--json").stdout)
    said = [(one["name"], one["text"]) for one in found if one["check"] == "skill"]

    assert [name for name, _ in said] == [".kova/skills/bad/SKILL.md", ".kova/skills/notes/SKILL.md", "tag"]
    assert "wanted front matter" in said[0][1]
    assert said[1][1] == f"of {desk.workspace} comes before ~/.kova/skills/notes/SKILL.md, which has the same name"
    assert "found no gone (there are: notes)" in said[2][1]


def test_what_lies_among_skills_and_is_none_is_warned_of(desk: Desk) -> None:
    a_skill(desk.here / "deep", "inner")
    why = ".kova/skills/deep is no skill: it holds skills, as inner; move them up to .kova/skills"
    checked, strict = desk.here_("check"), desk.here_("check", "--strict")

    assert desk.said("list")["problems"] == [why]
    assert (checked.exit_code, strict.exit_code) == (0, 1)
    assert checked.stderr == f"warning: {why}\n"
    assert desk.said("check") == [
        {
            "path": None,
            "name": None,
            "errors": [],
            "warnings": [{"line": None, "key": "", "message": why, "hint": ""}],
        }
    ]


def test_a_folder_of_skills_is_checked_whole(desk: Desk) -> None:
    a_skill(desk.here, "notes")
    (a_skill(desk.here, "huge") / "SKILL.md").write_text("x" * 300_000)
    result = desk.run("check", str(desk.here))

    assert result.exit_code == 2
    assert result.stdout == f"ok  notes  {desk.here}/notes/SKILL.md\n"
    assert result.stderr.startswith(f"error: {desk.here}/huge/SKILL.md: wanted at most 256 KiB, found more")


def test_the_skills_of_a_plugin_are_checked(desk: Desk) -> None:
    kit = desk.home.path / "kit"
    a_skill(kit / "skills", "notes")
    a_skill(kit / "more", "review")
    (kit / ".claude-plugin").mkdir()
    (kit / ".claude-plugin/plugin.json").write_text('{"name": "kit", "skills": "./more"}')

    assert desk.run("check", str(kit)).stdout.split()[1::3] == ["notes", "review"]


def test_who_asks_by_the_name_of_a_folder_is_told_the_skills(desk: Desk) -> None:
    a_skill(desk.here, "notes").rename(desk.here / "notes-v2")
    result = desk.here_("show", "notes-v2")

    assert result.exit_code == 2
    assert (
        "there is no skill notes-v2 (the one in the folder notes-v2 is called notes; there are: notes)" in result.stderr
    )
