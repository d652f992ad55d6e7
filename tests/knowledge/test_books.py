"""Remembering for good: what is written where, and that a name which means another directory grants nothing."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.knowledge.permissions import PermissionFiles
from tests.knowledge.homes import Ground, nothing_against, said

RULE = Standing(commands=("git log *",))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground.of(tmp_path)


def test_what_was_remembered_counts_in_its_workspace_alone(ground: Ground) -> None:
    more = Standing(commands=("git log *",), write_roots=(str(ground.shared),), tools=("mcp__x__y",))
    assert ground.files.local(ground.app).add(more, nothing_against) == more
    assert ground.files.said_here(ground.app, nothing_against).standing == more
    assert ground.files.said_here(ground.shared, nothing_against).standing == Standing()
    assert ground.files.workspaces() == (ground.app,)


def test_the_file_names_its_workspace_and_is_its_owners_alone(ground: Ground) -> None:
    book = ground.files.local(ground.app)
    book.add(RULE.plus(Standing(write_roots=(str(ground.shared),))), nothing_against)
    status = ground.shared.stat()
    assert json.loads(book.path.read_text()) == {
        "workspace": str(ground.app),
        "allowCommands": ["git log *"],
        "writeRoots": ["../shared"],
        "rootIdentities": {"../shared": f"{status.st_dev}:{status.st_ino}"},
    }
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(book.path.parent.stat().st_mode) == 0o700
    assert not book.path.is_relative_to(ground.app)


def test_a_link_to_a_workspace_means_the_workspace(ground: Ground) -> None:
    (ground.home / "link").symlink_to(ground.app)
    ground.files.local(ground.home / "link").add(RULE, nothing_against)
    assert ground.files.said_here(ground.app, nothing_against).standing == RULE


def test_the_same_thing_twice_does_not_make_the_file_grow(ground: Ground) -> None:
    more = RULE.plus(Standing(write_roots=(str(ground.shared),)))
    book = ground.files.local(ground.app)
    book.add(more, nothing_against)
    before = book.path.stat()
    assert book.add(more, nothing_against) == Standing()
    assert book.path.stat() == before


def test_a_directory_with_another_in_its_place_grants_nothing_until_it_is_allowed_anew(ground: Ground) -> None:
    root = Standing(write_roots=(str(ground.shared),))
    book = ground.files.local(ground.app)
    book.add(root.plus(RULE), nothing_against)
    ground.shared.rename(ground.shared.with_name("moved"))
    assert said(ground.files.said_here(ground.app, nothing_against)) == [
        f"writeRoots '../shared': '{ground.shared}' cannot be used: No such file or directory (it does not count)"
    ]
    ground.shared.mkdir()
    found = ground.files.said_here(ground.app, nothing_against)
    hint = f" (kova-auto rules add --root {ground.shared} allows this one)"
    assert found.standing == RULE
    assert said(found) == [
        f"writeRoots '../shared': {ground.shared} is not the directory that was allowed: another one has its name{hint}"
    ]
    book.add(root, nothing_against)
    assert ground.files.said_here(ground.app, nothing_against).standing.write_roots == root.write_roots


def test_a_link_in_the_place_of_an_allowed_directory_grants_nothing(ground: Ground) -> None:
    ground.files.local(ground.app).add(Standing(write_roots=(str(ground.shared),)), nothing_against)
    ground.shared.rename(ground.shared.with_name("moved"))
    ground.shared.symlink_to(ground.shared.with_name("moved"))
    found = ground.files.said_here(ground.app, nothing_against)
    assert found.standing == Standing()
    assert "is reached by a symbolic link" in said(found)[0]


def test_a_root_that_was_written_in_by_hand_grants_nothing(ground: Ground) -> None:
    book = ground.files.local(ground.app)
    book.add(RULE, nothing_against)
    content = json.loads(book.path.read_text()) | {"writeRoots": ["../shared"]}
    book.path.write_text(json.dumps(content))
    assert ground.files.said_here(ground.app, nothing_against).standing == RULE


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src/none", "No such file or directory"),
        ("src/link", "is reached by a symbolic link"),
        ("src/app", "lies in the workspace"),
        ("src/app/sub", "lies in the workspace"),
        ("src/refused", "no write root: it is mine"),
    ],
)
def test_what_can_be_no_root_is_not_remembered(ground: Ground, path: str, why: str) -> None:
    (ground.home / "src" / "link").symlink_to(ground.shared)
    (ground.home / "src" / "refused").mkdir()
    (ground.app / "sub").mkdir()
    book = ground.files.local(ground.app)
    with pytest.raises(ConfigError, match=why):
        book.add(
            Standing(write_roots=(str(ground.home / path),)),
            lambda root: "it is mine" if root.name == "refused" else "",
        )
    assert not book.path.exists()


def test_what_is_forgotten_counts_no_more_and_the_rest_stays(ground: Ground) -> None:
    more = Standing(commands=("git log *", "make a"), write_roots=(str(ground.shared),), tools=("mcp__x__y",))
    book = ground.files.local(ground.app)
    book.add(more, nothing_against)
    ground.shared.rmdir()
    gone = Standing(commands=("make a", "make b"), write_roots=(str(ground.shared),))
    assert book.remove(gone) == Standing(commands=("make a",), write_roots=(str(ground.shared),))
    assert json.loads(book.path.read_text()) == {
        "workspace": str(ground.app),
        "allowCommands": ["git log *"],
        "allowMcpTools": ["mcp__x__y"],
    }
    assert book.remove(gone) == Standing()


def test_what_was_never_there_is_forgotten_without_a_trace(ground: Ground) -> None:
    assert ground.files.local(ground.app).remove(RULE) == Standing()
    assert ground.files.users.remove(RULE) == Standing()
    assert not ground.files.local(ground.app).path.exists()
    assert not ground.files.users.path.exists()


def test_what_the_user_allows_is_written_whole_and_keeps_what_is_there(ground: Ground) -> None:
    path = ground.user_says({"note": "mine", "writeRoots": ["~/src/shared"]})
    more = Standing(commands=("make a",), write_roots=(str(ground.shared), str(ground.home / "src" / "app")))
    added = ground.files.users.add(more, nothing_against)
    assert added == Standing(commands=("make a",), write_roots=(str(ground.home / "src" / "app"),))
    assert json.loads(path.read_text()) == {
        "note": "mine",
        "writeRoots": ["~/src/shared", str(ground.home / "src" / "app")],
        "allowCommands": ["make a"],
    }
    assert ground.files.users.remove(Standing(write_roots=(str(ground.shared),))) == Standing(
        write_roots=(str(ground.shared),)
    )


def test_a_rule_that_can_never_match_can_be_forgotten(ground: Ground) -> None:
    ground.user_says({"allowCommands": ["a && b"]})
    assert ground.files.users.remove(Standing(commands=("a && b",))).commands == ("a && b",)
    assert ground.files.said_by_user(ground.app, nothing_against).problems == ()


def test_a_linked_file_of_the_user_is_written_where_it_lies(ground: Ground) -> None:
    real = ground.home / "dotfiles.json"
    real.write_text("{}")
    (ground.home / ".kova").mkdir()
    ground.files.users.path.symlink_to(real)
    ground.files.users.add(RULE, nothing_against)
    assert ground.files.users.path.is_symlink()
    assert json.loads(real.read_text()) == {"allowCommands": ["git log *"]}


def test_many_writers_at_once_lose_nothing(ground: Ground) -> None:
    def add(number: int) -> None:
        files = PermissionFiles(ground.home, ground.files.folder)
        files.local(ground.app).add(Standing(commands=(f"make t{number}",)), nothing_against)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    kept = ground.files.said_here(ground.app, nothing_against).standing.commands
    assert sorted(kept) == sorted(f"make t{number}" for number in range(40))
    assert [path.name for path in ground.files.folder.iterdir() if path.name != ".lock"] == [
        ground.files.local(ground.app).path.name
    ]


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(ground: Ground) -> None:
    ground.files.folder.parent.write_text("a file")
    with pytest.raises(ConfigError, match=f"{ground.files.folder}: cannot be written"):
        ground.files.local(ground.app).add(RULE, nothing_against)
