"""Recorded dialogs between users and bots: tables, schema-guided JSON, chat logs, questions and answers.

A dialog is a list of turns; a turn is what the user said, then what the bot said. Several utterances of a
side stay apart. A bot that speaks first opens a turn in which the user said nothing.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.conversations import CODES
from trustgauge.data.dialog_threads import LogLine, lines_of, threads
from trustgauge.data.tables import (
    check_content,
    fault,
    need_columns,
    read_table,
    read_text,
    rows_in_words,
    short,
)
from trustgauge.errors import Fault, PlanError, raise_faults
from trustgauge.plan import PlanPath
from trustgauge.records import Json

Layout = Literal["auto", "schema-guided", "csv", "jsonl", "irc", "qa", "released"]
Role = Literal["dialog", "speaker", "text", "turn", "question", "answer", "folder", "status"]
Speaker = Literal["user", "bot"]

PLACE = "dialogs"  # the key of a plan under which the settings of a source stand
LOGS = (".txt", ".log")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
ENDINGS = {
    "schema-guided": (".json",),
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "irc": (*LOGS, ".tsv", ".csv"),
    "qa": TABLES,
    "released": (".csv",),
}
"""Endings of the files of each layout that are taken from a folder."""
MESSAGES = ("messages", "conversations")
"""Fields in which chat logs of OpenAI and ShareGPT keep all messages of a conversation."""
IMPORT = "Make a plan of it: trustgauge import openai-jsonl FILE"
UTTERANCE = {"dialog": pl.String, "speaker": pl.String, "text": pl.String}
LONGEST = 1_000_000  # characters of an utterance; more is a broken file, or a bot that never stops
TAB = "\t"
HEAD = 4096  # characters of a first line in which the columns of a table are looked for
DATE_FROM_TO_TEXT = 4  # cells of a line of a dialog without a header
COLUMNS: Mapping[str, Mapping[Role, str]] = {
    "schema-guided": {},
    "csv": {"dialog": "dialog", "speaker": "speaker", "text": "text", "turn": ""},
    "jsonl": {"dialog": "dialog", "speaker": "speaker", "text": "text", "turn": ""},
    "irc": {"dialog": "dialogueID", "speaker": "from", "text": "text", "folder": "folder"},
    "qa": {"question": "question", "answer": "answer"},
    "released": {"dialog": "dialog_ID", "speaker": "speaker", "text": "utterance"},
}
"""The columns of each layout; those that the plan names stand in their place, "" is none."""
OPTIONAL: Mapping[str, tuple[Role, ...]] = {"csv": ("status",), "jsonl": ("status",)}
"""Columns that a layout may have besides."""
MISSING = "failed"
"""Status of a bot's utterance that is not there: no answer came, or none was recorded."""
SPEAKERS: Mapping[str, Speaker] = {
    **{code: "bot" if who == "bot" else "user" for code, who in CODES["speaker"].items()},
    **dict.fromkeys(("system", "assistant", "agent"), "bot"),
    **dict.fromkeys(("human", "customer"), "user"),
}
"""What the cells of the speaker mean, unless the plan says; case does not matter."""
SYSTEM, ASSISTANT = "system", "assistant"
ORDERS = ("developer", "tool", "function")
"""Who else speaks where the bot is the assistant: those who gave it its orders, and its tools."""
SIDES: Mapping[str, Speaker] = {**SPEAKERS, "machine": "bot", "c": "user", "s": "bot"}
"""The same in the layout `released`: customer and service, user and machine."""
TURNS = pl.Schema(
    {
        "dialog": pl.String(),
        "turn": pl.Int64(),
        "user": pl.List(pl.String()),
        "bot": pl.List(pl.String()),
    }
)
"""Columns of `DialogSource.read`."""
READ = pl.Schema({**TURNS, "missing": pl.Boolean()})
"""The same, and whether the bot's answer is missing."""


