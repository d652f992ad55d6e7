"""What the three files say of a workspace, and what no file of a workspace can make them say."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.knowledge.files import MAX_BYTES
from kova_auto.knowledge.permissions import Said
from tests.knowledge.homes import Ground, nothing_against, said, write

RULES = {"allowCommands": ["make a"]}
COMMANDS = Standing(commands=("make a",))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground.of(tmp_path)


def project(ground: Ground) -> Said:
    return ground.files.said_by_project(ground.app, nothing_against)


def test_where_there_are_no_files_nothing_is_said_and_nothing_is_made(ground: Ground) -> None:
    files = ground.files
    found = [ask(ground.app, nothing_against) for ask in (files.said_by_user, files.said_here, files.said_by_project)]
    assert [(one.is_there, one.standing, one.problems) for one in found] == [(False, Standing(), ())] * 3
    assert (files.workspaces(), files.ignored(ground.app)) == ((), None)
    assert sorted(path.name for path in ground.home.iterdir()) == ["src"]


def test_directories_of_the_user_begin_at_the_home_or_at_the_workspace(ground: Ground) -> None:
    ground.user_says({"writeRoots": ["~/src/shared", "../shared", str(ground.shared), ".", "sub"]})
    (ground.app / "sub").mkdir()
    found = ground.files.said_by_user(ground.app, nothing_against)
    assert (found.standing.write_roots, found.problems) == ((str(ground.shared),), ())


@pytest.mark.parametrize("ask", ["said_by_user", "said_by_project"])
def test_a_directory_that_cannot_be_used_is_named_and_the_rest_counts(ground: Ground, ask: str) -> None:
    value = {**RULES, "writeRoots": ["../none", "../file", "../shared"]}
    write(ground.home / "src" / "file", "")
    ground.user_says(value), ground.project_says(value)
    found: Said = getattr(ground.files, ask)(ground.app, nothing_against)
    assert found.standing == Standing(commands=("make a",), write_roots=(str(ground.shared),))
    assert said(found) == [
        f"writeRoots '../none': '{ground.home}/src/none' cannot be used: No such file or directory (it does not count)",
        f"writeRoots '../file': '{ground.home}/src/file' is no directory (it does not count)",
    ]


@pytest.mark.parametrize("ask", ["said_by_user", "said_by_project", "said_here"])
def test_a_directory_that_may_be_no_root_is_refused_whenever_it_is_read(ground: Ground, ask: str) -> None:
    value = {**RULES, "writeRoots": ["../shared"]}
    ground.user_says(value), ground.project_says(value)
    ground.files.local(ground.app).add(Standing(commands=("make a",), write_roots=(str(ground.shared),)), lambda _: "")
    found: Said = getattr(ground.files, ask)(ground.app, lambda root: f"{root} is mine")
    assert found.standing == COMMANDS
    assert said(found) == [
        f"writeRoots '../shared': no write root: {ground.shared} is mine (it does not count)",
    ]


def test_a_link_to_a_root_of_the_user_is_refused_because_it_could_be_repointed(ground: Ground) -> None:
    link, hint = ground.home / "src" / "link", f" (write {ground.shared})"
    link.symlink_to(ground.shared)
    ground.user_says({"writeRoots": ["../link", "../link/../shared"]})
    found = ground.files.said_by_user(ground.app, nothing_against)
    assert found.standing.write_roots == (str(ground.shared),)
    assert said(found) == [
        f"writeRoots '../link': '{link}' is reached by a symbolic link, which may lead elsewhere tomorrow{hint}"
    ]


def test_a_root_that_a_project_proposes_is_shown_as_what_it_leads_to(ground: Ground) -> None:
    (ground.app / "docs").symlink_to(ground.shared)
    ground.project_says({"writeRoots": ["docs", "src", ".."]})
    (ground.app / "src").mkdir()
    assert project(ground).standing.write_roots == (str(ground.shared), str(ground.home / "src"))


def test_a_directory_that_may_be_no_root_is_not_even_looked_for(ground: Ground) -> None:
    value = {"writeRoots": ["/net/host/x", "../none"]}
    ground.user_says(value), ground.project_says(value)
    for ask in (ground.files.said_by_user, ground.files.said_by_project):
        found = ask(ground.app, lambda root: f"{root} is no place")
        assert ["cannot be used" in line for line in said(found)] == [False, False]


def test_a_broken_file_of_the_user_grants_nothing_and_says_so(ground: Ground) -> None:
    ground.user_says("{")
    found = ground.files.said_by_user(ground.app, nothing_against)
    assert (found.is_there, found.standing) == (True, Standing())
    assert found.problems[0].sentence.startswith(f"{ground.home}/.kova/permissions.json:1: wanted JSON")


def test_a_file_of_the_user_that_everybody_may_write_grants_nothing(ground: Ground) -> None:
    path = ground.user_says(RULES)
    path.chmod(0o666)
    found = ground.files.said_by_user(ground.app, nothing_against)
    assert found.standing == Standing()
    assert said(found) == [f"wanted a file that not everybody may write (chmod o-w {path})"]


def test_a_link_may_lead_to_the_users_own_file(ground: Ground) -> None:
    real = write(ground.home / "dotfiles" / "permissions.json", RULES)
    (ground.home / ".kova").mkdir()
    (ground.home / ".kova" / "permissions.json").symlink_to(real)
    assert ground.files.said_by_user(ground.app, nothing_against).standing == COMMANDS


def test_the_workspaces_own_file_is_read(ground: Ground) -> None:
    ground.project_says(RULES)
    assert project(ground).standing == COMMANDS


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        os.chdir(path.parent)
        one.bind(path.name)


def _directory(path: Path) -> None:
    path.mkdir()


def _link_outside(path: Path) -> None:
    path.symlink_to(write(path.parents[2] / "outside.json", RULES))


def _link_inside(path: Path) -> None:
    path.symlink_to(write(path.parent / "other.json", RULES))


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _second_name(path: Path) -> None:
    path.hardlink_to(write(path.parents[2] / "outside.json", RULES))


def _large(path: Path) -> None:
    path.write_text(" " * (MAX_BYTES + 1))


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _binary(path: Path) -> None:
    path.write_bytes(b"\xff\xfe")


HOSTILE = (_fifo, _socket, _directory, _link_outside, _link_inside, _dangling, _second_name, _large, _endless, _binary)


@pytest.mark.parametrize("plant", HOSTILE)
def test_what_a_workspace_plants_in_the_place_of_its_file_is_not_read(
    ground: Ground, plant: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ground.home)
    (ground.app / ".kova").mkdir()
    assert callable(plant)
    plant(ground.app / ".kova" / "permissions.json")
    found = project(ground)
    assert (found.is_there, found.standing, len(found.problems)) == (True, Standing(), 1)


def test_a_link_in_the_place_of_the_folder_is_not_followed(ground: Ground) -> None:
    write(ground.home / "other" / "permissions.json", RULES)
    (ground.app / ".kova").symlink_to(ground.home / "other")
    assert project(ground).standing == Standing()


def test_the_file_of_grants_that_lies_in_the_workspace_is_found_and_not_read(ground: Ground) -> None:
    path = write(ground.app / ".kova" / "permissions.local.json", RULES)
    files = ground.files
    assert files.ignored(ground.app) == path
    for ask in (files.said_by_user, files.said_here, files.said_by_project):
        assert ask(ground.app, nothing_against).standing == Standing()


def test_where_the_workspace_is_the_home_its_file_is_the_users_and_proposes_nothing(ground: Ground) -> None:
    ground.user_says(RULES)
    assert ground.files.said_by_user(ground.home, nothing_against).standing == COMMANDS
    assert ground.files.said_by_project(ground.home, nothing_against).standing == Standing()


@pytest.mark.parametrize("content", ["{", '{"workspace": "/elsewhere", "allowCommands": ["make a"]}', '{"a": 1}'])
def test_a_file_of_this_machine_that_is_not_about_the_workspace_grants_nothing(ground: Ground, content: str) -> None:
    book = ground.files.local(ground.app)
    write(book.path, content).chmod(0o600)
    found = ground.files.said_here(ground.app, nothing_against)
    assert (found.standing, len(found.problems)) == (Standing(), 1)
    with pytest.raises(ConfigError):
        book.add(COMMANDS, nothing_against)
    assert book.path.read_text() == content


def test_a_link_in_the_place_of_this_machines_file_is_not_followed(ground: Ground) -> None:
    book = ground.files.local(ground.app)
    book.path.parent.mkdir(parents=True)
    book.path.symlink_to(write(ground.home / "x.json", {"workspace": str(ground.app), **RULES}))
    assert ground.files.said_here(ground.app, nothing_against).standing == Standing()
