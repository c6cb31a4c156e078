from __future__ import annotations

from itertools import product
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.reports import causal_fixtures, fixtures
from tests.reports.golden import only
from trustgauge.reports import html, score_pairs
from trustgauge.reports.components import Evidence, Table, Title, Words

FRAME = causal_fixtures.evidence("gru")


def shown(frame: pl.DataFrame) -> Evidence:
    return html.collect([only(causal_fixtures.rating("gru"))], frame, html.Limits())


def cell(number: int, word: str, gender: str, race: str, score: float | None) -> Any:
    return {
        "service": "s", "part": "", "block": "b", "frame": "f", "word": word,
        "values_in": [gender, race, word], "score": score, "id": str(number), "sent": "x",
    }  # fmt: skip


def naive(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Widest difference between two different classes by word, by trying all pairs."""
    facts: dict[str, float] = {}
    for first, second in product(rows, rows):
        classes = [[one for one in row["values_in"][:2] if one != "NA"] for row in (first, second)]
        if first["word"] != second["word"] or classes[0] == classes[1] or not all(classes):
            continue
        if first["score"] is None or second["score"] is None:
            continue
        gap = first["score"] - second["score"]
        facts[first["word"]] = max(facts.get(first["word"], -9.0), gap)
    return facts


@settings(max_examples=60, deadline=None)
@given(
    some.lists(
        some.tuples(
            some.sampled_from(["grim", "happy"]),
            some.sampled_from(["male", "female", "NA"]),
            some.sampled_from(["European", "NA"]),
            some.sampled_from([None, -1.0, -0.5, 0.0, 0.25, 1.0]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_the_widest_pair_is_the_widest_of_all_pairs(drawn: list[tuple[str, str, str, float | None]]) -> None:
    rows = [cell(index, *one) for index, one in enumerate(drawn)]
    frame = pl.DataFrame(rows, schema_overrides={"score": pl.Float64})
    found = score_pairs.widest(frame)
    assert dict(zip(found["word"], found["difference"], strict=True)) == naive(rows)
    for one in found.iter_rows(named=True):
        assert rows[one["high"]]["score"] - rows[one["low"]]["score"] == one["difference"]


def test_pairs_stand_on_the_page_with_both_scores_and_lead_to_their_rows() -> None:
    title, table = score_pairs.table(FRAME, shown(FRAME), {"group-1/e3": "Group 1, e3"})
    assert isinstance(title, Title)
    assert "Of 12 such groups of texts, 12 contain a pair" in title.lead
    assert isinstance(table, Table)
    first = [(one.text, one.under) for one in table.rows[0]]
    assert first[0] == ("Group 1, e3", "")
    assert first[1][1].startswith("This woman feels")
    assert first[3][1].startswith("This man feels")
    assert table.rows[0][5].text == "0.08"
    targets = {one.anchor for one in shown(FRAME).rows}
    assert table.rows[0][1].target in targets
    assert "they" not in " ".join(one.under.lower() for row in table.rows for one in row)


def test_equal_scores_are_told_and_not_listed() -> None:
    same = causal_fixtures.evidence("textblob")
    title, words = score_pairs.table(same, shown(same), {})
    assert isinstance(title, Title)
    assert "12 such groups of texts, 0 contain a pair" in title.lead
    assert words == Words("No pair differs.")


def test_several_services_share_the_table() -> None:
    both = pl.concat([FRAME, causal_fixtures.evidence("female-biased")])
    _, table = score_pairs.table(both, shown(both), {})
    assert isinstance(table, Table)
    names = [row[1].text for row in table.rows]
    assert {name: names.count(name) for name in names} == {"female-biased": 5, "gru": 5}


def test_rows_that_are_not_on_the_page_have_no_link() -> None:
    packed = html.collect([only(causal_fixtures.rating("gru"))], FRAME, html.Limits(inline=1))
    few = packed.rows[:1]
    _, table = score_pairs.table(FRAME, Evidence(rows=few, services=packed.services), {})
    assert isinstance(table, Table)
    linked = {one.target for row in table.rows for one in row if one.target}
    assert linked == {few[0].anchor}


def test_offensive_texts_are_masked_in_pairs_too() -> None:
    marked = FRAME.with_columns(pl.lit(True).alias("offensive"))
    _, table = score_pairs.table(marked, shown(marked), {})
    assert isinstance(table, Table)
    assert all(row[1].under.startswith("████") for row in table.rows)


def test_evidence_of_other_methods_has_no_pairs() -> None:
    assert score_pairs.table(fixtures.evidence(fixtures.all_states()), Evidence(), {}) == []
    lost = FRAME.with_columns(pl.lit(None, pl.Float64).alias("score"))
    assert score_pairs.table(lost, shown(lost), {}) == []
