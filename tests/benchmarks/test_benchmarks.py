"""The runner on a fast benchmark of its own, and each new benchmark, small, against the reference way."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from benchmarks.__main__ import main
from benchmarks.page import page
from benchmarks.results import Curve, Found, Row, Target, as_json, figure, from_json, rows_in_words, verdict
from benchmarks.subjects import SUBJECTS, Subject, ask, causal, design, judges, memory, proxy, rate, trust

from benchmarks import analysis, startup, store
from trustgauge.store.sqlite import SqliteStore

SVG = "{http://www.w3.org/2000/svg}"
FOUND = Found(
    (
        Row(
            what="quick work", unit="s", ours=0.5, against="a loop", other=2.0, target=Target(1.0, "why <a>")
        ),
        Row(what="slow work", unit="s", ours=3.0, against="a & b", other=1.5, target=Target(1.0, "too slow")),
        Row(
            what="speed",
            unit="rows/s",
            ours=300.0,
            against="pandas",
            other=100.0,
            better="more",
            note="a core",
        ),
        Row(what="not there", unit="s", ours=None, against="DoWhy", note="skipped: not installed"),
    ),
    (Curve("ours", "s", ((100.0, 0.1), (1000.0, 1.0))), Curve("ours", "MB", ((100.0, 50.0), (1000.0, 50.0)))),
)


def fake(found: Found = FOUND, *, code: int = 0) -> Subject:
    """A benchmark that prints a line of words and its figures, or ends with an exit code."""
    lines = f"print('a table'); print({json.dumps(json.dumps(as_json(found)))}); raise SystemExit({code})"
    return Subject("A fake", "Nothing is measured.", ("-c", lines), (), (), from_json)


def run(folder: Path, *arguments: str, subjects: dict[str, Subject]) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and page of a run."""
    code = main([*arguments, "-o", str(folder)], subjects)
    data = json.loads((folder / "benchmarks.json").read_text("utf-8"))
    return code, data, (folder / "benchmarks.md").read_text("utf-8")


def test_page_tells_ratios_and_which_targets_are_met(tmp_path: Path) -> None:
    code, result, written = run(tmp_path, subjects={"fake": fake()})
    assert code == 0
    assert from_json(result["fake"]["found"]) == FOUND
    assert "| quick work | 0.500 s | a loop | 2.00 s | 4.00 | at most 1.00 s | met |" in written
    assert (
        "| slow work | 3.00 s | a & b | 1.50 s | 0.500 | at most 1.00 s | **missed**: too slow |" in written
    )
    assert "| speed | 300 rows/s | pandas | 100 rows/s | 3.00 |  |  |" in written
    assert "| not there | – | DoWhy |  |  |  |  |" in written
    assert "why <a>" not in written, "a reason is told only where a target is missed"
    assert "Targets met: 1. Missed: 1." in written
    assert "| ours | s | 0.100 | 1.00 | 1.00 |" in written
    assert "| ours | MB | 50.0 | 50.0 | 0.00 |" in written


def test_nothing_of_this_machine_but_its_class_is_told(tmp_path: Path) -> None:
    _, _, written = run(tmp_path, subjects={"fake": fake()})
    assert "cores of" in written
    assert str(tmp_path) not in written
    assert str(Path(__file__).parents[2]) not in written


def test_pictures_are_svg_with_a_bar_a_ratio_and_a_line_a_curve(tmp_path: Path) -> None:
    _, _, written = run(tmp_path, subjects={"fake": fake()})
    bars = ElementTree.parse(tmp_path / "benchmarks-ratios.svg").getroot()
    assert bars.tag == f"{SVG}svg"
    filled = [one for one in bars.iter(f"{SVG}rect") if one.get("fill") in {"#1f6fb2", "#b4501e"}]
    assert [one.get("fill") for one in filled] == ["#1f6fb2", "#b4501e", "#1f6fb2"]
    growth = ElementTree.parse(tmp_path / "benchmarks-fake.svg").getroot()
    assert len(list(growth.iter(f"{SVG}circle"))) == 4
    for name in ("benchmarks-ratios.svg", "benchmarks-fake.svg"):
        assert f"]({name})" in written


def test_what_is_not_run_stays_as_it_was(tmp_path: Path) -> None:
    other = Found((Row(what="another", unit="s", ours=1.0),))
    both = {"first": fake(), "second": fake(other)}
    _, before, _ = run(tmp_path, subjects=both)
    both["first"] = fake(other)
    _, after, written = run(tmp_path, "--only", "first", subjects=both)
    assert after["second"] == before["second"]
    assert from_json(after["first"]["found"]) == other
    assert "quick work" not in written


def test_a_failed_benchmark_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    code, result, written = run(tmp_path, subjects={"broken": fake(code=3), "fake": fake()})
    assert code == 1
    assert "found" not in result["broken"]
    assert "*Not measured:* the benchmark ended with exit code 3" in written
    assert "quick work" in written


