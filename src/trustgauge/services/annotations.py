"""Annotators as a service: labels that people gave to texts, from a table (causal 2.3)."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from trustgauge.errors import Fault, RejectedError, raise_faults
from trustgauge.plan import PlanPath
from trustgauge.records import Json, Message, Reply, Task
from trustgauge.services import InProcessService, Seed, ServiceSpec

if TYPE_CHECKING:
    import polars as pl

Label = Literal[-1, 0, 1]

LABELS: Mapping[str, Label] = {"-1": -1, "0": 0, "1": 1}
SKIPPED = ("NA", "N/A", "n/a", "-")
LABEL_PREFIX = "labelled "  # before each label in the trail of a reply
FEWEST = 2  # labels that a text needs


class People(ServiceSpec):
    """A table of labels -1, 0, 1 that at least two people gave to texts.

    Either one column for each annotator (`columns`), or one row for each label (`annotator` and
    `label` name columns). The score of a text is the label given most often. Where several labels
    are given equally often there is none (`ties = "missing"`), or one of them is drawn, seeded by
    text and `seed` (`ties = "random"`, published). Annotators may skip texts; a text with fewer
    than two labels has no score: the people decline to answer. The labels stand in the trail of the
    reply, one by one, with a score and without.

    Attributes:
        file: CSV, TSV or JSON lines, UTF-8.
        separator: of a CSV file; by default that of its header: comma, semicolon or tab.
        text: column of the texts.
        message: column of content keys, in its place.
        columns: one column of labels for each annotator.
        annotator, label: in their place: one row a label, and the columns that tell both.
        labels: what the cells mean, -1 to 1.
        skipped: cells that are no label, besides empty ones.
        repeats: an annotator labelled a text twice: a fault, or both count.
        ties: no label is given most often: no score, or one of them at random.
        seed: of that choice.
    """

    use: str = "people"
    task: ClassVar[Task] = "score"
    deterministic: ClassVar[bool] = True
    kind: ClassVar[str] = "human annotators"
    # One text a call: a text without a score is an error of its own, not of its neighbours.
    batch: ClassVar[int] = 1
    collected: ClassVar[str] = "by hand"

    file: PlanPath = Field(description="CSV, TSV or JSON lines, UTF-8")
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    text: str = Field("text", description="Column of the texts")
    message: str = Field("", description="Column of content keys, instead of texts")
    columns: tuple[str, ...] = Field((), description="A column of labels for each annotator")
    annotator: str = Field("", description="One row a label: column of annotators")
    label: str = Field("", description="One row a label: column of labels")
    labels: Mapping[str, Label] = Field(LABELS, description="What the cells mean: cell -> -1, 0, 1")
    skipped: tuple[str, ...] = Field(SKIPPED, description="Cells that are no label, besides empty ones")
    repeats: Literal["refuse", "pool"] = Field(
        "refuse", description="An annotator gave a text two labels: a fault, or both count"
    )
    ties: Literal["missing", "random"] = Field("missing", description="No label is given most often")
    seed: Seed = Field(0, description="Of the labels drawn with ties = random")

    @model_validator(mode="after")
    def _says_where_labels_are(self) -> Self:
        raise_faults(self._faults())
        return self

    def _faults(self) -> Iterator[Fault]:
        long = bool(self.annotator or self.label)
        if long == bool(self.columns) or (long and not (self.annotator and self.label)):
            must = "`columns` (one for each annotator), or `annotator` and `label` (one row a label)"
            yield Fault("columns", "the columns of the labels are not named", must=must)
        if self.columns and len(set(self.columns)) < max(FEWEST, len(self.columns)):
            got = ", ".join(self.columns)
            yield Fault("columns", "too few annotators", must="at least two different columns", got=got)
        if self.separator and len(self.separator.encode()) != 1:
            yield Fault("separator", "no separator", must="one ASCII character", got=self.separator)
        if not self.labels:
            yield Fault("labels", "no cell means a label", must="a table: cell -> -1, 0 or 1")

    def __hash__(self) -> int:
        return hash((self.file, self.columns, self.annotator, self.label, self.ties, self.seed))

    def identity(self) -> Mapping[str, Any]:
        """The file's content, not its place, and how it is read."""
        return {**self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "file"}), "content": self._hash()}

    def version(self) -> str:
        return self._hash()[:8]

    def _hash(self) -> str:
        from trustgauge.data.tables import content_hash

        return content_hash(self.file)

    def check_requirements(self) -> None:
        """Raise PlanError if the file cannot be read, or holds what is no label."""
        self._recorded()

    def open(self) -> LivePeople:
        return LivePeople(self, self._recorded().labels)

    def facts(self) -> dict[str, Json]:
        """How the people agree, over the whole table; measures that are undefined are None.

        Returns:
            `items` (texts), `annotators`, `labels`, `skipped` (labels that each annotator did not
            give), `few` (texts with fewer than two labels), `ties` (texts on which no label is
            given most often), and of the texts with two labels or more: `equal`, `pairwise`,
            `fleiss_kappa`, `krippendorff_alpha` (ordinal) with its 95 % interval `alpha_interval`.
        """
        from trustgauge.stats import agreement, stream

        recorded = self._recorded()
        kinds = (-1, 0, 1)
        counts = [[given.count(kind) for kind in kinds] for given in recorded.labels.values()]
        low, high = agreement.alpha_interval(counts, kinds, rng=stream(self.seed, "agreement"))
        return {
            "items": len(counts),
            "annotators": list(recorded.skipped),
            "labels": sum(map(sum, counts)),
            "skipped": dict(recorded.skipped),
            "few": sum(len(given) < FEWEST for given in recorded.labels.values()),
            "ties": sum(len(given) >= FEWEST and len(most(given)) > 1 for given in recorded.labels.values()),
            "equal": _known(agreement.equal_share(counts)),
            "pairwise": _known(agreement.pairwise_agreement(counts)),
            "fleiss_kappa": _known(agreement.fleiss_kappa(counts)),
            "krippendorff_alpha": _known(agreement.krippendorff_alpha(counts, kinds)),
            "alpha_interval": [_known(low), _known(high)],
        }

    def _recorded(self) -> AnnotationTable:
        return _load(self, self._hash())


