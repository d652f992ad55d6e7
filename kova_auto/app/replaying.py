"""Replay a recorded run in this process: what it needs of the journal is fetched before, and nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kova_auto.app.agents import agents_of
from kova_auto.app.control import Answers
from kova_auto.app.discovery import nobody
from kova_auto.app.models import Models, Providers
from kova_auto.app.pinning import Pinning
from kova_auto.app.places import places_of
from kova_auto.app.subagents import Nobody, rosters_of
from kova_auto.app.tooling import tooling_of
from kova_auto.app.vault import Vault
from kova_auto.clock import SystemClock
from kova_auto.core.consent import Offer
from kova_auto.core.errors import ConfigError, JournalError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import BlobHash
from kova_auto.core.policy import policy_of_run
from kova_auto.core.ports import Model, SteadyClock
from kova_auto.core.recording import Recording, recording_of
from kova_auto.core.replay import Replay
from kova_auto.core.scripted import SCRIPTED
from kova_auto.core.state import RunState
from kova_auto.core.tool import CallFacts
from kova_auto.engine.conversation import conversation, images_of
from kova_auto.engine.playing import Lines, PlayClock, began_at
from kova_auto.engine.replaying import Replaying
from kova_auto.engine.world import Enquiry, Senses
from kova_auto.llm.script import scripted_name
from kova_auto.net.exchange import GuardedExchange
from kova_auto.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Tape:
    """Hold a recording, and the images that its model was shown."""

    recording: Recording
    images: Mapping[BlobHash, bytes]

    async def blob(self, key: BlobHash) -> bytes:
        """Return an image.

        Raises:
            JournalError: The recording shows no such image.
        """
        if key not in self.images:
            message = f"the recording of run {self.recording.state.run_id} shows no image {key}"
            raise JournalError(message)
        return self.images[key]


async def tape_of(answers: Answers, run: str, attempt: int | None) -> Tape:
    """Fetch an attempt of a run; None for its last.

    Raises:
        UnknownRunError: There is no such run.
        ConfigError: It has no such attempt.
    """
    found = await answers.find(run)
    recording = recording_of([placed.event for placed in await answers.events(found.run_id, 0, 0)], attempt)
    shown = images_of(conversation(recording.state))
    return Tape(recording, {key: (await answers.blob(key)).data for key in sorted(shown)})


@dataclass(frozen=True, slots=True)
class Player:
    """Replay recordings with what the settings say today.

    Attributes:
        vault: Knows the secrets; those of a recording's job, too, once it is replayed.
    """

    settings: Settings
    environ: Mapping[str, str]
    vault: Vault
    clock: SteadyClock

    async def replay(self, tape: Tape, model: str | None = None) -> Replay:
        """Replay a recording.

        Args:
            tape: What is replayed.
            model: `provider/model` that is asked, or `scripted`; None lets the recorded replies be played.

        Raises:
            ConfigError: The model cannot be asked, or its price is not known and the job's ceiling in money wants it.
        """
        self.vault.learn(tape.recording.state.job.env.values())
        providers = Providers(self.settings.providers, self.vault)
        if model is not None:
            request = await _asking(tape.recording.begun.request, model, providers, self.clock)
            tape = replace(tape, recording=tape.recording.asking(request))
        models = Models(providers, self.settings.weights_dir)
        places = places_of(self.settings, self.environ)
        agents = agents_of(self.settings, self.environ)
        dispatches = Nobody(rosters_of(agents.definitions))
        tooling = tooling_of(
            places, self.environ, self.vault, tape, GuardedExchange(), nursery=dispatches, plugins=agents.plugins
        )
        try:
            return await self._replaying(tape, tooling.toolbox, None if model is None else models.of).replay()
        finally:
            await models.close()
            await tooling.close()

    def _replaying(self, tape: Tape, toolbox: Enquiry, live: Callable[[RunState, str], Model] | None) -> Replaying:
        """Put a replay together; without live models the recorded replies are played."""
        recording = tape.recording
        clock = PlayClock(began_at(recording), self.clock.steady_s) if live else PlayClock(began_at(recording))
        lines = Lines(recording.lines, clock)
        senses = Senses(
            clock=clock,
            journal=tape,
            toolbox=toolbox,
            models=live or (lambda *_: lines),
            policies=policy_of_run,
            offers=nothing_kept,
            redact=self.vault.redact,
        )
        unjudged = _unjudged(recording.begun.request)
        return Replaying(recording, senses, clock, lines=None if live else lines, wait=asyncio.sleep, unjudged=unjudged)


async def nothing_kept(state: RunState, facts: CallFacts) -> Offer:
    """Offer nothing: a replay remembers nothing."""
    del state, facts
    return Offer()


def player_of(settings: Settings, environ: Mapping[str, str]) -> Player:
    """Return what replays recordings with these settings."""
    return Player(settings, environ, Vault(settings, environ), SystemClock())


async def _asking(request: RunRequested, model: str, providers: Providers, clock: SteadyClock) -> RunRequested:
    """Return what would have opened the run for another model."""
    job = request.job
    script = job.script_text if model == SCRIPTED else None
    asked = job.model_copy(update={"model": model, "script_text": script})
    chain = await Pinning(providers, nobody).chain(asked, clock.now())
    if chain.lacks:
        raise ConfigError(chain.lacks, key="--model")
    name = chain.pins[0].name if chain.pins else scripted_name(job.script or job.path)
    opened = {"model": name, "pins": chain.pins, "scripted": chain.scripted, "blocked": ""}
    return request.model_copy(update=opened)


def _unjudged(request: RunRequested) -> str:
    """Return why calls cannot be judged anew: nobody can say where a path lies in a workspace that is gone."""
    if Path(request.workspace).is_dir():
        return ""
    copy = "the copy that it worked in" if request.workspace != request.job.workspace else "its workspace"
    return f"{copy} is gone: the recorded verdicts stand"
