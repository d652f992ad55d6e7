"""`kova-auto init`: settings and a first job that runs as it is; nothing is overwritten."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.ids import CallId
from kova_auto.core.message import (
    AssistantMessage,
    Message,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
    told,
)
from kova_auto.llm.script import parse_script
from kova_auto.llm.scripted import play
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.environment import local_zone
from kova_auto.settings.load import load_settings
from tests.cli.command import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_first_words_are_settings_a_job_and_its_script(home: Home) -> None:
    result = home.run("init", str(home.path))
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        f"Wrote {home.config}/kova-auto.toml",
        f"Wrote {home.jobs}/first-look.toml",
        f"Wrote {home.jobs}/first-look.script.toml",
        "",
        "Now: kova-auto run first-look",
    ]


def test_the_settings_are_sound_and_know_the_machines_zone(home: Home) -> None:
    home.run("init", str(home.path))
    settings = load_settings(None, {"HOME": str(home.path)})
    assert (settings.timezone, settings.jobs_dir) == ("Europe/Berlin", home.jobs)


def test_what_the_settings_suggest_in_comments_is_sound_too(home: Home) -> None:
    home.run("init", str(home.path))
    path = home.config / "kova-auto.toml"
    lines = [line.removeprefix("#").removeprefix(" ") for line in path.read_text().splitlines()]
    keys = [line for line in lines if line.startswith("[") or " = " in line.split("#")[0]]
    path.write_text("\n".join(line for line in keys if not line.startswith(("{", "Who"))))
    settings = load_settings(None, {"HOME": str(home.path)})
    assert (list(settings.providers), list(settings.endpoints)) == (["openai"], ["team-slack", "ci"])


def test_the_first_job_only_reads_and_brings_its_script(home: Home) -> None:
    home.run("init", str(home.path))
    job = load_job(home.jobs / "first-look.toml")
    assert (job.automation, job.model, job.workspace) == (AutomationLevel.READ_ONLY, "auto", str(home.path.resolve()))
    script = parse_script(job.script_text or "", str(job.script))
    assert [call.tool for turn in script.turns for call in turn.calls] == ["glob", "read", "grep"]


def reported(script: str, readme: ToolResult, marks: ToolResult) -> str:
    """Play the first job's script over results, and return its report."""
    turns = parse_script(script, "first-look.script.toml")
    results = {"files": told(ResultStatus.OK, "README.md\na.py\n"), "readme": readme, "marks": marks}
    messages: tuple[Message, ...] = (UserMessage(parts=(TextPart(text="Look"),)),)
    while (reply := play(turns, messages)).calls:
        messages += (AssistantMessage(text=reply.text),)
        for asked in reply.calls:
            result = results[asked.provider_id]
            call = ToolCall(**asked.model_dump(), id=CallId("1.1"))
            messages += (ToolMessage(call=call, status=result.status, parts=result.parts),)
    return reply.text


def test_the_first_report_cites_what_the_tools_really_gave(home: Home) -> None:
    home.run("init", str(home.path))
    script = (home.jobs / "first-look.script.toml").read_text()
    readme = told(ResultStatus.OK, "     1\t# A tool\n     2\t\n     3\tIt works.\n")
    marks = told(ResultStatus.OK, "a.py:3: # TODO: name it\na.py:9: # FIXME\n")
    assert reported(script, readme, marks) == (
        "# First look\n\n**README.md begins:** A tool\n\n**Files.** 2, ignored ones left out.\n\n"
        "**Open questions.**\n- `a.py:3: # TODO: name it`\n- `a.py:9: # FIXME`\n"
    )


def test_the_first_report_says_what_it_could_not_see(home: Home) -> None:
    home.run("init", str(home.path))
    script = (home.jobs / "first-look.script.toml").read_text()
    readme = told(ResultStatus.ERROR, "no file README.md")
    marks = told(ResultStatus.OK, "[no line matches; 2 files were searched]")
    assert reported(script, readme, marks) == (
        "# First look\n\n**README.md** could not be read: no file README.md\n\n"
        "**Files.** 2, ignored ones left out.\n\n**Open questions.** None are marked.\n"
    )
    assert "**README.md begins:** empty\n" in reported(script, told(ResultStatus.OK, ""), marks)


def test_settings_that_are_there_are_kept_and_followed(home: Home) -> None:
    home.settings('jobs_dir = "../../nightly"')
    result = home.run("init", str(home.path))
    assert result.stdout.startswith(f"Kept  {home.config}/kova-auto.toml\nWrote {home.path}/nightly/first-look.toml\n")
    assert (home.config / "kova-auto.toml").read_text() == 'jobs_dir = "../../nightly"'


def test_a_second_time_overwrites_nothing(home: Home) -> None:
    home.run("init", str(home.path))
    job = home.jobs / "first-look.toml"
    job.write_text('prompt = "mine"')
    result = home.run("init", str(home.path))
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {job}: wanted a new file, found one that is there already"
        " (nothing is overwritten: edit it, move it away, or choose another name)\n"
    )
    assert job.read_text() == 'prompt = "mine"'


def test_a_directory_that_is_not_there_leaves_nothing_behind(home: Home) -> None:
    result = home.run("init", str(home.path / "none"))
    assert result.exit_code == 2
    assert f"found none at {home.path}/none; nothing was written" in result.stderr
    assert [path for path in home.path.rglob("*") if path.is_file()] == []


def test_other_settings_may_be_named(home: Home) -> None:
    settings = home.path / "service" / "kova.toml"
    result = home.run("init", str(home.path), "--config", str(settings))
    assert result.stdout.splitlines()[-1] == f"Now: kova-auto run first-look --config {settings}"
    assert tomllib.loads(settings.read_text())["jobs_dir"] == "jobs"
    assert (home.path / "service" / "jobs" / "first-look.toml").exists()


@pytest.mark.parametrize(
    ("variable", "target", "zone"),
    [
        ("Europe/Berlin", None, "Europe/Berlin"),
        (":Asia/Tokyo", None, "Asia/Tokyo"),
        ("", "/usr/share/zoneinfo/America/New_York", "America/New_York"),
        ("CET-1CEST", "/var/db/timezone/zoneinfo/Europe/Paris", "Europe/Paris"),
        ("", None, "UTC"),
        ("", "/etc/somewhere", "UTC"),
    ],
    ids=["TZ", "TZ with a colon", "Linux", "macOS, an odd TZ", "nothing", "a link elsewhere"],
)
def test_the_machines_zone_is_found(tmp_path: Path, variable: str, target: str | None, zone: str) -> None:
    link = tmp_path / "localtime"
    if target:
        link.symlink_to(target)
    assert local_zone({"TZ": variable}, link) == zone
