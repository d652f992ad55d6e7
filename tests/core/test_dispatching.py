"""A child may do what its parent may and no more: same verdicts, same reasons; it tells nobody, and has less time."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode
from kova_auto.core.approval.tables import reaches
from kova_auto.core.consent import Standing
from kova_auto.core.dispatching import Dispatch, child_of
from kova_auto.core.event import Event, RunAcquired, RunRequested
from kova_auto.core.ids import CallId
from kova_auto.core.job import Job
from kova_auto.core.policy import policy_of_run
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.state import replace
from kova_auto.core.subagents.definition import GRANTABLE, Subagent
from tests.core.approval.approval_support import BOTH, at_every_level, command, facts, read, written
from tests.core.approval.test_verdict_properties import calls as any_calls
from tests.support import a_job, a_request, at

AGENT = Subagent(name="helper", description="Helps.", prompt="Help.", tools=GRANTABLE)
COMMANDS = ("git log", "npm test", "rm -rf /", "curl https://a.example", "cat /etc/shadow; ls", "ls", "make")
MODES = (Mode.AGENT, Mode.GOAL, Mode.PLAN)
"""In the fourth nobody is dispatched."""
CALLS = {
    **{f"read {zone}": facts(Effect.READ, read(zone), tool="read") for zone in Zone},
    **{f"write {zone}": facts(Effect.WRITE, written(zone), tool="write") for zone in Zone},
    **{f"$ {text}": command(text) for text in COMMANDS},
    **{f"unconfined $ {text}": command(text, frozenset(), "no bwrap") for text in COMMANDS},
    **{f"{host}": facts(Effect.WEB_READ, tool="web_fetch", host=host) for host in ("a.example", "b.example")},
    **{
        f"tainted {host}": facts(Effect.WEB_READ, host=host, tainted_by="a page") for host in ("a.example", "b.example")
    },
    "mcp": facts(Effect.OUTWARD, tool="mcp__a"),
    "mcp that is exempt": facts(Effect.OUTWARD, tool="mcp__b"),
    "memory": facts(Effect.MEMORY, written(Zone.INSIDE), tool="memory_write"),
    "settings": facts(Effect.CONFIGURE),
    "a question": facts(Effect.QUESTION, tool="question"),
    "a broken call": facts(Effect.READ, problem="no such argument"),
    "an undeclared tool": facts(None),
    "a note": facts(Effect.NOTE, tool="todo"),
}


def a_parent(mode: Mode, level: ApprovalLevel | AutomationLevel, **changes: object) -> RunState:
    job = a_job(
        "nightly",
        mode=mode,
        automation=level if isinstance(level, AutomationLevel) else AutomationLevel.READ_ONLY,
        permissions={
            "allow_commands": ["npm *"],
            "allow_mcp_tools": ["mcp__b"],
            "web": ["a.example"],
            "write_roots": ["/srv/more"],
            "read_roots": ["/srv/books"],
        },
        env={"TOKEN": {"env": "TOKEN"}},
        agents={"allow": ["helper"]},
        **changes,
    )
    attended = level if isinstance(level, ApprovalLevel) else None
    user, remembered = Standing(commands=("make",)), Standing(commands=("ls -la",))
    return opened(a_request(job=job, level=attended, user=user, remembered=remembered))


def dispatched(parent: RunState, **changes: object) -> RunState:
    more = {"agent": AGENT, "task": "Look.", **changes}
    return opened(child_of(parent, Dispatch(CallId("1.1"), **more), at("06:00:10")))  # type: ignore[arg-type]


def answer(call: CallFacts, state: RunState) -> dict[str, object]:
    """Return the verdict without the hash, which only says that these are two policies."""
    return adjudicate(call, policy_of_run(state)).model_dump(exclude={"policy_hash"})


@pytest.mark.parametrize("mode", MODES)
@at_every_level
def test_a_child_that_tries_what_its_parent_may_not_gets_the_same_answer(
    level: ApprovalLevel | AutomationLevel, mode: Mode
) -> None:
    parent = a_parent(mode, level)
    child = dispatched(parent)
    assert {name: answer(call, child) for name, call in CALLS.items()} == {
        name: answer(call, parent) for name, call in CALLS.items()
    }


@settings(deadline=None, max_examples=200)
@given(any_calls, st.sampled_from([Mode.AGENT, Mode.PLAN]), st.sampled_from(BOTH))
def test_any_call_at_all_gets_the_same_answer(
    call: CallFacts, mode: Mode, level: ApprovalLevel | AutomationLevel
) -> None:
    parent = a_parent(mode, level)
    assert answer(call, dispatched(parent)) == answer(call, parent)


def test_nobody_is_dispatched_where_only_questions_are_answered() -> None:
    assert [mode for mode in Mode if reaches(mode, Effect.SUBAGENT)] == [Mode.AGENT, Mode.PLAN, Mode.GOAL]


@pytest.mark.parametrize("mode", MODES)
def test_a_child_plans_where_its_parent_does(mode: Mode) -> None:
    assert dispatched(a_parent(mode, AutomationLevel.FULL)).mode is (Mode.PLAN if mode is Mode.PLAN else Mode.AGENT)


def test_what_was_allowed_in_its_parent_for_good_counts_in_a_child() -> None:
    parent = replace(a_parent(Mode.AGENT, ApprovalLevel.WORKSPACE_WRITE), remembered=Standing(commands=("make",)))
    child = dispatched(parent)
    assert "make" in child.request.remembered.commands
    assert "ls -la" in child.request.remembered.commands
    assert adjudicate(command("make"), policy_of_run(child)).ruling == "allow"


def test_a_child_knows_what_its_parent_has_read() -> None:
    parent = replace(a_parent(Mode.AGENT, AutomationLevel.FULL), tainted_by="a page of c.example")
    assert dispatched(parent).tainted_by == "a page of c.example"


def test_a_child_tells_nobody_but_whom_its_parent_asks() -> None:
    told = {"notify": [{"endpoint": "ci"}], "approval": {"notify": ["desk"], "when_needed": "suspend"}}
    job = dispatched(a_parent(Mode.AGENT, AutomationLevel.READ_ONLY, **told)).job
    assert job.notify == ()
    assert job.approval.notify == ("desk",)


def test_a_child_has_as_much_time_as_its_parent_has_left() -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL, limits={"timeout": timedelta(minutes=5), "iterations": 3})
    facts_: list[Event] = [RunAcquired(at=at("06:00:00"), epoch=1, worker="one")]
    begun = replace(reduce(apply, facts_, parent), ran_s=290.0, last_at=at("06:00:10"))
    assert dispatched(begun).job.limits.timeout == timedelta(seconds=10)
    assert dispatched(replace(begun, ran_s=400.0)).job.limits.timeout == timedelta(seconds=1)


@pytest.mark.parametrize(("defined", "turns"), [(7, 7), (None, 50)])
def test_a_child_has_the_replies_of_its_definition(defined: int | None, turns: int) -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL, limits={"iterations": 3, "tokens": 70, "cost_usd": 0.5})
    limits = dispatched(parent, agent=AGENT.model_copy(update={"max_turns": defined})).job.limits
    assert (limits.iterations, limits.tokens, limits.cost_usd) == (turns, 70, 0.5)


def test_a_childs_child_has_no_tool_that_the_child_lacks() -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL)
    reader = AGENT.model_copy(update={"tools": ("read", "grep")})
    child = dispatched(parent, agent=reader, deepest=3)
    below = dispatched(child, deepest=3)
    by = below.request.child_of
    assert by
    assert (by.tools, by.depth, by.root, by.run_id) == (("read", "grep"), 2, parent.run_id, child.run_id)


def test_whoever_is_deepest_dispatches_nobody() -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL)
    assert dispatched(parent, deepest=1).job.agents.allow == ()
    assert dispatched(parent, deepest=2).job.agents.allow == ("helper",)
    assert dispatched(dispatched(parent, deepest=2), deepest=2).job.agents.allow == ()


def test_a_child_has_the_servers_of_its_definition_that_its_parent_has() -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL, mcp={"servers": ["db", "mail"]})
    assert dispatched(parent, agent=AGENT.model_copy(update={"servers": ("db", "chat")})).job.mcp.servers == ("db",)


def test_what_opens_a_child_survives_the_journal() -> None:
    request = dispatched(a_parent(Mode.AGENT, AutomationLevel.FULL)).request
    assert RunRequested.model_validate_json(request.model_dump_json()) == request
    assert isinstance(request.job, Job)


def test_a_child_works_where_its_parent_does_and_belongs_to_the_same_workspace() -> None:
    parent = a_parent(Mode.AGENT, AutomationLevel.FULL, isolation="copy")
    apart = replace(parent, request=parent.request.model_copy(update={"workspace": "/cache/copies/1/app"}))
    child = dispatched(apart)
    assert (child.request.workspace, child.job.workspace) == ("/cache/copies/1/app", parent.job.workspace)
