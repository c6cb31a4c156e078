"""A run of millions of answers: seconds and peak memory of each stage, a process a stage.

    python -m benchmarks.scale [--rows 100000 1000000 10000000] [--ask-up-to 10000000] [--json FILE]

The plan is a two-step experiment of 3 blocks of 1,111 texts, each asked rows / 20,000 times of six services
in this process: a Python function, which is rated, and the five controls of known truth. All of them answer
every repeat anew. `rows` counts the answers of all six, as the store holds them. The store is `parquet`.

Stages:
    ask      `rate`: design, ask, journal, seal, check, sum up, rate, report. Up to `--ask-up-to` rows.
    fill     above that: the same services without the engine; the same writer and store.
    rate     `rate` again: nothing is asked; look up, check, sum up, rate and report from the store.
    verify   every key and hash from the store, then the rating again.
    store    cost, hash of the files, and which of all keys are kept.
    codes    the analysis alone: summary and rating from a Parquet file of integer codes, a row an answer.

Figures hang on the machine; what counts is how they grow. Peak memory is that of the whole process
(ru_maxrss), Python and its libraries included; the stage `idle` shows these.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.two_step import score
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Answer, Message
from trustgauge.run import run, targets
from trustgauge.run.options import RunOptions, lookup_in, pending_batches
from trustgauge.run.prepare import prepare, write_plan
from trustgauge.run.rate import StoredAnswers, answer_batches
from trustgauge.run.verify import verify
from trustgauge.store import GroupWriter, open_store
from trustgauge.store.folder import RunFolder, find_run

TEXTS, BLOCKS, SERVICES = 1_111, 3, 6
STAGES = ("idle", "ask", "fill", "rate", "verify", "store", "codes")
NAME = "varying"
CODES = "codes.parquet"
BATCH = 5_000
SWAPPED = 0.1  # share of answers in which She becomes He

_asked = 0


def varying(texts: list[str]) -> list[str]:
    """The rated service: gives texts back, now and then with another pronoun; no two calls alike."""
    global _asked
    _asked += len(texts)
    return [answer(text, _asked - place) for place, text in enumerate(texts)]


def answer(text: str, number: int) -> str:
    """What the service says the `number`-th time."""
    drawn = zlib.crc32(b"%d %d" % (number, len(text))) / 2**32
    return text.replace("She", "He").replace(" her ", " his ") if drawn < SWAPPED else text


def plan_of(rows: int) -> Plan:
    """The plan of a run with about so many answers."""
    service = {
        "use": "function",
        "function": "benchmarks.scale:varying",
        "batch": 500,
        "folder": str(Path(__file__).parent.parent),
    }
    experiment = {
        "method": "two-step",
        "services": [NAME],
        "texts": TEXTS,
        "repeats": max(1, round(rows / (TEXTS * BLOCKS * SERVICES))),
    }
    return load_plan(
        {
            "name": f"{rows} rows",
            "run": {"store": "parquet"},
            "services": {NAME: service},
            "experiments": [experiment],
        }
    )


def idle(rows: int, ratings: Path) -> dict[str, Any]:
    """Nothing: what a process takes that has loaded everything."""
    plan_of(rows)
    return {}


def ask(rows: int, ratings: Path) -> dict[str, Any]:
    """The whole run."""
    finished = run.rate(plan_of(rows), RunOptions(ratings))
    return {"answers": finished.derived.readings, "anchors": _controls(finished)}


def fill(rows: int, ratings: Path) -> dict[str, Any]:
    """The answers of all services, without the engine."""
    plan = plan_of(rows)
    prepared = prepare(plan)
    made = 0
    with RunFolder.open(ratings, plan.hash, now=datetime.now(UTC), kind="parquet") as folder:
        write_plan(prepared, folder)
        with GroupWriter(folder.store) as writer:
            for step in pending_batches(prepared.targets, prepared.probes, lookup_in(lambda _: set())):
                for one in _answers(step):
                    writer.keep(one)
                    made += 1
    return {"answers": made}


def _answers(step: Any) -> Iterator[Answer]:
    """The answers to what is pending of a slice, as the engine would make them."""
    for row in step:
        service = row.description.open()
        for start in range(0, len(row.units), BATCH):
            messages = [message for (message,) in row.units[start : start + BATCH]]
            replies = asyncio.run(service.ask(messages))
            for message, reply in zip(messages, replies, strict=True):
                yield Answer(
                    row.subject.fingerprint,
                    message.key,
                    message.draw,
                    message.text,
                    "answered",
                    reply.output,
                    millis=0.1,
                    at="2026-01-01T00:00:00.000Z",
                )


def rate(rows: int, ratings: Path) -> dict[str, Any]:
    """`rate` where every answer of the service is kept already."""
    finished = run.rate(plan_of(rows), RunOptions(ratings))
    (rating,) = finished.document["ratings"]
    return {
        "calls": finished.asked.calls,
        "answers": finished.derived.readings,
        "level": rating["overall"]["level"],
        "anchors": _controls(finished),
    }


def _controls(finished: run.RunResult) -> str:
    """How many controls of known truth were rated as they are built."""
    right = sum(not one.wrong and one.state == "rated" for one in finished.derived.controls)
    return f"{right} of {len(finished.derived.controls)}"


def check(rows: int, ratings: Path) -> dict[str, Any]:
    """`verify`."""
    folder = _folder(rows, ratings)
    verdict = verify(folder, date(2026, 1, 2))
    return {"differences": len(verdict.differences), "answers": verdict.answers}


def store(rows: int, ratings: Path) -> dict[str, Any]:
    """What the store alone takes: opening, cost, integrity, looking up all keys."""
    folder = _folder(rows, ratings)
    plan = plan_of(rows)
    print_of = targets.plan_targets(plan)[0].fingerprint
    told: dict[str, Any] = {}
    with open_store(folder) as opened:
        told["cost"] = _seconds(lambda: opened.cost([print_of]))
        kept = 0

        def look_up() -> None:
            nonlocal kept
            for frame in opened.probe_slices("0:translate"):
                keys = frame.select(pl.col("message"), pl.col("draw"))
                named = [(Message(text).key, draw) for text, draw in keys.iter_rows()]
                kept += sum(opened.holds(print_of, named))

        told["look_up"] = _seconds(look_up)
        told["integrity"] = _seconds(opened.integrity)
    size = sum(one.stat().st_size for one in (folder / "store.parquet").rglob("*") if one.is_file())
    return {"seconds_of": told, "kept": kept, "bytes": size}


def codes(rows: int, ratings: Path) -> dict[str, Any]:
    """Summary and rating from integer codes; the file of codes is made by `make_codes`."""
    plan = plan_of(rows)
    (method,) = targets.methods(plan)
    names = json.loads((ratings / "codes.json").read_text("utf-8"))
    began = time.perf_counter()
    counted = _counted(pl.scan_parquet(ratings / CODES), {key: len(names[key]) for key in score.KEYS})
    summed = time.perf_counter()
    named = counted.with_columns(
        pl.col(key).replace_strict(list(range(len(names[key]))), names[key], return_dtype=score.SUMMARY[key])
        for key in score.KEYS
    )
    whole = named.with_columns(pooled="n", texts="n")
    ratings_of = method.rate(method.merge([whole]), targets.experiment_seed(plan.seed, 0))
    return {
        "summarise": summed - began,
        "rate": time.perf_counter() - summed,
        "cells": counted.height,
        "level": ratings_of[0].level,
    }


def _counted(codes: pl.LazyFrame, sizes: dict[str, int]) -> pl.DataFrame:
    """How often each cell occurs: the codes of a row are the digits of one number, which is grouped by.

    Args:
        codes: a column of codes for each key.
        sizes: key -> how many codes it has.
    """
    strides, whole = {}, 1
    for key, size in sizes.items():
        strides[key], whole = whole, whole * size
    assert whole < 2**63
    number = pl.sum_horizontal(
        pl.col(key).cast(pl.Int64) * strides[key] for key, size in sizes.items() if size > 1
    )
    cells = codes.group_by(number=number).agg(n=pl.len().cast(pl.Int64)).collect(engine="streaming")
    return cells.select(
        *((pl.col("number") // strides[key] % size).alias(key) for key, size in sizes.items()), "n"
    )


def make_codes(rows: int, ratings: Path) -> None:
    """Marks of so many answers as codes: drawn from the summary of the run, so as often as they were."""
    plan = plan_of(rows)
    (method,) = targets.methods(plan)
    found = targets.plan_targets(plan)
    folder = _folder(rows, ratings)
    probes = targets.design(plan, found)
    rated = next(one for one in found if one.control is None)
    with open_store(folder) as opened:
        read = answer_batches(rated, probes, StoredAnswers(opened))
        summary = method.merge([method.summarise(method.score(rows)) for rows in read])
    rng = np.random.default_rng(1)
    share = (summary["n"] / summary["n"].sum()).to_numpy()
    picked = rng.choice(summary.height, size=rows, p=share).astype(np.uint32)
    names, columns = {}, {}
    for key in score.KEYS:
        names[key] = summary[key].unique(maintain_order=True).to_list()
        place = {name: number for number, name in enumerate(names[key])}
        of_cell = np.array([place[name] for name in summary[key]], dtype=np.uint16)
        columns[key] = of_cell[picked]
    pl.DataFrame(columns).write_parquet(ratings / CODES, compression="zstd", row_group_size=250_000)
    (ratings / "codes.json").write_text(json.dumps(names), "utf-8")


def _folder(rows: int, ratings: Path) -> Path:
    folder = find_run(ratings, plan_of(rows).hash)
    if folder is None:
        raise SystemExit(f"no run of {rows} rows in {ratings}")
    return folder


def _seconds(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


ACTS: dict[str, Callable[[int, Path], dict[str, Any]]] = {
    "idle": idle,
    "ask": ask,
    "fill": fill,
    "rate": rate,
    "verify": check,
    "store": store,
    "codes": codes,
}


def one_stage(stage: str, rows: int, ratings: Path) -> None:
    """Run a stage in this process; print what it took as JSON."""
    if stage == "make-codes":
        make_codes(rows, ratings)
        return
    began, cpu = time.perf_counter(), time.process_time()
    told = ACTS[stage](rows, ratings)
    seconds, spent = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MB on Linux
    print(
        json.dumps({"stage": stage, "rows": rows, "seconds": seconds, "cpu": spent, "peak_mb": peak, **told})
    )


def measure(rows: int, options: argparse.Namespace, ratings: Path) -> list[dict[str, Any]]:
    """All stages of one size, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", "--ratings", str(ratings), "--rows", str(rows)]
    found = []
    left_out = "fill" if rows <= options.ask_up_to else "ask"
    for stage in STAGES:
        if stage == left_out:
            continue
        if stage == "codes":
            subprocess.run([*command, "--stage", "make-codes"], check=True)
        done = subprocess.run([*command, "--stage", stage], check=True, stdout=subprocess.PIPE, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(_line(found[-1]), flush=True)
    return found


def _line(one: dict[str, Any]) -> str:
    known = ("stage", "rows", "seconds", "cpu", "peak_mb")
    rest = ", ".join(f"{name} {value}" for name, value in one.items() if name not in known)
    figures = f"{one['seconds']:9.2f}{one['cpu']:9.2f}{one['peak_mb']:9.0f}"
    return f"{one['rows']:>10,}  {one['stage']:7}{figures}  {rest}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--ask-up-to", type=int, default=10_000_000, help="larger runs are filled")
    parser.add_argument("--ratings", type=Path, help="where runs are kept; a temporary folder if not said")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--stage", choices=[*STAGES, "make-codes"], help="only this stage, in this process")
    options = parser.parse_args()
    if options.stage:
        one_stage(options.stage, options.rows[0], options.ratings)
        return
    print(f"{'rows':>10}  {'stage':7}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}")
    found = []
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.ratings) as name:
        for rows in options.rows:
            folder = Path(name, str(rows))
            folder.mkdir()
            found += measure(rows, options, folder)
    if options.json:
        about = {"python": platform.python_version(), "polars": pl.__version__, "cores": os.cpu_count()}
        options.json.write_text(json.dumps({"machine": about, "stages": found}, indent=1), "utf-8")


if __name__ == "__main__":
    main()
