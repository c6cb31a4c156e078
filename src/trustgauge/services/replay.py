"""Answers from a file: what people annotated, what a closed bot said, another tool's log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import field_validator, model_validator

from trustgauge.data import unguard
from trustgauge.errors import GarbledError, PlanError, RejectedError
from trustgauge.plan import PlanPath
from trustgauge.records import Message, Reply, Task
from trustgauge.services import InProcessService, ServiceSpec, output_of, storable

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx")
STATUSES = ("answered", "refused", "empty", "unreadable", "failed")
SHOWN = 60  # characters of a text that an error shows


class Replay(ServiceSpec):
    """A table of answers. A message is found by its text, or by its content key (`message`).

    `text`, `message`, `output`, `draw` and `status` name columns. Without `draw` the answer to
    a text holds for every draw of it, and the service counts as deterministic; with it each
    draw has its own row. `status` (answered, refused, empty, unreadable, failed) is optional.
    A row without an output and without a status is a gap, like a row that is not there. In CSV
    and XLSX the apostrophe that guards a cell against being run as a formula is taken off.

    Attributes:
        task: what kind of service the answers came from.
        file: the table: CSV, TSV, JSON lines, Parquet or XLSX (the first sheet).
        text: column of what was sent.
        message: column of the content key, in its place.
        output: column of what came back.
        draw: column that numbers repeats; without it one answer holds for all.
        status: column with answered, refused, empty, unreadable or failed.
        separator: of a CSV file; by default that of its header: comma, semicolon or tab.
    """

    use: str = "replay"
    task: Task = "chat"
    kind: ClassVar[str] = "recorded answers"
    batch: ClassVar[int] = 500
    collected: ClassVar[str] = "from a log"

    file: PlanPath
    text: str = "text"
    message: str = ""
    output: str = "output"
    draw: str = ""
    status: str = ""
    separator: str = ""  # of a CSV file; by default that of its header: comma, semicolon or tab

    @field_validator("file")
    @classmethod
    def _of_a_known_kind(cls, value: Path) -> Path:
        if value.suffix.lower() not in SUFFIXES:
            raise ValueError(f"the kind of file is not known by its name; must end in {', '.join(SUFFIXES)}")
        return value

    @model_validator(mode="after")
    def _separated(self) -> Replay:
        if self.separator and len(self.separator.encode()) != 1:
            raise ValueError("`separator` must be one ASCII character")
        return self

    @property
    def deterministic(self) -> bool:
        return not self.draw

    def identity(self) -> Mapping[str, Any]:
        """The file's content, not its place, and how it is read."""
        columns = self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "file"})
        return {**columns, "content": _content_hash(self.file)}

    def version(self) -> str:
        return _content_hash(self.file)[:8]

    def uses_history(self) -> bool:
        return False

    def check_requirements(self) -> None:
        """Raise PlanError if the file cannot be read, or answers one message in two ways."""
        self._recorded()

    def open(self) -> LiveReplay:
        return LiveReplay(self, self._recorded())

    def _recorded(self) -> AnswerTable:
        try:
            found = self.file.stat()
        except OSError as error:
            raise _fault(self, "the file cannot be read", got=error.strerror or "") from None
        return _load(self, found.st_mtime_ns, found.st_size)


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The rows of a file: where each message's row is, and the columns of answers."""

    rows: Mapping[Any, int]  # (text or content key, draw) -> row; draw is None without a column
    outputs: pl.Series
    statuses: pl.Series


class LiveReplay(InProcessService):
    """Looks answers up."""

    def __init__(self, description: Replay, recorded: AnswerTable) -> None:
        self._about, self._recorded = description, recorded

    def reply(self, message: Message) -> Reply:
        about, recorded = self._about, self._recorded
        name = message.key if about.message else message.text
        row = recorded.rows.get((name, message.draw if about.draw else None))
        if row is None:
            raise RejectedError(f"the file has no answer to {_short(message.text)}, draw {message.draw}")
        status, output = recorded.statuses[row], recorded.outputs[row]
        if status == "refused":
            return Reply(storable(output or ""), refused=True)
        if status == "empty" or (output is not None and not output.strip()):
            return Reply("")
        if status in ("failed", "unreadable") or output is None:
            raise RejectedError(f"the file's answer to {_short(message.text)} is {status or 'a gap'}")
        return Reply(output_of(output, about.task))


