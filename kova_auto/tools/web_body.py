"""Turns the raw body of an answer into text, within bounds: what it decompresses to, and in which characters."""

from __future__ import annotations

import codecs
import re
import zlib
from dataclasses import dataclass
from enum import StrEnum

from kova_auto.core.errors import ToolFailedError
from kova_auto.core.net.http import BodyEnd, HttpResponse
from kova_auto.tools.encoding import binary_type

MAX_BYTES = 5 << 20
"""No more of a body is read, and no body may decompress to more."""

_MAX_MEMBERS = 16
_GZIP = b"\x1f\x8b"
_WBITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_RAW_DEFLATE = -15
_TEXTS = re.compile(
    r"text/.*|.*[/+](json|xml|yaml)|application/(javascript|ecmascript|x-ndjson|jsonl|toml|x-yaml|x-sh|sql)"
)
_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,200}?encoding=["']([\w.:-]{1,40})|<meta[^>]{0,400}?charset=["']?\s*([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.ASCII | re.IGNORECASE)
_PROBED_BYTES = 2048
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Only what pages are written in: some of Python's codecs take time by the square of the length.
_CHARSETS = re.compile(
    r"utf-8|utf-16(-le|-be)?|ascii|iso8859-\d+|cp125\d|cp874|koi8-[ru]|mac-roman|gb2312|gbk|gb18030|big5|euc_jp|euc_kr|"
    r"shift_jis|iso2022_jp"
)


class Kind(StrEnum):
    """Say what a body is to a reader."""

    PAGE = "page"
    TEXT = "text"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class MediaType:
    """Hold what an answer says its body is; empty where it says nothing."""

    name: str
    charset: str = ""

    @classmethod
    def of(cls, response: HttpResponse) -> MediaType:
        """Read the header."""
        said = response.header("content-type") or ""
        charset = _CHARSET.search(said)
        return cls(said.partition(";")[0].strip().lower(), charset[1] if charset else "")


def kind_of(media: MediaType, data: bytes) -> Kind:
    """Return what a body is, by its type, or by its beginning where it has none."""
    if media.name in _PAGES:
        return Kind.PAGE
    if media.name:
        return Kind.TEXT if _TEXTS.fullmatch(media.name) else Kind.OTHER
    if binary_type(data):
        return Kind.OTHER
    beginning = data[:_PROBED_BYTES].lstrip().lower()
    return Kind.PAGE if beginning.startswith((b"<!doctype html", b"<html")) else Kind.TEXT


def decompressed(response: HttpResponse) -> tuple[bytes, BodyEnd]:
    """Return the body as it was before it was compressed, and why it ends where it does.

    Raises:
        ToolFailedError: It is compressed in a way that is not read, broken, or too large.
    """
    said = [name.strip().lower() for name in (response.header("content-encoding") or "").split(",")]
    match [name for name in said if name not in ("", "identity")]:
        case []:
            return response.body, response.ending
        case [("gzip" | "x-gzip" | "deflate") as name]:
            data, whole = _inflated(response.body, _WBITS[name])
            return data, BodyEnd.BROKEN if response.ending is BodyEnd.COMPLETE and not whole else response.ending
        case others:
            message = f"the answer is compressed as {', '.join(others)}, which is not read"
            raise ToolFailedError(message)


def _inflated(data: bytes, wbits: int) -> tuple[bytes, bool]:
    """Return what comes out of a stream, and whether it came to its end."""
    if wbits == _WBITS["deflate"] and not _has_zlib_header(data):
        wbits = _RAW_DEFLATE
    out = bytearray()
    try:
        for _ in range(_MAX_MEMBERS):
            member = zlib.decompressobj(wbits)
            out += member.decompress(data, MAX_BYTES + 1 - len(out))
            if len(out) > MAX_BYTES:
                message = f"the answer decompresses to more than {MAX_BYTES} bytes: it was not read"
                raise ToolFailedError(message)
            data = member.unused_data
            if not data.startswith(_GZIP):
                return bytes(out), member.eof
    except zlib.error as exc:
        message = "the answer is broken: it does not decompress"
        raise ToolFailedError(message) from exc
    return bytes(out), False


def _has_zlib_header(data: bytes) -> bool:
    return len(data) > 1 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0


def text_of(data: bytes, media: MediaType) -> str:
    """Return a body as text: by its byte order mark, its type, what it says itself, else UTF-8."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, errors="replace")
    declared = _DECLARED.search(data[:_PROBED_BYTES])
    inside = _codec((declared[1] or declared[2]).decode()) if declared else ""
    if inside.startswith("utf-16"):
        inside = ""  # what could be read in there was not UTF-16
    name = _codec(media.charset) or inside or "utf-8"
    return data.decode(name, errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _codec(label: str) -> str:
    """Return Python's name of a character set that pages are written in; empty where it is none."""
    try:
        name = codecs.lookup(label).name if label else ""
    except LookupError:
        return ""
    if name in ("ascii", "iso8859-1"):
        return "cp1252"  # as every browser reads them
    return name if _CHARSETS.fullmatch(name) else ""
