"""The line of every key, whatever way it is written."""

from __future__ import annotations

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.toml.places import Key, lines_of, spell

EVERY_FORM = '''\
# a comment = 1
plain = 1
dotted.key = "x"  # not = here
"quo\\"ted.key" = [1,
  2, # ]
  { x = 1, y = [ "]", 3 ] },
]
text = """
[table]
\\""" = 3
""""
literal = \'\'\'it's
\'\'\'\'
date = 1979-05-27 07:32:00
[table.inner]
names = ["a", 'b']
[[row]]
x=1
[[row]]
x=2
[row.deep]
[[row.deep.er]]
z = { a.b = 1 }
'''


def test_every_key_and_element_is_found_at_its_line() -> None:
    assert lines_of(EVERY_FORM) == {
        ("plain",): 2,
        ("dotted",): 3,
        ("dotted", "key"): 3,
        ('quo"ted.key',): 4,
        ('quo"ted.key', 0): 4,
        ('quo"ted.key', 1): 5,
        ('quo"ted.key', 2): 6,
        ('quo"ted.key', 2, "x"): 6,
        ('quo"ted.key', 2, "y"): 6,
        ('quo"ted.key', 2, "y", 0): 6,
        ('quo"ted.key', 2, "y", 1): 6,
        ("text",): 8,
        ("literal",): 12,
        ("date",): 14,
        ("table",): 15,
        ("table", "inner"): 15,
        ("table", "inner", "names"): 16,
        ("table", "inner", "names", 0): 16,
        ("table", "inner", "names", 1): 16,
        ("row",): 17,
        ("row", 0): 17,
        ("row", 0, "x"): 18,
        ("row", 1): 19,
        ("row", 1, "x"): 20,
        ("row", 1, "deep"): 21,
        ("row", 1, "deep", "er"): 22,
        ("row", 1, "deep", "er", 0): 22,
        ("row", 1, "deep", "er", 0, "z"): 23,
        ("row", 1, "deep", "er", 0, "z", "a"): 23,
        ("row", 1, "deep", "er", 0, "z", "a", "b"): 23,
    }


def test_lines_may_end_as_on_windows() -> None:
    assert lines_of("a = 1\r\n[t]\r\nb = 2\r\n") == {("a",): 1, ("t",): 2, ("t", "b"): 3}


VALUES = st.recursive(
    st.integers() | st.booleans() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_nothing_that_a_writer_writes_is_overlooked(data: dict[str, object]) -> None:
    text = tomli_w.dumps(data, multiline_strings=True)
    assert set(lines_of(text)) == set(keys_of(data))


def keys_of(value: object, key: Key = ()) -> list[Key]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return ([key] if key else []) + [found for part, held in inner for found in keys_of(held, (*key, part))]


def test_a_key_is_spelled_as_people_write_it() -> None:
    assert spell(("notify", 0, "when")) == "notify[0].when"
    assert spell(("inputs", "a b")) == 'inputs."a b"'
    assert spell(()) == ""
