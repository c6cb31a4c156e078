"""How often a judge is right: measured on labelled question-answer pairs (methods 0.10, social-bias 3.6).

Verdicts are compared with labels in two ways: as they are, and as what they are used for, whether an
answer is biased (affirms, chooses one, explains) or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files

import polars as pl

from trustgauge.data.social_groups import Group
from trustgauge.data.social_groups import groups as our_groups
from trustgauge.methods.social_bias.expressions import Expressions
from trustgauge.methods.social_bias.judges.dispatch import BIASED, READ, judge
from trustgauge.methods.social_bias.judges.similarity import Similarity
from trustgauge.records import Rule
from trustgauge.stats.distributions import wilson

TableJudge = Callable[[pl.DataFrame], pl.DataFrame]
"""Rows with the columns of a labelled table -> a frame of the same height with the column verdict."""

LABELLED = ("question", "answer", "language", "kind", "group_a", "group_b", "verdict")
"""The columns that a labelled table must have."""
ALL = "all"


@lru_cache(maxsize=1)
def labelled_answers() -> pl.DataFrame:
    """Our labelled pairs: `LABELLED`, form, property and split ("tuning" or "held-out")."""
    return _shipped("labelled_answers.csv")


@lru_cache(maxsize=1)
def assistant_answers() -> pl.DataFrame:
    """Answers in the styles of assistants, by others than the writers of the rules (methods 0.10).

    Columns `LABELLED`, id, style, writer and split ("training", "held-out" or "templates", by writer); see
    `data/assistant_answers.md`.
    """
    return _shipped("assistant_answers.csv")


@lru_cache(maxsize=1)
def assistant_groups() -> Mapping[str, Group]:
    """The groups that `assistant_answers` names, by id: ours, and those that our table does not have."""
    further = [Group(**row) for row in _shipped("assistant_groups.csv").iter_rows(named=True)]
    return {one.id: one for one in (*our_groups(), *further)}


def _shipped(name: str) -> pl.DataFrame:
    data = files("trustgauge.methods.social_bias").joinpath("data", name).read_bytes()
    return pl.read_csv(data, infer_schema=False).with_columns(pl.all().fill_null(""))


def rule_judge(
    rule: Rule,
    groups: Mapping[str, Group],
    expressions: Mapping[str, Expressions] | None = None,
    similarity: Similarity | None = None,
) -> TableJudge:
    """A built-in judge in the form that `measure` takes; further arguments as for `judge`."""
    return lambda rows: judge(
        rows.rename({"question": "message", "answer": "output"}).select(READ),
        groups,
        rule,
        expressions=expressions,
        similarity=similarity,
    )


def measure(judged_by: TableJudge, table: pl.DataFrame) -> pl.DataFrame:
    """The accuracy of a judge, for each kind of question in each language, and for all.

    Args:
        judged_by: the judge.
        table: labelled pairs with the columns `LABELLED`; pairs labelled "unclear" count in
            `same` only, for they are biased neither way.

    Returns:
        Rows (language, kind), "all" for the sums, with: n pairs; same, the share whose verdict is the
        label; left, pairs with a label that is not "unclear"; unclear, how many of them the judge cannot
        decide; accuracy, the share of `left` classified correctly as biased or not, where "unclear" is wrong;
        biased and found, unbiased and passed: counts among those it decides; sensitivity, specificity,
        precision, recall (of all biased, undecided ones included) and Cohen's kappa. Shares have Wilson
        intervals in columns _low, _high. What has no pairs is null.
    """
    verdicts = judged_by(table)["verdict"]
    rows = table.select("language", "kind", pl.col("verdict").alias("label")).with_columns(
        verdicts.alias("verdict")
    )
    cells = [(language, kind) for language in (ALL, "en", "zh") for kind in (ALL, "choice", "yes-no", "why")]
    measured = []
    for language, kind in cells:
        part = rows
        if language != ALL:
            part = part.filter(pl.col("language") == language)
        if kind != ALL:
            part = part.filter(pl.col("kind") == kind)
        if len(part):
            measured.append({"language": language, "kind": kind, **_cell(part)})
    return pl.DataFrame(measured, infer_schema_length=None)


def _cell(part: pl.DataFrame) -> dict[str, float | int | None]:
    clear = part.filter(pl.col("label") != "unclear")
    truth = clear["label"].is_in(BIASED)
    said = clear["verdict"].is_in(BIASED)
    decided = clear["verdict"] != "unclear"
    found, biased = int((truth & said).sum()), int((truth & decided).sum())
    passed, unbiased = int((~truth & ~said & decided).sum()), int((~truth & decided).sum())
    false_alarms = unbiased - passed
    facts: dict[str, float | int | None] = {
        "n": len(part),
        "left": len(clear),
        "unclear": int((~decided).sum()),
        "biased": biased,
        "found": found,
        "unbiased": unbiased,
        "passed": passed,
    }
    shares = {
        "same": (int((part["label"] == part["verdict"]).sum()), len(part)),
        "accuracy": (found + passed, len(clear)),
        "sensitivity": (found, biased),
        "specificity": (passed, unbiased),
        "precision": (found, found + false_alarms),
        "recall": (found, int(truth.sum())),
    }
    for name, (hits, of) in shares.items():
        low, high = wilson(hits, of)
        facts |= (
            {name: hits / of, f"{name}_low": low, f"{name}_high": high}
            if of
            else dict.fromkeys((name, f"{name}_low", f"{name}_high"))
        )
    facts["kappa"] = _kappa(found, biased, passed, unbiased)
    return facts


def _kappa(found: int, biased: int, passed: int, unbiased: int) -> float | None:
    """Cohen's kappa of biased or not, over the pairs that the judge decides; null if undefined."""
    n = biased + unbiased
    if not n:
        return None
    said = found + unbiased - passed
    chance = (biased * said + unbiased * (n - said)) / n**2
    return None if chance == 1 else ((found + passed) / n - chance) / (1 - chance)
