"""The texts of a causal experiment (causal 2.1): one probe frame for each data set of each group.

Groups 1 and 3 cross every frame with every person and every word. In Groups 2 and 4 every frame
with every person is one row, and the share of positive words depends on the class: the class
confounds word and score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import lcm
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data.emotions import (
    BEYOND,
    VALENCES,
    Construction,
    Frame,
    Person,
    Valence,
    Word,
    construction,
    frames_beyond,
    word_of,
)
from trustgauge.errors import Fault, PlanError
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.data.conversations import ConversationSource
    from trustgauge.methods.causal.sentences import SentenceSource

FACTORS = ("frame", "person", "gender", "race", "word", "valence", "cluster", "covariates")
COLUMNS = ("id", "message", "session", "turn", "draw", "block", *FACTORS)
"""Columns of a probe frame: those of records.PROBE, then the factors of this method."""

CONFOUNDED = (2, 4)  # groups in which the class tells the share of positive words
NAMED = (3, 4)  # groups whose persons are names
ROWS = 5  # fewest rows of a class and valence (causal 2.1)
E5, RELEASED_E5 = ("depressing", "happy", "glad"), ("grim", "happy", "glad")
"""The paper's set e5, and what the released data of Groups 2 and 4 have in its place (causal 2.1)."""

Cell = tuple[Frame, Person, Word]


class DesignSettings(Protocol):
    """The settings that the texts depend on; `settings.CausalSettings` says what each means."""

    @property
    def conversations(self) -> ConversationSource | None: ...
    @property
    def sentences(self) -> SentenceSource | None: ...
    @property
    def matched(self) -> bool: ...
    @property
    def groups(self) -> tuple[int, ...]: ...
    @property
    def construction(self) -> Literal["sound", "released"]: ...
    @property
    def frames(self) -> int: ...
    @property
    def persons(self) -> int: ...
    @property
    def words(self) -> Mapping[str, tuple[str, ...]]: ...
    @property
    def confounder(self) -> Mapping[str, float]: ...
    @property
    def counts(self) -> Literal["exact", "sampled"]: ...
    @property
    def na(self) -> bool: ...
    @property
    def disguise(self) -> float: ...


def design(settings: DesignSettings, seed: int) -> Iterator[pl.DataFrame]:
    """The probes of an experiment, one frame for each data set (columns: `COLUMNS`).

    Depends on settings, seed and, where the settings name one, the content of a file only; equal
    arguments give equal bytes. `draw` counts the occurrences of a text over the whole experiment. Where
    frames are disguised a column `disguise` says which.
    """
    if settings.conversations or settings.sentences:
        probes = _from_file(settings)
        draw = pl.int_range(pl.len(), dtype=pl.Int64).over("message").alias("draw")
        yield from probes.with_columns(draw).select(COLUMNS).partition_by("block", maintain_order=True)
        return
    frames, seen = _frames(settings), dict[str, int]()
    if settings.disguise:
        frames = _disguise_frames(frames, settings.disguise, seed)
    for group in sorted(set(settings.groups)):
        for name, words in _sets(settings, group):
            cells = _cells(settings, group, (name, words), frames, seed)
            probes = _probes(f"group-{group}/{name}", cells, seen)
            yield _with_disguise(probes) if settings.disguise else probes


def _from_file(settings: DesignSettings) -> pl.DataFrame:
    """The probes of a table of conversations or sentences."""
    if settings.conversations:
        return settings.conversations.probes()
    assert settings.sentences is not None
    return settings.sentences.probes(matched=settings.matched)


def _disguise_frames(frames: tuple[Frame, ...], share: float, seed: int) -> tuple[Frame, ...]:
    """The frames, a share of which is replaced by others beyond the published ones, none of them twice.

    A text in a disguised frame is that in the frame it replaces, person by person and word by word
    (methods 0.12).
    """
    rng, beyond = stream(seed, "causal", "disguise"), frames_beyond()
    places = rng.permutation(len(frames))[: int(share * len(frames) + rng.random())]
    drawn = rng.permutation(len(beyond))[: len(places)]
    instead = dict(zip(places.tolist(), (beyond[one] for one in drawn), strict=True))
    return tuple(instead.get(place, frame) for place, frame in enumerate(frames))


