"""Ids are derived from what they name."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.ids import (
    EndpointName,
    JobName,
    RunId,
    blob_hash,
    call_id,
    delivery_id,
    requested_run_id,
    run_id,
)
from tests.support import at

NIGHTLY, WEEKLY = JobName("nightly"), JobName("weekly")
RUN, CI = RunId("nightly@20261201T060000Z"), EndpointName("ci")


def test_one_instant_of_a_job_is_one_run_in_whatever_zone_it_is_written() -> None:
    berlin = datetime(2026, 12, 1, 7, 0, tzinfo=timezone(timedelta(hours=1)))

    assert run_id(NIGHTLY, at("06:00:00")) == run_id(NIGHTLY, berlin) == "nightly@20261201T060000Z"


def test_other_instants_and_other_jobs_are_other_runs() -> None:
    ids = {run_id(job, at(clock)) for job in (NIGHTLY, WEEKLY) for clock in ("06:00:00", "06:00:01", "18:00:00")}

    assert len(ids) == 6


def test_a_request_is_no_occurrence_and_its_key_tells_it_from_the_next() -> None:
    first = requested_run_id(NIGHTLY, at("06:00:00.250000"), "a1")

    assert first == "nightly+20261201T060000Z-a1"
    assert first not in {requested_run_id(NIGHTLY, at("06:00:00.250000"), "b2"), run_id(NIGHTLY, at("06:00:00"))}


def test_a_call_is_named_by_its_place_in_the_run() -> None:
    assert [call_id(1, 1), call_id(1, 12), call_id(11, 2)] == ["1.1", "1.12", "11.2"]


def test_a_delivery_is_named_by_its_run_its_cause_and_its_endpoint() -> None:
    first = delivery_id(RUN, 7, CI)
    others = {
        delivery_id(RunId("nightly@20261202T060000Z"), 7, CI),
        delivery_id(RUN, 8, CI),
        delivery_id(RUN, 7, EndpointName("team")),
    }

    assert first == delivery_id(RUN, 7, CI)
    assert len({first, *others}) == 4


@given(st.text(), st.integers(min_value=1), st.text())
def test_a_deliverys_id_can_stand_in_a_header_and_before_a_dot(run: str, cause: int, endpoint: str) -> None:
    found = delivery_id(RunId(run), cause, EndpointName(endpoint))

    assert found.startswith("msg_")
    assert found.removeprefix("msg_").isalnum()
    assert (found.isascii(), len(found)) == (True, 30)


def test_a_blob_is_named_by_its_content() -> None:
    assert blob_hash(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
