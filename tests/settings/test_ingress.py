"""Where requests from outside are listened for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import SettingsError
from kova_auto.settings.ingress import IngressTable
from kova_auto.settings.load import load_settings
from tests.support import ALONE


def loaded(tmp_path: Path, text: str) -> IngressTable:
    path = tmp_path / "kova-auto.toml"
    path.write_text(text)
    return load_settings(path, {"HOME": str(tmp_path), **ALONE}).ingress


def test_nothing_listens_unless_the_settings_say_so(tmp_path: Path) -> None:
    found = loaded(tmp_path, "")
    assert (found.place, found.is_local, found.max_connections) == (None, True, 64)


@pytest.mark.parametrize(
    ("listen", "place", "is_local"),
    [
        ("127.0.0.1:8788", ("127.0.0.1", 8788), True),
        ("[::1]:8788", ("::1", 8788), True),
        ("0.0.0.0:80", ("0.0.0.0", 80), False),
        ("127.8.8.8:0", ("127.8.8.8", 0), True),
        ("10.0.0.5:8788", ("10.0.0.5", 8788), False),
    ],
)
def test_an_address_and_a_port_is_a_place(
    tmp_path: Path, listen: str, place: tuple[str, int], *, is_local: bool
) -> None:
    found = loaded(tmp_path, f'[ingress]\nlisten = "{listen}"\n')
    assert (found.place, found.is_local, found.url_of("/hooks/a")) == (place, is_local, f"http://{listen}/hooks/a")


@pytest.mark.parametrize(
    "listen", ["", "8788", "localhost:8788", "127.0.0.1", "::1:8788", "127.0.0.1:99999", "1.2.3:4"]
)
def test_what_is_no_place_is_refused_with_its_line(tmp_path: Path, listen: str) -> None:
    with pytest.raises(SettingsError, match=r":2: ingress.listen: wanted an address and a port, found"):
        loaded(tmp_path, f'[ingress]\nlisten = "{listen}"\n')


@pytest.mark.parametrize(
    "url",
    [
        "hooks.example.org",
        "ftp://a.example",
        "https://",
        "https://a.example/?q=1",
        "https://u:p@a.example",
        "https://a:b",
    ],
)
def test_what_cannot_be_a_public_url_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match=r":2: ingress.public_url: wanted"):
        loaded(tmp_path, f'[ingress]\npublic_url = "{url}"\n')


def test_a_public_url_may_have_a_path(tmp_path: Path) -> None:
    found = loaded(tmp_path, '[ingress]\nlisten = "127.0.0.1:1"\npublic_url = "https://a.example/kova/"\n')
    assert found.url_of("/hooks/deploy") == "https://a.example/kova/hooks/deploy"
