"""Load a small model and let go of it, many times, in a process that does nothing else: WEIGHTS TIMES.

A process that runs tests cannot say what a model has cost it: its memory grows and shrinks with all it has done before.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from kova_auto.core.message import ModelReply, ModelRequest, ReplyDone, TextPart, UserMessage
from kova_auto.core.provider import BUILT_IN
from kova_auto.llm.local.engine import load
from kova_auto.llm.local.model import LoadFile, LocalModel
from kova_auto.llm.local.weights import SMOLLM2
from tests.soak.weighing import weigh

PROC = Path("/proc/self")


@dataclass(frozen=True)
class Held:
    """Hold what this process has at a moment.

    Attributes:
        resident_mb: Of its memory.
        mapped: Parts of the weights' file that are in its memory.
        threads: Those that the engine began, too.
        sockets: Paths on which it can be reached.
    """

    resident_mb: float
    mapped: int
    threads: int
    sockets: tuple[str, ...]


@asynccontextmanager
async def small(weights: Path, load_file: LoadFile = load) -> AsyncIterator[LocalModel]:
    model = LocalModel(BUILT_IN["local"], weights, load_file)
    yield model
    await model.aclose()


def asking(prompt: str) -> ModelRequest:
    return ModelRequest(model=SMOLLM2.model, system="", messages=(UserMessage(parts=(TextPart(text=prompt),)),))


async def reply_of(model: LocalModel, prompt: str) -> ModelReply:
    async for chunk in model.stream(asking(prompt)):
        if isinstance(chunk, ReplyDone):
            return chunk.reply
    raise AssertionError


def held(weights: Path) -> Held:
    file = str(SMOLLM2.file(weights))
    mapped = [line for line in (PROC / "maps").read_text().splitlines() if line.endswith(file)]
    return Held(weigh().resident_mb, len(mapped), len(list((PROC / "task").iterdir())), tuple(sorted(listening())))


def listening() -> set[str]:
    """Return the paths of the sockets that this process listens on, and that are still there."""
    own = {str(path.readlink()) for path in (PROC / "fd").iterdir() if path.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {line[7] for line in lines if len(line) > 7 and f"socket:[{line[6]}]" in own and Path(line[7]).exists()}


async def main(weights: Path, times: int) -> None:
    """Write what this process has: at first, then each time with the model and without it."""
    found = [held(weights)]
    for _ in range(times):
        async with small(weights) as model:
            await reply_of(model, "Say hello.")
            found.append(held(weights))
            await model.aclose()
            await model.aclose()
        found.append(held(weights))
    print(json.dumps([asdict(one) for one in found]))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
