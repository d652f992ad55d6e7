"""What becomes of each folder of `skill_folders`, which hold the shapes in which people publish skills."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDERS: Final = Path(__file__).with_name("skill_folders")

UNQUOTED: Final = "wanted a value in quotes, found one that YAML reads otherwise"
OTHERS: Final = "is no key of the format"
NAME: Final = "wanted a name of a-z, 0-9 and -, at most 64 characters, found"

SOUND: Final = ("all-tools", "fillable-forms", "quotes-attacks", "release-notes", "research-synthesis")
"""Those with which nothing is wrong."""
REMARKED: Final[dict[str, tuple[tuple[int, str, str], ...]]] = {
    "Data_Analysis": ((2, "name", f"{NAME} Data_Analysis"),),
    "anchors": ((3, "description", UNQUOTED), (4, "license", UNQUOTED)),
    "double--hyphen-": ((2, "name", f"{NAME} double--hyphen-"),),
    "empty-body": ((1, "", "wanted instructions below the front matter, found none"),),
    "folder-of-another-name": (
        (2, "name", "wanted the name of its folder, folder-of-another-name, found image-resize"),
    ),
    "log-triage": ((3, "description", UNQUOTED),),
    "long-story": ((3, "description", "wanted at most 1024 characters, found 1399"),),
    "lower-case-file": ((1, "", "wanted the file SKILL.md, found skill.md"),),
    "no-description": ((1, "description", "wanted a description, found none"),),
    "no-name": (
        (1, "name", f"{NAME} none"),
        (3, "argument-hint", UNQUOTED),
        (3, "argument-hint", OTHERS),
        (4, "allowed-tools", "CodeSearch names no tool here"),
    ),
    "object-tag": ((3, "description", UNQUOTED),),
    "pr-review": ((2, "name", f"{NAME} PR Review Helper"), (4, "version", OTHERS), (5, "author", OTHERS)),
    "project-setup": ((4, "argument-hint", OTHERS),),
    "publish-site": ((8, "argument-hint", OTHERS), (9, "arguments", OTHERS)),
    "site-search": (
        (4, "version", OTHERS),
        *((5, "allowed-tools", f"{name} names no tool here") for name in ("wait_for_page", "fill", "click")),
        (5, "allowed-tools", "names none of the tools here"),
        (8, "metadata.url_patterns", "wanted text, found a list"),
        (9, "metadata.dom", "wanted text, found keys with values"),
        (13, "tags", OTHERS),
        (16, "descripton", OTHERS),
    ),
    "tab-indented": (
        (5, "", "wanted spaces before the text, found a tab"),
        (6, "", "wanted spaces before the text, found a tab"),
    ),
    "web-audit": ((4, "allowed-tools", "WebSearch names no tool here"),),
}
"""Line, key and message of each remark on those that are put up with."""
BROKEN: Final = {
    "broken-allowed": (4, "allowed-tools: wanted names separated by blanks, found keys with values"),
    "broken-key-twice": (5, "description: stands twice, first in line 3"),
    "broken-list": (2, "wanted keys with values, found something else"),
    "broken-no-front-matter": (1, "wanted front matter, found no --- in the first line"),
    "broken-says-nothing": (3, "description: wanted a description, found none"),
    "broken-unclosed": (6, "wanted a line of --- that ends the front matter, found none"),
}
"""Line and sentence of those that cannot be used."""
