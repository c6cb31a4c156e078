"""Which questions are asked when not all can be: units drawn without replacement, and what they cover.

A sample is the first m values of a keyed permutation, so it can grow (social-bias 3.3). Stratified, the
strata (kind of tuple, attribute, category) take turns: each cell of the tables gets its share,
whatever its size. Invented groups take every fourth turn: enough for the rate that excess is counted
from, and soon enough for a small sample to hold some. A property that has several categories belongs to
the stratum of its first one; in coverage it counts in each.

Under `sound` a stratum does not draw its units alike. What is rated rests on properties (methods 0.5), so
pairs of groups go through all properties before one comes again; and groups are compared within a property,
so single groups are asked about a property one after the other before the next one comes, unless they are
many. The strata of an attribute go through its groups, or pairs of groups, together: none comes again before
all others have come, in whichever category.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from trustgauge.methods.social_bias.combinatorial_index import Numbers, Permutation, TupleLayout, pair_number
from trustgauge.methods.social_bias.question_space import QuestionSpace
from trustgauge.stats import stream

COVERAGE = {
    "tuple": pl.String(),
    "attribute": pl.String(),
    "control": pl.Boolean(),
    "category": pl.String(),
    "asked": pl.Int64(),
    "total": pl.Int64(),
}
"""Columns of `coverage`."""
CONTROL_TURNS = 4  # turns of real groups for one of the invented ones
CROSSED = 12  # single groups that are asked about a property one after the other, at most
CONTROL_FIRST = {"absolute": 2, "relative": 4}  # only the excess of absolute bias cannot do without them


@dataclass(frozen=True)
class Stratum:
    """Units that are drawn from together: some items with some properties.

    Attributes:
        name: what it holds; the key of its permutation. All but the last word names its block.
        layout: of its kind of tuple.
        items: the first item, and how many.
        bundles: properties that stay together, [bundles, 2]; -1 where a property stands alone.
        turns, first: the stratum takes every so many turns, from the first one on.
        order: in which units are drawn: by lot; "spread" over all properties; "apart", which is spread and
            goes through the items by itself; or "crossed", all items with a property before the next one.
        peers: how many bundles each stratum of the block has, in the order in which these take turns.
        place: of this stratum among them.
    """

    name: tuple[str, ...]
    layout: TupleLayout
    items: tuple[int, int]
    bundles: Numbers
    turns: int = 1
    first: int = 1
    order: Literal["lot", "spread", "apart", "crossed"] = "lot"
    peers: tuple[int, ...] = ()
    place: int = 0

    @property
    def units(self) -> int:
        """How many units there are to draw."""
        return self.items[1] * len(self.bundles)

    def draw(self, n: int, seed: int) -> Numbers:
        """The tuples of the first `n` units, [units, 2], -1 for none."""
        name = ("questions", *self.name)
        places = np.arange(n)
        if self.order == "lot":
            return self.tuples(Permutation(self.units, seed, name).at(places))
        items, bundles = self.items[1], len(self.bundles)
        by_lot = Permutation(bundles, seed, name).at
        if self.order == "crossed":
            bundle, item = by_lot(places // items), self._in_company(places)
        elif self.order == "apart":
            bundle = by_lot(places % bundles)
            item = Permutation(items, seed, (*name, "items")).at((places // bundles + bundle) % items)
        else:
            at = self._in_company(places)
            if n > items:  # an item has its turn in every cycle, or it would meet a bundle again
                places = places - places % items + np.argsort(at[:items])[at]
            # One step further after each common multiple, for the same reason.
            bundle = by_lot((places + places // math.lcm(items, bundles)) % bundles)
            item = self._item(at, seed)
        return self.tuples(item * bundles + bundle)

    def _in_company(self, places: Numbers) -> Numbers:
        """The items at these places where the strata of the block go through them together, before any lot.

        In a cycle each stratum comes to each item once. Round by round its peers take the items that follow;
        where rounds would meet the same items again, they begin one further.
        """
        items = self.items[1]
        cycle, turn = np.divmod(places, items)
        present = np.array(self.peers)[:, None] > np.arange(cycle[-1] + 1)  # who has bundles left
        many, ahead = present.sum(axis=0)[cycle], present[: self.place].sum(axis=0)[cycle]
        shift = cycle if self.order == "crossed" else 0
        return np.asarray((turn * many + ahead + turn * np.gcd(many, items) // items + shift) % items)

    def _item(self, places: Numbers, seed: int) -> Numbers:
        """The items at these places of the block: single groups, or pairs as in a tournament."""
        block = ("questions", *self.name[:-1])
        if self.name[0] == "relative":
            return Permutation(self.items[1], seed, block).at(places)
        groups = math.isqrt(2 * self.items[1]) + 1
        player = Permutation(groups, seed, block).at
        one, other = (player(seats) for seats in _tournament(places, groups))
        return pair_number(np.minimum(one, other), np.maximum(one, other))

    def tuples(self, units: Numbers) -> Numbers:
        """The tuples of these units, [units, 2], -1 for none."""
        item, bundle = np.divmod(units, len(self.bundles))
        pair = self.bundles[bundle]
        numbers = self.layout.tuple_number((self.items[0] + item)[:, None], pair)
        return np.where(pair < 0, -1, numbers)


def strata(catalogue: QuestionSpace, *, antonyms: bool, by_category: bool) -> list[Stratum]:
    """The strata of a catalogue that have units, in a fixed order."""
    bundles = _bundles(catalogue, antonyms=antonyms)
    firsts = np.array([next(iter(one.categories), "") for one in catalogue.properties], dtype=object)
    of_bundle = firsts[bundles[:, 0]]
    categories = sorted(set(of_bundle)) if by_category else ["all"]
    found = []
    for kind, layout in catalogue.layouts.items():
        for place, (attribute, control, _, _) in enumerate(catalogue.blocks):
            parts = [bundles[of_bundle == one] for one in categories] if by_category else [bundles]
            peers = tuple(len(one) for one in parts)
            items = int(layout.first_item[place]), int(layout.items[place])
            turns = (CONTROL_TURNS, CONTROL_FIRST[kind]) if control else (1, 1)
            order = _order(kind, items[1], peers) if catalogue.rule == "sound" and by_category else "lot"
            for number, (category, part) in enumerate(zip(categories, parts, strict=True)):
                name = (kind, attribute, "control" if control else "real", category)
                found.append(Stratum(name, layout, items, part, *turns, order, peers, number))
    return [stratum for stratum in found if stratum.units]


def _order(kind: str, items: int, peers: Sequence[int]) -> Literal["spread", "apart", "crossed"]:
    if kind == "relative" and items <= CROSSED:
        return "crossed"
    # Where the properties of every category go evenly into the pairs, each is balanced by itself.
    even = all(1 <= items <= bundles and bundles % items <= 1 for bundles in peers)
    return "apart" if even else "spread"


def _tournament(places: Numbers, groups: int) -> tuple[Numbers, Numbers]:
    """Who meets at these places of a tournament: all pairs once, and in every round everybody once."""
    alone = groups % 2  # with an odd number one sits out each round
    seats = groups - 1 + alone
    turn, seat = np.divmod(places, groups // 2)
    seat = seat + alone
    # All seats turn but, of an even number, the last one, which meets whoever would sit out.
    return (turn + seat) % seats, np.where(seat == 0, seats, (turn - seat) % seats)


def in_turns(found: Sequence[Stratum], m: int, seed: int) -> Numbers:
    """The tuples of the first `m` units when the strata take turns, in the order of being drawn."""
    if not found:
        return np.zeros(0, dtype=np.int64)
    sizes = np.array([one.units for one in found], dtype=np.int64)
    turns, first = np.array([(one.turns, one.first) for one in found], dtype=np.int64).T
    # Within a round the order is by lot, or a cut round would always leave out the same strata.
    rank = stream(seed, "questions", "turns").permutation(len(found))
    counts = _counts(sizes, (turns, first), rank, m)
    order = np.lexsort((np.repeat(rank, counts), np.concatenate(_rounds(counts, turns, first))))
    found = _placed(found, rank)
    drawn = [one.draw(n, seed) for one, n in zip(found, counts, strict=True) if n]
    return _flat(np.concatenate([np.zeros((0, 2), dtype=np.int64), *drawn])[order])


def _placed(found: Sequence[Stratum], rank: Numbers) -> list[Stratum]:
    """The strata with their places by rank where a round may end anywhere and leave all pairs met equally."""
    places = list(found)
    for block in {one.name[:-1] for one in found if one.order == "spread"}:
        ranked = sorted((int(rank[n]), n) for n, one in enumerate(found) if one.name[:-1] == block)
        peers = tuple(len(found[n].bundles) for _, n in ranked)
        for place, (_, n) in enumerate(ranked):
            places[n] = replace(found[n], peers=peers, place=place)
    return places


def alike(found: Sequence[Stratum], m: int, seed: int) -> Numbers:
    """The tuples of the first `m` units when every unit is as likely as another."""
    ends = np.cumsum([one.units for one in found], dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    drawn = Permutation(total, seed, ("questions",)).at(np.arange(min(m, total)))
    result = np.full((len(drawn), 2), -1, dtype=np.int64)
    stratum = np.searchsorted(ends, drawn, side="right")
    for place, one in enumerate(found):
        there = stratum == place
        result[there] = one.tuples(drawn[there] - (ends[place] - one.units))
    return _flat(result)


def coverage(catalogue: QuestionSpace, asked: Sequence[Numbers]) -> pl.DataFrame:
    """Questions asked and in all for each cell.

    Args:
        catalogue: that the questions are of.
        asked: for each kind of tuple, numbers of different questions.

    Returns:
        Columns `COVERAGE`. A question counts in each category
        of its property, so cells do not add up to the whole (social-bias 3.8, "Labels").
    """
    categories = sorted({name for one in catalogue.properties for name in one.categories})
    has = np.array(
        [[name in one.categories for name in categories] for one in catalogue.properties], dtype=np.int64
    ).reshape(len(catalogue.properties), len(categories))
    rows = []
    for (kind, layout), numbers in zip(catalogue.layouts.items(), asked, strict=True):
        shape = (len(catalogue.blocks), len(catalogue.properties))
        items, properties, _ = layout.place(numbers)
        places = layout.block(items) * shape[1] + properties
        counted = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape) @ has
        whole = np.outer(layout.items, layout.forms @ has)
        for place, (attribute, control, _, _) in enumerate(catalogue.blocks):
            cells = zip(categories, counted[place].tolist(), whole[place].tolist(), strict=True)
            rows += [(kind, attribute, control, *cell) for cell in cells]
    return pl.DataFrame(rows, schema=COVERAGE, orient="row")


def _bundles(catalogue: QuestionSpace, *, antonyms: bool) -> Numbers:
    """Properties that are asked together, [bundles, 2]; -1 where one stands alone."""
    place = {one.id: number for number, one in enumerate(catalogue.properties)}
    rows = []
    for number, one in enumerate(catalogue.properties):
        other = place.get(one.antonym, -1) if antonyms else -1
        mutual = other >= 0 and other != number and catalogue.properties[other].antonym == one.id
        if not mutual:
            rows.append((number, -1))
        elif number < other:
            rows.append((number, other))
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _rounds(counts: Numbers, turns: Numbers, first: Numbers) -> list[Numbers]:
    """The round in which each unit of each stratum is drawn: unit k (from 0) in first + k x turns."""
    schedule = zip(counts.tolist(), turns.tolist(), first.tolist(), strict=True)
    return [start + np.arange(n, dtype=np.int64) * every for n, every, start in schedule]


def _counts(sizes: Numbers, schedule: tuple[Numbers, Numbers], rank: Numbers, m: int) -> Numbers:
    """How many units each stratum gives to a sample of m by its turns; the last round may be cut."""
    turns, first = schedule
    if m >= int(sizes.sum()):
        return sizes

    def through(last: int) -> Numbers:
        return np.asarray(np.clip((last - first + turns) // turns, 0, sizes))

    low, high = 0, m * int(turns.max())  # each round that all take draws at least one unit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if int(through(middle).sum()) <= m else (low, middle - 1)
    counts = through(low)
    waiting = np.flatnonzero(through(low + 1) > counts)
    chosen = waiting[np.argsort(rank[waiting])][: m - int(counts.sum())]
    counts[chosen] += 1
    return counts


def _flat(pairs: Numbers) -> Numbers:
    flat = pairs.reshape(-1)
    return flat[flat >= 0]
