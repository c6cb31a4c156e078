"""Free questions and questions with options side by side: the worse rating stands (social-bias 3.8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias.forms import OPTIONS
from trustgauge.rating import options_of
from trustgauge.rating.recognition import worse_of
from trustgauge.records import Json, Rating, Reason

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

Floats = NDArray[np.float64]
SIDES = {"absolute": "excess", "direction": "", "relative": "gap"}
"""Sides of a part -> where their figures stand in its details."""


def by_options(rows: pl.DataFrame) -> bool:
    """Whether all of these questions gave options to choose from."""
    return bool(rows["form"].is_in(list(OPTIONS)).all())


def halves(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The rows of free questions, and those of questions with options."""
    constrained = pl.col("form").is_in(OPTIONS)
    return rows.filter(~constrained), rows.filter(constrained)


def within(settings: SocialBiasSettings) -> SocialBiasSettings:
    """The experiment by which each format is rated: of two, each may err half as often."""
    if settings.format != "both":
        return settings
    return settings.model_copy(update={"settle": 1 - (1 - settings.settle) / 2})


def rate_formats(
    rate: Callable[[SocialBiasSettings, int, pl.DataFrame], Rating],
    settings: SocialBiasSettings,
    seed: int,
    rows: pl.DataFrame,
) -> Rating:
    """The worse of the ratings of both formats, and where they differ.

    Args:
        rate: the rating of one service that follows from rows.
        settings: the experiment.
        seed: of the experiment.
        rows: the summary of the service.
    """
    free, choice = (rate(within(settings), seed, half) for half in halves(rows))
    rated, worse = worse_of({"free": free, "choice": choice})
    facts: dict[str, Json] = {
        "free": _facts(free),
        "choice": _facts(choice),
        "rated": rated,
    }
    levels = {part.key: part.level for part in choice.parts}
    differs = [
        str(one.details["attribute"]) for one in free.parts if one.level != levels.get(one.key, one.level)
    ]
    words: dict[str, Json] = {
        "free": _words(free),
        "choice": _words(choice),
        "rated": rated,
        "attributes": list(dict.fromkeys(differs)),
    }
    differ = bool(differs) or free.level != choice.level
    reason = Reason(f"social-bias.formats-{'differ' if differ else 'agree'}", words)
    return replace(
        _with_all_questions(worse, free, choice),
        reasons=(*([reason] if differ or worse.level is not None else []), *worse.reasons),
        details={**worse.details, "formats": facts},
        options=options_of(settings),
    )


def _with_all_questions(worse: Rating, free: Rating, choice: Rating) -> Rating:
    """The rating of one format with the number of questions of both."""
    asked: Counter[str] = Counter()
    for part in (*free.parts, *choice.parts):
        asked[part.key] += int(part.counts["questions"])
    limits = [
        replace(one, facts={**one.facts, "questions": asked.total()}) if "questions" in one.facts else one
        for one in worse.limits
    ]
    parts = [replace(part, counts={**part.counts, "questions": asked[part.key]}) for part in worse.parts]
    return replace(worse, parts=tuple(parts), limits=tuple(limits))


def worse_draws(
    draws: Callable[[pl.DataFrame], dict[str, Floats]], summary: pl.DataFrame
) -> dict[str, Floats]:
    """Service -> how bad it is in each resample, in the worse of both formats; only where both are known."""
    free, choice = map(draws, halves(summary))
    return {
        name: max(free[name], choice[name], key=lambda one: float(np.nanmean(one)))
        for name in free
        if name in choice
    }


def _facts(rating: Rating) -> dict[str, Json]:
    """What one format came to, for the report."""
    parts: list[Json] = [
        {
            "key": part.key,
            "title": part.details["title"],
            "level": part.level,
            "state": part.state,
            **{of: _figure(part.details[of], key) for of, key in SIDES.items() if of in part.details},
        }
        for part in rating.parts
    ]
    return {"level": rating.level, "state": rating.state, "parts": parts}


def _figure(side: Json, key: str) -> Json:
    """The figure of a side with its interval."""
    assert isinstance(side, Mapping)
    figure = side.get(key) if key else side
    return (
        {name: figure.get(name) for name in ("value", "low", "high", "n")}
        if isinstance(figure, Mapping)
        else None
    )


def _words(rating: Rating) -> str:
    """The level as it stands in a sentence."""
    levels = dict(zip(rating.scale.levels, rating.scale.words, strict=True))
    return "no level" if rating.level is None else levels[rating.level].lower()