class DialogSource(BaseModel):
    """Files of recorded dialogs, and how they are read.

    Layouts:

    - `schema-guided`: JSON, a list of dialogs with `dialogue_id` and `turns` of `speaker` and `utterance`.
    - `csv`, `jsonl`: a row an utterance, with its dialog, speaker and text; rows of a dialog may lie apart
      and are taken in the order of the file, or by the numbers in the column `turn`. An answer of the bot
      whose column `status` says "failed" is missing, which is not the same as silence. Where the bot has
      another name ("assistant", "agent"), what "system" says is neither side's: the bot's orders, or notes.
    - `irc`: logs of "[12:34] <nick> text" (how dialogs are separated: `dialog_threads`), or tables of
      date, from, to and text, of which a file without a header is one dialog. Who spoke first is the user,
      all others are the bot.
    - `qa`: a row a question and its answer, each a dialog of one turn.
    - `released`: the tables that the trust paper's authors published (dialog_ID, speaker, utterance), rows in
      their order. Where no speaker is called by what it is, who speaks first in a dialog is the user, all
      others are the bot.
    - `auto` goes by the ending: .json schema-guided, .csv and .tsv csv, .jsonl and .ndjson jsonl, .txt
      and .log irc; and from the columns: a .csv with those of `released` is that.

    Names of dialogs that occur in several files get the number of their file in front. Utterances without
    text are left out; where the bot's was one, the bot was silent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: PlanPath | tuple[PlanPath, ...] = Field(description="A file, several, or a folder of them; UTF-8")
    layout: Layout = Field("auto", validate_default=True, description="Shape of the files")
    separator: str = Field(
        "", description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    columns: Mapping[Role, str] = Field(
        {}, validate_default=True, description="Column of each role; by layout"
    )
    speakers: Mapping[str, Speaker] = Field(
        SPEAKERS, description="What the cells of the speaker mean, beside the usual words"
    )
    answer_within: int = Field(
        3, ge=1, le=1_000_000, description="Layout irc: minutes from a question to its first answer"
    )
    silence: int = Field(
        30, ge=1, le=1_000_000, description="Layout irc: minutes without a word that end a dialog"
    )
    # Declared after what its check needs.
    content: str = Field(
        "", validate_default=True, description="Hash of the files, filled in; refuses changed files"
    )

    @field_validator("file")
    @classmethod
    def _some(cls, value: Path | tuple[Path, ...]) -> Path | tuple[Path, ...]:
        if not value:
            raise PlanError.of(f"{PLACE}.file", "no file is named", must="at least one file")
        return value

    @field_validator("layout")
    @classmethod
    def _by_ending(cls, value: Layout, info: ValidationInfo) -> Layout:
        named = info.data.get("file")
        if value != "auto" or named is None:
            return value
        first = _listed(named, tuple(ending for endings in ENDINGS.values() for ending in endings))[0]
        ending = first.suffix.lower()
        if ending in ENDINGS["schema-guided"]:
            return "schema-guided"
        if ending in LOGS:
            return "irc"
        if ending in TABLES:
            return "jsonl" if ending in ENDINGS["jsonl"] else "released" if is_released(first) else "csv"
        must = "one of: " + ", ".join(sorted({*LOGS, *TABLES, *ENDINGS["schema-guided"]}))
        raise fault(first, f"{PLACE}.layout", "the file name does not show the layout", must=must)

    @field_validator("columns")
    @classmethod
    def _of_layout(cls, value: Mapping[Role, str], info: ValidationInfo) -> Mapping[Role, str]:
        layout = info.data.get("layout", "")
        known = COLUMNS.get(layout, {})
        odd = tuple(
            Fault(
                f"{PLACE}.columns.{role}", "this layout has no such column", must=", ".join(known) or "none"
            )
            for role in value
            if layout and role not in known and role not in OPTIONAL.get(layout, ())
        )
        raise_faults(odd)
        return {**known, **value}

    @field_validator("speakers")
    @classmethod
    def _beside_the_usual(cls, value: Mapping[str, Speaker]) -> Mapping[str, Speaker]:
        return {**SPEAKERS, **{code.strip().casefold(): who for code, who in value.items()}}

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        if "file" not in info.data or "layout" not in info.data:
            return value
        return check_content(_listed(info.data["file"], ENDINGS[info.data["layout"]]), value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if self.separator and len(self.separator.encode()) != 1:
            place = f"{PLACE}.separator"
            raise PlanError.of(place, "no separator", must="one ASCII character", got=self.separator)
        if not self.report()["bot"]:
            raise fault(
                self.files[0],
                f"{PLACE}.file",
                "the bot says nothing in these dialogs",
                must="at least one utterance of the bot",
                got=", ".join(f"{count:,} {name}" for name, count in self.report().items()),
                do="Correct `columns` and `speakers`, or the files",
            )
        return self

    def __hash__(self) -> int:
        return hash((self.content, self.layout, self.separator, self.answer_within, self.silence))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files, in the order in which they are read: as named, those of a folder by name."""
        return _listed(self.file, ENDINGS[self.layout])

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        return self.model_dump(mode="json", exclude={"file"})

    def read(self) -> pl.DataFrame:
        """The dialogs, a row a turn, in order, the turns of a dialog together.

        Returns:
            Columns `TURNS`: dialog, turn (from 0 within the dialog), and what the user and the bot said in
            it, each a list of utterances; never both empty.

        Raises:
            PlanError: a file cannot be read, is not as the settings say, or is not the one that was rated.
        """
        return _read(self)[0].select(TURNS.names())

    def missing(self) -> frozenset[tuple[str, int]]:
        """Dialog and turn of every answer that is missing, as the column `status` says."""
        lost = _read(self)[0].filter("missing")
        return frozenset(lost.select("dialog", "turn").iter_rows())

    def report(self) -> dict[str, int]:
        """What became of the files: rows read, left out, and without text; dialogs, turns and utterances."""
        return dict(_read(self)[1])