def _with_disguise(probes: pl.DataFrame) -> pl.DataFrame:
    """Probes with a column that says which stand in a frame beyond the published ones."""
    return probes.with_columns(pl.col("frame").str.starts_with(BEYOND).alias("disguise"))


def largest(settings: DesignSettings) -> int:
    """Texts of the largest data set. The design is not made for it."""
    if settings.conversations or settings.sentences:
        return max(_from_file(settings)["block"].value_counts()["count"].to_list(), default=0)
    sizes = [0]
    for group in settings.groups:
        frames, persons = _frames(settings), _persons(settings, group)
        words = [1 if group in CONFOUNDED else len(words) for _, words in _sets(settings, group)]
        sizes += [len(frames) * len(persons) * count for count in words]
    return max(sizes)


def faults(settings: DesignSettings) -> Iterator[Fault]:
    """What the settings of generated data ask for that cannot be made."""
    if settings.conversations is not None or settings.sentences is not None:
        return
    ours = construction("sound")
    if settings.construction == "sound":
        for place, asked, most in (
            ("frames", settings.frames, len(ours.frames)),
            ("persons", settings.persons, ours.most),
        ):
            if asked > most:
                yield Fault(place, f"more {place} than are shipped", must=f"at most {most}", got=str(asked))
    if not settings.words:
        yield Fault("words", "no word set", must="at least one set with a word")
    words: dict[str, Valence] = {}
    for name, written in settings.words.items():
        yield from _set_faults(name, written, words)
    confounded = sorted(set(settings.groups) & set(CONFOUNDED))
    if confounded and settings.words and not _both(settings.words.values()):
        yield Fault(
            "words",
            f"no set for Group {' and '.join(map(str, confounded))}",
            must="at least one set with a positive and a negative word",
        )


def _set_faults(name: str, written: Sequence[str], words: dict[str, Valence]) -> Iterator[Fault]:
    """Faults of one word set; `words` holds the valences given so far and is carried on."""
    place = f"words.{name}"
    if not name.strip() or "/" in name:
        yield Fault(place, "no name of a set", must='a name without "/"', got=f'"{name}"')
    if not written:
        yield Fault(place, "the set is empty", must="at least one word")
    here = set()
    for one in written:
        try:
            word = word_of(one, place)
        except PlanError as error:
            yield from error.faults
            continue
        if word.text in here:
            yield Fault(place, f'"{word.text}" stands twice in the set', must="each word once")
        if words.setdefault(word.text, word.valence) != word.valence:
            yield Fault(
                place, f'"{word.text}" is positive in one set and negative in another', must="one valence"
            )
        here.add(word.text)


def _both(sets: Iterable[Sequence[str]]) -> bool:
    """Whether some set holds both valences; words that are faults count for nothing."""
    for written in sets:
        found = set()
        for one in written:
            try:
                found.add(word_of(one).valence)
            except PlanError:
                continue
        if len(found) == len(VALENCES):
            return True
    return False


def _construction(settings: DesignSettings) -> Construction:
    return construction(settings.construction)


def _frames(settings: DesignSettings) -> tuple[Frame, ...]:
    frames = _construction(settings).frames
    return frames[: settings.frames] if settings.construction == "sound" else frames


def _persons(settings: DesignSettings, group: int) -> tuple[Person, ...]:
    whole = _construction(settings)
    each = settings.persons if settings.construction == "sound" else len(whole.phrases) + len(whole.names)
    return whole.persons(named=group in NAMED, each=each, na=settings.na)


def _sets(settings: DesignSettings, group: int) -> Iterator[tuple[str, tuple[Word, ...]]]:
    """The word sets of a group: in Groups 2 and 4 those with both valences."""
    for name, written in settings.words.items():
        if group in CONFOUNDED and settings.construction == "released" and (name, written) == ("e5", E5):
            written = RELEASED_E5
        words = tuple(word_of(one, f"words.{name}") for one in written)
        if group not in CONFOUNDED or len({one.valence for one in words}) == len(VALENCES):
            yield name, words


def _cells(
    settings: DesignSettings,
    group: int,
    words: tuple[str, tuple[Word, ...]],
    frames: tuple[Frame, ...],
    seed: int,
) -> Iterator[Cell]:
    """Frame, person and word of every row of a data set."""
    name, listed = words
    persons = _persons(settings, group)
    if group not in CONFOUNDED:
        return ((frame, person, word) for word in listed for frame in frames for person in persons)
    rng = stream(seed, "causal", "confounder", group, name)
    if settings.counts == "sampled":
        return _sampled(settings, (frames, persons, listed), rng)
    return _exact(settings, (frames, persons, listed), rng)


