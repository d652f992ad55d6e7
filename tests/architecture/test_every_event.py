"""A new kind of fact is handled everywhere: read back, upgraded, folded, shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from random import Random
from types import MappingProxyType

import pytest

from kova_auto.core.event import CURRENT, Event, dump, load, upgrade
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.view import approval_rows, delivery_rows, run_row
from tests.support import a_request
from tests.walks import a_talkative_request, walk

ENOUGH = 40


@cache
def examples() -> Mapping[str, tuple[RunState, Event]]:
    """Return an example of every kind that came up in some walks, with the state that it may follow."""
    found: dict[str, tuple[RunState, Event]] = {}
    for seed in range(ENOUGH):
        request = a_talkative_request(f"nightly@{seed}")
        for state, event in walk(opened(request), Random(seed), steps=60):
            found.setdefault(event.kind, (state, event))
    return MappingProxyType(found)


def test_a_walk_meets_every_kind_but_the_one_that_opens_a_run() -> None:
    assert {*examples(), "run_requested"} == CURRENT.keys()


@pytest.mark.parametrize("kind", sorted(CURRENT.keys() - {"run_requested"}))
def test_every_kind_is_read_back_upgraded_folded_and_shown(kind: str) -> None:
    state, event = examples()[kind]
    body = json.loads(dump(event))

    assert load(dump(event)) == event
    assert (body["kind"], body["v"]) == (kind, CURRENT[kind])
    assert upgrade(body) == body
    after = apply(state, load(dump(event)))
    assert after == apply(state, event) != state
    assert run_row(after).run_id == state.run_id
    assert len(approval_rows(after)) + len(delivery_rows(after)) >= 0


def test_the_kind_that_opens_a_run_is_read_back_and_folded() -> None:
    request = a_request()

    assert opened(request).request == load(dump(request)) == request
    assert upgrade(json.loads(dump(request))) == json.loads(dump(request))
