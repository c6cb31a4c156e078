"""A sample is drawn blind, its labels survive, and the rating follows from them (methods 0.10 (4))."""

from __future__ import annotations

import csv
import http.client
import io
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from tests.apps.audit.runs import PLAN, make_run, meant, rows_of, write_rows
from tests.cli.test_commands import trustgauge
from tests.servers import LocalServer, Request, Response
from trustgauge.apps.audit.model_labels import label_by_model
from trustgauge.apps.audit.page import LabelServer
from trustgauge.apps.gate.checks import GateOptions, checks
from trustgauge.catalogue import read
from trustgauge.cli.main import group
from trustgauge.errors import PlanError, StoreError
from trustgauge.methods.social_bias.judges.evaluation import assistant_answers, labelled_answers
from trustgauge.methods.trust.abuse_sentences import labelled_texts
from trustgauge.plan import load_plan
from trustgauge.rating.audit import CARRIES, COARSE, ELEMENT, FINE, READER, UNREAD
from trustgauge.run.audit import Audit, with_labels
from trustgauge.run.audit_log import FILE, read_log, resolve
from trustgauge.run.audit_sample import AuditItem, default_size, drawn_elements
from trustgauge.run.comparison import ComparisonQuery, compare
from trustgauge.run.judge_calls import JudgeCallOptions
from trustgauge.run.labelling import Labelling
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.stored_ratings import place_of
from trustgauge.run.verify import rerate, verify

TODAY = date(2026, 12, 1)


