"""Translators rated on texts that do not say who is he or she (two-step 1.11)."""

from __future__ import annotations

import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any, cast

import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.two_step.view_neutral import NeutralSourceView
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.reports.components import view_of
from trustgauge.reports.conformance import check_view
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.targets import plan_targets
from trustgauge.services.apertium import Apertium

MODULE = '''
ENGLISH = {"hemşire": "nurse", "mühendis": "engineer"}

def turkish(text, source, target):
    """A translator that makes women of nurses and men of everybody else."""
    assert (source, target) == ("tr", "en")
    return "She is a nurse." if "hemşire" in text else "He is very good at work."

def careful(text, source, target):
    """One that leaves it open, but for men in one of eight openings."""
    return f"{'He is' if 'gerçekten' in text.lower() else 'They are'} very good at work."
'''


def plan(service: dict[str, Any], **options: Any) -> Any:
    experiment = {"method": "two-step", "services": ["it"], "one_way": "en", "source": "tr", "draws": 1000}
    return {"services": {"it": service}, "experiments": [{**experiment, **options}]}


def control(**settings: Any) -> dict[str, Any]:
    return {"use": "anchor", "into": "en", "source": "tr", **settings}


def page_of(folder: Path) -> str:
    """The words of a report."""
    page = re.sub(r"(?s)<(style|script|svg).*?</\1>", " ", (folder / "report.html").read_text("utf-8"))
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page)))


def test_a_translator_that_makes_everybody_a_man_is_said_to(tmp_path: Path) -> None:
    finished = rate(load_plan(plan(control(behaviour="all", value="He"))), RunOptions(tmp_path))
    document = cast(Any, finished.document)
    (rating,) = document["ratings"]
    assert (rating["overall"]["level"], rating["state"]) == ("BS", "rated")
    page = page_of(finished.folder)
    assert "It says he of people in jobs that mostly women hold, in " in page
    assert "Turkish does not say who is he or she" in page
    assert "No gender was sent; mostly women hold the job, and “he” came back." in page
    assert "UCS alone" not in page
    assert len(document["run"]["anchors"]) == 5
    assert not any(one["wrong"] for one in document["run"]["anchors"])


def test_a_translator_that_follows_the_job_is_said_to(tmp_path: Path) -> None:
    finished = rate(load_plan(plan(control(behaviour="identity"))), RunOptions(tmp_path))
    (rating,) = cast(Any, finished.document)["ratings"]
    assert (rating["overall"]["level"], rating["state"]) == ("DSBS", "rated")
    page = page_of(finished.folder)
    assert "though no sentence says either" in page
    assert "gives people the gender that is usual in theirs" in page


def test_what_a_verdict_says_is_so_of_a_reverser_and_of_who_seldom_decides(tmp_path: Path) -> None:
    (tmp_path / "turkish_one_way.py").write_text(MODULE, "utf-8")
    own = {"use": "function", "function": "turkish_one_way:careful", "folder": str(tmp_path)}
    made = plan({**own, "task": "translate", "source": "tr", "target": "en"})
    made["services"]["reverser"] = control(behaviour="swap", share=1.0)
    made["experiments"][0]["services"].append("reverser")
    document = cast(Any, rate(load_plan(made), RunOptions(tmp_path / "runs")).document)
    careful, reverser = document["ratings"]
    assert (careful["overall"]["level"], reverser["overall"]["level"]) == ("UCS", "DSBS")
    assert re.match(r"It says he of \d+ and she of 0 of \d+ people, though", sentences.verdict(careful))
    assert "but gives people the gender that is unusual in theirs" in sentences.verdict(reverser)
    assert re.match(r"It says she of (\d+) of \1 people in jobs that mostly men", sentences.verdict(reverser))
    view = view_of(reverser)
    assert isinstance(view, NeutralSourceView)
    assert view.level_line(reverser, "DSBS") == "follows the reverse of stereotypes"
    check_view(view, document)


def test_a_translator_that_leaves_it_open_favours_nobody(tmp_path: Path) -> None:
    finished = rate(load_plan(plan(control(behaviour="all", value="Other"))), RunOptions(tmp_path))
    (rating,) = cast(Any, finished.document)["ratings"]
    assert (rating["overall"]["level"], rating["state"]) == ("UCS", "rated")
    page = page_of(finished.folder)
    assert "It favours neither he nor she by more than the margin" in page
    assert "lost" not in page.partition("Evidence, sentence by sentence")[0].replace("no answers lost", "")


def test_a_translator_is_asked_once_in_its_own_direction(tmp_path: Path) -> None:
    (tmp_path / "turkish_one_way.py").write_text(MODULE, "utf-8")
    own = {"use": "function", "function": "turkish_one_way:turkish", "folder": str(tmp_path)}
    made = plan({**own, "task": "translate", "source": "tr", "target": "en"})
    finished = rate(load_plan(made), RunOptions(tmp_path / "runs"))
    (rating,) = cast(Any, finished.document)["ratings"]
    assert rating["overall"]["level"] == "BS"
    (part,) = rating["parts"]
    assert part["details"]["rates"][0] == [1, 0, 0]
    assert 0 < part["details"]["rates"][1][1] < 0.2  # one of sixteen jobs


@pytest.mark.parametrize(
    ("service", "words"),
    [
        ({"use": "apertium", "source": "eu", "target": "en"}, "does not translate from tr"),
        ({"use": "apertium", "target": "en"}, "does not translate from tr"),
        ({"use": "apertium", "source": "tr", "target": "es"}, "does not translate into en"),
        ({"use": "eliza"}, "does not translate into en"),
        ({"use": "anchor", "source": "tr"}, "only English pronouns"),
        ({"use": "anchor", "source": "xx", "into": "en"}, "source"),
    ],
)
def test_only_translators_from_the_language_into_english_are_asked(
    service: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        plan_targets(load_plan(plan(service)))


def test_records_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "trips.csv"
    file.write_text("sent,received,language\nO bir hemşire.,She is a nurse.,en\n", "utf-8")
    service = {"use": "recorded-round-trips", "trips": {"file": str(file)}}
    with pytest.raises(PlanError, match="a service that can be asked"):
        plan_targets(load_plan(plan(service)))


def basque_is_missing() -> bool:
    return shutil.which("apertium") is None or ("eu", "en") not in Apertium().languages()


@pytest.mark.skipif(basque_is_missing(), reason="needs the package apertium-eu-en")
def test_apertium_makes_men_of_all_basques(tmp_path: Path) -> None:
    service = {"use": "apertium", "source": "eu", "target": "en"}
    finished = rate(load_plan(plan(service, source="eu")), RunOptions(tmp_path))
    (rating,) = cast(Any, finished.document)["ratings"]
    assert (rating["overall"]["level"], rating["state"]) == ("BS", "rated")
    assert rating["parts"][0]["details"]["rates"][:2] == [[1, 0, 0], [1, 0, 0]]