def columns_by_name(source: DialogSource) -> dict[Role, str]:
    """The columns `turn` and `status` of its files, where a source names none for these roles.

    Numbers of turns that agree with the order of the rows are left alone, and so is what holds no number.
    """
    if source.layout not in OPTIONAL:
        return {}
    tables = [read_table(file, f"{PLACE}.file", source.separator) for file in source.files]
    found: dict[Role, str] = {}
    if "status" not in source.columns and all("status" in table.columns for table in tables):
        found["status"] = "status"
    if not source.columns.get("turn") and all("turn" in table.columns for table in tables):
        in_order = (_is_in_order(table, source.columns["dialog"]) for table in tables)
        found |= {} if all(in_order) else {"turn": "turn"}
    return found


def _with_usual_columns(source: DialogSource) -> DialogSource:
    """The source with `columns_by_name`: answers marked as failed are missing, whoever wrote the plan.

    Numbers that a speaker has twice in a dialog, or that some rows lack, are no order; those rows stay as
    they are in the file.
    """
    if source.layout not in OPTIONAL:
        return source
    tables = [read_table(file, f"{PLACE}.file", source.separator) for file in source.files]
    key = [source.columns["dialog"], source.columns["speaker"]]
    if not all(set(key) <= set(table.columns) for table in tables):
        return source  # a fault, which is said where the rows are read
    found = columns_by_name(source)
    if "turn" in found and not all(_is_an_order(table.select(*key, "turn")) for table in tables):
        del found["turn"]
    return source.model_copy(update={"columns": {**source.columns, **found}}) if found else source


def _is_an_order(rows: pl.DataFrame) -> bool:
    """Whether each row has a number in the column `turn`, which its speaker has once in a dialog."""
    numbers = rows["turn"].cast(pl.Float64, strict=False)
    return bool(numbers.is_finite().fill_null(value=False).all()) and not rows.is_duplicated().any()


