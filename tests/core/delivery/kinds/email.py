"""Read mails, as they are handed to what carries them: HTML, or text alone."""

from __future__ import annotations

import re
from html import unescape

from tests.core.delivery.kind import Kind

_OURS = r"/?(?:div|p|b|i|s|code|pre|blockquote|br|a)\b"

KIND = Kind(
    address="mailtos://example.org/",
    measures={"subject": lambda payload: [payload["title"]]},
    texts=lambda payload: [payload["title"], payload["text"]],
    live=rf"<(?!{_OURS})[a-z/!?]|href=\"(?!https?:|mailto:)",
    bare=lambda text: unescape(re.sub(rf"<{_OURS}[^<>]*>", "", text)).replace("\u200b", ""),
)
