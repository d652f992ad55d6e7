"""Understand the file of a subagent: Kova's YAML, and Markdown whose front matter is Claude Code's or OpenCode's.

What would narrow the subagent and cannot be understood is an error: it is never used with more than its author meant.
Everything else that is not obeyed is named, with what holds instead.

Source: reference on the original, 8; reference on models, 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.allowance import Allowance, allowance
from kova_auto.core.subagents.definition import Layer, Subagent
from kova_auto.core.subagents.keys import HARMLESS, KEYS, MEANT, PASSED_OVER, PLAN, canonical, logic, shown
from kova_auto.core.subagents.roster import Defined
from kova_auto.core.toml.document import together

MOST_PROMPT_CHARS: Final = 64_000
MOST_DESCRIPTION_CHARS: Final = 8_000
MOST_SKILLS: Final = 16
MOST_TURNS: Final = 1_000

_COUNTING: Final = {canonical(key): key for key in KEYS}
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_OWN_MODEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}/\S{1,200}")
INHERITED: Final = frozenset({"", "inherit", "default", "auto"})
_OPTIONAL_QUOTES: Final = "\"'"


@dataclass(frozen=True, slots=True)
class Written:
    """Hold a definition as its file says it.

    Attributes:
        front: What its keys mean, as `knowledge.frontmatter` reads them.
        lines: Where each key stands, 1-based.
        body: The prompt; None where that is a key, as in Kova's YAML.
        path: How messages name the file.
        stem: Its name without ending.
    """

    front: Mapping[str, object]
    lines: Mapping[str, int]
    body: str | None
    path: str
    stem: str


def parse_definition(written: Written, layer: Layer, plugin: str = "") -> Defined:
    """Return what a file defines.

    Raises:
        ConfigError: It defines nothing; every reason is in it.
    """
    return _Reading(written).defined(layer, plugin)


def name_of(written: Written) -> str:
    """Return the name that a file defines, or was to define; that of the file where it says none."""
    said = next((value for key, value in written.front.items() if canonical(key) == "name"), None)
    return _slug(str(said) if isinstance(said, str | int) else "") or _slug(written.stem) or "unnamed"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9_-]+", "-", text.strip().lower()).strip("-_")[:64]


@dataclass
class _Reading:
    """Read one file, and collect what is wrong with it."""

    written: Written
    errors: list[ConfigError] = field(default_factory=list)
    problems: list[ConfigError] = field(default_factory=list)

    def defined(self, layer: Layer, plugin: str) -> Defined:
        said = self._said()
        name, description, prompt = self._name(said), self._description(said), self._prompt(said)
        allowed = self._allowance(said)
        turns, skills = self._turns(said), self._skills(said)
        model, alias = self._model(said)
        if self.errors:
            raise together(self.errors)
        agent = Subagent(
            name=name,
            description=description,
            prompt=prompt,
            tools=allowed.tools,
            max_turns=turns,
            model=model,
            skills=skills,
            servers=allowed.servers,
            layer=layer,
            path=self.written.path,
            plugin=plugin,
        )
        return Defined(agent, alias, tuple(sorted(self.problems, key=lambda problem: problem.line or 0)))

    def _said(self) -> dict[str, object]:
        """Return the values of the keys that count, by their canonical names; the others are named."""
        said: dict[str, object] = {}
        for key, value in self.written.front.items():
            name = canonical(key)
            if name in said:
                self._wrong(key, "stands twice, written in two ways", "take one of them out")
            elif name in _COUNTING or (name == "permissionmode" and value == PLAN):
                said[name] = value
            elif name in {"disable", "disabled"}:
                if logic(value) is not False:
                    self._wrong(key, "this definition is disabled by its own file")
            elif name in MEANT:
                if value is not None and logic(value) is not False and value not in HARMLESS.get(name, ()):
                    self._note(key, f"is not obeyed: {MEANT[name]}")
            elif name not in PASSED_OVER:
                near = get_close_matches(name, _COUNTING, n=1)
                hint = f"did you mean {_COUNTING[near[0]]}?" if near else ""
                self._note(key, "this key is not known, and means nothing", hint)
        return said

    def _name(self, said: Mapping[str, object]) -> str:
        value = said.get("name")
        if value is None:
            slug = _slug(self.written.stem)
            self._note("name", f"wanted a name, found none: it is {slug or 'unnamed'}, as its file")
            return slug or "unnamed"
        text = str(value) if isinstance(value, str | int) else ""
        plain = text.strip().lower()
        if _NAME.fullmatch(plain):
            return plain
        slug = _slug(text)
        if not slug:
            self._wrong("name", "wanted a name of letters, digits, - and _, found none")
        else:
            self._note("name", f"wanted a name of letters, digits, - and _: it is known as {slug}")
        return slug

    def _description(self, said: Mapping[str, object]) -> str:
        value = said.get("description")
        text = value.strip() if isinstance(value, str) else ""
        if not text:
            self._wrong("description", f"wanted a sentence that says when to use it, found {shown(value or None)}")
        return text.replace("\\n", "\n")[:MOST_DESCRIPTION_CHARS]

    def _prompt(self, said: Mapping[str, object]) -> str:
        value = said.get("prompt")
        if self.written.body is None:
            text, where = value.strip() if isinstance(value, str) else "", "prompt"
        else:
            text, where = self.written.body.strip(), ""
            if value is not None:
                self._note("prompt", "means nothing here: the text below the front matter is the prompt")
        if not text:
            what = "a prompt" if where else "a prompt below the front matter"
            self._wrong(where, f"wanted {what}, found none")
        if len(text) > MOST_PROMPT_CHARS:
            self._wrong(where, f"wanted a prompt of at most {MOST_PROMPT_CHARS} characters, found {len(text)}")
        if "\0" in text:
            self._wrong(where, "wanted text, found a NUL in the prompt")
        return text

    def _allowance(self, said: Mapping[str, object]) -> Allowance:
        found = allowance(said, needs_tools=self.written.body is None)
        for key, message in found.errors:
            self._wrong(key, message)
        for key, message in found.remarks:
            self._note(key, message)
        return found

    def _turns(self, said: Mapping[str, object]) -> int | None:
        value = said.get("maxturns")
        if value is None:
            return None
        number = int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,6}", value) else value
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_TURNS:
            self._wrong("maxturns", f"wanted a whole number from 1 to {MOST_TURNS}, found {shown(value)}")
            return None
        return number

    def _model(self, said: Mapping[str, object]) -> tuple[str, str]:
        """Return the model of ours that is named, and what else it is called."""
        value = said.get("model")
        if value is None:
            return "", ""
        if not isinstance(value, str):
            self._wrong("model", f"wanted provider/model, found {shown(value)}")
            return "", ""
        text = value.strip().strip(_OPTIONAL_QUOTES)
        if text.lower() in INHERITED:
            return "", ""
        if _OWN_MODEL.fullmatch(text):
            return text, ""
        hint = f'models = {{ {_bare(text)} = "provider/model" }} of [agents] in the settings names another'
        self._note("model", f"{shown(text)} names no provider: it has its parent's model", hint)
        return "", text.lower()

    def _skills(self, said: Mapping[str, object]) -> tuple[str, ...] | None:
        value = said.get("skills")
        if value is None:
            return None
        names = value.split(",") if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._wrong("skills", f"wanted names of skills, found {shown(value)}")
            return None
        kept = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
        if len(kept) > MOST_SKILLS:
            self._note("skills", f"wanted at most {MOST_SKILLS} skills, found {len(kept)}: the first count")
        return kept[:MOST_SKILLS]

    def _wrong(self, key: str, message: str, hint: str = "") -> None:
        self.errors.append(self._at(key, message, hint))

    def _note(self, key: str, message: str, hint: str = "") -> None:
        self.problems.append(self._at(key, message, hint))

    def _at(self, key: str, message: str, hint: str) -> ConfigError:
        """Return what is wrong with a key, under the name that the file has for it."""
        own = next((name for name in self.written.front if name == key or canonical(name) == key), key)
        line = self.written.lines.get(own)
        return ConfigError(message, path=self.written.path, line=line, key=one_line(own, 40), hint=hint)


def _bare(text: str) -> str:
    return text.lower() if re.fullmatch(r"[A-Za-z0-9_-]+", text) else f'"{one_line(text.lower(), 40)}"'
