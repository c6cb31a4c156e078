"""The printed figures of the papers, carried as data; each file names its source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trustgauge.errors import MethodError

FIGURES = Path(__file__).parent / "figures"


def figures(name: str) -> dict[str, Any]:
    """The figures of one file, such as "causal_tables". Raises FileNotFoundError."""
    found: dict[str, Any] = json.loads((FIGURES / f"{name}.json").read_text("utf-8"))
    return found


def no_data_error(folder: Path, must: str) -> MethodError:
    """The error for a folder that holds none of a paper's public files.

    Args:
        folder: that was named.
        must: what it should hold.
    """
    got = f"{sum(1 for _ in folder.iterdir())} others" if folder.is_dir() else "no folder"
    do = "Copy the authors' public files into one folder, and name it"
    return MethodError(f"no public files of the paper in {folder.name}", must=must, got=got, do=do)
