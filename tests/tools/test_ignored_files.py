"""Which files are listed: what git sees, asked of git and read by ourselves."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.tools.git import pinned_environment
from kova_auto.tools.gitindex import Tracked, parse_index
from kova_auto.tools.ignore import Lister, Listing
from tests.tools.tool_scenes import a_ground, put, some_roots

GIT = which("git")
BOTH = pytest.mark.parametrize("program", [GIT, None], ids=["asking git", "reading ourselves"])


def git(top: Path, *args: str) -> None:
    env = {**pinned_environment(top), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    env |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    del env["GIT_WORK_TREE"]
    subprocess.run(["git", *args], cwd=top, env=env, check=True, capture_output=True)


def a_repository(top: Path, files: Mapping[str, str], *, tracked: tuple[str, ...] = ()) -> Path:
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q")
    for name, text in files.items():
        put(top / name, text.encode())
    if tracked:
        git(top, "add", "-f", "--", *tracked)
    return top


async def listed(workspace: Path, program: str | None, path: str = ".") -> Listing:
    roots = some_roots()
    try:
        return await Lister(roots, program).list(roots.locate(path, a_ground(workspace), writes=False))
    finally:
        roots.close()


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    made.mkdir()
    return made


@BOTH
async def test_ignored_files_are_left_out_and_hidden_ones_are_not(top: Path, program: str | None) -> None:
    files = {".gitignore": "*.log\n/build/\n", "a.py": "", "x.log": "", "build/out": "", "sub/build/in": "", ".env": ""}
    a_repository(top, files)
    found = await listed(top, program)
    assert found == Listing(str(top), (".env", ".gitignore", "a.py", "sub/build/in"))


@BOTH
async def test_a_tracked_file_is_never_ignored(top: Path, program: str | None) -> None:
    files = {".gitignore": "build\n", "build/kept.bin": "", "build/other": "", "gone": ""}
    a_repository(top, files, tracked=("build/kept.bin", "gone"))
    (top / "gone").unlink()
    assert (await listed(top, program)).files == (".gitignore", "build/kept.bin")


@BOTH
async def test_the_repositorys_own_exclude_file_counts(top: Path, program: str | None) -> None:
    a_repository(top, {"a": "", "b": "", ".git/info/exclude": "a\n"})
    assert (await listed(top, program)).files == ("b",)


@BOTH
async def test_rules_reach_a_workspace_from_the_repository_above(top: Path, program: str | None) -> None:
    a_repository(top, {".gitignore": "*.tmp\n/pkg/gen\n", "pkg/a.tmp": "", "pkg/gen/x": "", "pkg/b": ""})
    assert (await listed(top / "pkg", program)).files == ("b",)


@BOTH
async def test_an_ignored_directory_that_is_named_is_listed_whole(top: Path, program: str | None) -> None:
    a_repository(top, {".gitignore": "vendor/\n*.log\n", "vendor/lib/a": "", "vendor/b.log": ""})
    assert (await listed(top, program, "vendor")).files == ("b.log", "lib/a")


@BOTH
async def test_other_repositories_inside_are_listed_by_their_own_rules(top: Path, program: str | None) -> None:
    a_repository(top, {".gitignore": "*.log\n", "a": ""})
    a_repository(top / "inner", {".gitignore": "*.tmp\n", "x.log": "", "y.tmp": ""}, tracked=(".gitignore",))
    git(top / "inner", "commit", "-qm", "one")
    a_repository(top / "module", {"m": ""}, tracked=("m",))
    git(top / "module", "commit", "-qm", "one")
    git(top, "add", "module")
    assert (await listed(top, program)).files == (".gitignore", "a", "inner/.gitignore", "inner/x.log", "module/m")


@BOTH
async def test_repositories_below_a_plain_directory_are_found(top: Path, program: str | None) -> None:
    a_repository(top / "one", {".gitignore": "*.log\n", "x.log": "", "a": ""})
    put(top / "notes.log", b"")
    assert (await listed(top, program)).files == ("notes.log", "one/.gitignore", "one/a")


@BOTH
async def test_rules_count_without_a_repository_too(top: Path, program: str | None) -> None:
    for name in ("a", "b.log", "sub/c.log", "sub/d"):
        put(top / name, b"")
    put(top / ".gitignore", b"*.log\n")
    put(top / "sub/.gitignore", b"!c.log\n")
    assert (await listed(top, program)).files == (".gitignore", "a", "sub/.gitignore", "sub/c.log", "sub/d")


@BOTH
async def test_an_empty_git_directory_makes_no_repository(top: Path, program: str | None) -> None:
    (top / ".git").mkdir()
    put(top / "a", b"")
    assert (await listed(top, program)).files == ("a",)


@BOTH
async def test_a_linked_work_tree_is_a_repository(top: Path, program: str | None) -> None:
    a_repository(top / "main", {".gitignore": "*.log\n", "a": ""}, tracked=(".gitignore", "a"))
    put(top / "main/.git/info/exclude", b"*.tmp\n")
    git(top / "main", "commit", "-qm", "one")
    git(top / "main", "worktree", "add", "-q", "../tree")
    for name in ("x.log", "y.tmp", "z"):
        put(top / "tree" / name, b"")
    assert (await listed(top / "tree", program)).files == (".gitignore", "a", "z")


@BOTH
async def test_links_are_named_and_not_followed(top: Path, program: str | None) -> None:
    put(top.parent / "out/secret", b"")
    a_repository(top, {"a": ""})
    (top / "link").symlink_to("../out")
    os.mkfifo(top / "fifo")
    assert (await listed(top, program)).files == ("a", "link")


async def test_a_fifo_in_the_place_of_gits_files_is_not_waited_for(top: Path) -> None:
    inner = a_repository(top / "inner", {"a": ""}) / ".git"
    (inner / "index").unlink(missing_ok=True)
    (inner / "info/exclude").unlink()
    for name in ("index", "info/exclude", "commondir", "../.gitignore"):
        os.mkfifo(inner / name)
    assert (await asyncio.wait_for(listed(top, None), timeout=60)).files == ("inner/a",)


async def test_secrets_and_the_kernels_files_are_not_listed(top: Path) -> None:
    for name in (".ssh/id", "a"):
        put(top / name, b"")
    roots = some_roots(secret=(top / ".ssh", top / "none"))
    target = roots.locate(".", a_ground(top), writes=False)
    assert (await Lister(roots, GIT).list(target)).files == ("a",)
    roots.close()


@pytest.mark.parametrize("version", ["2", "3", "4"])
async def test_every_version_of_an_index_is_read(top: Path, version: str) -> None:
    names = ("a", "b/c", "b/deep/d", "b/deep/e" * 20, "z" * 200, "\u00e9")
    a_repository(top, {".gitignore": "*\n", **dict.fromkeys(names, "")}, tracked=names)
    git(top, "update-index", "--index-version", "4" if version == "4" else "2")
    if version == "3":
        git(top, "update-index", "--skip-worktree", "a", "b/c")
    assert parse_index((top / ".git/index").read_bytes()).files == {os.fsencode(name) for name in names}
    assert (await listed(top, None)).files == tuple(sorted(names))


def test_a_broken_index_is_read_as_far_as_it_goes() -> None:
    assert parse_index(b"") == parse_index(b"DIRC\0\0\0\2\0\0\0\5") == parse_index(b"DIRC\0\0\0\11") == Tracked()


CONFIGURED = {
    "core.fsmonitor": "touch {pwned}",
    "core.hooksPath": "{hooks}",
    "core.worktree": "/",
    "core.sshCommand": "touch {pwned}",
    "alias.ls-files": "!touch {pwned}",
    "core.pager": "touch {pwned}",
    "pager.ls-files": "touch {pwned}",
    "filter.x.clean": "touch {pwned}",
    "filter.x.process": "touch {pwned}",
    "remote.origin.url": "ext::touch {pwned}",
    "remote.origin.promisor": "true",
    "remote.origin.uploadpack": "touch {pwned}",
    "extensions.partialClone": "origin",
}


async def test_nothing_that_a_repository_configures_is_executed(top: Path) -> None:
    pwned = top.parent / "pwned"
    files = {"a": "", ".gitattributes": "* filter=x\n", ".gitignore": "*.log\n", "x.log": ""}
    a_repository(top, files, tracked=("a",))
    hooks = put(top.parent / "hooks/post-index-change", f"#!/bin/sh\ntouch {pwned}\n".encode())
    hooks.chmod(0o755)
    for key, value in CONFIGURED.items():
        git(top, "config", key, value.format(pwned=pwned, hooks=hooks.parent))
    (top / "a").write_text("changed")
    assert (await listed(top, GIT)).files == (".gitattributes", ".gitignore", "a")
    assert not pwned.exists()


SIGNS = st.text(alphabet="ab/*?!#\\[]-^ .é", min_size=1, max_size=6)
KNOWN = st.sampled_from(
    ["*", "**", "a", "/a", "a/", "!a", "a/b", "**/a", "a/**", "a/**/b", "*.é", "[ab]", "[!a]", "[[:alpha:]]", "a**/b",
     "!/a/b", "a\\ ", "a ", "\\#a", "\\!a", "?", "/*", "!/a", "[a-b]*", "*b", "**b", "a*/b", "/**/b", "[]-]", "a\r"]
)  # fmt: skip
LINES = st.lists(KNOWN | SIGNS, max_size=5)
NAMES = st.sampled_from(["a", "b", "ab", ".é", "a ", "#a", "!a", "-"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@settings(max_examples=60, deadline=None)
@given(
    rules=st.dictionaries(st.sampled_from(["", "a/", "a/b/", "b/"]), LINES, max_size=3),
    paths=st.sets(PATHS, min_size=1, max_size=8),
    tracked=st.sets(PATHS, max_size=2),
)
def test_our_reading_agrees_with_git(rules: dict[str, list[str]], paths: set[str], tracked: set[str]) -> None:
    with TemporaryDirectory() as name:
        top = a_repository(Path(name).resolve() / "W", {})
        for path in sorted(paths | tracked):
            with suppress(OSError):  # a file where another path needs a directory
                put(top / path, b"")
        there = sorted(path for path in tracked if (top / path).is_file())
        if there:
            git(top, "add", "-f", "--", *there)
        for place, lines in rules.items():
            with suppress(OSError):
                put(top / place / ".gitignore", "\n".join(lines).encode())
        assert asyncio.run(listed(top, None)) == asyncio.run(listed(top, GIT))
