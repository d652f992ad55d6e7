"""What is attached to a prompt is shown within bounds, a refusal is said, and a file that is missing stops the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.approval.levels import AutomationLevel, Mode
from kova_auto.core.approval.policy import Policy
from kova_auto.core.context.attachments import SHOWN_CHARS
from kova_auto.core.context.briefing import Briefing
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ImagePart, TextPart
from kova_auto.core.source import Source, SourceKind
from kova_auto.tools.attachments import attached
from kova_auto.tools.sight import Sight
from tests.tools.papers import a_pdf
from tests.tools.tool_scenes import a_ground, put, some_roots

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.fixture
def top(tmp_path: Path) -> Path:
    (tmp_path / "W").mkdir()
    return tmp_path.resolve()


async def shown(top: Path, *names: str, secret: tuple[Path, ...] = (), reads_pdf: bool = True) -> Briefing:
    roots = some_roots(secret=secret)
    policy = Policy(mode=Mode.AGENT, level=AutomationLevel.READ_ONLY)
    sight = Sight(roots, a_ground(top / "W"), policy, lambda text: text.replace("sk-1", "[gone]"))
    try:
        return await attached([str(top / name) for name in names], sight, reads_pdf=reads_pdf)
    finally:
        roots.close()


def text_of(brief: Briefing) -> str:
    return "\n".join(part.text for part in brief.behind if isinstance(part, TextPart))


async def test_text_is_shown_with_its_name_and_without_secrets(top: Path) -> None:
    put(top / "W/prices.csv", b"item,price\nkey,sk-1\n")
    brief = await shown(top, "W/prices.csv")

    assert "The author of this job attached what follows." in text_of(brief)
    assert "prices.csv\nitem,price\nkey,[gone]\n>>> " in text_of(brief)
    assert brief.sources == (Source(kind=SourceKind.ATTACHMENT, name="prices.csv", chars=21),)
    assert (brief.rests, brief.notices, brief.reads) == ((), (), {})


async def test_the_text_of_a_pdf_is_shown_page_by_page(top: Path) -> None:
    put(top / "W/policy.pdf", a_pdf("Refunds take five days."))

    assert "policy.pdf\n[page 1 of 1]\nRefunds take five days.\n>>> " in text_of(await shown(top, "W/policy.pdf"))


async def test_images_are_shown_as_images_each_behind_its_name(top: Path) -> None:
    put(top / "W/a.png", PNG)
    put(top / "W/a.txt", b"a text\n")
    brief = await shown(top, "W/a.png", "W/a.txt")

    name, image, text = brief.behind
    assert image == ImagePart(blob=blob_hash(PNG), media_type="image/png")
    assert brief.blobs == (PNG,)
    assert isinstance(name, TextPart)
    assert name.text.endswith("a.png, image/png:")
    assert isinstance(text, TextPart)
    assert "a text" in text.text


async def test_of_a_long_document_the_beginning_is_shown_and_all_of_it_can_be_read(top: Path) -> None:
    data = b"a line of it, sk-1\n" * 4_000
    put(top / "W/long.md", data)
    brief = await shown(top, "W/long.md")

    (rest,) = brief.blobs
    assert brief.rests == (blob_hash(rest),)
    assert rest == data.replace(b"sk-1", b"[gone]")
    assert f'read file_path="blob:{blob_hash(rest)[:12]}" for all]' in text_of(brief)
    assert len(text_of(brief)) < SHOWN_CHARS + 1_000
    assert [source.cut for source in brief.sources] == [True]


async def test_a_file_that_is_missing_keeps_the_run_from_beginning_and_is_named(top: Path) -> None:
    put(top / "W/a.txt", b"a text\n")
    brief = await shown(top, "W/a.txt", "W/none.pdf")

    assert brief == Briefing(lacks=f"context.attachments: there is no {top}/W/none.pdf")


async def test_without_the_extra_a_pdf_keeps_the_run_from_beginning_and_the_extra_is_named(top: Path) -> None:
    put(top / "W/policy.pdf", a_pdf("Refunds take five days."))
    brief = await shown(top, "W/policy.pdf", reads_pdf=False)

    assert brief.lacks.startswith(f"context.attachments: {top}/W/policy.pdf is a PDF document")
    assert brief.lacks.endswith("pip install 'kova-auto[pdf]'")


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        (
            "W/a.docx",
            b"PK\x03\x04\0\0",
            "it is a binary file (a ZIP archive or office document, 6 bytes); wanted a PDF",
        ),
        ("W/a.png", PNG + b"0" * 3_000_000, "wanted an image of at most 2 MiB, found 3000028 bytes"),
        ("W/a.txt", b"x" * 21_000_000, "has 21000000 bytes"),
        ("W/a.pdf", b"%PDF-1.7\n", "it is no PDF document that can be read"),
        ("out/a.txt", b"outside", "Reading outside the workspace and its roots"),
        ("W/keys/a.txt", b"key", "lies where keys, settings or this service's own state are kept"),
    ],
)
async def test_what_is_refused_is_said_in_a_line_and_the_run_begins(
    top: Path, name: str, data: bytes, problem: str
) -> None:
    put(top / name, data)
    brief = await shown(top, name, secret=(top / "W/keys",))

    (notice,) = brief.notices
    assert notice.startswith(f"[attachment {top}/{name} is not shown: ")
    assert problem in notice
    assert (brief.lacks, brief.behind) == ("", ())


async def test_no_more_than_four_images_and_two_documents_are_shown(top: Path) -> None:
    images = [f"W/{name}.png" for name in "abcde"]
    texts = [f"W/{name}.txt" for name in "abc"]
    for name in images:
        put(top / name, PNG + name.encode())
    for name in texts:
        put(top / name, name.encode())
    brief = await shown(top, *images, *texts)

    assert len([part for part in brief.behind if isinstance(part, ImagePart)]) == 4
    assert brief.notices == (
        f"[attachment {top}/W/e.png is not shown: at most 4 images can be attached]",
        f"[attachment {top}/W/c.txt is not shown: at most 2 documents can be attached]",
    )