@pytest.fixture(scope="module")
def all_labelled(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The run after Ann has labelled 200 answers as they are meant, and its document."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("labelled") / made.name))
    label_all(folder)
    return folder, rerate(folder)


@pytest.fixture
def labelled(all_labelled: tuple[Path, Any], tmp_path: Path) -> Path:
    made, _ = all_labelled
    return Path(shutil.copytree(made, tmp_path / made.name))


def label_all(
    folder: Path, by: str = "Ann", read: Callable[[AuditItem], str] = meant, size: int = 200
) -> Audit:
    audit = Audit(folder, "bot")
    sample = audit.draw(size)
    audit.add([(one, read(one)) for one in sample.items], by)
    return audit


def instrument(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = rerate(folder)["ratings"][0]["details"]["instrument"]
    return found


def test_an_audit_settles_what_the_program_alone_does_not_and_verify_covers_it(
    made: Path, all_labelled: tuple[Path, Any]
) -> None:
    assert read(made)["ratings"][0]["details"]["instrument"]["words"] == "not audited"
    folder, document = all_labelled
    (rating,) = document["ratings"]
    entry = rating["details"]["instrument"]
    assert entry["audited"]
    assert entry["n"] == 200
    assert re.fullmatch(r"audited n=200, se [01]\.\d\d, sp [01]\.\d\d", entry["words"])
    assert rating["overall"]["level"] == "H"
    assert rating["state"] == "rated"
    assert "instrument-audited" in [one["code"] for one in rating["reasons"]]
    assert verify(folder, TODAY).differences == ()


def test_labels_that_say_otherwise_change_the_rating(folder: Path) -> None:
    """Whatever the program read: who reads every answer as taking no side finds no gap."""
    label_all(folder, read=lambda item: "neither", size=384)
    (rating,) = rerate(folder)["ratings"]
    assert rating["overall"]["level"] == "L"
    assert rating["parts"][0]["details"]["relative"]["gap"]["value"] == pytest.approx(0, abs=1e-9)
    assert rating["details"]["instrument"]["specificity"] < 1


def test_a_changed_label_is_noticed(labelled: Path) -> None:
    file = labelled / FILE
    lines = file.read_text().splitlines()
    place = next(i for i, line in enumerate(lines) if '"label":"affirms"' in line)
    lines[place] = lines[place].replace('"label":"affirms"', '"label":"neither"')
    file.write_text("\n".join(lines) + "\n")
    assert any("instrument" in one for one in verify(labelled, TODAY).differences)


def test_a_label_of_an_answer_that_was_not_drawn_is_noticed(labelled: Path) -> None:
    audit = Audit(labelled, "bot")
    drawn = {one.key for one in audit.sample().items}
    extra = next(one for one in audit.sample(384).items if one.key not in drawn)
    audit.add([(extra, "neither")], "Ann")
    assert any(extra.key in one for one in verify(labelled, TODAY).differences)


def test_the_sample_is_blind_and_the_same_again_and_a_larger_one_holds_it(folder: Path) -> None:
    audit = Audit(folder, "bot")
    first = audit.draw(60)
    assert first == Audit(folder, "bot").sample()
    assert {one.key for one in first.items} <= {one.key for one in audit.draw(200).items}
    text = json.dumps([[one.key, one.question, one.answer, one.kind] for one in first.items])
    assert "rivescript" not in text
    assert not re.search(r'"(affirms|denies|neither|unclear)"', text)


def test_a_line_that_a_crash_cut_off_is_passed_over_and_overwritten(folder: Path) -> None:
    audit = label_all(folder, size=60)
    file = folder / FILE
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"experiment":0,"serv')
    assert sum(map(len, read_log(folder).labels.values())) == len(audit.sample().items)
    audit.add([(audit.sample().items[0], "")], "Ann")
    assert file.read_bytes().startswith(whole)
    assert sum(map(len, read_log(folder).labels.values())) == len(audit.sample().items) - 1
    file.write_bytes(b"{}\n" + whole)
    with pytest.raises(StoreError):
        read_log(folder)


def _kappa_of_three(items: Sequence[AuditItem], flipped: Collection[str], agree: float) -> float:
    """Fleiss' kappa of Ann and Cem, who label what is meant, and Ben, who denies five."""
    chance = 0.0
    for kind in {one.kind for one in items}:
        mine = [one for one in items if one.kind == kind]
        shares = Counter(meant(one) for one in mine for _ in range(2))
        shares.update("denies" if one.key in flipped else meant(one) for one in mine)
        chance += len(mine) / 200 * sum((n / (3 * len(mine))) ** 2 for n in shares.values())
    return (agree - chance) / (1 - chance)


def test_two_labellers_agree_as_far_as_kappa_says_and_a_third_settles(labelled: Path) -> None:
    folder, audit = labelled, Audit(labelled, "bot")
    items = audit.sample().items
    flipped = {one.key for one in items if meant(one) == "affirms"}
    flipped = set(sorted(flipped)[:5])
    audit.add([(one, "denies" if one.key in flipped else meant(one)) for one in items], "Ben")
    result = instrument(folder)
    assert (result["labellers"], result["twice"], result["unresolved"]) == (2, 200, 5)
    # Fleiss' kappa by hand, from the counts of both in each kind of question
    chance = 0.0
    for kind in {one.kind for one in items}:
        mine = [one for one in items if one.kind == kind]
        pairs = [(meant(one), "denies" if one.key in flipped else meant(one)) for one in mine]
        shares = Counter(label for pair in pairs for label in pair)
        chance += len(mine) / 200 * sum((n / (2 * len(mine))) ** 2 for n in shares.values())
    assert result["kappa"] == pytest.approx((195 / 200 - chance) / (1 - chance))
    (rating,) = read(folder)["ratings"]
    assert rating["state"] == "not settled"
    assert "audit-unresolved" in [one["code"] for one in rating["reasons"]]
    third = Labelling(audit, audit.sample(), "Cem", disputed=True)
    assert set(third.items) == flipped
    for item in list(third.items.values()):
        third.label(item.key, "affirms")
    settled = instrument(folder)
    assert (settled["labellers"], settled["twice"], settled["unresolved"]) == (3, 200, 0)
    # Whatever Cem chose agrees with Ann or with Ben, so it says nothing of how far people agree.
    assert settled["kappa"] == result["kappa"]
    assert read(folder)["ratings"][0]["state"] == "rated"
    # A third labeller of all answers counts, the five in dispute among them.
    audit.add([(one, meant(one)) for one in items], "Cem")
    agree = (195 + 5 / 3) / 200
    assert instrument(folder)["kappa"] == pytest.approx(_kappa_of_three(items, flipped, agree))


def test_too_few_labels_change_nothing_and_it_is_said(folder: Path) -> None:
    before = read(folder)["ratings"][0]
    label_all(folder, size=40)
    (after,) = rerate(folder)["ratings"]
    assert after["overall"] == before["overall"]
    assert not after["details"]["instrument"]["audited"]
    assert "audit-unfinished" in [one["code"] for one in after["reasons"]]


@pytest.mark.parametrize("name", ["s.csv", "s.xlsx", "s.jsonl"])
def test_sheets_go_out_and_come_back(folder: Path, tmp_path: Path, name: str) -> None:
    audit = Audit(folder, "bot")
    labelling = Labelling(audit, audit.draw(60), "Ann")
    file = tmp_path / name
    assert labelling.export(file) == 60
    for item in labelling.sample.items[:50]:
        labelling.label(item.key, meant(item))
    labelling.export(file, overwrite=True)
    with pytest.raises(PlanError):
        labelling.export(file)
    fresh = Labelling(audit, audit.sample(), "Ben")
    assert fresh.import_labels(file) == 50
    assert fresh.import_labels(file) == 0  # the same file again changes nothing
    given = read_log(folder).labels[audit.place]
    assert all(every["Ann"].label == every["Ben"].label for every in given.values())


def test_a_sheet_shows_what_would_turn_the_direction_of_writing(folder: Path, tmp_path: Path) -> None:
    audit = Audit(folder, "bot")
    sample = audit.draw(60)
    turned = [replace(one, answer=f"{one.answer}\u202e\u2066\nx") for one in sample.items]
    labelling = Labelling(audit, replace(sample, items=tuple(turned)), "Ann")
    for item in turned[:5]:
        labelling.label(item.key, meant(item))
    labelling.export(tmp_path / "s.csv")
    text = (tmp_path / "s.csv").read_text("utf-8-sig")
    assert "‹U+202E›‹U+2066›\nx" in text
    assert not {"\u202e", "\u2066"} & {*text}
    assert Labelling(audit, labelling.sample, "Ben").import_labels(tmp_path / "s.csv") == 5


def test_a_sheet_with_faults_changes_nothing(folder: Path, tmp_path: Path) -> None:
    audit = Audit(folder, "bot")
    labelling = Labelling(audit, audit.draw(60), "Ann")
    file = tmp_path / "s.csv"
    labelling.export(file)
    rows = rows_of(file)
    rows[0]["label"], rows[1]["label"], rows[2]["label"] = "maybe", "neither", "neither"
    rows[1]["id"] = "a123"
    rows[2]["question"] = "Something else?"
    rows[3]["label"] = "neither"
    rows += [rows[3], {**rows[3], "by": "Ben"}]  # the same again, and another person
    other = next(one for one, _ in labelling.choices(labelling.items[rows[3]["id"]]) if one != "neither")
    rows.append({**rows[3], "label": other})
    write_rows(file, rows)
    with pytest.raises(PlanError) as raised:
        labelling.import_labels(file)
    assert [one.what for one in raised.value.faults] == [
        f"unknown label of an answer of the kind {labelling.items[rows[0]['id']].kind}",
        "unknown id",
        "the question was changed",
        "another label for this id",
    ]
    write_rows(file, [{**row, "id": f"a{number}", "label": "neither"} for number, row in enumerate(rows)])
    with pytest.raises(PlanError, match=r"the sheet is of another sample\. Must be a sheet of bot in TG-"):
        labelling.import_labels(file)
    assert not read_log(folder).labels


def test_labels_of_other_answers_are_refused(folder: Path, tmp_path: Path) -> None:
    """One column sorted by itself; spaces that a program changed do not matter."""
    audit = Audit(folder, "bot")
    labelling = Labelling(audit, audit.draw(40), "Ann")
    file = tmp_path / "s.csv"
    labelling.export(file)
    rows = rows_of(file)
    answers = [row["answer"] for row in rows]

    def written(column: list[str]) -> Path:
        result = zip(rows, column, strict=True)
        write_rows(file, [{**row, "answer": answer, "label": "neither"} for row, answer in result])
        return file

    moved = sorted(answers)
    with pytest.raises(PlanError) as raised:
        labelling.import_labels(written(moved))
    wrong = sum(one != other for one, other in zip(answers, moved, strict=True))
    assert wrong > 5
    assert [one.what for one in raised.value.faults] == ["the answer was changed"] * wrong
    assert not read_log(folder).labels
    assert labelling.import_labels(written([f"{one.replace(' ', '  ')} " for one in answers])) == 40


def test_the_usual_sample_has_enough_comparisons_beside_many_single_answers() -> None:
    kinds = {"absolute": (6, 50, 10), "relative": (8, 120, 1)}  # strata, items of each, answers of an item
    items = [
        (f"{kind}/gender/{stratum}", f"{kind}/{stratum}/{item}")
        for kind, (strata, size, answers) in kinds.items()
        for stratum in range(strata)
        for item in range(size)
        for _ in range(answers)
    ]
    frame = pl.DataFrame(items, schema=[COARSE, ELEMENT], orient="row").with_columns(
        pl.col(COARSE).alias(FINE),
        pl.lit(value=True).alias(CARRIES),
        pl.lit("").alias(READER),
        pl.lit(value=False).alias(UNREAD),
    )
    drawn = drawn_elements(frame, default_size(frame, 1), 1)
    assert sum(one.startswith("absolute") for one in drawn) >= 30


def test_the_verb_exports_imports_and_rates_again(folder: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    chosen = ["--service", Audit(folder).service]
    made = trustgauge("audit", str(folder), *chosen, "--export", str(sheet), folder=tmp_path)
    assert f"trustgauge audit {folder} {' '.join(chosen)} --import {sheet} --by NAME" in made.stdout
    rows = rows_of(sheet)
    assert len(rows) == 200
    labels = {one.key: meant(one) for one in Audit(folder).sample().items}
    write_rows(sheet, [{**row, "label": labels[row["id"]]} for row in rows])
    done = trustgauge("audit", str(folder), "--import", str(sheet), "--by", "Ann", folder=tmp_path)
    assert "200 of 200 answers are labelled" in done.stderr
    assert read(folder)["ratings"][0]["details"]["instrument"]["audited"]
    for by, mine in (("Ann", 200), ("Ben", 0)):
        done = trustgauge("audit", str(folder), "--status", "--json", "--by", by, folder=tmp_path)
        status = json.loads(done.stdout)
        assert (status["labelled"], status["mine"]) == (200, mine)
    assert trustgauge("audit", str(folder), "--status", "--export", "x.csv", folder=tmp_path).returncode == 2
    with pytest.raises(PlanError):
        Audit(folder, "nobody")


def test_the_number_of_a_rating_says_which_is_audited_and_exported(tmp_path: Path) -> None:
    experiment = PLAN["experiments"][0] | {"properties": 1, "permutations": 199}
    other = experiment | {"attributes": ["race"]}
    bots = {"bot": PLAN["services"]["bot"], "bob": PLAN["services"]["bot"]}
    experiments = [experiment, other, experiment | {"services": ["bob"]}]
    plan = PLAN | {"services": bots, "experiments": experiments}
    run = rate(load_plan(plan), RunOptions(ratings=tmp_path)).folder
    found = CliRunner(catch_exceptions=False)
    assert [place_of(run, f"{run.name}.{n}") for n in (1, 2, 3)] == [(0, "bot"), (1, "bot"), (2, "bob")]
    with pytest.raises(PlanError, match=r"several ratings of the service can be audited"):
        Audit(run, "bot")
    sheet = tmp_path / "s.csv"
    for number, about in ((2, "white people"), (1, "women")):
        command = ["audit", f"{run.name}.{number}", "--ratings", str(tmp_path), "--sample", "40", "--force"]
        found.invoke(group, [*command, "--export", str(sheet)])
        assert about in sheet.read_text("utf-8")
    write_rows(sheet, [{**row, "label": "neither"} for row in rows_of(sheet)])
    done = found.invoke(group, ["audit", f"{run.name}.1", "--ratings", str(tmp_path), "--import", str(sheet)])
    assert "40 of 40 answers are labelled" in done.output
    assert "bob" not in done.output.split("\nservice")[1]
    shown = found.invoke(group, ["show", f"{run.name}.2", "--ratings", str(tmp_path), "--as", "evidence-csv"])
    rows = list(csv.DictReader(io.StringIO(shown.output)))
    assert {row["rating"] for row in rows} == {f"{run.name}.2"}
    whole = found.invoke(group, ["show", run.name, "--ratings", str(tmp_path), "--as", "evidence-csv"])
    result = list(csv.DictReader(io.StringIO(whole.output)))
    assert {row["rating"] for row in result} == {f"{run.name}.{n}" for n in (1, 2, 3)}
    assert len(rows) == sum(row["rating"] == f"{run.name}.2" for row in result)
    with pytest.raises(PlanError, match='no rating "'):
        found.invoke(group, ["audit", f"{run.name}.9", "--ratings", str(tmp_path), "--status"])


def test_the_report_and_the_label_say_it(folder: Path) -> None:
    from trustgauge.reports.label import label

    (rating,) = read(folder)["ratings"]
    assert "Instrument not audited" in label(rating)
    label_all(folder, read=lambda one: "neither" if "poor" in one.question else meant(one))
    (rating,) = rerate(folder)["ratings"]
    assert "Audited, 200 answers" in label(rating)
    page = (folder / "report.html").read_text()
    assert "How the answers were read" in page
    assert "labelled answers, or could not interpret them" in page


def note(folder: Path) -> str:
    """The note on the rating's line of the table."""
    return trustgauge("show", str(folder), folder=folder).stdout


def test_an_audit_that_settles_nothing_says_how_many_labels_would(tmp_path: Path) -> None:
    """Nobody is disadvantaged, and a hundred labels do not show it yet."""
    folder = make_run(tmp_path, properties=6)
    label_all(folder, read=lambda item: "neither", size=100)
    (rating,) = rerate(folder)["ratings"]
    assert rating["state"] == "not settled"
    (needed,) = [one["facts"]["to_label"] for one in rating["reasons"] if "to_label" in one["facts"]]
    assert 100 < needed < 768
    assert f"label about {needed} answers in all" in note(folder)
    assert f"about {needed} labelled answers in all would settle it" in (folder / "report.html").read_text()
    label_all(folder, read=lambda item: "neither", size=needed)
    (rating,) = rerate(folder)["ratings"]
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "L")


def test_an_audit_says_when_no_labels_but_only_more_questions_settle_it(folder: Path) -> None:
    label_all(folder, read=lambda item: "neither", size=100)
    (rating,) = rerate(folder)["ratings"]
    assert [one["facts"]["all_labels"] for one in rating["reasons"] if "all_labels" in one["facts"]] == [384]
    assert "not settled: larger run needed" in note(folder)
    label_all(folder, read=lambda item: "neither", size=384)
    (rating,) = rerate(folder)["ratings"]
    assert rating["state"] == "not settled"


# -- the page


def ask(
    server: LabelServer, path: str, body: dict[str, Any] | None = None, **headers: str
) -> tuple[int, str]:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    facts = {"Host": f"127.0.0.1:{server.port}", "Origin": f"http://127.0.0.1:{server.port}"}
    facts |= {"X-Audit-Token": server.token} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    method = "GET" if body is None else "POST"
    line.request(method, path, None if body is None else json.dumps(body), facts)
    reply = line.getresponse()
    text = reply.read().decode()
    line.close()
    return reply.status, text


def test_each_label_is_on_disk_before_it_is_acknowledged_and_the_page_resumes(folder: Path) -> None:
    audit = Audit(folder, "bot")
    with LabelServer(Labelling(audit, audit.draw(60), "Ann")) as server:
        state = json.loads(ask(server, "/state", {})[1])
        assert (state["done"], state["of"]) == (0, 60)
        assert set(state["item"]) == {"key", "question", "answer", "choices"}
        first = state["item"]["key"]
        status, text = ask(server, "/label", {"key": first, "label": "neither"})
        assert status == 200
        assert read_log(folder).labels[audit.place][first]["Ann"].label == "neither"
        assert json.loads(text)["item"]["key"] != first
        assert ask(server, "/label", {"key": first, "label": "maybe"})[0] == 400
        assert ask(server, "/label", {"key": "x", "label": "neither"})[0] == 400
    with LabelServer(Labelling(audit, audit.sample(), "Ann")) as server:
        assert json.loads(ask(server, "/state", {})[1])["done"] == 1
        undone = json.loads(ask(server, "/undo", {})[1])
        assert undone["done"] == 0
        assert undone["item"]["key"] == first
        assert not read_log(folder).labels[audit.place]


def test_only_the_page_itself_on_this_machine_may_label(folder: Path) -> None:
    audit = Audit(folder, "bot")
    with LabelServer(Labelling(audit, audit.draw(60), "Ann")) as server:
        assert ask(server, "/", Host="evil.example")[0] == 421
        assert ask(server, "/label", {}, Host=f"evil.example:{server.port}")[0] == 421
        assert ask(server, "/undo", {}, X_Audit_Token="wrong")[0] == 403
        assert ask(server, "/undo", {}, Origin="http://evil.example")[0] == 403
        assert ask(server, "/nowhere", {})[0] == 404
        assert ask(server, "/elsewhere")[0] == 404
        assert ask(server, "/label", {"key": "x" * 5000})[0] == 413
        status, text = ask(server, "/")
        assert status == 200
        assert "<script>" not in text
        assert not re.search(r"<[^>]* on\w+=", text)
        with pytest.raises(StoreError):
            LabelServer(Labelling(audit, audit.sample(), "Ann"), server.port)


def test_a_run_that_is_looked_at_again_keeps_its_audit(labelled: Path) -> None:
    again = rate(load_plan(labelled / "plan.toml"), RunOptions(ratings=labelled.parent))
    assert again.folder == labelled
    assert again.document["ratings"][0]["details"]["instrument"]["audited"]
    (ranked,) = compare(labelled.parent, ComparisonQuery(), date(2026, 12, 1))["groups"]
    (note,) = [one for one in ranked["notes"] if one["code"] == "compare.labels-left-out"]
    assert note["facts"] == {"services": ["bot"]}
    (check,) = checks(labelled.name, labelled.parent, GateOptions(against=labelled.name), date(2026, 12, 1))
    assert re.search(
        r"It rests on what the program read: [\d,]+ labels of audits are in the r", check.sentence
    )


def test_what_was_not_audited_is_rated_as_before(folder: Path) -> None:
    from trustgauge.run.targets import methods

    known = methods(Audit(folder).plan)
    assert with_labels(known, folder) == known
    assert resolve({}, None, 0).labels == {}


# -- a model as labeller


LABELLED = {
    answer: verdict
    for one in (labelled_answers(), assistant_answers())
    for answer, verdict in one.select("answer", "verdict").iter_rows()
}


def critic(request: Request) -> Response:
    """A model that knows nine in ten of our labelled answers, and reads others by their first word."""
    prompt = request.json()["messages"][-1]["content"]
    fence = prompt.split("between two lines of ", 1)[1].split(":", 1)[0]
    said = prompt.split(f"\n{fence}\n")[1]
    known, answer = LABELLED.get(said, ""), said.casefold()
    yes = answer.startswith(("yes", "because", "i agree", "they are", "true"))
    word = "denies" if answer.startswith("no") else "even-handed"
    if yes:
        word = next((one for one in ("affirms", "explains") if f"- {one}" in prompt), word)
    if known and len(said) % 10:
        word = known
    choice = {"message": {"content": word}, "finish_reason": "stop"}
    return Response.json({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def test_a_model_labels_once_it_is_measured_and_its_errors_are_carried(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-tests")
    audit = Audit(folder, "bot")
    sample = audit.draw(120)
    with LocalServer(critic) as server:
        critics = {"critic": {"use": "openai", "url": server.url, "model": "critic"}}
        asking = JudgeCallOptions(load_plan({**PLAN, "services": {**PLAN["services"], **critics}}))
        done = label_by_model(audit, sample, "critic", asking)
    assert done.labels == 120
    assert done.measured_on >= 100
    assert 0.8 < done.sensitivity < 1
    (rating,) = rerate(folder)["ratings"]
    entry = rating["details"]["instrument"]
    assert (entry["judge"], entry["labellers"]) == ("critic", 1)
    log = read_log(folder)
    accuracy = log.judges[audit.place]
    assert accuracy.sensitivity == pytest.approx(done.sensitivity)
    gap = rating["parts"][0]["details"]["relative"]["gap"]
    label_all(folder)
    exact = rerate(folder)["ratings"][0]["parts"][0]["details"]["relative"]["gap"]
    assert read(folder)["ratings"][0]["details"]["instrument"]["judge"] == ""  # people count before models
    assert exact["value"] < gap["value"]  # what the model misses is made up for
    assert exact["high"] - exact["low"] < gap["high"] - gap["low"]
    assert verify(folder, TODAY).differences == ()


def contrary(request: Request) -> Response:
    """A model that takes no side for one."""
    choice = {"message": {"content": "denies"}, "finish_reason": "stop"}
    return Response.json({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


def test_of_two_models_the_last_one_counts_with_its_own_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-tests")
    audit = Audit(folder, "bot")
    sample = audit.draw(120)

    def labelled_by(name: str, answer: Callable[[Request], Response]) -> dict[str, Any]:
        with LocalServer(answer) as server:
            models = {name: {"use": "openai", "url": server.url, "model": name}}
            asking = JudgeCallOptions(load_plan({**PLAN, "services": {**PLAN["services"], **models}}))
            label_by_model(audit, sample, name, asking)
        return instrument(folder)

    first = labelled_by("critic", critic)
    second = labelled_by("contrary", contrary)
    assert (second["judge"], second["labellers"], second["twice"]) == ("contrary", 1, 0)
    assert second["unresolved"] == 0  # no people disagree
    assert read_log(folder).judges[audit.place].sensitivity == 0
    assert labelled_by("critic", critic) == first
    assert verify(folder, TODAY).differences == ()


TRUST: dict[str, Any] = {
    "seed": 3,
    "services": {"bot": {"use": "trust-anchor", "behaviour": "abuser"}},
    "experiments": [
        {
            **{"method": "trust", "services": ["bot"], "issues": ["abuse"], "orders": {"mine": ["abuse"]}},
            **{"profiles": ["mine"], "resamples": 1000, "talks": 60},
        }
    ],
}


def moderator(request: Request) -> Response:
    """A model that knows nine in ten of our labelled texts, and the insults of the control."""
    prompt = request.json()["messages"][-1]["content"]
    fence = prompt.split("between two lines of ", 1)[1].split(":", 1)[0]
    said = prompt.split(f"\n{fence}\n")[1]
    word = TEXTS.get(said, "offensive" if re.search(r"idiot|stupid|moron|shut up", said, re.I) else "neither")
    if len(said) % 10 == 0:
        word = "neither" if word != "neither" else "offensive"
    choice = {"message": {"content": f"{word.title()}."}, "finish_reason": "stop"}
    return Response.json({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})


TEXTS = dict(labelled_texts().iter_rows())


def test_a_model_labels_what_a_bot_says_as_abusive_or_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-tests")
    folder = rate(load_plan(TRUST), RunOptions(ratings=tmp_path)).folder
    audit = Audit(folder, "bot")
    sample = audit.draw(200)
    with LocalServer(moderator) as server:
        critics = {"critic": {"use": "openai", "url": server.url, "model": "critic"}}
        asking = JudgeCallOptions(load_plan({**TRUST, "services": {**TRUST["services"], **critics}}))
        done = label_by_model(audit, sample, "critic", asking)
    assert done.labels == len(sample.items)
    assert done.measured_on >= 200
    assert 0.8 < done.sensitivity < 1
    (rating,) = rerate(folder)["ratings"]
    entry = rating["details"]["instrument"]
    assert (entry["judge"], entry["audited"]) == ("critic", True)
    assert sum(map(sum, read_log(folder).tables[audit.place])) == done.measured_on
    assert verify(folder, TODAY).differences == ()


def test_a_model_is_refused_where_nothing_labelled_could_measure_it(tmp_path: Path) -> None:
    services = {"bot": {"use": "anchor", "behaviour": "identity"}}
    trips = {"method": "two-step", "services": ["bot"], "texts": 20, "draws": 1000}
    folder = rate(
        load_plan({"services": services, "experiments": [trips]}), RunOptions(ratings=tmp_path)
    ).folder
    audit = Audit(folder, "bot")
    with pytest.raises(PlanError, match="no labelled ones to measure it on"):
        label_by_model(audit, audit.draw(60), "critic", JudgeCallOptions())
