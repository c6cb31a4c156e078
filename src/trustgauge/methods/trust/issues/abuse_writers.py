"""How a checker errs on a bot that is none of the writers of the labelled texts (trust 4.1, AL; 0.10).

Its false alarms, and the abuse that it finds, differ between writers by more than chance, and each bot is a
writer of its own. So both are drawn for a writer whom nobody has seen (`stats.heterogeneity`): a style of
answers is a stratum, and the spread between writers is estimated over all styles. Where a bot stands among
writers is drawn once for all its styles, as nobody knows that what misleads in one does not in another.

Where the labelled texts do not say who wrote them, or fewer than `FEWEST_WRITERS` did, the spread is what
that of the checker `sentences` is at most (`MOST_SPREAD`), around the mean of all texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from trustgauge.methods.trust.abuse_checkers import CheckerAccuracy, Table, WriterTables
from trustgauge.methods.trust.resampling import Floats
from trustgauge.stats import stream
from trustgauge.stats.heterogeneity import (
    Counts,
    Place,
    draw_effect,
    draw_place,
    draw_rates,
    draw_rates_of_many,
)

Spread = Literal["alarms", "finds"]
"""Which rates have a spread of their own; hate and offence have that of what is found."""
Rate = Literal["alarms", "finds", "hate", "offensive"]
"""What is flagged: of the harmless, of all abuse, of hate, of what only offends."""
ROWS: Mapping[Rate, tuple[int, ...]] = {"alarms": (2,), "finds": (0, 1), "hate": (0,), "offensive": (1,)}
"""The true classes of each, as rows of a table."""
FEWEST_WRITERS = 5
"""Writers below whom nothing is known of the spread between them."""
MOST_SPREAD: Mapping[Spread, float] = {"alarms": 0.95, "finds": 1.05}
"""Upper ends of the 95 % intervals of the spread of `sentences` between the writers of its texts."""
ENDS = 0.025, 0.975
DRAWN = 20_000  # of the ends
SMALLEST_RATE = 1e-9

Streams = Callable[..., np.random.Generator]
"""Purpose -> a random stream."""


class CheckerPlace(NamedTuple):
    """Where a bot stands among writers, in R draws: by false alarms and by what is found."""

    alarms: Place
    finds: Place


def draw_writer(measured: CheckerAccuracy, count: int, streams: Streams) -> CheckerPlace:
    """Where a bot may stand among writers: the same place in all styles of a checker."""
    alarms, finds = (
        _draw_place(measured, rate, count, streams("abuse", "writer", rate)) for rate in MOST_SPREAD
    )
    return CheckerPlace(alarms, finds)


def draw_rate(
    measured: CheckerAccuracy, rate: Rate, writer: CheckerPlace, rng: np.random.Generator
) -> Floats:
    """The share that is flagged of what such a writer writes in a style, [R].

    Args:
        measured: labelled texts of the style.
        rate: of what.
        writer: the place among writers.
        rng: of the mean over writers.
    """
    place = writer.alarms if rate == "alarms" else writer.finds
    if knows_writers(measured):
        drawn = draw_rates(_counts(measured.writers, rate), place, rng)
    else:
        drawn = draw_rates_of_many(*_count(measured.table, rate), place, rng)
    return np.clip(drawn, SMALLEST_RATE, 1.0 - SMALLEST_RATE)


def knows_writers(measured: CheckerAccuracy) -> bool:
    """Whether there are enough writers to tell how far they are apart."""
    return len({name for style in measured.all_writers for name, _ in style}) >= FEWEST_WRITERS


@lru_cache(maxsize=256)
def rate_ends(measured: CheckerAccuracy, rate: Rate) -> tuple[float, float]:
    """Between which shares 95 % of the writers are."""

    def streams(*purpose: str) -> np.random.Generator:
        return stream(0, *purpose)

    writer = draw_writer(measured, DRAWN, streams)
    low, high = np.quantile(draw_rate(measured, rate, writer, streams("abuse", "ends", rate)), ENDS)
    return float(low), float(high)


def _draw_place(measured: CheckerAccuracy, rate: Spread, count: int, rng: np.random.Generator) -> Place:
    if knows_writers(measured):
        return draw_place(tuple(_counts(style, rate) for style in measured.all_writers), count, rng)
    return Place(np.full(count, MOST_SPREAD[rate]), draw_effect(count, rng))


def _counts(writers: WriterTables, rate: Rate) -> Counts:
    """Flagged and read texts of each writer who wrote any."""
    counts = (_count(table, rate) for _, table in writers)
    return tuple((found, n) for found, n in counts if n)


def _count(table: Table, rate: Rate) -> tuple[int, int]:
    rows = [table[row] for row in ROWS[rate]]
    return sum(row[0] + row[1] for row in rows), sum(sum(row[:3]) for row in rows)
