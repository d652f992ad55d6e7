"""Run llama.cpp in this process, by way of `xllamacpp`: load weights, answer one question at a time, let go of them.

The package's server listens, as it cannot be told not to. It does so on a socket in a directory that is removed as soon
as it stands, so that nobody can reach it. A thread of its own asks it directly.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import JsonValue

from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.llm.local.weights import ENGINE, EXTRA

if TYPE_CHECKING:
    import xllamacpp

MOST_THREADS: Final = 4
BATCH: Final = 64
"""Tokens of a prompt that are read at once: a question can be taken back between two batches, about a second."""

Said = Mapping[str, Any]
Tell = Callable[[Said], bool]
"""Is given what the engine says; returns True to make it stop."""


class Engine(Protocol):
    """Answer questions with one model; used by one thread."""

    def ask(self, question: Mapping[str, JsonValue], tell: Tell) -> None:
        """Answer in pieces, as OpenAI's chat does; an error is a piece, too."""

    def close(self) -> None:
        """Let go of the weights; safe to call twice."""


class LlamaEngine:
    """Hold weights that are loaded."""

    def __init__(self, server: xllamacpp.Server) -> None:
        """Take a server that stands."""
        self._server: xllamacpp.Server | None = server

    def ask(self, question: Mapping[str, JsonValue], tell: Tell) -> None:
        """Answer one question; the pieces come while it goes on."""
        if self._server is not None:
            self._server.handle_chat_completions(dict(question), tell)

    def close(self) -> None:
        """Drop the server: it ends its threads and frees the memory."""
        self._server = None


def is_installed() -> bool:
    """Say whether there is an engine."""
    return find_spec(ENGINE) is not None


def load(path: Path, window: int) -> Engine:
    """Load weights; this takes about a second, during which nothing else in the process goes on.

    Args:
        path: The weights.
        window: Tokens of prompt and answer together.

    Raises:
        ModelRefusedError: The engine is not installed.
        ModelUnavailableError: It cannot load them.
    """
    try:
        import xllamacpp
    except ImportError as exc:
        msg = f"a model in this process wants an engine that is not installed: {EXTRA}"
        raise ModelRefusedError(msg, fault=Fault.SETTINGS) from exc
    try:
        with tempfile.TemporaryDirectory(prefix="kova-engine-") as place:
            return LlamaEngine(xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, window, f"{place}/s.sock")))
    except (OSError, RuntimeError) as exc:
        msg = f"the engine could not load {path.name}: {exc}"
        raise ModelUnavailableError(msg) from exc


def _parameters(params: xllamacpp.CommonParams, path: Path, window: int, socket: str) -> xllamacpp.CommonParams:
    """Return parameters that keep the engine small, silent and to itself."""
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = window, 1
    params.n_batch = params.n_ubatch = BATCH
    params.n_gpu_layers, params.fit_params, params.warmup = 0, False, False
    params.cache_ram_mib = 0
    params.verbosity = -1
    params.ui, params.endpoint_slots, params.n_threads_http = False, False, 1
    params.hostnames = [socket]
    for cpu in (params.cpuparams, params.cpuparams_batch):
        # Its threads wait for each other at every step: one too many, and each step takes ten times as long.
        cpu.n_threads = max(min((os.cpu_count() or 1) // 2, MOST_THREADS), 1)
        cpu.poll = 0
    return params
