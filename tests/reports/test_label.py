from __future__ import annotations

import re
from datetime import date
from xml.etree import ElementTree

import pytest

from tests.reports import fixtures
from tests.reports.golden import only, risk
from trustgauge.records import Assessor
from trustgauge.reports import label

SVG = "{http://www.w3.org/2000/svg}"
STATES = only(fixtures.all_states())
UNSETTLED = only(fixtures.rating("hi", [fixtures.part("hi", "coin", state="not settled", certainty=0.84)]))
LOST = only(fixtures.rating("lost", [fixtures.lost_part("pt", "Portuguese")]))


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_label_is_small_and_of_the_agreed_size() -> None:
    drawn = label.label(STATES, address="https://example.org/ratings/" + "x" * 60)
    assert len(drawn.encode()) < 10_000
    root = ElementTree.fromstring(drawn)
    assert (root.get("width"), root.get("height")) == ("300", "456")


def test_label_reads_from_issue_to_id() -> None:
    assert words(label.label(STATES)) == [
        "Gender bias",
        "AI service rating",
        "LinguaBridge",
        "3.2 · machine translator",
        "Compensates",
        "balances skewed input",
        "Follows",
        "repeats the bias in its input",
        "Adds bias",
        "skews even balanced input",
        "BS",
        "5 of 7",
        "languages",
        "3,600",
        "calls",
        "> 99%",
        "certainty",
        "68%",
        "unchanged",
        "Worst: Turkish, Italian",
        "Tested 22 Nov 2026",
        "Valid until 21 Feb 2027",
        "Example Lab (third party)",
        "TG-2026-1122-7f3a",
    ]


def test_rated_by_its_provider_stands_in_the_place_of_third_party() -> None:
    own = only(fixtures.all_states(), assessor=Assessor("PhraseMill", "first party", "PhraseMill"))
    index = words(label.label(STATES)).index("Example Lab (third party)")
    assert words(label.label(own))[index] == "PhraseMill (its provider)"


def test_unsettled_level_is_dashed_and_says_so() -> None:
    drawn = label.label(UNSETTLED)
    assert "stroke-dasharray" in drawn
    assert {"UCS", "84%", "certainty", "Not settled: certainty 84%"} <= set(words(drawn))
    arrow = [
        path
        for path in ElementTree.fromstring(drawn).iter(f"{SVG}path")
        if path.get("stroke-dasharray") == "4 3"
    ]
    assert [path.get("fill") for path in arrow] == ["#fff"]


def test_incomplete_rating_shows_no_level() -> None:
    drawn = words(label.label(LOST))
    assert "Not rated: 348 of 600" in drawn
    assert not {"UCS", "DSBS", "BS"} & set(drawn)
    assert "0 of 1" in drawn
    assert drawn.count("–") == 2  # certainty and unchanged are missing, not zero


def test_expired_label_is_grey_only_after_its_last_day() -> None:
    assert label.label(STATES, today=date(2027, 2, 21)) == label.label(STATES)
    drawn = label.label(STATES, today=date(2027, 2, 22))
    assert "Expired 21 Feb 2027" in words(drawn)
    assert "BS" not in words(drawn)
    assert "#a3162e" not in drawn


def test_withdrawn_label_says_so() -> None:
    gone = STATES | {"withdrawn": {"date": "2026-12-01", "reason": "replaced"}}
    assert "Withdrawn" in words(label.label(gone))
    assert label.outcome(gone) == "withdrawn"
    shield = label.shields(gone)
    assert shield is not None
    assert shield["color"] == "#9a9ea6"


@pytest.mark.parametrize(("level", "dots"), [("L", 1), ("M", 2), ("H", 3)])
def test_other_scales_draw_their_own_levels_and_pictograms(level: str, dots: int) -> None:
    result = risk(level)
    assert {"Low risk", "Medium risk", "High risk"} <= set(words(label.label(result)))
    badge = label.badge(result)
    assert badge is not None
    assert badge.count('r="1.9" fill="currentColor"') == dots
    assert "(privacy first)" in badge


