"""Providers: where they are, and what of them is never shown."""

from __future__ import annotations

import pytest

from kova_auto.core.provider import BUILT_IN, Dialect, Provider, Timeouts, WireProtocol, configured

KEY = "sk-live-0123456789"


def provider(**said: object) -> Provider:
    return configured("acme", {"base_url": "https://api.example.org/v1", **said})


def test_a_built_in_provider_needs_only_its_key() -> None:
    assert configured("mistral", {"api_key": KEY}) == BUILT_IN["mistral"].model_copy(update={"api_key": KEY})


def test_settings_change_single_fields_of_a_built_in_provider() -> None:
    changed = configured("ollama", {"base_url": "http://10.0.0.5:11434/v1", "timeouts": {"idle_s": 30}})
    assert (changed.base_url, changed.timeouts) == ("http://10.0.0.5:11434/v1", Timeouts(idle_s=30))


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        ("openai", WireProtocol.OPENAI_RESPONSES),
        ("anthropic", WireProtocol.ANTHROPIC_MESSAGES),
        ("groq", WireProtocol.OPENAI_CHAT),
        ("vllm", WireProtocol.OPENAI_CHAT),
    ],
)
def test_a_built_in_provider_speaks_its_own_protocol_unless_settings_say_another(
    name: str, protocol: WireProtocol
) -> None:
    assert BUILT_IN[name].protocol is protocol
    assert configured(name, {"protocol": "openai-chat"}).protocol is WireProtocol.OPENAI_CHAT


def test_a_provider_of_ones_own_needs_its_address() -> None:
    with pytest.raises(ValueError, match="base_url"):
        configured("acme", {"api_key": KEY})


def test_a_model_in_this_process_has_no_address() -> None:
    local = configured("local", {})
    assert (local, local.place, local.is_local, local.usable) == (BUILT_IN["local"], "", True, True)
    with pytest.raises(ValueError, match="runs in this process"):
        configured("local", {"base_url": "http://127.0.0.1:8080/v1"})


def test_no_provider_may_be_called_like_a_played_script() -> None:
    with pytest.raises(ValueError, match="choose another name"):
        configured("scripted", {"base_url": "https://api.example.org/v1"})


def test_every_built_in_provider_can_be_asked_once_it_has_its_key() -> None:
    assert all(BUILT_IN[name].usable or configured(name, {"api_key": KEY}).usable for name in BUILT_IN)
    keyless = {"ollama", "vllm", "lmstudio", "llamacpp", "local"}
    assert {name for name, known in BUILT_IN.items() if known.usable} == keyless


def test_no_secret_is_shown() -> None:
    asked = provider(api_key=KEY, headers={"x-key": KEY})
    assert not [text for text in (repr(asked), f"{asked}", asked.model_dump_json()) if KEY in text]


def test_the_query_of_an_address_is_not_shown() -> None:
    asked = provider(base_url=f"https://api.example.org/v1?key={KEY}")
    assert (asked.place, KEY in repr(asked)) == ("https://api.example.org/v1", False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("api_key", f"{KEY}\n"),
        ("api_key", f" {KEY}"),
        ("api_key", f"{KEY}\x00"),
        ("api_key", f"{KEY}é"),
        ("headers", {"x-key": f"{KEY}\r\nx: y"}),
        ("headers", {"x key": KEY}),
        ("base_url", f"https://user:{KEY}@api.example.org/v1"),
        ("base_url", f"ftp://api.example.org/{KEY}"),
        ("base_url", f"api.example.org/{KEY}"),
        ("base_url", f"https://api.example.org:port/{KEY}"),
        ("base_url", f"https://api.example.org/v1#{KEY}"),
        ("timeouts", {"idle_s": 0}),
        ("max_concurrent", 0),
        ("api_kee", KEY),
    ],
)
def test_what_cannot_be_sent_is_refused_without_being_shown(field: str, value: object) -> None:
    with pytest.raises(ValueError, match=field) as caught:
        provider(**{field: value})
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://h/v1", "https://h/v1/chat/completions"),
        ("https://h/v1/", "https://h/v1/chat/completions"),
        ("https://h", "https://h/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/openai/v1?api-version=p", "https://h/openai/v1/chat/completions?api-version=p"),
    ],
)
def test_an_endpoint_stands_below_the_base(base: str, url: str) -> None:
    assert provider(base_url=base).url("chat/completions") == url


def test_strict_servers_get_nothing_back_that_they_did_not_ask_for() -> None:
    assert BUILT_IN["groq"].dialect == Dialect(max_tokens_key="max_completion_tokens", echo=())


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:8080/v1", True),
        ("http://LOCALHOST/v1", True),
        ("http://127.0.0.1:8080/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:8080/v1", True),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://localhost.example.org/v1", False),
        ("http://10.0.0.5:8080/v1", False),
        ("http://0.0.0.0:8080/v1", False),
        ("https://api.example.org/v1?at=127.0.0.1", False),
    ],
)
def test_a_provider_is_local_where_its_address_leads_to_this_machine(url: str, is_local: object) -> None:
    assert provider(base_url=url).is_local is is_local


def test_what_stands_in_for_a_service_is_spoken_to_in_the_protocol_that_all_copy() -> None:
    itself = configured("openai", {"api_key": "k"})
    proxy = configured("openai", {"base_url": "https://proxy.example.org/v1"})
    named = configured("openai", {"base_url": "https://proxy.example.org/v1", "protocol": "openai-responses"})

    assert [provider.protocol for provider in (itself, proxy, named)] == [
        WireProtocol.OPENAI_RESPONSES,
        WireProtocol.OPENAI_CHAT,
        WireProtocol.OPENAI_RESPONSES,
    ]
