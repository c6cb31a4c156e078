"""Which parts a level hangs on: those that may change it, whatever the others turn out to be."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from trustgauge.rating import HowToAggregate, aggregate_levels

MOST_WAYS = 10_000
"""Ways in which the other parts may turn out that are tried; where there are more, every part may matter."""


def pivotal_parts(possible: Sequence[Collection[int]], how: HowToAggregate) -> list[bool]:
    """Of each part whether its level may change that of the whole, for some levels of the others.

    Args:
        possible: the levels that each part may have, as places on the scale; one where it is settled.
        how: the parts become one level.

    >>> pivotal_parts([{1, 2}, {0, 1}, {0}], "worst")
    [True, False, False]
    """
    return [
        _is_pivotal(sorted(levels), [*possible[:place], *possible[place + 1 :]], how)
        for place, levels in enumerate(possible)
    ]


def _is_pivotal(own: Sequence[int], others: Sequence[Collection[int]], how: HowToAggregate) -> bool:
    if len(own) < 2:
        return False
    ways: set[tuple[int, ...]] = {()}
    for levels in others:  # no way to make a level of several looks at their order
        ways = {tuple(sorted((*way, level))) for way in ways for level in levels}
        if len(ways) > MOST_WAYS:
            return True
    rows = np.array([[*way, level] for way in sorted(ways) for level in own], dtype=np.int64)
    outcomes = aggregate_levels(rows, how).reshape(len(ways), len(own))
    return bool((outcomes != outcomes[:, :1]).any())
