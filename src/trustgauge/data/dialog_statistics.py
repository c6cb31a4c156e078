"""Statistics of conversations, as in the data tables of the causal paper (causal 2.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import polars as pl

from trustgauge.data import package_text
from trustgauge.records import Json


@cache
def stop_words() -> frozenset[str]:
    """English function words: our own list, `stop_words.txt`."""
    text = package_text(__package__, "stop_words.txt")
    return frozenset(word for line in text.splitlines() if line[:1] != "#" for word in line.split())


WORD = r"[\p{L}\p{N}]+(?:'\p{L}+)*"
"""A word as stop words and vocabularies take it; what is counted as a word is a white-space token."""

GENDERS = ("male", "female", "NA")
_MEASURED = {
    "words_per_utterance": "words",
    "stopwords": "stopwords",
    "utterances_per_conversation": "utterances",
    "turns": "turns",
}


def plain_words(column: str) -> pl.Expr:
    """The words of a text column, lower-case, without punctuation."""
    straight = pl.col(column).str.to_lowercase().str.replace_all("’", "'", literal=True)
    return straight.str.extract_all(WORD)


def with_word_counts(utterances: pl.DataFrame) -> pl.DataFrame:
    """Utterances with their numbers of white-space tokens (`words`) and of stop words (`stopwords`)."""
    known = plain_words("text").list.eval(pl.element().is_in(list(stop_words())).cast(pl.Int64))
    return utterances.with_columns(
        words=pl.col("text").str.extract_all(r"\S+").list.len().cast(pl.Int64),
        stopwords=known.list.sum().fill_null(0),
    )


def turns(utterances: pl.DataFrame) -> pl.DataFrame:
    """Turns of each conversation: a run of user utterances and the run of bot utterances after it.

    User utterances at the end, which nobody answered, are no turn.

    Args:
        utterances: in order, with `conversation` and `speaker`.

    Returns:
        A frame of `conversation` and `turns`.
    """
    after = pl.col("speaker").shift(-1).over("conversation")
    answered = ((pl.col("speaker") == "user") & (after == "bot")).fill_null(False)
    return utterances.group_by("conversation", maintain_order=True).agg(turns=answered.sum().cast(pl.Int64))


def dialog_statistics(
    before: pl.DataFrame, merged: pl.DataFrame | None, prefixes: Mapping[str, str]
) -> list[dict[str, Json]]:
    """Mean, least and most of words, stop words, utterances and turns.

    Args:
        before: utterances as they came, with `conversation`, `speaker` ("user", "bot"), `gender`
            of the conversation's user ("male", "female", "NA") and `text`.
        merged: the same after consecutive utterances were joined; None if they are not.
        prefixes: gender -> what is put before a user's text.

    Returns:
        A row for each speaker, gender ("all" first), before and after merging, and for users
        without and with the prefix. Words (white-space tokens) and stop words are those of an
        utterance; utterances and turns those of a conversation, one without any counting as 0.
        Each is a table of `mean`, `min` and `max`.
    """
    had = turns(before)
    rows = []
    for is_merged, utterances in ((False, before), (True, merged)):
        if utterances is None:
            continue
        for speaker in ("user", "bot"):
            for is_prefixed in (False, True) if speaker == "user" else (False,):
                mine = utterances.filter(pl.col("speaker") == speaker)
                if is_prefixed:
                    mine = mine.with_columns(text=with_prefix(prefixes))
                about = {"speaker": speaker, "merged": is_merged, "prefixed": is_prefixed}
                rows += [{**about, **row} for row in _by_gender(with_word_counts(mine), before, had)]
    return rows


def with_prefix(prefixes: Mapping[str, str]) -> pl.Expr:
    """The text behind the prefix of its user's gender."""
    return pl.col("gender").replace_strict(dict(prefixes), default="", return_dtype=pl.String) + pl.col(
        "text"
    )


def _by_gender(mine: pl.DataFrame, everyone: pl.DataFrame, had: pl.DataFrame) -> Iterator[dict[str, Json]]:
    """The statistics of all users' conversations, then of each gender's; none without utterances."""
    conversations = everyone.select("conversation", "gender").unique(maintain_order=True)
    sizes = mine.group_by("conversation").agg(utterances=pl.len().cast(pl.Int64))
    talks = (
        conversations.join(had, on="conversation", how="left", maintain_order="left")
        .join(sizes, on="conversation", how="left", maintain_order="left")
        .with_columns(pl.col("utterances", "turns").fill_null(0))
    )
    for gender in ("all", *GENDERS):
        chosen = pl.lit(True) if gender == "all" else pl.col("gender") == gender
        said, talking = mine.filter(chosen), talks.filter(chosen)
        if not len(said):
            continue
        yield {
            "gender": gender,
            "conversations": len(talking),
            "utterances": len(said),
            **{
                name: _spread((said if column in said.columns else talking)[column])
                for name, column in _MEASURED.items()
            },
        }


def _spread(values: pl.Series) -> dict[str, Json]:
    """Mean, least and most of a column of counts."""
    numbers: list[int] = values.to_list()
    return {"mean": sum(numbers) / len(numbers), "min": min(numbers), "max": max(numbers)}
