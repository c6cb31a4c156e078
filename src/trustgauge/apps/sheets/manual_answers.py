"""Manual mode: questions out to people, their answers in (social-bias 3.7).

Nothing is kept between the two but the answers: what is pending is what the plan asks minus what is
in the store, as in every run. So any number of sheets of any size may be exported and imported, by
several people, in any order, and `rate` finds their answers kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import polars as pl

from trustgauge import plugins
from trustgauge.apps.sheets.sheet_matching import IMPORT, KNOWN, Question, SheetAnswer, match, utc
from trustgauge.data.tables import content_hash, encodings_of, fault, short
from trustgauge.errors import Fault, PlanError, StoreError
from trustgauge.plan import Plan
from trustgauge.records import Answer, Message, canonical
from trustgauge.run.options import AskPlan, ReusableRuns
from trustgauge.run.prepare import copy_answers, write_plan
from trustgauge.run.rate import is_deterministic
from trustgauge.run.sheets import at_row, check_name, plain, raise_faults, read_sheet, sheet_bytes
from trustgauge.run.targets import Target, design, plan_targets, planned_units, probes_of
from trustgauge.services import redact
from trustgauge.store import BY_HAND, GroupWriter, OpenStore, Store, open_store
from trustgauge.store.folder import RunFolder, find_run, write_file

COLUMNS = ("id", "session", "turn", "language", "text", "answer")
"""Of an exported sheet; `part` stands behind the id where a service has several."""
EXPORT = "--export"
LONGEST_NAME = 120  # characters of the name of who answered

Unit = tuple[Question, ...]
"""A question, or the turns of a session in order: they count together or not at all."""
Kept = Mapping[str, Mapping[tuple[str, int], tuple[str, str | None]]]
"""Fingerprint -> key -> status and output of what is answered."""
Stores = Callable[[str], Sequence[Store]]
"""Fingerprint -> the stores whose answers of that service count, newest first."""


@dataclass(frozen=True, slots=True)
class ExportSummary:
    """What was written: `rows` of the `pending` questions, out of `asked` in all."""

    file: str
    rows: int
    pending: int
    asked: int


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What was taken in. `waiting`: answers to sessions that are not answered to their end."""

    folder: str
    new: int
    known: int
    waiting: int
    pending: int
    asked: int
    encoding: str


@dataclass(frozen=True, slots=True)
class PendingRows:
    """What goes into a sheet.

    Attributes:
        rows: most questions; a session is never cut. None for no limit.
        every: also what is answered, with its answers.
        overwrite: the file, if it is there.
    """

    rows: int | None = None
    every: bool = False
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class SheetSource:
    """Where answers come from, and where they go.

    Attributes:
        by: who answered, where a row does not tell.
        now: when, where a row does not tell; aware.
        fresh: into a new run that takes no answer of an earlier one; that run stays as it is.
    """

    by: str
    now: datetime
    fresh: bool = False


def prepare(plan: Plan) -> AskPlan:
    """As `run.prepare.prepare`, for people: neither keys nor libraries of the services are needed."""
    found = plan_targets(plan)
    return AskPlan(plan, tuple(found), design(plan, found))


def export(ask_plan: AskPlan, service: str, file: Path, ratings: Path, batch: PendingRows) -> ExportSummary:
    """Write what is still to be asked of a service, in the order of sending. Sends nothing, keeps nothing.

    Args:
        ask_plan: the plan.
        service: its name in the plan.
        file: ends in .csv, .tsv, .jsonl, .ndjson or .xlsx.
        ratings: folder of all runs, where answers may be kept already.
        batch: how much to write.

    Raises:
        PlanError: no such service, unknown kind of file, or a file of this name is there already.
        StoreError: a store or the file cannot be read or written.
    """
    check_name(file, EXPORT)
    if file.exists() and not batch.overwrite:
        do = "Choose another name; --force writes over it, with all answers in it"
        raise fault(file, EXPORT, "the file already exists", must="a new file", do=do)
    with _stores(ask_plan, ratings) as (own, stores):
        units = _questions(ask_plan, _asked(ask_plan, service, own))
        kept = _kept(units, stores)
    pending = [unit for unit in units if _is_pending(unit, kept)]
    chosen = list(_first(units if batch.every else pending, batch.rows))
    parts = {one.part for unit in units for one in unit}
    columns = (COLUMNS[0], "part", *COLUMNS[1:]) if len(parts) > 1 else COLUMNS
    rows = [_row(one, kept) for unit in chosen for one in unit]
    write_file(file, sheet_bytes(file, EXPORT, columns, rows), private=False)  # for other people to fill in
    return ExportSummary(str(file), len(rows), _count(pending), _count(units))


