"""Reading answers: which value came back for each mention (two-step 1.4), and adding them up.

Every different (message, output) is read once. An output with as many sentences as the text is
read in columns; only the rest is aligned one by one. What a service answers is hostile: nothing
here can fail on it, and no regular expression can run long on it.

Which mention a sentence of an answer speaks of, the occupation tells, wherever it is named. A sentence
that names none answers the mention at its place only if all others are accounted for; else the reader
abstains.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

import polars as pl

from trustgauge.data import Attribute
from trustgauge.methods import cut_short, sum_by_keys
from trustgauge.methods.two_step.design import WORDS
from trustgauge.methods.two_step.sentences import FUNCTION, TOKEN, MentionReading, Sentences, sentence_reader
from trustgauge.methods.two_step.sentences import UNREAD as UNREAD_CODE
from trustgauge.methods.two_step.settings import TOLERANCE, TwoStepSettings

if TYPE_CHECKING:
    from trustgauge.methods.two_step.direct_answers import DirectAnswers

KEPT = "kept"
MISSING = "missing"
UNREAD = "unread"
SURPLUS = "surplus"
LOST = ("both", "they", "it", "other", "none", "unaligned")
"""How a mention is lost: words of two values, words of the residual by kind, no word, not found."""

LABEL, LABELS = "label", "labels"
"""Of an audited service: what people read of a mention (summary), of all of an answer (marks)."""

UNREAD_LABEL, UNREAD_LABELS = "label_of_unread", "labels_of_unread"
"""The same where a mention was drawn for being unread, and not by lot."""

PEOPLE = {LABELS: LABEL, UNREAD_LABELS: UNREAD_LABEL}
"""Column of marks with what people read -> column of the summary."""

GONE, ABSTAINS = -1, -2
"""What stands in place of a value that came back: none, as the response is missing; one that is not known."""

KEYS = ("service", "part", "block", "segment", "text", "item", "value_in", "value_out", "kind", "status")
SUMMARY: dict[str, pl.DataType | type[pl.DataType]] = {
    **{key: pl.Int8() if key.startswith("value") else pl.String() for key in KEYS},
    "segment": pl.Int64(),
    "n": pl.Int64(),
    "pooled": pl.Int64(),
    "texts": pl.Int64(),
}
"""Columns of a summary: `KEYS`, then counts that add up (methods 0.2).

