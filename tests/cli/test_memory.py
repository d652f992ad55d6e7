"""`kova-auto memory`: looking at the notes of a workspace and of the user, changing them, and bringing them back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from kova_auto.core.context.memory import MAX_NOTE_BYTES, SHOWN_PER_NOTE
from tests.cli.command import NOW, Home, StoppedClock, logging_restored
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
        return self.workspace / ".kova" / "memory"

    @property
    def everywhere(self) -> Path:
        return self.home.path / ".kova" / "memory"

    def run(self, command: str, *words: str, stdin: bytes = b"", **environ: str) -> Result:
        place = () if "--global" in words else ("--workspace", str(self.workspace))
        variables = {"HOME": str(self.home.path), "TZ": "Europe/Berlin", "VISUAL": None, "EDITOR": None, **ALONE}
        with logging_restored():
            return CliRunner(env={**variables, **environ}).invoke(
                app, ["memory", command, *words, *place], input=stdin, obj=StoppedClock(), prog_name="kova-auto"
            )

    def did(self, command: str, *words: str, stdin: bytes = b"", **environ: str) -> str:
        result = self.run(command, *words, stdin=stdin, **environ)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    def said(self, command: str, *words: str) -> Any:  # noqa: ANN401  # whatever it writes
        return json.loads(self.did(command, *words, "--json"))

    def wrong(self, command: str, *words: str, stdin: bytes = b"", **environ: str) -> str:
        result = self.run(command, *words, stdin=stdin, **environ)
        assert (result.exit_code, result.stdout) == (2, "")
        return result.stderr.strip()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(Home(tmp_path.resolve()))
    desk.workspace.mkdir()
    return desk


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def editor(desk: Desk, script: str) -> str:
    path = put(desk.home.path / "bin" / "editor", f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_where_nothing_is_kept_the_list_says_so(desk: Desk) -> None:
    assert desk.did("list") == "Nothing is kept here yet.\n"
    assert desk.said("list") == {
        "workspace": str(desk.here),
        "global": str(desk.everywhere),
        "notes": [],
        "problems": [],
    }


def test_notes_are_listed_as_runs_are_shown_them(desk: Desk) -> None:
    put(desk.here / "MEMORY.md", "Use tabs.\n")
    put(desk.here / "long.md", "x" * (SHOWN_PER_NOTE + 1))
    put(desk.here / "nothing.md", "\n")
    put(desk.here / "daily" / "2026-03-27.md", "Rain.")
    put(desk.everywhere / "MEMORY.md", "German.")
    assert desk.did("list").splitlines() == [
        "LAYER      CHARACTERS  SHOWN      NOTE",
        "workspace  10          whole      MEMORY.md",
        "workspace  5           by search  daily/2026-03-27.md",
        "workspace  4001        shortened  long.md",
        "workspace  1           empty      nothing.md",
        "global     7           whole      MEMORY.md",
    ]
    notes = desk.said("list", "--global")["notes"]
    assert notes == [{"layer": "global", "name": "MEMORY.md", "characters": 7, "shown": "whole"}]


def test_what_there_is_no_room_for_is_listed_so_and_what_cannot_be_read_warned_of(desk: Desk) -> None:
    for name in "abcd":
        put(desk.here / f"{name}.md", "x" * SHOWN_PER_NOTE)
    (desk.here / "bad.md").write_bytes(b"\xff")
    result = desk.run("list")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "workspace  4000        no room  d.md"
    assert result.stderr.startswith("warning: The note workspace/bad.md is not read: wanted text in UTF-8")


def test_a_note_is_shown_without_what_acts_on_a_screen_and_to_programs_as_it_is(desk: Desk) -> None:
    put(desk.here / "MEMORY.md", "Use \x1b[31mtabs.\n")
    assert desk.did("show") == "Use tabs.\n"
    assert desk.said("show")["text"] == "Use \x1b[31mtabs.\n"


def test_a_note_that_is_not_there_is_an_error_that_names_those_that_are(desk: Desk) -> None:
    put(desk.here / "MEMORY.md", "Use tabs.\n")
    assert desk.wrong("show", "a.md") == (
        f"error: {desk.here}/a.md: there is no such note "
        "(there are: MEMORY.md; kova-auto memory history a.md shows what it held before)"
    )


@pytest.mark.parametrize("command", ["show", "edit", "history", "restore", "forget"])
def test_a_name_that_is_none_is_refused(desk: Desk, command: str) -> None:
    assert "'../x.md' names no note: a note lies directly in its memory" in desk.wrong(
        command, "../x.md", EDITOR="true"
    )


def test_words_are_searched_in_both_layers(desk: Desk) -> None:
    put(desk.here / "daily" / "2026-03-27.md", "Sunny.\nThe deploy failed.\n")
    put(desk.everywhere / "MEMORY.md", "Never deploy on Fridays.\n")
    assert sorted(desk.did("search", "deploy", "failed").splitlines()) == [
        "global/MEMORY.md:1: Never deploy on Fridays.",
        "workspace/daily/2026-03-27.md:2: The deploy failed.",
    ]
    assert desk.said("search", "deploy", "--global") == [
        {"layer": "global", "name": "MEMORY.md", "line": 1, "text": "Never deploy on Fridays."}
    ]
    assert len(desk.said("search", "deploy", "--limit", "1")) == 1


def test_nothing_found_is_an_exit_of_its_own(desk: Desk) -> None:
    result = desk.run("search", "deploy")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "nothing was found\n")
    assert "there is no word in the query" in desk.wrong("search", "...")


def test_a_note_is_taken_from_standard_input(desk: Desk) -> None:
    path = desk.here / "MEMORY.md"
    assert desk.did("edit", "MEMORY.md", "-", stdin=b"Use tabs.") == f"began {path}\n"
    assert desk.did("edit", "MEMORY.md", "-", stdin="Use täbs.\n".encode()) == f"changed {path}\n"
    assert desk.did("edit", "MEMORY.md", "-", stdin="Use täbs.\n".encode()) == f"nothing changed in {path}\n"
    assert path.read_text() == "Use täbs.\n"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (b" \n", "wanted text for the note, found none; nothing was written"),
        (b"a\xff", "found byte 0xff at 1"),
        (b"a\0b", "there is a NUL in it"),
        (b"x" * (MAX_NOTE_BYTES + 1), f"a note may have {MAX_NOTE_BYTES}"),
    ],
)
def test_what_is_no_note_is_not_taken(desk: Desk, given: bytes, why: str) -> None:
    assert why in desk.wrong("edit", "MEMORY.md", "-", stdin=given)
    assert not (desk.here / "MEMORY.md").exists()


def test_what_cannot_be_shown_can_be_forgotten_replaced_and_brought_back(desk: Desk) -> None:
    path = put(desk.here / "MEMORY.md", "")
    path.write_bytes(b"\xff\xfe")
    assert "is no text: wanted UTF-8, found byte 0xff at 0 (kova-auto memory forget MEMORY.md" in desk.wrong("show")
    desk.did("forget", "MEMORY.md")
    desk.did("restore", "MEMORY.md")
    assert path.read_bytes() == b"\xff\xfe"
    desk.did("edit", "MEMORY.md", "-", stdin=b"Use tabs.\n")
    assert path.read_text() == "Use tabs.\n"
    assert len(desk.said("history", "MEMORY.md")["versions"]) == 4


def test_a_note_is_edited_in_the_editor_of_the_environment(desk: Desk) -> None:
    path = put(desk.here / "MEMORY.md", "Use tabs.\n")
    assert desk.did("edit", EDITOR=editor(desk, 'sed -i s/tabs/blanks/ "$1"')) == f"changed {path}\n"
    assert path.read_text() == "Use blanks.\n"
    assert desk.did("edit", VISUAL="true", EDITOR="false") == f"nothing changed in {path}\n"


def test_without_an_editor_the_way_out_is_said(desk: Desk) -> None:
    assert "found neither VISUAL nor EDITOR" in desk.wrong("edit")
    assert "pass - and give the note on standard input" in desk.wrong("edit")


@pytest.mark.parametrize(
    ("command", "why"), [("false", "ended with 1"), ("/no/such", "cannot be started"), ("'", "cannot be started")]
)
def test_an_editor_that_fails_changes_nothing(desk: Desk, command: str, why: str) -> None:
    path = put(desk.here / "MEMORY.md", "Use tabs.\n")
    assert why in desk.wrong("edit", EDITOR=command)
    assert path.read_text() == "Use tabs.\n"


def test_a_note_that_changed_while_it_was_edited_is_left_and_the_text_is_not_lost(desk: Desk) -> None:
    path = put(desk.here / "MEMORY.md", "Use tabs.\n")
    script = f'echo theirs > {path}; echo mine > "$1"'
    said = desk.wrong("edit", EDITOR=editor(desk, script))
    assert "changed by somebody else just now" in said
    assert path.read_text() == "theirs\n"
    kept = Path(said.rsplit("what you wrote is in ", 1)[1])
    assert kept.read_text() == "mine\n"
    kept.unlink()


def test_each_version_is_listed_with_whose_doing_it_was(desk: Desk) -> None:
    put(desk.here / "MEMORY.md", "by hand\n")
    desk.did("edit", "MEMORY.md", "-", stdin=b"edited\n")
    assert desk.did("history", "MEMORY.md").splitlines() == [
        "NUMBER  KEPT AT           CHARACTERS  BY",
        "2       2026-03-27 12:00  7           edit",
        "1       2026-03-27 12:00  8           external",
    ]
    assert desk.said("history", "MEMORY.md") == {
        "layer": "workspace",
        "name": "MEMORY.md",
        "versions": [
            {"number": 1, "at": f"{NOW:%Y-%m-%dT%H:%M:%SZ}", "by": "external", "characters": 8},
            {"number": 2, "at": f"{NOW:%Y-%m-%dT%H:%M:%SZ}", "by": "edit", "characters": 7},
        ],
        "trash": [],
    }
    assert desk.did("show", "--version", "1") == "by hand\n"
    assert "there is no version 7 of it (there are: 1, 2)" in desk.wrong("show", "--version", "7")
    assert desk.did("history", "other.md") == "No version of other.md is kept.\n"


def test_a_note_that_was_forgotten_is_in_the_trash_until_it_is_restored(desk: Desk) -> None:
    path = put(desk.here / "lessons.md", "#lesson test first\n")
    assert desk.did("forget", "lessons.md") == f"forgot {path} (kova-auto memory restore lessons.md)\n"
    assert not path.exists()
    assert desk.did("history").splitlines()[1] == "1       2026-03-27 12:00  lessons.md"
    assert desk.did("restore", "lessons.md") == f"restored {path} from the trash\n"
    assert path.read_text() == "#lesson test first\n"
    assert desk.did("history") == "The trash is empty.\n"
    assert [one["by"] for one in desk.said("history", "lessons.md")["versions"]] == ["external", "delete", "restore"]


def test_where_one_of_several_is_not_there_none_is_forgotten(desk: Desk) -> None:
    path = put(desk.here / "a.md", "a\n")
    assert "there is no such note" in desk.wrong("forget", "a.md", "b.md")
    assert path.exists()


def test_what_a_note_held_before_is_brought_back(desk: Desk) -> None:
    for text in (b"one\n", b"two\n", b"three\n"):
        desk.did("edit", "MEMORY.md", "-", stdin=text)
    path = desk.here / "MEMORY.md"
    assert desk.did("restore") == f"restored {path} from version 2\n"
    assert path.read_text() == "two\n"
    assert desk.did("restore", "MEMORY.md", "1") == f"restored {path} from version 1\n"
    assert path.read_text() == "one\n"
    assert "there is no version 99 of it (there are: 1, 2, 3, 4, 5" in desk.wrong("restore", "MEMORY.md", "99")
    assert "there is no earlier version of it (there are: none" in desk.wrong("restore", "other.md")


def test_the_global_memory_is_edited_where_that_is_said(desk: Desk) -> None:
    desk.did("edit", "MEMORY.md", "-", "--global", stdin=b"German.\n")
    path = desk.everywhere / "MEMORY.md"
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("German.\n", 0o600)
    assert desk.did("forget", "MEMORY.md", "--global").endswith("(kova-auto memory restore MEMORY.md --global)\n")
    assert not desk.here.exists()


def test_one_place_is_named_at_most_and_it_must_be_there(desk: Desk) -> None:
    both = desk.home.run("memory", "list", "--global", "--workspace", str(desk.workspace))
    assert (both.exit_code, both.stderr) == (2, "error: wanted one of --workspace and --global, found both\n")
    nowhere = desk.home.run("memory", "list", "--workspace", str(desk.workspace / "no"))
    assert nowhere.exit_code == 2
    assert "wanted a directory, found nothing" in nowhere.stderr


def test_a_note_that_is_a_link_is_neither_shown_nor_changed(desk: Desk) -> None:
    secret = put(desk.home.path / "secret", "secret\n")
    desk.here.mkdir(parents=True)
    (desk.here / "MEMORY.md").symlink_to(secret)
    for words in (("show",), ("forget", "MEMORY.md"), ("edit", "MEMORY.md", "-")):
        said = desk.wrong(*words, stdin=b"x\n")
        assert "passes through a symbolic link" in said
    assert secret.read_text() == "secret\n"


def test_what_follows_the_name_can_only_be_standard_input(desk: Desk) -> None:
    assert "wanted -, found 'x' (kova-auto memory edit MEMORY.md - < FILE)" in desk.wrong("edit", "MEMORY.md", "x")
