"""Say why a call may or may not happen, for the model and for a person: what is not allowed, and what still is.

A reason never names the level: how much it is trusted is nothing a model should reason about.
"""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.approval.facts import CallFacts, PathFact
from kova_auto.core.approval.hosts import named_hosts
from kova_auto.core.approval.levels import AutomationLevel, Effect
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.rules import Coverage, heeded
from kova_auto.core.approval.safe import listed
from kova_auto.core.approval.shell.refusal import say
from kova_auto.core.approval.tables import Box, Cell, Reach, Row, cell, reach, reaches

MAX_RULES_SHOWN = 12
MAX_PARTS_SHOWN = 3
MAX_PART_SHOWN = 80
MAX_SOURCE_SHOWN = 200
_SAFE_EXAMPLES = "git log, git diff, git show, git status, ls, cat, head, wc, grep, find"

_DOING: dict[Row, str] = {
    Row.READ_INSIDE: "Reading in the workspace",
    Row.READ_ELSEWHERE: "Reading outside the workspace and its roots",
    Row.WEB_READ: "Reading the web",
    Row.NOTE: "Keeping the session's own notes",
    Row.MEMORY_NEAR: "Writing the workspace's memory",
    Row.MEMORY_GLOBAL: "Writing the global memory",
    Row.WRITE_INSIDE: "Writing in the workspace",
    Row.WRITE_ELSEWHERE: "Writing outside the workspace and its write roots",
    Row.WRITE_GUARDED: "Changing a file that tells agents, git or CI what to do",
    Row.COMMAND: "Running this command",
    Row.OUTWARD: "Changing things outside this machine",
    Row.CONFIGURE: "Changing the configuration",
    Row.QUESTION: "Asking a question",
    Row.SUBAGENT: "Dispatching a subagent",
    Row.LEAVE_PLAN: "Carrying out the plan",
    Row.CONTRACT: "Judging the goal by these criteria",
}
_EFFECTS: dict[Effect, str] = {
    Effect.COMMAND: "commands are not run",
    Effect.SUBAGENT: "subagents are not dispatched",
    Effect.WRITE: "files are not written",
    Effect.MEMORY: "memory is not written",
    Effect.CONFIGURE: "the configuration is not changed",
    Effect.OUTWARD: "nothing outside is changed",
    Effect.GOAL: "the tools of goal mode do nothing",
    Effect.CONTRACT: "the tools of goal mode do nothing",
    Effect.PLAN: "the tools of plan mode do nothing",
    Effect.LEAVE_PLAN: "the tools of plan mode do nothing",
    Effect.WORK_NEEDED: "the tools of ask mode do nothing",
}
_MODE_TOOLS = (Effect.GOAL, Effect.CONTRACT, Effect.PLAN, Effect.LEAVE_PLAN, Effect.WORK_NEEDED)
_LOOKING = (Effect.READ, Effect.WEB_READ)
_INSTEAD: dict[Row, str] = {
    Row.READ_ELSEWHERE: "Work from what you can read, and say in your answer what you could not see.",
    Row.WEB_READ: "Work from what you can read, and say in your answer what you could not look up.",
    Row.COMMAND: "Say in your answer what you could not run.",
    Row.LEAVE_PLAN: "Nothing of it is done before.",
    Row.QUESTION: "Assume what is most likely, and say in your answer what you assumed.",
    Row.CONTRACT: "Change them as you were told, and propose them again.",
}
_TAINTED_ROWS = {Effect.WEB_READ: Row.WEB_READ, Effect.COMMAND: Row.COMMAND}
_PROPOSE = "Put what you would have changed into your answer."


def unknown_tool(facts: CallFacts) -> str:
    """Return the reason for a tool that nobody knows, or that does not say what it does to the world."""
    return f"There is no tool named {facts.call.tool!r}. You may still use the tools that you were given."


def arguments(facts: CallFacts) -> str:
    """Return the reason for arguments that do not fit."""
    return f"The arguments do not fit {facts.call.tool}: {facts.problem}. You may still call it with arguments that do."


def undeclared(facts: CallFacts) -> str:
    """Return the reason for a tool that would write without having said so."""
    return f"{facts.call.tool} would write a file, which it does not declare. You may still use the other tools."


def no_command() -> str:
    """Return the reason for an empty command."""
    return "The command is empty. You may still call the tool with a command."


