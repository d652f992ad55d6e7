from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox import search
from kova_auto.tools.sandbox.added import set_aside
from kova_auto.tools.sandbox.control import Controls, survey
from kova_auto.tools.sandbox.git import linked_gitdir
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.places import Access, places
from kova_auto.tools.sandbox.plan import Confinement, Level
from tests.tools.sandbox.breakout import git


def a_tree(top: Path, *names: str) -> Path:
    """Make files, and directories where a name ends in a slash."""
    for name in names:
        path = top / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_text("x")
    return top


def below(top: Path, paths: tuple[Path, ...] | frozenset[Path]) -> list[str]:
    return sorted(str(path.relative_to(top)) for path in paths)


REPOSITORY = (".git/HEAD", ".git/config", ".git/hooks/", ".git/info/exclude", ".git/objects/", ".git/refs/")


def test_a_repository_is_pinned_and_what_makes_git_run_code_is_masked(tmp_path: Path) -> None:
    found = survey([a_tree(tmp_path, *REPOSITORY, ".kova/memory/")])

    assert (below(tmp_path, found.pins), below(tmp_path, found.masks), below(tmp_path, found.voids)) == (
        [".git"],
        [".git/config", ".git/hooks", ".git/info", ".kova"],
        [],
    )
    assert below(tmp_path, found.absent) == [
        ".git/commondir",
        ".git/config.worktree",
        ".git/gitdir",
        ".git/objects/info/alternates",
    ]


def test_directories_that_are_missing_are_held_empty(tmp_path: Path) -> None:
    bare = survey([a_tree(tmp_path / "bare", "file")])
    repository = survey([a_tree(tmp_path / "repository", ".git/HEAD", ".git/config", ".git/objects/")])

    assert below(tmp_path / "bare", bare.voids) == [".git", ".kova"]
    assert below(tmp_path / "repository", repository.voids) == [".git/hooks", ".git/info", ".kova"]


def test_a_mount_point_of_another_command_counts_as_missing(tmp_path: Path) -> None:
    root = a_tree(tmp_path, ".git/", ".kova/")

    found = survey([root], voids=[root / ".git", root / ".kova"])

    assert (found.masks, found.pins, below(root, found.voids)) == ((), (), [".git", ".kova"])


def test_control_files_are_masked_however_deep_and_however_written(tmp_path: Path) -> None:
    names = ("AGENTS.md", ".vscode/tasks.json", "a/b/.envrc", "a/.NPMRC", "a/lib/.git", ".github/workflows/ci.yml")
    found = survey([a_tree(tmp_path, *names, ".github/other.yml", "a/agents.txt", ".git/", ".kova/")])

    assert [name for name in below(tmp_path, found.masks) if not name.startswith(".git/")] == [
        ".github/workflows",
        ".kova",
        ".vscode",
        "AGENTS.md",
        "a/.NPMRC",
        "a/b/.envrc",
        "a/lib/.git",
    ]
    assert below(tmp_path, found.pins) == [".git", ".github"]


def test_submodules_and_worktrees_are_held_too(tmp_path: Path) -> None:
    module = (".git/modules/a/b/HEAD", ".git/modules/a/b/config", ".git/modules/a/b/objects/")
    tree = (".git/worktrees/t/commondir", ".git/worktrees/t/gitdir", ".git/worktrees/t/HEAD")
    found = survey([a_tree(tmp_path, *REPOSITORY, *module, *tree, ".kova/")])

    assert {".git/modules", ".git/modules/a", ".git/modules/a/b", ".git/worktrees", ".git/worktrees/t"} <= set(
        below(tmp_path, found.pins)
    )
    assert {".git/modules/a/b/config", ".git/worktrees/t/commondir", ".git/worktrees/t/gitdir"} <= set(
        below(tmp_path, found.masks)
    )
    assert {".git/modules/a/b/hooks", ".git/modules/a/b/info"} <= set(below(tmp_path, found.voids))


@pytest.mark.parametrize("name", [".git", ".kova"])
def test_a_link_that_a_command_could_replace_is_refused(tmp_path: Path, name: str) -> None:
    a_tree(tmp_path, "elsewhere/")
    (tmp_path / name).symlink_to("elsewhere")

    with pytest.raises(ToolFailedError, match=f"{tmp_path / name} is a symbolic link"):
        survey([tmp_path])


