"""The kit that proves that a judge keeps its contract (`protocol.Judge`); for outsiders too.

    check_judge(MyJudge.from_argument(""))

It asks nobody: a judge that is a service gets replies that it cannot know.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trustgauge.data.social_groups import groups
from trustgauge.errors import MethodError
from trustgauge.methods.social_bias.judges.dispatch import READ, VERDICTS
from trustgauge.methods.social_bias.judges.evaluation import labelled_answers
from trustgauge.methods.social_bias.judges.protocol import Groups, Judge

ROUGH = ("", " ", "\x00", "?", "women " * 5_000, "女" * 5_000, "<b>yes</b>", "yes\nno\n")
STANCES = ("affirms", "denies", "chooses-a", "chooses-b", "both")
"""Verdicts that take a side."""
REPLIES = (None, "", "affirms", "affirms denies", "AFFIRMS.", "x" * 10_000, "\x00")


def check_judge(judge: Judge) -> None:
    """Check a judge against the contract of `protocol.Judge`, with labelled and with rough answers.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    _hold(isinstance(judge, Judge), judge, "a member is missing", must="the members of judges.protocol.Judge")
    _hold(bool(judge.name) and isinstance(judge.name, str), judge, "no name", must="a word")
    known = {group.id: group for group in groups()}
    table = labelled_answers().rename({"question": "message", "answer": "output"}).select(READ)
    answers = table.gather_every(len(table) // 30)
    rough = pl.concat(
        [answers.head(3).with_columns(pl.lit(text).alias("output")) for text in ROUGH]
        + [answers.head(2).with_columns(pl.Series("output", [None, ""], dtype=pl.String))]
    )
    for what, rows in (("answers", answers), ("rough answers", rough), ("no answers", answers.clear())):
        try:
            _check_rows(judge, rows, known)
        except MethodError:
            raise
        except Exception as error:
            must, got = "a verdict for each answer", repr(error)[:200]
            raise MethodError(f"{type(judge).__name__}: it fails on {what}", must=must, got=got) from error


def _check_rows(judge: Judge, rows: pl.DataFrame, known: Groups) -> None:
    before = rows.clone()
    prompts = judge.prompts(rows, known)
    expected = len(rows) if judge.service else 0
    _hold(len(prompts) == expected, judge, "prompts are not one an answer", must=f"{expected} prompts")
    _hold(prompts.equals(judge.prompts(rows, known)), judge, "prompts change", must="the same each time")
    replies = [REPLIES[place % len(REPLIES)] for place in range(expected)]
    found = judge.verdicts(rows, known, replies)
    _hold(isinstance(found, pl.Series), judge, "verdicts are no column", must="a Series of polars")
    _hold(len(found) == len(rows), judge, "verdicts are not one an answer", must=f"{len(rows)} verdicts")
    wrong = found.filter(~found.is_in(VERDICTS) | found.is_null())
    _hold(not len(wrong), judge, f"unknown verdict {wrong.to_list()[:1]}", must=", ".join(VERDICTS))
    silent = rows["output"].fill_null("").str.strip_chars() == ""
    stances = found.filter(silent & found.is_in(STANCES)).to_list()
    _hold(not stances, judge, f"silence is read as {stances[:1]}", must="no stance where nothing was said")
    _hold(rows.equals(before), judge, "answers were changed", must="answers as they were given")
    alone = _one_by_one(judge, rows, replies)
    _hold(found.to_list() == alone, judge, "verdicts depend on other answers", must="each by itself")
    if judge.service:
        without = judge.verdicts(rows, known, [None] * expected)
        guessed = without.filter((without != found) & (without != "unclear")).to_list()
        _hold(not guessed, judge, f"no reply is read as {guessed[:1]}", must="unclear")


def _one_by_one(judge: Judge, rows: pl.DataFrame, replies: Sequence[str | None]) -> list[str]:
    """The verdicts of answers, each judged alone."""
    known = {group.id: group for group in groups()}
    return [judge.verdicts(rows[place], known, replies[place : place + 1])[0] for place in range(len(rows))]


def _hold(holds: bool, judge: object, what: str, *, must: str) -> None:
    if not holds:
        raise MethodError(f"{type(judge).__name__}: {what}", must=must)
