"""The lexer, broken on purpose: its source with one place rewritten, run as another module."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kova_auto.core.approval.shell import lexer
from kova_auto.core.approval.shell.word import Reading

ROOM = Path(lexer.__file__).parent
_PARTS = ("cursor", "tables", "word_reader", "lexer")
_IMPORTS = tuple(f"from kova_auto.core.approval.shell.{part} import" for part in _PARTS)
_FUTURE = "from __future__ import annotations\n"


@dataclass(frozen=True, slots=True)
class Mutant:
    """Say what is broken: `sound`, which stands in the sources once, becomes `broken`."""

    name: str
    sound: str
    broken: str

    def lexer(self) -> Callable[[str], Reading]:
        """Return the broken lexer."""
        whole = _source()
        assert whole.count(self.sound) == 1, f"{self.name}: {self.sound!r} stands there {whole.count(self.sound)} times"
        module = ModuleType(lexer.__name__)
        exec(compile(whole.replace(self.sound, self.broken), self.name, "exec"), module.__dict__)
        read: Callable[[str], Reading] = module.__dict__["_read"]
        return read


def _source() -> str:
    """Return the lexer's files as one."""
    texts = [(ROOM / f"{part}.py").read_text(encoding="utf-8").replace(_FUTURE, "") for part in _PARTS]
    lines = [line for text in texts for line in text.splitlines(keepends=True) if not line.startswith(_IMPORTS)]
    return _FUTURE + "".join(lines)


SOUND = Mutant("nothing is broken", "MAX_DEPTH = 20\n", "MAX_DEPTH = 20  # as it is\n")

_OPERATOR_CHECK = "            raise Unreadable(Refusal.OPERATOR, at)\n"

MUTANTS = (
    Mutant("a comment is words", '    "#": _Reader.comment,\n', ""),
    Mutant("a comment ends at a blank line", 'text.find("\\n", self.cursor.at)', 'text.find("\\n\\n", self.cursor.at)'),
    Mutant("a # in a word begins a comment", 'frozenset(" \\t\\n;|&()<>")', 'frozenset(" #\\t\\n;|&()<>")'),
    Mutant(
        "single quotes know escapes",
        'text.find("\'", cursor.at + 1)',
        'text.replace("\\\\\'", "xx").find("\'", cursor.at + 1)',
    ),
    Mutant("double quotes know no \\\\", "frozenset('$`\"\\\\')", "frozenset('$`\"')"),
    Mutant(
        "a backslash stays",
        'word.add("\\\\" + escaped, escaped, "\'")',
        'word.add("\\\\" + escaped, "\\\\" + escaped, "\'")',
    ),
    Mutant("lines are not joined", "while char == ", "while char == '' == "),
    Mutant("a newline is a blank", '"\\n": _Reader.newline', '"\\n": _Reader.blank'),
    Mutant(
        "an escaped > belongs to an &",
        'following == ">":\n            self._w',
        'self.cursor.text[at - 1] == ">":\n            return\n        elif following == ">":\n            self._w',
    ),
    Mutant(
        "descriptors begin with a digit",
        "_is_number(target) and target.plain and len(target.raw) <= 2",
        "target.raw[0].isdigit()",
    ),
    Mutant("any file may be written", 'target.literal and target.value == "/dev/null"', "target.literal"),
    Mutant("a number before a redirect is an argument", "return is_number\n", "return False\n"),
    Mutant("a named descriptor is an argument", 'if word.raw.startswith("{") or (', "if ("),
    Mutant(
        "a redirect takes no word",
        "        target = read_word(self.cursor)\n",
        '        target = Word("/dev/null", "/dev/null", plain=True, literal=True)\n',
    ),
    Mutant(
        "two semicolons are one",
        'peek() in (";", "&"):\n' + _OPERATOR_CHECK,
        'peek() in (";", "&"):\n            self.cursor.at += 1\n',
    ),
    Mutant(
        "an operator needs nothing before it",
        "if not self._finish():\n" + _OPERATOR_CHECK,
        "if not self._finish():\n            return\n",
    ),
    Mutant("an operator needs nothing behind it", "        if self.owed:\n", "        if not self:\n"),
    Mutant("no word is reserved", "    if word.raw in RESERVED:", '    if word.raw == "if":'),
    Mutant(
        "assignments are commands",
        "    if word.raw in RESERVED:",
        "    if ASSIGNMENT.match(word.raw):\n        return\n    if word.raw in RESERVED:",
    ),
    Mutant(
        "substitutions are variables",
        'raise Unreadable(Refusal.SUBSTITUTION, at)\n    if char == "!"',
        'char = "?"\n    if char == "!"',
    ),
    Mutant("$' opens a single quote", 'substitutes="([\\"\'")', 'substitutes="([\\"")'),
    Mutant("backticks are text", "raise Unreadable(Refusal.SUBSTITUTION, cursor.at)\n", "cursor.at += 1\n"),
    Mutant("variables stay as they are", "expands = _VARIABLE in fixed", "expands = not fixed"),
    Mutant("braces stay as they are", "word.lead is not None and _lists(bare)", "False"),
    Mutant("numbers in braces stay as they are", "if _counts(bare) or (", "if ("),
    Mutant("patterns stay as they are", "bool(_GLOB.search(bare))", "False"),
    Mutant("a tilde stays as it is", "bool(_TILDE.search(bare))", "False"),
    Mutant("two parentheses are two subshells", 'or self.cursor.peek() == "("', ""),
    Mutant("parentheses need not pair up", "        if self.opened:\n", "        if not self:\n"),
    Mutant(
        "words may follow a subshell",
        "        if self.closed:\n            raise",
        "        if not self:\n            raise",
    ),
    Mutant("a subshell may be empty", "self.opened.pop()[1] == len(self.segments)", "self.opened.pop()[1] < 0"),
)
