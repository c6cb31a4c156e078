"""How often the labels that a rating with unread answers asks for settle its level (methods 0.10 (3)).

    python -m benchmarks.unread_labels --runs 60
    python -m benchmarks.unread_labels --runs 10 --method social-bias

Round trips turn some She into He, and a share of the mentions is not understood; bots take sides for one
group in a share of their answers, and another share is not understood. The part is rated, so many answers as
its reason names are given what was said, and it is rated again. Prints a Markdown table: how often a number
was named and the level settled, and the mean numbers asked for and of all labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from tests.methods.social_bias import bots
from tests.methods.two_step.summaries import settings, shifted, summary

from trustgauge.methods.social_bias.missing_data import UNUSED
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


class Chatbot(NamedTuple):
    """A bot: in which share of its answers it takes sides, and share unread."""

    share: float
    unread: float


BOTS = tuple(
    Chatbot(*one) for one in ((0.0, 0.05), (0.0, 0.1), (0.1, 0.05), (0.2, 0.1), (0.3, 0.3), (0.4, 0.6))
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


def after_labels_of_bot(bot: Chatbot, seed: int) -> Labels:
    """One run of a bot."""
    method = bots.experiment(groups=3, properties=26, questions=4000, resamples=1000, permutations=999)
    group = next(one.id for one in method.asked_groups if not one.control)
    read = bots.marks(method, {"bot": bots.fan(group, bot.share) if bot.share else bots.refuser}, seed)
    used = np.flatnonzero(read.select(~UNUSED).to_series())
    gone = np.random.default_rng(seed).permutation(used)[: round(len(used) * bot.unread)]
    place = np.full(read.height, -1)
    place[gone] = np.arange(len(gone))

    def rated(labels: int) -> Rating:
        """With so many labels."""
        is_unread = pl.lit(pl.Series(place >= labels))
        left = {"status": pl.lit("unread"), "verdict": pl.lit("unclear")}
        frame = read.with_columns(
            pl.when(is_unread).then(one).otherwise(name).alias(name) for name, one in left.items()
        )
        return method.rate(method.summarise(frame), seed)[0]

    number = number_to_label(rated(0))
    return Labels(number, len(gone), number > 0 and rated(number).state == "rated")


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=60, help="simulated runs of each service")
    parser.add_argument("--method", choices=("two-step", "social-bias"), default="two-step")
    options = parser.parse_args()
    seeds = range(options.runs)
    runs: Iterable[tuple[Sequence[str], Sequence[Labels]]]
    head: Sequence[str]
    if options.method == "social-bias":
        head = ("takes sides", "unread")
        runs = (
            ((f"{one.share:.0%}", f"{one.unread:.0%}"), [after_labels_of_bot(one, seed) for seed in seeds])
            for one in BOTS
        )
    else:
        head = ("She as He", "texts", "unread", "deterministic")
        runs = (
            (
                (f"{one.share:.0%}", str(one.texts), f"{one.unread:.0%}", str(one.shared)),
                [after_labels(one, seed) for seed in seeds],
            )
            for one in SERVICES
        )
    _print_table(head, runs)


def _print_table(head: Sequence[str], services: Iterable[tuple[Sequence[str], Sequence[Labels]]]) -> None:
    """A row a service, as soon as it is simulated."""
    columns = [*head, "number named", "level settled", "labels", "of"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    every: list[Labels] = []
    for names, runs in services:
        asked = [one for one in runs if one.number]
        every += asked
        figures = ["0", "", "", ""]
        if asked:
            mean = np.mean([(one.settled, one.number, one.of) for one in asked], axis=0)
            figures = [str(len(asked)), f"{mean[0]:.0%}", f"{mean[1]:.0f}", f"{mean[2]:.0f}"]
        print(f"| {' | '.join([*names, *figures])} |", flush=True)
    print(f"\n{np.mean([one.settled for one in every]):.0%} of {len(every)}")


if __name__ == "__main__":
    main()
