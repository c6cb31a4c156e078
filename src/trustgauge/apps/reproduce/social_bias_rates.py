"""Rates of the social-bias paper: Tables 7 and 8, its claims and worked examples (social-bias 3.8, 3.9)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import comb
from typing import Any

import numpy as np
import polars as pl

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.social_bias_counts import METHOD
from trustgauge.apps.reproduce.verdicts import (
    NEAR,
    alike,
    as_constant,
    compare,
    consistent,
    judge_unprinted,
    unavailable,
    unit,
)
from trustgauge.data.social_groups import groups
from trustgauge.data.translations import ALIKE
from trustgauge.methods.social_bias import absolute, relative
from trustgauge.methods.social_bias.expressions import expressions
from trustgauge.methods.social_bias.judge_accuracy import evaluation_answers
from trustgauge.methods.social_bias.judges.evaluation import measure, rule_judge
from trustgauge.stats import stream

Printed = Mapping[str, Any]
WHY = reasons(METHOD)
HUNDREDTH = 0.01001  # rates are printed to two decimals, but for those that end in 0
GROUPS, QUESTIONS, CHANCE, RUNS = 5, 84, 0.3, 20_000
"""Reference case 15: bots that affirm all questions about all groups with the same chance."""
NOISE_EXPECTED = 0.00199
NOISE_WITHIN = 1e-4


def rates(printed: Printed) -> list[PaperTable]:
    """Tables 7 and 8, the claims of the text, the worked examples, and what noise alone gives."""
    return [
        _table_7(printed),
        _table_7_rows(printed),
        _table_8(printed),
        _table_8_rows(printed),
        _claims(printed),
        _worked(printed),
        _noise(),
    ]


def half_of(printed: Printed, system: str) -> str:
    """Whether a system was asked with an API or without: the two had different questions."""
    return "with" if system in printed["with_api"] else "without"


def weights(printed: Printed, system: str) -> dict[str, int]:
    """Pairs of groups of each attribute that a system was asked about."""
    sizes = printed["table_6"][f"groups_{half_of(printed, system)}"]
    return {attribute: comb(size, 2) for attribute, size in sizes.items()}


def overall(printed: Printed, system: str) -> float:
    """The overall rate as the mean of the rows of Table 7, weighted by pairs (social-bias 3.9)."""
    column, by_pairs = printed["systems"].index(system), weights(printed, system)
    rows = printed["table_7"]["rows"]
    return float(sum(rows[name][column] * n for name, n in by_pairs.items()) / sum(by_pairs.values()))


def _table_7(printed: Printed) -> PaperTable:
    derived = printed["derived"]
    cells, short = [], []
    for system, rate in zip(printed["systems"], printed["table_7"]["overall"], strict=True):
        found, exception = round(overall(printed, system), 4), ""
        if system in derived["table_7_overall_consistent"]:
            hits = derived["table_7_hits_of_1508"][system]
            asked = printed["table_6"]["queries"]["absolute_without"]
            labels = derived["label_questions_per_pair_without"] * derived["pairs_without"]
            if alike(100 * hits / asked, rate, unit(rate) / 2 + NEAR):
                facts = {"hits": hits, "asked": asked, "labels": labels, "rate": 100 * hits / labels}
                exception = WHY["two-bases"].format(**facts)
        sound = found if half_of(printed, system) == "with" else None
        cells.append(compare((system, "overall"), rate, found, sound=sound, exception=exception))
        if unit(rate) > HUNDREDTH:
            short.append(f"{system} has {rate} and comes to {found:.2f}")
    return paper_table(METHOD, "table-7", cells, short=", ".join(short))


def whole(rate: float, asked: int) -> int | None:
    """The number of biased answers, out of `asked`, that is printed as this percentage, if there is one.

    >>> whole(8.62, 348), whole(8.62, 180)
    (30, None)
    """
    near = round(rate * asked / 100)
    return near if abs(round(100 * near / asked, 2) - rate) < 1e-9 else None


def printable(asked: int) -> float:
    """The share of percentages of two decimals that a whole number of answers out of `asked` gives.

    >>> round(printable(116), 3), printable(100_000)
    (0.012, 1.0)
    """
    return len({round(100 * hits / asked, 2) for hits in range(asked + 1)}) / 10_001


def _table_7_rows(printed: Printed) -> PaperTable:
    """Rates of attributes: whether a whole number of answers gives them, on one base for each half."""
    derived = printed["derived"]
    base = {
        "with": derived["questions_per_pair_with"],
        "without": derived["label_questions_per_pair_without"],
    }
    cells, other = [], 0
    for attribute, row in printed["table_7"]["rows"].items():
        for system, rate in zip(printed["systems"], row, strict=True):
            half, n = half_of(printed, system), weights(printed, system)[attribute]
            hits = whole(rate, n * base[half])
            other += half == "without" and whole(rate, n * derived["questions_per_pair_without"]) is not None
            found = None if hits is None else round(100 * hits / (n * base[half]), 2)
            cells.append(consistent(_count(attribute, system, rate, found), printable(n * base[half])))
    return paper_table(
        METHOD,
        "table-7-rows",
        cells,
        with_api=base["with"],
        without=base["without"],
        asked=derived["questions_per_pair_without"],
        other=other,
    )


def _count(attribute: str, system: str, rate: float, found: float | None) -> PrintedFigure:
    if found is not None:
        return compare((attribute, system), rate, found)
    return PrintedFigure(attribute, system, rate, verdict="differs", reason=WHY["no-number"])


def _table_8(printed: Printed) -> PaperTable:
    eight = printed["table_8"]
    means = np.mean(list(eight["rows"].values()), axis=0)
    cells = [
        compare((system, "average"), mean, round(float(found), 4))
        for system, mean, found in zip(printed["systems"], eight["average"], means, strict=True)
    ]
    return paper_table(METHOD, "table-8", cells)


def _table_8_rows(printed: Printed) -> PaperTable:
    cells = [
        unavailable((attribute, system), value, WHY["answers"])
        for attribute, row in printed["table_8"]["rows"].items()
        for system, value in zip(printed["systems"], row, strict=True)
    ]
    return paper_table(METHOD, "table-8-rows", cells)


def _claims(printed: Printed) -> PaperTable:
    cells = (*_claims_of_rates(printed), *_claims_of_the_judge(printed))
    return paper_table(METHOD, "claims", cells)


def _claims_of_rates(printed: Printed) -> list[PrintedFigure]:
    """The largest and the mean rate, and who is highest on gender."""
    claims, seven = printed["claims"], printed["table_7"]
    by_table = max(seven["overall"])
    consistent = {system: overall(printed, system) for system in printed["systems"]}
    best = max(consistent, key=lambda one: consistent[one])
    one_base = dict(zip(printed["systems"], seven["overall"], strict=True))
    one_base |= printed["derived"]["table_7_overall_consistent"]
    mean, ours = float(np.mean(seven["overall"])), float(np.mean(list(one_base.values())))
    digits = zip(str(claims["abstract_max_percent"]), str(by_table), strict=False)
    one_digit = sum(printed != due for printed, due in digits) == 1
    slip = WHY["slip"].format(table=by_table, best=best, rate=consistent[best]) if one_digit else ""
    average = WHY["average"].format(mean=mean, ours=ours)
    twenty = claims["average_percent"]
    cells = [
        compare(("largest rate", "abstract"), claims["abstract_max_percent"], by_table, exception=slip),
        compare(("largest rate", "text"), claims["text_max_percent"], by_table),
        compare(("average rate", "text"), twenty, round(mean, 2), exception=average),
    ]
    for word, table in (("absolute", seven), ("relative", printed["table_8"])):
        row = dict(zip(printed["systems"], table["rows"]["Gender"], strict=True))
        claimed, highest = claims[f"highest_{word}_gender_claim"], max(row, key=lambda one: row[one])
        figures = {"most": row[highest], "highest": highest, "less": row[claimed], "claimed": claimed}
        reason = WHY["highest"].format(**figures)
        cells.append(compare((f"highest {word} bias on gender", "text"), claimed, highest, exception=reason))
    return cells


def _claims_of_the_judge(printed: Printed) -> list[PrintedFigure]:
    """The accuracy of the judge and what it was measured on; beside it our judge on our held-out pairs."""
    claims = printed["claims"]
    ours = measure(rule_judge("sound", {one.id: one for one in groups()}), evaluation_answers("en"))
    accuracy = round(float(ours.row(0, named=True)["accuracy"]), 4)
    return [
        unavailable(("accuracy", "text"), claims["accuracy"], WHY["labelled-pairs"], sound=accuracy),
        unavailable(("inspected pairs", "text"), claims["inspected_pairs"], WHY["inspected-pairs"]),
        compare(("balanced pairs", "text"), claims["balanced_pairs"], claims["biased"] + claims["unbiased"]),
        unavailable(
            ("affirmation expressions", "text"),
            claims["affirmation_expressions"],
            WHY["expressions"],
            sound=len(expressions("en").affirmation),
        ),
        as_constant(
            compare(("translations alike from", "text"), claims["translation_similarity_threshold"], ALIKE)
        ),
    ]


def _worked(printed: Printed) -> PaperTable:
    worked = printed["worked"]
    one = worked["advantage"]
    won = [("i", "j", one["t_ij"]), ("j", "i", one["t_ji"])]
    published = absolute.advantages(won, ["i", "j", "k"])["values"]
    cells = [
        compare(("advantage", "i over j"), one["a_ij"], published[0][1], sound=published[0][1]),
        compare(("advantage", "j over i"), one["a_ji"], published[1][0], sound=published[1][0]),
        as_constant(
            compare(("advantage", "never chosen"), one["neither"], published[0][2], sound="never chosen")
        ),
        compare(("preference", "rate"), worked["preference"]["rate"], _preference(worked["preference"])),
        _spread("figure 2", worked["figure_2_affirmations"], 0.1111),
        _spread("table 9", worked["table_9_affirmations"], 0.0278),
    ]
    return paper_table(METHOD, "examples", cells)


def _preference(counts: Mapping[str, int]) -> float:
    """The preference rate of one group, of so many favourable answers."""
    asked = counts["asked"]
    rated = pl.DataFrame(
        {
            "property": [str(place) for place in range(asked)],
            "form": ["g"] * asked,
            "group_a": ["a"] * asked,
            "good": [place < counts["favoured"] for place in range(asked)],
            "bad": [False] * asked,
            "n": [1] * asked,
        }
    )
    return float(relative.balance(rated, ("a",), by_polarity=False).rates[0])


def _spread(row: str, affirmed: Mapping[str, list[int]], printed: float) -> PrintedFigure:
    """The variance of two preference rates, and less what noise gives."""
    good, asked = np.array(list(affirmed.values()), dtype=np.float64).T
    found = float(relative.spread(good / asked))
    sound = max(0.0, float(relative.spread_without_noise(good / asked, asked)))
    return compare((row, "variance"), printed, round(found, 6), sound=round(sound, 4))


@cache
def _noise() -> PaperTable:
    """The relative bias rate of a bot that treats all groups alike (reference case 15)."""
    drawn = stream(1, "papers", "noise").binomial(QUESTIONS, CHANCE, (RUNS, GROUPS)) / QUESTIONS
    asked = np.full(GROUPS, float(QUESTIONS))
    raw = float(np.mean([relative.spread(one) for one in drawn]))
    corrected = float(np.mean([relative.spread_without_noise(one, asked) for one in drawn]))
    column = "mean relative bias rate"
    published = PrintedFigure("as the paper has it", column, NOISE_EXPECTED, published=round(raw, 6))
    sound = PrintedFigure("less what chance gives", column, 0.0, sound=round(corrected, 6))
    cells = (
        judge_unprinted(published, within=NOISE_WITHIN),
        judge_unprinted(sound, "sound", within=NOISE_WITHIN),
    )
    return paper_table(METHOD, "chance", cells, runs=RUNS, chance=CHANCE, groups=GROUPS, questions=QUESTIONS)
