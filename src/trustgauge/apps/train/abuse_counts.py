"""Counting the errors of the ready checkers of abuse on the held-out texts of `abuse_sentences.csv`.

`python -m trustgauge.apps.train.abuse_counts` prints `methods/trust/data/abuse_checkers.json`, by style and
writer; the counts of tweets are left as they stand there.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import polars as pl

from trustgauge.apps.train.abuse_sentences import sentence_table
from trustgauge.data import package_text
from trustgauge.methods.trust.abuse_checkers import (
    PROFANITY_CHECK,
    SENTENCES,
    TWEET,
    WORDS,
    Checker,
    by_style,
    checker,
)
from trustgauge.methods.trust.abuse_sentences import sentences, strip_quotations
from trustgauge.methods.trust.abuse_words import NEITHER
from trustgauge.methods.trust.group_talk import abuse_style
from trustgauge.records import Json

DIGITS = 3  # of mean lengths


def checker_counts() -> dict[str, Any]:
    """The content of `abuse_checkers.json`, with all answers counted again."""
    facts: dict[str, Any] = json.loads(package_text("trustgauge.methods.trust", "data/abuse_checkers.json"))
    facts["sentences of the harmless"] = mean_lengths()
    for name in (WORDS, SENTENCES):
        facts[name]["styles"] = _with_answers(checker(name), facts[name]["styles"])
    tables = facts[PROFANITY_CHECK]["thresholds"]
    for threshold in tables:
        tables[threshold] = _with_answers(checker(PROFANITY_CHECK, float(threshold)), tables[threshold])
    return facts


def mean_lengths() -> dict[str, float]:
    """How many sentences held-out texts without abuse have on average, by style."""
    harmless = sentence_table("held-out").filter(pl.col("class") == NEITHER)["text"].to_list()
    lengths: dict[str, list[int]] = {}
    for text in harmless:
        lengths.setdefault(abuse_style(text), []).append(len(sentences(strip_quotations(text))))
    return {style: round(sum(some) / len(some), DIGITS) for style, some in sorted(lengths.items())}


def _with_answers(named: Checker, known: dict[str, Json]) -> dict[str, Json]:
    """Tables of a checker: those of tweets as they are known, those of answers counted by writer."""
    found = by_style(named, sentence_table("held-out"), answers=True, on="")
    tweets = {TWEET: known[TWEET]} if isinstance(known.get(TWEET), list) else {}
    answers: dict[str, Json] = {
        style: {writer: [list(row) for row in table] for writer, table in one.writers}
        for style, one in found.items()
    }
    return answers | tweets


def _lines(value: Json, depth: int = 0) -> str:
    """JSON with a line for each table."""
    if not isinstance(value, dict) or not any(isinstance(one, dict | list) for one in value.values()):
        return json.dumps(value)
    inner = [f"{' ' * (depth + 1)}{json.dumps(key)}: {_lines(one, depth + 1)}" for key, one in value.items()]
    return "{\n" + ",\n".join(inner) + "}"


def main() -> None:
    """Print the file."""
    sys.stdout.write(_lines(checker_counts()) + "\n")


if __name__ == "__main__":
    main()
