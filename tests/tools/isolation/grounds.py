"""A real workspace and a run's own, made of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.ids import RunId
from kova_auto.tools.isolation.applying import Held, Plan, apply, plan
from kova_auto.tools.isolation.place import Origin, Place
from kova_auto.tools.isolation.showing import show
from kova_auto.tools.isolation.tree import Change, differences, read_tree


@dataclass(frozen=True)
class Grounds:
    """Hold both, and the record beside the run's own."""

    real: Path
    place: Place

    @classmethod
    def begun(cls, base: Path, **files: str) -> Grounds:
        """Make a workspace of some files, `__` in their names a slash and `_` a dot, and a copy of it."""
        real = base / "real"
        real.mkdir()
        for name, text in files.items():
            put(real, name.replace("__", "/").replace("_", "."), text)
        return cls(real, Place(base / "place", base / "place" / "real")).sealed()

    def sealed(self) -> Grounds:
        origin = Origin(run_id=RunId("look@1"), house="", workspace=str(self.real), kind="copy")
        self.place.begin(origin)
        shutil.copytree(self.real, self.place.tree, symlinks=True)
        self.place.seal(self.place.tree)
        return self

    @property
    def own(self) -> Path:
        return self.place.tree

    def changes(self) -> list[Change]:
        return list(differences(self.place.first(), read_tree(self.own)))

    def diff(self) -> str:
        return show(self.changes(), self.place, self.own)

    def planned(self, *, control: bool = False, held: Held | None = None) -> Plan:
        return plan(self.changes(), self.real, held or Held(), control=control)

    def applied(self, changes: Sequence[Change] | None = None) -> Plan:
        planned = self.planned()
        apply(planned.todo if changes is None else changes, self.own, self.real, "test")
        return planned

    def shown(self) -> dict[str, str]:
        """Return the real workspace, links not followed."""
        return {
            str(path.relative_to(self.real)): f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
            for path in sorted(self.real.rglob("*"))
            if path.is_symlink() or path.is_file()
        }


def put(top: Path, name: str, text: str) -> Path:
    """Write a file, with its directories."""
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
