"""What a plan can find, simulated before anything is asked (methods 0.8)."""

from __future__ import annotations

import math
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods import DESIGN_EFFECTS
from trustgauge.methods.two_step.published_rule import DecisionTree, resample_levels
from trustgauge.methods.two_step.simulation import Sizes, simulate
from trustgauge.methods.two_step.transition_model import (
    LEVELS,
    DeclaredDistributions,
    TextTypes,
    TransitionCounts,
    draw_levels,
    examine_pooling,
    sent_values,
)
from trustgauge.rating import level_shares
from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats, normal_quantile
from trustgauge.stats.sequential import look_certainties

RUNS, LOOK = 500, 100  # simulated runs, and after how many it is asked whether the share is plain
POWER = 0.80
MOST_TEXTS = 400  # of a block that is simulated; larger plans are scaled from it
STEPS = 400  # of the grid of shifts: at 200 texts a step of .01 would be a sixth of the power
COARSE = 4  # steps of the rules whose power may fall again
EXPECTED = 20  # simulated runs of each service behind the expected calls
FIRST_LOOK, DRAWS = 200, 1_000

BS = LEVELS.index("BS")


def smallest_effect(
    settings: Any, seed: int, deffs: Sequence[float] = DESIGN_EFFECTS
) -> dict[str, float | None]:
    """The smallest one-way shift that is settled as BS with probability .80 (methods 0.8).

    A shift q turns each mention of the second value into the first one with probability q and
    leaves all else alone. It is looked for on a grid of .0025 with 500 simulated runs of the rule
    at the planned sizes: once with independent mentions, once with occupations whose mentions
    come out alike often enough for a design effect of 2, and of 5. The simulated runs use 1,000 draws, the
    fewest that methods 0.5 allows, and fewer where 200 leave no doubt; and there are fewer of them
    where their share is three standard errors from .80.

    Blocks of more than `MOST_TEXTS` texts are simulated at that size. What a shift must have beyond
    the margin falls with the root of their number, so under `sound` the shift is scaled; under the
    other rules it stands as it is, and more texts find smaller ones.

    Returns:
        {"deff_1": q, "deff_2": q, "deff_5": q}; None where no shift on the grid is found that often.
    """
    plan = _Plan(settings, seed)
    return {f"deff_{deff:g}": _smallest(plan, deff) for deff in deffs}


@lru_cache(maxsize=64)
def _smallest(plan: _Plan, deff: float) -> float | None:
    """The smallest effect at one design effect; found once for experiments that are simulated alike."""
    if plan.settings.rule != "sound":
        return _sweep(plan, deff)
    return plan.scaled(_search(plan, deff))


def expected_calls(settings: Any, seed: int) -> float:
    """The share of the calls of a plan with looks that is expected to go out (methods 0.11).

    The mean over translators that keep all, lose a third, swap or shift .1 to .9 of the mentions or draw all
    of them at random, 20 simulated runs each: by each look as many have stopped as are settled at its
    certainty.
    """
    certainties = look_certainties(settings.looks, settings.settle)
    plan = _Plan(settings, seed)
    rng = stream(seed, "two-step", "expected calls")
    going = []
    for rates in _truths(plan):
        for look, certainty in enumerate(certainties[:-1], start=1):
            texts = max(2, round(plan.texts * look / settings.looks))
            counts = simulate(replace(plan.sizes, texts=texts), rates, 0.0, EXPECTED, rng)
            drawn = draw_levels(counts, examine_pooling(counts, rng), plan.declared, DRAWS, rng)
            going.append(1.0 - (level_shares(drawn.levels).max(axis=-1) >= certainty).mean())
    # Every part is asked the first look, and each later one if it still goes on.
    share = float(np.mean(going)) if going else 1.0
    return float((1.0 + (settings.looks - 1) * share) / settings.looks)


