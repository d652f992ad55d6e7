"""Templates of scripts: what they can say, and what they cannot do."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from kova_auto.core.errors import ConfigError
from kova_auto.llm.results import Result, Results
from kova_auto.llm.script import parse_script
from kova_auto.llm.templates import TemplateFaultError, check_templates, fill, fill_text, holds

READ = Result(
    "read", {"path": "a.md"}, "ok", "1\t# Title\n2\t\n3\tText 10\tx\n[40 more lines of 43; go on with offset=4]"
)
BASH = Result("bash", {"command": "x"}, "error", "one\ntwo\n[exit code 3]")
DENIED = Result("write", {}, "denied", "not at this level")
NAMES = {
    "prompt": "Look around.",
    "turn": 2,
    "results": Results({"readme": READ, "ran": BASH, "items": DENIED, "many": [READ, BASH]}),
    "item": {"a": [1, None]},
    "index": 1,
}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("ends with a line\n", "ends with a line\n"),
        ("{{ prompt }} {{ turn }}", "Look around. 2"),
        ("{{ results.readme.line_count }} lines", "3 lines"),
        ("{{ results['readme'].lines[0] }}!", "# Title!"),
        ("{{ results.readme.raw_lines | length }} {{ results.readme.raw_lines[0] }}", "4 1\t# Title"),
        ("{{ results.readme.args.path }} {{ results.readme.tool }}", "a.md read"),
        ("{{ results.ran.status }} {{ results.ran.exit_code }} {{ results.ran.ok }}", "error 3 False"),
        ("{{ results.ran.error }}", "one\ntwo\n[exit code 3]"),
        ("{{ results.readme.error }}|{{ results.readme.exit_code }}", "|None"),
        ("{{ results.items.denied }} {{ results.items }}", "True not at this level"),
        ("{{ results.many | map(attribute='line_count') | sum }}", "6"),
        ("{% for r in results.many %}{{ loop.index }}:{{ r.tool }} {% endfor %}", "1:read 2:bash "),
        ("{% if results.gone is defined %}there{% else %}not there{% endif %}", "not there"),
        ("{{ 'readme' in results }} {{ results | list | length }}", "True 4"),
        ("{% set n = turn * 2 %}{{ n + 1 }} {{ 7 % 4 }} {{ 'a' ~ 1 }}", "5 3 a1"),
        ("{% raw %}{{ x }}{% endraw %}", "{{ x }}"),
        ("{{ '{{' }} x }}", "{{ x }}"),
        ("a\r\nb", "a\nb"),
        ('{{ "\\r" }}', "\r"),
        ("<{{ '<b>' }}>", "<<b>>"),
        ("{% for n in range(3) %}{{ n }}{% endfor %}", "012"),
    ],
)
def test_a_template_says_what_came_back(template: str, text: str) -> None:
    assert fill_text(template, NAMES) == text


@pytest.mark.parametrize(
    ("tool", "text", "lines", "notes"),
    [
        (
            "glob",
            "[id]/\n[id]/a.py\n[5 more of 205; narrow it]",
            ["[id]/", "[id]/a.py"],
            ["[5 more of 205; narrow it]"],
        ),
        ("glob", "[nothing fits; 0 files were looked at]", [], ["[nothing fits; 0 files were looked at]"]),
        ("grep", "a.py:1:[ x ]\n[too many]\n[stopped: slow]", ["a.py:1:[ x ]"], ["[too many]", "[stopped: slow]"]),
        ("bash", "[no output]", [], ["[no output]"]),
        ("bash", "[a b]\n", ["[a b]"], []),
        ("read", "1\t[a b]\n[1 more lines of 2]", ["[a b]"], ["[1 more lines of 2]"]),
        ("read", "[the file is empty]", [], ["[the file is empty]"]),
    ],
)
def test_what_a_tool_says_about_its_result_is_no_line_of_it(
    tool: str, text: str, lines: list[str], notes: list[str]
) -> None:
    result = Result(tool, {}, "ok", text)
    assert (result.lines, result.notes, result.line_count) == (lines, notes, len(lines))


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("{{ results.readme.line_count }}", 3),
        ("{{ results.readme.ok }}", True),
        ("{{ results.readme.ok }}\n", "True\n"),
        ("{{ none }}", None),
        ("{{ 1.5 }}", 1.5),
        ("{{-5}}", 5),
        ("{{ -5 }}", -5),
        ("{{ results.readme.lines[:2] }}", ["# Title", ""]),
        ("{{ results.readme.lines | select | list }}", ["# Title", "Text 10\tx"]),
        ("{{ results.readme.lines | select }}", ["# Title", "Text 10\tx"]),
        ("{{ results.readme.args }}", {"path": "a.md"}),
        ("{{ item }}", {"a": [1, None]}),
        ("{{ results.readme.lines[0] }}", "# Title"),
        ("{{ results.items }}", "not at this level"),
        ("{{ '3' }}", "3"),
        ("{{ 3 }}.", "3."),
        ("{{ 3 }}{{ 4 }}", "34"),
        ("{{ '}}' }}", "}}"),
        (
            {"a": ["{{ turn }}", 7, None, True, {"{{ b }}": "x{{ turn }}"}]},
            {"a": [2, 7, None, True, {"{{ b }}": "x2"}]},
        ),
    ],
)
def test_a_single_expression_keeps_its_type(value: JsonValue, filled: JsonValue) -> None:
    assert fill(value, NAMES) == filled


@pytest.mark.parametrize(
    ("condition", "true"),
    [
        (True, True),
        (False, False),
        ("{{ results.readme.ok }}", True),
        ("{{ results.ran.ok }}", False),
        ("{{ results.gone is defined }}", False),
        ("{{ results.ran.exit_code }}", True),
        ("{{ [] }}", False),
        ("", False),
        ("no", False),
        ("{% if true %}yes{% endif %}", True),
        ("{% if false %}yes{% endif %}", False),
    ],
)
def test_a_condition_is_true_or_not(condition: JsonValue, true: object) -> None:
    assert holds(condition, NAMES) is true


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ results.gone }}", "there is no result 'gone' at this turn (there: readme, ran, items, many)"),
        ("{{ results.gone.ok }}", "there is no result 'gone' at this turn (there: readme, ran, items, many)"),
        ("a {{ results.gone }}", "there is no result 'gone' at this turn (there: readme, ran, items, many)"),
        ("{{ nothing }}", "'nothing' is undefined"),
        ("{{ results.readme.txt }}", "has no attribute 'txt'"),
        ("{{ results.readme.lines[99] }}", "list object has no element 99"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ 'a' + 1 }}", "can only concatenate str"),
        ("{{ turn }", "unexpected '}'"),
        ("\n\n{% if %}", "(line 3 of it)"),
        ("{{ range }}", "no value of JSON"),
    ],
)
def test_what_cannot_be_filled_in_says_why(template: str, said: str) -> None:
    with pytest.raises(TemplateFaultError) as caught:
        fill(template, NAMES)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ prompt.__class__ }}",
        "{{ results.readme.__init__.__globals__ }}",
        "{{ results._found }}",
        "{{ results.readme.lines.append('x') }}",
        "{{ results.readme.args.update({}) }}",
        "{{ ().__class__.__base__.__subclasses__() }}",
        "{{ 'x' * 1000000000 }}",
        "{{ [1] * 1000000000 }}",
        "{{ 9 ** 9999999 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ 'x'.ljust(1000000000) }}",
        "{{ 'x' | center(1000000000) }}",
        "{{ 'x' | indent(1000000000) }}",
        "{{ range(1000000000) | list }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) recursive %}{{ loop(range(9999)) }}{% endfor %}",
        "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}",
        "{% include 'etc/passwd' %}",
        "{% import 'os' as os %}",
        "{% extends 'x' %}",
        "{% for a in range(9999) %}{{ prompt * 1 }}{% endfor %}",
        "{% set x = prompt ~ prompt ~ prompt ~ prompt %}{% for a in range(99999) %}{{ x }}{% endfor %}",
        "{{ lipsum() }}",
        "{{ namespace() }}",
        "{{ [1, 2] | random }}",
        "{{ 9223372036854775807 * 9223372036854775807 * 9223372036854775807 }}",
    ],
)
def test_a_template_reaches_nothing_and_cannot_grow_for_ever(template: str) -> None:
    with pytest.raises(TemplateFaultError):
        fill(template, NAMES)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("text = 'a {{ b'", ":2: turns[0].text: unexpected end of template"),
        ("text = '{{ x }}'", ":2: turns[0].text: there is no 'x' here (there: prompt, results, turn)"),
        ("text = '{{ item }}'", ":2: turns[0].text: there is no 'item' here"),
        ("text = '{{ results.later.ok }}'", ":2: turns[0].text: no earlier turn has a call 'later' (there: none yet)"),
        ("text = '{% macro a() %}{% endmacro %}'", ":2: turns[0].text: macro is not for scripts"),
        ("text = '{{ 1 | nope }}'", ":2: turns[0].text: No filter named 'nope'."),
        ("calls = [{ tool = 't', args = { a = ['{{ x }}'] } }]", ":2: turns[0].calls[0].args: there is no 'x' here"),
        ("calls = [{ tool = 't', when = '{{ x }}' }]", ":2: turns[0].calls[0].when: there is no 'x' here"),
        ("calls = [{ tool = 't', each = '{{ item }}' }]", ":2: turns[0].calls[0].each: there is no 'item' here"),
        ("text = ''\n[[turns]]\ntext = '{{ results.b }}'", ":4: turns[1].text: no earlier turn has a call 'b'"),
    ],
)
def test_a_check_finds_what_cannot_work(body: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_templates(parse_script(f"[[turns]]\n{body}", "a.script.toml"))
    assert said in str(caught.value)


def test_a_check_finds_nothing_wrong_with_what_works() -> None:
    text = """
[[turns]]
text = "{{ prompt }} {% for n in range(3) %}{{ n }}{{ loop.index }}{% endfor %}"
[[turns.calls]]
id = "files"
tool = "glob"
[[turns]]
text = "{{ results.files.line_count }} {{ turn }}{% set a = 1 %}{{ a }}"
[[turns.calls]]
tool = "read"
args = { path = "{{ item }}", n = "{{ index }}" }
each = "{{ results.files.lines }}"
when = "{{ item != '' }}"
"""
    check_templates(parse_script(text, "a.script.toml"))
