"""Values that differ from others in a few fields."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from kova_auto.core.message import ModelReply, TextPart, ToolSpec
from tests.support import call, says


def a_spec() -> ToolSpec:
    return ToolSpec(name="read", description="Show a file.", parameters={})


def test_a_changed_value_is_what_validating_it_anew_would_give() -> None:
    reply = says("It is done.", call("read"))

    changed = reply.but(text="It is not.", request_id="7")

    assert changed == ModelReply.model_validate({**dict(reply), "text": "It is not.", "request_id": "7"})
    assert changed == reply.model_copy(update={"text": "It is not.", "request_id": "7"})
    assert changed.model_fields_set == reply.model_fields_set | {"text", "request_id"}
    assert ModelReply.model_validate_json(changed.model_dump_json()) == changed
    assert reply == says("It is done.", call("read"))


def test_a_changed_value_is_as_fixed_as_any() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TextPart(text="a").but(text="b").text = "c"  # type: ignore[misc]  # That is the point.
    with pytest.raises(TypeError, match="TextPart has no field words"):
        TextPart(text="a").but(words="b")


def test_what_was_worked_out_of_a_value_is_worked_out_anew_of_a_changed_one() -> None:
    spec = a_spec()
    told = spec.digest

    assert spec.but(name="write").digest != told
    assert spec.but(name="read").digest == told


def test_values_share_what_says_which_fields_were_named_and_a_copy_leaves_it_as_it_is() -> None:
    one, other = TextPart(text="a"), TextPart.model_validate_json('{"text": "b"}')
    reply, changed = says("Done."), says("Done.").but(request_id="7")

    copied = reply.model_copy(update={"model": "m", "request_id": "7"})

    assert one.model_fields_set is other.model_fields_set
    assert changed.model_fields_set is says("Well.").but(request_id="8").model_fields_set
    assert copied.model_fields_set == reply.model_fields_set | {"model", "request_id"}
    assert says("Done.").model_fields_set == reply.model_fields_set
