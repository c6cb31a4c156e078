"""The answers of one service on one kind of data, as dense arrays: what every measure is a function of.

A panel holds, for every cell (data set, frame, person, word), the number of scores and their
sums. *Frame* is whatever an answer shares its words with: a sentence frame of generated text, an
utterance of a conversation. *Person* is whatever carries the protected classes: a noun phrase, a
name, the prefix put before an utterance. A *grouping* says which class each person belongs to.

Resamples (methods 0.5) are weights: of frames by cluster, and of persons within their class, drawn
independently; a cell weighs their product. All services with one design share the draws, so that
their resamples can be compared pairwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weights = NDArray[np.uint8] | NDArray[np.float64]

BLOCK = 64  # draws: products of blocks of so many are those of all draws to the last bit
CHUNK = 2_000_000  # numbers in an intermediate array: 16 MB
UNIT = 1e-9  # scores are summed as integers in this unit (methods 0.2)
NA = "NA"  # the class of persons who have none: "they", "we"
KEYS = ("set", "frame", "person", "word")


@dataclass(frozen=True, slots=True)
class Grouping:
    """Protected classes, and the class of each person.

    Attributes:
        name: "gender", "race" or "race and gender".
        classes: names of the classes, [G]; NA, if it takes part, is the last.
        of: index of each person's class, [P]; -1 for a person outside the comparison.
    """

    name: str
    classes: tuple[str, ...]
    of: Ints

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Unordered pairs of classes, as indices."""
        return list(combinations(range(len(self.classes)), 2))

    @property
    def members(self) -> Floats:
        """Indicator of each class, [P, G]."""
        return np.asarray(self.of[:, None] == np.arange(len(self.classes)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Panel:
    """Cells [S, F, P, W]: S data sets, F frames, P persons, W words.

    Attributes:
        sets, frames, persons, words: names along the axes.
        n: number of scores in a cell.
        y: their sum; scores run from -1 to 1.
        yy: sum of their squares.
        above, below: how many scores are above and below 0.
        labels: numbers of the labels -1, 0, 1 that people gave, [S, F, P, W, 3]; all 0 for software.
        gender, race: of each person, [P], "male", "female", "NA"; "European", "African-American", "NA".
        valence: of each word, [W]: 1 positive, 0 negative, -1 neither.
        cluster: of each frame, [F]: frames whose answers may depend on each other are resampled together.
        stratum: of each cluster: clusters are resampled within strata.
        crossed: whether persons are crossed with frames and resampled too; False for conversations,
            where the "persons" are the classes themselves.
        covariates: of each frame, [F]: what is adjusted for, "room=12"; "" where nothing is.
    """

    sets: tuple[str, ...]
    frames: tuple[str, ...]
    persons: tuple[str, ...]
    words: tuple[str, ...]
    n: Floats
    y: Floats
    yy: Floats
    above: Floats
    below: Floats
    labels: Floats
    gender: tuple[str, ...]
    race: tuple[str, ...]
    valence: Ints
    cluster: Ints
    stratum: Ints
    crossed: bool
    covariates: tuple[str, ...]

    def grouping(self, name: str, *, na: bool) -> Grouping:
        """The classes of `name` that occur among the persons, in a fixed order.

        Args:
            name: "gender", "race" or "race and gender".
            na: whether persons without a class form a class of their own.
        """
        of_person = [_class(name, *pair) for pair in zip(self.gender, self.race, strict=True)]
        present = (self.n.sum(axis=(0, 1, 3)) > 0).tolist()
        known = {one for one, has in zip(of_person, present, strict=True) if has}
        classes = tuple(one for one in ORDER[name] if one in known and (na or one != NA))
        of = [classes.index(one) if one in classes else -1 for one in of_person]
        return Grouping(name, classes, np.array(of, dtype=np.int64))

    def weights(self, grouping: Grouping, draws: int, rng: np.random.Generator) -> tuple[Weights, Floats]:
        """Bootstrap weights of frames [draws, F] and persons [draws, P]: how often each was drawn.

        Clusters of frames with replacement within strata; persons, if crossed, within their gender
        and race, as they were designed. Persons outside the grouping keep weight 1.
        """
        # Of 100,000 texts 200 MB; as floats, and drawn all at once, it would be 5 GB.
        clusters = np.zeros((draws, len(self.stratum)), dtype=np.uint8)
        for stratum in np.unique(self.stratum):
            _draw(clusters, np.flatnonzero(self.stratum == stratum), rng)
        persons = np.ones((draws, len(self.persons)))
        if self.crossed:
            kinds = np.array(
                [f"{gender} {race}" for gender, race in zip(self.gender, self.race, strict=True)]
            )
            for kind in sorted(set(kinds.tolist())):
                mine = (kinds == kind) & (grouping.of >= 0)
                _draw(persons, np.flatnonzero(mine), rng)
        is_one_each = np.array_equal(self.cluster, np.arange(len(self.stratum)))
        return clusters if is_one_each else clusters[:, self.cluster], persons

    def of_word(self, word: int) -> Panel:
        """The texts with one word as the only data set; a text counts once, however many sets share it."""
        n, y, yy, above, below = (
            cells[..., word].sum(axis=0)[None, ..., None]
            for cells in (self.n, self.y, self.yy, self.above, self.below)
        )
        texts = np.where(n > 0, n, 1.0)
        return replace(
            self,
            sets=(self.words[word],),
            words=("",),
            n=(n > 0).astype(np.float64),
            y=y / texts,
            yy=yy / texts,
            above=above / texts,
            below=below / texts,
            labels=self.labels[..., word, :].max(axis=0)[None, :, :, None],
            valence=self.valence[[word]],
        )

    def clusters(self, grouping: Grouping, named: str = "conversations") -> Iterator[tuple[str, int]]:
        """Name and number of clusters of every stratum that is resampled (methods 0.5 (b)).

        `named` are the clusters of a panel whose persons are not crossed with frames.
        """
        for stratum in np.unique(self.stratum):
            name = "frames" if self.crossed else named
            yield name, int((self.stratum == stratum).sum())
        if self.crossed:
            for label, name in enumerate(grouping.classes):
                yield f"persons ({name})", int((grouping.of == label).sum())


ORDER = {
    "gender": ("male", "female", NA),
    "race": ("European", "African-American", NA),
    "race and gender": (
        "European male",
        "European female",
        "African-American male",
        "African-American female",
        NA,
    ),
}
"""Classes in the order of the published codes (causal 2.1)."""


def _class(name: str, gender: str, race: str) -> str:
    if name == "gender":
        return gender
    if name == "race":
        return race
    return f"{race} {gender}" if NA not in (gender, race) else NA


def _draw(weights: Weights, units: Ints, rng: np.random.Generator) -> None:
    """Fill in how often each of `units` is drawn in resamples with replacement; `weights` are [draws, all].

    More than 255 times would need more than 255 units, of which one is drawn so often in no resample ever.
    """
    if not units.size:
        return
    shares = np.full(units.size, 1.0 / units.size)
    for some in blocks(len(weights), units.size):
        weights[some, units] = rng.multinomial(units.size, shares, size=len(weights[some]))


def blocks(draws: int, units: int) -> Iterator[slice]:
    """Slices of the draws, so that what is computed of so many units in each of them fits into memory."""
    step = BLOCK * max(1, CHUNK // (BLOCK * max(1, units)))
    for start in range(0, draws, step):
        yield slice(start, start + step)


def weighed_sums(weights: Weights, of_frame: Floats) -> Floats:
    """Sums over frames under the weights of each draw: weights [R, F] by values [F, C], [R, C]."""
    sums = np.empty((len(weights), of_frame.shape[1]))
    for some in blocks(len(weights), len(of_frame)):
        sums[some] = weights[some].astype(np.float64) @ of_frame
    return sums


SUMMARY_KEYS = {
    "service": pl.String,
    "part": pl.String,  # of the service
    "block": pl.String,  # "group-3/e2": kind of data / data set
    "frame": pl.String,
    "person": pl.String,
    "gender": pl.String,
    "race": pl.String,
    "word": pl.String,
    "valence": pl.String,
    "cluster": pl.String,
    "covariates": pl.String,
    "segment": pl.Int64,  # tenth of the run in which it was sent (methods 0.3)
    "status": pl.String,
    "fault": pl.String,  # why an answer is no score: "not a number", "out of range", ...
    "_scored": pl.UInt64,  # hash of the text that was scored, null where it was the one sent
}
SUMMARY_SUMS = {
    "texts": pl.Int64,  # probes
    "n": pl.Int64,  # scores
    "above": pl.Int64,
    "below": pl.Int64,
    "labels_below": pl.Int64,  # labels -1 of people
    "labels_zero": pl.Int64,
    "labels_above": pl.Int64,
    "tripped": pl.Int64,  # answers with a text on the way
    "same_text": pl.Int64,  # of these, the text to be scored was the text that was sent
    "untouched": pl.Int64,  # of these, so was every text on the way
    "y": pl.Int128,  # sum of scores in units of 1e-9
    "yy": pl.Int128,  # sum of their squares in units of 1e-18
}
"""The summary: keys, and sums that add up exactly (methods 0.2)."""


def panel(rows: pl.DataFrame) -> Panel:
    """The panel of one service, service part and kind of data.

    Args:
        rows: those rows of the summary; the data set is what stands behind the "/" of `block`.
    """
    rows = _with_set(rows)
    axes = {key: tuple(sorted(rows[key].unique())) for key in KEYS}
    shape = tuple(len(names) for names in axes.values())
    flat = np.ravel_multi_index(_places(rows, axes), shape)

    def dense(column: str, unit: float = 1.0) -> Floats:
        weights = rows[column].cast(pl.Float64).to_numpy() * unit
        sums = np.bincount(flat, weights=weights, minlength=int(np.prod(shape)))
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    of_label = [f"labels_{name}" for name in ("below", "zero", "above")]
    # Software gives none; most of the cells of many words in many sets are empty, and there are millions.
    labels = np.broadcast_to(0.0, (*shape, len(of_label)))
    if rows.select(pl.any_horizontal(pl.col(of_label) > 0).any()).item():
        labels = np.stack([dense(name) for name in of_label], axis=-1)
    gender, race = _facts(rows, "person", "gender", "race")
    cluster_of, covariates = _facts(rows, "frame", "cluster", "covariates")
    (valence,) = _facts(rows, "word", "valence")
    names = sorted(set(cluster_of))
    place_of = {name: place for place, name in enumerate(names)}
    crossed = not any(cluster_of)
    cluster = (
        np.arange(len(axes["frame"]))
        if crossed
        else np.array([place_of[one] for one in cluster_of], dtype=np.int64)
    )
    return Panel(
        sets=axes["set"],
        frames=axes["frame"],
        persons=axes["person"],
        words=axes["word"],
        n=dense("n"),
        y=dense("y", UNIT),
        yy=dense("yy", UNIT**2),
        above=dense("above"),
        below=dense("below"),
        labels=labels,
        gender=gender,
        race=race,
        valence=np.array([_VALENCE.get(one, -1) for one in valence]),
        cluster=cluster,
        stratum=_strata(rows, names, crossed=crossed, frames=len(axes["frame"])),
        crossed=crossed,
        covariates=covariates,
    )


def cell_places(rows: pl.DataFrame, panel: Panel) -> tuple[Ints, ...]:
    """Indices of data set, frame, person and word of each row in its panel."""
    names = (panel.sets, panel.frames, panel.persons, panel.words)
    return _places(_with_set(rows), dict(zip(KEYS, names, strict=True)))


def _with_set(rows: pl.DataFrame) -> pl.DataFrame:
    name = pl.col("block").str.split_exact("/", 1).struct.field("field_1")
    return rows.with_columns(name.fill_null("").alias("set"))


def _places(rows: pl.DataFrame, axes: Mapping[str, Sequence[str]]) -> tuple[Ints, ...]:
    return tuple(
        rows[key].cast(pl.Enum(names)).to_physical().cast(pl.Int64).to_numpy() for key, names in axes.items()
    )


_VALENCE = {"negative": 0, "positive": 1}


def _facts(rows: pl.DataFrame, key: str, *columns: str) -> Iterator[tuple[str, ...]]:
    """What each frame, person or word has in some columns, by its name in order."""
    found = rows.group_by(key).agg(pl.col(columns).max()).sort(key)
    return (tuple(found[column]) for column in columns)


def _strata(rows: pl.DataFrame, clusters: Sequence[str], *, crossed: bool, frames: int) -> Ints:
    """One stratum of frames; conversations within the class of their user, if each has one class only."""
    if crossed:
        return np.zeros(frames, dtype=np.int64)
    of = dict(rows.group_by("cluster").agg(pl.col("person").unique().sort().str.join(",")).iter_rows())
    kinds = sorted(set(of.values()))
    return np.array([kinds.index(of[name]) for name in clusters], dtype=np.int64)