def _truths(plan: _Plan) -> list[Floats]:
    """P of typical services, [G, C] each."""
    same = plan.rates(0.0)
    swap = same.copy()
    swap[:2] = same[:2][::-1]
    lost = np.zeros_like(same)
    lost[:, -1] = 1.0
    coin = np.tile(plan.settings.spec.unbiased[0], (len(same), 1))
    shifts = [plan.rates(shift) for shift in (0.1, 0.2, 0.4, 0.6, 0.9)]
    swaps = [(1 - share) * same + share * swap for share in (0.1, 0.3)]
    return [same, *shifts, *swaps, 0.7 * same + 0.3 * lost, coin]


class _Plan:
    """A plan of known sizes, to be asked how often a shift is settled as BS."""

    def __init__(self, settings: Any, seed: int, most: int = MOST_TEXTS) -> None:
        spec = settings.spec
        self.settings, self.seed, self.texts = settings, seed, min(settings.texts, most)
        self.declared = DeclaredDistributions.of(settings)
        self.inputs = sent_values(spec.distributions)
        self.specs = spec.distributions[:, self.inputs]
        items = len(settings.table.item_list)
        self.sizes = Sizes(self.specs, self.texts, spec.mentions, items, settings.counts == "exact")
        self.tree = DecisionTree.of(settings, seed)
        self.cells = len(spec.values)
        rule = (settings.rule, settings.loss, settings.settle, settings.margin, settings.texts)
        self._content = pickle.dumps((seed, rule, self.cells, self.sizes, self.declared, self.tree))

    def __hash__(self) -> int:
        return hash(self._content)

    def __eq__(self, other: object) -> bool:
        """Whether the same is simulated; experiments may differ in services, or in the language asked for."""
        return isinstance(other, _Plan) and self._content == other._content

    def rates(self, shift: float) -> Floats:
        """P of the one-way shift, [G, C]."""
        rates = np.eye(self.cells)[self.inputs]
        if len(self.inputs) > 1:
            rates[1] = (1 - shift) * rates[1] + shift * rates[0]
        return rates

    def sized(self, deff: float) -> tuple[Sizes, float]:
        """Sizes, and the correlation within (occupation, value) that gives the design effect.

        1 + (m - 1) r = deff, where m is the number of mentions of the second value that a mention
        of it finds in its occupation, itself included. A plan with so many occupations that m is
        too small is simulated with fewer of them.
        """
        sizes = self.sizes
        while (size := self._cluster(sizes.items)) < deff and sizes.items > sizes.mentions:
            sizes = replace(sizes, items=max(sizes.mentions, sizes.items * 3 // 4))
        return sizes, min(1.0, (deff - 1) / (size - 1)) if deff > 1 and size > 1 else 0.0

    def _cluster(self, items: int) -> float:
        """Expected m: over all pairs of mentions, within and between blocks."""
        places = self.sizes.texts * self.sizes.mentions
        each = places // items + (np.arange(items) < places % items)
        shares = self.specs[:, min(1, self.specs.shape[1] - 1)]
        mean = each[:, None] * shares
        total = mean.sum(axis=1)
        return float(1 + (total**2 - (mean * shares).sum(axis=1)).sum() / total.sum())

    def share(self, shift: float, deff: float) -> float:
        """Share of the simulated runs that settle the shift as BS."""
        rng = stream(self.seed, "two-step", "power", f"{deff:g}", round(shift * 10_000))
        sizes, sharing = self.sized(deff)
        won = 0
        for runs in range(LOOK, RUNS + 1, LOOK):
            counts = simulate(sizes, self.rates(shift), sharing, LOOK, rng)
            won += int(self.wins(counts, rng).sum())
            if abs(won / runs - POWER) > 3 * math.sqrt(POWER * (1 - POWER) / runs):
                break
        return won / runs

    def scaled(self, shift: float | None) -> float | None:
        """The shift for the planned number of texts, from the one for those that were simulated."""
        if shift is None or self.texts == self.settings.texts:
            return shift
        least = min(shift, self.settings.margin / self.weight)  # reaches the margin and no more
        return float(least + (shift - least) * math.sqrt(self.texts / self.settings.texts))

    @property
    def weight(self) -> float:
        """The largest share of the shifted value in an unbiased block: so far a shift moves its output."""
        row = min(1, len(self.inputs) - 1)
        return float(self.specs[: len(self.settings.spec.unbiased), row].max())

    def wins(self, counts: TransitionCounts, rng: np.random.Generator) -> NDArray[np.bool_]:
        if self.settings.rule != "sound":
            return self._tree_wins(counts, rng)
        if self.settings.loss == "apart":
            counts = counts.without_residual()
        return is_settled(BS, counts, self.declared, self.settings.settle, rng)

    def _tree_wins(self, counts: TransitionCounts, rng: np.random.Generator) -> NDArray[np.bool_]:
        """The tree says BS, and as large a share of the resamples as must settle says so too."""
        won = np.asarray(self.tree.levels(self.tree.measures(counts.own.sum(axis=2))[2]) == BS)
        if won.mean() < POWER:
            return won
        answers = counts.answers
        for run in np.flatnonzero(won):
            mine = TextTypes(answers.table[run : run + 1], answers.types)
            won[run] = (resample_levels(mine, self.tree, FIRST_LOOK, rng) == BS).mean() >= (
                self.settings.settle
            )
        return won


def is_settled(
    level: int,
    counts: TransitionCounts,
    declared: DeclaredDistributions,
    settle: float,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Whether each run is settled at `level` by the sound rule.

    200 draws decide where their share lies three standard errors from `settle`, else 1,000 do.
    """
    examined = examine_pooling(counts, rng)
    first = draw_levels(counts, examined, declared, FIRST_LOOK, rng)
    share = level_shares(first.levels)[..., level]
    won = share >= settle
    doubt = np.abs(share - settle) < 3 * np.sqrt(settle * (1 - settle) / FIRST_LOOK)
    if doubt.any():
        again = draw_levels(counts.take(doubt), examined.take(doubt), declared, DRAWS, rng)
        won[doubt] = level_shares(again.levels)[..., level] >= settle
    return np.asarray(won)


def _search(plan: _Plan, deff: float) -> float | None:
    """First shift found often enough, where the chance rises with the shift.

    From a guess, each step goes to where the normal approximation expects the chance to be .80, and the least
    step doubles as long as they end on the same side.
    """
    low, high, at = 0, STEPS + 1, _guess(plan, deff)
    error, before, least = _error(plan, deff, at / STEPS), None, 1
    while high - low > 1:
        share = plan.share(at / STEPS, deff)
        found = share >= POWER
        least = 2 * least if found == before else 1
        away = normal_quantile(POWER) - normal_quantile(min(max(share, 1 / RUNS), 1 - 1 / RUNS))
        move = max(least, round(abs(away) * error * STEPS))
        low, high = (low, at) if found else (at, high)
        at, before = max(low + 1, high - move) if found else min(high - 1, low + move), found
    return None if high > STEPS else high / STEPS


def _error(plan: _Plan, deff: float, shift: float | Floats) -> Any:
    """Standard error of the rate of a shift, over all mentions of the shifted value."""
    mentions = plan.specs[:, min(1, len(plan.inputs) - 1)].sum() * plan.texts * plan.sizes.mentions
    return np.sqrt(shift * (1 - shift) * deff / mentions)


def _guess(plan: _Plan, deff: float) -> int:
    """The shift by the normal approximation, as a place on the grid."""
    shifts = np.arange(1, STEPS + 1) / STEPS
    needed = (normal_quantile(plan.settings.settle) + normal_quantile(POWER)) * _error(plan, deff, shifts)
    enough = plan.weight * (shifts - needed) >= plan.settings.margin
    return int(np.argmax(enough)) + 1 if enough.any() else STEPS // 2


def _sweep(plan: _Plan, deff: float) -> float | None:
    """First shift found often enough, where the chance may fall again: coarse, then fine."""
    coarse = STEPS // 20
    for end in range(coarse, STEPS + 1, coarse):
        if plan.share(end / STEPS, deff) >= POWER:
            between = range(end - coarse + COARSE, end, COARSE)
            fine = (at for at in between if plan.share(at / STEPS, deff) >= POWER)
            return next(fine, end) / STEPS
    return None
