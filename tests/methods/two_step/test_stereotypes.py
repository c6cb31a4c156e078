"""Changes by occupation: counted, held against shares, listed where they are sure (two-step 1.10)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from trustgauge.errors import PlanError
from trustgauge.methods.conformance import answers
from trustgauge.methods.two_step import view_stereotypes
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.stereotypes import movement
from trustgauge.records import Rating
from trustgauge.reports import sentences

ITEMS = settings().table.item_list
SHARES = {item: round(0.05 + 0.9 * place / (len(ITEMS) - 1), 3) for place, item in enumerate(ITEMS)}
FEW, MANY = set(ITEMS[:30]), set(ITEMS[-30:])
GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "two-step.md"


def sorting(
    shares: Mapping[str, float] = SHARES, few: Collection[str] = FEW, many: Collection[str] = MANY
) -> Rating:
    """A translator that turns she into he for a few items, and he into she for others: thirty each."""
    method = settings(texts=300, item_shares=shares)
    probes = pl.concat(list(method.design(5, "translate")))
    table = method.table

    def back(row: dict[str, Any]) -> str:
        came = [
            0 if item in few else 1 if item in many else value
            for item, value in zip(row["items"], row["values"], strict=True)
        ]
        pairs = zip(row["items"], came, strict=True)
        return " ".join(table.write(row["pattern"], item, table.values[value]) for item, value in pairs)

    asked = answers(probes, [back(row) for row in probes.iter_rows(named=True)])
    (found,) = method.rate(method.summarise(method.score(asked)), 3)
    return found


@pytest.fixture(scope="module")
def sorted_out() -> Rating:
    return sorting()


def details_of(rating: Rating) -> dict[str, Any]:
    return dict(rating.parts[0].details["stereotypes"])


def test_a_translator_that_keeps_the_balance_and_sorts_people_says_so(sorted_out: Rating) -> None:
    assert (sorted_out.level, sorted_out.state) == ("DSBS", "rated")
    assert "two-step.stereotypes" in {one.code for one in sorted_out.parts[0].reasons}
    found = details_of(sorted_out)
    assert found["p_holm"] < 0.001
    assert found["against"][0] == 0
    assert found["towards"][0] == sum(sum(one["turned"]) for one in found["items"])


def test_the_example_of_the_guide_has_enough_occupations() -> None:
    """Who always follows the usual gender turns each half alike: of five, 2 of 10 orders are as clear."""
    block = re.search(r"\[experiments\.item_shares\]\n(.*?)```", GUIDE.read_text("utf-8"), re.S)
    assert block is not None
    shares = tomllib.loads(block[1])
    for number, said in ((len(shares), True), (5, False)):
        ordered = sorted(shares, key=lambda item: shares[item])
        kept = [*ordered[: number // 2], *ordered[number // 2 - number :]]
        few, many = ({item for item in kept if (shares[item] > 0.5) == women} for women in (False, True))
        part = sorting({item: shares[item] for item in kept}, few, many).parts[0]
        assert ("two-step.stereotypes" in {one.code for one in part.reasons}) == said


def keeping(texts: int, shares: Mapping[str, float]) -> Rating:
    """Of a translator that changes nothing."""
    method = settings(texts=texts, stereotypes=True, item_shares=shares)
    probes = pl.concat(list(method.design(5, "translate")))
    asked = answers(probes, probes["message"].to_list())
    return method.rate(method.summarise(method.score(asked)), 3)[0]


def test_occupations_that_are_not_compared_are_named_with_the_texts_that_would_do() -> None:
    shares = dict(list(SHARES.items())[::15])
    part = keeping(235, shares).parts[0]
    (reason,) = [one for one in part.reasons if one.code == "two-step.items-left-out"]
    shown = {one["item"] for one in part.details["stereotypes"]["items"]} & set(shares)
    assert len(shown) >= 5
    assert sorted(set(shares) - shown) == reason.facts["items"] != []
    assert sentences.reason(reason).startswith("Fewer than 10 mentions of ")
    enough = keeping(int(str(reason.facts["texts"])), shares).parts[0]
    assert not {one.code for one in enough.reasons} & {"two-step.items-left-out", "two-step.too-few-by-item"}


@pytest.mark.parametrize(
    ("texts", "shares"), [(60, SHARES), (190, dict(list(SHARES.items())[::15])), (60, {})]
)
def test_too_few_texts_to_see_occupations_say_how_many_are_needed(
    texts: int, shares: dict[str, float]
) -> None:
    found = keeping(texts, shares)
    (facts,) = [one.facts for one in found.parts[0].reasons if one.code == "two-step.too-few-by-item"]
    assert facts["enough"] < (facts["least"] if shares else 1)
    assert ("least" in facts) == bool(shares)
    assert (found.state, found.level) == ("rated", "DSBS")
    said = map(sentences.reason, found.parts[0].reasons)
    assert any(f"About {facts['texts']} texts per block would do" in one for one in said)
    enough = keeping(int(str(facts["texts"])), shares)
    assert "two-step.too-few-by-item" not in [one.code for one in enough.parts[0].reasons]
    assert len(enough.parts[0].details["stereotypes"]["items"]) >= (8 if shares else 1)


def test_tau_is_that_of_scipy(sorted_out: Rating) -> None:
    items = details_of(sorted_out)["items"]
    reference = stats.kendalltau([one["share"] for one in items], [movement(one) for one in items])
    assert details_of(sorted_out)["tau"] == pytest.approx(reference.statistic)


def test_the_words_that_change_for_sure_are_those_that_change(sorted_out: Rating) -> None:
    changed = details_of(sorted_out)["changed"]
    assert {one["item"] for one in changed} <= FEW | MANY
    assert len({one["item"] for one in changed}) > 50
    assert all(1 <= len(one["sentences"]) <= 3 and one["item"] in one["sentences"][0] for one in changed)
    assert {(one["from"], one["item"] in FEW) for one in changed} == {("She", True), ("He", False)}


def test_the_headline_says_it(sorted_out: Rating) -> None:
    rating: Any = {
        "parts": [
            {"reasons": [{"code": view_stereotypes.CODE}], "details": {"stereotypes": details_of(sorted_out)}}
        ],
        "issue": {"attribute": "gender"},
    }
    templates = {
        "stereotypes": "{towards} of {changes}{place}",
        "word": "{from}, {times} of {n}: {item}{more}",
    }
    words, facts = view_stereotypes.direction(rating, templates)
    assert words.format(**facts).split(" of ")[0] == facts["changes"]
    # Without a stereotype the word that changes most surely is named.
    rating["parts"][0]["reasons"] = []
    rating["overall"] = {"level": "DSBS"}
    words, facts = view_stereotypes.direction(rating, templates)
    changed = details_of(sorted_out)["changed"]
    surest = min(changed, key=lambda one: float(one["q"]))
    assert words.format(**facts) == (
        f"{surest['from'].lower()}, {surest['turned']} of {surest['n']}: {surest['item']}"
        f"; {len(changed) - 1} other words change significantly, too"
    )
    rating["overall"] = {"level": "UCS"}
    assert view_stereotypes.direction(rating, templates) == ("", {})


@pytest.mark.parametrize(
    "rates", [np.eye(3), shifted(0.2), np.array([(HE + SHE) / 2] * 3), np.array([OTHER] * 3)]
)
def test_services_that_do_not_look_at_the_occupation_do_not_stereotype(rates: Any) -> None:
    """Ten runs each: at .05, more than three would be chance in 0.1 % of the cases."""
    method = settings(texts=100, item_shares=SHARES)
    found = [method.rate(summary(method, rates, seed=seed), seed)[0] for seed in range(10)]
    assert (
        sum("two-step.stereotypes" in {one.code for one in rating.parts[0].reasons} for rating in found) <= 3
    )


def test_without_the_option_nothing_changes() -> None:
    plain, more = settings(texts=60), settings(texts=60, stereotypes=True)
    rows = summary(plain, shifted(0.3))
    (one,), (other,) = plain.rate(rows, 2), more.rate(rows, 2)
    assert "stereotypes" not in one.parts[0].details
    assert one.certainty == other.certainty
    assert details_of(other)["tau"] is None
    assert details_of(other)["items"] == [] or details_of(other)["items"][0]["share"] is None


def test_what_has_no_rates_by_item_is_refused() -> None:
    with pytest.raises(PlanError, match="rates by item"):
        settings(rule="published", stereotypes=True)
    with pytest.raises(PlanError, match="too few items"):
        settings(item_shares={"doctor": 0.4, "nurse": 0.9})
    with pytest.raises(PlanError, match=r'item_shares\.nurs: no item of the attribute.*Did you mean "nurse"'):
        settings(item_shares={**SHARES, "nurs": 0.9})
    assert isinstance(settings(item_shares=SHARES), TwoStep)
