"""Take a command apart into the simple commands that bash would run, or refuse it.

One pass from left to right over a small subset of bash. Whatever is not understood is refused: a command that is read
is read as bash 5.2 reads it, which the tests hold against bash itself. What a word may still become (a variable, a
glob) is said of the word, and judged elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from kova_auto.core.approval.shell.cursor import Cursor, Unreadable
from kova_auto.core.approval.shell.refusal import Refusal, Refused
from kova_auto.core.approval.shell.tables import ASSIGNMENT, BLANKS, COMMAND, METACHARACTERS, RESERVED, SIMPLE_WORD
from kova_auto.core.approval.shell.word import Lexed, Reading, Segment, Word
from kova_auto.core.approval.shell.word_reader import plain_word, read_word

MAX_BYTES = 32 * 1024
MAX_DEPTH = 20

_REMEMBERED_CHARS = 1024
_VISIBLE_BREAKS = str.maketrans("\n\t", "  ")
_NO_FILES = ("/dev/tcp", "/dev/udp")  # bash opens a connection


def lex(command: str) -> Reading:
    """Return the simple commands in order, or why they are not read. Never raises."""
    if len(command) <= _REMEMBERED_CHARS:
        return _remembered(command)
    return _read(command)


def _read(command: str) -> Reading:
    if len(command) > MAX_BYTES or len(command.encode(errors="replace")) > MAX_BYTES:
        return Refused(Refusal.TOO_LONG, min(len(command), MAX_BYTES))
    if not command.translate(_VISIBLE_BREAKS).isprintable():
        strange = next(at for at, char in enumerate(command) if char not in "\n\t" and not char.isprintable())
        return Refused(Refusal.CHARACTER, strange)
    try:
        return _Reader(Cursor(command)).read()
    except Unreadable as found:
        return found.refused


_remembered = lru_cache(maxsize=128)(_read)


@dataclass(slots=True)
class _Reader:
    """Hold the command that is being read and those before it.

    Attributes:
        owed: What is refused, and where, if no command follows.
        redirected: Where the first redirect of this command stands.
        closed: A subshell has just ended: redirects and operators may follow.
        opened: Where each open subshell begins, and how many segments there were.
    """

    cursor: Cursor
    segments: list[Segment] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    reads: list[Word] = field(default_factory=list)
    owed: Refused | None = None
    redirected: int | None = None
    closed: bool = False
    opened: list[tuple[int, int]] = field(default_factory=list)

    def read(self) -> Lexed:
        while self._simple_word() or self._step():
            pass
        self._finish()
        if self.opened:
            raise Unreadable(Refusal.PARENTHESES, self.opened[-1][0])
        self._settle()
        if not self.segments:
            raise Unreadable(Refusal.EMPTY, 0)
        return Lexed(tuple(self.segments))

    def _simple_word(self) -> bool:
        """Read blanks and a word of bare characters, which most are; return whether there was one."""
        simple = SIMPLE_WORD.match(self.cursor.text, self.cursor.at)
        if not simple:
            return False
        self.cursor.at = simple.end()
        self._add(plain_word(simple[1]), simple.start(1))
        return True

    def _step(self) -> bool:
        """Read what comes next; return whether anything did."""
        char = self.cursor.peek()
        if char:
            _STEPS.get(char, _Reader.word)(self)
        return bool(char)

    def _finish(self) -> bool:
        """End the command that is being read; return whether there was one."""
        if self.redirected is not None and not self.words and not self.closed:
            raise Unreadable(Refusal.EMPTY, self.redirected)
        ended = self.closed or bool(self.words)
        if self.words:
            self.segments.append(Segment(tuple(self.words), tuple(self.reads), len(self.opened)))
            self.words, self.reads = [], []
        self.redirected, self.closed = None, False
        return ended

    def _settle(self) -> None:
        if self.owed:
            raise Unreadable(self.owed.code, self.owed.at)

    def word(self) -> None:
        at = self.cursor.at
        word = read_word(self.cursor)
        if not self._is_descriptor(word, at):
            self._add(word, at)

    def _add(self, word: Word, at: int) -> None:
        if self.closed:
            raise Unreadable(Refusal.PARENTHESES, at)
        if not self.words:
            _check_command_word(word, at)
        self.owed = None
        self.words.append(word)

    def _is_descriptor(self, word: Word, at: int) -> bool:
        """Return whether `word` numbers the redirect that it is glued to."""
        if self._next() not in ("<", ">"):
            return False
        is_number = _is_number(word)
        if word.raw.startswith("{") or (is_number and len(word.raw) > 2):
            raise Unreadable(Refusal.REDIRECT, at)
        return is_number

    def _next(self) -> str:
        return self.cursor.text[self.cursor.at : self.cursor.at + 1]

    def blank(self) -> None:
        self.cursor.at += 1

    def newline(self) -> None:
        self.cursor.at += 1
        self._finish()

    def comment(self) -> None:
        end = self.cursor.text.find("\n", self.cursor.at)
        self.cursor.at = end if end >= 0 else len(self.cursor.text)

    def semicolon(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        if self.cursor.peek() in (";", "&"):
            raise Unreadable(Refusal.OPERATOR, at)
        self._operator(at, None)

    def pipe(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        if self.cursor.peek() in ("|", "&"):
            self.cursor.at += 1
        self._operator(at, Refusal.OPERATOR)

    def ampersand(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        following = self.cursor.peek()
        if following == ">":
            self._write_redirect(at)
        elif following == "&":
            self.cursor.at += 1
            self._operator(at, Refusal.OPERATOR)
        else:
            self._operator(at, Refusal.BACKGROUND)

    def _operator(self, at: int, owes: Refusal | None) -> None:
        if not self._finish():
            raise Unreadable(Refusal.OPERATOR, at)
        self.owed = Refused(owes, at) if owes else None

    def open(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        is_command = not (self.words or self.closed or self.redirected is not None)
        if not is_command or self.cursor.peek() == "(" or len(self.opened) == MAX_DEPTH:
            raise Unreadable(Refusal.PARENTHESES, at)
        self.owed = None
        self.opened.append((at, len(self.segments)))

    def close(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        self._finish()
        self._settle()
        if not self.opened or self.opened.pop()[1] == len(self.segments):
            raise Unreadable(Refusal.PARENTHESES, at)
        self.closed = True

    def greater(self) -> None:
        self._write_redirect(self.cursor.at)

    def _write_redirect(self, at: int) -> None:
        """Read `>`, `>>`, `&>`, `&>>` or `>&`, the cursor on the first `>`."""
        is_plain = at == self.cursor.at
        self.cursor.at += 1
        following = self.cursor.peek()
        if following == "(":
            raise Unreadable(Refusal.SUBSTITUTION, at)
        duplicates = following == "&" and is_plain
        if duplicates or following == ">":
            self.cursor.at += 1
        target = self._target(at)
        if duplicates:
            is_harmless = _is_number(target) and target.plain and len(target.raw) <= 2
        else:
            is_harmless = target.literal and target.value == "/dev/null"
        if not is_harmless:
            raise Unreadable(Refusal.REDIRECT, at)

    def less(self) -> None:
        at = self.cursor.at
        self.cursor.at += 1
        following = self.cursor.peek()
        if following == "<":
            raise Unreadable(Refusal.HERE_DOCUMENT, at)
        if following == "(":
            raise Unreadable(Refusal.SUBSTITUTION, at)
        target = self._target(at)
        if self.closed or not target.literal or target.value.startswith(_NO_FILES):
            raise Unreadable(Refusal.REDIRECT, at)
        self.reads.append(target)

    def _target(self, at: int) -> Word:
        """Return the word that a redirect names."""
        while (char := self.cursor.peek()) and char in BLANKS:
            self.cursor.at += 1
        if not char or char in METACHARACTERS or char == "#":
            raise Unreadable(Refusal.REDIRECT, at)
        target = read_word(self.cursor)
        if self._is_descriptor(target, at):  # bash: syntax error
            raise Unreadable(Refusal.REDIRECT, at)
        self.owed = None
        self.redirected = at if self.redirected is None else self.redirected
        return target


def _is_number(word: Word) -> bool:
    return word.raw.isascii() and word.raw.isdigit()


def _check_command_word(word: Word, at: int) -> None:
    if word.raw in RESERVED:
        raise Unreadable(Refusal.RESERVED, at)
    if not word.plain or not COMMAND.fullmatch(word.raw):
        raise Unreadable(Refusal.ASSIGNMENT if ASSIGNMENT.match(word.raw) else Refusal.COMMAND_WORD, at)


_STEPS: dict[str, Callable[[_Reader], None]] = {
    " ": _Reader.blank,
    "\t": _Reader.blank,
    "\n": _Reader.newline,
    "#": _Reader.comment,
    ";": _Reader.semicolon,
    "|": _Reader.pipe,
    "&": _Reader.ampersand,
    "(": _Reader.open,
    ")": _Reader.close,
    "<": _Reader.less,
    ">": _Reader.greater,
}
