"""Where Chinese answers say the property that they were asked about, as `asked.hold_property` holds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.judges.asked import Property
from trustgauge.methods.social_bias.judges.marks import FILL, PROPERTY
from trustgauge.methods.social_bias.judges.plain import END, Bytes, Places, one_text


def hold_properties(texts: Bytes, rows: Places, asked: Sequence[Property]) -> Bytes:
    """Texts with the pieces of their properties held, byte for byte.

    Args:
        texts: plain and folded, with held names, each with a byte `END` behind it.
        rows: for each text, which of `asked` it is about.
        asked: properties.
    """
    said = pl.DataFrame({"text": one_text(texts).str.split(chr(END)).explode()[:-1]})
    here = np.zeros(len(said), dtype=bool)
    used = np.flatnonzero(np.bincount(rows))
    pieces = [asked[number].cores for number in used.tolist()]
    of = np.searchsorted(used, rows)
    for nth in range(max(map(len, pieces))):
        cores = [one[nth] if nth < len(one) else None for one in pieces]
        piece = pl.Series("piece", cores, dtype=pl.String).gather(of)
        holds = pl.col("text").str.contains(pl.col("piece"), literal=True).fill_null(value=False)
        here |= said.with_columns(piece).select(holds).to_series().to_numpy()
    places = np.flatnonzero(here)
    if not len(places):
        return texts
    held = [
        _held(text, asked[number])
        for text, number in zip(said["text"].gather(places).to_list(), rows[places].tolist(), strict=True)
    ]
    ends = np.flatnonzero(texts == END)
    begins = np.concatenate([[0], ends[:-1] + 1])[places]
    lengths = ends[places] - begins
    whole = texts.copy()
    inside = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    whole[inside] = np.frombuffer("".join(held).encode(), dtype=np.uint8)
    return whole


def _held(text: str, asked: Property) -> str:
    for core in asked.cores:
        text = text.replace(core, PROPERTY + FILL * (len(core.encode()) - 1))
    return text
