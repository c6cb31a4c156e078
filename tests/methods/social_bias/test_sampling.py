"""Samples of questions: without repetition, growing, balanced, whole tuples; and their coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.social_bias.rows import comparable, group, groups, prop
from trustgauge.errors import MethodError
from trustgauge.methods.social_bias.combinatorial_index import pair_at
from trustgauge.methods.social_bias.questions import Catalogue

ANTONYMS = (
    comparable("poor", antonym="rich"),
    prop("steal", antonym="give"),
    comparable("rich", ("financial-status", "social-status"), antonym="poor"),
    prop("give", antonym="steal"),
    prop("lone", categories=("health",)),
    prop("onesided", categories=("belief",), antonym="lone"),
)


def catalogue(*, rule: str = "sound") -> Catalogue:
    invented = tuple(group(f"c{n}", "attribute-0", control=True) for n in range(3))
    return Catalogue((*groups(5, 3), *invented), ANTONYMS, "en", rule)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_smaller_sample_begins_a_larger_one(
    one: int, other: int, seed: int, stratified: bool, antonyms: bool
) -> None:
    made = catalogue()
    small, large = (
        made.sample(m, seed, stratified=stratified, antonyms=antonyms) for m in sorted((one, other))
    )
    assert large[: len(small)].tolist() == small.tolist()
    assert len(set(large.tolist())) == len(large)


@pytest.mark.parametrize("stratified", [True, False])
@pytest.mark.parametrize("antonyms", [True, False])
@pytest.mark.parametrize("rule", ["sound", "published"])
def test_the_largest_sample_is_everything(stratified: bool, antonyms: bool, rule: str) -> None:
    made = catalogue(rule=rule)
    for m in (made.units(antonyms=antonyms), 10**6):
        drawn = made.sample(m, 3, stratified=stratified, antonyms=antonyms)
        assert sorted(drawn.tolist()) == list(range(made.total))
    fewer = made.sample_tuples(made.units(antonyms=antonyms) - 1, 3, stratified=stratified, antonyms=antonyms)
    assert made.tuples_total - len(fewer) in (1, 2)


@pytest.mark.parametrize("stratified", [True, False])
def test_what_belongs_together_is_asked_together(stratified: bool) -> None:
    made = catalogue()
    drawn = made.questions(made.sample(12, 5, stratified=stratified))
    for (kind, a, b), rows in drawn.group_by("tuple", "group_a", "group_b"):
        said = set(rows["property"])
        assert ("poor" in said) == ("rich" in said)
        assert ("steal" in said) == ("give" in said)
        for name in said:
            forms = rows.filter(pl.col("property") == name)["form"].to_list()
            whole = {"absolute": 10 if name in ("poor", "rich") else 4, "relative": 4}[str(kind)]
            assert len(forms) == len(set(forms)) == whole, (kind, a, b, name)
    assert 12 <= len(drawn.select("tuple", "group_a", "group_b", "property").unique()) <= 24


def test_without_antonyms_a_unit_is_a_tuple() -> None:
    made = catalogue()
    assert len(made.sample_tuples(17, 5, antonyms=False)) == 17
    assert made.units(antonyms=False) == made.tuples_total
    # Two mutual pairs of antonyms; the one-sided one stands alone like the other.
    assert made.units() == made.tuples_total * 4 // 6


def test_numbers_of_tuples_and_their_questions_agree() -> None:
    made = catalogue()
    every = [made.questions_of(np.array([number])) for number in range(made.tuples_total)]
    assert np.concatenate(every).tolist() == list(range(made.total))
    key = ("tuple", "group_a", "group_b", "property")
    for numbers in every[:: len(every) // 20]:
        assert len(made.questions(numbers).select(key).unique()) == 1


def strata(rows: pl.DataFrame) -> pl.DataFrame:
    """Tuples of each kind, attribute, control and first category."""
    tuples = rows.unique(["tuple", "group_a", "group_b", "property"])
    cell = pl.col("categories").list.first().alias("category")
    return tuples.group_by("tuple", "attribute", "control", cell).len()


def test_strata_take_turns_and_invented_groups_every_fourth() -> None:
    made = Catalogue(
        (*groups(40, 12), *(group(f"c{n}", "attribute-0", control=True) for n in range(40))),
        tuple(prop(f"p{n}", categories=("crime",) if n < 30 else ("health",)) for n in range(40)),
    )
    # Of each kind of tuple four strata of real groups and two of invented ones; 4 rounds are 36 units.
    counts = strata(made.questions(made.sample(36 * 10, 9)))
    assert len(counts) == 12
    assert counts.filter(~pl.col("control"))["len"].to_list() == [40] * 8
    assert counts.filter("control")["len"].to_list() == [10] * 4
    # A cut round takes one unit more of some strata, by lot.
    some = strata(made.questions(made.sample(3, 9)))
    assert some["len"].to_list() == [1, 1, 1]
    lots = {tuple(sorted(made.sample(3, seed).tolist())) for seed in range(20)}
    assert len(lots) > 15


def test_a_stratum_that_is_used_up_leaves_its_turns_to_the_others() -> None:
    made = Catalogue(
        groups(30),
        (prop("p"), *(prop(f"q{n}", categories=("health",)) for n in range(20))),
        tuples=("relative",),
    )
    counts = strata(made.questions(made.sample(200, 1)))
    assert dict(counts.select("category", "len").iter_rows()) == {"crime": 30, "health": 170}


def test_without_strata_every_tuple_is_as_likely() -> None:
    made = Catalogue(groups(40, 10), tuple(prop(f"p{n}") for n in range(30)), tuples=("absolute",))
    drawn = made.questions(made.sample(5000, 2, stratified=False))
    share = drawn.filter(pl.col("form") == "c1")["attribute"].eq("attribute-0").mean()
    # 780 of 825 pairs: .9455; five standard deviations are .016.
    assert isinstance(share, float)
    assert abs(share - 780 / 825) < 0.016


def test_a_sample_within_a_number_of_questions() -> None:
    made = catalogue()
    whole = made.sample(10**6, 4)
    for budget in range(0, 200):
        sample = made.sample_within(budget, 4)
        assert budget - 10 < len(sample) <= budget
        assert sample.tolist() == whole[: len(sample)].tolist()
    assert made.sample_within(made.total, 4).tolist() == whole.tolist()


def asked_of(made: Catalogue, kind: Any, tuples: np.ndarray) -> dict[str, list[int]]:
    """How often each pair (or single group), each group and each property is asked about by these tuples."""
    layout = made.layouts[kind]
    items, props = np.divmod(tuples - layout.first_tuple, len(made.properties))
    members = np.concatenate(pair_at(items)) if kind == "absolute" else items
    sizes = {"items": int(layout.items[0]), "groups": len(made.groups), "properties": len(made.properties)}
    numbers = {"items": items, "groups": members, "properties": props}
    return {name: np.bincount(numbers[name], minlength=size).tolist() for name, size in sizes.items()}


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([("absolute", 2), ("relative", 2), ("relative", 13)]),
    st.integers(0, 13),
    st.lists(st.integers(1, 15), min_size=1, max_size=8),
    st.integers(0, 2**32),
    st.data(),
)
def test_groups_pairs_and_properties_come_equally_often(
    tuples: tuple[Any, int], more: int, sizes: list[int], seed: int, data: st.DataObject
) -> None:
    """Of 12 groups 35 of 66 pairs were ever asked about, and one group ten times as often as another."""
    kind, many = tuples[0], tuples[1] + more
    names = [(f"p{place}-{n}", f"c{place}") for place, size in enumerate(sizes) for n in range(size)]
    made = Catalogue(groups(many), tuple(prop(name, categories=(of,)) for name, of in names), tuples=(kind,))
    whole = made.sample_tuples(made.tuples_total, seed)
    assert sorted(whole.tolist()) == list(range(made.tuples_total))
    counts = asked_of(made, kind, whole[: data.draw(st.integers(1, made.tuples_total))])
    apart = {name: max(one) - min(one) for name, one in counts.items()}
    items = len(counts["items"])
    crossed = kind == "relative" and many <= 12
    # Where a sample ends within a turn, categories that are even by themselves may all meet the same pair.
    by_themselves = crossed or all(size >= items and size % items <= 1 for size in sizes)
    assert apart["items"] <= (len(sizes) if by_themselves else 1)
    assert apart["groups"] <= (2 * len(sizes) if by_themselves else 4)
    if not crossed and max(counts["properties"]) < items:  # no category is used up yet
        for category in {of for _, of in names}:
            within = [n for n, (_, of) in zip(counts["properties"], names, strict=True) if of == category]
            assert max(within) - min(within) <= 1


def test_a_plan_of_four_groups_asks_what_it_always_did() -> None:
    """Its pairs go evenly into the properties of a category, so the order of these has not changed."""
    made = Catalogue(groups(4), tuple(prop(f"p{n}", categories=("crime",)) for n in range(13)))
    assert made.sample_tuples(10, 7).tolist() == [8, 81, 2, 94, 43, 107, 64, 120, 68, 98]


def test_coverage_counts_questions_in_each_category_of_their_property() -> None:
    made = catalogue()
    indices = made.sample(20, 8)
    rows = made.questions(indices)
    key = ["tuple", "attribute", "control", "category"]

    def counted(frame: pl.DataFrame, name: str) -> pl.DataFrame:
        return frame.explode("categories").rename({"categories": "category"}).group_by(key).len(name)

    every = counted(made.questions(np.arange(made.total)), "total").with_columns(
        pl.col("total").cast(pl.Int64)
    )
    expected = every.join(counted(rows, "asked"), on=key, how="left").with_columns(
        pl.col("asked").fill_null(0).cast(pl.Int64)
    )
    found = made.coverage(np.concatenate([indices, indices[:5]]))
    assert found.columns == [*key, "asked", "total"]
    # A cell that has no question at all is listed with 0 of 0.
    shown = found.filter(pl.col("total") > 0).sort(key)
    assert shown.equals(expected.select(found.columns).sort(key))


def test_faults() -> None:
    with pytest.raises(MethodError, match="Got -1"):
        catalogue().sample(-1, 0)
    with pytest.raises(MethodError, match="no tuple has this number"):
        catalogue().questions_of(np.array([10**9]))
