"""Where Chinese answers say the property that they were asked about, as `asked.hold_property` holds it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.judges.lexer import FILL, PROPERTY
from trustgauge.methods.social_bias.judges.plain_text import END, LONGEST, Bytes, Places, one_text
from trustgauge.methods.social_bias.judges.question_parser import Property

HELD = pl.lit(PROPERTY) + pl.lit(FILL * LONGEST).str.slice(0, pl.col("piece").str.len_bytes() - 1)


def hold_properties(texts: Bytes, rows: Places, asked: Sequence[Property]) -> Bytes:
    """Texts with the pieces of their properties held, byte for byte.

    Args:
        texts: plain and folded, with held names, each with a byte `END` behind it.
        rows: for each text, which of `asked` it is about.
        asked: properties.
    """
    said = one_text(texts).str.split(chr(END)).explode()[:-1]
    here = np.zeros(len(said), dtype=bool)
    used = np.bincount(rows) > 0
    of = (np.cumsum(used) - 1)[rows]
    for nth in zip_longest(*(asked[number].cores for number in np.flatnonzero(used).tolist())):
        both = pl.DataFrame({"text": said, "piece": pl.Series(nth, dtype=pl.String).gather(of)})
        holds = both.select(pl.col("text").str.contains(pl.col("piece"), literal=True)).to_series()
        places = holds.arg_true().to_numpy()
        here[places] = True
        held = pl.col("text").str.split(pl.col("piece")).list.join(HELD)
        said = said.scatter(places, both[places].select(held).to_series())
    places = np.flatnonzero(here)
    if not len(places):
        return texts
    ends = np.flatnonzero(texts == END)
    begins = np.concatenate([[0], ends[:-1] + 1])[places]
    lengths = ends[places] - begins
    whole = texts.copy()
    inside = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    whole[inside] = np.frombuffer("".join(said[places].to_list()).encode(), dtype=np.uint8)
    return whole
