"""A plan in many slices, in either store, comes to what it comes to in one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.run.plans import but_for_times, faithful, pending, pending_totals, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.errors import MethodError
from trustgauge.plan import load_plan
from trustgauge.reports.html import report
from trustgauge.run import prepare as preparing
from trustgauge.run import render
from trustgauge.run.options import RunOptions, lookup_in, pending_batches
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.probe_batches import ExperimentTask, ProbeBatches, batches_of, count_blocks, cut
from trustgauge.run.rate import StoredAnswers, answer_batches, answers_to, rate_answers
from trustgauge.run.run import RunResult, rate
from trustgauge.run.targets import Target, design, methods, plan_targets
from trustgauge.run.verify import evidence_of_run, verify
from trustgauge.store import kind_of, open_store

TODAY = date(2026, 1, 2)
PLANS: dict[str, dict[str, Any]] = {
    "two-step": {
        "services": {"one": {"use": "anchor", "behaviour": "coin"}, "two": {"use": "anchor"}},
        "experiments": [{"method": "two-step", "services": ["one", "two"], "texts": 20, "repeats": 3}],
    },
    "causal": {
        "services": {"one": {"use": "sentiment-anchor", "behaviour": "random"}},
        "experiments": [
            {
                "method": "causal",
                "services": ["one"],
                "groups": [1, 2],
                "frames": 2,
                "persons": 2,
                "resamples": 1000,
                "permutations": 999,
            }
        ],
    },
    "social-bias": {
        "services": {"one": {"use": "chat-anchor", "behaviour": "random"}},
        "experiments": [
            {
                "method": "social-bias",
                "services": ["one"],
                "attributes": ["gender", "age"],
                "questions": 60,
                "repeats": 2,
                "resamples": 1000,
                "permutations": 400,
            }
        ],
    },
    "trust": {
        "services": {"one": {"use": "trust-anchor", "behaviour": "leaker"}},
        "experiments": [
            {
                "method": "trust",
                "services": ["one"],
                "talks": 4,
                "issues": ["abuse", {"issue": "leakage", "secrets": 22}],
                "profiles": ["privacy-first", "safe-language"],
                "resamples": 1000,
            }
        ],
    },
}


def plan_of(name: str, store: str = "sqlite") -> Any:
    return {"name": "test", "seed": 5, "retest": 0, "run": {"store": store}, **PLANS[name]}


ROWS = {"two-step": 37, "causal": 25, "social-bias": 30, "trust": 99}
"""Of a slice: a rating comes from at least four of them."""


def run(plan: Any, ratings: Path, slice_rows: int = 100_000) -> RunResult:
    return rate(load_plan(plan), RunOptions(ratings, slice_rows=slice_rows))


def summary(finished: RunResult) -> Any:
    return but_for_times(json.loads((finished.folder / "rating.json").read_text("utf-8")))


@pytest.mark.parametrize("method", PLANS)
def test_the_same_rating_from_either_store_in_one_slice_or_many(tmp_path: Path, method: str) -> None:
    """So does what is asked a second time, of which a rating tells where its service is not deterministic."""
    whole = run({**plan_of(method), "retest": 0.2}, tmp_path / "whole")
    assert kind_of(whole.folder) == "sqlite"
    sliced = run({**plan_of(method, "parquet"), "retest": 0.2}, tmp_path / "sliced", ROWS[method])
    assert kind_of(sliced.folder) == "parquet"
    assert summary(sliced) == summary(whole)
    assert (whole.derived.ratings[0].retest is None) == (method == "trust"), "its bot is deterministic"
    assert verify(sliced.folder, TODAY).differences == ()
    check_slices(sliced)


def check_slices(finished: RunResult) -> None:
    """Answers are read slice by slice as they are all together, and rated so."""
    found = finished.ask_plan.targets
    probes = finished.ask_plan.probes
    assert isinstance(probes, ProbeBatches)
    assert all(probes.count(place) > 3 for place in probes)
    with open_store(finished.folder) as store:
        answers = StoredAnswers(store)
        for one in found:
            pieces = pl.concat(answer_batches(one, probes, answers))
            together = answers_to(one, probes[one.experiment, one.task], store.answers)
            assert pieces.equals(together)
        again = rate_answers(
            methods(finished.ask_plan.plan), found, dict(probes.items()), store.answers, seed=5
        )  # of an ordinary mapping, whole
    assert (again.ratings, again.controls, again.hashes) == (
        finished.derived.ratings,
        finished.derived.controls,
        finished.derived.hashes,
    )
    assert (again.readings, again.unasked, again.rows) == (
        finished.derived.readings,
        finished.derived.unasked,
        finished.derived.rows,
    )


def test_what_is_pending_is_the_same_however_it_is_cut() -> None:
    settings = plan_of("two-step")
    plan = load_plan({**settings, "experiments": [{**settings["experiments"][0], "texts": 5}]})
    found = tuple(plan_targets(plan))
    whole = pending(found, design(plan, found), lambda _: set())
    for rows in (1, 7, 1000):
        steps = pending_batches(found, design(plan, found, rows), lookup_in(lambda _: set()))
        for one, other in zip(whole, pending_totals(found, steps), strict=True):
            assert (one.planned, one.kept) == (other.planned, other.kept)
            assert set(one.units) == set(other.units)
            assert len(one.units) == len(other.units)


@pytest.fixture(scope="module")
def in_slices(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run in many slices; its folder is copied by who adds to its ratings."""
    return run(plan_of("two-step", "parquet"), tmp_path_factory.mktemp("slices"), 50)


