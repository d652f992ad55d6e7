"""Record what each format sends, as the page on formats shows it.

`python -m tests.core.delivery.recorded --write` puts what is sent today in the place of what the page shows.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.notice import Change, Denial, RunReport
from kova_auto.core.delivery.payload import FORMATS
from kova_auto.core.delivery.signature import SigningSecret
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.job import Outcome
from tests.core.delivery.kind import kind_of

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
KINDS = Path(__file__).parent / "kinds"
AT = datetime(2026, 12, 1, 7, 1, tzinfo=UTC)
ID = "msg_5xkq2mzv7gq4t3w6ybn1c8d0e"
REPORT = RunReport(
    run_id="nightly@20261201T070000Z",
    job="nightly",
    outcome=Outcome.DONE,
    model="anthropic/claude-sonnet-4-5",
    level="workspace-write",
    workspace="/srv/app",
    nominal_at=AT - timedelta(minutes=1),
    started_at=AT - timedelta(minutes=1),
    finished_at=AT,
    duration_s=58.2,
    iterations=3,
    tool_calls=4,
    denied=(Denial(tool="bash", reason="commands ask at this level"),),
    tokens_in=18_200,
    tokens_out=940,
    cost_usd=0.0687,
    answer="""\
# Two commits, one risk

- `a1b2c3` renames **parse** in [the reader](https://git.example.org/app/a1b2c3)
- `d4e5f6` drops the retry in *fetch*: a timeout now ends the run

```python
fetch(url)  # once
```

@everyone should look at this.
""",
    changes=(Change(path="CHANGELOG.md", what="modified"),),
)
_UNITS = {
    Unit.BYTES: "bytes of UTF-8",
    Unit.CHARACTERS: "characters",
    Unit.UTF16: "UTF-16 units",
    Unit.ITEMS: "items",
}
_BLOCK = re.compile(
    r"<!-- limits: (?P<limits>[a-z0-9-]+) -->\n(?:\|[^\n]*\n)*"
    r"|<!-- recorded: (?P<request>[a-z0-9-]+) -->\n```http\n.*?\n```\n",
    re.DOTALL,
)


def recorded(name: FormatName) -> str:
    """Return the request of a format as text: method, address, headers, body."""
    format_, kind, needs = FORMATS[name], kind_of(name), NEEDS[name]
    wish = Wish(ID, options=options_of(needs, kind.options[0]))
    message = format_.render(kind.example or REPORT, wish)
    url = needs.url or f"{kind.address}…"
    target = Target("team", name, url, (SigningSecret(bytes(range(32))),), token="TOKEN", options=wish.options)
    sealed = format_.seal(target, message, ID, AT)
    head = [f"{sealed.method} {sealed.url}", *(f"{key}: {value}" for key, value in sealed.headers)]
    return "\n".join([*head, "", _shown(sealed.body)]) if sealed.body else "\n".join(head)


def _shown(body: bytes) -> str:
    """Return a body as a person reads it: JSON over several lines, and whatever else as it is."""
    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, indent=2)
    except ValueError:
        text = body.decode().replace("\n```", "\n ```")
    return text.replace("\u200b", "\\u200b")


def limits(name: FormatName) -> str:
    """Return the table of what a format's receiver takes at most."""
    rows = [f"| {key} | {one.most:,} {_UNITS[one.unit]} | {one.source} |" for key, one in LIMITS[name].items()]
    return "\n".join(["| What | At most | Says who |", "| --- | --- | --- |", *rows])


def rewritten(page: str) -> str:
    """Return the page with each table and each example as they are today, and a section for each format without one."""
    known = {path.stem.replace("_", "-") for path in KINDS.glob("*.py")}
    missing = [name for name in FORMATS if name in known and f"<!-- recorded: {name} -->" not in page]
    return _BLOCK.sub(_today, page) + "".join(f"\n## `{name}`\n\n{_limits(name)}\n{_request(name)}" for name in missing)


def _today(found: re.Match[str]) -> str:
    name = found["limits"] or found["request"]
    if name not in set(FORMATS):
        return found[0]
    return _limits(FormatName(name)) if found["limits"] else _request(FormatName(name))


def _limits(name: FormatName) -> str:
    return f"<!-- limits: {name} -->\n{limits(name)}\n"


def _request(name: FormatName) -> str:
    return f"<!-- recorded: {name} -->\n```http\n{recorded(name)}\n```\n"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
