"""`kova-auto endpoints schema`: what a receiver needs to check what it is sent."""

from __future__ import annotations

import json
from pathlib import Path

from kova_auto.core.delivery.schema import event_types, openapi
from tests.cli.command import Home


def test_all_events_are_written_as_one_document(tmp_path: Path) -> None:
    result = Home(tmp_path).run("endpoints", "schema")

    assert result.exit_code == 0
    assert json.loads(result.stdout) == openapi()


def test_one_type_is_written_as_a_schema_of_its_own(tmp_path: Path) -> None:
    schema = json.loads(Home(tmp_path).run("endpoints", "schema", "--type", "kova.run.failed").stdout)

    assert schema["properties"]["type"] == {"const": "kova.run.failed"}


def test_a_type_that_is_not_there_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    result = Home(tmp_path).run("endpoints", "schema", "--type", "kova.run.ended")

    assert result.exit_code == 2
    assert all(name in " ".join(result.stderr.replace("│", " ").split()) for name in event_types())
