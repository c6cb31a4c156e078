"""Mentions whose value people read in what came back, and what that says of the reader (methods 0.10 (4)).

A mention is drawn by lot within the value sent and what the reader made of it. What came back of the mentions
without a label is estimated from the labels of their stratum (the difference estimator, for shares), and the
draws of two-step 1.7 step 4 are taken about counts that are themselves drawn from the labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.methods.two_step.score import (
    ABSTAINS,
    KEPT,
    LABEL,
    LABELS,
    LOST,
    PEOPLE,
    UNREAD_LABEL,
    UNREAD_LABELS,
)
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.methods.two_step.transition_model import (
    DeclaredDistributions,
    LevelDraws,
    PoolingResult,
    block_deviations,
    design_effect,
    level_of,
    sent_values,
)
from trustgauge.rating import less_certain
from trustgauge.rating.audit import (
    ALIKE,
    AUDIT_FRAME,
    CARRIES,
    COARSE,
    ELEMENT,
    FEWEST,
    FEWEST_ITEMS,
    FINE,
    READER,
    UNREAD,
    AuditLabels,
    Choice,
    InstrumentFacts,
    reader_errors,
)
from trustgauge.rating.recognition import half_that_stands
from trustgauge.records import Json, Rating, Reason
from trustgauge.stats import stream
from trustgauge.stats.distributions import Floats

MENTION = "mention"
OPEN = "_reading"
"""Column of imputed counts: what the reader made of mentions without a label; null where nothing is open."""
READ = ("answered", "refused", "unread", "unreadable")
"""Status of answers that a reader can misread."""


def choices(settings: TwoStepSettings) -> Mapping[str, Sequence[Choice]]:
    """The values of the attribute; none where scores are read, or the rule is not `sound`."""
    if not settings.reads_words:
        return {}
    *values, other = settings.table.values
    listed = [Choice(value.lower(), f"{{a}}: {value}") for value in values]
    return {
        MENTION: (*listed, Choice(other.lower(), f"{{a}}: {other} (another word, none, or not to be told)"))
    }


def audit_frame(settings: TwoStepSettings, scores: pl.DataFrame, rating: Rating) -> pl.DataFrame:
    """The mentions of one service that can be labelled: columns `AUDIT_FRAME`.

    Of a deterministic service a text that stands in several blocks is there once.

    Args:
        settings: the experiment.
        scores: of one service.
        rating: its rating without an audit. What adds bias rests on its worst parts, all else on every part.
    """
    scores = half_that_stands(scores, rating)
    lists = ("items", "values", "read", "_slot")
    said = scores.filter(pl.col("status").is_in(READ) & (pl.col("output").fill_null("") != ""))
    said = said.filter(~pl.col("shared") | pl.col("first"))
    rows = (
        said.with_columns(_slot=pl.int_ranges(pl.col("values").list.len()))
        .filter(pl.col("values").list.len() > 0)
        .select("part", "id", "message", "output", *lists)
        .explode(*lists)
    )
    names = [*settings.table.values, "unread"]
    sent, read = (
        pl.when(pl.col(column) < 0)
        .then(len(names) - 1)
        .otherwise(pl.col(column))
        .replace_strict(range(len(names)), names, return_dtype=pl.String)
        for column in ("values", "read")
    )
    unread = pl.col("read") < 0
    carried = pl.col("part").is_in(list(rating.worst)) if rating.level == "BS" else pl.lit(value=True)
    place = pl.col("_slot") + 1
    named = pl.when(pl.col("items").fill_null("") == "").then(pl.lit("mention")).otherwise("items")
    name = pl.format("{}/{}", "_slot", "id")  # of a mention: its place in the text, and the probe
    return rows.select(
        "part",
        name.alias("id"),
        pl.lit("").alias(READER),
        pl.concat_str("part", pl.lit(" "), name).alias(ELEMENT),
        pl.format("{} {}/{}", "part", sent, read).alias(FINE),
        pl.format("{} {}/{}", "part", sent, read).alias(COARSE),
        unread.alias(UNREAD),
        carried.alias(CARRIES),
        pl.lit("").alias(ALIKE),
        kind=pl.lit(MENTION),
        a=pl.format("{} (sentence {})", named, place),
        b=pl.lit(""),
        question="message",
        answer="output",
    ).cast(AUDIT_FRAME)  # type: ignore[arg-type]


def with_labels(settings: TwoStepSettings, marks: pl.DataFrame) -> pl.DataFrame:
    """Marks with columns `labels` and `labels_of_unread`: the place of the value that people read, or -1.

    The first are of mentions drawn by lot, the second of those drawn for being unread, each a list with an
    entry a mention. Equal answers of a deterministic service have equal labels.
    """
    given = {
        LABELS: {service: one.labels for service, one in settings.labels.items()},
        UNREAD_LABELS: {service: one.unread for service, one in settings.labels.items()},
    }
    return marks.with_columns(
        pl.Series(name, _places(settings, marks, labels), dtype=pl.List(pl.Int8))
        for name, labels in given.items()
    )


def _places(
    settings: TwoStepSettings, marks: pl.DataFrame, labels: Mapping[str, Mapping[tuple[str, str], str]]
) -> list[list[int]]:
    """The place of the value that people read of each mention of each answer, -1 without a label.

    Args:
        settings: the experiment.
        marks: the answers.
        labels: service -> part and name of a mention -> label.
    """
    places = {value.lower(): place for place, value in enumerate(settings.table.values)}
    known = {
        (service, *key): places[label]
        for service, one in labels.items()
        for key, label in one.items()
        if label in places
    }
    copies: dict[tuple[Any, ...], int] = {}
    rows = list(marks.select("service", "part", "id", "message", "output", "shared", "values").iter_rows())
    for service, part, name, *answer, values in rows:
        for slot in range(len(values or ())):
            label = known.get((service, part, f"{slot}/{name}"))
            if label is not None:
                copies[service, part, *_answer(name, *answer), slot] = label
    return [
        [copies.get((service, part, *_answer(name, *answer), slot), -1) for slot in range(len(values or ()))]
        for service, part, name, *answer, values in rows
    ]


def _answer(name: str, message: str, output: str | None, shared: bool) -> tuple[str | None, ...]:
    """What copies of an answer have in common."""
    return (message, output) if shared else (name,)


def evidence(marks: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """What people read of the labelled mentions of an answer, what the reader did, and if these differ.

    Args:
        marks: with labels.
        values: names of the attribute's values.
    """
    names = dict(enumerate(values))
    both = pl.struct(LABELS, UNREAD_LABELS).map_elements(
        lambda one: [max(pair) for pair in zip(one[LABELS] or (), one[UNREAD_LABELS] or (), strict=False)],
        return_dtype=pl.List(pl.Int8),
    )
    shown = marks.select("items", "read", _any=both)

    def words(column: str) -> pl.Expr:
        def said(one: Mapping[str, Any]) -> str:
            each = zip(one["items"] or (), one["_any"] or (), one[column] or (), strict=False)
            return ", ".join(
                f"{item}: {names.get(value, 'unread')}" for item, label, value in each if label >= 0
            )

        return pl.struct(*dict.fromkeys(["items", "_any", column])).map_elements(said, return_dtype=pl.String)

    differ = pl.struct("_any", "read").map_elements(
        lambda one: any(
            label >= 0 and label != read
            for label, read in zip(one["_any"] or (), one["read"] or (), strict=False)
        ),
        return_dtype=pl.Boolean,
    )
    return shown.select(audited=words("_any"), misread=differ, reading=words("read"))


@dataclass(frozen=True)
class LabelledPart:
    """The summary of one part, some of whose mentions have labels.

    Args:
        frame: rows of the summary with the column `label`.
        spec: the specification.
        service_labels: labels of the whole service.
    """

    frame: pl.DataFrame
    spec: Any
    service_labels: int

    @cached_property
    def _inputs(self) -> NDArray[np.int64]:
        return np.asarray(sent_values(self.spec.distributions))

    @cached_property
    def _readable(self) -> pl.DataFrame:
        """Rows of mentions that came back, with their places in the summary."""
        came = (pl.col("value_out") >= 0) | (pl.col("value_out") == ABSTAINS)
        sent = pl.col("value_in").is_in(self._inputs.tolist())
        return self.frame.with_row_index("_row").filter(pl.col("status").is_in(READ) & sent & came)

    @cached_property
    def units(self) -> Floats:
        """Labelled mentions by value sent, reading (the last: unread) and label, [G, C+1, C]."""
        cells = len(self.spec.values)
        found = np.zeros((len(self._inputs), cells + 1, cells))
        rows = {int(value): row for row, value in enumerate(self._inputs)}
        each = self._readable.filter(pl.col(LABEL) >= 0)
        # of a mention that stands in several blocks one copy is pooled
        sums = each.group_by("value_in", "value_out", LABEL).agg(pl.col("pooled").sum())
        for value, read, label, n in sums.iter_rows():
            found[rows[value], read if read >= 0 else cells, label] += n
        return found

    @property
    def labelled(self) -> int:
        """Labelled mentions."""
        return int(self.units.sum())

    @property
    def finished(self) -> bool:
        """Whether the level may rest on the labels: 30 of each value sent, or all, and 100 of the service."""
        for value, labels in zip(self._inputs.tolist(), self.units, strict=True):
            mine = self._readable.filter(pl.col("value_in") == value)
            if labels.sum() < FEWEST_ITEMS and (mine[LABEL] < 0).any():
                return False
        return self.service_labels >= FEWEST or not (self._readable[LABEL] < 0).any()

    def impute(self, rng: np.random.Generator) -> pl.DataFrame:
        """The summary with labels in place of readings, and the others by lot as the labels of their stratum.

        Has the column `OPEN`. Strata without labels stay as they were read.
        """
        cells, rows = len(self.spec.values), {int(value): row for row, value in enumerate(self._inputs)}
        number = self.frame.with_row_index("_row")
        mine = self._readable
        out = number["value_out"].to_numpy().copy()
        reading = np.full(len(number), -1)
        keys = mine.select("_row", "value_in", "value_out", LABEL, "n")
        for (value, read), some in keys.group_by("value_in", "value_out", maintain_order=True):
            places, labels = some["_row"].to_numpy(), some[LABEL].to_numpy()
            out[places[labels >= 0]] = labels[labels >= 0]
            rest, weight = places[labels < 0], some["n"].to_numpy()[labels < 0].astype(float)
            reading[rest] = read if int(str(read)) >= 0 else cells
            label = self.units[rows[int(str(value))], int(str(read)) if int(str(read)) >= 0 else cells]
            if not label.sum() or not len(rest):
                continue
            order = rng.permutation(len(rest))
            at = (np.cumsum(weight[order]) - weight[order] / 2) / max(weight.sum(), 1e-9)
            out[rest[order]] = np.searchsorted(np.cumsum(label) / label.sum(), at, side="left").clip(
                0, cells - 1
            )
        lost = pl.col("kind").is_in(LOST)
        return (
            number.with_columns(
                pl.Series("value_out", out, dtype=pl.Int8), pl.Series(OPEN, reading, dtype=pl.Int8)
            )
            .with_columns(
                pl.when(pl.col(OPEN) >= 0).then(OPEN).alias(OPEN),
                kind=pl.when(pl.col("value_out") < 0)
                .then("kind")
                .when(pl.col("value_out") < cells - 1)
                .then(pl.lit(KEPT))
                .otherwise(
                    pl.when(lost | (pl.col("status") == "refused")).then("kind").otherwise(pl.lit("other"))
                ),
            )
            .drop("_row", *PEOPLE.values())
        )

    @property
    def _by_people(self) -> pl.Expr:
        """What people read of a mention that the reader abstained from; -1 where they did not."""
        said = pl.when(pl.col(UNREAD_LABEL) >= 0).then(UNREAD_LABEL).otherwise(LABEL)
        return pl.when(pl.col("value_out") == ABSTAINS).then(said).otherwise(-1)

    def read_by_people(self) -> pl.DataFrame:
        """The summary with what people read in place of what the reader abstained from; all else as it was.

        Other labels stay out of it: what people choose to label of mentions that were read is no sample.
        """
        other, said = len(self.spec.values) - 1, pl.col("_said")
        lost = pl.when(said == other).then(pl.lit("other")).otherwise(pl.lit(KEPT))
        return (
            self.frame.with_columns(_said=self._by_people)
            .with_columns(
                pl.when(said >= 0).then(said).otherwise("value_out").cast(pl.Int8).alias("value_out"),
                pl.when(said >= 0).then(lost).otherwise("kind").alias("kind"),
            )
            .drop("_said", *PEOPLE.values())
        )

    @cached_property
    def by_people(self) -> int:
        """Mentions that the reader abstained from and that count as people read them."""
        if self.finished:
            return 0
        return int(self._readable.filter(self._by_people >= 0)["n"].sum())

    def effects(self, deff: Floats) -> Floats:
        """Design effects that labels show, beside those of what was read or imputed, [G].

        The correlation within occupations and texts is that of the labelled mentions, for clusters as large
        as those of all mentions.
        """
        found = np.asarray(deff, dtype=np.float64).copy()
        labelled = self._readable.filter(pl.col(LABEL) >= 0)
        for row, value in enumerate(self._inputs.tolist()):
            some, every = (
                one.filter((pl.col("value_in") == value) & (pl.col("pooled") > 0))
                for one in (labelled, self._readable)
            )
            for key in ("text", "item"):
                if some.height < FEWEST_ITEMS:
                    continue
                codes, place = np.unique(some[key].to_numpy(), return_inverse=True)
                counts = np.zeros((len(codes), 1, len(self.spec.values)), dtype=np.int64)
                np.add.at(counts[:, 0], (place, some[LABEL].to_numpy()), some["pooled"].to_numpy())
                mean, whole = _mean_size(some, key), _mean_size(every, key)
                effect = float(design_effect(counts)[0])
                if mean > MOST_SINGLE and effect > 1:
                    found[row] = max(found[row], 1 + (effect - 1) * (whole - 1) / (mean - 1))
        return found

    def draw(
        self,
        frame: pl.DataFrame,
        examined: PoolingResult,
        declared: DeclaredDistributions,
        settings: TwoStepSettings,
        rng: np.random.Generator,
    ) -> LevelDraws:
        """Steps 4 to 6 of two-step 1.7 about counts that are drawn from the labels.

        Args:
            frame: `imputed`, missing mentions filled in or not.
            examined: of the imputed counts.
            declared: the distributions and the margin.
            settings: the experiment.
            rng: the stream.
        """
        cells, draws = len(self.spec.values), settings.draws
        blocks = len(self.spec.blocks)
        size = (blocks, len(self._inputs), cells + 1, cells)
        q = _shares(self.units, draws, rng)
        known, open_ = self._masses(frame, size)
        own = known[0][None] + np.einsum("bgr,tgro->tbgo", open_[0], q)
        pooled = known[1][None] + np.einsum("gr,tgro->tgo", open_[1], q)
        if settings.loss == "apart":
            own, pooled = own[..., :-1], pooled[..., :-1]
        deff = self.effects(examined.deff[0])
        rates = _one_draw(pooled, deff, rng)
        devs, apart = declared.deviations(rates)[None], tuple[Floats, ...]()
        if not examined.pooled[0] or examined.doubtful[0]:
            apart = tuple(_one_draw(own[:, place], deff, rng)[None] for place in range(blocks))
        by_block = block_deviations(apart, declared) if apart else devs
        if not examined.pooled[0]:
            devs = by_block
        levels = level_of(devs, len(declared.unbiased), declared.margin)
        if examined.doubtful[0]:
            others = level_of(by_block, len(declared.unbiased), declared.margin)
            levels = np.where(less_certain(levels, others), others, levels)
            apart = ()
        return LevelDraws(devs, levels, rates[None], apart)

    def _masses(
        self, frame: pl.DataFrame, size: tuple[int, int, int, int]
    ) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """What is known, own [B, G, C] and pooled [G, C]; what is open by reading, [B, G, R] and [G, R]."""
        blocks, inputs, readings, cells = size
        rows = {int(value): row for row, value in enumerate(self._inputs)}
        names = {name: place for place, name in enumerate(self.spec.blocks)}
        some = frame.filter(
            pl.col("value_in").is_in(list(rows)) & ((pl.col("value_out") >= 0) | pl.col(OPEN).is_not_null())
        )
        own, pooled = np.zeros((blocks, inputs, cells)), np.zeros((inputs, cells))
        own_open, pooled_open = np.zeros((blocks, inputs, readings)), np.zeros((inputs, readings))
        columns = ("block", "value_in", "value_out", OPEN, "n", "pooled")
        sums = some.group_by(columns[:4]).agg(pl.col("n").sum(), pl.col("pooled").sum()).sort(columns[:4])
        for block, value, out, read, n, together in sums.iter_rows():
            where = names[block], rows[value]
            if read is None:
                own[(*where, out)] += n
                pooled[where[1], out] += together
            else:
                own_open[(*where, read)] += n
                pooled_open[where[1], read] += together
        return (own, pooled), (own_open, pooled_open)

    def tally(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
        """Of labelled mentions whether the reader saw a change, whether there was one, and their weights."""
        found, true, weights = [], [], []
        every = self._readable
        for row, value in enumerate(self._inputs.tolist()):
            for read, labels in enumerate(self.units[row]):
                if not labels.sum():
                    continue
                out = read if read < len(self.spec.values) else ABSTAINS
                mass = every.filter((pl.col("value_in") == value) & (pl.col("value_out") == out))["n"].sum()
                for label, n in enumerate(labels.astype(int)):
                    found += [out not in (value, ABSTAINS)] * n
                    true += [label != value] * n
                    weights += [mass / labels.sum()] * n
        return np.array(found, dtype=bool), np.array(true, dtype=bool), np.array(weights, dtype=np.float64)

    def reasons(self, labels: AuditLabels) -> Iterator[Reason]:
        """What a reader must know of the audit of this part."""
        if self.by_people:
            yield Reason("unread-labelled", {"labelled": self.by_people, "left": self.counts()[0]})
        if self.labelled:
            facts = InstrumentFacts(labels, reader_errors(*self.tally()), audited=self.finished).facts()
            known: dict[str, Json] = {**facts, "fewest": FEWEST}
            yield Reason("instrument-audited" if self.finished else "audit-unfinished", known)
        if self.labelled and self.finished:
            yield from (one.reason() for one in labels.gaps.values())
        if labels.unresolved and (self.labelled or self.by_people):
            yield Reason("audit-unresolved", {"answers": labels.unresolved})

    def counts(self) -> tuple[int, int]:
        """Mentions that nobody has read, and those that the reader or people have."""
        every = self._readable
        unread = int(every.filter(pl.col("value_out") == ABSTAINS)["n"].sum()) - self.by_people
        return unread, int(every["n"].sum()) - unread


MOST_SINGLE = 1.05
"""Mean size of clusters of labelled mentions up to which they say nothing of correlation."""


def _mean_size(rows: pl.DataFrame, key: str) -> float:
    """The size of the cluster that a mention is in, on average."""
    sizes = rows.group_by(key).agg(pl.col("pooled").sum())["pooled"].to_numpy().astype(float)
    return float((sizes**2).sum() / max(sizes.sum(), 1.0))


def _shares(units: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """What mentions of each stratum came back as, drawn from its labels, [T, G, R, C]."""
    gamma = rng.standard_gamma(units + 1.0 / units.shape[-1], size=(draws, *units.shape))
    return np.asarray(gamma / gamma.sum(axis=-1, keepdims=True))


def _one_draw(counts: Floats, deff: Floats, rng: np.random.Generator) -> Floats:
    """Rates about each of T counts [T, G, C]: row g from Dirichlet(c[g] / deff_g + 1 / C)."""
    gamma = rng.standard_gamma(counts / deff[:, None] + 1.0 / counts.shape[-1])
    return np.asarray(gamma / gamma.sum(axis=-1, keepdims=True))


def imputed_summary(summary: pl.DataFrame, settings: TwoStepSettings, seed: int) -> pl.DataFrame:
    """A summary that holds what labels say, as the ratings of its parts do."""
    frames = []
    for (service, part), own in summary.group_by("service", "part", maintain_order=True):
        labels = settings.labels.get(str(service))
        mine = None if labels is None else LabelledPart(own, settings.spec, len(labels.labels))
        if mine is not None and mine.finished:
            rng = stream(seed, "two-step", settings.table.name, str(service), str(part), "imputed")
            own = mine.impute(rng).drop(OPEN)
        elif mine is not None:
            own = mine.read_by_people()
        frames.append(own.drop(*PEOPLE.values(), strict=False))
    return pl.concat(frames)


def with_instrument(rating: Rating, parts: Mapping[str, LabelledPart], labels: AuditLabels) -> Rating:
    """A rating that says what people read, and how the reader did on mentions that they drew by lot."""
    tallies = [one.tally() for one in parts.values() if one.labelled]
    by_people = sum(one.by_people for one in parts.values())
    if not tallies and not by_people:
        return rating
    errors = None
    if tallies:
        errors = reader_errors(*(np.concatenate(column) for column in zip(*tallies, strict=True)))
    unread, read = (sum(column) for column in zip(*(one.counts() for one in parts.values()), strict=True))
    leading = rating.worst if rating.level == "BS" and rating.worst else tuple(parts)
    audited = bool(tallies) and all(parts[key].finished for key in leading if key in parts)
    facts = InstrumentFacts(labels, errors, unread, read, audited=audited, by_people=by_people).facts()
    return replace(rating, details={**rating.details, "instrument": facts})
