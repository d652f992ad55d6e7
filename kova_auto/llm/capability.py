"""Know the windows of models by their names: what a model takes and gives, as far as somebody has written it down.

Settings win. The table holds what `genai-prices` 0.2.3 and LiteLLM 1.110 say of current models, where they differ the
smaller number; a limit of replies that is no less than the window is none. What is not here is not known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from kova_auto.core.pin import Capability
from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol

_DATE: Final = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d)\Z")
_UNKNOWN: Final = Capability()
_LOCAL: Final = "local"

_GROUPS: Final = (
    ("anthropic", 1_000_000, 128_000, "claude-fable-5 claude-fable-5-1 claude-haiku-5-5 claude-sonnet-5-5"),
    ("anthropic", 1_000_000, 128_000, "claude-sonnet-5 claude-sonnet-4-6 claude-opus-5-5 claude-opus-5"),
    ("anthropic", 1_000_000, 128_000, "claude-opus-4-8 claude-opus-4-7 claude-opus-4-6"),
    ("anthropic", 200_000, 64_000, "claude-opus-4-5 claude-sonnet-4-5 claude-haiku-4-5"),
    ("openai", 1_050_000, 128_000, "gpt-6.1-sol gpt-6.1-terra gpt-6-astra gpt-6-sol gpt-6-luna"),
    ("openai", 1_050_000, 128_000, "gpt-5.6 gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.4 gpt-5.4-pro"),
    ("openai", 1_000_000, 128_000, "gpt-5.5 gpt-5.5-pro"),
    ("openai", 400_000, 128_000, "gpt-5 gpt-5-mini gpt-5-nano gpt-5.1 gpt-5.2 gpt-5.2-pro"),
    ("openai", 400_000, 128_000, "gpt-5.3-codex gpt-5.4-mini gpt-5.4-nano"),
    ("openai", 400_000, 272_000, "gpt-5-pro"),
    ("openai", 1_000_000, 32_768, "gpt-4.1 gpt-4.1-mini gpt-4.1-nano"),
    ("openai", 200_000, 100_000, "o1 o3 o3-mini o3-pro o4-mini"),
    ("openai", 128_000, 16_384, "gpt-4o gpt-4o-mini"),
    ("gemini", 1_000_000, 65_536, "gemini-3.8-flash gemini-3.7-flash gemini-3.6-flash gemini-3.5-flash"),
    ("gemini", 1_000_000, 65_536, "gemini-3.5-flash-lite gemini-3.1-flash-lite gemini-3-flash-preview"),
    ("gemini", 1_000_000, 65_536, "gemini-2.5-flash-lite gemini-flash-latest gemini-flash-lite-latest"),
    ("gemini", 1_048_576, 65_536, "gemini-3.1-pro-preview gemini-2.5-pro gemini-2.5-flash gemini-pro-latest"),
    ("gemini", 1_048_576, None, "gemini-4-argon"),
    ("mistral", 1_048_576, None, "mistral-large-4"),
    ("mistral", 262_144, None, "mistral-large-latest mistral-medium-latest mistral-small-latest"),
    ("mistral", 262_144, None, "mistral-medium-3 mistral-medium-3-5"),
    ("deepseek", 1_000_000, 393_216, "deepseek-flash deepseek-v4-flash deepseek-v4-pro"),
    ("deepseek", 64_000, 8_192, "deepseek-chat"),
    ("moonshot", 1_048_576, None, "kimi-k3 kimi-k3.1-pro kimi-k3.1-pro-highspeed"),
    ("moonshot", 262_144, None, "kimi-k2.5 kimi-k2.6 kimi-k2.7-code"),
    ("xai", 1_000_000, None, "grok-4.3 grok-4.20 grok-4.20-0309-reasoning grok-4.20-0309-non-reasoning"),
    ("xai", 500_000, None, "grok-4.5 grok-4.6 grok-4.7"),
    ("xai", 256_000, None, "grok-code-fast-1 grok-build-0.1"),
    ("groq", 131_072, 65_536, "openai/gpt-oss-120b openai/gpt-oss-20b"),
    ("groq", 131_072, 16_384, "qwen/qwen3.8-27b"),
    ("cerebras", 131_072, 32_768, "gpt-oss-120b"),
    ("cerebras", 65_536, 32_768, "qwen-3.8-27b"),
    (_LOCAL, 2_048, 256, "smollm2-135m"),  # it could have 8,192, and would read them for two minutes
)


def _table() -> Mapping[tuple[str, str], Capability]:
    return MappingProxyType(
        {
            (provider, model): Capability(window=window, max_output=max_output, trims=provider == _LOCAL)
            for provider, window, max_output, models in _GROUPS
            for model in models.split()
        }
    )


KNOWN: Final = _table()
"""By built-in provider and by the model's name without its date."""


def capability(provider: Provider, model: str) -> Capability:
    """Return what is known of a model; a name that ends in a date is the model before it."""
    service = _service(provider)
    known = KNOWN.get((service, model)) or KNOWN.get((service, _DATE.sub("", model))) or _UNKNOWN
    if (said := provider.models.get(model)) is None:
        return known
    told = {"window": said.window or known.window, "max_output": said.max_output or known.max_output}
    return known.model_copy(update=told)


def _service(provider: Provider) -> str:
    """Return the built-in provider that this one is, under whatever name: that of its name, or else of its host."""
    if provider.protocol is WireProtocol.LOCAL:
        return _LOCAL
    if provider.name in BUILT_IN:
        return provider.name
    return _hosted().get(urlsplit(provider.base_url).hostname, "")


@cache
def _hosted() -> Mapping[str | None, str]:
    """Return the built-in providers that are not on this machine, by their hosts."""
    hosted = [known for known in BUILT_IN.values() if not known.is_local]
    return {urlsplit(known.base_url).hostname: known.name for known in reversed(hosted)}  # The first has its host.
