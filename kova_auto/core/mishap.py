"""Notice a text that tells of something which went wrong: whoever says so has something to report."""

from __future__ import annotations

import re

_LOOKING = r"(?!(?: to)? (?:find|see|spot|identify|detect|discover|locate)\b)"  # Who could not find it has looked.
_MISHAP = re.compile(
    r"\b(?:fail(?:ed|s|ing|ures?)?|errors?|exceptions?|tracebacks?|crash(?:ed|es)?|timed[ -]out|time-?outs?"
    r"|(?:was|were|been|got) (?:refused|denied|blocked|cut off|rejected)|(?:permission|access) denied"
    rf"|could(?: not|n['\u2019]t){_LOOKING}|can(?: ?not|['\u2019]t){_LOOKING}|unable{_LOOKING}(?: to)?"
    r"|unreachable|unavailable|not (?:reachable|accessible|responding)|(?:HTTP|status)[ :]*[45]\d\d)\b",
    re.IGNORECASE,
)
_TURN = r"\b(?:because|since|but|however|though|although|as|when|after|and (?:the|a|an|its|this|that|it|they|my))\b"
_NEGATED = re.compile(
    rf"\b(?:no|zero|0|none|nothing|never|without|not|neither|nor|free of)\b(?:(?!{_TURN})[^.,;:!?\n]){{0,40}}$",
    re.IGNORECASE,
)


def mishap_in(text: str) -> str:
    """Return the words of a text that tell of a mishap; empty where none do, or where it says that there was none."""
    for found in _MISHAP.finditer(text):
        if not _NEGATED.search(text[: found.start()]):
            return found.group()
    return ""
