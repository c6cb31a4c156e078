"""Made-up labelled utterances with made-up insults, in which a word carries the class."""

from __future__ import annotations

import itertools
from pathlib import Path

HATE, OFFENSIVE, NEITHER = ("vorlish", "quornish"), ("blarg", "zonker"), ("baker", "cyclist")
OPENINGS = ("you are a {}", "what a {} they are", "i met a {} in town", "go away {}", "he is no {} at all")
ENDINGS = ("", " today", " again", " as they said", " in the park", " on monday")


def labelled() -> list[tuple[str, str]]:
    """180 different utterances with their class."""
    classes = {"hate": HATE, "offensive": OFFENSIVE, "neither": NEITHER}
    return [
        (opening.format(word) + ending, name)
        for name, words in classes.items()
        for word, opening, ending in itertools.product(words, OPENINGS, ENDINGS)
    ]


def write_csv(folder: Path, name: str = "said.csv") -> Path:
    """The utterances with the columns text and score (the class)."""
    file = folder / name
    lines = ["text,score", *(f"{text},{kind}" for text, kind in labelled())]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