def secret(path: PathFact) -> str:
    """Return the reason for a path where keys or our own state lie."""
    return (
        f"{path.path} lies where keys, settings or this service's own state are kept; no tool call reads or writes "
        "there, whoever approves. You may still work with the files of the workspace."
    )


def control_path(path: PathFact) -> str:
    """Return the reason for a path that steers what others run later."""
    return (
        f"{path.path} steers agents, git, editors, shells or this service; no tool call writes it, whoever approves. "
        f"You may still read and write other files as before. {_PROPOSE}"
    )


def mode(facts: CallFacts, policy: Policy) -> str:
    """Return the reason why the session's mode does not have an effect."""
    what = _EFFECTS.get(facts.effect, "this is not possible") if facts.effect else "this is not possible"
    instead = "Go on without it." if facts.effect in _MODE_TOOLS else _PROPOSE
    return f"In {policy.mode} mode {what}, whoever approves. {_still(policy)} {instead}"


def changing(facts: CallFacts, policy: Policy) -> str:
    """Return the reason why the session's mode does not dispatch a subagent that changes things."""
    return (
        f"In {policy.mode} mode only subagents that change nothing are dispatched, whoever approves, and this one has "
        f"{' and '.join(facts.changing)}. You may still dispatch one that only reads. {_PROPOSE}"
    )


def unagreed() -> str:
    """Return the reason for a change before it is agreed by what the goal is judged."""
    return (
        "Nothing is changed before a person has agreed by what the goal is judged: call goal_propose_criteria first. "
        "Until then you may still read and search, and run commands that need no approval."
    )


def narrowed(facts: CallFacts) -> str:
    """Return the reason for a tool that the loaded skills leave out."""
    instead = "Go on without it." if facts.effect in _LOOKING else _PROPOSE
    return (
        f"{facts.call.tool} is left out by the {facts.narrowed_by}. That holds until this attempt ends, whoever "
        f"approves. You may still use those, and read the skill's own files. {instead}"
    )


def no_confinement(facts: CallFacts, policy: Policy) -> str:
    """Return the reason why no command can run: the one sentence that a person can act on."""
    proof = facts.no_confinement.strip() or "nothing on this machine is proven to confine a command"
    why = 'the job says sandbox = "off"' if policy.sandbox == "off" else proof
    where = "In plan mode a command" if reach(policy.mode, Effect.COMMAND) is Reach.READING else "A command"
    needed = "runs only where it is proven to change nothing" if where != "A command" else "runs only confined"
    return f"{where} {needed}, and here it cannot be: {why.rstrip('.')}. {_still(policy)} {_INSTEAD[Row.COMMAND]}"


def needs_person(
    row: Row, path: PathFact | None, facts: CallFacts, policy: Policy, covered: Coverage | None = None
) -> str:
    """Return the reason why a call waits for a person, or is refused because none is there."""
    again = "" if policy.can_ask else " Do not try it again."
    return f"{_needing(row, path, facts, policy)}. {_remaining(row, facts, policy, covered)}{again}"


def refused(row: Row, path: PathFact | None, facts: CallFacts, policy: Policy) -> str:
    """Return the reason why a call is refused that a person at hand could have let through."""
    return f"{_what(row, path, facts)} is not allowed while nobody is at hand. {_remaining(row, facts, policy)}"


def tainted(facts: CallFacts, policy: Policy, way_out: str) -> str:
    """Return the reason why a call waits for a person in a run that has read untrusted text."""
    row = _TAINTED_ROWS.get(facts.effect, Row.OUTWARD) if facts.effect else Row.OUTWARD
    source = facts.tainted_by
    shown = source if len(source) <= MAX_SOURCE_SHOWN else f"{source[:MAX_SOURCE_SHOWN]}…"
    why = f"This run has read {shown}, and {way_out}."
    hosts = named_hosts(policy.web) if row is Row.WEB_READ else ()
    still = f"You may still read {', '.join(hosts)}." if hosts else _still(policy)
    again = "" if policy.can_ask else " Do not try it again."
    return f"{_needing(row, None, facts, policy)}. {why} {still} {_INSTEAD.get(row, _PROPOSE)}{again}"


def allowed(row: Row) -> str:
    """Return the reason where the level itself allows a call."""
    return f"{_DOING[row]} is allowed in this run."


