"""Notice a summary that calls a goal reached and admits that it is not: something left to do, or still failing.

Read clause by clause, in English. What stands in quotes or code is somebody else's words, and a clause that denies,
or tells of how things were before, admits nothing. In doubt a summary passes: the criteria are what counts.

Source: reference on Kova, 3.3.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_SHOWN: Final = 200

_QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»", re.DOTALL)
_CLAUSES = re.compile(r"[.!?](?=\s|$)|[;\n]|,?\s+(?=(?:but|however|although|though|yet still)\b)", re.IGNORECASE)
_DENIES = re.compile(
    r"\b(?:no|none|zero|0|nothing|nobody|never|without|neither|nor|no longer|any ?more|used to|before|previously|"
    r"earlier|formerly|originally|at first|initially|instead of|where|when|whenever|if|unless|that|which|whose|who)\b"
    r"|(?<!not )(?<!n't )(?<!yet )(?<!fully )(?<!not be )(?<!n't be )(?<!not been )(?<!n't been )"
    r"\b(?:fixed|resolved|removed|repaired|deleted|closed)\b",
    re.IGNORECASE,
)
_DONE = r"(?:done|finished|completed?|implemented|fixed|resolved|working|tested|verified|met|written|passing)"
_DO = r"(?:finish|complete|implement|fix|resolve|verify|test|run|reach|get|make|manage)"
_THINGS = r"(?:work|tasks?|items?|steps?|issues?|problems?|failures?|errors?|todos?|bugs?|parts?|criteri(?:a|on))"
_SOME = r"(?:\d+|some|several|two|three|a few|many|most)"
_NOT = r"(?:\s+not|n't)"
_IS = r"(?:is|are)(?: still)?"
_ADMISSIONS = re.compile(
    "|".join(
        (
            rf"\bremaining\s+(?:\w+\s+)?{_THINGS}\s*(?::|\b(?:is|are|to|includes?|needs?)\b)",
            rf"\b{_THINGS}\b.{{0,40}}\b(?:remains?|{_IS} (?:left|outstanding|unresolved|open|missing))\b",
            r"\bleft (?:undone|to do|to be done|unfinished|for (?:later|another|next|a follow))",
            rf"\bstill (?:needs?|ha(?:s|ve) to|to be {_DONE}|missing|fail(?:s|ing)?|broken|incomplete|not {_DONE})\b",
            rf"\bnot (?:yet|fully|entirely|completely) (?:been )?{_DONE}\b",
            rf"\b(?:is|are|has|have){_NOT} (?:yet |fully )?(?:been )?(?:fully )?{_DONE}\b",
            rf"\bcould{_NOT} (?:yet )?be (?:fully )?{_DONE}\b",
            rf"(?:^\W*|\b(?:i|we)\b.{{0,15}})(?:could{_NOT}|cannot|did{_NOT}|have{_NOT}|haven't) (?:\w+ )?{_DO}",
            rf"(?:^\W*|\b(?:i|we)\b.{{0,15}})(?:unable to|not able to|failed to|did{_NOT} manage to) (?:\w+ )?{_DO}",
            rf"\b{_SOME}\b.{{0,20}}\b(?:tests?|checks?)\b.{{0,20}}\b(?:fail(?:s|ed|ing)?|red)\b",
            rf"\b(?:tests?|checks?|build|ci)\b (?:\w+ )?(?:(?:{_IS}|keeps?) (?:failing|red|broken)|fails?\b)",
            rf"\b(?:partially|partly|mostly|almost|nearly|half) {_DONE}\b",
            rf"\b{_DONE}\b.{{0,20}}\b(?:except|apart from|other than)\b",
            r"\b(?:is|are|remains?) (?:still )?(?:incomplete|unfinished|undone|work in progress)\b",
            r"\b(?:yet to be|remains to be|left to be|ha(?:s|ve) yet to)\b",
            rf"\bto be {_DONE} (?:later|next|separately|in a follow)",
            r"\bneeds? (?:more|further|additional) (?:work|time|changes|fixes|investigation)\b",
            r"^\W*to-?do:",
        )
    ),
    re.IGNORECASE,
)


def admission(summary: str) -> str:
    """Return the clause in which a summary admits that the goal is not reached; empty where none does."""
    plain = _QUOTED.sub(" ", summary.replace("\u2019", "'"))
    for clause in _CLAUSES.split(plain):
        if _ADMISSIONS.search(clause) and not _DENIES.search(clause):
            return " ".join(clause.split())[:LONGEST_SHOWN]
    return ""
