"""The order in which probes are sent, and the tenth of the run in which each stands (methods 0.3 (4))."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.run.test_slices import plan_of
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.sheets import manual_answers
from trustgauge.errors import IntegrityError
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import prepare
from trustgauge.run.probe_batches import SEGMENTS, ExperimentTask, batches_of
from trustgauge.run.rate import StoredAnswers, answers_to
from trustgauge.run.run import rate
from trustgauge.run.targets import ONLY, design, experiment_seed, methods, plan_targets, recorded_size
from trustgauge.run.verify import verify
from trustgauge.store import open_store

TODAY = date(2026, 1, 2)


def sent(plan: dict[str, Any], rows: int = 100_000) -> pl.DataFrame:
    """The probes of the first experiment, in the order they are sent."""
    checked = load_plan(plan)
    probes = design(checked, plan_targets(checked), rows)
    return pl.concat(batches_of(probes, next(iter(probes))))


@pytest.mark.parametrize("method", ["two-step", "causal", "social-bias", "trust"])
def test_probes_are_shuffled_alike_in_one_slice_or_many(method: str) -> None:
    plan = plan_of(method)
    whole = sent(plan)
    for rows in (20, 37):  # more than the 64 files to which they are dealt out, and fewer
        assert sent(plan, rows).equals(whole)
    checked = load_plan(plan)
    (planned, *_) = methods(checked)
    designed = pl.concat(planned.design(experiment_seed(checked.seed, 0), planned.tasks[0]))
    assert designed["id"].to_list() != whole["id"].to_list()
    assert whole.drop("segment", "key").sort("id").equals(designed.sort("id"))
    assert not sent({**plan, "seed": 6})["id"].head(10).equals(whole["id"].head(10))


def test_every_block_is_spread_over_the_whole_run() -> None:
    plan = plan_of("two-step")
    plan["experiments"] = [{**plan["experiments"][0], "texts": 400, "repeats": 1}]
    frame = sent(plan, 100)
    assert frame["segment"].to_list() == [row * SEGMENTS // 1200 for row in range(1200)]
    is_in = {block: (pl.col("block") == block).mean() for block in ("u1", "b1", "b2")}
    shares = frame.group_by("segment").agg(**is_in)
    # 120 draws of one in three without replacement: a standard deviation of 4.1 points.
    assert all(abs(share - 1 / 3) < 0.16 for _, *row in shares.iter_rows() for share in row)


def test_sessions_stay_whole_and_their_turns_in_order() -> None:
    frame = sent(plan_of("trust"), 20)
    turns = frame.with_row_index("row").group_by("session", maintain_order=True).agg("row", "turn", "segment")
    assert len(turns) > 4
    for _, rows, numbers, segments in turns.iter_rows():
        assert rows == list(range(rows[0], rows[0] + len(rows)))
        assert numbers == sorted(numbers)
        assert set(segments) == {rows[0] * SEGMENTS // frame.height}


def test_a_log_keeps_the_order_in_which_it_was_recorded(tmp_path: Path) -> None:
    lines = [
        {"dialog": f"d{number}", "speaker": who, "text": f"{who} says {number}."}
        for number in range(20)
        for who in ("user", "bot")
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    plan = plan_of("trust")
    plan["services"]["log"] = {"use": "dialogs", "dialogs": {"file": str(tmp_path / "log.jsonl")}}
    plan["experiments"] = [{**plan["experiments"][0], "services": ["log", "one"]}]
    frame = sent(plan)
    place: ExperimentTask = (0, "chat")
    assert recorded_size({place: frame}, place, ["log"]) == (1, 20)
    assert recorded_size({place: frame}, place, ["log", "one"]) is None
    assert recorded_size({place: frame.drop(ONLY)}, place, ["log"]) is None
    log = frame.filter(pl.col(ONLY) == "log")
    assert log["message"].to_list() == [f"user says {number}." for number in range(20)]
    assert log["segment"].to_list() == [number // 2 for number in range(20)]
    live = frame.filter(pl.col(ONLY) == "")
    assert live["segment"].is_sorted()
    assert live["id"].to_list() == sent(plan_of("trust"))["id"].to_list()


def test_an_answer_knows_its_segment_unless_answers_are_shared(tmp_path: Path) -> None:
    finished = rate(load_plan(plan_of("two-step")), RunOptions(tmp_path))
    probes = finished.ask_plan.probes[0, "translate"]
    zeros = pl.Series("segment", [0] * probes.height)
    with open_store(finished.folder) as store:
        varying, same, *_ = finished.ask_plan.targets  # tosses a coin; gives back what it gets
        for one, planned in ((varying, probes["segment"]), (replace(same, deterministic=True), zeros)):
            rows = answers_to(one, probes, StoredAnswers(store))
            assert rows["segment"].equals(planned)
            assert rows["shared"].all() == one.deterministic
        with pytest.raises(IntegrityError, match="come more than once"):  # from a store with a fault
            answers_to(varying, probes, lambda name: pl.concat([store.answers(name)] * 2))


class Updated:
    """A translator that is another one from call `calls` on: its texts then speak of men only."""

    def __init__(self, calls: int) -> None:
        self.calls, self.texts = calls, list[str]()

    def __call__(self, request: Request) -> Response:
        asked = request.json()
        if asked["target"] != "en":
            self.texts.append(asked["q"])
            return faithful(request)
        entry = json.loads(faithful(request).body)["translatedText"]
        if len(self.texts) > self.calls:
            entry = entry.replace(" she ", " he ").replace("She ", "He ").replace(" her ", " him ")
        return Response.json({"translatedText": entry})


def test_an_update_in_mid_run_meets_every_block_alike(tmp_path: Path) -> None:
    updated = Updated(40)
    with LocalServer(updated) as server:
        plan = load_plan(translator_plan(server.url, service={"concurrency": 1}))
        finished = rate(plan, RunOptions(tmp_path))
        larger = sent(translator_plan(server.url, texts=200))
    frame = finished.ask_plan.probes[0, "translate"]
    assert updated.texts == frame["message"].to_list(), "sent as planned"
    before = larger.head(200).group_by("block").len()["len"].to_list()
    # 200 of 600 without replacement, a third of each block: a standard deviation of 5.4.
    assert all(abs(count - 200 / 3) < 22 for count in before)
    assert verify(finished.folder, TODAY).differences == ()


def test_a_run_that_was_cut_short_goes_on_to_the_rating_of_an_unbroken_one(tmp_path: Path) -> None:
    with LocalServer(faithful) as server:
        plan = translator_plan(server.url, texts=15, via=("es", "fr"))
        whole = rate(load_plan(plan), RunOptions(tmp_path / "whole"))
        for calls in (25, 60, 10_000):
            short = {**plan, "budget": {"calls": calls}}
            broken = rate(load_plan(short), RunOptions(tmp_path / "broken", slice_rows=15))
    documents = [json.loads((one.folder / "rating.json").read_text("utf-8")) for one in (whole, broken)]
    first, second = map(but_for_times, documents)
    first["run"]["id"] = second["run"]["id"] = ""
    assert first["ratings"] == second["ratings"]


def test_parts_of_a_service_are_asked_in_turn(tmp_path: Path) -> None:
    targets: list[str] = []

    def listening(request: Request) -> Response:
        targets.append(request.json()["target"])
        return faithful(request)

    with LocalServer(listening) as server:
        plan = translator_plan(server.url, via=("es", "es>it"), texts=80, service={"concurrency": 1})
        finished = rate(load_plan(plan), RunOptions(tmp_path))
    with open_store(finished.folder) as store:
        times = {
            one.part: store.answers(one.fingerprint)["at"].sort().to_list()
            for one in finished.ask_plan.targets
            if one.control is None
        }
    half = [at[len(at) // 2] for at in times.values()]
    both = sorted(at for rows in times.values() for at in rows)
    for middle in half:  # the second part does not begin when the first has ended
        assert 0.3 < sum(at < middle for at in both) / len(both) < 0.75


def test_people_are_given_the_questions_in_the_order_of_sending(tmp_path: Path) -> None:
    plan = load_plan(plan_of("social-bias"))
    prepared = manual_answers.prepare(plan)
    manual_answers.export(
        prepared, "one", tmp_path / "sheet.jsonl", tmp_path / "ratings", manual_answers.PendingRows()
    )
    rows = [json.loads(line) for line in (tmp_path / "sheet.jsonl").read_text("utf-8").splitlines()]
    planned = prepare(plan).probes[0, "chat"]
    assert [row["text"] for row in rows] == planned["message"].to_list()
