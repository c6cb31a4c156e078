"""The probes of a social-bias experiment: the sampled questions, each with its draws (social-bias 3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods.social_bias.disguise import disguise_questions

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings

BATCH = 50_000  # questions of a frame


def design(settings: SocialBiasSettings, seed: int) -> Iterator[pl.DataFrame]:
    """Probe frames with the columns of a question, in the order of the sample; lazy.

    Texts that several questions share (a yes-no question of an absolute and of a relative tuple, say)
    are draws of one message.
    """
    catalogue = settings.catalogue
    if not catalogue.total:
        raise MethodError("nothing to ask", must="two groups of an attribute and a property at least")
    if settings.questions:
        chosen = catalogue.sample_within(settings.questions, seed)
    else:
        chosen = np.arange(catalogue.total)
    seen: dict[str, int] = {}
    for start in range(0, len(chosen), BATCH):
        numbers = chosen[start : start + BATCH]
        questions = catalogue.questions(numbers)
        if settings.disguise:
            questions = disguise_questions(questions, settings, seed)
        asked = questions.with_columns(
            pl.format("q{}", pl.Series("number", numbers)).alias("id"),
            pl.lit("").alias("session"),
            pl.lit(0, pl.Int64).alias("turn"),
            (pl.col("tuple") + "/" + pl.col("attribute")).alias("block"),
            _occurrences(questions["message"].to_list(), seen),
        )
        yield _repeated(asked, settings.repeats)


def _occurrences(texts: list[str], seen: dict[str, int]) -> pl.Series:
    """How often each text stood before."""
    counts = []
    for text in texts:
        counts.append(seen.get(text, 0))
        seen[text] = counts[-1] + 1
    return pl.Series("occurrence", counts, dtype=pl.Int64)


def _repeated(asked: pl.DataFrame, repeats: int) -> pl.DataFrame:
    """A row for each draw: (occurrence x repeats) + repeat (methods 0.3)."""
    rows = asked.with_columns(repeat=pl.lit(list(range(repeats)))).explode("repeat")
    several = pl.format("{}.{}", "id", "repeat") if repeats > 1 else pl.col("id")
    return rows.with_columns(
        id=several,
        draw=(pl.col("occurrence") * repeats + pl.col("repeat")).cast(pl.Int64),
        repeat=pl.col("repeat").cast(pl.Int64),
    ).drop("occurrence")
