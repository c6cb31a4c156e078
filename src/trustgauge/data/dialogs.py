"""Recorded dialogs between users and bots: tables, schema-guided JSON, chat logs, questions and answers.

A dialog is a list of turns; a turn is what the user said, then what the bot said. Several utterances of a
side stay apart. A bot that speaks first opens a turn in which the user said nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.conversations import CODES
from trustgauge.data.dialog_layouts import ENDINGS, LOGS, PLACE, TABLES, read_utterances
from trustgauge.data.tables import check_content, fault
from trustgauge.errors import Fault, PlanError
from trustgauge.records import Json

Layout = Literal["auto", "schema-guided", "csv", "jsonl", "irc", "qa"]
Role = Literal["dialog", "speaker", "text", "turn", "question", "answer", "folder"]
Speaker = Literal["user", "bot"]

COLUMNS: Mapping[str, Mapping[Role, str]] = {
    "schema-guided": {},
    "csv": {"dialog": "dialog", "speaker": "speaker", "text": "text", "turn": ""},
    "jsonl": {"dialog": "dialog", "speaker": "speaker", "text": "text", "turn": ""},
    "irc": {"dialog": "dialogueID", "speaker": "from", "text": "text", "folder": "folder"},
    "qa": {"question": "question", "answer": "answer"},
}
"""The columns of each layout; those that the plan names stand in their place, "" is none."""
SPEAKERS: Mapping[str, Speaker] = {
    **{code: "bot" if who == "bot" else "user" for code, who in CODES["speaker"].items()},
    **dict.fromkeys(("system", "assistant", "agent"), "bot"),
    **dict.fromkeys(("human", "customer"), "user"),
}
"""What the cells of the speaker mean, unless the plan says; case does not matter."""
TURNS = pl.Schema(
    {
        "dialog": pl.String(),
        "turn": pl.Int64(),
        "user": pl.List(pl.String()),
        "bot": pl.List(pl.String()),
    }
)
"""Columns of `DialogSource.read`."""


class DialogSource(BaseModel):
    """Files of recorded dialogs, and how they are read.

    Layouts:

    - `schema-guided`: JSON, a list of dialogs with `dialogue_id` and `turns` of `speaker` and `utterance`.
    - `csv`, `jsonl`: a row an utterance, with its dialog, speaker and text; rows of a dialog may lie apart
      and are taken in the order of the file, or by the number in the column `turn`.
    - `irc`: logs of "[12:34] <nick> text" (how dialogs are told apart: `dialog_threads`), or tables of
      date, from, to and text, of which a file without a header is one dialog. Who spoke first is the user,
      all others are the bot.
    - `qa`: a row a question and its answer, each a dialog of one turn.
    - `auto` is told from the ending: .json schema-guided, .csv and .tsv csv, .jsonl and .ndjson jsonl, .txt
      and .log irc.

    Names of dialogs that occur in several files get the number of their file in front. Utterances without
    text are left out; where the bot's was one, the bot was silent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Path | tuple[Path, ...] = Field(description="A file, several, or a folder of them; UTF-8")
    layout: Layout = Field("auto", validate_default=True, description="Shape of the files")
    separator: str = Field("", description="Of a CSV file; by default the comma, and the tab for .tsv")
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
    def _from_plan(cls, value: Path | tuple[Path, ...], info: ValidationInfo) -> Path | tuple[Path, ...]:
        folder = (info.context or {}).get("folder", "")
        if isinstance(value, Path):
            return Path(folder, value).absolute()
        if not value:
            raise PlanError((Fault(f"{PLACE}.file", "no file is named", must="one file at least"),))
        return tuple(Path(folder, one).absolute() for one in value)

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
            return "jsonl" if ending in ENDINGS["jsonl"] else "csv"
        must = "one of: " + ", ".join(sorted({*LOGS, *TABLES, *ENDINGS["schema-guided"]}))
        raise fault(first, f"{PLACE}.layout", "the ending does not tell the layout", must=must)

    @field_validator("columns")
    @classmethod
    def _of_layout(cls, value: Mapping[Role, str], info: ValidationInfo) -> Mapping[Role, str]:
        known = COLUMNS.get(info.data.get("layout", ""), {})
        odd = tuple(
            Fault(
                f"{PLACE}.columns.{role}", "this layout has no such column", must=", ".join(known) or "none"
            )
            for role in value
            if "layout" in info.data and role not in known
        )
        if odd:
            raise PlanError(odd)
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
            raise PlanError((Fault(place, "no separator", must="one ASCII character", got=self.separator),))
        if not self.report()["bot"]:
            raise fault(
                self.files[0],
                f"{PLACE}.file",
                "the bot says nothing in these dialogs",
                must="one utterance of the bot at least",
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
        return _read(self)[0]

    def report(self) -> dict[str, int]:
        """What became of the files: rows read, left out, and without text; dialogs, turns and utterances."""
        return dict(_read(self)[1])


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
        raise fault(named, f"{PLACE}.file", "the folder holds no dialogs", must=must)
    return found


@lru_cache(maxsize=4)
def _read(source: DialogSource) -> tuple[pl.DataFrame, Mapping[str, int]]:
    """The turns of a source and what became of its rows, read once."""
    check_content(source.files, source.content, f"{PLACE}.file")
    read = [read_utterances(source, file) for file in source.files]
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
        )
        .filter((pl.col("user").list.len() + pl.col("bot").list.len()) > 0)
    )
    return turns.with_columns(turn=pl.int_range(pl.len()).over("dialog")).cast(TURNS)
