"""What was said in one run is carried over into the next: no call is taken for another, and no secret goes along."""

from __future__ import annotations

from kova_auto.core.context.history import carried_over, without_secrets
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.message import AssistantMessage, Message, ResultStatus, TextPart, ToolMessage, UserMessage
from tests.support import tool_call

FIRST, SECOND = RunId("look@1"), RunId("look@2")
CALL = tool_call("read", path="a.md")


def said(text: str) -> tuple[Message, ...]:
    return (
        UserMessage(parts=(TextPart(text="Look."),)),
        AssistantMessage(text=text, calls=(CALL,), raw={"said": text}),
        ToolMessage(call=CALL, status=ResultStatus.OK, parts=(TextPart(text=text),)),
        AssistantMessage(text="Done."),
    )


def ids(messages: tuple[Message, ...]) -> list[CallId]:
    return [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]


def test_a_call_keeps_its_result_and_is_told_from_those_of_the_next_runs() -> None:
    first = carried_over(said("one"), FIRST)
    second = carried_over((*first, *said("two")), SECOND)

    assert ids(first) == ["look@1/1.1"]
    assert ids(second) == ["look@1/1.1", "look@2/1.1"]
    results = [message.call.id for message in second if isinstance(message, ToolMessage)]
    assert results == ids(second)


def test_nothing_but_ids_is_changed() -> None:
    carried = carried_over(said("one"), FIRST)

    assert [type(message) for message in carried] == [type(message) for message in said("one")]
    assert (carried[0], carried[3]) == (said("one")[0], said("one")[3])
    assert [getattr(message, "raw", None) for message in carried] == [None, {"said": "one"}, None, None]


def test_a_secret_that_is_known_by_now_does_not_go_along() -> None:
    clean = [
        without_secrets(message, lambda text: text.replace("hunter2", "[redacted]")) for message in said("hunter2")
    ]

    assert "hunter2" not in repr(clean)
    assert repr(clean).count("[redacted]") == 2
    assert without_secrets(said("one")[1], lambda text: text) == said("one")[1]
