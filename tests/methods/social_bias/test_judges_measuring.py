"""What the judges are worth on labelled pairs, and that the measures are those of others."""

from __future__ import annotations

import polars as pl
import pytest
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from trustgauge.data.social_groups import groups
from trustgauge.methods.social_bias.judges.dispatch import BIASED, VERDICTS
from trustgauge.methods.social_bias.judges.evaluation import (
    LABELLED,
    assistant_answers,
    assistant_groups,
    labelled_answers,
    measure,
    rule_judge,
)
from trustgauge.records import Rule

GROUPS = {one.id: one for one in groups()}
TABLE = labelled_answers()
HELD_OUT = TABLE.filter(pl.col("split") == "held-out")
LEFT = ("even-handed", "refuses", "unclear")


def overall(rule: Rule, table: pl.DataFrame) -> dict[str, float]:
    return measure(rule_judge(rule, GROUPS), table).row(0, named=True)


def test_the_table_is_balanced() -> None:
    assert len(TABLE) >= 640
    assert TABLE.select("question", "answer").is_duplicated().sum() == 0
    assert set(TABLE["verdict"]) == set(VERDICTS)
    assert set(TABLE["group_a"]) | set(TABLE["group_b"]) - {""} <= set(GROUPS) | {""}
    for column, least in (("language", 0.45), ("kind", 0.3)):
        assert min(TABLE[column].value_counts()["count"].to_list()) > least * len(TABLE)
    assert TABLE["verdict"].is_in(BIASED).sum() / len(TABLE) == pytest.approx(0.42, abs=0.06)
    frozen = TABLE.filter(pl.col("split") != "fresh")
    assert (frozen["split"] == "held-out").sum() / len(frozen) == pytest.approx(0.5, abs=0.05)
    # Each verdict that a kind can have stands in both splits, in both languages.
    cells = frozen.filter(pl.col("verdict") != "both").group_by("split", "language", "kind", "verdict").len()
    assert len(cells) == 2 * 2 * (7 + 6 + 6)
    assert min(cells["len"].to_list()) >= 3


def test_the_sound_judge_on_held_out_pairs() -> None:
    result = overall("sound", HELD_OUT)
    assert result["accuracy"] >= 0.93
    assert result["accuracy_low"] >= 0.91
    assert result["same"] >= 0.93
    assert result["same_low"] >= 0.91
    assert result["sensitivity"] + result["specificity"] > 1.9


@pytest.mark.parametrize("kind", ["choice", "yes-no", "why"])
def test_every_kind_in_both_languages(kind: str) -> None:
    cells = measure(rule_judge("sound", GROUPS), HELD_OUT).filter(pl.col("kind") == kind)
    assert cells["language"].to_list() == ["all", "en", "zh"]
    assert min(cells["accuracy"].to_list()) >= 0.9


def test_sound_beats_released_on_hedging_answers() -> None:
    hedging = TABLE.filter(pl.col("verdict").is_in(LEFT) & (pl.col("split") != "tuning"))
    rules: tuple[Rule, Rule] = ("sound", "released")
    sound, released = (rule_judge(rule, GROUPS)(hedging)["verdict"].is_in(BIASED).sum() for rule in rules)
    assert sound < released
    assert overall("sound", HELD_OUT)["accuracy_low"] > overall("released", HELD_OUT)["accuracy_high"]


def test_pairs_written_after_the_rules() -> None:
    result = overall("sound", TABLE.filter(pl.col("split") == "fresh"))
    # Fewer are read, but hardly one is read the wrong way: what the judge cannot read, it leaves.
    assert result["accuracy"] > 0.85
    assert result["found"] + result["passed"] >= result["biased"] + result["unbiased"] - 2


def made(pairs: list[tuple[str, str]]) -> pl.DataFrame:
    n = len(pairs)
    return pl.DataFrame(
        {
            "language": ["en"] * n,
            "kind": ["yes-no"] * n,
            "verdict": [label for label, _ in pairs],
            "said": [said for _, said in pairs],
        }
    )


def test_measures_against_statsmodels() -> None:
    pairs = (
        [("affirms", "affirms")] * 40
        + [("affirms", "denies")] * 6
        + [("denies", "affirms")] * 3
        + [("denies", "refuses")] * 50
        + [("affirms", "unclear")] * 4
        + [("denies", "unclear")] * 2
        + [("unclear", "unclear")] * 5
        + [("unclear", "affirms")] * 1
    )
    result = measure(lambda rows: rows.select(pl.col("said").alias("verdict")), made(pairs)).row(
        0, named=True
    )
    assert (result["n"], result["left"], result["unclear"]) == (111, 105, 6)
    assert (result["biased"], result["found"], result["unbiased"], result["passed"]) == (46, 40, 53, 50)
    counts = {
        "same": (45, 111),
        "accuracy": (90, 105),
        "sensitivity": (40, 46),
        "specificity": (50, 53),
        "precision": (40, 43),
        "recall": (40, 50),
    }
    for name, (hits, of) in counts.items():
        low, high = proportion_confint(hits, of, method="wilson")
        assert result[name] == pytest.approx(hits / of), name
        assert (result[f"{name}_low"], result[f"{name}_high"]) == pytest.approx((low, high)), name
    assert result["kappa"] == pytest.approx(cohens_kappa([[40, 6], [3, 50]]).kappa)


def test_what_has_no_pairs_is_null() -> None:
    result = measure(
        lambda rows: rows.select(pl.col("said").alias("verdict")), made([("denies", "denies")])
    ).row(0, named=True)
    assert result["sensitivity"] is None
    assert result["recall"] is None
    assert result["kappa"] is None
    assert result["specificity"] == 1.0


def test_answers_in_the_styles_of_assistants_are_whole() -> None:
    table, known = assistant_answers(), assistant_groups()
    assert {*LABELLED} <= {*table.columns}
    assert table.n_unique(["question", "answer"]) == table["id"].n_unique() == table.height == 24373
    named = {one for column in ("group_a", "group_b") for one in table[column] if one}
    assert named <= set(known)
    assert set(table["verdict"]) <= set(VERDICTS)
    assert table.filter(pl.col("style") != "terse").height > 0.9 * table.height
    by_writer = table.group_by("writer").agg(pl.col("split").n_unique())
    assert by_writer["split"].to_list() == [1] * 102, "split by writer"
    assert 0.4 < table.filter(pl.col("verdict").is_in(BIASED)).height / table.height < 0.5


@pytest.mark.parametrize("column", ["question", "answer"])
def test_what_is_labelled_chinese_is_written_in_chinese(column: str) -> None:
    table = assistant_answers()
    chinese = pl.col(column).str.contains(r"\p{Han}")
    assert table.filter(chinese != (pl.col("language") == "zh"))["id"].to_list() == []
