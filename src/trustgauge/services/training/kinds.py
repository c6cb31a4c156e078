"""The kinds of model that `trustgauge train` can train; imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from trustgauge.services.training.labelled import Labelled

Tell = Callable[[str], None]
"""Takes a line of progress."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a model is trained; same data, effort and library versions give the same model."""

    epochs: int = 6  # times that every training row is read
    seed: int = 1
    held_out: float = 0.1  # share of the rows that training never sees


class Train(Protocol):
    """Trains a model, writes it to a folder and measures it on held-out rows; returns its card."""

    def __call__(self, data: Labelled, folder: Path, effort: Effort, *, tell: Tell) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One trainable kind: what it is in words, the service that uses it, the module with its `train`."""

    what: str
    use: str
    module: str

    def trainer(self) -> Train:
        """The function that trains this kind. Imports its module."""
        train: Train = import_module(self.module).train
        return train


KINDS = {
    "sentiment-gru": Kind(
        "sentiment scorer: bidirectional GRU over words",
        "gru",
        "trustgauge.services.training.sentiment_gru",
    ),
}
"""Name on the command line -> kind."""
