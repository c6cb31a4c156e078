"""How often the labels that a round trip with unread mentions asks for settle its level (methods 0.10 (3)).

    python -m benchmarks.unread_labels --runs 60

Services turn some She into He, and a share of the mentions is not understood. The part is rated, so many
mentions as its reason names are given the value that came back, and it is rated again. Prints a Markdown
table: how often a number was named and the level settled, and the mean numbers asked for and of all labels.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import polars as pl
from tests.methods.two_step.summaries import settings, shifted, summary

from trustgauge.methods.two_step.rating import rate
from trustgauge.methods.two_step.score import ABSTAINS
from trustgauge.records import Rating


class Service(NamedTuple):
    """A service: how many She become He, texts of a block, share unread, whether it is deterministic."""

    share: float
    texts: int
    unread: float
    shared: bool


SERVICES = tuple(
    Service(share, *size)
    for share in (0.0, 0.1, 0.3, 0.5)
    for size in ((60, 0.3, True), (60, 0.2, False), (200, 0.4, False))
)


class Labels(NamedTuple):
    """Labels that were asked for (0: no number was named), of how many, and whether the level was settled."""

    number: int
    of: int
    settled: bool


def hidden(frame: pl.DataFrame, unread: pl.Series) -> pl.DataFrame:
    """A summary of which some rows were not understood."""
    gap = {"value_out": pl.lit(ABSTAINS, pl.Int8), "kind": pl.lit("unread"), "status": pl.lit("unread")}
    return frame.with_columns(
        pl.when(unread).then(one).otherwise(name).alias(name) for name, one in gap.items()
    )


def number_to_label(rating: Rating) -> int:
    """How many labels the reason of its only part asks for; 0 if it names no number."""
    return max((int(str(one.facts.get("to_read", 0))) for one in rating.parts[0].reasons), default=0)


def after_labels(service: Service, seed: int) -> Labels:
    """One run."""
    rng, method = np.random.default_rng(seed), settings(texts=service.texts)
    frame = summary(method, shifted(service.share), shared=service.shared, seed=seed).with_row_index("row")
    # copies of an answer of a deterministic service are understood together, and have one label
    unit = ["text", "item", "value_in"] if service.shared else ["row"]
    units = frame.select(unit).unique(maintain_order=True)
    gone = rng.permutation(units.height)[: round(units.height * service.unread)]
    order = units[gone].with_columns(order=pl.int_range(len(gone)))
    known = frame.join(order, on=unit, how="left", maintain_order="left")
    places, rows = known["order"], frame.drop("row")
    number = number_to_label(rate(hidden(rows, places.is_not_null()), method, 11)[0])
    of = int(known.filter(places.is_not_null())["pooled"].sum())
    (after,) = rate(hidden(rows, places.is_not_null() & (places >= number)), method, 11)
    return Labels(number, of, number > 0 and after.state == "rated")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=60, help="simulated runs of each service")
    options = parser.parse_args()
    print("| She as He | texts | unread | deterministic | number named | level settled | labels | of |")
    print("|---|---|---|---|---|---|---|---|")
    every: list[Labels] = []
    for service in SERVICES:
        runs = [after_labels(service, seed) for seed in range(options.runs)]
        asked = [one for one in runs if one.number]
        every += asked
        mean = np.mean([(one.settled, one.number, one.of) for one in asked], axis=0)
        row = f"| {service.share:.0%} | {service.texts} | {service.unread:.0%} | {service.shared}"
        print(f"{row} | {len(asked)} | {mean[0]:.0%} | {mean[1]:.0f} | {mean[2]:.0f} |", flush=True)
    print(f"\n{np.mean([one.settled for one in every]):.0%} of {len(every)}")


if __name__ == "__main__":
    main()
