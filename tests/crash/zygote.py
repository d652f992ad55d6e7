"""The process from which victims are forked, as tests see it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass


@dataclass
class Zygote:
    """Fork victims."""

    process: subprocess.Popen[str]

    def run(self, order: dict[str, object]) -> int:
        """Return the wait status of one victim."""
        if self.process.stdin is None or self.process.stdout is None:
            raise AssertionError
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())