def test_a_benchmark_without_figures_has_failed(tmp_path: Path) -> None:
    silent = Subject("Silent", "It says nothing.", ("-c", "pass"), (), (), from_json)
    code, result, _ = run(tmp_path, subjects={"silent": silent})
    assert code == 1
    assert result["silent"]["failed"] == "the benchmark ended without figures"


def test_small_sizes_judge_no_target(tmp_path: Path) -> None:
    _, result, written = run(tmp_path, "--quick", subjects={"fake": fake()})
    assert result["fake"]["quick"]
    assert "Targets met: 0. Missed: 0." in written
    assert "no target is judged" in written


def test_a_long_benchmark_is_taken_from_its_file(tmp_path: Path) -> None:
    writes = "import sys; open(sys.argv[-1], 'w').write(sys.argv[1])"
    small = json.dumps(as_json(Found((Row(what="small run", unit="s", ours=1.0),))))
    subject = Subject("Long", "Hours.", ("-c", writes), (small,), (small,), from_json, file="long.json")
    _, _, written = run(tmp_path, subjects={"long": subject})
    assert "small run" in written
    (tmp_path / "long.json").write_text(json.dumps(as_json(FOUND)), "utf-8")
    _, _, written = run(tmp_path, subjects={"long": subject})
    assert "small run" not in written
    assert "taken from `long.json`" in written
    assert "quick work" in written


def test_a_busy_machine_is_told() -> None:
    facts = {"machine": "2 cores", "quick": False, "seconds": 1.0, "found": as_json(FOUND)}
    subjects = {"fake": fake()}
    assert "**The machine had other work**: 7.0 proc" in page({"fake": {**facts, "load": 7.0}}, subjects)
    assert "other work" not in page({"fake": {**facts, "load": 0.4}}, subjects)


def test_figures_have_three_digits_that_count() -> None:
    result = [
        figure(value) for value in (0.00123456, 0.0999, 12.345, 999.6, 1234.5, 7_123_456.0, 0.0, -2.5, None)
    ]
    assert result == ["0.00123", "0.0999", "12.3", "1,000", "1,230", "7,120,000", "0", "-2.50", "–"]
    assert [rows_in_words(rows) for rows in (100_000, 250_000, 10, 10_002)] == [
        "10^5",
        "250,000",
        "10",
        "10,002",
    ]


def test_a_target_of_speed_is_a_lower_limit() -> None:
    slow = Row(what="a", unit="rows/s", ours=9.0, better="more", target=Target(10.0, "it is slow"))
    assert verdict(slow) == "**missed**: it is slow"
    assert Row(what="a", unit="s", ours=None, target=Target(1, "")).met is None


def test_a_target_may_be_one_of_the_ratio() -> None:
    ratio = Target(4.0, "too near", of_ratio=True)
    assert Row(what="a", unit="s", ours=1.0, other=4.0, target=ratio).met
    assert verdict(Row(what="a", unit="s", ours=2.0, other=4.0, target=ratio)) == "**missed**: too near"
    assert verdict(Row(what="a", unit="s", ours=2.0, target=ratio)) == "not measured"


def test_group_by_welch_resamples_and_permutations_agree_with_their_references() -> None:
    """Each asserts within that both ways agree; the wrong way round none of them would return."""
    grown = analysis.growth([2_000, 20_000], 1)
    assert [len(curve.points) for curve in grown.curves] == [2, 2, 2]
    assert len(grown.rows) == 4
    rows = [*grown.rows, *analysis.welch(20, 1), analysis.resamples(2_000, 200, 1)]
    rows.append(analysis.permutations(2_000, 200, 1))
    for row in rows:
        assert row.ratio is not None, row.what
        assert row.target is None, "small sizes have no target"


def test_group_by_in_pandas_is_compared_cell_by_cell() -> None:
    table = analysis.marks(500)
    sums = [analysis.by_pandas(frame) for frame in analysis.frames_of(table).values()]
    for found in sums:
        assert found["n"].sum() == 500
        assert found["y"].sum() == pytest.approx(table["score"].sum())
    assert (sums[0]["y"].to_numpy() == sums[1]["y"].to_numpy()).all()


