"""Where a run's lines are written to, and what is written of it there."""

from __future__ import annotations

import json
from io import StringIO

from kova_auto.app.control import Placed
from kova_auto.cli.account import Account
from kova_auto.cli.screen import Screen
from kova_auto.core.event import dump
from kova_auto.core.ids import CallId, child_run_id
from tests.cli.paper import Terminal, rows
from tests.lineage import a_parent, its_child
from tests.story import Story
from tests.support import a_request, at, call, says


def placed(story: Story) -> list[Placed]:
    return [Placed(seq=seq, event=event) for seq, event in enumerate(story.events, 1)]


def told(story: Story, screen: Screen, *, as_json: bool = False) -> None:
    Account(screen, as_json=as_json).take(placed(story))


SCRIPTED = "scripted: no model was called"
DONE = "\x1b[32m\x1b[1mdone\x1b[0m · 4.0 s"


def finished() -> Story:
    return Story(a_request(scripted=True)).says(says("All\x1b[1m is well.\n")).ends(answer="All\x1b[1m is well.\n")


def test_elsewhere_than_on_a_terminal_the_result_is_the_answer_alone() -> None:
    results, notes = StringIO(), StringIO()
    told(finished(), Screen(results, notes, {}))
    assert results.getvalue() == f"All is well.\n\n{SCRIPTED}\n"
    assert notes.getvalue().splitlines()[1:] == [
        "iteration 1  +2.0 s",
        "  10 tokens · 0.0010 USD",
        f"done · 4.0 s · 1 iteration · 0 calls · {SCRIPTED}",
    ]


def test_an_answer_that_a_model_gave_is_not_called_scripted() -> None:
    results = StringIO()
    told(Story().says(says("Fine.")).ends(answer="Fine."), Screen(results, StringIO(), {}))
    assert results.getvalue() == "Fine.\n"


def test_on_a_terminal_everything_is_in_its_order() -> None:
    results, notes = Terminal(), StringIO()
    told(Story().says(says("Fine.", tokens=0)).ends(answer="Fine."), Screen(results, notes, {}))
    assert notes.getvalue() == ""
    assert results.getvalue().splitlines()[2:] == [
        "",
        "Fine.",
        "",
        f"{DONE} · 1 iteration · 0 calls · 0 tokens",
    ]


def test_a_program_gets_one_fact_on_each_line_and_nothing_else() -> None:
    results, notes, story = StringIO(), StringIO(), finished()
    told(story, Screen(results, notes, {}, apart=True), as_json=True)
    lines = [json.loads(line) for line in results.getvalue().splitlines()]
    assert lines == [{"seq": seq, "event": json.loads(dump(event))} for seq, event in enumerate(story.events, 1)]
    assert notes.getvalue() == ""


def test_facts_from_before_are_taken_in_without_a_word() -> None:
    results, notes, story = StringIO(), StringIO(), finished()
    account = Account(Screen(results, notes, {}), as_json=False)
    account.take(placed(story), is_shown=False)
    assert (results.getvalue(), notes.getvalue(), account.seq, account.events) == ("", "", 6, story.events)


def test_the_status_is_gone_with_the_next_line() -> None:
    terminal = Terminal()
    account = Account(Screen(terminal, StringIO(), {}), as_json=False)
    account.take(placed(Story().asks()))
    account.show_doing(at("06:00:33"))
    assert rows(terminal.getvalue())[-1].startswith("\x1b[2mwaiting for m · 30 s")
    account.screen.line("next")
    assert rows(terminal.getvalue())[-2:] == ["next", ""]


def test_there_is_no_status_where_nobody_looks() -> None:
    notes = StringIO()
    screen = Screen(StringIO(), notes, {})
    screen.status("waiting")
    assert notes.getvalue() == ""


def test_a_status_of_wide_characters_stays_on_its_row() -> None:
    terminal = Terminal()
    Screen(terminal, StringIO(), {}).status("日本語" * 100)
    assert len(terminal.getvalue()) < 80


def test_what_a_subagent_of_a_subagent_does_stands_beneath_both_names() -> None:
    notes = StringIO()
    account = Account(Screen(StringIO(), notes, {}), as_json=False)
    parent = a_parent()
    above = its_child(parent)
    below = Story(above.request.model_copy(update={"run_id": child_run_id(above.run_id, CallId("1.1"))}))
    child = account.beneath()
    grandchild = child.beneath()
    child.take(placed(above), is_shown=False)
    grandchild.take(placed(below.says(says("", call("look")))))

    assert notes.getvalue().splitlines()[0].startswith("  explorer 1.1 > explorer 1.1 │ iteration 1")
