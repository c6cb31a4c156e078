"""Users whose orders are alike (trust 4.3): Kendall distance, average linkage, two to six groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trustgauge.errors import MethodError
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats, Ints
from trustgauge.methods.trust.voting import rank_matrix

MOST_GROUPS = 6
PLAIN = 0.25  # a mean silhouette below which there are no groups
FEWEST = 5  # people of a group


@dataclass(frozen=True, slots=True)
class Groups:
    """People grouped by how alike their orders are.

    Attributes:
        members: places of people in the ballots, group by group, the largest first.
        silhouette: mean over people of the split that was taken, before small groups were merged; None
            if there was nothing to split.
        tried: mean silhouette by number of groups.
        merged: how many groups were too small to stand alone.
    """

    members: tuple[tuple[int, ...], ...]
    silhouette: float | None
    tried: dict[int, float]
    merged: int


def distances(ranks: Floats) -> Floats:
    """Kendall distance of every two rows of ranks, [n, n] in [0, 1].

    Pairs of issues that two people put in opposite order count 1, pairs that one of them ties 1/2, over
    all m(m - 1)/2 pairs; without a pair every distance is 0.
    """
    m = ranks.shape[1]
    one, other = np.triu_indices(m, 1)
    if not len(one):
        return np.zeros((len(ranks), len(ranks)))
    signs = np.sign(ranks[:, one] - ranks[:, other])
    return np.stack([np.abs(signs - row).sum(axis=1) for row in signs]) / (2 * len(one))


def silhouette_groups(ballots: Sequence[IssueOrder], issues: Sequence[str]) -> Groups:
    """Two to six groups by the best mean silhouette; one if it is below .25.

    People with the same order are always together. A group of fewer than five people is merged into the
    nearest other one, the smallest first. The result does not depend on how people are arranged.

    Args:
        ballots: the order of each person.
        issues: all that could be listed; unlisted ones share the last place.

    Raises:
        MethodError: there are no ballots, or one lists another issue.
    """
    if not ballots:
        raise MethodError("nobody to group", must="at least one ballot")
    kinds = sorted(set(ballots), key=lambda one: one.places)
    at = {one: place for place, one in enumerate(kinds)}
    belongs = np.array([at[one] for one in ballots])
    sizes = np.bincount(belongs, minlength=len(kinds))
    apart = distances(rank_matrix(kinds, sorted(set(issues))))
    found = splits(apart, sizes)
    tried = {groups: silhouette(apart, sizes, labels) for groups, labels in found.items() if groups > 1}
    best = max(tried, key=lambda groups: (tried[groups], -groups), default=1)
    if not tried or tried[best] < PLAIN:
        best = 1
    labels, merged = _merged(apart, sizes, found[best])
    members = [tuple(np.flatnonzero(labels[belongs] == label).tolist()) for label in np.unique(labels)]
    members.sort(key=lambda group: (-len(group), kinds[belongs[group[0]]].places))
    return Groups(tuple(members), tried.get(best), tried, merged)


def splits(apart: Floats, sizes: Ints) -> dict[int, Ints]:
    """Labels of the kinds for one to six groups, by average linkage over people."""
    labels = np.arange(len(sizes))
    between = apart.astype(np.float64)
    np.fill_diagonal(between, np.inf)
    weight = sizes.astype(np.float64)
    found = {len(sizes): labels.copy()} if len(sizes) <= MOST_GROUPS else {}
    for groups in range(len(sizes) - 1, 0, -1):
        one, other = (int(place) for place in np.unravel_index(between.argmin(), between.shape))
        # The distance of a union is the mean over all pairs of people across (Lance and Williams).
        joined = (weight[one] * between[one] + weight[other] * between[other]) / (weight[one] + weight[other])
        between[one], between[:, one] = joined, joined
        between[other], between[:, other] = np.inf, np.inf
        between[one, one] = np.inf
        weight[one] += weight[other]
        labels[labels == other] = one
        if groups <= MOST_GROUPS:
            found[groups] = labels.copy()
    return found


def silhouette(apart: Floats, sizes: Ints, labels: Ints) -> float:
    """Mean silhouette over people, of whom `sizes` share each kind; a person alone in a group has 0.

    Args:
        apart: distances of kinds, [K, K].
        sizes: people of each kind, [K].
        labels: group of each kind, [K]; at least two groups.
    """
    names = np.unique(labels)
    counts = np.stack([np.where(labels == name, sizes, 0) for name in names])  # [G, K]
    people = counts.sum(axis=1)
    total = apart @ counts.T  # [K, G]: summed distance to the people of each group
    own = np.searchsorted(names, labels)
    rows = np.arange(len(sizes))
    others = people[own] - 1
    inside = np.divide(total[rows, own], others, out=np.zeros(len(sizes)), where=others > 0)
    means = total / people
    means[rows, own] = np.inf
    outside = means.min(axis=1)
    longest = np.maximum(inside, outside)
    value = np.divide(outside - inside, longest, out=np.zeros(len(sizes)), where=(longest > 0) & (others > 0))
    return float((value * sizes).sum() / sizes.sum())


def _merged(apart: Floats, sizes: Ints, labels: Ints) -> tuple[Ints, int]:
    """Labels after groups of fewer than five people went to the nearest group; and how many did."""
    labels, count = labels.copy(), 0
    while len(names := np.unique(labels)) > 1:
        people = np.array([sizes[labels == name].sum() for name in names])
        if people.min() >= FEWEST:
            break
        small = names[people.argmin()]
        mine = labels == small
        near = [_mean_apart(apart, sizes, mine, labels == name) for name in names if name != small]
        labels[mine] = names[names != small][int(np.argmin(near))]
        count += 1
    return labels, count


def _mean_apart(apart: Floats, sizes: Ints, one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    across = sizes[one] @ apart[np.ix_(one, other)] @ sizes[other]
    return float(across / (sizes[one].sum() * sizes[other].sum()))
