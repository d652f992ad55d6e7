"""What a job attaches to its prompt is found, or named with what was wanted, before anything runs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from kova_auto.core.errors import JobFileError
from kova_auto.scheduling.jobfiles import load_job

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path.resolve()
    for name in ("jobs", "app", "docs"):
        (top / name).mkdir()
    (top / "docs/policy.txt").write_text("Refunds take five days.")
    (top / "app/a.txt").write_text("a")
    (top / "jobs/b.md").write_text("b")
    return top


def a_job(top: Path, attachments: str, more: str = "", automation: str = "read-only") -> Path:
    path = top / "jobs" / "look.toml"
    head = f'prompt = "Look."\nworkspace = "../app"\nautomation = "{automation}"\n'
    path.write_text(f"{head}{dedent(more)}\n[context]\nattachments = {attachments}\n")
    return path


def problems_of(path: Path) -> list[str]:
    with pytest.raises(JobFileError) as caught:
        load_job(path)
    return [str(problem.sentence) for problem in caught.value.problems]


def test_files_of_the_workspace_of_its_roots_and_beside_the_job_file_are_found(top: Path) -> None:
    path = a_job(top, '["../app/a.txt", "b.md"]')
    with_root = '["../docs/policy.txt"]', '[permissions]\nread_roots = ["../docs"]'

    assert load_job(path).context.attachments == (f"{top}/app/a.txt", f"{top}/jobs/b.md")
    assert load_job(a_job(top, *with_root)).context.attachments == (f"{top}/docs/policy.txt",)


def test_a_job_that_may_read_everything_may_attach_from_everywhere(top: Path) -> None:
    assert load_job(a_job(top, '["../docs/policy.txt"]', automation="full"))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "none.pdf",
            "context.attachments[0]: wanted a file, found nothing at TOP/jobs/none.pdf (a relative one begins",
        ),
        ("../docs", "context.attachments[0]: wanted a file, found a directory at TOP/docs"),
        ("../docs/policy.txt", 'found TOP/docs/policy.txt (permissions.read_roots = ["TOP/docs"] lets it be read)'),
        ("a.docx", "wanted a PDF document, text, or a PNG, JPEG, GIF or WebP image, found a.docx"),
        ("big.png", "wanted an image of at most 2 MiB, found 3000000 bytes"),
        ("big.txt", "wanted a document of at most 20 MiB, found 21000000 bytes"),
    ],
)
def test_what_cannot_be_attached_is_named_with_file_and_line(top: Path, written: str, problem: str) -> None:
    (top / "jobs/a.docx").write_bytes(b"PK\x03\x04")
    (top / "jobs/big.png").write_bytes(PNG.ljust(3_000_000))
    (top / "jobs/big.txt").write_bytes(b"x" * 21_000_000)
    (found,) = problems_of(a_job(top, f'["{written}"]'))

    assert problem.replace("TOP", str(top)) in found
    assert found.startswith(f"{top}/jobs/look.toml:6: ")


def test_too_many_are_named_once(top: Path) -> None:
    for name in "cde":
        (top / f"jobs/{name}.txt").write_text(name)

    (found,) = problems_of(a_job(top, '["c.txt", "d.txt", "e.txt"]'))
    assert found.endswith("context.attachments: wanted at most 4 images and 2 documents, found 0 and 3")


def test_a_name_that_no_file_can_have_is_named(top: Path) -> None:
    (found,) = problems_of(a_job(top, '["~nobody-here/a.txt"]'))
    assert "wanted a path" in found