def test_what_is_kept_is_not_pending(in_slices: RunResult, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(in_slices.folder, tmp_path / in_slices.folder.name))
    sitting = RunOptions(tmp_path, slice_rows=50)
    prepared = prepare(load_plan(plan_of("two-step")), sitting)
    estimate = forecast(prepared, sitting)
    assert estimate.calls == 0
    small = forecast(prepare(load_plan(plan_of("two-step"))), RunOptions(tmp_path))
    assert (estimate.kept, estimate.spent.calls) == (small.kept, small.spent.calls)
    with preparing.stored_key_lookup(sitting, prepared) as held:
        steps = pending_batches(prepared.targets, prepared.probes, held)
        assert not [row for step in steps for row in step if row.units]
    again = rate(load_plan(plan_of("two-step", "sqlite")), sitting)
    assert (again.folder, again.asked.calls) == (folder, 0)
    assert kind_of(again.folder) == "parquet"  # a run folder knows its store


@pytest.mark.parametrize("kinds", [("sqlite", "parquet"), ("parquet", "sqlite"), ("parquet", "parquet")])
def test_another_plan_copies_what_a_run_beside_it_holds(
    in_slices: RunResult, tmp_path: Path, kinds: tuple[str, str]
) -> None:
    plan = plan_of("two-step", kinds[0])
    if kinds[0] == "parquet":
        shutil.copytree(in_slices.folder, tmp_path / in_slices.folder.name)
    else:
        run(plan, tmp_path, 50)
    changed = {**plan_of("two-step", kinds[1]), "experiments": [{**plan["experiments"][0], "margin": 0.15}]}
    copied = run(changed, tmp_path, 50)
    assert copied.asked.calls == 0
    cost = copied.document["ratings"][0]["cost"]
    assert cost is not None
    assert cost["calls"] == 0
    assert verify(copied.folder, TODAY).differences == ()


def test_a_limit_stops_between_slices_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    asked: list[str] = []

    def counting(request: Request) -> Response:
        asked.append(str(request.json()))
        return faithful(request)

    with LocalServer(counting) as server:
        plan = translator_plan(server.url, texts=20, run={"store": "parquet"})
        short = run({**plan, "budget": {"calls": 50}}, tmp_path, 15)
        assert (short.document["run"]["state"], len(asked)) == ("incomplete", 50)
        (rating,) = short.document["ratings"]
        missing = rating["reasons"][0]["facts"]
        assert missing == {"missing": 35, "planned": 60, "limit": "calls 50"}
        assert verify(short.folder, TODAY).differences == ()
        done = run(plan, tmp_path, 22)
        assert len(asked) == len(set(asked)) == 120
        assert done.folder == short.folder
        calm = run(translator_plan(server.url, texts=20), tmp_path / "calm")
    assert summary(done)["ratings"][0]["provenance"] == summary(calm)["ratings"][0]["provenance"]
    assert done.derived.hashes == calm.derived.hashes