@dataclass(frozen=True, slots=True)
class AnnotationTable:
    """What a table holds: the labels of each text (or content key), and what each annotator skipped."""

    labels: Mapping[str, tuple[Label, ...]]
    skipped: Mapping[str, int]


class LivePeople(InProcessService):
    """Looks labels up."""

    def __init__(self, description: People, labels: Mapping[str, tuple[Label, ...]]) -> None:
        self._about, self._labels = description, labels

    def reply(self, message: Message) -> Reply:
        from trustgauge.data.tables import short

        about = self._about
        given = self._labels.get(message.key if about.message else message.text)
        if given is None:
            raise RejectedError(f"the file has no labels of {short(message.text)}")
        trail = tuple(f"{LABEL_PREFIX}{label}" for label in given)
        if len(given) < FEWEST:
            return Reply("fewer than two labels", trail, refused=True)
        tied = most(given)
        if len(tied) > 1 and about.ties == "missing":
            return Reply("no label is given most often", trail, refused=True)
        return Reply(float(tied[_drawn(message.text, about.seed) % len(tied)]), trail)


def most(given: Sequence[Label]) -> tuple[Label, ...]:
    """The labels given most often, sorted; one, if there is no tie."""
    counts = Counter(given)
    top = max(counts.values())
    return tuple(sorted(label for label, count in counts.items() if count == top))


def _drawn(text: str, seed: int) -> int:
    """A number that text and seed alone decide."""
    data = f"{seed}\0{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())


def _known(value: float) -> float | None:
    return None if value != value else value


@lru_cache(maxsize=8)
def _load(about: People, _content: str) -> AnnotationTable:
    """The labels of the file, checked: columns, cells, annotators, and one label each."""
    from trustgauge.data.tables import fault, need_columns, read_table, rows_in_words

    table = read_table(about.file, "file", about.separator)
    key = ("message", about.message) if about.message else ("text", about.text)
    places = dict([key]) | {f"columns.{name}": name for name in about.columns}
    places |= {
        place: name for place, name in (("annotator", about.annotator), ("label", about.label)) if name
    }
    need_columns(about.file, table, places)
    rows = _long(about, table, key[1])
    nameless = sorted({row for row, name, *_ in rows if not name})
    if nameless:
        where = rows_in_words(nameless)
        raise fault(
            about.file, "file", f"no {key[0]} in {where}", must=f"a {key[0]} in every row with a label"
        )
    found = _meanings(about, rows)
    annotators = list(about.columns) or list(dict.fromkeys(one for _, _, one, _ in rows if one))
    names = list(dict.fromkeys(name for _, name, _, _ in rows if name))
    given = _each(about, found)
    silent = [one for one in annotators if not any(one in by for by in given.values())]
    if silent or len(annotators) < FEWEST:
        raise fault(
            about.file,
            "columns" if about.columns else "annotator",
            f"no labels of {', '.join(silent)}" if silent else "too few annotators",
            must="at least two annotators who labelled texts",
            got="" if silent else ", ".join(annotators),
        )
    labels = {name: _in_turn(given[name], annotators) for name in names}
    skipped = {one: sum(one not in given[name] for name in names) for one in annotators}
    return AnnotationTable(labels, skipped)