n: mentions in the block's own counts. pooled: mentions in the pooled counts, where a text that a
deterministic service was asked in several blocks counts once. texts: responses. `segment` is the tenth of
the run in which the text was sent (methods 0.3).
"""

AROUND = ("before", "after")
"""Columns: how many neutral sentences stand around a text that is disguised."""
FURTHER: dict[str, pl.DataType | type[pl.DataType]] = {
    "disguise": pl.Boolean,
    "pattern": pl.String,
    LABEL: pl.Int8,
    UNREAD_LABEL: pl.Int8,
}
"""Further keys of a summary where some texts are disguised (methods 0.12), or mentions are labelled."""
_HEDGED = r"\b(?:not|never|if|whether|unless|than|neither|nor)\b|n['’]t\b"
"""Answers with one of these are not read in columns; `HEDGES` then decides."""
HEDGES = re.compile(r"\b(?:not|never|if(?! you\b)|whether|unless|than|neither|nor)\b|n['’]t\b")
"""Words beside which a value is not said of anybody: "not he", "he if it is a man"."""
TITLE = r"(?i)\b(mr|mrs|ms|dr|prof|st)\."
SENTENCE_END = r"[.!?…。！？؟।\n\r\u{2028}\u{2029}]+"


NO_LIST = frozenset({"both", "either", "neither"})
"""Words before values that may go with each of the persons."""
SHORT = 8
"""Words of an answer up to which it can be about nothing that was asked, without saying so."""
Line = tuple[tuple[str, MentionReading], ...]


def score_answers(settings: TwoStepSettings, answers: pl.DataFrame) -> pl.DataFrame:
    """Add `read` and `kinds` to answers; same height, same order (two-step 1.4).

    `read` is null where the response is missing, and `ABSTAINS` where an answer came and the reader abstains
    (methods 0.10).

    `empty` and `refused` answers are lost mentions. A response becomes `unreadable` if the reader
    cannot decide: there is no text, a tenth of it is not text (replacement characters of broken
    encodings), or a score is neither a finite number nor the name of a value. So does one that ended at
    the most tokens: what it left out is not lost.
    """
    reader = MentionReader(settings)
    answers = answers.with_columns(
        status=pl.when(cut_short(answers)).then(pl.lit("unreadable")).otherwise("status")
    )
    answered = answers.filter(pl.col("status") == "answered")
    around = [name for name in AROUND if name in answered.columns]
    distinct = answered.select("message", "output", "items", "values", *around).unique(
        ["message", "output"], maintain_order=True
    )
    codes = distinct.select("message", "output", reader.read(distinct).alias("codes"))
    joined = answers.join(
        codes, on=["message", "output"], how="left", nulls_equal=True, maintain_order="left", coalesce=True
    )
    was_answered = pl.col("status") == "answered"
    unsent = pl.col("values").list.len() == 0  # of a recorded text in which no value was found
    status = (
        pl.when(was_answered & (pl.col("codes").is_null() | unsent))
        .then(pl.lit("unreadable"))
        .otherwise(pl.col("status"))
    )
    return reader.mark(joined.with_columns(status.alias("status"))).drop("codes")


def summarise(marks: pl.DataFrame) -> pl.DataFrame:
    """Add marks up to a summary with the columns `SUMMARY`, sorted by its keys.

    An answer of which no mention was understood has the status `unread` there.
    """
    if "segment" not in marks.columns:
        marks = marks.with_columns(segment=pl.lit(0, pl.Int64))
    if WORDS in marks.columns:
        marks = marks.with_columns(items=WORDS).drop(WORDS)
    marks = marks.with_columns(
        _n=pl.when("shared").then(pl.col("first_in_block").cast(pl.Int64)).otherwise(1),
        _pooled=pl.when("shared").then(pl.col("first").cast(pl.Int64)).otherwise(1),
    ).filter(pl.col("_n") > 0)
    mentions = pl.col("values").list.len()
    nothing = pl.col("read").list.head(mentions).list.eval(pl.element() == ABSTAINS).list.all() & (
        mentions > 0
    )
    marks = marks.with_columns(
        status=pl.when((pl.col("status") == "answered") & nothing).then(pl.lit("unread")).otherwise("status")
    )
    own = marks.with_columns(
        pl.col("read").list.head(mentions).fill_null(pl.col("values").list.eval(pl.lit(-1, pl.Int8))),
        pl.col("kinds").list.head(mentions),
        slot=pl.int_ranges(mentions),
    )
    # Surplus words of the released tally are counted with the input values in turn, and never pooled.
    over = marks.filter(pl.col("read").list.len() > mentions)
    longest = over.select(pl.col("read").list.len().max()).item() or 0
    repeated = {name: pl.concat_list([name] * max(1, longest)) for name in ("values", "items")}
    size = pl.col("read").list.len() - mentions
    extra = over.with_columns(
        pl.col("read").list.slice(mentions),
        pl.col("kinds").list.slice(mentions),
        *(column.list.head(size).alias(name) for name, column in repeated.items()),
        slot=pl.int_ranges(1, size + 1),
        _pooled=pl.lit(0, pl.Int64),
    )
    lists = ["items", "values", "read", "kinds", "slot"]
    read_by_people = {several: one for several, one in PEOPLE.items() if several in marks.columns}
    if read_by_people:  # the released tally has surplus words, and no audits
        lists += read_by_people
        extra = extra.clear()
    rows = pl.concat([own, extra], how="vertical_relaxed").filter(pl.col("values").list.len() > 0)
    # A recorded text in which no value was found counts as a response, without mentions.
    unsent = own.filter(mentions == 0).drop(lists).with_columns(slot=pl.lit(0, pl.Int64))
    rows = pl.concat([rows.explode(*lists), unsent], how="diagonal")
    rows = rows.with_columns(
        pl.col(several).fill_null(-1).alias(one) for several, one in read_by_people.items()
    )
    return _added(
        rows.select(
            "service",
            "part",
            "block",
            "segment",
            pl.col("message").alias("text"),
            pl.col("items").alias("item"),
            pl.col("values").alias("value_in"),
            pl.col("read").alias("value_out"),
            pl.col("kinds").alias("kind"),
            "status",
            *_further(rows),
            pl.col("_n").alias("n"),
            pl.col("_pooled").alias("pooled"),
            pl.when(pl.col("slot") == 0).then("_n").otherwise(0).alias("texts"),
        )
    )


def merge(summaries: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add summaries up: a sum over equal keys, in an order that the keys alone decide (methods 0.2)."""
    if not summaries:
        return pl.DataFrame(schema=SUMMARY)
    summaries = [one for one in summaries if not one.is_empty()] or summaries[:1]
    further = _further(summaries[0])
    return _added(pl.concat([one.select(*SUMMARY, *further) for one in summaries]))


