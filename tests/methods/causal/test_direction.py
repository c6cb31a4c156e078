"""Which class is said to be scored lower, of services that treat words unlike."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.causal.truths import Scorer, by_word, experiment, marks
from tests.reports import causal_fixtures
from trustgauge.methods.causal.view import CausalView
from trustgauge.records import Rating
from trustgauge.reports import label, sentences
from trustgauge.reports.document import document

QUICK: dict[str, Any] = {"resamples": 300, "permutations": 199}


def by_valence(negative: float, positive: float, spread: float = 0.02) -> Scorer:
    """The word at half its size; women are moved by its valence."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        woman = (probes["gender"] == "female").cast(pl.Float64)
        happy = (probes["valence"] == "positive").cast(pl.Float64)
        noise = pl.Series(rng.normal(0, spread, probes.height))
        return by_word(probes, rng) * 0.5 + woman * (happy * positive + (1 - happy) * negative) + noise

    return score


def seen(scorer: Scorer, groups: Sequence[int] = (1,)) -> tuple[Any, pl.DataFrame]:
    """The rating as reports have it, and its texts."""
    method = experiment({"it": scorer}, **QUICK, groups=list(groups))
    asked = marks(method, {"it": scorer})
    ratings: list[Rating] = method.rate(method.summarise(asked), 1)
    return document(causal_fixtures.run(ratings), ratings)["ratings"][0], asked


@pytest.mark.parametrize(
    ("negative", "positive", "said"),
    [
        (-0.3, -0.3, "It scores women lower than men."),
        (0.3, 0.3, "It scores men lower than women."),
        (-0.3, 0.3, "{} lower than {} with negative words, and higher with positive ones."),
        (0.3, -0.3, "{} lower than {} with positive words, and higher with negative ones."),
        (-0.3, 0.0, "It scores women lower than men."),
    ],
)
def test_a_direction_is_said_of_all_words_only_if_it_is_the_same_with_all(
    negative: float, positive: float, said: str
) -> None:
    rating, _ = seen(by_valence(negative, positive))
    assert rating["state"] == "rated"
    pair = [
        {"male": "men", "female": "women"}[one] for one in rating["parts"][0]["details"]["effect"]["pair"]
    ]
    found = sentences.direction(rating)
    if (
        "{}" in said
    ):  # which class has the largest effect is a matter of noise, and so the words that are named
        both = {
            f"It scores {said.format('women', 'men')}",
            f"It scores {_turned(said).format('men', 'women')}",
        }
        assert found in both
        assert found.startswith(f"It scores {pair[0]} lower")
    else:
        assert found == said
    assert sentences.headline(rating).startswith(found)
    assert found in label.describe(rating)


def _turned(said: str) -> str:
    return said.replace("negative", "*").replace("positive", "negative").replace("*", "positive")


def test_words_of_one_kind_are_not_named_where_signs_differ_otherwise() -> None:
    rating, _ = seen(by_valence(-0.3, 0.3))
    rating["parts"][0]["details"].pop("valence")  # as in ratings of earlier versions
    assert sentences.direction(rating).endswith(" with some words, and higher with others.")


def evidence(asked: pl.DataFrame) -> pl.DataFrame:
    """What was asked as the evidence of a report has it."""
    about = pl.concat_list("gender", "race", "word").alias("values_in")
    texts = {"sent": pl.col("message"), "back": pl.col("score").cast(pl.String)}
    texts["values_out"] = pl.concat_list(pl.col("score").round(4).cast(pl.String))
    return asked.select(
        pl.lit("it").alias("service"), "part", "block", "frame", "word", "score", about, **texts
    )


def test_the_widest_pair_of_a_scorer_with_noise_is_said_to_be_the_widest() -> None:
    """It was quoted as if women scored lower by so much: six times the mean difference."""
    rating, asked = seen(by_valence(-0.2, -0.2, spread=0.3))
    first, second = islice(CausalView().quotations(rating, evidence(asked)), 2)
    effect = rating["parts"][0]["details"]["effect"]
    (test,) = next(
        one["tests"] for one in rating["parts"][0]["details"]["sets"] if one["set"] == effect["set"]
    )
    mean = f"{abs(test['ate']['value']):.2f}"
    assert first.why.endswith(f" This is the widest difference; it is {mean} on average.")
    assert "widest" not in second.why


