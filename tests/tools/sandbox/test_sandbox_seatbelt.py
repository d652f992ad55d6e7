"""macOS's profile as text: it was written without a Mac at hand, so that nothing here runs it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.approval import floor
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.process import bash_argv
from kova_auto.tools.sandbox.confiners import SeatbeltConfiner
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.places import Access, Place
from kova_auto.tools.sandbox.plan import Confinement, Level, Method, Policy
from kova_auto.tools.sandbox.seatbelt import find_seatbelt, profile
from kova_auto.tools.sandbox.select import Sandbox

WORKSPACE = Path("/Users/me/my src")
SEEN = (
    Place(Path("/Users"), Access.HIDDEN, Path("/Users")),
    Place(Path("/etc/master.passwd"), Access.HIDDEN, Path("/etc/master.passwd"), is_dir=False),
    Place(Path("/Users/me/tools"), Access.READ, Path("/Users/me/tools")),
    Place(WORKSPACE, Access.WRITE, WORKSPACE),
)
CONTROLS = Controls(
    pins=(WORKSPACE / ".git",),
    masks=(WORKSPACE / ".git/config", WORKSPACE / "a/.envrc"),
    voids=(WORKSPACE / ".kova",),
    roots=(WORKSPACE,),
    absent=(WORKSPACE / ".git/commondir",),
)


def a_confinement(level: Level = Level.WORKSPACE) -> Confinement:
    return Confinement(level=level, workspace=WORKSPACE, temp=Path("/Users/me/t"), cwd=WORKSPACE)


def test_a_profile_denies_first_and_allows_what_a_command_is_shown() -> None:
    lines = profile(a_confinement(), SEEN, CONTROLS).splitlines()
    start = lines.index('(deny file-read* file-write* (subpath "/Users"))')

    assert lines[:3] == ["(version 1)", "(deny default)", "(deny network*)"]
    assert not [line for line in lines if "network" in line and line.startswith("(allow")]
    assert lines[start : start + 5] == [
        '(deny file-read* file-write* (subpath "/Users"))',
        '(deny file-read* file-write* (literal "/etc/master.passwd"))',
        '(allow file-read* (subpath "/Users/me/tools"))',
        '(allow file-read* file-write* (subpath "/Users/me/my src"))',
        "(allow file-read-metadata)",
    ]
    assert lines[start + 5].startswith('(deny file-write* (require-all (subpath "/Users/me/my src") (regex #"/[.]')
    assert lines[-6:] == [
        '(deny file-write* (subpath "/Users/me/my src/.git/config"))',
        '(deny file-write* (subpath "/Users/me/my src/a/.envrc"))',
        '(deny file-write* (subpath "/Users/me/my src/.kova"))',
        '(deny file-write* (subpath "/Users/me/my src/.git/commondir"))',
        '(deny file-write-unlink (literal "/Users/me/my src"))',
        '(deny file-write-unlink (literal "/Users/me/my src/.git"))',
    ]


def test_nothing_is_allowed_after_the_control_files_are_denied() -> None:
    lines = profile(a_confinement(), SEEN, CONTROLS).splitlines()
    allowed = max(at for at, line in enumerate(lines) if line.startswith("(allow file-"))
    denied = min(at for at, line in enumerate(lines) if "regex" in line and line.startswith("(deny"))

    assert allowed < denied


def test_every_control_name_is_denied_at_any_depth_and_in_any_case() -> None:
    patterns = re.findall(r'\(regex #"(/.*?\(/\|\$\))"\)', profile(a_confinement(), SEEN, CONTROLS))
    names = (*floor.CONTROL_DIRS, *floor.CONTROL_FILES, *floor.ASKED_DIRS, *floor.ASKED_FILES)
    held = [name for name in names if name != ".git"]
    paths = [f"/w/a/{spelt}{below}" for name in held for spelt in (name, name.upper()) for below in ("", "/x")]

    assert [path for path in paths if not any(re.search(pattern, path) for pattern in patterns)] == []
    innocent = ("/w/.git/objects/x", "/w/npmrc", "/w/.npmrcs", "/w/x.vscode/a", "/w/.github/other", "/w/agents.txt")
    assert [path for path in innocent if any(re.search(pattern, path) for pattern in patterns)] == []


def test_what_only_reads_has_no_rules_for_control_files() -> None:
    assert "file-write*" not in profile(a_confinement(Level.READING), SEEN[2:3], Controls())


STRING = r'"(?:[^"\\]|\\.)*"'


def naming(name: str) -> str:
    place = Place(Path("/w", name), Access.WRITE, Path("/w", name))
    return profile(a_confinement(Level.READING), (place,), Controls())


@given(st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/"), min_size=1, max_size=30))
def test_a_name_cannot_leave_its_quotes(name: str) -> None:
    def without_strings(name: str) -> str:
        return re.sub(STRING, '""', re.sub(r'#"[^"]*"', "", naming(name)))

    found = re.findall(STRING, re.sub(r'#"[^"]*"', "", naming(name)))

    assert str(Path("/w", name)) in [re.sub(r"\\(.)", r"\1", string[1:-1]) for string in found]
    assert without_strings(name) == without_strings("plain")


@pytest.mark.parametrize("name", ['a") (allow default) (literal "', "a\\", 'a\\"', "(", "#|"])
def test_a_hostile_name_is_only_a_name(name: str) -> None:
    place = Place(Path("/w", name), Access.HIDDEN, Path("/w", name))
    text = profile(a_confinement(Level.READING), (place,), Controls())

    assert re.sub(r'"(?:[^"\\]|\\.)*"', '""', text).splitlines()[-2] == '(deny file-read* file-write* (subpath ""))'


def test_a_name_that_no_profile_can_hold_is_refused() -> None:
    with pytest.raises(ToolFailedError, match="cannot be named in a confinement's profile: rename it"):
        profile(a_confinement(), (Place(Path("/w/a\nb"), Access.READ, Path("/w/a\nb")),), Controls())


def test_a_command_is_run_by_the_systems_own_program(tmp_path: Path) -> None:
    workspace, temp = tmp_path / "w", tmp_path / "t"
    for path in (workspace, temp):
        path.mkdir()
    confinement = replace(a_confinement(), workspace=workspace, cwd=workspace, temp=temp, env={"PATH": "/bin"})
    confiner = SeatbeltConfiner(Path("/usr/bin/sandbox-exec"), Live())
    confined = confiner.prepare(confinement, bash_argv("true"), "mark")
    (workspace / ".npmrc").write_text("x")

    assert confined.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert confined.argv[3:] == tuple(bash_argv("true"))
    assert f'(allow file-read* file-write* (subpath "{workspace}"))' in confined.argv[2]
    assert (confined.env["KOVA_AUTO_CALL"], confined.env["TMPDIR"], confined.cwd) == ("mark", str(temp), workspace)
    assert confiner.settle(confined) == (str(workspace / ".npmrc"),)


def test_no_network_is_promised(tmp_path: Path) -> None:
    confinement = replace(a_confinement(), workspace=tmp_path, cwd=tmp_path, temp=tmp_path, handover=3)

    with pytest.raises(ToolFailedError, match="macOS's sandbox cannot hold a command to the hosts of a network"):
        SeatbeltConfiner(Path("/usr/bin/sandbox-exec"), Live()).prepare(confinement, ["/bin/true"], "t")


def test_it_is_chosen_on_macos_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0)
    there = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0, seatbelt=Path("/usr/bin/sandbox-exec"))
    monkeypatch.setattr("sys.platform", "linux")

    assert (here.methods, there.methods) == ((Method.BWRAP, Method.LANDLOCK), (Method.SEATBELT,))
    assert find_seatbelt() is None


async def test_it_is_relied_on_only_where_its_self_test_passes(tmp_path: Path) -> None:
    confines_nothing = tmp_path / "sandbox-exec"
    confines_nothing.write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    confines_nothing.chmod(0o755)
    sandbox = Sandbox(tmp_path, (), bwrap=None, landlock_abi=0, seatbelt=confines_nothing)
    chosen = await sandbox.select(Policy.AUTO, Level.WORKSPACE)

    assert "seatbelt: to write a control file inside: worked; to write outside inside: worked" in str(chosen)
