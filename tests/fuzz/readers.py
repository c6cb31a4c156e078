"""Every reader of what others bring or keep: a whole example of each, and how it is read.

One list for the tests here and for `python -m tests.fuzz`. What a service answers is in `answers.py`. Each
example names the modules whose reading it reaches, and `test_readers.py` finds modules that nobody names.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

from tests.fuzz import samples
from tests.store.rows import SERVICE, answer
from trustgauge import plugins
from trustgauge.apps.importers.importer import ImportOptions, import_file
from trustgauge.apps.properties.building import BuildOptions, build
from trustgauge.apps.properties.raw_statements import RawShape, shape_of, statements
from trustgauge.apps.reproduce import recorded_trips
from trustgauge.apps.reproduce.reproduction import PAPERS
from trustgauge.apps.survey.table import read_survey
from trustgauge.apps.train.labelled import (
    Columns,
    read_davidson,
    read_hutto,
    read_hutto_bias,
    read_label_table,
)
from trustgauge.apps.watch import state, watcher
from trustgauge.catalogue import entries
from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialogs import DialogSource
from trustgauge.data.properties import PropertySource
from trustgauge.data.results import read_results
from trustgauge.data.social_groups import GroupSource, groups
from trustgauge.data.tables import read_table
from trustgauge.data.terms import TermSource
from trustgauge.data.translations import row_by_row
from trustgauge.engine import unaccounted_cost
from trustgauge.errors import TrustgaugeError
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.methods.social_bias.expressions import read_expressions
from trustgauge.methods.social_bias.judges import sentences
from trustgauge.methods.social_bias.judges.embedding import Embedding, word_vectors
from trustgauge.methods.trust import sentence_bias, text_model
from trustgauge.methods.trust.abuse_checkers import read_abuse_labels
from trustgauge.plan import load_plan
from trustgauge.records import Cost
from trustgauge.run import chat_store, judge_evaluation, transcript
from trustgauge.run.sheets import read_sheet, sheet_bytes
from trustgauge.services.alice import Alice
from trustgauge.services.annotations import People
from trustgauge.services.apertium import Apertium
from trustgauge.services.chat import OpenAi
from trustgauge.services.continued_transcript import ContinuedTranscript
from trustgauge.services.dialogs import Dialogs
from trustgauge.services.gru import Gru
from trustgauge.services.npm import NlpJs
from trustgauge.services.recorded_trips import RoundTripSource
from trustgauge.services.replay import Replay
from trustgauge.services.rivescript_bot import RiveScriptBot
from trustgauge.store import open_store
from trustgauge.store.folder import read_manifest
from trustgauge.store.parquet import ParquetStore, read_probes
from trustgauge.store.segments import read_segment
from trustgauge.store.sqlite import SqliteStore
from trustgauge.store.worker_log import LogReader, WorkerLog
from trustgauge.terminal import options
from trustgauge.terminal.options import load_environment

Reader = Callable[[Path], Any]
Bytes = str | bytes | Callable[[], bytes]
TOLD = (TrustgaugeError, ValidationError)
"""What pydantic refuses is part of a plan's faults, and counts as told."""
ISSUES = ("leakage", "abuse", "bias", "complexity")
ROLES: Any = {
    "predicate": "predicate",
    "categories": "category",
    "polarity": "polarity",
    "antonym": "antonym",
}


