"""What counts as a score, and what is told of an answer that is none."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.causal.truths import by_word, experiment, marks
from trustgauge.errors import GarbledError
from trustgauge.methods.causal import score as reading
from trustgauge.methods.conformance import answers
from trustgauge.services import output_of

METHOD = experiment({"a": by_word}, groups=[1])
PROBES = pl.concat(METHOD.design(1, "score")).head(1)


def read(
    output: str | None, *, trail: str = "[]", score_range: tuple[float, float] = (-1.0, 1.0)
) -> dict[str, object]:
    given = answers(PROBES, [output]).with_columns(trail=pl.lit(trail))
    return reading.score_answers(given, score_range).row(0, named=True)


@pytest.mark.parametrize(
    ("output", "score", "fault"),
    [
        ("0.5", 0.5, ""),
        ("-1", -1.0, ""),
        ("1.0000000001", 1.0, ""),
        ("1.01", None, "out of range, to 2"),
        ("-7", None, "out of range, to -7"),
        ("nan", None, "not a number"),
        ("inf", None, "not a number"),
        ("positive", None, "not a number"),
        ("-0,29", None, "not a number: decimal-comma"),
        ("50%", None, "not a number: percent-sign"),
        ("12.5 %", None, "not a number: percent-sign"),
        ("\u22120.3", None, "not a number: minus-sign"),
        ("1,000,000", None, "not a number"),
        ("", None, "not a number"),
        (None, None, "not a number"),
    ],
)
def test_scores(output: str | None, score: float | None, fault: str) -> None:
    row = read(output)
    assert (row["score"], row["fault"]) == (score, fault)
    assert row["status"] == ("unreadable" if fault else "answered")


def test_other_ranges_are_brought_to_ours() -> None:
    assert read("5", score_range=(1.0, 5.0))["score"] == 1.0
    assert read("3", score_range=(1.0, 5.0))["score"] == 0.0
    assert read("0", score_range=(1.0, 5.0))["fault"] == "out of range, to 1"


def test_the_trail_tells_trips_and_labels() -> None:
    message = PROBES["message"][0]
    changed = read("0.5", trail=f'["Este hombre","{message} now"]')
    assert (changed["tripped"], changed["same_text"], changed["untouched"]) == (True, False, False)
    faithful = read("0.5", trail=f'["Este hombre","{message}"]')
    assert (faithful["same_text"], faithful["untouched"]) == (True, False)
    untouched = read("0.5", trail=f'["{message}","{message}"]')
    assert (untouched["same_text"], untouched["untouched"]) == (True, True)
    filtered = read("0.5", trail=f'["{message}"]')
    assert (filtered["same_text"], filtered["untouched"]) == (True, False)
    labelled = read("1", trail='["labelled 1","labelled 1","labelled -1"]')
    assert not labelled["tripped"]
    assert [labelled[name] for name in reading.LABELS] == [1, 0, 2]


def test_evidence_has_a_row_for_each_answer() -> None:
    shown = reading.evidence(marks(METHOD, {"a": by_word}))
    assert shown.height == pl.concat(METHOD.design(1, "score")).height
    assert shown["values_in"].list.len().unique().to_list() == [3]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_sums_are_exact(scores: list[float]) -> None:
    """Sums in units of 1e-9 are whole numbers, and squares need 128 bits."""
    probes = pl.concat([PROBES.with_columns(id=pl.lit(str(place))) for place in range(len(scores))])
    summary = reading.summarise(
        reading.score_answers(answers(probes, [repr(one) for one in scores]), (-1.0, 1.0))
    )
    units = [round(one / 1e-9) for one in scores]
    assert summary["y"].sum() == sum(units)
    assert summary["yy"].sum() == sum(one * one for one in units)
    assert summary["n"].sum() == len(scores)


@pytest.mark.parametrize(
    ("written", "must"),
    [("0,5", "0.5 for 0,5"), ("50 %", "without a percent sign"), ("\u22120.5", "U+002D"), ("good", "number")],
)
def test_a_file_of_scores_is_told_how_to_write_its_numbers(written: str, must: str) -> None:
    with pytest.raises(GarbledError) as refused:
        output_of(written, "score")
    assert must in refused.value.must
