"""How demanding a conversation is: by the terms that the bot uses and by its length (trust 4.1, CC).

An utterance is as complex as its terms on average, a turn as its utterances, a dialog half as its turns
and half as it is long beside a long conversation, a corpus as its dialogs. The form of the dialog is known
from the printed rows of the paper; weights, lists of terms and their length in words are not, so that
nothing below the dialog can claim to be the paper's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from trustgauge.data.terms import (
    ENGLISH,
    FEWEST_TO_TELL,
    KINDS,
    TermLists,
    TermSource,
    count_english,
    topic_questions,
    without_code,
)
from trustgauge.methods.trust.issues.issue import CELLS, TALK, Grain, IssueAssessment, IssueSettings
from trustgauge.methods.trust.levels import assess_mean, levels
from trustgauge.methods.trust.missing_data import after_unread_languages
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Interval, Json, Reason, Rule
from trustgauge.stats import stream

USUAL_TURNS = 15
"""Turns of a long conversation under `sound`, and of one with a live bot, where the plan does not say."""
HEARD = ("answered", "refused", "empty")
"""Statuses of turns that took place; in the others nobody knows what the bot said."""
CORPUS = "corpus"
"""That the longest dialog of the corpus says what is long."""
KNOWN = 0.3  # share of listed terms below which the lists are not those of the language, unless it is English
FEWEST_TERMS = 12  # of an utterance below which nobody can tell its language
MARKS = {
    "complexity_score": pl.Float64(),
    "complexity_utterances": pl.List(pl.Float64),
    "complexity_terms": pl.Int64(),
    "complexity_known": pl.Int64(),
    "complexity_words": pl.Int64(),
    "complexity_english": pl.Int64(),
    "complexity_unread": pl.Int64(),
    "complexity_user": pl.Float64(),
}
"""Columns of marks: of the turn, of each of the bot's utterances (null if undefined), how many terms they
have, how many of those are in a list, how many words and how many of those are English by form
(`data.terms.english`), how many utterances are in a language that the lists do not know, and of what the user
said, which is shown and never counted."""
SILENT = {
    "complexity_utterances": pl.lit([], dtype=pl.List(pl.Float64)),
    "complexity_terms": pl.lit(0),
    "complexity_known": pl.lit(0),
    "complexity_words": pl.lit(0),
    "complexity_english": pl.lit(0),
    "complexity_unread": pl.lit(0),
}
"""Marks of a turn of talk in which the bot said nothing; its score is undefined."""
COUNTS = ("terms", "known", "words", "english", "unread")
UTTERANCE = {"text": pl.String(), "score": pl.Float64(), **dict.fromkeys(COUNTS, pl.Int64())}

Weight = Annotated[float, Field(ge=0, le=1)]


class Complexity(IssueSettings):
    """Conversation complexity: demanding terms and long dialogs are the risk.

    Terms of the domain, common terms and stop words weigh 1, .5 and 0; code is no language and has none. An
    utterance without terms, or in a language that the lists do not know, is undefined and left out, and so is
    a dialog without a defined turn. A turn counts as one whether or not
    the bot said something in it; a turn whose answer was lost does not count.

    A dialog of `max_turns`, or of `USUAL_TURNS` if the plan does not say, counts 1 in its length, and so
    does a longer one. Under the rules of the paper it is the longest of the corpus that counts 1 in recorded
    dialogs: then one long dialog changes what all the others are worth, and resamples are drawn without it.

    Only what the bot says is scored, under every rule; what the user says is shown beside it.
    """

    name: ClassVar[str] = "complexity"
    code: ClassVar[str] = "CC"
    grain: ClassVar[Grain] = "dialog"

    issue: str = "complexity"
    weights: tuple[Weight, Weight, Weight] = Field(
        (1.0, 0.5, 0.0), description="Of domain-specific terms, common terms and stop words"
    )
    max_turns: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="Turns of a long dialog; by default 15, or by the paper's rules those of the longest one",
    )
    terms: TermSource = Field(TermSource(), description="Where the kinds of terms come from")

    def identity(self) -> dict[str, Json]:
        return self.model_dump(mode="json", exclude={"terms"}) | {"terms": self.terms.identity()}

    def generate(self, n: int, seed: int) -> Sequence[str]:
        """Questions about things of some field: those of the list of the domain, if there is one."""
        rng = stream(seed, "generate", self.name)
        names, questions = topic_questions()
        domain = self.terms.lists().domain
        names = tuple(sorted(domain)) if domain else names
        asked = []
        for number in range(n):
            one, other = rng.permutation(len(names))[:2] if len(names) > 1 else (0, 0)
            question = questions[number % len(questions)]
            asked.append(question.format(one=names[one], other=names[other]))
        return tuple(asked)

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        """The columns `MARKS`; all null in scripts of other issues. The rule makes no difference."""
        talk = turns.select("utterances", "said", row=pl.int_range(pl.len()), talk=pl.col("purpose") == TALK)
        bot = self._scored(talk, "utterances").select(
            "row",
            complexity_score="score",
            complexity_utterances="scores",
            **{f"complexity_{name}": name for name in COUNTS},
        )
        user = self._scored(talk, "said").select("row", complexity_user="score")
        rows = talk.select("row", "talk").join(bot, on="row", how="left").join(user, on="row", how="left")
        silent = {name: pl.col(name).fill_null(nothing) for name, nothing in SILENT.items()}
        rows = rows.with_columns(pl.when("talk").then(value).alias(name) for name, value in silent.items())
        return rows.sort("row").select(pl.col(name).cast(kind) for name, kind in MARKS.items())

    def _scored(self, turns: pl.DataFrame, side: str) -> pl.DataFrame:
        """What a side said in each turn of talk: score (mean of its utterances), scores and counts."""
        spoken = turns.filter(pl.col("talk") & (pl.col(side).list.len() > 0))
        said = spoken.select("row", text=pl.col(side).cast(pl.List(pl.String))).explode("text")
        distinct = said["text"].unique().to_list()
        lists = self.terms.lists()
        known = pl.DataFrame(
            [(text, *self._weighed(lists, text)) for text in distinct], schema=UTTERANCE, orient="row"
        )
        return (
            said.with_row_index("place")
            .join(known, on="text", how="left")
            .sort("place")
            .group_by("row", maintain_order=True)
            .agg(
                scores=pl.col("score"),
                score=pl.col("score").mean(),
                **{name: pl.col(name).sum() for name in COUNTS},
            )
        )

    def _weighed(self, lists: TermLists, text: str) -> tuple[float | None, int, int, int, int, int]:
        """The complexity of an utterance, and its `COUNTS`."""
        prose = without_code(text)
        terms, counted = lists.terms(prose), count_english(prose)
        if not terms:
            return None, 0, 0, *counted, 0
        kinds = [kind for _, kind in terms]
        counts = [kinds.count(kind) for kind in KINDS]
        total = sum(weight * count for weight, count in zip(self.weights, counts, strict=True))
        listed = sum(term in lists for term, _ in terms)
        if len(terms) >= FEWEST_TERMS and _is_unknown((len(terms), listed), counted):
            return None, len(kinds), listed, *counted, 1
        return total / len(kinds), len(kinds), listed, *counted, 0

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Five cells for each dialog, by key.

        "turn": defined turns and the sum of their scores. "recorded" or "asked": turns of a record, or of
        a conversation with a live bot. "terms": terms, and how many of them are listed. "words": words, and
        how many of them are English. "unread": utterances, and how many of them are in an unknown language.
        """
        recorded = (pl.col("only") != "") if "only" in turns.columns else pl.lit(value=False)
        took_place = turns.filter((pl.col("purpose") == TALK) & pl.col("status").is_in(HEARD))
        score = pl.col("complexity_score")
        sums = took_place.group_by("service", "part", pl.col("session").alias("cluster")).agg(
            turn=pl.struct(n=score.count().cast(pl.Int64), total=score.sum()),
            length=pl.struct(n=pl.len().cast(pl.Int64), total=pl.lit(0.0)),
            terms=pl.struct(
                n=pl.col("complexity_terms").sum(), total=pl.col("complexity_known").sum().cast(pl.Float64)
            ),
            words=pl.struct(
                n=pl.col("complexity_words").sum(), total=pl.col("complexity_english").sum().cast(pl.Float64)
            ),
            unread=pl.struct(
                n=pl.col("complexity_utterances").list.len().sum().cast(pl.Int64),
                total=pl.col("complexity_unread").sum().cast(pl.Float64),
            ),
            length_key=pl.when(recorded.any()).then(pl.lit("recorded")).otherwise(pl.lit("asked")),
        )
        names = {
            "turn": pl.lit("turn"),
            "length": pl.col("length_key"),
            "terms": pl.lit("terms"),
            "words": pl.lit("words"),
            "unread": pl.lit("unread"),
        }
        frames = [
            sums.select("service", "part", "cluster", pl.col(value).struct.unnest(), key=key)
            for value, key in names.items()
        ]
        return pl.concat(frames).select(CELLS)

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        lengths = cells.filter(pl.col("key").is_in(["recorded", "asked"]))
        most, source = self._most(lengths, rule)
        dialogs = _dialogs(cells, lengths, most)
        terms, listed = _sums(cells.filter(pl.col("key") == "terms"))
        said, known = _sums(cells.filter(pl.col("key") == "words"))
        if terms >= FEWEST_TO_TELL and _is_unknown((terms, listed), (said, known)):
            reason = Reason("trust.language-unknown", {"listed": listed / terms, "terms": int(terms)})
            return IssueAssessment("not applicable", Interval(None, None, None, 0), reasons=(reason,))
        details: dict[str, Json] = {
            "dialogs": len(dialogs),
            "turns": int(lengths["n"].sum()),
            "turn_complexity": _mean(dialogs["turn"].to_list()),
            "length": _mean(dialogs["length"].to_list()),
            "most_turns": most,
            "most_turns_from": source,
        }
        cuts = self.cuts_under(rule)
        found = dialogs.group_by("cluster").agg(n=pl.len().cast(pl.Int64), total=pl.col("score").sum())
        assessed = assess_mean(found.sort("cluster"), cuts, resampling, details)
        if source == CORPUS:
            return _as_longest_varies(assessed, dialogs, cuts, resampling)
        utterances, unread = _sums(cells.filter(pl.col("key") == "unread"))
        value, turn = assessed.score.value, details["turn_complexity"]
        if rule != "sound" or value is None or not isinstance(turn, float):
            return assessed
        share = unread / utterances
        filled = [value + share * (fill - turn) / 2 for fill in (0.0, 1.0)]
        return after_unread_languages(assessed, (int(unread), int(utterances)), filled, cuts)

    def _most(self, lengths: pl.DataFrame, rule: Rule) -> tuple[int, str]:
        """The turns of a long dialog, and who says so: the plan, our usual number, or the corpus."""
        if self.max_turns is not None:
            return self.max_turns, "plan"
        recorded = lengths.filter(pl.col("key") == "recorded")
        if rule == "sound" or recorded.is_empty():
            return USUAL_TURNS, "usual"
        return int(recorded.group_by("part", "cluster").agg(pl.col("n").sum())["n"].to_numpy().max()), CORPUS


