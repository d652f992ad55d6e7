"""Find the skills that there are for a run, or for a person who looks: of a workspace, of the user, of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from kova_auto.app.committed import REMEDY, uncommitted_skills
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.memory import roots_of
from kova_auto.app.places import places_of
from kova_auto.core.context.briefing import NOTHING, Briefing
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.core.skill_facts import USE_SKILL
from kova_auto.core.skills.catalogue import lacking, listed
from kova_auto.core.skills.precedence import Broken, Shelf, chosen
from kova_auto.core.skills.skill import FILES, FOLDERS, MOST_BYTES, TOO_LARGE, Layer, Skill, SkillFile
from kova_auto.core.skills.stray import Found, Stray
from kova_auto.core.subagents.roster import Roster
from kova_auto.knowledge.plugins import is_plugin, read_plugin, read_plugins
from kova_auto.knowledge.skills import parse_skill, plugin_skills, user_skills
from kova_auto.settings.model import Settings
from kova_auto.tools.roots import Ground, Roots
from kova_auto.tools.skills import text_of, workspace_skills

_NOBODY: Final = RunId("skills")


@dataclass(frozen=True, slots=True)
class Skills:
    """Read skills; nothing is changed, and nothing is kept between two questions.

    Attributes:
        roots: The boundary.
        home: Of the user, canonical.
        extra: Name of each plugin, and a directory of skills in it.
    """

    roots: Roots
    home: Path
    extra: Sequence[tuple[str, Path]] = ()

    def shelf(self, ground: Ground) -> Shelf:
        """Return the skills that there are for a run."""
        found, notices, strays = list[Skill | Broken](), list[str](), list[str]()
        for one in self._files(ground):
            match one:
                case str():
                    notices.append(one)
                case Stray():
                    strays.append(one.sentence)
                case SkillFile():
                    found.append(parse_skill(one))
        return chosen(found, notices, strays)

    def told(self, ground: Ground, wanted: Sequence[str] | None) -> Briefing:
        """Return what a run is told of its skills.

        Args:
            ground: Of the run.
            wanted: Names, each of which must be there; None takes all that a model may choose itself.
        """
        if wanted is not None and not wanted:
            return NOTHING
        return listed(self.shelf(ground), wanted)

    @property
    def own(self) -> tuple[str, ...]:
        """Return where skills lie, if there are any, besides those of a workspace."""
        return _own(self.home, tuple(self.extra))

    def _files(self, ground: Ground) -> Iterator[Found]:
        yield from workspace_skills(self.roots, ground)
        yield from user_skills(self.home)
        yield from plugin_skills(self.extra, self.home)


@lru_cache(maxsize=16)  # A service asks for its own before each run.
def _own(home: Path, extra: tuple[tuple[str, Path], ...]) -> tuple[str, ...]:
    users = (str(home.joinpath(*parts)) for parts in FOLDERS)
    return (*users, *(str(folder) for _, folder in extra))


@contextmanager
def skills_of(settings: Settings, environ: Mapping[str, str]) -> Iterator[Skills]:
    """Give what finds skills, for a person who looks; neither service nor database is asked."""
    places = places_of(settings, environ)
    roots = roots_of(places)
    try:
        yield Skills(roots, places.home, read_plugins(settings.plugins.enabled, places.home).skills)
    finally:
        roots.close()


def ground_of(workspace: Path) -> Ground:
    """Return where nothing runs, but skills lie; `workspace` is canonical."""
    return Ground(_NOBODY, str(workspace))


def skills_at(path: Path) -> list[Skill | Broken]:
    """Return the skill in a folder or of a `SKILL.md`, those in the folders of a folder, or those of a plugin.

    They may lie anywhere: they are read to be checked, not to be used.

    Raises:
        ConfigError: There is none.
    """
    if not path.is_dir():
        return [_skill_at(path.parent, (path.name,), path)]
    if is_plugin(path):
        return [skill for folder in read_plugin(path).skills for skill in skills_at(folder)]
    below = sorted(each for each in path.iterdir() if any((each / name).exists() for name in FILES))
    if below and not any((path / name).exists() for name in FILES):
        return [_skill_at(folder, FILES, folder) for folder in below]
    return [_skill_at(path, FILES, path)]


def _skill_at(folder: Path, names: Sequence[str], path: Path) -> Skill | Broken:
    file = next((name for name in names if (folder / name).exists()), None)
    if file is None:
        message = f"wanted a folder with a {FILES[0]}, found {'none in it' if path.is_dir() else 'nothing'}"
        raise ConfigError(message, path=str(path))
    folder = folder.absolute()
    text, problem = _read(folder / file)
    name = folder.resolve().name
    return parse_skill(SkillFile(Layer.WORKSPACE, str(folder.parent), name, str(folder), file, text, problem))


def _read(path: Path) -> tuple[str, str]:
    """Return a file's text, or why it has none."""
    if not path.is_file():
        return "", "wanted an ordinary file"
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as exc:
        return "", f"cannot be read: {exc.strerror}"
    return ("", TOO_LARGE) if len(data) > MOST_BYTES else text_of(data)


def lacking_skills(skills: Skills, job: Job) -> str:
    """Return why a job's runs would not begin for want of a skill; empty where they would."""
    if not (wanted := job.context.skills):
        return ""
    shelf = skills.shelf(ground_of(Path(job.workspace)))
    if why := lacking(shelf, wanted):
        return why
    why = uncommitted_skills(job, shelf)
    return f"{why}: {REMEDY}" if why else ""


def lacking_for_agents(skills: Skills, job: Job, roster: Roster) -> Iterator[str]:
    """Yield why subagents of a job would not begin for want of a skill that their definitions name, a sentence each."""
    named = [one for one in roster.available if one.agent.skills and USE_SKILL in one.agent.tools]
    shelf = skills.shelf(ground_of(Path(job.workspace))) if named else Shelf()
    for one in named:
        if why := lacking(shelf, one.agent.skills):
            yield f"{one.name}: skills of {one.agent.path}: {why}"


def of_skills(skills: Skills, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield what there is to say of the skills of each workspace, and of what jobs name."""
    said = set[str]()
    for place in dict.fromkeys(job.workspace for job in jobs):
        shelf = skills.shelf(ground_of(Path(place)))
        for one in shelf.broken:
            if one.file.path not in said:
                yield Finding("skill", one.file.shown, Mark.WARN, one.error.problems[0].sentence)
            said.add(one.file.path)
        for sentence in (*shelf.notices, *shelf.strays):
            if sentence not in said:
                yield Finding("skill", place, Mark.WARN, sentence)
            said.add(sentence)
        for skill, before in shelf.shadowed:
            if before.file.layer is Layer.WORKSPACE and skill.file.layer is not Layer.WORKSPACE:
                text = f"of {place} comes before {skill.file.shown}, which has the same name"
                yield Finding("skill", before.file.shown, Mark.WARN, text)
    for job in jobs:
        if why := lacking_skills(skills, job):
            yield Finding("skill", job.name, Mark.FAIL, f"context.skills: {why}")
