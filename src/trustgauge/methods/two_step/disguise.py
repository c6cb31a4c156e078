"""Texts in disguise: sentences beyond the published ones, among neutral ones, drawn by seed (methods 0.12).

Which texts are disguised is dealt by lot, the same in every block, so that blocks still differ in values
only. Translators treat one sentence otherwise than another; so what is compared with the published patterns
is the disguised patterns, pattern by pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data import ATTRIBUTES, Attribute, load_attribute, package_table
from trustgauge.methods.two_step.sentences import TOKEN
from trustgauge.rating.recognition import ALIKE, DISGUISE, LEAST, RecognitionGap, draw_half
from trustgauge.stats import stream
from trustgauge.stats.randomization import label_test

if TYPE_CHECKING:
    from trustgauge.methods.two_step.settings import TwoStepSettings

AROUND = ("before", "after")
"""Columns: how many neutral sentences stand before and after a text."""
MOST_AROUND = 2  # neutral sentences before a text, and after it
Integers = NDArray[np.int64]


def questions(table: Attribute) -> tuple[str, ...]:
    """What chatbots are asked about a text: the question of the attribute, and others."""
    return (table.question, *_bank()["questions"].get(table.name, ()))


@dataclass(frozen=True)
class TextDisguise:
    """How the texts of an experiment are disguised, by number; equal in all blocks.

    Attributes:
        table: the attribute, with the patterns of the disguise.
        patterns: names of the published patterns in use, then those of the disguise.
        pattern: the pattern of each disguised text, -1 for a plain one or one that keeps its own, [texts].
        is_disguised: [texts].
        around: for each text the neutral sentences before and after it.
        question: the question to a chatbot, by text.
    """

    table: Attribute
    patterns: tuple[str, ...]
    pattern: Integers
    is_disguised: NDArray[np.bool_]
    around: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]
    question: Sequence[str]

    @classmethod
    def of(cls, settings: TwoStepSettings, seed: int) -> TextDisguise:
        """The disguise of an experiment, by seed."""
        table, texts = settings.table, settings.texts
        rng = stream(seed, "two-step", "disguise")
        beyond = draw_half(sorted(patterns_beyond(table).items()), rng)
        wider = table.model_copy(update={"patterns": {**table.patterns, **dict(beyond)}})
        patterns = (*settings.fitting, *(name for name, _ in beyond))
        chosen = np.zeros(texts, dtype=bool)
        chosen[rng.permutation(texts)[: int(settings.disguise * texts + rng.random())]] = True
        drawn = rng.integers(max(1, len(beyond)), size=texts) + len(settings.fitting)
        pattern = np.where(chosen & bool(beyond), drawn, -1)
        lists = [draw_half(_bank()["around"][name], rng) for name in AROUND]
        asked = draw_half(questions(table)[1:], rng) or [table.question]
        around, question = [], []
        for is_disguised in chosen:
            some = [
                tuple(each[place] for place in rng.permutation(len(each))[: rng.integers(MOST_AROUND + 1)])
                for each in lists
            ]
            other = asked[int(rng.integers(len(asked)))]
            framed = is_disguised and not table.scored
            around.append((some[0], some[1]) if framed else ((), ()))
            question.append(other if is_disguised else table.question)
        return cls(wider, patterns, pattern, chosen, around, question)

    def columns(self, numbers: Integers) -> list[pl.Series]:
        """The columns of texts with these numbers."""
        return [
            pl.Series(DISGUISE, self.is_disguised[numbers], dtype=pl.Boolean),
            *(
                pl.Series(name, [len(self.around[number][place]) for number in numbers], dtype=pl.Int64)
                for place, name in enumerate(AROUND)
            ),
        ]

    def wrap(self, texts: Sequence[str], numbers: Integers, *, asked: bool) -> list[str]:
        """Texts with what stands around them, and the question to a chatbot."""
        found = []
        for text, number in zip(texts, numbers, strict=True):
            before, after = self.around[number]
            parts = [*before, text, *after, *([self.question[number]] if asked else [])]
            found.append(" ".join(parts))
        return found


def patterns_beyond(table: Attribute) -> dict[str, str]:
    """Patterns beyond those of a shipped attribute; none for a plan's own one."""
    if table.name not in ATTRIBUTES or table.words != load_attribute(table.name).words:
        return {}
    return {f"beyond-{name}": text for name, text in _bank()["patterns"][table.name].items()}


def _bank() -> dict[str, Any]:
    return package_table("trustgauge.data", "disguises.toml")


def without_surroundings(lines: pl.Expr) -> pl.Expr:
    """The sentences of an answer without those that stood around a text, wherever they came back."""
    bank = {" ".join(TOKEN.findall(text.lower())) for name in AROUND for text in _bank()["around"][name]}
    words = pl.element().str.to_lowercase().str.replace_all(r"[^\p{L}]+", " ").str.strip_chars()
    own = lines.list.eval(pl.element().filter(~words.is_in(list(bank))))
    return pl.when(pl.sum_horizontal(AROUND) > 0).then(own).otherwise(lines)


def recognition_gap(rows: pl.DataFrame, settings: TwoStepSettings, seed: int) -> RecognitionGap | None:
    """Whether what comes back depends on the disguise; None where none was used.

    Compared are the shares of the mentions of each value that came back as each value. The patterns are
    exchanged: a difference between published and other patterns counts only if it is larger than that between
    patterns of one kind. Texts are, within their pattern, where the disguise has no patterns of its own.

    Args:
        rows: the summary of one service.
        settings: the experiment.
        seed: of the experiment.
    """
    if DISGUISE not in rows.columns:
        return None
    read = rows.filter(pl.col("value_in").is_not_null(), pl.col("value_out") >= 0)
    if read.is_empty() or read[DISGUISE].n_unique() < 2:
        return ALIKE
    values = settings.spec.values
    sent = sorted(read["value_in"].unique())
    pairs = [(given, back) for given in sent for back in range(len(values))]
    both = read.group_by("pattern").agg(pl.col(DISGUISE).n_unique())
    paired = bool((both[DISGUISE] > 1).any())  # a plan's own attribute has no other patterns
    keys = ["pattern", DISGUISE, *(["text"] if paired else [])]
    n = pl.col("n")
    units = read.group_by(*keys).agg(
        *(
            pl.col("n")
            .filter(pl.col("value_in") == given, pl.col("value_out") == back)
            .sum()
            .alias(f"y{place}")
            for place, (given, back) in enumerate(pairs)
        ),
        *(n.filter(pl.col("value_in") == given).sum().alias(f"n{given}") for given in sent),
    )
    units = units.sort(keys)
    found = label_test(
        units.select(f"y{place}" for place in range(len(pairs))).to_numpy(),
        np.stack([units[f"n{given}"].to_numpy() for given, _ in pairs], axis=1),
        units[DISGUISE].to_numpy(),
        units["pattern"].rank("dense").to_numpy() if paired else np.zeros(units.height),
        np.arange(units.height),
        stream(seed, "two-step", "recognition gap"),
        dealt=False,
        least=LEAST,
    )
    given, back = pairs[found.largest]
    about = {"value": values[given], "back": values[back]}
    return RecognitionGap.of(found, about)
