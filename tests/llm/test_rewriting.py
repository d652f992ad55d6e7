"""A body is written again from what is on record of its words, or not at all."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.ids import blob_hash
from kova_auto.core.provider import Dialect, ModelFacts, Provider, WireProtocol
from kova_auto.core.wording import Conceded, Wording
from kova_auto.llm.catalog import Spoken, wire_of
from kova_auto.llm.faults import Problem
from kova_auto.llm.rewriting import rewritten
from kova_auto.llm.wording import Notes, body_of, problem_of, written
from tests.llm.chat_stream import asks

PROTOCOLS: tuple[Spoken, ...] = (
    WireProtocol.OPENAI_CHAT,
    WireProtocol.OPENAI_RESPONSES,
    WireProtocol.ANTHROPIC_MESSAGES,
)
DIALECT = Dialect(stream_usage=False, null_content=False, cache_marks=False, echo=("reasoning_content",))
NO_SEED = Problem("Unsupported parameter: 'seed' is not supported", frozenset({"b", "a"}), 400, "seed")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_wording_that_is_noted_is_enough_to_write_a_body_again(protocol: Spoken) -> None:
    facts = ModelFacts(extra_body={"seed": 7, "user": "kova"})
    provider = Provider(
        name="acme", protocol=protocol, base_url="http://127.0.0.1:9/v1?key=k", dialect=DIALECT, models={"m-1": facts}
    )
    request, wire = asks(), wire_of(protocol)
    whole = body_of(wire, provider, request)
    less = wire.without(whole, NO_SEED)
    assert less is not None
    notes = Notes(provider)
    for body, conceded in ((whole, ()), (less, (NO_SEED,))):
        data = written(body)
        sent = notes.noted(data, "m-1", conceded)
        assert sent.wording is not None
        assert (sent.hash, sent.size) == (blob_hash(data), len(data))
        assert rewritten("acme", sent.wording, request) == data
    assert ("seed" in json.loads(written(whole)), "seed" in json.loads(written(less))) == (True, False)


def test_what_was_conceded_is_the_same_problem_again() -> None:
    sent = Notes(Provider(name="acme", base_url="http://127.0.0.1:9/v1")).noted(b"{}", "m-1", (NO_SEED,))
    assert sent.wording is not None
    assert sent.wording.conceded == (Conceded(message=NO_SEED.message, codes=("a", "b"), param="seed"),)
    again = problem_of(sent.wording.conceded[0])
    assert (again.message, again.codes, again.param) == (NO_SEED.message, NO_SEED.codes, NO_SEED.param)


@pytest.mark.parametrize(
    "said",
    [
        {"protocol": "carrier-pigeon"},
        {"protocol": WireProtocol.LOCAL.value},
        {"dialect": {"of_a_newer_version": True}},
    ],
)
def test_words_that_nobody_here_knows_are_not_guessed(said: dict[str, JsonValue]) -> None:
    plain: dict[str, JsonValue] = {"program": "9", "protocol": "openai-chat", "dialect": {}}
    wording = Wording.model_validate({**plain, **said})
    assert rewritten("acme", wording, asks()) is None
    assert rewritten("acme", Wording.model_validate(plain), asks()) is not None
