"""What an endpoint is sent to try it out."""

from __future__ import annotations

import pytest

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome
from tests.core.delivery.kind import kind_of
from tests.support import at


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("outcome", [None, *Outcome])
def test_every_format_can_say_a_test_and_says_that_it_is_one(format_name: FormatName, outcome: Outcome | None) -> None:
    notice = sample_notice(EndpointName("ci"), outcome, at("06:00:00"))
    options = options_of(NEEDS[format_name], kind_of(format_name).options[0])
    body = render(format_name, notice, Wish("msg_test", options=options)).body.decode()
    assert "test" in body.lower()


def test_a_sample_report_has_the_outcome_that_was_asked_for() -> None:
    notice = sample_notice(EndpointName("ci"), Outcome.BLOCKED, at("06:00:00"))
    assert (notice.kind, notice.type) == ("run_report", "kova.run.failed")
