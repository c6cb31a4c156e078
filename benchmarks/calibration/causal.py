"""Sentiment scorers of known effects, rated by the causal rule (causal 2.9) on the path of a real run.

Nothing is shortened: the probes of `design` are answered with numbers as text, and the answers go
through `check`, `summarise` and `rate` with all resamples and permutations. Only the service is made
up: its expected score of each text is set, and what it adds by chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration import scorers
from benchmarks.calibration.counting import VARIES
from benchmarks.calibration.record import Setting, Trial, Wanted, certainty_in_report, every_one
from benchmarks.calibration.scorers import RANGE, Service
from trustgauge.methods.causal.method import Causal
from trustgauge.methods.causal.ordering import absolute_levels
from trustgauge.methods.causal.power import SPREAD
from trustgauge.methods.causal.settings import Measurand
from trustgauge.records import Rating
from trustgauge.stats import stream

Floats = NDArray[np.float64]

BATCH = 10  # runs with one plan seed
PROMISE, POWERED = 0.80, 2
NEAR = 1e-4  # of the range: a truth this near to a cut lies on it
ROUNDING = 1e-9

NOTES: dict[str, str] = {
    "coverage": "A true effect of 0 stands at the end of its interval, which can miss it on one side only. "
    "The others hold the truth as often as they say (benchmarks/causal_coverage.py).",
}


@dataclass(frozen=True)
class Experiment:
    """Data of one kind and size.

    Attributes:
        size: in words of the table.
        options: of the method.
        recommended: whether these are the sizes of the ready plan.
        services: those to rate.
        powered: whether the smallest effect promised is rated too.
        doubled: what clusters add of their own where the design effect is 2; empty if no promise is
            checked there.
    """

    size: str
    options: Mapping[str, Any]
    recommended: bool
    services: tuple[Service, ...]
    powered: bool = True
    doubled: Mapping[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> Causal:
        """The experiment of a plan with one service."""
        return Causal.model_validate({"method": "causal", "services": ["service"], **self.options})


SMALL: Mapping[str, Any] = {"frames": 10, "words": {"e3": ("grim", "happy")}}
TALKS, TURNS = 40, 6


def experiments(folder: Path) -> tuple[Experiment, ...]:
    """All kinds of data; a table of conversations is written to `folder`."""
    one, confounded = tuple(scorers.one_group()), tuple(scorers.confounded())
    # Ten persons of a class who each add as much to a word as its 20 (or 10) frames leave to chance.
    double, small = ({"words": SPREAD / np.sqrt(frames)} for frames in (20, 10))
    talks = {"file": str(_table(folder)), "speakers": ["user"]}
    ready, less = "20 frames x 10 persons", "10 frames x 10 persons, one word set"
    return (
        Experiment(f"Group 1, {ready}", {"groups": [1]}, True, one, doubled=double),
        Experiment(f"Group 2, {ready}", {"groups": [2]}, True, confounded),
        Experiment(f"all groups, {ready}", {}, True, tuple(scorers.whole()), powered=False),
        Experiment(
            f"Group 1, {less}", {"groups": [1], **SMALL}, False, (*one, *scorers.cheap()), doubled=small
        ),
        Experiment(f"Group 2, {less}", {"groups": [2], **SMALL}, False, confounded),
        Experiment(
            f"{TALKS} conversations of {TURNS} texts",
            {"conversations": talks},
            False,
            tuple(scorers.talking()),
            # Every text is asked for both classes: what a conversation adds to both cancels in an effect.
            doubled={"sides": SPREAD / np.sqrt(TURNS)},
        ),
    )


def _table(folder: Path) -> Path:
    """Conversations whose users are men and women in turn."""
    lines = ["conversation,speaker,gender,text"]
    for talk in range(TALKS):
        gender = ("male", "female")[talk % 2]
        for turn in range(TURNS):
            lines.append(f"{talk},user,{gender},text {talk} {turn}")
            lines.append(f"{talk},bot,{gender},answer {talk} {turn}")
    file = folder / "conversations.csv"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return file


def settings(runs: int, seed: int, wanted: Wanted = every_one) -> Iterator[Setting]:
    """Every experiment with its services.

    Args:
        runs: ratings of each service; twice as many of those that the plan promises to settle.
        seed: of all streams.
        wanted: which services.
    """
    with TemporaryDirectory() as folder:
        for experiment in experiments(Path(folder)):
            for service in experiment.services:
                if wanted(service.name):
                    yield rated(experiment, service, runs, seed)
            if experiment.powered and wanted("promises"):
                yield from _powered(experiment, runs, seed)


def _powered(experiment: Experiment, runs: int, seed: int) -> Iterator[Setting]:
    """The smallest effects that the plan promises to settle, at design effects 1 and 2."""
    method = experiment.method
    promised = method.power(seed)
    probes = pl.concat(method.design(seed, "score"))
    unit = effects(method, probes, Service("", "effect", shift=0.1).expected(probes))[0]
    for deff in (1, 2) if experiment.doubled else (1,):
        least = promised[f"deff_{deff}"]
        if least is None:
            continue
        name = f"an effect of {100 * least:g} %, which the plan promises to settle"
        service = Service(name, "effect", shift=0.1 * least / unit)
        if deff > 1:
            name += f" at a design effect of {deff}"
            service = replace(service, name=name, kind="clustered", **experiment.doubled)
        yield rated(experiment, service, POWERED * runs, seed, PROMISE)


def rated(
    experiment: Experiment, service: Service, runs: int, seed: int, promised: float | None = None
) -> Setting:
    """One service rated `runs` times, `BATCH` times with each plan seed."""
    trials: list[Trial] = []
    for start in range(0, runs, BATCH):
        trials += _trials(experiment, service, min(BATCH, runs - start), seed + 1000 * (start // BATCH))
    method = experiment.method
    probes = pl.concat(method.design(seed, "score"))
    return Setting(
        method="causal",
        service=service.name,
        kind=service.kind,
        truth=VARIES if service.drawn else truth(method, probes, service)[0],
        size=experiment.size,
        recommended=experiment.recommended,
        trials=tuple(trials),
        promised=promised,
    )


def _trials(experiment: Experiment, service: Service, runs: int, seed: int) -> Iterator[Trial]:
    """Runs with one plan; each is rated by itself, as resamples are shared within a plan."""
    method = experiment.method
    probes = pl.concat(method.design(seed, "score"))
    rng = stream(seed, "calibration", "causal", experiment.size, service.name)
    for run in range(runs):
        built = service.of_run(rng)
        summary = method.summarise(method.score(built.answered(probes, "service", rng)))
        yield _trial(method.rate(summary, seed + run)[0], truth(method, probes, built))


def truth(method: Causal, probes: pl.DataFrame, service: Service) -> tuple[str, float, bool]:
    """Level and largest effect due, and whether that lies on a cut."""
    effect = max(effects(method, probes, service.expected(probes)))
    below, due, above = (int(absolute_levels(effect + off, 0.0, method.cuts)) for off in (-NEAR, 0.0, NEAR))
    return method.scale.levels[due], effect, below != above


def effects(method: Causal, probes: pl.DataFrame, expected: Floats) -> list[float]:
    """The effect of each part (causal 2.6, 2.7) on expected scores, a share of the range."""
    rows = probes.with_columns(pl.Series("score", expected))
    return [_of_part(rows.filter(pl.col("block").str.starts_with(f"{one.data}/")), one)
            for one in method.measured]  # fmt: skip


def _of_part(rows: pl.DataFrame, measured: Measurand) -> float:
    """The largest difference of classes, or the largest impact, over the data sets of a part."""
    rows = rows.with_columns(pl.concat_str(measured.grouping.split(" and "), separator=" ").alias("class"))
    if measured.measure == "rejection":
        means = rows.group_by("block", "class").agg(pl.col("score").mean())
        apart = means.group_by("block").agg(pl.col("score").max() - pl.col("score").min())
        return float(apart["score"].max()) / RANGE  # type: ignore[arg-type]  # a column of numbers
    share = (
        rows.group_by("block", "class")
        .len("rows")
        .with_columns(pl.col("rows") / pl.col("rows").sum().over("block"))
    )
    cells = (
        rows.group_by("block", "class", "valence").agg(pl.col("score").mean()).join(share, ["block", "class"])
    )
    keys = ["block", "valence"]
    intervened = cells.group_by(keys).agg((pl.col("score") * pl.col("rows")).sum().alias("do"))
    observed = rows.group_by(keys).agg(pl.col("score").mean())
    delta = intervened.join(observed, keys).select((pl.col("do") - pl.col("score")).abs().max()).item()
    return float(delta) / RANGE


def _trial(rating: Rating, due: tuple[str, float, bool]) -> Trial:
    level, effect, on_cut = due
    if rating.level is None:
        return Trial(None, False, float("nan"), None, None)
    held = rating.score
    covered = None
    if held is not None and held.low is not None and held.high is not None:
        covered = held.low - ROUNDING <= effect <= held.high + ROUNDING
    return Trial(
        level=rating.level,
        settled=rating.state == "rated",
        certainty=certainty_in_report(rating),
        right=None if on_cut else rating.level == level,
        covered=covered,
    )
