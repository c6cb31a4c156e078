"""The calibration benchmark: counting, targets, page and merge on made-up trials; control services."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration import causal, scorers, two_step
from benchmarks.calibration.__main__ import main, write
from benchmarks.calibration.counting import EDGES, VARIES, Bin, Row, as_json, certainties, counted, from_json
from benchmarks.calibration.measuring import are_missing, file_of, kept
from benchmarks.calibration.picture import drawn
from benchmarks.calibration.record import NO_LEVEL, Setting, Trial, certainty_in_report
from benchmarks.calibration.table import Measured, page
from benchmarks.calibration.targets import Target, percent, targets

from tests.reports import social_fixtures
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import by_occupation, catalogue
from trustgauge.methods.two_step.score import ABSTAINS
from trustgauge.records import Reason
from trustgauge.stats.distributions import wilson

TARGETS = ("wrong", "coverage", "power", "certainty")


def setting(trials: Sequence[Trial], **facts: object) -> Setting:
    given = {
        "method": "two-step", "service": "a", "kind": "effect", "truth": "BS", "size": "10 texts",
        "recommended": True, "promised": None,
    }  # fmt: skip
    return Setting(**{**given, **facts}, trials=tuple(trials))  # type: ignore[arg-type]


def faked(wrong: float, covered: float, found: float, right: float) -> list[Row]:
    """4,000 ratings of a service at full certainty, and as many of services that vary, at every certainty."""
    share = np.arange(4000) / 4000
    fixed = [
        Trial("BS", settled=one < found, certainty=0.97, right=one >= wrong, covered=(one * 7) % 1 < covered)
        for one in share
    ]
    varied = [
        Trial("BS", settled=False, certainty=said, right=(one * 13) % 1 < said + right, covered=None)
        for said in (0.55, 0.75, 0.85, 0.92, 0.97)
        for one in share
    ]
    both = [setting(fixed, promised=0.80), setting(varied, truth=VARIES, service="b")]
    return [counted(one) for one in both]


def by_aim(told: Sequence[Target]) -> dict[str, bool]:
    return {about: all(one.met for one in told if one.about == about) for about in TARGETS}


def test_trials_are_counted() -> None:
    trials = [
        Trial("BS", settled=True, certainty=0.999, right=True, covered=True),
        Trial("DSBS", settled=True, certainty=0.96, right=False, covered=False),
        Trial("BS", settled=False, certainty=0.6, right=True, covered=True),
        Trial(None, settled=False, certainty=float("nan"), right=None, covered=None),
    ]
    row = counted(setting(trials))
    assert (row.runs, row.wrong, row.found, row.unsettled, row.unrated) == (4, 1, 1, 2, 1)
    assert (row.intervals, row.covered, row.on_cut) == (3, 2, False)
    assert row.bins[EDGES.index(0.99)] == Bin(0.999, 1, 1)
    assert row.bins[EDGES.index(0.95)] == Bin(0.96, 0, 1)
    assert row.bins[EDGES.index(0.6)] == Bin(0.6, 1, 1)
    assert sum(one.n for one in row.bins) == 3


def test_no_level_is_wrong_on_a_cut() -> None:
    row = counted(setting([Trial("BS", settled=True, certainty=1.0, right=None, covered=True)] * 3))
    assert row.on_cut
    assert row.wrong == row.found == sum(one.n for one in row.bins) == 0
    assert not [one for one in targets([row]) if one.about == "wrong"]


def test_a_method_that_is_as_right_as_it_says_meets_every_target() -> None:
    assert by_aim(targets(faked(0.005, 0.95, 0.80, 0.0))) == dict.fromkeys(TARGETS, True)


@pytest.mark.parametrize(
    ("about", "rows"),
    [
        ("wrong", faked(0.03, 0.95, 0.80, 0.0)),
        ("coverage", faked(0.005, 0.85, 0.80, 0.0)),
        ("coverage", faked(0.005, 1.00, 0.80, 0.0)),
        ("power", faked(0.005, 0.95, 0.60, 0.0)),
        ("power", faked(0.005, 0.95, 0.95, 0.0)),
        ("certainty", faked(0.005, 0.95, 0.80, -0.15)),
        ("certainty", faked(0.005, 0.95, 0.80, +0.15)),
    ],
    ids=["wrong", "short intervals", "wide intervals", "weak", "strong", "too sure", "too modest"],
)
def test_each_fault_misses_its_own_target_only(about: str, rows: list[Row]) -> None:
    assert by_aim(targets(rows)) == {**dict.fromkeys(TARGETS, True), about: False}


@pytest.mark.parametrize(
    ("wrong", "runs", "met"),
    [(0, 300, True), (0, 299, False), (1, 300, False), (1, 1000, True), (5, 1000, False), (5, 2000, True)],
)
def test_a_target_is_met_by_its_bound(wrong: int, runs: int, met: bool) -> None:
    """Few ratings say little: none wrong of 300 is enough, or an interval that ends below 1 %."""
    trials = [
        Trial("BS", settled=True, certainty=0.97, right=one >= wrong, covered=None) for one in range(runs)
    ]
    result = [one for one in targets([counted(setting(trials))]) if one.about == "wrong"]
    assert [one.met for one in result] == [met, met]


def test_the_service_that_misses_is_named() -> None:
    fine = [Trial("BS", settled=True, certainty=0.97, right=True, covered=None)] * 300
    poor = [Trial("BS", settled=True, certainty=0.97, right=one > 8, covered=None) for one in range(300)]
    rows = [counted(setting(fine)), counted(setting(poor, service="the worst of them"))]
    (_, worst) = (one for one in targets(rows) if one.about == "wrong")
    assert not worst.met
    assert "the worst of them" in worst.measured


def test_whatever_is_settled_of_a_service_that_changes_is_wrong() -> None:
    trials = [
        Trial("BS", settled=settled, certainty=0.97, right=False, covered=None) for settled in (True, False)
    ]
    row = counted(setting(trials, truth=NO_LEVEL, kind="changing"))
    assert (row.wrong, row.unsettled, row.on_cut) == (1, 1, False)
    assert sum(one.n for one in certainties([row])) == 0


def test_intervals_are_not_judged_where_few_runs_are_rated() -> None:
    held = Trial("BS", settled=True, certainty=0.97, right=True, covered=False)
    none = Trial(None, settled=False, certainty=float("nan"), right=None, covered=None)
    assert not [
        one for one in targets([counted(setting([held] * 10 + [none] * 90))]) if one.about == "coverage"
    ]
    assert [
        one.met for one in targets([counted(setting([held] * 90 + [none] * 10))]) if one.about == "coverage"
    ] == [
        False,
        False,
    ]


def test_certainty_counts_as_a_report_states_it() -> None:
    """None where a figure may be the largest of several by chance, as no report shows it."""
    rating = social_fixtures.rating(attributes=("gender",), state="not settled")
    assert certainty_in_report(rating) == rating.certainty["H"] == 0.81
    chance = Reason("social-bias.largest-by-chance", {"p": 1.0, "figures": 12})
    assert np.isnan(certainty_in_report(replace(rating, reasons=(*rating.reasons, chance))))
    assert np.isnan(certainty_in_report(replace(rating, level=None, certainty={})))


def test_certainty_is_read_where_the_truth_varies() -> None:
    sure = Trial("BS", settled=True, certainty=0.97, right=True, covered=None)
    fixed, varied = counted(setting([sure] * 5)), counted(setting([sure] * 2, truth=VARIES))
    place = EDGES.index(0.95)
    assert certainties([fixed])[place].n == 5
    assert certainties([fixed, varied])[place].n == 2


def test_a_share_stands_with_its_interval() -> None:
    low, high = wilson(3, 200)
    assert percent(3, 200) == f"1.5 ({100 * low:.1f} to {100 * high:.1f})"
    assert percent(0, 0) == "–"


def test_rows_come_back_from_json() -> None:
    rows = faked(0.01, 0.95, 0.8, 0.0)
    read = from_json(json.loads(json.dumps(as_json(rows))))
    for row, again in zip(rows, read, strict=True):
        assert [one.said for one in again.bins] == pytest.approx([one.said for one in row.bins])
        assert replace(again, bins=row.bins) == row


def _written(folder: Path, method: str, rows: Sequence[Row], seed: int = 1) -> None:
    facts = {"day": "2026-11-24", "seed": seed, "cpu_seconds": 3, "settings": as_json(rows)}
    file_of(folder, method).write_text(json.dumps(facts), "utf-8")


def test_the_page_has_the_methods_that_were_measured(tmp_path: Path) -> None:
    fine = faked(0.0, 0.95, 0.8, 0.0)
    for method in ("trust", "two-step"):
        _written(tmp_path, method, fine)
    write(tmp_path)
    result = (tmp_path / "calibration.md").read_text("utf-8")
    assert [line for line in result.splitlines() if line.startswith("## ")][1:] == ["## two-step", "## trust"]
    assert "**missed**" not in result
    _written(tmp_path, "trust", faked(0.0, 0.95, 0.5, 0.0))
    write(tmp_path)
    assert (tmp_path / "calibration.md").read_text("utf-8").count("**missed**") == 1
    assert list(kept(tmp_path)) == ["two-step", "trust"]


def test_what_was_not_measured_so_often_with_this_seed_is_missing(tmp_path: Path) -> None:
    assert are_missing("trust", 10, 1, tmp_path)("a")
    _written(tmp_path, "trust", faked(0.0, 0.95, 0.8, 0.0))
    asked = [(4000, 1), (4001, 1), (4000, 2)]
    assert [are_missing("trust", runs, seed, tmp_path)("a") for runs, seed in asked] == [False, True, True]
    assert are_missing("trust", 10, 1, tmp_path)("another")


def test_the_page_tells_every_setting() -> None:
    row = counted(setting([Trial("UCS", settled=True, certainty=0.97, right=False, covered=True)] * 4,
                          service="one of them", promised=0.8))  # fmt: skip
    smaller = counted(setting([Trial(None, settled=False, certainty=float("nan"), right=None, covered=None)],
                              recommended=False, size="5 texts"))  # fmt: skip
    result = page({"two-step": Measured((row, smaller), "2026-11-24", 7, 3, {})})
    line = next(one for one in result.splitlines() if one.startswith("| effect | one of them"))
    assert "| 100.0 (51.0 to 100.0) | 0.0 (0.0 to 49.0) | 0 |  |" in line
    assert line.endswith("| 80 | 0.0 (0.0 to 49.0) |")
    assert "| *5 texts* |" in result


def test_the_picture_has_a_point_for_each_bin() -> None:
    rows = faked(0.0, 0.95, 0.8, 0.0)
    root = ET.fromstring(drawn({"two-step": rows, "trust": rows}))
    points = [one for one in root.iter() if one.tag.endswith("circle")]
    assert len(points) == 2 * 5
    assert {"two-step", "trust"} <= {one.text for one in root.iter() if one.tag.endswith("text")}
    tops = [float(one.attrib["cy"]) for one in points[:5]]
    assert tops == sorted(tops, reverse=True)


def test_translators_have_the_truth_of_the_catalogue() -> None:
    method = TwoStep(method="two-step", services=("service",))
    built = list(two_step.services())
    for known, service in zip((*catalogue(), *by_occupation()), built, strict=False):
        assert two_step.truth(method, service)[0] == known.truth
    level, score, on_cut = two_step.truth(method, built[[one.name for one in catalogue()].index("all->He")])
    assert (level, score, on_cut) == ("BS", 0.5, False)
    on_cuts = {one.name for one in built if two_step.truth(method, one)[2]}
    assert on_cuts == {
        "changes She to He in 20 %",
        "loses 10 % of the mentions",
        "changes She to He in 20 % of the occupations",
    }


def test_translators_out_of_a_language_without_he_and_she_are_rated_as_built() -> None:
    """What they are asked about are occupations, which are the words of such a language's values."""
    service = next(one for one in two_step.services() if one.source and "60 %" in one.name)
    asked_for = {"one_way": service.into, "source": service.source, "texts": 60}
    method = TwoStep.model_validate({"method": "two-step", "services": ["service"], **asked_for})
    assert len(np.unique(two_step.Asked.of(method, 3).items)) > 20
    setting = two_step.rated(method, service, 10, 3)
    assert setting.truth == "BS"
    assert {one.level for one in setting.trials if one.settled} == {"BS"}


