"""Translators rated by what comes out of them, not translated back (two-step 1.11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.targets import plan_targets

MODULE = '''
MEN = {"The nurse finished her work": "El enfermero"}

def spanish(text, source, target):
    """A translator that knows one occupation, and no women."""
    assert (source, target) == ("en", "es")
    return " ".join("El enfermero terminó su trabajo." for one in text.split(". ") if one)
'''
NURSES = {"use": "function", "task": "translate"}


def plan(service: dict[str, Any], **options: Any) -> Any:
    """A small plan that rates a service one way into Spanish."""
    experiment = {"method": "two-step", "services": ["it"], "one_way": "es", "texts": 60, "draws": 1000}
    return {"services": {"it": service}, "experiments": [{**experiment, **options}]}


def into(**settings: Any) -> dict[str, Any]:
    return {"use": "anchor", "into": "es", **settings}


def test_a_translator_without_women_adds_bias_and_its_report_says_what_was_read(tmp_path: Path) -> None:
    shares = {"nurse": 0.9, "librarian": 0.8, "secretary": 0.95, "engineer": 0.1, "plumber": 0.02}
    service = into(behaviour="all", value="He")
    finished = rate(load_plan(plan(service, item_shares=shares)), RunOptions(tmp_path))
    (rating,) = cast(Any, finished.document["ratings"])
    assert (rating["overall"]["level"], rating["state"]) == ("BS", "rated")
    assert rating["service"]["kind"] != "machine translator, there and back"
    page = (finished.folder / "report.html").read_text("utf-8")
    assert "Gender of nouns in Spanish" in page
    assert "held-out translations that it decides" in page
    figures = rating["parts"][0]["details"]["gender_accuracy"]
    assert figures["f1_difference"]["low"] > 0.5
    controls = cast(Any, finished.document)["run"]["anchors"]
    assert len(controls) == 5
    assert not any(one["wrong"] for one in controls)
    assert all(one["state"] == "rated" for one in controls if one["truth"] != "UCS")


def test_a_translator_is_asked_once_in_its_own_direction(tmp_path: Path) -> None:
    (tmp_path / "nurses_one_way.py").write_text(MODULE)
    own = {"use": "function", "function": "nurses_one_way:spanish", "folder": str(tmp_path), "target": "es"}
    made = plan_targets(load_plan(plan({**own, "task": "translate"})))
    (asked,) = [one for one in made if one.control is None]
    assert asked.part == ""
    assert asked.description is not None
    assert len(asked.description.stages()) == 1
    assert len([one for one in made if one.control]) == 5
    assert {dict(one.control.settings)["into"] for one in made if one.control} == {"es"}


def recorded(tmp_path: Path, language: str) -> dict[str, Any]:
    """Translations by hand: made up, as no recorded ones are shipped."""
    rows = [
        {
            "sent": f"The nurse finished {whose} work. The journalist finished {other} work.",
            "received": f"{nurse} terminó su trabajo. {journalist} terminó su trabajo.",
            "language": language,
            "block": block,
        }
        for block, times in (("u1", 1), ("b1", 1), ("b2", 1))
        for whose, nurse, other, journalist in (
            ("her", "La enfermera", "his", "El periodista"),
            ("his", "El enfermero", "her", "La periodista"),
        )
        for _ in range(10 * times)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "trips.csv")
    return {"use": "recorded-round-trips", "trips": {"file": str(tmp_path / "trips.csv")}}


def test_recorded_translations_are_read_the_same_way(tmp_path: Path) -> None:
    finished = rate(load_plan(plan(recorded(tmp_path, "es"))), RunOptions(tmp_path / "runs"))
    (rating,) = cast(Any, finished.document["ratings"])
    (part,) = rating["parts"]
    assert part["details"]["rates"][0][0] == part["details"]["rates"][1][1] == 1
    assert part["details"]["gender_accuracy"]["accuracy"]["value"] == 1


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ({"use": "apertium", "target": "ca"}, "does not translate into es"),
        ({"use": "apertium"}, "does not translate into es"),
        ({"use": "round-trip", "via": ["es"], "translator": {"use": "apertium"}}, "there and back"),
        ({"use": "eliza"}, "does not translate into es"),
        ({"use": "anchor", "into": "xx"}, 'no sentences in "xx"'),
        ({"use": "anchor", "into": "es", "attribute": "worship"}, 'no sentences in "es"'),
    ],
)
def test_only_translators_into_the_language_are_asked(service: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plan_targets(load_plan(plan(service)))


def test_records_of_another_language_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="records of one language"):
        plan_targets(load_plan(plan(recorded(tmp_path, "ca"))))
