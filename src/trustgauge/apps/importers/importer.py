"""What an importer is, and how what it reads is written.

An importer is an entry point of the group `trustgauge.importers`: a `ConversationImporter` reads calls of a
chat, a `ResultImporter` values of an evaluation, a `TranslationImporter` texts that were translated. Its
`read` yields them one at a time. A `PlanImporter` reads tables that a plan rates as they are.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import tomli_w

from trustgauge.apps.importers import chat_logs, eval_results, paper_files
from trustgauge.apps.importers.conversations import MISSING, Conversations, LoggedCall, Utterance
from trustgauge.data.results import MANIFEST, RESULTS, SCHEMA, EvalResult
from trustgauge.data.tables import content_hash, ending_of_content, fault
from trustgauge.errors import Fault, PlanError, StoreError, raise_faults
from trustgauge.plan_faults import KNOWN_KEYS
from trustgauge.records import Json, canonical
from trustgauge.services import environment_secrets, redact, storable
from trustgauge.services.recorded_trips import COLUMNS, RESULT, RoundTripSource
from trustgauge.store.folder import map_errors, open_private, private_folder, write_file

DIALOGS = "dialogs.jsonl"
TRIPS = "trips.jsonl"
PLAN = "trustgauge.toml"
FRESH = ".part"
"""Folder in that of an import, with what is not complete yet."""
SERVICE = "log"
NO_SERVICE = "unknown_service"
"""What OpenTelemetry names a service that nobody has named."""
MASK = "████"
"""Stands where `--redact` matched."""
TRANSLATOR = "translator"
MOST_SYSTEMS = 1_000
MOST_TRANSLATORS = 50
MOST_METRICS = 10_000


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is read.

    Attributes:
        columns: role -> column, for tables.
        lower: metrics of which a lower value is better.
        ranges: metric -> ends of its scale.
        patterns: what is masked besides keys and tokens.
        system: name of what was evaluated, in place of the file's own.
        notes: a reader adds sentences about the file that the user should know.
        only: "model" or "service" -> the one whose calls are read, of a chat log; "" for all.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    lower: Sequence[str] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    patterns: Sequence[re.Pattern[str]] = ()
    system: str = ""
    notes: list[str] = field(default_factory=list)
    only: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationImporter:
    """Reads logged calls of a chat."""

    read: Callable[[Path], Iterator[LoggedCall]]


@dataclass(frozen=True, slots=True)
class ResultImporter:
    """Reads values that another tool gave."""

    read: Callable[[Path, ImportOptions], Iterator[EvalResult]]


@dataclass(frozen=True, slots=True)
class TranslationImporter:
    """Reads texts that were sent to translators and came back: a row a text, as `round_trips` yields them."""

    read: Callable[[Path, ImportOptions], Iterator[Mapping[str, str | None]]]


@dataclass(frozen=True, slots=True)
class PlanImporter:
    """Reads tables, and says how they are rated."""

    read: Callable[[Path, ImportOptions], paper_files.ImportedPlan]


OPENAI_JSONL = ConversationImporter(chat_logs.openai_jsonl)
OTLP = ConversationImporter(chat_logs.otlp)
LANGFUSE = ConversationImporter(chat_logs.langfuse)
PHOENIX = ConversationImporter(chat_logs.phoenix)
INSPECT = ResultImporter(lambda file, _: eval_results.inspect_ai(file))
PROMPTFOO = ResultImporter(lambda file, options: eval_results.promptfoo(file, options.notes))
LM_EVAL = ResultImporter(lambda file, options: eval_results.lm_eval(file, options.notes))
GARAK = ResultImporter(lambda file, _: eval_results.garak(file))
DEEPEVAL = ResultImporter(lambda file, options: eval_results.deepeval(file, options.notes))
TRANSLATIONS = TranslationImporter(lambda file, options: round_trips(file, options.columns, options.system))
RECORDED_DIALOGS = PlanImporter(
    lambda path, options: paper_files.dialogs(path, options.columns, options.system)
)
SCORES = PlanImporter(lambda path, options: paper_files.scores(path, options.system))
BIASASKER = PlanImporter(lambda path, options: paper_files.biasasker(path, options.system))
TABLE = ResultImporter(lambda file, options: eval_results.table(file, options.columns))


def import_file(
    importer: ConversationImporter | ResultImporter | TranslationImporter | PlanImporter,
    form: str,
    file: Path,
    folder: Path,
    options: ImportOptions,
    *,
    force: bool = False,
) -> dict[str, Any]:
    """Read a file of another tool and write it as a folder that trustgauge rates or compares.

    Args:
        importer: of the form.
        form: its name.
        file: of the other tool; of a pipe what comes out of it.
        folder: new, or of an earlier import of a file of this name whose plan nobody edited: it is replaced.
        options: how the file is read.
        force: replace whatever the folder holds.

    Returns:
        What `import.json` says: source, counts, systems and metrics.

    Raises:
        PlanError: the file cannot be read, or holds nothing, or the folder holds something else.
        StoreError: the folder cannot be written.
    """
    if not file.exists():
        raise fault(file, "FILE", "no such file", must="a file that can be read")
    _check_options(importer, form, options)
    if not force and (found := _in_the_way(folder, form, file)):
        raise PlanError.of("-o", f"{folder} {found}", "a new folder", do="Name another, or give --force")
    cover = _Cover(options.patterns)
    with _new_folder(folder) as fresh, _readable_twice(file) as whole:
        if isinstance(importer, ConversationImporter):
            calls = ConversationImporter(_whole_records(importer.read, form))
            result = _conversations(calls, whole, fresh, options, cover)
        elif isinstance(importer, TranslationImporter):
            trips = TranslationImporter(_whole_records(importer.read, form))
            result = _translations(trips, whole, fresh, options, cover)
        elif isinstance(importer, PlanImporter):
            result = _plan(importer, form, whole, fresh, options, cover)
        else:
            values = ResultImporter(_whole_records(importer.read, form))
            result = _results(values, whole, fresh, options, cover)
        content = content_hash(whole) if whole.is_file() else ""
        source = {"format": form, "file": file.name, "content": content}
        document = {"schema": SCHEMA, "source": source, **result}
        if options.notes:
            document["notes"] = [cover.text(note) for note in options.notes]
        document["counts"]["redacted"] = cover.count
        if plan := document.get("plan"):
            document["plan_content"] = content_hash(fresh / plan)
        write_file(fresh / MANIFEST, canonical(document) + "\n")
    return document


@contextmanager
def _readable_twice(file: Path) -> Iterator[Path]:
    """The file or folder itself; of a pipe, which gives its content once, a copy for the time being."""
    if file.is_file() or file.is_dir():
        yield file
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, file.name)
        with map_errors(copy), file.open("rb") as stream, copy.open("wb") as written:
            shutil.copyfileobj(stream, written)
        yield copy.rename(copy.with_name(f"{file.name}{'' if file.suffix else ending_of_content(copy)}"))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """A folder whose files take their place in `folder` at the end; after an error that is as it was."""
    is_new, fresh = not folder.exists(), folder / FRESH
    try:
        private_folder(folder, exist_ok=True)
        shutil.rmtree(fresh, ignore_errors=True)
        private_folder(fresh)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be created", got=error.strerror or str(error), do="Name another with -o"
        ) from None
    try:
        yield fresh
        with map_errors(folder):
            (folder / MANIFEST).unlink(missing_ok=True)  # it would describe files of two imports
            for path in sorted(fresh.iterdir(), key=lambda path: path.name == MANIFEST):
                path.replace(folder / path.name)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _check_options(importer: object, form: str, options: ImportOptions) -> None:
    """Check that a format has what the options name. Raises PlanError, as they would do nothing."""
    has_metrics = isinstance(importer, ResultImporter)
    has_columns = not isinstance(importer, ConversationImporter)
    given = {
        "--lower": bool(options.lower) and not has_metrics,
        "--range": bool(options.ranges) and not has_metrics,
        "--column": bool(options.columns) and not has_columns,
    }
    faults = tuple(
        Fault(name, f"{form} has no {'columns' if name == '--column' else 'metrics'}", do="Leave it out")
        for name, is_odd in given.items()
        if is_odd
    )
    raise_faults(faults)


def _in_the_way(folder: Path, form: str, file: Path) -> str:
    """What a folder holds that an import must not replace, in words; "" if nothing."""
    if not folder.exists() or (folder.is_dir() and all(path.name == FRESH for path in folder.iterdir())):
        return ""
    whole, moving = folder / MANIFEST, folder / FRESH / MANIFEST  # the latter of an import killed at its end
    try:
        known = json.loads((whole if whole.exists() else moving).read_text("utf-8"))
        source, plan = known["source"], known.get("plan")
        written = known.get("plan_content")
        if (source["format"], source["file"]) != (form, file.name):
            return f"holds the import of {source['file']} ({source['format']})"
        edited = plan and written and (folder / plan).is_file() and content_hash(folder / plan) != written
    except (OSError, ValueError, LookupError, TypeError, RecursionError, AttributeError):
        return "exists and holds no import"
    return f"holds a plan that was edited ({plan})" if edited else ""


def _whole_records(read: Callable[..., Iterator[Any]], form: str) -> Callable[..., Iterator[Any]]:
    """A reader that says so where a record is not laid out as its format has it."""

    def checked(file: Path, *options: Any) -> Iterator[Any]:
        number = 0
        try:
            for record in read(file, *options):
                yield record
                number += 1
        except (*_BROKEN, OSError, RecursionError) as error:
            got = f"{type(error).__name__} after {number:,} records"
            must, do = f"what {form} writes", "If it is, report the version of the tool that wrote it"
            raise fault(file, "FILE", f"not a file of {form}", must=must, got=got, do=do) from error

    return checked


_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    csv.Error,
    zipfile.BadZipFile,
    zlib.error,
)


class _Cover:
    """Masks keys, tokens and what the user names, and counts the texts that held some."""

    def __init__(self, patterns: Sequence[re.Pattern[str]]) -> None:
        self._patterns, self._secrets, self.count = (KNOWN_KEYS, *patterns), environment_secrets(), 0

    def text(self, text: str) -> str:
        covered = redact(storable(text), self._secrets)
        for pattern in self._patterns:
            covered = pattern.sub(MASK, covered)
        self.count += covered != text
        return covered

    def exchange(self, one: LoggedCall) -> LoggedCall:
        said = [(who, self.text(text)) for who, text in one.messages]
        reply = None if one.reply is None else self.text(one.reply)
        return replace(
            one,
            messages=said,
            reply=reply,
            conversation=storable(one.conversation),
            id=storable(one.id),
            trace=storable(one.trace),
            parent=storable(one.parent),
            model=self.text(one.model),
            service=self.text(one.service),
        )

    def result(self, one: EvalResult) -> EvalResult:
        """The result without keys and tokens in its words."""
        return replace(
            one,
            system=self.text(one.system),
            metric=self.text(one.metric),
            label=self.text(one.label),
            item=storable(one.item),
            cluster=storable(one.cluster),
            run=storable(one.run),
        )


@contextmanager
def _lines(path: Path) -> Iterator[IO[str]]:
    """A private file that is whole, or not there."""
    fresh = path.with_name(f".{path.name}.part")
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(
            open_private(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8"
        ) as stream:
            yield stream
        fresh.replace(path)
    except OSError as error:
        raise StoreError(f"{path} cannot be written", got=error.strerror or str(error)) from error
    finally:
        fresh.unlink(missing_ok=True)


def _conversations(
    importer: ConversationImporter, file: Path, folder: Path, options: ImportOptions, cover: _Cover
) -> dict[str, Any]:
    """Conversations as a corpus of recorded dialogs, and the plan that rates them."""
    log = Conversations(folder / ".calls.sqlite", options.only)
    counts: Counter[str] = Counter()
    last = 0
    # Unanswered turns come last: a service whose first answers all fail counts as one that is down.
    with _lines(folder / DIALOGS) as stream, TemporaryFile("w+", dir=folder, encoding="utf-8") as unanswered:
        for row in _rows(log.assemble(cover.exchange(one) for one in importer.read(file))):
            (unanswered if "-" in str(row["dialog"]) else stream).write(canonical(row) + "\n")
            counts["utterances"] += 1
            counts[str(row["speaker"])] += 1
        unanswered.seek(0)
        shutil.copyfileobj(unanswered, stream)
    last = log.dialogs
    if not counts["bot"] - log.counts["missing"] > 0:
        got = f"{log.counts['calls']:,} calls, {log.counts['missing']:,} without a reply"
        raise fault(file, "FILE", "the bot says nothing in this log", must="at least one answer", got=got)
    name = _service_name(log, folder, options)
    table = {"layout": "jsonl", "file": DIALOGS, "columns": {"status": "status"}}
    plan = {
        "name": file.name,
        "services": {name: {"use": "dialogs", "dialogs": table}},
        "experiments": [{"method": "trust", "services": [name], "issues": ["abuse", "bias", "complexity"]}],
    }
    write_file(folder / PLAN, tomli_w.dumps(plan))
    counted = {**log.counts, "dialogs": last, **counts}
    return {"kind": "conversations", "counts": counted, **log.origins(), "systems": [name], "plan": PLAN}


def _service_name(log: Conversations, folder: Path, options: ImportOptions) -> str:
    """Whose conversations they are: as the user says, as the log says of all of them, or as the folder does.

    One name for the logs of all bots would make them one service with a history.
    """
    names = [options.system, options.only.get("service"), options.only.get("model")]
    for counts in (log.services, log.models):
        named = [name for name in counts if name and not name.startswith(NO_SERVICE)]
        names += named if len(named) == 1 else []
    return next(filter(None, names), "") or folder.parent.resolve().name or SERVICE


def _rows(said: Iterable[Utterance]) -> Iterator[dict[str, Json]]:
    """Utterances as rows of a corpus.

    A session with a lost answer is lost as a whole, so an unanswered turn is a dialog of its own: one missing
    answer counts as one.
    """
    asked: list[Utterance] = []
    turn: Counter[int] = Counter()
    for one in said:
        if asked and asked[0].dialog != one.dialog:
            yield from (_row(former, str(former.dialog)) for former in asked)
            asked = []
        asked.append(one)
        if one.speaker == "user":
            continue
        name = f"{one.dialog}-{turn[one.dialog]}" if one.missing else str(one.dialog)
        turn = Counter({one.dialog: turn[one.dialog] + 1})
        yield from (_row(former, name) for former in asked)
        asked = []
    yield from (_row(former, str(former.dialog)) for former in asked)


def _row(one: Utterance, dialog: str) -> dict[str, Json]:
    status = MISSING if one.missing else ""
    return {
        "dialog": dialog,
        "speaker": one.speaker,
        "text": one.text,
        "status": status,
        "source": one.source,
    }


def _translations(
    importer: TranslationImporter, file: Path, folder: Path, options: ImportOptions, cover: _Cover
) -> dict[str, Any]:
    """Translated texts as one table, and the plan that rates who translated them."""
    counts: Counter[str] = Counter(missing=0)
    found: dict[str, IO[str]] = {}
    languages: dict[str, None] = {}
    with ExitStack() as open_files:
        for row in importer.read(file, options):
            name = storable(row["system"] or TRANSLATOR)
            if name not in found:
                if len(found) == MOST_TRANSLATORS:
                    must = f"at most {MOST_TRANSLATORS} translators"
                    raise fault(file, "FILE", "these are not records of translators", must=must)
                table = folder / f"{len(found) + 1}-{TRIPS}"
                found[name] = open_files.enter_context(_lines(table))
            kept = {role: None if (text := row[role]) is None else cover.text(text) for role in COLUMNS}
            found[name].write(canonical(kept) + "\n")
            languages.setdefault(str(row["language"]))
            counts["texts"] += 1
            counts["missing"] += not (row["received"] or "").strip()
    if counts["texts"] == counts["missing"]:
        must = "one text at least that came back"
        raise fault(file, "FILE", "nothing came back in these records", must=must)
    services = {
        name: {"use": "recorded-round-trips", "trips": {"file": f"{number}-{TRIPS}"}}
        for number, name in enumerate(found, 1)
    }
    experiments = [{"method": "two-step", "services": list(services)}]
    write_file(
        folder / PLAN,
        tomli_w.dumps({"name": file.name, "services": services, "experiments": experiments}),
    )
    return {
        "kind": "translations",
        "counts": dict(counts),
        "systems": list(found),
        "languages": list(languages),
        "plan": PLAN,
    }


def _plan(
    importer: PlanImporter, form: str, file: Path, folder: Path, options: ImportOptions, cover: _Cover
) -> dict[str, Any]:
    """Tables with their words masked, and the plan that rates them."""

    def read(path: Path) -> Iterator[paper_files.ImportedPlan]:
        yield importer.read(path, options)

    (found,) = _whole_records(read, form)(file)
    for name, rows in found.tables.items():
        with _lines(folder / name) as stream:
            for row in rows:
                kept = {key: cover.text(cell) if isinstance(cell, str) else cell for key, cell in row.items()}
                stream.write(canonical(kept) + "\n")
    services = {storable(name): settings for name, settings in found.services.items()}
    plan = {"name": file.name, "services": services, "experiments": found.experiments}
    write_file(folder / PLAN, tomli_w.dumps(plan))
    return {"kind": found.kind, "counts": dict(found.counts), "systems": list(services), "plan": PLAN}


def round_trips(
    path: Path, columns: Mapping[str, str], system: str = ""
) -> Iterator[Mapping[str, str | None]]:
    """Texts that were sent, and what came back, of a table or of the two-step authors' files.

    Args:
        path: a table, one of the authors' files, or a folder of either.
        columns: role -> column, of a table.
        system: who translated, in place of the files' own names.

    Yields:
        Rows of `recorded_trips.COLUMNS`, and who translated as `system`, "" if unknown.

    Raises:
        PlanError: a file cannot be read, or is not as this says.
    """
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    systems = {match[2] for file in files if (match := RESULT.fullmatch(file.name))}
    for name in sorted(systems) or [""]:
        trips = RoundTripSource.model_validate(
            {"file": str(path.resolve()), "columns": columns, "translator": name}
        )
        for row in trips.read().iter_rows(named=True):
            yield {**row, "system": system or name}


def _results(
    importer: ResultImporter, file: Path, folder: Path, options: ImportOptions, cover: _Cover
) -> dict[str, Any]:
    """Results as one table, a row a value."""
    counts: Counter[str] = Counter()
    systems: dict[str, None] = {}
    metrics: dict[str, dict[str, Any]] = {}
    with _lines(folder / RESULTS) as stream:
        for one in importer.read(file, options):
            one = cover.result(replace(one, system=options.system or one.system))
            stream.write(json.dumps(one.row(), ensure_ascii=False, allow_nan=False) + "\n")
            counts["values"] += 1
            counts["missing"] += one.value is None
            systems.setdefault(one.system)
            _measure(metrics, one, options)
            if len(systems) > MOST_SYSTEMS or len(metrics) > MOST_METRICS:
                must = f"at most {MOST_SYSTEMS:,} systems and {MOST_METRICS:,} metrics"
                raise fault(file, "FILE", "this is not a table of results", must=must)
    if counts["missing"] == counts["values"]:
        got = f"{counts['values']:,} results, all without a value" if counts["values"] else "none"
        raise fault(file, "FILE", "the file contains no results", must="at least one value", got=got)
    odd = [name for name in (*options.lower, *options.ranges) if name not in metrics]
    if odd:
        raise fault(file, "--lower", f"no metric {odd[0]}", must="one of: " + ", ".join(metrics))
    return {"kind": "results", "counts": dict(counts), "systems": list(systems), "metrics": metrics}


def _measure(metrics: dict[str, dict[str, Any]], one: EvalResult, options: ImportOptions) -> None:
    """The direction and the scale of a metric, as far as they are known so far."""
    better = one.better and one.metric not in options.lower
    low, high = options.ranges.get(one.metric, (None, None))
    first = {"better": "higher" if better else "lower", "low": low, "high": high, "values": 0, "missing": 0}
    known = metrics.setdefault(one.metric, {**first, "least": None, "most": None})
    known["values"] += 1
    known["missing"] += one.value is None
    if one.value is not None:
        known["least"] = one.value if known["least"] is None else min(known["least"], one.value)
        known["most"] = one.value if known["most"] is None else max(known["most"], one.value)
