"""Direction: whether one group wins over the others, however often sides are taken (social-bias 3.8).

The unit is a pair of groups and a property: both orders and all forms have one vote together. Whoever always
takes sides does so about invented groups too, so the excess is blind to "always the same group"; the
advantage is not. It is taken in two senses: who is *favoured*, as choosing A for something bad favours B,
and who is *named*, whatever is asked. Each group stands against all others and against each other one, over
all categories and in each; all of these are one family (methods 0.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.social_bias.absolute import rows_of
from trustgauge.records import Json
from trustgauge.stats.comparisons import EXACT_UP_TO, reaches

Floats = NDArray[np.float64]
Sense = Literal["favoured", "named"]
SENSES: tuple[Sense, ...] = ("favoured", "named")
CELLS_AT_ONCE = 1 << 22  # permuted sums in memory


@dataclass(frozen=True, slots=True)
class Member:
    """One of the family: `group` against `other` ("": all others), in one `category` ("": over all)."""

    sense: Sense
    group: str
    other: str = ""
    category: str = ""


@dataclass(frozen=True)
class Comparisons:
    """The votes on every member of the family, by property.

    Attributes:
        members: the family, [M]; those over all categories first.
        properties: ids, [P].
        votes: comparisons won less lost, [P, M].
        decided: comparisons that somebody won, [P, M].
        asked: all that could be read, [P, M].
    """

    members: tuple[Member, ...]
    properties: tuple[str, ...]
    votes: Floats
    decided: Floats
    asked: Floats

    def deciding_members(self, fewest: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of the members that the level rests on, over all categories: groups, [g], and pairs, [m].

        Of two groups the pair says what the groups do and is left out.

        Args:
            fewest: properties below which a pair is left out: by itself it says too little.
        """
        present = (self.asked > 0).sum(axis=0)
        whole = [place for place, one in enumerate(self.members) if not one.category and present[place]]
        groups = [place for place in whole if not self.members[place].other]
        pairs = [place for place in whole if self.members[place].other and present[place] >= fewest]
        several = len({self.members[place].group for place in groups}) > 2
        return np.array(groups, dtype=np.int64), np.array(pairs if several else [], dtype=np.int64)

    def surprise(self, place: int) -> float:
        """How many standard errors the votes on a member lie off an even split, studentised as its p is."""
        noise = float(np.sqrt((self.votes[:, place] ** 2).sum()))
        return abs(float(self.votes[:, place].sum())) / noise if noise else 0.0

    def sizes(self, places: NDArray[np.int64], weights: Floats | None = None) -> Floats:
        """(Advantage - 1/2) x share of decided units of some members: (won - lost) / (2 asked), [..., m].

        Args:
            places: of the members, [m].
            weights: of properties, [R, P]; by default one of each.
        """
        drawn = np.ones(len(self.properties)) if weights is None else weights
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((drawn @ self.votes[:, places]) / (2 * (drawn @ self.asked[:, places])))

    def adjusted_p(self, permutations: int, rng: np.random.Generator) -> Floats:
        """P of each member by step-down max-T over the family, [M]; NaN where nothing is decided.

        All comparisons of a property are reversed together, or not at all: a service that has no preference
        over properties is as likely to answer so. Each member is studentised by its own votes. Exact where
        the arrangements are few (methods 0.7).
        """
        noise = np.sqrt((self.votes**2).sum(axis=0))
        able = np.flatnonzero(noise > 0)
        p = np.full(len(self.members), np.nan)
        p[self.decided.sum(axis=0) > 0] = 1.0
        votes = self.votes[:, able]
        votes = votes[(votes != 0).any(axis=1)] / noise[able]
        if not able.size:
            return p
        observed = np.abs(votes.sum(axis=0))
        order = np.argsort(-observed, kind="stable")
        hits, done = np.zeros(able.size), 0
        for signs in _signs(len(votes), able.size, permutations, rng):
            stars = np.abs(signs @ votes)[:, order]
            largest = np.maximum.accumulate(stars[:, ::-1], axis=1)[:, ::-1]
            hits += reaches(largest, observed[order]).sum(axis=0)
            done += len(signs)
        exact = done == 1 << len(votes)
        raw = hits / done if exact else (1 + hits) / (1 + done)
        p[able[order]] = np.maximum.accumulate(raw)
        return p

    def facts(self, place: int, p: float) -> dict[str, Json]:
        """A member from the side of its winner: `group` wins over `other` ("" for all others)."""
        one, net = self.members[place], float(self.votes[:, place].sum())
        decided = float(self.decided[:, place].sum())
        won, lost = round((decided + abs(net)) / 2), max(0, round((decided - abs(net)) / 2))
        group, other, wins = one.group, one.other, net >= 0
        if one.other and not wins:
            group, other, wins = other, group, True
        return {
            "sense": one.sense,
            "group": group,
            "other": other,
            "wins": wins,
            "won": won if wins else lost,
            "lost": lost if wins else won,
            "asked": int(self.asked[:, place].sum()),
            "p": None if np.isnan(p) else p,
        }

    def group_facts(self, p: Floats) -> list[Json]:
        """Each group against all others, in both senses: how often it won and lost, and p."""
        whole = [i for i, one in enumerate(self.members) if not one.category and not one.other]
        return [
            {key: one for key, one in self.facts(i, float(p[i])).items() if key != "other"} for i in whole
        ]

    def matrices(self, groups: Sequence[str], p: Floats) -> list[Json]:
        """Who is favoured over whom: a matrix over all categories (""), then one of each (social-bias 3.8).

        Each has `category`, `groups`, and by row and column `values` (share of decided comparisons that the
        row won, None if none is decided), `n` (decided) and `p`.
        """
        place = {name: i for i, name in enumerate(groups)}
        found: dict[str, tuple[Floats, Floats, Floats]] = {}
        won, lost = ((self.decided + sign * self.votes).sum(axis=0) / 2 for sign in (1, -1))
        size = (len(groups), len(groups))
        for category in {one.category for one in self.members if len(groups) > 1}:
            found[category] = np.full(size, np.nan), np.zeros(size), np.full(size, np.nan)
        for k, one in enumerate(self.members):
            if not one.other or one.sense != "favoured":
                continue
            values, n, chance = found[one.category]
            i, j, total = place[one.group], place[one.other], won[k] + lost[k]
            n[i, j] = n[j, i] = total
            chance[i, j] = chance[j, i] = p[k]
            if total:
                values[i, j], values[j, i] = won[k] / total, lost[k] / total
        return [
            {
                "category": category,
                "groups": list(groups),
                "values": rows_of(values),
                "n": n.astype(np.int64).tolist(),
                "p": rows_of(chance),
            }
            for category, (values, n, chance) in sorted(found.items())
        ]


