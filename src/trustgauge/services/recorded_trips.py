"""Recorded round trips as a service: each language is a part, and answers as it was recorded (two-step 1.3).

    [services.theirs]
    use = "recorded-round-trips"
    trips = { file = "records.csv" }

What was sent is sent again, and what came back comes from the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from trustgauge.data.archives import read_xlsx
from trustgauge.data.tables import check_content, fault, need_columns, read_parquet, read_table, read_text
from trustgauge.errors import RejectedError
from trustgauge.plan import PlanPath
from trustgauge.records import Json, Message, Reply, Task
from trustgauge.services import InProcessService, ServiceSpec, middle_languages, storable

Layout = Literal["auto", "table", "results"]
Role = Literal["sent", "received", "language", "middle", "block"]

PLACE = "trips"
COLUMNS: Mapping[Role, str] = {role: role for role in ("sent", "received", "language", "middle", "block")}
NEEDED: tuple[Role, ...] = ("sent", "received")
TRIPS = pl.Schema({str(role): pl.String() for role in COLUMNS})
"""Columns of `RoundTripSource.read`."""
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx")
RESULT = re.compile(r"Result - (true|false) - (\S+?) *- *(\S+?)\.json")
"""Name of a file of the authors: whether its texts are balanced, the translator, the language."""


class RoundTripSource(BaseModel):
    """Files of recorded round trips, and how they are read.

    Layouts:

    - `table`: CSV, TSV, JSON lines, Parquet or XLSX (the first sheet), a row a text.
    - `results`: the two-step authors' JSON, a file for each step and language: a list of blocks, a block a
      list of texts with `original`, `translated` and `oto`. Texts of step 1 ("true") are the block u1, those
      of step 2 the blocks b1, b2 and so on.
    - `auto` goes by the ending: .json results, else table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: PlanPath | tuple[PlanPath, ...] = Field(description="A file, several, or a folder of them; UTF-8")
    layout: Layout = Field("auto", validate_default=True, description="Shape of the files")
    translator: str = Field("", description="Layout results: whose files, such as t1, if there are several")
    separator: str = Field(
        "", max_length=1, description="Of a CSV file; by default that of its header: comma, semicolon or tab"
    )
    columns: Mapping[Role, str] = Field({}, description="Columns of a table, where they have other names")
    content: str = Field(
        "", validate_default=True, description="Hash of the files, filled in; refuses changed files"
    )

    @field_validator("layout")
    @classmethod
    def _by_ending(cls, value: Layout, info: ValidationInfo) -> Layout:
        if value != "auto" or "file" not in info.data:
            return value
        first = next(iter(_listed(info.data["file"], (*TABLES, ".json"))))
        return "results" if first.suffix.lower() == ".json" else "table"

    @field_validator("content")
    @classmethod
    def _the_same_files(cls, value: str, info: ValidationInfo) -> str:
        if "file" not in info.data or "layout" not in info.data:
            return value
        endings = (".json",) if info.data["layout"] == "results" else TABLES
        return check_content(_listed(info.data["file"], endings), value, f"{PLACE}.file")

    @model_validator(mode="after")
    def _readable(self) -> Self:
        if not self.read()["received"].count():
            must = "one text at least that came back"
            raise fault(self.files[0], f"{PLACE}.file", "nothing came back in these records", must=must)
        return self

    def __hash__(self) -> int:
        return hash((self.content, self.layout, self.translator, tuple(self.columns.items())))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read: as named, those of a folder by name."""
        return _listed(self.file, (".json",) if self.layout == "results" else TABLES)

    def identity(self) -> dict[str, Json]:
        """The settings, with the content of the files in place of where they lie."""
        return self.model_dump(mode="json", exclude={"file"})

    def read(self) -> pl.DataFrame:
        """The round trips, a row a text, in the order of the files.

        Returns:
            Columns `TRIPS`, all texts: sent, received and middle (null if absent), language ("" if the files
            do not tell) and block ("u1" if they do not tell).

        Raises:
            PlanError: a file cannot be read, or is not as the settings say.
        """
        return _read(self)


def _listed(named: Path | tuple[Path, ...], endings: Sequence[str]) -> tuple[Path, ...]:
    if not isinstance(named, Path):
        return named
    if not named.is_dir():
        return (named,)
    found = tuple(sorted(one for one in named.iterdir() if one.suffix.lower() in endings and one.is_file()))
    if not found:
        must = "files ending in " + ", ".join(endings)
        raise fault(named, f"{PLACE}.file", "the folder contains no recorded round trips", must=must)
    return found


@lru_cache(maxsize=4)
def _read(source: RoundTripSource) -> pl.DataFrame:
    check_content(source.files, source.content, f"{PLACE}.file")
    if source.layout == "results":
        return pl.concat(_results(source))
    return pl.concat([_table(source, file) for file in source.files])


def _table(source: RoundTripSource, file: Path) -> pl.DataFrame:
    frame = _cells(file, source.separator)
    wanted = {**COLUMNS, **source.columns}
    must = {role: wanted[role] for role in COLUMNS if role in NEEDED or role in source.columns}
    need_columns(file, frame, {f"{PLACE}.columns.{role}": column for role, column in must.items()})
    known = {role: pl.col(name) if name in frame.columns else pl.lit(None) for role, name in wanted.items()}
    trips = frame.select(known[role].cast(pl.String).alias(role) for role in COLUMNS)
    return trips.with_columns(pl.col("language").fill_null(""), pl.col("block").fill_null("u1")).filter(
        pl.col("sent").is_not_null()
    )


def _cells(file: Path, separator: str) -> pl.DataFrame:
    """The cells of a table; those of CSV, JSON lines and XLSX as text."""
    kind = file.suffix.lower()
    if kind not in TABLES:
        must = f"a name ending in {', '.join(TABLES)}"
        raise fault(file, f"{PLACE}.file", "unknown kind of file", must=must)
    if kind not in (".parquet", ".xlsx"):
        return read_table(file, f"{PLACE}.file", separator)
    if kind == ".parquet":
        return read_parquet(file, f"{PLACE}.file")
    return read_xlsx(file, f"{PLACE}.file")


def _results(source: RoundTripSource) -> list[pl.DataFrame]:
    """The authors' records: step 1 before step 2 of each language."""
    named = {match.groups(): file for file in source.files if (match := RESULT.fullmatch(file.name))}
    systems = sorted({system for _, system, _ in named})
    chosen = source.translator or (systems[0] if len(systems) == 1 else "")
    if chosen not in systems:
        must = "one of: " + ", ".join(systems) if systems else 'files such as "Result - true - t1 - es.json"'
        what = f'no records of translator "{chosen}"' if chosen else "records of several translators"
        raise fault(source.files[0], f"{PLACE}.translator", what if systems else "no records", must=must)
    mine = sorted(
        (language, step != "true", file)
        for (step, system, language), file in named.items()
        if system == chosen
    )
    rows = [
        {"language": language, "block": f"{'b' if skewed else 'u'}{number}", **text}
        for language, skewed, file in mine
        for number, block in enumerate(_blocks(file), 1)
        for text in block
    ]
    return [pl.DataFrame(rows, schema=TRIPS)]


