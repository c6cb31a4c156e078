"""What was said in a file of dialogs, utterance by utterance, for each layout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from trustgauge.data.dialog_threads import LogLine, lines_of, threads
from trustgauge.data.tables import fault, need_columns, read_table, read_text, rows_in_words, short
from trustgauge.errors import Fault, PlanError

if TYPE_CHECKING:
    from trustgauge.data.dialogs import DialogSource

PLACE = "dialogs"  # the key of a plan under which the settings of a source stand
LOGS = (".txt", ".log")
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
ENDINGS = {
    "schema-guided": (".json",),
    "csv": (".csv", ".tsv"),
    "jsonl": (".jsonl", ".ndjson"),
    "irc": (*LOGS, ".tsv", ".csv"),
    "qa": TABLES,
}
"""Endings of the files of each layout that are taken from a folder."""
UTTERANCE = {"dialog": pl.String, "speaker": pl.String, "text": pl.String}
LONGEST = 1_000_000  # characters of an utterance; more is a broken file, or a bot that never stops
TAB = "\t"
DATE_FROM_TO_TEXT = 4  # cells of a line of a dialog without a header


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
    else:
        found = _table(source, file)
    said = found.said.with_columns(pl.col("text").fill_null("").str.strip_chars())
    endless = said.select((pl.col("text").str.len_chars() > LONGEST).arg_true()).to_series()
    if len(endless):
        raise fault(
            file,
            f"{PLACE}.file",
            f"utterance {endless[0] + 1:,} is too long",
            must=f"{LONGEST:,} characters at most",
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
    codes = {
        cell: source.speakers.get(cell.casefold(), "") for cell in table["speaker"].drop_nulls().unique()
    }
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
    return UtteranceTable(table.select(*UTTERANCE), len(table))


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
            do="Correct the numbers, or leave out `columns.turn` to take the rows in their order",
        )
    first = pl.col("row").min().over("dialog")
    return table.sort(first, "number", pl.col("speaker") == "bot", maintain_order=True)


def _questions(source: DialogSource, file: Path) -> UtteranceTable:
    """A row a question and its answer; dialogs are named after their rows."""
    table = _cells(source, file, needed=("question", "answer"))
    both = table.select("row", pl.concat_list("question", "answer").alias("text")).explode("text")
    speakers = pl.Series("speaker", ["user", "bot"] * len(table), dtype=pl.String)
    return UtteranceTable(
        both.with_columns(speakers, dialog=pl.col("row").cast(pl.String)).select(*UTTERANCE), 2 * len(table)
    )


def _cells(source: DialogSource, file: Path, needed: tuple[str, ...]) -> pl.DataFrame:
    """The columns of a table by role, stripped, null if empty; `row` counts from 1."""
    named = {role: column for role, column in source.columns.items() if column}
    missing = [role for role in needed if role not in named]
    if missing:
        faults = [Fault(f"{PLACE}.columns.{role}", "no column named", must="a column") for role in missing]
        raise PlanError(tuple(faults))
    table = read_table(file, f"{PLACE}.file", source.separator)
    need_columns(file, table, {f"{PLACE}.columns.{role}": column for role, column in named.items()})
    return table.select(
        pl.int_range(1, pl.len() + 1).alias("row"),
        *(pl.col(column).str.strip_chars().replace("", None).alias(role) for role, column in named.items()),
    )


def _log(source: DialogSource, file: Path) -> UtteranceTable:
    """A log of a channel: who talks with whom is told from whom they address."""
    text, _ = read_text(file, f"{PLACE}.file")
    rows = sum(1 for line in text.splitlines() if line.strip())
    lines = list(lines_of(text))
    if not lines:
        raise fault(
            file,
            f"{PLACE}.file",
            "no line is one of a chat log",
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
        raise fault(file, f"{PLACE}.file", "the file is no JSON", must="a list of dialogs", got=got) from None
    if not isinstance(dialogs, list):
        raise fault(file, f"{PLACE}.file", "the file is no list of dialogs", must='"[...]"')
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
            raise fault(file, f"{PLACE}.file", f"dialog {number} is no dialog", must=must)
        name = _whole(name)
        yield name, "", ""
        for place, turn in enumerate(turns):
            told = turn if isinstance(turn, dict) else {}
            who, text = told.get("speaker"), told.get("utterance")
            if not isinstance(who, str) or who not in speakers or not isinstance(text, str):
                must = "a `speaker`, USER or SYSTEM, and an `utterance`"
                what = f"turn {place} of dialog {short(name)} cannot be read"
                raise fault(file, f"{PLACE}.file", what, must=must, got=short(json.dumps(turn)))
            yield name, speakers[who], _whole(text)


def _whole(text: str) -> str:
    """A text that UTF-8 can hold: JSON can escape half a character."""
    return text.encode("utf-8", "replace").decode()