@dataclass(frozen=True)
class Case:
    """A kind of file.

    Attributes:
        name: of the file, folders included; the last part is what it is called on the disk.
        whole: a small whole one.
        read: what is done with it.
        reaches: modules below `trustgauge` whose reading it tries.
        beside: other files of its folder.
    """

    name: str
    whole: Bytes
    read: Reader
    reaches: tuple[str, ...]
    beside: Callable[[], Mapping[str, Bytes]] = dict

    @property
    def data(self) -> bytes:
        return as_bytes(self.whole)

    def place(self, folder: Path) -> Path:
        """The path of the file in a folder, with what stands beside it."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, whole in self.beside().items():
            other = path.parent / name
            other.parent.mkdir(parents=True, exist_ok=True)
            other.write_bytes(as_bytes(whole))
        return path


def as_bytes(whole: Bytes) -> bytes:
    if isinstance(whole, str):
        return whole.encode()
    return whole if isinstance(whole, bytes) else whole()


def parquet(rows: Mapping[str, list[Any]]) -> Callable[[], bytes]:
    """A Parquet file of a few rows."""

    def made() -> bytes:
        out = io.BytesIO()
        pl.DataFrame(rows).write_parquet(out)
        return out.getvalue()

    return cache(made)


def workbook(rows: Mapping[str, list[str]]) -> Callable[[], bytes]:
    """An XLSX file of a few rows."""
    cells = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    return cache(lambda: sheet_bytes(Path("a.xlsx"), "-", tuple(rows), cells))


@cache
def packed_labels() -> bytes:
    """An archive with a rated file."""
    out, data = io.BytesIO(), samples.HUTTO.encode()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        member = tarfile.TarInfo("hutto/tweets_GroundTruth.txt")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


@cache
def weights() -> bytes:
    """Weights of two classes and two features."""
    out = io.BytesIO()
    np.savez(out, idf=np.ones(2), weights=np.eye(2), intercepts=np.zeros(2))
    return out.getvalue()


@cache
def gru_weights() -> bytes:
    """Weights of a network of two words."""
    import torch
    from safetensors.torch import save

    from trustgauge.services.gru_network import make

    torch.manual_seed(1)
    return save({name: one.contiguous() for name, one in make(2, 2, 2).state_dict().items()})


def table(path: Path) -> Any:
    return read_table(path, "FILE")


def raw(path: Path) -> Any:
    how = RawShape()
    if path.suffix == ".json":
        return statements(path, how, shape_of(path, how))
    return build(path, BuildOptions(kappa=lambda counts: 0.0), how)


def filled_in(path: Path) -> Any:
    return read_sheet(path, "--import", ("id", "text", "answer", "at"))


def log(path: Path) -> Any:
    return list(LogReader(path.parent).new())


@cache
def answer_log() -> bytes:
    """What a worker writes."""
    with tempfile.TemporaryDirectory() as folder:
        written = WorkerLog(Path(folder), "w")
        written.tell({"event": "asked", "n": 1})
        written.flush()
        written.close()
        return written.path.read_bytes()


def vectors(path: Path) -> Any:
    Embedding(vectors=path).by()
    return word_vectors(path)(["he", "she"])


def shape(path: Path) -> Any:
    return sentences._shape(path.parent, "vectors")


def apertium(path: Path) -> Any:
    about = Apertium(data=path.parent.parent, source="en", target="es")
    about.languages()
    return about.fingerprint, about.version(), about.open()


def environment(path: Path) -> Any:
    """Read as the working folder's own."""
    path.chmod(0o600)
    before = dict(os.environ)
    with chdir(path.parent):
        try:
            load_environment([OpenAi(model="m", key="FUZZED_KEY")])
            os.environ.get("FUZZED_KEY", "").encode()
        finally:
            os.environ.pop("FUZZED_KEY", None)
    assert dict(os.environ) == before