def _blocks(file: Path) -> Iterator[list[dict[str, str | None]]]:
    """The texts of each block of a record."""
    try:
        blocks: Any = json.loads(read_text(file, f"{PLACE}.file")[0])
        for block in blocks:
            yield [
                {
                    "sent": str(one["original"]).strip(),
                    "received": one["oto"],
                    "middle": one.get("translated"),
                }
                for one in block
            ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        must = "a list of blocks, each a list of texts with original, translated and oto"
        raise fault(
            file, f"{PLACE}.file", "not a record of round trips", must=must, got=str(error)[:80]
        ) from None


class RoundTripReplay(ServiceSpec):
    """Texts that others sent through a translator and back, with what came back.

    A text that was sent and did not come back is missing; a text that was sent several times has as many
    draws.
    """

    use: str = "recorded-round-trips"
    task: ClassVar[Task] = "translate"
    kind: ClassVar[str] = "recorded round trips"
    collected: ClassVar[str] = "from a log"
    batch: ClassVar[int] = 500
    deterministic: ClassVar[bool] = False

    trips: RoundTripSource = Field(description="Where the round trips are, and how they are read")
    language: str = Field("", description="Only this middle language; by default all of the files")

    def identity(self) -> Mapping[str, Any]:
        """What the files hold, not where they lie."""
        return {"use": self.use, "trips": self.trips.identity(), "language": self.language}

    def version(self) -> str:
        return self.fingerprint[:8]

    def uses_history(self) -> bool:
        return False

    def check_requirements(self) -> None:
        """Raise PlanError if a file cannot be read."""
        self.trips.read()

    def parts(self) -> Mapping[str, Self]:
        """A part for each middle language, in the order of the files."""
        if self.language:
            return {self.language: self}
        languages = self.trips.read()["language"].unique(maintain_order=True)
        return {language: self.model_copy(update={"language": language}) for language in languages}

    def middle_languages(self, part: str) -> Sequence[str]:
        return middle_languages(part)

    def script(self) -> pl.DataFrame:
        """The texts that were sent as probes, with the language of each as `of_part`.

        All are of segment 0: the order of a file is not the order in which its texts were sent.
        """
        trips = self._numbered()
        return trips.select(
            id=pl.concat_str(pl.lit("trip-"), pl.int_range(1, pl.len() + 1).cast(pl.String)),
            message="sent",
            session=pl.lit(""),
            turn=pl.lit(0, pl.Int64),
            draw="draw",
            block="block",
            of_part="language",
            segment=pl.lit(0, pl.Int64),
        )

    def open(self) -> LiveRoundTripReplay:
        """The records, ready to answer.

        Raises:
            PlanError: a file cannot be read.
        """
        return LiveRoundTripReplay(_answers(self))

    def _numbered(self) -> pl.DataFrame:
        """The round trips of the language with `draw`: how often the same text came before."""
        trips = self.trips.read()
        if self.language:
            trips = trips.filter(pl.col("language") == self.language)
        return trips.with_columns(draw=pl.int_range(pl.len(), dtype=pl.Int64).over("language", "sent"))


class LiveRoundTripReplay(InProcessService):
    """Looks up what came back."""

    def __init__(self, answers: Mapping[tuple[str, int], tuple[str | None, str | None]]) -> None:
        self._answers = answers

    def reply(self, message: Message) -> Reply:
        received, middle = self._answers.get((message.text, message.draw), (None, None))
        if received is None:
            raise RejectedError("nothing came back for this text in the records", got=message.text[:60])
        return Reply(storable(received), trail=() if middle is None else (storable(middle),))


@lru_cache(maxsize=16)
def _answers(about: RoundTripReplay) -> dict[tuple[str, int], tuple[str | None, str | None]]:
    """What came back, and the text on the way, by what was sent and its draw."""
    rows = about._numbered().select("sent", "draw", "received", "middle")
    return {(sent, draw): (received, middle) for sent, draw, received, middle in rows.iter_rows()}