def _is_in_order(table: pl.DataFrame, dialog: str) -> bool:
    """Whether the rows of each dialog stand in the order of their numbers, or have none."""
    number = pl.col("turn").cast(pl.Float64, strict=False)
    counts = table.select(
        numbers=number.is_finite().sum(), back=(number.diff().over(dialog) < 0).sum(), all=pl.len()
    ).row(0, named=True)
    return bool(counts["numbers"] == 0 or (counts["numbers"] == counts["all"] and counts["back"] == 0))


def _listed(named: Path | tuple[Path, ...], endings: tuple[str, ...]) -> tuple[Path, ...]:
    """The files that are meant: those of a folder, or the ones named.

    A schema of services that lies beside schema-guided dialogs is none of them.
    """
    if not isinstance(named, Path):
        return named
    if not named.is_dir():
        return (named,)
    inside = sorted(one for one in named.iterdir() if one.suffix.lower() in endings and one.is_file())
    found = tuple(one for one in inside if one.name != "schema.json")
    if not found:
        must = "files ending in " + ", ".join(endings)
        raise fault(named, f"{PLACE}.file", "the folder contains no dialogs", must=must)
    return found


@lru_cache(maxsize=4)
def _read(source: DialogSource) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The turns of a source and what became of its rows, read once."""
    check_content(source.files, source.content, f"{PLACE}.file")
    usual = _with_usual_columns(source)
    read = [read_utterances(usual, file) for file in source.files]
    said = _apart([one.said for one in read])
    turns = _turns(said)
    counts = {
        "rows": sum(one.rows for one in read),
        "left_out": sum(one.rows - len(one.said) for one in read),
        "without_text": int(said.select((pl.col("text") == "").sum()).item()),
        "dialogs": turns["dialog"].n_unique(),
        "turns": len(turns),
        "user": int(turns["user"].list.len().sum()),
        "bot": int(turns["bot"].list.len().sum()),
    }
    return turns, counts


def _apart(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """What was said in all files; a dialog ends with its file, also if another file has one of its name."""
    said = pl.concat([frame.with_columns(file=pl.lit(n)) for n, frame in enumerate(frames, 1)])
    if len(frames) == 1:
        return said
    shared = (pl.col("file").n_unique() > 1).over("dialog")
    return said.with_columns(
        dialog=pl.when(shared.any()).then(pl.format("{}/{}", "file", "dialog")).otherwise("dialog")
    )


def _turns(said: pl.DataFrame) -> pl.DataFrame:
    """Utterances as turns: one begins where a dialog does, and where the user speaks after the bot."""
    said = said.with_row_index("place").sort(pl.col("place").min().over("dialog"), "place")
    user = pl.col("speaker") == "user"
    begins = (user & (pl.col("speaker").shift().over("dialog") == "bot")).fill_null(False)
    spoken = pl.col("text") != ""
    turns = (
        said.with_columns(begins=begins.cast(pl.Int64))  # a window in a window takes a time that is squared
        .with_columns(turn=pl.col("begins").cum_sum().over("dialog"))
        .group_by("dialog", "turn", maintain_order=True)
        .agg(
            user=pl.col("text").filter(user & spoken),
            bot=pl.col("text").filter(~user & spoken),
            missing=(~user & ~spoken & (pl.col("status") == MISSING)).any(),
        )
        .filter((pl.col("user").list.len() + pl.col("bot").list.len()) > 0)
        .with_columns(pl.col("missing") & (pl.col("bot").list.len() == 0))
    )
    return turns.with_columns(turn=pl.int_range(pl.len()).over("dialog")).cast(READ)


@dataclass(frozen=True, slots=True)
class UtteranceTable:
    """The utterances of a file in order, columns `SAID`, text "" if empty; and how many rows it has."""

    said: pl.DataFrame
    rows: int


def read_utterances(source: DialogSource, file: Path) -> UtteranceTable:
    """What was said in a file.

    Raises:
        PlanError: the file cannot be read or is not as the settings say; with the row.
    """
    if source.layout == "schema-guided":
        found = _schema_guided(file)
    elif source.layout == "qa":
        found = _questions(source, file)
    elif source.layout == "irc":
        found = _log(source, file) if file.suffix.lower() in LOGS else _log_table(source, file)
    elif source.layout == "released":
        found = _released(source, file)
    else:
        found = _table(source, file)
    said = found.said.with_columns(pl.col("text").fill_null("").str.strip_chars())
    if "status" not in said.columns:
        said = said.with_columns(status=pl.lit(""))
    endless = said.select((pl.col("text").str.len_chars() > LONGEST).arg_true()).to_series()
    if len(endless):
        raise fault(
            file,
            f"{PLACE}.file",
            f"utterance {endless[0] + 1:,} is too long",
            must=f"at most {LONGEST:,} characters",
            got=f"{len(said['text'][endless[0]]):,}",
            do="Shorten it, or leave it out",
        )
    return UtteranceTable(said, found.rows)


def _table(source: DialogSource, file: Path) -> UtteranceTable:
    """A row an utterance: dialog, speaker, text and perhaps a number."""
    table = _cells(source, file, needed=("dialog", "speaker", "text"))
    lost = table.filter(pl.col("dialog").is_null())
    if len(lost):
        place = f"{PLACE}.columns.dialog"
        raise fault(file, place, f"no dialog in {rows_in_words(lost['row'].to_list())}", must="its name")
    rows, cells = len(table), table["speaker"].drop_nulls().unique().to_list()
    aside = _neither_side({cell.casefold() for cell in cells}, source.speakers)
    table = table.filter(
        ~pl.col("speaker").is_in([cell for cell in cells if cell.casefold() in aside], nulls_equal=True)
    )
    codes = {cell: source.speakers.get(cell.casefold(), "") for cell in cells}
    found = pl.col("speaker").replace_strict(codes, default="", return_dtype=pl.String)
    table = table.with_columns(cell=pl.col("speaker"), speaker=found)
    odd = table.filter(pl.col("speaker") == "")
    if len(odd):
        cell = odd["cell"][0]
        alike = odd.filter(pl.col("cell").eq_missing(cell))["row"].to_list()
        raise fault(
            file,
            f"{PLACE}.speakers",
            f"unknown speaker in {rows_in_words(alike)}",
            must="one of: " + ", ".join(source.speakers),
            got=short(cell) if cell else "an empty cell",
            do="Say in `speakers` whether this is the user or the bot, or correct the file",
        )
    if source.columns.get("turn"):
        table = _by_number(file, table)
    status = ["status"] if "status" in table.columns else []
    return UtteranceTable(table.select(*UTTERANCE, *status), rows)


def _neither_side(names: Collection[str], speakers: Mapping[str, Speaker]) -> frozenset[str]:
    """Speakers of a file, in small letters, who are neither the user nor the bot.

    "system" is the bot where nobody else is. Beside an assistant it gives the bot its orders: read as answers
    these made a polite bot that is forbidden to insult a bot that insults.
    """
    bots = {name for name in names if speakers.get(name) == "bot"} - {SYSTEM}
    orders = [name for name in ORDERS if name not in speakers] if ASSISTANT in bots else []
    return frozenset((*orders, SYSTEM) if bots else ())


def _by_number(file: Path, table: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their numbers; with one number for both, the user speaks before the bot."""
    place = f"{PLACE}.columns.turn"
    table = table.with_columns(number=pl.col("turn").cast(pl.Float64, strict=False))
    odd = table.filter(~pl.col("number").is_finite().fill_null(False))
    if len(odd):
        got = short(odd["turn"][0] or "")
        raise fault(
            file, place, f"no number in {rows_in_words(odd['row'].to_list())}", must="a number", got=got
        )
    twice = table.filter(pl.struct("dialog", "speaker", "number").is_duplicated())
    if len(twice):
        name, who, number = twice.select("dialog", "speaker", "number").row(0)
        alike = twice.filter(dialog=name, speaker=who, number=number)
        raise fault(
            file,
            place,
            f"dialog {short(name)} has turn {number:g} of the {who} twice, "
            f"in {rows_in_words(alike['row'].to_list())}",
            must="another number for each utterance of a speaker in a dialog",
            do="Correct the numbers, or name no such column to take the rows in their order",
        )
    first = pl.col("row").min().over("dialog")
    return table.sort(first, "number", pl.col("speaker") == "bot", maintain_order=True)


