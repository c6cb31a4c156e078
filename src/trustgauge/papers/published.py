"""The printed figures of the papers, carried as data; each file names its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).parent / "figures"


def figures(name: str) -> dict[str, Any]:
    """The figures of one file, such as "causal_tables". Raises FileNotFoundError."""
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
    return found
