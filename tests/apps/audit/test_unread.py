"""What the program could not read is read by people, and nothing else of the run (methods 0.10 (4))."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.apps.audit.runs import make_run
from tests.cli.test_commands import trustgauge
from tests.servers import LocalServer, Request, Response
from trustgauge.catalogue import read
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.audit import Audit
from trustgauge.run.audit_log import JUDGE, read_log
from trustgauge.run.audit_sample import AuditItem
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import rerate, verify

TODAY = date(2026, 12, 1)
RIDDLE = "The kettle of house number {} whistles on Sundays."
PLAN: dict[str, Any] = {
    "seed": 3,
    "experiments": [
        {
            **{"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "groups": 2},
            **{"properties": 8, "questions": 0, "resamples": 1000, "permutations": 999},
            "tuples": ["relative"],
        }
    ],
}


def riddler(request: Request) -> Response:
    """A bot that rejects what is said of anybody, and answers about one property in four in riddles."""
    question = request.json()["messages"][-1]["content"]
    riddle = sum(map(ord, question.rstrip("?").split()[-1])) % 4 == 0
    said = RIDDLE.format(crc32(question.encode())) if riddle else "No, they are not."
    return Response.json({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with LocalServer(riddler) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "a-key-of-tests")
        services = {"bot": {"use": "openai", "url": server.url, "model": "riddler"}}
        plan = load_plan(PLAN | {"services": services})
        return rate(plan, RunOptions(ratings=tmp_path_factory.mktemp("unread"))).folder


@pytest.fixture(scope="module")
def drawn(made: Path) -> tuple[AuditItem, ...]:
    """What people must read. From then on the run notes that it was drawn."""
    return Audit(made, "bot").draw_unread().items


@pytest.fixture
def folder(made: Path, drawn: tuple[AuditItem, ...], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / made.name))


@pytest.fixture(scope="module")
def all_denied(
    made: Path, drawn: tuple[AuditItem, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Any]:
    """The run after Ann has read that all of it denies, and its rating."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("denied") / made.name))
    return folder, label_unread(folder, drawn, lambda item: "denies")


@pytest.fixture
def denied(all_denied: tuple[Path, Any], tmp_path: Path) -> Path:
    made, _ = all_denied
    return Path(shutil.copytree(made, tmp_path / made.name))


def label_unread(
    folder: Path, drawn: Sequence[AuditItem], label: Callable[[AuditItem], str], by: str = "Ann"
) -> dict[str, Any]:
    Audit(folder, "bot").add([(one, label(one)) for one in drawn], by)
    (rating,) = rerate(folder)["ratings"]
    return dict(rating)


def codes(rating: Any) -> list[str]:
    return [one["code"] for one in (*rating["reasons"], *rating["parts"][0]["reasons"])]


def test_what_nobody_read_keeps_the_level_open(made: Path, drawn: tuple[AuditItem, ...]) -> None:
    (rating,) = read(made)["ratings"]
    assert rating["state"] == "not settled"
    assert "unread-matters" in codes(rating)
    assert all(one.answer.startswith(RIDDLE[:24]) for one in drawn)


def test_read_by_people_it_settles_the_level_without_an_audit_of_the_rest(
    made: Path, drawn: tuple[AuditItem, ...], all_denied: tuple[Path, Any]
) -> None:
    before = read(made)["ratings"][0]["details"]["instrument"]["unread"]
    folder, rating = all_denied
    entry = rating["details"]["instrument"]
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "L")
    # no level rests on those about invented groups
    assert (entry["by_people"], entry["unread"], entry["audited"]) == (len(drawn), before - len(drawn), False)
    assert "unread-labelled" in codes(rating)
    assert not {"unread-matters", "audit-unfinished", "instrument-audited"} & {*codes(rating)}
    assert verify(folder, TODAY).differences == ()


def test_it_counts_as_people_read_it(
    folder: Path, drawn: tuple[AuditItem, ...], all_denied: tuple[Path, Any]
) -> None:
    women = label_unread(folder, drawn, lambda item: "affirms" if item.a == "women" else "denies")
    _, nobody = all_denied
    gaps = [one["parts"][0]["details"]["relative"]["gap"]["value"] for one in (women, nobody)]
    assert gaps[0] > 0.01
    assert gaps[1] == pytest.approx(0, abs=1e-9)


def test_some_of_it_read_leaves_the_rest_open(folder: Path, drawn: tuple[AuditItem, ...]) -> None:
    before = read(folder)["ratings"][0]["details"]["instrument"]["unread"]
    rating = label_unread(folder, drawn[:3], lambda item: "denies")
    entry = rating["details"]["instrument"]
    assert (entry["by_people"], entry["unread"]) == (3, before - 3)
    assert "unread-matters" in codes(rating)


def test_two_people_who_disagree_keep_it_open(denied: Path, drawn: tuple[AuditItem, ...]) -> None:
    rating = label_unread(denied, drawn, lambda item: "affirms", by="Ben")
    assert rating["state"] == "not settled"
    assert "audit-unresolved" in codes(rating)


def test_a_sample_by_lot_beside_it_is_an_audit_of_all(denied: Path) -> None:
    """Then the figures rest on labels of both kinds of answers, and unread ones are not counted twice."""
    audit = Audit(denied, "bot")
    audit.add([(one, "denies") for one in audit.draw(200).items], "Ann")
    (rating,) = rerate(denied)["ratings"]
    entry = rating["details"]["instrument"]
    assert entry["audited"]
    assert "by_people" not in entry
    assert rating["overall"]["level"] == "L"
    assert verify(denied, TODAY).differences == ()


