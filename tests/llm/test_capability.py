"""What is known of a model's window and of its longest reply."""

from __future__ import annotations

import pytest
from genai_prices.data_snapshot import get_snapshot

from kova_auto.core.pin import Capability
from kova_auto.core.provider import BUILT_IN, configured
from kova_auto.llm.capability import KNOWN, capability

CLAUDE = Capability(window=200_000, max_output=64_000)
NOTHING = Capability()


@pytest.mark.parametrize(
    ("provider", "model", "known"),
    [
        ("anthropic", "claude-haiku-4-5", CLAUDE),
        ("anthropic", "claude-haiku-4-5-20251001", CLAUDE),
        ("openai", "gpt-5-2025-08-07", Capability(window=400_000, max_output=128_000)),
        ("openai", "gpt-5.4", Capability(window=1_050_000, max_output=128_000)),
        ("mistral", "mistral-large-latest", Capability(window=262_144)),
        ("groq", "openai/gpt-oss-120b", Capability(window=131_072, max_output=65_536)),
        ("openai", "gpt-5-chat-latest", NOTHING),
        ("openai", "gpt-5-20251301-x", NOTHING),
        ("openai", "claude-haiku-4-5", NOTHING),
        ("ollama", "gpt-5", NOTHING),
        ("openrouter", "anthropic/claude-haiku-4-5", NOTHING),
    ],
)
def test_a_model_is_known_by_its_name_with_or_without_its_date(provider: str, model: str, known: Capability) -> None:
    assert capability(BUILT_IN[provider], model) == known


def test_a_provider_is_known_by_its_name_or_else_by_its_host() -> None:
    work = configured("work", {"base_url": "https://api.anthropic.com/v1", "protocol": "anthropic-messages"})
    gate = configured("anthropic", {"base_url": "https://gate.example.org/v1"})
    other = configured("house", {"base_url": "https://models.example.org/v1"})
    here = configured("mine", {"base_url": "http://127.0.0.1:5000/v1"})

    found = [capability(provider, "claude-haiku-4-5") for provider in (work, gate, other, here)]
    assert found == [CLAUDE, CLAUDE, NOTHING, NOTHING]


def test_settings_correct_what_they_name_and_leave_the_rest() -> None:
    models = {"claude-haiku-4-5": {"window": 150_000}, "mine": {"window": 8_192, "max_output": 1_024}}
    provider = configured("anthropic", {"models": models})

    assert capability(provider, "claude-haiku-4-5") == Capability(window=150_000, max_output=64_000)
    assert capability(provider, "mine") == Capability(window=8_192, max_output=1_024)


def test_no_window_is_wider_than_what_the_price_list_says() -> None:
    names = {"gemini": "google", "moonshot": "moonshotai", "xai": "x-ai"}
    compared = 0
    for (provider, model), known in KNOWN.items():
        try:
            _, listed = get_snapshot().find_provider_model(model, None, names.get(provider, provider), None)
        except LookupError:
            continue
        if listed.context_window:
            compared += 1
            assert (known.window or 0) <= listed.context_window, (provider, model)
    assert compared > 50


def test_every_reply_fits_its_window() -> None:
    assert [key for key, known in KNOWN.items() if (known.max_output or 0) >= (known.window or 0)] == []
    assert {provider for provider, _ in KNOWN} <= BUILT_IN.keys()


def test_the_model_in_this_process_leaves_out_by_itself_what_does_not_fit() -> None:
    wider = configured("local", {"models": {"smollm2-135m": {"window": 4_096}}})
    assert [capability(provider, "smollm2-135m").trims for provider in (BUILT_IN["local"], wider)] == [True, True]
    assert [key for key, known in KNOWN.items() if known.trims] == [("local", "smollm2-135m")]
