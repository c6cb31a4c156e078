"""One order from the orders of many people, by several methods of voting (trust 4.3).

A ballot is an order of some of the issues, ties allowed; issues that it does not list share its last
place. Tied issues share the points of their places, and half a pairwise preference each.

Ties of the outcome are broken by Borda, then by pairwise majority, then by a seeded lot that does not
depend on how people or issues are arranged; what was needed is recorded.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from trustgauge.errors import MethodError
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.methods.trust.resampling import Floats, Ints
from trustgauge.records import Json
from trustgauge.stats import stream

Way = Literal["plurality", "borda", "approval", "copeland", "kemeny", "schulze"]
WAYS: tuple[Way, ...] = get_args(Way)
MOST_ISSUES = 8  # of Kemeny's method, whose search doubles with each issue
ALIKE = 1e-9
DIGITS = 9  # of scores: thirds of a point add up to whole ones
RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Voting:
    """How votes are counted.

    Attributes:
        way: the method.
        approved: approval: how many of the first issues a ballot approves of.
        seed: of lots and of resamples.
    """

    way: Way = "borda"
    approved: int = 2
    seed: int = 0


@dataclass(frozen=True, slots=True)
class VoteResult:
    """The order that a vote gives.

    Attributes:
        way: the method.
        order: issues, most important first.
        scores: what each issue got; for Kemeny the pairs of (person, other issue) that put it first.
        ties: those that had to be broken: `issues`, and `by` "borda", "majority" or "lot".
        distance: Kemeny: total Kendall distance to all ballots, in discordant pairs, ties one half.
    """

    way: Way
    order: tuple[str, ...]
    scores: Mapping[str, float]
    ties: tuple[Mapping[str, Json], ...] = ()
    distance: float | None = None

    @property
    def profile(self) -> IssueOrder:
        """The order without what only a lot decided: those issues share a place."""
        lots = [set(tie["issues"]) for tie in self.ties if tie["by"] == "lot"]
        found: list[list[str]] = []
        for name in self.order:
            if found and any({found[-1][-1], name} <= one for one in lots):
                found[-1].append(name)
            else:
                found.append([name])
        return IssueOrder(tuple(tuple(sorted(place)) for place in found))


@dataclass(frozen=True, slots=True)
class BallotCounts:
    """What counting needs of the ballots, for R sets of ballots at once; m issues.

    Attributes:
        issues: names, sorted.
        points: by the method's points for places, [R, m]; Borda's for methods that compare pairs.
        borda: Borda's points, [R, m].
        before: people who put i before j, ties one half each, doubled, [R, m, m].
        strict: people who put i before j, [R, m, m].
    """

    issues: tuple[str, ...]
    points: Floats
    borda: Floats
    before: Ints
    strict: Ints


def vote(ballots: Sequence[IssueOrder], issues: Sequence[str], voting: Voting) -> VoteResult:
    """The order that the ballots give.

    Args:
        ballots: at least one; each lists some of the issues.
        issues: all of them; the order does not matter.
        voting: how votes are counted.

    Raises:
        MethodError: there are no ballots or issues, a ballot lists another issue, or there are too many
            issues for Kemeny's method.
    """
    kinds, counts = _kinds(ballots)
    return _outcome(_tally(kinds, counts[None, :], issues, voting), 0, voting)


def stability(
    ballots: Sequence[IssueOrder], issues: Sequence[str], voting: Voting, resamples: int = RESAMPLES
) -> dict[str, Json]:
    """How far the order depends on who was asked: a bootstrap over people.

    Returns:
        `same`: share of resamples with the same whole order, `first`: with the same issue in the first place,
        where issues that only a lot separates share a place; `places`: for each issue, in the order of the
        outcome, the share in which it stands at each place, those of a shared place alike; `lots`: in which a
        lot was needed; `resamples`.

    Raises:
        MethodError: as of `vote`.
    """
    kinds, counts = _kinds(ballots)
    whole = _outcome(_tally(kinds, counts[None, :], issues, voting), 0, voting)
    rng = stream(voting.seed, "voters", voting.way)
    drawn = rng.multinomial(len(ballots), counts / counts.sum(), size=resamples)
    tally = _tally(kinds, drawn, issues, voting)
    found = [_outcome(tally, row, voting) for row in range(resamples)]
    at = {name: [0.0] * len(whole.order) for name in whole.order}
    profiles = [one.profile for one in found]
    for one in profiles:
        above = 0
        for tied in one.places:
            for name in tied:
                for place in range(above, above + len(tied)):
                    at[name][place] += 1 / len(tied)
            above += len(tied)
    wanted = whole.profile
    return {
        "same": sum(one == wanted for one in profiles) / resamples,
        "first": sum(one.places[0] == wanted.places[0] for one in profiles) / resamples,
        "places": [
            {"issue": name, "shares": [count / resamples for count in counts]} for name, counts in at.items()
        ],
        "lots": sum(any(tie["by"] == "lot" for tie in one.ties) for one in found) / resamples,
        "resamples": resamples,
    }


def rank_matrix(ballots: Sequence[IssueOrder], issues: Sequence[str]) -> Floats:
    """Rank of each issue on each ballot, [n, m]: 1 first, ties their mean; unlisted ones tie last.

    Raises:
        MethodError: a ballot lists an issue that is not in `issues`.
    """
    column = {name: place for place, name in enumerate(issues)}
    ranks = np.empty((len(ballots), len(issues)))
    for row, ballot in enumerate(ballots):
        listed = ballot.issues
        strange = [name for name in listed if name not in column]
        if strange:
            raise MethodError(
                "a ballot lists an issue that is not voted on", must=", ".join(issues), got=", ".join(strange)
            )
        ranks[row] = (len(listed) + 1 + len(issues)) / 2
        for name, rank in zip(listed, ballot.ranks, strict=True):
            ranks[row, column[name]] = rank
    return ranks


def _kinds(ballots: Sequence[IssueOrder]) -> tuple[list[IssueOrder], Ints]:
    """Different ballots in a fixed order, and how many people cast each."""
    counted = Counter(ballots)
    kinds = sorted(counted, key=lambda one: one.places)
    return kinds, np.array([counted[one] for one in kinds], dtype=np.int64)


def _tally(kinds: Sequence[IssueOrder], counts: Ints, issues: Sequence[str], voting: Voting) -> BallotCounts:
    """Tallies of R sets of ballots, in which each kind occurs `counts` [R, K] times."""
    names = tuple(sorted(set(issues)))
    m = len(names)
    if not kinds or not m:
        raise MethodError("nothing to vote on", must="at least one ballot and one issue")
    if voting.way == "kemeny" and m > MOST_ISSUES:
        raise MethodError(
            "too many issues for Kemeny's method",
            must=f"{MOST_ISSUES} at most",
            got=f"{m}",
            do="Use Schulze's",
        )
    ranks = rank_matrix(kinds, names)
    first = (ranks[:, :, None] < ranks[:, None, :]).astype(np.int64)
    tied = (ranks[:, :, None] == ranks[:, None, :]) & ~np.eye(m, dtype=bool)
    places = {
        "plurality": [1.0] + [0.0] * (m - 1),
        "approval": [1.0] * min(m, voting.approved) + [0.0] * max(0, m - voting.approved),
    }.get(voting.way)
    borda = counts @ (m - ranks)
    return BallotCounts(
        names,
        borda if places is None else counts @ _shared(ranks, places),
        borda,
        np.einsum("rk,kij->rij", counts, 2 * first + tied),
        np.einsum("rk,kij->rij", counts, first),
    )


def _shared(ranks: Floats, places: Sequence[float]) -> Floats:
    """Points of issues where place p gives places[p]; tied issues share those of their places."""
    before = np.concatenate([[0.0], np.cumsum(places)])
    above = (ranks[:, None, :] < ranks[:, :, None]).sum(axis=-1)
    size = (ranks[:, None, :] == ranks[:, :, None]).sum(axis=-1)
    shared: Floats = (before[above + size] - before[above]) / size
    return shared


def _outcome(tally: BallotCounts, row: int, voting: Voting) -> VoteResult:
    if voting.way == "kemeny":
        return _kemeny(tally, row, voting)
    scores = _scores(tally, row, voting.way)
    order: list[int] = []
    ties: list[Mapping[str, Json]] = []
    left = set(range(len(tally.issues)))
    while left:
        best = max(scores[one] for one in left)
        group = [one for one in sorted(left) if scores[one] >= best - ALIKE]
        order += _broken(group, tally, row, voting, ties)
        left -= set(group)
    named = {tally.issues[one]: round(float(scores[one]), DIGITS) for one in order}
    return VoteResult(voting.way, tuple(named), named, tuple(ties))


def _scores(tally: BallotCounts, row: int, way: Way) -> Floats:
    """Points of each issue; more is more important."""
    if way in ("plurality", "approval", "borda"):
        counted: Floats = tally.points[row]
        return counted
    strict = tally.strict[row]
    if way == "copeland":
        return _wins(strict)
    # Widest paths over winning votes; the relation is transitive, so more wins never stand below fewer.
    width = np.where(strict > strict.T, strict, 0)
    for by in range(len(width)):
        width = np.maximum(width, np.minimum(width[:, by, None], width[None, by, :]))
    return _wins(width)


def _wins(pairs: Ints) -> Floats:
    """A win counts 1, a tie 1/2, against each other issue."""
    won: Floats = (pairs > pairs.T).sum(axis=1) + ((pairs == pairs.T).sum(axis=1) - 1) / 2
    return won


def _kemeny(tally: BallotCounts, row: int, voting: Voting) -> VoteResult:
    """The order with the least total distance; among several, each place goes to the tie's winner."""
    against = tally.before[row].T  # [i, j]: what putting i before j costs, doubled
    m = len(tally.issues)
    togo = _costs_to_go(against)
    order: list[int] = []
    ties: list[Mapping[str, Json]] = []
    placed = 0
    while len(order) < m:
        left = [one for one in range(m) if not placed >> one & 1]
        costs = {one: int(against[one, left].sum()) + togo[placed | 1 << one] for one in left}
        group = [one for one in left if costs[one] == togo[placed]]
        order.append(_broken(group, tally, row, voting, ties)[0])
        placed |= 1 << order[-1]
    scores = {tally.issues[one]: float(tally.before[row, one].sum()) / 2 for one in order}
    return VoteResult("kemeny", tuple(scores), scores, tuple(ties), togo[0] / 2)


