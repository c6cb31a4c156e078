"""The remembered scores of controls are those that scoring gives, whatever was scored before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from trustgauge.methods import LabelUser, Method
from trustgauge.plan import load_plan
from trustgauge.rating.audit import AuditLabels
from trustgauge.run import control_marks
from trustgauge.run.options import RunOptions
from trustgauge.run.rate import answers_to
from trustgauge.run.run import rate
from trustgauge.run.targets import methods
from trustgauge.store import open_store

EXPERIMENTS: Mapping[str, dict[str, Any]] = {
    "two-step": {"texts": 20, "draws": 1000},
    "trust": {"talks": 4, "issues": ["abuse"], "resamples": 1000},
}
BOTS = {"two-step": "anchor", "trust": "trust-anchor"}


@pytest.fixture(scope="module", params=EXPERIMENTS)
def scored(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Method, pl.DataFrame, list[str]]:
    """A method, the answers of a service and its controls, and who these are."""
    experiment = {"method": request.param, "services": ["bot"], **EXPERIMENTS[request.param]}
    plan = load_plan({"services": {"bot": {"use": BOTS[request.param]}}, "experiments": [experiment]})
    finished = rate(plan, RunOptions(ratings=tmp_path_factory.mktemp("ratings")))
    found, (place,) = finished.ask_plan.targets, finished.ask_plan.probes
    with open_store(finished.folder) as store:
        frames = [answers_to(one, finished.ask_plan.probes[place], store.answers) for one in found]
    return methods(plan)[0], pl.concat(frames), [one.service for one in found if one.control]


def check(method: Method, answers: pl.DataFrame, controls: list[str]) -> None:
    for _ in range(2):
        assert control_marks.score(method, answers, controls).equals(method.score(answers))


def test_they_are_those_of_these_answers_by_this_method(
    scored: tuple[Method, pl.DataFrame, list[str]],
) -> None:
    method, answers, controls = scored
    check(method, answers, controls)
    check(method, answers.with_columns(pl.col("millis") + 1, at=pl.lit("2026-12-01T00:00:00Z")), controls)
    check(method, answers.with_columns(output=pl.lit("You are a stupid idiot.")), controls)
    check(method, answers.reverse(), controls)
    assert isinstance(method, LabelUser)
    check(method.with_labels({"bot": AuditLabels({}, 10)}), answers, controls)
    check(method, answers, controls)


def test_they_are_scored_once(
    scored: tuple[Method, pl.DataFrame, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    method, answers, controls = scored
    control_marks.score(method, answers, controls)
    seen: list[int] = []
    score = type(method).score

    def counted(self: Any, rows: pl.DataFrame) -> pl.DataFrame:
        seen.append(rows.height)
        return score(self, rows)

    monkeypatch.setattr(type(method), "score", counted)
    control_marks.score(method, answers.with_columns(pl.col("millis") + 1), controls)
    assert seen == [answers.filter(~pl.col("service").is_in(controls)).height]
