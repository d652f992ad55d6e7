"""The name of an installation, by which receivers of events tell one from another."""

from __future__ import annotations

import re
from pathlib import Path

from kova_auto.app.endpoints import Endpoints, instance_urn
from kova_auto.app.vault import Vault
from kova_auto.core.ids import EndpointName
from kova_auto.settings.model import EndpointTable, Settings
from tests.doubles.clock import HandClock


def source(data_dir: Path, **options: str) -> object:
    """Return the source of an endpoint's events."""
    table = EndpointTable.model_validate({"format": "cloudevents", "url": "https://bus.example.org/", **options})
    settings = Settings.model_construct(
        path=data_dir / "kova-auto.toml", data_dir=data_dir, endpoints={"bus": table}, providers={}, database="sqlite"
    )
    return Endpoints(settings, Vault(settings, {}), HandClock()).target(EndpointName("bus")).options["source"]


def test_an_installation_has_a_name_of_its_own_that_stays(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"

    assert source(here) == source(here) != source(there)
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", str(source(here)))


def test_a_name_tells_nothing_of_the_machine(tmp_path: Path) -> None:
    assert instance_urn("desk", tmp_path) != instance_urn("shelf", tmp_path)
    assert "desk" not in instance_urn("desk", Path("/home/desk"))


def test_a_source_of_the_settings_counts(tmp_path: Path) -> None:
    assert source(tmp_path, source="https://kova.example.org/") == "https://kova.example.org/"
