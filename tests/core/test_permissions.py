"""A permissions document: what of it counts, what is said about the rest, and that a writer keeps what it finds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.permissions import (
    LISTS,
    LONGEST,
    Document,
    added,
    parse_permissions,
    removed,
    render_permissions,
    without,
)

PATH = "/home/me/.kova/permissions.json"
ALL = Standing(commands=("git log *",), write_roots=("../shared",), tools=("mcp__github__search",))
FILE = {"writeRoots": ["../shared"], "allowCommands": ["git log *"], "allowMcpTools": ["mcp__github__search"]}


def read(value: object) -> Document:
    return parse_permissions(json.dumps(value), PATH)


def said(document: Document) -> list[str]:
    return [problem.sentence.removeprefix(f"{PATH}: ") for problem in document.problems]


def test_the_three_lists_are_read_and_trimmed() -> None:
    document = read({name: [f"  {entry}\n" for entry in entries] for name, entries in FILE.items()})
    assert (document.standing, document.problems) == (ALL, ())


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"writeRoots": null, "allowCommands": []}'])
def test_a_document_may_say_nothing(text: str) -> None:
    assert parse_permissions(text, PATH).standing == Standing()
    assert parse_permissions(text, PATH).problems == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", f"{PATH}:1: wanted JSON: expecting property name"),
        ('{\n "writeRoots": [\n', f"{PATH}:3: wanted JSON: expecting value"),
        ("[]", f"{PATH}: wanted an object with writeRoots, allowCommands, allowMcpTools, found a list"),
        ('"git log *"', f"{PATH}: wanted an object with writeRoots, allowCommands, allowMcpTools, found a text"),
        ("null", f"{PATH}: wanted an object with writeRoots, allowCommands, allowMcpTools, found nothing"),
        ("[" * 100_000, f"{PATH}: wanted JSON: it is nested too deep"),
        ('{"a": NaN}', f"{PATH}: wanted JSON: it holds a number that no program reads"),
        ('{"a": 1e999}', f"{PATH}: wanted JSON: it holds a number that no program reads"),
        (f'{{"a": {"1" * 5000}}}', f"{PATH}: wanted JSON: it holds a number that no program reads"),
    ],
)
def test_what_is_no_object_counts_for_nothing_and_is_named_with_its_place(text: str, sentence: str) -> None:
    document = parse_permissions(text, PATH)
    assert (document.content, document.standing) == (None, Standing())
    (problem,) = document.problems
    assert problem.sentence.startswith(sentence)
    assert problem.hint == "nothing of this file counts"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("value", "found"), [("git log *", "a text"), ({"a": 1}, "an object"), (7, "a number"), (True, "a truth value")]
)
def test_a_list_of_the_wrong_type_is_named_and_the_others_count(name: str, value: JsonValue, found: str) -> None:
    document = read({**FILE, name: value})
    assert said(document) == [f"{name}: wanted a list of texts, found {found} (the other lists count)"]
    assert document.standing == ALL.model_copy(update={LISTS[name]: ()})


def test_entries_that_are_no_text_or_blank_are_named_and_the_others_count() -> None:
    document = read({"allowCommands": [7, "git log *", None, "  ", ["ls"]]})
    assert document.standing.commands == ("git log *",)
    assert said(document) == [
        "allowCommands[0]: wanted a command rule, found a number",
        "allowCommands[2]: wanted a command rule, found nothing",
        "allowCommands[3]: wanted a command rule, found only blanks",
        "allowCommands[4]: wanted a command rule, found a list",
    ]


def test_of_two_hundred_entries_the_first_sixty_four_count() -> None:
    document = read({"allowCommands": [f"make t{number}" for number in range(200)]})
    assert document.standing.commands == tuple(f"make t{number}" for number in range(LONGEST))
    assert said(document) == ["allowCommands: holds 200 entries, of which the first 64 count (leave some out)"]


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("allowCommands", "*"),
        ("allowCommands", "git log && ls"),
        ("allowCommands", "echo $(date)"),
        ("allowCommands", "g\u202eit log"),
        ("writeRoots", "../a\x00b"),
        ("writeRoots", "../a\nb"),
        ("writeRoots", "\ud800"),
        ("writeRoots", "~somebody/shared"),
        ("allowMcpTools", "mcp__github__*"),
        ("allowMcpTools", "two words"),
        ("allowMcpTools", "x" * 257),
    ],
)
def test_an_entry_that_can_never_count_is_named(name: str, entry: str) -> None:
    document = read({name: [entry]})
    assert document.standing == Standing()
    (sentence,) = said(document)
    assert sentence.startswith(f"{name}[0]: ")
    assert " does not count: " in sentence
    assert sentence.isprintable()


def test_a_key_that_nobody_knows_is_named_with_what_may_have_been_meant() -> None:
    document = parse_permissions('{"writeRoot": ["/x"], "workspace": "/w"}', PATH, known=("workspace",))
    assert said(document) == ["writeRoot: this key is not known, and means nothing (did you mean writeRoots?)"]


def test_a_document_of_a_thousand_unknown_keys_is_answered_in_a_few_lines() -> None:
    document = read({f"\x1b[31m{number}": 1 for number in range(1000)})
    assert len(document.problems) == 9
    assert said(document)[-1] == "992 more keys are not known"
    assert all(line.isprintable() for line in said(document))


def test_a_key_that_stands_there_twice_is_named_and_the_last_one_counts() -> None:
    document = parse_permissions('{"allowCommands": ["make a"], "allowCommands": ["make b"]}', PATH)
    assert document.standing.commands == ("make b",)
    assert said(document) == ["allowCommands: stands there more than once, and the last one counts"]


@pytest.mark.parametrize("field", ["commands", "write_roots", "tools"])
def test_a_writer_of_one_list_keeps_the_others_and_what_nobody_knows(field: str) -> None:
    before = read({"future": {"a": [1]}, **FILE})
    new = {"commands": "make a", "write_roots": "/srv/x", "tools": "mcp__x__y"}[field]
    more = Standing(**{field: (new,)})
    change = added(before, more)
    after = parse_permissions(render_permissions(change.content), PATH)
    assert change.entries == more
    assert after.standing == ALL.plus(more)
    assert (after.content or {})["future"] == {"a": [1]}
    assert removed(after, more).content == dict(before.content or {})


def test_the_same_thing_twice_does_not_make_a_document_grow() -> None:
    before = read({"allowCommands": [" git log * "]})
    change = added(before, Standing(commands=("git log *", " git log *")))
    assert (change.content, change.entries) == (before.content, Standing())


def test_empty_lists_are_left_out_and_the_text_is_made_for_people() -> None:
    change = removed(read(FILE), Standing(commands=("git log *",), write_roots=("../shared",)))
    assert change.entries == Standing(commands=("git log *",), write_roots=("../shared",))
    assert render_permissions(change.content) == '{\n  "allowMcpTools": [\n    "mcp__github__search"\n  ]\n}\n'


@pytest.mark.parametrize("text", ["{", "[]", '{"allowCommands": "ls"}'])
def test_what_cannot_be_read_is_never_written_over(text: str) -> None:
    for change in (added, removed):
        with pytest.raises(ConfigError, match="nothing was written"):
            change(parse_permissions(text, PATH), Standing(commands=("make a",)))


def test_a_broken_list_does_not_hinder_a_writer_of_another() -> None:
    change = added(read({"writeRoots": 7}), Standing(commands=("make a",)))
    assert change.content == {"writeRoots": 7, "allowCommands": ["make a"]}


def test_a_full_list_takes_no_more() -> None:
    full = read({"allowCommands": [f"make t{number}" for number in range(LONGEST)]})
    with pytest.raises(ConfigError, match="holds 64 entries"):
        added(full, Standing(commands=("make more",)))


@pytest.mark.parametrize("more", [Standing(commands=("*",)), Standing(tools=("a b",)), Standing(write_roots=("~x/y",))])
def test_what_can_never_count_is_not_written(more: Standing) -> None:
    with pytest.raises(ConfigError, match="wanted "):
        added(read({}), more)


def test_what_is_known_already_is_left_out_of_a_proposal() -> None:
    proposed = ALL.plus(Standing(commands=("make a",)))
    assert without(proposed, ALL) == Standing(commands=("make a",))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*LISTS, "x"]), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)  # the machine may be busy
@given(values | st.dictionaries(st.sampled_from([*LISTS, "x"]), st.lists(st.text(max_size=12) | values, max_size=70)))
def test_any_document_is_answered_and_what_counts_of_it_can_be_written_again(value: object) -> None:
    document = parse_permissions(json.dumps(value), PATH)
    assert all(len(getattr(document.standing, field)) <= LONGEST for field in LISTS.values())
    again = added(Document(PATH, {}), document.standing)
    assert parse_permissions(render_permissions(again.content), PATH).standing == document.standing
    assert again.entries == document.standing


@settings(deadline=None)  # the machine may be busy
@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    parse_permissions(text, PATH)
