"""`kova-auto endpoints list` says where nobody confirms what is sent."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.command import Home

SETTINGS = """\
[endpoints.post]
format = "email"
url = { env = "MAIL_URL" }

[endpoints.team]
format = "slack"
url = { env = "SLACK_WEBHOOK_URL" }
"""


def test_the_list_says_where_nobody_confirms_anything(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.settings(SETTINGS)

    table = home.run("endpoints", "list").stdout.splitlines()
    rows = json.loads(home.run("endpoints", "list", "--json").stdout)

    assert ["best effort, no receipts" in line for line in table[1:]] == [True, False]
    assert [(row["name"], row["receipts"]) for row in rows] == [("post", False), ("team", True)]
