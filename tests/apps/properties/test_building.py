"""From raw statements to a set of properties, step by step, and on from where a person left it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa as reference_kappa

from trustgauge.apps.properties.building import (
    COLUMNS,
    MARKS,
    BuildOptions,
    PropertySet,
    agreement,
    build,
    decide,
)
from trustgauge.apps.properties.raw_statements import RawShape, Role
from trustgauge.data.properties import PropertySource
from trustgauge.data.translations import ngram_cosines, settle
from trustgauge.errors import PlanError
from trustgauge.stats.agreement import fleiss_kappa

TABLE = """text,ann,bob,cy,first,second,opposite,second look
women can't juggle,Ability,"Ability, Crime",7,不会杂耍,不会杂耍,women can juggle,yes
Women cannot juggle!,,,,,,,
men are noisy,Crime,Crime,Personality,很吵,吵得很,are silent,
are men noisy?,Crime,Crime,Crime,,,,
old people hoard,Discard,discard,Health,,,,
Zorbians are lazy,[6],6,personality,懒惰,很懒惰,,
the weather is wet,,,,,,,
poor people,,,,,,,
DELETE,,,,,,,
tall people own hats,Health,Belief,Culture,,有帽子,own no hats,
"""
COLUMNS_OF: dict[Role, str] = {
    "statement": "text",
    "zh_first": "first",
    "zh_second": "second",
    "antonym": "opposite",
    "antonym_checked": "second look",
}
HOW = RawShape(columns=COLUMNS_OF, labels=("ann", "bob", "cy"))
BUILDING = BuildOptions(fleiss_kappa)


def written(folder: Path, text: str, name: str = "raw.csv") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def by_id(built: PropertySet) -> dict[str, dict[str, str]]:
    return {row["id"]: dict(row) for row in built.rows}


def saved(built: PropertySet, file: Path) -> Path:
    with file.open("w", encoding="utf-8", newline="") as opened:
        built.write(opened)
    return file


def test_every_step_counts_what_it_did(tmp_path: Path) -> None:
    report = build(written(tmp_path, TABLE), BUILDING, HOW).report
    assert report["shape"] == "table"
    assert report["statements"] == {
        "read": 10,
        "discarded": 1,
        "empty": 0,
        "question": 1,
        "no predicate": 1,
        "no person": 1,
        "person unknown": 1,
        "duplicates": 1,
        "left": 5,
    }
    labels = {name: value for name, value in report["labels"].items() if name != "agreement"}
    assert labels == {"labelled": 3, "discarded": 1, "labels": 1, "split": 0, "unknown label": 0}
    assert report["antonyms"] == {"given": 3, "added": 3, "unusable": 0, "missing": 1, "same polarity": 0}
    translations = report["translations"]
    assert (translations["compared"], translations["alike"], translations["for a person"]) == (3, 2, 2)
    assert report["properties"] == {"rows": 7, "ready": 2, "waiting": 5}
    assert json.loads(json.dumps(report)) == report


def test_what_is_sure_is_written_and_the_rest_is_marked(tmp_path: Path) -> None:
    rows = by_id(build(written(tmp_path, TABLE), BUILDING, HOW))
    assert rows["can-not-juggle"] == {
        "id": "can-not-juggle",
        "predicate": "can not juggle",
        "categories": "competence",
        "polarity": "negative",
        "antonym": "can-juggle",
        "comparable": "0",
        "zh": "不会杂耍",
        "zh_comparative": "",
        "offensive": "1",
        "zh_first": "不会杂耍",
        "zh_second": "不会杂耍",
        "person": "",
        "statement": "women can't juggle",
    }
    assert rows["can-juggle"]["polarity"] == "positive"
    assert rows["can-juggle"]["categories"] == "competence"
    assert rows["can-juggle"]["person"] == ""
    assert rows["are-noisy"]["person"] == "check antonym|translation"
    assert rows["are-noisy"]["zh"] == ""
    assert rows["are-lazy"]["person"] == "subject|antonym"
    assert (rows["are-lazy"]["zh"], rows["are-lazy"]["zh_comparative"]) == ("很懒惰", "懒惰")
    assert rows["own-hats"]["person"] == "labels|check antonym|translation"
    assert rows["own-no-hats"]["person"] == "labels|check antonym"
    assert set(rows) == {
        "can-not-juggle", "can-juggle", "are-noisy", "are-silent", "are-lazy", "own-hats", "own-no-hats",
    }  # fmt: skip


def test_only_what_waits_for_nobody_is_asked(tmp_path: Path) -> None:
    file = saved(build(written(tmp_path, TABLE), BUILDING, HOW), tmp_path / "set.csv")
    source = PropertySource(layout="ours", file=file)
    assert [one.predicate for one in source.properties()] == ["can not juggle", "can juggle"]
    assert source.report()["waiting for a person"] == 5


def test_a_person_fills_in_and_it_goes_on_from_there(tmp_path: Path) -> None:
    file = saved(build(written(tmp_path, TABLE), BUILDING, HOW), tmp_path / "set.csv")
    untouched = build(file, BUILDING)
    assert untouched.report["shape"] == "ours"
    out = io.StringIO()
    untouched.write(out)
    assert out.getvalue() == file.read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    for row in rows:
        if row["id"] == "are-lazy":
            row |= {"person": "", "antonym": "are busy"}
        if row["id"] in ("own-hats", "own-no-hats"):
            row |= {"categories": "Culture", "person": "", "zh": f"{row['zh_second'] or '没有帽子'}"}
        if row["id"] == "are-silent":
            row["predicate"] = "delete"
    with (tmp_path / "filled.csv").open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    after = by_id(build(tmp_path / "filled.csv", BUILDING))
    assert (after["own-hats"]["person"], after["own-hats"]["categories"]) == ("", "culture")
    assert after["own-no-hats"]["zh"] == "没有帽子"
    # A new antonym has been seen by one person only.
    assert after["are-lazy"]["person"] == "check antonym"
    assert (after["are-busy"]["polarity"], after["are-busy"]["antonym"]) == ("positive", "are-lazy")
    assert "are-silent" not in after
    assert after["are-noisy"]["person"] == "antonym|translation"


def test_a_formula_is_no_formula_in_the_file(tmp_path: Path) -> None:
    text = "statement,target\n=women are dull,women\nzorbians lie,zorbians\n"
    result = [row["statement"] for row in build(written(tmp_path, text), BUILDING).rows]
    assert result == ["'=women are dull", "zorbians lie"]


def test_two_negatives_are_no_antonyms(tmp_path: Path) -> None:
    text = "statement,antonym\nmen are dull,are drab\nwomen are drab,are bright\n"
    built = build(written(tmp_path, text), BUILDING)
    rows = by_id(built)
    assert "check polarity" in rows["are-dull"]["person"].split("|")
    assert "check polarity" not in rows["are-drab"]["person"].split("|")
    assert built.report["antonyms"]["same polarity"] == 1


def test_singular_statements_become_plural_or_are_marked(tmp_path: Path) -> None:
    rows = by_id(build(written(tmp_path, "statement\nA woman drives badly\nA man is a liar\n"), BUILDING))
    assert set(rows) == {"drive-badly", "are-a-liar"}
    assert "number" in rows["are-a-liar"]["person"].split("|")
    assert "number" not in rows["drive-badly"]["person"].split("|")


def test_the_shape_of_sbic_is_known(tmp_path: Path) -> None:
    text = (
        "post,targetMinority,targetStereotype\n"
        "x,zorbians,zorbians juggle badly\n"
        'x,"[""zorbians"", ""women""]","[""zorbians are dull"", ""women are dull""]"\n'
        "x,,\nx,[],[]\n"
    )
    built = build(written(tmp_path, text), BUILDING)
    assert built.report["shape"] == "sbic"
    assert [row["predicate"] for row in built.rows] == ["juggle badly", "are dull"]
    assert built.report["statements"]["empty"] == 1


def test_the_shape_of_stereoset_is_known(tmp_path: Path) -> None:
    def sentence(text: str, label: str) -> dict[str, Any]:
        return {"sentence": text, "gold_label": label, "id": "1"}

    data = {
        "version": "1",
        "data": {
            "intrasentence": [
                {
                    "target": "juggler",
                    "bias_type": "profession",
                    "context": "The juggler is BLANK.",
                    "sentences": [
                        sentence("The juggler is clumsy.", "stereotype"),
                        sentence("The juggler is deft.", "anti-stereotype"),
                        sentence("The juggler is Tuesday.", "unrelated"),
                    ],
                }
            ],
            "intersentence": [
                {"target": "baker", "sentences": [sentence("She gets up early.", "stereotype")]},
            ],
        },
    }
    built = build(written(tmp_path, json.dumps(data), "dev.json"), BUILDING)
    assert [row["predicate"] for row in built.rows] == ["are clumsy", "get up early"]
    for broken in ("[]", '{"data": 1}', "{", '{"data": {"intrasentence": [{}]}}'):
        with pytest.raises(PlanError, match="not the JSON of StereoSet"):
            build(written(tmp_path, broken, "broken.json"), BUILDING)
    with pytest.raises(PlanError, match="no sentence is labelled a stereotype"):
        build(written(tmp_path, '{"data": {}}', "empty.json"), BUILDING)


def test_missing_columns_are_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r'no column "statement" in raw\.csv'):
        build(written(tmp_path, "text\nwomen juggle\n"), BUILDING)
    with pytest.raises(PlanError, match=r'--label dee: no column "dee"'):
        build(written(tmp_path, TABLE), BUILDING, RawShape(columns=COLUMNS_OF, labels=("dee",)))
    broken = ",".join(COLUMNS[:5]) + ",person\nare-dull,are dull,health,bad,,\n"
    with pytest.raises(
        PlanError, match=r'unknown polarity in row 1\. Must be positive or negative\. Got "bad"'
    ):
        build(written(tmp_path, broken), BUILDING)


def test_every_mark_has_its_words(tmp_path: Path) -> None:
    report = build(written(tmp_path, TABLE), BUILDING, HOW).report
    assert {mark: one["do"] for mark, one in report["person"].items()}.items() <= MARKS.items()
    assert {mark: one["rows"] for mark, one in report["person"].items()} == {
        "subject": 1,
        "labels": 2,
        "antonym": 1,
        "check antonym": 4,
        "translation": 2,
    }


@pytest.mark.parametrize(
    ("cells", "categories", "open_"),
    [
        (("Crime", "crime", "Health"), ("crime",), ""),
        (("Crime, Health", "4|10", "[4]"), ("crime", "health"), ""),
        (("Crime", "Health"), (), "labels"),
        (("Crime", "Health", ""), (), "labels"),
        (("Crime", "", ""), ("crime",), ""),
        (("", ""), (), "labels"),
        (("Shape",), ("appearance",), ""),
        (("Sin", "Sin", "Crime"), (), "split"),
        (("Sin, Crime", "Crime", "Crime"), ("crime",), "split"),
        (("Colour",), (), "unknown label"),
    ],
)
def test_the_majority_labels(cells: Sequence[str], categories: tuple[str, ...], open_: str) -> None:
    codes = {"shape": ("appearance",), "sin": ("morality", "belief")}
    decision = decide(cells, codes)
    assert (decision.categories, decision.open, decision.discarded) == (categories, open_, False)


def test_a_majority_discards_and_a_minority_does_not() -> None:
    assert decide(("Discard", "discard", "Crime"), {}).discarded
    assert not decide(("Discard", "Crime", "Crime"), {}).discarded
    assert not decide(("Discard", "Crime"), {}).discarded


def test_kappa_of_each_label_is_that_of_an_independent_program() -> None:
    rng = np.random.default_rng(7)
    true = rng.random(80) < 0.4
    rows = [
        tuple("Crime" if (one if rng.random() < 0.8 else not one) else "Health" for _ in range(3))
        for one in true
    ]
    report = agreement(rows, {}, fleiss_kappa)
    yes = np.array([sum(cell == "Crime" for cell in row) for row in rows])
    expected = reference_kappa(np.stack([yes, 3 - yes], axis=1))
    assert report["crime"] == {
        "labels": int(yes.sum()),
        "kappa": pytest.approx(expected, abs=1e-6),
        "properties": 80,
    }
    assert report["culture"] == {"labels": 0, "kappa": None, "properties": 80}
    assert agreement([("Crime",)], {}, fleiss_kappa)["crime"]["kappa"] is None


def test_cosines_of_ngrams_are_those_of_the_counts() -> None:
    one, other = "好 人好", "好人"
    # n-grams of one and two characters: {好: 2, 人: 1, 好人: 1, 人好: 1} and {好: 1, 人: 1, 好人: 1}
    assert ngram_cosines([(one, other)])[0] == pytest.approx(4 / np.sqrt(7 * 3))
    assert ngram_cosines([("", "好"), ("好", "好")]) == [0.0, pytest.approx(1.0)]


def test_similar_translations_are_settled_by_the_second() -> None:
    pairs = [("很穷", "很穷"), ("很穷", "贫困"), ("很穷", ""), ("", "贫困")]
    assert settle(pairs) == [("很穷", pytest.approx(1.0)), ("", 0.0), ("", None), ("", None)]
    seen: list[tuple[str, str]] = []

    def all_alike(asked: Sequence[tuple[str, str]]) -> list[float]:
        seen.extend(asked)
        return [0.7] * len(asked)

    assert [zh for zh, _ in settle(pairs, all_alike)] == ["很穷", "贫困", "", ""]
    assert seen == pairs[:2]


def test_a_similarity_of_ones_own_decides(tmp_path: Path) -> None:
    def never(pairs: Sequence[tuple[str, str]]) -> list[float]:
        return [0.1] * len(pairs)

    report = build(written(tmp_path, TABLE), BuildOptions(fleiss_kappa, similarity=never), HOW).report
    assert report["translations"]["alike"] == 0
    assert report["translations"]["similarity"] == "never"


def test_many_statements_are_built(tmp_path: Path) -> None:
    text = "statement\n" + "".join(f"women own {n} hats\n" for n in range(9_000))
    assert build(written(tmp_path, text), BUILDING).report["properties"]["rows"] == 9_000
