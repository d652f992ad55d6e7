"""Check what no single key shows: the schedule, rules, inputs, names, and what keys say together."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from kova_auto.core.approval.hosts import check_host
from kova_auto.core.approval.levels import Effect
from kova_auto.core.approval.network import check_entry
from kova_auto.core.approval.rules import check_rule
from kova_auto.core.approval.tables import reaches
from kova_auto.core.context.prompt import inputs_named
from kova_auto.core.inputs import misdeclared
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.core.toml.places import Key
from kova_auto.core.tool_names import check_tool_name
from kova_auto.scheduling.draft import Draft
from kova_auto.scheduling.triggers import Calendars, ScheduleReading

AUTO = "auto"
MAX_CHECKS = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_INPUT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODEL = re.compile(r"[a-z0-9][a-z0-9_-]*/\S+")


def is_job_name(name: str) -> bool:
    """Say whether a job can have this name."""
    return _NAME.fullmatch(name) is not None


def check_name(draft: Draft) -> None:
    """Check that the file's stem can be a job's name."""
    name = draft.name
    if not is_job_name(name):
        message = f"wanted letters, digits, - and _ before {draft.path.suffix}, at most 64, found {name!r}"
        draft.problems.add((), message, "rename the file")


def check_schedule(draft: Draft, timezone: str, calendars: Calendars | None) -> None:
    """Check that everything in the schedule can be read, and that it leaves an instant at which the job runs."""
    if draft.file.schedule is None:
        return
    reading = ScheduleReading(draft.file.schedule, timezone=timezone, calendars=calendars)
    reading.timetable(draft.name)
    for key, problem in reading.problems:
        draft.problems.pass_on(("schedule", *key), problem)


def check_inputs(draft: Draft, prompt: str) -> None:
    """Check that the prompt refers to inputs that are declared, and that these can be referred to."""
    declared = draft.file.inputs
    for name, field in declared.items():
        if not _INPUT.fullmatch(name):
            message = f"wanted a name of letters, digits and _ that begins with a letter, found {name!r}"
            draft.problems.add(("inputs", name), message)
        for key, message in misdeclared(field):
            draft.problems.add(("inputs", name, key), message)
    if unknown := sorted(inputs_named(prompt) - declared.keys()):
        named = ", ".join(f"{{{{ inputs.{name} }}}}" for name in unknown)
        hint = did_you_mean(unknown[0], tuple(declared)) or f'[inputs] with {unknown[0]} = "…" declares one'
        draft.problems.add(_prompt_key(draft), f"wanted inputs that [inputs] declares, found {named}", hint)


def check_models(draft: Draft) -> None:
    """Check that each model is `auto` or names its provider."""
    is_one = isinstance(draft.file.model, str)
    for index, model in enumerate(draft.file.models):
        if model != AUTO and not _MODEL.fullmatch(model):
            key: Key = ("model",) if is_one else ("model", index)
            message = f'wanted provider/model or "{AUTO}", found {model!r}'
            draft.problems.add(key, message, "for example openai/gpt-5")


def check_permissions(draft: Draft) -> None:
    """Check that every rule and every host can match something, and that every tool is there."""
    granted = draft.file.permissions
    _each(draft, ("limits", "required_tools"), draft.file.limits.required_tools, check_tool_name)
    _each(draft, ("permissions", "allow_commands"), granted.allow_commands, check_rule)
    _each(draft, ("permissions", "web"), granted.web, check_host)
    if isinstance(granted.network, tuple):
        _check_network(draft, granted.network, granted.sandbox)


def _check_network(draft: Draft, entries: tuple[str, ...], sandbox: str) -> None:
    key: Key = ("permissions", "network")
    _each(draft, key, entries, check_entry)
    if not entries:
        draft.problems.add(key, "wanted at least one host, found an empty list", 'network = "off" means none')
    if sandbox == "off":
        message = 'network lists hosts, and sandbox = "off" takes away what holds commands to them'
        draft.problems.add(("permissions", "sandbox"), message, 'leave sandbox out, or say network = "on"')


def _each(draft: Draft, key: Key, entries: Iterable[str], check: Callable[[str], str | None]) -> None:
    for index, entry in enumerate(entries):
        if complaint := check(entry):
            draft.problems.add((*key, index), complaint)


def check_output(draft: Draft) -> None:
    """Check that the commands which check an answer can be run: each says something, and the mode reaches commands."""
    checks, key = draft.file.output.checks, ("output", "checks")
    _each(draft, key, checks, _check_command)
    if len(checks) > MAX_CHECKS:
        draft.problems.add(key, f"wanted at most {MAX_CHECKS} commands, found {len(checks)}", "one may be a script")
    if checks and not reaches(draft.file.mode, Effect.COMMAND):
        draft.problems.add(key, f'mode = "{draft.file.mode}" runs no commands, and these are commands', "leave it out")


def _check_command(command: str) -> str | None:
    if not command.strip():
        return "wanted a command, found only blanks"
    return "a command cannot hold NUL" if "\0" in command else None


def check_endpoints(draft: Draft, endpoints: Collection[str]) -> None:
    """Check that whoever is to be told is in the settings."""
    told: list[tuple[Key, str]] = [
        (("notify", index, "endpoint"), notify.endpoint) for index, notify in enumerate(draft.file.notify)
    ]
    told += [(("approval", "notify", index), name) for index, name in enumerate(draft.file.approval.notify)]
    for key, name in told:
        if name not in endpoints:
            hint = did_you_mean(name, sorted(endpoints)) or f"add [endpoints.{name}] to the settings"
            draft.problems.add(key, f"no endpoint is called {name!r}", hint)


def _prompt_key(draft: Draft) -> Key:
    return ("prompt",) if draft.file.prompt is not None else ("prompt_file",)
