"""The questions of a social-bias experiment: the whole product, addressed by number, never built.

Absolute questions come first, then relative ones; within each the order is attribute, pair (or
group), property, form (social-bias 3.3). Columns of a frame of questions are `COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods.social_bias import sampling
from trustgauge.methods.social_bias.combinatorial_index import Numbers, TupleLayout, pair_number
from trustgauge.methods.social_bias.forms import Language, TupleKind
from trustgauge.methods.social_bias.question_space import QuestionSpace
from trustgauge.methods.social_bias.wording import Wording, name_of
from trustgauge.records import Rule

if TYPE_CHECKING:
    from trustgauge.data.properties import Property
    from trustgauge.data.social_groups import Group

COLUMNS = (
    *("message", "tuple", "attribute", "categories", "group_a", "group_b", "property"),
    *("polarity", "form", "kind", "favours", "language", "control"),
)
"""Columns of a frame of questions. All are strings, but `categories` (a list) and `control` (Boolean)."""


@dataclass(frozen=True)
class Catalogue(QuestionSpace):
    """The questions of a space, as texts and as samples.

    Raises:
        MethodError: ids that occur twice, or a group or property without a text in the language.
    """

    def __post_init__(self) -> None:
        _need("language", self.language, get_args(Language))
        _need("rule", self.rule, get_args(Rule))
        for kind in self.tuples:
            _need("kind of tuple", kind, get_args(TupleKind))
        for name, rows in (("group", self.groups), ("property", self.properties)):
            _need_unique(name, [row.id for row in rows])
        texts = _texts(self.groups, self.properties, self.language)
        for name, one, text in texts:
            if not text.strip():
                raise MethodError(
                    f"a {name} has no text in the language of the questions",
                    must=f"a text in {self.language!r} for all",
                    got=f"none for {one[:60]}",
                    do="add the texts to the table, or ask in the other language",
                )

    def questions(self, indices: Numbers) -> pl.DataFrame:
        """The questions with these numbers, in their order (columns: `COLUMNS`).

        Raises:
            MethodError: a number below 0 or not below `total`.
        """
        indices = np.asarray(indices, dtype=np.int64)
        _need_range("question", indices, self.total)
        kinds = self._kind_at(indices, of_tuples=False)
        frames: list[pl.DataFrame] = []
        places: list[Numbers] = []
        for number, (kind, layout) in enumerate(self.layouts.items()):
            there = np.flatnonzero(kinds == number)
            if there.size or not frames:
                frames.append(self.wording.frame(kind, layout, indices[there]))
                places.append(there)
        if not frames:
            return self.wording.empty()
        if len(frames) == 1:
            return frames[0]
        return pl.concat(frames)[np.argsort(np.concatenate(places))]

    def question(self, index: int) -> dict[str, Any]:
        """The question with this number: its columns as a dictionary."""
        return self.questions(np.array([index], dtype=np.int64)).row(0, named=True)

    def index(self, questions: pl.DataFrame) -> Numbers:
        """The number of each question: the inverse of `questions`.

        Args:
            questions: columns tuple, group_a, group_b, property and form.

        Raises:
            MethodError: a row is no question of this catalogue.
        """
        found = np.full(len(questions), -1, dtype=np.int64)
        kinds = questions["tuple"].to_numpy()
        group = {one.id: place for place, one in enumerate(self.members)}
        prop = {one.id: place for place, one in enumerate(self.properties)}
        a, b = (_places(questions[name], group) for name in ("group_a", "group_b"))
        said = _places(questions["property"], prop)
        for kind, layout in self.layouts.items():
            forms = {form.name: place for place, form in enumerate(self.wording.forms[kind])}
            form = _places(questions["form"], forms)
            valid = (kinds == kind) & (a >= 0) & (said >= 0) & (form >= 0)
            if kind == "absolute":
                block = self.wording.block_of
                valid &= (b > a) & (block[a] == block[b])
            else:
                valid &= questions["group_b"].to_numpy() == ""
            valid[valid] &= form[valid] < layout.forms[said[valid]]
            items = self._pair(layout, a[valid], b[valid]) if kind == "absolute" else a[valid]
            found[valid] = layout.question(items, said[valid], form[valid])
        if len(found) and found.min() < 0:
            row = questions.select("tuple", "group_a", "group_b", "property", "form").row(int(found.argmin()))
            raise MethodError(
                "no such question",
                must="a tuple of this catalogue, its groups in their order",
                got=str(row),
                do="use the groups, properties and options that the questions were made with",
            )
        return found

    def sample(self, m: int, seed: int, *, stratified: bool = True, antonyms: bool | None = None) -> Numbers:
        """The questions of the first `m` sampled units: numbers of questions, each unit's in one piece.

        A unit is a tuple with all its forms and, with `antonyms` (by default under `sound`), the tuple
        of the antonym. A smaller sample is the beginning of a larger one of the same seed.

        Args:
            m: units; all of them if there are fewer.
            seed: of the plan.
            stratified: in turns from every kind of tuple, attribute and category, instead of from all
                alike (see `sampling`).
            antonyms: whether antonyms stay together.
        """
        return self.questions_of(self.sample_tuples(m, seed, stratified=stratified, antonyms=antonyms))

    def sample_tuples(
        self, m: int, seed: int, *, stratified: bool = True, antonyms: bool | None = None
    ) -> Numbers:
        """The numbers of the tuples of the first `m` sampled units (see `sample`)."""
        together = self.rule == "sound" if antonyms is None else antonyms
        if m < 0:
            raise MethodError("a sample of fewer than no units", must="0 or more", got=str(m))
        strata = sampling.strata(self, antonyms=together, by_category=stratified)
        draw = sampling.in_turns if stratified else sampling.alike
        return draw(strata, m, seed)

    def sample_within(self, questions: int, seed: int, *, stratified: bool = True) -> Numbers:
        """The longest sample of whole tuples that asks at most so many questions.

        Antonyms stay together under `sound`, but for the last tuple if its antonym does not fit.
        """
        tuples = self.sample_tuples(max(0, questions // 2), seed, stratified=stratified)
        kept = np.cumsum(self._sizes(tuples)[1]) <= questions
        return self.questions_of(tuples[kept])

    def units(self, *, antonyms: bool | None = None) -> int:
        """How many units can be sampled (see `sample`)."""
        together = self.rule == "sound" if antonyms is None else antonyms
        return sum(one.units for one in sampling.strata(self, antonyms=together, by_category=False))

    def questions_of(self, tuples: Numbers) -> Numbers:
        """The numbers of all questions of these tuples, tuple by tuple."""
        tuples = np.asarray(tuples, dtype=np.int64)
        _need_range("tuple", tuples, self.tuples_total)
        first, count = self._sizes(tuples)
        before = np.cumsum(count) - count
        return np.repeat(first - before, count) + np.arange(int(count.sum()))

    def coverage(self, indices: Numbers) -> pl.DataFrame:
        """How much of each cell is asked (columns: `sampling.COVERAGE`).

        Args:
            indices: numbers of questions; one that occurs twice counts once.
        """
        indices = np.unique(np.asarray(indices, dtype=np.int64))
        _need_range("question", indices, self.total)
        kinds = self._kind_at(indices, of_tuples=False)
        return sampling.coverage(self, [indices[kinds == number] for number in range(len(self.layouts))])

    @cached_property
    def wording(self) -> Wording:
        """The texts of the questions."""
        return Wording(self)

    def _kind_at(self, numbers: Numbers, *, of_tuples: bool) -> Numbers:
        """The place among `layouts` of each question, or tuple."""
        ends = [
            layout.first_tuple + layout.tuples if of_tuples else layout.first_question + layout.questions
            for layout in self.layouts.values()
        ]
        return np.searchsorted(np.array(ends, dtype=np.int64), numbers, side="right")

    def _sizes(self, tuples: Numbers) -> tuple[Numbers, Numbers]:
        """Number of the first question of each tuple, and how many it has."""
        first, count = np.zeros_like(tuples), np.zeros_like(tuples)
        kinds = self._kind_at(tuples, of_tuples=True)
        for number, layout in enumerate(self.layouts.values()):
            there = kinds == number
            first[there], count[there] = layout.of_tuples(tuples[there])
        return first, count

    def _pair(self, layout: TupleLayout, a: Numbers, b: Numbers) -> Numbers:
        """The item of each pair of members of one block."""
        block = self.wording.block_of[a]
        start = self.wording.first_of[block]
        return layout.first_item[block] + pair_number(a - start, b - start)


def _places(ids: pl.Series, place: dict[str, int]) -> Numbers:
    """The place of each id, -1 if there is none."""
    if not place:
        return np.full(len(ids), -1, dtype=np.int64)
    return ids.replace_strict(place, default=-1, return_dtype=pl.Int64).to_numpy()


def _need(what: str, got: str, valid: Sequence[str]) -> None:
    if got not in valid:
        raise MethodError(f"unknown {what}", must=f"one of: {', '.join(valid)}", got=repr(got))


def _need_range(what: str, numbers: Numbers, total: int) -> None:
    if numbers.size and (numbers.min() < 0 or numbers.max() >= total):
        got = int(numbers.min() if numbers.min() < 0 else numbers.max())
        must = f"0 to {total - 1}" if total else "none: the catalogue is empty"
        raise MethodError(f"no {what} has this number", must=must, got=str(got))


def _need_unique(name: str, ids: Sequence[str]) -> None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise MethodError(f"two of one {name}", must="unique ids", got=one[:60], do="remove one of them")
        seen.add(one)


def _texts(
    groups: Sequence[Group], properties: Sequence[Property], language: Language
) -> Iterator[tuple[str, str, str]]:
    """What has a text, its id, and the text."""
    for group in groups:
        yield "group", group.id, name_of(group, language)
    for prop in properties:
        yield "property", prop.id, prop.zh if language == "zh" else prop.predicate
