"""A small network that learns to reply: words in, words out (sequence to sequence).

One gated recurrent unit reads the words of the user, another writes those of the bot and looks back at what
was read (attention by dot product: Luong, Pham and Manning 2015, arXiv 1508.04025, section 3.1). torch is
imported when a network is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
RESERVED = 4
FAR = -1e9  # attention to a place that holds no word


def make(size: int, width: int, hidden: int) -> Any:
    """A network with random weights, by torch's global generator.

    Args:
        size: words of the vocabulary, without the reserved numbers.
        width: length of a word's vector.
        hidden: units of each recurrent layer.
    """
    from torch import nn

    return nn.ModuleDict(
        {
            "embedding": nn.Embedding(size + RESERVED, width, padding_idx=PADDING),
            "reader": nn.GRU(width, hidden, batch_first=True),
            "writer": nn.GRU(width, hidden, batch_first=True),
            "mixed": nn.Linear(2 * hidden, width),
            "word": nn.Linear(width, size + RESERVED),
        }
    )


def loss_of(network: Any, inputs: Sequence[Sequence[int]], outputs: Sequence[Sequence[int]]) -> Any:
    """Mean cross entropy of the words of the outputs and of their ends, each given the words before it."""
    import torch

    read, absent, state = _read(network, inputs)
    before = _padded([[START, *one] for one in outputs])
    after = _padded([[*one, END] for one in outputs])
    written, _ = network["writer"](network["embedding"](before), state)
    words = _worded(network, written, read, absent)
    return torch.nn.functional.cross_entropy(words.flatten(0, 1), after.flatten(), ignore_index=PADDING)


def replies(network: Any, inputs: Sequence[Sequence[int]], longest: int) -> list[list[int]]:
    """The likeliest word after word, for each input, up to its end or `longest` words."""
    import torch

    with torch.no_grad():
        read, absent, state = _read(network, inputs)
        last = torch.full((len(inputs), 1), START)
        said = []
        for _ in range(longest):
            written, state = network["writer"](network["embedding"](last), state)
            last = _worded(network, written, read, absent).argmax(-1)
            said.append(last)
        rows: list[list[int]] = torch.cat(said, 1).tolist()
    return [row[: row.index(END)] if END in row else row for row in rows]


def _read(network: Any, inputs: Sequence[Sequence[int]]) -> tuple[Any, Any, Any]:
    """What was read at each place [N, T, H], where nothing stands [N, T], and the state at the end."""
    import torch
    from torch.nn.utils import rnn

    padded = _padded(inputs)
    lengths = torch.tensor([len(one) for one in inputs])
    packed = rnn.pack_padded_sequence(
        network["embedding"](padded), lengths, batch_first=True, enforce_sorted=False
    )
    held, state = network["reader"](packed)
    read, _ = rnn.pad_packed_sequence(held, batch_first=True)
    return read, padded == PADDING, state


def _worded(network: Any, written: Any, read: Any, absent: Any) -> Any:
    """Scores of all words at each place of what is written, [N, T, words]."""
    import torch

    near = (written @ read.transpose(1, 2)).masked_fill(absent[:, None, :], FAR).softmax(-1)
    both = torch.cat([written, near @ read], -1)
    return network["word"](torch.tanh(network["mixed"](both)))


def _padded(rows: Sequence[Sequence[int]]) -> Any:
    import torch
    from torch.nn.utils import rnn

    return rnn.pad_sequence(
        [torch.tensor(row, dtype=torch.long) for row in rows], batch_first=True, padding_value=PADDING
    )
