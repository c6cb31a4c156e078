"""Runs that are asked in planned looks: who stops when, however often they are resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.plan import Plan, load_plan
from trustgauge.reports.document import text
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import verify
from trustgauge.stats.sequential import look_certainties

SERVICES = {
    "mirror": {"use": "anchor", "behaviour": "identity"},
    "third": {"use": "anchor", "behaviour": "shift", "share": 0.3},
    "margin": {"use": "anchor", "behaviour": "shift", "share": 0.2},
}


def plan(calls: int | None = None, **options: Any) -> Plan:
    experiment = {"method": "two-step", "services": list(SERVICES), "texts": 60, "draws": 1000, **options}
    budget = {} if calls is None else {"budget": {"calls": calls}}
    return load_plan({"seed": 1, "services": SERVICES, "experiments": [experiment], **budget})


def run(folder: Path, **options: Any) -> RunResult:
    return rate(plan(**options), RunOptions(ratings=folder))


def look_of(done: RunResult) -> dict[str, int]:
    return {one.service: one.look for one in done.ask_plan.targets if one.control is None}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(tmp_path_factory.mktemp("ratings"), stop="settled")


def test_a_clear_service_stops_early_and_one_on_the_margin_never(done: RunResult) -> None:
    looks = look_of(done)
    assert looks["mirror"] < looks["third"] <= looks["margin"] == 5
    mirror, _, margin = done.derived.ratings
    assert (mirror.level, mirror.state) == ("DSBS", "rated")
    assert [one.code for one in mirror.reasons if one.code == "stopped-when-settled"]
    assert not [one for one in margin.reasons if one.code == "stopped-when-settled"]
    assert mirror.parts[0].coverage.planned < margin.parts[0].coverage.planned == 180


def test_controls_stop_with_the_last_service(done: RunResult) -> None:
    assert {one.look for one in done.ask_plan.targets if one.control} == {5}
    assert all(one.state == "rated" and one.level == one.truth for one in done.derived.controls[:3])


def test_what_a_run_claims_follows_from_its_folder(done: RunResult) -> None:
    from datetime import UTC, datetime

    assert verify(done.folder, datetime.now(UTC).date()).differences == ()


def test_a_run_that_reached_a_limit_goes_on_to_the_same_ratings(tmp_path: Path, done: RunResult) -> None:
    stopped = run(tmp_path, stop="settled", calls=70)
    assert stopped.asked.stopped
    again = run(tmp_path, stop="settled")
    assert look_of(again) == look_of(done)
    assert [one.certainty for one in again.derived.ratings] == [one.certainty for one in done.derived.ratings]
    assert run(tmp_path, stop="settled").asked.calls == 0


def test_answers_of_an_earlier_run_count(tmp_path: Path) -> None:
    run(tmp_path)
    lent = run(tmp_path, stop="settled")
    assert lent.asked.calls < 60  # what was asked twice elsewhere in the order


def test_without_the_option_all_is_asked(tmp_path: Path) -> None:
    whole = run(tmp_path)
    assert set(look_of(whole).values()) == {0}
    assert "look" not in text(whole.document)


def test_looks_are_designs_of_their_own() -> None:
    method = TwoStep(method="two-step", services=("it",), texts=100, stop="settled")
    probes = pl.concat(list(method.design(3, "translate")))
    dealt = probes.with_columns(look=method.look_of(probes)).group_by("block", "values", "look").len()
    sizes = dealt.group_by("block", "values").agg(pl.col("len").max() - pl.col("len").min())
    assert sizes["len"].max() == 1 or dealt["len"].min() == 1
    assert set(dealt["look"]) == {1, 2, 3, 4, 5}


def test_certainties_are_those_of_the_tables() -> None:
    """Jennison and Turnbull 2000, Group sequential methods, table 2.3, two-sided .10: b = 1.678 to 1.751."""
    from scipy.stats import norm

    for looks, bound in ((2, 1.678), (3, 1.710), (4, 1.733), (5, 1.751)):
        assert norm.ppf(look_certainties(looks, 0.95)[-1]) == pytest.approx(bound, abs=0.015)
    assert list(look_certainties(5, 0.95)) == sorted(look_certainties(5, 0.95), reverse=True)


@pytest.mark.parametrize("rule", ["published", "released"])
def test_the_rules_of_the_papers_never_stop_early(rule: str) -> None:
    with pytest.raises(PlanError, match="never stops early"):
        TwoStep(method="two-step", services=("it",), rule=rule, stop="settled")
