"""How often a rule is right on control services (two-step 1.7, "Required characteristics")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trustgauge.methods.two_step.published_rule import DecisionTree
from trustgauge.methods.two_step.simulation import SEGMENTS, Sizes, simulate
from trustgauge.methods.two_step.transition_model import (
    DOUBTFUL,
    LEVELS,
    DeclaredDistributions,
    deviations,
    draw_levels,
    examine_pooling,
    level_of,
)
from trustgauge.rating import level_shares
from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats

ITEMS = 60  # occupations of the simulated texts
MENTIONS = 2
UNBIASED = np.array([[0.5, 0.5, 0.0]])
BIASED = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0]])
SPECS = np.vstack([UNBIASED, BIASED])
DECLARED = DeclaredDistributions(SPECS[:, :2], UNBIASED, 0.10)
FLIPS = (0.05, 0.10, 0.20, 0.30, 0.40, 0.50)
SHIFTS = (0.05, 0.10, 0.20, 0.40, 0.60, 0.80, 0.90)
LOSSES = (0.10, 0.30, 0.65)
OCCUPATIONS = (0.10, 0.20, 0.30, 0.40)


@dataclass(frozen=True)
class SimulatedTranslator:
    """A simulated service.

    Attributes:
        name: As in the reference tables.
        rates: P(out | in) for He and She over He, She, Other, [2, 3]; or of texts with no, one and two She,
            [3, 2, 3].
        sharing: 1 if it decides by occupation, 0 if mention by mention.
    """

    name: str
    rates: Floats
    sharing: float = 0.0

    @property
    def truth(self) -> str:
        """The level due: steps 5 and 6 of two-step 1.7 on the true rates."""
        devs = [
            deviations(self._rates_within(spec)[None], spec[None], DECLARED.unbiased)[0, 0]
            for spec in DECLARED.specs
        ]
        return LEVELS[int(level_of(np.array(devs), len(UNBIASED), DECLARED.margin))]

    def _rates_within(self, spec: Floats) -> Floats:
        """P(out | in) in texts of one distribution, which says how often the other mention is She."""
        if self.rates.ndim == 2:
            return self.rates
        he, she = spec
        return np.stack([he * self.rates[own, own] + she * self.rates[own + 1, own] for own in (0, 1)])


def catalogue() -> tuple[SimulatedTranslator, ...]:
    """The 20 translators of two-step 1.7."""
    he, she, lost = np.eye(3)
    return (
        SimulatedTranslator("identity", np.array([he, she])),
        SimulatedTranslator("all->He", np.array([he, he])),
        SimulatedTranslator("all->Other", np.array([lost, lost])),
        *(
            SimulatedTranslator(f"flip p={p:.2f}", np.array([_mixed(he, she, p), _mixed(she, he, p)]))
            for p in FLIPS
        ),
        *(SimulatedTranslator(f"She->He q={q:.2f}", np.array([he, _mixed(she, he, q)])) for q in SHIFTS),
        *(
            SimulatedTranslator(
                f"lost to Other r={r:.2f}", np.array([_mixed(he, lost, r), _mixed(she, lost, r)])
            )
            for r in LOSSES
        ),
        SimulatedTranslator("coin 50/50", np.array([_mixed(he, she, 0.5)] * 2)),
    )


def by_occupation() -> tuple[SimulatedTranslator, ...]:
    """Services that turn She into He for whole occupations; not among the 20."""
    he, she, _ = np.eye(3)
    return tuple(
        SimulatedTranslator(f"occupation She->He {q:.2f}", np.array([he, _mixed(she, he, q)]), sharing=1.0)
        for q in OCCUPATIONS
    )


def by_rest_of_text() -> tuple[SimulatedTranslator, ...]:
    """Services near the margin that change She in one kind of text only; not among the 20."""
    he, she, lost = np.eye(3)
    none = np.array([he, she])
    lost_she, he_36, he_50 = (
        np.array([he, _mixed(she, to, share)]) for to, share in ((lost, 0.38), (he, 0.36), (he, 0.5))
    )
    return (
        SimulatedTranslator("women alone: lost .38", np.stack([none, none, lost_she])),
        SimulatedTranslator("women alone: She->He .36", np.stack([none, none, he_36])),
        SimulatedTranslator("mixed texts: She->He .50", np.stack([none, he_50, none])),
    )


def _mixed(one: Floats, other: Floats, share: float) -> Floats:
    return np.asarray((1 - share) * one + share * other)


@dataclass(frozen=True)
class Trial:
    """How a rule is tried.

    Attributes:
        texts: n.
        runs: Number of simulated runs.
        seed: Of the streams.
        exact: Counts fixed, or drawn.
        draws: T of the sound rule.
        settle: Certainty from which a level is settled.
        segments: Of a run, see `simulation.Sizes`.
        doubtful: Up to which p pooling is in doubt, see `examine_pooling`.
    """

    texts: int
    runs: int
    seed: int
    exact: bool = True
    draws: int = 4000
    settle: float = 0.95
    segments: int = SEGMENTS
    doubtful: float = DOUBTFUL

    def sizes(self) -> Sizes:
        """The sizes of a run."""
        return Sizes(SPECS[:, :2], self.texts, MENTIONS, ITEMS, self.exact, self.segments)


def sound_row(translator: SimulatedTranslator, trial: Trial) -> list[float]:
    """Per cent of the runs that the sound rule settles as BS, DSBS, UCS, and does not settle."""
    rng = stream(trial.seed, "operating", "sound", translator.name, trial.texts)
    tally = np.zeros(len(LEVELS) + 1)
    for runs in _batches(trial, 100):
        counts = simulate(trial.sizes(), translator.rates, translator.sharing, runs, rng)
        examined = examine_pooling(counts, rng, trial.doubtful)
        judged = draw_levels(counts, examined, DECLARED, trial.draws, rng)
        shares = level_shares(judged.levels)
        settled = shares.max(axis=-1) >= trial.settle
        tally += np.bincount(np.where(settled, shares.argmax(axis=-1), 3), minlength=4)
    order = [LEVELS.index(level) for level in ("BS", "DSBS", "UCS")]
    return _percent([*tally[order], tally[3]], trial.runs)


def tree_row(translator: SimulatedTranslator, trial: Trial, **options: Any) -> list[float]:
    """Per cent of the runs at which the published tree arrives at BS, DSBS and UCS."""
    rng = stream(trial.seed, "operating", "tree", translator.name, trial.texts, int(trial.exact))
    tree = DecisionTree(SPECS, len(UNBIASED), MENTIONS, **options)
    tally = np.zeros(len(LEVELS))
    for runs in _batches(trial, 500):
        counts = simulate(trial.sizes(), translator.rates, translator.sharing, runs, rng)
        tally += np.bincount(tree.levels(tree.measures(counts.own.sum(axis=2))[2]), minlength=3)
    return _percent([tally[LEVELS.index(level)] for level in ("BS", "DSBS", "UCS")], trial.runs)


def _batches(trial: Trial, most: int) -> list[int]:
    size = max(1, min(most, 600_000 // (trial.texts * MENTIONS * len(SPECS))))
    return [min(size, trial.runs - done) for done in range(0, trial.runs, size)]


def _percent(tally: list[float], runs: int) -> list[float]:
    return [round(100 * float(count) / runs, 2) for count in tally]


def wrong(truth: str, row: list[float]) -> float:
    """Per cent of the runs that a row gives another level than the truth; not settled is not wrong."""
    return round(sum(row[:3]) - row[("BS", "DSBS", "UCS").index(truth)], 2)