def confirmed(path: Path) -> Any:
    """What was confirmed before, as of this state folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(path.parents[1]))
        return options._confirmed()


def replayed(path: Path) -> Any:
    return Replay(file=path).open()


def by_paper(method: str, up: int) -> Reader:
    """What `reproduce --data` reads of a folder so many levels above the file."""
    return lambda path: import_module(f"trustgauge.apps.reproduce.{PAPERS[method]}").from_data(
        path.parents[up]
    )


def store(path: Path) -> Any:
    """Everything that a rating, `verify` and another run read of a store."""
    with open_store(path.parents[path.parent.suffix == ".parquet"]) as opened:
        opened.integrity()
        opened.get("plan")
        for fingerprint in (SERVICE, "other"):
            opened.answers(fingerprint)
            opened.hash([fingerprint])
            opened.cost([fingerprint])
            opened.present(fingerprint)
        return list(opened.probe_slices("e"))


def trips(**settings: Any) -> Reader:
    return lambda path: RoundTripSource(file=path, **settings).read()


def dialogs(**settings: Any) -> Reader:
    return lambda path: DialogSource(file=path, **settings).read()


def survey(**settings: Any) -> Reader:
    return lambda path: read_survey(path, ISSUES, **settings)


def conversations(**settings: Any) -> Reader:
    return lambda path: ConversationSource(file=path, **settings)


def spoken(path: Path) -> Any:
    about = ContinuedTranscript(
        service={"use": "eliza"}, dialogs={"file": path.parent / "said.csv"}, scenes=path
    )
    return about.script()


def trial(path: Path) -> Any:
    return Dialogs(dialogs={"file": path.parent / "said.csv"}, trial=path).outcome()


@cache
def stores() -> Mapping[str, bytes]:
    """The files of a small store of each kind, by their place in the folder of a run."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for opened in (SqliteStore(folder / "store.sqlite"), ParquetStore(folder / "store.parquet", seal=7)):
            with opened as writing:
                writing.add([answer(number, draw=draw) for number in range(8) for draw in (0, 1)])
                writing.add([answer(9, status="failed", output=None, error="service.rejected")])
                writing.put("plan", samples.PLAN)
                writing.add_probes("e", PROBES)
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def kept(start: str) -> Callable[[], bytes]:
    """The first file of the small stores whose place begins so."""
    return lambda: next(data for place, data in stores().items() if place.startswith(start))


def sealed() -> Mapping[str, bytes]:
    """What lies beside the journal of a Parquet store."""
    start = "store.parquet/"
    return {place.removeprefix(start): data for place, data in stores().items() if place.startswith(start)}


BY_ID = {one.id: one for one in groups()}
TABLES = ("data.tables",)
PROBES = pl.DataFrame(
    {
        "id": ["1"],
        "message": ["Hi"],
        "session": [""],
        "turn": [0],
        "draw": [0],
        "block": ["u1"],
        "who": ["ann"],
    }
)
SHEETS = ("run.sheets",)
TRIPS: dict[str, list[Any]] = {
    "sent": ["He said.", "She said."],
    "received": ["He said.", None],
    "language": ["es", "es"],
}
LABELS = {"text": ["good", "bad", "odd"], "score": ["1", "-1", "0"]}
MODEL: dict[str, Bytes] = {
    "card.json": json.dumps({"kind": "abuse", "classes": ["yes", "no"]}),
    "features.json": '["a", "b"]',
    "weights.npz": weights,
}
SLANT: dict[str, Bytes] = {
    "card.json": '{"kind": "sentence-bias", "rows": 41}',
    "model.json": json.dumps(
        {
            "kind": "sentence-bias",
            "intercept": 0.1,
            "top": 3.0,
            "coefficients": dict.fromkeys(sentence_bias.FEATURES, 0.5),
        }
    ),
}
SCORER: dict[str, Bytes] = {
    "card.json": '{"kind": "sentiment-gru"}',
    "vocabulary.json": '["", "good"]',
    "weights.safetensors": gru_weights,
}
EMBEDDER: dict[str, Bytes] = {
    "modules.json": json.dumps(
        [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ]
    ),
    "1_Pooling/config.json": '{"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": false}',
    "sentence_bert_config.json": '{"max_seq_length": 128}',
}


def of_model(files: Mapping[str, Bytes], folder: str, read: Reader, *reaches: str) -> list[Case]:
    """A case for each file of a model, the others whole beside it."""
    found = []
    for name, whole in files.items():
        depth = name.count("/")
        others = {f"{'../' * depth}{other}": one for other, one in files.items() if other != name}

        def of_folder(path: Path, depth: int = depth) -> Any:
            return read(path.parents[depth] / "any")

        found.append(Case(f"{folder}/{name}", whole, of_folder, reaches, others.copy))
    return found