def import_answers(
    ask_plan: AskPlan, service: str, file: Path, ratings: Path, source: SheetSource
) -> ImportSummary:
    """Take the answers of a sheet into the run of the plan. All of a file or nothing is taken.

    Rows that are not filled in stay pending. What is kept already stays as it is, so importing a
    file again changes nothing. Answers are corrected or taken back by a fresh run, from a sheet that
    holds the others.

    Args:
        ask_plan: the plan.
        service: its name in the plan.
        file: the sheet.
        ratings: folder of all runs.
        source: who answered and when, and into which run.

    Raises:
        PlanError: no such service, or with a fault for each row that cannot be taken (`filled.match`),
            or that answers otherwise what is answered already.
        StoreError: the run folder cannot be read or written, or is in use.
    """
    check_name(file, IMPORT)
    with _stores(ask_plan, ratings) as (own, _):
        units = _questions(ask_plan, _asked(ask_plan, service, None if source.fresh else own))
    texts = (one.message.text for unit in units for one in unit)
    found = read_sheet(file, IMPORT, KNOWN, encodings_of(texts))
    given = match(file, found, [one for unit in units for one in unit])
    with RunFolder.open(ratings, ask_plan.plan.hash, now=source.now, fresh=source.fresh) as folder:
        write_plan(ask_plan, folder)
        copy_answers(ask_plan, folder)
        new, waiting = _new(file, units, given, _kept(units, lambda _: [folder.store]))
        _keep(folder, service, new, given, _Who(source.by, file, utc(source.now)))
        kept = _kept(units, lambda _: [folder.store])
        left = _count([unit for unit in units if _is_pending(unit, kept)])
        added = _count(new)
        known = len(given) - added - waiting
        return ImportSummary(str(folder.path), added, known, waiting, left, _count(units), found.encoding)


# -- what is asked, and what is kept


@contextmanager
def _stores(ask_plan: AskPlan, ratings: Path) -> Iterator[tuple[OpenStore | None, Stores]]:
    """The plan's own store, if there is one, and all that its run may copy from, itself included."""
    own = find_run(ratings, ask_plan.plan.hash)
    lenders = ReusableRuns(ask_plan, ratings)
    with ExitStack() as opened:
        stores: dict[Path, OpenStore] = {}
        for folder in lenders.folders:
            # a run that cannot be read is passed over, as when a run copies; not its own
            with contextlib.suppress(*(() if folder == own else (StoreError,))):
                stores[folder] = opened.enter_context(open_store(folder))
        yield (
            stores.get(own) if own else None,
            lambda mark: [store for folder, store in stores.items() if lenders.lends(folder, mark)],
        )


def _asked(ask_plan: AskPlan, service: str, own: OpenStore | None) -> list[Target]:
    """The parts of the service. One that gave two answers to one text is asked every draw (methods 0.3)."""
    rated = ask_plan.rated_targets
    names = tuple(dict.fromkeys(one.service for one in rated))
    if service not in names:
        raise PlanError((plugins.unknown("SERVICE", "service", service, names),))
    return [
        replace(one, deterministic=False)
        if one.deterministic and own is not None and not is_deterministic(own.answers(one.fingerprint))
        else one
        for one in rated
        if one.service == service
    ]


def _questions(ask_plan: AskPlan, asked: Sequence[Target]) -> list[Unit]:
    """All units of the service in the order that they would be sent; parts and experiments in turn.

    A question of two experiments is asked once.
    """
    seen: set[tuple[str, str, int]] = set()
    placed: list[tuple[float, Unit]] = []
    for subject in asked:
        frame = probes_of(subject, ask_plan.probes[subject.experiment, subject.task])
        language = _languages(frame, subject)
        found = planned_units(frame, shared=subject.deterministic)
        for number, messages in enumerate(found):
            unit = tuple(
                Question(subject.fingerprint, subject.part, subject.task, language(one.text), one)
                for one in messages
            )
            keys = {(one.fingerprint, *one.key) for one in unit}
            if not keys <= seen:
                placed.append((number / len(found), unit))
                seen |= keys
    return [unit for _, unit in sorted(placed, key=lambda one: one[0])]


def _languages(frame: pl.DataFrame, subject: Target) -> Callable[[str], str]:
    """Text -> its language, as the method or else the service tells it."""
    about = subject.description
    usual = (about.source if about else "") or "en"
    if "language" not in frame.columns:
        return lambda _: usual
    facts = dict(frame.select("message", "language").iter_rows())
    return lambda text: str(facts.get(text) or usual)


