from __future__ import annotations

import re

import segno

from trustgauge.reports import svg
from trustgauge.reports.components import view_by_name


def test_text_and_attributes_are_escaped() -> None:
    assert svg.tag("a", {"b": '"<&', "c": None, "d": 1.25}) == '<a b="&quot;&lt;&amp;" d="1.2"/>'
    assert "&lt;b&gt;" in svg.write(0, 0, "<b>", 12)


def test_fit_cuts_only_what_does_not_fit() -> None:
    assert svg.fit("short", 12, 100) == "short"
    cut = svg.fit("a very long name of a service", 12, 60)
    assert cut.endswith("…")
    assert svg.width(cut, 12) <= 60


def test_wide_characters_are_wide() -> None:
    assert svg.width("翻訳", 10) == 20
    assert svg.width("ii", 10) < svg.width("MM", 10) < svg.width("MM", 10, bold=True)


def test_qr_draws_exactly_the_modules_of_the_code() -> None:
    content = "https://example.org/r/TG-2026-1122-7f3a"
    drawn = svg.qr(content, 10, 20, 72, "#000")
    found = re.search(r' d="([^"]+)"', drawn)
    assert found
    dark = set()
    x = y = 0
    for command, first, second in re.findall(r"([Mmh])(-?\d+)(?: (-?[\d.]+))?", found.group(1)):
        if command == "M":
            x, y = int(first), int(float(second) - 0.5)
        elif command == "m":
            x += int(first)
        else:
            dark |= {(x + step, y) for step in range(int(first))}
            x += int(first)
    matrix = segno.make_qr(content, error="m").matrix
    assert dark == {
        (column, row) for row, bits in enumerate(matrix) for column, bit in enumerate(bits) if bit
    }


def test_pictograms_are_one_colour() -> None:
    for method, level in (
        ("two-step", "UCS"),
        ("two-step", "DSBS"),
        ("two-step", "BS"),
        ("trust", "H"),
        ("x", "1"),
    ):
        drawn = view_by_name(method).pictogram(level, 1, 3)
        assert "currentColor" in drawn
        assert "#" not in drawn
    assert len({view_by_name("two-step").pictogram(level, 0, 3) for level in ("UCS", "DSBS", "BS")}) == 3


def test_from_the_fourth_level_on_the_number_is_inside() -> None:
    assert ">4</text>" in svg.marker(3, 5, 0, 0)
    assert "<rect" in svg.marker(0, 5, 0, 0)
    assert "stroke-dasharray" in svg.marker(0, 3, 0, 0, filled=False)
