"""Say whether the session of a run can go on with another run, and with which job."""

from __future__ import annotations

from kova_auto.core.context.prompt import inputs_named
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.job import Job
from kova_auto.core.state import RunState


def continued_job(before: RunState, prompt: str) -> Job:
    """Return the job of a run that goes on with the session of another: as that one had it, asked something else.

    What the file says by now is for runs that begin anew: a session keeps what its runs were promised.

    Args:
        before: The run whose session it is.
        prompt: What is asked, word for word; it has no inputs.

    Raises:
        IllegalEventError: That run has not finished, or nothing was said in it.
        ConfigError: The prompt is empty, or names an input.
    """
    if before.finished is None:
        msg = f"run {before.run_id} has not finished: wait for its end (kova-auto runs tail), or cancel it"
        raise IllegalEventError(msg)
    if before.context is None:
        msg = f"run {before.run_id} ended before anything was said in it: kova-auto run {before.job.name} begins anew"
        raise IllegalEventError(msg)
    if not prompt.strip():
        message = "wanted what the model is asked next, found only blanks"
        raise ConfigError(message, key="PROMPT")
    if named := sorted(inputs_named(prompt)):
        message = f"wanted a prompt without inputs, found {{{{ inputs.{named[0]} }}}}"
        raise ConfigError(message, key="PROMPT", hint="write the value itself: what continues a run has no inputs")
    return before.job.model_copy(update={"prompt": prompt, "prompt_file": None})
