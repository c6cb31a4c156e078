"""Numbers for products too large to build: pairs, permutations and places, all computed on demand.

Everything works on whole arrays with integers only, so a number stands for the same thing on every
machine (social-bias 3.3, "Lazy access").
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trustgauge.stats import stream

Numbers = NDArray[np.int64]

ROUNDS = 4  # of the Feistel network (social-bias 3.3)
# Odd constants with well spread bits, so that each bit of a half moves every bit of the hash.
SPREAD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def pair_number(i: Numbers, j: Numbers) -> Numbers:
    """The number of the pair i < j among all pairs in the order (0,1), (0,2), (1,2), (0,3), ...

    >>> pair_number(np.array([0, 0, 1, 0]), np.array([1, 2, 2, 3]))
    array([0, 1, 2, 3])
    """
    return j * (j - 1) // 2 + i


def pair_at(number: Numbers) -> tuple[Numbers, Numbers]:
    """The pair i < j with this number: the inverse of `pair_number`, exact below 2**59.

    >>> pair_at(np.array([0, 1, 2, 3]))
    (array([0, 0, 1, 0]), array([1, 2, 2, 3]))
    """
    j = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    # The root of a large number may be off by one either way.
    j -= j * (j - 1) // 2 > number
    j += j * (j + 1) // 2 <= number
    return number - j * (j - 1) // 2, j


@dataclass(frozen=True)
class Permutation:
    """A keyed permutation of 0 .. size - 1 that needs no memory (social-bias 3.3).

    Four Feistel rounds permute a power of four; a value outside the range is permuted again until it
    falls inside (cycle walking), at most about four times on average.

    Attributes:
        size: how many numbers are permuted, below 2**62.
        seed: of the plan.
        purpose: what the permutation is for; equal seeds and purposes give equal permutations.
    """

    size: int
    seed: int
    purpose: tuple[str | int, ...] = ()

    @cached_property
    def _half(self) -> int:
        """Bits of each half."""
        return max(1, ((self.size - 1).bit_length() + 1) // 2)

    @cached_property
    def _keys(self) -> NDArray[np.uint64]:
        # Raw bits: what a generator makes of them may change from version to version.
        raw = stream(self.seed, "permutation", *self.purpose).bit_generator.random_raw(ROUNDS)
        return np.asarray(raw, dtype=np.uint64)

    def at(self, places: Numbers) -> Numbers:
        """The numbers at these places; a sample of m is the numbers at places 0 .. m - 1.

        Args:
            places: each from 0 to size - 1.
        """
        values = self._network(places.astype(np.uint64))
        outside = np.flatnonzero(values >= self.size)
        while outside.size:
            values[outside] = self._network(values[outside])
            outside = outside[values[outside] >= self.size]
        return values.astype(np.int64)

    def _network(self, values: NDArray[np.uint64]) -> NDArray[np.uint64]:
        half = np.uint64(self._half)
        mask = np.uint64((1 << self._half) - 1)
        left, right = values >> half, values & mask
        for key in self._keys:
            left, right = right, left ^ (_hash(right ^ key) & mask)
        return (left << half) | right


def _hash(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = values * SPREAD[0]
    values = (values ^ (values >> np.uint64(30))) * SPREAD[1]
    values = (values ^ (values >> np.uint64(27))) * SPREAD[2]
    return values ^ (values >> np.uint64(31))


@dataclass(frozen=True)
class TupleLayout:
    """Where the questions of one kind of tuple stand, in the order item, property, form.

    An item is what a property is asked of: a pair of groups, or a group. Items are numbered through
    all blocks; a block holds the groups of one attribute that are compared with each other.

    Attributes:
        first_question: number of the first question of this kind in the catalogue.
        first_tuple: number of the first tuple of this kind.
        items: how many items each block has, [blocks].
        forms: how many questions each property has, [properties].
    """

    first_question: int
    first_tuple: int
    items: Numbers
    forms: Numbers

    @cached_property
    def first_item(self) -> Numbers:
        """The number of the first item of each block and, last, the number of items: [blocks + 1]."""
        return np.concatenate([[0], np.cumsum(self.items)]).astype(np.int64)

    @cached_property
    def starts(self) -> Numbers:
        """Place of each property's first question in its item and, last, their number: [properties + 1]."""
        return np.concatenate([[0], np.cumsum(self.forms)]).astype(np.int64)

    @property
    def questions(self) -> int:
        """How many questions there are (social-bias 3.3, "Counts")."""
        return int(self.first_item[-1]) * int(self.starts[-1])

    @property
    def tuples(self) -> int:
        """How many tuples there are."""
        return int(self.first_item[-1]) * len(self.forms)

    @cached_property
    def _property_at(self) -> Numbers:
        return np.repeat(np.arange(len(self.forms)), self.forms)

    def place(self, questions: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Item, property and place among the property's forms of each question."""
        items, within = np.divmod(questions - self.first_question, self.starts[-1])
        properties = self._property_at[within]
        return items, properties, within - self.starts[properties]

    def question(self, items: Numbers, properties: Numbers, forms: Numbers) -> Numbers:
        """The inverse of `place`."""
        within: Numbers = self.starts[properties] + forms
        return self.first_question + items * int(self.starts[-1]) + within

    def tuple_number(self, items: Numbers, properties: Numbers) -> Numbers:
        """The numbers of these tuples."""
        return self.first_tuple + items * len(self.forms) + properties

    def of_tuples(self, tuples: Numbers) -> tuple[Numbers, Numbers]:
        """Number of the first question of each tuple, and how many it has."""
        items, properties = np.divmod(tuples - self.first_tuple, len(self.forms))
        return self.question(items, properties, np.zeros_like(items)), self.forms[properties]

    def block(self, items: Numbers) -> Numbers:
        """The block of each item."""
        after: Numbers = np.searchsorted(self.first_item, items, side="right")
        return after - 1
