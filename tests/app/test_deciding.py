"""What a person says of a call becomes a fact: text that can be written down, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.app.control import Said
from kova_auto.app.deciding import decided
from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.consent import ApprovalDecided
from kova_auto.core.errors import ConfigError
from kova_auto.core.settling import NOBODY, UNREACHED
from tests.app.houses import Home, id_of
from tests.core.facts import FIRST, NOW, answered, asked, begun, judged, run_of
from tests.support import call, says

SECRET = "hunter2-hunter2"


def redact(text: str) -> str:
    return text.replace(SECRET, "[redacted:env:KEY]")


def said(
    *,
    asks: bool = False,
    by: str = "ann",
    note: str = "",
    args: dict[str, JsonValue] | None = None,
    answers: tuple[str, ...] = (),
) -> ApprovalDecided:
    verdict = judged(Ruling.ASK).verdict.model_copy(update={"question": asks})
    wanted = says("Hm.", call("bash", command=f"login {SECRET}", timeout_s=5))
    state = run_of(begun(), answered(wanted), judged(Ruling.ASK, verdict=verdict), asked())
    answer = Said(decision=Decision.ONCE, by=by, note=note, args=args, answers=answers)
    return decided(state, FIRST, answer, NOW, redact)


def test_no_secret_of_a_reason_or_an_answer_is_written_down() -> None:
    assert said(note=f"the key is {SECRET}").note == "the key is [redacted:env:KEY]"
    assert said(asks=True, answers=(SECRET,)).answers == ("[redacted:env:KEY]",)


def test_arguments_into_which_a_person_puts_a_secret_are_not_taken() -> None:
    with pytest.raises(ConfigError, match="wanted arguments without secrets, found one in command"):
        said(args={"command": f"curl {SECRET}", "timeout_s": 5})


def test_arguments_that_a_person_leaves_as_they_are_may_hold_what_they_held() -> None:
    args: dict[str, JsonValue] = {"command": f"login {SECRET}", "timeout_s": 9}

    assert said(args=args).args == args


@pytest.mark.parametrize("name", [NOBODY, UNREACHED])
def test_somebody_whose_name_stands_for_nobody_is_told_apart(name: str) -> None:
    assert said(by=name).by == f"user {name}"


async def test_what_is_no_text_is_refused_in_a_sentence(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("look")
    async with home.house() as house:
        await house.control.request(home.ask("look"))

        with pytest.raises(ConfigError, match="wanted text in UTF-8"):
            await house.control.cancel(id_of("look"), "ann", "enough\udcff")
