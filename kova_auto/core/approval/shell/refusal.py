"""Why a command is not read: a closed set of codes, each with a sentence that says what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Refusal(StrEnum):
    """Name what the lexer met and does not read; the lexer's own tests pin which text gives which."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    CHARACTER = "character"  # control, invisible, or a blank that bash does not take for one
    UNCLOSED_QUOTE = "unclosed_quote"
    TRAILING_BACKSLASH = "trailing_backslash"
    SUBSTITUTION = "substitution"  # $( ` <( >( ${x…} $[ $' $"
    VARIABLE = "variable"  # IFS, BASH_ENV, $_ and their like
    BRACES = "braces"
    HISTORY = "history"
    REDIRECT = "redirect"  # one that writes a file, or whose target is not one plain word
    HERE_DOCUMENT = "here_document"
    OPERATOR = "operator"  # ;; leading, doubled or missing operators
    PARENTHESES = "parentheses"  # functions, arrays, extglob, (( ; too deep; unbalanced
    BACKGROUND = "background"
    ASSIGNMENT = "assignment"
    RESERVED = "reserved"
    COMMAND_WORD = "command_word"  # the first word is quoted, a variable, a glob, not ASCII


@dataclass(frozen=True, slots=True)
class Refused:
    """Say why a command is not read, and where.

    Attributes:
        at: Offset in characters of what was met, from 0.
    """

    code: Refusal
    at: int


_SENTENCES = {
    Refusal.EMPTY: "there is no command here: give one program and its arguments",
    Refusal.TOO_LONG: (
        "the command is longer than 32 KiB: put long text into a file with the write tool, and name that file"
    ),
    Refusal.CHARACTER: (
        "here is a control character, an invisible one, or a blank that is none to bash: type the command anew, with"
        " visible characters, spaces, tabs and newlines"
    ),
    Refusal.UNCLOSED_QUOTE: "a quote is opened here and never closed: close it, or put a backslash before it",
    Refusal.TRAILING_BACKSLASH: "the command ends in a backslash: leave it out",
    Refusal.SUBSTITUTION: (
        "here is a substitution, or quoted text that some programs would take for one: $( ` <( >( ${x...} $[ $' $\";"
        " run the inner command in a call of its own and use what it printed; of variables, $NAME and ${NAME} are read"
    ),
    Refusal.VARIABLE: (
        "here is a variable that shells themselves act on or fill ($IFS, $ENV, $BASH_ENV, $PROMPT_COMMAND, $_, $!):"
        " write the text that is meant"
    ),
    Refusal.BRACES: (
        "here are braces that bash turns into several words, of which one may be an option: write the words out, or"
        " quote the braces"
    ),
    Refusal.HISTORY: "here is a ! that may stand for an earlier command: put it in single quotes",
    Refusal.REDIRECT: (
        "here is a redirect that may write a file, or whose target is not one plain word: use the write tool instead of"
        " cat > f; >/dev/null, 2>/dev/null, 2>&1 and < FILE are read"
    ),
    Refusal.HERE_DOCUMENT: (
        "here is a here-document or a here-string: use the write tool instead of cat <<EOF, and name the file"
    ),
    Refusal.OPERATOR: (
        "here is an operator without a command on each side, or one that only a case has: use one command per call, or"
        " join two with && || | or ;"
    ),
    Refusal.PARENTHESES: (
        "here is a parenthesis that is not that of a subshell, as in functions, arrays, patterns and arithmetic, or"
        " that has no partner: quote it, or use one command per call"
    ),
    Refusal.BACKGROUND: "a job left in the background would outlive the call: leave out the last &",
    Refusal.ASSIGNMENT: "here is an assignment: give the program an option or an argument instead",
    Refusal.RESERVED: (
        "here is a word of the shell's own language, such as if, for, while, case, function, time, !, { or [[: use one"
        " simple command per call"
    ),
    Refusal.COMMAND_WORD: (
        "the name of the program is quoted, escaped, a variable, a pattern, or not ASCII: write it as it is"
    ),
}


def say(refused: Refused) -> str:
    """Return a sentence for the model: where reading stopped, at what, and what to write instead."""
    return f"At character {refused.at + 1} of the command: {_SENTENCES[refused.code]}."
