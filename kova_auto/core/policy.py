"""Say which policy a run is under: the job's own words, and what this machine allowed besides."""

from __future__ import annotations

from functools import lru_cache

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Mode
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy
from kova_auto.core.approval.tables import Level
from kova_auto.core.consent import Standing
from kova_auto.core.event import RunRequested
from kova_auto.core.job import JobFile
from kova_auto.core.state import RunState

NOTHING = Standing()
_NO_GRANTS = Grants()


def policy_of(
    job: JobFile,
    attended: ApprovalLevel | None = None,
    *,
    user: Standing = NOTHING,
    remembered: Standing = NOTHING,
    mode: Mode | None = None,
) -> Policy:
    """Return the policy of a run of `job`.

    Args:
        job: Its own grants come first.
        attended: Level of an attended run; None takes the job's automation level.
        user: What the user's own permission file allows.
        remembered: What this machine allowed for this workspace.
        mode: That the run is in; None for the job's own.
    """
    asked, granted = job.approval, job.permissions
    level: Level = job.automation if attended is None else attended
    own = Standing(commands=granted.allow_commands, tools=granted.allow_mcp_tools)
    grants = _grants(own, Origin.JOB).plus(_grants(user, Origin.USER)).plus(_grants(remembered, Origin.LOCAL))
    return Policy(
        mode=mode or job.mode,
        level=level,
        grants=grants,
        web=granted.web,
        write_roots=_write_roots(granted.write_roots, level, user.write_roots + remembered.write_roots),
        read_roots=granted.read_roots,
        sandbox=granted.sandbox,
        commands=granted.commands,
        network=granted.network,
        when_needed=asked.when_needed,
        questions=asked.questions,
        secrets=tuple(sorted(job.env)),
    )


def _write_roots(own: tuple[str, ...], level: Level, others: tuple[str, ...]) -> tuple[str, ...]:
    """Return what counts as inside; what was allowed elsewhere widens nothing for a run that is to read only."""
    return tuple(dict.fromkeys(own if level is AutomationLevel.READ_ONLY else own + others))


class _Frozen:
    """Tell a run's opening, and what was remembered since, from others by what they are, not by what they hold."""

    __slots__ = ("mode", "remembered", "request")

    def __init__(self, request: RunRequested, remembered: Standing, mode: Mode) -> None:
        self.request, self.remembered, self.mode = request, remembered, mode

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Frozen):
            return NotImplemented
        is_of_run = other.request is self.request and other.remembered is self.remembered
        return is_of_run and other.mode is self.mode

    def __hash__(self) -> int:
        return id(self.request)


@lru_cache(maxsize=256)  # A run is asked for its policy several times for each of its calls.
def _policy_of(frozen: _Frozen) -> Policy:
    request = frozen.request
    remembered = request.remembered.plus(frozen.remembered)
    return policy_of(request.job, request.level, user=request.user, remembered=remembered, mode=frozen.mode)


def policy_of_run(state: RunState) -> Policy:
    """Return the policy that a run's next call is judged under.

    It is what the run was opened with, what was remembered since, and the mode that it is in.

    Computed from the run's facts alone: what files on disk say meanwhile changes later runs only.
    """
    return _policy_of(_Frozen(state.request, state.remembered, state.mode))


def _grants(standing: Standing, origin: Origin) -> Grants:
    if not (standing.commands or standing.tools):
        return _NO_GRANTS
    return Grants(
        tuple(Grant(rule, origin) for rule in standing.commands),
        tuple(Grant(tool, origin) for tool in standing.tools),
    )
