from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.reports import fixtures
from tests.reports.golden import only
from trustgauge.methods.two_step import view
from trustgauge.reports import svg

SVG = "{http://www.w3.org/2000/svg}"
STATES = only(fixtures.all_states())
SENT, BACK = (20, 20, 0), (17, 14, 9)


def rects(drawn: str, kind: str) -> list[float]:
    found = ElementTree.fromstring(drawn).iter(f"{SVG}rect")
    return [float(one.get("width", 0)) for one in found if one.get("class", "").split(" ")[0] == kind]


def test_bar_lengths_are_the_shares_of_the_output() -> None:
    drawn = svg.bars(SENT, BACK, fixtures.VALUES)
    assert rects(drawn, "g1") == [pytest.approx(150 * 17 / 40, abs=0.05)]
    assert rects(drawn, "g2") == [pytest.approx(150 * 14 / 40, abs=0.05)]
    assert rects(drawn, "go")[0] == pytest.approx(150 * 9 / 40, abs=0.05)


def test_caret_stands_at_the_share_that_was_sent() -> None:
    carets = re.findall(r'd="M([\d.]+) 8l', svg.bars(SENT, BACK, fixtures.VALUES))
    assert carets == ["75"]
    skewed = svg.bars((4, 36, 0), BACK, fixtures.VALUES)
    assert re.findall(r'd="M([\d.]+) 8l', skewed) == ["15"]


def test_bar_says_its_numbers_in_words() -> None:
    assert "<title>He 20 sent, 17 back; She 20 sent, 14 back; Other 0 sent, 9 back</title>" in svg.bars(
        SENT, BACK, fixtures.VALUES
    )


def test_bar_of_nothing_is_empty_and_not_zero_he() -> None:
    drawn = svg.bars(SENT, (0, 0, 0), fixtures.VALUES)
    assert rects(drawn, "g1") == []
    assert rects(drawn, "soft") == [150]


def test_five_values_have_five_looks() -> None:
    values = ("Church", "Mosque", "Temple", "Synagogue", "Other")
    drawn = svg.bars([10] * 4 + [0], [8] * 5, values)
    assert [len(rects(drawn, kind)) for kind in ("g1", "g2", "g3", "g4")] == [1, 1, 1, 1]
    assert len(re.findall(r'd="M[\d.]+ 8l', drawn)) == 3


def test_strip_shows_the_second_likeliest_level() -> None:
    drawn = svg.strip(STATES, {"UCS": 0.84, "DSBS": 0.16})
    assert rects(drawn, "l1") == [pytest.approx(88 * 0.84, abs=0.05)]
    assert rects(drawn, "l2") == [pytest.approx(88 * 0.16, abs=0.06)]
    assert "UCS 84 %, DSBS 16 %" in drawn


def test_interval_chart_draws_parts_with_data_only_and_the_margin() -> None:
    drawn = svg.intervals(STATES, view.ruler(STATES))
    titles = [text.text for text in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert "Italian" in titles
    assert "Portuguese" not in titles
    assert "counts as balanced: up to 10 points" in titles
    assert drawn.count('stroke-dasharray="5 3"') == 1  # only Hindi is not settled
    lost = only(fixtures.rating("x", [fixtures.lost_part("pt", "Portuguese")]))
    assert svg.intervals(lost, view.ruler(lost)) == ""


def heights(drawn: str, kind: str) -> list[float]:
    found = ElementTree.fromstring(drawn).iter(f"{SVG}rect")
    return [float(one.get("height", 0)) for one in found if one.get("class") == kind]


def test_flow_streams_are_as_thick_as_their_number_of_parts() -> None:
    drawn = view.flow(STATES)
    worst, middle, best = (heights(drawn, kind)[0] for kind in ("l3", "l2", "l1"))
    assert worst == pytest.approx(2 * best, abs=0.11)
    assert middle == worst
    assert heights(drawn, "go")[0] == worst  # two parts without a level


def test_flow_in_words_names_every_part_once() -> None:
    said = view.describe(STATES)
    for title in (
        "Turkish",
        "Italian",
        "Esperanto",
        "Arabic",
        "Hindi [not settled]",
        "Portuguese",
        "Japanese",
    ):
        assert said.count(title) == 1
    assert "Finnish" not in said  # not applicable never counts


def test_scatter_places_parts_by_level_and_unchanged() -> None:
    dots = svg.dots([STATES])
    assert {dot.title: dot.level for dot in dots}["Hindi"] == "UCS"
    drawn = svg.scatter(STATES, dots)
    assert "Esperanto: DSBS, 99 % unchanged" in drawn
    run, ratings = fixtures.demo()
    from trustgauge.reports.document import document

    several = document(run, ratings)["ratings"]
    assert [dot.title for dot in svg.dots(several)] == ["anchor/coin", "anchor/identity", "anchor/all-he"]
