"""What evidence can be filtered by, beyond service, part and block: the facets that a method declares.

A row may hold several values of a facet: two groups, several categories. Its marks hold their places, so
that a page's script finds rows without reading their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WITHIN = "-"
"""Between the places of one facet in the marks of a row."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value to choose. `key` stands in addresses, so it tells no name that may offend."""

    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter: its values in order, the place of each, and the columns of the evidence that hold them."""

    key: str
    columns: Sequence[str]
    values: Sequence[Value]
    places: Mapping[str, int]

    @property
    def label(self) -> str:
        return self.key.capitalize()

    def marks(self, facts: Mapping[str, Any]) -> str:
        """The places of a row's values: "3", "0-2", or "" if it has none."""
        told = [one for column in self.columns for one in values(facts.get(column))]
        found = {self.places[one] for one in told if one in self.places}
        return WITHIN.join(map(str, sorted(found)))


def marks(found: Sequence[Facet], facts: Mapping[str, Any]) -> list[str]:
    """The places of a row in each facet.

    Args:
        found: the facets of the evidence.
        facts: values in the columns of the facets; those that are not there are none.
    """
    return [facet.marks(facts) for facet in found]


def values(cell: Any) -> list[str]:
    """The values in a cell: a text, or a list of texts."""
    many = cell if isinstance(cell, list) else [cell]
    return [str(one) for one in many if one]
