"""Does what is said depend on the user's gender? The edge from gender to text (causal 2.8).

Three tests for each speaker, with gender permuted over conversations: words of an utterance, stop
words of an utterance, and how well the words of a conversation tell the gender of its user.
Users without a gender take no part; prefixes are not part of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialog_statistics import plain_words, with_word_counts
from trustgauge.records import Json
from trustgauge.stats import stream
from trustgauge.stats.comparisons import EXACT_UP_TO, PERMUTATIONS, arrangements, exact_p, permutation_p
from trustgauge.stats.distributions import Floats, Ints

Labels = NDArray[np.bool_]
"""Whether the user of each conversation is female, [draws, C]."""
Statistic = Callable[[Labels], Floats]

FEWEST_PERMUTATIONS = 999
WORK = 1.5e8  # logarithms that one test may take, unless too few permutations are left
CHUNK = 2e5  # numbers of words and conversations in memory at once
VOCABULARY = 1_000  # the most words by which gender is predicted


def gender_tests(source: ConversationSource, seed: int) -> list[dict[str, Json]]:
    """Whether texts depend on the gender of the user, tested over conversations.

    Args:
        source: of the conversations; what was said is taken as `merge` joined it.
        seed: of the plan.

    Returns:
        Three tests for each speaker: `name`, `speaker`, `measure` ("words", "stop words",
        "predictability"), `statistic`, `p`, `n` (conversations), `permutations` (0 where all
        arrangements were tried). The statistic of words and stop words is the mean over the
        conversations of women minus that of men, of the mean of an utterance, two-sided; that of
        predictability is the share of conversations whose gender is predicted by the words of all
        others, one-sided. Statistic and p are None with too few conversations of a gender.
    """
    return [dict(one) for one in _tests(source, seed)]


@lru_cache(maxsize=8)
def _tests(source: ConversationSource, seed: int) -> tuple[dict[str, Json], ...]:
    said = source.utterances().filter(pl.col("gender") != "NA")
    rows = []
    for speaker in source.speakers:
        mine = said.filter(pl.col("speaker") == speaker)
        for measure, (statistic, females, fewest, cost) in _measures(mine).items():
            about = {"name": f"{measure} of the {speaker}", "speaker": speaker, "measure": measure}
            small = min(females.sum(), (~females).sum()) < fewest
            purpose = ("gender-text", speaker, measure)
            found = _untested() if small else _tested(statistic, females, cost, stream(seed, *purpose))
            rows.append({**about, **found, "n": len(females)})
    return tuple(rows)


def _untested() -> dict[str, Json]:
    return {"statistic": None, "p": None, "permutations": 0}


def _measures(said: pl.DataFrame) -> dict[str, tuple[Statistic, Labels, int, int]]:
    """Measure -> statistic, the real labels, conversations that a gender needs, cost of a draw."""
    talks = (
        with_word_counts(said)
        .group_by("conversation", maintain_order=True)
        .agg(pl.col("gender").first(), pl.col("words", "stopwords").mean())
    )
    females = (talks["gender"] == "female").to_numpy()
    words = _word_table(said, talks["conversation"].to_list())
    return {
        "words": (_difference(talks["words"].to_numpy()), females, 1, len(talks)),
        "stop words": (_difference(talks["stopwords"].to_numpy()), females, 1, len(talks)),
        # A conversation left out must leave another one of its gender.
        "predictability": (words.predictability, females, 2, words.cost),
    }


def _difference(values: Floats) -> Statistic:
    """Mean of women's conversations minus mean of men's."""

    def statistic(labels: Labels) -> Floats:
        women = labels.sum(axis=1)
        sums = labels.astype(np.float64) @ values
        return np.asarray(sums / women - (values.sum() - sums) / (labels.shape[1] - women))

    return statistic


def _tested(statistic: Statistic, females: Labels, cost: int, rng: np.random.Generator) -> dict[str, Json]:
    """Statistic and permutation p (methods 0.7); two-sided for what can be negative."""
    observed = float(statistic(females[None])[0])
    size, women = len(females), int(females.sum())
    exact = arrangements([women, size - women]) <= EXACT_UP_TO
    if exact:
        draws = math.comb(size, women)
    else:
        draws = int(min(PERMUTATIONS, max(FEWEST_PERMUTATIONS, WORK // max(cost, 1))))
    stars = [np.abs(statistic(labels)) for labels in _permuted(females, draws, rng, exact=exact)]
    all_stars = np.concatenate(stars)
    if exact:
        p = exact_p(abs(observed), all_stars, np.ones(draws))
    else:
        p = permutation_p(abs(observed), all_stars)
    return {"statistic": observed, "p": p, "permutations": 0 if exact else draws}


def _permuted(females: Labels, draws: int, rng: np.random.Generator, *, exact: bool) -> Iterator[Labels]:
    """Labels permuted over conversations, in chunks: every arrangement once, or `draws` at random."""
    size, women = len(females), int(females.sum())
    step = max(1, int(CHUNK // (size + VOCABULARY)))
    if exact:
        places = np.fromiter(chain.from_iterable(combinations(range(size), women)), dtype=np.int64)
        every = np.zeros((draws, size), dtype=np.bool_)
        every[np.arange(draws)[:, None], places.reshape(draws, women)] = True
        yield from (every[start : start + step] for start in range(0, draws, step))
        return
    for start in range(0, draws, step):
        yield rng.permuted(np.tile(females, (min(step, draws - start), 1)), axis=1)


@dataclass(frozen=True, slots=True)
class WordTable:
    """How often each word is said in each conversation.

    Attributes:
        table: [C, V].
        times: for each number of times k above 0: k, the words that some conversation says k times
            [Vk], and which conversations do [Vk, C].
    """

    table: Floats
    times: tuple[tuple[float, Ints, Floats], ...]

    @property
    def cost(self) -> int:
        """What one draw of labels costs, in logarithms; twenty products are about one."""
        products = self.table.size + 2 * sum(who.size for _, _, who in self.times)
        return sum(self.table.shape) + 2 * sum(len(words) for _, words, _ in self.times) + products // 20

    def predictability(self, labels: Labels) -> Floats:
        """Share of the conversations whose gender naive Bayes tells from the words of all others.

        Multinomial, with one added to each count and equal shares of the genders beforehand; an
        undecided conversation counts half.

        Args:
            labels: [draws, C], each with two conversations or more of each gender.

        Returns:
            Shares, [draws].
        """
        vocabulary = self.table.shape[1]
        lengths = self.table.sum(axis=1)
        females = labels.astype(np.float64)
        women = females @ self.table
        men = self.table.sum(axis=0) - women
        # As if no conversation were left out; then its own words are taken back out of its own side.
        evidence = (np.log1p(women) - np.log1p(men)) @ self.table.T
        for times, words, who in self.times:
            for side, mine, sign in ((women[:, words], labels, -1.0), (men[:, words], ~labels, 1.0)):
                surplus = times * (np.log1p(side) - np.log1p(np.maximum(side - times, 0.0)))
                evidence += np.where(mine, sign * (surplus @ who), 0.0)
        of_women = (females @ lengths)[:, None]
        all_women = of_women - females * lengths
        all_men = lengths.sum() - of_women - (1 - females) * lengths
        evidence -= lengths * (np.log(all_women + vocabulary) - np.log(all_men + vocabulary))
        # Sums of logarithms that are equal on paper differ by rounding.
        sides = np.where(np.abs(evidence) < 1e-9, 0.0, np.sign(evidence))
        return np.asarray((1 + sides * np.where(labels, 1, -1)).mean(axis=1) / 2)


def _word_table(said: pl.DataFrame, conversations: list[str]) -> WordTable:
    """The words said in two conversations or more: others cannot tell one conversation from another.

    Of very many words those said in most conversations are kept.
    """
    entries = (
        said.select("conversation", word=plain_words("text"))
        .filter(pl.col("word").list.len() > 0)
        .explode("word")
        .group_by("conversation", "word")
        .agg(count=pl.len())
    )
    spread = entries.group_by("word").agg(talks=pl.len()).filter(pl.col("talks") > 1)
    kept = spread.sort("talks", "word", descending=[True, False]).head(VOCABULARY)["word"].to_list()
    rows = {name: place for place, name in enumerate(conversations)}
    columns = {word: place for place, word in enumerate(kept)}
    table = np.zeros((len(rows), len(columns)))
    for name, word, count in entries.iter_rows():
        if word in columns:
            table[rows[name], columns[word]] = count
    times = []
    for count in np.unique(table[table > 0]):
        said_so = table == count
        words = np.flatnonzero(said_so.any(axis=0))
        times.append((float(count), words, said_so[:, words].T.astype(np.float64)))
    return WordTable(table, tuple(times))