def test_a_repository_with_a_link_inside_is_not_writable(tmp_path: Path) -> None:
    a_tree(tmp_path, ".git/HEAD", ".git/config", ".kova/", "hooks/")
    (tmp_path / ".git/hooks").symlink_to("../hooks")

    found = survey([tmp_path])

    assert (found.pins, below(tmp_path, found.masks)) == ((), [".git", ".kova"])


def test_another_link_is_told(tmp_path: Path) -> None:
    a_tree(tmp_path, "AGENTS.md", ".git/", ".kova/")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")

    assert below(tmp_path, survey([tmp_path]).loose) == ["CLAUDE.md"]


def test_a_search_that_is_cut_short_says_so(tmp_path: Path) -> None:
    a_tree(tmp_path, "a/f", ".git/", ".kova/")
    for number in range(201):
        a_tree(tmp_path, f"a/{number}/.npmrc")

    assert [survey([root]).complete for root in (tmp_path / "a/1", tmp_path)] == [True, False]


def test_a_root_that_cannot_be_listed_is_not_complete(tmp_path: Path) -> None:
    found = survey([tmp_path / "gone"])

    assert (found.complete, below(tmp_path, found.voids)) == (False, ["gone/.git", "gone/.kova"])


def test_what_a_command_adds_is_renamed_and_told_once(tmp_path: Path) -> None:
    held = survey([a_tree(tmp_path, *REPOSITORY, ".kova/", "AGENTS.md", ".github/f")])
    a_tree(
        tmp_path, ".npmrc", ".npmrc.refused", ".vscode/tasks.json", ".github/workflows/ci.yml", ".git/commondir", "ok"
    )

    assert set_aside(held) == tuple(
        str(tmp_path / name) for name in (".github/workflows", ".npmrc", ".vscode", ".git/commondir")
    )
    assert set_aside(held) == ()
    assert [
        (tmp_path / name).exists() for name in (".npmrc.refused1", ".vscode.refused/tasks.json", "AGENTS.md", "ok")
    ] == [True] * 4


def test_nothing_is_renamed_through_a_planted_link(tmp_path: Path) -> None:
    held = survey([a_tree(tmp_path / "root", ".git/", ".kova/", "f")])
    a_tree(tmp_path, "outside/workflows/ci.yml")
    (tmp_path / "root/.github").symlink_to("../outside")

    assert set_aside(held) == ()
    assert (tmp_path / "outside/workflows/ci.yml").exists()


def test_where_nothing_is_mounted_missing_directories_are_set_aside_too(tmp_path: Path) -> None:
    held = survey([a_tree(tmp_path, "f")]).unmounted()
    a_tree(tmp_path, ".git/config", ".kova/memory/note")

    assert (held.voids, set_aside(held)) == ((), (str(tmp_path / ".git"), str(tmp_path / ".kova")))


def test_beside_another_command_only_what_it_cannot_exchange_is_mounted(tmp_path: Path) -> None:
    root = a_tree(tmp_path, *REPOSITORY, ".kova/", "sub/.envrc")
    first = survey([root])
    a_tree(root, ".vscode/tasks.json", ".github/workflows/ci.yml")
    second = survey([root]).beside([first])
    alone = survey([root]).beside([])
    elsewhere = survey([root]).beside([survey([tmp_path.parent / "other"])])

    held = [".git", ".git/config", ".git/hooks", ".git/info", ".kova"]
    more = [".github", ".github/workflows", ".vscode", "sub/.envrc"]
    assert [below(root, controls.held) for controls in (second, alone, elsewhere)] == [
        held,
        sorted(held + more),
        sorted(held + more),
    ]
    assert [controls.complete for controls in (second, alone)] == [False, True]


def test_what_a_command_cannot_write_is_mounted_beside_it(tmp_path: Path) -> None:
    a_tree(tmp_path / "mine", ".git/", ".kova/", "AGENTS.md")
    mine = survey([tmp_path / "mine"])
    theirs = survey([a_tree(tmp_path / "theirs", ".git/", ".kova/")])

    assert mine.beside([theirs]) == mine


def test_a_command_waits_for_one_that_could_move_its_root(tmp_path: Path) -> None:
    outer = a_tree(tmp_path / "outer", "inner/f", ".git/", ".kova/")
    live = Live()
    refusals = []
    for first, second in ((outer, outer / "inner"), (outer / "inner", outer)):
        entered = live.enter([first], mounts=True)
        with pytest.raises(ToolFailedError) as refused:
            live.enter([second], mounts=True)
        live.leave(entered)
        live.leave(live.enter([second], mounts=True))
        refusals.append(str(refused.value))

    assert refusals == [
        f"a command that may write {outer} is running: wait for its end before writing {outer}/inner",
        f"a command that may write {outer}/inner is running: wait for its end before writing {outer}",
    ]


