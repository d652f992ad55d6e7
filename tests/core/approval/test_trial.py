"""What is answered for one line of `rules test --jsonl`."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.trial import Trial, trial


@pytest.mark.parametrize(
    ("command", "rules", "answer"),
    [
        ("git log -3", ["git log *"], Trial(match=True, safe=True, remember=("git log *",), reason="covered")),
        ("ls -la", [], Trial(match=False, safe=True, remember=("ls *",), reason="no_rule")),
        ("sed -n 1p a", [], Trial(match=False, safe=True, remember=None, reason="no_rule")),
        ("sed -n 1p a", ["sed -n *"], Trial(match=True, safe=False, remember=None, reason="covered")),
        ("npm test", ["*", ""], Trial(match=False, safe=False, remember=("npm test *",), reason="no_rule")),
        ("node x.js", ["node *"], Trial(match=True, safe=False, remember=None, reason="covered")),
        ("npm test > x", ["npm *"], Trial(match=False, safe=False, remember=None, reason="redirect")),
        ("", ["npm *"], Trial(match=False, safe=False, remember=None, reason="empty")),
        ("echo \ud800", ["echo *"], Trial(match=False, safe=False, remember=None, reason="character")),
    ],
)
def test_a_command_is_tried_under_rules(command: str, rules: list[str], answer: Trial) -> None:
    assert trial(command, rules) == answer


def test_rules_that_come_as_a_stream_are_all_heeded() -> None:
    assert trial("npm test && ls", iter(["npm test *", "ls *"])).match
