"""Recorded dialogs as a service: their probes, their answers, their identity."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.services.asking import replies_to
from trustgauge.errors import PlanError, RejectedError
from trustgauge.records import PROBE
from trustgauge.run.targets import messages
from trustgauge.services.conformance import check_service
from trustgauge.services.dialogs import TRIAL, Dialogs

ROWS = [
    ("d1", "bot", "Welcome!"),
    ("d1", "user", "I need\na room."),
    ("d1", "user", "For two."),
    ("d1", "bot", "Which \r\n day?"),
    ("d1", "bot", "We have 前 台."),
    ("d1", "user", "Monday."),
    ("d2", "user", "</script>"),
    ("d2", "bot", "No."),
    ("d3", "user", "</script>"),
    ("d3", "bot", "Yes."),
]


def corpus(folder: Path, rows: list[tuple[str, str, str]] = ROWS, **settings: Any) -> Dialogs:
    names = ("dialog", "speaker", "text")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    (folder / "dialogs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    table = {"use": "dialogs", "dialogs": {"file": "dialogs.jsonl"}, **settings}
    return Dialogs.model_validate(table, context={"folder": folder})


def answers(service: Dialogs, probes: pl.DataFrame) -> list[str | float]:
    return [one.output for one in asyncio.run(replies_to(service, messages(probes)))]


def test_dialogs_bring_their_probes_and_answer_them(tmp_path: Path) -> None:
    service = corpus(tmp_path)
    probes = service.script()
    assert set(probes.columns) == {*PROBE, "user", "talk", "purpose", "step", "facts"}
    assert probes.select("message", "session", "turn", "draw").rows() == [
        ("", "d1", 0, 0),
        ("I need a room.\nFor two.", "d1", 1, 0),
        ("Monday.", "d1", 2, 0),
        ("</script>", "d2", 0, 0),
        ("</script>", "d3", 0, 1),
    ]
    assert probes["id"].is_unique().all()
    assert answers(service, probes) == ["Welcome!", "Which day?\nWe have 前 台.", "", "No.", "Yes."]
    assert answers(service, probes.reverse()) == ["Yes.", "No.", "", "Which day?\nWe have 前 台.", "Welcome!"]
    assert set(probes["purpose"]) == {"talk"}


def test_keeps_the_protocol(tmp_path: Path) -> None:
    service = corpus(tmp_path)
    check_service(service, messages(service.script()))


def test_what_was_not_recorded_is_not_answered(tmp_path: Path) -> None:
    service = corpus(tmp_path)
    other = service.script().with_columns(session=pl.lit("d9"))
    with pytest.raises(RejectedError, match="no such turn"):
        answers(service, other.head(1))


def test_the_outcome_of_a_trial_is_one_more_answer(tmp_path: Path) -> None:
    (tmp_path / "trial.json").write_text('{"epochs": 40,\n "first": null, "shares": [0.1, 0.2]}')
    service = corpus(tmp_path, trial="trial.json")
    last = service.script().tail(1)
    result = ("session", "purpose", "step", "message", "turn")
    assert last.select(result).row(0) == (TRIAL, "leakage", "trial", "leakage trial", 0)
    (said,) = answers(service, last)
    assert json.loads(str(said)) == {"epochs": 40, "first": None, "shares": [0.1, 0.2]}
    assert "\n" not in str(said)
    before = service.fingerprint
    assert corpus(tmp_path).fingerprint != before
    (tmp_path / "trial.json").write_text('{"epochs": 41}')
    assert corpus(tmp_path, trial="trial.json").fingerprint != before


@pytest.mark.parametrize("content", ["[1]", "no JSON", '{"e": NaN}', "[" * 100_000])
def test_a_trial_that_is_none_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "trial.json").write_text(content)
    with pytest.raises(PlanError, match="not an outcome of a leakage trial"):
        corpus(tmp_path, trial="trial.json").check_requirements()


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read"):
        corpus(tmp_path, trial="nowhere.json").check_requirements()
    table = {"use": "dialogs", "dialogs": {"file": "nowhere.jsonl"}}
    with pytest.raises(PlanError, match=r"nowhere.jsonl: the file cannot be read"):
        Dialogs.model_validate(table, context={"folder": tmp_path})


def test_identity_is_what_the_files_hold(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here, there = corpus(tmp_path / "here"), corpus(tmp_path / "there")
    assert here.fingerprint == there.fingerprint
    changed = corpus(tmp_path / "there", [*ROWS, ("d4", "user", "x"), ("d4", "bot", "y")])
    assert changed.fingerprint != here.fingerprint
    assert (here.task, here.collected, here.deterministic) == ("chat", "from a log", False)
