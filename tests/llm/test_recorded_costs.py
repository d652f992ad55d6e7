"""What the recorded streams cost, to the last digit: each count once, cached tokens neither twice nor for nothing."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kova_auto.core.message import Usage
from kova_auto.core.price import Price, cost_usd
from tests.llm.responses_stream import completed, message, read, said, usage
from tests.llm.test_chat_recorded import REPLIES as CHAT
from tests.llm.test_messages_recorded import REPLIES as MESSAGES

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
"""USD per million tokens: what is plain, written, and read from or put into a cache."""
RESPONSES = read(completed(message(said("Hi.")), usage=usage(1000, 50, cached=600, written=100, thought=30)))


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        # plain, written, cached, put into the cache
        pytest.param(CHAT["openai"].usage, (58, 52, 1024, 128), id="chat: cached tokens are part of the prompt"),
        pytest.param(CHAT["deepseek"].usage, (68, 14, 832, 0), id="chat: a dialect that counts hits and misses"),
        pytest.param(CHAT["llamacpp"].usage, (20, 17, 300, 0), id="chat: a server on this machine"),
        pytest.param(MESSAGES["text"].usage, (25, 19, 2048, 310), id="messages: three counts that lie side by side"),
        pytest.param(MESSAGES["gateway"].usage, (40, 12, 100, 6), id="messages: a gateway that splits at the end"),
        pytest.param(RESPONSES.usage, (300, 50, 600, 100), id="responses: cached tokens are part of the input"),
    ],
)
def test_a_recorded_stream_costs_what_its_provider_asks_for(used: Usage, cost: tuple[int, int, int, int]) -> None:
    each = ("3.0", "15.0", "0.3", "3.75")
    wanted = sum(tokens * Decimal(rate) / 1_000_000 for tokens, rate in zip(cost, each, strict=True))
    assert Decimal(str(round(cost_usd(PRICE, used), 12))) == wanted