def test_commands_without_mounts_keep_nothing_still(tmp_path: Path) -> None:
    root = a_tree(tmp_path, *REPOSITORY, ".kova/")
    live = Live()
    live.enter([root], mounts=False)

    assert live.enter([root], mounts=True).held == frozenset()


def test_reading_holds_nothing() -> None:
    assert survey([]) == Controls()


def a_worktree(tmp_path: Path) -> Path:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", "-b", "main", ".")
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    return tmp_path / "tree"


def test_a_linked_worktree_is_known_by_its_way_back(tmp_path: Path) -> None:
    tree = a_worktree(tmp_path)

    assert (linked_gitdir(tree), linked_gitdir(tmp_path / "main")) == (tmp_path / "main/.git", None)


def test_a_planted_pointer_is_not_followed(tmp_path: Path) -> None:
    a_worktree(tmp_path)
    planted = a_tree(tmp_path / "planted", "file")
    secrets = a_tree(tmp_path / "home/worktrees/x", "commondir", "gitdir")
    pointers = [tmp_path / "main/.git/worktrees/tree", secrets, tmp_path / "gone"]
    found = []
    for pointer in pointers:
        (planted / ".git").write_text(f"gitdir: {pointer}\n")
        found.append(linked_gitdir(planted))

    assert found == [None, None, None]


@pytest.mark.parametrize(
    "chain",
    [
        {".git": "gitdir: {secrets}/worktrees/x\n", "commondir": "../..\n", "gitdir": "{elsewhere}/.git\n"},
        {".git": "gitdir: {secrets}/worktrees/x\n", "commondir": "{top}\n", "gitdir": "{root}/.git\n"},
        {".git": "gitdir: {secrets}/worktrees/x\n", "commondir": "../../../..\n", "gitdir": "{root}/.git\n"},
        {".git": "gitdir: {secrets}/worktrees/x\n", "gitdir": "{root}/.git\n"},
        {".git": "gitdir: {secrets}/worktrees/x\n", "commondir": "../..\n"},
        {".git": "gitdir: {secrets}\n", "commondir": ".\n", "gitdir": "{root}/.git\n"},
        {".git": "gitdir: {root}/way/worktrees/x\n", "commondir": "../..\n", "gitdir": "{elsewhere}/.git\n"},
        {".git": "gitdir: {secrets}/worktrees/x\nworktree: y\n", "commondir": "../..\n", "gitdir": "{root}/.git\n"},
        {".git": "{secrets}/worktrees/x\n", "commondir": "../..\n", "gitdir": "{root}/.git\n"},
        {".git": "gitdir: \0\n", "commondir": "../..\n", "gitdir": "{root}/.git\n"},
    ],
)
def test_a_chain_of_pointers_that_does_not_come_back_leads_nowhere(tmp_path: Path, chain: dict[str, str]) -> None:
    root, secrets = a_tree(tmp_path / "root", "f"), a_tree(tmp_path / "secrets", "HEAD", "worktrees/x/HEAD")
    (root / "way").symlink_to(secrets)
    names = {"root": root, "secrets": secrets, "elsewhere": tmp_path / "elsewhere", "top": tmp_path}
    for name, text in chain.items():
        (root / name if name == ".git" else secrets / "worktrees/x" / name).write_text(text.format_map(names))
    confinement = Confinement(level=Level.WORKSPACE, workspace=root, temp=tmp_path / "t", cwd=root, hidden=(secrets,))
    shown = {place.path: place.access for place in places(confinement, ())}

    assert linked_gitdir(root) is None
    assert shown == {root: Access.WRITE, secrets: Access.HIDDEN}


def test_what_a_command_adds_below_the_top_is_renamed_too(tmp_path: Path) -> None:
    held = survey([a_tree(tmp_path, *REPOSITORY, ".kova/", "a/b/.envrc", "a/f")])
    a_tree(tmp_path, "a/b/.npmrc", "a/new/.VSCODE/tasks.json", "a/new/.github/workflows/ci.yml", "a/.git./config")

    assert sorted(set_aside(held)) == [
        str(tmp_path / name) for name in ("a/.git.", "a/b/.npmrc", "a/new/.VSCODE", "a/new/.github/workflows")
    ]
    assert (tmp_path / "a/b/.envrc").exists()


