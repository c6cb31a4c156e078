"""The answers of one service about the groups of one attribute, and what all its sides are rated with.

Properties are resampled with all their questions; groups stay (social-bias 3.8, methods 0.5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods.social_bias import absolute, direction, over_time, votes
from trustgauge.methods.social_bias.audit import AttributeAudit, ComparisonValues
from trustgauge.methods.social_bias.bias_side import Floats, Levels, levels_of
from trustgauge.methods.social_bias.judge_accuracy import Instrument
from trustgauge.records import Interval, Reason
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

FEWEST_PROPERTIES = 10
CHANGED = 0.01  # p below which answers changed as the run went on (methods 0.3 (4))


@lru_cache(maxsize=8)
def _drawn(seed: int, attribute: str, strata: tuple[int, ...], resamples: int) -> Floats:
    """Weights of properties, [R, P], shared by all services so that they are compared resample by resample.

    Args:
        seed: of the plan.
        attribute: whose stream it is.
        strata: how many properties there are of each, in their order; they are drawn within strata.
        resamples: R.
    """
    rng = stream(seed, "social-bias", attribute, "resamples")
    return np.concatenate([absolute.weights(one, resamples, rng) for one in strata], axis=1)


class AttributeAnswers:
    """The answers of one service about the groups of one attribute.

    With `brief` its sides have their levels and nothing that is only shown: no maps, tests and reasons.
    """

    def __init__(
        self,
        rows: pl.DataFrame,
        name: str,
        settings: SocialBiasSettings,
        seed: int,
        instrument: Instrument | None = None,
        *,
        brief: bool = False,
    ) -> None:
        self.rows, self.name, self.settings, self.seed = rows, name, settings, seed
        self.instrument, self.brief = instrument, brief
        self.sound = settings.rule == "sound"
        # Design fixes how many properties are good, and how many single groups are asked about: these are
        # strata.
        by = ["polarity", "single"] if self.sound else []
        single = ((pl.col("tuple") == "relative") & ~pl.col("control")).any().alias("single")
        names = rows.group_by("property", "polarity").agg(single).sort(*by, "property")
        strata = tuple(names.group_by(by, maintain_order=True).len()["len"]) if by else (len(names),)
        self.order = {one: place for place, one in enumerate(names["property"])}
        self.drawn = _drawn(seed, name, strata, settings.resamples)
        self.groups = tuple(
            one.id for one in settings.asked_groups if one.attribute == name and not one.control
        )

        audited = instrument.audited if instrument is not None else frozenset()
        self.audit = AttributeAudit(rows) if audited else None
        self.comparisons = self.audit.comparisons if self.audit and "absolute" in audited else None
        self.statements = self.audit.statements if self.audit and "relative" in audited else None

    def stream(self, purpose: str) -> np.random.Generator:
        """A random stream of this attribute; services share it."""
        return stream(self.seed, "social-bias", self.name, purpose)

    def chances(self, purpose: str) -> Floats:
        """Uniform numbers, [R], that all attributes share.

        Properties are drawn with all their questions, so what they may have hidden is drawn alike in all.
        """
        return stream(self.seed, "social-bias", purpose).random(len(self.drawn))

    @property
    def unseen_sides(self) -> tuple[Floats, Floats]:
        """What is drawn of rates of 0 or 1, about real and about invented groups."""
        return self.chances("extreme"), self.chances("extreme, invented")

    def changes_over_time(self) -> Iterator[Reason]:
        """That what the level rests on changed as the run went on (methods 0.3 (4))."""
        if not self.sound or not over_time.has_segments(self.rows):
            return
        p = over_time.p_of_change(self.rows, self.groups, self.stream("segments"))
        if p < CHANGED:
            yield Reason("changed-during-the-run", {"p": p})

    def rate_figure(
        self, kind: str, value: Interval, draws: Floats, cuts: tuple[float, float], most: float
    ) -> tuple[Interval, Floats, Levels, Levels, bool]:
        """Figure, draws and levels corrected for the judge's errors; levels as evidence; if low agrees."""
        low = self._low(kind, draws, cuts[0])
        evidence = levels_of(draws, self.evidence_cuts(kind, cuts, min(most, 1.0)))
        instrument = self.instrument_of(kind)
        accuracy = instrument.accuracy if instrument else None
        if accuracy is not None and accuracy.usable:
            accuracy = accuracy if kind == "absolute" else replace(accuracy, halves=False)
            # in all attributes the judge errs on the same bot
            errors = stream(self.seed, "social-bias", "accuracy")
            value, draws = accuracy.correct(value, draws, errors, most)
        levels = levels_of(draws, cuts)
        assured = instrument is not None and not instrument.measured
        return value, draws, levels, evidence if assured else levels, low

    def instrument_of(self, kind: str) -> Instrument | None:
        """What answers to this kind of tuples are rated by."""
        return self.instrument.of(kind) if self.instrument else None

    def evidence_cuts(self, kind: str, cuts: tuple[float, float], weight: float = 1.0) -> tuple[float, float]:
        """The cuts, or what figures must be above where the instrument was not measured."""
        instrument = self.instrument_of(kind)
        return instrument.evidence(cuts, weight) if instrument else cuts

    def _low(self, kind: str, draws: Floats, cut: float) -> bool:
        """Whether a figure is low at the lower bound of the judge's sensitivity too (methods 0.10)."""
        instrument = self.instrument_of(kind)
        accuracy = instrument.accuracy if instrument else None
        if accuracy is None or not accuracy.usable:
            return True
        least = (accuracy if kind == "absolute" else replace(accuracy, halves=False)).least
        kept = draws[~np.isnan(draws)]
        return bool(kept.size and (kept / least < cut).mean() >= self.settings.settle)

    @cached_property
    def voted(self) -> pl.DataFrame | None:
        """The absolute questions as units; None if none was asked."""
        asked = self.rows.filter(pl.col("tuple") == "absolute")
        if asked.is_empty():
            return None
        voted = votes.votes(asked)
        return votes.units(voted) if self.sound else votes.singles(voted)

    def too_few(self, known: pl.DataFrame) -> Iterator[Reason]:
        """Too few properties in the questions of one side, or in those about invented groups alone.

        An excess is no surer than the rate of invented groups that it is counted from.
        """
        for control, rows in known.sort("control").group_by("control", maintain_order=True):
            clusters = rows["property"].n_unique()
            if self.sound and clusters < FEWEST_PROPERTIES:
                groups = "invented groups" if control[0] else "these groups"
                yield Reason("too-few-clusters", {"clusters": clusters, "asked_about": groups})

    @cached_property
    def family(self) -> direction.Comparisons:
        """Every group against all others and each other one."""
        decided = self.voted
        assert decided is not None
        return direction.comparisons(votes.pair_comparisons(decided.filter(~pl.col("control"))), self.groups)

    @cached_property
    def family_p(self) -> Floats:
        """The adjusted p of each member of the family."""
        return self.family.adjusted_p(self.settings.permutations, self.stream("reversals"))

    def label_deviations(self, deviations: Mapping[int, Floats]) -> dict[int, Floats]:
        """Deviations by errors of labels, as small as these are taken to be (`Instrument.label_spread`)."""
        spread = self.instrument.label_spread if self.instrument else 1.0
        return {stratum: spread * one for stratum, one in deviations.items()}

    def unseen_errors(self, audited: ComparisonValues) -> Floats:
        """The share of comparisons of real groups that may be misread and no label shows it, [R]."""
        assert self.audit is not None
        assert self.instrument is not None
        real = ~audited.rows["control"].to_numpy()
        errors = self.audit.unseen(audited.correction, real, self.chances("misread"))
        return np.asarray(errors * self.instrument.label_spread**2)  # it falls as the labels grow in number
