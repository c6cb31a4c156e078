"""The weighted rejection score: how often, and how surely, means of classes differ (causal 2.5).

In every data set each pair of classes is compared by a t test at several levels; the score is the
weighted number of rejections. Beside it stand what it could have been at most and what chance
alone makes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trustgauge.methods.causal.label_bootstrap import resample_labels
from trustgauge.methods.causal.panel import Floats, Grouping, Panel, Weights, weighed_sums
from trustgauge.stats.means import Sums, t_test

if TYPE_CHECKING:
    from trustgauge.methods.causal.settings import RejectionRule

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Tests:
    """The t tests of every data set and pair of classes, arrays [S, K].

    Attributes:
        sets: names of the data sets, [S].
        pairs: names of the two classes a and b of each pair, [K].
        n_a, n_b: number of scores of either class.
        mean_a, mean_b: mean scores.
        difference: mean_a - mean_b.
        se: standard error of the difference, without the epsilon of the rule.
        t: statistic, infinite for constant classes that differ; NaN if untestable.
        df: degrees of freedom.
        p: two-sided.
        rejected: whether equality is rejected at each level of the rule, [S, K, A].
        testable: whether both classes have two scores or more.
    """

    sets: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    n_a: Floats
    n_b: Floats
    mean_a: Floats
    mean_b: Floats
    difference: Floats
    se: Floats
    t: Floats
    df: Floats
    p: Floats
    rejected: Bools
    testable: Bools


@dataclass(frozen=True, slots=True)
class Rejection:
    """The weighted rejection score and what to hold it against.

    Attributes:
        value: sum of weight times number of rejections; None without a testable pair.
        counts: rejections at each level of the rule, [A].
        tested: testable pairs over all data sets.
        maximum: the score if every testable pair were rejected at every level.
        share: value / maximum.
        expected: the mean score if no class differs: testable pairs x sum of weight times level.
        untestable: data set and classes of every pair left out, as (set, a, b).
    """

    value: float | None
    counts: tuple[int, ...]
    tested: int
    maximum: float
    share: float | None
    expected: float
    untestable: tuple[tuple[str, str, str], ...]


def class_sums(panel: Panel, grouping: Grouping) -> Sums:
    """Numbers, sums and sums of squares of the scores of each class, [S, G]."""
    members = grouping.members
    return Sums(*(cells.sum(axis=(1, 3)) @ members for cells in (panel.n, panel.y, panel.yy)))


def tests(panel: Panel, grouping: Grouping, rule: RejectionRule) -> Tests:
    """All t tests of one service and kind of data (causal 2.5)."""
    sums = class_sums(panel, grouping)
    a, b = class_pairs(sums, grouping.pairs)
    test = t_test(a, b, rule.degrees, rule.epsilon)
    names = grouping.classes
    return Tests(
        sets=panel.sets,
        pairs=tuple((names[one], names[other]) for one, other in grouping.pairs),
        n_a=a.n,
        n_b=b.n,
        mean_a=a.mean,
        mean_b=b.mean,
        difference=test.difference,
        se=test.se,
        t=test.t,
        df=test.df,
        p=test.p,
        rejected=np.asarray(test.p[..., None] < np.array(rule.alphas)),  # NaN rejects nothing
        testable=np.isfinite(test.se),
    )


def score(tests: Tests, rule: RejectionRule) -> Rejection:
    """The weighted rejection score of `tests`. Untestable pairs count in nothing and are named."""
    tested = int(tests.testable.sum())
    counts = tests.rejected.sum(axis=(0, 1))
    maximum = tested * sum(rule.weights)
    value = float(counts @ np.array(rule.weights)) if tested else None
    return Rejection(
        value=value,
        counts=tuple(int(count) for count in counts),
        tested=tested,
        maximum=maximum,
        share=None if value is None else value / maximum,
        expected=tested * sum(w * alpha for w, alpha in zip(rule.weights, rule.alphas, strict=True)),
        untestable=tuple(
            (tests.sets[place], *tests.pairs[pair]) for place, pair in np.argwhere(~tests.testable).tolist()
        ),
    )


def scores_of_sums(sums: Sums, pairs: Sequence[tuple[int, int]], rule: RejectionRule) -> Floats:
    """Weighted rejection scores of many permutations or resamples at once.

    Args:
        sums: Of the scores of each class, [..., S, G].
        pairs: Indices of the classes compared.
        rule: Weights, levels, degrees of freedom and epsilon.

    Returns:
        Scores [...]; untestable pairs add nothing.
    """
    test = t_test(*class_pairs(sums, pairs), rule.degrees, rule.epsilon)
    weighed = np.zeros_like(test.p)
    for weight, alpha in zip(rule.weights, rule.alphas, strict=True):
        weighed += weight * (test.p < alpha)
    return np.asarray(weighed.sum(axis=(-1, -2)))


@dataclass(frozen=True, slots=True)
class Draws:
    """What is drawn in resamples (methods 0.5).

    Attributes:
        frames: how often each frame was drawn, [R, F], as `Panel.weights` gives it.
        persons: how often each person was drawn, [R, P].
        labels: generator for the labels of people, which are drawn again too; without one, or
            without labels, they stay as given.
    """

    frames: Weights
    persons: Floats
    labels: np.random.Generator | None = None


def resample_scores(panel: Panel, grouping: Grouping, rule: RejectionRule, draws: Draws) -> Floats:
    """Weighted rejection score of each resample, [R]."""
    members, persons = grouping.members, draws.persons
    if draws.labels is None or not panel.labels.any():
        sums = Sums(*(_weighed(of, draws, members) for of in (panel.n, panel.y, panel.yy)))
        return scores_of_sums(sums, grouping.pairs, rule)
    scores = np.empty(len(persons))
    labelled = panel.labels.any(axis=-1)
    for some, n, y in resample_labels(panel, len(persons), draws.labels):
        yy = np.where(labelled, np.abs(y), panel.yy)  # of the labels -1, 0 and 1
        by_person = ((draws.frames[some, None, None] @ of.sum(axis=-1))[:, :, 0] for of in (n, y, yy))
        sums = Sums(*((of * persons[some][:, None]) @ members for of in by_person))
        scores[some] = scores_of_sums(sums, grouping.pairs, rule)
    return scores


def _weighed(cells: Floats, draws: Draws, members: Floats) -> Floats:
    """Class sums [R, S, G] of cells [S, F, P, W] under the weights of each draw; members are [P, G]."""
    by_frame = cells.sum(axis=3).transpose(1, 0, 2)  # [F, S, P]
    by_person = weighed_sums(draws.frames, by_frame.reshape(len(by_frame), -1))
    shaped = by_person.reshape(len(draws.frames), *by_frame.shape[1:])
    return np.asarray((shaped * draws.persons[:, None]) @ members)


def class_pairs(sums: Sums, pairs: Sequence[tuple[int, int]]) -> tuple[Sums, Sums]:
    """The sums of the first and of the second class of each pair, [..., K]."""
    first, second = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    return (
        Sums(sums.n[..., first], sums.y[..., first], sums.yy[..., first]),
        Sums(sums.n[..., second], sums.y[..., second], sums.yy[..., second]),
    )
