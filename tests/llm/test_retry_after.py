"""When a provider wants to be asked again."""

from __future__ import annotations

import pytest

from kova_auto.llm.retry_after import retry_after_s

DATE = "Tue, 01 Dec 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "10800"}, 10800.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Tue, 01 Dec 2026 10:02:00 GMT", "date": DATE}, 120.0),
        ({"retry-after": "Tue, 01 Dec 2026 09:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Tue, 01 Dec 2026 10:02:00 GMT"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon", "date": DATE}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "12ms"}, 0.012),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m30.5s"}, 90.5),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "1s"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "later"}, None),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "9" * 400 + "s"}, None),
        (
            {
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-12-01T10:00:41Z",
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-12-01T10:00:07+00:00",
                "anthropic-ratelimit-output-tokens-remaining": "3",
                "anthropic-ratelimit-output-tokens-reset": "2026-12-01T12:00:00Z",
                "date": DATE,
            },
            41.0,
        ),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-12-01T10:05:00Z",
                "retry-after": "300",
            },
            300.0,
        ),
        ({"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "soon", "date": DATE}, None),
        (
            {
                "anthropic-ratelimit-tokens-remaining": "0",
                "anthropic-ratelimit-tokens-reset": "2026-12-01T10:05:00",
                "date": DATE,
            },
            None,
        ),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "3s",
            },
            3.0,
        ),
    ],
)
def test_headers_say_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds
