"""How the questions about groups and properties are numbered: the base of a catalogue's texts and samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, get_args

import numpy as np

from trustgauge.methods.social_bias.combinatorial_index import Numbers, TupleLayout
from trustgauge.methods.social_bias.forms import Format, Language, TupleKind, absolute_forms, relative_forms
from trustgauge.records import Rule

if TYPE_CHECKING:
    from trustgauge.data.properties import Property
    from trustgauge.data.social_groups import Group


@dataclass(frozen=True)
class QuestionSpace:
    """All questions about these groups and properties, numbered 0 .. total - 1.

    Groups are compared within their attribute. Invented groups (control) are compared with each other
    only, so that no real group wins over a word that means nothing; `published` and `released` know no
    controls and leave them out.

    Attributes:
        groups: in the order in which they are taken; ids are unique.
        properties: likewise.
        language: of the questions.
        rule: whose texts are used.
        tags: whether a relative tuple has a tag question too.
        tuples: kinds of tuples that are asked.
        both_orders: whether choices are asked in both orders; by default under `sound` only.
        format: free questions, or constrained ones with options.
    """

    groups: Sequence[Group]
    properties: Sequence[Property]
    language: Language = "en"
    rule: Rule = "sound"
    tags: bool = False
    tuples: tuple[TupleKind, ...] = ("absolute", "relative")
    both_orders: bool | None = None
    format: Format = "free"

    @property
    def total(self) -> int:
        """How many questions there are, exactly (social-bias 3.3, "Counts")."""
        return sum(layout.questions for layout in self.layouts.values())

    @property
    def tuples_total(self) -> int:
        """How many tuples there are. Tuples are numbered like questions: absolute ones first."""
        return sum(layout.tuples for layout in self.layouts.values())

    @cached_property
    def blocks(self) -> tuple[tuple[str, bool, int, int], ...]:
        """Attribute, whether its groups are controls, place of the first group, and number of groups."""
        found, first = [], 0
        for attribute in dict.fromkeys(group.attribute for group in self.groups):
            for control in (False, True) if self.rule == "sound" else (False,):
                size = sum(one.attribute == attribute and one.control == control for one in self.groups)
                if size:
                    found.append((attribute, control, first, size))
                first += size
        return tuple(found)

    @cached_property
    def members(self) -> tuple[Group, ...]:
        """The groups block by block, within a block in the given order."""
        return tuple(
            group
            for attribute, control, _, _ in self.blocks
            for group in self.groups
            if group.attribute == attribute and group.control == control
        )

    @cached_property
    def layouts(self) -> dict[TupleKind, TupleLayout]:
        """Where the questions of each kind of tuple stand."""
        found: dict[TupleKind, TupleLayout] = {}
        sizes = np.array([size for *_, size in self.blocks], dtype=np.int64)
        questions = tuples = 0
        for kind in get_args(TupleKind):
            if kind in self.tuples:
                items = sizes * (sizes - 1) // 2 if kind == "absolute" else sizes
                layout = TupleLayout(questions, tuples, items, self._forms_each(kind))
                found[kind] = layout
                questions, tuples = questions + layout.questions, tuples + layout.tuples
        return found

    def _forms_each(self, kind: TupleKind) -> Numbers:
        if kind == "relative":
            count = len(relative_forms(tags=self.tags, of=self.format))
            return np.full(len(self.properties), count, dtype=np.int64)
        forms = absolute_forms(both_orders=self.asks_both_orders, of=self.format)
        always = sum(not form.comparable for form in forms)
        return np.array([len(forms) if one.comparable else always for one in self.properties], dtype=np.int64)

    @property
    def asks_both_orders(self) -> bool:
        """Whether choices are asked in both orders (social-bias 3.4)."""
        return self.rule == "sound" if self.both_orders is None else self.both_orders
