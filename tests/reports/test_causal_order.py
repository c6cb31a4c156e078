from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from trustgauge.methods.causal import view_order

SVG = "{http://www.w3.org/2000/svg}"


def system(service: str, raw: float | None, complete: int, rank: tuple[int, int] = (1, 2)) -> Any:
    return {
        "service": service,
        "raw": raw,
        "raw_undefined": raw is None,
        "effect": 0.1,
        "rank": list(rank),
        "complete": complete,
    }


ORDER = {
    "rank": [2, 4],
    "place": "=2",
    "of": 7,
    "complete": 1,
    "systems": [
        system("c", 0.0, 1),
        system("a", 0.0, 1),
        system("b", 0.0, 1),
        system("d", 2.0, 2, (4, 4)),
        system("e", 7.2, 3, (5, 6)),
        system("f", 7.3, 3, (5, 6)),
        system("x", None, 3, (7, 7)),
    ],
}
NAMES = {key: f"system {key}" for key in "abcdefx"}


def texts(drawn: str) -> dict[str, tuple[float, float]]:
    root = ElementTree.fromstring(drawn)
    return {
        text.text or "": (float(text.get("x", 0)), float(text.get("y", 0)))
        for text in root.iter(f"{SVG}text")
    }


def test_marks_stand_at_the_logarithm_and_ties_are_stacked() -> None:
    drawn = view_order.chart(ORDER, NAMES, "Raw scores")
    place = texts(drawn)
    assert place["system a"][0] == place["system b"][0] == place["system c"][0]
    assert len({place[f"system {one}"][1] for one in "abc"}) == 3
    zero, two, seven = (place[name][0] for name in ("system a", "system d", "system e"))
    assert (two - zero) / (seven - zero) == pytest.approx(math.log(3) / math.log(8.2), abs=0.005)
    assert place["system e"][1] != place["system f"][1], "names that would meet stand on two rows"


def test_an_undefined_score_stands_apart_and_last() -> None:
    place = texts(view_order.chart(ORDER, NAMES, "Raw scores"))
    assert "÷ 0" in place
    assert place["system x"][0] == max(place[f"system {one}"][0] for one in "abcdefx")


def test_brackets_run_from_the_first_to_the_last_system_of_a_level() -> None:
    root = ElementTree.fromstring(view_order.chart(ORDER, NAMES, "Raw scores"))
    place = texts(view_order.chart(ORDER, NAMES, "Raw scores"))
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.get("rx") == "3.5"]
    assert len(bars) == 3
    spans = [(float(bar.get("x", 0)), float(bar.get("x", 0)) + float(bar.get("width", 0))) for bar in bars]
    assert spans[0][1] - spans[0][0] == pytest.approx(12)  # all three at zero
    assert spans[2][0] == pytest.approx(place["system e"][0] - 12 - 6, abs=0.2)
    assert spans[2][1] == pytest.approx(place["system x"][0] - 12 + 6, abs=0.2)
    assert "level 1 of 3: lowest scores" in place
    assert "level 3 of 3: highest scores" in place


def test_small_scores_have_an_axis_of_their_own() -> None:
    order = {"systems": [system("a", 0.0, 1), system("b", 0.05, 1), system("c", 0.5, 2)]}
    place = texts(view_order.chart(order, NAMES, "Effects"))
    assert place["system a"][0] + 40 < place["system b"][0] < place["system c"][0] - 40
    assert "0.5" in place


def test_without_raw_scores_the_systems_stand_by_their_effects() -> None:
    systems = [
        system(name, None, 1) | {"raw_undefined": False, "effect": effect, "complete": None}
        for name, effect in (("a", 0.01), ("b", 0.25))
    ]
    order = {"of": 2, "systems": systems}
    place = texts(view_order.chart(order, NAMES, "x"))
    assert place["system a"][0] < place["system b"][0]
    assert "÷ 0" not in place
    assert view_order.comparison_values(order) == "Effects in per cent of the score's range"
    assert [head.text for head in view_order.table(order, NAMES, "x").heads] == [
        "System",
        "Rank, 95 %",
        "Effect, share of the range",
    ]


def test_the_overall_order_is_that_of_the_way_that_decides() -> None:
    ways = {"": ORDER, "es": ORDER | {"rank": [1, 1]}}
    parts = [{"key": "es: group-1", "details": {"asked": "es"}}]
    rating: Any = {"details": {"orders": ways}, "parts": parts, "overall": {"worst": ["es: group-1"]}}
    assert view_order.overall(rating) == ways["es"]
    assert list(view_order.every(rating)) == ["", "es"]
    assert view_order.overall(rating | {"details": {"orders": {}}}) is None
    assert view_order.overall(rating | {"details": {}}) is None


def test_one_system_is_no_order() -> None:
    assert view_order.chart({"systems": [system("a", 1.0, 1)]}, NAMES, "x") == ""
    assert view_order.chart({}, NAMES, "x") == ""
    assert view_order.rank(None) == "–"


def test_ranks_are_intervals() -> None:
    assert view_order.rank({"rank": [3, 3], "of": 7}) == "rank 3"


def test_table_lists_all_systems_in_order_and_undefined_is_no_number() -> None:
    table = view_order.table(ORDER, NAMES, "x")
    assert [row[0].text for row in table.rows][-1] == "system x"
    assert [cell.text for cell in table.rows[-1]] == ["system x", "7", "÷ 0", "10.0 %", "3"]
    assert [cell.text for cell in table.rows[3]] == ["system d", "4", "2", "10.0 %", "2"]
    bare = {"of": 1, "systems": [{"service": "a", "raw": None, "raw_undefined": False}]}
    assert [cell.text for cell in view_order.table(bare, NAMES, "x").rows[0]] == ["system a", "–", "–"]


def test_no_text_leaves_the_picture_and_hostile_names_stay_text() -> None:
    long = dict.fromkeys("abcdefx", f"<b>{'W' * 200}")
    drawn = view_order.chart(ORDER, long, "x")
    root = ElementTree.fromstring(drawn)
    assert "<b>" not in drawn
    for text in root.iter(f"{SVG}text"):
        if text.get("text-anchor") is None:
            assert float(text.get("x", 0)) + float(text.get("textLength") or 12) <= 860
    assert not re.search(r"\bNaN\b|inf", drawn)
