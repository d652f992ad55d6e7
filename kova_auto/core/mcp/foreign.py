"""Know what other clients write into the file that all share: what of it is obeyed by another name, and what is not."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_NOBODY_ASKED: Final = "write approveTools: patterns of tools that need nobody, also where nobody is there"
_A_TOKEN: Final = "there is no OAuth here, and no helper: give a token as a header"  # noqa: S105  # a sentence

SWITCHED_OFF: Final = ("disabledTools", "excludeTools")
CHOSEN: Final = ("enabledTools", "includeTools", "tools")
"""Patterns of the tools that do not count, and of those that alone do."""

PASSED_OVER: Final = frozenset({"name", "icon", "gallery", "version", "dev", "registry", "source"})
"""Notes of other clients for themselves."""

NOT_OBEYED: Final[Mapping[str, str]] = {
    "autoApprove": _NOBODY_ASKED,
    "alwaysAllow": _NOBODY_ASKED,
    "trust": _NOBODY_ASKED,
    "envFile": 'no file of variables is read: write each into env, a secret as { "file": "path" } or { "env": "NAME" }',
    "oauth": _A_TOKEN,
    "auth": _A_TOKEN,
    "authorization": _A_TOKEN,
    "headersHelper": _A_TOKEN,
    "startup_timeout_sec": "write timeout, in seconds",
    "startup_timeout_ms": "write timeout, in seconds",
    "tool_timeout_sec": "write tool_timeout, in seconds",
    "networkTimeout": "write timeout, in seconds",
}
"""What means nothing here, and what to write instead."""

RENAMED: Final[Mapping[str, str]] = {"httpUrl": "url", "serverUrl": "url"}
"""Without these a server cannot be had."""

OF_FILES: Final[Mapping[str, str]] = {
    "inputs": 'nobody is there to be asked for what they name: write { "env": "NAME" } where it is used',
    "servers": "is called mcpServers here",
}
"""Keys of whole files, and what to write instead."""

SAYS_SECRET: Final = re.compile("TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION", re.IGNORECASE)
SCHEME: Final = re.compile(r"^(Bearer|Basic|Token) +", re.IGNORECASE)
_SHORTEST = 8


def is_written_out(name: str, text: str) -> bool:
    """Say whether a variable or a header seems to be given a secret, and not where one is."""
    value = SCHEME.sub("", text)
    is_long = len(value) >= _SHORTEST and not any(char.isspace() for char in value)
    return (
        is_long and "${" not in value and "/" not in value[:1] and "://" not in value and bool(SAYS_SECRET.search(name))
    )