def _further(rows: pl.DataFrame) -> list[str]:
    """The further keys; none where nothing was disguised or labelled."""
    named = [name for name in ("disguise", "pattern") if "disguise" in rows.columns]
    return named + [name for name in PEOPLE.values() if name in rows.columns]


def _added(rows: pl.DataFrame) -> pl.DataFrame:
    further = {name: FURTHER[name] for name in _further(rows)}
    sums = {name: pl.col(name).sum() for name in ("n", "pooled", "texts")}
    return sum_by_keys(rows, (*KEYS, *further), sums, {**SUMMARY, **further})


class MentionReader:
    """Reads outputs into codes, one for each mention.

    Codes 0 to C-2 are the values but the residual; C-1 and above are the kinds of `LOST` in order,
    then, for the released tally, surplus words by value.
    """

    def __init__(self, settings: TwoStepSettings) -> None:
        self.settings = settings
        self.table: Attribute = settings.table
        self.other = self.table.other
        self.lost = {kind: self.other + place for place, kind in enumerate(LOST)}
        self.names = [KEPT] * self.other + list(LOST) + [SURPLUS] * self.other + [UNREAD]
        self.values = [*range(self.other), *([self.other] * len(LOST)), *range(self.other), ABSTAINS]
        self.unread = len(self.values) - 1

    def read(self, distinct: pl.DataFrame) -> pl.Series:
        """Codes of each row of (message, output, items, values): List[Int16], null if unreadable."""
        if self.table.scored:
            return self._scores(distinct["output"])
        if self.settings.source:
            codes = self._pronouns(distinct)
        elif self.settings.reader == "released":
            codes = self._released(normalise(distinct["output"]), distinct["values"])
        elif self.settings.one_way:
            codes = self._nouns(distinct)
        else:
            codes = self._sound(distinct)
        junk = distinct["output"].str.count_matches("\N{REPLACEMENT CHARACTER}", literal=True)
        unreadable = (junk * 10 > distinct["output"].str.len_chars()).fill_null(value=True)
        return pl.select(pl.when(~unreadable).then(codes)).to_series()

    def mark(self, answers: pl.DataFrame) -> pl.DataFrame:
        """Columns `read` and `kinds` from `status` and `codes`."""
        value = pl.element().replace_strict(range(len(self.values)), self.values, return_dtype=pl.Int8)
        name = pl.element().replace_strict(range(len(self.names)), self.names, return_dtype=pl.String)
        is_read = pl.col("status") == "answered"
        read = [pl.when(is_read).then(pl.col("codes").list.eval(value))]
        kinds = [pl.when(is_read).then(pl.col("codes").list.eval(name))]
        same = {
            "refused": ("refused", self.other),
            "empty": ("empty", self.other),
            "unreadable": (UNREAD, ABSTAINS),
        }
        for status, (kind, stands) in same.items():
            is_so = pl.when(pl.col("status") == status)
            read.append(is_so.then(_each(pl.lit(stands, pl.Int8))))
            kinds.append(is_so.then(_each(pl.lit(kind))))
        return answers.with_columns(
            pl.coalesce(read).alias("read"), pl.coalesce(*kinds, _each(pl.lit(MISSING))).alias("kinds")
        )

    def _scores(self, outputs: pl.Series) -> pl.Series:
        """The sign of a score, neutral in the dead zone; or the name of a value in words (two-step 1.3)."""
        word = normalise(outputs).str.strip_chars(" \t\r\n.!\"'")
        number = self._scaled(word.cast(pl.Float64, strict=False))
        zone = self.settings.dead_zone
        neutral = self.other + LOST.index("none")
        code = (
            pl.when(word == self.table.values[0].lower())
            .then(0)
            .when(word == self.table.values[1].lower())
            .then(1)
            .when((word == self.table.values[2].lower()) | (number.abs() < zone - TOLERANCE) | (number == 0))
            .then(neutral)
            .when(number.is_finite())
            .then(pl.when(number > 0).then(0).otherwise(1))
        )
        frame = pl.select(code.cast(pl.Int16).alias("code"))
        return frame.select(pl.when(pl.col("code").is_not_null()).then(pl.concat_list("code"))).to_series()

    def _scaled(self, number: pl.Series) -> pl.Series:
        """Scores on -1 to 1; one outside a range that the plan states is none."""
        if self.settings.score_range is None:
            return number
        low, high = self.settings.span
        scaled = (number - low) * (2.0 / (high - low)) - 1.0
        return pl.select(pl.when(scaled.abs() <= 1 + TOLERANCE).then(scaled)).to_series()

    def _released(self, text: pl.Series, values: pl.Series) -> pl.Series:
        """Counts of one word of each value over the whole text, at most k each (two-step 1.4)."""
        tokens = text.str.extract_all("[a-z]+")
        role = self.table.first_role()
        columns = []
        for value in self.table.values[:-1]:
            words = {form.lower() for form in self.table.forms(value)[role]}
            columns.append(
                sum((tokens.list.count_matches(word) for word in sorted(words)), 0 * tokens.list.len())
            )
        counts = zip(*(column.fill_null(0).to_list() for column in columns), strict=True)
        known: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        rows = []
        for given, row in zip(values.to_list(), counts, strict=True):
            key = tuple(given), tuple(min(count, len(given)) for count in row)
            if key not in known:
                known[key] = self._assigned(*key)
            rows.append(known[key])
        return pl.Series(rows, dtype=pl.List(pl.Int16))

    def _assigned(self, given: tuple[int, ...], counts: tuple[int, ...]) -> list[int]:
        """A tally as codes of mentions: equal values first, then in order; then what is above k."""
        left = dict(enumerate(counts))
        slots: list[int | None] = []
        for value in given:
            equal = left.get(value, 0) > 0
            slots.append(value if equal else None)
            left[value] = left.get(value, 0) - equal
        rest = [value for value, count in left.items() for _ in range(count)]
        none = self.other + LOST.index("none")
        filled = [slot if slot is not None else rest.pop(0) if rest else none for slot in slots]
        return filled + [self.other + len(LOST) + value for value in rest]

    def _pronouns(self, distinct: pl.DataFrame) -> pl.Series:
        """The pronoun that stands in English for somebody of an unsaid gender (two-step 1.11)."""
        from trustgauge.data.neutral_source import neutral_source  # only plans that ask for it
        from trustgauge.methods.two_step.pronoun_reader import PronounReader

        reader = PronounReader(self.lost, neutral_source(self.settings.source).english.values())
        found = [reader.code(tuple(lines or ())) for lines in sentences_of(distinct["output"]).to_list()]
        codes = [[self.unread if code == UNREAD_CODE else code] for code in found]
        return pl.Series(codes, dtype=pl.List(pl.Int16))

    def _nouns(self, distinct: pl.DataFrame) -> pl.Series:
        """The gender of each occupation in the language of the translation (two-step 1.11)."""
        from trustgauge.methods.two_step.noun_reader import NounReader  # only plans that ask for it

        reader = NounReader(self.settings.one_way, self.lost["both"], self.lost["none"])
        rows = zip(sentences_of(distinct["output"]).to_list(), distinct["items"].to_list(), strict=True)
        codes = [
            [self.unread if code == UNREAD_CODE else code for code in reader.codes(lines or (), items)]
            for lines, items in rows
        ]
        return pl.Series(codes, dtype=pl.List(pl.Int16))

    def _sound(self, distinct: pl.DataFrame) -> pl.Series:
        """Each mention by the sentences that name its item, or by place where that is sure (two-step 1.4)."""
        lines = sentences_of(distinct["output"])
        framed = AROUND[0] in distinct.columns
        around = AROUND if framed else [pl.lit(0).alias(name) for name in AROUND]
        rows = distinct.select(
            "items", "message", "output", *around, row=pl.int_range(pl.len())
        ).with_columns(lines=lines, whole=lines)
        asking: tuple[str, ...] = (self.table.question,)
        if framed:
            from trustgauge.methods.two_step import disguise  # only plans that ask for it

            rows = rows.with_columns(lines=disguise.without_surroundings(pl.col("lines")))
            asking = disguise.questions(self.table)
        alignment = Alignment(self.table, self.lost)
        asking = tuple(question for question in asking if question)
        was_asked = pl.any_horizontal(
            pl.lit(value=False), *(pl.col("message").str.ends_with(one) for one in asking)
        )
        hedged = was_asked & pl.col("output").str.to_lowercase().str.contains(_HEDGED)
        rows = rows.with_columns(asked=was_asked)
        plain = self._plain(rows.filter(~hedged.fill_null(value=False)), alignment.sentences)
        others = rows.join(plain, on="row", how="anti").with_columns(pl.col("lines", "whole").fill_null([]))
        codes = []
        for row in others.iter_rows(named=True):
            own, items, message = row["lines"], row["items"], row["message"]
            unclear = row["before"] + row["after"] > 0 and len(own) != len(items)
            if unclear:
                inner = alignment.within((row["before"], row["after"]), row["whole"], items)
                own, unclear = inner or own, not inner
            asked = message.endswith(asking)
            is_direct = asked and not unclear and not alignment.direct.asks_back(row["output"] or "")
            codes.append(alignment.codes(own, items, message, asked=asked, direct=is_direct, framed=unclear))
        rest = others.select("row", pl.Series("codes", codes, dtype=pl.List(pl.Int16)))
        ordered = pl.concat([plain, rest]).sort("row")["codes"]
        return ordered.list.eval(pl.when(pl.element() < 0).then(self.unread).otherwise(pl.element()))

    def _plain(self, rows: pl.DataFrame, sentences: Sentences) -> pl.DataFrame:
        """The answers in which sentence i names item i and no other one, read in columns: row, codes.

        Not those to a question of which a sentence by itself says nothing sure; all of it may.
        """
        same = pl.col("lines").list.len() == pl.col("items").list.len()
        each = rows.filter(same).select("row", "asked", "lines", "items").explode("lines", "items")
        known = each.select(pl.col("lines").unique())
        sole = [sentences.sole(line) for line in known["lines"]]
        known = known.with_columns(
            pl.Series("sole", [item for item, _ in sole], dtype=pl.String),
            pl.Series("code", [code for _, code in sole], dtype=pl.Int16),
        )
        return (
            each.join(known, on="lines", how="left", maintain_order="left")
            .with_columns(
                fits=(pl.col("sole") == pl.col("items").str.to_lowercase()).fill_null(value=False)
                & ~(pl.col("asked") & (pl.col("code") == UNREAD_CODE))
            )
            .group_by("row", maintain_order=True)
            .agg(codes="code", fits=pl.col("fits").all())
            .filter("fits")
            .select("row", "codes")
        )