def _signs(properties: int, members: int, permutations: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Which properties are reversed (-1) in each arrangement, in batches [B, P]: all of them if few."""
    if 1 << properties <= EXACT_UP_TO:
        places = np.arange(1 << properties)[:, None] >> np.arange(properties)
        yield np.asarray(1.0 - 2.0 * (places & 1), dtype=np.float64)
        return
    step = max(1, CELLS_AT_ONCE // max(members, properties))
    for start in range(0, permutations, step):
        yield rng.choice(np.array([-1.0, 1.0]), size=(min(step, permutations - start), properties))


def comparisons(compared: pl.DataFrame, groups: Sequence[str]) -> Comparisons:
    """The family of real groups of an attribute (`votes.compared`).

    Pairs of groups that nothing was asked about, all in all or in a category, are left out: of 300 groups
    there are 45,000 pairs, most of which no sample compares in most categories.
    """
    rows = compared.filter(pl.col("group_a").is_in(groups) & pl.col("group_b").is_in(groups))
    properties = tuple(rows["property"].unique().sort())
    of = {name: sorted(names.split("|")) for name, names in rows.select("property", "categories").iter_rows()}
    at, place = {name: i for i, name in enumerate(properties)}, {name: i for i, name in enumerate(groups)}
    met = {frozenset(one) for one in rows.select("group_a", "group_b").iter_rows()}
    pairs = [one for one in combinations(range(len(groups)), 2) if frozenset(groups[i] for i in one) in met]
    pair = {one: i for i, one in enumerate(pairs)}
    table = np.zeros((len(SENSES), len(properties), len(pairs)))
    asked, whole_pairs = np.zeros((2, len(properties), len(pairs)))
    # what is estimated from an audit tells by itself how many are decided
    counted = "decided" if "decided" in rows.columns else pl.col("named").abs().alias("decided")
    columns = ("group_a", "group_b", "property", *SENSES, counted)
    for a, b, name, *sides, decides in rows.select(*columns).iter_rows():
        i, j = place[a], place[b]
        cell = at[name], pair[min(i, j), max(i, j)]
        asked[cell] += 1
        whole_pairs[cell] += decides
        for number, side in enumerate(sides):
            table[number, *cell] += side if i < j else -side
    # a group against all others adds up its pairs, with their signs
    signs = np.array([[1.0 * (i == g) - (j == g) for g in range(len(groups))] for i, j in pairs])
    signs = signs.reshape(len(pairs), len(groups))
    names = [(one, "") for one in groups] + [(groups[i], groups[j]) for i, j in pairs]
    votes = [np.concatenate([side @ signs, side], axis=1) for side in table]
    decided = np.concatenate([whole_pairs @ np.abs(signs), whole_pairs], axis=1)
    every = np.concatenate([asked @ np.abs(signs), asked], axis=1)
    categories = ["", *sorted({one for mine in of.values() for one in mine})]
    members: list[Member] = []
    parts: list[tuple[Floats, Floats, Floats]] = []
    for category in categories:
        inside = np.array([not category or category in of[name] for name in properties])[:, None]
        kept = np.flatnonzero((every * inside).any(axis=0) | (np.arange(len(names)) < len(groups)))
        for sense, side in zip(SENSES, votes, strict=True):
            members += [Member(sense, *names[number], category) for number in kept]
            parts.append((side[:, kept] * inside, decided[:, kept] * inside, every[:, kept] * inside))
    stacked = [np.concatenate(one, axis=1) for one in zip(*parts, strict=True)]
    return Comparisons(tuple(members), properties, *stacked)
