"""Audits: what people (or a measured model) read in a sample of a run's own answers (methods 0.10 (4)).

A method says what can be labelled (`methods.method.AuditUser`); here is what the labels of a service are, and
what they say of the reader that read all of its answers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from trustgauge.records import Json, Reason
from trustgauge.stats.distributions import wilson
from trustgauge.stats.misclassification import Detection

SAMPLE = 200
"""Answers of an audit by default."""
PER_STRATUM = 30
"""Answers that a stratum which carries the level has at least."""
FEWEST_ITEMS = 30
"""Labelled items of a kind (answers, or comparisons of several) below which they settle nothing."""
LARGEST_DEFAULT = 600
"""Answers that are drawn at most where nobody says how many."""
FEWEST = 100
"""Labelled answers below which an audit settles nothing."""
LABELS_OF_EACH = 2
"""Answers that are labelled of those that are read together."""
GAPS = "audit-gaps"
"""Code of the reason that labellers passed drawn answers over."""
UNCLEAR = "unclear"
"""Label of an answer that people cannot decide, where that says nothing of it."""
PASSED_OVER = "passed-over"
"""In place of the label of an answer that was passed over, where a method bounds what it may be."""
OPEN_LABELS = (UNCLEAR, PASSED_OVER)
STEPS = 16
"""In so many steps, alike in ratio, it is found how many more labels would settle a level."""
READER, ELEMENT, FINE, COARSE, CARRIES, UNREAD = "reader", "element", "stratum", "class", "carries", "unread"
ALIKE = "alike"
AUDIT_FRAME: dict[str, pl.DataType | type[pl.DataType]] = {
    "part": pl.String,
    "id": pl.String,
    READER: pl.String,
    ELEMENT: pl.String,
    FINE: pl.String,
    COARSE: pl.String,
    UNREAD: pl.Boolean,
    CARRIES: pl.Boolean,
    ALIKE: pl.String,
    "kind": pl.String,
    "a": pl.String,
    "b": pl.String,
    "question": pl.String,
    "answer": pl.String,
}
"""Columns of what can be labelled, a row an answer.

`reader` names what read it, where a method has several: each has a sample of its own. `element` names what
is drawn together, and counts only if all of its answers are labelled; `stratum` and
`class` tell the stratum, and within what strata are pooled; `unread` whether the reader abstained; `carries`
whether the level rests on it; `alike` what answers have in common that are read together, "" where one is
read for itself; `kind` the set of labels (`AuditUser.audit_choices`). The words of labels may hold the names
`a` and `b`. `question` and `answer` are the texts.
"""


@dataclass(frozen=True, slots=True)
class Choice:
    """One label of a kind of answer: as it is kept, and in words, in which {a} and {b} stand for names."""

    label: str
    words: str


@dataclass(frozen=True, slots=True)
class SampleGaps:
    """What the labellers of a sample passed over (methods 0.10 (4)).

    A sample is labelled in the order of the lot, so those who stop early leave a smaller sample; an answer
    that was passed over is missing, and not by chance.

    Attributes:
        places: (part, id of the probe) of answers without a label before the last one with a label.
        reached: answers of the sample up to that one.
    """

    places: frozenset[tuple[str, str]]
    reached: int

    def reason(self) -> Reason:
        """Why no level is settled by the labels beside them."""
        return Reason(GAPS, {"blank": len(self.places), "reached": self.reached})


@dataclass(frozen=True, slots=True)
class AuditLabels:
    """The labels of one service's answers.

    Attributes:
        labels: (part, id of the probe) -> label, of answers drawn by lot.
        sampled: answers that were drawn by lot.
        labellers: how many people, or models, gave labels.
        twice: answers that two or more of them labelled.
        kappa: their agreement beyond chance; None where it is undefined.
        unresolved: answers that two read differently and that no third has read.
        judge: the service that gave the labels; "" for people.
        accuracy: labelled items on which that judge was measured; None for people.
        table: the same by true class and by what the judge said, [K, K], where it tells several classes;
            empty for people.
        unread: likewise of those drawn because the reader had abstained from them: no sample of all.
        gaps: what was passed over, by what read it (`READER`); nothing where nothing was.
    """

    labels: Mapping[tuple[str, str], str]
    sampled: int
    labellers: int = 1
    twice: int = 0
    kappa: float | None = None
    unresolved: int = 0
    judge: str = ""
    accuracy: Detection | None = None
    table: tuple[tuple[int, ...], ...] = ()
    unread: Mapping[tuple[str, str], str] = field(default_factory=dict)
    gaps: Mapping[str, SampleGaps] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReaderErrors:
    """What a labelled sample says of the reader, weighted to all answers.

    Attributes:
        n: labelled answers.
        sensitivity, specificity: shares of the answers with what is looked for that the reader found, and of
            the others that it passed; None where there are none. Of an unread answer nothing was found.
        positives, negatives: labelled answers with and without it.
    """

    n: int
    sensitivity: float | None
    specificity: float | None
    positives: int
    negatives: int

    def facts(self) -> dict[str, Json]:
        """As JSON, with Wilson's intervals over the labelled answers."""
        entry: dict[str, Json] = {"n": self.n}
        for name, value, n in (
            ("sensitivity", self.sensitivity, self.positives),
            ("specificity", self.specificity, self.negatives),
        ):
            low, high = wilson(value * n, n) if value is not None and n else (None, None)
            entry[name] = value
            entry[f"{name}_interval"] = [low, high]
        return {**entry, "positives": self.positives, "negatives": self.negatives}


