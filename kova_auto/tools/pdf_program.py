"""Take the text out of one PDF document. Run as a script by an interpreter of its own: `pdf_program.py DESCRIPTOR`.

The document comes on the descriptor; what is written is UTF-8. It ends with 3 where a password is wanted, and with 4
where it is no such document.
"""

from __future__ import annotations

import logging
import resource
import sys
from collections.abc import Iterator
from contextlib import suppress

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

_MAX_MEMORY = 2 << 30
_MAX_SECONDS = 60
_MAX_CHARS = 4 << 20
PASSWORD, UNREADABLE = 3, 4


def main(descriptor: int) -> int:
    """Read, convert, write."""
    for kind, limit in ((resource.RLIMIT_AS, _MAX_MEMORY), (resource.RLIMIT_CPU, _MAX_SECONDS)):
        with suppress(ValueError, OSError):  # the system has a lower one, or none at all
            resource.setrlimit(kind, (limit, limit))
    logging.disable()
    try:
        with open(descriptor, "rb") as document:
            text = "\n\n".join(_pages(PdfReader(document)))
    except (FileNotDecryptedError, DependencyError):
        return PASSWORD
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return UNREADABLE
    sys.stdout.buffer.write(text.encode(errors="replace"))
    return 0


def _pages(reader: PdfReader) -> Iterator[str]:
    """Yield the pages that have text, as many as are taken."""
    total, left = len(reader.pages), _MAX_CHARS
    for number, page in enumerate(reader.pages, start=1):
        text = page.extract_text().strip()
        left -= len(text)
        if left < 0:
            yield f"[the text of the pages from {number} on is left out]"
            return
        if text:
            yield f"[page {number} of {total}]\n{text}"


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
