"""Facts on their way to the journal and back: every kind, and rows of another time."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.approval.levels import Mode
from kova_auto.core.errors import UnknownEventError
from kova_auto.core.event import CURRENT, Event, ModeEntered, RunRequested, dump, load, upgrade
from kova_auto.core.ids import CallId, RunId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus, ToolSpec
from tests.core.facts import acquired, assembled, ended, result, two_calls
from tests.support import a_job, a_request, at

FULL_JOB = a_job(
    schedule={"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin"},
    limits={"timeout": "1h30m0.000001s"},
    env={"GH_TOKEN": {"env": "GH_TOKEN"}},
    inputs={"branch": "main", "since": {"max_length": 10}},
    output={"schema": "report.schema.json"},
    goal={"criteria": ["it is green", {"command": "pytest -q"}]},
    notify=[{"endpoint": "ci", "when": ["done", "failed"]}, {"endpoint": "team", "when": "change"}],
)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(
            a_request(job=FULL_JOB, nominal_at=at("06:00:00"), inputs={"branch": "é\0\u2028"}), id="a whole job"
        ),
        pytest.param(two_calls(), id="a reply"),
        pytest.param(ended(answer="All\0well. \U0001f600"), id="an odd answer"),
        pytest.param(
            result(
                ResultStatus.OK,
                parts=[{"kind": "text", "text": "a"}, {"kind": "image", "blob": "b", "media_type": "image/png"}],
                changes=[FileChange(path="/srv/app/a", before=None, after=blob_hash(b"new"), mode=0o644)],
                todo=[{"text": "look", "done": False, "n": 1.5}],
            ),
            id="a full result",
        ),
    ],
)
def test_what_is_written_is_read_back_whole(event: Event) -> None:
    assert load(dump(event)) == event
    assert load(dump(event).encode()) == event


_TOOLS = (
    ToolSpec(name="odd", description='says "tools":[] and \\"tools":[]\U0001f600', parameters={"tools": [], "é": None}),
    ToolSpec(name="poll", description="", parameters={"type": "object"}, polling=True),
)


@pytest.mark.parametrize("tools", [(), _TOOLS[:1], _TOOLS], ids=["none", "one", "some"])
def test_tools_are_written_as_they_would_be_with_all_else(tools: tuple[ToolSpec, ...]) -> None:
    told = 'Offer "tools":[] and ,"tools":[{}]'
    context = assembled().but(tools=tools, system=told, taints=told, rests=(blob_hash(b"tools"),))
    mode = ModeEntered(at=at("06:00:00"), mode=Mode.AGENT, call_id=CallId('"tools":[]'), tools=tools)

    for event in (context, mode, context):  # The second time, each tool knows its JSON.
        assert dump(event) == event.model_dump_json()
        assert load(dump(event)) == event


@pytest.mark.parametrize("said", ["", '"policy_hash":"x"', '\\"policy_hash":'])
def test_what_opens_a_run_is_written_as_any_other_fact_whatever_its_texts_say(said: str) -> None:
    for job in (FULL_JOB, a_job(), FULL_JOB):  # The second time, its JSON is known.
        event = a_request(job=job, inputs={"said": said}).but(run_id=RunId(f"run {said}"))

        assert dump(event) == event.model_dump_json()
        assert load(dump(event)) == event


def test_a_job_is_read_back_from_an_event_with_every_default_filled_in() -> None:
    found = load(dump(a_request(job=FULL_JOB)))

    assert isinstance(found, RunRequested)
    assert found.job == FULL_JOB


def test_a_row_of_today_is_left_as_it_is() -> None:
    body = json.loads(dump(acquired()))

    assert upgrade(body) == body


def test_a_row_without_a_version_is_of_the_first() -> None:
    body = json.loads(dump(assembled()))
    del body["v"]

    assert load(json.dumps(body)) == assembled()


def test_every_kind_has_its_version() -> None:
    assert all(version >= 1 for version in CURRENT.values())
    assert set(CURRENT) == {kind.model_fields["kind"].default for kind in Event.__args__}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kind": "run_dreamt"}, "of kind 'run_dreamt', which this version does not know; upgrade kova-auto"),
        ({"kind": None}, "of kind None, which this version does not know"),
        ({"v": 99}, "holds 'run_acquired' in version 99, this program reads up to 1"),
        ({"epoch": "many"}, "a row that is no event: 1 problem"),
        ({"unheard_of": 1}, "a row that is no event: 1 problem"),
        ({"at": "2026-12-01T06:00:00"}, "a row that is no event: 1 problem"),
    ],
)
def test_a_row_that_cannot_be_read_says_why(change: dict[str, object], complaint: str) -> None:
    body = {**json.loads(dump(acquired())), **change}

    with pytest.raises(UnknownEventError, match=complaint):
        load(json.dumps(body))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '"text"', "null", '{"kind": ["run_acquired"]}', "\x00", '{"v": "1"}']
)
def test_a_row_that_is_no_fact_at_all_is_refused_as_one(text: str) -> None:
    with pytest.raises(UnknownEventError, match="the journal holds"):
        load(text)