def is_released(file: Path) -> bool:
    """Whether a file has the columns of the trust paper's tables."""
    try:
        with file.open(encoding="utf-8-sig", errors="replace") as opened:
            head = opened.readline(HEAD)
    except OSError:
        return False
    return set(COLUMNS["released"].values()) <= {name.strip().strip('"') for name in head.split(",")}


def _released(source: DialogSource, file: Path) -> UtteranceTable:
    """A table of the trust paper's authors, whose speakers are sides, addresses or nicks."""
    table = _released_cells(source, file)
    lost = table.filter(pl.any_horizontal(pl.col("dialog", "speaker") == ""))
    if len(lost):
        place, rows = f"{PLACE}.file", rows_in_words(lost["row"].to_list())
        raise fault(file, place, f"no dialog or no speaker in {rows}", must="the name of each")
    known = {**SIDES, **source.speakers}
    sides = {cell: known.get(cell.casefold(), "") for cell in table["speaker"].unique()}
    if all(sides.values()):
        speaker = pl.col("speaker").replace_strict(sides, default="", return_dtype=pl.String)
    else:
        asks = pl.col("speaker") == pl.col("speaker").first().over("dialog")
        speaker = pl.when(asks).then(pl.lit("user")).otherwise(pl.lit("bot"))
    return UtteranceTable(table.with_columns(speaker=speaker).select(*UTTERANCE), len(table))