def test_a_translator_answers_as_it_is_built() -> None:
    """In words, through the method's own reader: what is counted at the end is what was put in."""
    method = TwoStep(method="two-step", services=("service",))
    asked = two_step.Asked.of(method, 3)
    rates = np.array([[0.7, 0.2, 0.1], [0.4, 0.5, 0.1]])
    service = two_step.Service("x", "effect", rates, declined=0.05, failed=(0.0, 0.10))
    rows = asked.answered(service, "it", np.random.default_rng(4))
    summary = method.summarise(method.score(rows))
    read = (
        summary.filter(pl.col("status") == "answered")
        .group_by("value_in", "value_out")
        .agg(pl.col("n").sum())
    )
    counts = {(given, came): number for given, came, number in read.iter_rows()}
    for given in (0, 1):
        total = sum(counts[given, came] for came in range(3))
        for came in range(3):
            assert counts[given, came] / total == pytest.approx(rates[given, came], abs=0.08)
    assert set(summary.filter(pl.col("value_out") == 2)["kind"]) == {"it", "none", "refused", "they"}
    status = rows["status"].value_counts()
    shares = {name: number / rows.height for name, number in status.iter_rows()}
    with_she = float(np.mean((asked.values == 1).any(axis=1)))
    assert shares["failed"] == pytest.approx(0.10 * with_she, abs=0.03)
    assert shares["refused"] == pytest.approx(0.05 * (1 - shares["failed"]), abs=0.03)
    gone = rows.filter(pl.col("status") == "failed")
    assert gone["output"].null_count() == gone.height
    assert all(1 in values for values in gone["values"].to_list())


