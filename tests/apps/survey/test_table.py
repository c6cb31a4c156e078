"""Surveys of orders: ways to write them, and what is wrong in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trustgauge.apps.survey.table import Survey, read_survey
from trustgauge.errors import PlanError

KNOWN = ("abuse", "bias", "complexity", "leakage")


def read(folder: Path, text: str, name: str = "people.csv", **how: Any) -> Survey:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return read_survey(file, KNOWN, **how)


def orders(survey: Survey) -> list[Any]:
    return [one.places for one in survey.answers]


MIXED = (("leakage",), ("abuse", "bias"))


def test_written_orders(tmp_path: Path) -> None:
    text = 'Person,Order\na,IL > AL = B\nb,"leakage, bias = abuse"\nc,\nd,cc\n'
    found = read(tmp_path, text)
    assert orders(found) == [MIXED, MIXED, (("complexity",),)]
    assert [(one.row, one.person) for one in found.answers] == [(2, "a"), (3, "b"), (5, "d")]
    assert (found.rows, found.blank, found.repeated, found.faults) == (4, 1, 0, ())


def test_ranks(tmp_path: Path) -> None:
    found = read(tmp_path, "IL,abuse,B,CC\n1,2,2,\n10,20.5,20.5,\n,,,3\n,,,\n")
    assert orders(found) == [MIXED, MIXED, (("complexity",),)]
    assert found.blank == 1


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"order": "IL > AL = B"},
        {"order": ["leakage", ["abuse", "bias"]]},
        {"order": ["IL", "B = AL"]},
        {"person": 7, "order": None},
    ]
    found = read(tmp_path, "\n".join(json.dumps(one) for one in rows), "people.jsonl")
    assert orders(found) == [MIXED] * 3
    assert found.blank == 1
    ranks = read(tmp_path, '{"leakage": 1, "abuse": 2, "bias": 2}\n', "ranks.jsonl")
    assert orders(ranks) == [MIXED]
    tabs = read(tmp_path, "order\tperson\nIL > AL = B\ta\n", "people.tsv")
    assert orders(tabs) == [MIXED]


def test_profiles_and_agreement(tmp_path: Path) -> None:
    found = read(tmp_path, "order,profile,agrees\n,privacy-first,Yes\nB,privacy-first,no\nB,,\n")
    assert [(one.places, one.profile, one.agrees) for one in found.answers] == [
        (None, "privacy-first", True),
        ((("bias",),), "privacy-first", False),
        ((("bias",),), "", None),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,IL > leakage,,", "leakage stands in it more than once"),
        ("a,IL > privacy,,", 'no issue "privacy"'),
        ("a,leakag,,", 'did you mean "leakage"?'),
        ("a,IL > > B,,", "a place is empty"),
        ('a,"[1, 2]",,', "is not a list of issues"),
        ('a,"[""IL""",,', "is not a list of issues"),
        ("a,[],,", "is not a list of issues"),
        ("a,IL,privacy-first,partly", "agrees must be yes or no"),
        ("a,IL,,yes", "agrees to no profile"),
        ("b,IL,,", "said something else in row 2"),
    ],
)
def test_wrong_rows_are_told_by_number(tmp_path: Path, row: str, said: str) -> None:
    text = f"person,order,profile,agrees\nb,CC,,\n{row}\n"
    with pytest.raises(PlanError) as result:
        read(tmp_path, text)
    (fault,) = result.value.faults
    assert fault.place == "row 3"
    assert said in str(fault)
    assert "--skip-faults" in fault.do
    left = read(tmp_path, text, skip=True)
    assert orders(left) == [(("complexity",),)]
    assert [one.place for one in left.faults] == ["row 3"]


def test_rows_are_those_of_the_file_and_other_columns_are_named(tmp_path: Path) -> None:
    text = "person,order,weight,Age\na,IL > B,0,7\n\nb,IL > abuze,1,9\n"
    found = read(tmp_path, text, skip=True)
    assert ([one.row for one in found.answers], [one.place for one in found.faults]) == ([2], ["row 4"])
    assert found.ignored == ("weight", "age")
    ranks = read(tmp_path, "abuse,abus,person\n1,2,a\n")
    assert ranks.ignored == ("abus",)
    lines = read(tmp_path, '{"order": "abuze"}\n{"order": "IL"}\n', "people.jsonl", skip=True)
    assert ([one.row for one in lines.answers], [one.place for one in lines.faults]) == ([2], ["row 1"])


@pytest.mark.parametrize("cell", ["first", "0", "-1", "nan", "inf"])
def test_ranks_are_numbers(tmp_path: Path, cell: str) -> None:
    with pytest.raises(PlanError, match="rank of abuse must be a number above 0"):
        read(tmp_path, f"abuse,bias\n{cell},1\n")


def test_the_same_again_counts_once(tmp_path: Path) -> None:
    found = read(tmp_path, "person,order\na,IL > B\na,leakage > bias\n,IL\n,IL\n")
    assert len(found.answers) == 3
    assert found.repeated == 1


def test_many_faults_are_cut(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as result:
        read(tmp_path, "order\n" + "nothing\n" * 50)
    assert len(result.value.faults) == 21
    assert "30 more faults" in str(result.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("person,age\na,3\n", "no orders"),
        ("order,abuse\nIL,1\n", "written in two ways"),
        ("AL,abuse\n1,2\n", "two columns rank one issue"),
        ("order,Order\nIL,IL\n", "two columns are called"),
        ("order,person\n,a\n", "no row contains an order"),
        ("order\n", "no rows"),
        ("order,agrees\nIL,yes\nIL,no\n", "the column agrees needs the column profile"),
    ],
)
def test_what_is_no_survey(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        read(tmp_path, text)
