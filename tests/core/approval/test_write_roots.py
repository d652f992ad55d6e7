"""Which directories can never be made to count as inside."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from kova_auto.core.approval.write_roots import Place, places_of_system, root_objection

HOME = PurePath("/home/me")
PLACES = (
    Place(HOME, "your home directory", closed=False),
    Place(HOME / ".local/share/kova-auto", "this service's data", closed=True),
    Place(HOME / "src/other", "the workspace of another job", closed=False),
    *places_of_system(),
)


@pytest.mark.parametrize(
    ("root", "why"),
    [
        ("/", "/ is the whole machine"),
        ("/home", "/home holds /home/me, your home directory"),
        ("/home/me", "/home/me is your home directory"),
        ("/HOME/Me", "/HOME/Me holds /home/me, your home directory"),
        ("/home/me/.local", "/home/me/.local holds /home/me/.local/share/kova-auto, this service's data"),
        ("/home/me/.local/share/kova-auto/x", "lies in /home/me/.local/share/kova-auto, this service's data"),
        ("/home/me/src", "/home/me/src holds /home/me/src/other, the workspace of another job"),
        ("/home/me/src/other", "/home/me/src/other is the workspace of another job"),
        ("/etc", "/etc is a directory of the system"),
        ("/etc/cron.d", "/etc/cron.d lies in /etc, a directory of the system"),
        ("/usr/local/share", "lies in /usr, a directory of the system"),
        ("/proc/self", "lies in /proc, a directory of the system"),
        ("/var", "/var holds"),
        ("/srv", "/srv is where many have their files"),
        ("/home/me/app/.git", "tells agents, git, editors or shells what to do"),
        ("/home/me/app/.GIT/hooks", "tells agents, git, editors or shells what to do"),
        ("/home/me/app/.github/workflows", "tells agents, git, editors or shells what to do"),
        ("/home/me/.kova", "tells agents, git, editors or shells what to do"),
    ],
)
def test_no_such_directory_is_a_write_root(root: str, why: str) -> None:
    assert why in root_objection(PurePath(root), PLACES)


@pytest.mark.parametrize(
    "root", ["/home/me/src/shared", "/home/me/src/other/lib", "/srv/shared", "/var/lib/app/out", "/tmp", "/opt/data"]
)
def test_other_directories_may_be(root: str) -> None:
    assert root_objection(PurePath(root), PLACES) == ""
