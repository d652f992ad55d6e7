"""Secrets are fetched from where a reference says they are."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.secret import SecretRef
from kova_auto.settings.secrets import read_secret


def test_a_variable_holds_a_secret(tmp_path: Path) -> None:
    assert read_secret(SecretRef(env="TOKEN"), {"TOKEN": "opensesame"}, base=tmp_path) == "opensesame"


def test_one_newline_at_the_end_of_a_file_is_not_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("opensesame\n\n")
    (tmp_path / "token").chmod(0o600)
    assert read_secret(SecretRef(file="token"), {}, base=tmp_path) == "opensesame\n"


def test_a_file_that_others_may_read_is_used_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "token").write_text("opensesame")
    (tmp_path / "token").chmod(0o640)
    with caplog.at_level(logging.WARNING):
        read = [read_secret(SecretRef(file=str(tmp_path / "token")), {}, base=Path("/")) for _ in range(2)]
    assert read == ["opensesame", "opensesame"]
    assert caplog.messages == [f"other users may use the secret in {tmp_path}/token: chmod 600 {tmp_path}/token"]


def test_systemd_hands_over_credentials(tmp_path: Path) -> None:
    (tmp_path / "ci_hook").write_text("opensesame\n")
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert read_secret(SecretRef(credential="ci_hook"), environ, base=Path("/")) == "opensesame"


@pytest.mark.parametrize(
    ("reference", "environ", "problem"),
    [
        (
            SecretRef(env="TOKEN"),
            {},
            "wanted a secret in env TOKEN: found none (set the variable TOKEN for this process)",
        ),
        (
            SecretRef(env="TOKEN"),
            {"TOKEN": ""},
            "wanted a secret in env TOKEN: found an empty one (set the variable TOKEN for this process)",
        ),
        (
            SecretRef(file="token"),
            {},
            "wanted a secret in file token: wanted a text file, found nothing (it should be HERE/token)",
        ),
        (
            SecretRef(credential="ci_hook"),
            {},
            "wanted a secret in credential ci_hook: systemd gave none (add LoadCredential=ci_hook:PATH to the unit)",
        ),
        (
            SecretRef(credential="../etc"),
            {"CREDENTIALS_DIRECTORY": "/"},
            "wanted a secret in credential ../etc: a credential's name holds no slash",
        ),
        (
            SecretRef(credential="ci_hook"),
            {"CREDENTIALS_DIRECTORY": "/nowhere"},
            "wanted a secret in credential ci_hook: wanted a text file, found nothing (it should be /nowhere/ci_hook)",
        ),
    ],
    ids=["no variable", "empty variable", "no file", "no credentials", "no name", "no such credential"],
)
def test_what_is_missing_is_named(tmp_path: Path, reference: SecretRef, environ: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_secret(reference, environ, base=tmp_path)
    assert str(caught.value).replace(str(tmp_path), "HERE") == problem


class Keyring(ModuleType):
    """Play the part of the keyring package."""

    def __init__(self, secrets: dict[tuple[str, str], str]) -> None:
        super().__init__("keyring")
        self.secrets = secrets

    def get_password(self, service: str, name: str) -> str | None:
        return self.secrets.get((service, name))


class Errors(ModuleType):
    KeyringError = type("KeyringError", (Exception,), {})


def test_a_keyring_entry_belongs_to_our_service(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", Keyring({("kova-auto", "hook"): "opensesame"}))
    monkeypatch.setitem(sys.modules, "keyring.errors", Errors("keyring.errors"))
    assert read_secret(SecretRef(keyring="hook"), {}, base=Path("/")) == "opensesame"
    with pytest.raises(ConfigError) as caught:
        read_secret(SecretRef(keyring="other"), {}, base=Path("/"))
    assert str(caught.value) == ("wanted a secret in keyring other: found none (python -m keyring set kova-auto other)")


def test_without_the_keyring_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError) as caught:
        read_secret(SecretRef(keyring="hook"), {}, base=Path("/"))
    assert str(caught.value) == (
        "wanted a secret in keyring hook: the keyring is an extra (pip install 'kova-auto[keyring]')"
    )
