"""Opens what a run may read without asking anybody, before its model has made any call: as the `read` tool would."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import Effect, Ruling
from kova_auto.core.approval.policy import Policy
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import BlobHash, CallId
from kova_auto.core.message import ImagePart, ToolCall
from kova_auto.core.tool import CallFacts
from kova_auto.tools.boundary import PATH_ONLY
from kova_auto.tools.encoding import Text, binary_type, decode, image_type
from kova_auto.tools.files import read_file
from kova_auto.tools.read import MAX_IMAGE_BYTES
from kova_auto.tools.roots import Ground, Roots, Target

_MAX_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Picture:
    """Hold an image that may be shown."""

    part: ImagePart
    data: bytes


@dataclass(frozen=True, slots=True)
class Words:
    """Hold a file's text without secrets; `path` is canonical, `hash` that of the file itself."""

    text: Text
    path: str
    hash: BlobHash


@dataclass(frozen=True, slots=True)
class Sight:
    """Look where a run may look; each refusal is a ToolError whose text says why.

    Attributes:
        redact: Takes the secrets that are known out of text, before any of it is cut.
        tainted_by: Untrusted text that the run begins with; empty where there is none.
    """

    roots: Roots
    ground: Ground
    policy: Policy
    redact: Callable[[str], str]
    tainted_by: str = ""

    def target(self, path: str) -> Target:
        """Return what a path means, if a call that read it would simply be allowed.

        Raises:
            ToolError: It may not be read, or can mean no file.
        """
        target = self.roots.locate(path, self.ground, writes=False)
        call = ToolCall(id=CallId(""), tool="read", args={"file_path": path})
        facts = CallFacts(call, Effect.READ, paths=(self.roots.fact(target),), tainted_by=self.tainted_by)
        verdict = adjudicate(facts, self.policy)
        if verdict.ruling is not Ruling.ALLOW:
            raise ToolFailedError(verdict.reason)
        return target

    def kind(self, target: Target) -> int | None:
        """Return the type of file that lies there, as `stat.S_IFMT` gives it; None where nothing does.

        Raises:
            ToolFailedError: It cannot be reached.
        """
        with self.roots.plainly(target):
            try:
                fd = target.open(PATH_ONLY | os.O_CLOEXEC)
            except (FileNotFoundError, NotADirectoryError):
                return None
        try:
            return stat.S_IFMT(os.fstat(fd).st_mode)
        finally:
            os.close(fd)

    def read(self, target: Target) -> Words | Picture:
        """Return a file that is text or an image.

        Raises:
            ToolFailedError: It is neither, too large, or may not be read.
        """
        content = read_file(self.roots, target, limit=_MAX_BYTES)
        if media := image_type(content.data):
            if len(content.data) > MAX_IMAGE_BYTES:
                message = f"it is an image of {len(content.data)} bytes; at most {MAX_IMAGE_BYTES} are shown"
                raise ToolFailedError(message)
            return Picture(ImagePart(blob=content.hash, media_type=media), content.data)
        if kind := binary_type(content.data):
            message = f"it is a binary file ({kind}, {len(content.data)} bytes), not text"
            raise ToolFailedError(message)
        text = decode(content.data)
        clean = self.redact(text.readable)
        return Words(text if clean == text.readable else Text(clean), content.path, content.hash)
