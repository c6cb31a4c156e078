"""Tables of sentences that differ in a protected class: importers (causal 2.1).

A table becomes the probe columns of the causal method, as the generated sentences are. Three
layouts are known: the Equity Evaluation Corpus, the files of scores that the authors of the causal
method released, and any other table, whose columns the plan names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import polars as pl
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from trustgauge.data.emotions import NA, valences
from trustgauge.data.tables import check_content, fault, need_columns, read_table, rows_in_words, short
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.methods.causal.text_difference import TextDifference, text_difference
from trustgauge.plan import PlanPaths
from trustgauge.records import Json

PLACE = "sentences"
Layout = Literal["eec", "scores", "general"]
Role = Literal["text", "frame", "person", "gender", "race", "word", "valence", "set"]
Coded = Literal["gender", "race", "valence", "set"]
ROLES: tuple[Role, ...] = ("text", "frame", "person", "gender", "race", "word", "valence", "set")

COLUMNS: Mapping[Layout, Mapping[Role, str]] = {
    "eec": {
        "text": "Sentence",
        "frame": "Template",
        "person": "Person",
        "gender": "Gender",
        "race": "Race",
        "word": "Emotion word",
        "set": "Emotion",
    },
    "scores": {
        "text": "text",
        "frame": "frame",
        "person": "person",
        "gender": "gender",
        "race": "race",
        "word": "word",
        "valence": "valence",
        "set": "dataset",
    },
    "general": {},
}
"""The columns of each layout; those that the plan names stand in their place."""
OPTIONAL: Mapping[Layout, tuple[Role, ...]] = {
    "eec": ("race",),
    "scores": ("text", "person", "race", "valence", "set"),
    "general": (),
}
"""Columns that a file of the layout may lack, unless the plan names them."""
MEANINGS: Mapping[Coded, tuple[str, ...]] = {
    "gender": ("male", "female", NA),
    "race": ("European", "African-American", NA),
    "valence": ("positive", "negative", ""),
}
"""What a code can stand for; a set can be called anything."""
PUBLISHED: Mapping[Coded, Mapping[str, str]] = {
    "gender": {"0": NA, "1": "male", "2": "female"},
    "race": {"0": NA, "1": "European", "2": "African-American"},
    "valence": {"0": "negative", "1": "positive"},
}
"""The codes of the released score files (causal 2.1)."""

LEAST_MATCHED = 0.1
"""Share of the rows that have a text of another class in their frame, or the table holds no matched texts."""


CONFOUNDED = (2, 4)  # groups whose column Emotion holds the valence, not the word
EMOTIONS: Mapping[str, str] = {
    "joy": "positive",
    "anger": "negative",
    "fear": "negative",
    "sadness": "negative",
}
"""Valence of the emotions of the Equity Evaluation Corpus."""
WORDS: Mapping[str, str] = {"1": "grim", "2": "happy", "3": "depressing", "4": "glad"}
"""What `Emotion` codes in the released scores of Groups 1 and 3 (causal 2.1)."""
VALENCES: Mapping[str, str] = {"0": "negative", "1": "positive"}
"""What it codes in those of Groups 2 and 4."""
SET_NAME = re.compile(r"(?:^|_)(e[1-5])(?=_|$)")
PLACEHOLDER = re.compile(r"[<{\[](?P<what>person|noun phrase|name|word|emotion)[^>}\]]*[>}\]]", re.IGNORECASE)


class SentenceSource(BaseModel):
    """One or more tables of sentences, and how they are read.

    `columns` names the column of each role: text, frame, person, gender, race, word, valence, set.
    A *set* is rated by itself (an emotion, a word set). `codes` says what the cells of gender, race,
    valence and set mean: {gender = {"f" = "female"}}.

    Layout `scores` takes score files. Those that the authors released (Gender, Race, Emotion, Sentiment) are
    read as they are, with `group` (`sentence_cells.released`); others name dataset, frame, person,
    gender, race, word, valence. Without text it is put together from frame, person and word: a
    sentence if the frame shows where they go ("<person> feels <emotion>"), else the three parts, which
    only a recorded service can answer. A column of scores is such a service's answer: write
    `recorded()` to a file, and name that file as the service (`use = "replay"`, `task = "score"`,
    `text = "text"`, `draw = "draw"`, `output = "Sentiment"`). Several systems as columns of one file
    are several services with other `output`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layout: Layout = Field("general", description="Shape of the table")
    file: PlanPaths = Field(min_length=1, description="CSV, TSV or JSON lines, UTF-8; one or a list")
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    columns: Mapping[Role, str] = Field({}, description="Column of each role; by layout")
    codes: Mapping[Coded, Mapping[str, str]] = Field({}, description="What the cells mean: cell -> class")
    sets: tuple[str, ...] = Field((), description="Name of the set in each file, if no column tells it")
    adjust: tuple[str, ...] = Field(
        (), description="Columns that a table without frames is adjusted for, such as the room reviewed"
    )
    group: Literal[1, 2, 3, 4] | None = Field(
        None, description="The group of generated data as which the table is rated"
    )
    # Declared after `file`, whose checked value it needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the files, filled in; refuses a changed file"
    )

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        files = info.data.get("file")
        if not files:
            return value
        return check_content(files, value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        raise_faults(self._faults())
        if not self.protected:
            raise self._fault(
                "nothing to compare",
                must="two genders or two races among the rows",
                do="Name the columns of the classes in `columns`, and what their cells mean in `codes`",
            )
        if self.adjust and self.matched and self.difference is None:
            what = "the texts are matched by their frames, so there is nothing to adjust for"
            raise PlanError.of(f"{PLACE}.adjust", what, do="Leave out `adjust`, or the column of frames")
        return self

    def _faults(self) -> Iterator[Fault]:
        """Faults of the settings that say how the table is read."""
        if self.separator and len(self.separator.encode()) != 1:
            yield Fault(f"{PLACE}.separator", "no separator", must="one ASCII character", got=self.separator)
        if self.sets and len(self.sets) != len(self.file):
            yield Fault(f"{PLACE}.sets", "not one set for each file", must=f"{len(self.file)} names")
        roles = self._roles
        if "text" not in roles:
            yield Fault(f"{PLACE}.columns.text", "no column of texts named", must="a column of the file")
        if not {"gender", "race"} & set(roles):
            must = "a column of the file, for one of: gender, race"
            yield Fault(f"{PLACE}.columns.gender", "no column of a protected class named", must=must)
        for role, valid in MEANINGS.items():
            for cell, meaning in self.codes.get(role, {}).items():
                if meaning not in valid:
                    must = "one of: " + ", ".join(one or '""' for one in valid)
                    yield Fault(f"{PLACE}.codes.{role}.{cell}", "no such meaning", must=must, got=meaning)

    def __hash__(self) -> int:
        return hash((self.content, self.file, self.layout, self.group, self.sets))

    @property
    def _roles(self) -> dict[Role, str]:
        named = {**COLUMNS[self.layout], **self.columns}
        return {role: named[role] for role in ROLES if named.get(role)}

    @property
    def protected(self) -> tuple[str, ...]:
        """What varies in the table: some of "gender", "race", "race and gender"."""
        classes = self._rows.select("gender", "race").unique()
        genders, races = (set(classes[name]) - {NA} for name in ("gender", "race"))
        both = classes.filter((pl.col("gender") != NA) & (pl.col("race") != NA))
        found = [("gender", len(genders) > 1), ("race", len(races) > 1)]
        crossed = len(set(both["gender"])) > 1 and len(set(both["race"])) > 1
        return tuple(name for name, varies in [*found, ("race and gender", crossed)] if varies)

    @property
    def matched(self) -> bool:
        """Whether only the class changes between texts that are compared (causal 2.8a).

        So it is where frames are given, or persons whose names are taken out of the text leave the same
        words, and texts of two classes share one. Equal texts of two classes alone are no matched pair.
        """
        rows = self._rows
        if self.layout == "general" and "frame" not in self._roles:
            rows = rows.filter(pl.col("frame").str.contains("{person}", literal=True))
        several = pl.struct("gender", "race").n_unique().over("set", "frame") > 1
        return rows.filter(several).height >= LEAST_MATCHED * self._rows.height

    @property
    def difference(self) -> TextDifference | None:
        """What else than the person differs between texts that share a frame, where persons are named."""
        return _difference(self)

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        return self.model_dump(mode="json", exclude={"file"})

    def probes(self, *, matched: bool | None = None) -> pl.DataFrame:
        """The rows as probes of the causal method, in the order of the table, without `draw`.

        Blocks are "sentences/<set>", or "group-3/<set>" if `group` is 3. Rows with the same text are
        repeats. Where no person is named, the class stands for the person, and each frame is a
        cluster by itself (`cluster`), since persons cannot be resampled then. In a table that is not
        `matched` each row is a frame, and the texts of a person, or equal texts, are a cluster.

        Args:
            matched: whether the table counts as matched; if not given, as its frames say.
        """
        data, short_data = (f"group-{self.group}", f"g{self.group}") if self.group else (PLACE, "s")
        number = (pl.int_range(1, pl.len() + 1).over("set")).cast(pl.String).str.zfill(4)
        named = pl.col("named")
        frame, person = pl.col("frame"), pl.col("person")
        cluster = pl.when(named).then(pl.lit("")).otherwise("frame")
        if not (self.matched if matched is None else matched):
            frame = pl.format("row {}", pl.int_range(1, pl.len() + 1))
            cluster = pl.when(named).then("person").otherwise("text")
            person = class_of(pl.col("gender"), pl.col("race"))
        return self._rows.select(
            pl.concat_str(pl.lit(f"{short_data}-"), "set", pl.lit("-"), number).alias("id"),
            pl.col("text").alias("message"),
            pl.lit("").alias("session"),
            pl.lit(0, dtype=pl.Int64).alias("turn"),
            pl.concat_str(pl.lit(f"{data}/"), "set").alias("block"),
            frame.alias("frame"),
            person.alias("person"),
            *("gender", "race", "word", "valence"),
            cluster.alias("cluster"),
            "covariates",
        )

    def recorded_answers(self) -> pl.DataFrame:
        """The tables as they are, with the columns `text` and `draw` that a recorded service needs.

        Written to a file, its column of scores is the answer to each of these sentences: see the
        class. `draw` counts the rows with one text, as the design does.
        """
        rows = self._rows.select("text", pl.int_range(pl.len(), dtype=pl.Int64).over("text").alias("draw"))
        given = pl.concat([self._table(file) for file in self.file], how="diagonal")
        return pl.concat([given.drop("text", "draw", strict=False), rows], how="horizontal")

    @property
    def _rows(self) -> pl.DataFrame:
        return _rows(self)

    def _read_all(self) -> pl.DataFrame:
        """Columns of `ROLES`, all text without nulls, of all files."""
        check_content(self.file, self.content, f"{PLACE}.file")
        names = self.sets or ("",) * len(self.file)
        parts = [self._read(file, name) for file, name in zip(self.file, names, strict=True)]
        rows = pl.concat(parts)
        self._check_facts(rows, "person", ("gender", "race"))
        self._check_facts(rows.filter(pl.col("word") != ""), "word", ("valence",))
        return distinct_frames(rows)

    def _table(self, file: Path) -> pl.DataFrame:
        return read_table(file, f"{PLACE}.file", self.separator)

    def _read(self, file: Path, name: str) -> pl.DataFrame:
        """One file as the columns of `ROLES` and `named`, whether it has persons.

        `name` is its set, if the plan tells it.
        """
        table = self._table(file)
        if self.layout == "scores":
            self._need_group(file, table)
            table = normalise_released_table(table, self.group)
        lost = [role for role in OPTIONAL[self.layout] if self._roles.get(role) not in table.columns]
        roles = {
            role: column for role, column in self._roles.items() if role not in lost or role in self.columns
        }
        need_columns(file, table, {f"{PLACE}.columns.{role}": column for role, column in roles.items()})
        cells = {role: table[column].fill_null("").str.strip_chars() for role, column in roles.items()}
        empty = pl.Series([""] * len(table), dtype=pl.String)
        cells.update({role: self._decoded(file, role, cells.get(role, empty)) for role in MEANINGS})
        cells["set"] = self._set_of(file, cells.get("set", empty), name)
        cells["word"] = cells.get("word", empty)
        emotions = cells["set"] if self.layout == "eec" else empty
        cells["valence"] = valence(cells["valence"], cells["word"], emotions)
        cells.setdefault("person", classes(cells["gender"], cells["race"]))
        if "text" not in cells:
            cells["text"] = compose_texts(cells["frame"], cells["person"], cells["word"])
        blank = (cells["text"] == "").arg_true().to_list()
        if blank:
            raise self._fault(
                f"no text in {_rows_in_words(blank)}", file, do="Fill it in, or take the rows out"
            )
        if "frame" not in cells:
            named = cells["person"] if "person" in roles else empty
            cells["frame"] = derive_frames(cells["text"], named, cells["word"])
        blank = ((cells["person"] == "") | (cells["frame"] == "")).arg_true().to_list()
        if blank:
            raise self._fault(f"no person or no frame in {_rows_in_words(blank)}", file, do="Fill it in")
        frame = pl.DataFrame({role: cells[role] for role in ROLES})
        return frame.with_columns(named=pl.lit("person" in roles), covariates=self._covariates(file, table))

    def _covariates(self, file: Path, table: pl.DataFrame) -> pl.Series:
        """What each row is adjusted for, in words: "room=12, year=2020"."""
        need_columns(file, table, {f"{PLACE}.adjust": column for column in self.adjust})
        blank = pl.Series([""] * len(table), dtype=pl.String)
        for place, column in enumerate(self.adjust):
            blank += (", " if place else "") + f"{column}=" + table[column].fill_null("").str.strip_chars()
        return blank

    def _need_group(self, file: Path, table: pl.DataFrame) -> None:
        """Raise PlanError where the cells of `Emotion` may be words or valences."""
        if self.group is None and {"Emotion"} <= set(table.columns) and "word" not in table.columns:
            raise PlanError.of(
                f"{PLACE}.group",
                f"{file.name}: what the codes of Emotion mean depends on the group",
                must="1 to 4",
                do="Set `group` to the group of generated data that was scored",
            )

    def _decoded(self, file: Path, role: Coded, cells: pl.Series) -> pl.Series:
        """The classes that cells stand for: by the plan, by the published codes, or by their names."""
        codes = {one.lower(): one for one in MEANINGS[role]}
        codes |= {"": "" if role == "valence" else NA, "neutral": ""} if role == "valence" else {"": NA}
        codes |= PUBLISHED[role] if self.layout == "scores" else {}
        meanings = {cell.strip().lower(): meaning for cell, meaning in self.codes.get(role, {}).items()}
        # Tables that went through a program for numbers hold 1.0 for 1.
        plain = cells.str.to_lowercase()
        whole = plain.str.replace(r"^(\d+)\.0+$", "$1")
        plain = pl.select(pl.when(plain.is_in(list(meanings))).then(plain).otherwise(whole)).to_series()
        decoded = plain.replace_strict({**codes, **meanings}, default=None, return_dtype=pl.String)
        odd = decoded.is_null().arg_true().to_list()
        if odd:
            got = ", ".join(short(one) for one in cells.gather(odd).unique(maintain_order=True).head(5))
            raise PlanError.of(
                f"{PLACE}.codes.{role}",
                f"{file.name}: unknown {role} in {_rows_in_words(odd)}",
                must="one of: " + ", ".join(sorted({*codes, *meanings} - {""})),
                got=got,
                do=f"Say what it means in `codes.{role}`",
            )
        return decoded

    def _set_of(self, file: Path, cells: pl.Series, name: str) -> pl.Series:
        """The set of each row: by the plan, by its column, or by what is usual in the layout."""
        if name:
            cells = pl.Series([name] * len(cells), dtype=pl.String)
        codes = dict(self.codes.get("set", {}))
        short_name = SET_NAME.search(file.stem)
        stem = short_name[1] if short_name else file.stem
        usual = {"eec": "neutral", "scores": stem, "general": "all"}[self.layout]
        return cells.replace(codes).replace("", usual).str.replace_all("/", "-", literal=True)

    def _check_facts(self, rows: pl.DataFrame, key: str, facts: Iterable[str]) -> None:
        """Raise PlanError if a person has two classes, or a word two valences."""
        for fact in facts:
            several = rows.group_by(key).agg(pl.col(fact).unique().sort()).filter(pl.col(fact).list.len() > 1)
            if len(several):
                name, values = several.sort(key).row(0)
                what = f"the {key} {short(name)} has more than one {fact}"
                raise self._fault(what, must="one", got=", ".join(value or '""' for value in values))

    def _fault(
        self, what: str, file: Path | None = None, *, must: str = "", got: str = "", do: str = ""
    ) -> PlanError:
        return fault(file or self.file[0], f"{PLACE}.file", what, must=must, got=got, do=do)


@lru_cache(maxsize=8)
def _rows(source: SentenceSource) -> pl.DataFrame:
    """The rows of a source, read once: not kept in the source, as columns do not compare to one truth."""
    return source._read_all()


@lru_cache(maxsize=8)
def _difference(source: SentenceSource) -> TextDifference | None:
    """See `SentenceSource.difference`."""
    return text_difference(source._rows.filter("named"))


def _rows_in_words(places: list[int]) -> str:
    """Rows counted from 1, the first below the header."""
    return rows_in_words([place + 1 for place in places])


def valence(given: pl.Series, words: pl.Series, emotions: pl.Series) -> pl.Series:
    """The valence given; else that of the word's emotion, or of the word in our list; else none."""
    known = pl.DataFrame({"told": given, "word": words, "emotion": emotions.str.to_lowercase()}).select(
        pl.when((pl.col("told") != "") | (pl.col("word") == ""))
        .then("told")
        .otherwise(
            pl.coalesce(
                pl.col("emotion").replace_strict(EMOTIONS, default=None, return_dtype=pl.String),
                pl.col("word").replace_strict(dict(valences()), default="", return_dtype=pl.String),
            )
        )
    )
    return known.to_series()


def normalise_released_table(table: pl.DataFrame, group: int | None) -> pl.DataFrame:
    """A released score file (Gender, Race, Emotion, Sentiment) with columns for the other roles added.

    Names are taken without regard to case. Sentences and persons are not in these files, but their rows
    stand in one order in every class: the nth row of a class is the nth row of another with other persons.
    So `frame` numbers them; rows of nobody's gender and race have frames of their own. A table that has the
    column `frame` already is returned as it is.

    Args:
        table: all text.
        group: of generated data (1 to 4), which tells whether `Emotion` is a word or a valence.
    """
    alias = {name.strip().lower(): name for name in table.columns}
    wanted = {"gender": "gender", "race": "race", "sentences": "text", "sentence": "text"}
    if "emotion" not in alias or "frame" in table.columns or group is None:
        return table
    table = table.with_columns(
        pl.col(alias[name]).alias(role)
        for name, role in wanted.items()
        if name in alias and role not in table.columns
    )
    whole = pl.col(alias["emotion"]).str.strip_chars().str.replace(r"\.0+$", "")
    codes = VALENCES if group in CONFOUNDED else WORDS
    word = whole.replace(dict(codes)).alias("word")
    own = [name for name in ("gender", "race") if name in table.columns]
    unnamed = [pl.col(name).str.replace(r"\.0+$", "").is_in(["0", ""]) for name in own]
    nobody = pl.all_horizontal(unnamed) if unnamed else pl.lit(value=False)
    within = own if group in CONFOUNDED else [*own, alias["emotion"]]
    number = (pl.int_range(1, pl.len() + 1).over(within)).cast(pl.String)
    frame = pl.when(nobody).then(pl.format("row {} of nobody", number)).otherwise(pl.format("row {}", number))
    normal = table.with_columns(word, frame.alias("frame"))
    return normal.with_columns(valence=whole) if group in CONFOUNDED else normal


def classes(gender: pl.Series, race: pl.Series) -> pl.Series:
    """The class of each row, which stands for the person where none is named: "European female"."""
    return (
        pl.DataFrame({"gender": gender, "race": race})
        .select(class_of(pl.col("gender"), pl.col("race")))
        .to_series()
    )


def class_of(gender: pl.Expr, race: pl.Expr) -> pl.Expr:
    """The class of a row as an expression."""
    return pl.when(race == NA).then(gender).when(gender == NA).then(race).otherwise(race + " " + gender)


def compose_texts(frames: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
    """Texts of rows that have none: sentences if the frame has places for person and word, else the parts."""
    texts = []
    for frame, person, word in zip(frames, persons, words, strict=True):
        parts = {"word": word, "emotion": word}
        text, places = PLACEHOLDER.subn(
            lambda found: parts.get(found["what"].lower(), person),  # noqa: B023 - called at once
            frame,
        )
        texts.append(text[:1].upper() + text[1:] if places else " | ".join((frame, person, word)))
    return pl.Series(texts, dtype=pl.String)


def derive_frames(texts: pl.Series, persons: pl.Series, words: pl.Series) -> pl.Series:
    """Frames of a table without a column of them: the text without its person and its word."""
    frames = []
    for text, person, word in zip(texts, persons, words, strict=True):
        for part, place in ((person, "{person}"), (word, "{word}")):
            if part:
                text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", place, text, count=1, flags=re.IGNORECASE)
        frames.append(text)
    return pl.Series(frames, dtype=pl.String)


def distinct_frames(rows: pl.DataFrame) -> pl.DataFrame:
    """Numbers the frames of rows that differ in their text only; rows with the same text are repeats."""
    cell = ("set", "frame", "person", "word")
    other = pl.col("text").rank("dense").over(cell).cast(pl.Int64)
    return rows.with_columns(
        pl.when(other > 1).then(pl.format("{} #{}", "frame", other)).otherwise("frame").alias("frame")
    )