def _each(value: pl.Expr) -> pl.Expr:
    """The same value for each mention of a text."""
    return value.repeat_by(pl.col("values").list.len())


def sentences_of(texts: pl.Series) -> pl.Series:
    """The sentences of each text that hold a letter, normalised but for their case: List[String]."""
    return (
        visible(texts)
        .str.replace_all(TITLE, "$1")
        .str.replace_all(SENTENCE_END, "\n")
        .str.split("\n")
        .list.eval(pl.element().filter(pl.element().str.contains(r"\p{L}")))
    )


TAGS = "(?:a|b|bdi|code|del|em|font|i|ins|mark|q|s|small|span|strong|sub|sup|u)"
MARKUP = {
    rf"<{TAGS}(?:\s[^<>]{{0,200}})?>([^<>]*)</{TAGS}>": "${1}",
    r"(^|[^\w*])(?:\*{1,3}|_{1,3})([^\s*_])": "${1}${2}",
    r"([^\s*_])(?:\*{1,3}|_{1,3})([^\w*]|$)": "${1}${2}",
}
"""Tags of HTML around words, and signs of emphasis in Markdown where it begins and ends -> the words."""


def visible(outputs: pl.Series) -> pl.Series:
    """HTML entities resolved, NFC, without markup, invisible and control characters (two-step 1.4)."""
    if outputs.str.contains("&", literal=True).any():
        outputs = pl.Series(
            [html.unescape(one) if one and "&" in one else one for one in outputs], dtype=pl.String
        )
    for mark, words in MARKUP.items():
        outputs = outputs.str.replace_all(mark, words)
    return (
        outputs.str.replace_all(r"\p{Cf}", "")
        .str.replace_all(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", " ")
        .str.normalize("NFC")
    )


def normalise(outputs: pl.Series) -> pl.Series:
    """What is visible, in lower case (two-step 1.4)."""
    return visible(outputs).str.to_lowercase()


def evidence(marks: pl.DataFrame, values: tuple[str, ...]) -> pl.DataFrame:
    """The columns of an evidence table, one row a response.

    Args:
        marks: the frame that `score_answers` returns.
        values: names of the attribute's values, in the order of their numbers.
    """
    names = dict(enumerate(values))

    def named(column: str) -> pl.Expr:
        inner = pl.element().replace_strict(names, default=None, return_dtype=pl.String)
        return pl.col(column).list.eval(inner)

    # both values of a mention in one number, below 0 where it was not read; `released` counts values to spare
    read = pl.col("read").list.head(pl.col("values").list.len())
    pairs = read.cast(pl.List(pl.Int64)) * len(values) + pl.col("values").cast(pl.List(pl.Int64))
    moved = (pl.element() >= 0) & (pl.element() // len(values) != pl.element() % len(values))
    return marks.select(
        "service",
        "part",
        "id",
        "block",
        sent="message",
        trail="trail",
        back="output",
        status="status",
        values_in=named("values"),
        values_out=named("read"),
        kinds="kinds",
        changed=pairs.list.eval(moved).list.any().fill_null(value=False),
        **{name: pl.col(name) for name in ("pattern", "disguise") if name in marks.columns},
    )


class Alignment:
    """Reads whole answers, mention by mention.

    Args:
        table: the attribute.
        lost: codes of the kinds in which a mention is lost.
    """

    def __init__(self, table: Attribute, lost: Mapping[str, int]) -> None:
        self.lost, self.other = lost, table.other
        self.sentences = sentence_reader(table, lost)

    @cached_property
    def direct(self) -> DirectAnswers:
        """The reader of answers to a question; loaded where one was asked."""
        from trustgauge.methods.two_step.direct_answers import DirectAnswers

        return DirectAnswers(self.sentences, dict(self.lost), self.other)

    @cached_property
    def _token(self) -> re.Pattern[str]:
        return re.compile(f"(?P<word>{self.sentences.words.pattern})|[^\\W_]+")

    def codes(
        self,
        lines: Sequence[str],
        items: Sequence[str],
        message: str,
        *,
        asked: bool,
        direct: bool = False,
        framed: bool = False,
    ) -> list[int]:
        """Codes of the mentions; `UNREAD_CODE` where the reader abstains.

        Args:
            lines: the sentences of the answer, normalised.
            items: the items of the text, one a mention; "" where it is not known.
            message: the text sent.
            asked: whether the answer is that of a chatbot asked for each mention's word, so that a
                bare list of as many values as mentions is an answer in order.
            direct: whether the whole answer may be pairs of values and persons, so that it asks nothing back.
            framed: whether neutral sentences stood around the text: then a sentence that names nobody and
                has no word of a value may be one of them, and is no mention's by its place. Nor is it known
                to be one, so that what is missing beside it is unread.
        """
        names = [item.lower() for item in items]
        different = tuple(dict.fromkeys(name for name in names if name))
        read = [self.sentences.read(line, different) for line in lines]
        tells = [not framed or any(item or one.words for item, one in line) for line in read]
        if asked:
            answer = self._answer(lines, names, list(zip(read, tells, strict=True)), direct=direct)
            if answer is not None:
                return answer
        codes = self._by_item(read, names, message)
        if not asked or all(any(item or one.words for item, one in line) for line in read):
            self._by_place(codes, list(compress(read, tells)), message)
        absent = self._absent(lines, read, codes)
        return [absent if code is None else code for code in codes]

    def _answer(
        self,
        lines: Sequence[str],
        names: Sequence[str],
        read: Sequence[tuple[Line, bool]],
        *,
        direct: bool,
    ) -> list[int] | None:
        """Codes of an answer to the question for each person's word; None if its sentences are to be read.

        Args:
            lines: the sentences of the answer.
            names: the item of each mention.
            read: what each sentence says, and whether it may be about somebody.
            direct: whether it may be read whole.
        """
        said = self.direct.codes(lines, names) if direct else None
        said = self.direct.declines(lines, names) if said is None else said
        if said is not None:
            return said
        if self._is_hedged(lines):
            return [UNREAD_CODE] * len(names)
        if any(line[0][0] for line, _ in read):
            return None
        listed = self._list(list(compress(lines, (tells for _, tells in read))), len(names))
        if listed is None and self._about_nothing(lines, [line for line, _ in read]):
            return [self.lost["unaligned"]] * len(names)
        return listed

    def _is_hedged(self, lines: Sequence[str]) -> bool:
        """Whether a value stands in a sentence that may say of whom it is not, or when it would be."""
        return any(
            HEDGES.search(line)
            and any(self.sentences.codes[one[0]] < self.other for one in self.sentences.words.finditer(line))
            for line in map(str.lower, lines)
        )

    def within(self, around: tuple[int, int], lines: Sequence[str], items: Sequence[str]) -> list[str]:
        """The sentences of a text among neutral ones that came back in other words, by their place.

        None of them unless as many sentences came as were sent, and those outside tell nothing of a person.

        Args:
            around: how many neutral sentences stood before the text, and after it.
            lines: all sentences of the answer.
            items: of the text, one a mention.
        """
        start, stop = around[0], around[0] + len(items)
        outside = [*lines[:start], *lines[stop:]]
        names = tuple(dict.fromkeys(item.lower() for item in items if item))
        tells = (
            bool(item) or 0 <= one.code < self.other
            for line in outside
            for item, one in self.sentences.read(line, names)
        )
        fits = len(lines) == sum(around) + len(items) and not any(tells)
        return list(lines[start:stop]) if fits else []

    def _by_item(self, read: Sequence[Line], names: Sequence[str], message: str) -> list[int | None]:
        """Codes of the mentions whose item is named; None for the others."""
        codes: list[int | None] = [None] * len(names)
        for name in dict.fromkeys(names):
            slots = [slot for slot, own in enumerate(names) if own == name]
            places = [(place, one) for place, line in enumerate(read) for item, one in line if item == name]
            if not name or not places:
                continue
            sure = [self._sure(one, message) for _, one in places]
            if len(slots) > 1:
                agree = len(sure) == len(slots) or len(set(sure)) == 1
                for place, slot in enumerate(slots):
                    codes[slot] = sure[place % len(sure)] if agree else UNREAD_CODE
            else:
                code = self._together(sure)
                codes[slots[0]] = self._goes_on(code, places[-1][0], read)
        return codes

    def _together(self, codes: Sequence[int]) -> int:
        """One code of several sentences about a person: a value before what says nothing of it."""
        values = {code for code in codes if 0 <= code < self.other}
        if len(values) == 1 and UNREAD_CODE not in codes:
            return values.pop()
        return UNREAD_CODE if values or UNREAD_CODE in codes else min(codes)

    def _goes_on(self, code: int, place: int, read: Sequence[Line]) -> int:
        """The code of a person named in a sentence without a value, by the sentences behind it.

        Only where every other sentence names somebody too, so that none of them is a mention by itself.
        """
        if code != self.lost["none"]:
            return code
        behind = []
        for line in read[place + 1 :]:
            if line[0][0]:
                break
            behind += [line[0][1].code] if line[0][1].words else []
        if not behind or len(read[place]) > 1:
            return code
        return behind[0] if len(set(behind)) == 1 else UNREAD_CODE

    def _by_place(self, codes: list[int | None], read: Sequence[Line], message: str) -> None:
        """Fill in what sentences without an item say, if each can answer one mention only.

        There are as many sentences as mentions, and each names one item at most.
        """
        left = [slot for slot, code in enumerate(codes) if code is None]
        loose = [line[0][1] for line in read if not line[0][0]]
        if len(read) == len(codes) and len(loose) == len(left) and all(len(line) == 1 for line in read):
            for slot, one in zip(left, loose, strict=True):
                codes[slot] = self._sure(one, message)

    def _absent(self, lines: Sequence[str], read: Sequence[Line], codes: Sequence[int | None]) -> int:
        """The code of a mention of which the answer says nothing: lost if the rest is accounted for."""
        loose = [line[0][1] for line in read if not line[0][0]]
        if not loose:
            others = UNREAD_CODE in codes or any(one.more for line in read for _, one in line)
            return UNREAD_CODE if others else self.lost["unaligned"]
        if all(code is None for code in codes) and self._about_nothing(lines, read):
            return self.lost["unaligned"]
        return UNREAD_CODE

    def _about_nothing(self, lines: Sequence[str], read: Sequence[Line]) -> bool:
        """Whether an answer is about none of the persons: a few plain words, like "I see. Please go on."."""
        words = [[match[0].lower() for match in TOKEN.finditer(line)] for line in lines]
        plain = sum(word in FUNCTION for line in words for word in line)
        return (
            sum(map(len, words)) <= min(SHORT, 2 * plain)
            and all(line[0] in FUNCTION for line in words if line)
            and not any(one.words for line in read for _, one in line)
        )

    def _sure(self, one: MentionReading, message: str) -> int:
        """The code, unless the sentence has words that might be a name and do not stand in the text sent."""
        if not one.doubts:
            return one.code
        sent = {match[0] for match in TOKEN.finditer(message.lower())}
        sent |= {f"{word}y" for word in sent if len(word) > 4}  # "the bakery" of a baker is no name
        return one.code if one.doubts <= sent else UNREAD_CODE

    def _list(self, lines: Sequence[str], mentions: int) -> list[int] | None:
        """The values of an answer that ends in a bare list of them, and has no other words of values."""
        codes: list[int] = []
        text = "\n".join(lines).lower()
        if any(not re.search(r"\s", match[0]) for match in self.sentences.pair.finditer(text)):
            return None  # "he/she" may be meant for each
        for match in self._token.finditer(text):
            if not codes and match[0] in NO_LIST:
                return None
            if match["word"] is not None:
                codes.append(self.sentences.codes[match[0]])
            elif codes and match[0] != "and" and not match[0].isdigit():
                return None
        return codes if len(codes) == mentions else None
