"""One part of one service: what was measured, and its levels resample by resample.

A part is one kind of data and the classes compared in it (settings.Measured). Its effect is the
largest average treatment effect, or the largest deconfounding impact, as a share of the range of
the score; a maximum of absolute values is biased upward, so it is corrected (methods 2.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtr

from trustgauge.methods.causal import confounding, differences
from trustgauge.methods.causal.findings import RANGE, ROUNDING, Asking, Found, drawn
from trustgauge.methods.causal.loss import coverage, fills, losses
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, panel
from trustgauge.methods.causal.settings import CausalSettings, Measured
from trustgauge.records import Json, Part, Reason
from trustgauge.stats.comparisons import benjamini_hochberg
from trustgauge.stats.streams import stream

LEVELS = ("1", "2", "3")
FEWEST_CLUSTERS = 10
NAMED = 5  # persons told of in a reason
MOST_UNDEFINED = 0.05  # of the resamples (methods 0.5 (e))
ALPHA = 0.05  # of the smallest family p that lets an effect be rated (methods 2.9)

Levels = NDArray[np.int64]


@dataclass(frozen=True)
class Assessment:
    """What became of one part of one service.

    Attributes:
        service, asked: the service, and its part that was asked.
        measured: what was measured.
        part: without level, certainty and state, unless it is incomplete.
        levels: 0 none, 1 some, 2 strong in each resample, [R]; None if incomplete.
        effects: the corrected effect in each resample, a share of the range, [R].
        apart, effect: of `findings.Found`; the distances of the resamples, [R], and the effect observed.
        raw: weighted rejection score, or impact in percent (inf: "X"); NaN if undefined.
        raw_draws: the same in each resample, [R]; only under rules that rate it.
        p: the smallest p of the family of effects.
        panel, grouping: for comparisons with other services.
    """

    service: str
    asked: str
    measured: Measured
    part: Part
    panel: Panel
    grouping: Grouping
    levels: Levels | None = None
    effects: Floats | None = None
    apart: Floats | None = None
    effect: float = float("nan")
    raw: float = float("nan")
    raw_draws: Floats | None = None
    p: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """What it can be ordered with: the same texts by the same way."""
        return self.asked, self.measured.key

    @property
    def defined(self) -> bool:
        return self.levels is not None


def assess(
    rows: pl.DataFrame, measured: Measured, settings: CausalSettings, seed: int, *, several: bool
) -> Assessment:
    """Measure one part.

    Args:
        rows: of the summary: one service, one part of it, one kind of data.
        measured: what to measure.
        settings: the experiment.
        seed: the plan seed.
        several: whether the service has several parts, so that its name stands in the key.
    """
    return _Assessing(rows, measured, settings, seed).assessed(several=several)


class _Assessing:
    def __init__(self, rows: pl.DataFrame, measured: Measured, settings: CausalSettings, seed: int) -> None:
        self.rows, self.measured, self.settings, self.seed = rows, measured, settings, seed
        self.service, self.asked = str(rows["service"][0]), str(rows["part"][0])
        self.panel = panel(rows)
        self.grouping = self.panel.grouping(measured.grouping, na=settings.na)
        # A class that gave no score at all is lost, not absent: what is missing counts as planned.
        whole = replace(self.panel, n=np.ones_like(self.panel.n))
        self.planned = whole.grouping(measured.grouping, na=settings.na)

    def _stream(self, purpose: str, *, shared: bool = False) -> np.random.Generator:
        """Resamples are shared by all services with the same texts, so that they can be compared."""
        own = () if shared else (self.service, self.asked)
        return stream(self.seed, "causal", self.measured.key, *own, purpose)

    def assessed(self, *, several: bool) -> Assessment:
        title = {"title": self.measured.title}
        blank = Part(
            f"{self.asked}: {self.measured.key}" if several else self.measured.key,
            "incomplete",
            counts={"texts": int(self.rows["texts"].sum()), "scores": int(self.rows["n"].sum())},
            coverage=coverage(self.rows),
            details={**title, **self._facts()},
        )
        assessment = Assessment(self.service, self.asked, self.measured, blank, self.panel, self.grouping)
        undefined = tuple(self._undefined())
        if undefined:
            return replace(assessment, part=replace(blank, reasons=undefined))
        found = self._measure()
        part = replace(
            blank,
            score=found.interval,
            p=found.p,
            details={**blank.details, **found.details},
            reasons=tuple(self._told(found)),
        )
        assessment = replace(
            assessment, part=part, raw=found.raw, p=found.p, apart=found.apart, effect=found.effect
        )
        missing = self._losses()
        if found.undefined > MOST_UNDEFINED or np.isnan(found.effect):
            reason = Reason("causal.undefined", {"share": found.undefined, **self._cause(found)})
            return replace(assessment, part=replace(part, reasons=(reason, *missing, *part.reasons)))
        levels = absolute_levels(found.draws, found.bias, self.settings.cuts)
        if missing and not self._same_level(levels):
            return replace(assessment, part=replace(part, reasons=(*missing, *self._odd())))
        if missing:
            kept = part.coverage
            gone = kept.planned - int(self.rows["n"].sum())
            told = Reason("loss-does-not-matter", {"share": gone / kept.planned, "planned": kept.planned})
            assessment = replace(assessment, part=replace(part, reasons=(*part.reasons, told)))
        return replace(assessment, levels=levels, effects=found.corrected, raw_draws=found.raw_draws)

    def _measure(self) -> Found:
        frames, persons = self.panel.weights(
            self.grouping, self.settings.resamples, self._stream("resamples", shared=True)
        )
        asking = Asking(
            panel=self.panel,
            grouping=self.grouping,
            settings=self.settings,
            measured=self.measured,
            frames=frames,
            persons=persons,
            stream=self._stream,
            seed=self.seed,
        )
        if self.measured.measure == "rejection":
            return differences.measure(asking)
        return confounding.measure(asking)

    def _effects(self, panel: Panel, frames: Floats, persons: Floats) -> tuple[float, Floats]:
        """The largest effect of all planned classes, and that of each resample."""
        if self.measured.measure == "rejection":
            return differences.effects_of(panel, self.planned, frames, persons)
        return confounding.effects_of(panel, self.planned, self.settings, frames, persons)

    def _cause(self, found: Found) -> dict[str, Json]:
        """Why an effect is undefined: cells without a text; else the data set with the fewest frames."""
        if found.missing:
            return {"cells": found.missing}
        frames = (self.panel.n.sum(axis=(2, 3)) > 0).sum(axis=1)
        place = int(np.argmin(frames))
        return {"set": self.panel.sets[place], "frames": int(frames[place])}

    def _losses(self) -> tuple[Reason, ...]:
        return losses(self.rows, self.planned, self.panel.persons)

    def _undefined(self) -> Iterator[Reason]:
        """Why there is nothing to measure."""
        if not self.rows["n"].sum():
            yield Reason("no-answers", {"part": self.measured.title})
            yield from self._odd()
            return
        tripped, untouched = int(self.rows["tripped"].sum()), int(self.rows["untouched"].sum())
        if tripped and untouched == tripped:
            yield Reason("causal.not-round-tripped", {"texts": tripped})
        if len(self.grouping.classes) < 2 <= len(self.planned.classes):
            yield from self._losses()
        elif len(self.grouping.classes) < 2:
            yield Reason(
                "causal.one-class",
                {"classes": list(self.grouping.classes), "protected": self.measured.grouping},
            )

    def _told(self, found: Found) -> Iterator[Reason]:
        """What a reader must know beside the level."""
        yield from self._odd()
        if found.missing:
            yield Reason("causal.positivity", {"cells": found.missing})
        if found.untestable:
            yield Reason("causal.untestable", {"pairs": found.untestable})
        if found.constant:
            yield Reason("causal.constant-scores", {"score": found.constant[0]})
        persons = self._by_person() if self.panel.crossed else []
        far = [one for one in persons if abs(one["difference"]) >= self.settings.cuts[0] and one["p"] < ALPHA]
        if far and found.effect < self.settings.cuts[0]:
            far = sorted(far, key=lambda one: -abs(one["difference"]))[:NAMED]
            named = [one["person"] for one in far]
            largest = abs(far[0]["difference"])
            yield Reason("causal.single-persons", {"persons": named, "largest": largest, "of": len(persons)})

    def _odd(self) -> Iterator[Reason]:
        """That answers are no numbers within the range: a reader must know why they are missing."""
        faults = dict(self.rows.group_by("fault").agg(pl.col("texts").sum()).iter_rows())
        count = int(faults.get("out of range", 0) + faults.get("not a number", 0))
        if count:
            low, high = self.settings.score_range
            yield Reason("causal.out-of-range", {"n": count, "low": low, "high": high})

    def _same_level(self, levels: Levels) -> bool:
        """Whether every way of filling the gaps gives the likeliest level (methods 0.4).

        What is filled is resampled as the answers are: a large effect of the filling has next to no
        bias, so the bias of the answers must not be taken from it.
        """
        level, settings = likeliest(levels), self.settings
        weights = self.panel.weights(self.planned, settings.resamples, self._stream("resamples", shared=True))
        for filled in fills(self.rows, self.planned, self.panel.persons):
            effect, starred = self._effects(panel(filled), *weights)
            draws, undefined, bias = drawn(starred, effect)
            if np.isnan(effect) or undefined > MOST_UNDEFINED:
                return False
            if likeliest(absolute_levels(draws, bias, settings.cuts)) != level:
                return False
        return True

    def _facts(self) -> dict[str, Json]:
        return {
            "asked": self.asked,
            "data": self.measured.data,
            "protected": self.measured.grouping,
            "measure": self.measured.measure,
            "classes": list(self.grouping.classes),
            "na": self.settings.na,
            "words": {name: list(self._words(place)) for place, name in enumerate(self.panel.sets)},
            "frames": len(self.panel.frames),
            "persons": int((self.grouping.of >= 0).sum()) if self.panel.crossed else 0,
            "clusters": len(self.panel.stratum),
            "by_person": self._by_person() if self.panel.crossed else [],
        }

    def _by_person(self) -> list[dict[str, Json]]:
        """How far each person's mean score lies from that of all persons in the same cells, lowest first.

        A class can be at 0 as a whole while single words of it are far from it. `difference` is a
        share of the range of scores; `p` is Benjamini and Hochberg's, as the list is explored
        (methods 0.7), of a normal test with the spread of all answers around their cells.
        """
        held = (self.panel.n > 0) & (self.grouping.of >= 0)[:, None]
        n, y, yy = (np.where(held, cells, 0.0) for cells in (self.panel.n, self.panel.y, self.panel.yy))
        rows = n.sum(axis=2, keepdims=True)
        mean = y.sum(axis=2, keepdims=True) / np.where(rows > 0, rows, 1.0)
        apart, count = (y - n * mean).sum(axis=(0, 1, 3)), n.sum(axis=(0, 1, 3))
        places = np.flatnonzero(count > 0)
        if not len(places):
            return []
        spread = np.sqrt(max(0.0, float((yy - 2 * mean * y + n * mean**2).sum())) / max(1.0, float(n.sum())))
        difference = np.round(apart[places] / count[places], 12)
        error = spread / np.sqrt(count[places])
        z = np.where(error > ROUNDING, np.abs(difference) / np.where(error > ROUNDING, error, 1.0), 0.0)
        p = benjamini_hochberg(2.0 * ndtr(-z))
        told: list[dict[str, Json]] = [
            {
                "person": self.panel.persons[place],
                "class": self.grouping.classes[self.grouping.of[place]],
                "difference": float(far / RANGE),
                "n": int(count[place]),
                "p": float(chance),
            }
            for place, far, chance in zip(places.tolist(), difference.tolist(), p.tolist(), strict=True)
        ]
        return sorted(told, key=lambda one: (one["difference"], one["person"]))

    def _words(self, place: int) -> list[str]:
        held = (self.panel.n[place].sum(axis=(0, 1)) > 0).tolist()
        return [word for word, has in zip(self.panel.words, held, strict=True) if has and word]


def too_few(assessment: Assessment) -> Iterator[Reason]:
    """Strata with fewer than 10 clusters (methods 0.5 (b))."""
    for where, clusters in assessment.panel.clusters(assessment.grouping):
        if clusters < FEWEST_CLUSTERS:
            yield Reason("too-few-clusters", {"clusters": clusters, "where": where})


def cap(assessment: Assessment) -> float:
    """The most that can be certain without spread over K clusters: (K + 1) / (K + 2) (methods 0.5 (d))."""
    assert assessment.effects is not None
    if float(np.ptp(assessment.effects)) > ROUNDING:
        return 1.0
    kinds: dict[str, int] = {}
    for where, clusters in assessment.panel.clusters(assessment.grouping):
        kind = where.partition(" ")[0]
        kinds[kind] = kinds.get(kind, 0) + clusters
    fewest = min(kinds.values())
    return (fewest + 1) / (fewest + 2)


def capped(certainty: dict[str, float], level: str, most: float) -> dict[str, float]:
    """Certainty of a level at most `most`; what is taken goes to the others alike (methods 0.5 (d))."""
    over = certainty[level] - most
    if over <= 0:
        return certainty
    others = len(certainty) - 1
    return {name: most if name == level else share + over / others for name, share in certainty.items()}


def likeliest(levels: Levels) -> int:
    """The level of most resamples, the worse of equals."""
    shares = np.bincount(levels, minlength=len(LEVELS))
    return int(len(shares) - 1 - np.argmax(shares[::-1]))