def _in_turn(by: Mapping[str, Sequence[Label]], annotators: Sequence[str]) -> tuple[Label, ...]:
    """The labels of a text by annotator; of one person's several labels the first: one is not two people."""
    labels = tuple(label for one in annotators for label in by.get(one, ()))
    return labels if len(by) >= FEWEST else labels[:1]


Row = tuple[int, str | None, str, str | None]
"""Row number, text, annotator, cell."""


def _long(about: People, table: pl.DataFrame, name: str) -> list[Row]:
    """The table as one row a cell of a label; rows without a text and without a label are left out."""
    empty = {"", *about.skipped}

    def cell(value: str | None) -> str | None:
        stripped = (value or "").strip()
        return None if stripped in empty else stripped

    rows: list[Row] = []
    if about.columns:
        for row, (text, *cells) in enumerate(table.select(name, *about.columns).iter_rows(), 1):
            rows += [(row, text, who, cell(one)) for who, one in zip(about.columns, cells, strict=True)]
    else:
        columns = table.select(name, about.annotator, about.label)
        for row, (text, who, one) in enumerate(columns.iter_rows(), 1):
            rows.append((row, text, (who or "").strip(), cell(one)))
    return [one for one in rows if one[1] or one[3] is not None]


def _meanings(about: People, rows: Sequence[Row]) -> list[tuple[int, str, str, Label]]:
    """Rows with what their cells mean, skipped cells left out.

    Raises:
        PlanError: a cell is no label, or a label has no annotator.
    """
    from trustgauge.data.tables import fault, rows_in_words, short

    means = {cell.strip(): label for cell, label in about.labels.items()}
    if about.labels == LABELS:
        means |= {f"{cell}.0": label for cell, label in LABELS.items()} | {"+1": 1}
    unknown: dict[str, list[int]] = {}
    found = []
    nobody = []
    for row, text, who, cell in rows:
        if cell is None or not text:
            continue
        if not who:
            nobody.append(row)
        if cell not in means:
            unknown.setdefault(cell, []).append(row)
        else:
            found.append((row, text, who, means[cell]))
    if unknown:
        cell, where = next(iter(unknown.items()))
        raise fault(
            about.file,
            "labels",
            f"unknown label in {rows_in_words(sorted(set(where)))}",
            must=f"one of: {', '.join(about.labels)}",
            got=short(cell),
            do="Give its meaning in `labels`, or list it in `skipped` if it is not a label",
        )
    if nobody:
        raise fault(about.file, "annotator", f"no annotator in {rows_in_words(nobody)}")
    return found


def _each(
    about: People, found: Sequence[tuple[int, str, str, Label]]
) -> Mapping[str, dict[str, list[Label]]]:
    """Text -> annotator -> labels: one, unless `repeats` lets several count.

    Raises:
        PlanError: an annotator gave a text two different labels, and they are not pooled.
    """
    from trustgauge.data.tables import fault, short

    given: dict[str, dict[str, list[Label]]] = defaultdict(dict)
    first: dict[tuple[str, str], tuple[int, Label]] = {}
    for row, text, who, label in found:
        before, was = first.setdefault((text, who), (row, label))
        if about.repeats == "pool":
            given[text].setdefault(who, []).append(label)
        elif was != label:
            raise fault(
                about.file,
                "repeats",
                f"{who} gave {short(text)} two labels, in rows {before} and {row}",
                got=f"{was} and {label}",
                do='Correct the file, or let both count with `repeats = "pool"`',
            )
        else:
            given[text][who] = [label]
    return given
