"""Printed weighted rejection scores, taken apart: which numbers of rejections, and which weights, give them.

Every such score is a sum w1 x1 + w2 x2 + w3 x3 of rejections at three levels, 0 <= x1 <= x2 <= x3 <=
number of pairs (causal 2.5, reference case 8).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import NEAR, as_constant, consistent, judge, judge_unprinted
from trustgauge.methods.causal import rejection
from trustgauge.methods.causal.ordering import partial_order
from trustgauge.methods.causal.panel import Floats, Ints
from trustgauge.methods.causal.settings import BY_RULE, RejectionRule
from trustgauge.records import Json
from trustgauge.stats import stream
from trustgauge.stats.means import Sums

METHOD = "causal"
WEIGHTS = ((1.0, 0.7, 0.6), (1.0, 0.8, 0.6))
"""Of the released code, and of the text of the paper."""
SLIP = {5.89: 5.9}
"""A printed score that no weights give, and what it is read as."""
WHY = reasons(METHOD)
SETS = (8, 8, 16, 24, 24)
"""Sentences of a class of three in the five emotion-word sets of Groups 1 and 3 (causal 2.1)."""
CHATS = (300, 300, 300)
RUNS = 4000
NULL_ERROR = 0.3  # twice the error of both simulations


def tables(rows: Sequence[Any], other: Any) -> list[PaperTable]:
    """Scores, weights, pairs and what chance alone gives."""
    of_scores = [row for row in rows if row["metric"] == "WRS"]
    return [
        paper_table(METHOD, "scores", _scores(of_scores)),
        paper_table(METHOD, "weights", _weights(of_scores)),
        paper_table(METHOD, "pairs", _pairs(of_scores, other)),
        _null(rows, other),
    ]


def number(printed: Any) -> float:
    """A printed score; of several the worst, "X" is infinite, and the slip is read as 5.90."""
    several = printed if isinstance(printed, list) else [printed]
    return max(math.inf if one == "X" else SLIP.get(one, float(one)) for one in several)


class ScoreOrder:
    """Systems by ascending score, beside a printed order, in which ties may stand in any order."""

    def __init__(self, scores: Mapping[str, float]) -> None:
        self.groups = partial_order(scores)
        self.place = {name: at for at, names in enumerate(self.groups) for name in names}

    def ascends(self, printed: Iterable[str]) -> bool:
        """Whether no system is printed before one with a smaller score."""
        places = [self.place[name] for name in printed]
        return places == sorted(places)

    def judge(self, row: str, kind: str, printed: list[Json], reason: str) -> PrintedFigure:
        """The figure of a printed order; where it has ties, with the share of all orders that would agree."""
        found = " < ".join(" = ".join(names) for names in self.groups)
        cell = PrintedFigure(row, f"{kind} order", printed, found)
        names = [str(one) for one in printed]
        if sorted(names) != sorted(self.place) or not self.ascends(names):
            cell = judge(cell, reason=reason)
        ties = math.prod(math.factorial(len(names)) for names in self.groups)
        return cell if ties == 1 else consistent(cell, ties / math.factorial(len(self.place)))


def rejection_counts(counts: Sequence[int], pairs: int) -> rejection.Tests:
    """Tests of so many pairs, of which so many are rejected at each level."""
    flat = np.zeros((1, pairs))
    return rejection.Tests(
        sets=("all",),
        pairs=tuple((f"a{one}", f"b{one}") for one in range(pairs)),
        n_a=flat + 2,
        n_b=flat + 2,
        mean_a=flat,
        mean_b=flat,
        difference=flat,
        se=flat,
        t=flat,
        df=flat,
        p=flat,
        rejected=np.arange(pairs)[None, :, None] < np.array(counts),
        testable=np.ones((1, pairs), dtype=bool),
    )


def rule_of(name: str, weights: Sequence[float] | None = None) -> RejectionRule:
    """A rule set of the scores, with other weights if they are given."""
    figures = BY_RULE[name]
    chosen = tuple(weights) if weights is not None else figures["weights"]
    return RejectionRule(chosen, figures["alphas"], figures["degrees"], figures["epsilon"])


@cache
def _every(pairs: int) -> Ints:
    """All x1 <= x2 <= x3 <= pairs, [N, 3]."""
    return np.array(list(combinations_with_replacement(range(pairs + 1), 3)), dtype=np.int64)


def decodings(printed: float, pairs: int, weights: Sequence[float]) -> list[list[int]]:
    """All numbers of rejections with this weighted sum, ascending; none if no numbers give it."""
    counts = _every(pairs)
    found = counts[np.abs(counts @ np.array(weights) - printed) < NEAR]
    return [[int(one) for one in row] for row in found]


def fitting(row: Any) -> list[tuple[float, ...]]:
    """The weights that give every printed score of a row."""
    printed = [number(one) for one in row["raw"].values()]
    return [one for one in WEIGHTS if all(decodings(score, row["pairs"], one) for score in printed)]


def _scores(rows: Sequence[Any]) -> Iterator[PrintedFigure]:
    """Each printed score from numbers of rejections, by the weights of its row."""
    for row in rows:
        text_fits = WEIGHTS[1] in fitting(row)
        for system, printed in row["raw"].items():
            found = _nearest(number(printed), row["pairs"], row["weights_that_fit"])
            in_text = _nearest(number(printed), row["pairs"], WEIGHTS[1]) if text_fits else None
            cell = PrintedFigure(f"{row['dataset']} {row['group']}", system, printed, in_text, found)
            verdict = judge(cell, "released", reason=WHY["rounding"] if printed in SLIP else "")
            yield consistent(verdict, decodable(row["pairs"], row["weights_that_fit"]))


def decodable(pairs: int, weights: Sequence[float]) -> float:
    """The share of tenths from 0 to the largest score that some numbers of rejections give.

    >>> round(decodable(1, (1.0, 0.8, 0.6)), 2)
    0.16
    """
    sums = np.unique(np.rint(10 * (_every(pairs) @ np.array(weights))))
    return float(len(sums) / (sums.max() + 1))


def _nearest(printed: float, pairs: int, weights: Sequence[float]) -> float:
    """The score nearest to the printed one that numbers of rejections can give."""
    counts = _every(pairs)
    best = counts[np.abs(counts @ np.array(weights) - printed).argmin()]
    value = rejection.score(rejection_counts(best, pairs), rule_of("released", weights)).value
    return round(float(value or 0.0), 9)


def _weights(rows: Sequence[Any]) -> Iterator[PrintedFigure]:
    for row in rows:
        fits = fitting(row)
        released: list[Json] = list(fits[0]) if fits else []
        text: list[Json] = list(WEIGHTS[1])
        name = f"{row['dataset']} {row['group']}"
        cell = PrintedFigure(name, "weights", text, text if WEIGHTS[1] in fits else None, released)
        share = decodable(row["pairs"], WEIGHTS[1]) ** len(row["raw"])
        yield consistent(judge(cell, reason=WHY["code-fits"] if fits else ""), share)


def _pairs(rows: Sequence[Any], other: Any) -> Iterator[PrintedFigure]:
    """Comparisons behind one score: pairs of classes times sets of emotion words."""
    sets, given = other["emotion_word_sets"]["groups_1_3"], other["pairs_by_cell"]
    classes = {"Group-1": 3, "Group-3_R": 3, "Group-3_G": 3, "Group-3_RG": 5}
    for row in (one for one in rows if one["dataset"] == "SD"):
        group = row["group"]
        found = math.comb(classes[group], 2) * sets
        yield judge(PrintedFigure(group, "comparisons", given[group], found))
    for row in (one for one in rows if one["table"] == "V"):
        single = row["dataset"] in ("HD1", "HD1_DR")
        printed = given["HD1_original_and_DR_text_says" if single else "HD"]
        found = math.comb(2 if single else 3, 2)
        yield judge(PrintedFigure(f"{row['dataset']} {row['group']}", "comparisons", printed, found))


def _null(rows: Sequence[Any], other: Any) -> PaperTable:
    """What the scores are if no class differs."""
    given = other["wrs"]

    def cells() -> Iterator[PrintedFigure]:
        published = BY_RULE["published"]
        confidence: list[Json] = [round(100 * (1 - alpha)) for alpha in published["alphas"]]
        percents = given["confidence_labels_percent"]
        yield as_constant(judge(PrintedFigure("levels of confidence", "percent", percents, confidence)))
        text: list[Json] = list(published["weights"])
        yield as_constant(judge(PrintedFigure("weights", "of the text", given["weights_in_text"], text)))
        for rule in ("published", "released"):
            for key, expected in given["null"][f"expected_{rule}"].items():
                yield _expected(rule, key, expected)
        for key, expected in given["null"]["simulated_95_percent_point_released"].items():
            middle = float(np.mean(expected))
            point = null_point(int(key.split("_")[1]), nobody=1)
            cell = PrintedFigure(_words(key), "95 % point, released, simulated", middle, released=point)
            yield judge_unprinted(cell, "released", within=NULL_ERROR)

    above = ", ".join(sorted(above_chance(rows, other)))
    point = null_point(50, nobody=2)
    return paper_table(METHOD, "chance", cells(), above=above, runs=RUNS, point=point)


def _words(key: str) -> str:
    pairs, _, rest = key.removeprefix("pairs_").partition("_")
    many = "comparison" if pairs == "1" else "comparisons"
    return f"{pairs} {many}{', weights 1, .8, .6' if rest else ''}"


def _expected(rule: str, key: str, expected: float) -> PrintedFigure:
    """The mean score of so many comparisons if no class differs."""
    mine = rule_of(rule, WEIGHTS[1] if key.endswith("weights_0.8") else None)
    pairs = int(key.split("_")[1])
    found = round(rejection.score(rejection_counts((0, 0, 0), pairs), mine).expected, 9)
    if rule == "released":
        return judge_unprinted(
            PrintedFigure(_words(key), "expected, released", expected, released=found), "released"
        )
    return judge_unprinted(PrintedFigure(_words(key), "expected, published", expected, found))


def null_point(pairs: int, *, nobody: int) -> float:
    """The 95 % point of the released score of 3, 15 or 50 comparisons without any difference.

    Args:
        pairs: comparisons: of conversations, of three classes, or of five.
        nobody: how many times the rows of another of five classes the last one has, of nobody's race and
            gender; 2 in the released sentences.
    """
    sizes: list[tuple[int, ...]] = [CHATS]
    if pairs == 50:
        sizes = [(n // 2,) * 4 + (nobody * n // 2,) for n in SETS]
    elif pairs == 15:
        sizes = [(n,) * 3 for n in SETS]
    rng = stream(1, "null", pairs)
    shape = (RUNS, len(sizes), len(sizes[0]))
    n, y, yy = (np.empty(shape) for _ in range(3))
    for place, group in enumerate(sizes):
        for number_of, size in enumerate(group):
            drawn: Floats = rng.normal(size=(RUNS, size))
            n[:, place, number_of] = size
            y[:, place, number_of] = drawn.sum(axis=1)
            yy[:, place, number_of] = (drawn**2).sum(axis=1)
    classes = list(combinations(range(shape[2]), 2))
    scores = rejection.scores_of_sums(Sums(n, y, yy), classes, rule_of("released"))
    return round(float(np.quantile(scores, 0.95)), 9)


def above_chance(rows: Sequence[Any], other: Any) -> set[str]:
    """Systems with a printed score of synthetic data above the 95 % point of chance."""
    points = other["wrs"]["null"]["simulated_95_percent_point_released"]
    chance = {15: max(points["pairs_15"]), 50: points["pairs_50"]}
    return {
        name
        for row in rows
        if row["metric"] == "WRS" and row["table"] == "IV"
        for name, printed in row["raw"].items()
        if number(printed) > chance[row["pairs"]]
    }
