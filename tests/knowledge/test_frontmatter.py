"""What stands before the body of a Markdown file is read as people write it, and nothing in it can do harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.knowledge.frontmatter import MAX_FRONT_CHARS, MAX_WHOLE_CHARS, Matter, split, split_mended, whole


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as raised:
        split(text, path="SKILL.md")
    return str(raised.value)


def test_keys_body_and_lines_come_out() -> None:
    text = "---\nname: notes\nmetadata:\n  author: somebody\ntools:\n  - Read\n  - Grep\n---\n\n# Notes\n---\nmore\n"

    assert split(text) == Matter(
        {"name": "notes", "metadata": {"author": "somebody"}, "tools": ["Read", "Grep"]},
        "\n# Notes\n---\nmore\n",
        {"name": 2, "metadata": 3, "metadata.author": 4, "tools": 5},
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-01-05", "2026-01-05"),
        ("1.10", "1.10"),
        ("10:30", "10:30"),
        ("010", "010"),
        ("12", 12),
        ("-3", -3),
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("null", None),
        ("", None),
        ("'12'", "12"),
        ("<<", "<<"),
        (">\n  two\n  lines", "two lines"),
        ("|-\n  two\n  lines", "two\nlines"),
        ("plain\n  and on", "plain and on"),
    ],
)
def test_only_whole_numbers_and_words_of_logic_become_values(written: str, meant: object) -> None:
    assert split(f"---\nkey: {written}\n---\n").front == {"key": meant}


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    assert split("\ufeff---\r\nname: a\r\n---\r\nBody\r\n") == Matter({"name": "a"}, "Body\n", {"name": 2})


def test_front_matter_may_be_empty_and_the_body_too() -> None:
    assert split("---\n---") == Matter({}, "", {})
    assert split("---\n# only a remark\n---\n") == Matter({}, "", {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Notes\n", "SKILL.md:1: wanted front matter, found no --- in the first line"),
        ("", "SKILL.md:1: wanted front matter, found no --- in the first line"),
        ("---\nname: a\n", "SKILL.md:3: wanted a line of --- that ends the front matter, found none"),
        ("---\n- a\n---\n", "SKILL.md:2: wanted keys with values, found something else"),
        ("---\nname: a\nmore: b\nname: c\n---\n", "SKILL.md:4: name: stands twice, first in line 2"),
        ("---\nmeta:\n  a: 1\n  a: 2\n---\n", "SKILL.md:4: meta.a: stands twice, first in line 3"),
        ("---\nname: a\nuse: when: then\n---\n", "SKILL.md:3: found a second colon in the line"),
        ("---\nmeta:\n\ta: 1\n---\n", "SKILL.md:3: wanted spaces, found a tab"),
        ("---\na: &x 1\nb: *x\n---\n", "SKILL.md:2: wanted a value, found an anchor or alias"),
        ("---\na: *x\n---\n", "SKILL.md:2: wanted a value, found an anchor or alias"),
        ("---\na: !!python/object:os.system x\n---\n", "SKILL.md:2: a: wanted a plain value, found one of the kind"),
        ("---\na: !!python/object/apply:os.system [x]\n---\n", "2: a: wanted a plain value, found one of the kind"),
        ("---\na: !!set {x, y}\n---\n", "SKILL.md:2: a: wanted a plain value, found one of the kind set"),
        ("---\n? [a]\n: b\n---\n", "SKILL.md:2: wanted a name before the colon"),
        ("---\nname: a\n\n bad: x\n---\n", "SKILL.md:4: found a second colon in the line"),
        ('---\nname: "a\n---\n', "SKILL.md:2: is no YAML:"),
        ("---\nname: a\x07b\n---\n", "SKILL.md:2: wanted text, found the character 0x0007"),
        ("---\na: " + "[" * 300 + "]" * 300 + "\n---\n", "SKILL.md:2: wanted at most 2000 values, 8 deep"),
        ("---\n" + "- a\n" * 2_100 + "---\n", "wanted at most 2000 values, 8 deep"),
        ("---\na: " + "x" * MAX_FRONT_CHARS + "\n---\n", "SKILL.md:1: wanted front matter of at most 16384 characters"),
        ("---\na: b\n---x\n", "ends the front matter, found none"),
        ("---\na: 1\n%TAG x\n---\n", "SKILL.md:"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, sentence: str) -> None:
    assert sentence in refused(text)


def test_a_growing_set_of_aliases_is_refused_before_it_grows() -> None:
    laughs = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))

    assert "SKILL.md:2: wanted a value, found an anchor or alias" in refused(f"---\n{laughs}---\n")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Use this when: the user asks", "Use this when: the user asks"),
        ("It's for: reports", "It's for: reports"),
        ("*.py files", "*.py files"),
        ("@scope/package helper", "@scope/package helper"),
        ("[issue# | empty] [--force]", "[issue# | empty] [--force]"),
        ('"Reports" for: the team', '"Reports" for: the team'),
    ],
)
def test_a_value_that_lacks_quotes_is_read_as_it_was_meant(written: str, meant: str) -> None:
    mended = split_mended(f"---\nname: a\ndescription: {written}\n---\nBody", path="SKILL.md")

    assert mended.matter == Matter({"name": "a", "description": meant}, "Body", {"name": 2, "description": 3})
    [remark] = map(str, mended.remarks)
    assert remark == (
        "SKILL.md:3: description: wanted a value in quotes, found one that YAML reads otherwise "
        "(put the value in quotes)"
    )


def test_tabs_that_indent_are_read_as_spaces() -> None:
    mended = split_mended("---\nname:\ta\nmetadata:\n\tauthor: b\n---\n", path="SKILL.md")

    assert mended.matter.front == {"name": "a", "metadata": {"author": "b"}}
    assert [remark.line for remark in mended.remarks] == [2, 4]


def test_what_is_right_is_not_mended() -> None:
    text = "---\ndescription: 'a: b'\nmore: [a, b]\nlong: >\n  when: then\n---\n"

    assert split_mended(text) == (split(text), ())


def test_what_mending_does_not_help_is_named_as_it_was_found() -> None:
    with pytest.raises(ConfigError, match="name: stands twice"):
        split_mended("---\nname: a\nname: b\n---\n")
    with pytest.raises(ConfigError, match=r"^x:2: found a second colon"):
        split_mended("---\nabout: a: b\n- c\n---\n", path="x")


def test_a_file_that_is_yaml_alone_is_counted_from_its_first_line() -> None:
    text = "name: a\r\nprompt: |\r\n  one\r\n  --- two\r\n"

    assert whole(text) == Matter({"name": "a", "prompt": "one\n--- two\n"}, "", {"name": 1, "prompt": 2})
    assert whole("\ufeff---\nname: a\n").front == {"name": "a"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("name: a\nname: b\n", "a.yml:2: name: stands twice, first in line 1"),
        ("---\nname: a\n---\nname: b\n", "a.yml:3: is no YAML:"),
        ("- a\n", "a.yml:1: wanted keys with values"),
        ("a: " + "x" * MAX_WHOLE_CHARS, "a.yml: wanted at most 131072 characters, found 131075"),
    ],
)
def test_what_is_no_such_file_is_named_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        whole(text, path="a.yml")

    assert sentence in str(raised.value)


FRAGMENTS = st.lists(
    st.sampled_from(
        [
            *"abz:-#'\"[]{}&*!|>%@`,?~\t \n\r\\0",
            "---\n",
            "name: ",
            "- ",
            ": ",
            "\n  ",
            "<<: ",
            "!!x ",
            "\x85",
            "\u2028",
            "\ud800",
        ]
    ),
    max_size=40,
).map("".join)


def line_of_error(text: str) -> int | None:
    """Return where reading fails; None where it does not."""
    try:
        split(text, path="x")
    except ConfigError as exc:
        return exc.line
    return None


@given(FRAGMENTS)
def test_whatever_stands_there_is_read_or_refused_with_a_line(front: str) -> None:
    text = f"---\n{front}\n---\n"
    line = line_of_error(text)
    lines = sum(text.count(end) for end in "\n\r\x85\u2028") + 1

    assert line is None or 1 <= line <= lines


@given(FRAGMENTS)
def test_what_can_be_read_is_read_the_same_where_it_may_be_mended(front: str) -> None:
    text = f"---\n{front}\n---\n"
    if line_of_error(text) is None:
        assert split_mended(text) == (split(text), ())
