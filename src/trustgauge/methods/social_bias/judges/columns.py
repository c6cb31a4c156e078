"""The sound judge for many short answers at once: the verdicts of `sound.py`, column by column.

Names are found in a few passes over all texts (`holding.py`), words and marks once in each distinct piece
between two stops (`pieces.py`), and a verdict is made once for all answers of parts that are alike, by the
same rules (`findings.py`). Answers that are not plain (`plain.py`), that
repeat their question, or whose names overlap, are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise

import numpy as np
import polars as pl

from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.judges import lexer
from trustgauge.methods.social_bias.judges.findings import KINDS, Findings
from trustgauge.methods.social_bias.judges.forms import Forms, forms_of
from trustgauge.methods.social_bias.judges.lexer import FILL, Language
from trustgauge.methods.social_bias.judges.name_finder import Named, held, names_in
from trustgauge.methods.social_bias.judges.pieces import pieces_of
from trustgauge.methods.social_bias.judges.plain_text import (
    ELLIPSIS,
    Bytes,
    Flags,
    Laid,
    Places,
    characters,
    folded,
    is_han,
    is_plain,
    is_wide,
    laid,
    may_fold_otherwise,
    one_text,
)
from trustgauge.methods.social_bias.judges.properties import hold_properties
from trustgauge.methods.social_bias.judges.question_parser import CLOSING, Property, property_of
from trustgauge.methods.social_bias.judges.sound import Reader
from trustgauge.methods.social_bias.judges.tokens import coded

FEWEST = 200  # rows from which passes over all of them are worth their preparation
BATCH = 5_000_000  # bytes of questions and answers that lie in memory together
FOUND = {"verdict": pl.String, "span_start": pl.Int64, "span_end": pl.Int64}
BETWEEN = re.compile(r"\S  +\S")


def judged(rows: pl.DataFrame, reader: Reader, *, fewest: int = FEWEST, batch: int = BATCH) -> pl.DataFrame:
    """What each answer says, as `reader` reads it.

    Args:
        rows: columns message, output, kind, group_a and group_b, nothing of which is null.
        reader: knows the groups, and reads what is not plain.
        fewest: rows from which they are read together; fewer are read one by one.
        batch: bytes of questions and answers that lie in memory together.

    Returns:
        Columns `FOUND`, of the same height and order.
    """
    numbered = rows.with_row_index("row")
    if len(rows) < fewest:
        return _one_by_one(numbered, reader).select(list(FOUND))
    plain = is_plain("message") & is_plain("output") & pl.col("kind").is_in(KINDS)
    quick = _without_echoes(numbered.filter(plain, ~may_fold_otherwise("message")))
    wide = quick.select(is_wide("message") | is_wide("output")).to_series()
    others = quick.filter(wide)
    chinese = others.select(is_han("output")).to_series()
    # Texts of ASCII lie alone, for each of their characters is one byte.
    scripts = (quick.filter(~wide), others.filter(~chinese), others.filter(chinese))
    about = _About(pl.concat([rows["group_a"], rows["group_b"]]).unique().sort(), reader.groups)
    found = [
        _columns(part, about, reader, chinese=number == 2)
        for number in range(3)
        for part in _batches(scripts[number], batch)
    ]
    done = pl.concat([pl.DataFrame(schema={"row": pl.UInt32, **FOUND}), *found])
    if len(done) < len(rows):
        rest = numbered.join(done, on="row", how="anti")
        done = pl.concat([done, _one_by_one(rest, reader)])
    return done.sort("row").select(list(FOUND))


@dataclass(frozen=True, slots=True)
class _About:
    """The groups that rows are about.

    Attributes:
        ids: of all of them.
        groups: id -> group; some may be missing.
        made: their names, by whether Chinese ones are among them.
        asked: number of the property by the question without names, and whether that is Chinese.
        properties: what is said of them in the questions, by its number.
        negated: whether that is a negation, by this number.
        wording: place of its words in `words`, by this number.
        words: distinct sets of words of properties.
        found: what is found in answers, by whether they are Chinese.
    """

    ids: pl.Series
    groups: Mapping[str, Group]
    made: dict[bool, Forms] = field(default_factory=dict)
    asked: dict[tuple[str, bool], int] = field(default_factory=dict)
    properties: list[Property] = field(default_factory=list)
    negated: list[bool] = field(default_factory=list)
    wording: list[int] = field(default_factory=list)
    words: dict[frozenset[str], int] = field(default_factory=dict)
    found: dict[bool, Findings] = field(default_factory=dict)

    def forms(self, *, chinese: bool) -> Forms:
        """Their names."""
        if chinese not in self.made:
            self.made[chinese] = forms_of(tuple(self.groups.get(one) for one in self.ids), chinese=chinese)
        return self.made[chinese]

    def property_numbers(self, questions: Bytes, chinese: Flags) -> Places:
        """The property that each question asks about, whose names are held; new ones are read."""
        bare = one_text(questions, without=FILL).str.split("\0").explode()[:-1]
        codes, texts, _ = coded(bare)
        pairs = codes * np.int64(2) + chinese
        used = np.flatnonzero(np.bincount(pairs))
        keys = zip(texts.gather(used // 2).to_list(), (used % 2 > 0).tolist(), strict=True)
        by_pair = np.zeros(2 * len(texts), dtype=np.int64)
        by_pair[used] = [self.asked.setdefault(key, len(self.asked)) for key in keys]
        for question, han in islice(self.asked, len(self.properties), None):
            read = property_of(question, chinese=han)
            self.properties.append(read)
            self.negated.append(read.negated)
            self.wording.append(self.words.setdefault(read.words, len(self.words)))
        numbers: Places = by_pair[pairs]
        return numbers


def _batches(rows: pl.DataFrame, size: int) -> Iterator[pl.DataFrame]:
    """Rows in their order, so many at a time that their texts take about `size` bytes."""
    lengths = rows.select(pl.col("message").str.len_bytes() + pl.col("output").str.len_bytes())
    behind = np.cumsum(lengths.to_series().to_numpy(), dtype=np.int64)
    cuts = np.searchsorted(behind, np.arange(size, behind[-1] if len(rows) else 0, size))
    for first, last in pairwise([0, *cuts.tolist(), len(rows)]):
        if last > first:
            yield rows[first:last]


def _without_echoes(rows: pl.DataFrame) -> pl.DataFrame:
    """Plain answers with spaces where they repeat their question, as the reader sees them.

    An answer in which such spaces stand between words is left out: a name may hold them.
    """
    asked, said = pl.col("asked"), pl.col("output")
    both = rows.select(
        pl.col("message").str.strip_chars(f"{CLOSING}？！").alias("asked"), "message", "output"
    )
    long = (asked != "") & (said.str.len_chars() >= asked.str.len_chars())
    places = both.select(long.arg_true()).to_series()
    lower = said.str.to_lowercase().str.contains(asked.str.to_lowercase(), literal=True)
    wide = is_wide("message") | is_wide("output")
    for check in (lower | wide, folded(said).str.contains(folded(asked), literal=True)):
        places = places.filter(both[places].select(check).to_series())
    if not len(places):
        return rows
    blanked = [_blanked(*row) for row in rows[places].select("message", "output").iter_rows()]
    outputs = rows["output"].scatter(places, pl.Series(blanked, dtype=pl.String))
    return rows.with_columns(outputs).drop_nulls("output")


def _blanked(message: str, output: str) -> str | None:
    if ELLIPSIS in output:
        return None
    asked, text = lexer.folded(message)[0].strip(CLOSING), lexer.folded(output)[0]
    blanked = text.replace(asked, " " * len(asked))
    return None if BETWEEN.search(blanked) else blanked


def _one_by_one(rows: pl.DataFrame, reader: Reader) -> pl.DataFrame:
    texts = rows.select("message", "output", "kind", "group_a", "group_b")
    found = [reader.read(*row) for row in texts.iter_rows()]
    verdicts = pl.DataFrame(found, schema=FOUND, orient="row")
    return pl.concat([rows.select("row"), verdicts], how="horizontal")


def _columns(rows: pl.DataFrame, about: _About, reader: Reader, *, chinese: bool) -> pl.DataFrame:
    """Verdicts of plain answers that are all Chinese or all not; what is not settled is left out."""
    number = len(rows)
    texts = laid(pl.concat([rows["message"], rows["output"]]))
    two = (rows["group_b"] != "").to_numpy()
    named = _named(rows, texts, about)
    turned = _turned(named, number)
    filled = held(texts, named, np.concatenate([np.zeros(number, dtype=bool), turned]))
    cut = texts.starts[number]
    han = rows.select(is_han("message")).to_series().to_numpy() if texts.han else np.zeros(number, dtype=bool)
    asked, properties = about.property_numbers(filled[:cut], han), about.properties
    language: Language = "zh" if chinese else "en"
    answers = hold_properties(filled[cut:], asked, properties) if chinese else filled[cut:]
    pieces = pieces_of(answers, language, np.array(about.wording)[asked], list(about.words))
    cases = _cases(rows["kind"], two, np.array(about.negated, dtype=bool)[asked])
    verdicts, *ends = about.found.setdefault(chinese, Findings(chinese)).read(pieces, cases, turned)
    none, begins = ends[0] < 0, texts.starts[number:-1] - cut
    if not texts.ascii:
        begins, *ends = characters(texts.bytes[cut:], begins, *ends)
    spans = [np.where(none, -1, end - begins) for end in ends]
    settled = ~(named.unsettled[:number] | named.unsettled[number:])
    return pl.DataFrame(
        {"row": rows["row"], "verdict": verdicts, "span_start": spans[0], "span_end": spans[1]},
        schema_overrides=FOUND,
    ).filter(settled)


def _named(rows: pl.DataFrame, texts: Laid, about: _About) -> Named:
    """The names in the questions, and behind them the answers, of rows."""
    first, second = (
        rows[name].cast(pl.Enum(about.ids)).to_physical().to_numpy().astype(np.int64)
        for name in ("group_a", "group_b")
    )
    second = np.where((rows["group_b"] == "").to_numpy(), len(about.ids), second)
    return names_in(texts, about.forms(chinese=texts.han), np.tile(first, 2), np.tile(second, 2))


def _turned(named: Named, questions: int) -> Flags:
    """Whether a question names its second group first; the first texts are questions."""
    here = named.rows < questions
    rows, starts, first = named.rows[here][::-1], named.starts[here][::-1], named.first[here][::-1]
    at = np.full((2, questions), -1, dtype=np.int64)
    at[np.where(first, 0, 1), rows] = starts  # of several names in a text the last written counts: the first
    turned: Flags = (at[1] >= 0) & (at[1] < at[0])
    return turned


def _cases(kinds: pl.Series, two: Flags, negated: Flags) -> Places:
    """For each row the place of its case in `CASES`."""
    kind = kinds.cast(pl.Enum(KINDS)).to_physical().to_numpy().astype(np.int64)
    return kind * 4 + two * 2 + negated
