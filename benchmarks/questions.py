"""How many questions a second are made from their numbers, and in how much memory.

    POLARS_MAX_THREADS=1 python -m benchmarks.questions [--questions 5000000] [--batch 100000]

Groups and properties are invented, as many as the paper has (841 and 8,110), so the whole product has
366 million absolute tuples. Questions are taken from all over it: in a row, and at permuted places.
CPU seconds count, so more cores make no difference. Memory is the peak of the process after ten batches
of each way and at the end: what the number of questions adds is their difference.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import numpy as np
from numpy.typing import NDArray

from trustgauge.data.properties import Property
from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.combinatorial_index import Permutation
from trustgauge.methods.social_bias.questions import Catalogue

# Sizes of our own that make 841 groups and 45,131 pairs, as many as the paper has.
SIZES = (165, 138, 131, 101, 87, 64, 47, 43, 32, 26, 7)
PROPERTIES, COMPARABLE = 8110, 1350
WAYS = ("in a row", "permuted")
CATEGORIES = ("crime", "morality", "health", "belief", "culture")


def catalogue(language: str) -> Catalogue:
    """A catalogue of the paper's size."""
    groups = [
        Group(
            f"g{a}-{n}",
            f"attribute-{a}",
            f"person of kind {n}",
            f"people of kind {n}",
            (),
            f"第{n}种人",
            (),
            False,
            False,
        )
        for a, size in enumerate(SIZES)
        for n in range(size)
    ]
    properties = [
        Property(
            f"p{n}",
            "are poor" if n < COMPARABLE else f"have been cheated out of a thing of sort {n}",
            (CATEGORIES[n % 5], CATEGORIES[(n + 1) % 5]),
            "negative",
            "",
            n < COMPARABLE,
            "很穷",
            "穷",
            False,
        )
        for n in range(PROPERTIES)
    ]
    return Catalogue(groups, properties, "zh" if language == "zh" else "en")


def peak() -> float:
    """The most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def numbers(made: Catalogue, way: str, first: int, batch: int) -> NDArray[np.int64]:
    """The numbers of a batch of questions."""
    places = np.arange(first, first + batch)
    return places if way == "in a row" else Permutation(made.total, 1).at(places)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=5_000_000)
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--language", choices=("en", "zh"), default="en")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    speeds: dict[str, float] = {}
    begun = time.process_time()
    made = catalogue(options.language)
    made.questions(numbers(made, "permuted", 0, options.batch))
    ready = time.process_time() - begun
    print(f"{made.total:,} questions, {made.tuples_total:,} tuples; ready in {ready:.2f} s")
    for way in WAYS:  # what stays in memory from batch to batch is there after some
        for number in range(10):
            made.questions(numbers(made, way, number * options.batch, options.batch))
    after_first = peak()
    for way in WAYS:
        begun, done = time.process_time(), 0
        while done < options.questions:
            done += len(made.questions(numbers(made, way, done, options.batch)))
        seconds = time.process_time() - begun
        speeds[way] = done / seconds
        print(f"{way}: {speeds[way]:,.0f} questions per CPU second")
    print(f"peak memory: {after_first:.0f} MB after ten batches of each way, {peak():.0f} MB at the end")
    if options.json:
        told = {"questions": 2 * options.questions, "speeds": speeds, "first": after_first, "end": peak()}
        print(json.dumps(told))


if __name__ == "__main__":
    main()