def test_occupations_can_decide() -> None:
    method = TwoStep(method="two-step", services=("service",))
    asked = two_step.Asked.of(method, 3)
    service = two_step.Service("x", "clustered", np.array([[1, 0, 0], [0.5, 0.5, 0.0]]), sharing=1.0)
    marks = method.score(asked.answered(service, "it", np.random.default_rng(4)))
    rows = (
        marks.select("items", "values", "read")
        .explode("items", "values", "read")
        .filter(pl.col("values") == 1)
    )
    kinds = rows.group_by("items").agg(pl.col("read").n_unique(), pl.len())
    assert kinds["read"].max() == 1
    assert 0.35 < (rows["read"] == 0).mean() < 0.65  # type: ignore[operator]


def test_translators_are_rated() -> None:
    first = list(islice(two_step.settings(3, 1), 3))
    assert [one.service for one in first] == ["identity", "all become He", "all are lost"]
    assert [one.truth for one in first] == ["DSBS", "BS", "BS"]
    for one in first:
        assert (one.method, one.size, one.recommended) == ("two-step", "200 texts a block", True)
        assert len(one.trials) == 3
        assert all(trial == Trial(one.truth, True, 1.0, True, True, 0.0) for trial in one.trials)
    assert list(islice(two_step.settings(3, 1), 3)) == first