IMPORTS = Path(__file__).parents[1] / "apps" / "importers" / "files"


def imports(form: str) -> Reader:
    """Reads a file of another tool, and what became of it."""

    def read(path: Path) -> Any:
        options = ImportOptions({"item": "item"} if form == "csv" else {})
        with tempfile.TemporaryDirectory() as folder:
            result = import_file(plugins.load("importers", form), form, path, Path(folder), options)
            if result["kind"] != "results":
                return result["kind"], load_plan(Path(folder) / result["plan"])
            return result["kind"], read_results(f"{folder}::{result['systems'][0]}")

    return read


def head(name: str, lines: int = 3) -> bytes:
    """The first lines of a file of another tool."""
    return b"\n".join((IMPORTS / name).read_bytes().split(b"\n")[:lines]) + b"\n"


def imported() -> list[Case]:
    """A small file of every format that can be imported."""
    logs = ("apps.importers.json_stream", "apps.importers.chat_logs")
    results = ("apps.importers.json_stream", "apps.importers.eval_results", "data.results")
    trips, papers = ("services.recorded_trips",), ("apps.importers.paper_files",)
    small = json.loads((IMPORTS / "inspect.json").read_bytes())
    del small["samples"][1:], small["stats"], small["plan"]
    tests = json.loads((IMPORTS / "promptfoo.json").read_bytes())["results"]["results"][:1]
    calls = json.loads((IMPORTS / "langfuse.json").read_bytes())["data"][:2]
    return [
        Case(
            "imports/log.jsonl",
            '{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]}\n',
            imports("openai-jsonl"),
            logs,
        ),
        Case("imports/otlp.jsonl", head("otlp.jsonl", 1), imports("otlp"), logs),
        Case("imports/phoenix.jsonl", head("phoenix-spans.jsonl", 2), imports("phoenix"), logs),
        Case("imports/langfuse.json", json.dumps({"data": calls}), imports("langfuse"), logs),
        Case(
            "imports/langfuse.csv",
            "id,type,sessionId,input,output\n1,GENERATION,a,Hi,Ho\n2,SPAN,,,\n",
            imports("langfuse"),
            logs,
        ),
        Case("imports/inspect.json", json.dumps(small), imports("inspect"), results),
        Case("imports/inspect.eval", (IMPORTS / "inspect.eval").read_bytes(), imports("inspect"), results),
        Case(
            "imports/promptfoo.json",
            json.dumps({"results": {"results": tests}}),
            imports("promptfoo"),
            results,
        ),
        Case(
            "imports/samples_desk_1.jsonl",
            head("lm-eval/samples_desk_2026-11-23T07-48-14.813414.jsonl", 1),
            imports("lm-eval"),
            results,
        ),
        Case("imports/garak.report.jsonl", head("garak.report.jsonl", 6), imports("garak"), results),
        Case(
            "imports/deepeval.json",
            (IMPORTS / "deepeval-run.json").read_bytes(),
            imports("deepeval"),
            results,
        ),
        Case("imports/scores.csv", "item,value,cluster\na,1,x\nb,pass,x\nc,,y\n", imports("csv"), results),
        Case("imports/trips.csv", samples.TRIPS, imports("translations"), trips),
        Case("imports/Result - true - t1 - es.json", samples.RECORDED, imports("translations"), trips),
        Case("imports/HRbot_dataset.csv", samples.NAMELESS, imports("dialogs"), ("data.dialogs",)),
        Case("imports/dialogs.csv", samples.DIALOGS, imports("dialogs"), papers),
        Case("imports/group1/mine/e3_mine.csv", samples.SENTENCE_SCORES, imports("scores"), papers),
        Case("imports/allure/mine/mine.csv", samples.SPOKEN_SCORES, imports("scores"), papers),
        Case("imports/single_data.csv", samples.ANSWERS, imports("biasasker"), papers),
        Case(
            "imports/sample_bias_data_for_auto.csv",
            "cat,label,bias_,translation_,bias,translate\n1,[1],are ugly,丑,are pretty,好看\n",
            imports("biasasker"),
            papers,
            lambda: {"groups_for_auto.csv": "category,group\ngender,men\ngender,women\n"},
        ),
    ]


