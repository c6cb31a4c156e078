"""Watching: rate again and again, and tell when a settled level has changed.

    Watch(plan, Terms(ratings, every=7 * DAY)).look() -> Seen

Every look is a fresh run in a folder of its own (architecture 6). What the watch knows lies in one file
beside the runs, written whole after each look, so that a process that dies loses nothing: a run that was
under way is resumed, and a change that was not reported is reported by the next look.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Self

from trustgauge.apps.watch import page as watch_page
from trustgauge.apps.watch import state as watched
from trustgauge.data.dialogs import LONGEST, SPEAKERS
from trustgauge.data.tables import ROWS_SHOWN, fault
from trustgauge.errors import PlanError, StoreError, TrustgaugeError
from trustgauge.plan import Plan
from trustgauge.records import Json, digest
from trustgauge.run import rate_transcript
from trustgauge.run import run as path
from trustgauge.run.options import RunOptions
from trustgauge.run.options import Watch as Progress
from trustgauge.store.folder import WriterLock, find_run, map_errors, write_file

PAGE = "watch.html"
POLL = 5.0  # seconds between two looks at the size of a log
SOONER = 10  # after a look that failed the next one comes in this part of the period
TOP = {"seed", "budget", "assessor", "valid_days", "profiles"}  # of the plan, where a log is rated
GROWN = 50  # utterances: below so many a talk's rating is provisional (trust 4.6)


PIECE = 64_000_000
"""Bytes of a log that are rated at once, and by which a long log is caught up with."""
LINE = 4_000_000  # bytes of a line; more is no utterance
UTTERANCE_LINE = "a JSON object with dialog, speaker (user or bot) and text"


def _utc() -> datetime:
    return datetime.now(UTC)


def _unseen(event: dict[str, Any]) -> None:
    """Nobody watches the asking."""


@dataclass(frozen=True, slots=True)
class WatchClock:
    """What time it is, and how to wait, in seconds."""

    now: Callable[[], datetime] = _utc
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How to watch; none of it changes a rating.

    Attributes:
        ratings: folder of all runs.
        looks: how many looks the error is meant for; fixed when a watch begins.
        every: seconds between the beginnings of two looks; None: only when the log has grown.
        log: transcript that is rated in place of asking.
        grown: utterances of the bot from which a piece of the log is rated.
        fail_on: levels that fail a look wherever the service stood before, as of `RunOptions`.
    """

    ratings: Path = Path("ratings")
    looks: int = 52
    every: float | None = None
    log: Path | None = None
    grown: int = GROWN
    clock: WatchClock = field(default_factory=WatchClock)
    progress: Progress = _unseen
    fail_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LookOutcome:
    """What a look came to: the event, and the run where there is one."""

    event: Mapping[str, Json]
    finished: path.RunResult | None = None
    error: TrustgaugeError | None = None


@dataclass(frozen=True, slots=True)
class SkippedLines:
    """Lines of a log that are no utterances: how many, and the numbers of the first."""

    count: int = 0
    first: tuple[int, ...] = ()


