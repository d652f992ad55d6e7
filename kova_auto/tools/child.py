"""Runs a helper program of ours to its end: bounded in time and output, with nothing of our environment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ended:
    """Hold what a program wrote; `code` is None where it was stopped at a bound."""

    code: int | None
    output: bytes
    errors: bytes


async def run_child(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    seconds: float,
    max_bytes: int,
    cwd: str = "/",
    fds: Sequence[int] = (),
) -> Ended:
    """Run a program without input; cancelling kills it.

    Args:
        argv: The program, by absolute path, and its arguments.
        env: All that it gets.
        seconds: How long it may take.
        max_bytes: How much it may write.
        cwd: Where it starts.
        fds: Descriptors that it inherits under their numbers.

    Raises:
        OSError: It cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=tuple(fds),
        start_new_session=True,
    )
    written = (bytearray(), bytearray())
    try:
        async with asyncio.timeout(seconds):
            within = await asyncio.gather(
                _read(process.stdout, written[0], max_bytes), _read(process.stderr, written[1], max_bytes)
            )
            code = await process.wait() if all(within) else None
    except TimeoutError:
        code = None
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
    return Ended(code, bytes(written[0]), bytes(written[1]))


async def _read(stream: asyncio.StreamReader | None, into: bytearray, limit: int) -> bool:
    """Take all that comes; False where it was more than the limit."""
    if stream is None:
        return True
    while chunk := await stream.read(65536):
        into += chunk
        if len(into) > limit:
            return False
    return True
