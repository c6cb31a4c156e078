"""From summaries to ratings: one part at a time, then the parts together (methods 1.6 to 1.8).

Under `sound` a level and its certainty come from the draws of `rates.judge`. Under `published`
and `released` the level comes from the tree, and its certainty from 2,000 resamples of the texts
within each block. Both are worked out for every part, so that they can be shown side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step import findings
from trustgauge.methods.two_step.loss import losses
from trustgauge.methods.two_step.overall import Judgement, together
from trustgauge.methods.two_step.power import RESAMPLES, resampled_levels, texts_to_settle
from trustgauge.methods.two_step.rates import (
    BEHAVIOURS,
    LEVELS,
    Counts,
    Declared,
    Examined,
    Judged,
    behaviour_of,
    examine,
    judge,
    level_shares,
)
from trustgauge.methods.two_step.tallies import Tallies, fill, tallies
from trustgauge.methods.two_step.tree import Tree, Walk
from trustgauge.records import Json, Part, Rating, Reason, State
from trustgauge.stats.streams import stream

if TYPE_CHECKING:
    from trustgauge.methods.two_step.settings import TwoStepSettings

FEWEST_CLUSTERS = 10
LEAST_KEPT = 0.5

Levels = NDArray[np.int8]


def rate(summary: pl.DataFrame, settings: TwoStepSettings, seed: int) -> list[Rating]:
    """One rating for each service of a summary, in the order in which they first appear.

    Args:
        summary: Columns of `reading.SUMMARY`; rows in any order within a service and part.
        settings: The experiment.
        seed: The plan seed; every part has streams of its own (methods 0.3).
    """
    rules = Rules.of(settings, seed)
    ratings = []
    for (service,), rows in summary.group_by("service", maintain_order=True):
        judgements = [
            _Part(rules, str(service), str(part), own).judgement()
            for (part,), own in rows.group_by("part", maintain_order=True)
        ]
        ratings.append(together(str(service), judgements, settings, rows["item"].n_unique()))
    return ratings


@dataclass(frozen=True)
class Rules:
    """What is the same for every part of an experiment."""

    settings: TwoStepSettings
    spec: Any
    declared: Declared
    tree: Tree
    seed: int

    @classmethod
    def of(cls, settings: TwoStepSettings, seed: int) -> Rules:
        """The rules that the settings ask for."""
        return cls(settings, settings.spec, Declared.of(settings), Tree.of(settings, seed), seed)

    def rated(self, tallied: Tallies) -> Counts:
        """The counts that the sound rule judges."""
        return tallied.counts.kept() if self.settings.loss == "apart" else tallied.counts

    def walk(self, tallied: Tallies) -> Walk | None:
        """The published tree; None if a block has no answers."""
        if not tallied.came.any(axis=1).all():
            return None
        return self.tree.walk(tallied.came, self.spec.blocks)


class _Part:
    """One part of one service on its way to a judgement."""

    def __init__(self, rules: Rules, service: str, key: str, frame: pl.DataFrame) -> None:
        self.rules, self.key, self.frame = rules, key, frame
        self.sound = rules.settings.rule == "sound"
        self.seed_key = ["two-step", rules.settings.table.name, service, key]
        self.tallied = tallies(frame, rules.spec)
        self.walk = rules.walk(self.tallied)

    def _stream(self, purpose: str) -> np.random.Generator:
        return stream(self.rules.seed, *self.seed_key, purpose)

    def judgement(self) -> Judgement:
        """The part, with its levels draw by draw; no levels if it is incomplete."""
        blank = Part(
            self.key,
            "incomplete",
            counts=self._counts(),
            coverage=self.tallied.coverage,
            details=self._told(),
        )
        undefined = tuple(self._undefined())
        if undefined:
            return Judgement(replace(blank, reasons=undefined), None, 0, 0)
        counts = self.rules.rated(self.tallied)
        examined = examine(counts, self._stream("mix"))
        judged = judge(
            counts, examined, self.rules.declared, self.rules.settings.draws, self._stream("posterior")
        )
        levels = judged.levels[0] if self.sound else self._resampled()
        part = self._measured(blank, examined, judged)
        missing = losses(self.tallied, self.rules.spec)
        told: tuple[Reason, ...] = ()
        if missing:
            told = self._matters(missing, self._level(levels))
            if told is missing:
                return self._weighed(replace(part, reasons=told), None)
        return self._weighed(self._settled(part, levels, examined, told), levels)

    def _weighed(self, part: Part, levels: Levels | None) -> Judgement:
        matrix = self.tallied.matrix
        return Judgement(part, levels, int(np.trace(matrix)), int(matrix.sum()))

    def _undefined(self) -> Iterator[Reason]:
        """Why there is nothing to judge: no answers, or too few kept (methods 1.5, 1.7)."""
        pooled = self.tallied.counts.pooled[0]
        if not self.sound and self.walk is None:
            yield Reason("no-answers", {"part": self.key})
            return
        for value, row in zip(
            self.tallied.inputs.tolist(), self.rules.rated(self.tallied).pooled[0], strict=True
        ):
            if not row.sum():
                yield Reason("no-answers", {"part": self.key, "value": self.rules.spec.values[value]})
                return
        lost = float(pooled[:, -1].sum() / pooled.sum())
        if self.rules.settings.loss == "apart" and 1 - lost < LEAST_KEPT:
            yield Reason(
                "incomplete-loss", {"share": lost, "where": "mentions (lost)", "n": int(pooled.sum())}
            )

    def _resampled(self) -> Levels:
        return resampled_levels(
            self.tallied.counts.answers, self.rules.tree, RESAMPLES, self._stream("resamples")
        )

    def _level(self, levels: Levels) -> str:
        """The likeliest level, the worse of equals; by the tree where the rule is the tree's."""
        if not self.sound and self.walk is not None:
            return LEVELS[self.walk.level]
        return likeliest(levels)

    def _matters(self, missing: tuple[Reason, ...], level: str) -> tuple[Reason, ...]:
        """The reasons of incompleteness, unless every way to fill the gaps gives this level."""
        fills = [None, *range(len(self.rules.spec.values))]
        if any(self._filled_level(value) != level for value in fills):
            return missing
        coverage = self.tallied.coverage
        share = (coverage.failed + coverage.unreadable) / max(1, coverage.planned)
        return (Reason("loss-does-not-matter", {"share": share, "planned": coverage.planned}),)

    def _filled_level(self, value: int | None) -> str:
        tallied = tallies(fill(self.frame, value), self.rules.spec)
        if not self.sound:
            walk = self.rules.walk(tallied)
            return LEVELS[walk.level] if walk else ""
        counts = self.rules.rated(tallied)
        name = "unchanged" if value is None else str(value)
        examined = examine(counts, self._stream(f"mix filled {name}"))
        settings = self.rules.settings
        judged = judge(counts, examined, self.rules.declared, settings.draws, self._stream(f"filled {name}"))
        return likeliest(judged.levels[0])

    def _settled(self, part: Part, levels: Levels, examined: Examined, told: tuple[Reason, ...]) -> Part:
        """The part with its level, certainty, state and reasons."""
        level, shares = self._level(levels), shares_of(levels)
        few = tuple(self._too_few())
        settle = self.rules.settings.settle
        certain = shares[level] >= settle
        more = None
        reasons = [*self._why(level, examined), *told, *few]
        if not certain:
            if self.sound:
                counts = self.rules.rated(self.tallied)
                settings, seed = self.rules.settings, self.rules.seed
                more = texts_to_settle(counts, examined, self.rules.declared, settings, seed)
            facts = {"certainty": shares[level], "level": level, "settle": settle}
            reasons.append(Reason("not-settled", facts | ({"more_texts": more} if more else {})))
        state: State = "rated" if certain and not few else "not settled"
        codes = {reason.code: reason for reason in reasons}
        flags = tuple(flag for code, flag in FLAGS.items() if code in codes)
        return replace(
            part,
            state=state,
            level=level,
            certainty=shares,
            more_texts=more,
            reasons=tuple(reasons),
            flags=flags,
        )

    def _why(self, level: str, examined: Examined) -> Iterator[Reason]:
        rules = self.rules
        counts, pooled = rules.rated(self.tallied), bool(examined.pooled[0])
        if self.sound:
            pushed = findings.pushes(counts, rules.declared, rules.spec, pooled=pooled)
            yield from findings.reasons(level, pushed, self.tallied, rules.declared, rules.spec)
            if not pooled:
                yield Reason("two-step.rates-depend-on-mix", {"p": float(examined.mix_p[0].min())})
        elif self.walk is not None and self.walk.fits_neither:
            yield Reason("two-step.fits-neither", {"blocks": list(self.walk.fits_neither)})

    def _too_few(self) -> Iterator[Reason]:
        """Fewer than 10 different texts hold a value that was sent (methods 0.5 (b))."""
        for value, number in zip(self.tallied.inputs.tolist(), self.tallied.contents, strict=True):
            if number < FEWEST_CLUSTERS:
                facts = {"clusters": int(number), "where": self.rules.spec.values[value]}
                yield Reason("too-few-clusters", facts)

    def _counts(self) -> dict[str, Json]:
        spec, tallied = self.rules.spec, self.tallied
        blocks = []
        for place, name in enumerate(spec.blocks):
            block: dict[str, Json] = {
                "block": name,
                "kind": "unbiased" if place < len(spec.unbiased) else "biased",
                "shares": spec.distributions[place].tolist(),
                "in": tallied.sent[place].tolist(),
                "out": tallied.came[place].tolist(),
                "p": self.walk.block(place) if self.walk else {},
            }
            blocks.append(block)
        return {"values": list(spec.values), "blocks": blocks}

    def _told(self) -> dict[str, Json]:
        """Details that need no draws."""
        matrix = self.tallied.matrix
        totals = matrix.sum(axis=1)
        rows = zip(matrix.tolist(), totals.tolist(), strict=True)
        walk = self.walk
        return {
            "matrix": matrix.tolist(),
            "block_matrices": [block.tolist() for block in self.tallied.block_matrices],
            "rates": [[cell / total for cell in row] if total else None for row, total in rows],
            "kinds": self.tallied.kinds,
            "published": walk
            and {
                "level": LEVELS[walk.level],
                "steps": walk.steps(),
                "fits_neither": list(walk.fits_neither),
            },
            "seed_key": [*self.seed_key, "posterior"],
        }

    def _measured(self, part: Part, examined: Examined, judged: Judged) -> Part:
        """The part with everything measured by the draws."""
        rules, spec = self.rules, self.rules.spec
        pooled = bool(examined.pooled[0])
        pushed = findings.pushes(rules.rated(self.tallied), rules.declared, spec, pooled=pooled)
        deff = np.ones(len(spec.values))
        deff[self.tallied.inputs] = examined.deff[0]
        behaviours = behaviour_of(judged.deviations[0], len(spec.unbiased), rules.settings.margin)
        two_bit = level_shares(behaviours, len(BEHAVIOURS)).tolist()
        changes = findings.swaps(self.tallied, judged, spec)
        tests = [change["p_holm"] for change in changes if change["p_holm"] is not None]
        sound = {"level": likeliest(judged.levels[0]), "certainty": shares_of(judged.levels[0])}
        details = {
            **part.details,
            **findings.by_value(self.tallied, examined.deff[0], spec),
            "deff": deff.tolist(),
            "pooled": pooled,
            "mix_p": examined.mix_p[0].tolist(),
            "deviations": findings.deviation_details(pushed, judged, rules.declared),
            "two_bit": {name: share for name, share in zip(BEHAVIOURS, two_bit, strict=True) if share},
            "swaps": changes,
            "sound": sound,
        }
        return replace(
            part,
            score=findings.score(pushed, judged, rules.declared, self.tallied),
            unchanged=findings.unchanged(self.tallied, examined.deff[0]),
            p=min(tests, default=None),
            details=details,
        )


FLAGS = {
    "two-step.rates-depend-on-mix": "not-pooled",
    "two-step.fits-neither": "fits-neither",
    "two-step.one-sided": "one-sided",
}
"""Reasons that stand as a flag beside the part too."""


def likeliest(levels: Levels) -> str:
    """The level of most draws, the worse of equals."""
    shares = level_shares(levels)
    return LEVELS[len(LEVELS) - 1 - int(np.argmax(shares[::-1]))]


def shares_of(levels: Levels) -> dict[str, float]:
    """Share of the draws at each level, best level first."""
    return dict(zip(LEVELS, level_shares(levels).tolist(), strict=True))