def _released_cells(source: DialogSource, file: Path) -> pl.DataFrame:
    """The columns by role, with the number of the row.

    Lines end with a comma in some of these tables. In one the header has no name for the first column, the
    number of the row, so that its names stand one place too far to the left.
    """
    text, _ = read_text(file, f"{PLACE}.file")
    try:
        lines = [_trimmed(line) for line in csv.reader(io.StringIO(text, newline=""))]
    except csv.Error as error:
        raise fault(file, f"{PLACE}.file", "the file cannot be read as csv", got=str(error)) from None
    head, rows = (lines or [[]])[0], [(number, line) for number, line in enumerate(lines[1:], 1) if any(line)]
    if rows and max(len(line) for _, line in rows) == len(head) + 1:
        head = ["", *head]
    lost = [name for name in source.columns.values() if name not in head]
    if lost:
        place = f"{PLACE}.columns"
        raise fault(file, place, f"no column {lost[0]}", must="one of: " + ", ".join(filter(None, head)))
    places = {role: head.index(name) for role, name in source.columns.items()}
    cells = {
        role: [line[place].strip() if place < len(line) else "" for _, line in rows]
        for role, place in places.items()
    }
    numbers = pl.Series("row", [number for number, _ in rows], dtype=pl.Int64)
    return pl.DataFrame(cells, schema=UTTERANCE).with_columns(numbers)


def _trimmed(cells: list[str]) -> list[str]:
    """The cells up to the last that is not empty."""
    while cells and not cells[-1].strip():
        cells.pop()
    return cells


