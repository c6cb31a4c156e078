"""The classifier out of plain files, against a naive calculation and broken files."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from trustgauge.errors import PlanError
from trustgauge.methods.trust import text_model
from trustgauge.methods.trust.text_model import (
    CARD,
    FEATURES,
    LINK,
    PERSON,
    WEIGHTS,
    TextModel,
    features,
    model_content,
    read_card,
    read_model,
    tokens,
    write_model,
)

TEXTS = ("good day to you", "a bad, bad road", "", "@anna see http://a.b/c !!!", "zzz", "good")


def small(seed: int = 0) -> TextModel:
    random = np.random.default_rng(seed)
    named = tuple(dict.fromkeys(one for text in TEXTS[:4] for one in features(text)))
    size = len(named)
    return TextModel(
        ("x", "y", "z"),
        named,
        random.uniform(1, 5, size),
        random.normal(size=(3, size)),
        random.normal(size=3),
    )


def naively(model: TextModel, text: str) -> list[float]:
    counts = Counter(one for one in features(text) if one in model.features)
    values = {
        one: (1 + math.log(n)) * float(model.idf[model.features.index(one)]) for one, n in counts.items()
    }
    length = math.sqrt(sum(value**2 for value in values.values())) or 1.0
    sums = [
        float(model.intercepts[k])
        + sum(float(model.weights[k][model.features.index(one)]) * v / length for one, v in values.items())
        for k in range(3)
    ]
    powers = [math.exp(one) for one in sums]
    return [one / sum(powers) for one in powers]


def test_probabilities_are_those_of_the_formula() -> None:
    model = small()
    found = model.probabilities(TEXTS)
    expected = np.array([naively(model, text) for text in TEXTS])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert model.classify(TEXTS) == [model.classes[row.argmax()] for row in expected]


def test_a_text_does_not_depend_on_its_neighbours() -> None:
    model = small()
    alone = np.concatenate([model.probabilities([text]) for text in TEXTS])
    np.testing.assert_allclose(model.probabilities(TEXTS), alone, rtol=0, atol=1e-14)
    many = list(TEXTS) * 2000  # more characters than are weighed at once
    assert sum(map(len, many)) > text_model.CHUNK
    np.testing.assert_allclose(model.probabilities(many), np.tile(alone, (2000, 1)), rtol=0, atol=1e-14)


def test_no_texts_no_rows() -> None:
    assert small().probabilities([]).shape == (0, 3)
    assert small().classify([]) == []


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Don\N{RIGHT SINGLE QUOTATION MARK}t SHOUT!!!", ["don't", "shout", "!", "!", "!"]),
        ("hi @bob, see https://x.y/z?q=1 now", ["hi", PERSON, ",", "see", LINK, "now"]),
        ("sooo &lt;3", ["sooo", "<", "3"]),
        ("\N{FULLWIDTH LATIN CAPITAL LETTER O}K", ["ok"]),
        (" \n\t ", []),
    ],
)
def test_tokens(text: str, cut: list[str]) -> None:
    assert tokens(text) == cut


def test_long_runs_of_a_character_are_as_two() -> None:
    assert features("nooooo") == features("noo") != features("no")


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    model = small()
    write_model(tmp_path, model, {"kind": "tried", "more": 1})
    again = read_model(tmp_path, "tried", "checker")
    np.testing.assert_array_equal(again.probabilities(TEXTS), model.probabilities(TEXTS))
    assert again.features == model.features
    assert read_card(tmp_path, "tried", "checker")["more"] == 1
    first = {name: (tmp_path / name).read_bytes() for name in (CARD, FEATURES, WEIGHTS)}
    write_model(tmp_path, model, {"kind": "tried", "more": 1})
    assert first == {name: (tmp_path / name).read_bytes() for name in first}


def test_the_content_follows_the_files(tmp_path: Path) -> None:
    write_model(tmp_path, small(), {"kind": "tried"})
    result = model_content(tmp_path, "", "checker")
    assert model_content(tmp_path, result, "checker") == result
    (tmp_path / FEATURES).write_text("[]")
    with pytest.raises(PlanError, match="not the one that was rated"):
        model_content(tmp_path, result, "checker")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (WEIGHTS, b"not an archive"),
        (FEATURES, b'["one"]'),
        (FEATURES, b'{"a": 1}'),
        (FEATURES, b"\xff"),
        (CARD, b'{"kind": "tried"}'),
        (CARD, b'{"kind": "other"}'),
        (CARD, b"[]"),
        (CARD, b"{"),
    ],
)
def test_broken_files_are_an_error_in_words(name: str, content: bytes, tmp_path: Path) -> None:
    write_model(tmp_path, small(), {"kind": "tried"})
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PlanError, match="holds no trained model") as error:
        read_model(tmp_path, "tried", "checker")
    assert error.value.faults[0].place == "checker"


def test_files_that_would_run_code_are_refused(tmp_path: Path) -> None:
    model = small()
    write_model(tmp_path, model, {"kind": "tried"})
    things = np.array([object()] * len(model.features), dtype=object)
    np.savez(tmp_path / WEIGHTS, idf=things, weights=model.weights, intercepts=model.intercepts)
    with pytest.raises(PlanError, match="cannot be read"):
        read_model(tmp_path, "tried", "checker")


def test_undefined_weights_are_refused(tmp_path: Path) -> None:
    model = small()
    broken = TextModel(model.classes, model.features, model.idf * np.nan, model.weights, model.intercepts)
    write_model(tmp_path, broken, {"kind": "tried"})
    with pytest.raises(PlanError, match="do not belong together"):
        read_model(tmp_path, "tried", "checker")


def test_a_missing_folder_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="trustgauge train tried TABLE -o FOLDER"):
        read_card(tmp_path / "none", "tried", "checker")
    assert json.dumps(model_content(tmp_path / "none", "", "checker")) == '"absent"'