def test_the_sheet_holds_all_of_it_and_comes_back(
    folder: Path, drawn: tuple[AuditItem, ...], tmp_path: Path
) -> None:
    (folder / "audit.jsonl").unlink()  # the command draws it
    sheet = tmp_path / "unread.csv"
    result = trustgauge("audit", str(folder), "--unread", "--export", str(sheet), folder=tmp_path)
    assert "--unread" not in sheet.read_text("utf-8-sig")
    with sheet.open(newline="", encoding="utf-8-sig") as opened:
        rows = list(csv.DictReader(opened))
    assert len(rows) == len(drawn)
    assert "--unread --import" in result.stdout
    with sheet.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(one | {"label": "denies"} for one in rows)
    after = trustgauge("audit", str(folder), "--unread", "--import", str(sheet), "--json", folder=tmp_path)
    assert after.returncode == 0, after.stderr
    (rating,) = json.loads(after.stdout)["ratings"]
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "L")


def test_where_all_was_read_there_is_nothing_to_draw(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no answer was left unread"):
        Audit(make_run(tmp_path, properties=1), "bot").draw_unread()
    assert read_log(tmp_path).unread == frozenset()


def test_where_labels_of_unread_answers_alone_cannot_count_they_are_not_drawn(tmp_path: Path) -> None:
    """A trust rating rests on a sample of all answers."""
    talk = {"method": "trust", "services": ["bot"], "talks": 4, "issues": ["abuse"], "resamples": 1000}
    plan = load_plan({"services": {"bot": {"use": "trust-anchor"}}, "experiments": [talk]})
    folder = rate(plan, RunOptions(ratings=tmp_path)).folder
    with pytest.raises(PlanError, match=r"rule sound. Leave it out: `trustgauge audit ID` draws a sample"):
        Audit(folder, "bot").draw_unread()
    assert read_log(folder).unread == frozenset()


def namer(request: Request) -> Response:
    """A rewriter that writes names, which the reader does not know, for pronouns."""
    text = request.json()["text"]
    return Response.json({"output": text.replace("She is", "Maria is").replace("He is", "Peter is")})


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rewriters, rated by two-step: all of the second is read."""
    with LocalServer(namer) as server:
        services = {"namer": {"use": "http", "url": server.url}, "same": {"use": "anchor"}}
        experiment = {"method": "two-step", "services": [*services], "texts": 60, "draws": 1000}
        plan = load_plan({"seed": 3, "services": services, "experiments": [experiment]})
        return rate(plan, RunOptions(ratings=tmp_path_factory.mktemp("trips"))).folder


@pytest.fixture
def round_trips(trips: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trips, tmp_path / "ratings" / trips.name))


def by_person(item: AuditItem) -> str:
    said = item.answer.split(". ")[int(item.a.rpartition("sentence ")[2].rstrip(")")) - 1]
    return "she" if said.startswith("Maria") else "he"


def test_mentions_of_a_round_trip_that_people_read_settle_the_level(round_trips: Path) -> None:
    before = read(round_trips)["ratings"][0]
    audit = Audit(round_trips, "namer")
    items = audit.draw_unread().items
    assert before["state"] == "not settled"
    assert all({"Maria", "Peter"} & set(one.answer.split()) for one in items)
    assert sum(before["parts"][0]["details"]["unread"].values()) == len(items)
    audit.add([(one, by_person(one)) for one in items], "Ann")
    rating = rerate(round_trips)["ratings"][0]
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "DSBS")
    assert "unread-labelled" in codes(rating)
    assert rating["details"]["instrument"]["by_people"] == len(items)
    assert verify(round_trips, TODAY).differences == ()


def test_a_changed_label_of_an_unread_mention_is_seen_by_verify(round_trips: Path) -> None:
    audit = Audit(round_trips, "namer")
    audit.add([(one, by_person(one)) for one in audit.draw_unread().items], "Ann")
    rerate(round_trips)
    log = round_trips / "audit.jsonl"
    log.write_text(log.read_text().replace('"label":"she"', '"label":"he"'))
    assert verify(round_trips, TODAY).differences


def test_the_command_that_a_rating_names_draws_its_own_unread_answers(round_trips: Path) -> None:
    shown = trustgauge("show", round_trips.name, folder=round_trips.parent.parent).stdout
    (command,) = set(re.findall(r"\(trustgauge (audit .*? --unread)\)", shown))
    drawn = Audit(round_trips, "namer").unread_sample().items
    result = trustgauge(*command.split(), "--export", "unread.csv", folder=round_trips.parent.parent)
    assert f"unread.csv: {len(drawn)} answers" in result.stdout
    latest = ["audit", "latest", "--service", "namer", "--unread"]
    result = trustgauge(*latest, "--export", "again.csv", folder=round_trips.parent.parent)
    named = f"trustgauge audit {round_trips.name} --service namer --unread --import again.csv"
    assert named in result.stdout  # another run may be the latest when the labels come back


def test_a_models_labels_of_unread_answers_are_no_reading_by_people(
    folder: Path, drawn: tuple[AuditItem, ...]
) -> None:
    rating = label_unread(folder, drawn, lambda item: "denies", by=f"{JUDGE}critic")
    assert "by_people" not in rating["details"]["instrument"]
    assert "unread-matters" in codes(rating)
    rating = label_unread(folder, drawn, lambda item: "denies")  # and beside them those of people count
    assert rating["details"]["instrument"]["by_people"] == len(drawn)
