"""What "allow and remember" offers: what lets the same call pass the next time, and never what would not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Ruling
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy
from kova_auto.core.approval.write_roots import Place, places_of_system
from kova_auto.core.consent import Offer, Standing
from kova_auto.core.offering import offer, relevant
from tests.core.approval.approval_support import BOTH, at_every_level, command, facts, policy, read, rules, written

HOME = PurePath("/home/me")
PLACES = (Place(HOME, "your home directory", closed=False), *places_of_system())
ATTENDED = policy(ApprovalLevel.WORKSPACE_WRITE)
NOTHING = Standing()


def outside(path: str = "/home/me/src/lib/a.txt") -> CallFacts:
    return facts(Effect.WRITE, written(Zone.ELSEWHERE, path), tool="write")


def mcp(tool: str = "mcp__github__merge") -> CallFacts:
    return facts(Effect.OUTWARD, tool=tool)


def offered(call: CallFacts, under: Policy = ATTENDED, proposed: Standing = NOTHING) -> Offer:
    return offer(call, under, proposed, PLACES)


def test_a_command_is_remembered_as_rules() -> None:
    found = offered(command("npm test && git push origin main"))
    assert found == Offer(Standing(commands=("npm test *", "git push *")))


def test_what_is_allowed_already_is_not_offered_again() -> None:
    under = policy(ApprovalLevel.WORKSPACE_WRITE, grants=rules("npm test *", origin=Origin.USER))
    assert offered(command("npm test && make"), under).kept == NOTHING
    assert offered(command("npm test && git push"), under).kept == Standing(commands=("git push *",))


def test_what_of_a_command_stays_uncovered_is_said() -> None:
    found = offered(command("git push && node x.js"))
    assert found.kept == Standing(commands=("git push *",))
    assert found.why_not.startswith("this would be asked about again: node x.js, because ")


@pytest.mark.parametrize(
    "text", ["node x.js", "rm -rf x", "echo $(date)", "git push > f", "a |", "for f in a; do b; done"]
)
def test_a_command_that_cannot_be_remembered_says_why(text: str) -> None:
    found = offered(command(text))
    assert found.kept == NOTHING
    assert len(found.why_not) > 20
    assert not found.why_not.endswith(".")


def test_a_file_outside_is_remembered_as_its_directory() -> None:
    assert offered(outside()) == Offer(Standing(write_roots=("/home/me/src/lib",)))


def test_the_narrowest_root_that_the_workspace_proposes_comes_first() -> None:
    proposed = Standing(write_roots=("/home/me/src", "/home/me/src/lib", "/srv/x"))
    found = offered(outside("/home/me/src/lib/deep/er/a.txt"), proposed=proposed)
    assert found.kept == found.proposed == Standing(write_roots=("/home/me/src/lib",))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/a.txt", "/ is the whole machine"),
        ("/home/me/a.txt", "/home/me is your home directory"),
        ("/home/a.txt", "/home holds /home/me, your home directory"),
        ("/etc/cron.d/a", "/etc/cron.d lies in /etc, a directory of the system"),
    ],
)
def test_where_the_directory_may_be_no_root_nothing_is_offered_and_it_is_said_why(path: str, why: str) -> None:
    assert offered(outside(path)) == Offer(why_not=why)


def test_of_several_files_all_directories_are_remembered_or_none() -> None:
    two = facts(Effect.WRITE, written(Zone.ELSEWHERE, "/srv/x/a"), written(Zone.ELSEWHERE, "/home/me/b"))
    assert offered(two) == Offer(why_not="/home/me is your home directory")


def test_a_tool_of_a_server_is_remembered_by_its_full_name() -> None:
    assert offered(mcp(), proposed=Standing(tools=("mcp__github__merge", "mcp__x__y"))) == Offer(
        Standing(tools=("mcp__github__merge",)), proposed=Standing(tools=("mcp__github__merge",))
    )


def test_a_proposal_is_shown_as_far_as_the_call_needs_it_and_it_is_not_effective() -> None:
    proposed = Standing(commands=("git push *", "make *", "npm *"), write_roots=("/srv/x",), tools=("mcp__x__y",))
    under = policy(ApprovalLevel.WORKSPACE_WRITE, grants=rules("make *", origin=Origin.USER))
    found = offered(command("git push && make && ls"), under, proposed)
    assert found.proposed == Standing(commands=("git push *",))
    assert relevant(command("make"), proposed) == Standing(commands=("make *",))


UNHEEDED = (ApprovalLevel.ASK, ApprovalLevel.AUTO, AutomationLevel.READ_ONLY, AutomationLevel.FULL)


@pytest.mark.parametrize("level", UNHEEDED, ids=lambda level: f"{type(level).__name__}.{level}")
@pytest.mark.parametrize("call", [command("git push"), outside(), mcp()], ids=["command", "write", "tool"])
def test_nothing_is_offered_where_it_would_not_count(level: ApprovalLevel | AutomationLevel, call: CallFacts) -> None:
    found = offered(call, policy(level, when_needed="suspend"))
    assert found == Offer(why_not="nothing that is remembered counts in such a run")


@at_every_level
@pytest.mark.parametrize(
    ("call", "why"),
    [
        (facts(Effect.WRITE, written(Zone.GUARDED, "/w/AGENTS.md")), "/w/AGENTS.md tells agents, git or CI what to do"),
        (facts(Effect.QUESTION), "an answer is to this one question"),
        (facts(Effect.READ, read(Zone.ELSEWHERE, "/srv/a")), "read_roots in the job's file"),
        (facts(Effect.WEB_READ, host="example.org"), "web in the job's file"),
        (facts(Effect.CONFIGURE), "nothing of this kind is remembered"),
        (replace(command("git push"), tainted_by="the web page https://x.example/"), "the web page https://x.example/"),
        (replace(outside(), tainted_by="a webhook's body"), "the run has read a webhook's body"),
    ],
)
def test_some_calls_are_asked_about_each_time(
    level: ApprovalLevel | AutomationLevel, call: CallFacts, why: str
) -> None:
    found = offered(call, policy(level, when_needed="suspend"))
    assert found.kept == NOTHING
    assert why in found.why_not


def allowing(under: Policy, kept: Standing, call: CallFacts) -> tuple[Policy, CallFacts]:
    """Return the policy of a later run, and the same call's facts in it."""
    grants = Grants(
        tuple(Grant(rule, Origin.LOCAL) for rule in kept.commands),
        tuple(Grant(tool, Origin.LOCAL) for tool in kept.tools),
    )
    later = replace(under, grants=under.grants.plus(grants), write_roots=under.write_roots + kept.write_roots)
    return later, replace(call, paths=tuple(_placed(path, kept.write_roots) for path in call.paths))


