"""What evidence about groups can be filtered by: attribute, group, category, kind of question.

A row may hold several values of a facet: two groups, several categories. Its marks hold their places, so
that a page's script finds rows without reading their texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trustgauge.reports import social_bias_names
from trustgauge.reports.names import name
from trustgauge.reports.social_bias_phrases import KINDS_ASKED

if TYPE_CHECKING:
    import polars as pl

Rated = Mapping[str, Any]
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "attribute": ("attribute",),
    "group": ("group_a", "group_b"),
    "category": ("categories",),
    "question": ("kind",),
}
"""Facet -> the columns of the evidence that hold its values."""
WITHIN = "-"
"""Between the places of one facet in the marks of a row."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value to choose. `key` stands in addresses, so it tells no name that may offend."""

    key: str
    title: str


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter: its values in order, and the place of each."""

    key: str
    values: Sequence[Value]
    places: Mapping[str, int]

    @property
    def label(self) -> str:
        return self.key.capitalize()

    def marks(self, facts: Mapping[str, Any]) -> str:
        """The places of a row's values: "3", "0-2", or "" if it has none."""
        told = [one for column in COLUMNS[self.key] for one in _values(facts.get(column))]
        found = {self.places[one] for one in told if one in self.places}
        return WITHIN.join(map(str, sorted(found)))


def marks(found: Sequence[Facet], facts: Mapping[str, Any]) -> list[str]:
    """The places of a row in each facet.

    Args:
        found: the facets of the evidence.
        facts: values in the columns of `COLUMNS`; those that are not there are none.
    """
    return [facet.marks(facts) for facet in found]


def facets(ratings: Sequence[Rated], frame: pl.DataFrame) -> tuple[Facet, ...]:
    """The facets by which these rows differ; none for evidence that is not about groups.

    Args:
        ratings: they name the groups, and say which names may offend.
        frame: the evidence.
    """
    if not all(column in frame.columns for columns in COLUMNS.values() for column in columns):
        return ()
    names = {key: one for rating in ratings for key, one in social_bias_names.of(rating).items()}
    invented = {key for rating in ratings for key in social_bias_names.invented(rating)}
    found = []
    for key, columns in COLUMNS.items():
        keys = _distinct(frame, columns)
        titles = {one: _title(key, one, names, invented) for one in keys}
        if key == "group":
            keys.sort(key=lambda one: (one in invented, titles[one].casefold()))
        values = [
            Value(f"hidden-{place}" if key == "group" and _hidden(one, names) else one, titles[one])
            for place, one in enumerate(keys)
        ]
        if len(values) > 1:
            found.append(Facet(key, values, {one: place for place, one in enumerate(keys)}))
    return tuple(found)


def _distinct(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The values of columns of texts or of lists of texts, in order of their first row."""
    seen: dict[str, None] = {}
    for column in columns:
        for value in frame[column].unique(maintain_order=True).to_list():
            seen |= dict.fromkeys(_values(value))
    return list(seen)


def _values(value: Any) -> list[str]:
    many = value if isinstance(value, list) else [value]
    return [str(one) for one in many if one]


def _hidden(key: str, names: Mapping[str, social_bias_names.GroupName]) -> bool:
    return key in names and names[key].offensive


def _title(facet: str, key: str, names: Mapping[str, social_bias_names.GroupName], invented: set[str]) -> str:
    """A value in words."""
    if facet == "question":
        return KINDS_ASKED.get(key, name(key))
    if facet == "group" and key in names:
        return names[key].drawn + (" (invented)" if key in invented else "")
    return name(key).replace("-", " ")
