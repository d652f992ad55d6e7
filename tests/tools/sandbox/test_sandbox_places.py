"""What a command sees, as data; nothing runs here."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox import landlock, network, seccomp
from kova_auto.tools.sandbox.bwrap import bwrap_argv
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.network import launcher_needs
from kova_auto.tools.sandbox.places import Access, Place, places
from kova_auto.tools.sandbox.plan import Confinement, Level

TEMP = Path("/tmp")
HANDOVER = Path(network.__file__).with_name("handover.py")


def a_confinement(top: Path) -> Confinement:
    """Make a home with a workspace, its neighbours, and the service's data in it."""
    for name in ("home/src/docs", "home/lib", "home/data/cache", "home/data/run", "home/tools", "public"):
        (top / name).mkdir(parents=True, exist_ok=True)
    (top / "home/key").touch()
    return Confinement(
        level=Level.WORKSPACE,
        workspace=top / "home/src",
        temp=top / "home/data/run",
        cwd=top / "home/src",
        cache=top / "home/data/cache",
        hidden=(top / "home", top / "home/data"),
    )


def seen(confinement: Confinement, top: Path) -> list[str]:
    """Return what differs from the host, shortened to `access path`."""
    found = places(confinement, (top / "tmp",))
    return [f"{place.access} {str(place.path).removeprefix(f'{top}/')}" for place in found]


def test_a_workspace_is_visible_below_a_hidden_home_and_nothing_beside_it(tmp_path: Path) -> None:
    assert seen(a_confinement(tmp_path), tmp_path) == [
        "hidden home",
        "write tmp",
        "write home/src",
        "write home/data/cache",
    ]


def test_reading_makes_the_workspace_readable_and_leaves_the_cache_away(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), level=Level.READING)

    assert seen(confinement, tmp_path) == ["hidden home", "write tmp", "read home/src"]


def test_roots_and_toolchains_are_visible_below_a_hidden_home(tmp_path: Path) -> None:
    roots, tools = (tmp_path / "home/lib",), (tmp_path / "home/tools",)

    assert seen(replace(a_confinement(tmp_path), write_roots=roots, toolchains=tools), tmp_path) == [
        "hidden home",
        "write tmp",
        "read home/tools",
        "write home/lib",
        "write home/src",
        "write home/data/cache",
    ]


def test_what_is_hidden_inside_a_workspace_stays_hidden(tmp_path: Path) -> None:
    confinement = replace(
        a_confinement(tmp_path), workspace=tmp_path / "home", hidden=(tmp_path / "home/data", tmp_path / "home/key")
    )

    assert seen(confinement, tmp_path) == [
        "write home",
        "write tmp",
        "hidden home/data",
        "hidden home/key",
        "write home/data/cache",
    ]


def test_a_workspace_that_is_the_hidden_home_itself_is_visible(tmp_path: Path) -> None:
    assert seen(replace(a_confinement(tmp_path), workspace=tmp_path / "home"), tmp_path)[:2] == [
        "write home",
        "write tmp",
    ]


def test_a_read_root_takes_nothing_away_from_a_workspace(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), read_roots=(tmp_path / "home/src/docs", tmp_path / "public"))

    assert "home/src/docs" not in " ".join(seen(confinement, tmp_path))
    assert "public" not in " ".join(seen(confinement, tmp_path))


def test_roots_inside_one_another_are_one(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), write_roots=(tmp_path / "home/src/docs", tmp_path / "home/lib"))

    assert confinement.writable == (tmp_path / "home/src", tmp_path / "home/lib")
    assert replace(confinement, level=Level.READING).writable == ()