def test_of_a_scorer_without_noise_no_mean_is_said() -> None:
    rating, asked = seen(by_valence(-0.3, -0.3, spread=0))
    first = next(iter(CausalView().quotations(rating, evidence(asked))))
    assert first.why.endswith("” scores −0.30.")


def test_texts_are_quoted_with_the_scores_that_they_got() -> None:
    """Of stars from 1 to 5 the quotation said "Answer −0.60" where the service had answered 1.8."""
    rating, asked = seen(by_valence(-0.3, -0.3, spread=0))
    rating["service"]["key"] = "it"
    rating["method"]["options"]["score_range"] = [1, 5]
    view, usual = CausalView(), evidence(asked).sort("score")
    rows = view.prepare_evidence([rating], usual)
    assert rows["score"].to_list() == pytest.approx([3 + 2 * one for one in usual["score"]])
    assert rows["values_out"].to_list()[0] == [f"{rows['score'][0]:.1f}"]
    first = next(iter(view.quotations(rating, rows)))
    assert (first.back.quote, first.why.rsplit(" ", 2)[1:]) == ("1.80", ["scores", "2.40."])
    other = usual.with_columns(service=pl.lit("another"))
    assert view.prepare_evidence([rating], other).equals(other)


def test_texts_of_both_kinds_are_quoted_where_the_direction_depends_on_the_word() -> None:
    rating, asked = seen(by_valence(-0.3, 0.3))
    rows = evidence(asked)
    quoted = list(islice(CausalView().quotations(rating, rows), 4))
    assert [one.back.quote[0] for one in quoted].count("−") == 2  # half with negative words
    scores = dict(zip(rows["sent"], rows["values_in"], strict=True))
    genders = {(one.back.quote[0] == "−", scores[one.sent.quote][0]) for one in quoted}
    assert genders == {(True, "female"), (False, "male")}


def lower_by(shift: float, **of: str) -> Scorer:
    """The word at half its size, lower by `shift` for persons of these classes."""

    def score(probes: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
        mine = probes.select(pl.all_horizontal(pl.col(name) == one for name, one in of.items())).to_series()
        return by_word(probes, rng) * 0.5 - mine.cast(pl.Float64) * shift

    return score


def test_a_class_of_race_and_gender_is_said_in_words_and_quoted() -> None:
    """It was "African-American female lower than European male", and no text was quoted."""
    rating, asked = seen(lower_by(0.3, race="African-American", gender="female"), groups=(3,))
    said = sentences.direction(rating)
    assert said.startswith("It scores African-American women lower than ")
    assert said.endswith(" (Group 3: race and gender).")
    quoted = list(islice(CausalView().quotations(rating, evidence(asked)), 3))
    assert len(quoted) == 3
    classes = {tuple(one[:2]) for one in _classes(quoted, evidence(asked))}
    assert classes == {("female", "African-American")}


def test_a_race_alone_is_said_of_persons() -> None:
    """It was "African-American lower than European"."""
    rating, _ = seen(lower_by(0.3, race="African-American"), groups=(3,))
    said = sentences.direction(rating)
    assert said == "It scores African-American persons lower than European persons (Group 3: race)."


def test_a_text_is_quoted_beside_one_that_differs_in_nothing_but_the_class() -> None:
    """A European woman stood beside an African-American man where nothing but gender was said to change."""
    rating, asked = seen(lower_by(0.3, gender="female"), groups=(3,))
    assert "(Group 3: gender)" in sentences.direction(rating)
    rows = evidence(asked).with_row_index("n").sort(pl.col("n").hash(7)).drop("n")
    of = dict(zip(rows["sent"], rows["values_in"], strict=True))
    for one in islice(CausalView().quotations(rating, rows), 20):
        other = one.why.removeprefix("“").partition("”")[0]
        assert of[one.sent.quote][1] == of[other][1], (one.sent.quote, other)


def _classes(quoted: Sequence[Any], rows: pl.DataFrame) -> list[list[str]]:
    of = dict(zip(rows["sent"], rows["values_in"].to_list(), strict=True))
    return [of[one.sent.quote] for one in quoted]
