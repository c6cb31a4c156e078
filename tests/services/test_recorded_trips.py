"""Recorded round trips as a service. Every text is invented, in the layout of the authors' files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.services.asking import replies_to
from trustgauge.errors import MethodError, PlanError, RejectedError
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.plan import load_plan
from trustgauge.run import run
from trustgauge.run.options import RunOptions
from trustgauge.run.targets import messages
from trustgauge.services.conformance import check_service
from trustgauge.services.recorded_trips import TRIPS, RoundTripReplay, RoundTripSource

ROWS: list[tuple[str, str | None, str, str]] = [
    ("He is a potter. She is a vet.", "He is a potter. She is a vet.", "es", "u1"),
    ("He is a potter. She is a vet.", "It is a potter. She is a vet.", "es", "u1"),
    ("She is a bus driver. He is a smith.", None, "es", "b1"),
    ("He is a potter. She is a vet.", "He is a potter. He is a vet.", "fr", "u1"),
]
NAMES = ("sent", "received", "language", "block")
JOBS = [
    f"{kind} {job}" for kind in ("rural", "busy") for job in ("potter", "smith", "weaver", "sailor", "miller")
]
Trip = Callable[[str], str]


def frame(rows: list[tuple[str, str | None, str, str]] = ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(NAMES, pl.String), orient="row")


def source(file: Path, **settings: Any) -> RoundTripSource:
    return RoundTripSource.model_validate({"file": file.name, **settings}, context={"folder": file.parent})


def write(file: Path, table: pl.DataFrame) -> None:
    """A table in the format that the ending names."""
    ending = file.suffix
    if ending == ".parquet":
        table.write_parquet(file)
    elif ending == ".jsonl":
        table.write_ndjson(file)
    elif ending == ".xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in (table.columns, *table.rows()):
            book.active.append(row)
        book.save(file)
    else:
        table.write_csv(file, separator="\t" if ending == ".tsv" else ",")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_tables_of_every_kind_are_read_alike(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"records.{ending}"
    write(file, frame())
    read = source(file).read()
    assert dict(read.schema) == dict(TRIPS)
    assert read.select(NAMES).rows() == ROWS
    assert read["middle"].null_count() == 4


def test_columns_of_other_names_and_columns_left_out(tmp_path: Path) -> None:
    file = tmp_path / "evidence.csv"
    write(file, frame().select(pl.col("sent").alias("text"), pl.col("received").alias("back")))
    read = source(file, columns={"sent": "text", "received": "back"}).read()
    assert read["language"].unique().to_list() == [""]
    assert read["block"].unique().to_list() == ["u1"]
    with pytest.raises(PlanError, match='no column "sent"'):
        source(file)
    with pytest.raises(PlanError, match='no column "lang"'):
        source(file, columns={"sent": "text", "received": "back", "language": "lang"})


def test_what_cannot_be_a_record_is_a_fault_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(PlanError, match="contains no recorded round trips"):
        source(tmp_path / "none")
    write(tmp_path / "mute.csv", frame([("He is a potter.", None, "es", "u1")]))
    with pytest.raises(PlanError, match="nothing came back"):
        source(tmp_path / "mute.csv")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(PlanError, match="cannot be read as parquet"):
        source(tmp_path / "broken.parquet")
    (tmp_path / "Result - true - t1 - es.json").write_text('[{"original": 1}]', "utf-8")
    with pytest.raises(PlanError, match="not a record of round trips"):
        source(tmp_path / "Result - true - t1 - es.json")


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "records.csv"
    write(file, frame())
    content = source(file).content
    assert source(file, content=content).content == content
    write(file, frame(ROWS[:1]))
    with pytest.raises(PlanError, match="not the one that was rated"):
        source(file, content=content)


def service(file: Path, **settings: Any) -> RoundTripReplay:
    table = {"use": "recorded-round-trips", "trips": {"file": file.name, **settings}}
    return RoundTripReplay.model_validate(table, context={"folder": file.parent})


def test_a_language_is_a_part_and_answers_as_recorded(tmp_path: Path) -> None:
    file = tmp_path / "records.csv"
    write(file, frame().with_columns(middle=pl.lit("…")))
    mine = service(file)
    parts = mine.parts()
    assert list(parts) == ["es", "fr"]
    assert len({mine.fingerprint, *(one.fingerprint for one in parts.values())}) == 3
    probes = mine.script()
    assert probes.select("message", "draw", "of_part", "segment").rows() == [
        (ROWS[0][0], 0, "es", 0),
        (ROWS[0][0], 1, "es", 0),
        (ROWS[2][0], 0, "es", 0),
        (ROWS[3][0], 0, "fr", 0),
    ]
    asked = messages(probes.head(2))
    spanish = asyncio.run(replies_to(parts["es"], asked))
    assert [one.output for one in spanish] == [ROWS[0][1], ROWS[1][1]]
    assert spanish[0].trail == ("…",)
    check_service(parts["es"], asked)
    french = asyncio.run(replies_to(parts["fr"], asked[:1]))
    assert french[0].output == ROWS[3][1]
    with pytest.raises(RejectedError):
        asyncio.run(replies_to(parts["es"], messages(probes.slice(2, 1))))


def method(**settings: Any) -> TwoStep:
    return TwoStep(method="two-step", services=("it",), **settings)


def test_values_and_occupations_are_read_off_what_was_sent(tmp_path: Path) -> None:
    file = tmp_path / "records.csv"
    sent = [
        "He is a Actor /Actress. She is a potter.",
        "The bus driver finished her work.",
        "I met him when he was an old smith. Everybody thanked the vet for her help. She introduced himself.",
        "Maria is a potter. He is a vet.",
        "The nurse was tired because she worked.",
    ]
    write(file, frame([(one, one, "es", "u1") for one in sent]))
    rows = method().log_probes(service(file).script()).select("items", "values").rows()
    assert rows == [
        (["Actor /Actress", "potter"], [0, 1]),
        (["bus driver"], [1]),
        ([], []),
        ([], []),
        (["nurse"], [1]),
    ]


def test_texts_of_other_things_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "records.csv"
    write(file, frame([("A cat sleeps.", "A cat sleeps.", "es", "u1")]))
    with pytest.raises(MethodError, match="no text of the records mentions gender"):
        method().log_probes(service(file).script())
    write(file, frame([("He is a vet.", "He is a vet.", "es", "x9")]))
    with pytest.raises(MethodError, match=r"is not known\. Must be one of: u1, b1, b2"):
        method().log_probes(service(file).script())


def block(he: int, trip: Trip) -> list[dict[str, Any]]:
    """Ten texts with 20 mentions, `he` of them He, and what comes back: in the layout of the authors."""
    words = ["He" if place * he % 20 < he else "She" for place in range(20)]
    texts = []
    for number in range(10):
        pair = words[2 * number : 2 * number + 2]
        jobs = (JOBS[number], JOBS[-1 - number])
        original = "".join(f"{word} is a {job}. " for word, job in zip(pair, jobs, strict=True))
        texts.append(
            {
                "original": original,
                "translated": "…",
                "oto": trip(original),
                "values": ["He", "She", "OTHER"],
                "originalDistrib": [pair.count("He") / 2, pair.count("She") / 2, 0.0],
                "otoDistrib": [0.5, 0.5, 0.0],
            }
        )
    return texts


def records(folder: Path, trips: dict[str, Trip]) -> Path:
    """Files of translators t1 (as `trips` say, by language) and t9 (which does nothing)."""
    for translator, made in (("t1", trips), ("t9", {"es": str})):
        for language, trip in made.items():
            for step, shares in (("true", (10,)), ("false", (2, 18))):
                gap = "" if (step, language) == ("true", "pt") else " "  # one name lacks a space
                name = f"Result - {step} - {translator}{gap}- {language}.json"
                text = json.dumps([block(he, trip) for he in shares], indent="\t" if gap else None)
                (folder / name).write_text(text, "utf-8")
    return folder


def all_he(text: str) -> str:
    return text.replace("She is", "He&#39;s")


def plan(folder: Path, rule: str = "sound") -> dict[str, Any]:
    trips = {"file": str(folder), "layout": "results", "translator": "t1"}
    return {
        "name": "records",
        "seed": 1,
        "services": {"theirs": {"use": "recorded-round-trips", "trips": trips}},
        "experiments": [{"method": "two-step", "services": ["theirs"], "texts": 20, "rule": rule}],
    }


@pytest.mark.parametrize("rule", ["sound", "published", "released"])
def test_records_of_the_two_step_authors_are_rated(tmp_path: Path, rule: str) -> None:
    folder = records(tmp_path, {"es": all_he, "pt": str})
    finished = run.rate(load_plan(plan(folder, rule)), RunOptions(tmp_path / "ratings"))
    (rating,) = finished.document["ratings"]
    found = {part["title"]: part for part in rating["parts"]}
    assert {title: part["level"] for title, part in found.items()} == {"Spanish": "BS", "Portuguese": "DSBS"}
    assert found["Spanish"]["coverage"]["answered"] == 30
    assert found["Portuguese"]["details"]["matrix"] == [[30, 0, 0], [0, 30, 0], [0, 0, 0]]
    assert [one["block"] for one in found["Spanish"]["counts"]["blocks"]] == ["u1", "b1", "b2"]
    assert found["Spanish"]["counts"]["blocks"][1]["in"] == [2, 18, 0]
    assert not [one for one in finished.derived.controls if one.wrong]


def test_several_translators_in_a_folder_have_to_be_told_apart(tmp_path: Path) -> None:
    folder = records(tmp_path, {"es": str})
    with pytest.raises(PlanError, match=r"several translators\. Must be one of: t1, t9"):
        source(folder, layout="results")
    with pytest.raises(PlanError, match='no records of translator "t2"'):
        source(folder, layout="results", translator="t2")
    assert source(folder, layout="results", translator="t9").read()["language"].unique().to_list() == ["es"]


def test_what_is_absent_is_missing_and_what_was_not_understood_is_unread(tmp_path: Path) -> None:
    folder = records(tmp_path, {"es": str})
    rows = source(folder, layout="results", translator="t1").read()
    gone = rows.with_row_index("row").with_columns(
        received=pl.when(pl.col("row") == 3).then(None).otherwise("received"),
        sent=pl.when(pl.col("row") == 7).then(pl.lit("Somebody is a vet.")).otherwise("sent"),
    )
    write(tmp_path / "records.csv", gone.drop("row"))
    table = plan(tmp_path)
    table["services"]["theirs"]["trips"] = {"file": str(tmp_path / "records.csv")}
    finished = run.rate(load_plan(table), RunOptions(tmp_path / "ratings"))
    (part,) = finished.document["ratings"][0]["parts"]
    assert (part["coverage"]["failed"], part["coverage"]["unreadable"]) == (1, 1)
    assert part["coverage"]["planned"] == 30
    assert sum(map(sum, part["details"]["matrix"])) == 56
