"""Make a skill of what its front matter says, and say what is not as the format wants it.

What others publish is put up with where its meaning is plain, and remarked on: a name in capitals, a description that
is too long, keys of other programs. A skill that nobody could choose or name is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.skills.allowed import names_in, tools_of
from kova_auto.core.skills.skill import FILES, Skill, SkillFile
from kova_auto.core.toml.complaints import did_you_mean

MOST_NAME: Final = 64
MOST_DESCRIPTION: Final = 1_024
MOST_COMPATIBILITY: Final = 500
MOST_LINES: Final = 500
KEYS: Final = (
    *("name", "description", "license", "compatibility", "metadata", "allowed-tools"),
    "disable-model-invocation",
)
_OF_OTHERS: Final = frozenset(
    (
        *("version", "author", "tags", "category", "argument-hint", "arguments", "user-invocable", "model", "effort"),
        *("context", "agent", "hooks", "when_to_use", "paths", "shell", "keywords", "dependencies", "homepage", "mode"),
    )
)
_STRICT: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_USABLE: Final = re.compile(r"[\w][\w.:@+-]{0,63}")
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", ""})


def skill_of(
    file: SkillFile,
    front: Mapping[str, object],
    body: str,
    lines: Mapping[str, int],
    remarks: Iterable[ConfigError] = (),
) -> Skill:
    """Return the skill of a file.

    Args:
        file: Where it was found; errors name its path.
        front: Its front matter.
        body: What stands behind it.
        lines: Where the keys stand, 1-based.
        remarks: What is known already to be wrong with it.

    Raises:
        ConfigError: It cannot be used; everything that stands in the way, each with its line.
    """
    reading = _Reading(file, front, lines, list(remarks))
    name, description = reading.name(), reading.description(body)
    allowed, tools = reading.allowed()
    skill = Skill(
        file=file,
        name=name,
        description=description,
        body=body.strip("\n"),
        license=reading.text("license"),
        compatibility=reading.compatibility(),
        metadata=reading.metadata(),
        allowed=allowed,
        tools=tools,
        hidden=reading.hidden(),
    )
    reading.look_over(body)
    return reading.finished(skill)


@dataclass(slots=True)
class _Reading:
    """Read the keys of one file, and keep what there is to say of them."""

    file: SkillFile
    front: Mapping[str, object]
    lines: Mapping[str, int]
    remarks: list[ConfigError]
    wrong: list[ConfigError] = field(default_factory=list)

    def finished(self, skill: Skill) -> Skill:
        if self.wrong:
            first = self.wrong[0]
            raise ConfigError(
                first.message, path=first.path, line=first.line, key=first.key, hint=first.hint, others=self.wrong[1:]
            )
        remarks = tuple(sorted(self.remarks, key=lambda remark: remark.line or 0))
        return replace(skill, remarks=remarks)

    def text(self, key: str) -> str:
        """Return a key's value as one piece of text."""
        match self.front.get(key):
            case None:
                return ""
            case bool() as known:
                return str(known).lower()
            case str() | int() as known:
                return str(known).strip()
            case other:
                self._remark(key, f"wanted text, found {_kind(other)}", "it is not read")
                return ""

    def name(self) -> str:
        written, folder = self.text("name"), self.file.name
        if not _USABLE.fullmatch(written):
            if not _USABLE.fullmatch(folder):
                self._refuse(
                    "name", _found(written, "a name of a-z, 0-9 and -"), "name: my-skill, in a folder my-skill"
                )
            else:
                self._remark("name", _found(written, "a name of a-z, 0-9 and -"), f"it is called {folder} here")
            return folder
        if not _STRICT.fullmatch(written):
            hint = "one - between words, none at an end" if re.fullmatch(r"[a-z0-9-]+", written) else ""
            self._remark("name", _found(written, "a name of a-z, 0-9 and -"), hint)
        folders = (folder, PurePath(self.file.folder).name)  # Another one where a link leads to it.
        if unicodedata.normalize("NFKC", written) not in {unicodedata.normalize("NFKC", one) for one in folders}:
            self._remark("name", f"wanted the name of its folder, {folder}, found {written}", "rename one of them")
        return written

    def description(self, body: str) -> str:
        said = " ".join(self.text("description").split())
        if not said:
            said = _first_paragraph(body)
            if not said:
                self._refuse("description", "wanted a description, found none", "say what it does, and when to use it")
                return ""
            self._remark("description", "wanted a description, found none", "the first paragraph stands for it")
        if len(said) > MOST_DESCRIPTION:
            message = f"wanted at most {MOST_DESCRIPTION} characters, found {len(said)}"
            self._remark("description", message, "the rest is not shown")
            said = f"{said[: MOST_DESCRIPTION - 1]}…"
        return said

    def compatibility(self) -> str:
        said = self.text("compatibility")
        if len(said) > MOST_COMPATIBILITY:
            message = f"wanted at most {MOST_COMPATIBILITY} characters, found {len(said)}"
            self._remark("compatibility", message, "make it shorter")
        return said[:MOST_COMPATIBILITY]

    def metadata(self) -> dict[str, str]:
        match self.front.get("metadata"):
            case None:
                return {}
            case Mapping() as given:
                known = {key: value for key, value in given.items() if isinstance(value, str | int)}
                for key in [key for key in given if key not in known]:
                    message = f"wanted text, found {_kind(given[key])}"
                    self._remark(f"metadata.{key}", message, "it is not read")
                return {
                    key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in known.items()
                }
            case other:
                self._remark("metadata", f"wanted keys with text, found {_kind(other)}", "it is not read")
                return {}

    def allowed(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """Return the tools as they are written, and by our names."""
        match self.front.get("allowed-tools"):
            case None:
                return None, None
            case str() as written:
                names = names_in(written)
            case list() as given if all(isinstance(each, str) for each in given):
                names = tuple(name for each in given for name in names_in(each))
            case other:
                message = f"wanted names separated by blanks, found {_kind(other)}"
                self._refuse("allowed-tools", message, "allowed-tools: Read Grep")
                return None, None
        tools, unknown = tools_of(names)
        if not names:
            self._remark("allowed-tools", "names no tool", "a run that loads it keeps none; leave the key out for all")
        for name in unknown:
            self._remark("allowed-tools", f"{name} names no tool here", "what it means cannot be used")
        if unknown and not tools:
            self._remark("allowed-tools", "names none of the tools here", "it narrows nothing")
            return names, None
        return (names, tools) if tools is not None else (None, None)

    def hidden(self) -> bool:
        written = self.text("disable-model-invocation").lower()
        if written not in _TRUE | _FALSE:
            self._remark("disable-model-invocation", f"wanted true or false, found {written}", "true is meant")
        return written not in _FALSE

    def look_over(self, body: str) -> None:
        """Remark on what no single key is about."""
        for key in [key for key in self.front if key not in KEYS]:
            hint = "other programs know it; it is not read here" if key in _OF_OTHERS else did_you_mean(key, KEYS)
            self._remark(key, "is no key of the format", hint or "it is not read")
        if not body.strip():
            self._remark("", "wanted instructions below the front matter, found none", "")
        if (count := body.strip().count("\n") + 1) > MOST_LINES:
            message = f"wanted at most {MOST_LINES} lines of instructions, found {count}"
            self._remark("", message, "move details to files in references/")
        if self.file.file != FILES[0]:
            self._remark("", f"wanted the file {FILES[0]}, found {self.file.file}", "rename it")

    def _remark(self, key: str, message: str, hint: str) -> None:
        self.remarks.append(self._problem(key, message, hint))

    def _refuse(self, key: str, message: str, hint: str) -> None:
        self.wrong.append(self._problem(key, message, hint))

    def _problem(self, key: str, message: str, hint: str) -> ConfigError:
        return ConfigError(message, path=self.file.path, line=self.lines.get(key, 1), key=key, hint=hint)


def _first_paragraph(body: str) -> str:
    """Return the first lines that are no heading."""
    paragraphs = (part.strip() for part in re.split(r"\n[ \t]*\n", body))
    found = next((part for part in paragraphs if part and not part.startswith("#")), "")
    return " ".join(found.split())


def _found(written: str, wanted: str) -> str:
    found = f"{written[:MOST_NAME]}{'…' if len(written) > MOST_NAME else ''}"
    return f"wanted {wanted}, at most {MOST_NAME} characters, found {found or 'none'}"


def _kind(value: object) -> str:
    match value:
        case bool():
            return "true or false"
        case int():
            return "a number"
        case list():
            return "a list"
        case Mapping():
            return "keys with values"
        case _:
            return "something else"
