"""Which paths the floor holds, and how their names may be disguised."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from kova_auto.core.approval.floor import (
    ASKED_DIRS,
    ASKED_FILES,
    CONTROL_DIRS,
    CONTROL_FILES,
    Control,
    control_of,
    is_control_path,
    lies_in,
    secret_places,
)

HOME, STATE = PurePosixPath("/home/ann"), PurePosixPath("/home/ann/.local/share/kova-auto")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/info/attributes",
        ".git/modules/lib/config",
        ".git/objects/ab/cd",
        ".git",
        "vendor/lib/.git",
        "sub/.git/config",
        ".gitmodules",
        "deep/down/.gitmodules",
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/settings.json",
        ".cursor/mcp.json",
        ".kova/permissions.json",
        ".kova/skills/x/SKILL.md",
        ".mcp.json",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".envrc",
        ".bashrc",
        "home/.profile",
        ".zshrc",
        ".ripgreprc",
        ".npmrc",
        "web/.yarnrc",
        ".yarnrc.yml",
        ".pnpmfile.cjs",
        "pip.conf",
        ".config/pip/pip.conf",
        ".husky/pre-push",
        ".pre-commit-config.yaml",
        "kova-auto.toml",
    ],
)
def test_a_control_path_is_refused_at_any_depth(path: str) -> None:
    assert control_of(path.split("/")) is Control.REFUSED


@pytest.mark.parametrize(
    "path",
    ["AGENTS.md", "docs/CLAUDE.md", ".gitattributes", ".github/workflows/ci.yml", "sub/.github/workflows/a/b.yml"],
)
def test_some_control_paths_may_be_let_through_by_a_person(path: str) -> None:
    assert control_of(path.split("/")) is Control.ASKED
    assert is_control_path(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/config",
        ".Git/hooks/x",
        ".g\u200cit/config",
        ".git\ufeff/config",
        ".\u2060git/config",
        "\uff0e\uff47\uff49\uff54/config",
        ".g\ufe0fit/config",
        "GIT~1/config",
        "git~2/hooks/x",
        "GI7EBA~1/config",
        "GITMOD~1",
        "CLAUDE~1/settings.json",
        "YARNRC~1.YML",
        ".git./config",
        ".git /config",
        ".git. . /config",
        ".git::$INDEX_ALLOCATION/config",
        ".git:stream",
        "notes.txt::$DATA",
        ".hu\u017fky/pre-push",
        ".\u212aova/permissions.json",
    ],
)
def test_a_disguised_name_is_the_name_it_stands_for(path: str) -> None:
    assert control_of(path.split("/")) is Control.REFUSED


def test_a_decomposed_spelling_is_compared_composed() -> None:
    assert lies_in(PurePosixPath("/home/Zoe\u0308/.ssh/id"), [PurePosixPath("/home/zo\u00eb/.ssh")])


@pytest.mark.parametrize(
    "path",
    [
        "",
        "src/app.py",
        "package.json",
        "Makefile",
        "conftest.py",
        "build.rs",
        "..foo",
        "...",
        "git/config",
        ".github/ISSUE_TEMPLATE.md",
        "agents.txt",
        "docs/AGENTS.md.txt",
        ".gitignore",
        "notes~1",
        "backup~12.txt",
        "a:b",
        "config/fish.txt",
        "login.py",
    ],
)
def test_project_files_are_no_control_paths(path: str) -> None:
    assert control_of(path.split("/")) is None


def test_every_listed_name_is_held_and_no_name_is_listed_twice() -> None:
    refused, asked = CONTROL_DIRS + CONTROL_FILES, ASKED_DIRS + ASKED_FILES
    assert {control_of(name.split("/")) for name in refused} == {Control.REFUSED}
    assert {control_of(name.split("/")) for name in asked} == {Control.ASKED}
    assert len(set(refused + asked)) == len(refused + asked)


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/.ssh/id_ed25519",
        "/home/ann/.SSH/config",
        "/home/ann/.aws/credentials",
        "/home/ann/.gnupg",
        "/home/ann/.netrc",
        "/home/ann/.npmrc",
        "/home/ann/.pypirc",
        "/home/ann/.kube/config",
        "/home/ann/.docker/config.json",
        "/home/ann/.config/gh/hosts.yml",
        "/home/ann/.config/gcloud/credentials.db",
        "/home/ann/.config/google-chrome/Default/Cookies",
        "/home/ann/.config/kova-auto/kova-auto.toml",
        "/home/ann/.mozilla/firefox/x/logins.json",
        "/home/ann/.local/share/keyrings/login.keyring",
        "/home/ann/Library/Keychains/login.keychain-db",
        "/xdg/gh/hosts.yml",
        "/home/ann/.local/share/kova-auto/journal.sqlite",
    ],
)
def test_keys_and_our_own_state_lie_in_secret_places(path: str) -> None:
    assert lies_in(PurePosixPath(path), secret_places(HOME, [PurePosixPath("/xdg")], STATE))


@pytest.mark.parametrize(
    "path",
    ["/home/ann/src/app/.ssh", "/home/ann/.sshx/id", "/home/ann", "/home/ann/.config/nvim/init.lua", "/etc/hosts"],
)
def test_other_places_are_no_secret(path: str) -> None:
    assert not lies_in(PurePosixPath(path), secret_places(HOME, [], STATE))


def test_secret_places_are_named_once() -> None:
    places = secret_places(HOME, [HOME / ".config"], STATE)
    assert len(places) == len(set(places))
    assert places[-1] == STATE
