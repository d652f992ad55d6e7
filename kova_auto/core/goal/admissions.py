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
    r"earlier|formerly|originally|at first|initially|fixed|resolved|removed|repaired|deleted|closed|instead of|"
    r"where|when|whenever|if|unless|that|which|whose|who)\b",
    re.IGNORECASE,
)
_DONE = r"(?:done|finished|completed?|implemented|fixed|resolved|working|tested|verified|met|written|passing)"
_DO = r"(?:finish|complete|implement|fix|resolve|verify|test|run|reach|get|make|manage)"
_THINGS = (
    r"(?:work|tasks?|items?|steps?|issues?|problems?|failures?|errors?|todos?|bugs?|parts?|files?|criteri(?:a|on))"
)
_NOT = r"(?:\s+not|n['\u2019]t)"
_IS = r"(?:is|are)(?: still)?"
_ADMISSIONS = re.compile(
    "|".join(
        (
            rf"\bremaining\s+(?:\w+\s+)?{_THINGS}\b",
            rf"\b{_THINGS}\b.{{0,40}}\b(?:remains?|{_IS} (?:left|outstanding|unresolved|open|missing))\b",
            r"\bleft (?:undone|to do|to be done|unfinished|for (?:later|another|next|a follow))",
            rf"\bstill (?:needs?|ha(?:s|ve) to|to be {_DONE}|missing|fail(?:s|ing)?|broken|incomplete|not {_DONE})\b",
            rf"\bnot (?:yet|fully|entirely|completely) (?:been )?{_DONE}\b",
            rf"\b(?:is|are|has|have){_NOT} (?:yet |fully )?(?:been )?(?:fully )?{_DONE}\b",
            rf"\b(?:could|can|did|have){_NOT} (?:yet |fully )?(?:be |been )?(?:able to )?(?:{_DO}|{_DONE})\b",
            rf"\b(?:cannot|unable to|not able to|failed to|did not manage to) (?:be )?(?:{_DO}|{_DONE})\b",
            r"\b(?:\d+|some|several|one|two|three|a few|many|most)\b.{0,20}\b(?:tests?|checks?)\b.{0,20}\b(?:fail|red)",
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
    for clause in _CLAUSES.split(_QUOTED.sub(" ", summary)):
        if _ADMISSIONS.search(clause) and not _DENIES.search(clause):
            return " ".join(clause.split())[:LONGEST_SHOWN]
    return ""
