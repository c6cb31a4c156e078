"""A sentiment scorer trained on this machine by `trustgauge train sentiment-gru TABLE -o FOLDER`."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from trustgauge.errors import PlanError
from trustgauge.plan import PlanPath
from trustgauge.plugins import need_library
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Concurrency, InProcessService, ServiceSpec
from trustgauge.services.gru_network import encode, forward, make

CARD, VOCABULARY, WEIGHTS = "card.json", "vocabulary.json", "weights.safetensors"
KIND = "sentiment-gru"
DIGITS = 6  # of a score: far above what the order of additions in a batch can change
LIBRARIES = ("torch", "safetensors")


class Gru(ServiceSpec):
    """A bidirectional GRU trained from a labelled table: score from -1 to 1.

    `folder` is what the verb `train` wrote: weights, vocabulary and card. Weights are read as
    plain numbers (safetensors), so that a folder of a stranger runs no code. It calculates in
    double precision, so that a text's score does not depend on its neighbours in a batch.

    Attributes:
        folder: what `trustgauge train` wrote.
    """

    use: str = "gru"
    task: ClassVar[Task] = "score"
    batch: ClassVar[int] = 256
    deterministic: ClassVar[bool] = True
    kind: ClassVar[str] = "trained sentiment scorer (GRU)"

    folder: PlanPath
    concurrency: Concurrency = 1

    def identity(self) -> Mapping[str, Any]:
        """The content of the folder, not its place."""
        return {"use": self.use, "content": self._content()}

    def version(self) -> str:
        return self._content()[:8]

    def check_requirements(self) -> None:
        """Raise MissingPartError without torch, PlanError without a trained folder."""
        need_torch()
        self._read()

    def open(self) -> LiveGru:
        self.check_requirements()
        return LiveGru(*self._load())

    def card(self) -> dict[str, Any]:
        """What the training wrote down: data, sizes, seed, held-out results, limits."""
        return self._read()[0]

    def _content(self) -> str:
        try:
            found = [(self.folder / name).stat() for name in (CARD, VOCABULARY, WEIGHTS)]
        except OSError:
            return "absent"
        return _hash(self.folder, tuple((one.st_mtime_ns, one.st_size) for one in found))

    def _read(self) -> tuple[dict[str, Any], list[str]]:
        """Card and vocabulary; the weights must at least be there."""
        try:
            card = json.loads((self.folder / CARD).read_bytes())
            vocabulary = json.loads((self.folder / VOCABULARY).read_bytes())
            (self.folder / WEIGHTS).stat()
        except OSError as error:
            raise self._fault(f"{Path(error.filename or '').name} is missing") from None
        except (ValueError, RecursionError):
            raise self._fault("card or vocabulary is not JSON in UTF-8") from None
        if not isinstance(card, dict) or card.get("kind") != KIND:
            raise self._fault("the card is of another kind of model")
        if not isinstance(vocabulary, list) or not all(isinstance(word, str) for word in vocabulary):
            raise self._fault("the vocabulary is no list of words")
        return card, vocabulary

    def _load(self) -> tuple[Any, list[str]]:
        """The network, ready to score, and its vocabulary."""
        import torch
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        _, vocabulary = self._read()
        try:
            weights = load_file(self.folder / WEIGHTS)
            # Sizes come from the weights that are there: a false card must not order huge ones.
            width, hidden = weights["embedding.weight"].shape[1], weights["reader.weight_hh_l0"].shape[1]
            with torch.device("meta"):  # no random weights are drawn only to be replaced
                network = make(len(vocabulary), width, hidden)
            network.load_state_dict(weights, assign=True)
        except (SafetensorError, LookupError, TypeError, ValueError, RuntimeError):
            raise self._fault("weights, vocabulary and card do not belong together") from None
        return network.double().eval(), vocabulary

    def _fault(self, got: str) -> PlanError:
        return PlanError.of(
            "folder",
            f'"{self.folder}" holds no trained scorer',
            "a folder with card.json, vocabulary.json and weights.safetensors",
            got,
            f"Make it with `trustgauge train {KIND} TABLE -o FOLDER`",
        )


class LiveGru(InProcessService):
    """Scores batches in a thread."""

    def __init__(self, network: Any, vocabulary: Sequence[str]) -> None:
        self._network, self._vocabulary = network, vocabulary

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        scores = await asyncio.to_thread(self._scores, [message.text for message in messages])
        return [Reply(score) for score in scores]

    def _scores(self, texts: Sequence[str]) -> list[float]:
        import torch

        with torch.inference_mode():
            scores = forward(self._network, encode(texts, self._vocabulary))
        return [round(score, DIGITS) for score in scores.tolist()]


def need_torch() -> None:
    """Raise MissingPartError where the library that trains and runs the network is not installed."""
    for library in LIBRARIES:
        need_library(library, "pip install 'trustgauge[torch]'")


@lru_cache(maxsize=8)
def _hash(folder: Path, _state: tuple[tuple[int, int], ...]) -> str:
    content = hashlib.blake2b(digest_size=16)
    for name in (CARD, VOCABULARY, WEIGHTS):
        content.update(hashlib.blake2b((folder / name).read_bytes()).digest())
    return content.hexdigest()
