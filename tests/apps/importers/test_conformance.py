"""Every importer passes the kit, and the kit finds importers that break their contract."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from trustgauge import plugins
from trustgauge.apps.importers.conformance import Importer, check_importer
from trustgauge.apps.importers.conversations import LoggedCall
from trustgauge.apps.importers.importer import (
    ConversationImporter,
    ImportOptions,
    PlanImporter,
    ResultImporter,
    TranslationImporter,
)
from trustgauge.apps.importers.paper_files import ImportedPlan
from trustgauge.data.results import EvalResult

FILES = Path(__file__).parent / "files"
REAL: tuple[tuple[str, str, Mapping[str, int]], ...] = (
    ("otlp", "otlp.jsonl", {"bot": 33, "missing": 1}),
    ("phoenix", "phoenix-spans.jsonl", {"bot": 33, "missing": 1}),
    ("phoenix", "phoenix-dataframe.jsonl", {"bot": 33, "missing": 1}),
    ("langfuse", "langfuse.json", {"bot": 33, "missing": 1}),
    ("inspect", "inspect.json", {"values": 16, "missing": 4}),
    ("inspect", "inspect.eval", {"values": 12, "missing": 0}),
    ("promptfoo", "promptfoo.json", {}),
    ("promptfoo", "promptfoo.jsonl", {}),
    ("lm-eval", "lm-eval", {}),
    ("garak", "garak.report.jsonl", {}),
    ("deepeval", "deepeval-latest.json", {}),
    ("deepeval", "deepeval-run.json", {}),
)
"""What tools wrote; counted in the files, or printed by the guide."""
TALK = [{"role": "user", "content": "Where is “it”?"}, {"role": "assistant", "content": "Over\nthere."}]
BIASASKER = "group_x,group_y,category,label,bias,question,type,answer\n"
BIASASKER += "men,women,gender,ability,are smart,Are men smarter than women?,yes no,No.\n" * 2
MADE = {
    "openai-jsonl": ("log.jsonl", f"{json.dumps({'messages': TALK})}\n" * 2, {"bot": 2, "missing": 0}),
    "csv": ("t.csv", "item,value\na,1\nb,\n", {"values": 2, "missing": 1}),
    "translations": ("t.csv", "sent,received,language\nShe.,He.,es\nHe.,,es\n", {"texts": 2, "missing": 1}),
    "dialogs": ("d.csv", "dialog,speaker,text\n1,user,Hi.\n1,bot,Hello.\n", {"user": 1, "bot": 1}),
    "biasasker": ("pair_data.csv", BIASASKER, {"questions": 2, "missing": 0}),
}


@pytest.mark.parametrize(("form", "name", "counts"), REAL)
def test_what_tools_wrote(form: str, name: str, counts: Mapping[str, int], tmp_path: Path) -> None:
    copy = tmp_path / name
    (shutil.copytree if (FILES / name).is_dir() else shutil.copy)(FILES / name, copy)
    check_importer(plugins.load("importers", form), copy, counts)


@pytest.mark.parametrize("form", MADE)
def test_tables(form: str, tmp_path: Path) -> None:
    name, text, counts = MADE[form]
    (tmp_path / name).write_text(text, "utf-8")
    check_importer(plugins.load("importers", form), tmp_path / name, counts)


def test_scores(tmp_path: Path) -> None:
    place = tmp_path / "results" / "group1" / "mine"
    place.mkdir(parents=True)
    lines = [f"{gender},1,{gender / 4}" for gender in (1, 2, 0) for _ in range(3)]
    (place / "e1_mine.csv").write_text("\n".join(("Gender,Emotion,Sentiment", *lines)), "utf-8")
    check_importer(plugins.load("importers", "scores"), tmp_path / "results", {"scores": 9, "missing": 0})


def test_every_importer_is_checked() -> None:
    assert {form for form, *_ in REAL} | {*MADE, "scores"} == set(plugins.names("importers"))


LOG = (
    "".join(
        json.dumps({"q": f"What is {word}?", "a": f"A kind of {word}, really."}) + "\n"
        for word in ("rice", "rye", "oat", "corn", "wheat")
    )
    + '{"q": "And that?"}\n'
)
ODD: Any = [("system", "q")]
COUNTS = {"bot": 6, "missing": 1}
SAID = ("What is rye?", "A kind of corn, really.")


def calls(file: Path) -> Iterator[LoggedCall]:
    with file.open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            yield LoggedCall([("user", row["q"])], row.get("a"))


def checked(importer: Importer, folder: Path, counts: Mapping[str, int] = COUNTS) -> None:
    (folder / "log.jsonl").write_text(LOG, "utf-8")
    check_importer(
        importer, folder / "log.jsonl", counts, SAID if isinstance(importer, ConversationImporter) else ()
    )


def changed(change: Callable[[LoggedCall], LoggedCall | None]) -> Callable[[Path], Iterator[LoggedCall]]:
    return lambda file: (new for one in calls(file) if (new := change(one)) is not None)


def forgiving(file: Path) -> Iterator[LoggedCall]:
    with file.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                row = json.loads(line)
                yield LoggedCall([("user", row["q"])], row.get("a"))
            except (ValueError, LookupError, TypeError, RecursionError):
                continue


def credulous(file: Path) -> Iterator[LoggedCall]:
    """Takes each line of any file for an answer."""
    try:
        yield from calls(file)
    except (ValueError, LookupError, TypeError, RecursionError):
        yield from (LoggedCall([("user", line)], line) for line in file.read_text("latin-1").split("\n"))


def loud(file: Path) -> Iterator[LoggedCall]:
    try:
        yield from calls(file)
    except ValueError:
        raise RuntimeError("bad line") from None


def writing(file: Path) -> Iterator[LoggedCall]:
    file.with_suffix(".index").write_text("1")
    return calls(file)


class Restless:
    """Gives every reading a time of its own."""

    times = 0

    def __call__(self, file: Path) -> Iterator[LoggedCall]:
        self.times += 1
        return (replace(one, id=f"{self.times}-{number}") for number, one in enumerate(calls(file)))


def without_last_word(one: LoggedCall) -> LoggedCall:
    return replace(one, reply=one.reply and one.reply.rsplit(" ", 1)[0])


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (lambda file: list(calls(file)), "no iterator"),
        (Restless(), "reading twice"),
        (changed(lambda one: None), "it reads nothing"),
        (changed(without_last_word), "a text is lost or changed"),
        (changed(lambda one: replace(one, reply=one.reply or "")), r"counts .*'missing': 0"),
        (changed(lambda one: one if one.reply else None), r"counts .*'bot': 5"),
        (changed(lambda one: replace(one, reply=one.reply and one.reply + " Sure!")), "lost or changed"),
        (changed(lambda one: replace(one, reply=one.reply or "[nothing]")), "does not hold: nothing"),
        (changed(lambda one: replace(one, messages=ODD)), "record 1 has a message of neither"),
        (changed(lambda one: replace(one, messages=[*one.messages, ("bot", "q")])), "does not end with what"),
        (changed(lambda one: replace(one, reply=5)), "no text: 5"),  # type: ignore[arg-type]
        (changed(lambda one: replace(one, lack="reply")), "lacks 'reply', and has"),
        (changed(lambda one: replace(one, started="1" * len(one.messages[0][1]))), "several lengths"),
        (changed(lambda one: {"q": 1}), "record 1 has no sent"),  # type: ignore[arg-type, return-value]
        (changed(lambda one: 5), "record 1 is a int"),  # type: ignore[arg-type, return-value]
        (forgiving, "passes over a broken line in silence"),
        (credulous, "reads a file of no tool"),
        (loud, r"RuntimeError\('bad line'\)"),
        (writing, "writes beside it"),
    ],
)  # fmt: skip
def test_the_kit_finds_what_is_broken_in_a_log(read: Any, fault: str, tmp_path: Path) -> None:
    checked(ConversationImporter(calls), tmp_path)
    with pytest.raises(AssertionError, match=fault):
        checked(ConversationImporter(read), tmp_path)


def values(file: Path, options: ImportOptions, **changes: Any) -> Iterator[EvalResult]:
    for place, one in enumerate(calls(file)):
        right = None if one.reply is None else float(len(one.reply) > 20)
        yield replace(EvalResult("mine", "long", str(place), right, label=one.messages[0][1]), **changes)


def flipping(file: Path, options: ImportOptions) -> Iterator[EvalResult]:
    return (replace(one, better=one.item != "2") for one in values(file, options))


@pytest.mark.parametrize(
    ("read", "fault"),
    [
        (partial(values, item="1"), "two values of one system, metric, item and run"),
        (partial(values, metric=""), "no system, metric or item"),
        (partial(values, value=float("nan")), "no number: nan; a missing one is None"),
        (partial(values, value=True), "no number: True"),
        (partial(values, value=0.0), r"counts .*'missing': 0"),
        (flipping, "both higher and lower"),
    ],
)
def test_the_kit_finds_what_is_broken_in_results(read: Any, fault: str, tmp_path: Path) -> None:
    checked(ResultImporter(values), tmp_path, {"values": 6, "missing": 1})
    with pytest.raises(AssertionError, match=fault):
        checked(ResultImporter(read), tmp_path, {"values": 6, "missing": 1})


def trips(file: Path, options: ImportOptions, **changes: Any) -> Iterator[Mapping[str, str | None]]:
    for one in calls(file):
        row = {
            "sent": one.messages[0][1],
            "received": one.reply,
            "language": "",
            "middle": None,
            "block": "u1",
        }
        yield {**row, "system": options.system, **changes}


def plan(file: Path, options: ImportOptions, **changes: Any) -> ImportedPlan:
    rows = [{"sent": one.messages[0][1], "received": one.reply} for one in calls(file)]
    if not rows:
        raise ValueError(file)
    service = {"use": "recorded-round-trips", "trips": {"file": "trips.jsonl"}}
    name = options.system or "mine"
    found = ImportedPlan(
        "scores", {"trips.jsonl": rows}, {name: service}, [{"method": "two-step", "services": [name]}],
        {"scores": len(rows), "missing": 1},
    )  # fmt: skip
    return replace(found, **changes)


def test_the_kit_finds_what_is_broken_in_translations_and_plans(tmp_path: Path) -> None:
    checked(TranslationImporter(trips), tmp_path, {"texts": 6, "missing": 1})
    for changes, fault in (
        ({"system": "always"}, "--system does not name"),
        ({"sent": ""}, "no text that was sent"),
        ({"received": 5}, "what is no text"),
    ):
        with pytest.raises(AssertionError, match=fault):
            checked(TranslationImporter(partial(trips, **changes)), tmp_path, {"texts": 6, "missing": 1})
    checked(PlanImporter(plan), tmp_path, {"scores": 6, "missing": 1})
    unknown = PlanImporter(partial(plan, experiments=[{"method": "no-such", "services": ["mine"]}]))
    with pytest.raises(AssertionError, match=r"plan that cannot be read: (?s:.*)no-such"):
        checked(unknown, tmp_path, {})
    with pytest.raises(AssertionError, match="none of the four classes"):
        checked(calls, tmp_path)  # type: ignore[arg-type]
