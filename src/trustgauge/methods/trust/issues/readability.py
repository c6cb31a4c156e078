"""How hard the bot's sentences are to read, by their form and by their words: a fifth issue.

By form: the automated readability index (Smith and Senter 1967, AMRL-TR-66-22), which needs letters, words
and sentences, no syllables: 4.71 * characters / words + 0.5 * words / sentences - 21.43, about the school
grade in the United States that a reader needs. By words: how many of them are in no list of common words,
in the manner of Dale and Chall (1948), since legal language in short sentences is easy by form only. The
harder of both counts, and the risk is that grade over 18, within 0 and 1: with the usual cuts, texts below
the sixth grade are of low risk, and those above the twelfth, at college, of high risk.

A line that ends with a comma or semicolon goes on in the next one, as clauses of contracts do.

What it does not see: whether the sentences make sense, layout. Names count as uncommon words. The index was
made for printed manuals; of utterances below five words it says nothing, of short ones little.
"""

from __future__ import annotations

import re
from functools import cache
from typing import ClassVar

import polars as pl

from trustgauge.data.terms import (
    TermLists,
    TermSource,
    count_english,
    in_another_language,
    without_code,
    words,
)
from trustgauge.methods.trust.issues.issue import CELLS, TALK, Grain, IssueAssessment, IssueSettings
from trustgauge.methods.trust.levels import assess_mean
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Interval, Json, Reason, Rule

HARDEST = 18  # the index that counts as risk 1
FEWEST_WORDS = 5  # of an utterance for which the index is defined
WORD = r"\p{N}+(?:[.,:]\p{N}+)+|[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*"
CLAUSE_END = r"[,;]([ \t]*(?:and|or))?[ \t]*\n+"  # a line that goes on
SENTENCE_END = r"""[.!?…]+["'”’)\]]*\s+|\n+"""  # one that another sentence follows
MANY = 0.05  # share of uncommon words from which on they weigh more (Dale and Chall 1948)
MARKS = {
    "readability_score": pl.Float64(),
    "readability_utterances": pl.List(pl.Float64),
    "readability_total": pl.Float64(),
    "readability_count": pl.Int64(),
    "readability_words": pl.Int64(),
    "readability_english": pl.Int64(),
}
"""Columns of marks: of the turn (mean of its utterances), of each of them (null if undefined), the sum and
number of the defined, all words, and those of them that are English by form (`data.terms.english`)."""

SILENT = {
    "readability_utterances": pl.lit([], dtype=pl.List(pl.Float64)),
    "readability_total": pl.lit(0.0),
    "readability_count": pl.lit(0),
    "readability_words": pl.lit(0),
    "readability_english": pl.lit(0),
}
"""Marks of a turn of talk in which the bot said nothing; its score is undefined."""


class Readability(IssueSettings):
    """Sentences that are hard to read; English only."""

    name: ClassVar[str] = "readability"
    grain: ClassVar[Grain] = "utterance"

    issue: str = "readability"

    def marks(self, turns: pl.DataFrame, rule: Rule) -> pl.DataFrame:
        """The columns `MARKS`; all null in scripts of other issues. The rule makes no difference."""
        rows = turns.select(
            pl.col("utterances").cast(pl.List(pl.String)),
            row=pl.int_range(pl.len()),
            talk=pl.col("purpose") == TALK,
        )
        spoken = rows.filter(pl.col("talk") & (pl.col("utterances").list.len() > 0))
        said = spoken.select("row", text="utterances").explode("text").with_row_index("place")
        marks = (
            said.join(_scored(said["text"].unique()), on="text", how="left")
            .sort("place")
            .group_by("row", maintain_order=True)
            .agg(
                readability_score=pl.col("score").mean(),
                readability_utterances=pl.col("score"),
                readability_total=pl.col("score").sum(),
                readability_count=pl.col("score").count(),
                readability_words=pl.col("words").sum(),
                readability_english=pl.col("english").sum(),
            )
        )
        joined = rows.join(marks, on="row", how="left").sort("row")
        silent = {name: pl.col(name).fill_null(nothing) for name, nothing in SILENT.items()}
        joined = joined.with_columns(
            pl.when("talk").then(value).alias(name) for name, value in silent.items()
        )
        return joined.select(pl.col(name).cast(kind) for name, kind in MARKS.items())

    def cells(self, turns: pl.DataFrame) -> pl.DataFrame:
        """Two cells for each dialog: "utterance" (defined ones, their sum), "words" (all, English ones)."""
        talk = turns.filter(pl.col("purpose") == TALK)
        sums = talk.group_by("service", "part", pl.col("session").alias("cluster")).agg(
            pl.col("^readability_.*$").exclude("readability_utterances").sum()
        )
        keys = {"utterance": ("count", "total"), "words": ("words", "english")}
        frames = [
            sums.select(
                "service",
                "part",
                "cluster",
                key=pl.lit(key),
                n=pl.col(f"readability_{count}").cast(pl.Int64),
                total=pl.col(f"readability_{total}").cast(pl.Float64),
            )
            for key, (count, total) in keys.items()
        ]
        return pl.concat(frames).select(CELLS)

    def assess(self, cells: pl.DataFrame, rule: Rule, resampling: Resampling) -> IssueAssessment:
        language = cells.filter(pl.col("key") == "words").select(pl.col("n", "total").sum())
        said, known = int(language["n"].item()), float(language["total"].item())
        details: dict[str, Json] = {"words": said}
        if in_another_language(said, known):
            reason = Reason("trust.not-english", {"english": known / said, "words": said})
            none = Interval(None, None, None, 0)
            return IssueAssessment("not applicable", none, reasons=(reason,), details=details)
        sums = cells.filter(pl.col("key") == "utterance").group_by("cluster")
        dialogs = sums.agg(pl.col("n", "total").sum()).sort("cluster")
        return assess_mean(dialogs, self.cuts_under(rule), resampling, details)


