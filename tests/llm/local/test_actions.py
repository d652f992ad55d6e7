"""What the local model may choose from, and what is made of its choice."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from kova_auto.core.message import CallRequest, ResultStatus
from kova_auto.llm.local.actions import MOST_FILES, Choices, call_in, choices, known_files
from tests.llm.local.parts import OFFERED, after, user


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Read notes/today.txt and a.txt.", ["notes/today.txt", "a.txt"]),
        ("Summarise @CHANGELOG.md, @docs/a, please", ["CHANGELOG.md", "docs/a"]),
        ("What is in `Makefile`?", ["Makefile"]),
        ("See ../shared/x.tar.gz", ["../shared/x.tar.gz"]),
        ("e.g. version 2.4 of https://example.org/index.html at 10.30", []),
    ],
)
def test_files_are_known_by_what_a_person_wrote(text: str, named: list[str]) -> None:
    assert list(known_files([user(text)])) == named


def test_files_are_known_from_a_listing_without_its_notes_and_directories() -> None:
    listed = after("glob", "a.txt\nsrc/\nMakefile\n[2 more were left out]", pattern="*")
    assert list(known_files([user("Look."), *listed])) == ["a.txt", "Makefile"]


def test_a_file_that_was_named_may_be_read_once() -> None:
    asked = user("Read a.txt and b.txt.")
    assert choices([asked], OFFERED) == Choices(("a.txt", "b.txt"))
    read = after("read", "1\tx", file_path="a.txt")
    assert choices([asked, *read], OFFERED) == Choices(("b.txt",))
    failed = after("read", "no such file", ResultStatus.ERROR, file_path="b.txt")
    assert choices([asked, *read, *failed], OFFERED) == Choices()


def test_files_are_listed_where_none_is_known_or_none_could_be_read() -> None:
    assert choices([user("Look.")], OFFERED) == Choices(may_list=True)
    failed = after("read", "no such file", ResultStatus.ERROR, file_path="a.txt")
    assert choices([user("Read a.txt."), *failed], OFFERED) == Choices(may_list=True)
    listed = after("glob", "b.txt", pattern="*")
    assert choices([user("Read a.txt."), *failed, *listed], OFFERED) == Choices(("b.txt",))


def test_nothing_is_chosen_that_the_run_does_not_have() -> None:
    assert choices([user("Read a.txt.")], frozenset({"bash"})) == Choices()


def test_after_a_few_calls_it_must_answer() -> None:
    read = [message for name in "abc" for message in after("read", "1\tx", file_path=f"{name}.txt")]
    assert choices([user("Read a.txt b.txt c.txt d.txt"), *read], OFFERED) == Choices()


def test_no_choice_is_endless() -> None:
    asked = user(" ".join(f"file{number}.txt" for number in range(100)))
    assert len(choices([asked], OFFERED).files) == MOST_FILES


@pytest.mark.parametrize(
    ("action", "fits"),
    [
        ({"tool": "read", "file_path": "a.txt"}, True),
        ({"tool": "read", "file_path": "b.txt"}, False),
        ({"tool": "glob", "pattern": "*"}, False),
        ({"tool": "bash", "command": "ls"}, False),
        ({"final": "Done."}, True),
        ({"final": "Done.", "tool": "read"}, False),
    ],
)
def test_the_schema_admits_the_choices_and_nothing_else(action: object, fits: object) -> None:
    assert Draft202012Validator(Choices(("a.txt",)).schema).is_valid(action) is fits


def test_an_answer_is_all_that_is_left_without_choices() -> None:
    schema = Draft202012Validator(Choices().schema)
    assert (schema.is_valid({"final": ""}), schema.is_valid({"tool": "glob", "pattern": "*"})) == (True, False)


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('{"tool": "read", "file_path": "a.txt"}', CallRequest(tool="read", args={"file_path": "a.txt"})),
        ('{"final": "Done."}', None),
        ('{"tool": "read", "file_p', None),
        ('{"tool": 1}', None),
    ],
)
def test_an_action_is_a_call_only_if_it_is_whole(text: str, call: CallRequest | None) -> None:
    assert call_in(text) == call
