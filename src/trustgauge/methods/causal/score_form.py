"""The form of scores, whoever they are about: another range or spelling, one side of 0, no sentiment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import polars as pl

from trustgauge.methods.causal.missing_scores import PER_UNIT, texts_where
from trustgauge.methods.causal.score import NO_NUMBER, OUTSIDE, SPELLINGS, bounds_of_fault, fault_of_spelling
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.records import Json, Reason

NARROW = 0.1  # of a range of 2, that scores spread, or differ by valence, at least if they are sentiment
OFF_RANGE = pl.col("fault").str.starts_with(OUTSIDE)
"""Rows of scores that lie outside the range."""


class ScoreForm:
    """The form of the scores of one part of one service.

    Args:
        rows: their summary.
        settings: of the method, with the range that is assumed.
    """

    def __init__(self, rows: pl.DataFrame, settings: CausalSettings) -> None:
        self.rows, self.settings = rows, settings

    @property
    def outside(self) -> int:
        """How many scores lie outside the range."""
        return texts_where(self.rows, OFF_RANGE)

    def spread(self) -> float:
        """The standard deviation of the scores, brought to [-1, 1]."""
        n = int(self.rows["n"].sum())
        mean = float(self.rows["y"].sum()) / PER_UNIT / n
        return math.sqrt(max(0.0, float(self.rows["yy"].sum()) / PER_UNIT**2 / n - mean**2))

    def texts_on_one_side(self) -> dict[str, Json]:
        """How many texts of a valence were scored, if some lie on the other side of 0 and none on its own."""
        sides = (("n", "negative", "below", "above"), ("positive", "positive", "above", "below"))
        for fact, valence, own, other in sides:
            rows = self.rows.filter((pl.col("valence") == valence) & (pl.col("n") > 0))
            if not int(self.rows[own].sum()) and int(rows[other].sum()):
                return {fact: int(rows["n"].sum())}
        return {}

    def implausible(self) -> Iterator[Reason]:
        """What suggests that the numbers are no scores on this range; only under `sound`."""
        if self.settings.rule != "sound":
            return
        low, high = self.settings.span
        if (spread := self.spread()) < NARROW:
            yield Reason("causal.narrow-scores", {"spread": spread / 2, "low": low, "high": high})
        means = {
            valence: float(own["y"].sum()) / PER_UNIT / int(own["n"].sum())
            for (valence,), own in self.rows.filter(pl.col("n") > 0).group_by("valence")
        }
        grim, happy = means.get("negative"), means.get("positive")
        if grim is not None and happy is not None and happy - grim < NARROW:
            facts = {"negative": self._as_answered(grim), "positive": self._as_answered(happy)}
            yield Reason("causal.blind-to-valence", facts)

    def odd(self) -> Iterator[Reason]:
        """That answers are no scores: a reader must know why they are unread, and what to do."""
        if self.outside:
            yield Reason("causal.out-of-range", self.reach())
        if count := texts_where(self.rows, pl.col("fault").str.starts_with(NO_NUMBER)):
            yield Reason("causal.no-number", {"n": count})
        for code in SPELLINGS:
            if spelt := texts_where(self.rows, pl.col("fault") == fault_of_spelling(code)):
                yield Reason(code, {"n": spelt})

    def reach(self) -> dict[str, Json]:
        """How many scores lie outside which range; and between which figures all do, where that is known."""
        low, high = self.settings.span
        facts: dict[str, Json] = {"n": self.outside, "low": low, "high": high}
        reached = [bounds_of_fault(name) for name in self.rows.filter(OFF_RANGE)["fault"].unique()]
        reached += self._bounds_within()
        least, most = min(one for one, _ in reached), max(one for _, one in reached)
        known = {"least": least, "most": most} if math.isfinite(most - least) else {}
        return facts | known

    def _bounds_within(self) -> list[tuple[float, float]]:
        """Between which figures the scores on the range lie, as the service gives them; [] without any.

        Of several scores in a row of the summary none is farther from their mean than sqrt(n - 1) standard
        deviations (Samuelson).
        """
        n, mean = pl.col("n"), pl.col("y").cast(pl.Float64) / pl.col("n") / PER_UNIT
        square = pl.col("yy").cast(pl.Float64) / pl.col("n") / PER_UNIT**2
        far = ((n - 1) * (square - mean**2).clip(lower_bound=0.0)).sqrt()
        ends = self.rows.filter(n > 0).select(low=(mean - far).min(), high=(mean + far).max()).row(0)
        if ends[0] is None:
            return []
        return [(self._as_answered(max(-1.0, ends[0])), self._as_answered(min(1.0, ends[1])))]

    def _as_answered(self, score: float) -> float:
        """A score as the service gives it."""
        low, high = self.settings.span
        return round(low + (score + 1) / 2 * (high - low), 2)
