"""Statements taken apart: on our own labelled statements, and one rule at a time."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import pytest

from trustgauge.apps.properties.statement_parser import ParsedStatement, parse_statement

TABLE = (Path(__file__).parent / "statements.csv").read_text(encoding="utf-8")
ITEMS = list(csv.DictReader(io.StringIO(TABLE)))


def right(item: dict[str, str]) -> bool:
    found = parse_statement(item["statement"])
    says = item["state"] in ("kept", "person unknown")
    return found.state == item["state"] and (found.predicate == item["predicate"] or not says)


@pytest.mark.parametrize(("split", "least", "share"), [("first", 150, 0.97), ("fresh", 60, 0.88)])
def test_the_measured_share_is_what_the_data_card_says(split: str, least: int, share: float) -> None:
    items = [item for item in ITEMS if item["split"] == split]
    assert len(items) >= least
    assert sum(map(right, items)) / len(items) >= share


def test_no_statement_is_kept_with_a_wrong_predicate() -> None:
    # What cannot be told may be lost or given to a person; what is kept must be right.
    wrong = []
    for item in ITEMS:
        found = parse_statement(item["statement"])
        if found.state == "kept" and item["state"] == "kept" and found.predicate != item["predicate"]:
            wrong.append((item["statement"], found.predicate))
    assert [statement for statement, _ in wrong] == ["Schizophrenics hear voices and kill"]


def test_a_target_beside_the_statement_makes_an_unknown_subject_people() -> None:
    assert parse_statement("zorbians are lazy").state == "person unknown"
    for thing in ("table", "economy", "bible"):  # spelled like an adjective, and no people like "the poor"
        assert parse_statement(f"The {thing} is bad").state == "person unknown"
    assert parse_statement("The elderly are bad").state == "kept"
    assert parse_statement("zorbians are lazy", "zorbians") == ParsedStatement("kept", "zorbians", "are lazy")
    assert parse_statement("it is a lie", "zorbians").state == "kept"


def test_groups_can_be_brought() -> None:
    assert parse_statement("zorbians are lazy", people={"zorbians"}).state == "kept"
    assert parse_statement("left-handed zorbians are lazy", people={"zorbians"}).state == "kept"
    assert parse_statement("trumpets are lazy", people={"zorbians"}).state == "person unknown"


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        " ",
        "\x00",
        "?",
        "'",
        "are",
        "not",
        "who who who",
        "\u202ewomen are\u202c",
        "ｗｏｍｅｎ ａｒｅ ｐｏｏｒ",
        "女性很穷",
        "=cmd|' /C calc'!A0",
        "women " * 50 + "are poor",
    ],
)
def test_any_text_is_read(hostile: str) -> None:
    found = parse_statement(hostile)
    assert found.predicate == "" or found.state in ("kept", "person unknown", "no person")


def test_a_long_text_takes_no_long_time() -> None:
    began = time.perf_counter()
    parse_statement("women who " * 5_000 + "are poor")
    parse_statement("dress " * 5_000)
    assert time.perf_counter() - began < 5
