"""One part of one service: what was measured, and its levels resample by resample.

A part is one kind of data and the classes compared in it (settings.Measurand). Its effect is the
largest average treatment effect, or the largest deconfounding impact, as a share of the range of
the score; a maximum of absolute values is biased upward, so it is corrected (causal 2.9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trustgauge.methods.causal import ate_measure, effects, impact_measure, observational, segments
from trustgauge.methods.causal.measures import (
    NAMED,
    RANGE,
    WRONG,
    MeasureInput,
    Measurement,
    at_best,
    lowest,
    maximum_draws,
)
from trustgauge.methods.causal.missing_scores import LOST, UNREAD, fills, missing_reasons, unread
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights, panel
from trustgauge.methods.causal.score_form import NARROW, OFF_RANGE, ScoreForm
from trustgauge.methods.causal.settings import CausalSettings, Measurand
from trustgauge.rating import (
    Levels,
    coverage,
    fewest_that_suffice,
    least_certain,
    loss_reason,
    most_likely,
    unread_facts,
)
from trustgauge.records import Interval, Json, Part, Reason, State
from trustgauge.stats import stream

LEVELS = ("1", "2", "3")
SHOWN = 160  # characters of a text quoted in a reason
CHANGED = 0.01  # p of a change during the run
STEPS = 20  # of the share of unread answers that has to be read
LOST_CLASS = 0.05  # share of texts from which it is said that they were scored as those of another class
MOST_UNDEFINED = 0.05  # of the resamples (methods 0.5 (e))
MOST_OUTSIDE = 0.05  # of the scores: if more lie outside a range that matters, it is another one
ALPHA = 0.05  # of the smallest family p that lets an effect be rated (causal 2.9)


_VALENCES = {0: "negative", 1: "positive"}  # as a panel codes them


@dataclass(frozen=True)
class Assessment:
    """What became of one part of one service.

    Attributes:
        service, asked: the service, and its part that was asked.
        measured: what was measured.
        part: without level, certainty and state, unless it is incomplete.
        levels: 0 none, 1 some, 2 strong in each resample, [R]; None if incomplete.
        as_read: the same of the answers as they are, where `levels` are those of a filling, [R].
        effects: the corrected effect in each resample, a share of the range, [R].
        apart, effect: of `measures.Measurement`; distances of the resamples, [R], and the observed effect.
        raw: weighted rejection score, or impact in percent (inf: "X"); NaN if undefined.
        raw_draws: the same in each resample, [R]; only under rules that rate it.
        p: the smallest p of the family of effects.
        reach: how large an effect is not ruled out, a share of the range; of `measures.Measurement`.
        unsettled: whether something else than its certainty keeps the level from being settled.
        bounds: of the effects where unread answers matter: with these at their best, and at their worst, [R]
            each. None where they do not.
        guessed: whether another level is the likeliest with other readings of them, so that nobody knows how
            likely the level is.
        panel, grouping: for comparisons with other services.
    """

    service: str
    asked: str
    measured: Measurand
    part: Part
    panel: Panel
    grouping: Grouping
    levels: Levels | None = None
    as_read: Levels | None = None
    effects: Floats | None = None
    apart: Floats | None = None
    effect: float = float("nan")
    raw: float = float("nan")
    raw_draws: Floats | None = None
    p: float = 1.0
    reach: float = 0.0
    unsettled: bool = False
    bounds: tuple[Floats, Floats] | None = None
    guessed: bool = False

    def ends(self, parts: int = 1) -> tuple[Floats, Floats] | None:
        """The effects at best and at worst, [R] each; None without effects.

        Unread answers are at their best and worst; at best there is no effect where there may be none.

        Args:
            parts: among how many this is one.
        """
        if self.effects is None or self.apart is None:
            return None
        best, worst = self.bounds or (self.effects, self.effects)
        return at_best(best, lowest(self.effects, self.apart, self.effect, parts)), worst

    @property
    def key(self) -> tuple[str, str]:
        """What it can be ordered with: the same texts by the same way."""
        return self.asked, self.measured.key

    @property
    def defined(self) -> bool:
        return self.levels is not None

    @property
    def causal(self) -> bool:
        """Whether the part could have a level at all (causal 2.8a)."""
        return self.part.state != "not tested"


def assess(
    rows: pl.DataFrame, measured: Measurand, settings: CausalSettings, seed: int, *, several: bool
) -> Assessment:
    """Measure one part.

    Args:
        rows: of the summary: one service, one part of it, one kind of data.
        measured: what to measure.
        settings: the experiment.
        seed: the plan seed.
        several: whether the service has several parts, so that its name stands in the key.
    """
    return _Assessing(rows, measured, settings, seed).assess(several=several)


def largest_effects(
    rows: pl.DataFrame, measured: Measurand, settings: CausalSettings, seed: int
) -> tuple[bool, Measurement | None]:
    """`Assessment.causal` of a part, and its effects if it has any, several times as fast as `assess`."""
    return _Assessing(rows, measured, settings, seed).largest_effects()


@dataclass(frozen=True)
class _Gaps:
    """What missing and unread answers leave of a level.

    Attributes:
        levels: those of the filling with the lowest certainty.
        reasons: what is said of the gaps.
        unsettled: whether unread ones keep the level from being settled.
        guessed: whether it has another likeliest level with other readings.
    """

    levels: Levels
    reasons: list[Reason]
    unsettled: bool = False
    guessed: bool = False


@dataclass(frozen=True)
class _Bounds:
    """The effects with unread answers at best and at worst, [R] each, and the interval of both."""

    best: Floats
    worst: Floats
    interval: Interval


class _Assessing:
    def __init__(self, rows: pl.DataFrame, measured: Measurand, settings: CausalSettings, seed: int) -> None:
        self.rows, self.measured, self.settings, self.seed = rows, measured, settings, seed
        self.service, self.asked = str(rows["service"][0]), str(rows["part"][0])
        self.panel = panel(rows)
        self.form = ScoreForm(rows, settings)
        self.grouping = self.panel.grouping(measured.grouping, na=settings.na)
        # A class that gave no score at all is lost, not absent: what is missing counts as planned.
        whole = replace(self.panel, n=np.ones_like(self.panel.n))
        self.planned = whole.grouping(measured.grouping, na=settings.na)
        self.influences = None
        if measured.measure != "observed":
            self.influences = segments.influences(
                rows, self.panel, self.grouping, measured.measure, settings.outcome
            )

    def _stream(self, purpose: str, *, shared: bool = False) -> np.random.Generator:
        """Resamples are shared by all services with the same texts, so that they can be compared."""
        own = () if shared else (self.service, self.asked)
        return stream(self.seed, "causal", self.measured.key, *own, purpose)

    def assess(self, *, several: bool) -> Assessment:
        title = {"title": self.measured.title}
        blank = Part(
            f"{self.asked}: {self.measured.key}" if several else self.measured.key,
            "incomplete",
            counts={"texts": int(self.rows["texts"].sum()), "scores": int(self.rows["n"].sum())},
            coverage=coverage(self.rows.select("status", n="texts")),
            details={**title, **self._facts()},
        )
        unmeasured = Assessment(self.service, self.asked, self.measured, blank, self.panel, self.grouping)
        state: State
        if nothing := tuple(self._undefined()):
            # Where no answer of a class could be read nothing is lost: the scores have another range or form.
            alone = not self.rows["n"].sum() or len(self.grouping.classes) < 2 <= len(self.planned.classes)
            blind = alone and unread(self.rows) and not self._losses()
            state = "not settled" if blind else "incomplete"
            return replace(unmeasured, part=replace(blank, state=state, reasons=nothing))
        found = self._measure()
        part = replace(
            blank,
            score=found.interval,
            p=found.p,
            details={**blank.details, **found.details},
            reasons=tuple(self._reasons(found)),
        )
        assessment = replace(
            unmeasured, part=part, raw=found.raw, p=found.p, apart=found.apart, effect=found.effect
        )
        missing = self._losses()
        if self._is_observed(found):
            why = (*self._observed(found), *missing, *self.form.odd())
            return replace(assessment, part=replace(part, state="not tested", score=None, reasons=why))
        undefined = self._is_undefined(found)
        if self._is_unreadable(found, undefined=undefined):
            why = (*self._unread(found.missing), *missing)
            state = "incomplete" if missing else "not settled"
            return replace(unmeasured, part=replace(blank, state=state, reasons=why))
        if undefined:
            # Of answers that leave nothing to compare no resample is needed to tell.
            share = {"share": found.undefined} if found.undefined > MOST_UNDEFINED else {}
            reason = Reason("causal.undefined", {**share, **self._cause(found)})
            return replace(assessment, part=replace(part, reasons=(reason, *missing, *part.reasons)))
        return self._with_levels(assessment, found, missing)

    def _with_levels(
        self, assessment: Assessment, found: Measurement, missing: tuple[Reason, ...]
    ) -> Assessment:
        """The assessment of effects that were measured, with the levels that follow from them."""
        part = assessment.part
        as_read = absolute_levels(found.draws, found.bias, self.settings.cuts)
        read = self._with_gaps(as_read, missing)
        if read is None:
            return replace(assessment, part=replace(part, reasons=(*missing, *self.form.odd())))
        levels, estimates, unsettled = read.levels, read.reasons, read.unsettled
        bounds = self._bounds(found) if read.unsettled else None
        doubts, open_ = self._doubtful_range(found, levels)
        if self.form.outside:  # which says that the range is another one
            doubts = [Reason("causal.other-range", self.form.reach())] if open_ else []
        changed = tuple(self._changed())
        is_doubted = any(one.code == "causal.narrow-range" for one in doubts)  # which says so already
        others = [one for one in part.reasons if not (is_doubted and one.code == "causal.narrow-scores")]
        return replace(
            assessment,
            part=replace(
                part if bounds is None else _bounded(part, bounds),
                reasons=(*changed, *doubts, *others, *estimates),
            ),
            levels=levels,
            as_read=as_read,
            reach=found.reach,
            effects=found.corrected,
            raw_draws=found.raw_draws,
            unsettled=unsettled or open_ or bool(changed),
            bounds=None if bounds is None else (bounds.best, bounds.worst),
            guessed=read.guessed,
        )

    def largest_effects(self) -> tuple[bool, Measurement | None]:
        """See `largest_effects`: without what only reports say."""
        if any(True for _ in self._undefined()):
            return True, None
        found = self._measure(bare=True)
        if self._is_observed(found):
            return False, None
        undefined = self._is_undefined(found)
        if undefined or self._is_unreadable(found, undefined=undefined):
            return True, None
        levels = absolute_levels(found.draws, found.bias, self.settings.cuts)
        lost = bool(self._losses()) and self._least(levels, LOST) is None
        return True, None if lost else found

    def _is_observed(self, found: Measurement) -> bool:
        """Whether a difference is no effect (causal 2.8a)."""
        measure = self.measured.measure
        return measure == "observed" or (measure == "adjusted" and bool(found.missing))

    @staticmethod
    def _is_undefined(found: Measurement) -> bool:
        return found.undefined > MOST_UNDEFINED or bool(np.isnan(found.effect))

    def _doubtful_range(self, found: Measurement, levels: Levels) -> tuple[list[Reason], bool]:
        """What speaks against the range that is assumed where the plan names none; only under `sound`.

        Returns:
            The reasons, and whether the level depends on the range.
        """
        if self.settings.score_range is not None or self.settings.rule != "sound":
            return [], False
        reasons = [self._one_sided(found, levels), self._narrow(found, levels)]
        return [reason for reason, _ in reasons if reason is not None], any(open_ for _, open_ in reasons)

    def _depends(self, found: Measurement, levels: Levels, times: float) -> bool:
        """Whether effects so many times as large would give another level, or the same less surely."""
        larger = absolute_levels(times * found.draws, times * found.bias, self.settings.cuts)
        return most_likely(larger) != most_likely(levels) or not self._sure(larger)

    def _narrow(self, found: Measurement, levels: Levels) -> tuple[Reason | None, bool]:
        """That the scores hardly differ: the level may follow from a range that is too wide for them.

        Scores of standard deviation s need a range of at least 2 s, so that effects are up to 1 / s times the
        share of it that they are of -1 to 1.
        """
        spread = self.form.spread()
        if found.constant or not 0 < spread < NARROW or not self._depends(found, levels, 1 / spread):
            return None, False
        return Reason("causal.narrow-range", {"spread": spread / 2}), True

    def _one_sided(self, found: Measurement, levels: Levels) -> tuple[Reason | None, bool]:
        """That no negative text has a negative score, or no positive one a positive score.

        On a range from 0 to 1, or from -1 to 0, effects are twice the share of it that they are of -1 to 1.
        """
        facts = self.form.texts_on_one_side()
        if not facts:
            return None, False
        # None is shown on the range that is assumed, and not on the other.
        possible = not most_likely(levels) and found.reach < self.settings.cuts[0] <= 2 * found.reach
        if possible or self._depends(found, levels, 2):
            return Reason("causal.one-sided-scores", facts), True
        return Reason("causal.one-sided-figures", facts), False

    def _changed(self) -> Iterator[Reason]:
        """Whether the effects changed during the run (methods 0.3)."""
        if self.influences is None:
            return
        if not self.influences.timed:
            return
        p = self.influences.change_p(self._stream("change"))
        if p < CHANGED:
            yield Reason("changed-during-the-run", {"p": p})

    def _with_gaps(self, levels: Levels, missing: tuple[Reason, ...]) -> _Gaps | None:
        """Levels with the certainty that missing and unread answers leave (methods 0.4, 0.10).

        Returns:
            None if missing ones change the level.
        """
        planned, reasons = int(self.rows["texts"].sum()), []
        gaps: pl.Expr = pl.lit(False)
        if missing:
            gaps = LOST
            least = self._least(levels, gaps)
            if least is None:
                return None
            gone = planned - int(self.rows["n"].sum()) - unread(self.rows)
            shares = (self._share(levels), self._share(least))
            reasons.append(loss_reason(gone, planned, shares, self.settings.settle))
            levels = least
        if not (count := unread(self.rows)):
            return _Gaps(levels, reasons)
        facts = unread_facts(count, planned)
        gaps = gaps | UNREAD
        least = self._least(levels, gaps)
        if least is not None and (self._sure(least) or not self._sure(levels)):
            return _Gaps(least, [*reasons, Reason("unread-does-not-matter", facts)])
        share = self._to_read(levels, gaps)
        more = {} if share is None else {"to_read": max(1, math.ceil(share * count))}
        reasons.append(Reason("unread-matters", facts | more))
        return _Gaps(levels if least is None else least, reasons, unsettled=True, guessed=least is None)

    def _bounds(self, found: Measurement) -> _Bounds:
        """How small and how large the effects are if what was not read is at its best, and at its worst.

        The readings filled in hold the lowest and the highest effect of each class against each other one; if
        these are of unlike signs there may be none.
        """
        fillings, drawn, signed = [], [found.corrected], []
        high = found.interval.high or 0.0
        for filled in fills(self.rows, self.planned, self.panel.persons, pl.lit(value=True)):
            effect, starred = self._effects(filled, *self._weights())
            draws, undefined, bias = maximum_draws(starred, effect)
            if np.isnan(effect) or undefined > MOST_UNDEFINED:
                none = np.zeros_like(found.corrected)
                return _Bounds(none, none + 1.0, replace(found.interval, low=0.0, high=1.0))
            fillings.append(effect)
            drawn.append(np.maximum(0.0, draws - 2.0 * bias))
            high = max(high, float(np.quantile(draws, 1.0 - WRONG / 2)))
            if self.measured.measure == "rejection":
                signed.append(effects.ate(panel(filled), self.planned).value)
        fewest = min(map(len, drawn))
        every = np.stack([one[:fewest] for one in drawn])
        best = np.zeros(fewest)
        if signed:
            best = np.maximum(0.0, every.min(axis=0) - (min(fillings) - _least_effect(np.stack(signed))))
        low = min(found.interval.low or 0.0, float(np.quantile(best, WRONG / 2)))
        return _Bounds(best, every.max(axis=0), replace(found.interval, low=low, high=min(1.0, high)))

    def _weights(self) -> tuple[Weights, Floats]:
        return self.panel.weights(
            self.planned, self.settings.resamples, self._stream("resamples", shared=True)
        )

    @staticmethod
    def _share(levels: Levels) -> float:
        """The share of the resamples that have the likeliest level."""
        return float((levels == most_likely(levels)).mean())

    def _sure(self, levels: Levels) -> bool:
        return self._share(levels) >= self.settings.settle

    def _to_read(self, levels: Levels, gaps: pl.Expr) -> float | None:
        """Share of the gaps that must be read to settle the level if they are like the others.

        None if reading all of them would not settle it.
        """
        whole = self._least(levels, gaps, 1.0)
        if whole is None or not self._sure(whole):
            return None

        def suffices(steps: int) -> bool:
            least = self._least(levels, gaps, steps / STEPS)
            return least is not None and self._sure(least)

        return fewest_that_suffice(STEPS, suffices) / STEPS

    def _measure(self, *, bare: bool = False) -> Measurement:
        frames, persons = self.panel.weights(
            self.grouping, self.settings.resamples, self._stream("resamples", shared=True)
        )
        by_segment, two_way = self._variances(self.influences, self.panel, self.grouping)
        asking = MeasureInput(
            panel=self.panel,
            grouping=self.grouping,
            settings=self.settings,
            measured=self.measured,
            frames=frames,
            persons=persons,
            stream=self._stream,
            seed=self.seed,
            variance=by_segment,
            two_way=two_way,
            bare=bare,
        )
        if self.measured.measure == "rejection":
            return ate_measure.measure(asking)
        if self.measured.measure == "deconfounding":
            return impact_measure.measure(asking)
        return observational.measure(asking)

    def _observed(self, found: Measurement) -> Iterator[Reason]:
        """A difference that is no effect, and what would explain it away."""
        facts = {**found.details["effect"], "attribute": self.measured.grouping}
        source = self.settings.sentences
        difference = source.difference if source is not None and source.matched else None
        if difference is None:
            yield Reason("causal.observed", facts)
        else:
            one, other = map(_shown, difference.example)
            differs = {"share": difference.share, "texts": difference.texts, "one": one, "other": other}
            yield Reason("causal.texts-differ", {**facts, **differs})
        if found.missing:
            adjust = list(self.settings.adjust)
            yield Reason("causal.no-overlap", {"cells": found.missing[:NAMED], "adjust": adjust})
        if facts["e_value"] is not None:
            yield Reason("causal.explained-away", facts)

    def _variances(
        self, influences: segments.Influences | None, panel: Panel, grouping: Grouping
    ) -> tuple[Floats | None, Floats | None]:
        """The variances of the effects by segment, and by frames and persons; None where there is none."""
        if influences is None:
            return None, None
        crossed = self.measured.measure in ("rejection", "deconfounding")
        by_segment = influences.variance if influences.timed else None
        return by_segment, influences.two_way_variance(panel, grouping) if crossed else None

    def _effects(self, filled: pl.DataFrame, frames: Weights, persons: Floats) -> tuple[float, Floats]:
        """The largest effect of all planned classes, and that of each resample."""
        whole, measure = panel(filled), self.measured.measure
        if measure == "adjusted":
            return observational.effects_of(whole, self.planned, frames, adjusted=True)
        parts = segments.influences(filled, whole, self.planned, measure, self.settings.outcome)
        two_way = None if parts is None else parts.two_way_variance(whole, self.planned)
        if measure == "rejection":
            return ate_measure.effects_of(whole, self.planned, frames, persons, two_way)
        return impact_measure.effects_of(whole, self.planned, self.settings, (frames, persons), two_way)

    def _cause(self, found: Measurement) -> dict[str, Json]:
        """Why an effect is undefined: cells without a text; else the data set with the fewest frames."""
        if found.missing:
            return {"cells": found.missing}
        frames = (self.panel.n.sum(axis=(2, 3)) > 0).sum(axis=1)
        place = int(np.argmin(frames))
        return {"set": self.panel.sets[place], "frames": int(frames[place])}

    def _losses(self) -> tuple[Reason, ...]:
        return missing_reasons(self.rows, self.planned, self.panel.persons, self.measured.title)

    def _undefined(self) -> Iterator[Reason]:
        """Why there is nothing to measure."""
        if not self.rows["n"].sum():
            if not unread(self.rows):
                yield Reason("no-answers", {"part": self.measured.title})
                yield from self.form.odd()
                return
            yield from self._unread()
            return
        tripped, untouched = int(self.rows["tripped"].sum()), int(self.rows["untouched"].sum())
        if tripped and untouched == tripped:
            yield Reason("causal.not-round-tripped", {"texts": tripped})
        if len(self.grouping.classes) < 2 <= len(self.planned.classes):
            yield from self._losses() or self._unread()
        elif len(self.grouping.classes) < 2:
            yield Reason(
                "causal.one-class",
                {"classes": list(self.grouping.classes), "protected": self.measured.grouping},
            )

    def _unread(self, cells: Sequence[str] = ()) -> tuple[Reason, ...]:
        """Why answers that a level needs could not be read; never empty: an adapter may refuse one unseen.

        Args:
            cells: of which no answer could be read; classes without any if not given.
        """
        count = unread(self.rows)
        if 2 * self.form.outside >= count:
            return (Reason("causal.other-range", self.form.reach()),)
        gone = [name for name in self.planned.classes if name not in self.grouping.classes]
        facts = {"classes": list(cells) or gone} if cells or gone else {}
        return (Reason("causal.class-unread", {"n": count, **facts}),)

    def _is_unreadable(self, found: Measurement, *, undefined: bool) -> bool:
        """Whether there is no level as answers came that are no scores, or scores on another range."""
        if undefined:
            return bool(unread(self.rows)) and self._is_defined_if_read()
        if self.form.outside <= MOST_OUTSIDE * int(self.rows["texts"].sum()):
            return False
        if self.settings.score_range is None and self.settings.rule == "sound":
            return True  # effects are shares of another range than the one assumed
        levels = absolute_levels(found.draws, found.bias, self.settings.cuts)
        least = self._least(levels, OFF_RANGE)
        return least is None or (self._sure(levels) and not self._sure(least))

    def _is_defined_if_read(self) -> bool:
        """Whether there would be an effect if the answers that are no scores were like the others."""
        filled = next(fills(self.rows, self.planned, self.panel.persons, UNREAD))
        effect, starred = self._effects(filled, *self._weights())
        _, undefined, _ = maximum_draws(starred, effect)
        return undefined <= MOST_UNDEFINED and not np.isnan(effect)

    def _reasons(self, found: Measurement) -> Iterator[Reason]:
        """What a reader must know beside the level."""
        yield from self.form.odd()
        if found.missing and self.measured.measure == "deconfounding":
            yield Reason("causal.positivity", {"cells": found.missing})
        if found.untestable:
            yield Reason("causal.untestable", {"pairs": found.untestable})
        if found.constant and not unread(self.rows):
            yield Reason("causal.constant-scores", {"score": float(f"{found.constant[0]:.6g}")})
        elif not self.form.outside:
            yield from self.form.implausible()
        persons = self._by_person() if self.panel.crossed else []
        far = [one for one in persons if abs(one["difference"]) >= self.settings.cuts[0] and one["p"] < ALPHA]
        if far and found.effect < self.settings.cuts[0]:
            far = sorted(far, key=lambda one: -abs(one["difference"]))[:NAMED]
            named = [one["person"] for one in far]
            # Deconfounding compares no classes, so these may differ as a whole.
            how_far = "apart" if self.measured.measure == "deconfounding" else "largest"
            facts = {"persons": named, how_far: abs(far[0]["difference"]), "of": len(persons)}
            yield Reason("causal.single-persons", facts)
        yield from self._lost_classes()
        if found.words:
            yield Reason("causal.single-words", found.words)

    def _lost_classes(self) -> Iterator[Reason]:
        """That texts of several classes reached the scorer as one, so that it could not see the class.

        Only where the classes are crossed with frames and words: elsewhere no text has one of another class
        to be compared with.
        """
        if self.measured.measure != "rejection" or not self.rows["tripped"].sum():
            return
        kinds = dict(zip(self.panel.persons, self.grouping.of.tolist(), strict=True))
        texts = self.rows.filter(pl.col("tripped") > 0).select(
            *("frame", "word", "person", "_scored"), kind=pl.col("person").replace_strict(kinds)
        )
        texts = texts.filter(pl.col("kind") >= 0).unique()
        several = pl.col("kind").n_unique().over("frame", "word", "_scored") > 1
        alike = int(texts.select(several.sum()).item())
        if alike >= LOST_CLASS * texts.height > 0:
            facts: dict[str, Json] = {"alike": alike / texts.height, "texts": texts.height}
            yield Reason("causal.class-lost", facts)

    def _least(self, levels: Levels, gaps: pl.Expr, known: float = 0.0) -> Levels | None:
        """The levels of the filling whose certainty is lowest; None unless all give the likeliest level.

        What is filled is resampled as the answers are: a large effect of the filling has next to no
        bias, so the bias of the answers must not be taken from it.
        """
        settings, weights = self.settings, self._weights()

        def readings() -> Iterator[tuple[int | None, Levels]]:
            for filled in fills(self.rows, self.planned, self.panel.persons, gaps, known):
                effect, starred = self._effects(filled, *weights)
                draws, undefined, bias = maximum_draws(starred, effect)
                if np.isnan(effect) or undefined > MOST_UNDEFINED:
                    yield None, levels
                read = absolute_levels(draws, bias, settings.cuts)
                yield most_likely(read), read

        return least_certain(most_likely(levels), levels, readings())

    def _facts(self) -> dict[str, Json]:
        return {
            "asked": self.asked,
            "data": self.measured.data,
            "protected": self.measured.grouping,
            "measure": self.measured.measure,
            "classes": list(self.grouping.classes),
            "na": self.settings.na,
            "words": {name: list(self._words(place)) for place, name in enumerate(self.panel.sets)},
            "valence": {name: self._valence(place) for place, name in enumerate(self.panel.sets)},
            "frames": len(self.panel.frames),
            "persons": int((self.grouping.of >= 0).sum()) if self.panel.crossed else 0,
            "clusters": len(self.panel.stratum),
            "by_person": self._by_person() if self.panel.crossed else [],
        }

    def _by_person(self) -> list[dict[str, Json]]:
        """How far each person lies from all persons in the same cells, lowest first.

        `difference` is a share of the range of scores.
        """
        persons = effects.person_differences(self.panel, self.grouping)
        rows: list[dict[str, Json]] = [
            {
                "person": self.panel.persons[place],
                "class": self.grouping.classes[self.grouping.of[place]],
                "difference": float(difference / RANGE),
                "n": int(texts),
                "p": float(p),
            }
            for place, difference, texts, p in zip(
                persons.place.tolist(), persons.difference, persons.texts, persons.p, strict=True
            )
        ]
        return sorted(rows, key=lambda one: (one["difference"], one["person"]))

    def _words(self, place: int) -> list[str]:
        present = (self.panel.n[place].sum(axis=(0, 1)) > 0).tolist()
        return [word for word, has in zip(self.panel.words, present, strict=True) if has and word]

    def _valence(self, place: int) -> str:
        """The valence that all words of a data set have; "" if they differ or have none."""
        present = self.panel.n[place].sum(axis=(0, 1)) > 0
        found = set(self.panel.valence[present].tolist())
        return _VALENCES.get(found.pop(), "") if len(found) == 1 else ""


def _bounded(part: Part, bounds: _Bounds) -> Part:
    """A part that says of its effect what holds whatever the unread answers would have said."""
    details = dict(part.details)
    details["effect"] = {**details["effect"], "low": bounds.interval.low, "high": bounds.interval.high}
    kinds = ("tests", "impacts")
    details["sets"] = [
        {**data, **{kind: [_open(one) for one in data[kind]] for kind in kinds if kind in data}}
        for data in details["sets"]
    ]
    if graph := details.get("graph"):
        edges = [edge if edge["role"] == "desired" else _open(edge) for edge in graph["edges"]]
        details["graph"] = {**graph, "edges": edges}
    return replace(part, score=bounds.interval, details=details)


def _open(one: dict[str, Json]) -> dict[str, Json]:
    """A test or an edge of which nobody knows that the classes are the same."""
    return {**one, "verdict": "undetermined"} if one.get("verdict") == "same" else one


def _shown(text: str) -> str:
    """A text as a reason quotes it."""
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def _least_effect(signed: Floats) -> float:
    """The least that the largest effect may be, a share of the range, from fillings of each, [N, S, K]."""
    low, high = signed.min(axis=0), signed.max(axis=0)
    least = np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high)))
    return 0.0 if np.isnan(least).all() else float(np.nanmax(least)) / RANGE