def _placed(path: PathFact, roots: Sequence[str]) -> PathFact:
    is_below = path.zone is Zone.ELSEWHERE and any(PurePath(path.path).is_relative_to(root) for root in roots)
    return replace(path, zone=Zone.WRITE_ROOT) if is_below else path


calls = st.one_of(
    st.sampled_from(
        ["git push", "npm test && make", "ls | wc", "node x", "cd x && git pull", "a > b", "git -C x log"]
    ).map(command),
    st.lists(
        st.builds(
            PathFact,
            st.sampled_from(["/home/me/a", "/home/me/src/a", "/srv/x/y/a", "/etc/a", "/a"]),
            st.sampled_from([zone for zone in Zone if zone not in (Zone.CONTROL, Zone.SECRET, Zone.READ_ROOT)]),
            writes=st.booleans(),
        ),
        min_size=1,
        max_size=3,
    ).map(lambda paths: facts(Effect.WRITE, *paths, tool="write")),
    st.sampled_from(["mcp__a__b", "mcp__c__d"]).map(mcp),
)
standings = st.builds(
    Standing,
    commands=st.lists(st.sampled_from(["git push *", "node *", "*"]), max_size=2).map(tuple),
    write_roots=st.lists(st.sampled_from(["/home/me/src", "/srv/x", "/home/me"]), max_size=2).map(tuple),
    tools=st.lists(st.sampled_from(["mcp__a__b"]), max_size=1).map(tuple),
)


@settings(deadline=None)  # the machine may be busy
@given(calls, st.sampled_from(BOTH), standings)
def test_what_is_offered_without_reserve_lets_the_call_pass_the_next_time(
    call: CallFacts, level: ApprovalLevel | AutomationLevel, proposed: Standing
) -> None:
    under = policy(level, when_needed="suspend")
    found = offered(call, under, proposed)
    if found.kept and not found.why_not:
        later, again = allowing(under, found.kept, call)
        assert adjudicate(again, later).ruling is Ruling.ALLOW
    else:
        assert found.why_not


@settings(deadline=None)  # the machine may be busy
@given(calls, st.sampled_from(BOTH), standings)
def test_a_proposal_alone_never_changes_what_a_command_or_a_tool_is_offered(
    call: CallFacts, level: ApprovalLevel | AutomationLevel, proposed: Standing
) -> None:
    under = policy(level, when_needed="suspend")
    found, without_it = offered(call, under, proposed), offered(call, under)
    assert (found.kept.commands, found.kept.tools) == (without_it.kept.commands, without_it.kept.tools)
    parents = {str(PurePath(path.path).parent) for path in call.paths}
    assert set(found.kept.write_roots) <= parents | set(proposed.write_roots)