class Watcher:
    """A watch of one plan. A context manager: one process at a time holds it.

    Raises:
        PlanError: a log cannot be rated as the plan says, or the number of looks is another than declared.
        StoreError: the state cannot be read, or another process watches.
    """

    def __init__(self, plan: Plan, terms: WatchOptions) -> None:
        self.plan, self.terms = plan, terms
        if terms.log is not None:
            _talk(plan)
            read_tail(terms.log, 0, most=0)  # whether it can be read
        self.key = _key(plan, terms.log)
        self.skipped = SkippedLines()
        self.file = terms.ratings / f"watch-{self.key}.json"
        with map_errors(terms.ratings):
            terms.ratings.mkdir(parents=True, exist_ok=True)
        self._lock = WriterLock(self.file.with_suffix(".lock"), guards=self.file)
        try:
            self.state = watched.load(self.file) or self._begin()
            self._check_looks()
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def due(self) -> float:
        """Seconds until the next look; 0 if it is due. A log is due when it has grown enough."""
        state, terms = self.state, self.terms
        if state.under_way or (terms.log is None and not state.tried):
            return 0.0
        if terms.log is None:
            return self._left()
        with suppress(StoreError):  # a log that is being moved away will be there again
            since = state.taken if state.failed else state.offset
            new = read_tail(terms.log, since)
            if new.utterances >= terms.grown or new.is_full:
                return 0.0
            if terms.every is not None and self._left() == 0 and self.new():
                return 0.0
        return POLL

    def run(self, tell: Callable[[LookOutcome], None]) -> None:
        """Look whenever it is due, until the process is stopped. A look that fails does not end the watch."""
        if self.state.untold:
            tell(self.pending_changes())
            self.mark_reported()
        while True:
            wait = self.due()
            if wait > 0:
                self.terms.clock.sleep(wait)
            else:
                tell(self.look())
                self.mark_reported()

    def pending_changes(self) -> LookOutcome:
        """Changes that an earlier process found and could not tell, without a look."""
        return LookOutcome(self._event())

    def look(self) -> LookOutcome:
        """Rate once more, and enter what was found. Call `mark_reported` when the changes were reported."""
        state, self.skipped = self.state, SkippedLines()
        state.tried = self.terms.clock.now().isoformat() if state.under_way is None else state.tried
        try:
            plan = self._plan()
            finished = self._rate(plan)
        except TrustgaugeError as error:
            if self.terms.log is not None and state.under_way is None and isinstance(error, PlanError):
                state.offset = state.taken  # what cannot be read now can never be
            state.failed, state.under_way = str(error), None
            self._save()
            return LookOutcome(self._event(), error=error)
        watched.add_look(state, finished.document)
        state.failed, state.under_way = "", None
        state.offset = state.taken if self.terms.log is not None else 0
        self._save()
        return LookOutcome(self._event(finished), finished)

    def mark_reported(self) -> None:
        """The changes found so far were reported; they are not reported again."""
        if self.state.untold:
            self.state.untold = []
            self._save()

    def new(self) -> int:
        """Utterances of the bot in the log that no look has rated, as far as one look takes them."""
        return 0 if self.terms.log is None else read_tail(self.terms.log, self.state.offset).utterances

    def _begin(self) -> watched.WatchState:
        log = "" if self.terms.log is None else str(self.terms.log.absolute())
        began = self.terms.clock.now().isoformat()
        return watched.WatchState(self.plan.name, self.key, self.terms.looks, log, began)

    def _check_looks(self) -> None:
        if self.state.most != self.terms.looks:
            what, must = "the looks of a watch cannot be changed", f"{self.state.most}, as declared"
            do = f"To begin a new watch, move {self.file} away"
            raise PlanError.of("--looks", what, must=must, got=str(self.terms.looks), do=do)

    def _left(self) -> float:
        """Seconds until the period is over; less of it after a look that failed."""
        period = self.terms.every or 0.0
        wait = timedelta(seconds=period / SOONER if self.state.failed else period)
        begins = datetime.fromisoformat(self.state.tried or self.state.began) + wait
        return max(0.0, (begins - self.terms.clock.now()).total_seconds())

    def _plan(self) -> Plan:
        """What this look rates: the plan, or the piece of the log, cut again where a look was under way."""
        log, begun = self.terms.log, self.state.under_way
        if log is None:
            return self.plan
        piece = LogTail(**begun["piece"]) if begun else read_tail(log, self.state.offset)
        self.state.taken = piece.end
        file = self.file.with_suffix(".jsonl")
        self.skipped = write_tail(log, piece, file)
        name, settings = _talk(self.plan)
        top = self.plan.model_dump(mode="json", include=TOP, exclude_none=True)
        plan = rate_transcript.plan_of(file, name, settings, top=top)
        if begun is None:
            self._begin_look(plan, piece=asdict(piece))
        return plan

    def _begin_look(self, plan: Plan, **facts: Json) -> None:
        """Remember which folder of this plan there was before, so that one begun later is known as ours."""
        newest = find_run(self.terms.ratings, plan.hash)
        self.state.under_way = {"before": newest.name if newest else "", **facts}
        self._save()

    def _rate(self, plan: Plan) -> path.RunResult:
        """Rate in a fresh folder, or in that which a process that died has begun for this very look."""
        terms = self.terms
        if self.state.under_way is None:
            self._begin_look(plan)
        assert self.state.under_way is not None
        newest = find_run(terms.ratings, plan.hash)
        mine = newest is not None and newest.name != self.state.under_way["before"]
        run_options = RunOptions(
            terms.ratings, not mine, terms.progress, terms.clock.now, fail_on=terms.fail_on
        )
        return path.rate(plan, run_options) if terms.log is None else rate_transcript.rate(plan, run_options)

    def _event(self, finished: path.RunResult | None = None) -> dict[str, Json]:
        state = self.state
        last = state.runs[-1] if finished is not None else None
        failing = watched.failing(finished.document) if finished is not None else []
        series = [one for one in state.series.values() if one.looks and one.looks[-1].run == last]
        return {
            "event": "look",
            "watch": self.key,
            "look": len(state.runs) if last else None,
            "looks": state.most,
            "run": last,
            "folder": str(finished.folder) if finished is not None else None,
            "page": str(self.terms.ratings / PAGE),
            "series": [
                {
                    **one.key,
                    "level": one.looks[-1].level,
                    "words": one.words.get(str(one.looks[-1].level)),
                    "state": one.looks[-1].state,
                    "certainty": dict(one.looks[-1].certainty),
                    "finding": one.looks[-1].finding,
                    "holds": one.level,
                    "spent": one.spent,
                    "flags": list(one.looks[-1].flags or ()),
                    "new_flags": one.new_flags,
                    "fails": one.key in failing,
                }
                for one in series
            ],
            "failed": state.failed,
            "refused": dict(finished.asked.refused) if finished is not None else {},
            "skipped": {"file": str(self.terms.log), **asdict(self.skipped)} if self.skipped.count else None,
            "changes": list(state.untold),
        }

    def _save(self) -> None:
        """Keep the state, and draw the page of all watches of this folder again."""
        watched.save(self.file, self.state)
        page = watch_page.page(list(_all(self.terms.ratings)))
        write_file(self.terms.ratings / PAGE, page, private=False)  # a web server may show it


