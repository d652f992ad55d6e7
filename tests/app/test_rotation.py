"""Secrets that are replaced: for a while two sign, then the new one alone."""

from __future__ import annotations

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kova_auto.app.endpoints import Endpoints
from kova_auto.app.rotation import GRACE, Retired, drop, retired, rotate
from kova_auto.app.vault import Vault
from kova_auto.core.delivery.signature import parse_secret, spell_private, spell_public, spell_secret
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import EndpointName
from kova_auto.core.secret import SecretRef
from kova_auto.settings.model import EndpointTable, Settings
from tests.doubles.clock import HandClock

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
OLD, NEW = spell_secret(b"o" * 32), spell_secret(b"n" * 32)
CI = EndpointName("ci")


def settings(path: Path, **endpoint: object) -> Settings:
    """Return settings with one endpoint, whose secret is in a file beside them."""
    (path / "secret").write_text(OLD + "\n")
    fields = {"url": "https://ci.example.org/", "secret": {"file": "secret"}, **endpoint}
    table = EndpointTable.model_validate(fields)
    return Settings.model_construct(
        path=path / "kova-auto.toml", data_dir=path / "data", endpoints={"ci": table}, providers={}, database="sqlite"
    )


def replaced(found: Settings, now: datetime = NOW, grace: timedelta = GRACE) -> tuple[str, str]:
    done = rotate(found, {"OTHER": OLD}, "ci", now=now, grace=grace, fresh=b"n" * 32)
    return done.place, done.shown


def signing(found: Settings, now: datetime) -> tuple[object, ...]:
    endpoints = Endpoints(found, Vault(found, {"OTHER": OLD}), HandClock(now))
    return endpoints.target(CI).secrets


def test_a_new_secret_is_written_where_the_old_one_was_and_both_sign_until_its_time_is_over(tmp_path: Path) -> None:
    found = settings(tmp_path)
    old, new = parse_secret(OLD), parse_secret(NEW)

    assert replaced(found) == (str(tmp_path / "secret"), "")
    assert (tmp_path / "secret").read_text() == NEW + "\n"
    assert signing(found, NOW) == (new, old)
    assert signing(found, NOW + GRACE - timedelta(seconds=1)) == (new, old)
    assert signing(found, NOW + GRACE) == (new,)
    assert list((tmp_path / "data" / "retired").iterdir()) == []


def test_the_old_secret_is_kept_for_its_owner_alone(tmp_path: Path) -> None:
    replaced(settings(tmp_path))
    kept = tmp_path / "data" / "retired" / "ci.json"

    assert [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept.parent)] == [0o600, 0o700]
    assert retired(tmp_path / "data", "ci", NOW) == Retired(secret=OLD, until=NOW + GRACE)


def test_a_secret_that_we_cannot_write_is_shown_and_signs_once_it_is_there(tmp_path: Path) -> None:
    found = settings(tmp_path, secret={"env": "OTHER"})

    assert replaced(found) == ("env OTHER", NEW)
    assert signing(found, NOW) == (parse_secret(OLD),)


def test_a_secret_is_not_replaced_while_the_one_before_still_signs(tmp_path: Path) -> None:
    found = settings(tmp_path)
    replaced(found)
    with pytest.raises(ConfigError, match="signs until 2026-12-02 07:00 UTC: two at once are the most"):
        replaced(found, NOW + GRACE / 2)

    assert drop(found, "ci") is True
    assert drop(found, "ci") is False
    assert signing(found, NOW) == (parse_secret(NEW),)
    replaced(found, NOW + GRACE / 2)


def test_what_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    found = settings(tmp_path, secret={"file": "link/secret"})
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "secret").write_text(OLD)
    (tmp_path / "link").chmod(0o500)
    try:
        if not _can_write(tmp_path / "link"):
            with pytest.raises(ConfigError, match="cannot be written"):
                replaced(found)
            assert (signing(found, NOW), retired(tmp_path / "data", "ci", NOW)) == ((parse_secret(OLD),), None)
    finally:
        (tmp_path / "link").chmod(0o700)


def _can_write(path: Path) -> bool:
    """Say whether this user may write everywhere."""
    try:
        (path / "probe").touch()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("endpoint", "wrong"),
    [
        ({"secret": ()}, "wanted an endpoint with a secret, found none"),
        ({"secret": ({"file": "secret"}, {"env": "OTHER"})}, "the settings name several secrets"),
        ({"format": "dingtalk"}, "is made by its receiver"),
        ({"secret": {"env": "NONE"}}, "found none"),
    ],
)
def test_what_is_not_ours_to_replace_is_not_replaced(endpoint: dict[str, object], wrong: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=wrong):
        replaced(settings(tmp_path, **endpoint))
    assert (tmp_path / "secret").read_text() == OLD + "\n"


@pytest.mark.parametrize(
    ("endpoint", "hears"),
    [
        ({}, True),
        ({"format": "slack"}, True),
        ({"format": "gitlab", "options": {"project": "1", "ref": "main"}}, False),
        ({"format": "gitlab", "options": {"project": "1", "ref": "main", "on": "alert"}}, True),
    ],
)
def test_what_starts_something_elsewhere_hears_of_no_other_unless_it_says_so(
    endpoint: dict[str, object], hears: bool, tmp_path: Path
) -> None:
    found = settings(tmp_path, **endpoint)
    endpoints = Endpoints(found, Vault(found, {}), HandClock(NOW))

    assert endpoints.hears(CI) is hears
    assert endpoints.hears(EndpointName("nobody")) is False


def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no endpoint nobody; the settings have ci"):
        rotate(settings(tmp_path), {}, "nobody", now=NOW, grace=GRACE, fresh=b"n" * 32)


def test_what_is_no_kept_secret_is_none(tmp_path: Path) -> None:
    assert retired(tmp_path, "ci", NOW) is None
    (tmp_path / "retired").mkdir()
    (tmp_path / "retired" / "ci.json").write_text("{")
    assert retired(tmp_path, "ci", NOW) is None


def test_secrets_are_taken_out_of_what_is_said(tmp_path: Path) -> None:
    found = settings(tmp_path)
    replaced(found)
    vault = Vault(found, {})
    Endpoints(found, vault, HandClock(NOW)).target(CI)

    assert OLD not in vault.redact(f"a {OLD} b {NEW}")
    assert NEW not in vault.redact(f"a {OLD} b {NEW}")
    assert SecretRef(file="secret").source == "file secret"


def test_a_private_key_is_replaced_by_a_private_key_whose_public_half_is_shown(tmp_path: Path) -> None:
    found = settings(tmp_path)
    (tmp_path / "secret").write_text(spell_private(b"o" * 32))
    old, new = (parse_secret(spell_private(seed * 32), asymmetric=True) for seed in (b"o", b"n"))
    done = rotate(found, {}, "ci", now=NOW, grace=GRACE, fresh=b"n" * 32)

    assert (done.shown, done.public) == ("", spell_public(new))
    assert (tmp_path / "secret").read_text() == spell_private(b"n" * 32) + "\n"
    assert signing(found, NOW) == (new, old)
