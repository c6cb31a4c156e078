"""Evidence about groups can be filtered by attribute, group, category and kind of question."""

from __future__ import annotations

import re
from typing import Any

import polars as pl

from tests.reports import fixtures, social_fixtures
from tests.reports.social_fixtures import SLUR
from trustgauge.methods.social_bias import view_evidence
from trustgauge.methods.social_bias.view import facets
from trustgauge.reports import html
from trustgauge.reports.components import Facet, marks
from trustgauge.reports.document import document
from trustgauge.reports.html import Limits, report

ONE = social_fixtures.all_states()
TOLD: Any = document(social_fixtures.run([ONE]), [ONE])
ROWS = view_evidence.prepare_evidence(TOLD["ratings"], social_fixtures.evidence())
FOUND = {one.key: one for one in facets(TOLD["ratings"], ROWS)}
PAGE = report(TOLD, social_fixtures.evidence())


def chosen(facet: Facet, key: str) -> pl.Series:
    """The rows that the page's script keeps for a value."""
    place = next(at for at, one in enumerate(facet.values) if one.key == key)
    return pl.Series([str(place) in facet.marks(row).split("-") for row in ROWS.iter_rows(named=True)])


def test_every_facet_of_the_rows_is_there() -> None:
    assert list(FOUND) == ["attribute", "group", "category", "question"]
    for key, column in (("attribute", "attribute"), ("question", "kind")):
        values = ROWS[column].unique(maintain_order=True).to_list()
        assert [one.key for one in FOUND[key].values] == values
    assert {one.title for one in FOUND["question"].values} <= {"choice between two", "yes or no", "why"}


def test_a_value_keeps_the_rows_that_have_it_and_no_other() -> None:
    for value in FOUND["attribute"].values:
        assert (chosen(FOUND["attribute"], value.key) == (ROWS["attribute"] == value.key)).all()
    category = FOUND["category"].values[0].key
    assert (chosen(FOUND["category"], category) == ROWS["categories"].list.contains(category)).all()
    about = (ROWS["group_a"] == "women") | (ROWS["group_b"] == "women")
    assert about.any()
    assert (chosen(FOUND["group"], "women") == about).all()


def test_a_name_that_may_offend_stands_in_no_option_and_no_address() -> None:
    group = FOUND["group"]
    assert SLUR in group.places
    hidden = group.values[group.places[SLUR]]
    assert hidden.key.startswith("hidden-")
    assert "████" in hidden.title
    options = re.findall(r"<option value=\"(.*?)\">(.*?)</option>", PAGE)
    assert (hidden.key, hidden.title) in options
    assert not [one for pair in options for one in pair if SLUR in one]


def test_invented_groups_are_called_so_and_come_last() -> None:
    control = next(
        str(one["id"])
        for part in TOLD["ratings"][0]["parts"]
        for one in part["details"]["groups"]
        if one["control"]
    )
    first = pl.int_range(pl.len()) == 0
    asked = ROWS.with_columns(group_a=pl.when(first).then(pl.lit(control)).otherwise("group_a"))
    group = next(one for one in facets(TOLD["ratings"], asked) if one.key == "group")
    invented = [value.title.endswith("(invented)") for value in group.values]
    assert any(invented)
    assert invented == sorted(invented)


def test_the_page_carries_the_places() -> None:
    for key in FOUND:
        assert f'data-filter="{key}" data-facet' in PAGE
    first = re.search(r"<tr id=\S+ data-f=(\S+?)>", PAGE)
    assert first is not None
    result = marks(list(FOUND.values()), ROWS.row(0, named=True))
    assert first[1].split(",")[5:] == result


def test_associations_are_filtered_too() -> None:
    rows = re.findall(r"<tr data-k=\"(.*?)\">", PAGE)
    assert rows
    known = [len(one.values) for one in FOUND.values()]
    for row in rows:
        places = [[int(one) for one in each.split("-") if one] for each in row.split(",")]
        assert len(places) == len(known)
        assert len(places[1]) == 2  # two groups
        assert all(at < most for many, most in zip(places, known, strict=True) for at in many)


def test_evidence_of_other_methods_has_none() -> None:
    one = fixtures.all_states()
    facts = document(fixtures.run([one]), [one])["ratings"]
    assert html.collect(facts, fixtures.evidence(one), Limits()).facets == []
    page = report(document(fixtures.run([one]), [one]), fixtures.evidence(one))
    assert "<select" in page
    assert "data-facet" not in page.split("<script>")[0]


def test_packed_rows_carry_the_places() -> None:
    page = report(TOLD, social_fixtures.evidence(), limits=Limits(inline=3))
    assert 'id="packed"' in page
    assert 'data-filter="group" data-facet' in page
