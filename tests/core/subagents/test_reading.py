"""What a definition's file says, what of it counts, and that nothing of it grants more than its author meant."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.definition import GRANTABLE, Layer, Subagent
from kova_auto.core.subagents.reading import MOST_PROMPT_CHARS, Written, name_of, parse_definition
from kova_auto.core.subagents.roster import Defined

LEAST: Mapping[str, object] = {"name": "scribe", "description": "Writes things down."}


def written(front: Mapping[str, object], body: str | None = "Write.") -> Written:
    return Written(front, {key: at for at, key in enumerate(front, 2)}, body, "scribe.md", "scribe")


def markdown(**front: object) -> Defined:
    return parse_definition(written({**LEAST, **front}), Layer.USER)


def yaml(**front: object) -> Defined:
    return parse_definition(written({**LEAST, "prompt": "Write.", **front}, None), Layer.USER)


def problems(found: Defined) -> list[str]:
    return [problem.sentence.removeprefix("scribe.md:") for problem in found.problems]


def wrong(front: Mapping[str, object], body: str | None = "Write.") -> list[str]:
    with pytest.raises(ConfigError) as raised:
        parse_definition(written(front, body), Layer.USER)
    return [problem.sentence.removeprefix("scribe.md:") for problem in raised.value.problems]


def test_kovas_yaml_says_everything_in_keys() -> None:
    found = yaml(
        tools="read, grep",
        maxTurns=12,
        model="openai/gpt-5",
        skills=["notes", "style"],
        mcp={"servers": ["github"]},
    )
    assert found == Defined(
        Subagent(
            name="scribe",
            description="Writes things down.",
            prompt="Write.",
            tools=("read", "grep"),
            max_turns=12,
            model="openai/gpt-5",
            skills=("notes", "style"),
            servers=("github",),
            layer=Layer.USER,
            path="scribe.md",
        )
    )


def test_the_text_below_the_front_matter_is_the_prompt() -> None:
    found = parse_definition(written({**LEAST, "tools": ["Read"]}, "\n# Write\n\nDown.\n"), Layer.PLUGIN, "kit")
    assert (found.agent.prompt, found.agent.plugin, found.agent.address) == ("# Write\n\nDown.", "kit", "kit:scribe")


def test_without_tools_markdown_grants_all_that_can_be_granted() -> None:
    assert markdown().agent.tools == GRANTABLE
    assert markdown(disallowedTools="Write, Edit, Bash(rm:*)").agent.tools == tuple(
        tool for tool in GRANTABLE if tool not in {"write", "edit", "bash"}
    )


def test_without_tools_yaml_is_wrong() -> None:
    (sentence,) = wrong({**LEAST, "prompt": "Write."}, None)
    assert sentence.startswith(" tools: wanted the tools that it may use, found none; there are bash, read,")


def test_an_empty_list_grants_nothing_and_an_empty_key_is_wrong() -> None:
    assert markdown(tools=[]).agent.tools == ()
    (sentence,) = wrong({**LEAST, "tools": None})
    assert "[] grants none" in sentence


def test_tools_of_which_none_is_one_of_ours_are_wrong() -> None:
    (sentence,) = wrong({**LEAST, "tools": "Bash(git:*), WebSearch"})
    assert sentence.startswith("4: tools: grants nothing: `Bash(git:*)` is not granted: bash cannot be held to a part")


def test_allowed_tools_are_taken_for_tools() -> None:
    found = markdown(**{"allowed-tools": "Read"})
    assert (found.agent.tools, problems(found)) == (("read",), ["4: allowed-tools: is read as tools"])


def test_allowed_tools_add_nothing_to_tools() -> None:
    found = markdown(**{"tools": "Read", "allowed-tools": "Read, Bash"})
    assert (found.agent.tools, problems(found)) == (("read",), ["5: allowed-tools: means nothing beside tools"])


@pytest.mark.parametrize(
    ("front", "tools"),
    [
        ({"tools": {"write": False, "edit": False, "bash": False}}, GRANTABLE[1:2] + GRANTABLE[4:]),
        ({"tools": {"*": False, "read": True, "grep": True}}, ("read", "grep")),
        ({"tools": {"*": "no", "read": "yes", "grep": "On"}}, ("read", "grep")),
        ({"tools": "Read, Bash, Edit", "permission": {"edit": "deny", "bash": "allow"}}, ("bash", "read")),
        ({"tools": "Read, Write", "permission": {"edit": "deny"}}, ("read",)),
        ({"tools": "Read, Bash", "permission": {"*": "deny", "read": "allow"}}, ("read",)),
        ({"tools": "Read, Bash", "permission": "deny"}, ()),
        ({"tools": "Read, Bash", "permission": {"bash": {"*": "allow"}}}, ("bash", "read")),
        ({"tools": "Read, Bash", "permission": {"bash": {"*": "deny"}}}, ("read",)),
    ],
)
def test_maps_of_tools_and_permissions_are_obeyed(front: Mapping[str, object], tools: tuple[str, ...]) -> None:
    found = markdown(**front)
    assert (found.agent.tools, found.problems) == (tools, ())


@pytest.mark.parametrize("is_wanted", [True, "yes"])
def test_who_is_to_read_alone_has_nothing_that_changes_anything(is_wanted: object) -> None:
    found = markdown(readonly=is_wanted)
    assert not {"write", "edit", "bash"} & set(found.agent.tools)
    assert problems(found) == ["4: readonly: bash is not granted: it cannot be held to reading"]
    assert markdown(tools="Read, Grep, Write", readonly=is_wanted).agent.tools == ("read", "grep")
    assert wrong({**LEAST, "readonly": "mostly"}) == ["4: readonly: wanted true or false, found `mostly`"]


def test_who_is_to_plan_alone_has_nothing_that_changes_anything_either() -> None:
    found = markdown(tools="Read, Bash, Edit", permissionMode="plan")
    assert found.agent.tools == ("read",)
    assert problems(found) == ["5: permissionMode: bash is not granted: it cannot be held to reading"]


@pytest.mark.parametrize("is_wanted", [False, "no", None])
def test_who_is_not_keeps_all(is_wanted: object) -> None:
    assert (markdown(readonly=is_wanted).agent.tools, markdown(readonly=is_wanted).problems) == (GRANTABLE, ())


def test_a_permission_that_cannot_be_kept_takes_its_tool() -> None:
    found = markdown(tools="Read, Bash, Write", permission={"bash": {"git *": "allow", "*": "deny"}, "edit": "ask"})
    assert found.agent.tools == ("read",)
    assert problems(found) == [
        "5: permission: bash: rules for a part of it cannot be kept; it is not granted",
        "5: permission: edit: ask cannot be kept; it is not granted",
    ]


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        ({"permissionMode": "bypassPermissions"}, "a subagent may do what its parent may, and no more"),
        ({"hooks": {"Stop": []}}, "nothing is run before or after a call"),
        ({"memory": "project"}, "a subagent keeps no notes of its own"),
        ({"knowledge": [{"name": "a", "path": "*.md"}]}, "there are no knowledge bases here"),
        ({"isolation": "worktree"}, "it works where its parent works"),
        ({"is_background": True}, "every subagent works while its parent goes on"),
    ],
)
def test_a_key_that_is_not_obeyed_is_named_with_what_holds(front: Mapping[str, object], sentence: str) -> None:
    (problem,) = problems(markdown(**front))
    assert problem.startswith(f"4: {next(iter(front))}: is not obeyed: {sentence}")


def test_a_key_that_nobody_knows_is_named_with_the_nearest_one() -> None:
    assert problems(markdown(modle="opus")) == [
        "4: modle: this key is not known, and means nothing (did you mean model?)"
    ]


@pytest.mark.parametrize("value", [None, False, 0])
def test_a_key_that_nobody_knows_is_named_whatever_it_says(value: object) -> None:
    assert problems(markdown(nightly=value)) == ["4: nightly: this key is not known, and means nothing"]


@pytest.mark.parametrize(
    "front",
    [
        {"mode": "subagent"},
        {"background": False},
        {"background": "no"},
        {"permissionMode": "default"},
        {"memory": "none"},
        {"kind": "local"},
    ],
)
def test_a_key_that_is_not_obeyed_may_say_what_holds_anyway(front: Mapping[str, object]) -> None:
    assert markdown(**front).problems == ()


def test_keys_that_say_nothing_and_empty_ones_are_passed_over() -> None:
    assert markdown(color="red", version="1.0", hooks=None, mcpServers=None, tags=["a"]).problems == ()


@pytest.mark.parametrize("key", ["maxTurns", "max_turns", "max-turns", "steps", "maxSteps"])
def test_keys_are_known_in_the_ways_in_which_systems_write_them(key: str) -> None:
    assert markdown(**{key: 7}).agent.max_turns == 7


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        ({"tools": ["read", True]}, "4: tools: wanted at most 200 names of tools, found true; [] grants none"),
        ({"tools": 7}, "4: tools: wanted names of tools, found 7; [] grants none"),
        ({"tools": ["read"] * 201}, "4: tools: wanted at most 200 names of tools, found more than 200"),
        ({"disallowedTools": [{"a": 1}]}, "4: disallowedTools: wanted at most 200 names of tools, found a mapping"),
        ({"description": True}, "3: description: wanted a sentence that says when to use it, found true"),
        ({"description": ""}, "3: description: wanted a sentence that says when to use it, found none"),
    ],
)
def test_what_stands_in_the_place_of_names_or_of_a_sentence_is_said(front: Mapping[str, object], sentence: str) -> None:
    (found,) = wrong({**LEAST, **front})
    assert found.startswith(sentence)


@pytest.mark.parametrize("turns", [0, -1, 1001, True, "many", "1.5", [3]])
def test_a_limit_that_cannot_be_understood_is_wrong(turns: object) -> None:
    (sentence,) = wrong({**LEAST, "maxTurns": turns})
    assert sentence.startswith("4: maxTurns: wanted a whole number from 1 to 1000, found")


@pytest.mark.parametrize("model", ["inherit", "", None, "Default"])
def test_a_model_may_be_the_parents(model: str | None) -> None:
    found = markdown(model=model)
    assert (found.agent.model, found.alias, found.problems) == ("", "", ())


@pytest.mark.parametrize("model", ["sonnet", "Opus", "claude-sonnet-4-5"])
def test_a_model_without_a_provider_is_an_alias(model: str) -> None:
    found = markdown(model=model)
    assert (found.agent.model, found.alias) == ("", model.lower())
    hint = f'models = {{ {model.lower()} = "provider/model" }} of [agents] in the settings names another'
    assert problems(found) == [f"4: model: `{model}` names no provider: it has its parent's model ({hint})"]


@pytest.mark.parametrize(
    ("said", "name"),
    [("Scribe", "scribe"), (" code_Reviewer ", "code_reviewer")],
)
def test_names_are_in_lower_case(said: str, name: str) -> None:
    found = markdown(name=said)
    assert (found.agent.name, found.problems) == (name, ())


def test_a_name_that_cannot_be_one_is_made_one() -> None:
    found = markdown(name="Code Reviewer (v2)")
    assert found.agent.name == "code-reviewer-v2"
    assert problems(found) == [
        "2: name: wanted a name of letters, digits, - and _: it is known as code-reviewer-v2",
    ]


def test_a_file_without_a_name_lends_its_own() -> None:
    found = parse_definition(written({"description": "Writes."}), Layer.USER)
    assert found.agent.name == "scribe"
    assert problems(found) == [" name: wanted a name, found none: it is scribe, as its file"]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert wrong({"name": "!", "maxTurns": 0, "model": 3, "skills": 5}, "") == [
        " description: wanted a sentence that says when to use it, found none",
        " wanted a prompt below the front matter, found none",
        "2: name: wanted a name of letters, digits, - and _, found none",
        "3: maxTurns: wanted a whole number from 1 to 1000, found 0",
        "4: model: wanted provider/model, found 3",
        "5: skills: wanted names of skills, found 5",
    ]


def test_a_prompt_that_is_too_long_or_no_text_is_wrong() -> None:
    assert wrong(LEAST, "x" * (MOST_PROMPT_CHARS + 1)) == [" wanted a prompt of at most 64000 characters, found 64001"]
    assert wrong(LEAST, "a\0b") == [" wanted text, found a NUL in the prompt"]


def test_only_so_many_skills_count() -> None:
    found = markdown(skills=", ".join(f"s{number}" for number in range(18)))
    assert found.agent.skills == tuple(f"s{number}" for number in range(16))
    assert problems(found) == ["4: skills: wanted at most 16 skills, found 18: the first count"]


@pytest.mark.parametrize(
    ("servers", "names"),
    [("github, mcp__db", ("github", "db")), (["github"], ("github",)), ({"github": None}, ("github",)), ([], ())],
)
def test_mcp_servers_are_named(servers: object, names: tuple[str, ...]) -> None:
    found = markdown(tools="Read", mcpServers=servers)
    assert (found.agent.servers, found.problems) == (names, ())


@pytest.mark.parametrize("servers", [[{"db": {"command": "sh"}}], {"db": {"command": "sh"}}])
def test_a_server_that_a_definition_brings_along_is_not_started(servers: object) -> None:
    found = markdown(tools="Read", mcpServers=servers)
    assert found.agent.servers == ()
    assert problems(found) == [
        "5: mcpServers: a server `db` that a definition brings along is not started; name one of mcp.json"
    ]


def test_a_refusal_outranks_a_grant() -> None:
    found = markdown(tools="Read, Bash, mcp__db", mcpServers=["db"], disallowedTools=["Bash", "mcp__db__drop"])
    assert (found.agent.tools, found.agent.servers) == (("read",), ())


def test_a_file_may_disable_its_definition() -> None:
    assert wrong({**LEAST, "disable": True}) == ["4: disable: this definition is disabled by its own file"]
    assert markdown(disable=False).problems == ()


def test_one_key_in_two_spellings_is_wrong() -> None:
    assert wrong({**LEAST, "maxTurns": 3, "max_turns": 9}) == [
        "5: max_turns: stands twice, written in two ways (take one of them out)"
    ]


def test_a_description_is_told_without_its_examples() -> None:
    text = r"Use it for notes. Examples:\n\n<example>\nuser: \"Note this\"\n</example>"
    assert markdown(description=text).agent.summary == "Use it for notes."
    assert markdown(description="<example>a</example>").agent.summary == "<example>a</example>"


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    [
        *("name", "description", "prompt", "tools", "disallowedTools", "allowed-tools", "model", "maxTurns"),
        *("skills", "mcpServers", "mcp", "permission", "hooks", "memory", "disable", "disabled", "max_turns"),
    ]
)


@given(st.dictionaries(keys | st.text(max_size=12), values, max_size=8), st.none() | st.text(max_size=80))
def test_any_file_is_a_definition_or_one_error(front: dict[str, object], body: str | None) -> None:
    given_file = written(front, body)
    try:
        found = parse_definition(given_file, Layer.WORKSPACE)
    except ConfigError:
        return
    assert found.agent.name == name_of(given_file)
    assert set(found.agent.tools) <= set(GRANTABLE)
    assert Subagent.model_validate(found.agent.model_dump()) == found.agent
    assert len(found.agent.summary) <= 600
