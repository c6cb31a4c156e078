"""Answers that came and that the reader does not understand: bounded, never lost (methods 0.4, 0.10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.unread_labels import Service, after_labels, hidden

from tests.methods.two_step.summaries import HE, OTHER, SHE, settings, shifted, summary
from tests.reports.golden import only
from tests.servers import LocalServer, Request, Response
from trustgauge.data import Attribute
from trustgauge.methods.two_step.design import design
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.rating import rate
from trustgauge.methods.two_step.score import merge, score_answers, summarise
from trustgauge.methods.two_step.sentences import UNREAD, Sentences
from trustgauge.plan import load_plan
from trustgauge.records import Rating
from trustgauge.reports import sentences
from trustgauge.reports.sentences import next_step
from trustgauge.run import run
from trustgauge.run.options import RunOptions

IDENTITY = np.eye(3)
NAMES = {"He": "Peter", "She": "Maria"}


def rated(rates: Any, method: TwoStep | None = None, **answers: Any) -> Rating:
    method = method or settings()
    (found,) = rate(summary(method, rates, **answers), method, 11)
    return found


def codes(rating: Rating) -> list[str]:
    return [reason.code for reason in rating.parts[0].reasons]


def facts(rating: Rating, code: str) -> dict[str, Any]:
    return dict(next(one.facts for one in rating.parts[0].reasons if one.code == code))


def named(method: TwoStep, share: float, seed: int) -> Rating:
    """The rating of a service that changes nothing, but for turning pronouns into names."""
    rng = np.random.default_rng(seed)
    probes = pl.concat(list(design(method, seed, "translate")))
    outputs = []
    for message, values in probes.select("message", "values").iter_rows():
        lines = message.split(". ")
        for slot, value in enumerate(values):
            if rng.random() < share:
                word = ("He", "She")[value]
                lines[slot] = lines[slot].replace(f"{word} is", f"{NAMES[word]} is")
        outputs.append(". ".join(lines))
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    answers = probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()), output=pl.Series(outputs)
    )
    return rate(summarise(score_answers(method, answers)), method, seed)[0]


def test_a_few_unread_answers_leave_the_level_with_the_lowest_certainty() -> None:
    rating = rated(IDENTITY, unread=range(0, 180, 30))
    assert (rating.state, rating.level) == ("rated", "DSBS")
    assert facts(rating, "unread-does-not-matter") == {"share": 12 / 360, "unread": 12, "planned": 360}
    assert rating.parts[0].details["unread"] == {"He": 7, "She": 5}
    assert (rating.parts[0].coverage.answered, rating.parts[0].coverage.unread) == (174, 6)
    assert "incomplete-loss" not in codes(rating)


def test_unread_answers_that_could_change_the_level_say_how_many_to_read() -> None:
    rating = rated(IDENTITY, unread=range(0, 180, 5))
    assert (rating.state, rating.level) == ("not settled", "DSBS")
    result = facts(rating, "unread-matters")
    assert (result["unread"], result["planned"]) == (72, 360)
    assert 0 < result["to_read"] < 72


@pytest.mark.parametrize(("share", "most"), [(0.0, 0.9), (0.5, 0.75)])
def test_so_many_labels_settle_a_level_mostly_and_no_more_are_asked_for(share: float, most: float) -> None:
    """A few runs of a deterministic service; `python -m benchmarks.unread_labels` makes hundreds."""
    found = [after_labels(Service(share, 60, 0.3, shared=True), seed) for seed in range(5)]
    assert sum(one.settled for one in found) >= 3
    assert all(0 < one.number <= one.of for one in found)
    assert np.mean([one.number / one.of for one in found]) < most


def test_where_there_are_too_few_texts_no_labels_are_promised() -> None:
    """Four texts of a block are too few whatever people read; more texts are asked for."""
    method = settings(texts=4)
    states = set()
    for seed in range(6):
        frame = summary(method, shifted(0.5), seed=seed)
        chosen = pl.Series(np.random.default_rng(seed).random(frame.height) < 0.3)
        (rating,) = rate(hidden(frame, chosen), method, 11)
        states.add(rating.state)
        for part in rating.parts:
            assert not [one for one in part.reasons if "to_read" in one.facts]
            assert "too-few-clusters" in codes(rating)
        assert next_step(only(rating)) == "Rate it with more texts."
    assert states == {"not settled"}


def test_the_sentence_counts_mentions_as_its_numbers_do(tmp_path: Path) -> None:
    """Of 60 texts in three blocks each has two."""

    def answer(request: Request) -> Response:
        text = request.json()["text"]
        return Response.json({"output": text.replace("She is", "Maria is").replace("He is", "Peter is")})

    with LocalServer(answer) as server:
        services = {"mine": {"use": "http", "url": server.url}}
        experiment = {"method": "two-step", "services": ["mine"], "texts": 60}
        finished = run.rate(
            load_plan({"services": services, "experiments": [experiment]}), RunOptions(tmp_path)
        )
    (found,) = finished.document["ratings"]
    (reason,) = [one for one in found["parts"][0]["reasons"] if one["code"] == "unread-matters"]
    said = sentences.reason(reason, found)
    assert f"{reason['facts']['unread']} of 360 mentions could not be interpreted" in said


def test_an_answer_of_which_no_mention_is_understood_counts_as_unread() -> None:
    method = settings()
    probes = pl.concat(list(design(method, 1, "translate")))
    probes = probes.filter(pl.col("message").str.contains("^He is .*He is")).head(3)
    whole, half, none = probes["message"].to_list()
    half, none = half.replace("He is", "Peter is", 1), none.replace("He is", "Peter is")
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    answers = probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()),
        output=pl.Series([whole, half, none]),
    )
    frame = summarise(score_answers(method, answers))
    result = dict(frame.group_by("status").agg(pl.col("texts").sum()).iter_rows())
    assert result == {"answered": 2, "unread": 1}
    assert frame.filter(pl.col("value_out") == -2)["n"].sum() == 3, "mentions are counted as before"


def test_where_people_cannot_read_instead_no_labels_are_asked_for() -> None:
    """Labels count under `sound` alone; and what is no score, nobody can read as one."""
    published = settings(rule="published")
    rating = rated(IDENTITY, published, unread=range(0, 180, 3))
    (reason,) = [one for one in rating.parts[0].reasons if one.code == "unread-matters"]
    assert "option" not in reason.facts
    assert "trustgauge" not in sentences.reason(reason)
    assert not published.fills_unread
    assert not settings(attribute="valence").fills_unread
    assert settings().fills_unread


def test_unread_is_neither_other_nor_missing() -> None:
    """All He were Other at 30 %: that is lost, and BS. As unread ones they leave the level open."""
    lost = np.array([0.7 * HE + 0.3 * OTHER, 0.7 * SHE + 0.3 * OTHER, OTHER])
    assert rated(lost).level == "BS"
    rating = rated(IDENTITY, unread=range(0, 180, 3))
    assert rating.parts[0].details["rates"][0] == [1.0, 0.0, 0.0]
    assert (rating.state, rating.parts[0].coverage.failed) == ("not settled", 0)


def test_a_level_that_no_reading_can_change_stands() -> None:
    rating = rated(np.array([HE] * 3), unread=range(0, 180, 5))
    assert (rating.state, rating.level) == ("rated", "BS")
    assert "unread-does-not-matter" in codes(rating)


@pytest.mark.parametrize("rule", ["sound", "published"])
def test_pronouns_turned_into_names_are_not_settled_as_biased(rule: str) -> None:
    method = settings(patterns=("subject",), texts=40, rule=rule)
    for seed in range(6):
        rating = named(method, 0.12, seed)
        assert rating.level == "DSBS"
        assert "two-step.loses-mentions" not in codes(rating)
        assert {"unread-matters", "unread-does-not-matter"} & set(codes(rating))


def test_a_value_that_is_read_less_often_is_told() -> None:
    method = settings(texts=60)
    frame = summary(method, IDENTITY)
    she = (pl.col("value_in") == 1) & (pl.col("text").hash(1) % 4 == 0)
    hidden = frame.with_columns(
        pl.when(she).then(pl.lit(-2, pl.Int8)).otherwise("value_out").alias("value_out"),
        pl.when(she).then(pl.lit("unread")).otherwise("kind").alias("kind"),
    )
    (rating,) = rate(merge([hidden]), method, 11)
    result = facts(rating, "unread-differs")
    assert (result["where"], result["against"]) == ("She", "He")
    assert result["p"] < 0.01


@pytest.mark.parametrize("gap", ["failed", "unread"])
def test_certainty_is_the_lowest_of_all_fillings(gap: str) -> None:
    """She -> He .13 is DSBS, but less surely so if the answers that did not come were all He."""
    method = settings(texts=100)
    whole = rated(shifted(0.13), method)
    gappy = rated(shifted(0.13), method, **{gap: range(0, 300, 37)})
    assert whole.level == gappy.level == "DSBS"
    assert {"loss-does-not-matter", "unread-does-not-matter", "unread-matters"} & set(codes(gappy))
    assert gappy.certainty["DSBS"] < whole.certainty["DSBS"]
    assert sum(gappy.certainty.values()) == pytest.approx(1)


def test_a_part_that_is_open_leaves_the_whole_open_only_if_it_decides() -> None:
    method = settings()
    biased = summary(method, np.array([HE] * 3), part="fr")
    gappy = summary(method, IDENTITY, part="es", unread=range(0, 180, 5))
    fine = summary(method, IDENTITY, part="pt")
    (worst,) = rate(merge([biased, gappy]), method, 11)
    assert (worst.state, worst.level) == ("rated", "BS")
    (rating,) = rate(merge([gappy, fine]), method, 11)
    assert (rating.state, rating.level) == ("not settled", "DSBS")
    assert "unread-matters" in [one.code for one in rating.reasons]


def test_a_mention_that_changed_is_no_less_changed_beside_one_that_was_not_read() -> None:
    method = settings(patterns=("subject",), texts=40)
    probes = pl.concat(list(method.design(3, "translate"))).filter(pl.col("values").list.len() == 2).head(3)
    said = []
    for place, (message, values) in enumerate(probes.select("message", "values").iter_rows()):
        first, second, *rest = message.split(". ")
        words = [("He", "She")[value] for value in values]
        if place < 2:
            first = first.replace(f"{words[0]} is", f"{NAMES[words[0]]} is")
        if place == 0:
            second = second.replace(f"{words[1]} is", f"{'She' if words[1] == 'He' else 'He'} is")
        said.append(". ".join([first, second, *rest]))
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    answers = probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()), output=pl.Series(said)
    )
    table = method.evidence(method.score(answers))
    assert table["values_out"].list.eval(pl.element().is_null()).list.sum().to_list() == [1, 1, 0]
    assert table["changed"].to_list() == [True, False, False]


def test_evidence_of_the_released_tally_has_what_was_counted_to_spare_too() -> None:
    """It counts more words than were sent: "he/she" for each of two persons."""
    method = settings(patterns=("subject",), texts=40, rule="released")
    probes = pl.concat(list(method.design(3, "translate"))).filter(pl.col("values").list.len() == 2).head(1)
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    said = pl.lit("He/she is a nurse. He/she is a baker.").alias("output")
    answers = probes.with_columns(*(pl.lit(value).alias(name) for name, value in columns.items()), said)
    table = method.evidence(method.score(answers))
    assert [len(read) for read in table["values_out"]] == [4]
    assert table["changed"].to_list() == [False]


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("The young nurse arrived.", "Young"),
        ("The elderly nurse arrived.", "Old"),
        ("The not young nurse arrived.", None),
        ("The nurse, who isn't very young, arrived.", None),
        ("The nurse is no longer young.", None),
        ("The nurse is not tired but young.", "Young"),
    ],
)
def test_what_somebody_is_said_not_to_be_is_unread(sentence: str, value: str | None) -> None:
    table = Attribute.model_validate(
        {
            "name": "age",
            "values": ["Old", "Young", "Other"],
            "words": {"Old": ["elderly"], "Young": ["young"]},
            "patterns": {"one": "The {word} {item} arrived.", "two": "We met the {word} {item}."},
            "items": ["nurse", "cook"],
        }
    )
    lost = {kind: len(table.values) + place for place, kind in enumerate(("none", "both", "other"))}
    ((_, reading),) = Sentences(table, lost | dict.fromkeys(table.kind_words(), 9)).read(sentence, ["nurse"])
    assert reading.code == (UNREAD if value is None else table.values.index(value))