def test_a_control_file_in_a_directory_that_was_exchanged_is_an_added_one(tmp_path: Path) -> None:
    held = survey([a_tree(tmp_path, ".git/", ".kova/", "a/b/.envrc")])
    (tmp_path / "a").rename(tmp_path / "away")
    a_tree(tmp_path, "a/b/.envrc")

    assert set_aside(held) == tuple(str(tmp_path / name) for name in ("a/b/.envrc", "away/b/.envrc"))


@pytest.mark.parametrize(
    ("made", "stays"),
    [
        ([], True),
        ([("config", '[user]\n\tname = me\n[remote "origin"]\n\turl = https://a.org/b\n\tfetch = +refs/x:y\n')], True),
        ([("hooks/post-commit.sample", "touch x")], True),
        ([("config", "[core]\n\tfsmonitor = touch x\n")], False),
        ([("config", "[core] fsmonitor = touch x\n")], False),
        ([("config", "[core]\n\tbare = false \\\n\tfsmonitor = touch x\n")], False),
        ([("config", "[alias]\n\tst = !touch x\n")], False),
        ([("config", "[include]\n\tpath = ../evil\n")], False),
        ([("config", "[\n")], False),
        ([("hooks/post-commit", "touch x")], False),
        ([("config.worktree", "[core]\n")], False),
        ([("commondir", "../evil")], False),
        ([("info/attributes", "* filter=x")], False),
        ([("objects/info/alternates", "/other")], False),
        ([("modules/x/config", "[core]")], False),
    ],
)
def test_a_new_repository_below_the_top_stays_while_it_runs_nothing(
    tmp_path: Path, made: list[tuple[str, str]], stays: bool
) -> None:
    held = survey([a_tree(tmp_path, ".git/", ".kova/")])
    lib = tmp_path / "lib"
    lib.mkdir()
    git(lib, "init", "-q")
    for name, text in made:
        (lib / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
        (lib / ".git" / name).write_text(text)

    assert set_aside(held) == (() if stays else (str(lib / ".git"),))


def test_a_pointer_below_the_top_stays_only_where_its_own_repository_made_it(tmp_path: Path) -> None:
    root, upstream = tmp_path / "root", tmp_path / "upstream"
    for path in (root, upstream):
        path.mkdir()
        git(path, "init", "-q", "-b", "main")
        git(path, "commit", "-q", "--allow-empty", "-m", "one")
    held = survey([a_tree(root, ".kova/")])
    git(root, "worktree", "add", "-q", "tree")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(upstream), "lib")
    a_tree(root, "planted/f")
    (root / "planted/.git").write_text(f"gitdir: {upstream}/.git\n")

    assert set_aside(held) == tuple(str(root / name) for name in (".gitmodules", "planted/.git"))
    evil = root / ".git/modules/lib/config"
    evil.write_text(evil.read_text() + "\tfsmonitor = touch x\n")
    assert set_aside(held) == (str(root / ".git/modules/lib"),)


def test_what_was_found_once_is_held_however_full_the_workspace_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, live = a_tree(tmp_path / "root", ".git/", ".kova/", "a/b/.envrc"), Live()
    live.leave(live.enter([root], mounts=True))
    monkeypatch.setattr(search, "MAX_ENTRIES", 2)
    again = live.enter([root], mounts=True)
    fresh = Live().enter([root], mounts=True)
    live.leave(again)
    shutil.rmtree(root / "a/b")
    (root / "a/b").symlink_to(a_tree(tmp_path / "out", ".envrc"))
    linked = live.enter([root], mounts=True)

    assert [root / "a/b/.envrc" in found.masks for found in (again, fresh, linked)] == [True, False, False]
    assert [found.complete for found in (again, fresh)] == [False, False]


def test_no_search_goes_deeper_than_it_says(tmp_path: Path) -> None:
    deep = "/".join("abcdefg")
    root = a_tree(tmp_path, ".git/", ".kova/", f"{deep[:11]}/.envrc", f"{deep}/.envrc", "node_modules/x/.npmrc")
    found = survey([root])

    assert [path for path in below(root, found.masks) if not path.startswith((".git", ".kova"))] == [
        f"{deep[:11]}/.envrc"
    ]
    assert found.complete is False
