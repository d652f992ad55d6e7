"""Check the script that a job names, without playing it."""

from __future__ import annotations

from pathlib import Path

from kova_auto.core.job import Job
from kova_auto.llm.script import parse_script


def check_script(job: Job) -> None:
    """Read the job's script, if it has one.

    Raises:
        ConfigError: It is no script; names every problem, with its line in the script.
    """
    if job.script is not None and job.script_text is not None:
        parse_script(job.script_text, str(Path(job.path).parent / job.script))
