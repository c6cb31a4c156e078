"""What the site makes of links to files outside docs/: the address of the repository, or words without it."""

from __future__ import annotations

import os
import re
from typing import Any

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([A-Z]+\.md)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The hook of mkdocs. `TRUSTGAUGE_REPOSITORY` is as in hatch_build.py."""
    repository = os.environ.get("TRUSTGAUGE_REPOSITORY", "").rstrip("/")
    return OUTSIDE.sub(rf"[\1]({repository}/blob/main/\2)" if repository else r"\1", markdown)
