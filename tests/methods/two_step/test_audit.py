"""People who read what came back correct the reader of round trips (methods 0.10 (4), two-step 1.4, 1.7)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import polars as pl
import pytest
from benchmarks.reader_audit import LEAKS, TRIPS, Leaks, Trips, outcome

from tests.methods.two_step.summaries import settings
from tests.methods.two_step.test_unread import NAMES
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.rating.audit import AUDIT_FRAME, AuditLabels
from trustgauge.records import Rating
from trustgauge.run.audit_sample import drawn_elements


def answers(method: TwoStep, turned: float, named: float, seed: int = 3) -> pl.DataFrame:
    """A service that turns She into He, and writes names, which the reader does not know, for pronouns."""
    rng = np.random.default_rng(seed)
    probes = pl.concat(list(method.design(seed, "translate")))
    outputs = []
    for message, values in probes.select("message", "values").iter_rows():
        sentences = message.split(". ")
        for slot, value in enumerate(values):
            word = meant = ("He", "She")[value]
            if value == 1 and rng.random() < turned:
                meant = "He"
            if rng.random() < named:
                meant = NAMES[meant]
            sentences[slot] = sentences[slot].replace(f"{word} is", f"{meant} is")
        outputs.append(". ".join(sentences))
    columns = {"service": "it", "part": "", "shared": False, "status": "answered", "trail": "[]"}
    return probes.with_columns(
        *(pl.lit(value).alias(name) for name, value in columns.items()), output=pl.Series(outputs)
    )


def read_by_person(answer: str, sentence: str) -> str:
    """The value of a sentence, names understood."""
    said = answer.split(". ")[int(sentence) - 1]
    return "he" if said.startswith(("He ", "Peter ")) else "she"


@lru_cache
def unaudited(turned: float, named: float) -> tuple[TwoStep, pl.DataFrame, pl.DataFrame, Rating]:
    """The experiment, the answers, as they are read, and their rating."""
    method = settings(patterns=("subject",), draws=1000, texts=40)
    said = answers(method, turned, named)
    read = method.score(said)
    (plain,) = method.rate(method.summarise(read), 7)
    return method, said, read, plain


def audited(
    turned: float, named: float, size: int, unresolved: int = 0, *, of_read: bool = False
) -> tuple[Rating, Rating]:
    """The ratings before and after so many mentions are labelled, or of those that the reader read."""
    method, said, read, plain = unaudited(turned, named)
    frame = method.audit_frame(read, plain)
    assert frame.schema == AUDIT_FRAME
    frame = frame.filter(~pl.col("unread")) if of_read else frame
    drawn = set(drawn_elements(frame, size, 1))
    labels = {
        (part, name): read_by_person(answer, a.rpartition("sentence ")[2].rstrip(")"))
        for part, name, element, a, answer in frame.select("part", "id", "element", "a", "answer").iter_rows()
        if element in drawn
    }
    known = method.with_labels({"it": AuditLabels(labels, size, unresolved=unresolved)})
    again = known.score(said)
    (rating,) = known.rate(known.merge([known.summarise(again)]), 7)
    table = known.evidence(again)
    assert table["misread"].any() == (named > 0 and not of_read)
    return plain, rating


def read_by_people(turned: float, named: float, count: int, unresolved: int = 0) -> Rating:
    """The rating after people labelled so many of the mentions that the reader abstained from."""
    method, said, read, plain = unaudited(turned, named)
    frame = method.audit_frame(read, plain).filter(pl.col("unread")).head(count)
    labels = {
        (part, name): read_by_person(answer, a.rpartition("sentence ")[2].rstrip(")"))
        for part, name, a, answer in frame.select("part", "id", "a", "answer").iter_rows()
    }
    known = method.with_labels({"it": AuditLabels({}, 0, unresolved=unresolved, unread=labels)})
    (rating,) = known.rate(known.merge([known.summarise(known.score(said))]), 7)
    return rating


def codes(rating: Rating) -> list[str]:
    return [one.code for one in rating.parts[0].reasons]


def test_shares_that_rest_on_labels_are_as_uncertain_as_the_labels() -> None:
    """Of some 100 labels of She two in three say He: no interval is narrower than theirs."""
    _, rating = audited(turned=0.66, named=0.5, size=200)
    (part,) = rating.parts
    kept, (turned,) = part.details["kept"], [one for one in part.details["swaps"] if one["from"] == "She"][:1]
    she = kept["She"]
    assert (she["low"], she["high"]) == pytest.approx((1 - turned["high"], 1 - turned["low"]), abs=0.02)
    assert she["high"] - she["low"] > 0.15
    assert part.unchanged is not None
    assert part.unchanged.low is not None
    assert part.unchanged.high is not None
    assert part.unchanged.high - part.unchanged.low > 0.07


def test_names_that_the_reader_does_not_know_are_settled_by_an_audit() -> None:
    plain, rating = audited(turned=0.8, named=0.5, size=200)
    assert plain.state == "not settled"
    assert "unread-matters" in codes(plain)
    assert (rating.level, rating.state) == ("BS", "rated")
    assert "instrument-audited" in codes(rating)
    assert "unread-matters" not in codes(rating)
    assert rating.parts[0].details["rates"][1][0] == pytest.approx(0.8, abs=0.08)
    assert rating.details["instrument"]["words"].startswith("audited n=200, se 0.")
    assert "instrument" not in plain.details


def test_too_few_labels_change_nothing_and_say_so() -> None:
    plain, rating = audited(turned=0.8, named=0.5, size=30, of_read=True)
    assert "audit-unfinished" in codes(rating)
    assert rating.parts[0].details["rates"] == plain.parts[0].details["rates"]
    assert rating.details["instrument"]["words"] == "not audited"


def test_mentions_that_people_read_count_as_they_read_them_and_the_rest_as_before() -> None:
    method, _, read, plain = unaudited(turned=0.0, named=0.1)
    unread = method.audit_frame(read, plain)["unread"].sum()
    assert (plain.level, plain.state) == ("DSBS", "not settled")
    rating = read_by_people(turned=0.0, named=0.1, count=10_000)
    entry = rating.details["instrument"]
    assert (rating.level, rating.state) == ("DSBS", "rated")
    assert rating.parts[0].details["rates"][:2] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert rating.parts[0].details["unread"] == {}
    assert (entry["by_people"], entry["unread"], entry["audited"]) == (unread, 0, False)
    assert entry["words"] == "not audited"
    assert "unread-labelled" in codes(rating)
    assert not {"unread-matters", "audit-unfinished", "instrument-audited"} & {*codes(rating)}


def test_some_mentions_that_people_read_leave_the_rest_bounded() -> None:
    before = sum(unaudited(turned=0.8, named=0.5)[3].parts[0].details["unread"].values())
    rating = read_by_people(turned=0.8, named=0.5, count=10)
    assert sum(rating.parts[0].details["unread"].values()) == before - 10
    assert (rating.details["instrument"]["by_people"], rating.state) == (10, "not settled")
    assert "unread-matters" in codes(rating)


def test_as_many_labels_as_the_reason_asks_for_settle_the_level() -> None:
    (reason,) = [one for one in unaudited(0.0, 0.1)[3].parts[0].reasons if one.code == "unread-matters"]
    assert reason.facts["option"] == "--unread"
    asked = int(str(reason.facts["to_read"]))
    assert read_by_people(turned=0.0, named=0.1, count=asked + 5).state == "rated"
    assert read_by_people(turned=0.0, named=0.1, count=asked // 2).state == "not settled"


def test_what_two_people_read_differently_keeps_the_level_open() -> None:
    rating = read_by_people(turned=0.0, named=0.1, count=10_000, unresolved=1)
    assert rating.state == "not settled"
    assert "audit-unresolved" in codes(rating)


def test_labels_of_a_sample_too_small_count_where_the_reader_abstained() -> None:
    plain, rating = audited(turned=0.8, named=0.5, size=30)
    before, after = (sum(one.parts[0].details["unread"].values()) for one in (plain, rating))
    assert before - after == rating.details["instrument"]["by_people"] > 0
    assert {"unread-labelled", "audit-unfinished"} <= {*codes(rating)}


def test_labels_of_a_right_reader_leave_the_level_and_open_ones_keep_it_open() -> None:
    plain, rating = audited(turned=0.0, named=0.0, size=200)
    assert (plain.level, plain.state) == (rating.level, rating.state) == ("DSBS", "rated")
    _, disputed = audited(turned=0.0, named=0.0, size=200, unresolved=2)
    assert disputed.state == "not settled"
    assert "audit-unresolved" in codes(disputed)


def test_where_scores_are_read_or_papers_rule_there_is_nothing_to_label() -> None:
    assert not settings(rule="published").audit_choices
    assert not settings(attribute="valence").audit_choices
    assert [one.label for one in settings().audit_choices["mention"]] == ["he", "she", "other"]


def test_comparisons_stand_on_the_labels_too() -> None:
    method = settings(patterns=("subject",), draws=1000)
    said = answers(method, 0.8, 0.5)
    labels = {("", f"{slot}/{name}"): "she" for name in said["id"] for slot in (0, 1)}
    known = method.with_labels({"it": AuditLabels(labels, len(labels))})
    summary = known.summarise(known.score(said))
    bad = known.badness_draws(summary, 7)["it"]
    assert np.mean(bad) == pytest.approx(0.5, abs=0.02)  # every mention came back as She


def test_comparisons_stand_on_what_people_read_of_unread_mentions() -> None:
    method, said, read, plain = unaudited(turned=0.0, named=0.5)
    unread = method.audit_frame(read, plain).filter(pl.col("unread"))
    labels = dict.fromkeys(unread.select("part", "id").iter_rows(), "she")
    known = method.with_labels({"it": AuditLabels({}, 0, unread=labels)})
    bad = known.badness_draws(known.summarise(known.score(said)), 7)["it"]
    assert np.mean(bad) == pytest.approx(0.25, abs=0.04)  # half of He came back as She


@pytest.mark.parametrize("setting", [LEAKS[0], LEAKS[3], TRIPS[5]], ids=["leaks", "samples", "trips"])
def test_audited_intervals_hold_the_truth_however_wrong_the_reader_is(setting: Leaks | Trips) -> None:
    """A few runs; `python -m benchmarks.reader_audit` makes hundreds. At both ends all is labelled."""
    found = outcome(setting, 4)
    assert found["covered"] >= 0.75  # 95 % less three standard errors, or more
    assert abs(found["error"]) < 0.1
    assert found["wrong"] == 0
