"""A replay as a person reads it."""

from __future__ import annotations

from kova_auto.cli.ink import Ink
from kova_auto.cli.replay import replay_lines
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.recording import Pairing, recording_of
from kova_auto.core.replay import End, Ending, Replayed, compared
from kova_auto.core.steps import Finish
from tests.story import Story
from tests.support import call, says

DONE = End(Ending.FINISHED, "done", finish=Finish(Outcome.DONE, "Well."))


def lines(then: Story, now: Story, end: End = DONE, unjudged: str = "", *, plays: bool = True) -> list[str]:
    recording = recording_of(then.events)
    pairing = Pairing(recording.calls)
    for reply in now.state.replies:
        for asked in reply.calls:
            pairing = pairing.plus(asked, reply.iteration)
    replay = compared(recording, Replayed(now.state, pairing, end, unjudged, plays=plays))
    return list(replay_lines(replay, Ink()))


def test_no_difference_is_said_in_as_many_words() -> None:
    story = Story().says(says("I look.", call("look", path="a"))).does("1.1").says(says("")).ends()
    assert lines(story, story, unjudged="its workspace is gone") == [
        "replay of run nightly@20261201T060000Z, attempt 1, its recorded replies played; nothing was executed",
        "├─ its workspace is gone",
        "├─ iteration 1  same  10 tokens, 0.0010 USD",
        "│    I look.",
        '│    = 1.1 look {"path": "a"}  allow test.allow',
        "├─ iteration 2  same  10 tokens, 0.0010 USD",
        "│    (said nothing)",
        "└─ no difference: done",
        "   20 tokens, 0.0020 USD",
    ]


def test_every_difference_stands_where_it_is() -> None:
    then = Story().says(says("I look.\nThen I write.", call("look", path="a"), call("change"))).does("1.1")
    then.refuses("1.2").says(says("Well.")).ends(Outcome.FAILED)
    now = Story().says(says("I look.\nThen I tell.", call("look", path="b"), call("change"), cost_usd=None))
    now.rules("1.1", Ruling.DENY)
    end = End(Ending.DIVERGED, "the recording holds no such call of look", call_id=CallId("1.1"))
    assert lines(then, now, end, plays=False) == [
        "replay of run nightly@20261201T060000Z, attempt 1, asked of test/model; nothing was executed",
        "├─ iteration 1  differs  10 tokens, 0.0010 USD → 10 tokens, cost unknown",
        "│    --- then",
        "│    +++ now",
        "│    @@ -1,2 +1,2 @@",
        "│     I look.",
        "│    -Then I write.",
        "│    +Then I tell.",
        '│    ! 1.1 look {"path": "b"}  allow test.allow → deny test.deny',
        '│      recorded: look {"path": "a"}',
        "│      diverged here",
        "│    = 1.2 change {}  not judged",
        "└─ diverged here: call 1.1: the recording holds no such call of look",
        "   1 recorded iteration it did not come to",
        "   20 tokens, 0.0020 USD → 10 tokens, cost unknown",
    ]


def test_calls_in_another_place_and_calls_that_are_missing_have_their_signs() -> None:
    then = Story().says(says("", call("look"), call("find"))).does("1.1").refuses("1.2").ends(Outcome.BLOCKED)
    now = Story().says(says("")).says(says("", call("find"))).starts("2.1")
    assert [line for line in lines(then, now) if line.startswith(("│    ~", "│    -", "└"))] == [
        "│    - 1.1 look {}  not asked for now",
        "│    ~ 1.2 → 2.1 find {}  deny test.deny → allow test.allow",
        "└─ differs: blocked → done",
    ]


def test_what_a_model_says_does_not_act_on_the_terminal() -> None:
    then, now = Story().says(says("One \x1b[2J")), Story().says(says("Two \x1b[2J\u202e"))
    shown = lines(then, now, End(Ending.RECORDING, "it ends \x1b[31mhere"))
    assert not {"\x1b", "\u202e"} & set("".join(shown))


def test_a_long_difference_is_cut() -> None:
    then = Story().says(says("\n".join(f"{number}" for number in range(60))))
    shown = lines(then, Story().says(says("")))
    assert shown[26:28] == ["│    … (39 more lines)", "└─ differs: not finished → done"]
