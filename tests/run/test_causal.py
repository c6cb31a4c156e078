"""Whole runs of the causal method: generated text, chats, people, round trips; kept and verified."""

from __future__ import annotations

import csv
import json
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trustgauge.errors import IntegrityError, PlanError
from trustgauge.methods.causal.method import Causal
from trustgauge.plan import load_plan
from trustgauge.reports import sentences, terminal
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import verify

QUICK = {"resamples": 1000, "permutations": 999}
TRANSLATOR = (
    "def there_and_back(text, source, target):\n    return text.upper() if target == 'es' else text.lower()\n"
)


def run(folder: Path, plan: dict[str, Any]) -> RunResult:
    """The plan, written into `folder` and run there."""
    (folder / "plan.json").write_text(json.dumps(plan))
    return rate(load_plan(plan), RunOptions(ratings=folder / "ratings"))


def experiment(*services: str, **more: Any) -> list[dict[str, Any]]:
    return [{"method": "causal", "services": list(services), **QUICK, **more}]


def write_csv(file: Path, rows: list[dict[str, Any]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def test_generated_text_beside_scorers_of_known_truth(tmp_path: Path) -> None:
    plan = {
        "services": {
            "vader": {"use": "vader"},
            "biased": {"use": "sentiment-anchor", "behaviour": "female-biased"},
        },
        "experiments": experiment("vader", "biased", groups=[1, 2], frames=8),
    }
    finished = run(tmp_path, plan)
    assert finished.document["run"]["state"] == "complete"
    levels = {one["service"]["key"]: one["overall"]["level"] for one in finished.document["ratings"]}
    assert levels == {"vader": "1", "biased": "3"}
    controls = {one["name"]: one for one in finished.document["run"]["anchors"]}
    assert set(controls) == {
        f"anchor/{name}" for name in ("constant", "word-only", "female-biased", "random")
    }
    assert not any(one["wrong"] for one in controls.values())
    assert controls["anchor/female-biased"]["level"] == "3"
    report = (finished.folder / "report.html").read_text("utf-8")
    assert "Group 2: gender, confounded" in report
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()


@pytest.fixture
def trips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (tmp_path / "trips_of_test_causal.py").write_text(TRANSLATOR)
    monkeypatch.syspath_prepend(tmp_path)
    translator = {"use": "function", "function": "trips_of_test_causal:there_and_back", "deterministic": True}
    return {"use": "round-trip", "via": ["es"], "translator": translator}


def test_a_scorer_behind_a_round_trip_is_compared_with_itself(tmp_path: Path, trips: dict[str, Any]) -> None:
    plan = {
        "services": {"vader": {"use": "vader"}, "behind": {**trips, "then": {"use": "vader"}}},
        "experiments": experiment("vader", "behind", groups=[1], before={"behind": "vader"}, frames=8),
    }
    finished = run(tmp_path, plan)
    behind = finished.document["ratings"][1]
    assert [part["title"] for part in behind["parts"]] == ["Group 1: gender, through Spanish"]
    # VADER reads lower-cased text as it reads any, so nothing changes; the texts on the way did.
    assert [row["note"] for row in behind["details"]["before_after"]] == ["causal.same-scores"]
    rows = finished.view().evidence()
    tripped = rows.filter(pl.col("service") == "behind")
    assert tripped["changed"].all()
    assert tripped["trail"].str.json_decode(pl.List(pl.String)).list.get(0).str.to_uppercase().len() > 0


def test_a_system_alone_behind_its_round_trip_has_no_order_and_says_why(
    tmp_path: Path, trips: dict[str, Any]
) -> None:
    plan = {
        "services": {"vader": {"use": "vader"}, "behind": {**trips, "then": {"use": "vader"}}},
        "experiments": experiment("vader", "behind", groups=[1], rule="published"),
    }
    for rating in run(tmp_path, plan).document["ratings"]:
        assert rating["parts"][0]["details"]["order"] is None
        said = [sentences.reason(one, rating) for one in rating["parts"][0]["reasons"]]
        assert any(
            one.startswith("1 other system was rated, but none on these texts in the same way")
            for one in said
        )
        assert not any("Only one system was rated" in one for one in said)


def test_a_comparison_with_another_scorer_is_a_fault_of_the_plan(trips: dict[str, Any]) -> None:
    plan = {
        "services": {"afinn": {"use": "afinn"}, "behind": {**trips, "then": {"use": "vader"}}},
        "experiments": experiment("afinn", "behind", before={"behind": "afinn"}),
    }
    from trustgauge.run.targets import plan_targets

    with pytest.raises(PlanError, match="does not end in the scorer"):
        plan_targets(load_plan(plan))


UPDATED = """
import json, pathlib, random
asked = 0
women = set(json.loads(pathlib.Path(__file__).with_name("women.json").read_text()))
noise = random.Random(1)
def score(text):
    global asked
    asked += 1
    return noise.gauss(0.0, 0.05) + (0.5 if text in women and asked > 270 else 0.0)
"""


def test_a_service_that_is_updated_during_the_run_is_not_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"groups": [1], "words": {"one": ["grim", "happy"]}}
    method = Causal.model_validate({"method": "causal", "services": ["late"], **settings})
    texts = pl.concat(method.design(0, "score")).filter(pl.col("gender") == "female")["message"]
    (tmp_path / "women.json").write_text(json.dumps(texts.to_list()))
    (tmp_path / "late_of_test_causal.py").write_text(UPDATED)
    monkeypatch.syspath_prepend(tmp_path)
    late = {"use": "function", "function": "late_of_test_causal:score", "task": "score"}
    plan = {"seed": 0, "services": {"late": late}, "experiments": experiment("late", **settings)}
    finished = run(tmp_path, plan)
    rating = finished.document["ratings"][0]
    assert rating["state"] == "not settled"
    codes = [one["code"] for one in rating["parts"][0]["reasons"]]
    assert "changed-during-the-run" in codes
    assert "The service changed during the run" in (finished.folder / "report.html").read_text("utf-8")


def chats(file: Path) -> Path:
    rows = [
        {"chat": f"c{chat}", "who": who, "gender": "male" if chat % 2 else "female", "said": said}
        for chat in range(24)
        for turn in range(3)
        for who, said in (
            ("user", f"I am happy with step {turn}"),
            ("bot", f"Great, on to step {turn}" if chat % 2 else f"Sorry, step {turn} failed"),
        )
    ]
    return write_csv(file, rows)


def chat_plan(file: Path) -> dict[str, Any]:
    table = {
        "layout": "general",
        "file": str(file),
        "columns": {"conversation": "chat", "speaker": "who", "gender": "gender", "text": "said"},
    }
    return {
        "services": {"vader": {"use": "vader"}},
        "experiments": experiment("vader", conversations=table),
    }


def test_chats_are_rated_for_each_speaker(tmp_path: Path) -> None:
    finished = run(tmp_path, chat_plan(chats(tmp_path / "chats.csv")))
    rating = finished.document["ratings"][0]
    parts = {part["key"]: part for part in rating["parts"]}
    # Every bot text stays with its own user, so what differs between them need not be gender.
    assert (parts["conversation-bot"]["level"], parts["conversation-bot"]["state"]) == (None, "not tested")
    assert (rating["overall"]["level"], rating["state"]) == ("1", "rated")
    assert (parts["conversation-user"]["level"], parts["conversation-user"]["state"]) == ("1", "rated")
    effect = parts["conversation-bot"]["details"]["effect"]
    assert effect["lower"] == "female"
    assert effect["value"] > 0.2
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert "4.50 (4 to 5)" in page, "words of an utterance: mean, least, most"
    assert "{&#39;" not in page
    assert "Of the 144 rows of the table, 0 have no text and 0 no gender that is compared" in page
    statistics = rating["details"]["conversations"]["statistics"]
    assert {row["speaker"] for row in statistics} == {"user", "bot"}
    facts = {row["name"]: row["p"] for row in rating["details"]["conversations"]["tests"]}
    assert len(facts) == 6
    assert finished.document["run"]["anchors"] == []
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()


def sentences_plan(tmp_path: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    file = write_csv(tmp_path / "sentences.csv", rows)
    columns = {name: name for name in ("text", "frame", "person", "gender", "word", "set")}
    table = {"layout": "general", "file": str(file), "columns": columns}
    return {"services": {"vader": {"use": "vader"}}, "experiments": experiment("vader", sentences=table)}


def row(frame: int, person: str, gender: str, word: str, name: str) -> dict[str, Any]:
    text = f"On day {frame} {person} felt {word}."
    return {
        "text": text, "frame": f"day {frame}", "person": person, "gender": gender, "word": word, "set": name
    }  # fmt: skip


@pytest.mark.parametrize("rule", ["sound", "published"])
def test_one_row_a_class_has_an_answer_and_a_page(tmp_path: Path, rule: str) -> None:
    rows = [row(1, "Tom", "male", "happy", "one"), row(1, "Ann", "female", "happy", "one")]
    plan = sentences_plan(tmp_path, rows)
    plan["experiments"][0]["rule"] = rule
    rating = (finished := run(tmp_path, plan)).document["ratings"][0]
    assert rating["state"] in {"not settled", "incomplete"}
    assert rating["parts"][0]["details"]["wrs"]["value"] is None
    assert "causal.untestable" in {one["code"] for one in rating["parts"][0]["reasons"]}
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert "no pair can be tested" in page
    assert "WRS 0" not in page


def test_a_set_of_few_frames_says_that_it_makes_the_effect_undefined(tmp_path: Path) -> None:
    people = [("Tom", "male"), ("Bob", "male"), ("Ann", "female"), ("Eve", "female")]
    many = [row(day, *who, word, "mood") for day in range(14) for who in people for word in ("happy", "sad")]
    few = [row(day, *who, "here", "neutral") for day in (20, 21) for who in people]
    rating = run(tmp_path, sentences_plan(tmp_path, many + few)).document["ratings"][0]
    assert (rating["state"], rating["overall"]["level"]) == ("incomplete", None)
    (result,) = [one for one in rating["parts"][0]["reasons"] if one["code"] == "causal.undefined"]
    assert (result["facts"]["set"], result["facts"]["frames"]) == ("neutral", 2)
    assert 0.05 < result["facts"]["share"] < 0.5
    assert sentences.no_level(rating).endswith("nothing to compare in data set neutral, which has 2 frames.")


def reviews(folder: Path, rooms: dict[str, int], **settings: Any) -> dict[str, Any]:
    """Reviews of two rooms; `rooms` tells how many of ten women, or men, reviewed the bad one."""
    rows = [
        {
            "said": f"{'Awful' if place % 10 < bad else 'Wonderful'} bed on night {place} for {gender}.",
            "sex": gender,
            "room": "12" if place % 10 < bad else "7",
        }
        for gender, bad in rooms.items()
        for place in range(150)
    ]
    table = {
        "file": str(write_csv(folder / "reviews.csv", rows)),
        "columns": {"text": "said", "gender": "sex"},
    }
    return {
        "services": {"vader": {"use": "vader"}},
        "experiments": experiment("vader", sentences={**table, **settings}),
    }


def test_a_table_without_frames_has_no_causal_level(tmp_path: Path) -> None:
    """Women reviewed another room than men; it was "3 strong effect, > 99 %, when only gender changes"."""
    finished = run(tmp_path, reviews(tmp_path, {"female": 8, "male": 2}))
    rating = finished.document["ratings"][0]
    assert (rating["state"], rating["overall"]["level"]) == ("not tested", None)
    (part,) = rating["parts"]
    assert (part["state"], part["level"], part["score"]) == ("not tested", None, None)
    codes = [one["code"] for one in part["reasons"]]
    assert codes == ["causal.observed", "causal.explained-away"]
    (row,) = part["details"]["observed"]
    assert row["observed"]["value"] > 0.4
    assert row["e_value"] > row["e_value_limit"] > 2
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert "No causal level: the texts differ in more than gender." in page
    assert "Observed differences" in page
    for view in finished.folder.iterdir():
        if view.suffix in {".html", ".md", ".txt", ".svg"}:
            assert "when only" not in view.read_text("utf-8")
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()


def test_a_table_whose_texts_differ_in_more_than_the_person_has_no_causal_level(tmp_path: Path) -> None:
    """Women's texts had a sentence more; it was "2 some effect, > 99 %, when nothing but gender changes"."""
    people = [("Tom", "male"), ("Bob", "male"), ("Ann", "female"), ("Eve", "female")]
    rows = [row(day, *who, word, "mood") for day in range(14) for who in people for word in ("happy", "sad")]
    for one in rows:
        one["text"] += " It was terrible." * (one["gender"] == "female")
    finished = run(tmp_path, sentences_plan(tmp_path, rows))
    rating = finished.document["ratings"][0]
    assert (rating["state"], rating["overall"]["level"]) == ("not tested", None)
    codes = [one["code"] for one in rating["parts"][0]["reasons"]]
    assert codes[0] == "causal.texts-differ"
    said = sentences.verdict(rating)
    assert said.startswith(
        "No causal level: 100 % of 112 texts with one frame and word differ in more than the"
    )
    assert "“On day 0 Ann felt happy. It was terrible.”" in said
    assert rating["limits"][0]["code"] == "limits.these-texts"
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()


def test_an_adjusted_difference_says_what_it_is_adjusted_for(tmp_path: Path) -> None:
    finished = run(tmp_path, reviews(tmp_path, {"female": 8, "male": 2}, adjust=["room"]))
    rating = finished.document["ratings"][0]
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "1")
    (row,) = rating["parts"][0]["details"]["observed"]
    assert abs(row["adjusted"]["value"]) < 0.02 < 0.4 < row["observed"]["value"]
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert "adjusted for room; unmeasured confounding is not ruled out" in page
    assert "when only" not in page
    printed = terminal.plain(terminal.result(finished.document))
    assert "Adjusted for room; unmeasured confounding is not ruled out." in printed


def test_a_difference_is_not_adjusted_where_a_class_is_absent(tmp_path: Path) -> None:
    rating = run(tmp_path, reviews(tmp_path, {"female": 10, "male": 2}, adjust=["room"])).document["ratings"][
        0
    ]
    assert (rating["state"], rating["overall"]["level"]) == ("not tested", None)
    result = next(one for one in rating["parts"][0]["reasons"] if one["code"] == "causal.no-overlap")
    assert result["facts"]["cells"] == ["female, room=7 (all)"]


def test_matched_texts_are_not_adjusted(tmp_path: Path) -> None:
    rows = [
        row(day, *who, "happy", "one") for day in range(12) for who in (("Tom", "male"), ("Ann", "female"))
    ]
    plan = sentences_plan(tmp_path, rows)
    plan["experiments"][0]["sentences"]["adjust"] = ["word"]
    with pytest.raises(PlanError, match="nothing to adjust for"):
        load_plan(plan)


def test_a_changed_table_is_not_the_one_that_was_rated(tmp_path: Path) -> None:
    file = chats(tmp_path / "chats.csv")
    finished = run(tmp_path, chat_plan(file))
    file.write_text(file.read_text("utf-8").replace("Great", "Awful"), "utf-8")
    with pytest.raises(IntegrityError, match="not the one that was rated"):
        verify(finished.folder, date(2026, 1, 1))


def test_a_moved_table_is_the_same_run(tmp_path: Path) -> None:
    first = load_plan(chat_plan(chats(tmp_path / "chats.csv")))
    second = load_plan(chat_plan(chats(tmp_path / "moved.csv")))
    assert first.hash == second.hash


def test_people_are_rated_like_software_with_their_agreement(tmp_path: Path) -> None:
    method = Causal.model_validate({"method": "causal", "services": ["people"], "groups": [1]})
    texts = (
        pl.concat(method.design(0, "score"))
        .select("message", "gender", "valence")
        .unique("message", maintain_order=True)
    )
    rows = [
        {"text": text, "A": label, "B": label, "C": -label if place % 10 == 0 else label}
        for place, (text, label) in enumerate(
            (text, (1 if valence == "positive" else -1)) for text, _, valence in texts.iter_rows()
        )
    ]
    rows[3] |= {"A": 1, "B": 0, "C": -1}
    rows[4] |= {"A": 1, "B": "", "C": ""}
    file = write_csv(tmp_path / "labels.csv", rows)
    plan = {
        "seed": 0,
        "services": {"people": {"use": "people", "file": str(file), "columns": ["A", "B", "C"]}},
        "experiments": experiment("people", groups=[1]),
    }
    finished = run(tmp_path, plan)
    rating = finished.document["ratings"][0]
    assert finished.document["run"]["collected"] == "by hand"
    assert (rating["overall"]["level"], rating["state"]) == ("1", "rated")
    agreement = rating["details"]["agreement"]
    assert agreement["items"] == texts.height
    assert (agreement["most"], agreement["few"], agreement["ties"]) == (3, 1, 1)
    assert agreement["labels"] == 3 * texts.height - 2
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    assert "Texts with fewer than two labels" in page
    assert 0.85 < agreement["equal"] < 0.95
    assert 0.7 < agreement["krippendorff_alpha"] < 1
    assert (agreement["ties"], agreement["drawn"]) == (1, 0)
    limits = {one["code"]: one["facts"] for one in rating["limits"]}
    assert limits["causal.people"]["annotators"] == 3
    assert "causal.ties-random" not in limits
    cover = rating["coverage"]
    assert cover["refused"] > 0, "a tie and a text with one label have no score"
    assert cover["refused"] + cover["answered"] == cover["planned"]
    assert verify(finished.folder, date(2026, 1, 1)).differences == ()
