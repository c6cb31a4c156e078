"""How often 95 % intervals of effects contain the truth, with and without two-way variance (methods 0.5).

    python benchmarks/causal_coverage.py --runs 200

Each row is one service on generated data of 20 frames and 10 persons of a class: intervals of every effect
of a data set from the product of weights of frames and persons, then with its draws brought to the two-way
clustered variance, then with the variance by segment of the run besides, as ratings have it. Prints a
Markdown table; docs/methods/causal.md 2.9 shows it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from benchmarks.calibration.scorers import RANGE, Service
from trustgauge.methods.causal import deconfounding, effects, segments
from trustgauge.methods.causal.measures import respread
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.causal.panel import Floats, panel
from trustgauge.stats import stream

RESAMPLES = 1000
SERVICES = (
    Service("single answers vary", "noise"),
    Service("women 10 % higher", "effect", shift=0.1),
    Service("persons with a word vary", "clustered", words=0.1 / np.sqrt(20)),
    Service("persons vary", "clustered", persons=0.1),
    Service("frames vary by class", "clustered", frames=0.1),
    Service("both vary", "clustered", persons=0.05, frames=0.05),
)
GROUPS: Mapping[int, Mapping[str, Any]] = {
    1: {"groups": [1], "words": {"e3": ("grim", "happy")}},
    2: {"groups": [2]},
}


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs of each service")
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    print("| Group | scores | product of weights | two-way variance | and by segment | intervals |")
    print("|---|---|---|---|---|---|")
    for group, kind in GROUPS.items():
        for service in SERVICES:
            counts = np.zeros(4, dtype=np.int64)
            for run in range(options.runs):
                for hits in covered(kind, service, options.seed + run):
                    counts += hits
            shares = " | ".join(f"{100 * hit / counts[3]:.1f} %" for hit in counts[:3])
            print(f"| {group} | {service.name} | {shares} | {counts[3]} |", flush=True)


def covered(kind: Mapping[str, Any], service: Service, seed: int) -> Iterator[list[int]]:
    """One run: how many intervals of each sort contain the truth, and how many there are."""
    method = Causal.model_validate({"method": "causal", "services": ["service"], **kind})
    probes = pl.concat(method.design(seed // 10, "score"))
    rng = stream(seed, "coverage", service.name)
    answers = service.answered(probes, "service", rng)
    places = rng.permutation(probes.height) * 10 // probes.height
    rows = method.summarise(method.score(answers.with_columns(segment=pl.Series(places))))
    for measured in method.measured:
        whole = panel(rows)
        grouping = whole.grouping(measured.grouping, na=False)
        weights = whole.weights(grouping, RESAMPLES, rng)
        found = segments.influences(rows, whole, grouping, measured.measure)
        assert found is not None
        if measured.measure == "rejection":
            value = effects.ate(whole, grouping).value
            draws = effects.resample_ates(whole, grouping, *weights)
            truth = np.full(value.shape, -service.shift * RANGE)
        else:
            ways = {"outcome": "score", "positivity": "refuse"}
            value = deconfounding.impact(whole, grouping, **ways).delta  # type: ignore[arg-type]
            draws = deconfounding.resample_deltas(whole, grouping, *weights, **ways)  # type: ignore[arg-type]
            truth = _impacts(probes.with_columns(expected=pl.Series(service.expected(probes))))
        two_way = found.two_way_variance(whole, grouping)
        sorts = (draws, respread(value, draws, None, two_way))
        every = (*sorts, respread(value, draws, found.variance, two_way))
        yield [*(_hits(one, truth) for one in every), truth.size]


def _hits(draws: Floats, truth: Floats) -> int:
    low, high = np.nanquantile(draws, [0.025, 0.975], axis=0)
    return int(((low <= truth) & (truth <= high)).sum())


def _impacts(probes: pl.DataFrame) -> Floats:
    """The impact of each data set and valence on expected scores, [S, 2]."""
    rows = probes.filter(pl.col("gender") != "NA")
    keys = ["block", "valence"]
    share = (
        rows.group_by("block", "gender")
        .len("of")
        .with_columns(pl.col("of") / pl.col("of").sum().over("block"))
    )
    cells = rows.group_by(*keys, "gender").agg(pl.col("expected").mean()).join(share, ["block", "gender"])
    do = cells.group_by(keys).agg((pl.col("expected") * pl.col("of")).sum().alias("do"))
    both = do.join(rows.group_by(keys).agg(pl.col("expected").mean()), keys).sort(keys)
    return (both["do"] - both["expected"]).to_numpy().reshape(-1, 2)


if __name__ == "__main__":
    main()
