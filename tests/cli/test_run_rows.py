"""Runs as rows, and one of them with all that is known of it."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from kova_auto.cli.ink import Ink
from kova_auto.cli.listing import listing
from kova_auto.cli.run_rows import HEAD, by_jobs, cells, run_json, run_lines, under_jobs
from kova_auto.core.event import CheckResult, ChecksFinished, ChecksStarted, ContextAssembled
from kova_auto.core.job import Outcome
from kova_auto.core.message import Usage
from kova_auto.core.source import Source, SourceKind
from kova_auto.core.view import run_row
from tests.lineage import a_parent, its_child
from tests.story import Story
from tests.support import a_job, a_request, at, call, says

BERLIN = ZoneInfo("Europe/Berlin")
WHY = "why " * 50
NOTIFIED = a_job(notify=[{"endpoint": "ci"}])


def a_finished_story() -> Story:
    story = Story(a_request(scripted=True, job=NOTIFIED, inputs={"branch": "main"}))
    story.says(says("", call("look", path="a"), call("change"))).does("1.1", "seen").refuses("1.2", "not here")
    return story.says(says("All\x07 is well.\n")).ends(answer="All\x07 is well.\n").delivers("delivered")


def test_a_list_fits_its_place_and_says_what_must_not_be_forgotten() -> None:
    row = run_row(Story(a_request(scripted=True, staged=True)).ends(Outcome.FAILED, reason=WHY).state)
    assert listing(HEAD, [cells(row, BERLIN)], Ink(width=120)).splitlines() == [
        "RUN                       ASKED FOR                  STATUS                    CALLS  TOKENS  ANSWER",
        f"nightly@20261201T060000Z  2026-12-01 07:00:00+01:00  failed, staged, scripted  0      0       {WHY[:35]}…",
    ]


def test_a_subagent_that_has_said_nothing_yet_has_its_name_alone() -> None:
    child = its_child(a_parent())
    before = cells(run_row(child.state), BERLIN)
    after = cells(run_row(child.ends(answer="All is well.").state), BERLIN)
    assert (before[-1], after[-1]) == ("explorer", "explorer: All is well.")


def test_a_run_is_shown_with_all_that_is_known_of_it() -> None:
    assert list(run_lines(a_finished_story().state, BERLIN, Ink())) == [
        "run nightly@20261201T060000Z",
        "  status      done, scripted",
        "  why         the model asked for nothing more and gave its answer",
        "  job         nightly /jobs/nightly.toml",
        "  model       m (scripted: no model was called)",
        "  mode        agent, read-only",
        "  workspace   /srv/app",
        "  inputs      branch=main",
        "  asked for   2026-12-01 07:00:00+01:00",
        "  started     2026-12-01 07:00:01+01:00",
        "  finished    2026-12-01 07:00:12+01:00",
        "  took        11.0 s, attempt 1, 2 iterations",
        "  used        20 tokens · 0.0020 USD",
        "",
        "calls",
        "  1.1  look path=a  allow (test.allow)",
        "      ok: seen",
        "  1.2  change  deny (test.deny)",
        "      denied: not here",
        "",
        "deliveries",
        "  msg_ne7vuvsaxkdfakb5gmhfzpj6bv  ci  delivered, 1 attempt: the receiver answered",
        "",
        "answer",
        "All is well.",
    ]


def test_what_each_iteration_used_is_shown_with_its_price() -> None:
    billed = Usage(input_tokens=7, output_tokens=2, cost_usd=None)
    story = Story().says(says("", call("look"), tokens=1200)).does("1.1").fails("broke off", usage=billed)
    state = story.says(says("Done.", cost_usd=0.25)).ends().state
    shown = list(run_lines(state, BERLIN, Ink()))

    assert shown[shown.index("usage") : shown.index("calls") - 1] == [
        "usage",
        "  1  m  1,200 in, 0 out · 0.0010 USD",
        "  2  m  17 in, 2 out · at least 0.2500 USD, 1 of 2 calls without a reply",
    ]


def test_a_program_gets_every_call_and_delivery() -> None:
    story = a_finished_story()
    shown = run_json(story.state, story.events)
    names = ["run", "why", "continues", "attempts", "answer", "goal", "context", "calls", "usage"]
    assert list(shown) == [*names, "subagents", "deliveries"]
    assert shown["answer"] == "All\x07 is well.\n"
    assert shown["run"] == run_row(story.state).model_dump(mode="json")


def test_a_run_that_waits_for_its_next_attempt_says_when_that_begins_and_because_of_what() -> None:
    story = Story().begins_again(at("07:00:30"))
    told = "attempt 2 at 2026-12-01 08:00:30+01:00, because attempt 1 ended as failed: busy"
    assert (cells(run_row(story.state), BERLIN)[2], cells(run_row(story.state), BERLIN)[-1]) == ("queued", told)
    shown = list(run_lines(story.state, BERLIN, Ink()))
    assert "  attempt 2   2026-12-01 08:00:30+01:00, because attempt 1 ended as failed: busy" in shown
    why = "attempt 2 begins at 2026-12-01 07:00:30 UTC, because attempt 1 ended as failed: busy"
    assert run_json(story.state, story.events)["why"] == why


def test_of_very_many_calls_those_that_did_not_go_well_are_shown_and_how_many_did() -> None:
    story = Story(model="a/b").says(says("", *(call("look") for _ in range(40))))
    for number in range(1, 41):
        story = story.refuses(f"1.{number}", "no") if number == 7 else story.does(f"1.{number}")
    shown = list(run_lines(story.state, BERLIN, Ink()))
    calls = shown[shown.index("calls") + 1 :]
    assert calls == [
        "  1.7  look  deny (test.deny)",
        "      denied: no",
        f"  39 more; all of them: kova-auto runs loop {story.run_id}",
    ]


def test_of_very_many_iterations_the_sum_of_each_model_is_shown() -> None:
    story = Story(model="a/b")
    for number in range(1, 36):
        story = story.says(says("", call("look"))).does(f"{number}.1")
    shown = list(run_lines(story.state, BERLIN, Ink()))
    assert shown[shown.index("usage") + 1] == "  all  a/b  350 in, 0 out · 0.0350 USD"


def test_what_a_run_was_shown_besides_its_prompt_is_listed() -> None:
    story = Story()
    sources = (
        Source(kind=SourceKind.INSTRUCTIONS, name="AGENTS.md", chars=1200),
        Source(kind=SourceKind.MENTION, name="gone.md", problem="there is no such file"),
    )
    story.events[2] = ContextAssembled(at=at("06:00:02"), system="", prompt=(), tools=(), sources=sources)
    shown = list(run_lines(story.state, BERLIN, Ink()))
    assert shown[shown.index("context") + 1 :] == [
        "  instructions AGENTS.md (1,200 characters)",
        "  not mention gone.md, as there is no such file",
    ]
    assert run_json(story.state, story.events)["context"] == [source.model_dump(mode="json") for source in sources]


def test_a_goal_and_what_the_answer_was_checked_by_are_shown() -> None:
    story = Story(a_request(job=a_job(mode="goal", goal={"criteria": ["it works"]}), continues="nightly@before"))
    story.says(says("Done."))
    story.events += [
        ChecksStarted(at=story.later(), iteration=1),
        ChecksFinished(at=story.later(), iteration=1, results=(CheckResult(command="test -s a", exit_code=1),)),
    ]
    shown = list(run_lines(story.state, BERLIN, Ink()))
    assert [line for line in shown if "nightly@before" in line] == ["  continues   nightly@before"]
    assert run_json(story.state, story.events)["continues"] == "nightly@before"
    assert run_json(Story().state, Story().events)["continues"] is None
    goal = shown.index("goal")
    assert shown[goal + 1 : goal + 3] == ["  active, turn 1 of 30: Look.", "  c1 not judged yet  it works"]
    assert shown[shown.index("checks") + 1] == "  `test -s a` ended with 1 after 0.0 s"


def test_runs_of_a_job_stand_together_under_its_name() -> None:
    rows = [run_row(Story(a_request(job=a_job(name), run_id=f"{name}@{at}")).state) for name, at in NAMED]
    groups = by_jobs(rows)
    assert [(job, [row.run_id for row in group]) for job, group in groups.items()] == [
        ("b", ["b@3", "b@1"]),
        ("a", ["a@2"]),
    ]
    lines = ["HEAD", "b@3 …", "b@1 …", "a@2 …"]
    assert list(under_jobs(lines, groups, Ink())) == ["HEAD", "b  2 runs", "b@3 …", "b@1 …", "a  1 run", "a@2 …"]


NAMED = [("b", 3), ("a", 2), ("b", 1)]
