"""Results of other evaluation tools: inspect_ai, promptfoo, lm-evaluation-harness, garak, deepeval, tables.

Each reader yields one `EvalResult` a value. An item that was not scored (an error, a skipped metric, an empty
cell) is a result without a value: missing, never zero. It is missing from every metric that it belongs to,
also from those that only other items name, so some files are read twice. Items have the same name in every
file of one suite, so that two runs can be paired: their id if the tool gives one that stays, else a hash of
what was asked. What the user should know about a file is added to `notes`.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trustgauge.apps.importers.json_stream import EVERY, elements, first_sign
from trustgauge.data.results import EvalResult
from trustgauge.data.tables import csv_rows, ending, fault, short
from trustgauge.errors import Fault, PlanError
from trustgauge.records import digest

ZSTANDARD = 93
"""Method of compression of the entries of newer Inspect logs (APPNOTE.TXT 4.4.5)."""
LETTERS: Mapping[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Grades of Inspect: correct, partial, incorrect, no answer."""
VERDICTS: Mapping[str, float] = {
    **dict.fromkeys(("pass", "passed", "true", "yes", "correct", "ok", "success"), 1.0),
    **dict.fromkeys(("fail", "failed", "false", "no", "incorrect", "wrong", "failure"), 0.0),
}
"""Verdicts in words; case does not matter."""
ABSENT = ("", "na", "n/a", "nan", "null", "none", "missing", "error", "skipped")
"""Cells that say that there is no value."""
ROLES = ("item", "cluster", "run", "system", "metric", "value")
ERROR = 2
"""promptfoo's reason of a failure that is an error, not a failed assertion."""
DONE = 2
"""garak's status of an attempt that was evaluated."""
TARGET = ("type", "name")
"""What garak's set-up says of its target, in this order in the name of the system."""
SHOWN = 5
"""Names that a note lists."""
_DATE = re.compile(r"\d{4}-\d\d-\d\dT.*")
_VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_GLOB = re.compile(r"[*?\[]")


def inspect_ai(file: Path) -> Iterator[EvalResult]:
    """A log of inspect_ai, `.eval` or `.json`: a metric a scorer, or a key of its values; a run an epoch."""
    zipped = zipfile.is_zipfile(file)
    head = next(_inspect_parts(file, "header.json") if zipped else elements(file, ("eval",)), None)
    entry = head.get("eval", head) if zipped and isinstance(head, dict) else head
    if not isinstance(entry, dict) or "task" not in entry:
        raise fault(file, "FILE", "not an inspect_ai log", must="an .eval or .json log that is complete")
    task, model = str(entry["task"]), str(entry.get("model", ""))
    keys = _inspect_keys(entry, _inspect_samples(file))
    for sample in _inspect_samples(file):
        scores = sample.get("scores") or {}
        label = sample.get("input")
        for name, parts in keys.items():
            value = (scores.get(name) or {}).get("value")
            # A scorer of dictionaries that gives something else, as NaN, has scored none of its parts.
            values = value if isinstance(value, dict) else {} if parts else {"": value}
            for part in parts or ("",):
                yield EvalResult(
                    model,
                    "/".join(filter(None, (task, name, part))),
                    str(sample["id"]),
                    _grade(values.get(part)),
                    run=str(sample.get("epoch", "")),
                    label=short(label) if isinstance(label, str) else "",
                )


def _inspect_samples(file: Path) -> Iterator[Any]:
    return (
        _inspect_parts(file, "samples/") if zipfile.is_zipfile(file) else elements(file, ("samples", EVERY))
    )


def _inspect_keys(entry: Mapping[str, Any], samples: Iterator[Any]) -> dict[str, dict[str, None]]:
    """The scorers of a log, each with the keys of the dictionaries that it gives, if it does."""
    keys: dict[str, dict[str, None]] = {}
    for sample in samples:
        for name, score in (sample.get("scores") or {}).items():
            parts = keys.setdefault(name, {})
            value = (score or {}).get("value")
            parts.update(dict.fromkeys(value if isinstance(value, dict) else ()))
    known: dict[str, dict[str, None]] = {}
    for scorer in entry.get("scorers") or ():
        if isinstance(scorer, dict):
            full = str(scorer.get("name"))
            # samples name a scorer without its package
            name = full if full in keys else full.partition("/")[2] or full
            known.setdefault(name, dict.fromkeys(_metric_keys(scorer)) | keys.get(name, {}))
    return known | {name: parts for name, parts in keys.items() if name not in known}


