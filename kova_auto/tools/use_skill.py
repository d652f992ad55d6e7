"""The `use_skill` tool: gives the instructions of a skill, and says what else lies in its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Final

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.skill_facts import USE_SKILL, OfferedSkill, UsedSkill
from kova_auto.core.skills.precedence import Broken
from kova_auto.core.skills.skill import MOST_BYTES, Layer, Skill, SkillFile
from kova_auto.core.skills.wording import MOST_FILES, instructions
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.threads import aside
from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import read_file
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Ground, Roots, Target
from kova_auto.tools.skills import text_of

_MOST_DEPTH: Final = 3
_MOST_ENTRIES: Final = 1_000
_PASSED_OVER: Final = frozenset({"node_modules", "__pycache__"})

Parse = Callable[[SkillFile], Skill | Broken]


class UseSkillArguments(Value):
    """Say which skill."""

    name: str = Field(min_length=1, max_length=200, description="Of the skill, as the list of skills has it.")


class UseSkillTool:
    """Load a skill."""

    name = USE_SKILL
    description = (
        "Load a skill before you do what it is for: its instructions, where its folder is, and which files lie there. "
        "Read those only as far as the instructions send you there."
    )
    effect = Effect.READ
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = UseSkillArguments

    def __init__(self, roots: Roots, parse: Parse) -> None:
        """Take the boundary, and what makes a skill of a file."""
        self._roots, self._parse = roots, parse

    def offered(self, scene: Scene) -> bool:
        """Say whether there is any skill for the run."""
        return bool(scene.skills)

    async def facts(self, call: ToolCall, args: UseSkillArguments, scene: Scene) -> CallFacts:
        """Say which file would be read."""
        offered = _wanted(args, scene)
        fact = await aside(lambda: self._roots.fact(self._target(offered, scene, offered.file)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def run(self, args: UseSkillArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Give its instructions."""
        del verdict  # reading is the same at every level
        offered = _wanted(args, scene)
        result = await aside(lambda: self._loaded(offered, scene))
        yield ToolOutput(result)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be loaded again."""
        del call, scene
        return None

    def _target(self, offered: OfferedSkill, scene: Scene, file: str) -> Target:
        return self._roots.locate(f"{offered.folder}/{file}", Ground.of_scene(scene), writes=False)

    def _loaded(self, offered: OfferedSkill, scene: Scene) -> ToolResult:
        content = read_file(self._roots, self._target(offered, scene, offered.file), limit=MOST_BYTES)
        text, problem = text_of(content.data)
        name = PurePath(offered.folder).name
        file = SkillFile(Layer.WORKSPACE, "", name, offered.folder, offered.file, text, problem)
        skill = self._parse(file)
        if isinstance(skill, Broken):
            message = f"the skill {offered.name} cannot be used: {skill.error}"
            raise ToolFailedError(message)
        target = self._target(offered, scene, "")
        files = [] if self._roots.hides(target.path, target.root) else sorted(self._files(target, offered.file))
        told_ = told(ResultStatus.OK, instructions(skill, _shown(offered.folder, scene), files))
        used = UsedSkill(name=offered.name, folder=offered.folder, tools=skill.tools, file=offered.file)
        return told_.but(reads={content.path: content.hash}, skill=used)

    def _files(self, target: Target, own: str) -> Iterator[str]:
        """Yield what lies in the folder, relative to it; links and hidden names are passed over."""
        with self._roots.plainly(target):
            fd = target.open(LISTING)
            try:
                left = [_MOST_ENTRIES]
                found = list(_beneath(fd, "", _MOST_DEPTH, left))
            finally:
                os.close(fd)
        yield from [name for name in found if name != own][: MOST_FILES + 1]


def _beneath(fd: int, above: str, depth: int, left: list[int]) -> Iterator[str]:
    with os.scandir(fd) as entries:
        known = [
            (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)) for entry in entries
        ]
    for name, is_folder, is_file in sorted(known):
        left[0] -= 1
        if left[0] < 0:
            return
        if name.startswith(".") or name in _PASSED_OVER:
            continue
        if is_file:
            yield f"{above}{printable(name)}"
        elif is_folder and depth > 1:
            below = os.open(name, LISTING | os.O_NOFOLLOW, dir_fd=fd)
            try:
                yield from _beneath(below, f"{above}{printable(name)}/", depth - 1, left)
            finally:
                os.close(below)


def _shown(folder: str, scene: Scene) -> str:
    """Return a folder as the model names it: relative to the workspace, or absolute."""
    path = PurePath(folder)
    return str(path.relative_to(scene.workspace)) if path.is_relative_to(scene.workspace) else folder


def _wanted(args: UseSkillArguments, scene: Scene) -> OfferedSkill:
    """Return the skill that is meant.

    Raises:
        ToolFailedError: The run has none of this name.
    """
    found = next((one for one in scene.skills if one.name == args.name), None)
    if found is None:
        known = ", ".join(one.name for one in scene.skills) or "none"
        message = f"there is no skill {printable(args.name)!r}; there are: {known}"
        raise ToolFailedError(message)
    return found