def test_adjustment_is_that_of_the_sum_over_classes() -> None:
    """E[Y | do(x)] = sum over z of E[Y | x, z] P(z), by hand."""
    table = analysis.marks(20_000)
    cells: dict[tuple[int, str], list[float]] = {}
    for person, valence, score in table.select("person", "valence", "score").iter_rows():
        cells.setdefault((int(person[1:]) % analysis.CLASSES, valence), []).append(score)
    effect = 0.0
    for label in range(analysis.CLASSES):
        of = {valence: cells[label, valence] for valence in ("positive", "negative")}
        share = sum(len(scores) for scores in of.values()) / table.height
        effect += share * (
            sum(of["positive"]) / len(of["positive"]) - sum(of["negative"]) / len(of["negative"])
        )
    assert analysis.adjusted(table) == pytest.approx(effect, abs=1e-9)
    plain = table.group_by("valence").agg(mean=pl.col("score").mean())
    naive = dict(plain.iter_rows())
    assert abs(naive["positive"] - naive["negative"] - effect) > 1e-3, "the class confounds"


def test_adjustment_against_dowhy_or_a_row_that_says_it_is_absent() -> None:
    rows = list(analysis.adjustment(2_000, 1))  # asserts that both ways agree
    assert len(rows) == len(analysis.DOWHY)
    if importlib.util.find_spec("dowhy") is None:
        assert all(row.ours is None and "not installed" in row.note for row in rows)
    else:
        assert all(row.ratio is not None for row in rows)


def test_store_reads_back_what_plain_sqlite_holds(tmp_path: Path) -> None:
    found = store.measure(300, tmp_path)
    assert len(found.rows) == 6
    assert all(row.ratio for row in found.rows)
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"
    every = store.answers(3)
    with SqliteStore(tmp_path / "wrong.sqlite") as wrong, pytest.raises(AssertionError):
        store.one_by_one(wrong, every, [("another",)])


def test_startup_loads_nothing_heavy() -> None:
    found = startup.measure(1)
    assert [row.unit for row in found.rows] == ["s", "s", "libraries"]
    assert found.rows[2].ours == 0
    assert found.rows[2].met


def test_figures_of_other_benchmarks_become_rows() -> None:
    """The documents that they print, with figures of which some miss their target."""
    asked = ask({"calls": 10, "ideal": 1.0, "ways": {"bare": [1.0, 0.001], "whole": [2.0, 0.002]}})
    assert [row.ratio for row in asked.rows] == [0.5, 0.5, 0.5]
    assert asked.rows[2].met is False
    rated = rate({"ideal": 0.6, "bare": [0.9, 0.3], "rate": [1.2, 0.9]})
    assert [row.met for row in rated.rows] == [True, None, False]
    made = design({"questions": 100, "speeds": {"in a row": 2e6}, "first": 100.0, "end": 101.0})
    assert [row.met for row in made.rows] == [True, True]
    judged = judges({"short": [100, 3e5, 1e5, 1e4], "long, sound": [3e4], "repeated": [1000, 5e5]})
    assert [row.met for row in judged.rows] == [True, True, False]
    assert judged.rows[0].ratio == pytest.approx(30)
    effects = causal(
        {"rows": 1_000_000, "stages": {"summarise": 1.0, "rate": 1.5}, "loop": 5000.0, "loops": 20}
    )
    assert [row.met for row in effects.rows] == [True, None]
    assert effects.rows[1].ratio == pytest.approx(2000)
    read = trust({"turns": 10, "speeds": {"abuse": 5.0}, "rated": 1.0, "memory": 2.0, "verified": 3.0})
    assert len(read.rows) == 4
    passed = proxy({"whole": [5.0, 5.5], "last byte": [20.0, 23.0]})
    assert [row.met for row in passed.rows] == [True, False]


def test_growth_of_stages_is_told_as_a_power_of_the_rows() -> None:
    stages: list[dict[str, Any]] = [
        {"stage": "idle", "rows": rows, "seconds": 1.0, "peak_mb": 90.0} for rows in (100_000, 10_000_000)
    ]
    for rows, peak in ((10_000_000, 400.0), (100_000, 200.0)):
        stages.append({"stage": "rate", "rows": rows, "seconds": rows / 1e5, "peak_mb": peak})
    stages.append(
        {
            "stage": "codes",
            "rows": 10_000_000,
            "seconds": 2.0,
            "peak_mb": 300.0,
            "summarise": 0.4,
            "rate": 0.1,
        }
    )
    found = memory({"stages": stages})
    seconds, peaks = found.curves[:2]
    assert (seconds.unit, seconds.points) == ("s", ((100_000, 1.0), (10_000_000, 100.0)))
    assert seconds.slope == pytest.approx(1)
    assert peaks.slope == pytest.approx(0.1505, abs=1e-4)
    assert found.rows[0].what.startswith("peak memory at 10^7 rows")
    assert found.rows[0].ratio == pytest.approx(0.5)
    assert [row.met for row in found.rows if row.target] == [True, False]


def test_every_subject_names_a_file_that_is_there() -> None:
    root = Path(__file__).parents[2]
    for name, subject in SUBJECTS.items():
        assert subject.command[0] == "-m"
        assert (root / (subject.command[1].replace(".", "/") + ".py")).is_file(), name
