"""The first job that `init` writes: it runs as it is, because its script plays the model where none is configured.

The tools really run, under the verdicts of a read-only job, so what it reports is true of the directory it looks at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import tomli_w

NAME: Final = "first-look"
SCRIPT: Final = f"{NAME}.script.toml"

_HEAD: Final = f"""\
# A first job. Run it: kova-auto run {NAME}
# It may only read. Where no model is configured, the turns in {SCRIPT} are played; the tools run all the same.

"""
_SCHEDULE: Final = """\

# Remove the marks to run it every weekday morning while kova-auto serve is up.
# [schedule]
# cron = "30 7 * * MON-FRI"
"""
_SCRIPT_HEAD: Final = f"""\
# What is played for {NAME}.toml where no model is configured. Texts and arguments are templates over the results that
# the tools really gave.

"""
_PROMPT: Final = """\
Look at this directory and say in a few lines what it is, how large it is, and where open questions are marked in it.
Cite files and lines.
"""
_REPORT: Final = """\
# First look

{% if results.readme.ok -%}
**README.md begins:** {{ results.readme.lines | reject('equalto', '') | list | first | default('empty') | trim('# ') }}
{%- else -%}
**README.md** could not be read: {{ results.readme.text }}
{%- endif %}

**Files.** {{ results.files.line_count if results.files.ok else 'unknown' }}, ignored ones left out.
{%- for note in results.files.notes %} {{ note }}{% endfor %}

**Open questions.**{% if results.marks.ok and results.marks.lines -%}
{% for line in results.marks.lines[:5] %}
- `{{ line }}`
{%- endfor %}
{%- else %} None are marked.{% endif %}
"""


def first_job(workspace: Path) -> str:
    """Return the job file."""
    said = {
        "description": "What this directory is, and where open questions are marked",
        "prompt": _PROMPT,
        "workspace": str(workspace),
        "model": "auto",
        "script": SCRIPT,
        "automation": "read-only",
    }
    return _HEAD + tomli_w.dumps(said, multiline_strings=True) + _SCHEDULE


def first_script() -> str:
    """Return the job's script."""
    turns = [
        {
            "text": "First what is here.",
            "calls": [{"id": "files", "tool": "glob", "args": {"pattern": "**/*"}}],
        },
        {
            "text": "Files: {{ results.files.line_count }}. Now how it begins, and marks of open questions.",
            "calls": [
                {"id": "readme", "tool": "read", "args": {"file_path": "README.md", "limit": 40}},
                {"id": "marks", "tool": "grep", "args": {"pattern": "TODO|FIXME|XXX"}},
            ],
        },
        {"text": _REPORT},
    ]
    return _SCRIPT_HEAD + tomli_w.dumps({"turns": turns}, multiline_strings=True)