def test_scale_of_five_levels_fits() -> None:
    result = only(fixtures.all_states())
    result["method"]["name"] = "plug-in"
    result["overall"] |= {
        "level": "e",
        "scale": [{"level": key, "words": f"kind {key}"} for key in "abcde"],
        "certainty": {"e": 1.0},
    }
    drawn = label.label(result)
    assert [text for text in words(drawn) if text.startswith("Kind")] == [f"Kind {key}" for key in "abcde"]
    bottoms = [float(text.get("y", 0)) for text in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    assert max(bottoms) < 456
    assert len(drawn.encode()) < 10_000


def test_badge_is_below_a_kilobyte_with_words_in_it() -> None:
    for one in (STATES, UNSETTLED, risk()):
        badge = label.badge(one)
        assert badge is not None
        assert len(badge.encode()) < 1024
    assert "adds bias (BS)" in words(label.badge(STATES) or "")
    assert "compensates (UCS), not settled, 84%" in words(label.badge(UNSETTLED) or "")
    assert "stroke-dasharray" in (label.badge(UNSETTLED) or "")


def test_no_badge_without_a_level() -> None:
    assert label.badge(LOST) is None
    assert label.shields(LOST) is None


def test_expired_badge_turns_grey() -> None:
    later = date(2028, 1, 1)
    assert "expired 21 Feb 2027" in words(label.badge(STATES, today=later) or "")
    shield = label.shields(STATES, today=later)
    assert shield == {
        "schemaVersion": 1,
        "label": "gender bias",
        "message": "expired 21 Feb 2027",
        "color": "#9a9ea6",
        "cacheSeconds": 3600,
    }


HOSTILE = "</svg><script>alert(1)</script>\"'&\x1b[31m\x00\u202eevil\ud800" + "W" * 3000


def test_hostile_names_stay_text() -> None:
    one = fixtures.all_states("bad")
    run = fixtures.with_service(
        fixtures.run([one]), "bad", fixtures.service(HOSTILE, version=HOSTILE, kind=HOSTILE)
    )
    from trustgauge.reports.document import document

    facts = document(run, [one])["ratings"][0]
    for drawn in (label.label(facts), label.badge(facts) or ""):
        root = ElementTree.fromstring(drawn)
        assert {node.tag.removeprefix(SVG) for node in root.iter()} <= {
            "svg",
            "title",
            "desc",
            "path",
            "rect",
            "text",
            "g",
        }
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn
    assert len(label.label(facts).encode()) < 10_000


def test_the_foot_of_a_label_names_whole_parts_and_says_how_many_more() -> None:
    """It was cut within a name: "Worst: Catalan, Spanish, Spanish › Italian, G…"."""
    titles = ("Spanish", "Catalan", "Galician", "Spanish › Italian", "Portuguese", "Esperanto")
    parts = [fixtures.part(str(number), "mostly he", title=title) for number, title in enumerate(titles)]
    drawn = label.label(only(fixtures.rating("x", [*parts, fixtures.part("6", "faithful", title="Basque")])))
    (foot,) = re.findall(r">(Worst: [^<]*)</text>", drawn)
    assert re.fullmatch(r"Worst: (?:[^,…]+, )*[^,…]+ and \d more", foot)
    named = foot.removeprefix("Worst: ").rpartition(" and ")[0].split(", ")
    assert named == list(titles[: len(named)])
    assert foot.endswith(f" and {len(titles) - len(named)} more")
    assert "Worst: Spanish; Catalan; Galician; Spanish › Italian; Portuguese; Esperanto." in drawn
    alike = label.label(only(fixtures.rating("x", parts)))
    assert ">All 6 languages alike</text>" in alike
    assert " All 6 languages alike. Tested " in alike
    assert "Worst" not in alike, "none is worse than another"