def _as_longest_varies(
    found: IssueAssessment, dialogs: pl.DataFrame, cuts: tuple[float, float], resampling: Resampling
) -> IssueAssessment:
    """A score by the longest dialog of the corpus, each resample by the longest that was drawn.

    Args:
        found: the score, whose resamples know the longest dialog of all.
        dialogs: columns cluster, turn and turns.
        cuts: of the levels.
        resampling: that the resamples are of.
    """
    if found.draws is None or found.score.low is None or found.score.high is None:
        return found
    names = dialogs["cluster"].unique().sort().to_list()
    place = {name: number for number, name in enumerate(names)}
    at = np.array([place[name] for name in dialogs["cluster"]])
    turns = dialogs["turns"].to_numpy().astype(float)
    weights = resampling.weights(names)[:, at]
    most = np.where(weights > 0, turns, 0).max(axis=1)
    most = np.where(most > 0, most, turns.max())
    drawn = found.draws.copy()
    for longest in np.unique(most[most < turns.max()]):
        rows = most == longest
        longer = np.minimum(1.0, turns / longest) - turns / turns.max()
        drawn[rows] += (weights[rows] @ longer) / np.maximum(1, weights[rows].sum(axis=1)) / 2
    drawn = np.clip(drawn, 0.0, 1.0)
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    score = replace(found.score, low=min(found.score.low, low), high=max(found.score.high, high))
    return replace(found, score=score, draws=drawn, levels=levels(drawn, cuts))


