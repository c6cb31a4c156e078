"""Whether audited ratings of leakage and of round trips cover the truth (methods 0.10 (4), 0.12, 1.4, 4.1).

    python -m benchmarks.reader_audit --runs 300

Leakage: bots give a share of the secrets away, a matcher finds some of these and takes some others for given.
Round trips: services turn some She into He and lose some mentions, occupation by occupation, and a reader
misreads or leaves unread some of each. A sample is drawn as `trustgauge audit` draws it and labelled as
meant. Told are the share of the 95 % intervals that hold the truth, with Wilson's interval, the mean error,
and how often the level was settled right and wrong; else it stayed open.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from trustgauge.methods.trust.issues.leakage_levels import (
    AUDIT,
    CROSS,
    PLANNED,
    READ_GIVEN,
    READ_NOTHING,
    SPOKEN,
    AuditedLeaks,
    assess_live,
    leakage_counts,
)
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.methods.two_step.audit import LabelledPart
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.score import ABSTAINS, LABEL, UNREAD_LABEL
from trustgauge.methods.two_step.transition_model import (
    LEVELS,
    DeclaredDistributions,
    deviations,
    examine_pooling,
    level_of,
    part_counts,
)
from trustgauge.run.audit_sample import drawn_elements
from trustgauge.stats.distributions import Floats, wilson

SETTLE = 0.95


class Leaks(NamedTuple):
    """A bot, a matcher and an audit: shares given away, found, passed; secrets; labelled answers."""

    share: float
    sensitivity: float
    specificity: float
    secrets: int
    labels: int


class Trips(NamedTuple):
    """A service, a reader and an audit: She to He, lost, misread, unread; texts of a block; labels.

    `clustered` services turn or keep all mentions of an occupation.
    """

    turned: float
    lost: float
    misread: float
    unread: float
    clustered: bool
    texts: int
    labels: int


LEAKS = (
    Leaks(0.3, 0.3, 1.0, 30, 200),  # every secret is labelled
    Leaks(0.3, 0.3, 0.95, 120, 200),
    Leaks(0.1, 0.0, 1.0, 120, 300),
    Leaks(0.5, 0.9, 0.9, 120, 150),
    Leaks(0.05, 0.5, 1.0, 100, 200),
    Leaks(0.0, 0.0, 1.0, 60, 200),
)
TRIPS = (
    Trips(0.0, 0.05, 0.1, 0.0, False, 200, 200),
    Trips(0.6, 0.0, 0.3, 0.0, False, 200, 200),
    Trips(0.4, 0.1, 0.2, 0.3, False, 200, 200),
    Trips(0.3, 0.2, 0.0, 0.6, False, 200, 400),
    Trips(0.4, 0.0, 0.1, 0.3, True, 200, 300),
    Trips(0.5, 0.1, 0.2, 0.2, False, 50, 300),  # every mention is labelled
)


def leaks(setting: Leaks, seed: int) -> tuple[list[bool], float, str]:
    """Whether the interval holds the true share, the error, and the level if it is settled."""
    rng = np.random.default_rng(seed)
    names = [f"code-{one:03}" for one in range(setting.secrets)]
    truth = rng.random(setting.secrets) < setting.share
    found = np.where(
        truth,
        rng.random(setting.secrets) < setting.sensitivity,
        rng.random(setting.secrets) > setting.specificity,
    )
    read = np.where(found, READ_GIVEN, READ_NOTHING)
    frame = pl.DataFrame({"element": names, "class": read}).select(
        pl.col("element").repeat_by(3),
        pl.col("class").alias("stratum"),
        "class",
        carries=pl.lit(value=True),
        unread=pl.lit(value=False),
    )
    drawn = set(drawn_elements(frame.explode("element"), setting.labels, seed))
    rows: list[tuple[str, str, int, float]] = []
    for name, given, said in zip(names, truth.tolist(), read.tolist(), strict=True):
        label = "" if name not in drawn else READ_GIVEN if given else READ_NOTHING
        told = (label or said) == READ_GIVEN
        rows += [(name, CROSS, 3, float(told)), (name, PLANNED, 3, 0.0), (name, SPOKEN, 3, 0.0)]
        rows.append((name, f"{AUDIT}ask:{said}:short:{label}", 3, 0.0))
    cells = pl.DataFrame(rows, schema=["cluster", "key", "n", "total"], orient="row")
    seen, resampling = leakage_counts(cells), Resampling(seed, 500)
    found_level = assess_live(seen, resampling, AuditedLeaks.of(cells, seen, resampling))
    score, levels = found_level.score, found_level.levels
    assert score.value is not None
    assert score.low is not None
    assert score.high is not None
    assert levels is not None
    shares = np.bincount(levels, minlength=3) / len(levels)
    settled = "LMH"[int(shares.argmax())] if shares.max() >= SETTLE else ""
    return [score.low <= setting.share <= score.high], score.value - setting.share, settled


def true_rates(setting: Trips) -> Floats:
    """P(out | in) of the service over occupations."""
    kept = 1 - setting.lost
    return np.array(
        [
            [kept, 0, setting.lost],
            [setting.turned * kept, (1 - setting.turned) * kept, setting.lost],
            [0, 0, 1],
        ]
    )


def trip_rows(setting: Trips, method: TwoStep, seed: int) -> pl.DataFrame:
    """The summary of such a service, with what it meant."""
    rng = np.random.default_rng(seed)
    probes = pl.concat(list(method.design(seed, "translate")))
    each = probes.select("block", "message", "items", "values").explode("items", "values")
    value, item = each["values"].to_numpy(), each["items"].to_numpy()
    n = len(each)
    names, place = np.unique(item, return_inverse=True)
    chance = rng.random(len(names))[place] if setting.clustered else rng.random(n)
    truth = np.where((value == 1) & (chance < setting.turned), 0, value)
    truth = np.where(rng.random(n) < setting.lost, 2, truth)
    read = np.where(rng.random(n) < setting.misread, (truth + 1) % 3, truth)  # He as She, She as Other
    read = np.where(rng.random(n) < setting.unread, ABSTAINS, read)
    return pl.DataFrame(
        {
            "service": "it",
            "part": "",
            "block": each["block"],
            "segment": 0,
            "text": each["message"],
            "item": each["items"],
            "value_in": each["values"].cast(pl.Int8),
            "value_out": pl.Series(read, dtype=pl.Int8),
            "kind": np.where(read == ABSTAINS, "unread", np.where(read == 2, "other", "kept")),
            "status": "answered",
            "meant": pl.Series(truth, dtype=pl.Int8),
            "n": 1,
            "pooled": 1,
            "texts": 0,
        }
    )


def trips(setting: Trips, seed: int) -> tuple[list[bool], float, str]:
    """Whether the intervals hold the true rates of He and She, the error, and the level if it is settled."""
    method = TwoStep(method="two-step", services=("it",), texts=setting.texts, draws=1000)
    rows = trip_rows(setting, method, seed).with_row_index("element")
    frame = rows.select(
        pl.col("element").cast(pl.String),
        pl.format("{}/{}", "value_in", "value_out").alias("stratum"),
        pl.format("{}/{}", "value_in", "value_out").alias("class"),
        carries=pl.lit(value=True),
        unread=pl.col("value_out") < 0,
    )
    drawn = [int(one) for one in drawn_elements(frame, setting.labels, seed)]
    label = pl.when(pl.col("element").is_in(drawn)).then("meant").otherwise(pl.lit(-1, pl.Int8))
    part = LabelledPart(
        rows.with_columns(label.alias(LABEL), pl.lit(-1, pl.Int8).alias(UNREAD_LABEL)).drop(
            "element", "meant"
        ),
        method.spec,
        setting.labels,
    )
    assert part.finished
    rng = np.random.default_rng([seed, 1])
    imputed = part.impute(rng)
    counts = part_counts(imputed, method.spec).counts
    declared = DeclaredDistributions.of(method)
    drawn_levels = part.draw(imputed, examine_pooling(counts, rng), declared, method, rng)
    true = true_rates(setting)
    rates = drawn_levels.rates[0]
    low, high = np.quantile(rates, [0.025, 0.975], axis=0)
    cells = [one for one in ((0, 0), (1, 0), (1, 1)) if 0 < true[one] < 1]  # no draw is 0 or 1
    hits = [bool(low[one] <= true[one]) and bool(true[one] <= high[one]) for one in cells]
    shares = np.bincount(drawn_levels.levels[0], minlength=3) / rates.shape[0]
    settled = LEVELS[int(shares.argmax())] if shares.max() >= SETTLE else ""
    return hits, float(rates[:, 1, 0].mean() - true[1, 0]), settled


def due(setting: Leaks | Trips) -> str:
    """The level of the truth."""
    if isinstance(setting, Leaks):
        return "H" if setting.share else "L"
    declared = DeclaredDistributions.of(TwoStep(method="two-step", services=("it",)))
    true = true_rates(setting)[: declared.specs.shape[1]]
    devs = deviations(true[None], declared.specs, declared.unbiased)
    return LEVELS[int(level_of(devs, len(declared.unbiased), declared.margin)[0])]


def outcome(setting: Leaks | Trips, runs: int) -> dict[str, float]:
    """The share of intervals that hold the truth, its interval, the mean error, and settled levels."""
    found = [
        leaks(setting, seed) if isinstance(setting, Leaks) else trips(setting, seed) for seed in range(runs)
    ]
    hits = [hit for every, _, _ in found for hit in every]
    low, high = wilson(sum(hits), len(hits))
    right = due(setting)
    return {
        "covered": sum(hits) / len(hits),
        "low": low,
        "high": high,
        "error": float(np.mean([error for _, error, _ in found])),
        "right": sum(level == right for *_, level in found) / runs,
        "wrong": sum(level not in ("", right) for *_, level in found) / runs,
    }


def lines(runs: int) -> Iterator[tuple[str, dict[str, object]]]:
    """What is printed for each setting, and its figures."""
    for setting in (*LEAKS, *TRIPS):
        told = {**setting._asdict(), **outcome(setting, runs)}
        of = ", ".join(f"{name} {value:g}" for name, value in setting._asdict().items())
        figures = "{covered:.1%} ({low:.1%} to {high:.1%}), error {error:+.4f}"
        figures += ", right {right:.0%}, wrong {wrong:.1%}"
        yield f"{of}: {figures.format(**told)}", told


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    found = []
    for line, told in lines(options.runs):
        print(line, flush=True)
        found.append(told)
    if options.json:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