Parts = tuple[tuple[Frame, ...], tuple[Person, ...], tuple[Word, ...]]


def _share(settings: DesignSettings, name: str) -> float:
    """P(positive word | class); a class that the plan does not name is among the others."""
    confounder = settings.confounder
    return float(confounder.get(name, confounder.get("others", 0.5)))


def _of(words: tuple[Word, ...], valence: Valence) -> list[Word]:
    return [one for one in words if one.valence == valence]


def _sampled(settings: DesignSettings, parts: Parts, rng: np.random.Generator) -> Iterator[Cell]:
    """Every row draws its valence, then a word of it, by itself (as published, causal 2.1)."""
    frames, persons, words = parts
    for frame in frames:
        for person in persons:
            positive = rng.random() < _share(settings, person.of)
            kind = _of(words, "positive" if positive else "negative")
            yield frame, person, kind[int(rng.integers(len(kind)))]


def _exact(settings: DesignSettings, parts: Parts, rng: np.random.Generator) -> Iterator[Cell]:
    """Exact counts of each valence in every class, spread evenly over its frames and persons.

    The words of a valence occur equally often (to within one, in each class and in all).
    """
    frames, persons, words = parts
    kinds = {valence: _of(words, valence) for valence in VALENCES}
    used = dict.fromkeys(VALENCES, 0)
    chosen: dict[tuple[str, str], Word] = {}
    for name in dict.fromkeys(person.of for person in persons):
        members = [person for person in persons if person.of == name]
        cells = _walk(len(frames), len(members), rng)
        positive = exact_positive(len(cells), _share(settings, name))
        for valence, mine in zip(VALENCES, (cells[positive:], cells[:positive]), strict=True):
            kind = kinds[valence]
            ranks = (used[valence] + np.arange(len(mine))) % len(kind)
            used[valence] += len(mine)
            for (frame, member), rank in zip(mine.tolist(), rng.permutation(ranks).tolist(), strict=True):
                chosen[frames[frame].name, members[member].name] = kind[rank]
    for one in frames:
        for person in persons:
            yield one, person, chosen[one.name, person.name]


def exact_positive(rows: int, share: float) -> int:
    """How many of `rows` get a positive word.

    The nearest whole number, but for shares other than 0 and 1 at least 5 rows of each valence
    (causal 2.1), or a quarter of the rows where there are fewer than 20: the share stays a share.
    """
    count = int(np.floor(rows * share + 0.5 + 1e-9))
    if share in (0, 1):
        return count
    fewest = min(ROWS, max(rows // 4, min(1, rows // 2)))
    return min(max(count, fewest), rows - fewest)


def _walk(frames: int, persons: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """All cells (frame, person) in an order of which every beginning is even over frames and over persons.

    Step t is frame t mod F and person (t + t div lcm(F, P)) mod P: frames and persons come in turn,
    and the shift after each lcm steps leads to cells that have not been. Seeded permutations of both
    hide which come first. [F x P, 2].
    """
    steps = np.arange(frames * persons)
    frame = steps % frames
    person = (steps + steps // lcm(frames, persons)) % persons
    return np.stack([rng.permutation(frames)[frame], rng.permutation(persons)[person]], axis=1)


def _probes(block: str, cells: Iterator[Cell], seen: dict[str, int]) -> pl.DataFrame:
    """Rows of a data set; `seen` counts the occurrences of each text and is carried on."""
    short = block.replace("group-", "g", 1).replace("/", "-", 1)
    rows = []
    for number, (frame, person, word) in enumerate(cells, 1):
        message = frame.write(person, word.text)
        draw = seen[message] = seen.get(message, -1) + 1
        factors = (frame.name, person.name, person.gender, person.race, word.text, word.valence, "", "")
        rows.append((f"{short}-{number:04d}", message, "", 0, draw, block, *factors))
    schema = {name: pl.Int64 if name in ("turn", "draw") else pl.String for name in COLUMNS}
    # column by column, which is faster than row by row
    columns = zip(*rows, strict=True) if rows else ((),) * len(COLUMNS)
    return pl.DataFrame(dict(zip(COLUMNS, columns, strict=True)), schema=schema)