def _kept(units: Sequence[Unit], stores: Stores) -> Kept:
    """What is answered, in the first store that has it."""
    kept: dict[str, dict[tuple[str, int], tuple[str, str | None]]] = {}
    for mark in {one.fingerprint for unit in units for one in unit}:
        found = kept.setdefault(mark, {})
        for store in stores(mark):
            rows = store.answers(mark).filter(pl.col("status") != "failed")
            for message, draw, status, output in rows.select(
                "message", "draw", "status", "output"
            ).iter_rows():
                found.setdefault((message, draw), (status, output))
    return kept


def _is_pending(unit: Unit, kept: Kept) -> bool:
    return any(one.key not in kept[one.fingerprint] for one in unit)


def _count(units: Sequence[Unit]) -> int:
    return sum(len(unit) for unit in units)


def _first(units: Sequence[Unit], most: int | None) -> Iterator[Unit]:
    """The first units of at most so many rows, and at least one."""
    rows = 0
    for unit in units:
        rows += len(unit)
        if most is not None and rows > most and rows > len(unit):
            return
        yield unit


def _row(one: Question, kept: Kept) -> dict[str, str]:
    message = one.message
    draw = f" #{message.draw + 1}" if message.session and message.draw else ""
    status, output = kept[one.fingerprint].get(one.key, ("", None))
    return {
        "id": one.id,
        "part": one.part,
        "session": f"{_chat(message)}{draw}",
        "turn": str(message.turn),
        "language": one.language,
        "text": message.text,
        "answer": (output or "") if status == "answered" else "",
    }


def _chat(message: Message) -> str:
    """Which chat a question belongs in, and in a scene of several users, whose."""
    return f"{message.talk} ({message.user})" if message.cast else message.session


# -- what is new


@dataclass(frozen=True, slots=True)
class _Who:
    """Who brought a file in, and when; rows may tell otherwise."""

    by: str
    file: Path
    at: str

    def name(self, by: str) -> str:
        return redact(plain(by or self.by or "not stated"))[:LONGEST_NAME]


def _new(
    file: Path, units: Sequence[Unit], given: Mapping[str, SheetAnswer], kept: Kept
) -> tuple[list[Unit], int]:
    """The units that the sheet answers and nobody before, and how many answers wait for their session.

    Raises:
        PlanError: rows answer otherwise what is answered already.
    """
    faults, new, waiting = [], [], 0
    for unit in units:
        rows = [(given[one.id], kept[one.fingerprint].get(one.key)) for one in unit if one.id in given]
        faults += [
            _conflict(file, entry, before) for entry, before in rows if before and not _same(entry, before)
        ]
        if all(before for _, before in rows):
            continue
        if len(rows) == len(unit):
            new.append(unit)
        else:
            waiting += sum(before is None for _, before in rows)
    raise_faults(sorted(faults, key=lambda one: int(one.place.rpartition(" ")[2])))
    return new, waiting


def _same(answer: SheetAnswer, before: tuple[str, str | None]) -> bool:
    status, output = before
    return answer.status == status and plain(answer.output or "") == plain(output or "")


def _conflict(file: Path, answer: SheetAnswer, before: tuple[str, str | None]) -> Fault:
    status, output = before
    got = f"{short(answer.output or answer.status)}; stored: {short(output or status)}"
    do = "Stored answers stay. `--import FILE --fresh` begins a new run with the answers of FILE alone"
    return Fault(at_row(file, answer.row), "the question already has a different answer", got=got, do=do)


def _keep(
    folder: RunFolder, service: str, new: Sequence[Unit], given: Mapping[str, SheetAnswer], who: _Who
) -> None:
    """Write the new answers, and that they were brought in."""
    if not new:
        return
    with GroupWriter(folder.store) as writer:
        for unit in new:
            writer.keep(*(_answer(one, given[one.id], who) for one in unit))
    note = {
        "service": service,
        "file": who.file.name,
        "hash": content_hash(who.file),
        "answers": _count(new),
        "by": who.name(""),
        "at": who.at,
    }
    folder.note(imports=[*folder.manifest().get("imports", []), note])


def _answer(one: Question, answer: SheetAnswer, who: _Who) -> Answer:
    """The row of the store. No call was made, so none is counted."""
    message = one.message
    return Answer(
        fingerprint=one.fingerprint,
        message=message.key,
        draw=message.draw,
        text=message.text,
        status=answer.status,
        output=answer.output,
        detail=f"{BY_HAND}: {who.name(answer.by)}, {redact(plain(who.file.name))}",
        attempts=0,
        at=answer.at or who.at,
        script=canonical(message.place) if message.session else "",
    )