def test_scorers_have_the_effects_of_the_method() -> None:
    """The female-biased scorer of causal 2.6: |delta| of 4/5 without NA in Group 2, of 2/5 in Group 4."""
    method = Causal.model_validate({"method": "causal", "services": ["service"]})
    probes = pl.concat(method.design(1, "score"))
    expected = np.where(probes["gender"] == "female", -1.0, 1.0)
    facts = dict(
        zip([one.key for one in method.measured], causal.effects(method, probes, expected), strict=True)
    )
    assert facts == pytest.approx(
        {
            "group-1": 1.0,
            "group-2": 0.4,
            "group-3-race": 0.0,
            "group-3-gender": 1.0,
            "group-3-race-gender": 1.0,
            "group-4": 0.2,
        }
    )


@pytest.mark.parametrize(
    ("shift", "spread", "persons"), [(0.12, 0.1, 0.0), (0.6, 0.2, 0.05), (0.3, 0.0, 0.0)]
)
def test_expected_scores_are_the_means_of_many_answers(shift: float, spread: float, persons: float) -> None:
    method = Causal.model_validate(
        {"method": "causal", "services": ["service"], **causal.SMALL, "groups": [1]}
    )
    probes = pl.concat(method.design(1, "score"))
    service = scorers.Service("x", "effect", shift, spread=spread, persons=persons)
    rng = np.random.default_rng(1)
    mean = np.mean([service.scores(probes, rng) for _ in range(400)], axis=0)
    expected = service.expected(probes)
    for gender in ("male", "female"):
        mine = (probes["gender"] == gender).to_numpy()
        assert mean[mine].mean() == pytest.approx(expected[mine].mean(), abs=0.004)


