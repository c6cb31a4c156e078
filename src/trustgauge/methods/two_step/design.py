"""The texts of a two-step experiment (two-step 1.2): skeletons, value counts, probes in batches.

A *skeleton* is a text without its values: a sentence pattern, and an item (and, where words are
given as a list, a word rank) for each sentence. Skeleton number t is the same in every block, so
that blocks differ in values only, and can be computed from t alone: the design holds no list of
texts and starts at once, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd, prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data import Attribute
from trustgauge.errors import MethodError
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.records import Task
from trustgauge.stats import stream

if TYPE_CHECKING:
    from trustgauge.methods.two_step.disguise import TextDisguise

BATCH = 4096  # texts of one batch: small enough to start quickly, large enough to be columns
MOST = 65_536  # probes of one batch, where texts are asked many times

PROBES: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "message": pl.String,
    "session": pl.String,
    "turn": pl.Int64,
    "draw": pl.Int64,
    "block": pl.String,
    "pattern": pl.String,
    "items": pl.List(pl.String),
    "values": pl.List(pl.Int8),
    "first": pl.Boolean,
    "first_in_block": pl.Boolean,
}
"""Columns of a probe frame: those of records.PROBE, then the factors of this method."""

DISGUISED = ("disguise", "before", "after")
"""Further columns where some texts are disguised; see `disguise`."""

WORDS = "words"
"""Further column where words of values are given as lists: the word of each mention, which clusters it."""

Integers = NDArray[np.int64]

LARGEST = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Skeletons:
    """The skeletons of an experiment, by number; none comes twice before all have come.

    The items stand in a seeded order. Within a run of as many texts as there are items, sentence 1
    goes once through all items, and the items of the other sentences lie at fixed distances from
    it; the next run has other distances. So every item is used equally often, in every place.

    Attributes:
        items: indices of the items in seeded order, [I].
        patterns: indices of the patterns in seeded order, [P].
        ranks: W, how many words can stand for a value.
        mentions: k.
        start: where the walk through the distances begins.
        stride: its step, without a common factor with their number.
    """

    items: Integers
    patterns: Integers
    ranks: int
    mentions: int
    start: int
    stride: int

    @classmethod
    def draw(cls, sizes: tuple[int, int, int], mentions: int, rng: np.random.Generator) -> Skeletons:
        """Skeletons over (number of items, of patterns, of ranks)."""
        items, patterns, ranks = sizes
        count = _arrangements(items, mentions)
        stride = 1 + _below(count, rng)
        while gcd(stride, count) > 1:
            stride = stride % count + 1
        return cls(
            rng.permutation(items),
            rng.permutation(patterns),
            ranks,
            mentions,
            _below(count, rng),
            stride,
        )

    @property
    def count(self) -> int:
        """How many different skeletons there are: I!/(I-k)! arrangements of items x P x W."""
        size = len(self.items)
        return size * _arrangements(size, self.mentions) * len(self.patterns) * self.ranks

    def take(self, texts: Integers) -> tuple[Integers, Integers, Integers]:
        """Skeletons number `texts` [n]: patterns [n], items [n, k], word ranks [n, k]."""
        size = len(self.items)
        arrangements = min(_arrangements(size, self.mentions), LARGEST)  # no text has a larger number
        position, run = texts % size, texts // size
        turn, rest = run % arrangements, run // arrangements % (len(self.patterns) * self.ranks)
        # `turn` and `rest` shift ranks and patterns so that neighbouring texts differ in all.
        rank = (position + turn + rest % self.ranks) % self.ranks
        pattern = (position + turn + rest // self.ranks) % len(self.patterns)
        places = (position[:, None] + self._distances(turn)) % size
        ranks = (rank[:, None] + np.arange(self.mentions)) % self.ranks
        return self.patterns[pattern], self.items[places], ranks

    def _distances(self, turn: Integers) -> Integers:
        """Distances of the sentences' items from the first one's, different and not 0: [n, k]."""
        size, mentions = len(self.items), self.mentions
        count = _arrangements(size, mentions)
        # Python integers: the product may pass 64 bits when a text has many sentences.
        distinct, inverse = np.unique(turn, return_inverse=True)
        rows = [_unrank((self.start + int(one) * self.stride) % count, size, mentions) for one in distinct]
        return np.array(rows, dtype=np.int64).reshape(len(rows), mentions)[inverse.reshape(-1)]


def _below(count: int, rng: np.random.Generator) -> int:
    """A number from 0 up to `count`, which may pass 64 bits when a text has many sentences."""
    if count <= LARGEST:
        return int(rng.integers(count))
    return int.from_bytes(rng.bytes(count.bit_length() // 8 + 9), "big") % count


def _arrangements(size: int, mentions: int) -> int:
    """Ordered choices of k - 1 different distances out of size - 1."""
    return prod(range(size - mentions + 1, size))


def _unrank(number: int, size: int, mentions: int) -> list[int]:
    """Arrangement `number` as distances, the first of which is 0."""
    left = list(range(1, size))
    chosen = [0]
    for _ in range(mentions - 1):
        number, index = divmod(number, len(left))
        chosen.append(left.pop(index))
    return chosen


def exact_counts(shares: NDArray[np.float64], total: int) -> Integers:
    """Whole counts of a distribution by largest remainder (two-step 1.2); ties go to the earlier value.

    Args:
        shares: [C], adding up to 1.
        total: N.

    Returns:
        [C], adding up to N, each less than 1 away from N x share.
    """
    exact = shares * total
    # A share such as .1 x 30 must count as 3, not as 2.9999999999999996.
    counts = np.floor(exact + 1e-9).astype(np.int64)
    missing = total - int(counts.sum())
    order = np.argsort(-np.round(exact - counts, 9), kind="stable")
    counts[order[:missing]] += 1
    return counts


def block_values(settings: TwoStepSettings, seed: int, index: int) -> NDArray[np.int8]:
    """The values of all mentions of block `index`, int array [texts, k] (two-step 1.2)."""
    spec = settings.spec
    shares = spec.distributions[index]
    rng = stream(seed, "two-step", "values", spec.blocks[index])
    total = settings.texts * spec.mentions
    if settings.counts == "exact":
        values = np.repeat(np.arange(len(shares)), exact_counts(shares, total))
        rng.shuffle(values)
    else:
        values = rng.choice(len(shares), size=total, p=shares / shares.sum())
    return values.astype(np.int8).reshape(settings.texts, spec.mentions)


def design(settings: TwoStepSettings, seed: int, task: Task) -> Iterator[pl.DataFrame]:
    """The probes of all blocks, in batches (columns: `PROBES`).

    Depends on settings, seed and task only; equal arguments give equal bytes.

    Raises:
        MethodError: the attribute cannot be asked of a service with this task.
    """
    table = settings.table
    if task not in table.tasks:
        raise MethodError(
            f'a service that can "{task}" cannot be asked about {table.name}',
            must="one of: " + ", ".join(table.tasks),
            got=task,
            do="Choose another attribute (valence for scores), or a service with another task.",
        )
    return _batches(settings, seed, task)


def _batches(settings: TwoStepSettings, seed: int, task: Task) -> Iterator[pl.DataFrame]:
    spec, table = settings.spec, settings.table
    sizes = (len(table.item_list), len(settings.fitting), table.alternatives())
    skeletons = Skeletons.draw(sizes, spec.mentions, stream(seed, "two-step", "skeletons"))
    disguise = None
    writer = Writer(table, settings.fitting, task)
    if settings.disguise:
        from trustgauge.methods.two_step.disguise import TextDisguise  # only plans that ask for it

        disguise = TextDisguise.of(settings, seed)
        writer = Writer(disguise.table, disguise.patterns, task, disguise)
    seen: dict[str, int] = {}
    for index, block in enumerate(spec.blocks):
        values = block_values(settings, seed, index)
        in_block: set[str] = set()
        width = max(3, len(str(settings.texts)))
        step = min(BATCH, max(1, MOST // settings.repeats))
        for start in range(0, settings.texts, step):
            numbers = np.arange(start, min(start + step, settings.texts))
            frame = writer.frame(skeletons.take(numbers), values[numbers], numbers)
            ids = [f"{block}-{number + 1:0{width}d}" for number in numbers]
            yield _probes(frame, ids, block, settings.repeats, (seen, in_block))


def look_of(probes: pl.DataFrame, looks: int) -> pl.Series:
    """The look of each probe, from 1 to `looks`.

    The texts of a block that have the same values are dealt to the looks evenly, in the order in which they
    come, so that the texts up to each look are a design of their own.
    """
    place = pl.int_range(pl.len()).over("block", "values")
    return probes.select(look=place * looks // pl.len().over("block", "values") + 1).to_series()


def count_once(answers: pl.DataFrame) -> pl.DataFrame:
    """Answers up to a look, with the first of each text, and of each in its block, marked among these."""
    least = pl.col("draw") == pl.col("draw").min()
    return answers.with_columns(first=least.over("message"), first_in_block=least.over("message", "block"))


@dataclass(frozen=True)
class Writer:
    """Turns skeletons and values into texts. Each different sentence of a batch is written once."""

    table: Attribute
    patterns: tuple[str, ...]
    task: Task
    disguise: TextDisguise | None = None

    def frame(
        self,
        skeletons: tuple[Integers, Integers, Integers],
        values: NDArray[np.int8],
        numbers: Integers,
    ) -> pl.DataFrame:
        """Columns message, pattern, items, values, `WORDS` and those of a disguise: one row for each text.

        Args:
            skeletons: patterns, items and ranks of the texts.
            values: of their mentions.
            numbers: of the texts.
        """
        pattern, items, ranks = skeletons
        if self.disguise is not None:
            other = self.disguise.pattern[numbers]
            pattern = np.where(other < 0, pattern, other)
        names = self.table.item_list
        sizes = (len(self.patterns), len(names), len(self.table.values), self.table.alternatives())
        codes = np.ravel_multi_index(
            (np.repeat(pattern[:, None], items.shape[1], 1), items, values, ranks), sizes
        )
        distinct, inverse = np.unique(codes, return_inverse=True)
        inverse = inverse.reshape(codes.shape)
        written = [self._write(*indices) for indices in zip(*np.unravel_index(distinct, sizes), strict=True)]
        columns = [
            pl.Series(kind, each, dtype=pl.String).gather(inverse[:, slot]).alias(f"{kind} {slot}")
            for kind, each in zip(("sentence", "item", "word"), zip(*written, strict=True), strict=True)
            for slot in range(codes.shape[1])
        ]
        lists = {"items": "item"} if self.table.alternatives() == 1 else {"items": "item", WORDS: "word"}
        text = pl.concat_str(pl.col("^sentence .*$"), separator=" ")
        if self.task == "chat" and self.disguise is None:
            text = text + pl.lit(f" {self.table.question}")
        found = pl.DataFrame(columns).select(
            text.alias("message"),
            pl.Series("pattern", self.patterns, dtype=pl.String).gather(pattern),
            pl.Series("values", values, dtype=pl.List(pl.Int8)),
            **{name: pl.concat_list(pl.col(f"^{kind} .*$")) for name, kind in lists.items()},
        )
        if self.disguise is None:
            return found
        messages = self.disguise.wrap(found["message"].to_list(), numbers, asked=self.task == "chat")
        return found.with_columns(pl.Series("message", messages), *self.disguise.columns(numbers))

    def _write(self, pattern: int, item: int, value: int, rank: int) -> tuple[str, str, str]:
        """A sentence, its item, and the word of its value where there are several to choose from."""
        table, name, word = self.table, self.table.item_list[item], self.table.values[value]
        text = table.write(self.patterns[pattern], name, word, rank)
        if table.alternatives() == 1:
            return text, name, ""
        forms = next(iter(table.forms(word).values()))
        return text, name, forms[rank % len(forms)]


def _probes(
    frame: pl.DataFrame, ids: list[str], block: str, repeats: int, seen: tuple[dict[str, int], set[str]]
) -> pl.DataFrame:
    """Add ids, draws (methods 0.3) and which rows are first occurrences; `seen` is carried on."""
    occurrences, in_block = seen
    occurrence, first_in_block = [], []
    for message in frame["message"]:
        number = occurrences.get(message, 0)
        occurrences[message] = number + 1
        occurrence.append(number)
        first_in_block.append(message not in in_block)
        in_block.add(message)
    frame = frame.with_columns(
        pl.Series("id", ids),
        pl.Series("occurrence", occurrence, dtype=pl.Int64),
        pl.Series("first_in_block", first_in_block, dtype=pl.Boolean),
        pl.lit(pl.Series("repeat", [list(range(repeats))], dtype=pl.List(pl.Int64))).first().alias("repeat"),
    ).explode("repeat")
    once = pl.col("repeat") == 0
    return frame.with_columns(
        pl.when(once).then("id").otherwise(pl.format("{}r{}", "id", "repeat")).alias("id"),
        pl.lit("").alias("session"),
        pl.lit(0, dtype=pl.Int64).alias("turn"),
        (pl.col("occurrence") * repeats + pl.col("repeat")).alias("draw"),
        pl.lit(block).alias("block"),
        ((pl.col("occurrence") == 0) & once).alias("first"),
        (pl.col("first_in_block") & once).alias("first_in_block"),
    ).select([*PROBES, *(name for name in frame.columns if name in (WORDS, *DISGUISED))])
