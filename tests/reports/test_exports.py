from __future__ import annotations

import csv
import io
import json
import re
from importlib.metadata import entry_points

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.reports import fixtures, hostile
from trustgauge.errors import MethodError
from trustgauge.records import Assessor
from trustgauge.reports import components, exports, notebook
from trustgauge.reports.document import document

STATES = fixtures.all_states()
DOCUMENT = document(fixtures.run([STATES]), [STATES])
ROWS = fixtures.evidence(STATES)
SEVERAL = document(*fixtures.demo())


def table(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def test_json_is_the_document() -> None:
    assert json.loads(exports.json(DOCUMENT)) == DOCUMENT


def test_parts_survive_csv_and_parquet() -> None:
    rows = table(exports.csv(DOCUMENT))
    frame = pl.read_parquet(io.BytesIO(exports.parts_parquet(DOCUMENT)))
    assert [row["part"] for row in rows] == frame["part"].to_list() == [part.key for part in STATES.parts]
    for row, wide, part in zip(rows, frame.iter_rows(named=True), STATES.parts, strict=True):
        share = part.certainty.get(part.level or "")
        assert (
            (row["level"] or None, row["state"]) == (part.level, part.state) == (wide["level"], wide["state"])
        )
        assert (float(row["certainty"]) if row["certainty"] else None) == share == wide["certainty"]
        assert row["expires"] == "2027-02-21" == wide["expires"]
        assert row["assessor"] == "Example Lab" == wide["assessor"]
        assert row["direction"].startswith("from best to worst: UCS")


def test_missing_is_empty_and_never_zero() -> None:
    lost = next(row for row in table(exports.csv(DOCUMENT)) if row["part"] == "pt")
    assert (lost["level"], lost["score"], lost["certainty"], lost["unchanged"]) == ("", "", "", "")


def test_evidence_survives_csv_and_parquet() -> None:
    assert_frame_equal(pl.read_parquet(io.BytesIO(exports.parquet(DOCUMENT, ROWS))), ROWS)
    rows = table(exports.evidence_csv(DOCUMENT, ROWS))
    assert [row["id"] for row in rows] == ROWS["id"].to_list()
    assert [json.loads(row["values_in"]) for row in rows] == ROWS["values_in"].to_list()
    assert {row["changed"] for row in rows} == {"true", "false"}


CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


def test_no_control_character_is_in_json_ld() -> None:
    result, _ = hostile.case()
    assert CONTROL.search(result["ratings"][0]["service"]["name"])
    assert not CONTROL.search(exports.jsonld(result).decode())
    values = re.findall(r"\\u00[01][0-9a-f]|\\[bfnrt]", exports.jsonld(result).decode())
    assert values == [], "escaped ones come back when it is read"


def test_no_control_character_is_in_attributes_of_pages() -> None:
    page = components.environment().from_string('<a title="{{ name }}">{{ name }}</a>')
    assert page.render(name='\x1b[31m\u202e\x07"') == '<a title="␛[31m‹U+202E›␇&#34;">␛[31m‹U+202E›␇&#34;</a>'


def test_evidence_that_is_not_at_hand_is_an_error_with_a_way_out() -> None:
    with pytest.raises(MethodError, match="run's folder"):
        exports.parquet(DOCUMENT)


def test_no_cell_can_be_run_as_a_formula() -> None:
    result, rows = hostile.case()
    for data in (exports.csv(result), exports.evidence_csv(result, rows)):
        for row in csv.reader(io.StringIO(data.decode(), newline="")):
            for cell in row:
                if cell.lstrip(" ").startswith(("=", "+", "-", "@")):
                    float(cell)  # only numbers may begin with a sign


def test_markdown_has_a_row_for_each_part_and_no_hostile_markup() -> None:
    said = exports.markdown(DOCUMENT).decode()
    assert "| Turkish | BS, adds bias | 200:200 → 380:20 |" in said
    assert "| Japanese | not tested | – |" in said
    result, _ = hostile.case()
    assert "<img" not in exports.markdown(result).decode().replace("\\<", "")
    assert "http://" not in exports.markdown(result).decode()
    assessor = Assessor("<img src=x> | Lab", "third party", "nobody")
    by_them = document(fixtures.run([STATES], assessor=assessor), [STATES])
    assert r"by \<img src=x\> \| Lab (third party)" in exports.markdown(by_them).decode().replace(
        r"\(", "("
    ).replace(r"\)", ")")


def test_jsonld_gives_readers_the_ordinal_because_there_the_best_is_highest() -> None:
    (review,) = json.loads(exports.jsonld(DOCUMENT))["@graph"]
    assert review["reviewRating"]["ratingValue"] == 1
    assert (review["reviewRating"]["worstRating"], review["reviewRating"]["bestRating"]) == (1, 3)
    assert review["expires"] == "2027-02-21"
    assert "adds bias (BS), certainty > 99 %" in review["reviewRating"]["alternateName"]


def test_nothing_untested_is_exported_as_rated() -> None:
    lost = fixtures.rating("x", [fixtures.lost_part("pt", "Portuguese")])
    result = document(fixtures.run([lost]), [lost])
    (review,) = json.loads(exports.jsonld(result))["@graph"]
    assert "reviewRating" not in review
    for export in (exports.badge, exports.shields):
        with pytest.raises(MethodError):
            export(result)


def test_label_of_a_run_with_several_ratings_asks_which() -> None:
    with pytest.raises(MethodError, match=r"TG-2026-1122-03de\.2"):
        exports.labels(SEVERAL)


@pytest.mark.parametrize("name", sorted(exports.EXPORTS))
def test_every_export_gives_bytes_twice_the_same(name: str) -> None:
    export = exports.EXPORTS[name]
    assert export(DOCUMENT, ROWS) == export(DOCUMENT, ROWS)
    assert export(DOCUMENT, ROWS)
    assert export.__doc__


def test_registered_exports_are_these() -> None:
    points = {point.name: point.value for point in entry_points(group="trustgauge.exports")}
    if not points:
        pytest.skip("the entry points of the exports are not installed yet")
    ours = {name: value for name, value in points.items() if value.startswith("trustgauge.reports.")}
    assert ours == {
        name: f"trustgauge.reports.exports:{one.__name__}" for name, one in exports.EXPORTS.items()
    }


def test_notebook_view_is_the_same_content_three_times() -> None:
    view = notebook.RatingView(DOCUMENT, ROWS)
    shown = view._repr_mimebundle_()
    assert set(shown) == {"text/html", "text/markdown", "text/plain"}
    for form in shown.values():
        assert "Turkish" in form
        assert "BS" in form
    assert 'width="190"' in shown["text/html"]
    assert "text-align:left" in shown["text/html"]
    assert "<script" not in shown["text/html"]
    assert " id=" not in shown["text/html"]
    assert view.parts().height == 8
    assert view.evidence() is ROWS
    with pytest.raises(ValueError, match="without evidence"):
        notebook.RatingView(DOCUMENT).evidence()


def test_notebook_view_keeps_hostile_names_as_text() -> None:
    result, rows = hostile.case()
    shown = notebook.RatingView(result, rows)._repr_mimebundle_()["text/html"]
    for markup in ("<img", "<script", 'onerror="', "\x1b", "\u202e"):
        assert markup not in shown
