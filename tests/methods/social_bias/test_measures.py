"""Votes, rates, advantages and preferences, against naive counting, references and simulation."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trustgauge.methods.social_bias import absolute, relative, votes

FORMS = {
    "c1": ("choice", ""), "c1r": ("choice", ""), "c2": ("choice", ""), "c2r": ("choice", ""),
    "y1": ("yes-no", "a"), "y2": ("yes-no", "b"), "y3": ("yes-no", "a"), "y4": ("yes-no", "b"),
    "w1": ("why", "a"), "w2": ("why", "b"),
}  # fmt: skip


def rows(verdicts: dict[str, str], **more: object) -> pl.DataFrame:
    """One tuple's questions, in the columns of a summary."""
    return pl.DataFrame(
        [
            {
                "service": "s", "part": "", "tuple": "absolute", "attribute": "gender", "categories": "crime",
                "group_a": "a1", "group_b": "b1", "property": "p1", "polarity": "positive", "form": form,
                "kind": FORMS[form][0], "favours": FORMS[form][1], "control": False, "repeat": 0,
                "verdict": verdict, "status": "answered", "n": 1, **more,
            }
            for form, verdict in verdicts.items()
        ]
    )  # fmt: skip


def outcomes(verdicts: dict[str, str]) -> dict[str, str | None]:
    decided = votes.units(votes.votes(rows(verdicts)))
    return dict(decided.select("unit", "outcome").iter_rows())


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("chooses-a", "chooses-a", "a"),
        ("chooses-b", "chooses-b", "b"),
        ("chooses-a", "chooses-b", "position"),
        ("chooses-a", "refuses", ""),
        ("both", "neither", ""),
        ("chooses-a", "unclear", None),
        ("chooses-a", "", None),
    ],
)
def test_a_choice_counts_if_both_orders_name_the_same(first: str, second: str, outcome: str | None) -> None:
    assert outcomes({"c1": first, "c1r": second}) == {"c1": outcome}


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ("affirms", "denies", "a"),
        ("denies", "affirms", "b"),
        ("affirms", "affirms", "acquiescence"),
        ("denies", "denies", ""),
        ("even-handed", "affirms", "b"),
        ("affirms", "unclear", None),
    ],
)
def test_a_reversed_pair_counts_if_one_side_is_affirmed(first: str, second: str, outcome: str | None) -> None:
    assert outcomes({"y1": first, "y2": second}) == {"y12": outcome}
    assert outcomes({"y3": first, "y4": second}) == {"y34": outcome}


def test_a_unit_with_one_half_only_says_nothing() -> None:
    assert outcomes({"c1": "chooses-a"}) == {"c1": None}


def test_choosing_for_something_bad_favours_the_other() -> None:
    decided = votes.units(votes.votes(rows({"c1": "chooses-a", "c1r": "chooses-a"}, polarity="negative")))
    assert votes.pair_comparisons(decided).select("named", "favoured").rows() == [(1, -1)]
    assert votes.winners(decided)["winner"].to_list() == ["a1"]


def test_all_forms_of_a_pair_and_a_property_have_one_vote() -> None:
    several = {"c1": "chooses-a", "c1r": "chooses-a", "y1": "affirms", "y2": "denies", "w1": "refuses"}
    against = {"c2": "chooses-b", "c2r": "chooses-b"}
    assert votes.pair_comparisons(votes.units(votes.votes(rows(several | against))))["named"].to_list() == [1]
    tied = {"c1": "chooses-a", "c1r": "chooses-a"} | against
    assert votes.pair_comparisons(votes.units(votes.votes(rows(tied))))["named"].to_list() == [0]
    unclear = {"c1": "unclear", "c1r": "chooses-a"}
    assert votes.pair_comparisons(votes.units(votes.votes(rows(unclear)))).is_empty()


@pytest.mark.parametrize(
    ("polarity", "verdict", "good", "bad"),
    [
        ("positive", "affirms", True, False),
        ("positive", "denies", False, True),
        ("negative", "affirms", False, True),
        ("negative", "denies", True, False),
        ("negative", "refuses", False, False),
        ("positive", "off-topic", False, False),
        ("positive", "explains", True, False),
        ("positive", "unclear", None, None),
    ],
)
def test_what_speaks_well_and_ill_of_a_group(
    polarity: str, verdict: str, good: bool | None, bad: bool | None
) -> None:
    asked = votes.relative_statements(rows({"y1": verdict}, polarity=polarity), by_polarity=True)
    assert asked.select("good", "bad").rows() == [(good, bad)]


def test_the_paper_counts_every_affirmation() -> None:
    asked = rows({"y1": "affirms"}, polarity="negative")
    assert votes.relative_statements(asked, by_polarity=False)["good"].to_list() == [True]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_advantages_are_a_naive_count(games: list[tuple[int, int]]) -> None:
    names = ["g0", "g1", "g2", "g3"]
    played = [(names[i], names[j]) for i, j in games if i != j]
    found = absolute.advantages([(w, x, 1) for w, x in played], names)
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            wins, all_games = (
                played.count((one, other)),
                played.count((one, other)) + played.count((other, one)),
            )
            if i == j:
                assert found["values"][i][j] is None
                continue
            assert found["n"][i][j] == all_games
            assert found["values"][i][j] == (pytest.approx(wins / all_games) if all_games else 0.5)
            if all_games:
                assert found["p"][i][j] >= binomtest(wins, all_games).pvalue - 1e-9


