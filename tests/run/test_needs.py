"""A key is needed where something is to be asked, and nowhere else."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.test_commands import trustgauge
from trustgauge.apps.sheets import manual_answers
from trustgauge.errors import KeyMissingError
from trustgauge.plan import Plan, load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import open_rating, verify

NOW = datetime(2026, 5, 1, tzinfo=UTC)
KEY = "TEST_CHAT_KEY"


def plan(**more: Any) -> dict[str, Any]:
    return {
        "seed": 5,
        "services": {
            "bot": {"use": "openai", "model": "m", "key": KEY},
        },
        "experiments": [
            {
                "method": "social-bias",
                "services": ["bot"],
                "attributes": ["gender"],
                "groups": 2,
                "properties": 4,
                "questions": 150,
                "resamples": 1000,
                "permutations": 199,
                **more,
            }
        ],
    }


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def answered_by_hand(told: dict[str, Any], folder: Path, share: float = 1.0) -> Plan:
    """The plan, with a share of its questions answered on a sheet."""
    loaded = load_plan(told)
    prepared = manual_answers.prepare(loaded)
    sheet = folder / "sheet.csv"
    manual_answers.export(
        prepared, "bot", sheet, folder / "ratings", manual_answers.PendingRows(overwrite=True)
    )
    with sheet.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    for row in rows[: round(len(rows) * share)]:
        row["answer"] = "I cannot say."
    with sheet.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    source = manual_answers.SheetSource("Ann", NOW)
    manual_answers.import_answers(prepared, "bot", sheet, folder / "ratings", source)
    return loaded


def rated(loaded: Plan, folder: Path, *, fresh: bool = False) -> RunResult:
    return rate(loaded, RunOptions(ratings=folder / "ratings", fresh=fresh, now=lambda: NOW))


def test_answers_imported_by_hand_are_rated_without_the_key(tmp_path: Path) -> None:
    loaded = answered_by_hand(plan(), tmp_path)
    finished = rated(loaded, tmp_path)
    (rating,) = finished.document["ratings"]
    assert rating["coverage"]["planned"] == rating["coverage"]["answered"] > 0
    assert finished.asked.calls == 0
    assert finished.document["run"]["collected"] == "by hand"
    again = rated(loaded, tmp_path)
    assert (again.folder, again.asked.calls) == (finished.folder, 0)
    assert verify(finished.folder, date(2026, 5, 2)).differences == ()
    assert open_rating(finished.folder).evidence().height == rating["coverage"]["planned"]


def test_what_is_pending_needs_the_key_and_nothing_is_sent(tmp_path: Path) -> None:
    loaded = answered_by_hand(plan(), tmp_path, share=0.5)
    with pytest.raises(KeyMissingError, match=KEY):
        rated(loaded, tmp_path)
    with pytest.raises(KeyMissingError, match=KEY):
        prepare(loaded, RunOptions(ratings=tmp_path / "ratings"))


def test_a_fresh_run_copies_nothing_so_it_needs_the_key(tmp_path: Path) -> None:
    loaded = answered_by_hand(plan(), tmp_path)
    with pytest.raises(KeyMissingError, match=KEY):
        rated(loaded, tmp_path, fresh=True)


def test_another_plan_about_the_same_questions_needs_no_key(tmp_path: Path) -> None:
    answered_by_hand(plan(), tmp_path)
    other = load_plan(plan(relative_cuts=[0.06, 0.21]))
    sitting = RunOptions(ratings=tmp_path / "ratings", now=lambda: NOW)
    assert forecast(prepare(other, sitting), sitting).calls == 0
    assert rate(other, sitting).asked.calls == 0
    with pytest.raises(KeyMissingError, match=KEY):
        prepare(load_plan(plan(groups=3)), sitting)


def test_without_a_place_to_look_everything_is_needed() -> None:
    with pytest.raises(KeyMissingError, match=KEY):
        prepare(load_plan(plan()))


def test_the_commands_need_no_key_either(tmp_path: Path) -> None:
    told = plan(questions=600)  # enough for a level
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(told))
    refused = trustgauge("rate", "plan.toml", folder=tmp_path)
    assert refused.returncode == 3
    assert KEY in refused.stderr
    answered_by_hand(told, tmp_path)
    forecasted = json.loads(trustgauge("plan", "plan.toml", "--json", folder=tmp_path).stdout)
    assert forecasted["estimate"]["calls"] == 0
    done = trustgauge("rate", "plan.toml", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    name = json.loads(done.stdout)["run"]["id"]
    for verb in (("verify", name), ("show", name), ("show", name, "--as", "html", "-o", "x.html")):
        result = trustgauge(*verb, folder=tmp_path)
        assert result.returncode == 0, result.stderr
