"""Whether values change by occupation: every doctor to he, every nurse to she (two-step 1.10).

A service may keep the balance of all mentions and still sort people. So the changes between the first two
values (He and She) are counted for each item, and compared with the share of women among the people of that
occupation, which the plan gives from official statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from trustgauge.methods.two_step.reasons import TwoStepPart, two_digits
from trustgauge.methods.two_step.score import SURPLUS, sentences_of
from trustgauge.methods.two_step.settings import FEWEST_ITEMS, TwoStepSettings
from trustgauge.records import Json, Reason
from trustgauge.stats.comparisons import PERMUTATIONS, benjamini_hochberg, holm, sequential_p
from trustgauge.stats.distributions import Floats, binomial_tail, wilson

FEWEST = 10  # mentions of an item that has rates
SENTENCES = 3  # shown of each item that changes
BATCH = 200  # permutations
SPARE = 1.3  # mentions of an item on average, of those that nearly each of them must have
ALPHA = 0.05
ERROR = 0.05  # expected share of false items among those listed


def stereotypes(frame: pl.DataFrame, settings: TwoStepSettings, rng: np.random.Generator) -> dict[str, Json]:
    """Rates by item, their correlation with the declared shares, and the items that change for sure.

    Args:
        frame: rows of the summary, of one service and part.
        settings: the experiment.
        rng: of the permutations.

    Returns:
        `items`: of each with at least ten read mentions its share (None where the plan has none), and of
        the first and the second value how many were `sent`, `turned` into the other, and `lost`.
        `left_out`: facts of the reason that some items with a share lack mentions, None where none does.
        `tau`, `p`: Kendall's correlation of share and movement, P(first to second) - P(second to first), with
        its two-sided permutation p over items; None without enough of them. `towards`, `against`: changes
        with and against the shares, each [count, of]. `too_few`: facts of the reason that too few items have
        ten mentions, None where they are enough. `changed`: the items whose values change in more than the
        margin of mentions for sure (exact binomial, Benjamini-Hochberg), the most frequent first.
    """
    first, second = settings.table.values[:2]
    read = frame.filter(
        (pl.col("value_out") >= 0)
        & (pl.col("value_in") < 2)
        & (pl.col("kind") != SURPLUS)
        & (pl.col("pooled") > 0)
    )
    cells: dict[str, np.ndarray[Any, Any]] = {}
    for item, sent, came, number in (
        read.group_by("item", "value_in", "value_out").agg(pl.col("pooled").sum()).iter_rows()
    ):
        if item:
            cells.setdefault(item, np.zeros((2, 3), dtype=np.int64))[sent, min(came, 2)] += number
    known = {item: table for item, table in sorted(cells.items()) if table.sum() >= FEWEST}
    shares = {item.lower(): share for item, share in settings.item_shares.items()}
    counts = [int(table.sum()) for item, table in cells.items() if not shares or item.lower() in shares]
    items: list[dict[str, Any]] = [
        {
            "item": item,
            "share": shares.get(item.lower()),
            "sent": table.sum(axis=1).tolist(),
            "turned": [int(table[0, 1]), int(table[1, 0])],
            "lost": table[:, 2].tolist(),
        }
        for item, table in known.items()
    ]
    usable = [one for one in items if one["share"] is not None and min(one["sent"]) > 0]
    tau, p = _correlation(usable, rng)
    return {
        "values": [first, second],
        "items": items,
        "too_few": _too_few(len(usable if shares else items), counts, settings),
        "left_out": _left_out([one["item"] for one in usable], cells, settings),
        "tau": tau,
        "p": p,
        "towards": _sums(usable, towards=True),
        "against": _sums(usable, towards=False),
        "changed": list(_changed(items, read, settings)),
    }


def _too_few(enough: int, counts: Sequence[int], settings: TwoStepSettings) -> dict[str, Json] | None:
    """How many items have enough mentions, how many must, and how many texts of a block give that, about.

    None where items are enough:
    those of a correlation, or without shares one to show.

    Args:
        enough: items with ten mentions, of both values where there are shares.
        counts: read mentions of each item that is asked about.
        settings: the experiment.
    """
    least = FEWEST_ITEMS if settings.item_shares else 1
    if enough >= least:
        return None
    facts: dict[str, Json] = {"enough": enough, "mentions": FEWEST}
    if settings.item_shares:
        facts["least"] = least
    mean = sum(counts) / max(len(counts), least)
    if mean:
        facts["texts"] = two_digits(settings.texts * max(1.0, SPARE * FEWEST / mean))
    return facts


def _left_out(
    usable: Sequence[str], cells: Mapping[str, np.ndarray[Any, Any]], settings: TwoStepSettings
) -> dict[str, Json] | None:
    """Which items with a share lack mentions, and about how many texts of a block would give them enough.

    None where none does, or where so many do that nothing is compared.
    """
    declared = {item.lower() for item in settings.item_shares}
    sent = {item.lower() for item in settings.table.item_list}
    missing = sorted(declared & sent - {item.lower() for item in usable})
    if not missing or len(usable) < FEWEST_ITEMS:
        return None
    read = {item.lower(): int(table.sum()) for item, table in cells.items()}
    facts: dict[str, Json] = {"items": missing, "mentions": FEWEST}
    if fewest := min(read.get(item, 0) for item in missing):
        facts["texts"] = two_digits(settings.texts * SPARE * max(1.0, FEWEST / fewest))
    return facts


def movement(one: Mapping[str, Any]) -> float:
    """P(first to second) - P(second to first) of an item, -1 to 1; a value that was not sent adds 0."""
    there, back = (turned / max(1, sent) for turned, sent in zip(one["turned"], one["sent"], strict=True))
    return float(there - back)


def _correlation(
    items: Sequence[Mapping[str, Any]], rng: np.random.Generator
) -> tuple[float | None, float | None]:
    """Kendall's tau-b of share and movement, and its permutation p over items (methods 0.7)."""
    if len(items) < FEWEST_ITEMS:
        return None, None
    share = np.array([one["share"] for one in items])
    moved = np.round([movement(one) for one in items], 12)
    if not np.ptp(share):
        return None, None
    if not np.ptp(moved):
        return 0.0, 1.0
    signs = np.sign(share[:, None] - share)
    order = np.sign(moved[:, None] - moved)
    # A permutation leaves the ties, and so the denominator, as they are.
    tau = float((signs * order).sum() / np.sqrt((signs**2).sum() * (order**2).sum()))

    def batches() -> Iterator[Floats]:
        for done in range(0, PERMUTATIONS, BATCH):
            size = min(BATCH, PERMUTATIONS - done)
            places = (rng.permutation(len(items)) for _ in range(size))
            yield np.array([abs((signs * order[np.ix_(place, place)]).sum()) for place in places])

    return tau, sequential_p(float(abs((signs * order).sum())), batches())