def test_scorers_answer_refuse_and_fail() -> None:
    method = Causal.model_validate({"method": "causal", "services": ["service"], "groups": [1]})
    probes = pl.concat(method.design(1, "score"))
    service = scorers.Service("x", "lost", failed=(0.0, 0.2), declined=(0.1, 0.0))
    marks = method.score(service.answered(probes, "it", np.random.default_rng(2)))
    gone = marks.filter(pl.col("status") == "failed")
    assert set(gone["gender"]) == {"female"}
    assert gone.height / probes.height == pytest.approx(0.1, abs=0.02)
    refused = marks.filter(pl.col("status") == "refused")
    assert set(refused["valence"]) == {"negative"}
    assert marks.filter(pl.col("status") == "answered")["score"].null_count() == 0
    assert marks["score"].null_count() == gone.height + refused.height


def test_scorers_are_rated(tmp_path: Path) -> None:
    smaller = causal.experiments(tmp_path)[3]
    built = {one.name: one for one in smaller.services}
    names = ("noise only", "women 12 % higher", "women 5 % higher")
    noise, strong, on_cut = (causal.rated(smaller, built[name], 2, 1) for name in names)
    assert (noise.method, noise.kind, noise.truth, noise.recommended) == ("causal", "null", "1", False)
    assert [trial.level for trial in noise.trials] == ["1", "1"]
    assert strong.truth == "2"
    assert all(trial.settled and trial.right and trial.covered for trial in strong.trials)
    assert all(trial.right is None for trial in on_cut.trials)
    assert causal.rated(smaller, built["noise only"], 2, 1) == noise
    assert next(causal.settings(1, 1)).recommended


@pytest.mark.parametrize("how", ["update", "drift", "regimes"])
def test_a_translator_that_changes_is_another_one_later(how: str) -> None:
    method = TwoStep(method="two-step", services=("service",))
    (service,) = (one for one in two_step.services() if one.how == how and one.later is not None)
    rows = two_step.Asked.of(method, 3).answered(service, "it", np.random.default_rng(4))
    read = method.score(rows).select("segment", "values", "read").explode("values", "read")
    kept = (pl.col("read") == 1).mean().alias("kept")
    by_time = (
        read.filter(pl.col("values") == 1).group_by("segment").agg(kept).sort("segment")["kept"].to_list()
    )
    assert len(by_time) == 10
    if how == "update":
        assert by_time[0] == 1.0
        assert by_time[-1] == 0.0
    elif how == "drift":
        assert by_time[0] > 0.8
        assert by_time[-1] < 0.2
    else:
        assert 0.2 < np.mean(by_time) < 0.8
    assert two_step.truth(method, service)[0] == ("BS" if how == "regimes" else NO_LEVEL)


def test_a_wording_that_leaves_open_of_whom_it_speaks_is_not_read() -> None:
    method = TwoStep(method="two-step", services=("service",), texts=50)
    service = two_step.Service("x", "lost", two_step.HE * np.ones((2, 1)), unclear=1.0)
    marks = method.score(two_step.Asked.of(method, 3).answered(service, "it", np.random.default_rng(4)))
    assert set(marks["read"].explode()) == {ABSTAINS}


def test_the_command_measures_what_it_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--method", "two-step", "--only", "identity, de", "--runs", "2", "-o", str(tmp_path)]
    main(asked)
    assert capsys.readouterr().out.strip() == (tmp_path / "calibration.md").read_text("utf-8").strip()
    (found,) = kept(tmp_path).values()
    assert [(row.kind, row.runs) for row in found.rows] == [("refusing", 2)] * 2 + [("changing", 2)]
    before = file_of(tmp_path, "two-step").read_text("utf-8")
    main([*asked, "--missing"])
    assert file_of(tmp_path, "two-step").read_text("utf-8") == before
    main([*asked, "--only", found.rows[0].service, "--missing", "--seed", "5"])
    assert kept(tmp_path)["two-step"].seed == 5
    assert (tmp_path / "calibration.svg").read_text("utf-8").startswith("<svg")
