"""The kit that proves that an importer keeps its contract (`importer`); for outsiders too.

    check_importer(MINE, Path("log.jsonl"), {"bot": 33, "missing": 1})

It reads a small file that the tool wrote, also cut and with a broken line, and imports it into a folder for
the time being. It cannot know which answer belongs to which question, nor what is whole: see `texts`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from trustgauge.apps.importers.conversations import Lack, LoggedCall
from trustgauge.apps.importers.importer import (
    PLAN,
    ConversationImporter,
    ImportOptions,
    PlanImporter,
    ResultImporter,
    TranslationImporter,
    import_file,
)
from trustgauge.data.results import EvalResult, read_results
from trustgauge.data.tables import content_hash
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.services.recorded_trips import COLUMNS

Importer = ConversationImporter | ResultImporter | TranslationImporter | PlanImporter
NAMED = "trustgauge-kit"
"""What the kit says was evaluated."""
FOREIGN = (
    b"",
    b"{}",
    b"[]",
    b"null\n",
    b"\x00\xff\xfe",
    b"item;value\n",
    b'{"messages": 5}\n' * 3,
    b"[" * 9_000,
)
"""Files of no tool."""


def check_importer(
    importer: Importer,
    file: Path,
    counts: Mapping[str, int],
    texts: Sequence[str] = (),
    options: ImportOptions | None = None,
) -> None:
    """Check an importer against its contract.

    Args:
        importer: what the entry point names.
        file: as the tool writes it, small, and best with an answer or a value missing; or a folder.
        counts: what you count in it yourself, under the names of `import.json`: `missing`, and `bot` (all,
            also missing ones), `values`, `texts` or another.
        texts: some that both sides said, word for word; of results, items in words.
        options: how the file is read.

    Raises:
        AssertionError: the first thing that does not conform.
    """
    _hold(isinstance(importer, Importer), "it is of none of the four classes of importers")
    given = options or ImportOptions()
    before = _content(file)
    if not isinstance(importer, PlanImporter):
        lazy = isinstance(_read(importer, file, given), Iterator)
        _hold(lazy, "`read` gives no iterator: a long log would not fit into memory")
    records = list(_records(importer, file, given))
    _hold(records == list(_records(importer, file, given)), "reading twice gives other records")
    _check_form(records)
    said = Counter(text for one in records for text in _texts(one))
    lost = [text for text in texts if text not in said]
    _hold(not lost, f"a text is lost or changed: {lost[:1]}")
    is_plain = not isinstance(importer, PlanImporter) and _is_text(
        file
    )  # tables of a plan have words of ours
    strange = sorted(_words(said) - _words(_written(file))) if is_plain else []
    _hold(not strange, f"words that the file does not hold: {', '.join(strange[:5])}")
    _check_import(importer, file, counts, given)
    _check_broken(importer, file, given)
    _hold(_content(file) == before, "it changes the file, or writes beside it")


def _hold(holds: bool, fault: str) -> None:
    if not holds:
        raise AssertionError(f"the importer breaks its contract: {fault}")


def _read(importer: Any, file: Path, options: ImportOptions) -> Any:
    return importer.read(file) if isinstance(importer, ConversationImporter) else importer.read(file, options)


def _records(importer: Importer, file: Path, options: ImportOptions) -> Iterable[Any]:
    """What an importer reads; of one that gives a plan, the rows of its tables."""
    found = _read(importer, file, options)
    if not isinstance(importer, PlanImporter):
        return list(found)
    return [(name, dict(row)) for name, rows in found.tables.items() for row in rows]


def _content(file: Path) -> Mapping[str, str]:
    """The file and what stands beside it, or all in the folder."""
    around = file.rglob("*") if file.is_dir() else file.parent.glob("*")
    return {str(one): content_hash(one) if one.is_file() else "" for one in around}


def _check_form(records: Sequence[Any]) -> None:
    """Each record is what its class says, and no two are one value."""
    _hold(bool(records), "it reads nothing in the file")
    for place, one in enumerate(records, 1):
        fault = next(_form(one), "")
        _hold(not fault, f"record {place} {fault}")
    results = [one for one in records if isinstance(one, EvalResult)]
    keys = Counter((one.system, one.metric, one.item, one.run) for one in results)
    again = [key for key, count in keys.items() if count > 1]
    _hold(not again, f"two values of one system, metric, item and run: {again[:1]}")
    sides = {(one.metric, one.better) for one in results}
    _hold(len(sides) == len({metric for metric, _ in sides}), "of one metric both higher and lower is better")
    times = {len(one.started) for one in records if isinstance(one, LoggedCall) and one.started.isdigit()}
    _hold(len(times) < 2, "times in digits of several lengths, which do not sort")


def _form(record: Any) -> Iterator[str]:
    """Faults in the form of one record."""
    if isinstance(record, LoggedCall):
        yield from _form_of_call(record)
    elif isinstance(record, EvalResult):
        value, names = record.value, (record.system, record.metric, record.item)
        if not all(isinstance(one, str) and one for one in names):
            yield "has no system, metric or item"
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if value is not None and not number:
            yield f"has a value that is no number: {value!r}; a missing one is None"
    elif isinstance(record, Mapping):
        if absent := [name for name in (*COLUMNS, "system") if name not in record]:
            yield f"has no {', '.join(absent)}"
        elif not record["sent"] or not all(isinstance(record[name], str | None) for name in COLUMNS):
            yield "has no text that was sent, or what is no text"
    elif not isinstance(record, tuple):
        yield f"is a {type(record).__name__}"


def _form_of_call(call: LoggedCall) -> Iterator[str]:
    """Faults in the form of one call."""
    if not all(who in ("user", "bot") and isinstance(text, str) for who, text in call.messages):
        yield "has a message of neither user nor bot, or without a text"
    elif call.lack != "prompt" and not call.whole and [who for who, _ in call.messages][-1:] != ["user"]:
        yield "does not end with what the user said"
    if call.lack not in get_args(Lack) or (call.lack and call.reply is not None):
        yield f"lacks {call.lack!r}, and has the reply {call.reply!r}"
    if not isinstance(call.reply, str | None):
        yield f"has a reply that is no text: {call.reply!r}"


def _texts(record: Any) -> Iterator[str]:
    """What was said, sent or came back in a record."""
    if isinstance(record, LoggedCall):
        yield from (text for _, text in record.messages)
        yield record.reply or ""
    elif isinstance(record, EvalResult):
        yield record.label
    elif isinstance(record, Mapping):
        yield from (record.get(name) or "" for name in ("sent", "received", "middle"))
    else:
        yield from (cell for cell in record[1].values() if isinstance(cell, str))


def _is_text(file: Path) -> bool:
    """Whether words can be sought in a file: it is no folder, and not packed."""
    try:
        return file.is_file() and bool(file.read_text("utf-8"))
    except UnicodeDecodeError:
        return False


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall(r"\w+", text)}


def _written(file: Path) -> Iterator[str]:
    """The text of a file, also without what JSON escapes, several times where JSON stands in JSON."""
    text = file.read_text("utf-8")
    for _ in range(4):
        yield text
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r'\\(["\\/bfnrt])', lambda found: found[1] if found[1] in '"\\/' else "\n", text)


def _check_import(importer: Importer, file: Path, counts: Mapping[str, int], options: ImportOptions) -> None:
    """What was counted by hand is imported under the name that the user gives, and can be read."""
    with TemporaryDirectory() as place:
        folder = Path(place, "import")
        document = _imported(importer, file, folder, replace(options, system=NAMED))
        found = {name: document["counts"].get(name, 0) for name in counts}
        _hold(found == dict(counts), f"it counts {found}; must be {dict(counts)}")
        _hold(
            document["systems"] == [NAMED],
            f"--system does not name what was evaluated: {document['systems']}",
        )
        try:
            load_plan(folder / PLAN) if "plan" in document else read_results(str(folder))
        except PlanError as error:
            _hold(False, f"it makes a plan that cannot be read: {error}")


def _imported(importer: Importer, file: Path, folder: Path, options: ImportOptions) -> Mapping[str, Any]:
    return import_file(importer, "kit", file, folder, replace(options, notes=[]))


def _check_broken(importer: Importer, file: Path, options: ImportOptions) -> None:
    """A file of no tool, one that is cut, and one with a broken line are refused in words, or counted."""
    if file.is_dir():
        return
    whole = file.read_bytes()
    cuts = [whole[: len(whole) * share // 5] for share in range(1, 5)]
    lines = whole.splitlines(keepends=True)
    middle = len(lines) // 2
    damaged = [*lines[:middle], lines[middle][: len(lines[middle]) // 2] + b"\n", *lines[middle + 1 :]]
    is_json = lines[middle].startswith((b"{", b"["))
    with TemporaryDirectory() as place:
        broken, folder = Path(place, file.name), Path(place, "import")
        for what, content in (
            *(("a file of no tool", one) for one in FOREIGN),
            *(("a file that is cut", one) for one in cuts),
            ("a file with a broken line", b"".join(damaged)),
        ):
            broken.write_bytes(content)
            try:
                found = import_file(importer, "kit", broken, folder, replace(options, notes=[]), force=True)
            except PlanError:
                continue
            except Exception as error:
                raise AssertionError(
                    f"the importer breaks its contract: {what} raises {error!r:.200}"
                ) from error
            _hold(what != "a file of no tool", f"it reads a file of no tool: {content[:20]!r}")
            silent = is_json and not found.get("notes") and not found["counts"].get("unreadable")
            _hold(
                what != "a file with a broken line" or not silent, "it passes over a broken line in silence"
            )