def _metric_keys(scorer: Mapping[str, Any]) -> Iterator[str]:
    """The keys that a scorer declares by metrics of their own; patterns of keys do not name any."""
    metrics = scorer.get("metrics") or ()
    for one in [metrics] if isinstance(metrics, dict) else metrics:
        # in a list, a metric is a dictionary too: of a name and options
        if isinstance(one, dict) and all(isinstance(each, list) for each in one.values()):
            yield from (key for key in one if not _GLOB.search(key))


def _inspect_parts(file: Path, start: str) -> Iterator[Any]:
    """The documents in a zipped log whose names begin so, one at a time."""
    with zipfile.ZipFile(file) as log:
        for entry in log.infolist():
            if entry.filename.startswith(start):
                yield json.loads(_unpacked(file, log, entry))


def _unpacked(file: Path, log: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type != ZSTANDARD:
        return log.read(entry)
    try:
        import zstandard
    except ModuleNotFoundError:
        do = "Install `trustgauge[imports]`, or write the log as JSON: `inspect log dump LOG > LOG.json`"
        raise fault(file, "FILE", "the log is compressed with Zstandard", do=do) from None
    with file.open("rb") as raw:
        raw.seek(entry.header_offset + 26)
        lengths = raw.read(4)
        raw.seek(int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little"), 1)
        packed = raw.read(entry.compress_size)
    try:
        whole: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    except zstandard.ZstdError as error:
        raise fault(file, "FILE", "the log cannot be decompressed", got=str(error)[:200]) from None
    return whole


def promptfoo(file: Path, notes: list[str]) -> Iterator[EvalResult]:
    """Results of promptfoo, `.json` or `.jsonl`: a system a column, `pass` and named scores.

    A column is a provider and a prompt. A test is known by its variables and assertions, since its number
    changes with `--repeat`.
    """
    known = _PromptfooNames()
    for row in _promptfoo_rows(file):
        known.learn(row)
    notes.extend(known.notes())
    seen: Counter[tuple[str, str]] = Counter()
    for row in _promptfoo_rows(file):
        test, system = row.get("testCase") or {}, known.system(row)
        shown = {key: value for key, value in (row.get("vars") or {}).items() if not key.startswith("_")}
        item = digest("promptfoo", [shown, test.get("assert") or []])[:16]
        run = str(seen[system, item])
        seen[system, item] += 1
        label = str(test.get("description") or next(iter(shown.values()), ""))
        for metric, value in _promptfoo_values(row, known).items():
            yield EvalResult(system, metric, item, _number(value), run=run, label=short(label))


def _promptfoo_rows(file: Path) -> Iterator[dict[str, Any]]:
    place = () if ending(file) == ".jsonl" else ("results", "results", EVERY)
    first = next(elements(file, place), None)
    if place and first is None and isinstance(next(elements(file, ("success",)), None), bool):
        place = ()  # the only row of a file without a name, as out of a pipe
    for row in elements(file, place):
        if not isinstance(row, dict) or "success" not in row:
            raise fault(file, "FILE", "not promptfoo results", must="what `promptfoo eval -o` writes")
        yield row


def _promptfoo_values(row: Mapping[str, Any], known: _PromptfooNames) -> dict[str, Any]:
    """The values of a test by metric, None where one is missing."""
    named = row.get("namedScores") or {}
    lost = row.get("failureReason") == ERROR or (row.get("error") and not row.get("gradingResult"))
    if lost:
        return dict.fromkeys(["pass", "score", *_promptfoo_metrics(row), *named, *known.missing(row, ())])
    values = {"pass": float(bool(row["success"])), "score": row.get("score"), **named}
    return values | dict.fromkeys(known.missing(row, named))


def _promptfoo_assertions(found: Any) -> Iterator[dict[str, Any]]:
    """The assertions of a test, those within sets after the set."""
    for one in found or ():
        if isinstance(one, dict):
            yield one
            yield from _promptfoo_assertions(one.get("assert"))


def _promptfoo_metrics(row: Mapping[str, Any]) -> list[str]:
    """The metrics that the assertions of a test name, with its variables filled in."""
    variables = row.get("vars") or {}
    found = [one.get("metric") for one in _promptfoo_assertions((row.get("testCase") or {}).get("assert"))]
    return [
        _VARIABLE.sub(lambda match: str(variables.get(match[1], match[0])), str(one)) for one in found if one
    ]


@dataclass(frozen=True)
class _PromptfooNames:
    """Names in results of promptfoo that become known only from all rows together.

    Attributes:
        columns: provider and prompt -> places of the columns of that name.
        scores: hash of an assertion, or of all of a test -> scores that its code named.
    """

    columns: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    scores: dict[str, set[str]] = field(default_factory=dict)

    def learn(self, row: Mapping[str, Any]) -> None:
        """Take in what a row shows: its column, and scores that code has named."""
        name, place = self._column(row)
        self.columns[name].add(place)
        listed = (row.get("testCase") or {}).get("assert") or []
        declared = set(_promptfoo_metrics(row))
        others = set(row.get("namedScores") or ()) - declared
        components = (row.get("gradingResult") or {}).get("componentResults") if others else ()
        for one in components or ():
            own = set((one or {}).get("namedScores") or ()) - declared
            if own and one.get("assertion") in list(_promptfoo_assertions(listed)):
                self.scores.setdefault(_promptfoo_key(one["assertion"]), set()).update(own)
                others -= own
        if others:  # the file does not say which assertion named them
            self.scores.setdefault(_promptfoo_key(listed), set()).update(others)

    def system(self, row: Mapping[str, Any]) -> str:
        """The name of a row's column: provider and prompt, and its place unless it is the first."""
        name, place = self._column(row)
        return name if place == min(self.columns[name]) else f"{name} · column {place + 1}"

    def missing(self, row: Mapping[str, Any], there: Collection[str]) -> list[str]:
        """Scores that code has named elsewhere, and a row lacks.

        Code that has named some of its scores here has run, and may leave out others.
        """
        listed = (row.get("testCase") or {}).get("assert") or []
        found: dict[str, None] = {}
        for one in (listed, *_promptfoo_assertions(listed)) if self.scores else ():
            names = self.scores.get(_promptfoo_key(one), set())
            found |= dict.fromkeys(sorted(names) if names.isdisjoint(there) else ())
        return list(found)

    def notes(self) -> Iterator[str]:
        """What the user should know about columns of one name."""
        for name, places in self.columns.items():
            if len(places) > 1:
                added = ", ".join(f'"· column {place + 1}"' for place in sorted(places)[1:])
                yield (
                    f"{len(places)} columns are named {short(name)}; to the names of all but the first, "
                    f"their place in promptfoo's table is added: {added}"
                )

    def _column(self, row: Mapping[str, Any]) -> tuple[str, int]:
        provider, prompt, place = row.get("provider") or {}, row.get("prompt") or {}, row.get("promptIdx")
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        name = f"{named} · {prompt.get('label') or prompt.get('raw', '')}"
        return name, place if isinstance(place, int) else 0


def _promptfoo_key(about: Any) -> str:
    return digest("promptfoo assertions", about)[:16]


def lm_eval(file: Path, notes: list[str]) -> Iterator[EvalResult]:
    """Samples of lm-evaluation-harness (`--log_samples`): `samples_TASK_DATE.jsonl`, or their folder.

    The model and the direction of its metrics are given by `results_DATE.json` beside them. Of the runs of a
    task in a folder the newest counts, as for the harness itself. A metric whose values are lists, as
    `word_perplexity`, is computed from all samples together and has no value of any one: it is left out.
    """
    files = _newest_samples(file, notes) if file.is_dir() else [file]
    if not files:
        raise fault(file, "FILE", "the folder contains no samples", must="samples_*.jsonl of `--log_samples`")
    lists: dict[str, None] = {}
    empty = True
    for samples in files:
        for one in _samples(samples, lists):
            empty = False
            yield one
    if lists and empty:
        must = "a metric with a number a sample"
        raise fault(file, "FILE", "no metric has a value a sample", must=must, got=f"lists: {_some(lists)}")
    if lists:
        notes.append(f"left out, since their values of a sample are lists and no numbers: {_some(lists)}")


def _newest_samples(folder: Path, notes: list[str]) -> list[Path]:
    """The newest file of every task and model, and those without a date."""
    found: dict[tuple[str, ...], Path] = {}
    older: list[str] = []
    for samples in sorted(folder.glob("samples_*.jsonl"), key=lambda one: (_task_and_date(one)[1], one.name)):
        task, date = _task_and_date(samples)
        dated = _DATE.fullmatch(date)
        key = (_facts(samples)[0], task) if dated else (samples.name,)
        older += [found[key].name] if key in found else []
        found[key] = samples
    if older:
        notes.append(f"left out, since the folder has newer runs of the same tasks: {_some(sorted(older))}")
    return sorted(found.values())


def _task_and_date(samples: Path) -> tuple[str, str]:
    task, _, date = samples.stem.removeprefix("samples_").rpartition("_")
    return task, date


def _facts(samples: Path) -> tuple[str, Mapping[str, Any]]:
    """The model of a file of samples, and which metrics of its task are better when higher."""
    task, date = _task_and_date(samples)
    beside = samples.with_name(f"results_{date}.json")
    facts: dict[str, Any] = next(elements(beside), {}) if beside.is_file() else {}
    higher = (facts.get("higher_is_better") or {}).get(task) or {}
    return str(facts.get("model_name") or samples.parent.name), higher


def _samples(samples: Path, lists: dict[str, None]) -> Iterator[EvalResult]:
    """The values of one file; metrics whose first value is a list are added to `lists` instead."""
    task = _task_and_date(samples)[0]
    model, higher = _facts(samples)
    seen: Counter[tuple[str, str]] = Counter()
    single: dict[str, bool] = {}
    for row in elements(samples):
        if not isinstance(row, dict) or "doc_id" not in row:
            raise fault(samples, "FILE", "not lm-evaluation-harness samples", must="a `doc_id` in each line")
        by = str(row.get("filter", "none"))
        item = str(row.get("doc_hash") or row["doc_id"])[:16]
        run = str(seen[by, item])
        seen[by, item] += 1
        for metric in row.get("metrics") or ():
            value = row.get(metric)
            name = f"{task}/{metric}" + (f",{by}" if by != "none" else "")
            if value is not None:
                single.setdefault(name, not isinstance(value, list | dict))
            if not single.get(name, True):
                lists.setdefault(name)
                continue
            better = higher.get(metric) is not False
            yield EvalResult(model, name, item, _number(value), run=run, better=better)


def _some(names: Collection[str]) -> str:
    """Names in one line, the first `SHOWN` of them."""
    more = f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else ""
    return ", ".join(short(one) for one in list(names)[:SHOWN]) + more


def garak(file: Path) -> Iterator[EvalResult]:
    """A report of garak, `.report.jsonl`: a metric a probe and detector; 1 is a hit, lower is better."""
    system = ""
    for row in elements(file):
        kind = row.get("entry_type") if isinstance(row, dict) else None
        if kind is None:
            raise fault(file, "FILE", "not a garak report", must="an `entry_type` in each line")
        if kind == "start_run setup":
            # up to garak 0.13.0 the target was called the model
            named = (row.get(f"plugins.target_{key}") or row.get(f"plugins.model_{key}") for key in TARGET)
            system = "/".join(str(one) for one in named if one) or "target"
        if kind != "attempt" or row.get("status") != DONE:
            continue
        probe = str(row.get("probe_classname", ""))
        prompt = _garak_prompt(row.get("prompt"))
        item = f"{probe}/{digest('garak', prompt)[:12]}"
        for detector, hits in (row.get("detector_results") or {}).items():
            for run, hit in enumerate(hits if isinstance(hits, list) else [hits]):
                yield EvalResult(
                    system,
                    f"{probe}/{detector}",
                    item,
                    _number(hit),
                    run=str(run),
                    label=short(prompt),
                    better=False,
                )


def _garak_prompt(prompt: Any) -> str:
    turns = prompt.get("turns") if isinstance(prompt, dict) else None
    if not isinstance(turns, list):
        return prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True)
    return "\n".join(
        str((one.get("content") or {}).get("text", "")) for one in turns if isinstance(one, dict)
    )


def deepeval(file: Path, notes: list[str]) -> Iterator[EvalResult]:
    """A test run of deepeval (`.latest_test_run.json`, or a file of `DEEPEVAL_RESULTS_FOLDER`)."""
    inside = ("testRunData",) if next(elements(file, ("testRunData", "testCases")), None) is not None else ()
    identity = next(elements(file, (*inside, "identifier")), None)
    lower = _deepeval_lower(file, inside, notes)
    for number, case in _deepeval_cases(file, inside):
        sent = case.get("input") or case.get("scenario") or case.get("name") or str(number)
        item = digest("deepeval", [sent, case.get("expectedOutput")])[:16]
        for one in case.get("metricsData") or ():
            lost, name = one.get("error") or one.get("skipped"), str(one["name"])
            for metric, value in ((name, one.get("score")), (f"{name}/pass", one.get("success"))):
                yield EvalResult(
                    str(identity or "system"),
                    metric,
                    item,
                    None if lost else _number(value),
                    label=short(str(sent)),
                    better=metric not in lower,
                )


def _deepeval_cases(file: Path, inside: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    for kind in ("testCases", "conversationalTestCases"):
        yield from enumerate(elements(file, (*inside, kind, EVERY)))


def _deepeval_lower(file: Path, inside: tuple[str, ...], notes: list[str]) -> set[str]:
    """Metrics of which lower is better: they succeed at their threshold and below it, and not above.

    Bias, Toxicity, Hallucination and Misuse were such metrics in older releases; the file does not say so.
    """
    fits: dict[str, tuple[bool, bool]] = {}
    for _, case in _deepeval_cases(file, inside):
        for one in case.get("metricsData") or ():
            score, threshold = _number(one.get("score")), _number(one.get("threshold"))
            success = one.get("success")
            lost = one.get("error") or one.get("skipped") or not isinstance(success, bool)
            if lost or score is None or threshold is None:
                continue
            name = str(one["name"])
            up, down = fits.get(name, (True, True))
            fits[name] = (
                up and success == (score >= threshold),
                down and success == (score <= threshold),
            )
    odd = [name for name, each in fits.items() if not any(each)]
    if odd:
        notes.append(
            f"higher is taken as better, though successes do not follow from the thresholds: {_some(odd)}; "
            "`--lower METRIC` if lower is"
        )
    return {name for name, (up, down) in fits.items() if down and not up}


def table(file: Path, columns: Mapping[str, str]) -> Iterator[EvalResult]:
    """Any table with a row a value: CSV, TSV or JSON lines.

    Args:
        file: ends in .csv, .tsv, .jsonl or .ndjson.
        columns: role -> column; `item` and `value` must be there, by default each role's own name.
    """
    named = {role: columns.get(role, role) for role in ROLES}
    for number, row in enumerate(_rows(file), 1):
        lost = [named[role] for role in ("item", "value") if named[role] not in row]
        lost += [column for role, column in columns.items() if column not in row and column not in lost]
        if lost:
            there = ", ".join(map(short, row))
            faults = [
                Fault("--column", f"{file.name}: no column {short(one)}", must=f"one of: {there}")
                for one in lost
            ]
            raise PlanError(tuple(faults))
        cells = {
            role: str(row.get(column) if row.get(column) is not None else "").strip()
            for role, column in named.items()
        }
        if not cells["item"]:
            raise fault(file, "FILE", f"row {number:,} has no item", must="the name of what was asked")
        yield EvalResult(
            cells["system"] or "system",
            cells["metric"] or "score",
            cells["item"],
            _cell(file, number, cells["value"]),
            cells["cluster"],
            cells["run"],
            short(cells["item"]),
        )


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    suffix = ending(file)
    if suffix in (".jsonl", ".ndjson", ".json"):
        for row in elements(file, (EVERY,) if first_sign(file) == "[" else ()):
            if not isinstance(row, dict):
                raise fault(file, "FILE", "no table", must="JSON objects")
            yield row
        return
    if suffix not in (".csv", ".tsv"):
        raise fault(
            file, "FILE", "unknown kind of file", must="a name ending in .csv, .tsv, .jsonl or .ndjson"
        )
    yield from csv_rows(file, "FILE")


def _cell(file: Path, number: int, written: str) -> float | None:
    """A score, or a verdict in words; None for a cell that says there is none."""
    low = written.lower()
    if low in ABSENT:
        return None
    if low in VERDICTS:
        return VERDICTS[low]
    try:
        value = float(written)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        must = "a number, or one of: " + ", ".join(VERDICTS)
        raise fault(file, "FILE", f"no score and no verdict in row {number:,}", must=must, got=short(written))
    return value


def _grade(value: Any) -> float | None:
    """A value of an Inspect score, as its own reducer reads it."""
    if isinstance(value, str):
        return LETTERS.get(value, VERDICTS.get(value.lower())) if _number(value) is None else _number(value)
    return _number(value)


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        found = float(value) if value is not None else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None
