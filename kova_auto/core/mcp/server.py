"""Hold what one MCP server is, as a file configures it; secrets are named in it, never held."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from functools import cached_property
from typing import Final

from pydantic import Field

from kova_auto.core.mcp.names import covers, full_name
from kova_auto.core.secret import SecretRef
from kova_auto.core.value import Value

MAX_SERVERS: Final = 32
"""So many of one file, and so many of one run, count."""
MAX_TOOLS: Final = 64
"""So many tools of a server count, unless its configuration says otherwise."""
MAX_RESULT_BYTES: Final = 8 << 20

Given = str | SecretRef
"""What a variable or a header is given: a text, or where the secret is."""


class Layer(StrEnum):
    """Say who brought a server."""

    USER = "user"
    PLUGIN = "plugin"
    WORKSPACE = "workspace"


class Server(Value):
    """Hold one server.

    Attributes:
        plugin: That brought it; empty for every other layer.
        path: Of the file that configures it.
        command: Program to start, for a server on this machine; empty for one over HTTP.
        cwd: Where it is started; empty for the run's workspace.
        url: Of a server over HTTP; empty for one on this machine.
        timeout_s: For its start, until its tools are known.
        tool_timeout_s: For one call.
        max_result_bytes: Of one answer that are kept.
        approve_tools: Patterns of tools that need nobody's approval; heeded of the user's own file alone.
        trust_read_only_hint: What it says only reads is taken to only read.
        only_tools: Patterns of the tools that count; empty for all.
        without_tools: Patterns of tools that do not, whatever else is said.
        allow_private: Its address may be one of this machine or network, and plain http.
    """

    name: str
    layer: Layer
    plugin: str = ""
    path: str = ""
    description: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, Given] = Field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: dict[str, Given] = Field(default_factory=dict)
    timeout_s: float = 10.0
    tool_timeout_s: float = 120.0
    max_result_bytes: int = MAX_RESULT_BYTES
    max_tools: int = MAX_TOOLS
    approve_tools: tuple[str, ...] = ()
    trust_read_only_hint: bool = False
    only_tools: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    allow_private: bool = False
    disabled: bool = False

    @property
    def address(self) -> str:
        """Return the name that no other server has: the user's own are plain, all others say who brought them."""
        match self.layer:
            case Layer.USER:
                return self.name
            case Layer.PLUGIN:
                return f"{self.plugin}:{self.name}"
            case Layer.WORKSPACE:
                return f"{self.layer}:{self.name}"

    def offers(self, tool: str) -> bool:
        """Say whether a tool of this name counts."""
        is_off = any(covers(pattern, tool) for pattern in self.without_tools)
        return not is_off and (not self.only_tools or any(covers(pattern, tool) for pattern in self.only_tools))

    @cached_property
    def digest(self) -> str:
        """Return what tells this configuration from another, in hexadecimal."""
        return hashlib.sha256(self.model_dump_json().encode(errors="replace")).hexdigest()

    @property
    def exempt(self) -> tuple[str, ...]:
        """Return the patterns of full names that the user's own file exempts from approval."""
        if self.layer is not Layer.USER:
            return ()
        whole = (text if text.startswith(full_name(self.name, "")) else "" for text in self.approve_tools)
        return tuple(found or full_name(self.name, text) for found, text in zip(whole, self.approve_tools, strict=True))
