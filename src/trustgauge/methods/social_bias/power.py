"""What a plan can settle: the smallest gap between groups, by simulation (methods 0.8).

And whether it can settle low risk at all, of a service that never takes sides (social-bias 3.8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods import DESIGN_EFFECTS
from trustgauge.methods.social_bias import design, rating, score
from trustgauge.methods.social_bias.absolute_side import TOO_FEW_PROPERTIES
from trustgauge.methods.social_bias.formats import within
from trustgauge.methods.social_bias.forms import OPTIONS
from trustgauge.methods.social_bias.judge_accuracy import TERSE, by_style
from trustgauge.methods.social_bias.max_correction import ROUNDING, spans
from trustgauge.methods.social_bias.relative_side import TOO_FEW_QUESTIONS
from trustgauge.records import Json, Reason
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

RUNS = 500
DRAWS = 250  # resamples of a simulated run
NULL_RUNS = 10_000  # without any gap, to find how large chance makes one
POWER = 0.80
RATE = 0.50  # preference rate of all groups but one; the noise is largest there
BALANCE = 2  # whoever is spoken well of more often by half of a gap is spoken ill of less often by half
GRID = np.round(np.arange(0.02, 1.01, 0.02), 2)


def smallest_gap(settings: SocialBiasSettings, seed: int) -> Mapping[str, Json]:
    """The smallest gap of preference rates that is settled above low risk with probability .80.

    One group of one attribute is spoken well of more often than the others and ill of less often, each by
    half of the gap, and nothing else is wrong. Rates are binomial at the planned numbers of relative
    questions, those divided by the design effect; the judge misses and invents as often as on its labelled
    answers of the terse style. What settles a level is the rule: its share of
    the resamples, the gap's p by chance, and that it may be the largest of all sides (`largest`).

    Returns:
        `deff_1`, `deff_2` and `deff_5`: in the attribute whose groups are asked about least, None where no
        gap up to .50 is found that often or nothing relative is asked.
    """
    if settings.rule != "sound" or "relative" not in settings.tuples:
        return dict.fromkeys(f"deff_{deff}" for deff in DESIGN_EFFECTS)
    asked = pl.concat(design.design(settings, seed)).filter(
        (pl.col("tuple") == "relative") & ~pl.col("control")
    )
    if settings.format == "both":  # each format is rated by itself
        asked = asked.filter(~pl.col("form").is_in(OPTIONS))
    sizes = [
        np.array([count for _, count in own.group_by("group_a").len().sort("group_a").iter_rows()])
        for (_,), own in asked.group_by("attribute", maintain_order=True)
    ]
    noisiest = max((one for one in sizes if len(one) > 1), key=lambda one: (1 / one).sum(), default=None)
    if noisiest is None:
        return dict.fromkeys(f"deff_{deff}" for deff in DESIGN_EFFECTS)
    found: dict[str, Json] = {}
    for deff in DESIGN_EFFECTS:
        rng = stream(seed, "social-bias", "power", deff)
        found[f"deff_{deff}"] = _search(np.maximum(1, noisiest // deff), settings, rng)
    return found


def _search(sizes: NDArray[np.int64], settings: SocialBiasSettings, rng: np.random.Generator) -> float | None:
    """The first gap on the grid that is settled often enough, by bisection."""
    by_chance = BALANCE * _gaps(rng.binomial(sizes, RATE, size=(NULL_RUNS, len(sizes))) / sizes)
    chance = float(np.quantile(by_chance, 1 - settings.alpha))
    low, high = 0, len(GRID)
    while low < high:
        middle = (low + high) // 2
        if _share(sizes, float(GRID[middle]), chance, settings, rng) >= POWER:
            high = middle
        else:
            low = middle + 1
    return float(GRID[low]) if low < len(GRID) else None


def _share(
    sizes: NDArray[np.int64],
    gap: float,
    chance: float,
    settings: SocialBiasSettings,
    rng: np.random.Generator,
) -> float:
    """Share of simulated runs in which a gap is settled as medium or high risk, so is above `chance`."""
    seen = gap / BALANCE
    if settings.format != "choice":  # an option is matched, not judged
        judge = settings.figures.get(TERSE) or by_style(settings.language, settings.reader)[TERSE]
        seen *= judge.sensitivity + judge.specificity - 1
    truth = np.full(len(sizes), RATE - seen / 2)
    truth[-1] += seen
    rates = rng.binomial(sizes, truth, size=(RUNS, len(sizes))) / sizes
    e = BALANCE * _gaps(rates)
    drawn = rng.binomial(sizes, rates[:, None, :], size=(RUNS, DRAWS, len(sizes))) / sizes
    stars, apart = BALANCE * _gaps(drawn), BALANCE * spans(rates, drawn)
    bias = np.maximum(0.0, stars.mean(axis=1) - e)
    corrected = np.maximum(0.0, stars - 2 * bias[:, None])
    low, high = settings.relative_cuts
    shares = ((corrected >= low) & (corrected < high)).mean(axis=1), (corrected >= high).mean(axis=1)
    error = (1 - within(settings).settle) / _sides(settings)
    settled = np.zeros(RUNS, dtype=bool)
    for share, cut in zip(shares, (low, high), strict=True):
        p = (apart >= (e - cut)[:, None]).mean(axis=1)
        settled |= (share >= within(settings).settle) & (p <= error + ROUNDING) & (e > chance)
    return float(settled.mean())


def _sides(settings: SocialBiasSettings) -> int:
    """Sides that a rating takes the worst of: excess, direction and gap of each attribute."""
    attributes = {one.attribute for one in settings.asked_groups if not one.control}
    sides = 2 * ("absolute" in settings.tuples) + ("relative" in settings.tuples)
    return len(attributes) * sides if settings.aggregate == "worst" else 1


def _gaps(rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Largest minus smallest rate along the last axis."""
    return np.asarray(rates.max(axis=-1) - rates.min(axis=-1))