def test_a_service_that_refuses_is_left_out_of_later_slices(tmp_path: Path) -> None:
    asked = []

    def refusing(request: Request) -> Response:
        asked.append(request)
        return Response(401, b"no")

    with LocalServer(refusing) as server:
        plan = translator_plan(server.url, texts=12, service={"concurrency": 1})
        finished = run(plan, tmp_path, 10)
    assert len(asked) == 1
    assert finished.document["run"]["state"] == "incomplete"
    assert finished.asked.refused


def test_the_report_of_a_large_run_carries_a_sample_and_says_of_how_many(in_slices: RunResult) -> None:
    finished = in_slices
    plan, found = finished.ask_plan.plan, finished.ask_plan.targets
    rows = 2 * 3 * 20 * 3
    assert finished.derived.rows == (rows,)
    with open_store(finished.folder) as store:
        derived = rate_answers(
            methods(plan), found, finished.ask_plan.probes, StoredAnswers(store), seed=5, sample=50
        )
    (marks,) = derived.marks
    assert 50 <= marks.height <= 100
    assert marks.select("service", "id").is_unique().all()
    shares = marks.group_by("service", "block").len()["len"].to_list()
    assert len(shares) == 6
    # Every fourth of 60 rows a block in their shuffled order: a standard deviation of 3.3.
    assert 5 <= min(shares) <= max(shares) <= 25
    page = report(finished.document, render.evidence_rows(plan, found, derived))
    assert f"a sample of {marks.height} of {rows} rows,</b> evenly spread" in page
    whole = evidence_of_run(finished.folder)
    assert (whole.height, "of_rows" in whole.columns) == (rows, False)


def batches(*sessions: str) -> Iterator[pl.DataFrame]:
    for start in range(0, len(sessions), 3):
        some = list(sessions[start : start + 3])
        yield pl.DataFrame({"session": some, "block": [one[:1] for one in some]})


def test_sessions_stay_whole() -> None:
    given = ["", "", "a", "a", "a", "a", "b", "b", "", ""]
    pieces = list(cut(batches(*given), 3))
    assert pl.concat(pieces)["session"].to_list() == given
    assert [piece.height for piece in pieces] == [2, 4, 3, 1]
    assert [piece.height for piece in cut(batches(*given), 100)] == [10]
    assert not list(cut(batches(), 3))


def test_a_session_in_two_pieces_is_refused() -> None:
    with pytest.raises(MethodError, match="'a' in two places"):
        list(cut(batches("a", "a", "b", "b", "a", "b"), 2))


def test_slices_leave_nothing_behind(tmp_path: Path) -> None:
    slices = ProbeBatches(4, tmp_path)
    place: ExperimentTask = (0, "chat")
    assert slices.add(place, batches(*"abcdefghij"), lambda frame: frame.with_columns(n=pl.lit(1))) == 10
    assert slices.count(place) == 3
    assert slices[place].height == 10
    assert [one.height for one in batches_of(slices, place)] == [4, 4, 2]
    assert count_blocks(slices, place) == 10
    assert list(tmp_path.rglob("*.parquet"))
    del slices
    assert not list(tmp_path.iterdir())


def test_subjects_of_one_service_share_what_they_ask() -> None:
    plan = load_plan(plan_of("two-step"))
    (first, *_) = plan_targets(plan)
    twin = Target(**{**{name: getattr(first, name) for name in first.__slots__}, "part": "again"})
    rows = list(pending_batches((first, twin), design(plan, [first], 25), lookup_in(lambda _: set())))
    assert sum(len(row.units) for step in rows for row in step if row.target is twin) == 0
    assert sum(row.planned for step in rows for row in step if row.target is twin) > 0
