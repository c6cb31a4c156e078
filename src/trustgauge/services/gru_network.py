"""The network behind the trained sentiment scorer: words, a bidirectional GRU, one number.

A text becomes words, words become numbers of a vocabulary, each number a learned vector. A
gated recurrent unit (Cho et al. 2014, arXiv 1406.1078, section 2.3) reads the vectors in both
directions; the mean and the largest value over the text of what it holds go through one linear
layer and tanh, which gives a score from -1 to 1. torch is imported when a network is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

PADDING, UNKNOWN = 0, 1
RESERVED = 2  # numbers 0 and 1 stand for no word and for a word that is not in the vocabulary
LONGEST = 96  # words of a text that are read; sentences of people rarely have more
MOST_READ = 8_000  # characters that are cut into words, so that a huge text costs no more

_WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]{1,3}")


def words(text: str) -> list[str]:
    """The first `LONGEST` words of a text in small letters; runs of signs, such as ":)", are words."""
    return _WORD.findall(text[:MOST_READ].lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))[:LONGEST]


def encode(texts: Iterable[str], vocabulary: Sequence[str]) -> list[list[int]]:
    """Texts as numbers of the vocabulary's words; a text without words is one unknown word."""
    known = {word: number for number, word in enumerate(vocabulary, RESERVED)}
    return [[known.get(word, UNKNOWN) for word in words(text)] or [UNKNOWN] for text in texts]


def make(size: int, width: int, hidden: int) -> Any:
    """A network with random weights, by torch's global generator.

    Args:
        size: words of the vocabulary, without the reserved numbers.
        width: length of a word's vector.
        hidden: units of the recurrent layer in each direction.

    Returns:
        A `torch.nn.ModuleDict` for `forward`.
    """
    from torch import nn

    return nn.ModuleDict(
        {
            "embedding": nn.Embedding(size + RESERVED, width, padding_idx=PADDING),
            "reader": nn.GRU(width, hidden, batch_first=True, bidirectional=True),
            "dropout": nn.Dropout(0.4),
            "score": nn.Linear(4 * hidden, 1),
        }
    )


def forward(network: Any, texts: Sequence[Sequence[int]]) -> Any:
    """Scores of numbered texts, none of them empty: a tensor of shape [texts], each in [-1, 1]."""
    import torch
    from torch.nn.utils import rnn

    lengths = torch.tensor([len(text) for text in texts])
    rows = [torch.tensor(text) for text in texts]
    padded = rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)
    read = network["dropout"](network["embedding"](padded))
    packed = rnn.pack_padded_sequence(read, lengths, batch_first=True, enforce_sorted=False)
    outputs, _ = rnn.pad_packed_sequence(network["reader"](packed)[0], batch_first=True)
    absent = (torch.arange(outputs.shape[1])[None, :] >= lengths[:, None])[:, :, None]
    mean = outputs.masked_fill(absent, 0.0).sum(1) / lengths[:, None]
    largest = outputs.masked_fill(absent, -torch.inf).amax(1)
    both = network["dropout"](torch.cat([mean, largest], 1))
    return torch.tanh(network["score"](both))[:, 0]


@contextmanager
def deterministic(seed: int) -> Iterator[None]:
    """One thread, and torch's global generator seeded; both as before afterwards."""
    import torch

    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