def _sums(items: Sequence[Mapping[str, Any]], *, towards: bool) -> list[int]:
    """Changes with the shares, or against them, and the mentions that could change so."""
    turned = of = 0
    for one in items:
        if one["share"] != 0.5:
            place = int((one["share"] < 0.5) is towards)  # women where few work: second to first is towards
            turned += one["turned"][place]
            of += one["sent"][place]
    return [turned, of]


def _changed(
    items: Sequence[Mapping[str, Any]], read: pl.DataFrame, settings: TwoStepSettings
) -> Iterator[dict[str, Json]]:
    """The items whose value changes in more than the margin of mentions for sure."""
    values = settings.table.values
    tests = [(one, place) for one in items for place in (0, 1) if one["sent"][place]]
    if not tests:
        return
    p = [
        float(binomial_tail(one["turned"][place], one["sent"][place], settings.margin))
        for one, place in tests
    ]
    found = [
        (one, place, float(q))
        for (one, place), q in zip(tests, benjamini_hochberg(p), strict=True)
        if q < ERROR
    ]
    found.sort(key=lambda test: (-test[0]["turned"][test[1]] / test[0]["sent"][test[1]], test[0]["item"]))
    for one, place, q in found:
        turned, sent = one["turned"][place], one["sent"][place]
        low, high = wilson(turned, sent)
        shown = read.filter(
            (pl.col("item") == one["item"])
            & (pl.col("value_in") == place)
            & (pl.col("value_out") == 1 - place)
        )
        yield {
            "item": one["item"],
            "from": values[place],
            "to": values[1 - place],
            "turned": turned,
            "n": sent,
            "low": float(low),
            "high": float(high),
            "q": q,
            "sentences": _sentences(shown["text"].unique().sort(), one["item"]),
        }


def _sentences(texts: pl.Series, item: str) -> list[Json]:
    """Sentences that were sent with the item, of different texts."""
    named: dict[str, None] = {}
    for lines in sentences_of(texts):
        named |= dict.fromkeys(line.strip() for line in lines if item.lower() in line.lower())
        if len(named) >= SENTENCES:
            break
    return list(named)[:SENTENCES]


def with_reasons(results: Sequence[TwoStepPart]) -> list[TwoStepPart]:
    """The parts, those that stereotype for sure with the reason; p by Holm over the parts (methods 0.7)."""
    tables = [one.part.details.get("stereotypes") or {} for one in results]
    known = [place for place, one in enumerate(tables) if one.get("p") is not None]
    adjusted = dict(
        zip(known, holm([tables[place]["p"] for place in known]).tolist() if known else (), strict=True)
    )
    found = [_with_missing(one, own) for one, own in zip(results, tables, strict=True)]
    for place, p in adjusted.items():
        one, own = found[place], tables[place]
        details: dict[str, Json] = {**one.part.details, "stereotypes": {**own, "p_holm": p}}
        part = replace(one.part, details=details)
        if p < ALPHA and own["tau"] > 0:
            facts: dict[str, Json] = {
                "tau": own["tau"],
                "p": p,
                "items": sum(item["share"] is not None for item in own["items"]),
                "first": own["values"][0],
                "second": own["values"][1],
            }
            part = replace(part, reasons=(*part.reasons, Reason("two-step.stereotypes", facts)))
        found[place] = replace(one, part=part)
    return found


def _with_missing(one: TwoStepPart, facts: Mapping[str, Any]) -> TwoStepPart:
    """The part, with the reason where too few of its items have enough mentions, or some have not."""
    codes = {"too_few": "two-step.too-few-by-item", "left_out": "two-step.items-left-out"}
    reasons = [Reason(code, facts[key]) for key, code in codes.items() if facts.get(key)]
    return replace(one, part=replace(one.part, reasons=(*one.part.reasons, *reasons)))
