"""Results of other evaluation tools: inspect_ai, promptfoo, lm-evaluation-harness, garak, deepeval, tables.

Each reader yields one `EvalResult` a value. An item that was not scored (an error, a skipped metric, an empty
cell) is a result without a value: missing, never zero. Items have the same name in every file of one suite,
so that two runs can be paired: their id if the tool gives one that stays, else a hash of what was asked.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trustgauge.apps.importers.json_stream import EVERY, elements, first_sign
from trustgauge.data.results import EvalResult
from trustgauge.data.tables import csv_rows, fault, short
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


def inspect_ai(file: Path) -> Iterator[EvalResult]:
    """A log of inspect_ai, `.eval` or `.json`: a metric a scorer, a run an epoch."""
    zipped = zipfile.is_zipfile(file)
    head = next(_inspect_parts(file, "header.json") if zipped else elements(file, ("eval",)), None)
    entry = head.get("eval", head) if zipped and isinstance(head, dict) else head
    if not isinstance(entry, dict) or "task" not in entry:
        raise fault(file, "FILE", "not an inspect_ai log", must="an .eval or .json log that is complete")
    task, model = str(entry["task"]), str(entry.get("model", ""))
    scorers = [str(one.get("name")) for one in entry.get("scorers") or () if isinstance(one, dict)]
    samples = _inspect_parts(file, "samples/") if zipped else elements(file, ("samples", EVERY))
    for sample in samples:
        scores = sample.get("scores") or {}
        label = sample.get("input")
        for name in dict.fromkeys([*scorers, *scores]):
            value = scores[name].get("value") if name in scores else None
            for metric, one in value.items() if isinstance(value, dict) else [("", value)]:
                yield EvalResult(
                    model,
                    "/".join(filter(None, (task, name, metric))),
                    str(sample["id"]),
                    _grade(one),
                    run=str(sample.get("epoch", "")),
                    label=short(label) if isinstance(label, str) else "",
                )


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


def promptfoo(file: Path) -> Iterator[EvalResult]:
    """Results of promptfoo, `.json` or `.jsonl`: a system a provider and prompt, `pass` and named scores.

    A test is known by its variables and assertions: its number changes with `--repeat`.
    """
    lines = file.suffix.lower() == ".jsonl"
    seen: Counter[tuple[str, str]] = Counter()
    for row in elements(file, () if lines else ("results", "results", EVERY)):
        if not isinstance(row, dict) or "success" not in row:
            raise fault(file, "FILE", "not promptfoo results", must="what `promptfoo eval -o` writes")
        provider, test, prompt = row.get("provider") or {}, row.get("testCase") or {}, row.get("prompt") or {}
        named = provider.get("label") or provider.get("id") if isinstance(provider, dict) else provider
        system = f"{named} · {prompt.get('label') or prompt.get('raw', '')}"
        shown = {key: value for key, value in (row.get("vars") or {}).items() if not key.startswith("_")}
        item = digest("promptfoo", [shown, test.get("assert") or []])[:16]
        run = str(seen[system, item])
        seen[system, item] += 1
        lost = row.get("failureReason") == ERROR or (row.get("error") and not row.get("gradingResult"))
        label = str(test.get("description") or next(iter(shown.values()), ""))
        values = {
            "pass": float(bool(row["success"])),
            "score": row.get("score"),
            **(row.get("namedScores") or {}),
        }
        if lost:
            metrics = [one.get("metric") for one in test.get("assert") or () if isinstance(one, dict)]
            values = dict.fromkeys(["pass", "score", *filter(None, metrics)])
        for metric, value in values.items():
            yield EvalResult(system, metric, item, _number(value), run=run, label=short(label))


def lm_eval(file: Path) -> Iterator[EvalResult]:
    """Samples of lm-evaluation-harness (`--log_samples`): `samples_TASK_DATE.jsonl`, or their folder.

    The model and the direction of its metrics are given by `results_DATE.json` beside them.
    """
    files = sorted(file.glob("samples_*.jsonl")) if file.is_dir() else [file]
    if not files:
        raise fault(file, "FILE", "the folder contains no samples", must="samples_*.jsonl of `--log_samples`")
    for samples in files:
        task, _, date = samples.stem.removeprefix("samples_").rpartition("_")
        beside = samples.with_name(f"results_{date}.json")
        facts: dict[str, Any] = next(elements(beside), {}) if beside.is_file() else {}
        higher = (facts.get("higher_is_better") or {}).get(task) or {}
        model = str(facts.get("model_name") or samples.parent.name)
        seen: Counter[tuple[str, str]] = Counter()
        for row in elements(samples):
            if not isinstance(row, dict) or "doc_id" not in row:
                raise fault(
                    samples, "FILE", "not lm-evaluation-harness samples", must="a `doc_id` in each line"
                )
            by = str(row.get("filter", "none"))
            item = str(row.get("doc_hash") or row["doc_id"])[:16]
            run = str(seen[by, item])
            seen[by, item] += 1
            for metric in row.get("metrics") or ():
                name = f"{task}/{metric}" + (f",{by}" if by != "none" else "")
                yield EvalResult(
                    model,
                    name,
                    item,
                    _number(row.get(metric)),
                    run=run,
                    better=higher.get(metric) is not False,
                )


def garak(file: Path) -> Iterator[EvalResult]:
    """A report of garak, `.report.jsonl`: a metric a probe and detector; 1 is a hit, lower is better."""
    system = ""
    for row in elements(file):
        kind = row.get("entry_type") if isinstance(row, dict) else None
        if kind is None:
            raise fault(file, "FILE", "not a garak report", must="an `entry_type` in each line")
        if kind == "start_run setup":
            named = (str(row.get(f"plugins.{key}") or "") for key in ("target_type", "target_name"))
            system = "/".join(filter(None, named)) or "target"
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


def deepeval(file: Path) -> Iterator[EvalResult]:
    """A test run of deepeval (`.latest_test_run.json`, or a file of `DEEPEVAL_RESULTS_FOLDER`)."""
    inside = ("testRunData",) if next(elements(file, ("testRunData", "testCases")), None) is not None else ()
    identity = next(elements(file, (*inside, "identifier")), None)
    for kind in ("testCases", "conversationalTestCases"):
        for number, case in enumerate(elements(file, (*inside, kind, EVERY))):
            sent = case.get("input") or case.get("scenario") or case.get("name") or str(number)
            item = digest("deepeval", [sent, case.get("expectedOutput")])[:16]
            for one in case.get("metricsData") or ():
                lost = one.get("error") or one.get("skipped")
                for metric, value in (
                    (one["name"], one.get("score")),
                    (f"{one['name']}/pass", one.get("success")),
                ):
                    yield EvalResult(
                        str(identity or "system"),
                        metric,
                        item,
                        None if lost else _number(value),
                        label=short(str(sent)),
                    )


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
    suffix = file.suffix.lower()
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
