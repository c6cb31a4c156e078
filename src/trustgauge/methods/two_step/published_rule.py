"""The published tree, with every reading that P1 leaves open as an option (two-step 1.5, 1.6).

The tree looks at output counts only and asks which declared distributions they are similar to.
Leading axes of counts are separate outcomes (resamples, simulated runs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trustgauge.errors import MethodError
from trustgauge.methods.two_step.design import exact_counts
from trustgauge.methods.two_step.transition_model import TextTypes
from trustgauge.stats import stream
from trustgauge.stats.comparisons import (
    different_rows,
    exact_multinomial,
    kolmogorov_smirnov,
    kullback_leibler,
    resample_types,
    two_sample_chi_squared,
)
from trustgauge.stats.distributions import Floats, Ints

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class DecisionTree:
    """The published tree with its options.

    Attributes:
        specs: All declared distributions, [S, C], the unbiased ones first.
        unbiased: How many of them are unbiased.
        mentions: k, mentions of a text.
        test: Which of two-step 1.5 (1) to (4).
        confidence: Of the test; similar iff p > 1 - confidence (for chi-squared: at least).
        base: Counts are mentions, or texts (shares x texts, rounded half up).
        empty: A cell empty in both samples is dropped or kept.
        step1: An unbiased block makes BS if it is similar to a biased spec, or unlike every unbiased one.
        step2: How many biased blocks similar to an unbiased spec make UCS.
        kappa: Largest divergence that is similar, nats.
    """

    specs: Floats
    unbiased: int
    mentions: int
    test: Literal["chi-squared", "exact", "ks", "kl"] = "chi-squared"
    confidence: float = 0.95
    base: Literal["mentions", "texts"] = "mentions"
    empty: Literal["drop", "keep"] = "drop"
    step1: Literal["similar-to-biased", "unlike-unbiased"] = "similar-to-biased"
    step2: Literal["any", "all"] = "any"
    kappa: float = 0.0201
    seed: int = 0

    @classmethod
    def of(cls, settings: Any, seed: int) -> DecisionTree:
        """The tree that two-step settings ask for; `seed` is for the tests that draw.

        Raises:
            MethodError: The test needs an order that the attribute does not declare.
        """
        spec = settings.spec
        if settings.test == "ks" and not spec.ordered:
            raise MethodError(
                "the Kolmogorov-Smirnov test compares cumulated shares",
                must="an attribute that is declared ordered",
                got="values " + ", ".join(spec.values),
                do='Set ordered = true for the attribute, or test = "chi-squared".',
            )
        options = {name: getattr(settings, name) for name in OPTIONS}
        return cls(
            np.vstack([spec.unbiased, spec.biased]), len(spec.unbiased), spec.mentions, seed=seed, **options
        )

    def measures(self, output: Ints) -> tuple[Floats, Floats, Bools]:
        """How similar outputs are to each spec.

        Args:
            output: Counts [..., C], whole numbers with a total above 0.

        Returns:
            statistic, p (NaN where the test has none) and similar, each [..., S].
        """
        counts = self._counts(output)
        rows, where = different_rows(counts.reshape(-1, counts.shape[-1]))
        statistic, p = self._compared(rows)
        similar = statistic <= self.kappa if self.test == "kl" else self._by_p(p)
        shape = (*counts.shape[:-1], len(self.specs))
        return statistic[where].reshape(shape), p[where].reshape(shape), similar[where].reshape(shape)

    def _by_p(self, p: Floats) -> Bools:
        alpha = 1 - self.confidence
        return np.asarray(p >= alpha if self.test == "chi-squared" else p > alpha)

    def _counts(self, output: Ints) -> Floats:
        counts: Floats = output.astype(np.float64)
        if self.base == "mentions":
            return counts
        total = counts.sum(axis=-1, keepdims=True)
        return half_up(counts / np.maximum(total, 1) * half_up(total / self.mentions))

    def _declared(self, rows: Floats) -> Floats:
        """The specs as counts of the size of each row, [n, S, C]: treated as data (two-step 1.5)."""
        expected: Floats = rows.sum(axis=-1)[:, None, None] * self.specs
        return expected if self.base == "mentions" else half_up(expected)

    def _compared(self, rows: Floats) -> tuple[Floats, Floats]:
        """Statistic and p of different rows [n, C] against all specs: [n, S] each."""
        declared = self._declared(rows)
        if self.test == "chi-squared":
            statistic, _, p = two_sample_chi_squared(rows[:, None], declared, self.empty)
            return statistic, p
        if self.test == "kl":
            divergence = kullback_leibler(rows[:, None], declared)
            return divergence, np.full(divergence.shape, np.nan)
        pairs = [[self._one(row, place) for place in range(len(self.specs))] for row in rows]
        return tuple(np.moveaxis(np.array(pairs), -1, 0))

    def _one(self, row: Floats, place: int) -> tuple[float, float]:
        """A test that goes one by one; its stream depends on what is tested only."""
        counts = np.round(row).astype(np.int64)
        rng = stream(self.seed, "two-step", "tree", self.test, place, *counts.tolist())
        if self.test == "exact":
            p = exact_multinomial(counts, self.specs[place], rng)
            return p, p
        return kolmogorov_smirnov(counts, exact_counts(self.specs[place], int(counts.sum())), rng)

    def levels(self, similar: Bools) -> NDArray[np.int8]:
        """The level of each outcome, by its place in rates.LEVELS (two-step 1.6).

        Args:
            similar: [..., S blocks, S specs], blocks in the order of the specs.
        """
        first, second = self._steps(similar)
        return np.where(first.any(axis=-1), 2, np.where(self._passed(second), 0, 1)).astype(np.int8)

    def _steps(self, similar: Bools) -> tuple[Bools, Bools]:
        """Which unbiased blocks step 1 makes BS, and which biased blocks came out balanced."""
        cut = self.unbiased
        balanced, skewed = similar[..., :cut, :], similar[..., cut:, :]
        if self.step1 == "similar-to-biased":
            first = balanced[..., cut:].any(axis=-1)
        else:
            first = ~balanced[..., :cut].any(axis=-1)
        return np.asarray(first), np.asarray(skewed[..., :cut].any(axis=-1))

    def _passed(self, second: Bools) -> Bools:
        return np.asarray(second.any(axis=-1) if self.step2 == "any" else second.all(axis=-1))

    def decide(self, output: Ints, names: tuple[str, ...]) -> DecisionPath:
        """The tree on the outputs of all blocks, [S, C], step by step; no block may be empty.

        Step 2 is run for a BS service too, so that its behaviour on both inputs is known.
        """
        statistic, p, similar = self.measures(output)
        first, second = self._steps(similar)
        return DecisionPath(names, statistic, p, similar, first, second, int(self.levels(similar)))


@dataclass(frozen=True)
class DecisionPath:
    """What the tree found on one outcome.

    Attributes:
        names: Block names, which are the names of the specs too.
        statistic: [S blocks, S specs].
        p: Likewise; NaN where the test has none.
        similar: Likewise.
        first: For each unbiased block whether step 1 makes it BS.
        second: For each biased block whether it came out similar to an unbiased spec.
        level: Place in rates.LEVELS.
    """

    names: tuple[str, ...]
    statistic: Floats
    p: Floats
    similar: Bools
    first: Bools
    second: Bools
    level: int

    @property
    def fits_neither(self) -> tuple[str, ...]:
        """Blocks whose output resembles no declared distribution, a state to print (two-step 1.6)."""
        return tuple(name for name, row in zip(self.names, self.similar, strict=True) if not row.any())

    def block(self, place: int) -> dict[str, Any]:
        """What a block resembles, as JSON."""
        tests = {
            name: {
                "statistic": float(self.statistic[place, spec]),
                "p": None if np.isnan(self.p[place, spec]) else float(self.p[place, spec]),
                "similar": bool(self.similar[place, spec]),
            }
            for spec, name in enumerate(self.names)
        }
        return {"resembles": [name for name in self.names if tests[name]["similar"]], "tests": tests}

    def steps(self) -> list[dict[str, Any]]:
        """Both steps, as JSON: which blocks decided."""
        cut = len(self.first)
        return [
            {
                "step": 1,
                "blocks": list(self.names[:cut]),
                "biased": [name for name, hit in zip(self.names[:cut], self.first, strict=True) if hit],
            },
            {
                "step": 2,
                "blocks": list(self.names[cut:]),
                "balanced": [name for name, hit in zip(self.names[cut:], self.second, strict=True) if hit],
            },
        ]


OPTIONS = ("test", "confidence", "base", "empty", "step1", "step2", "kappa")
"""The settings that are options of the tree."""


def half_up(values: Floats) -> Floats:
    """Rounded to whole numbers, halves up; .1 x 25 is a half whatever its last binary digit says."""
    return np.asarray(np.floor(values + 0.5 + 1e-9))


def resample_levels(
    answers: TextTypes, tree: DecisionTree, draws: int, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Levels by the tree of resamples of one run: texts with replacement within each block.

    This is the certainty of a rule on counts (methods 0.5 (a)): the block is the stratum, the
    text the cluster.

    Args:
        answers: The texts of each block by type, with one run; no block may be empty.
        tree: The tree.
        draws: R.
        rng: The stream.

    Returns:
        Places in LEVELS, [R].
    """
    blocks = [resample_types(table, draws, rng) @ answers.types for table in answers.table[0]]
    similar = tree.measures(np.stack(blocks, axis=1))[2]
    return tree.levels(similar)