def _questions(source: DialogSource, file: Path) -> UtteranceTable:
    """A row a question and its answer; dialogs are named after their rows."""
    table = _cells(source, file, needed=("question", "answer"))
    both = table.select("row", pl.concat_list("question", "answer").alias("text")).explode("text")
    speakers = pl.Series("speaker", ["user", "bot"] * len(table), dtype=pl.String)
    return UtteranceTable(
        both.with_columns(speakers, dialog=pl.col("row").cast(pl.String)).select(*UTTERANCE), 2 * len(table)
    )


def _whole_conversations(names: Collection[str]) -> str:
    """Which of `MESSAGES` is there; "" if none is."""
    return next((one for one in MESSAGES if one in names), "")


def _cells(source: DialogSource, file: Path, needed: tuple[str, ...]) -> pl.DataFrame:
    """The columns of a table by role, stripped, null if empty; `row` counts from 1."""
    named = {role: column for role, column in source.columns.items() if column}
    missing = [role for role in needed if role not in named]
    if missing:
        faults = [Fault(f"{PLACE}.columns.{role}", "no column named", must="a column") for role in missing]
        raise PlanError(tuple(faults))
    table = read_table(file, f"{PLACE}.file", source.separator)
    if (whole := _whole_conversations(table.columns)) and not set(named.values()) & set(table.columns):
        raise fault(
            file,
            f"{PLACE}.file",
            "each line is a whole conversation",
            must="an utterance a line",
            got=f"the column {short(whole)}",
            do=IMPORT,
        )
    need_columns(file, table, {f"{PLACE}.columns.{role}": column for role, column in named.items()})
    return table.select(
        pl.int_range(1, pl.len() + 1).alias("row"),
        *(pl.col(column).str.strip_chars().replace("", None).alias(role) for role, column in named.items()),
    )


def _log(source: DialogSource, file: Path) -> UtteranceTable:
    """A log of a channel: who talks with whom follows from whom they address."""
    text, _ = read_text(file, f"{PLACE}.file")
    rows = sum(1 for line in text.splitlines() if line.strip())
    lines = list(lines_of(text))
    if not lines:
        raise fault(
            file,
            f"{PLACE}.file",
            "no line looks like a line of a chat log",
            must='lines as "[12:34] <nick> text"',
            got=short(text.strip().split("\n")[0]) if text.strip() else "an empty file",
        )
    return UtteranceTable(pl.DataFrame(_threaded(source, lines), schema=UTTERANCE, orient="row"), rows)


def _threaded(source: DialogSource, lines: list[LogLine]) -> list[tuple[str, str, str]]:
    found = threads(lines, answer_within=source.answer_within, silence=source.silence)
    return [
        (str(number), "user" if who == thread.user else "bot", text)
        for number, thread in enumerate(found, 1)
        for who, text in thread.said
    ]