CASES: tuple[Case, ...] = (
    *imported(),
    Case("plan.toml", samples.PLAN, load_plan, ("plan", "plan_faults")),
    Case("table.csv", samples.TABLE, table, TABLES),
    Case("table.tsv", samples.TABLE.replace(",", "\t"), table, TABLES),
    Case("table.jsonl", samples.LINES, table, TABLES),
    Case("dialogs.csv", samples.DIALOGS, dialogs(), ("data.dialogs",)),
    Case("dialogs.json", samples.GUIDED, dialogs(), ("data.dialogs",)),
    Case("dialogs.log", samples.LOG, dialogs(), ("data.dialogs",)),
    Case("dialogs.tsv", samples.LOGGED, dialogs(layout="irc"), ("data.dialogs",)),
    Case("answers.csv", "question,answer\nWho?,Both.\nWhy?,\n", dialogs(layout="qa"), TABLES),
    Case("survey.csv", samples.RANKED, survey(), ("apps.survey.table",)),
    Case(
        "survey.jsonl",
        '{"person": "a", "order": ["IL", ["AL", "B"]]}\n{"person": "b", "order": "B > CC"}\n',
        survey(skip=True),
        ("apps.survey.table",),
    ),
    Case("sheet.csv", sheet_bytes(Path("a.csv"), "-", samples.SHEET, samples.ROWS), filled_in, SHEETS),
    Case("sheet.tsv", sheet_bytes(Path("a.tsv"), "-", samples.SHEET, samples.ROWS), filled_in, SHEETS),
    Case("sheet.jsonl", sheet_bytes(Path("a.jsonl"), "-", samples.SHEET, samples.ROWS), filled_in, SHEETS),
    Case(
        "sheet.xlsx",
        sheet_bytes(Path("a.xlsx"), "-", samples.SHEET, samples.ROWS),
        filled_in,
        ("run.sheets",),
    ),
    Case(
        "judged.csv",
        samples.JUDGED,
        lambda path: judge_evaluation.labelled_table(str(path), BY_ID),
        ("run.judge_evaluation",),
    ),
    Case(
        "properties.csv",
        samples.PROPERTIES,
        lambda path: PropertySource(file=path, columns=ROLES).properties(),
        ("data.properties",),
    ),
    Case("sbic.csv", samples.SBIC, raw, ("apps.properties.raw_statements", "apps.properties.building")),
    Case("stereoset.json", samples.STEREOSET, raw, ("apps.properties.raw_statements",)),
    Case(
        "groups.csv",
        samples.GROUPS,
        lambda path: GroupSource(file=(path,), layout="biasasker").report(),
        ("data.social_groups",),
    ),
    Case(
        "axes.json",
        samples.AXES,
        lambda path: GroupSource(file=(path,), layout="holistic-bias").report(),
        ("data.group_cells",),
    ),
    Case(
        "translations.csv",
        "Translation\n男人\n女人\n",
        lambda path: row_by_row(path, "group_table.translation", 2),
        ("data.translations",),
    ),
    Case(
        "terms.txt",
        "# ours\nheart surgery\nclinic\n",
        lambda path: TermSource(domain=path).lists(),
        ("data.terms",),
    ),
    Case("expressions.toml", samples.TOML, read_expressions, ("methods.social_bias.expressions",)),
    Case(
        "eec.csv",
        samples.SENTENCES,
        lambda path: SentenceSource(file=(path,), layout="eec"),
        ("methods.causal.sentences",),
    ),
    Case(
        "scores.csv",
        "Gender,Emotion,Sentiment\n1,0,0.5\n2,0,-0.5\n1,1,1\n2,1,0\n",
        lambda path: SentenceSource(file=(path,), layout="scores", group=1),
        TABLES,
    ),
    Case("talks.csv", samples.TALKS, conversations(), ("data.conversations",)),
    Case("unibot.csv", samples.UNIBOT, conversations(layout="unibot"), TABLES),
    Case(
        "people.csv",
        samples.PEOPLE,
        lambda path: People(file=path, columns=("a", "b")).open(),
        ("services.annotations",),
    ),
    Case("replay.csv", "text,output\nHi,Hello\nBye,\n", replayed, ("services.replay",)),
    Case("replay.jsonl", '{"text": "Hi", "output": "Hello"}\n', replayed, ("services.replay",)),
    Case("replay.parquet", parquet({"text": ["Hi"], "output": ["Hello"]}), replayed, ("services.replay",)),
    Case("trips.csv", samples.TRIPS, trips(), TABLES),
    Case("trips.parquet", parquet(TRIPS), trips(), ("services.recorded_trips",)),
    Case(
        "trips.xlsx", workbook({"sent": ["He."], "received": ["She."]}), trips(), ("services.recorded_trips",)
    ),
    Case(
        "Result - true - t1 - es.json",
        json.dumps([[{"original": "He is a smith.", "oto": "She is.", "translated": "x"}]]),
        trips(),
        ("services.recorded_trips",),
    ),
    Case(
        "brain.rive", samples.RIVE, lambda path: RiveScriptBot(file=path).open(), ("services.rivescript_bot",)
    ),
    Case(
        "alice/brain.aiml", samples.AIML, lambda path: Alice(folder=path.parent).open(), ("services.alice",)
    ),
    Case(
        "trial/trial.json",
        '{"leaks": [1, 2], "of": 3}',
        trial,
        ("services.dialogs",),
        lambda: {"said.csv": samples.DIALOGS},
    ),
    Case(
        "talked/scenes.csv",
        samples.SCENES,
        spoken,
        ("services.continued_transcript",),
        lambda: {"said.csv": samples.DIALOGS},
    ),
    Case(
        "labels.csv",
        "text,score\ngood,1\nbad,-1\nodd,0\n",
        lambda path: read_label_table(path, Columns(), 1),
        TABLES,
    ),
    Case(
        "labels.parquet",
        parquet(LABELS),
        lambda path: read_label_table(path, Columns(), 1),
        ("apps.train.labelled",),
    ),
    Case(
        "tweets_GroundTruth.txt",
        samples.HUTTO,
        lambda path: read_hutto(path, 1),
        ("apps.train.labelled",),
    ),
    Case("tweets.tar.gz", packed_labels, lambda path: read_hutto(path, 1), ("data.archives",)),
    Case("davidson.csv", samples.DAVIDSON, lambda path: read_davidson(path, 1), ("apps.train.labelled",)),
    Case("rated.csv", samples.RATED, lambda path: read_hutto_bias(path, 1), ("apps.train.labelled",)),
    Case(
        "abusive.csv",
        "text,label\nYou fool,offensive\nHi,neither\n",
        lambda path: read_abuse_labels(path, "TABLE"),
        ("methods.trust.abuse_checkers",),
    ),
    *of_model(
        MODEL,
        "abuse",
        lambda path: text_model.read_model(path.parent, "abuse", "model"),
        "methods.trust.text_model",
    ),
    *of_model(
        SLANT,
        "slant",
        lambda path: sentence_bias.load_regression(path.parent, "coefficients"),
        "methods.trust.sentence_bias",
    ),
    *of_model(SCORER, "gru", lambda path: Gru(folder=path.parent).open(), "services.gru"),
    *of_model(EMBEDDER, "embedder", shape, "methods.social_bias.judges.sentences"),
    Case(
        "vectors.txt",
        "2 3\nhe 0.1 0.2 0.3\nshe 0.3 -1e-3 1\n",
        vectors,
        ("methods.social_bias.judges.embedding",),
    ),
    Case("apertium/modes/en-es.mode", samples.MODE, apertium, ("services.apertium",)),
    Case(
        "npm/node_modules/natural/package.json",
        '{"name": "natural", "version": "8.1.0"}',
        lambda path: NlpJs(folder=path.parents[2]).version(),
        ("services.npm",),
        lambda: {"../@nlpjs/sentiment/package.json": '{"version": "4.26.1"}'},
    ),
    Case("state/trustgauge/confirmed-plans", "0f" * 16 + "\n", confirmed, ("terminal.options",)),
    Case("env/.env", "# mine\nFUZZED_KEY='sk-1234'\nOTHER=2\n", environment, ("terminal.options",)),
    Case(
        "two-step/Result - true - t1 - es.json",
        samples.RECORDED,
        lambda path: recorded_trips.read(path.parent),
        ("apps.reproduce.recorded_trips",),
        lambda: {"Result - false - t1 - es.json": samples.RECORDED_SKEWED},
    ),
    Case(
        "Result - t1 - summary.csv",
        samples.SUMMARY,
        recorded_trips._summary,
        ("apps.reproduce.recorded_trips",),
    ),
    Case(
        "causal/data/results/continuous/group1/random/one.csv",
        samples.SCORED,
        by_paper("causal", 5),
        ("apps.reproduce.released_scores",),
    ),
    Case(
        "causal-talks/data/real-world/allure/final/final.csv",
        samples.FINAL,
        by_paper("causal", 4),
        ("apps.reproduce.released_conversations",),
        lambda: {"../../../results/x": b""},
    ),
    Case(
        "trust/combined_discrete_restaurant.csv",
        samples.COMBINED,
        by_paper("trust", 0),
        ("apps.reproduce.trust_records",),
    ),
    Case(
        "trust-dialogs/restaurant.csv",
        samples.DIALOGS,
        by_paper("trust", 0),
        ("apps.reproduce.trust_dialogs",),
    ),
    Case(
        "social/groups.csv",
        "Category,Group,Translate\ngender,men,男人\n",
        by_paper("social-bias", 0),
        ("apps.reproduce.social_bias",),
    ),
    Case(
        "manifest/manifest.json", samples.MANIFEST, lambda path: read_manifest(path.parent), ("store.folder",)
    ),
    Case("watch.json", samples.WATCH, state.load, ("apps.watch.state",)),
    Case("chat/chat.json", samples.CHAT, lambda path: chat_store.read_chat(path.parent), ("run.chat_store",)),
    Case(
        "transcript.jsonl",
        samples.TRANSCRIPT,
        lambda path: list(transcript.lines(path)),
        ("run.transcript",),
    ),
    Case("log.jsonl", samples.TRANSCRIPT, lambda path: watcher.read_tail(path, 0), ("apps.watch.watcher",)),
    Case("index/.index.json", samples.INDEX, lambda path: list(entries(path.parent)), ("catalogue",)),
    Case(
        "ledger",
        "[3, 0.5, 10]\n[4, 0.75, 12]\n",
        lambda path: unaccounted_cost(path, Cost()),
        ("engine.__init__",),
    ),
    Case("workers/w.answers", answer_log, log, ("store.worker_log",)),
    Case("probes.parquet", kept("store.parquet/probes/"), read_probes, ("store.parquet",)),
    Case("segment.parquet", kept("store.parquet/segments/"), read_segment, ("store.segments",)),
    Case("sqlite/store.sqlite", kept("store.sqlite"), store, ("store.sqlite",)),
    Case(
        "parquet/store.parquet/journal.sqlite",
        kept("store.parquet/journal.sqlite"),
        store,
        ("store.parquet",),
        sealed,
    ),
)
