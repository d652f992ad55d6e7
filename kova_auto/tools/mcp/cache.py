"""Keeps on disk what tools a server had, by its configuration, so that looking for one starts no server.

What is read back is what a server said, no more to be believed than before; what cannot be read is not there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import AwareDatetime, ValidationError

from kova_auto.core.mcp.listing import Listing, ToolInfo
from kova_auto.core.mcp.server import Server
from kova_auto.core.value import Value

_MAX_BYTES = 8 << 20


class _Kept(Value):
    at: AwareDatetime
    tools: tuple[ToolInfo, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cache:
    """Know where it lies.

    Attributes:
        folder: Of the service's own, below what no command sees.
        redact: Takes secrets out of text: a server that was given one may repeat it in what it says of its tools.
    """

    folder: Path
    redact: Callable[[str], str]

    def known(self, server: Server, now: datetime, seconds: float) -> Listing | None:
        """Return what a server of this very configuration told in the last so many seconds; None where it did not."""
        try:
            with self._path(server).open("rb") as file:
                kept = _Kept.model_validate_json(file.read(_MAX_BYTES))
        except (OSError, ValidationError):
            return None
        return Listing(kept.tools, kept.remarks) if 0 <= (now - kept.at).total_seconds() < seconds else None

    def keep(self, server: Server, found: Listing, now: datetime) -> None:
        """Keep what it told; where that fails, it is asked again the next time."""
        kept, path = _Kept(at=now, tools=found.tools, remarks=found.remarks), self._path(server)
        temporary = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(self.redact(kept.model_dump_json()), encoding="utf-8", errors="replace")
            temporary.replace(path)

    def _path(self, server: Server) -> Path:
        return self.folder / f"{server.digest}.json"