def _log_table(source: DialogSource, file: Path) -> UtteranceTable:
    """A table of who said what to whom: one dialog without a header, or many with one."""
    text, _ = read_text(file, f"{PLACE}.file")
    head = text.split("\n", 1)[0]
    separator = source.separator or (TAB if file.suffix.lower() == ".tsv" else ",")
    names = {cell.strip().strip('"') for cell in head.split(separator)}
    if {source.columns.get("speaker"), source.columns.get("text")} <= names:
        return _many_logged(source, file, names)
    # Texts of such files hold bare quotation marks: there is no quoting in them.
    rows = [(number, line.split(TAB, 3)) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    odd = next((number for number, cells in rows if len(cells) < DATE_FROM_TO_TEXT), None)
    if odd is not None or not rows:
        must = "date, from, to and text, between tabs; or a header that names the columns"
        what = "the file is empty" if odd is None else f"line {odd} is no line of a dialog"
        raise fault(file, f"{PLACE}.file", what, must=must)
    asker = rows[0][1][1].strip()
    said = [("1", "user" if cells[1].strip() == asker else "bot", cells[3]) for _, cells in rows]
    return UtteranceTable(pl.DataFrame(said, schema=UTTERANCE, orient="row"), len(rows))


def _many_logged(source: DialogSource, file: Path, names: set[str]) -> UtteranceTable:
    """Dialogs of a table with a header; their names are unique within their folder."""
    columns = dict(source.columns)
    if columns.get("folder") not in names:
        columns.pop("folder", None)
    table = _cells(source.model_copy(update={"columns": columns}), file, needed=("dialog", "speaker", "text"))
    lost = table.filter(pl.any_horizontal(pl.col("dialog", "speaker").is_null()))
    if len(lost):
        place, rows = f"{PLACE}.file", rows_in_words(lost["row"].to_list())
        raise fault(file, place, f"no dialog or no speaker in {rows}", must="the name of each")
    if "folder" in columns:
        table = table.with_columns(dialog=pl.format("{}/{}", pl.col("folder").fill_null(""), "dialog"))
    asker = pl.col("speaker").first().over("dialog")
    speaker = pl.when(pl.col("speaker") == asker).then(pl.lit("user")).otherwise(pl.lit("bot"))
    return UtteranceTable(table.with_columns(speaker=speaker).select(*UTTERANCE), len(table))


def _schema_guided(file: Path) -> UtteranceTable:
    """JSON: a list of dialogs, each with its turns."""
    text, _ = read_text(file, f"{PLACE}.file")
    try:
        dialogs = json.loads(text)
    except (ValueError, RecursionError) as error:
        got = str(error) if isinstance(error, ValueError) and text.strip() else "an empty file"
        got = "lists within lists without end" if isinstance(error, RecursionError) else got
        raise fault(
            file, f"{PLACE}.file", "the file is not JSON", must="a list of dialogs", got=got
        ) from None
    if not isinstance(dialogs, list):
        raise fault(file, f"{PLACE}.file", "the file is not a list of dialogs", must='"[...]"')
    said = list(_of_dialogs(file, dialogs))
    names = [name for name, who, _ in said if not who]
    if len(set(names)) < len(names):
        double = next(name for place, name in enumerate(names) if name in names[:place])
        must = "another `dialogue_id` for each dialog"
        raise fault(file, f"{PLACE}.file", f"two dialogs are named {short(double)}", must=must)
    spoken = [one for one in said if one[1]]
    return UtteranceTable(pl.DataFrame(spoken, schema=UTTERANCE, orient="row"), len(spoken))


def _of_dialogs(file: Path, dialogs: list[Any]) -> Iterator[tuple[str, str, str]]:
    """Name, speaker and text of each turn; before those of a dialog, its name with no speaker."""
    speakers = {"USER": "user", "SYSTEM": "bot"}
    for number, dialog in enumerate(dialogs, 1):
        name = dialog.get("dialogue_id") if isinstance(dialog, dict) else None
        turns = dialog.get("turns") if isinstance(dialog, dict) else None
        if not isinstance(name, str) or not name or not isinstance(turns, list):
            must = "an object with a `dialogue_id` and a list of `turns`"
            do = IMPORT if isinstance(dialog, dict) and _whole_conversations(dialog) else ""
            raise fault(file, f"{PLACE}.file", f"dialog {number} is no dialog", must=must, do=do)
        name = _whole(name)
        yield name, "", ""
        for place, turn in enumerate(turns):
            fields = turn if isinstance(turn, dict) else {}
            who, text = fields.get("speaker"), fields.get("utterance")
            if not isinstance(who, str) or who not in speakers or not isinstance(text, str):
                must = "a `speaker`, USER or SYSTEM, and an `utterance`"
                what = f"turn {place} of dialog {short(name)} cannot be read"
                raise fault(file, f"{PLACE}.file", what, must=must, got=short(json.dumps(turn)))
            yield name, speakers[who], _whole(text)


def _whole(text: str) -> str:
    """A text that UTF-8 can hold: JSON can escape half a character."""
    return text.encode("utf-8", "replace").decode()
