"""Wrong levels and calls of two-step ratings with planned looks, and of one look at full size (methods 0.11).

    python benchmarks/two_step_looks.py --runs 30 --texts 100

Each of the twenty translators of two-step 1.7 is asked by a real design, mention by mention, and rated by the
rule at every look and at the end. Prints a Markdown table; docs/methods/common.md 0.11 sums it up.
"""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from trustgauge.methods.two_step import design
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import (
    SimulatedTranslator,
    by_occupation,
    catalogue,
)
from trustgauge.methods.two_step.score import LOST
from trustgauge.run.probe_batches import shuffle, with_segments
from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=30, help="simulated runs of each translator")
    parser.add_argument("--texts", type=int, default=100, help="texts of a block")
    parser.add_argument("--looks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=20260101)
    options = parser.parse_args()
    print("| translator | truth | wrong: one look | wrong: looks | not settled: one look | looks | calls |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for translator in (*catalogue(), *by_occupation()):
        found = [_run(translator, options, run) for run in range(options.runs)]
        row = np.array(found).mean(axis=0)
        rows.append(row)
        print(_line(translator.name, translator.truth, row), flush=True)
    print(_line("mean", "", np.array(rows).mean(axis=0)))


def _line(name: str, truth: str, row: Floats) -> str:
    shares = " | ".join(f"{100 * share:.1f} %" for share in row)
    return f"| {name} | {truth} | {shares} |"


def _run(translator: SimulatedTranslator, options: argparse.Namespace, run: int) -> list[float]:
    """Of one run: wrong at one look, wrong with looks, not settled at one, with looks, share of the calls."""
    sizes = {"texts": options.texts, "looks": options.looks}
    method = TwoStep(method="two-step", services=("it",), stop="settled", **sizes)
    whole = method.model_copy(update={"stop": "end"})
    seed = options.seed + run
    probes = shuffle(pl.concat(list(method.design(seed, "translate"))), stream(seed, "order"))
    probes = with_segments(probes.with_columns(look=method.look_of(probes)).sort("look", maintain_order=True))
    scored = _scored(probes, translator, stream(seed, "answers", translator.name))
    (one,) = whole.rate(whole.summarise(scored), seed)
    for look in range(1, options.looks + 1):
        due = method.at_look(look)
        part = design.count_once(scored.filter(pl.col("look") <= look))
        (rated,) = due.rate(due.summarise(part), seed)
        if rated.state == "rated":
            break
    settled, settled_whole = rated.state == "rated", one.state == "rated"
    return [
        float(settled_whole and one.level != translator.truth),
        float(settled and rated.level != translator.truth),
        float(not settled_whole),
        float(not settled),
        len(part) / len(scored),
    ]


def _scored(probes: pl.DataFrame, translator: SimulatedTranslator, rng: np.random.Generator) -> pl.DataFrame:
    """Probes with what came back of each mention, drawn from the rates; by occupation where they are."""
    rates = np.cumsum(translator.rates, axis=1)
    drawn: dict[tuple[str, int], float] = {}
    read = []
    for items, values in probes.select("items", "values").iter_rows():
        came = []
        for item, value in zip(items, values, strict=True):
            number = float(rng.random())
            if translator.sharing:
                number = drawn.setdefault((item, value), number)
            came.append(min(2, int(np.searchsorted(rates[value], number, side="right"))))
        read.append(came)
    kinds = [["kept" if value < 2 else LOST[-2] for value in came] for came in read]
    return probes.with_columns(
        service=pl.lit("it"),
        part=pl.lit(""),
        shared=pl.lit(value=False),
        status=pl.lit("answered"),
        read=pl.Series(read, dtype=pl.List(pl.Int8)),
        kinds=pl.Series(kinds, dtype=pl.List(pl.String)),
    )


if __name__ == "__main__":
    main()
