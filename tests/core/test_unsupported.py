"""What a job file may say and this version does not do: such a job is parked, never half obeyed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kova_auto.core.job import JobFile
from kova_auto.core.unsupported import unsupported

OBEYED: Mapping[str, object] = {
    "prompt": "Look.",
    "model": ["openai/gpt-5", "auto"],
    "script": "a.script.toml",
    "mode": "goal",
    "goal": {"criteria": ["it is green", {"command": "true"}], "turns": 5},
    "automation": "full",
    "output": {"schema": "a.json", "checks": ["true"], "check_timeout": "1m"},
    "isolation": "worktree",
    "schedule": {"cron": "0 7 * * *", "timezone": "Europe/Berlin"},
    "policy": {
        "missed": "all",
        "missed_max": 2,
        "overlap": "allow",
        "max_parallel": 2,
        "start_deadline": "5m",
        "retry": {"attempts": 2, "on": ["failed"]},
    },
    "limits": {"timeout": "5m", "iterations": 3, "tokens": 9, "cost_usd": 0.5, "denials": 2},
    "permissions": {
        "allow_commands": ["git log *"],
        "web": ["docs.python.org"],
        "sandbox": "required",
        "allow_mcp_tools": ["mcp__github__*"],
    },
    "mcp": {"servers": ["github"]},
    "inputs": {"branch": "main"},
    "approval": {
        "when_needed": "suspend",
        "timeout": "1h",
        "on_timeout": "keep",
        "on_unreachable": "keep",
        "questions": "suspend",
        "notify": ["desk"],
    },
    "context": {"memory": ["job"], "attachments": ["a.pdf"]},
    "notify": [{"endpoint": "ci", "when": "change"}],
}


@pytest.mark.parametrize(
    "schedule",
    [
        None,
        {"every": "1h", "anchor": "2026-01-01T00:00"},
        {"at": "2026-12-24T09:00"},
        {"on": "startup"},
        {"after": [{"job": "other"}]},
    ],
)
def test_what_this_version_does_is_not_named(schedule: Mapping[str, object] | None) -> None:
    assert list(unsupported(JobFile.model_validate(OBEYED))) == []
    assert list(unsupported(JobFile.model_validate({**OBEYED, "schedule": schedule}))) == []


def test_a_default_that_is_written_out_is_not_named() -> None:
    written = {"limits": {"cancel_grace": "30s", "cost_usd_per_day": 0.5}}

    assert list(unsupported(JobFile.model_validate({"prompt": "Look.", **written}))) == []


@pytest.mark.parametrize(
    ("key", "fields"),
    [
        ("agents.allow", {"agents": {"allow": ["explorer"]}}),
    ],
)
def test_what_it_does_not_do_is_named_with_what_to_write_instead(key: str, fields: Mapping[str, object]) -> None:
    ((found, hint),) = unsupported(JobFile.model_validate({"prompt": "Look.", **fields}))

    assert found == key
    assert hint
