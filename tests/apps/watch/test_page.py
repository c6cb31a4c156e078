"""The page of ratings over time, and the lines of a look."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.apps.watch.watches import BETWEEN, HIGH, LEVELS, LOW, rating, run, watched
from trustgauge.apps.watch import sentences
from trustgauge.apps.watch.page import LEFT, WIDE, band, over_time, page
from trustgauge.apps.watch.state import WatchState, add_look, document
from trustgauge.reports import terminal

ATTACK = '<script>alert(1)</script>\x1b[2J\u202e"'
SVG = "{http://www.w3.org/2000/svg}"


def state(*certainties: dict[str, float], looks: int = 12, **more: Any) -> WatchState:
    found = watched(looks)
    for number, certainty in enumerate(certainties, 1):
        add_look(found, run(number, rating(certainty, **more)))
    return found


def series(found: WatchState) -> Any:
    (one,) = document(found)["series"].values()
    return dict(one)


def drawn(found: WatchState) -> ET.Element:
    return ET.fromstring(over_time(series(found), found.most))


def steps(picture: ET.Element) -> str:
    (line,) = [
        one
        for one in picture.iter(f"{SVG}path")
        if one.get("stroke-width") == "2" and "H" in one.get("d", "")
    ]
    return str(line.get("d"))


@pytest.mark.parametrize(
    ("certainty", "reached"),
    [
        ({"L": 1.0}, (0, 0)),
        ({"L": 0.97, "M": 0.03}, (0, 1)),
        ({"L": 0.98, "M": 0.02}, (0, 0)),
        ({"L": 0.02, "M": 0.96, "H": 0.02}, (1, 1)),
        ({"L": 0.3, "M": 0.3, "H": 0.4}, (0, 2)),
        ({"H": 0.5}, (2, 2)),
        ({}, None),
    ],
)
def test_the_band_is_the_middle_of_the_resamples(
    certainty: dict[str, float], reached: tuple[int, int] | None
) -> None:
    assert band(certainty, LEVELS) == reached


def test_steps_move_where_a_change_is_told_and_the_band_leaves_them() -> None:
    picture = drawn(state(LOW, LOW, HIGH))
    path = steps(picture)
    ys = [float(y) for y in re.findall(r"[MV](?:[\d.]+ )?([\d.]+)", path)]
    assert len(ys) == 2
    assert ys[0] < ys[1], "worse is lower"
    assert f"H{LEFT + 2 * WIDE:g}" in path
    bands = [one for one in picture.iter(f"{SVG}rect") if one.get("class") == "sn"]
    tops = [float(str(one.get("y"))) for one in bands]
    assert tops[0] == tops[1] < ys[0] < tops[2]
    assert "changed" in [one.text for one in picture.iter(f"{SVG}text")]


def test_what_is_unsettled_is_open_and_what_is_lost_is_hatched() -> None:
    found = state(LOW, BETWEEN)
    add_look(found, run(3, rating({}, level="L", state="incomplete")))
    picture = over_time(series(found), 12)
    assert picture.count('class="hatch"') == 1
    assert picture.count('class="sn"') == 2
    assert "look 2, 2 Nov 2026: Low risk, 60 %, not settled" in picture
    assert "look 3, 3 Nov 2026: not rated" in picture


def test_versions_are_ticks_and_the_end_of_the_declared_looks_is_a_line() -> None:
    found = watched(3)
    for number, version in enumerate(("1", "1", "2026-beta", "2026-beta"), 1):
        add_look(found, run(number, rating(LOW, version=version)))
    whole = over_time(series(found), 3)
    assert ">2026-beta</text>" in whole
    assert whole.count("v12") == 1
    assert f'd="M{LEFT + 3 * WIDE:g} 20V' in whole
    assert "2026-beta</text>" not in over_time(series(found), 3, versions=False)
    assert 'class="cut"' not in over_time(series(state(LOW, LOW)), 12)


def test_nothing_rated_yet_is_a_page_too() -> None:
    assert "Nothing is rated yet" in page([document(watched())])


def test_the_page_is_inert_and_has_no_script() -> None:
    found = state(LOW, HIGH, service=ATTACK, attribute=ATTACK, version=ATTACK)
    found.name, found.failed, found.log = ATTACK, ATTACK, ATTACK
    shown = page([document(found), document(state(LOW))])
    assert "<script" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "default-src 'none'" in html.unescape(shown)
    assert shown.count("<h2") == 2
    regions = re.findall(r'role="region"[^>]*aria-label="([^"]*)"', shown)
    assert len(regions) == len(set(regions)) == 4


def test_a_page_tells_what_holds_and_every_look() -> None:
    shown = page([document(state(LOW, LOW, HIGH))])
    assert "High risk, settled on 3 Nov 2026. 3 of 12 declared looks used." in shown
    assert "for the worse: Low risk (&gt; 99%, TG-2026-1102-0000, 2 Nov 2026, version 1) → High risk" in shown
    assert shown.count('href="TG-2026-110') == 3
    over = page([document(state(LOW, LOW, LOW, looks=2))])
    assert "2 of 2 declared looks used. They are over" in over


def event(found: WatchState, **more: Any) -> Any:
    one = next(iter(found.series.values()))
    last = one.looks[-1]
    words = one.words.get(str(last.level))
    result: Any = {
        "level": last.level,
        "words": words,
        "state": last.state,
        "certainty": last.certainty,
        "finding": last.finding,
    }
    result["spent"] = one.spent
    changes = found.untold
    facts = {"look": len(found.runs), "looks": found.most, "run": last.run, "changes": changes}
    return {**facts, "skipped": None, "refused": {}, "series": [{**one.key, **result}], **more}


def test_lines_of_a_look() -> None:
    result = terminal.plain(sentences.look_lines(event(state(LOW, HIGH)))).splitlines()
    assert result == [
        "look     2 of 12 · TG-2026-1102-0000",
        "rated    bot, trust privacy-first: High risk (> 99%), changed",
        "changed  bot, trust privacy-first, for the worse: Low risk (> 99%, TG-2026-1101-0000, 1 Nov 2026, "
        "version 1) → High risk (> 99%, TG-2026-1102-0000, 2 Nov 2026, version 1)",
    ]
    failed = event(state(LOW, HIGH), look=11, refused={"bot": "connection refused"})
    result = terminal.plain(sentences.look_lines(failed)).splitlines()
    assert result[0] == "look     11 · 2 of 12 declared ones used · TG-2026-1102-0000"
    assert "note     bot: connection refused" in result
    over = terminal.plain(sentences.look_lines(event(state(LOW, LOW, HIGH, looks=2))))
    assert "all declared looks are used up, so levels are reported but no changes" in over
    hostile = terminal.plain(sentences.look_lines(event(state(LOW, HIGH, service=ATTACK))))
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile
