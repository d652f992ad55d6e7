"""Tokens, wherever a server puts their count."""

from __future__ import annotations

import pytest

from kova_auto.core.ids import BlobHash
from kova_auto.core.message import ImagePart, ToolSpec, Usage
from kova_auto.llm.estimate import estimate
from tests.llm.chat_stream import DONE, PROMPT, Chunk, asks, delta, read, reply_with, result, tool_call, usage

TEXT = delta(content="Hi.")
COUNT: Chunk = {"prompt_tokens": 12, "completion_tokens": 3}
SAID = Usage(input_tokens=12, output_tokens=3)


@pytest.mark.parametrize(
    ("chunks", "counted"),
    [
        ([TEXT, delta("stop"), usage(12, 3)], SAID),
        ([TEXT, {**delta("stop"), "usage": COUNT}], SAID),
        (
            [
                usage(12, 0),
                {**TEXT, "usage": {"prompt_tokens": 12, "completion_tokens": 1}},
                delta("stop"),
                usage(12, 3),
            ],
            SAID,
        ),
        ([usage(12, 3), TEXT, {**delta("stop"), "usage": {"prompt_tokens": 0, "completion_tokens": 0}}], SAID),
        ([TEXT, delta("stop"), usage(12, 3), usage(12, 3), usage(12, 3)], SAID),
        ([TEXT, {**delta("stop"), "x_groq": {"usage": COUNT}}], SAID),
        ([TEXT, {"choices": [{"delta": {}, "finish_reason": "stop", "usage": COUNT}]}], SAID),
        (
            [TEXT, delta("stop"), {"usage": {"prompt_tokens": "x", "completion_tokens": 3}, "choices": []}],
            Usage(output_tokens=3),
        ),
        ([TEXT, delta("stop"), {"usage": {"prompt_tokens": 12.0, "completion_tokens": -3}}], Usage(input_tokens=12)),
    ],
)
def test_a_count_is_found_wherever_it_stands_and_never_added_up(chunks: list[Chunk], counted: Usage) -> None:
    assert read(*chunks, DONE).usage == counted


@pytest.mark.parametrize(
    "cached",
    [
        {"prompt_tokens_details": {"cached_tokens": 8}},
        {"prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 4},
        {"cached_tokens": 8},
        {"prompt_tokens_details": None, "cached_tokens": 8},
    ],
)
def test_cached_input_is_part_of_the_input(cached: dict[str, int]) -> None:
    counted = read(TEXT, delta("stop"), usage(12, 3, **cached)).usage
    assert counted == Usage(input_tokens=12, output_tokens=3, cache_read_tokens=8)


def test_reasoning_is_part_of_the_output_and_written_cache_of_the_input() -> None:
    count = usage(
        12, 3, completion_tokens_details={"reasoning_tokens": 2}, prompt_tokens_details={"cache_write_tokens": 5}
    )
    counted = read(TEXT, delta("stop"), count).usage
    assert counted == Usage(input_tokens=12, output_tokens=3, reasoning_tokens=2, cache_write_tokens=5)


def test_a_server_that_never_counts_is_estimated_so_that_a_ceiling_holds() -> None:
    counted = read(delta(content="x" * 400), delta("stop"), DONE).usage
    assert counted == Usage(input_tokens=estimate(asks()), output_tokens=100)


def test_an_estimate_counts_everything_that_is_sent() -> None:
    call = tool_call("1.1", path="a" * 400)
    image = ImagePart(blob=BlobHash("b"), media_type="image/png")
    exchange = (reply_with(call, text="t" * 400), result(call, "r" * 400, image))
    grown = asks(PROMPT, *exchange, tools=(ToolSpec(name="read", description="d" * 400, parameters={}),))
    assert 1_600 < estimate(grown) - estimate(asks()) < 1_700