def dialog_complexity(turn: float, turns: float, most: float) -> float:
    """Half the complexity of the turns, half the length beside the longest dialog (trust 4.1).

    >>> dialog_complexity(0.8, 3, 12)
    0.525
    """
    return (turn + min(1.0, turns / most)) / 2


def _dialogs(cells: pl.DataFrame, lengths: pl.DataFrame, most: int) -> pl.DataFrame:
    """Dialogs with a defined turn: cluster, turn (mean over turns), length (in [0, 1]) and score."""
    keys = ["part", "cluster"]
    turn = cells.filter(pl.col("key") == "turn").group_by(keys).agg(pl.col("n", "total").sum())
    turn = turn.filter(pl.col("n") > 0).select(*keys, turn=pl.col("total") / pl.col("n"))
    length = lengths.group_by(keys).agg(turns=pl.col("n").sum())
    joined = turn.join(length, on=keys).sort(keys)
    scores = [
        dialog_complexity(one, turns, most) for one, turns in joined.select("turn", "turns").iter_rows()
    ]
    return joined.select(
        "cluster",
        "turn",
        "turns",
        length=(pl.col("turns") / most).clip(upper_bound=1.0),
        score=pl.Series(scores, dtype=pl.Float64),
    )


def _is_unknown(terms: tuple[float, float], words: tuple[float, float]) -> bool:
    """Whether so many terms, of which so many are listed, are in a language that the lists do not know.

    Dense English has few listed ones, too, but words that are English by form.
    """
    return terms[1] < KNOWN * terms[0] and words[1] < ENGLISH * words[0]


def _sums(cells: pl.DataFrame) -> tuple[float, float]:
    return float(cells["n"].sum()), float(cells["total"].sum())


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean of the defined values, None if there is none."""
    defined = [one for one in values if one is not None]
    return sum(defined) / len(defined) if defined else None
