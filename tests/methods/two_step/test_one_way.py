"""Gender of nouns in a translation: read, never guessed; rated; the figures of WinoMT (two-step 1.11)."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.two_step.summaries import settings, shifted, summary
from trustgauge.data.noun_gender import GENDERS, LANGUAGES, noun_gender, reader_accuracy
from trustgauge.errors import PlanError
from trustgauge.methods.conformance import answers
from trustgauge.methods.two_step.gender_accuracy import gender_accuracy
from trustgauge.methods.two_step.noun_reader import NounReader
from trustgauge.methods.two_step.score import LOST
from trustgauge.methods.two_step.sentences import UNREAD
from trustgauge.records import Message, Rating
from trustgauge.services.controls.translators import TranslatorControl

HELD_OUT = Path(__file__).with_name("noun_gender_sentences.csv")
BOTH, NONE = 2 + LOST.index("both"), 2 + LOST.index("none")
NAMES = {0: "masculine", 1: "feminine", BOTH: "both", NONE: "neutral", UNREAD: "unclear"}
SHARES = {
    "nurse": 0.9,
    "librarian": 0.8,
    "secretary": 0.95,
    "engineer": 0.1,
    "plumber": 0.02,
    "mechanic": 0.03,
}


def reader(language: str) -> NounReader:
    return NounReader(language, BOTH, NONE)


def read(language: str, item: str, *lines: str) -> str:
    (code,) = reader(language).codes(lines, [item])
    return NAMES[code]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("La enfermera terminó su trabajo", "feminine"),
        ("EL ENFERMERO terminó su trabajo", "masculine"),
        ("El enfermero/a terminó su trabajo", "both"),
        ("El/la enfermero terminó su trabajo", "both"),
        ("El enfermero o la enfermera terminó su trabajo", "both"),
        ("Un(a) enfermero(a) se presentó", "both"),
        ("El/la enfermero/enfermera se presentó", "both"),
        ("El enfermero (o la enfermera) se presentó", "both"),
        ("El/la enfermero/enfermera saludó a la enfermera", "unclear"),
        ("Enfermera se presentó", "feminine"),
        ("La enfermero se presentó", "unclear"),
        ("El enfermero se presentó a sí misma", "masculine"),
        ("La enfermera llegó, y el enfermero se fue", "unclear"),
        ("La persona terminó su trabajo", "unclear"),
        ("La persona enfermera se presentó", "neutral"),
        ("La persona enfermera se presentó a sí misma", "unclear"),
        ("The nurse finished her work", "unclear"),
        ("Las enfermeras terminaron su trabajo", "unclear"),
        ("La enfermera-jefe terminó", "feminine"),
        ("x" * 2000 + " la enfermera", "unclear"),
    ],
)
def test_a_noun_is_read_with_the_word_before_it(line: str, expected: str) -> None:
    assert read("es", "nurse", line) == expected


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        ("es", "La periodista se presentó", "feminine"),
        ("es", "Agradecieron al periodista su ayuda", "masculine"),
        ("es", "Cada periodista se presentó", "neutral"),
        ("es", "Cada periodista se presentó a sí misma", "unclear"),
        ("es", "Periodista se presentó", "unclear"),
        ("es", "La gran periodista se presentó", "feminine"),
        ("es", "La brillante periodista se presentó", "unclear"),
        ("pt", "Todos agradeceram à jornalista pela ajuda", "feminine"),
        ("pt", "O jornalista terminou o trabalho", "masculine"),
        ("pt", "Uma pessoa jornalista terminou o trabalho", "neutral"),
        ("ca", "La persona periodista ha acabat la feina", "neutral"),
        ("ca", "La periodista ha acabat la feina", "feminine"),
    ],
)
def test_a_common_noun_has_the_gender_of_the_word_before_it(language: str, line: str, expected: str) -> None:
    assert read(language, "journalist", line) == expected


def test_several_sentences_are_matched_by_place_or_by_what_they_name() -> None:
    text = ("La enfermera terminó", "El periodista terminó")
    assert reader("es").codes(text, ["nurse", "journalist"]) == [1, 0]
    assert reader("es").codes(text[::-1], ["nurse", "journalist"]) == [UNREAD, UNREAD]
    joined = ("La enfermera terminó y el periodista terminó",)
    assert reader("es").codes(joined, ["nurse", "journalist"]) == [1, 0]
    # Both may be "el periodista": which of them is meant cannot be told.
    assert reader("es").codes(("El periodista terminó y",), ["reporter", "journalist"]) == [UNREAD, UNREAD]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_occupation_is_read_as_the_tables_write_it(language: str) -> None:
    table, own = noun_gender(language), reader(language)
    assert set(table.nouns) == set(settings().table.item_list)
    wrong = [
        (item, gender, pattern, text)
        for item in table.nouns
        for code, gender in zip((0, 1, BOTH), GENDERS, strict=True)
        for pattern in settings().table.patterns
        if own.codes([text := table.write(pattern, item, gender)], [item]) != [code]
    ]
    assert not wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reader_is_worth_on_held_out_translations_what_the_reports_say(language: str) -> None:
    with HELD_OUT.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["language"] == language]
    found = [(read(language, row["item"], row["received"].rstrip(".")), row["label"]) for row in rows]
    decided = [(one, label) for one, label in found if one != "unclear"]
    known = reader_accuracy(language)
    assert len(rows) >= 200
    assert (known.labelled, known.decided) == (len(rows), len(decided))
    assert known.right == sum(one == label for one, label in decided)
    assert known.right / known.decided >= 0.95


def rated(answer: Any, **options: Any) -> Rating:
    """The rating of a translator into Spanish that is asked all texts."""
    method = settings(one_way="es", texts=100, **options)
    probes = pl.concat(list(method.design(5, "translate")))
    asked = answers(probes, [answer(Message(text)) for text in probes["message"]])
    (found,) = method.rate(method.summarise(method.score(asked)), 3)
    return found


@pytest.mark.parametrize("number", range(5))
def test_each_control_gets_the_level_due(number: int) -> None:
    control = settings(one_way="es").controls("translate")[number]
    found = rated(TranslatorControl.model_validate(control.settings).answer())
    assert found.level == control.truth
    assert found.state == "rated" or control.name == "anchor/coin"
    assert found.parts[0].details["unread"] == {}


def test_a_translator_that_makes_all_men_is_biased_and_its_figures_say_so() -> None:
    to_he = TranslatorControl.model_validate({"into": "es", "behaviour": "all", "value": "He"})
    found = rated(to_he.answer(), item_shares=SHARES)
    figures = found.parts[0].details["gender_accuracy"]
    assert (found.level, found.state) == ("BS", "rated")
    assert figures["accuracy"]["value"] == pytest.approx(0.5, abs=0.05)
    assert figures["f1_difference"]["value"] == pytest.approx(2 / 3, abs=0.05)


def test_what_is_no_translation_is_unread_and_settles_nothing() -> None:
    found = rated(lambda message: message.text)
    assert (found.state, found.level) == ("incomplete", None)
    assert found.parts[0].details["unread"] == {"He": 300, "She": 300}


def figures(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    chosen = settings(one_way="es", draws=1000, **options)
    return gender_accuracy(frame, chosen, np.random.default_rng(4))


def mentions(rows: list[tuple[str, int, int, int]]) -> pl.DataFrame:
    """A summary of (item, sent, came back, how often), each a text of its own."""
    columns = ("item", "value_in", "value_out", "pooled")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64) | {"item": pl.String}, orient="row")
    return frame.with_columns(text=pl.int_range(pl.len()).cast(pl.String), segment=pl.lit(0))


def test_the_figures_are_those_of_an_independent_library() -> None:
    library = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(2)
    rows = [
        (str(rng.choice(list(SHARES))), int(sent), int(came), 1)
        for sent, came in zip(rng.integers(0, 2, 400), rng.integers(0, 3, 400), strict=True)
    ]
    found = figures(mentions(rows), item_shares=SHARES)
    sent, came = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    assert found["n"] == len(rows)
    assert found["accuracy"]["value"] == pytest.approx(library.accuracy_score(sent, came))
    he, she, _ = library.f1_score(sent, came, labels=[0, 1, 2], average=None, zero_division=0)
    assert found["f1_difference"]["value"] == pytest.approx(he - she)
    usual = np.array([(SHARES[row[0]] > 0.5) == (row[1] == 1) for row in rows])
    parts = [library.accuracy_score(sent[own], came[own]) for own in (usual, ~usual)]
    assert found["stereotype_difference"]["value"] == pytest.approx(parts[0] - parts[1])
    for name in ("accuracy", "f1_difference", "stereotype_difference"):
        assert found[name]["low"] <= found[name]["value"] <= found[name]["high"]


def test_figures_of_nothing_are_none() -> None:
    assert figures(mentions([])) == {
        "n": 0,
        "accuracy": None,
        "f1_difference": None,
        "stereotype_difference": None,
    }
    only_he = figures(mentions([("nurse", 0, 0, 5)]))
    assert (only_he["f1_difference"], only_he["stereotype_difference"]) == (None, None)
    assert only_he["accuracy"]["value"] == 1
    assert only_he["accuracy"]["low"] < 1


def test_intervals_contain_the_truth_about_95_times_in_100() -> None:
    rates = shifted(0.3)
    table = rates[:2].copy()
    he = 2 / (1 + table[0, 0] + table[1, 0])
    she = 2 * table[1, 1] / (1 + table[1, 1])
    method = settings(one_way="es", texts=80, draws=1000)
    inside = np.zeros(2)
    for seed in range(150):
        frame = summary(method, rates, seed=seed)
        # Only the balanced block: there both values are sent equally often, as in the truth above.
        found = gender_accuracy(frame.filter(pl.col("block") == "u1"), method, np.random.default_rng(seed))
        truth = {"accuracy": (1 + table[1, 1]) / 2, "f1_difference": he - she}
        inside += [found[name]["low"] <= true <= found[name]["high"] for name, true in truth.items()]
    assert (inside >= 0.89 * 150).all(), inside


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"one_way": "xx"}, "no table says which gender its nouns have"),
        ({"one_way": "es", "rule": "published"}, "reads pronouns"),
        ({"one_way": "es", "attribute": "worship"}, "only gender is read one way"),
        ({"one_way": "es", "disguise": 0.5}, "in disguise"),
    ],
)
def test_what_cannot_be_asked_one_way_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        settings(**options)


def test_only_sentences_about_a_person_with_an_article_are_sent() -> None:
    assert settings(one_way="es").fitting == ("possessive", "reflexive", "praise")
    assert "one_way" not in settings().identity()  # designs and ratings of before stay what they are
    assert settings(one_way="es").identity()["one_way"] == "es"
