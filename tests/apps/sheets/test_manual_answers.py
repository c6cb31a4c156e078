"""Manual mode: questions out, answers in, and a rating that rests on them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer
from trustgauge.apps.sheets.manual_answers import (
    ExportSummary,
    ImportSummary,
    PendingRows,
    SheetSource,
    export,
    import_answers,
    prepare,
)
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.records import PROBE
from trustgauge.run.options import AskPlan, RunOptions
from trustgauge.run.prepare import forecast
from trustgauge.run.run import rate
from trustgauge.run.verify import verify
from trustgauge.store.folder import STORE, find_run, read_manifest
from trustgauge.store.sqlite import SqliteStore

Serve = Callable[..., LocalServer]
Rows = list[dict[str, str]]
NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def plan(texts: int = 12, **service: Any) -> Any:
    return {
        "seed": 5,
        "services": {"me": {"use": "by-hand", "name": "Example", "task": "translate", **service}},
        "experiments": [{"method": "two-step", "services": ["me"], "texts": texts}],
    }


def prepared(document: Any | None = None) -> AskPlan:
    return prepare(load_plan(document or plan()))


def out(tmp_path: Path, name: str = "q.csv", of: AskPlan | None = None, **batch: Any) -> ExportSummary:
    ratings = tmp_path / "ratings"
    one = of or prepared()
    return export(one, one.targets[0].service, tmp_path / name, ratings, PendingRows(overwrite=True, **batch))


def taken(
    tmp_path: Path, name: str = "q.csv", of: AskPlan | None = None, by: str = "Ann", *, fresh: bool = False
) -> ImportSummary:
    one = of or prepared()
    service = one.targets[0].service
    source = SheetSource(by, NOW, fresh)
    return import_answers(one, service, tmp_path / name, tmp_path / "ratings", source)


def rows_of(file: Path) -> Rows:
    return list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"), newline="")))


def put(file: Path, rows: Rows) -> None:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, columns, restval="")
        writer.writeheader()
        writer.writerows(rows)


def fill(file: Path, answer: Callable[[str], str] = lambda text: text) -> Rows:
    rows = [{**row, "answer": answer(row["text"])} for row in rows_of(file)]
    put(file, rows)
    return rows


def kept(tmp_path: Path, of: AskPlan | None = None) -> pl.DataFrame:
    one = of or prepared()
    folder = find_run(tmp_path / "ratings", one.plan.hash)
    assert folder is not None
    with SqliteStore(folder / STORE, read_only=True) as store:
        return store.answers(one.targets[0].fingerprint)


def faults(tmp_path: Path, rows: Rows) -> dict[str, str]:
    """Place -> what is wrong, of a sheet that is refused."""
    put(tmp_path / "q.csv", rows)
    with pytest.raises(PlanError) as caught:
        taken(tmp_path)
    return {fault.place: str(fault) for fault in caught.value.faults}


def test_answers_by_hand_are_rated_as_if_they_were_asked(tmp_path: Path) -> None:
    written = out(tmp_path)
    assert (written.rows, written.pending, written.asked) == (36, 36, 36)
    assert list(rows_of(tmp_path / "q.csv")[0]) == ["id", "session", "turn", "language", "text", "answer"]
    fill(tmp_path / "q.csv")
    found = taken(tmp_path)
    assert (found.new, found.known, found.pending) == (36, 0, 0)
    sitting = RunOptions(ratings=tmp_path / "ratings")
    assert forecast(prepared(), sitting).calls == 0
    finished = rate(load_plan(plan()), sitting)
    run = finished.document["run"]
    assert run["collected"] == "by hand"
    assert run["state"] == "complete"
    assert run["costs"]["me"]["calls"] == 0
    (rating,) = finished.document["ratings"]
    assert rating["coverage"]["answered"] == 36
    assert rating["overall"]["level"] == "DSBS"
    assert finished.folder == Path(found.folder)
    assert verify(finished.folder, date(2026, 11, 22)).differences == ()


def test_the_levels_are_those_of_the_same_answers_by_api(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    document = translator_plan(server.url, texts=10)
    asked = rate(load_plan(document), RunOptions(ratings=tmp_path / "asked"))
    one = prepare(load_plan(document))
    before = len(server.requests)
    out(tmp_path, of=one)
    rows = rows_of(tmp_path / "q.csv")
    with SqliteStore(asked.folder / STORE, read_only=True) as store:
        said = store.answers(one.targets[0].fingerprint)
    answers = dict(said.select("text", "output").iter_rows())
    put(tmp_path / "q.csv", [{**row, "answer": answers[row["text"]]} for row in rows])
    taken(tmp_path, of=one)
    by_hand = rate(load_plan(document), RunOptions(ratings=tmp_path / "ratings"))
    assert len(server.requests) == before
    assert by_hand.document["run"]["collected"] == "by hand"
    assert asked.document["run"]["collected"] == "by API"
    first, second = (but_for_times(each.document)["ratings"][0] for each in (asked, by_hand))
    assert first["overall"] == second["overall"]
    assert first["parts"] == second["parts"]


def test_half_asked_and_half_imported_is_told(serve: Serve, tmp_path: Path) -> None:
    server = serve(faithful)
    document = translator_plan(server.url, texts=5)
    one = prepare(load_plan(document))
    out(tmp_path, of=one, rows=4)
    fill(tmp_path / "q.csv")
    taken(tmp_path, of=one)
    finished = rate(load_plan(document), RunOptions(ratings=tmp_path / "ratings"))
    assert len(server.requests) == 2 * (15 - 4)
    assert finished.document["run"]["collected"] == "by API, by hand"
    copied = rate(
        load_plan({**document, "valid_days": 30, "seed": 11, "only": ["es"]}),
        RunOptions(ratings=tmp_path / "ratings"),
    )
    assert copied.folder != finished.folder
    assert copied.document["run"]["collected"] == "by API, by hand"


def test_a_service_whose_key_is_missing_can_be_asked_by_hand(tmp_path: Path) -> None:
    document = plan()
    document["services"]["me"] = {"use": "deepl", "target": "tr", "key": "TRUSTGAUGE_TEST_NO_SUCH_KEY"}
    assert out(tmp_path, of=prepared(document)).rows == 36


def test_batches_take_what_is_pending_in_one_seeded_order(tmp_path: Path) -> None:
    out(tmp_path, "all.csv")
    everything = [row["id"] for row in rows_of(tmp_path / "all.csv")]
    assert len(set(everything)) == 36
    seen = []
    for expected in (36, 21, 6):
        written = out(tmp_path, rows=15)
        assert written.pending == expected
        rows = fill(tmp_path / "q.csv")
        seen += [row["id"] for row in rows]
        taken(tmp_path)
    assert seen == everything
    assert out(tmp_path).rows == 0
    other = {**plan(), "seed": 6}
    out(tmp_path, "other.csv", of=prepared(other))
    assert not {row["id"] for row in rows_of(tmp_path / "other.csv")} <= set(everything)


def test_a_question_of_two_experiments_is_asked_once(tmp_path: Path) -> None:
    document = plan()
    document["experiments"] *= 2
    drawn = prepared(document)
    one = replace(drawn, probes=dict.fromkeys(drawn.probes, drawn.probes[0, "translate"]))
    assert len(one.probes) == 2
    assert out(tmp_path, of=one).asked == 36
    ids = [row["id"] for row in rows_of(tmp_path / "q.csv")]
    assert len(set(ids)) == len(ids) == 36
    fill(tmp_path / "q.csv")
    assert taken(tmp_path, of=one).pending == 0
    assert forecast(one, RunOptions(ratings=tmp_path / "ratings")).calls == 0


def test_importing_a_file_again_changes_nothing(tmp_path: Path) -> None:
    out(tmp_path)
    fill(tmp_path / "q.csv")
    first = taken(tmp_path)
    folder = Path(first.folder)
    before = kept(tmp_path), read_manifest(folder)
    again = taken(tmp_path, by="Bob")
    assert (again.new, again.known, again.pending) == (0, 36, 0)
    assert kept(tmp_path).equals(before[0])
    assert read_manifest(folder) == before[1]
    everything = out(tmp_path, every=True)
    assert everything.rows == 36
    assert taken(tmp_path).known == 36


def test_half_filled_sheets_leave_the_rest_pending(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")
    for at, row in enumerate(rows):
        row["answer"] = ["", " \n\t", row["text"]][at % 3]
    put(tmp_path / "q.csv", rows)
    found = taken(tmp_path)
    assert (found.new, found.pending) == (12, 24)
    finished = rate(load_plan(plan()), RunOptions(ratings=tmp_path / "ratings"))
    assert finished.document["run"]["state"] == "incomplete"
    assert finished.document["ratings"][0]["state"] == "incomplete"
    assert "cannot be asked by a program" in finished.asked.refused["me"]
    assert out(tmp_path).rows == 24


def test_rows_missing_reordered_and_doubled_are_understood(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")
    mixed = [*reversed(rows[5:]), rows[7], {**rows[8], "answer": ""}, {"id": "", "answer": ""}]
    put(tmp_path / "q.csv", mixed)
    found = taken(tmp_path)
    assert (found.new, found.pending) == (31, 5)
    assert kept(tmp_path).filter(pl.col("text") != pl.col("output")).is_empty()


def test_unknown_ids_changed_texts_and_conflicting_rows_are_refused_by_row(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")
    rows[0]["id"] = "q0000000000000000"
    rows[3]["text"] += " Please."
    result = faults(tmp_path, [*rows, {**rows[5], "answer": "otherwise"}])
    assert list(result) == ["q.csv, row 2", "q.csv, row 5", "q.csv, row 38"]
    assert "unknown id" in result["q.csv, row 2"]
    assert "the text was changed" in result["q.csv, row 5"]
    assert 'Please."' in result["q.csv, row 5"]  # long texts were cut off before they differed
    assert "in row 7" in result["q.csv, row 38"]
    assert not (tmp_path / "ratings").exists()


def test_an_answer_that_is_kept_is_never_replaced(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")
    put(tmp_path / "q.csv", rows[:10])
    taken(tmp_path)
    rows[4]["answer"] = "otherwise"
    result = faults(tmp_path, rows)
    assert list(result) == ["q.csv, row 6"]
    assert "already has a different answer" in result["q.csv, row 6"]
    assert kept(tmp_path).height == 10


def test_answers_are_corrected_and_taken_back_by_a_fresh_run(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv", lambda text: f"wrong {text}")
    first = taken(tmp_path)
    put(tmp_path / "q.csv", [{**row, "answer": row["text"]} for row in rows[:30]])
    summary = taken(tmp_path, fresh=True)
    assert (summary.new, summary.pending) == (30, len(rows) - 30)  # those left out are to be asked again
    assert summary.folder != first.folder
    assert not any(output.startswith("wrong") for output in kept(tmp_path)["output"])
    assert out(tmp_path, "rest.csv").rows == len(rows) - 30
    put(tmp_path / "q.csv", [{**row, "answer": row["text"]} for row in rows[30:]])
    assert taken(tmp_path).folder == summary.folder
    done = rate(load_plan(plan()), RunOptions(tmp_path / "ratings"))
    assert (str(done.folder), done.asked.calls) == (summary.folder, 0)
    with SqliteStore(Path(first.folder) / STORE, read_only=True) as store:  # as it was
        assert store.answers(prepared().targets[0].fingerprint)["output"].str.starts_with("wrong").all()


def test_rows_without_ids_are_found_by_their_exact_text(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")
    put(tmp_path / "q.csv", [{"text": f" {row['text']}\r\n", "answer": "x"} for row in rows[:20]])
    assert taken(tmp_path).new == 20
    assert taken(tmp_path).known == 20
    result = faults(tmp_path, [{"text": "Never asked.", "answer": "x"}, {"text": "", "answer": "x"}])
    assert "does not ask this text" in result["q.csv, row 2"]
    assert "neither an id nor a text" in result["q.csv, row 3"]


def test_rows_of_one_text_take_its_draws_in_order(tmp_path: Path) -> None:
    one = of_frame([("Hello.", "", 0, 0), ("Hello.", "", 0, 1), ("Bye.", "", 0, 0)])
    put(tmp_path / "q.csv", [{"text": "Hello.", "answer": "first"}, {"text": "Hello.", "answer": "second"}])
    assert taken(tmp_path, of=one).new == 2
    assert taken(tmp_path, of=one).known == 2
    found = kept(tmp_path, one).sort("draw")
    assert sorted(found["output"].to_list()) == ["first", "second"]
    put(tmp_path / "q.csv", [{"text": "Hello.", "answer": "x"}] * 3)
    with pytest.raises(PlanError, match="row 4: more rows with this text than it is asked"):
        taken(tmp_path, of=one)


def test_a_text_of_several_parts_needs_its_id(tmp_path: Path) -> None:
    document = translator_plan("http://127.0.0.1:9", texts=3, via=("es", "it"))
    one = prepared(document)
    assert out(tmp_path, of=one).rows == 18
    rows = rows_of(tmp_path / "q.csv")
    assert {row["part"] for row in rows} == {"es", "it"}
    put(tmp_path / "q.csv", [{"text": rows[0]["text"], "answer": "x"}])
    with pytest.raises(PlanError, match="several parts or chats"):
        taken(tmp_path, of=one)


def of_frame(rows: list[tuple[str, str, int, int]]) -> AskPlan:
    """A plan whose probes are these: message, session, turn, draw."""
    one = prepared()
    message, session, turn, draw = (list(column) for column in zip(*rows, strict=True))
    frame = pl.DataFrame(
        {
            "id": [f"u{at}" for at in range(len(rows))],
            "message": message,
            "session": session,
            "turn": turn,
            "draw": draw,
            "block": [""] * len(rows),
            "key": [""] * len(rows),
            "language": ["zh" if any(ord(one) > 0x4E00 for one in text) else "" for text in message],
        }
    )
    assert set(PROBE) < set(frame.columns)
    return replace(one, probes=dict.fromkeys(one.probes, frame))


def test_chats_count_when_they_are_answered_to_their_end(tmp_path: Path) -> None:
    turns = [
        ("Hello.", "s1", 0, 0),
        ("And women?", "s1", 1, 0),
        ("Hello.", "s2", 0, 0),
        ("女性呢？", "s2", 1, 0),
    ]
    one = of_frame(turns)
    out(tmp_path, of=one)
    rows = rows_of(tmp_path / "q.csv")
    assert sorted((row["session"], row["turn"], row["text"]) for row in rows) == sorted(
        (session, str(turn), text) for text, session, turn, _ in turns
    )
    assert [row["turn"] for row in rows] == ["0", "1", "0", "1"]
    assert {row["text"]: row["language"] for row in rows}["女性呢？"] == "zh"
    assert out(tmp_path, "one.csv", of=one, rows=1).rows == 2
    half = [{**row, "answer": row["text"]} for row in rows if (row["session"], row["turn"]) != ("s2", "1")]
    put(tmp_path / "q.csv", half)
    found = taken(tmp_path, of=one)
    assert (found.new, found.waiting, found.pending) == (2, 1, 2)
    put(tmp_path / "q.csv", [{**row, "answer": row["text"]} for row in rows])
    found = taken(tmp_path, of=one)
    assert (found.new, found.known, found.pending) == (2, 2, 0)
    with SqliteStore(Path(found.folder) / STORE, read_only=True) as store:
        store.integrity()
    assert kept(tmp_path, one)["message"].n_unique() == 4


def test_statuses_say_that_no_words_came(tmp_path: Path) -> None:
    out(tmp_path)
    rows = fill(tmp_path / "q.csv")[:4]
    given = [("empty", ""), ("refused", "No."), ("unreadable", "a picture"), ("Answered", "Yes.")]
    put(
        tmp_path / "q.csv",
        [{**row, "status": status, "answer": text} for row, (status, text) in zip(rows, given, strict=True)],
    )
    assert taken(tmp_path).new == 4
    found = {(status, output) for status, output in kept(tmp_path).select("status", "output").iter_rows()}
    assert found == {("empty", ""), ("refused", "No."), ("unreadable", None), ("answered", "Yes.")}
    result = faults(
        tmp_path,
        [
            {**rows[0], "status": "empty", "answer": "x"},
            {**rows[1], "status": "answered", "answer": ""},
            {**rows[2], "status": "fine", "answer": "x"},
        ],
    )
    assert "disagree" in result["q.csv, row 2"]
    assert "disagree" in result["q.csv, row 3"]
    assert "unknown status" in result["q.csv, row 4"]


def test_scores_must_be_numbers(tmp_path: Path) -> None:
    document = plan(task="score")
    document["experiments"] = [{"method": "causal", "services": ["me"]}]
    one = prepared(document)
    out(tmp_path, of=one, rows=3)
    rows = rows_of(tmp_path / "q.csv")
    put(
        tmp_path / "q.csv",
        [{**row, "answer": text} for row, text in zip(rows, [" 0.5", "-1", "1e-3"], strict=True)],
    )
    assert taken(tmp_path, of=one).new == 3
    assert sorted(kept(tmp_path, one)["output"].to_list()) == ["-1.0", "0.001", "0.5"]
    put(tmp_path / "q.csv", [{**row, "answer": "good"} for row in rows])
    with pytest.raises(PlanError, match="row 2: the answer is not a score"):
        taken(tmp_path, of=one)


def test_who_and_when_are_kept_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "planted-secret-1")
    out(tmp_path)
    rows = list({row["text"]: row for row in fill(tmp_path / "q.csv")}.values())[:3]  # of different texts
    rows[0] |= {"by": "Bob", "at": "2026-11-20T10:00+01:00"}
    rows[1] |= {"by": "planted-secret-1", "at": "2026-11-20"}
    put(tmp_path / "q.csv", rows)
    found = taken(tmp_path)
    at = dict(kept(tmp_path).select("text", "at").iter_rows())
    assert [at[row["text"]] for row in rows] == [
        "2026-11-20T09:00:00.000Z",
        "2026-11-20T00:00:00.000Z",
        "2026-11-22T09:30:00.000Z",
    ]
    (note,) = read_manifest(Path(found.folder))["imports"]
    assert (note["by"], note["answers"], note["file"]) == ("Ann", 3, "q.csv")
    assert note["at"] == "2026-11-22T09:30:00.000Z"
    raw = b"".join(path.read_bytes() for path in Path(found.folder).glob("store*"))
    assert b"by hand: Bob, q.csv" in raw
    assert b"planted-secret-1" not in raw
    result = faults(tmp_path, [{**rows[2], "at": "yesterday"}])
    assert "ISO 8601" in result["q.csv, row 2"]


def test_hostile_answers_are_kept_as_they_are(tmp_path: Path) -> None:
    answers = ['=HYPERLINK("http://example.org")', "<script>alert(1)</script>", "x" * 100_000, "a\x1b[31mb"]
    out(tmp_path, "q.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "q.jsonl").read_text("utf-8").splitlines()]
    filled = [{**row, "answer": text} for row, text in zip(rows, answers, strict=False)]
    (tmp_path / "q.jsonl").write_text("\n".join(json.dumps(row) for row in filled))
    assert taken(tmp_path, "q.jsonl").new == 4
    assert sorted(kept(tmp_path)["output"].to_list()) == sorted([*answers[:3], "a[31mb"])
    out(tmp_path, every=True)
    assert taken(tmp_path).known == 4


def test_a_deterministic_service_that_varies_is_asked_every_draw(tmp_path: Path) -> None:
    one = prepared(plan(deterministic=True))
    asked = out(tmp_path, of=one).asked
    count = iter(range(10_000))
    fill(tmp_path / "q.csv", lambda text: f"{text} {next(count)}")
    assert taken(tmp_path, of=one).pending == 0
    after = out(tmp_path, of=one)
    assert after.asked == 36
    assert after.pending == 36 - len(set(kept(tmp_path, one).select("message", "draw").rows()) & keys(one))
    assert asked <= 36 + 5


def keys(one: AskPlan) -> set[tuple[str, int]]:
    (frame,) = one.probes.values()
    return set(frame.select("key", "draw").rows())


def test_wrong_commands_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match='Did you mean "me"'):
        export(prepared(), "mee", tmp_path / "q.csv", tmp_path / "ratings", PendingRows())
    with pytest.raises(PlanError, match="unknown kind of sheet"):
        export(prepared(), "me", tmp_path / "q.txt", tmp_path / "ratings", PendingRows())
    (tmp_path / "q.csv").write_text("id,text\n")
    with pytest.raises(PlanError, match="the file already exists"):
        export(prepared(), "me", tmp_path / "q.csv", tmp_path / "ratings", PendingRows())
    with pytest.raises(PlanError, match="no column answer"):
        taken(tmp_path)
    (tmp_path / "q.csv").write_text("answer,remark\nx,y\n")
    with pytest.raises(PlanError, match="no column id or text"):
        taken(tmp_path)


def test_many_faults_are_counted(tmp_path: Path) -> None:
    put(tmp_path / "q.csv", [{"id": f"q{at}", "answer": "x"} for at in range(70)])
    with pytest.raises(PlanError) as caught:
        taken(tmp_path)
    assert len(caught.value.faults) == 51
    assert str(caught.value.faults[-1]) == "and: 20 more rows with faults."