def _all(ratings: Path) -> list[dict[str, Json]]:
    """Every watch of a folder, the first begun first; one that cannot be read hides no other."""
    found = []
    for file in sorted(ratings.glob("watch-*.json")):
        try:
            state = watched.load(file)
        except TrustgaugeError:
            continue
        if state is not None:
            found.append(watched.document(state))
    return sorted(found, key=lambda one: (one["began"], one["plan"]))


def _key(plan: Plan, log: Path | None) -> str:
    """What makes it the same watch: what is measured, of services of these names, whatever they are now."""
    measured = plan.hash_with(dict.fromkeys(plan.identities()))
    return digest("watch", [measured, str(log.absolute()) if log is not None else ""])[:12]


def _talk(plan: Plan) -> tuple[str, dict[str, Json]]:
    """Whose conversations a log holds, and the settings by which they are rated.

    Raises:
        PlanError: the plan is not one trust experiment on one service.
    """
    (experiment, *others) = plan.document()["experiments"]
    services = experiment["services"]
    if others or experiment["method"] != "trust" or len(services) != 1:
        must = "one experiment of the method trust, with one service, which names the bot"
        raise PlanError.of("experiments", "the plan cannot rate a log", must=must)
    settings = {key: value for key, value in experiment.items() if key not in ("method", "services")}
    return services[0], settings


@dataclass(frozen=True, slots=True)
class LogTail:
    """What came after a place in a log: from byte `start` to `end`, and how much the bot said there."""

    start: int
    end: int
    utterances: int

    @property
    def is_full(self) -> bool:
        """Whether there is as much as is rated at once, and may be more."""
        return self.end - self.start >= PIECE


def read_tail(log: Path, offset: int, most: int = PIECE) -> LogTail:
    """What a log holds behind `offset`; a log that is shorter was begun again, so all of it is new.

    Half a line at the end is left for later, and lines that cannot be read, or of more than `LINE` bytes, are
    not counted. Line by line: a log of a gigabyte takes no more memory than a short one.

    Args:
        log: lines of JSON.
        offset: of what was rated before, in bytes.
        most: bytes after which the rest is left for the next piece; the line that reaches them is the last.

    Raises:
        StoreError: the log cannot be read.
    """
    with _opened(log) as file:
        size = file.seek(0, 2)
        start = end = file.seek(offset if offset <= size else 0)
        utterances, is_whole = 0, True
        while end - start < most and (line := file.readline(LINE)):
            ends = line.endswith(b"\n")
            if ends:
                utterances += is_whole and _by_bot(line)
                end = file.tell()
            is_whole = ends
    return LogTail(start, end, utterances)


def write_tail(log: Path, piece: LogTail, target: Path) -> SkippedLines:
    """Write the piece of the log to a file of its own, without the lines that are no utterances.

    Raises:
        PlanError: none of its lines is one.
        StoreError: the log cannot be read, is shorter than that, or the file cannot be written.
    """
    kept, wrong, number = bytearray(), list[int](), 0
    with _opened(log) as file:
        left = piece.end - file.seek(piece.start)
        while left and (line := file.readline(left)):
            number, left = number + 1, left - len(line)
            if not line.strip() or _is_utterance(line):
                kept += line
            else:
                wrong.append(number)
        if left:
            raise StoreError(
                "the log has shrunk",
                must="a log that only grows",
                got=f"{log}: {log.stat().st_size} bytes",
            )
        before = _lines_before(file, piece.start) if wrong else 0
    skipped = SkippedLines(len(wrong), tuple(before + one for one in wrong[:ROWS_SHOWN]))
    if wrong and not kept.strip():
        raise fault(log, "--log", f"no utterance from line {skipped.first[0]} on", must=UTTERANCE_LINE)
    write_file(target, memoryview(kept))
    return skipped


def _lines_before(file: BinaryIO, offset: int) -> int:
    """How many lines a log has before a place."""
    file.seek(0)
    return sum(file.read(min(LINE, offset - at)).count(b"\n") for at in range(0, offset, LINE))


@contextmanager
def _opened(log: Path) -> Iterator[BinaryIO]:
    try:
        with log.open("rb") as file:
            yield file
    except OSError as error:
        raise StoreError(
            "the log cannot be read", must="a readable file", got=f"{log}: {error.strerror}"
        ) from error


def _is_utterance(line: bytes) -> bool:
    """Whether dialogs can be read from a line: who says what, in which dialog."""
    try:
        row = json.loads(line.decode("utf-8-sig"))
        speaker, text = row["speaker"].strip().casefold(), row.get("text")
        named = str("" if row["dialog"] is None else row["dialog"]).strip()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return bool(named) and speaker in SPEAKERS and len(str(text)) <= LONGEST


def _by_bot(line: bytes) -> bool:
    """Whether a line is an utterance of the bot that says something."""
    try:
        row = json.loads(line)
        speaker, text = row["speaker"], row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    words = isinstance(text, str) and bool(text.strip())
    return words and isinstance(speaker, str) and SPEAKERS.get(speaker.strip().lower()) == "bot"
