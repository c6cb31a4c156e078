"""Questions that are asked a second time: spread over the run, no data of the rating, and told of.

That slices and `verify` come to the same is tested in test_slices.py.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, cast

import jsonschema
import polars as pl
import pytest

from tests.run.test_lending import CALLS, steady
from tests.run.test_lending import plan_with as scorer_plan
from tests.run.test_slices import PLANS
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.sheets import manual_answers
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import sentences, terminal
from trustgauge.reports.document_model import document_schema
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.probe_batches import RETEST_LAG, SECOND, batches_of
from trustgauge.run.run import RunResult, rate
from trustgauge.run.targets import design, plan_targets
from trustgauge.run.verify import verify
from trustgauge.stats.distributions import wilson

TODAY = date(2026, 1, 2)
PROBES = 320
MANY = {"frames": 4, "persons": 4}
"""Of the one group of `scorer_plan`: PROBES probes."""


def plan_of(method: str, **more: Any) -> Any:
    return {"seed": 5, **PLANS[method], **more}


def probes(plan: Any, rows: int = 100_000) -> pl.DataFrame:
    checked = load_plan(plan)
    planned = design(checked, plan_targets(checked), rows)
    return pl.concat(batches_of(planned, next(iter(planned))))


def done(plan: Any, folder: Path) -> RunResult:
    return rate(load_plan(plan), RunOptions(folder))


@pytest.mark.parametrize("method", PLANS)
def test_what_is_asked_again_is_the_same_in_one_slice_or_many(method: str) -> None:
    whole = probes(plan_of(method, retest=0.1))
    assert probes(plan_of(method, retest=0.1), 20).equals(whole)
    without = probes(plan_of(method, retest=0))
    first = whole.filter(pl.col(RETEST_LAG).is_null())
    assert first.drop("segment", RETEST_LAG).equals(without.drop("segment")), "the others keep their order"
    again = whole.filter(pl.col(RETEST_LAG).is_not_null())
    unit = ("session", "draw") if method == "trust" else ("id",)
    units, twice = (frame.select(unit).n_unique() for frame in (first, again))
    assert abs(twice - 0.1 * units) <= 2
    by_id = again.with_columns(pl.col("id").str.strip_suffix(" again"), pl.col("draw") - SECOND)
    assert by_id.join(first, on=["id", "message", "turn", "draw", "key"], how="semi").height == again.height
    assert whole["id"].is_unique().all()


def test_one_question_in_fourteen_of_each_block_is_asked_again_all_over_the_run() -> None:
    plan = plan_of("two-step")
    plan["experiments"] = [{**plan["experiments"][0], "texts": 1000, "repeats": 1}]
    again = probes(plan, 500).filter(pl.col(RETEST_LAG).is_not_null())
    by_block = again.group_by("block").len()["len"].to_list()
    assert all(abs(count - 70) <= 3 for count in by_block)
    by_segment = again.group_by("segment").len()["len"].to_list()
    # 210 in ten tenths: 21 each, with a standard deviation of 4.3.
    assert len(by_segment) == 10
    assert all(abs(count - 21) < 18 for count in by_segment)
    # The distance of two even numbers: its mean is a third, and .3 is near its median.
    assert again[RETEST_LAG].mean() == pytest.approx(1 / 3, abs=0.06)


def coin(share: float) -> Callable[[Request], Response]:
    """A scorer that gives its usual score, and with this chance another one."""
    rng = random.Random(8)

    def answer(request: Request) -> Response:
        usual = len(request.json()["text"]) / 100
        return Response.json({"score": -usual if rng.random() < share else usual})

    return answer


def test_agreement_is_that_of_the_bot_and_no_data_of_the_rating(tmp_path: Path) -> None:
    with LocalServer(coin(0.25)) as server:
        plan = scorer_plan(server.url, 11, experiment=MANY, retest=0.2)
        sitting = RunOptions(tmp_path)
        announced = forecast(prepare(load_plan(plan), sitting), sitting).calls
        finished = rate(load_plan(plan), sitting)
    count = finished.ask_plan.probes[0, "score"].height - PROBES
    assert abs(count - 0.2 * PROBES) < 2
    assert announced == finished.asked.calls == len(server.requests) == PROBES + count
    (rating,) = finished.document["ratings"]
    assert finished.derived.rows == (PROBES,)
    found = cast(Any, rating["retest"])
    scores = [json.loads(one.body)["text"] for one in server.requests]
    assert len(scores) == PROBES + count
    share = found["equal"]["value"]
    # Both usual or both not: .75² + .25² = .625, with a standard deviation of 6 points.
    assert share == pytest.approx(0.625, abs=0.2)
    assert found["alike"] == found["equal"], "equal scores are equal answers"
    low, high = wilson(share * count, count)
    assert (found["equal"]["low"], found["equal"]["high"], found["equal"]["n"]) == (low, high, count)
    assert found["near"]["n"] + found["far"]["n"] == count
    jsonschema.validate(finished.document, document_schema())
    assert verify(finished.folder, TODAY).differences == ()
    lines = "\n".join("".join(piece for piece, _ in line) for line in terminal.result(finished.document))
    text = f"{count} questions were asked twice: "
    assert text in lines
    assert text in (finished.folder / "report.html").read_text("utf-8")


def test_a_service_that_changes_agrees_with_itself_only_soon_after(tmp_path: Path) -> None:
    heard: list[str] = []

    def updated(request: Request) -> Response:
        heard.append(request.json()["text"])
        usual = len(heard[-1]) / 100
        return Response.json({"score": usual if len(heard) < 190 else -usual})

    with LocalServer(updated) as server:
        plan = scorer_plan(server.url, 11, service={"concurrency": 1}, experiment=MANY, retest=0.2)
        (rating,) = done(plan, tmp_path).document["ratings"]
    near, far = (cast(Any, rating["retest"])[when] for when in ("near", "far"))
    assert near["value"] > far["value"]
    assert "answers depend on when they are given" in sentences.retest(rating)


def test_none_is_asked_again_of_a_deterministic_service_or_where_the_plan_says_none(tmp_path: Path) -> None:
    with LocalServer(steady) as server:
        sure: Any = {"service": {"deterministic": True}, "retest": 0.2}
        for name, more in (("sure", sure), ("none", {"retest": 0})):
            finished = done(scorer_plan(server.url, 11, **more), tmp_path / name)
            (rating,) = finished.document["ratings"]
            assert rating["retest"] is None
            assert not sentences.retest(rating)
            assert finished.asked.calls <= CALLS
    with pytest.raises(PlanError, match=r"retest: wrong value. Must be less than or equal to 0.2"):
        load_plan(plan_of("causal", retest=0.5))


def test_people_are_not_asked_again(tmp_path: Path) -> None:
    plan = load_plan(scorer_plan("http://127.0.0.1:9", 11, retest=0.2))  # nobody listens there
    sheet = tmp_path / "sheet.jsonl"
    exported = manual_answers.export(
        manual_answers.prepare(plan), "mine", sheet, tmp_path / "ratings", manual_answers.PendingRows()
    )
    assert exported.rows == CALLS
    rows = [json.loads(line) | {"answer": "0.5"} for line in sheet.read_text("utf-8").splitlines()]
    sheet.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    source = manual_answers.SheetSource("me", RunOptions().now())
    manual_answers.import_answers(manual_answers.prepare(plan), "mine", sheet, tmp_path / "ratings", source)
    sitting = RunOptions(tmp_path / "ratings")
    assert forecast(prepare(plan, sitting), sitting).calls == 0
    finished = rate(plan, sitting)
    assert finished.asked.calls == 0
    assert finished.document["ratings"][0]["retest"] is None
