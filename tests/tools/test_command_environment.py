from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.tools.environment import clean_environment, place_variables, trusted_path

FIXED = {
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "PATH": "/usr/bin",
}


def test_nothing_passes_that_is_not_listed() -> None:
    service = {
        "PATH": "/usr/bin",
        "TZ": "Europe/Berlin",
        "ANTHROPIC_API_KEY": "secret",
        "KOVA_AUTO_DATA_DIR": "/data",
        "BASH_ENV": "/evil",
        "BASH_FUNC_git%%": "() { true; }",
        "LD_PRELOAD": "/evil.so",
        "GIT_DIR": "/evil",
        "GIT_SSH_COMMAND": "evil",
        "NODE_OPTIONS": "--require /evil",
        "PYTHONPATH": "/evil",
        "HTTPS_PROXY": "http://user:password@proxy",
        "SSH_AUTH_SOCK": "/run/agent",
        "HOME": "/home/user",
    }

    assert clean_environment(service, {}) == FIXED | {"TZ": "Europe/Berlin"}


def test_what_the_job_gives_wins() -> None:
    given = {"GH_TOKEN": "token", "CI": "false", "GIT_AUTHOR_NAME": "kova"}

    assert clean_environment({"PATH": "/usr/bin"}, given) == FIXED | given


@pytest.mark.parametrize(
    "name", ["BASH_ENV", "ENV", "IFS", "PS4", "SHELLOPTS", "BASH_FUNC_ls%%", "LD_PRELOAD", "DYLD_X", "KOVA_AUTO_CALL"]
)
def test_a_job_cannot_give_what_replaces_programs(name: str) -> None:
    with pytest.raises(ConfigError, match=f"^env.{name}: {name} is never given to a command"):
        clean_environment({}, {name: "x"})


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/usr/bin:/bin", "/usr/bin:/bin"),
        (":/usr/bin::.:bin:~/bin:", "/usr/bin"),
        ("/space/bin:/usr/bin:/spaceship/bin:/x/../space/bin", "/usr/bin:/spaceship/bin"),
        ("", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
        ("bin", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"),
    ],
)
def test_programs_come_from_trusted_directories_only(path: str, kept: str) -> None:
    assert trusted_path(path, [Path("/space")]) == kept


def test_a_link_into_the_workspace_is_not_trusted(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    (workspace / "bin").mkdir(parents=True)
    outside.symlink_to(workspace / "bin")

    assert trusted_path(f"{outside}:/usr/bin", [workspace]) == "/usr/bin"


def test_places_are_below_the_temporary_directory_and_the_cache() -> None:
    assert place_variables(Path("/t"), Path("/c")) == {
        "HOME": "/t/home",
        "TMPDIR": "/t",
        "XDG_CACHE_HOME": "/c/xdg",
        "npm_config_cache": "/c/npm",
        "PIP_CACHE_DIR": "/c/pip",
        "UV_CACHE_DIR": "/c/uv",
        "CARGO_HOME": "/c/cargo",
        "GOCACHE": "/c/go-build",
        "GOMODCACHE": "/c/go-mod",
    }