def allowed_by(rule: str) -> str:
    """Return the reason where a rule, a list or a setting allows a call."""
    return f"Allowed by {rule}."


def nobody_answers() -> str:
    """Return the reason for a question that is answered at once."""
    return f"Nobody is there to answer. {_INSTEAD[Row.QUESTION]}"


def confinement(box: Box, policy: Policy) -> str:
    """Return the sentence that says how a command is confined."""
    match box:
        case Box.OPEN:
            return 'It runs without confinement, because the job says sandbox = "off".'
        case Box.WORKSPACE:
            return "It runs confined to the workspace."
        case Box.READING:
            is_chosen = any(map(_only_reads, policy.lineage))
            return "It runs where it can only read" + ("." if is_chosen else "; nothing wider is proven here.")


def _only_reads(policy: Policy) -> bool:
    return policy.level is AutomationLevel.READ_ONLY or reach(policy.mode, Effect.COMMAND) is Reach.READING


def _needing(row: Row, path: PathFact | None, facts: CallFacts, policy: Policy) -> str:
    nobody = "" if policy.can_ask else ", and nobody is there to give it"
    return f"{_what(row, path, facts)} needs a person's approval{nobody}"


def _what(row: Row, path: PathFact | None, facts: CallFacts) -> str:
    match row:
        case Row.WEB_READ if facts.host:
            return f"Reading {facts.host}"
        case Row.OUTWARD:
            return f"{_DOING[row]} ({facts.call.tool})"
        case _:
            return f"{_DOING[row]} ({path.path})" if path else _DOING[row]


def _remaining(row: Row, facts: CallFacts, policy: Policy, covered: Coverage | None = None) -> str:
    instead = _INSTEAD.get(row, _PROPOSE)
    match row:
        case Row.COMMAND:
            return f"{_commands(facts, policy, covered)} {_still(policy)} {instead}".lstrip()
        case Row.WEB_READ if policy.web:
            return f"You may still read {', '.join(policy.web)}. {instead}"
        case Row.MEMORY_GLOBAL if cell(policy.level, Row.MEMORY_NEAR) is Cell.ALLOW:
            return f"You may still write the workspace's memory. {instead}"
        case _:
            return f"{_still(policy)} {instead}"


def _commands(facts: CallFacts, policy: Policy, covered: Coverage | None) -> str:
    """Return what may be run, and the form in which it is recognised."""
    found = cell(policy.level, Row.COMMAND)
    if found is Cell.ASK:
        return ""
    texts = [grant.text for grant in heeded(policy)]
    shown = [*texts[:MAX_RULES_SHOWN], *(["more of this kind"] if len(texts) > MAX_RULES_SHOWN else [])]
    if found is not Cell.RULE:
        shown.append(f"commands that only read, such as {_SAFE_EXAMPLES}, with their plain options")
    may_run = f"You may still run: {'; '.join(shown)}." if shown else "No command is allowed beforehand."
    names = listed(facts.command or "") if found is not Cell.RULE else ()
    return may_run + (_missing(covered, names) if covered else "")


def _missing(found: Coverage, names: Sequence[str | None]) -> str:
    """Return what of the command stands in the way: what is not read, or the parts that nothing covers.

    Args:
        found: What the rules cover.
        names: By which its parts are on the list of commands that only read; none where that list has no say.
    """
    if found.refused:
        return f" {say(found.refused)}"
    known = names or (None,) * len(found.parts)
    open_parts = [part for part, name in zip(found.parts, known, strict=True) if not part.covered and name is None]
    if not open_parts:
        return " Without confinement, a command that only reads may name nothing outside the directory it runs in."
    if len(open_parts) == len(found.parts):
        return ""
    texts = [part.segment.text for part in open_parts[:MAX_PARTS_SHOWN]]
    shown = [text if len(text) <= MAX_PART_SHOWN else f"{text[:MAX_PART_SHOWN]}…" for text in texts]
    return f" What is not covered is {'; '.join(shown)}."


def _still(policy: Policy) -> str:
    writes = reaches(policy.mode, Effect.WRITE) and cell(policy.level, Row.WRITE_INSIDE) is Cell.ALLOW
    return f"You may still read and search{', and write,' if writes else ''} the files of the workspace."
