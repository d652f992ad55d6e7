"""A workspace and a home with memories, for tests of what keeps, reads and searches them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from kova_auto.core.context.memory import Layer
from kova_auto.core.job import Context
from kova_auto.core.tool import Scene
from kova_auto.knowledge.memory import global_memory, read_layer, workspace_memory
from kova_auto.tools.memory.book import Book
from kova_auto.tools.memory.read import MemoryReadTool
from kova_auto.tools.memory.search import MemorySearchTool
from kova_auto.tools.memory.shelf import Shelf
from kova_auto.tools.memory.write import MemoryWriteTool
from kova_auto.tools.roots import Ground, Roots
from tests.tools.tool_scenes import a_scene

BOTH = ("workspace", "global")


@dataclass
class Memories:
    """Hold a home and a workspace; canonical."""

    home: Path
    workspace: Path
    roots: Roots = field(init=False)

    @classmethod
    def of(cls, tmp_path: Path) -> Memories:
        home, workspace = tmp_path.resolve() / "home", tmp_path.resolve() / "W"
        for folder in (home, workspace):
            folder.mkdir()
        return cls(home, workspace)

    def __post_init__(self) -> None:
        self.roots = Roots(secret=(), memory=PurePath(global_memory(self.home)))

    @property
    def here(self) -> Path:
        return workspace_memory(self.workspace)

    @property
    def everywhere(self) -> Path:
        return global_memory(self.home)

    @property
    def shelf(self) -> Shelf:
        return Shelf(self.roots, self.everywhere, read_layer)

    def book(self, layer: Layer = Layer.WORKSPACE) -> Book:
        return self.shelf.book(layer, Ground.of_scene(self.scene()))

    def scene(self, *, memory: tuple[str, ...] = BOTH, call_id: str = "1.1", **changes: object) -> Scene:
        scene = a_scene(self.workspace, call_id=call_id)
        job = scene.job.model_copy(update={"context": Context.model_validate({"memory": memory})})
        return replace(scene, job=job, **changes)  # type: ignore[arg-type]  # the scene's own fields

    @property
    def write(self) -> MemoryWriteTool:
        return MemoryWriteTool(self.shelf)

    @property
    def read(self) -> MemoryReadTool:
        return MemoryReadTool(self.shelf)

    @property
    def search(self) -> MemorySearchTool:
        return MemorySearchTool(self.shelf)
