"""Which runs a session can go on from, and with which job."""

from __future__ import annotations

import pytest

from kova_auto.core.continuing import continued_job
from kova_auto.core.errors import ConfigError, IllegalEventError, KovaError
from kova_auto.core.event import ContextAssembled, Event, RunAcquired, RunFinished, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart
from kova_auto.core.run import RunState, fold
from tests.support import a_job, a_request, at

JOB = a_job(prompt="Look around.", prompt_file="look.md", automation="workspace-write", schema_text="{}")
TAKEN = RunAcquired(at=at("06:00:01"), epoch=1, worker="one")
BEGUN = ContextAssembled(at=at("06:00:01"), system="Be brief.", prompt=(TextPart(text="Look around."),), tools=())
STOPPED = StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
ENDED = RunFinished(at=at("06:00:03"), outcome=Outcome.CANCELLED)


def a_run(*events: Event) -> RunState:
    return fold([a_request(job=JOB), *events])


def test_the_job_is_as_that_run_had_it_and_asks_something_else() -> None:
    assert continued_job(a_run(TAKEN, BEGUN, STOPPED, ENDED), "And {now}?") == JOB.model_copy(
        update={"prompt": "And {now}?", "prompt_file": None}
    )


@pytest.mark.parametrize(
    ("before", "prompt", "error", "said"),
    [
        (a_run(), "More.", IllegalEventError, "has not finished: wait for its end"),
        (a_run(TAKEN, BEGUN), "More.", IllegalEventError, "has not finished: wait for its end"),
        (a_run(TAKEN, STOPPED, ENDED), "More.", IllegalEventError, "ended before anything was said in it"),
        (a_run(TAKEN, BEGUN, STOPPED, ENDED), " \n", ConfigError, "wanted what the model is asked next"),
        (
            a_run(TAKEN, BEGUN, STOPPED, ENDED),
            "On {{ inputs.branch }}?",
            ConfigError,
            "wanted a prompt without inputs, found {{ inputs.branch }}",
        ),
    ],
    ids=["queued", "running", "nothing said", "blank", "input"],
)
def test_it_is_said_why_a_session_cannot_go_on(
    before: RunState, prompt: str, error: type[KovaError], said: str
) -> None:
    with pytest.raises(error) as caught:
        continued_job(before, prompt)
    assert said in str(caught.value)
