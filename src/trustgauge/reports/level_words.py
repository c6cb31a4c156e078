"""The form of a level in words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LevelWords:
    """A level in words: `short` for a pill, `line` for a label, `sentence` for a page."""

    short: str
    line: str
    sentence: str
