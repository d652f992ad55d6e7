"""What a summary must not lose, and what is said of it where it did."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.context.kept import MOST_RESTORED, lost
from kova_auto.core.ids import blob_hash, call_id
from kova_auto.core.message import FileChange, ResultStatus
from kova_auto.core.run import RunState
from kova_auto.core.settling import NOBODY
from tests.core.context.foldings import after, context, looked
from tests.core.facts import acquired, answered, asked, decided, judged, process, result, run_of, started
from tests.support import call, says

ONE, TWO = blob_hash(b"1"), blob_hash(b"2")
TODO = (
    {"subject": "Write the tests", "status": "in_progress"},
    {"subject": "Read the code", "status": "completed"},
    {"subject": "Tell ada", "status": "pending"},
)
ALL = 10_000


def changed(path: str, before: str | None = None, after: str | None = ONE) -> FileChange:
    return FileChange.model_validate({"path": f"/srv/app/{path}", "before": before, "after": after})


def a_run(*results: dict[str, object]) -> RunState:
    """Return a run with one iteration for each of these results."""
    facts = [event for number, more in enumerate(results, 1) for event in looked(number, 100, result=more)]
    return run_of(acquired(), context(), facts)


def ruled_by(decision: Decision, *, by: str = "ada", note: str = "") -> RunState:
    """Return a run in which somebody had the say about one call."""
    reply = says("", call("bash", command="make deploy"))
    key = call_id(1, 1)
    facts = [
        *answered(reply),
        judged(Ruling.ASK, key),
        asked(key),
        decided(decision, key, by=by, note=note),
        *([started(key)] if decision is not Decision.DENY else []),
        result() if decision is not Decision.DENY else result(ResultStatus.DENIED),
    ]
    return run_of(acquired(), context(), facts)


def test_what_is_left_to_do_is_not_lost() -> None:
    state = a_run({"todo": TODO}, {})

    assert lost(state, 2, "", ALL) == ("to do (in progress): Write the tests", "to do (pending): Tell ada")
    assert lost(state, 2, "I still have to WRITE\n the tests.", ALL) == ("to do (pending): Tell ada",)


def test_a_list_that_the_model_still_sees_is_not_said_again() -> None:
    assert lost(a_run({}, {"todo": TODO}), 1, "", ALL) == ()


def test_by_what_the_goal_is_judged_is_not_lost() -> None:
    state = a_run({"criteria": ("the tests pass", "the page is there")})
    assert lost(state, 1, "c1: the tests pass", ALL) == ("by this the goal is judged: c2: the page is there",)


def test_a_plan_is_not_lost() -> None:
    state = a_run({"plan": "First, look.\nThen, leap."})
    assert lost(state, 1, "", ALL) == ("the plan, as you wrote it:\nFirst, look.\nThen, leap.",)
    assert lost(state, 1, "The plan: First, look. Then, leap.", ALL) == ()


def test_files_are_named_by_what_became_of_them_and_the_last_first() -> None:
    state = a_run(
        {"changes": (changed("a.py"), changed("docs/b.md", ONE))},
        {"changes": (changed("c.py", ONE, None),), "reads": {"/etc/hosts": ONE, "/srv/app/a.py": ONE}},
        {"changes": (changed("a.py", ONE, TWO),)},
    )
    assert lost(state, 3, "", ALL) == ("created: a.py", "removed: c.py", "edited: docs/b.md", "read: /etc/hosts")


@pytest.mark.parametrize(
    ("summary", "kept"),
    [
        ("I wrote a.py.", True),
        ("I wrote `/srv/app/a.py`", True),
        ("in a.py: a class", True),
        ("I wrote data.py and a.pyc", False),
        ("I wrote b/a.py", False),
        ("I wrote A.PY", False),
    ],
)
def test_a_path_is_kept_where_it_stands_by_itself(summary: str, kept: bool) -> None:
    assert (lost(a_run({"changes": (changed("a.py"),)}), 1, summary, ALL) == ()) is kept


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (ruled_by(Decision.ONCE), ("ada allowed bash make deploy",)),
        (ruled_by(Decision.REMEMBER), ("ada allowed for good bash make deploy",)),
        (ruled_by(Decision.DENY, note="not on a Friday"), ("ada refused bash make deploy: not on a Friday",)),
        (ruled_by(Decision.DENY, by=NOBODY), ()),
    ],
)
def test_what_a_person_decided_is_not_lost(state: RunState, said: tuple[str, ...]) -> None:
    assert lost(state, 1, "", ALL) == said
    assert lost(state, 1, "Ada spoke about `make deploy`.", ALL) == ()


def test_what_was_left_open_is_not_lost() -> None:
    facts = []
    for number, status in enumerate((ResultStatus.OK, ResultStatus.UNKNOWN, ResultStatus.DENIED), 1):
        key = call_id(number, 1)
        facts += answered(says("", call("bash", command=f"do {number}")), number)
        if status is ResultStatus.DENIED:
            facts += [judged(Ruling.DENY, key), result(status, key)]
            continue
        facts += [judged(Ruling.ALLOW, key), started(key)]
        facts += [process(key, background=True), result(status, key)] if number == 1 else [result(status, key)]
    state = run_of(acquired(), context(), facts)

    assert lost(state, 3, "", ALL) == (
        "started in the background as task 1.1: do 1",
        "cut off, and it may or may not have happened: bash do 2",
        "refused, and not to be repeated: bash do 3",
    )
    assert lost(state, 3, "Task 1.1 goes on; check on do 2, and leave do 3.", ALL) == ()
    assert len(lost(state, 3, "Task 11.1, 1.12", ALL)) == 3


def test_what_earlier_summaries_stood_for_is_still_on_record() -> None:
    state = a_run({"changes": (changed("a.py"),)}, *[{}] * 6)
    assert lost(state, 6, "Nothing.", ALL) == ("created: a.py",)


def test_that_the_end_is_near_is_not_lost() -> None:
    state = a_run({})
    told = answered(says("Well."), 2)
    hurried = after(state, told[0].model_copy(update={"hurries": True}), told[1])
    assert lost(hurried, 1, "", ALL)[0].startswith("you were told to come to an end")


def test_what_there_is_no_room_for_is_counted() -> None:
    state = a_run({"changes": tuple(changed(f"src/{number:04}.py") for number in range(900))})
    found = lost(state, 1, "", ALL)

    assert sum(map(len, found)) <= MOST_RESTORED
    assert found[-1] == f"and {900 - len(found) + 1} more, for which there is no room here"
    assert lost(state, 1, "", 50)[-1] == "and 898 more, for which there is no room here"
