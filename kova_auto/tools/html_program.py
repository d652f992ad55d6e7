"""Turn one web page into Markdown. Run as a script by an interpreter of its own: `html_program.py DESCRIPTOR BASE`.

The page comes as UTF-8 on the descriptor, what is written is UTF-8 too.
"""

from __future__ import annotations

import re
import resource
import sys
from contextlib import suppress
from urllib.parse import urljoin

from bs4 import BeautifulSoup
from markdownify import MarkdownConverter

_UNSEEN = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "title")
_MAX_MEMORY = 1 << 30
_MAX_SECONDS = 60
_MAX_DEPTH = 5_000
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{3,}")


def main(descriptor: int, base: str) -> None:
    """Read, convert, write."""
    for kind, limit in ((resource.RLIMIT_AS, _MAX_MEMORY), (resource.RLIMIT_CPU, _MAX_SECONDS)):
        with suppress(ValueError, OSError):  # the system has a lower one, or none at all
            resource.setrlimit(kind, (limit, limit))
    with open(descriptor, encoding="utf-8") as page:
        text = convert(page.read(), base)
    sys.stdout.buffer.write(text.encode(errors="replace"))


def convert(page: str, base: str) -> str:
    """Return the text of a page as Markdown, its title first; empty where there is none."""
    soup = BeautifulSoup(page, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    _prepare(soup, base)
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False, escape_misc=False
    )
    sys.setrecursionlimit(_MAX_DEPTH)
    try:
        text = converter.convert_soup(soup)
    except RecursionError:
        text = soup.get_text("\n", strip=True)
    text = _EMPTY_LINES.sub("\n\n", _TRAILING.sub("", text)).strip()
    return "\n\n".join(part for part in (f"Title: {title}" if title else "", text) if part)


def _prepare(soup: BeautifulSoup, base: str) -> None:
    """Take away what nobody sees; give every link its whole address, and every image its words."""
    for tag in soup.find_all(_UNSEEN):
        tag.decompose()
    for image in soup.find_all("img"):
        image.replace_with(str(image.get("alt") or ""))
    for link in soup.find_all("a", href=True):
        href = str(link["href"]).strip()
        if target := "" if href.startswith("#") else _absolute(base, href):
            link["href"] = target
        else:
            link.unwrap()


def _absolute(base: str, href: str) -> str:
    """Return where a link leads on the web; empty where it leads elsewhere."""
    try:
        target = urljoin(base, href)
    except ValueError:
        return ""
    return target if target.startswith(("http://", "https://", "mailto:")) else ""


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
