"""Training the sentiment scorer of `services.gru` from a labelled table."""

from __future__ import annotations

import asyncio
import json
import math
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.train.held_out import FEWEST_TESTED, by_source, measure, split_groups
from trustgauge.apps.train.kinds import Effort, ProgressCallback, model_folder, need_room
from trustgauge.apps.train.labelled import TrainingTable
from trustgauge.errors import Fault, PlanError
from trustgauge.records import Message
from trustgauge.services.gru import CARD, KIND, VOCABULARY, WEIGHTS, Gru, need_torch
from trustgauge.services.gru_network import LONGEST, UNKNOWN, deterministic, encode, forward, make, words
from trustgauge.stats import stream

WIDTH, HIDDEN = 64, 64
MOST_WORDS = 20_000  # of the vocabulary, the most frequent ones
SEEN = 2  # times that a word must occur to be learned; rarer ones train the unknown word
BATCH = 64  # rows a step
RATE = 6e-3  # of Adam at the start; it falls to nothing along half a cosine
FORGET = 0.15  # share of words read as unknown ones, so that unknown words are met in training
STEEPEST = 1.0  # norm to which gradients are cut
LIMITS = (
    "It knows the words of its training texts; others are all one unknown word.",
    f"It reads the first {LONGEST} words of a text.",
    "Held-out figures hold for texts like those of the table; other texts were not tested.",
    "What its training texts and their raters associate with groups of people is learned too.",
)


def train(data: TrainingTable, folder: Path, effort: Effort, *, tell: ProgressCallback) -> Mapping[str, Any]:
    """Train a scorer, write it to `folder`, and measure the written model on held-out rows.

    It runs in one thread and its own random streams, so that the same table, effort and library
    versions give the same bytes. The model that is written is the one that was measured: it is
    not trained again with the held-out rows.

    Args:
        data: rows of `labelled`.
        folder: new or empty; it appears only when all is done.
        effort: epochs, seed, share of held-out rows.
        tell: takes lines of progress.

    Raises:
        MissingPartError: torch is not installed.
        PlanError: the folder is in use, or too few rows can be held out.
    """
    need_torch()
    need_room(folder)
    training, tested = split_groups(data.rows, effort.held_out, effort.seed)
    if len(tested) < FEWEST_TESTED or len(training) < FEWEST_TESTED:
        raise PlanError((_too_few(data, training, tested),))
    vocabulary = vocabulary_of(training["text"])
    tell(f"{len(training):,} rows to learn from, {len(tested):,} held out, {len(vocabulary):,} words")
    with deterministic(int(stream(effort.seed, "train", "weights").integers(2**62))):
        weights = _learned(training, vocabulary, effort, tell)
    with model_folder(folder) as made:
        _write(made, vocabulary, weights, {"kind": KIND})
        card = {
            **_facts(data, training, vocabulary, effort),
            "held_out": _held_out(made, tested, effort.seed),
        }
        (made / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return card


def vocabulary_of(texts: pl.Series) -> list[str]:
    """The words that occur at least twice, most frequent first and then by alphabet."""
    counts = Counter(word for text in texts for word in words(text))
    ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [word for word, count in ranked[:MOST_WORDS] if count >= SEEN]


def _learned(
    training: pl.DataFrame, vocabulary: Sequence[str], effort: Effort, tell: ProgressCallback
) -> Mapping[str, Any]:
    """The weights after all epochs: mean squared error, Adam, gradients cut."""
    import torch

    texts = encode(training["text"], vocabulary)
    labels = training["score"].to_numpy().astype(np.float32)
    network = make(len(vocabulary), WIDTH, HIDDEN).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    steps = effort.epochs * math.ceil(len(texts) / BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(effort.epochs):
        total = 0.0
        for batch in _batches(texts, effort.seed, epoch):
            optimizer.zero_grad()
            read = _forgetful([texts[row] for row in batch], effort.seed, epoch, int(batch[0]))
            loss = torch.nn.functional.mse_loss(forward(network, read), torch.from_numpy(labels[batch]))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), STEEPEST)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        tell(f"epoch {epoch + 1} of {effort.epochs}: mean squared error in training {total / len(texts):.4f}")
    return {name: tensor.contiguous() for name, tensor in network.state_dict().items()}


def _batches(texts: Sequence[Sequence[int]], seed: int, epoch: int) -> Iterator[np.ndarray[Any, Any]]:
    """Rows in batches of nearly equal length, in random order: short rows pay for no padding."""
    random = stream(seed, "train", "order", epoch)
    lengths = np.array([len(text) for text in texts]) + random.uniform(0, 4, len(texts))
    rows = np.argsort(lengths, kind="stable")
    batches = [rows[start : start + BATCH] for start in range(0, len(rows), BATCH)]
    for index in random.permutation(len(batches)):
        yield batches[index]


def _forgetful(texts: Sequence[Sequence[int]], seed: int, *purpose: int) -> list[list[int]]:
    """The texts with some of their words made unknown."""
    lost = stream(seed, "train", "forget", *purpose).random(sum(map(len, texts))) < FORGET
    spots = iter(lost.tolist())
    return [[UNKNOWN if next(spots) else word for word in text] for text in texts]


def _held_out(made: Path, tested: pl.DataFrame, seed: int) -> dict[str, Any]:
    """The figures of the written model, asked as the service that it will be."""
    service = Gru(folder=made)
    live = service.open()
    texts = [Message(text) for text in tested["text"]]

    async def ask() -> list[float]:
        starts = range(0, len(texts), service.batch)
        return [float(one.output) for at in starts for one in await live.ask(texts[at : at + service.batch])]

    scores = np.array(asyncio.run(ask()))
    return {**measure(tested, scores, seed), "sources": by_source(tested, scores, seed)}


def _facts(
    data: TrainingTable, training: pl.DataFrame, vocabulary: Sequence[str], effort: Effort
) -> dict[str, Any]:
    """The card without its results. It holds no time, so that the same training gives the same card."""
    scores = data.rows["score"]
    return {
        "kind": KIND,
        "data": {
            **data.facts(),
            "mean": round(float(np.mean(scores.to_numpy())), 4),
            "sources": dict(data.rows.group_by("source").len().sort("source").iter_rows()),
        },
        "training": {
            "rows": len(training),
            "epochs": effort.epochs,
            "seed": effort.seed,
            "held_out": effort.held_out,
        },
        "network": {"words": len(vocabulary), "width": WIDTH, "hidden": HIDDEN},
        "versions": {"python": platform.python_version(), "torch": metadata.version("torch")},
        "limits": list(LIMITS),
    }


def _write(
    folder: Path, vocabulary: Sequence[str], weights: Mapping[str, Any], card: Mapping[str, Any]
) -> None:
    from safetensors.torch import save

    (folder / WEIGHTS).write_bytes(save(dict(weights)))
    text = json.dumps(list(vocabulary), ensure_ascii=False)
    (folder / VOCABULARY).write_text(text + "\n", encoding="utf-8")
    (folder / CARD).write_text(json.dumps(card), encoding="utf-8")


def _too_few(data: TrainingTable, training: pl.DataFrame, tested: pl.DataFrame) -> Fault:
    return Fault(
        "TABLE",
        f"{data.name}: too few different rows or groups to hold some out",
        f"at least {FEWEST_TESTED} to learn from and {FEWEST_TESTED} others to test on",
        f"{len(training)} and {len(tested)}",
        "Give more rows, smaller groups, or another --held-out",
    )
