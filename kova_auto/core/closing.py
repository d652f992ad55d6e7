"""Notice a final text that asks its reader something: nobody is there to answer, so the work is not done."""

from __future__ import annotations

import re

_READER = re.compile(
    r"\b(?:you|your|(?:shall|should) (?:i|we)|(?:may|can|do) i|want me to|let me know|please (?:confirm|advise))\b",
    re.IGNORECASE,
)
_MARKS = " \t*_`>#-)]\"'»”\u2019"


def asks_reader(text: str) -> bool:
    """Say whether a text ends with a question to whoever reads it, as "Shall I go on?".

    A question that the text answers itself, or asks of nobody ("What is left?" above a list), is none.
    """
    paragraph = text.rstrip(_MARKS + "\n").rpartition("\n\n")[2]
    if not paragraph.endswith("?"):
        return False
    sentence = re.split(r"(?<=[.!?:])\s+", paragraph)[-1]
    return _READER.search(sentence) is not None
