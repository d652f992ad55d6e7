"""What the model is told first: the same bytes for the same facts, and nothing about permission."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Mode
from kova_auto.core.context.briefing import Briefing
from kova_auto.core.context.prompt import MODES, UNATTENDED, Surroundings, inputs_named, render_prompt, system_prompt
from kova_auto.core.errors import ConfigError
from tests.support import at

BERLIN = ZoneInfo("Europe/Berlin")
PLACE = Surroundings(
    workspace="/srv/app",
    system="Linux",
    model="test/model",
    now=at("23:30:00"),
    zone=BERLIN,
    scheduled_for=at("23:00:00"),
)
WHERE = """\
Date: 2026-12-02, Wednesday
Time zone: Europe/Berlin
Scheduled for: 2026-12-02T00:00:00+01:00
Model: test/model
System: Linux
Working directory: /srv/app"""


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("attended", [True, False])
def test_equal_facts_give_equal_bytes(mode: Mode, attended: bool) -> None:
    same = Surroundings(**{name: getattr(PLACE, name) for name in PLACE.__slots__})

    assert system_prompt(mode, PLACE, attended=attended) == system_prompt(mode, same, attended=attended)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(hours=23, minutes=29)))
def test_a_later_minute_of_the_same_day_changes_no_byte(later: timedelta) -> None:
    moved = replace(PLACE, now=PLACE.now + later)

    assert system_prompt(Mode.AGENT, moved, attended=False) == system_prompt(Mode.AGENT, PLACE, attended=False)


def test_place_and_time_come_last_in_the_users_zone() -> None:
    assert system_prompt(Mode.AGENT, PLACE, attended=False).endswith("\n\n" + WHERE)


def test_a_run_that_somebody_asked_for_was_scheduled_for_nothing() -> None:
    assert "Scheduled for" not in system_prompt(Mode.AGENT, replace(PLACE, scheduled_for=None), attended=True)


def test_only_an_unattended_model_is_told_that_nobody_is_there() -> None:
    assert UNATTENDED in system_prompt(Mode.AGENT, PLACE, attended=False)
    assert UNATTENDED not in system_prompt(Mode.AGENT, PLACE, attended=True)


def test_a_goal_stands_behind_its_mode_and_before_what_was_gathered() -> None:
    brief = Briefing(memory="A note.")
    plain = system_prompt(Mode.GOAL, PLACE, brief, attended=True)
    whole = system_prompt(Mode.GOAL, PLACE, brief, attended=True, goal="By this it is judged.")

    assert whole == plain.replace("\n\nA note.", "\n\nBy this it is judged.\n\nA note.")
    assert f"{MODES[Mode.GOAL]}\n\nBy this" in whole


def test_every_mode_has_its_own_words_or_none() -> None:
    prompts = {mode: system_prompt(mode, PLACE, attended=False) for mode in Mode}

    assert len(set(prompts.values())) == len(Mode)
    assert all("\n\n\n" not in prompt and prompt == prompt.strip() for prompt in prompts.values())


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("attended", [True, False])
def test_no_level_is_ever_named(mode: Mode, attended: bool) -> None:
    words = system_prompt(mode, PLACE, attended=attended).lower()
    levels = {*ApprovalLevel, *AutomationLevel, "level", "automation", "unattended", "permission", "approval"}

    assert [level for level in levels - {"ask", "auto", "full"} if level in words] == []
    assert {"auto", "full"} & set(words.split()) == set()


def test_inputs_are_named_with_or_without_blanks() -> None:
    prompt = (
        "{{inputs.branch}} {{ inputs.since }} {{  inputs.branch\t}} {{ input.x }} {inputs.y} {{ inputs.1 }} {{ a }}"
    )

    assert inputs_named(prompt) == {"branch", "since"}


def test_inputs_are_put_in_and_the_rest_is_left_alone() -> None:
    prompt = "Look at {{ inputs.branch }} and {{inputs.branch}}; {{ other }} {% raw %}"

    assert render_prompt(prompt, {"branch": "main", "unused": "x"}) == "Look at main and main; {{ other }} {% raw %}"


@pytest.mark.parametrize("value", ["{{ inputs.b }}", "{{ inputs.a }}", r"\1 \g<1> \\", "{{ 7 * 7 }}", ""])
def test_a_value_that_looks_like_a_template_stays_text(value: str) -> None:
    assert render_prompt("[{{ inputs.a }}|{{ inputs.b }}]", {"a": value, "b": "B"}) == f"[{value}|B]"


@given(st.text(), st.text(), st.text())
def test_any_value_comes_out_as_it_went_in(before: str, value: str, after: str) -> None:
    before, after = before.replace("{", ""), after.replace("}", "")

    assert render_prompt(f"{before}{{{{ inputs.a }}}}{after}", {"a": value}) == before + value + after


def test_an_input_without_a_value_is_an_error_that_names_all_of_them() -> None:
    with pytest.raises(ConfigError, match="the prompt names since, until, which has no value") as caught:
        render_prompt("{{ inputs.until }} {{ inputs.since }} {{ inputs.branch }}", {"branch": "main"})

    assert (caught.value.key, caught.value.hint) == ("inputs", "declare it under [inputs] or pass --input NAME=VALUE")


def test_the_date_is_the_days_where_the_user_is() -> None:
    honolulu = replace(
        PLACE, zone=ZoneInfo("Pacific/Honolulu"), now=datetime.fromisoformat("2026-12-01T05:00:00+00:00")
    )

    assert "Date: 2026-11-30, Monday\n" in system_prompt(Mode.AGENT, honolulu, attended=False)
