"""Every reader of files that people bring: damage gives an error in words, never another exception.

Each case is a whole file and its reader. The whole file must be read, so that the cases cannot rot; then
it is damaged. What pydantic refuses is part of a plan's faults, and counts as told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.fuzz import samples
from tests.fuzz.mutations import damaged, fuzzed, told
from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialogs import DialogSource
from trustgauge.data.expressions import read_expressions
from trustgauge.data.properties import PropertySource
from trustgauge.data.property_building import Building, build
from trustgauge.data.raw_statements import RawShape, shape_of, statements
from trustgauge.data.sentences import SentenceSource
from trustgauge.data.social_groups import GroupSource
from trustgauge.data.surveys import read_survey
from trustgauge.data.tables import read_table
from trustgauge.data.terms import TermSource
from trustgauge.errors import TrustgaugeError
from trustgauge.pipeline import chats, growing, transcript, watched
from trustgauge.pipeline.sheets import read_sheet, sheet
from trustgauge.plan import load_plan
from trustgauge.services.alice import Alice
from trustgauge.services.people import People
from trustgauge.services.replay import Replay
from trustgauge.services.rivescript_bot import RiveScriptBot
from trustgauge.services.training.labelled import Columns, read_hutto, read_labelled
from trustgauge.store.folder import read_manifest
from trustgauge.store.journal import read_events

Reader = Callable[[Path], Any]


@dataclass(frozen=True)
class Case:
    """A kind of file: a whole one, and how it is read."""

    name: str
    whole: str | bytes
    read: Reader

    @property
    def data(self) -> bytes:
        return self.whole if isinstance(self.whole, bytes) else self.whole.encode()


def table(path: Path) -> Any:
    return read_table(path, "FILE")


def raw(path: Path) -> Any:
    how = RawShape()
    if path.suffix == ".json":
        return statements(path, how, shape_of(path, how))
    return build(path, Building(kappa=lambda counts: 0.0), how)


def filled_in(path: Path) -> Any:
    return read_sheet(path, "--import", ("id", "text", "answer", "at"))


def brain(path: Path) -> Any:
    return RiveScriptBot(file=path).open()


ISSUES = ("leakage", "abuse", "bias", "complexity")


def properties(path: Path) -> Any:
    return PropertySource(file=path, columns=ROLES).properties()


def chat(path: Path) -> Any:
    return chats._read(path.parent)


def manifest(path: Path) -> Any:
    return read_manifest(path.parent)


CASES = (
    Case("plan.toml", samples.PLAN, load_plan),
    Case("table.csv", samples.TABLE, table),
    Case("table.tsv", samples.TABLE.replace(",", "\t"), table),
    Case("table.jsonl", samples.LINES, table),
    Case("dialogs.csv", samples.DIALOGS, lambda path: DialogSource(file=path).read()),
    Case("dialogs.json", samples.GUIDED, lambda path: DialogSource(file=path).read()),
    Case("dialogs.log", samples.LOG, lambda path: DialogSource(file=path).read()),
    Case("dialogs.tsv", samples.LOGGED, lambda path: DialogSource(file=path, layout="irc").read()),
    Case(
        "answers.csv",
        "question,answer\nWho?,Both.\nWhy?,\n",
        lambda path: DialogSource(file=path, layout="qa").read(),
    ),
    Case(
        "survey.csv",
        samples.RANKED,
        lambda path: read_survey(path, ("leakage", "abuse", "bias", "complexity")),
    ),
    Case(
        "survey.jsonl",
        '{"person": "a", "order": ["IL", ["AL", "B"]]}\n{"person": "b", "order": "B > CC"}\n',
        lambda path: read_survey(path, ISSUES, skip=True),
    ),
    Case("sheet.csv", sheet(Path("a.csv"), "-", samples.SHEET, samples.ROWS), filled_in),
    Case("sheet.tsv", sheet(Path("a.tsv"), "-", samples.SHEET, samples.ROWS), filled_in),
    Case("sheet.jsonl", sheet(Path("a.jsonl"), "-", samples.SHEET, samples.ROWS), filled_in),
    Case("sheet.xlsx", sheet(Path("a.xlsx"), "-", samples.SHEET, samples.ROWS), filled_in),
    Case(
        "properties.csv",
        samples.PROPERTIES,
        lambda path: PropertySource(file=path, columns=ROLES).properties(),
    ),
    Case("sbic.csv", samples.SBIC, raw),
    Case("stereoset.json", samples.STEREOSET, raw),
    Case("groups.csv", samples.GROUPS, lambda path: GroupSource(file=(path,), layout="biasasker").report()),
    Case("axes.json", samples.AXES, lambda path: GroupSource(file=(path,), layout="holistic-bias").report()),
    Case("terms.txt", "# ours\nheart surgery\nclinic\n", lambda path: TermSource(domain=path).lists()),
    Case("expressions.toml", samples.TOML, read_expressions),
    Case("eec.csv", samples.SENTENCES, lambda path: SentenceSource(file=(path,), layout="eec")),
    Case("talks.csv", samples.TALKS, lambda path: ConversationSource(file=path)),
    Case("people.csv", samples.PEOPLE, lambda path: People(file=path, columns=("a", "b")).open()),
    Case("replay.csv", "text,output\nHi,Hello\nBye,\n", lambda path: Replay(file=path).open()),
    Case("replay.jsonl", '{"text": "Hi", "output": "Hello"}\n', lambda path: Replay(file=path).open()),
    Case("brain.rive", samples.RIVE, brain),
    Case("brain.aiml", samples.AIML, lambda path: Alice(folder=path.parent).open()),
    Case("labels.csv", "text,score\ngood,1\nbad,-1\nodd,0\n", lambda path: read_labelled(path, Columns(), 1)),
    Case("tweets_GroundTruth.txt", samples.HUTTO, lambda path: read_hutto(path, 1)),
    Case("manifest.json", samples.MANIFEST, manifest),
    Case("watch.json", samples.WATCH, watched.load),
    Case("chat.json", samples.CHAT, chat),
    Case("transcript.jsonl", samples.TRANSCRIPT, lambda path: list(transcript.lines(path))),
    Case("log.jsonl", samples.TRANSCRIPT, lambda path: growing.growth(path, 0)),
    Case("events.jsonl", samples.EVENTS, lambda path: list(read_events(path))),
)
ROLES: Any = {
    "predicate": "predicate",
    "categories": "category",
    "polarity": "polarity",
    "antonym": "antonym",
}
TOLD = (TrustgaugeError, ValidationError)
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
def test_the_whole_file_is_read(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.data)
    case.read(path)


@by_name
def test_damage_is_told_in_words(case: Case, tmp_path: Path) -> None:
    @fuzzed
    @given(data=damaged(case.data))
    def holds(data: bytes) -> None:
        path = tmp_path / case.name
        path.write_bytes(data)
        with told(*TOLD):
            case.read(path)

    holds()


@by_name
def test_any_bytes_are_told_in_words(case: Case, tmp_path: Path) -> None:
    @fuzzed
    @given(data=st.binary(max_size=200))
    def holds(data: bytes) -> None:
        path = tmp_path / case.name
        path.write_bytes(data)
        with told(*TOLD):
            case.read(path)

    holds()
