"""Say which paths no tool call may write or read, at any level: the floor's lists and how a name is compared.

Every list is data, so that the sandbox can mask what the file tools refuse. Names are compared as the most forgiving
file system would: case, width, ignorable characters, short names, streams and trailing dots do not make another name.

Source: reference on shells, 9.2 (cases 35 to 41) and 9.4.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePath


class Control(StrEnum):
    """Say how firmly a control path is held."""

    REFUSED = "refused"
    ASKED = "asked"  # a person at hand may let it through; unattended it is refused


# Of `.git` file tools may write nothing; a confined git must still write all but these.
GIT_DIRS = ("hooks",)
GIT_FILES = ("config", "config.worktree", "info/attributes", "commondir", "gitdir", "objects/info/alternates")
GIT_ANY_DEPTH = ("modules", "worktrees")  # below these lie further git directories, with the same control files

CONTROL_DIRS = (
    ".git",
    ".kova",
    ".agents",
    ".aider",
    ".amazonq",
    ".augment",
    ".claude",
    ".cline",
    ".clinerules",
    ".codex",
    ".continue",
    ".cursor",
    ".factory",
    ".gemini",
    ".goose",
    ".junie",
    ".kilocode",
    ".kiro",
    ".openhands",
    ".opencode",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
    ".devcontainer",
    ".fleet",
    ".idea",
    ".vs",
    ".vscode",
    ".zed",
    ".config/fish",
    ".config/git",
    ".direnv",
    ".emacs.d",
    ".husky",
    ".vim",
    ".yarn/plugins",
    ".yarn/releases",
)

CONTROL_FILES = (
    ".gitmodules",
    ".gitconfig",
    "kova-auto.toml",
    ".aider.conf.yml",
    ".cursorrules",
    ".goosehints",
    ".mcp.json",
    "mcp.json",
    ".roomodes",
    ".windsurfrules",
    "opencode.json",
    "opencode.jsonc",
    ".devcontainer.json",
    ".dir-locals.el",
    ".emacs",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".vimrc",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".envrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".mise.toml",
    "mise.toml",
    ".profile",
    ".tcshrc",
    ".xinitrc",
    ".xprofile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".gdbinit",
    ".lldbinit",
    ".npmrc",
    ".pnpmfile.cjs",
    ".pnpmfile.mjs",
    ".pypirc",
    ".ripgreprc",
    ".yarnrc",
    ".yarnrc.json",
    ".yarnrc.toml",
    ".yarnrc.yaml",
    ".yarnrc.yml",
    "pip.conf",
    "pip.ini",
    ".lefthook.yml",
    ".overcommit.yml",
    ".pre-commit-config.yaml",
    ".pre-commit-config.yml",
    "lefthook.yml",
)

ASKED_DIRS = (
    ".buildkite",
    ".circleci",
    ".forgejo/workflows",
    ".gitea/workflows",
    ".github/actions",
    ".github/workflows",
    ".teamcity",
    ".woodpecker",
)

ASKED_FILES = (
    ".gitattributes",
    "AGENT.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".appveyor.yml",
    ".cirrus.yml",
    ".drone.yml",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".woodpecker.yml",
    "Jenkinsfile",
    "appveyor.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
)

_SHORT = re.compile(r"(?P<stem>[^~.]{1,7})~(?P<number>\d{1,6})(\.[^.]{0,3})?")
_HASHED = re.compile(r"(?P<two>..)[0-9a-f]{4}")
# Mn and Mc characters that file systems or fonts show as nothing; format characters (Cf) are dropped by category.
_IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)


def fold(name: str) -> str:
    """Return the form under which two names of one directory entry are compared.

    Width and case are folded, characters that some file system ignores are dropped, and so are a stream's name and
    trailing dots and blanks.
    """
    seen = "".join(char for char in name if unicodedata.category(char) != "Cf" and char not in _IGNORABLE)
    even = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    return even.partition(":")[0].rstrip(" .")


@lru_cache(maxsize=4096)
def _folded(name: str) -> str:
    return fold(name)


def _pattern(text: str) -> tuple[str, ...]:
    return tuple(fold(part) for part in text.split("/"))


_PATTERNS: tuple[tuple[Control, frozenset[tuple[str, ...]]], ...] = (
    (Control.REFUSED, frozenset(map(_pattern, CONTROL_DIRS + CONTROL_FILES))),
    (Control.ASKED, frozenset(map(_pattern, ASKED_DIRS + ASKED_FILES))),
)
_LONGEST = max(len(pattern) for _, patterns in _PATTERNS for pattern in patterns)
_SHORT_STEMS = frozenset(
    part.lstrip(".").rpartition(".")[0] or part.lstrip(".")
    for _, patterns in _PATTERNS
    for pattern in patterns
    for part in pattern
)


def control_of(parts: Sequence[str]) -> Control | None:
    """Return how firmly a path is held, or None where it is no control path.

    Args:
        parts: The path's components below the root it is written under, no root's own among them. A control name
            holds whatever lies below it, at any depth.
    """
    if any(_is_disguised(part) for part in parts):
        return Control.REFUSED
    names = tuple(_folded(part) for part in parts)
    runs = {names[at : at + size] for size in range(1, _LONGEST + 1) for at in range(len(names) - size + 1)}
    return next((control for control, patterns in _PATTERNS if runs & patterns), None)


def is_control_path(parts: Sequence[str]) -> bool:
    """Say whether a path below a root is a control path of either kind."""
    return control_of(parts) is not None


def _is_disguised(part: str) -> bool:
    """Say whether a name is another way to write a control name, or can only be meant for a stream."""
    if ":$" in part:
        return True
    found = _SHORT.fullmatch(_folded(part))
    if not found:
        return False
    stem, room = found["stem"], 7 - len(found["number"])
    hashed = _HASHED.fullmatch(stem)
    return any(stem == known[:room] or (hashed is not None and known[:2] == hashed["two"]) for known in _SHORT_STEMS)


class Places:
    """Hold canonical places, for any number of paths to be held against; names are compared folded."""

    def __init__(self, paths: Iterable[PurePath]) -> None:
        """Fold the names of the places."""
        self.paths = tuple(paths)
        self._folded = frozenset(_folded_parts(path) for path in self.paths)

    def hold(self, path: PurePath) -> bool:
        """Say whether a canonical path is one of the places or lies below one."""
        parts = _folded_parts(path)
        return not self._folded.isdisjoint([parts[:end] for end in range(1, len(parts) + 1)])


def _folded_parts(path: PurePath) -> tuple[str, ...]:
    return tuple(map(_folded, path.parts))


def lies_in(path: PurePath, places: Iterable[PurePath]) -> bool:
    """Say whether a canonical path is one of the places or lies below one; names are compared folded."""
    return Places(places).hold(path)


_IN_HOME = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".password-store",
    ".kube",
    ".docker",
    ".oci",
    ".minikube",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".vault-token",
    ".terraformrc",
    ".terraform.d/credentials.tfrc.json",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".bundle/config",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".yarnrc.yml",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".kova/mcp.json",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".mozilla",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Mail",
    "Library/Messages",
    "Library/Safari",
    "Library/Containers",
)
_IN_CONFIG = (
    "kova-auto",
    "gh",
    "glab-cli",
    "hub",
    "gcloud",
    "op",
    "git/credentials",
    "containers/auth.json",
    "helm/registry",
    "heroku",
    "doctl",
    "rclone",
    "sops",
    "age",
    "pip/pip.conf",
    "pypoetry/auth.toml",
    "composer/auth.json",
    "configstore",
    "opencode",
    "google-chrome",
    "google-chrome-beta",
    "chromium",
    "BraveSoftware",
    "microsoft-edge",
    "vivaldi",
    "Google/Chrome",
    "Chromium",
    "Microsoft Edge",
    "Firefox",
    "Thunderbird",
    "Signal",
    "Slack",
    "1Password",
    "Bitwarden",
    "KeePassXC",
    "keepassxc",
)


def secret_places(home: PurePath, config_dirs: Iterable[PurePath], data_dir: PurePath) -> tuple[PurePath, ...]:
    """Return the files and directories that no tool call may read, in a stable order, each once.

    Args:
        home: The user's home, canonical.
        config_dirs: Directories under which programs keep their settings, besides the usual two in `home`.
        data_dir: Our own state.
    """
    settings = (home / ".config", home / "Library/Application Support", *config_dirs)
    places = [home / name for name in _IN_HOME]
    places += [base / name for base in settings for name in _IN_CONFIG]
    return tuple(dict.fromkeys([*places, data_dir]))
