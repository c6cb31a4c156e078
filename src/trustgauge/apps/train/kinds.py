"""The kinds of model that `trustgauge train` can train, and what all share; imports none of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from trustgauge.errors import PlanError

ProgressCallback = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a model is trained; same data, effort and library versions give the same model."""

    epochs: int = 6  # times that every training row is read, where a kind is trained in passes
    seed: int = 1
    held_out: float = 0.1  # share of the rows that training never sees


class Train(Protocol):
    """Trains a model, writes it to a folder and measures it on held-out rows; returns its card.

    `data` is `Labelled`, or what the kind's own `read` gives.
    """

    def __call__(
        self, data: Any, folder: Path, effort: Effort, *, tell: ProgressCallback
    ) -> Mapping[str, Any]: ...


class Read(Protocol):
    """Reads the data of a kind that is trained from something else than a labelled table."""

    def __call__(self, file: Path, layout: str, hidden: Any) -> Any: ...


CardLines = Callable[[Mapping[str, Any], Path], Sequence[tuple[str, str]]]
"""Puts a card into lines of a head and what is said."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One trainable kind: what it is in words, the service that uses it, the module with its `train`.

    Its module may also have `card_lines(card, folder)`, for a card whose lines are not those of a scorer, and
    `read(file, layout, hidden)`, for data that is no labelled table.
    """

    what: str
    use: str
    module: str
    fewest: int = 100  # labelled rows; with fewer even the held-out figures say nothing
    labels: Mapping[str, float] = field(default_factory=dict)  # words that stand for scores if none are given
    epochs: int = 6  # if none are asked for

    def trainer(self) -> Train:
        """The function that trains this kind. Imports its module."""
        train: Train = import_module(self.module).train
        return train

    def teller(self) -> CardLines | None:
        """The lines of a card, where the kind has its own."""
        lines: CardLines | None = getattr(import_module(self.module), "card_lines", None)
        return lines

    def reader(self) -> Read | None:
        """What reads its data, where these are no table of labels."""
        read: Read | None = getattr(import_module(self.module), "read", None)
        return read


KINDS = {
    "sentence-bias": Kind(
        "perceived bias of sentences: ridge regression on shares of words",
        "bias",
        "trustgauge.apps.train.sentence_bias",
        fewest=30,
    ),
    "sentiment-gru": Kind(
        "sentiment scorer: bidirectional GRU over words",
        "gru",
        "trustgauge.apps.train.sentiment_gru",
    ),
    "abuse": Kind(
        "checker of abusive language: TF-IDF and logistic regression over words and characters",
        "abuse",
        "trustgauge.apps.train.abuse",
        labels={"hate": 1.0, "offensive": 0.5, "neither": 0.0},
    ),
    "judge": Kind(
        "judge of answers about groups: logistic regression over what the rules see",
        "trained",
        "trustgauge.apps.train.judge",
    ),
    "leakage-trial": Kind(
        "trial of leakage: how soon a small network gives away secrets hidden in dialogs",
        "dialogs",
        "trustgauge.apps.train.leakage_trial",
        epochs=40,
    ),
}
"""Name on the command line -> kind."""


def need_room(folder: Path) -> None:
    """Raise PlanError for a folder that is neither new nor empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise PlanError.of("-o", f'"{folder}" is in use', "a new or empty folder")


@contextmanager
def model_folder(folder: Path) -> Iterator[Path]:
    """A folder to write the files of a model to; it becomes `folder`, which is new or empty, at the end.

    So the folder appears with all that belongs into it, or not at all.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as temporary:
        made = Path(temporary) / "model"
        made.mkdir()
        yield made
        if folder.exists():
            folder.rmdir()
        shutil.move(made, folder)


def figure_in_words(figure: Mapping[str, Any]) -> str:
    """A figure of a card with its 95 % interval."""
    if figure["value"] is None:
        return "undefined"
    return f"{figure['value']:.3f} (95 %: {figure['low']:.3f} to {figure['high']:.3f})"
