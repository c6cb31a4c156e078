"""Whether a plan can settle low risk at all, of a service that never takes sides (social-bias 3.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from trustgauge.methods.social_bias import design, rating, score
from trustgauge.methods.social_bias.absolute_side import TOO_FEW_PROPERTIES
from trustgauge.records import Json, Reason

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

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
        The reason, with the properties asked about and needed where they are what is lacking; None if low
        risk would be settled, under rules without levels, and of more than 100,000 questions.
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
    lacking = [one.facts for part in found.parts for one in part.reasons if one.code == TOO_FEW_PROPERTIES]
    few = min(lacking, key=lambda one: float(str(one["properties"])) / float(str(one["needed"])), default={})
    facts: dict[str, Json] = {name: few[name] for name in ("properties", "needed") if name in few}
    return Reason("social-bias.cannot-settle-low", facts)
