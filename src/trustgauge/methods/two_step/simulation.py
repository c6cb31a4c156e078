"""Simulated runs of an experiment on a service of known rates, many at once.

The power of a plan (methods 0.8) and the operating characteristics of the rule (two-step 1.7)
come from these: known rates in, `Counts` out, which the rule then judges as it judges a service.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.two_step.design import exact_counts
from trustgauge.methods.two_step.transition_model import TextTypes, TransitionCounts
from trustgauge.stats.distributions import Floats, Ints

SEGMENTS = 10  # of a run (methods 0.3)


@dataclass(frozen=True)
class Sizes:
    """The planned sizes.

    Attributes:
        specs: Share of each input value in each block, [S, G].
        texts: n, texts of a block.
        mentions: k, mentions of a text.
        items: Number of occupations; the texts go through them in turn, alike in every block.
        exact: Whether the counts of a block are fixed, or drawn.
        segments: Of a run; 1 for a service that shares answers, which has no order (methods 0.3).
    """

    specs: Floats
    texts: int
    mentions: int
    items: int
    exact: bool = True
    segments: int = SEGMENTS


def simulate(
    sizes: Sizes, rates: Floats, sharing: float, runs: int, rng: np.random.Generator
) -> TransitionCounts:
    """Runs of an experiment on a service with known rates.

    Args:
        sizes: The planned sizes.
        rates: P(out | in), [G, C]; or [k + 1, G, C] where they depend on how many of the text's k
            mentions hold the last of the values.
        sharing: Share of the (occupation, value) pairs whose mentions all come out alike, 0 for
            independent mentions, 1 for a service that decides by occupation. It is the
            correlation of any two mentions of one pair.
        runs: R.
        rng: The stream.
    """
    values = _values(sizes, runs, rng)
    slots = np.arange(sizes.texts * sizes.mentions).reshape(sizes.texts, sizes.mentions)
    items = np.broadcast_to(slots % sizes.items, values.shape)
    chance = rng.random(values.shape)
    if sharing > 0:
        pairs = (runs, sizes.items, rates.shape[-2])
        which = (np.arange(runs)[:, None, None, None], items, values)
        alike = (rng.random(pairs) < sharing)[which]
        chance = np.where(alike, rng.random(pairs)[which], chance)
    last = rates.shape[-2] - 1
    cell = (values,) if rates.ndim == 2 else ((values == last).sum(axis=-1, keepdims=True), values)
    edges = rates.cumsum(axis=-1)[..., :-1]
    outputs = np.zeros(values.shape, dtype=np.int64)
    for place in range(edges.shape[-1]):
        outputs += chance >= edges[..., place][cell]
    return tally(
        values,
        outputs,
        items,
        _segments(values.shape[:-1], sizes.segments, rng),
        (last + 1, rates.shape[-1], sizes.items),
    )


def _segments(shape: tuple[int, ...], segments: int, rng: np.random.Generator) -> Ints:
    """The segment of the run in which each text is sent, in shuffled order (methods 0.3): [R, S, n]."""
    runs, texts = shape[0], int(np.prod(shape[1:]))
    places = rng.permuted(np.tile(np.arange(texts), (runs, 1)), axis=1)
    return (places * segments // texts).reshape(shape)


def _values(sizes: Sizes, runs: int, rng: np.random.Generator) -> Ints:
    """Input values of all mentions, [R, S, n, k]."""
    places = sizes.texts * sizes.mentions
    blocks = []
    for spec in sizes.specs:
        if sizes.exact:
            fixed = np.repeat(np.arange(len(spec)), exact_counts(spec, places))
            blocks.append(rng.permuted(np.tile(fixed, (runs, 1)), axis=1))
        else:
            blocks.append(rng.choice(len(spec), size=(runs, places), p=spec))
    return np.stack(blocks, axis=1).reshape(runs, len(sizes.specs), sizes.texts, sizes.mentions)


def tally(
    values: Ints, outputs: Ints, items: Ints, segments: Ints, kinds: tuple[int, int, int]
) -> TransitionCounts:
    """Counts of runs given mention by mention.

    A text is the same in two blocks if its values are: skeletons are the same in every block.

    Args:
        values: Input values, [R, S, n, k].
        outputs: Output values, likewise.
        items: Occupations, likewise.
        segments: Of the run, of each text, [R, S, n].
        kinds: G, C and the number of occupations.
    """
    runs, blocks, texts, _ = values.shape
    inputs, cells, many = kinds
    run = np.arange(runs)[:, None, None, None]
    block = np.arange(blocks)[None, :, None, None]
    text = np.arange(texts)[None, None, :, None]
    pair = values * cells + outputs
    items_own = _table((run, block, items, pair), (runs, blocks, many, inputs * cells))
    items_own = items_own.reshape(runs, blocks, many, inputs, cells)
    own = items_own.sum(axis=2)
    time = segments[..., None]
    by_time = _table((run, block, time, pair), (runs, blocks, SEGMENTS, inputs * cells))
    segments_own = by_time.reshape(runs, blocks, SEGMENTS, inputs, cells)
    content = _content(values)[..., None]
    by_text = _table((run, content, text, pair), (runs, blocks, texts, inputs * cells))
    return TransitionCounts(
        own=own,
        pooled=own.sum(axis=1),
        texts=by_text.reshape(runs, blocks * texts, inputs, cells),
        items=items_own.sum(axis=1),
        segments=segments_own.sum(axis=1),
        items_own=items_own,
        segments_own=segments_own,
        units=tuple(
            _units(values == value, outputs, cells, block[..., 0], blocks) for value in range(inputs)
        ),
        times=tuple(_units(values == value, outputs, cells, segments, SEGMENTS) for value in range(inputs)),
        answers=_units(np.ones(values.shape, dtype=bool), outputs, cells, block[..., 0], blocks),
    )


def _table(indices: tuple[Ints, ...], shape: tuple[int, ...]) -> Ints:
    flat = np.ravel_multi_index(np.broadcast_arrays(*indices), shape)
    return np.bincount(flat.ravel(), minlength=int(np.prod(shape))).reshape(shape)


def _content(values: Ints) -> Ints:
    """For each text the first block in which it stands with the same values, [R, S, n]."""
    blocks = values.shape[1]
    first = np.full(values.shape[:-1], blocks)
    for block in range(blocks):
        for earlier in range(block, -1, -1):
            same = np.logical_and.reduce(
                [values[:, earlier, :, slot] == values[:, block, :, slot] for slot in range(values.shape[-1])]
            )
            first[:, block] = np.where(same, earlier, first[:, block])
    return first


def _units(holds: NDArray[np.bool_], outputs: Ints, cells: int, within: Ints, groups: int) -> TextTypes:
    """Texts by how many mentions of one value came out as what: `holds` marks its mentions.

    `within` tells the group of each text, of which there are `groups`: its block, or its segment.
    """
    runs, _, _, mentions = outputs.shape
    base = mentions + 1
    powers = base ** np.arange(cells)
    codes = np.zeros(outputs.shape[:-1], dtype=np.int64)
    for slot in range(mentions):
        codes += np.where(holds[..., slot], powers[outputs[..., slot]], 0)
    known, place = _places(codes)
    table = _table((np.arange(runs)[:, None, None], within, place), (runs, groups, len(known)))
    types = known[:, None] // powers % base
    present = known > 0
    return TextTypes(table[..., present], types[present])


def _places(codes: Ints) -> tuple[Ints, Ints]:
    """The different codes, and the place of each code among them; without sorting if they are small."""
    top = int(codes.max())
    if top > 1 << 20:
        known, place = np.unique(codes, return_inverse=True)
        return known, place.reshape(codes.shape)
    known = np.flatnonzero(np.bincount(codes.ravel()))
    lookup = np.zeros(top + 1, dtype=np.int64)
    lookup[known] = np.arange(len(known))
    return known, lookup[codes]