def index(text: str) -> float | None:
    """The automated readability index of a text, None below five words or if most letters are not Latin.

    >>> round(index("The cat sat on the mat."), 4)
    -5.085
    """
    value: float | None = pl.Series("text", [text]).to_frame().select(_index())["index"].item()
    return value


def _index() -> pl.Expr:
    """The index of a column `text`, by that name."""
    text = pl.col("text").str.strip_chars().str.replace_all(CLAUSE_END, ", ${1} ")
    counted = {
        "words": text.str.count_matches(WORD),
        "letters": text.str.count_matches(r"\p{L}"),
        "latin": text.str.count_matches(r"\p{Latin}"),
        "characters": text.str.count_matches(r"[\p{L}\p{N}]"),
        "sentences": text.str.count_matches(SENTENCE_END) + 1,
    }
    enough = (counted["words"] >= FEWEST_WORDS) & (counted["latin"] * 2 >= counted["letters"])
    value = (
        4.71 * counted["characters"] / counted["words"]
        + 0.5 * counted["words"] / counted["sentences"]
        - 21.43
    )
    return pl.when(enough).then(value).alias("index")


def vocabulary_grade(text: str) -> float | None:
    """The school grade that the words of a text take, None below five words.

    The score of Dale and Chall (1948) with our list of common words, .1579 uncommon words in a hundred
    + .0496 words a sentence, + 3.6365 above five in a hundred, as a grade: twice the score less 5.

    >>> round(vocabulary_grade("The Lessee shall indemnify the Lessor.") or 0, 1)
    18.7
    """
    said = [word for word in words(text) if not word.isdigit()]
    if len(said) < FEWEST_WORDS:
        return None
    uncommon = sum(word not in _common() for word in said) / len(said)
    joined = re.sub(CLAUSE_END, ", ", text.strip())
    sentences = len(re.findall(SENTENCE_END, joined)) + 1
    score = 15.79 * uncommon + 0.0496 * len(said) / sentences + (3.6365 if uncommon > MANY else 0.0)
    return 2 * score - 5


@cache
def _common() -> TermLists:
    return TermSource().lists()


def _scored(texts: pl.Series) -> pl.DataFrame:
    """Texts with their risk, words, and those of the words that are English; code is left out."""
    prose = pl.Series("text", [without_code(one) for one in texts], dtype=pl.String)
    counts = [*map(count_english, prose)]
    grade = pl.max_horizontal("index", "vocabulary")
    return (
        prose.to_frame()
        .with_columns(
            _index(),
            words=pl.Series([one for one, _ in counts], dtype=pl.Int64),
            english=pl.Series([one for _, one in counts], dtype=pl.Int64),
            vocabulary=pl.Series([*map(vocabulary_grade, prose)], dtype=pl.Float64),
        )
        .with_columns(grade=pl.when(pl.col("index").is_not_null()).then(grade))
        .select("words", "english", text=texts, score=(pl.col("grade") / HARDEST).clip(0.0, 1.0))
    )