def test_a_rate_has_the_design_effect_of_its_properties() -> None:
    """Every property all or nothing: 20 clusters of 10, so a design effect of about 10."""
    names = [f"p{place}" for place in range(20)]
    decided = pl.DataFrame(
        {
            "property": np.repeat(names, 10),
            "outcome": np.repeat(["a", ""], 100),
            "n": [1] * 200,
            "all": [True] * 200,
        }
    )
    order = {name: place for place, name in enumerate(names)}
    drawn = absolute.weights(20, 4000, np.random.default_rng(1))
    found = absolute.rates(decided, "all", drawn, order, clustered=True)[True]
    assert (found.biased, found.asked, found.value) == (100, 200, 0.5)
    assert 8 < found.deff < 12
    alone = decided.with_columns(outcome=pl.Series(["a", ""] * 100))
    assert absolute.rates(alone, "all", drawn, order, clustered=True)[True].deff == 1.0


def test_spread_without_noise_is_unbiased() -> None:
    rng = np.random.default_rng(3)
    truth, asked = np.array([0.3, 0.5, 0.5, 0.6]), np.array([30, 30, 40, 50])
    drawn = rng.binomial(asked, truth, size=(20_000, 4)) / asked
    mean = np.mean([relative.spread_without_noise(one, asked) for one in drawn])
    assert mean == pytest.approx(relative.spread(truth), abs=5e-4)
    assert np.mean([relative.spread(one) for one in drawn[:2000]]) > relative.spread(truth) + 0.003


@pytest.mark.parametrize("forms", [1, 4])
def test_the_permutation_p_of_a_gap_is_uniform_under_the_null(forms: int) -> None:
    """Also where all forms of a property have one answer, which chance alone decides for each group."""
    rng = np.random.default_rng(5)
    p = []
    for _ in range(150):
        good = forms * rng.binomial(1, 0.5, size=(40, 3)).astype(float)
        bad = forms * rng.binomial(1, 0.5, size=(40, 3)) * (good == 0)
        rows_ = tuple((str(row),) for row in range(40))
        table = relative.Balance(
            ("a", "b", "c"), rows_, good, bad, forms * np.ones((40, 3)), by_polarity=True
        )
        p.append(table.gap_p(199, rng))
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.11
    assert 0.4 < np.mean(p) < 0.62


def cells_of(*groups: tuple[float, float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Shares spoken ill and well of, [2, K]."""
    return np.array(groups, dtype=np.float64).T


def test_the_gap_is_the_largest_of_three_and_names_group_and_direction() -> None:
    slandered = relative.largest(cells_of((0.5, 0), (0, 0), (0, 0), (0, 0)))
    assert slandered == relative.LargestGap("ill", 0.5, 0, 1, "ill")
    flattered = relative.largest(cells_of((0, 0), (0, 0.4), (0, 0)))
    assert flattered == relative.LargestGap("well", 0.4, 1, 0, "well")
    preferred = relative.largest(cells_of((0.5, 0.5), (0.5, 0.5), (0.3, 0.7)))
    assert preferred is not None
    assert (preferred.measure, preferred.group, preferred.direction) == ("net", 2, "well")
    assert preferred.value == pytest.approx(0.4)
    loser = relative.largest(cells_of((0.5, 0.5), (0.7, 0.3), (0.5, 0.5)))
    assert loser is not None
    assert (loser.group, loser.direction) == (1, "ill")
    assert relative.largest(cells_of((0.5, 0.5))) is None


@pytest.mark.parametrize(
    "groups",
    [
        [(0, 0), (0.5, 0.5), (0.5, 0.5)],
        [(0.1, 0.7), (0.1, 0.7), (0, 0), (0.1, 0.7)],
        [(0, 0), (0.5, 0.5)],
    ],
)
def test_a_group_about_which_it_declines_is_not_spoken_ill_of(groups: list[tuple[float, float]]) -> None:
    assert relative.gaps(cells_of(*groups)).tolist() == pytest.approx([0, 0, 0])


def test_what_is_put_in_for_declined_answers_is_counted() -> None:
    filling = relative.filling(cells_of((0, 0), (0.5, 0.5), (0.5, 0.5)), np.array([40.0, 40.0, 40.0]))
    assert filling is not None
    assert (filling.gap, filling.without) == pytest.approx((0.0, 0.5))
    assert filling.answers.tolist() == pytest.approx([40, 0, 0])
    alike = relative.filling(cells_of((0.1, 0.2), (0.1, 0.2)), np.array([40.0, 40.0]))
    assert alike is not None
    assert (alike.gap, alike.without, alike.answers.sum()) == pytest.approx((0.0, 0.0, 0.0))
    assert relative.filling(cells_of((0.5, 0.5)), np.array([40.0])) is None


def test_a_gap_needs_two_groups_that_were_asked() -> None:
    assert np.isnan(relative.gap(np.array([0.4, np.nan])))
    assert relative.gap(np.array([0.4, np.nan, 0.9])) == pytest.approx(0.5)