MOST = 100_000
"""Questions from which on nothing is tried out: so many are enough, or take too long to count."""
RESAMPLES = 1_000
REFUSES = "refuses"


def why_low_stays_open(settings: SocialBiasSettings, seed: int) -> Reason | None:
    """Why the rating of a service that declines everything, which is of low risk, would not be settled.

    Args:
        settings: the experiment; a second judge has nothing to do here.
        seed: of the plan.

    Returns:
        The reason, with the properties asked about and needed where they are what is lacking, or with the
        groups that are too many for the questions; None if low risk would be settled, under rules without
        levels, and of more than 100,000 questions.
    """
    if settings.rule != "sound":
        return None
    alone = settings.model_copy(
        update={"referral": None, "resamples": RESAMPLES, "permutations": RESAMPLES - 1}
    )
    probes = pl.concat(design.design(alone, seed))
    if probes.height > MOST:
        return None
    refused = probes.with_columns(
        service=pl.lit(settings.services[0]),
        part=pl.lit(""),
        status=pl.lit("answered"),
        verdict=pl.lit(REFUSES),
    )
    found = rating.rate(score.summarise(refused), alone, seed)[0]
    if (found.state, found.level) == ("rated", "L"):
        return None
    many = [one for part in found.parts for one in part.reasons if one.code == TOO_FEW_QUESTIONS]
    for one in many:
        if "groups" in one.facts:  # the attribute has no level, and so the service none
            return Reason("social-bias.cannot-rate", one.facts)
    lacking = [one.facts for part in found.parts for one in part.reasons if one.code == TOO_FEW_PROPERTIES]
    few = min(lacking, key=lambda one: float(str(one["properties"])) / float(str(one["needed"])), default={})
    facts: dict[str, Json] = {name: few[name] for name in ("properties", "needed") if name in few}
    return Reason("social-bias.cannot-settle-low", facts)