@lru_cache(maxsize=8)
def _load(about: Replay, _modified: int, _size: int) -> AnswerTable:
    """The file's answers, checked: columns, statuses, scores, and one answer per message."""
    import polars as pl

    from trustgauge.data.tables import need_columns

    frame = _frame(about)
    name = about.message or about.text
    needed = {"message" if about.message else "text": name, "output": about.output}
    optional = {"draw": about.draw, "status": about.status}
    needed |= {setting: column for setting, column in optional.items() if column}
    need_columns(about.file, frame, needed)
    if about.file.suffix.lower() in (".csv", ".tsv", ".xlsx"):  # as we export it, and other tools do
        cells = {name: frame[name], about.output: frame[about.output]}
        frame = frame.with_columns(_unguarded(cell).alias(column) for column, cell in cells.items())
    frame = frame.select(
        pl.col(name).cast(pl.String).alias("name"),
        pl.col(about.output).cast(pl.String).alias("output"),
        (pl.col(about.draw) if about.draw else pl.lit(None)).cast(pl.Int64, strict=False).alias("draw"),
        (pl.col(about.status) if about.status else pl.lit(None)).cast(pl.String).alias("status"),
    )
    _check(about, frame)
    rows: dict[Any, int] = {}
    for row, (text, draw, status, output) in enumerate(
        frame.select("name", "draw", "status", "output").iter_rows()
    ):
        if text is None or (status is None and output is None):
            continue
        first = rows.setdefault((text, draw), row)
        if first != row and (frame["output"][first], frame["status"][first]) != (output, status):
            raise _fault(
                about,
                f"{_short(text)} has two different answers, in rows {first + 1} and {row + 1}",
                must="one answer per message" + (" and draw" if about.draw else ""),
                do="Correct the file" if about.draw else "Name the column that numbers the repeats as `draw`",
            )
    return AnswerTable(rows, frame["output"], frame["status"])


def _check(about: Replay, frame: pl.DataFrame) -> None:
    """Raise PlanError at the first row with an unknown status, a draw or a score that is none."""
    import polars as pl

    odd = frame.with_row_index("row", 1).filter(
        pl.col("status").is_not_null() & ~pl.col("status").is_in(list(STATUSES))
    )
    if len(odd):
        row, status = odd["row"][0], odd["status"][0]
        raise _fault(
            about, f"unknown status in row {row}", must=f"one of: {', '.join(STATUSES)}", got=_short(status)
        )
    if about.draw and frame["draw"].null_count():
        row = frame["draw"].is_null().arg_true()[0] + 1
        raise _fault(about, f"no draw in row {row}", must="a whole number from 0 up")
    if about.task == "score":
        lost = pl.col("status").is_in(["refused", "empty", "unreadable", "failed"]).fill_null(False)
        given = frame.with_row_index("row", 1).filter(pl.col("output").is_not_null() & ~lost)
        for row, output in given.select("row", "output").iter_rows():
            try:
                output_of(output, "score")
            except GarbledError as error:
                raise _fault(about, f"row {row}: {error.what}", must=error.must, got=error.got) from None


def _frame(about: Replay) -> pl.DataFrame:
    """The file as columns; cells stay text but for Parquet, an empty answer is kept in CSV and JSON lines."""
    from trustgauge.data.tables import read_cells, read_parquet

    if about.file.suffix.lower() == ".parquet":
        return read_parquet(about.file, "file")
    if about.file.suffix.lower() == ".xlsx":
        from trustgauge.data.archives import read_xlsx

        return read_xlsx(about.file, "file")
    return read_cells(about.file, "file", about.separator, of_text=storable)


def _unguarded(cells: pl.Series) -> pl.Series:
    import polars as pl

    return pl.Series([cell and unguard(cell) for cell in cells], dtype=pl.String)


def _content_hash(file: Path) -> str:
    from trustgauge.data.tables import content_hash

    return content_hash(file)


def _fault(about: Replay, what: str, *, must: str = "", got: str = "", do: str = "") -> PlanError:
    return PlanError.of("file", f"{about.file.name}: {what}", must, got, do)


def _short(text: str) -> str:
    shown = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    return json.dumps(shown, ensure_ascii=False)
