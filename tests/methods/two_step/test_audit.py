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
from trustgauge.run.audit import drawn_elements


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


def audited(turned: float, named: float, size: int, unresolved: int = 0) -> tuple[Rating, Rating]:
    """The ratings before and after so many mentions are labelled."""
    method, said, read, plain = unaudited(turned, named)
    frame = method.audit_frame(read, plain)
    assert frame.schema == AUDIT_FRAME
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
    assert table["misread"].any() == (named > 0)
    return plain, rating


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
    plain, rating = audited(turned=0.8, named=0.5, size=30)
    assert "audit-unfinished" in codes(rating)
    assert rating.parts[0].details["rates"] == plain.parts[0].details["rates"]
    assert rating.details["instrument"]["words"] == "not audited"


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


@pytest.mark.parametrize("setting", [LEAKS[0], LEAKS[3], TRIPS[5]], ids=["leaks", "samples", "trips"])
def test_audited_intervals_hold_the_truth_however_wrong_the_reader_is(setting: Leaks | Trips) -> None:
    """A few runs; `python -m benchmarks.reader_audit` makes hundreds. At both ends all is labelled."""
    found = outcome(setting, 4)
    assert found["covered"] >= 0.75  # 95 % less three standard errors, or more
    assert abs(found["error"]) < 0.1
    assert found["wrong"] == 0
