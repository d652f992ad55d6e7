"""Whether a key and an address are good, asked for nothing."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ModelError
from kova_auto.core.fault import Fault
from kova_auto.core.provider import BUILT_IN
from kova_auto.llm.client import HttpModel
from tests.llm.chat_stream import KEY
from tests.llm.fault_server import Act, Answer, asking, refuses, streams

JSON = (("content-type", "application/json"),)


def lists(body: bytes) -> Answer:
    return Answer((body,), headers=JSON)


async def fault_of(model: HttpModel) -> Fault:
    with pytest.raises(ModelError) as caught:
        await model.check()
    return caught.value.fault


@pytest.mark.parametrize(
    ("body", "models"),
    [
        (b'{"object": "list", "data": [{"id": "m-1", "object": "model"}, {"id": "m-2"}]}', ("m-1", "m-2")),
        (b'{"data": [{"type": "model", "id": "claude-x"}], "has_more": false}', ("claude-x",)),
        (b'{"data": {"label": "sk-or-v1-abc", "limit": null}}', ()),
        (b'{"data": [{"id": 7}, null, {}, {"id": ""}]}', ()),
        (b"{}", ()),
        (b"[]", ()),
    ],
)
async def test_a_good_key_gives_the_models_that_are_listed(body: bytes, models: tuple[str, ...]) -> None:
    async with asking(lists(body)) as (model, server):
        assert await model.check() == models
    (request,) = server.requests
    assert (request.method, request.target, request.body) == ("GET", "/v1/models", {})
    assert (request.headers["authorization"], "content-type" in request.headers) == (f"Bearer {KEY}", False)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (refuses(401, {"error": {"message": f"bad key {KEY}"}}), Fault.AUTH),
        (refuses(402, {"error": {"message": "pay"}}), Fault.SPENT),
        (refuses(404), Fault.NOT_FOUND),
        (refuses(302, location="http://127.0.0.1:9/"), Fault.NOT_FOUND),
        (refuses(503), Fault.OVERLOADED),
        (lists(b"<html>please log in</html>"), Fault.MALFORMED),
        (lists(b'{"error": {"message": "no", "type": "authentication_error"}}'), Fault.AUTH),
        (lists(b" " * 1_048_576 * 17), Fault.MALFORMED),
        (Answer((b'{"data": [', Act.CLOSE), headers=JSON), Fault.NETWORK),
    ],
)
async def test_what_is_not_good_is_named(answer: Answer, fault: Fault) -> None:
    async with asking(answer) as (model, _):
        assert await fault_of(model) is fault


async def test_the_key_is_not_in_the_error() -> None:
    async with asking(refuses(401, {"error": {"message": f"bad key {KEY}"}})) as (model, _):
        with pytest.raises(
            ModelError, match=r"^acme answered 401: bad key \[key\]; look at api_key in \[providers.acme\]$"
        ):
            await model.check()


@pytest.mark.parametrize(
    ("base", "path", "target"),
    [
        ("/v1/chat/completions", "models", "/v1/models"),
        ("/api/v1", "key", "/api/v1/key"),
        ("/openai/deployments/d-1?api-version=2026-01-01", "models", "/openai/models?api-version=2026-01-01"),
        ("/openai/v1/?api-version=preview", "models", "/openai/v1/models?api-version=preview"),
    ],
)
async def test_the_right_address_is_asked(base: str, path: str, target: str) -> None:
    async with asking(lists(b"{}")) as (_, server):
        url = f"http://127.0.0.1:{server.port}{base}"
        async with asking(streams(), base_url=url, check_path=path, auth="api-key") as (model, _):
            await model.check()
    (request,) = server.requests
    assert (request.target, request.headers["api-key"], "authorization" in request.headers) == (target, KEY, False)


def test_where_everybody_may_list_the_models_something_else_is_asked() -> None:
    assert BUILT_IN["openrouter"].check_path == "key"
