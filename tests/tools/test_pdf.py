"""The text of PDF documents is taken out page by page, and what cannot be read is said without harm to us."""

from __future__ import annotations

from io import BytesIO

import pytest
from pypdf import PdfReader, PdfWriter

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.pdf import can_read, text_of_pdf
from tests.tools.papers import a_pdf


def locked(data: bytes, password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(BytesIO(data)))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = BytesIO()
    writer.write(out)
    return out.getvalue()


async def test_each_page_with_text_is_given_with_its_number() -> None:
    assert can_read()
    assert await text_of_pdf(a_pdf("Refunds take five days.", "", "The end.")) == (
        "[page 1 of 3]\nRefunds take five days.\n\n[page 3 of 3]\nThe end."
    )


async def test_a_document_whose_password_is_empty_is_read() -> None:
    assert "Open to all." in await text_of_pdf(locked(a_pdf("Open to all."), ""))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (a_pdf(""), "there is no text in it; its pages may be images"),
        (locked(a_pdf("Closed."), "sesame"), "it opens with a password only"),
        (b"%PDF-1.7\nnothing of the kind", "it is no PDF document that can be read"),
        (a_pdf("x")[:120], "it is no PDF document that can be read"),
    ],
    ids=["no text", "a password", "no document", "half a document"],
)
async def test_what_cannot_be_read_is_said(data: bytes, said: str) -> None:
    with pytest.raises(ToolFailedError, match=said):
        await text_of_pdf(data)


async def test_one_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(ToolFailedError, match="too much time or memory"):
        await text_of_pdf(a_pdf("x"), seconds=0.001)