def reader_errors(found: ArrayLike, true: ArrayLike, weights: ArrayLike) -> ReaderErrors:
    """Sensitivity and specificity of a reader from labelled answers.

    Args:
        found: whether the reader found what is looked for, [n].
        true: whether the label says that it is there, [n].
        weights: answers that each one stands for, [n].
    """
    saw, there = np.asarray(found, dtype=bool), np.asarray(true, dtype=bool)
    weight = np.asarray(weights, dtype=np.float64)

    def share(of: np.ndarray, where: np.ndarray) -> float | None:
        total = float(weight[where].sum())
        return float(weight[where & of].sum() / total) if total else None

    return ReaderErrors(
        len(saw), share(saw, there), share(~saw, ~there), int(there.sum()), int((~there).sum())
    )


@dataclass(frozen=True)
class InstrumentFacts:
    """What a rating says of the reader of its answers (methods 0.10).

    Attributes:
        labels: of an audit; None if there was none.
        errors: what these say of the reader.
        unread: answers that the reader abstained from.
        read: answers that it read.
        styles: read answers by style, where the method tells styles.
        audited: whether the level rests on the labels.
        by_people: answers that the reader abstained from and that count as people read them.
        of_wordings: answers that count as people read others of the same wording.
    """

    labels: AuditLabels | None = None
    errors: ReaderErrors | None = None
    unread: int = 0
    read: int = 0
    styles: Mapping[str, int] = field(default_factory=dict)
    audited: bool = False
    by_people: int = 0
    of_wordings: int = 0

    def facts(self) -> dict[str, Json]:
        """As the rating document has them, under `details.instrument`."""
        total = self.unread + self.read
        entry: dict[str, Json] = {
            "audited": self.audited,
            "unread": self.unread,
            "unread_share": self.unread / total if total else 0.0,
        }
        if self.by_people:
            entry["by_people"] = self.by_people
        if self.of_wordings:
            entry["of_wordings"] = self.of_wordings
        if self.styles:
            entry["styles"] = dict(self.styles)
        if self.labels is not None:
            names = ("sampled", "labellers", "twice", "kappa", "unresolved", "judge")
            entry |= {name: getattr(self.labels, name) for name in names}
        if self.errors is not None:
            entry |= self.errors.facts()
        return {"words": self.words, **entry}

    @property
    def words(self) -> str:
        """In one line: "audited n=200, se .93, sp .98" or "not audited"."""
        if not self.audited or self.errors is None:
            return "not audited"
        se, sp = (
            "-" if one is None else f"{one:.2f}" for one in (self.errors.sensitivity, self.errors.specificity)
        )
        return f"audited n={self.errors.n}, se {se}, sp {sp}"


def more_labels(labelled: int, answers: int, settles: Callable[[float], bool]) -> dict[str, Json]:
    """What the reason of an audited rating that is not settled says of more labels (methods 0.10 (4)).

    What was found is taken to stay, and the errors of the labels to fall with the root of their number.

    Args:
        labelled: answers with a label.
        answers: all that can have one.
        settles: whether a level is settled if the errors of the labels are this share of what they are.

    Returns:
        `to_label`: how many answers in all must have one to settle a level, about; or `all_labels`: how many
        answers there are, if labels of all of them would not.

    >>> more_labels(200, 3200, lambda errors: errors < 0.6)
    {'to_label': 566}
    >>> more_labels(200, 3200, lambda errors: False)
    {'all_labels': 3200}
    """
    if not settles(0.0):
        return {"all_labels": answers}

    def times(step: int) -> float:
        """From one step more labels than there are to labels of all."""
        return float((answers / labelled) ** ((step + 1) / STEPS))

    step = bisect_left(range(STEPS - 1), x=True, key=lambda one: settles(times(one) ** -0.5))
    return {"to_label": round(labelled * times(step))}
