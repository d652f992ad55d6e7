"""The files that `init` and `jobs new` write. tomli-w writes no comments: these are put around what it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import tomli_w

from kova_auto.core.job import IN_MONEY, Job, JobFile

JsonDict = dict[str, object]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_JOB_HEAD: Final = """\
# A job: what an agent does here, and when. Any key that is left out has a careful default;
# kova-auto jobs show NAME writes them all.
# Editors complete and check this file after: kova-auto jobs schema > job.schema.json
# and, as the first line here: #:schema ./job.schema.json

"""
_SCHEDULE: Final = """\

# When it runs. Without a schedule it runs only when you say so: kova-auto run NAME
# [schedule]
# cron = "30 7 * * MON-FRI"
# timezone = "Europe/Berlin"
"""
_JOB_TAIL: Final = """\

# Whom to tell; endpoints are in your settings.
# [[notify]]
# endpoint = "team-slack"
# when = ["done", "failed", "blocked"]
"""
_SETTINGS_HEAD: Final = """\
# Settings of kova-auto. Paths begin at this file. Secrets are named, never written here:
# { env = "NAME" }, { file = "path" }, { credential = "name" } (systemd) or { keyring = "name" }

"""
_SETTINGS_TAIL: Final = """\

# Who serves the models. The first provider that can be used is what model = "auto" means.
# [providers.openai]
# api_key = { env = "OPENAI_API_KEY" }
# default_model = "gpt-5"

# Who may be told of results.
# [endpoints.team-slack]
# format = "slack"
# url = { env = "SLACK_WEBHOOK_URL" }
#
# [endpoints.ci]
# url = "https://ci.example.org/hooks/kova"
# secret = { env = "CI_HOOK_SECRET" }
"""
_PROMPT: Final = """\
Look at what changed in this directory in the last day. Say what changed, what looks risky, and what to do about it.
Cite files, lines and commits. If nothing changed, say so and nothing else.
"""


def job_toml(*, prompt: str | None, cron: str | None, workspace: Path) -> str:
    """Return a job file with the comments that a first reader needs."""
    said: JsonDict = {
        "description": "",
        "prompt": _ended(prompt) if prompt else _PROMPT,
        "workspace": str(workspace),
        "model": "auto",
        "automation": "read-only",
    }
    if cron is not None:
        said["schedule"] = {"cron": cron}
    return _JOB_HEAD + _toml(said) + ("" if cron is not None else _SCHEDULE) + _JOB_TAIL


def settings_toml(timezone: str) -> str:
    """Return a settings file."""
    said = {"jobs_dir": "jobs", "timezone": timezone, "max_concurrent_runs": 4}
    return _SETTINGS_HEAD + _toml(said) + _SETTINGS_TAIL


def effective_toml(job: Job, notes: Sequence[str]) -> str:
    """Return a job as a file that says everything; the notes are comments above it."""
    said = job.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("name", "path", "prompt_file", "script_text", "schema_text", "bounds_money"):
        said.pop(name, None)
    if not job.bounds_money:  # Written out, they would have to hold.
        ceilings = {name: said["limits"].pop(name) for name in sorted(IN_MONEY)}
        held = ", ".join(f"limits.{name} = {usd}" for name, usd in ceilings.items())
        notes = (*notes, f"Where prices are known: {held}.")
    # Scalars first: in TOML, what stands below a [table] belongs to it.
    ordered = sorted(said.items(), key=lambda item: isinstance(item[1], dict))
    return "".join(f"# {note}\n" for note in notes) + _toml(dict(ordered))


def job_schema() -> JsonDict:
    """Return the JSON Schema of a job file."""
    return {"$schema": DIALECT, **JobFile.model_json_schema(), "title": "A job file of kova-auto"}


def _toml(said: Mapping[str, object]) -> str:
    return tomli_w.dumps(said, multiline_strings=True)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
