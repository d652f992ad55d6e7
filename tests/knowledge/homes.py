"""A home with a workspace beside others, and the permission files that belong to it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from kova_auto.knowledge.permissions import PermissionFiles, Said


def nothing_against(_root: Path) -> str:
    return ""


@dataclass(frozen=True)
class Ground:
    """Hold a home directory; canonical."""

    home: Path

    @classmethod
    def of(cls, tmp_path: Path) -> Ground:
        ground = cls(tmp_path.resolve() / "home")
        for folder in (ground.app, ground.shared):
            folder.mkdir(parents=True)
        return ground

    @property
    def app(self) -> Path:
        return self.home / "src" / "app"

    @property
    def shared(self) -> Path:
        return self.home / "src" / "shared"

    @property
    def files(self) -> PermissionFiles:
        return PermissionFiles(self.home, self.home / "data" / "permissions")

    def user_says(self, value: object) -> Path:
        return write(self.home / ".kova" / "permissions.json", value)

    def project_says(self, value: object) -> Path:
        return write(self.app / ".kova" / "permissions.json", value)


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def said(found: Said) -> list[str]:
    return [problem.sentence.removeprefix(f"{found.path}: ") for problem in found.problems]