def test_what_does_not_exist_is_neither_hidden_nor_shown(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    confinement = replace(a_confinement(tmp_path), hidden=(gone,), read_roots=(gone / "too",))

    assert seen(confinement, tmp_path) == ["write tmp", "write home/src", "write home/data/cache"]


def test_paths_are_resolved_before_they_are_compared(tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to("home")
    confinement = replace(
        a_confinement(tmp_path), workspace=tmp_path / "way/src", hidden=(tmp_path / "way",)
    ).canonical()

    assert seen(confinement, tmp_path) == ["hidden home", "write tmp", "write home/src", "write home/data/cache"]


def test_bubblewrap_is_told_the_whole_recipe() -> None:
    there = Path("/home/u/src")
    shown = (
        Place(TEMP, Access.WRITE, Path("/data/run")),
        Place(Path("/home"), Access.HIDDEN, Path("/home")),
        Place(Path("/etc/shadow"), Access.HIDDEN, Path("/etc/shadow"), is_dir=False),
        Place(Path("/home/tools"), Access.READ, Path("/home/tools")),
        Place(there, Access.WRITE, there),
    )
    controls = Controls(
        pins=(there / ".git", Path("/data/.git")),
        masks=(there / ".git/config",),
        voids=(there / ".kova", there / ".git/hooks"),
    )
    confinement = Confinement(level=Level.WORKSPACE, workspace=there, temp=Path("/data/run"), cwd=there / "sub")

    argv = bwrap_argv(Path("/usr/bin/bwrap"), confinement, shown, controls, ["/bin/true", "x"], "mark")

    assert " ".join(argv) == (
        "/usr/bin/bwrap --unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session"
        " --ro-bind / / --dev /dev --proc /proc --remount-ro /proc"
        " --bind /data/run /tmp --tmpfs /home --ro-bind /dev/null /etc/shadow --ro-bind /home/tools /home/tools"
        " --bind /home/u/src /home/u/src --remount-ro /home"
        " --bind /home/u/src/.git /home/u/src/.git --tmpfs /home/u/src/.kova --remount-ro /home/u/src/.kova"
        " --ro-bind /home/u/src/.git/config /home/u/src/.git/config"
        " --tmpfs /home/u/src/.git/hooks --remount-ro /home/u/src/.git/hooks"
        " --setenv KOVA_AUTO_CALL mark --chdir /home/u/src/sub -- /bin/true x"
    )


@pytest.mark.parametrize(
    ("level", "handover", "launched"),
    [(Level.WORKSPACE, 7, True), (Level.WORKSPACE, None, False), (Level.READING, 7, False)],
)
def test_no_command_shares_the_hosts_network_and_some_have_a_proxy(
    tmp_path: Path, level: Level, handover: int | None, launched: bool
) -> None:
    confinement = replace(a_confinement(tmp_path), level=level, handover=handover)
    argv = bwrap_argv(Path("/b"), confinement, (), Controls(), ["/bin/true"], "t")
    python = str(Path(sys.executable).resolve())
    launcher = [python, "-I", "-S", "-c", HANDOVER.read_text(), "7", "3128", "--"] if launched else []

    assert ("--unshare-all" in argv, "--share-net" in argv) == (True, False)
    assert argv[argv.index("--", 2) + 1 :] == [*launcher, "/bin/true"]


def test_the_launcher_is_visible_only_where_there_is_a_network(tmp_path: Path) -> None:
    hidden = tuple({path.parent for path in launcher_needs()})
    without = replace(a_confinement(tmp_path), level=Level.WORKSPACE, hidden=hidden)
    networked = replace(without, handover=7)
    shown = [
        {place.path for place in places(each.canonical(), ()) if place.access is Access.READ}
        for each in (without, networked)
    ]

    assert shown[1] - shown[0] == set(launcher_needs())


def test_landlock_leads_no_command_to_a_network(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), level=Level.WORKSPACE, handover=7)

    with pytest.raises(ToolFailedError, match="Landlock cannot hold a command to the hosts of a network"):
        landlock_rules(confinement)


def test_landlock_allows_what_lies_around_a_hidden_place_one_by_one(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), level=Level.READING, hidden=(tmp_path / "home",))
    rules = landlock_rules(confinement)

    assert {path: rights for path, rights in rules.items() if path.is_relative_to(tmp_path)} == {
        tmp_path / "home/src": READ,
        tmp_path / "home/data/run": WRITE,
    }
    assert rules[Path("/usr")] == READ
    assert not {Path("/"), Path("/tmp"), tmp_path.parent} & rules.keys()


def test_landlock_shows_nothing_around_a_tree_inside_a_hidden_one(tmp_path: Path) -> None:
    for name in ("all/hidden/shown/secret", "all/hidden/other", "all/open"):
        (tmp_path / name).mkdir(parents=True)
    hidden = (tmp_path, tmp_path / "all/hidden", tmp_path / "all/hidden/shown/secret")
    roots = (tmp_path / "all", tmp_path / "all/hidden/shown")
    confinement = replace(a_confinement(tmp_path), level=Level.READING, hidden=hidden, read_roots=roots)

    assert {path for path in landlock_rules(confinement) if path.is_relative_to(tmp_path / "all")} == {
        tmp_path / "all/open"
    }


def test_landlock_says_that_it_cannot_hide_inside_a_writable_root(tmp_path: Path) -> None:
    confinement = replace(a_confinement(tmp_path), workspace=tmp_path / "home", hidden=(tmp_path / "home/data",))

    with pytest.raises(ToolFailedError, match=f"cannot hide {tmp_path}/home/data inside {tmp_path}/home"):
        landlock_rules(confinement)


READ = 0b1101  # execute, read files and directories
WRITE = 0b1111_0111_1011_1111  # everything of version 5 but making devices


def landlock_rules(confinement: Confinement) -> dict[Path, int]:
    """Return the trees that a command is allowed, with their rights."""
    known = seccomp.numbers("x86_64")
    assert known
    argv = landlock.landlock_argv(
        Path("/python"), confinement, landlock.seen_by(confinement), ["/bin/true"], version=7, known=known
    )
    rules = (rule.partition(":") for rule in argv[6 : argv.index("--")])
    return {Path(path): int(rights, 16) for rights, _, path in rules}


@pytest.mark.parametrize(
    ("version", "machine", "why"),
    [
        (0, "x86_64", "this kernel has no Landlock"),
        (2, "x86_64", "this kernel's Landlock is version 2, and 3 (Linux 6.2) is needed"),
        (3, "x86_64", ""),
        (7, "aarch64", ""),
    ],
)
def test_an_old_kernel_is_not_enough(version: int, machine: str, why: str) -> None:
    assert landlock.why_not(version, seccomp.numbers(machine)) == why
