"""The printed tables of the chatbot trust paper, recomputed from its scores (trust 4.4, 4.7)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trustgauge.apps.reproduce.paper_tables import figures
from trustgauge.apps.survey.survey import SurveyOptions, survey
from trustgauge.methods.trust import levels as cutting
from trustgauge.methods.trust.arithmetic import explain
from trustgauge.methods.trust.combine import PUBLISHED_RULE, Combination, IssueValue, outcome
from trustgauge.methods.trust.issues.issue import PUBLISHED_CUTS
from trustgauge.methods.trust.order_sensitivity import all_orders, issue_at_score
from trustgauge.methods.trust.profiles import PAPER_NAMES, PUBLISHED, IssueOrder
from trustgauge.methods.trust.sensitivity import Factor, Variant, sensitivity
from trustgauge.methods.trust.voting import Voting

TABLE: dict[str, Any] = figures("chatbot_trust")
NAMES = {"B": "bias", "AL": "abuse", "CC": "complexity", "IL": "leakage"}
CORPORA = list(TABLE["table_II"])
PROFILES = list(TABLE["profiles"])
CELLS = [(corpus, profile) for corpus in CORPORA for profile in PROFILES]
MISSES = {("Ubuntu", "P_CU"), ("Insurance", "P_CU"), ("HR", "P_CU")}


def measured(corpus: str, cuts: tuple[float, float] = PUBLISHED_CUTS) -> dict[str, IssueValue]:
    """The issues of a row of Table II."""
    row = TABLE["table_II"][corpus]
    return {name: issue_at_score(float(row[letters]), cuts) for letters, name in NAMES.items()}


def order(profile: str) -> IssueOrder:
    return IssueOrder.parse(PUBLISHED[PAPER_NAMES[profile]].order)


def rated(
    corpus: str, profile: str, settings: Combination, cuts: tuple[float, float] = PUBLISHED_CUTS
) -> str:
    (level,) = outcome(order(profile), measured(corpus, cuts), settings)
    return level


def test_the_profiles_are_the_printed_ones() -> None:
    for profile, letters in TABLE["profiles"].items():
        assert order(profile) == IssueOrder.parse(letters)


def test_table_2_levels() -> None:
    found = {
        (corpus, letters): "LMH"[measured(corpus)[name].level]
        for corpus in CORPORA
        for letters, name in NAMES.items()
    }
    printed = {
        (corpus, letters): level
        for corpus in CORPORA
        for letters, level in TABLE["table_II"][corpus]["levels"].items()
    }
    assert found == printed
    assert len(found) == 16


@pytest.mark.parametrize("corpus", CORPORA)
def test_abusive_language_scores(corpus: str) -> None:
    """Truncated, not rounded, to four decimals: HR has .00138 and is printed .0013."""
    row, weights = TABLE["table_II"][corpus], TABLE["al_weights"]
    total = sum(row[kind] for kind in weights)
    score = sum(row[kind] * weight for kind, weight in weights.items()) / total
    assert score == pytest.approx(TABLE["derived"]["AL_unrounded"][corpus], abs=5e-7)
    assert math.floor(score * 10_000) == round(row["AL"] * 10_000)


def test_table_3_by_the_count_rule_but_for_three_cells() -> None:
    found = {cell: rated(*cell, PUBLISHED_RULE) for cell in CELLS}
    derived = TABLE["derived"]["rule_printed_bins"]
    assert found == {cell: derived["levels"][cell[0]][cell[1]] for cell in CELLS}
    misses = {cell for cell in CELLS if found[cell] != TABLE["table_III"][cell[0]][cell[1]]}
    assert misses == MISSES
    assert 16 - len(misses) == derived["matches"] == 13


@pytest.mark.parametrize("cuts", [(0.4231, 0.894), (0.45, 0.95), (0.5, 0.9), (0.5, 0.999)])
def test_table_3_under_the_documented_cuts(cuts: tuple[float, float]) -> None:
    for corpus, profile in CELLS:
        assert rated(corpus, profile, PUBLISHED_RULE, cuts) == TABLE["table_III"][corpus][profile]


@pytest.mark.parametrize("cuts", [(0.42, 0.9), (0.501, 0.9), (0.5, 0.89)])
def test_no_other_cuts_give_table_3(cuts: tuple[float, float]) -> None:
    assert any(
        rated(corpus, profile, PUBLISHED_RULE, cuts) != TABLE["table_III"][corpus][profile]
        for corpus, profile in CELLS
    )


def test_no_rule_on_levels_gives_table_3() -> None:
    """HR and Restaurant have equal levels, and different printed ratings for P_CU."""
    levels = [TABLE["table_II"][corpus]["levels"] for corpus in ("HR", "Restaurant")]
    assert levels[0] == levels[1]
    assert TABLE["table_III"]["HR"]["P_CU"] != TABLE["table_III"]["Restaurant"]["P_CU"]


def test_worked_example() -> None:
    worked = TABLE["worked_example"]
    issues = {
        NAMES[letters]: IssueValue.at("LMH".index(level)) for letters, level in worked["levels"].items()
    }
    ranked = IssueOrder.parse(sorted(worked["importance"], key=worked["importance"].__getitem__))
    result = explain(ranked, issues, PUBLISHED_RULE)
    assert result["points"] == worked["counts"]
    assert result["tied"] == ["L", "M"]
    assert result["not_counted"] == ["leakage"]
    assert result["levels"] == [worked["pessimistic"]]
    optimistic = Combination(rule="count", ties="optimistic")
    assert outcome(ranked, issues, optimistic) == (worked["optimistic"],)


@pytest.mark.parametrize("corpus", CORPORA)
def test_all_24_orders(corpus: str) -> None:
    result = all_orders(measured(corpus), PUBLISHED_RULE)
    assert result["levels"] == TABLE["derived"]["all_24_orders_printed_bins"][corpus]
    assert (result["orders"], result["of"], result["sampled"], result["open"]) == (24, 24, False, 0)


@pytest.mark.parametrize(("corpus", "profile"), CELLS)
def test_sound_combination(corpus: str, profile: str) -> None:
    level, risk = TABLE["derived"]["sound_with_cuts_0.33_0.67"][corpus][profile]
    result = explain(order(profile), measured(corpus, (0.33, 0.67)), Combination())
    assert result["levels"] == [level]
    assert result["mean"] == pytest.approx(risk, abs=5e-5)


def test_levels_of_utterances_in_figure_4() -> None:
    scores = np.array([float(score) for score, _ in TABLE["figure_4_utterance_scores"]])
    assert ["LMH"[place] for place in cutting.levels(scores, PUBLISHED_CUTS)] == [
        level for _, level in TABLE["figure_4_utterance_scores"]
    ]


def test_corpora_are_rated_by_the_user() -> None:
    """Table III varies the user only: type 4, the other factors untested."""
    users: tuple[Factor, ...] = ("users",)
    printed = TABLE["table_III"]["Ubuntu"]
    base = Variant((), "P_CU", printed["P_CU"], "rated")
    others = [Variant(users, name, level, "rated") for name, level in printed.items() if name != "P_CU"]
    result = sensitivity(base, others, "published")
    assert f"Type-{result['type']}" == TABLE["user_sensitive_type"]
    assert result["untested"] == ["model", "data", "combined"]


@pytest.mark.parametrize(("count", "percent"), TABLE["survey"]["counts_percent"])
def test_survey_percentages(count: int, percent: int, tmp_path: Path) -> None:
    """Of 51 people, `count` agree to an order; validated if more than half do."""
    people = TABLE["survey"]["n"]
    rows = [f"{'yes' if one < count else 'no'},privacy-first," for one in range(people)]
    file = tmp_path / "people.csv"
    file.write_text("agrees,profile,order\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (result,) = survey(file, SurveyOptions(Voting()))["validation"]
    assert (result["agree"]["count"], result["agree"]["n"]) == (count, people)
    assert round(100 * result["agree"]["share"]) == percent
    assert result["validated"]["published"] == (percent > 50)
    assert result["validated"]["sound"] == (result["agree"]["low"] > 0.5)
