"""Say what runs in a workspace are allowed for good, and keep what a person allows.

A file that is broken stops no job: what cannot be read of it grants nothing, and is said once in the log.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from kova_auto.app.neighbours import Neighbours
from kova_auto.app.places import HousePlaces, places_of
from kova_auto.core.approval.write_roots import Place, places_of_system, root_objection
from kova_auto.core.consent import Offer, Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job
from kova_auto.core.offering import offer
from kova_auto.core.permissions import NOTHING, without
from kova_auto.core.policy import policy_of_run
from kova_auto.core.state import RunState
from kova_auto.core.tool import CallFacts
from kova_auto.knowledge.permissions import FOLDER, PermissionFiles, Said
from kova_auto.knowledge.roots import Refuses, find
from kova_auto.mounts import mounts
from kova_auto.settings.model import Settings

LOG = logging.getLogger(__name__)
_FOLDER: Final = "permissions"
_SAID: Final = 1000


class Standings(NamedTuple):
    """Hold what counts in a workspace, and what its own file proposes besides."""

    user: Standing
    remembered: Standing
    proposed: Standing
    problems: tuple[ConfigError, ...]


_NOTHING: Final = Standings(NOTHING, NOTHING, NOTHING, ())


@dataclass(frozen=True, slots=True)
class Survey:
    """Hold what each file says of a workspace.

    Attributes:
        workspace: Canonical.
        proposed: What the workspace's own file says and does not count already.
        ignored: Kova's file of grants in the workspace, which is never read; None where there is none.
    """

    workspace: Path
    user: Said
    here: Said
    project: Said
    proposed: Standing
    ignored: Path | None

    @property
    def problems(self) -> tuple[ConfigError, ...]:
        """Return what is wrong with the files."""
        return self.user.problems + self.here.problems + self.project.problems


def _nothing_exempt(_: Job) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Permissions:
    """Know standing decisions; safe to use from any thread.

    Attributes:
        workspaces: Returns those of the jobs that are known.
        exempt: Returns the tools of MCP servers that the user's own configuration exempts for a job, as patterns.
    """

    files: PermissionFiles
    places: HousePlaces
    workspaces: Callable[[], Iterable[Path]]
    exempt: Callable[[Job], tuple[str, ...]] = _nothing_exempt
    _said: set[str] = field(default_factory=set)

    def standing(self, workspace: str) -> Standings:
        """Return what counts in a workspace; what is wrong with a file is logged, once. Reads files."""
        if self.files.are_missing(workspace):
            return _NOTHING
        found = self.survey(workspace)
        for problem in found.problems:
            if problem.sentence not in self._said:
                if len(self._said) >= _SAID:
                    self._said.clear()
                self._said.add(problem.sentence)
                LOG.warning("%s", problem.sentence)
        return Standings(found.user.standing, found.here.standing, found.proposed, found.problems)

    def of_job(self, job: Job) -> Standings:
        """Return what counts for a job: in its workspace, and for the servers that it names. Reads files."""
        found = self.standing(job.workspace)
        exempt = self.exempt(job) if job.mcp.servers else ()
        return found._replace(user=found.user.plus(Standing(tools=exempt))) if exempt else found

    def at_once(self, job: Job) -> Standings | None:
        """Return the same where it is told in no time: nothing is far, and no file is there to be read; else None."""
        places = (job.workspace, f"{self.files.home}/{FOLDER}", str(self.files.folder))
        if job.mcp.servers or not mounts().are_near(*places) or not self.files.are_missing(job.workspace):
            return None
        return _NOTHING

    def survey(self, workspace: str | Path) -> Survey:
        """Return what each file says of a workspace. Reads files."""
        place, refuses = Path(os.path.realpath(workspace)), self.refuses(workspace)
        user, here = self.files.said_by_user(place, refuses), self.files.said_here(place, refuses)
        project = self.files.said_by_project(place, refuses)
        proposed = without(project.standing, user.standing.plus(here.standing))
        return Survey(place, user, here, project, proposed, self.files.ignored(place))

    async def offers(self, state: RunState, facts: CallFacts) -> Offer:
        """Return what "allow and remember" would keep of a call that needs a person; what is there counts."""
        return await asyncio.to_thread(self._offer, state, facts)

    def _offer(self, state: RunState, facts: CallFacts) -> Offer:
        workspace = state.job.workspace
        refuses = self.refuses(workspace)
        proposed = self.files.said_by_project(Path(workspace), refuses).standing
        found = offer(facts, policy_of_run(state), proposed, tuple(self._kept_from(workspace)))
        try:
            self.files.local(Path(workspace)).check(found.kept, refuses)
        except ConfigError as exc:
            return Offer(why_not=exc.message, proposed=found.proposed)
        return found

    async def keep(self, workspace: str, more: Standing) -> None:
        """Remember something for a workspace; where that fails the log says so, and nothing else comes of it."""
        try:
            await asyncio.to_thread(self.remember, workspace, more)
        except ConfigError as exc:
            LOG.warning("what was allowed for good in %s is not remembered: %s", workspace, exc)

    def remember(self, workspace: str | Path, more: Standing) -> Standing:
        """Allow something for a workspace on this machine; return what of it was not there.

        Args:
            workspace: Where it counts.
            more: Directories canonical.

        Raises:
            ConfigError: It can never count, or cannot be written.
        """
        return self.files.local(Path(workspace)).add(more, self.refuses(workspace))

    def forget(self, workspace: str | Path, gone: Standing) -> Standing:
        """Take back what was allowed for a workspace on this machine; return what was there.

        Raises:
            ConfigError: It cannot be written.
        """
        return self.files.local(Path(workspace)).remove(gone)

    def remember_everywhere(self, more: Standing) -> Standing:
        """Write something into the user's own file; return what of it was not there.

        Raises:
            ConfigError: It can never count, or cannot be written.
        """
        return self.files.users.add(more, self.refuses(None))

    def forget_everywhere(self, gone: Standing) -> Standing:
        """Take something out of the user's own file; return what was there.

        Raises:
            ConfigError: It cannot be written.
        """
        return self.files.users.remove(gone)

    def refuses(self, workspace: str | Path | None) -> Refuses:
        """Return what says why a directory cannot be a write root of a workspace, or of all."""

        @cache
        def places() -> tuple[Place, ...]:
            return tuple(self._kept_from(workspace))

        return lambda root: root_objection(root, places())

    def _kept_from(self, workspace: str | Path | None) -> Iterator[Place]:
        own, house = workspace and Path(os.path.realpath(workspace)), self.places
        yield Place(house.home, "your home directory", closed=False)
        yield Place(house.data, "the data of this service", closed=True)
        yield Place(house.work, "where runs keep what they need while they go on", closed=True)
        yield from (Place(path, "where the settings lie", closed=True) for path in house.control if path != house.data)
        yield from (Place(path, "where job files lie", closed=False) for path in house.job_dirs)
        yield from (Place(path, "where keys or settings are kept", closed=True) for path in house.secret)
        yield from (Place(path, "where programs that are run lie", closed=True) for path in house.toolchains)
        yield from places_of_system()
        for other in dict.fromkeys((*self.workspaces(), *self.files.workspaces())):
            if other != own:
                yield Place(other, "the workspace of another job", closed=False)


def permissions_of(
    settings: Settings,
    environ: Mapping[str, str],
    exempt: Callable[[Job], tuple[str, ...]] = _nothing_exempt,
) -> Permissions:
    """Return what knows the standing decisions of a service; nothing is read yet."""
    places = places_of(settings, environ)
    files = PermissionFiles(places.home, places.data / _FOLDER)
    return Permissions(files, places, Neighbours(settings.jobs_dir).workspaces, exempt)


def directory(place: Path) -> Path:
    """Return the canonical path of a directory that a person names, links followed.

    Raises:
        ConfigError: There is no such directory.
    """
    return find(place.absolute())
