"""Recorded round trips in the layout of the authors' files; every text and figure in them is invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.papers.tables import cell, table_of
from trustgauge.apps.reproduce.paper_tables import PaperTable
from trustgauge.apps.reproduce.recorded_trips import levels_by_rule, read
from trustgauge.apps.reproduce.reproduction import fill_from_data
from trustgauge.apps.reproduce.two_step import from_data, tables
from trustgauge.errors import MethodError

JOBS = [f"{kind} {job}" for kind in ("rural", "senior", "young", "busy", "retired") for job in
        ("potter", "smith", "weaver", "sailor", "tailor", "glazier", "cooper", "miller")]  # fmt: skip
HE = {"u1": 20, "b1": 4, "b2": 36}
"""Mentions of He of the 40 of each block."""
Trip = Callable[[str], str]


def block(name: str, trip: Trip) -> list[dict[str, Any]]:
    """Twenty texts of a block, each word spread evenly, and what comes back."""
    he = {place for place in range(40) if (place * HE[name]) % 40 < HE[name]}
    texts = []
    for number in range(20):
        words = ["He" if 2 * number + slot in he else "She" for slot in (0, 1)]
        original = "".join(
            f"{word} is a {job}. " for word, job in zip(words, JOBS[2 * number :], strict=False)
        )
        back = trip(original.strip())
        tokens = back.lower().replace(".", "").split()
        shares = [min(tokens.count(word), 2) / 2 for word in ("he", "she")]
        texts.append(
            {
                "original": original,
                "translated": "…",
                "oto": back,
                "values": ["He", "She", "OTHER"],
                "originalDistrib": [words.count("He") / 2, words.count("She") / 2, 0.0],
                "otoDistrib": [*shares, 1 - sum(shares)],
            }
        )
    return texts


def write(folder: Path, translator: str, language: str, trip: Trip) -> Path:
    """The two files of one translator and language; returns the folder."""
    output = folder / "TranslatorDataShare/output"
    output.mkdir(parents=True, exist_ok=True)
    for step, names in (("true", ("u1",)), ("false", ("b1", "b2"))):
        # One of the authors' names lacks the space before the second hyphen.
        gap = "" if (step, language) == ("true", "pt") else " "
        file = output / f"Result - {step} - {translator}{gap}- {language}.json"
        file.write_text(json.dumps([block(name, trip) for name in names]), "utf-8")
    return folder


@cache
def at_hand() -> tuple[PaperTable, ...]:
    return tuple(tables())


def table_1(folder: Path) -> PaperTable:
    """Table 1 with what the folder adds to it."""
    return table_of("table-1", fill_from_data(at_hand(), from_data(folder)))


def masculine(text: str) -> str:
    return text.replace("She ", "He ")


def nobody(text: str) -> str:
    return text.replace("She ", "They ").replace("He ", "They ")


def test_table_1_follows_from_recorded_round_trips(tmp_path: Path) -> None:
    """A translator that keeps every word is data-sensitive, as printed for both of Spanish."""
    write(tmp_path, "t1", "es", str)
    write(tmp_path, "t2", "pt", masculine)
    table = table_1(tmp_path)
    spanish = cell(table, "Spanish", "G")
    assert (spanish.printed, spanish.published, spanish.released) == ("DSBS", "DSBS", "DSBS")
    assert (spanish.kind, spanish.verdict, spanish.share) == ("consistent", "agrees", 1 / 3)
    # The published tree calls one that makes everybody He data-sensitive; the sound rule does not.
    portuguese = cell(table, "Portuguese", "Y")
    assert (portuguese.published, portuguese.sound) == ("DSBS", "BS")
    assert cell(table, "Turkish", "G").kind == "unpublished"
    assert cell(table, "French", "G").kind == "public"


def test_without_the_records_four_languages_are_public_and_four_not() -> None:
    table = table_of("table-1", at_hand())
    kinds = {one.row: one.kind for one in table.cells}
    public = {"Spanish", "Portuguese", "French", "Arabic"}
    assert {row for row, kind in kinds.items() if kind == "public"} == public
    assert {row for row, kind in kinds.items() if kind == "unpublished"} == set(kinds) - public


def test_several_translators_of_a_language_are_all_possible(tmp_path: Path) -> None:
    """By texts that all come back as one balanced half, a level that the paper does not print."""
    write(tmp_path, "t1", "ar", str)
    swapped = str.maketrans({"H": "S", "S": "H"})
    write(tmp_path, "t2", "ar", lambda text: balanced(text.translate(swapped)))
    levels = {one.translator: levels_by_rule(one)["published"] for one in read(tmp_path)}
    assert levels == {"t1": "DSBS", "t2": "UCS"}
    table = table_1(tmp_path)
    arabic = cell(table, "Arabic", "G")
    assert (arabic.published, arabic.verdict, arabic.share) == ("DSBS or UCS", "agrees", 2 / 3)


def balanced(text: str) -> str:
    """One He and one She, whatever came."""
    first, second = text.rstrip(".").split(". ")
    return f"He {first.partition(' ')[2]}. She {second.partition(' ')[2]}."


def test_a_level_of_no_recorded_translator_is_not_documented(tmp_path: Path) -> None:
    write(tmp_path, "t1", "es", balanced)
    table = table_1(tmp_path)
    spanish = cell(table, "Spanish", "G")
    assert (spanish.published, spanish.verdict, spanish.documented) == ("UCS", "differs", False)
    assert not table.as_expected


def test_the_released_summary_is_recomputed(tmp_path: Path) -> None:
    """Shares of texts in which the share of He, of She and of neither changed."""
    write(tmp_path, "t1", "fr", nobody)
    summary = tmp_path / "TranslatorDataShare/output/Result - t1 - summary.csv"
    held = {
        name: [
            sum(any(word == one for word in text["original"].split()) for text in block(name, str)) / 20
            for one in ("He", "She")
        ]
        for name in HE
    }
    rows = [f"{name}, {he}, {she}, 1.0" for name, (he, she) in held.items()]
    summary.write_text("\n".join(["fr, He, She, OTHER", *rows]) + "\n", "utf-8")
    trips = from_data(tmp_path)[1]
    for name, (he, she) in held.items():
        found = cell(trips, "T1, French", f"{name}, share of texts changed")
        assert (found.released, found.verdict) == ([he, she, 1.0], "agrees")
    assert cell(trips, "T1, French", "texts read as recorded").released == 60
    summary.write_text("fr, He, She, OTHER\nu1, 0.0, 0.0, 0.0\n", "utf-8")
    assert cell(from_data(tmp_path)[1], "T1, French", "u1, share of texts changed").verdict == "differs"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.update(original="It is a table."), "It is a table"),
        (lambda text: text.pop("oto"), "oto"),
        (lambda text: text.update(otoDistrib=[1.0]), "not a record of round trips"),
    ],
)
def test_a_record_of_another_shape_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], told: str
) -> None:
    write(tmp_path, "t1", "es", str)
    file = next(tmp_path.rglob("Result - true*.json"))
    blocks = json.loads(file.read_text("utf-8"))
    change(blocks[0][3])
    file.write_text(json.dumps(blocks), "utf-8")
    with pytest.raises(MethodError) as caught:
        from_data(tmp_path)
    assert told in str(caught.value)


def test_a_missing_half_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MethodError, match="no public files of the paper"):
        from_data(tmp_path)
    write(tmp_path, "t1", "es", str)
    next(tmp_path.rglob("Result - false*.json")).unlink()
    with pytest.raises(MethodError, match="t1 by way of es are incomplete"):
        from_data(tmp_path)
