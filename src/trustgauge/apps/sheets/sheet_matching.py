"""Filled-in sheets: which row answers which question, and each row that cannot be taken (social-bias 3.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from trustgauge.data import unguard
from trustgauge.data.tables import fault, short
from trustgauge.errors import Fault, GarbledError
from trustgauge.records import Message, Status, Task, digest
from trustgauge.run.sheets import Sheet, SheetRow, at_row, plain, raise_faults
from trustgauge.services import output_of

KNOWN = ("id", "session", "turn", "text", "answer", "status", "by", "at")
"""Columns that are read; only `answer`, and `id` or `text`, must be there."""
STATUSES: tuple[Status, ...] = ("answered", "refused", "empty", "unreadable")
IMPORT = "--import"
LEAD = 14  # characters that an error shows before two texts part


@dataclass(frozen=True, slots=True)
class Question:
    """One row of a sheet: a message to one part of the service, with the turns before it counted."""

    fingerprint: str
    part: str
    task: Task
    language: str
    message: Message

    @property
    def key(self) -> tuple[str, int]:
        """As the store knows its answer."""
        return self.message.key, self.message.draw

    @property
    def id(self) -> str:
        """Follows from service, message and draw alone; begins with a letter, so it is no number."""
        return "q" + digest("question", [self.fingerprint, *self.key])[:16]


@dataclass(frozen=True, slots=True)
class SheetAnswer:
    """What a row says of its question. `output` is null where it is unreadable."""

    row: int
    status: Status
    output: str | None
    by: str
    at: str  # ISO 8601, UTC; "" if the row does not tell

    @property
    def said(self) -> tuple[Status, str | None]:
        """What two rows must agree in."""
        return self.status, self.output


def match(file: Path, sheet: Sheet, questions: Sequence[Question]) -> dict[str, SheetAnswer]:
    """The answers of a sheet by id of their question; rows that are not filled in are left out.

    A row is found by its id; without one by its exact text, where rows of one text take its draws
    in order, whatever was imported before, so that the same file always says the same. A row that
    is there twice counts once; an empty one never takes back a filled one.

    Args:
        file: where the sheet was read from, for errors.
        sheet: its rows.
        questions: all that the plan asks of the service, answered or not.

    Raises:
        PlanError: with a fault for each row with an unknown id, a changed text, an answer that is
            none, or one that conflicts with another row.
    """
    for names in (("answer",), ("id", "text")):
        if not set(names) & set(sheet.columns):
            what = f"no column {' or '.join(names)}"
            raise fault(file, IMPORT, what, must="the columns of the sheet that `--export` wrote")
    by_id = {one.id: one for one in questions}
    found: dict[str, SheetAnswer] = {}
    faults: list[Fault] = []
    for line, question in _paired(sheet.lines, by_id):
        row = question if isinstance(question, Fault) else _given(line, question)
        if isinstance(row, SheetAnswer) and isinstance(question, Question):
            row = _kept(found, question.id, row)
        if isinstance(row, Fault):
            faults.append(Fault(at_row(file, line.row), row.what, row.must, row.got, row.do))
    raise_faults(sorted(faults, key=lambda one: int(one.place.rpartition(" ")[2])))
    return found


def _kept(found: dict[str, SheetAnswer], name: str, answer: SheetAnswer) -> Fault | None:
    before = found.setdefault(name, answer)
    if before.said == answer.said:
        return None
    got = f"{_shown(before)} in row {before.row}, {_shown(answer)} here"
    return Fault("", "another row answers this question differently", must="one answer per question", got=got)


def _shown(answer: SheetAnswer) -> str:
    return short(answer.output) if answer.output else answer.status


def _paired(
    lines: Sequence[SheetRow], by_id: Mapping[str, Question]
) -> Iterator[tuple[SheetRow, Question | Fault]]:
    """Each row with its question, or why it has none; rows with an id first."""
    taken: set[str] = set()
    for line in lines:
        name = line.cells.get("id", "").strip()
        if name:
            taken.add(name)
            yield line, _of_id(line, name, by_id)
    waiting: dict[str, list[Question]] = {}
    for question in by_id.values():
        waiting.setdefault(_exact(question.message.text), []).append(question)
    free: dict[str, list[Question]] = {}
    for line in lines:
        if line.cells.get("id", "").strip():
            continue
        text = _exact(line.cells.get("text", ""))
        if text not in free:
            free[text] = [one for one in waiting.get(text, ()) if one.id not in taken]
        yield line, _of_text(line, waiting.get(text, ()), free[text])


def _of_id(line: SheetRow, name: str, by_id: Mapping[str, Question]) -> Question | Fault:
    question = by_id.get(name)
    if question is None:
        do = "Import it with the plan and options that it was exported with"
        return Fault("", f"unknown id {short(name)}", must="an id of this plan and service", do=do)
    text = line.cells.get("text", "")
    if text.strip() and _exact(text) != _exact(question.message.text):
        exported, came = _from_difference(_exact(question.message.text), _exact(text))
        must = f"as it was exported: {short(exported)}"
        do = "If another text was asked, its answer counts for nothing: ask the exported one"
        return Fault("", "the text was changed", must=must, got=short(came), do=do)
    return question


def _from_difference(one: str, other: str) -> tuple[str, str]:
    """Two texts as an error can show them both: from shortly before where they part, if that is far in.

    >>> _from_difference("who do you think are kind, men or women?", "who do you think are kind, men?")
    ('… are kind, men or women?', '… are kind, men?')
    """
    pairs = enumerate(zip(one, other, strict=False))
    start = max(0, next((i for i, (a, b) in pairs if a != b), min(len(one), len(other))) - LEAD)
    return (f"…{one[start:]}", f"…{other[start:]}") if start else (one, other)


def _of_text(line: SheetRow, there: Sequence[Question], free: list[Question]) -> Question | Fault:
    """The next draw of the text; `free` loses it."""
    if not line.cells.get("text", "").strip():
        return Fault("", "neither an id nor a text", must="at least one of them")
    if not there:
        return Fault("", "the plan does not ask this text", got=short(line.cells["text"]))
    if len({(one.fingerprint, one.message.session, one.message.script) for one in there}) > 1:
        return Fault("", "this text occurs in several parts or chats", do="give the row its id")
    if not free:
        return Fault(
            "", "more rows with this text than it is asked", must=f"{len(there)} at most, without ids"
        )
    return free.pop(0)


def _exact(text: str) -> str:
    """A text as it is compared: without what spreadsheet programs add or take at its ends."""
    return unguard(plain(text)).strip()


def _given(line: SheetRow, question: Question) -> SheetAnswer | Fault | None:
    """What a row says; None if it is not filled in yet."""
    answer = line.cells.get("answer", "")
    status = line.cells.get("status", "").strip().lower()
    if status and status not in STATUSES:
        return Fault("", f"unknown status {short(status)}", must=f"empty, or one of: {', '.join(STATUSES)}")
    if not status and not answer.strip():
        return None
    status = status or "answered"
    if (status == "answered" and not answer.strip()) or (status == "empty" and answer.strip()):
        return Fault("", f"status and answer disagree: {status}", got=short(answer))
    at = _moment(line.cells.get("at", "").strip())
    if isinstance(at, Fault):
        return at
    output: str | None = answer
    if status == "answered" and question.task == "score":
        try:
            output = repr(output_of(answer.strip(), "score"))
        except GarbledError as error:
            return Fault("", error.what, must=error.must, got=error.got)
    elif status in ("empty", "unreadable"):
        output = "" if status == "empty" else None
    return SheetAnswer(line.row, status, output, line.cells.get("by", "").strip(), at)


def _moment(text: str) -> str | Fault:
    """A time as the store keeps it; one without a zone is UTC."""
    if not text:
        return ""
    try:
        read = datetime.fromisoformat(text)
        return utc(read if read.tzinfo else read.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return Fault("", "the time cannot be read", must="ISO 8601, as 2026-11-22T09:30", got=short(text))


def utc(moment: datetime) -> str:
    """ISO 8601, UTC, milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
