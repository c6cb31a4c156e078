"""Made-up rated sentences, in which a share of the words carries the score."""

from __future__ import annotations

import itertools
from pathlib import Path

WORDS = {"awful": -1.0, "grim": -0.5, "plain": 0.0, "nice": 0.5, "superb": 1.0}
THINGS = ("film", "meal", "room", "road", "song", "book")
OPENINGS = ("the {} was {}", "i found the {} {}", "what a {} , so {}", "this {} is {} !")
ENDINGS = ("", " today", " again", " as they said")


def rated(more: int = 1) -> list[tuple[str, float]]:
    """480 different sentences times `more`, with their scores."""
    made = [
        (opening.format(thing, word) + ending + (f" no {turn}" if turn else ""), score)
        for turn in range(more)
        for opening, thing, (word, score), ending in itertools.product(
            OPENINGS, THINGS, WORDS.items(), ENDINGS
        )
    ]
    return made


def write_csv(folder: Path, name: str = "rated.csv") -> Path:
    """The sentences with stars from 1 to 5."""
    file = folder / name
    lines = ["review,stars", *(f'"{text}",{3 + 2 * score:g}' for text, score in rated())]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
