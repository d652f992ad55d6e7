"""The schema of what is sent: it is what the page keeps, and every message fits it and no other."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.schema import event_schema, event_types, openapi
from kova_auto.core.delivery.signature import SigningSecret, signed_headers
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.delivery.thin import KEPT
from kova_auto.core.job import Outcome
from tests.core.delivery.corpus import AT, corpus
from tests.core.delivery.notices import a_late_job, a_report, an_approval

KEPT_AT = Path(__file__).parents[3] / "docs" / "webhooks.openapi.json"
ID = "msg_abcdefghijklmnopqrstuvwxyz"


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(event_schema(name), format_checker=Draft202012Validator.FORMAT_CHECKER)


def problems(message: Any) -> list[str]:  # noqa: ANN401
    return [f"{error.json_path}: {error.message[:200]}" for error in validator(message["type"]).iter_errors(message)]


def sent(notice: Any, detail: str) -> Any:  # noqa: ANN401
    return json.loads(render(FormatName.STANDARD, notice, Wish(ID, options={"detail": detail})).body)


def test_the_document_in_the_docs_is_what_the_program_makes() -> None:
    """To make it anew: kova-auto endpoints schema > docs/webhooks.openapi.json."""
    assert json.loads(KEPT_AT.read_text(encoding="utf-8")) == openapi()


@pytest.mark.parametrize("detail", ["full", "thin"])
def test_every_message_fits_the_schema_of_its_type(detail: str) -> None:
    found = [(case, problems(sent(notice, detail))) for case, notice in corpus()]
    assert [(case, wrong) for case, wrong in found if wrong] == []


def test_every_type_that_can_be_sent_has_its_schema_and_no_other() -> None:
    told = {notice.type for _, notice in corpus()} | {a_report(outcome=outcome).type for outcome in Outcome}
    assert told <= set(event_types())
    assert event_types() == sorted(openapi()["webhooks"])
    assert {name.rpartition(".")[0] for name in event_types()} >= {"kova.run", "kova.approval", "kova.schedule", "kova"}


@pytest.mark.parametrize("name", event_types())
def test_each_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(event_schema(name))
    assert re.fullmatch(r"[a-zA-Z0-9_]+(?:\.[a-zA-Z0-9_]+)*", name)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"type": "kova.run.completed"}, "$.type"),
        ({"timestamp": 1}, "$.timestamp"),
        ({"data": {}}, "$.data"),
        ({"data": {**sent(a_report(outcome=Outcome.FAILED), "full")["data"], "outcome": "done"}}, "$.data"),
        ({"data": {**sent(a_report(outcome=Outcome.FAILED), "full")["data"], "tool_calls": "many"}}, "$.data"),
    ],
)
def test_what_is_no_such_message_does_not_fit(changes: dict[str, Any], place: str) -> None:
    good = sent(a_report(outcome=Outcome.FAILED), "full")
    errors = validator("kova.run.failed").iter_errors({**good, **changes})
    assert [error.json_path for error in errors] == [place]


@pytest.mark.parametrize("notice", [a_report(scripted=True), an_approval(), a_late_job()], ids=["run", "call", "late"])
@pytest.mark.parametrize("detail", ["full", "thin"])
def test_the_schema_has_every_name_that_is_sent(notice: Any, detail: str) -> None:  # noqa: ANN401
    part = f"{type(notice).__name__}{'Thin' if detail == 'thin' else ''}Data"
    known = event_schema(notice.type)["$defs"][part]
    data = sent(notice, detail)["data"]

    assert set(data) <= set(known["properties"])
    assert set(known["required"]) <= set(data)


def test_nothing_refers_to_what_is_not_there() -> None:
    for document in (openapi(), *map(event_schema, event_types())):
        for path in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document)):
            part: Any = document
            for key in path.split("/"):
                part = part[key]
            assert part, path


def test_the_headers_that_are_described_are_those_that_are_sent() -> None:
    headers = dict(signed_headers([SigningSecret(b"k" * 24)] * 2, ID, int(AT.timestamp()), b"{}"))
    described = openapi()["components"]["parameters"]

    assert list(described) == list(headers)
    for name, value in headers.items():
        assert re.search(described[name]["schema"]["pattern"], value)


def test_every_notice_is_described_in_full_and_thin() -> None:
    parts = openapi()["components"]["schemas"]
    assert {f"{kind.__name__}{thin}Data" for kind in KEPT for thin in ("", "Thin")} <= set(parts)
