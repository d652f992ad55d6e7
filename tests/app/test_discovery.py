"""Which server of models on this machine `auto` finds, and that nobody else is ever asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from kova_auto.app.discovery import KEPT_S, Discovery, local_servers
from kova_auto.app.models import Providers
from kova_auto.app.vault import Vault
from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.provider import BUILT_IN, Provider, configured
from kova_auto.llm.choice import Pin
from kova_auto.settings.load import load_settings
from tests.doubles.clock import HandClock
from tests.llm.fault_server import Act, Answer, serving

JSON = (("content-type", "application/json"),)


def lists(*names: str) -> Answer:
    data = ", ".join(f'{{"id": "{name}"}}' for name in names)
    return Answer((f'{{"data": [{data}]}}'.encode(),), headers=JSON)


def at_port(name: str, port: int, **said: object) -> Provider:
    return configured(name, {"base_url": f"http://127.0.0.1:{port}/v1", **said})


def only(*known: Provider) -> dict[str, Provider]:
    """Return these, and every built-in server moved to where nobody listens."""
    moved = {name: at_port(name, 1) for name, one in BUILT_IN.items() if one.is_local and one.base_url}
    return {provider.name: provider for provider in known} | {
        name: provider for name, provider in moved.items() if name not in {one.name for one in known}
    }


def test_only_servers_on_this_machine_that_want_no_key_are_asked() -> None:
    known = [
        configured("openai", {"api_key": "k-123456"}),
        configured("house", {"base_url": "http://10.0.0.5:8080/v1"}),
        configured("trick", {"base_url": "http://127.0.0.1.example.org/v1"}),
        configured("ollama", {"base_url": "http://gpu.example.org:11434/v1"}),
        at_port("closed", 8081, api_key="k-123456"),
        at_port("mine", 8082),
    ]
    found = list(local_servers({provider.name: provider for provider in known}))

    assert [provider.name for provider in found] == ["mine", "vllm", "lmstudio", "llamacpp"]
    assert [provider.name for provider in local_servers({})] == ["ollama", "vllm", "lmstudio", "llamacpp"]


def test_a_provider_whose_secret_cannot_be_had_is_no_server_and_hides_none(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    text = '[providers.ollama]\napi_key = { env = "NOT_SET" }\n[providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\n'
    (tmp_path / "kova-auto.toml").write_text(text)
    settings = load_settings(tmp_path / "kova-auto.toml", environ)
    known = Providers(settings.providers, Vault(settings, environ))

    assert [provider.name for provider in local_servers(known)] == ["mine", "vllm", "lmstudio", "llamacpp"]


async def test_the_first_server_that_lists_a_model_is_taken() -> None:
    async with serving(lists()) as empty, serving(lists("text-embed-3", "smol")) as good, serving(lists("big")) as late:
        known = only(at_port("a", empty.port), at_port("b", good.port), at_port("c", late.port))
        discovery = Discovery(known, HandClock(), connect_s=60, listed_s=60)

        assert await discovery() == Pin("b", "smol")
        assert await discovery.everyone() == [Pin("b", "smol"), Pin("c", "big")]
    assert {(request.method, request.target) for request in good.requests} == {("GET", "/v1/models")}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer((b"<html>a page</html>",)), id="no server of models"),
        pytest.param(Answer((b"",), status=500), id="it is broken"),
        pytest.param(Answer((b"",), status=302, headers=(("location", "http://198.51.100.7/"),)), id="it has moved"),
        pytest.param(Answer((b'{"data": [', Act.DROP)), id="it breaks off"),
    ],
)
async def test_what_does_not_list_models_is_none(answer: Answer) -> None:
    async with serving(answer) as server:
        assert await Discovery(only(at_port("a", server.port)), HandClock(), connect_s=60, listed_s=60)() is None


async def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    async with serving(Answer((Act.NO_ANSWER,))) as silent, asyncio.timeout(60):
        known = only(at_port("a", silent.port))

        assert await Discovery(known, HandClock(), connect_s=60, listed_s=0.2)() is None


async def test_nobody_listens() -> None:
    def never(provider: Provider) -> Coroutine[None, None, tuple[str, ...]]:
        raise AssertionError(provider.name)

    assert await Discovery(only(), HandClock(), never)() is None


class Asked:
    """Answer as told, one answer after the other, and count."""

    def __init__(self, *answers: Callable[[], tuple[str, ...]]) -> None:
        self.answers, self.count = list(answers), 0

    async def __call__(self, provider: Provider) -> tuple[str, ...]:
        self.count += 1
        return self.answers.pop(0)()


def _fails() -> tuple[str, ...]:
    message = "gone"
    raise ModelUnavailableError(message)


async def test_an_answer_is_kept_for_a_minute_and_so_is_that_there_is_none() -> None:
    clock, asked = HandClock(), Asked(lambda: ("one",), _fails, lambda: ("two",))
    async with serving(lists()) as server:
        discovery = Discovery(only(at_port("a", server.port)), clock, asked, connect_s=60, listed_s=60)
        found = list(await asyncio.gather(discovery(), discovery()))
        for seconds in (KEPT_S - 1, 1, KEPT_S - 1, 1):
            clock.later(seconds)
            found.append(await discovery())

    assert found == [Pin("a", "one")] * 3 + [None, None, Pin("a", "two")]
    assert asked.count == 3
