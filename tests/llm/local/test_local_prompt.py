"""What the local model is told: the task whole, results as far as there is room."""

from __future__ import annotations

import pytest

from kova_auto.core.message import AssistantMessage, ResultStatus, TextPart, UserMessage
from kova_auto.llm.local.actions import READ, Choices, choices
from kova_auto.llm.local.prompt import cut, size_of_results, turns
from tests.llm.local.parts import after, user


def test_a_conversation_is_told_as_actions_and_results() -> None:
    failed = after("bash", "denied", ResultStatus.DENIED, command="ls " * 200)
    messages = [
        user("Read a.txt."),
        *after("glob", "a.txt\n[1 more]", pattern="*"),
        *after("read", "     1\tfirst\n     2\tsecond", file_path="a.txt"),
        *failed,
        AssistantMessage(text="It is done."),
        user("Say it again."),
    ]
    task, *rest = turns(messages, Choices(("a.txt",)), 1000)

    assert isinstance(task, dict)
    assert str(task["content"]).endswith("Task: Read a.txt.\n\nFiles: a.txt")
    assert rest == [
        {"role": "assistant", "content": '{"tool": "glob", "pattern": "*"}'},
        {"role": "user", "content": "Files:\na.txt"},
        {"role": "assistant", "content": '{"tool": "read", "file_path": "a.txt"}'},
        {"role": "user", "content": "Content of a.txt:\nfirst\nsecond"},
        {"role": "assistant", "content": '{"tool": "bash", "command": "' + ("ls " * 200)[:200] + '"}'},
        {"role": "user", "content": "bash: denied\ndenied"},
        {"role": "assistant", "content": '{"final": "It is done."}'},
        {"role": "user", "content": "Say it again."},
    ]
    assert size_of_results(messages) == len("a.txt" + "first\nsecond" + "denied")


@pytest.mark.parametrize(
    ("room", "kept"),
    [(100, (3, 20, 30)), (53, (3, 20, 30)), (43, (3, 20, 20)), (23, (3, 10, 10)), (3, (1, 1, 1)), (0, (0, 0, 0))],
)
def test_long_results_are_cut_first_and_alike(room: int, kept: tuple[int, ...]) -> None:
    texts = ["A" * 3, "B" * 20, "C" * 30]
    shown = cut(texts, room)
    assert tuple(text.count(name) for text, name in zip(shown, "ABC", strict=True)) == kept
    assert [
        f"[{len(text) - size} characters left out" in told for text, size, told in zip(texts, kept, shown, strict=True)
    ] == [size < len(text) for text, size in zip(texts, kept, strict=True)]


def test_of_a_prompt_only_the_task_is_told_and_names_files() -> None:
    prompt = UserMessage(parts=(TextPart(text="Read @a.txt."), TextPart(text="<<< a.txt\nsee b.txt\n>>>")))
    again = UserMessage(parts=(TextPart(text="And c.txt?"),))
    options = choices([prompt, again], frozenset({READ}))
    (task, _) = turns([prompt, again], options, room=100)

    assert options.files == ("a.txt", "c.txt")
    assert isinstance(task, dict)
    assert str(task["content"]).endswith("Task: Read @a.txt.\n\nFiles: a.txt, c.txt")
