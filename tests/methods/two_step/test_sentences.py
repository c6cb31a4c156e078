"""What the report says of kinds of sentences, and of output that is like nothing that was declared."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trustgauge.catalogue import read
from trustgauge.methods.two_step.view import pattern_tables
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.reports.components import Evidence, Fold, Table, Title
from trustgauge.run import run
from trustgauge.run.options import RunOptions
from trustgauge.run.verify import evidence_of_run

SERVICES = r"""
import re


def possessive(text):
    return re.sub(r"\bher (work|help)\b", r"his \1", text)


def identity(text):
    return text


def nobody(text):
    return re.sub(r"\b(he|she|him|his|her|himself|herself)\b", "it", text, flags=re.I)


def loses(text):
    return re.sub(r"introduced \w+\.", "began.", text)
"""


def rated(folder: Path, names: tuple[str, ...], **settings: Any) -> Path:
    (folder / "services_of_patterns.py").write_text(SERVICES, "utf-8")
    common = {"use": "function", "folder": str(folder), "task": "translate"}
    services = {name: {**common, "function": f"services_of_patterns:{name}"} for name in names}
    experiment = {"method": "two-step", "services": list(names), "texts": 100, "draws": 1000, **settings}
    plan = load_plan({"seed": 2, "services": services, "experiments": [experiment]})
    return run.rate(plan, RunOptions(ratings=folder / "ratings")).folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rated(tmp_path_factory.mktemp("patterns"), ("possessive", "identity", "loses"))


def lines(folder: Path) -> list[list[str]]:
    title, fold = pattern_tables(read(folder)["ratings"], evidence_of_run(folder), Evidence())
    assert isinstance(title, Title)
    assert isinstance(fold, Fold)
    (table,) = fold.pieces
    assert isinstance(table, Table)
    assert [head.text for head in table.heads][1:3] == ["Service", "Mentions"]
    return [[str(cell.text) for cell in line] for line in table.rows]


def test_each_kind_of_sentence_is_counted_by_itself(folder: Path) -> None:
    rows = evidence_of_run(folder)
    found = lines(folder)
    assert len(found) == 15
    for service in ("possessive", "identity", "loses"):
        mine = rows.filter(pl.col("service") == service)
        sent = [
            (text, value) for text, values in mine.select("sent", "values_in").iter_rows() for value in values
        ]
        assert sum(int(line[2]) for line in found if line[1] == service) == len(sent)
    changed = {
        (line[1], re.sub(r"^The \w+ ", "", line[0])[:10]): line for line in found if line[3] != "100 %"
    }
    assert sorted(one for one, _ in changed) == ["loses", "possessive", "possessive"]
    (loses,) = (line for line in changed.values() if line[1] == "loses")
    assert loses[3] == "0 %"
    assert "introduced h" in loses[0]
    n = sum(
        values.count("She")
        for text, values in rows.filter(pl.col("service") == "possessive")
        .select("sent", "values_in")
        .iter_rows()
        if " finished " in text
    )
    (work,) = (line for line in changed.values() if " finished " in line[0])
    assert work[4] == f"She → He: {n} of {n}"
    assert " her work" in work[0]


def test_the_report_shows_it_above_the_evidence(folder: Path) -> None:
    page = (folder / "report.html").read_text("utf-8")
    assert page.count("15 kinds of sentences") == 1
    options = re.search(r'data-filter="pattern".*?</select>', page)
    assert options
    kinds = {"object", "possessive", "praise", "reflexive", "subject"}
    assert set(re.findall(r'<option value="(\w+)"', options[0])) == kinds


def test_a_sample_is_said_to_be_one(folder: Path) -> None:
    rows = evidence_of_run(folder).with_columns(of_rows=10_000)
    title = pattern_tables(read(folder)["ratings"], rows, Evidence())[0]
    assert isinstance(title, Title)
    assert title.lead.endswith("Counted in an even sample of the texts.")


def test_by_the_published_rule_losing_everything_is_not_said_to_repeat_the_input(tmp_path: Path) -> None:
    made = rated(tmp_path, ("nobody", "identity"), rule="published")
    nobody, identity = (sentences.verdict(one) for one in read(made)["ratings"])
    assert nobody == (
        "Balanced input comes back like none of the declared distributions (100 % of the mentions are lost), "
        "which the rule “published” does not count as adding bias."
    )
    assert identity == "It adds no bias of its own, but repeats the bias of its input."


def test_texts_of_one_pattern_need_no_table(tmp_path: Path) -> None:
    one = rated(tmp_path, ("possessive",), patterns=["possessive"])
    page = (one / "report.html").read_text("utf-8")
    assert "By kind of sentence" not in page
    assert 'data-filter="pattern"' not in page
