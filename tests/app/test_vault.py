"""Secrets are known from the moment they are fetched, and for as long as anything may still hold them."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.vault import RedactingFilter, Vault
from kova_auto.core.secret import SecretRef
from kova_auto.settings.load import load_settings
from tests.app.houses import UNCONFINED, Home, id_of

READS = """
[[turns]]
text = "I read."
[[turns.calls]]
id = "left"
tool = "read"
args = { file_path = "left.txt" }
[[turns]]
text = "It said: {{ results.left.text }}"
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    home = Home(tmp_path)
    home.settings('[endpoints.ci]\nurl = { env = "HOOK" }\nformat = "slack"\n')
    environ = {"HOME": str(tmp_path), "HOOK": "https://hooks.example.org/canary-1"}
    return Vault(load_settings(None, environ), {**environ, "OTHER": "canary-2"})


def test_the_secrets_of_the_settings_are_known_from_the_start(vault: Vault) -> None:
    assert vault.redact("to https://hooks.example.org/canary-1") == "to [redacted:env:HOOK]"


def test_others_are_known_once_they_are_fetched_or_learned(vault: Vault) -> None:
    assert vault.redact("canary-2") == "canary-2"
    vault.learn([SecretRef(env="NOT_SET"), SecretRef(env="OTHER")])
    assert vault.redact("canary-2") == "[redacted:env:OTHER]"


def test_what_a_secret_was_before_it_was_changed_is_still_redacted(vault: Vault, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(mode=0o600)
    for content in ("old-canary", "new-canary"):
        path.write_text(content)
        assert vault.value(SecretRef(file=str(path))) == content

    assert vault.redact("old-canary new-canary") == f"[redacted:file:{path}] [redacted:file:{path}]"


def test_a_record_with_an_exception_is_cleaned_before_it_is_formatted(vault: Vault) -> None:
    exc = ValueError("asked https://hooks.example.org/canary-1")
    said = ("https://hooks.example.org/canary-1",)
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "%s failed", said, (type(exc), exc, None))

    assert RedactingFilter(vault).filter(record)
    assert logging.Formatter().format(record) == ("[redacted:env:HOOK] failed\nValueError: asked [redacted:env:HOOK]")


async def test_a_run_that_another_process_began_leaks_nothing_of_what_its_job_was_given(tmp_path: Path) -> None:
    home = Home(tmp_path, {"GH_TOKEN": "canary-gh-token"})
    home.job("look", f'{UNCONFINED}[env]\nGH_TOKEN = {{ env = "GH_TOKEN" }}\n', READS)
    (home.workspace / "left.txt").write_text("token canary-gh-token\n")
    async with home.house() as house:
        await house.control.request(home.ask("look"))
        await drive_one(house, id_of("look"), asyncio.Event())
        row = await house.control.find(id_of("look"))

    assert "token [redacted:env:GH_TOKEN]" in row.answer_excerpt
