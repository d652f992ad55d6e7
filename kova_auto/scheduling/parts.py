"""Read the files that a job file names, and find its directories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Context, Permissions
from kova_auto.core.output.schema import flaws
from kova_auto.core.secret import SecretRef
from kova_auto.core.toml.document import parse_document
from kova_auto.core.toml.places import Key
from kova_auto.scheduling.attachment_checks import read_attachments
from kova_auto.scheduling.draft import Draft
from kova_auto.settings.text import absolute, read_text


@dataclass(frozen=True, slots=True)
class Parts:
    """Hold what a job needs from beside its file; whatever could not be read is empty, and the draft says so."""

    prompt: str
    workspace: str
    script_text: str | None
    schema_text: str | None
    permissions: Permissions
    context: Context
    env: dict[str, SecretRef]


def read_parts(draft: Draft) -> Parts:
    """Read everything that the file names, and note what is wrong with it."""
    file, workspace = draft.file, _workspace(draft)
    roots = {
        name: _roots(draft, ("permissions", name), getattr(file.permissions, name), workspace)
        for name in ("write_roots", "read_roots")
    }
    permissions = file.permissions.model_copy(update=roots)
    attachments = read_attachments(draft, workspace, permissions)
    return Parts(
        prompt=_prompt(draft),
        workspace=str(workspace),
        script_text=_script(draft),
        schema_text=_schema(draft),
        permissions=permissions,
        context=file.context.model_copy(update={"attachments": attachments}),
        env={name: read_reference(draft, ("env", name), reference) for name, reference in file.env.items()},
    )


def _prompt(draft: Draft) -> str:
    prompt, prompt_file = draft.file.prompt, draft.file.prompt_file
    if prompt is not None and prompt_file is not None:
        draft.problems.add(
            ("prompt_file",), "wanted one of prompt and prompt_file, found both", "leave one of them out"
        )
    elif prompt_file is not None:
        prompt = _text(draft, ("prompt_file",), prompt_file)
    elif prompt is None and ("prompt_file",) not in draft.problems:
        draft.problems.add(("prompt",), "wanted prompt or prompt_file, found neither", "say what the agent is to do")
    if prompt is not None and not prompt.strip():
        key = "prompt" if draft.file.prompt is not None else "prompt_file"
        draft.problems.add((key,), "wanted what the agent is to do, found only blanks")
    return prompt or ""


def _workspace(draft: Draft) -> Path:
    key, home = ("workspace",), draft.path.parent
    try:
        workspace = absolute(draft.file.workspace or ".", home)
    except ConfigError as exc:
        draft.problems.pass_on(key, exc)
        return home
    if not workspace.is_dir():
        found = "a file" if workspace.exists() else "nothing"
        draft.problems.add(
            key, f"wanted a directory, found {found} at {workspace}", "a relative one begins at the job file"
        )
    return workspace


def _roots(draft: Draft, key: Key, written: Sequence[str], workspace: Path) -> tuple[str, ...]:
    """Return the directories, canonical; relative ones begin at the workspace."""
    found: list[str] = []
    for index, root in enumerate(written):
        try:
            found.append(str(absolute(root, workspace)))
        except ConfigError as exc:
            draft.problems.pass_on((*key, index), exc)
    return tuple(found)


def read_reference(draft: Draft, key: Key, reference: SecretRef) -> SecretRef:
    """Return the reference, a file's path made absolute."""
    if reference.file is None:
        return reference
    try:
        return SecretRef(file=str(absolute(reference.file, draft.path.parent)))
    except ConfigError as exc:
        draft.problems.pass_on(key, exc)
        return reference


def _script(draft: Draft) -> str | None:
    key = ("script",)
    text = _text(draft, key, draft.file.script)
    if text is not None:
        try:
            parse_document(text, str(draft.file.script), ConfigError)
        except ConfigError as exc:
            draft.problems.pass_on(key, exc)
    return text


def _schema(draft: Draft) -> str | None:
    key = ("output", "schema")
    text = _text(draft, key, draft.file.output.schema_file)
    if text is not None:
        for flaw in flaws(text):
            draft.problems.add(key, f"{draft.file.output.schema_file}: {flaw}")
    return text


def _text(draft: Draft, key: Key, written: str | None) -> str | None:
    """Return the content of a file that a key names, relative to the job file."""
    if written is None:
        return None
    try:
        return read_text(absolute(written, draft.path.parent))
    except ConfigError as exc:
        draft.problems.pass_on(key, exc)
        return None
