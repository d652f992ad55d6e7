"""List the commands that only read, with the options under which they do.

An option is here because it was looked up; what is missing is refused. The list is data: what its words mean stands in
`safe_table`, and what is left out on purpose in each part.

Source: reference on shells, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping

from kova_auto.core.approval.safe_files import FILES
from kova_auto.core.approval.safe_git import GIT
from kova_auto.core.approval.safe_table import Table
from kova_auto.core.approval.safe_text import TEXT
from kova_auto.core.approval.safe_tools import TOOLS

Commands = Mapping[tuple[str, ...], Table]

COMMANDS: Commands = {tuple(name.split()): table for name, table in {**GIT, **FILES, **TEXT, **TOOLS}.items()}
