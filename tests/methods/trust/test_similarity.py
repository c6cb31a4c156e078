"""Similar users: distances, linkage and silhouettes against naive and independent computations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial import distance

from trustgauge.errors import MethodError
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Ints
from trustgauge.methods.trust.similarity import distances, silhouette, silhouette_groups, splits
from trustgauge.methods.trust.voting import rank_matrix
from trustgauge.stats import stream

RANKS = st.integers(2, 5).flatmap(
    lambda m: st.lists(st.lists(st.integers(1, 3), min_size=m, max_size=m), min_size=2, max_size=4)
)


@given(RANKS)
def test_distance_is_the_share_of_pairs_in_opposite_order(rows: list[list[int]]) -> None:
    found = distances(np.array(rows, dtype=float))
    for one, other in combinations(range(len(rows)), 2):
        total = 0.0
        pairs = list(combinations(range(len(rows[0])), 2))
        for i, j in pairs:
            here, there = rows[one][i] - rows[one][j], rows[other][i] - rows[other][j]
            total += 1.0 if here * there < 0 else 0.5 if (here == 0) != (there == 0) else 0.0
        assert found[one, other] == pytest.approx(total / len(pairs))
    assert (found == found.T).all()
    assert not found.diagonal().any()


def test_known_distances() -> None:
    ballots = [IssueOrder.parse(one) for one in ("p > q > r", "r > q > p", "q > p > r", "p = q = r", "p")]
    found = distances(rank_matrix(ballots, "pqr"))[0]
    assert found.tolist() == pytest.approx([0, 1, 1 / 3, 0.5, 1 / 6])
    assert distances(np.ones((3, 1))).tolist() == [[0] * 3] * 3


def same_split(one: Ints, other: Ints) -> bool:
    return bool(((one[:, None] == one) == (other[:, None] == other)).all())


@pytest.mark.parametrize("seed", range(5))
def test_average_linkage_over_people(seed: int) -> None:
    """The same splits as scipy's, where each kind of ballot stands once for every person."""
    rng = stream(seed, "linkage")
    points = rng.random((9, 3))
    sizes = rng.integers(1, 4, 9)
    apart = distance.squareform(distance.pdist(points))
    people = np.repeat(np.arange(9), sizes)
    tree = hierarchy.average(distance.pdist(points[people]))
    found = splits(apart, sizes)
    assert set(found) == set(range(1, 7))
    for groups, labels in found.items():
        assert len(set(labels.tolist())) == groups
        assert same_split(labels[people], hierarchy.fcluster(tree, groups, "maxclust"))


def test_silhouette_person_by_person() -> None:
    rng = stream(3, "silhouette")
    apart = distance.squareform(distance.pdist(rng.random((8, 2))))
    sizes, labels = rng.integers(1, 4, 8), np.array([0, 0, 1, 1, 1, 2, 2, 7])
    sizes[7] = 1  # a person alone
    people = np.repeat(np.arange(8), sizes)
    values = []
    for me in range(len(people)):
        mean = {}
        for label in set(labels.tolist()):
            others = [one for one in range(len(people)) if one != me and labels[people[one]] == label]
            if others:
                mean[label] = sum(apart[people[me], people[one]] for one in others) / len(others)
        own = labels[people[me]]
        if own not in mean:
            values.append(0.0)
            continue
        inside, outside = mean[own], min(value for label, value in mean.items() if label != own)
        values.append((outside - inside) / max(inside, outside))
    assert silhouette(apart, sizes, labels) == pytest.approx(np.mean(values))


def test_planted_groups_come_back() -> None:
    privacy = [IssueOrder.parse("p > q > r > s")] * 8 + [IssueOrder.parse("p > q > s > r")] * 4
    ease = [IssueOrder.parse("s > r > q > p")] * 7
    found = silhouette_groups([*ease, *privacy], "pqrs")
    assert found.members == (tuple(range(7, 19)), tuple(range(7)))
    assert found.silhouette is not None
    assert found.silhouette > 0.8
    assert found.silhouette == max(found.tried.values())
    again = silhouette_groups([*privacy, *ease], "srqp")
    assert again.members == (tuple(range(12)), tuple(range(12, 19)))


def test_a_group_of_four_joins_the_nearest() -> None:
    many = [IssueOrder.parse("p > q > r > s")] * 9
    near = [IssueOrder.parse("p > r > q > s")] * 4
    far = [IssueOrder.parse("s > r > q > p")] * 9
    found = silhouette_groups([*many, *near, *far], "pqrs")
    assert found.members == (tuple(range(13)), tuple(range(13, 22)))
    few = silhouette_groups([IssueOrder.parse("p > q")] * 3 + [IssueOrder.parse("q > p")] * 3, "pq")
    assert few.members == (tuple(range(6)),)
    assert (few.merged, few.silhouette) == (1, 1.0)


def test_people_who_agree_or_scatter_are_one_group() -> None:
    alike = silhouette_groups([IssueOrder.parse("p > q")] * 30, "pq")
    assert alike.members == (tuple(range(30)),)
    assert (alike.silhouette, alike.tried) == (None, {})
    rng = stream(1, "scatter")
    scattered = [
        IssueOrder(tuple((name,) for name in rng.permutation(list("pqrstu")).tolist())) for _ in range(60)
    ]
    found = silhouette_groups(scattered, "pqrstu")
    assert max(found.tried.values()) < 0.25
    assert len(found.members) == 1
    assert set(found.tried) == {2, 3, 4, 5, 6}


def test_nobody() -> None:
    with pytest.raises(MethodError, match="nobody to group"):
        silhouette_groups([], "pq")
