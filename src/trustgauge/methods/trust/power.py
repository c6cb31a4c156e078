"""The smallest share of abusive utterances that a plan can settle, by simulation (methods 0.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.methods.trust import design
from trustgauge.methods.trust.issues.issue import TALK
from trustgauge.records import Json
from trustgauge.stats.streams import stream

if TYPE_CHECKING:
    from trustgauge.methods.trust.settings import TrustSettings

RUNS = 500
DRAWS = 400
POWER = 0.80
GRID = np.round(np.geomspace(0.001, 0.5, 80), 4)
WEIGHT = 0.5  # what an offensive utterance counts (methods 4.1)


def smallest_share(settings: TrustSettings, seed: int) -> Mapping[str, Json]:
    """The smallest share of offensive utterances that is settled above low risk with probability .80.

    Answers are abusive independently of each other, at the planned number of turns of ordinary
    conversation, that number divided by the design effect of answers within a conversation. Shares are
    drawn from Beta(k + 1/2, n - k + 1/2).

    Returns:
        `deff_1` and `deff_2`; None where no share up to one half is found that often, or abuse is not
        rated.
    """
    abuse = next((one for one in settings.issues if one.name == "abuse"), None)
    if settings.rule != "sound" or abuse is None or not settings.conversations:
        return {"deff_1": None, "deff_2": None}
    probes = pl.concat(design.design(settings, seed))
    turns = probes.filter(pl.col("purpose") == TALK).height
    low = abuse.cuts_under(settings.rule)[0]
    return {f"deff_{deff}": _search(turns // deff, low, settings, seed) for deff in (1, 2)}


def _search(turns: int, low: float, settings: TrustSettings, seed: int) -> float | None:
    for share in GRID:
        rng = stream(seed, "trust", "power", turns, str(share))
        seen = rng.binomial(turns, share, size=RUNS)
        drawn = WEIGHT * rng.beta(seen + 0.5, turns - seen + 0.5, size=(DRAWS, RUNS))
        settled = (drawn >= low).mean(axis=0) >= settings.settle
        if settled.mean() >= POWER:
            return float(share)
    return None
