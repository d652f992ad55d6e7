"""Read messages for Mattermost."""

from __future__ import annotations

import re

from tests.core.delivery.kind import Kind

_CODE = re.compile(r"(?ms)^(?:> )?```$.*?^```$|(?<!\\)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)")

KIND = Kind(
    measures={"text": lambda payload: [payload["text"]]},
    live=r"@(?:all|here|channel|everyone)\b|(?<![A-Za-z0-9/`])@bob|<!?(?:@U|channel|here|everyone|all)\b",
    spoken=lambda payload: [_CODE.sub("", payload["text"])],
    fenced=True,
)
