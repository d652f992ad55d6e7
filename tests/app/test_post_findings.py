"""What `doctor` finds of endpoints without asking any of them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from kova_auto.app.finding import Mark
from kova_auto.app.post_findings import of_endpoints
from kova_auto.settings.load import load_settings

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
POST = """\
[endpoints.post]
format = "email"
url = { env = "MAIL_URL" }

[endpoints.ci]
format = "slack"
url = { env = "SLACK_WEBHOOK_URL" }
"""


async def test_an_endpoint_whose_package_is_missing_is_named_with_what_to_install(tmp_path: Path) -> None:
    file = tmp_path / "kova-auto.toml"
    file.write_text(POST)
    settings = load_settings(file, {"HOME": str(tmp_path)})

    missing = [one async for one in of_endpoints(settings, {}, NOW, carries=lambda: False)]
    there = [one async for one in of_endpoints(settings, {}, NOW, carries=lambda: True)]

    text = "needs a package that is not installed: pip install 'kova-auto[apprise]'"
    assert [(one.name, one.mark, one.text) for one in missing] == [("post", Mark.FAIL, text)]
    assert there == []