def _costs_to_go(against: Ints) -> list[int]:
    """Least cost of ordering the issues that are not in each set, by set as bits (dynamic programming).

    The diagonal of `against` is 0, so an issue costs nothing against itself.
    """
    m = len(against)
    rows: list[list[int]] = against.tolist()
    togo = [0] * (1 << m)
    for placed in range((1 << m) - 2, -1, -1):
        left = [one for one in range(m) if not placed >> one & 1]
        togo[placed] = min(sum(rows[one][other] for other in left) + togo[placed | 1 << one] for one in left)
    return togo


def _broken(
    group: Sequence[int], tally: BallotCounts, row: int, voting: Voting, ties: list[Mapping[str, Json]]
) -> list[int]:
    """A tied group in order: by Borda, then by wins in pairs within the group, then by lot."""
    if len(group) == 1:
        return list(group)
    steps: tuple[tuple[str, Callable[[Sequence[int]], Mapping[int, float]]], ...] = (
        ("borda", lambda some: {one: float(tally.borda[row, one]) for one in some}),
        ("majority", lambda some: _majority(some, tally.strict[row])),
        ("lot", lambda some: _lot(some, tally, voting.seed)),
    )
    return _split(list(group), steps, tally, ties)


def _split(
    group: list[int],
    steps: Sequence[tuple[str, Callable[[Sequence[int]], Mapping[int, float]]]],
    tally: BallotCounts,
    ties: list[Mapping[str, Json]],
) -> list[int]:
    """The group by the first step that tells some of it apart, and what stays tied by the further ones."""
    (name, key), *further = steps
    values = key(group)
    kept = sorted(group, key=lambda one: -values[one])
    parts: list[list[int]] = []
    for one in kept:
        if parts and math.isclose(values[parts[-1][0]], values[one], abs_tol=ALIKE):
            parts[-1].append(one)
        else:
            parts.append([one])
    if len(parts) > 1:
        ties.append({"issues": sorted(tally.issues[one] for one in group), "by": name})
    return [one for part in parts for one in (part if len(part) == 1 else _split(part, further, tally, ties))]


def _majority(group: Sequence[int], strict: Ints) -> dict[int, float]:
    inner = strict[np.ix_(group, group)]
    return dict(zip(group, _wins(inner).tolist(), strict=True))


def _lot(group: Sequence[int], tally: BallotCounts, seed: int) -> dict[int, float]:
    """Different numbers, drawn for the names of the group."""
    names = [tally.issues[one] for one in group]
    drawn = stream(seed, "lot", *sorted(names)).permutation(len(names))
    return {group[names.index(name)]: float(at) for name, at in zip(sorted(names), drawn, strict=True)}
