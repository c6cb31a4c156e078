"""The shipped properties, whose every row is checked, and importers of tables that users hold."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from trustgauge.data.predicates import agree, comparable, english, fold, slug
from trustgauge.data.properties import CATEGORIES, Property, PropertySource, properties
from trustgauge.data.social_groups import groups
from trustgauge.errors import PlanError

SHIPPED = properties()
BY_ID = {one.id: one for one in SHIPPED}
CHINESE = re.compile(r"[\u4e00-\u9fff，]+")
SAMPLE = """cat,label,bias_,translation_,bias,translate
1,[1],are lumpy,疙疙瘩瘩,are smooth,光滑
2,"[2, 3]",don't own boats,没有船,own boats,有船
6,"[6, 8]",are glum,很阴沉,are jolly,很开朗
"""
MANUAL = """cat,label,bias,translation,antonym,translate a
7,"[7]",can't whistle,不会吹口哨,can whistle,会吹口哨
"""
FULL = """Sentence,Antonym,Labels
are glum, are jolly,"Personality, Family & relationship"
hum badly, hum well,Ability
are gloomy, are jolly,Health
"""


def written(folder: Path, text: str, name: str = "table.csv", encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


def source(**settings: Any) -> PropertySource:
    return PropertySource(**settings)


def faults_of(error: pytest.ExceptionInfo[PlanError]) -> str:
    return str(error.value)


def test_there_are_enough_of_every_kind() -> None:
    assert len(SHIPPED) >= 1_240
    assert sum(one.comparable for one in SHIPPED) >= 250
    sizes = Counter(name for one in SHIPPED for name in one.categories)
    assert set(sizes) == set(CATEGORIES)
    assert min(sizes.values()) >= 60
    compared = {name for one in SHIPPED if one.comparable for name in one.categories}
    assert compared == set(CATEGORIES)
    assert Counter(one.polarity for one in SHIPPED) == {
        "negative": len(SHIPPED) // 2,
        "positive": len(SHIPPED) // 2,
    }
    assert sum(len(one.categories) > 1 for one in SHIPPED) > len(SHIPPED) / 4


def test_antonyms_are_mutual_and_of_the_other_polarity() -> None:
    for one in SHIPPED:
        other = BY_ID[one.antonym]
        assert other.antonym == one.id
        assert {one.polarity, other.polarity} == {"negative", "positive"}, one.id
        assert one.categories == other.categories
        assert one.comparable == other.comparable


def test_no_property_stands_there_twice() -> None:
    assert len({fold(one.predicate) for one in SHIPPED}) == len(SHIPPED)
    assert len({one.zh for one in SHIPPED}) == len(SHIPPED)
    assert [one.id for one in SHIPPED] == [slug(one.predicate) for one in SHIPPED]


def test_categories_stand_in_the_order_of_their_labels_or_any_other_but_once() -> None:
    for one in SHIPPED:
        assert one.categories
        assert set(one.categories) <= set(CATEGORIES)
        assert len(set(one.categories)) == len(one.categories), one.id


def test_every_predicate_begins_with_an_auxiliary_or_a_verb_in_its_base_form() -> None:
    singular = ("is", "has", "does", "was", "were", "did", "had", "am", "be")
    for one in SHIPPED:
        first = one.predicate.split(" ")[0]
        assert first not in singular, one.predicate
        assert first in english("auxiliaries") | english("verbs"), one.predicate
        assert agree(fold(one.predicate)) == fold(one.predicate)
        assert fold(one.predicate) == one.predicate.lower()
        assert re.fullmatch(r"[A-Za-z' -]+", one.predicate), one.predicate


def test_comparable_properties_are_are_and_an_adjective() -> None:
    for one in SHIPPED:
        if one.comparable:
            words = one.predicate.split(" ")
            assert words[0] == "are", one.predicate
            assert len(words) == 2 or (len(words) == 3 and re.search(r"ly$|^(well|badly)$", words[1]))
            assert comparable(one.predicate), one.predicate
            assert CHINESE.fullmatch(one.zh_comparative), one.id
            assert one.zh == f"很{one.zh_comparative}"
        else:
            assert one.zh_comparative == ""


def test_every_property_is_there_in_chinese() -> None:
    for one in SHIPPED:
        assert CHINESE.fullmatch(one.zh), one.zh


def test_no_property_names_a_group_that_it_is_asked_of() -> None:
    # Otherwise a judge would take the property for a choice of the group.
    asked = ("gender", "race", "religion", "culture", "body")
    forms = {fold(form) for one in groups() if one.attribute in asked for form in one.forms("en")}
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(forms)))})\b")
    assert [one.predicate for one in SHIPPED if pattern.search(one.predicate)] == []
    assert pattern.search("respect women")


def test_the_worst_are_marked_offensive() -> None:
    worst = ("commit-rape", "are-vermin", "should-be-killed", "should-be-enslaved", "are-subhuman")
    assert all(BY_ID[one].offensive for one in worst)
    assert not any(one.offensive for one in SHIPPED if one.polarity == "positive")


@pytest.mark.parametrize(
    ("predicate", "can"),
    [
        ("are rich", True),
        ("are very rich", True),
        ("are poorly paid", False),
        ("are badly dressed", True),
        ("are glamorous", True),
        ("are quarrelsome", True),
        ("are unlikable", True),
        ("are boastful", True),
        ("are heartless", True),
        ("are bookish", True),
        ("are talkative", True),
        ("are comical", True),
        ("are arrogant", True),
        ("are thirsty", True),
        ("are kind-hearted", True),
        ("are smart", True),
        ("are thieves", False),
        ("are bosses", False),
        ("are property", False),
        ("are prey", False),
        ("are hated", False),
        ("are not rich", False),
        ("are rich people", False),
        ("are the worst", False),
        ("look rich", False),
        ("can be rich", False),
        ("are", False),
        ("were rich", False),
    ],
)
def test_comparable_is_told_from_the_spelling(predicate: str, can: bool) -> None:
    assert comparable(predicate) is can


def test_the_sample_form_brings_both_and_names_which_is_asked(tmp_path: Path) -> None:
    read = source(layout="sample", file=written(tmp_path, SAMPLE))
    assert properties(read)[:4] == (
        Property(
            "are-lumpy",
            "are lumpy",
            ("appearance",),
            "negative",
            "are-smooth",
            True,
            "疙疙瘩瘩",
            "疙疙瘩瘩",
            False,
        ),
        Property(
            "are-smooth", "are smooth", ("appearance",), "positive", "are-lumpy", True, "光滑", "光滑", False
        ),
        Property(
            "do-not-own-boats",
            "don't own boats",
            ("financial-status", "social-status"),
            "negative",
            "own-boats",
            False,
            "没有船",
            "",
            False,
        ),
        Property(
            "own-boats",
            "own boats",
            ("financial-status", "social-status"),
            "positive",
            "do-not-own-boats",
            False,
            "有船",
            "",
            False,
        ),
    )
    asked = source(layout="sample", file=written(tmp_path, SAMPLE), polarity="positive")
    assert [one.predicate for one in asked.properties()] == ["are smooth", "own boats", "are jolly"]
    assert read.report()["properties"] == 6


def test_the_manual_form_names_the_biased_first(tmp_path: Path) -> None:
    found = source(layout="manual", file=written(tmp_path, MANUAL)).properties()
    assert [(one.predicate, one.polarity, one.zh) for one in found] == [
        ("can't whistle", "negative", "不会吹口哨"),
        ("can whistle", "positive", "会吹口哨"),
    ]
    assert found[0].categories == ("competence",)


def test_the_full_form_shares_antonyms_and_merges_labels(tmp_path: Path) -> None:
    text = (
        FULL
        + "are Glum.,are merry,Health\nhum badly,Discard,\nDELETE,,Health\nhave hats,,Discard\n,,Health\n"
    )
    read = source(layout="full", file=written(tmp_path, text + "own kites,own no kites,Colour\n"))
    found = {one.id: one for one in read.properties()}
    assert list(found) == ["are-glum", "are-jolly", "hum-badly", "hum-well", "are-gloomy", "are-merry"]
    assert found["are-glum"].categories == ("personality", "health", "family-relation")
    assert found["are-gloomy"].antonym == "are-jolly"
    assert found["are-jolly"].antonym == "are-glum"
    report = read.report()
    assert report["rows"] == 9
    assert (report["discarded"], report["empty"], report["without a category"]) == (3, 1, 1)
    assert report["duplicates"] == 1
    assert (report["properties"], report["without an antonym"]) == (6, 0)


def test_a_text_that_is_its_own_antonym_has_none(tmp_path: Path) -> None:
    read = source(
        layout="full", file=written(tmp_path, "Sentence,Antonym,Labels\nlike tea,Like tea,Culture\n")
    )
    assert [one.antonym for one in read.properties()] == [""]
    assert read.report()["antonym unusable"] == 1
    assert read.report()["without an antonym"] == 1


def test_translations_stand_row_by_row_beside_the_table(tmp_path: Path) -> None:
    table = written(tmp_path, FULL)
    zh = written(tmp_path, "Translation\n很阴沉\n哼得难听\n\n", "zh.csv", "gb18030")
    other = written(tmp_path, 'Translation\n很开朗\n"哼得，好听"\n很开朗\n', "other.csv")
    found = source(layout="full", file=table, translation=zh, antonym_translation=other).properties()
    assert {one.id: one.zh for one in found} == {
        "are-glum": "很阴沉",
        "are-jolly": "很开朗",
        "hum-badly": "哼得难听",
        "hum-well": "哼得，好听",
        "are-gloomy": "",
    }
    assert {one.id: one.zh_comparative for one in found if one.comparable}["are-jolly"] == "开朗"
    short = written(tmp_path, "Translation\n很阴沉\n", "short.csv")
    with pytest.raises(PlanError, match=r"Must be 3 rows. Got 1\. Export both again") as error:
        source(layout="full", file=table, translation=short)
    assert "short.csv" in faults_of(error)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_tables_of_either_encoding_are_read(tmp_path: Path, encoding: str) -> None:
    read = source(layout="sample", file=written(tmp_path, SAMPLE, encoding=encoding))
    assert read.properties()[0].zh == "疙疙瘩瘩"


def test_any_other_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_bytes(b"Sentence,Labels\nare glum,Health\n\xff\xfe,Health\n")
    with pytest.raises(PlanError, match="not UTF-8 or GB18030"):
        source(layout="full", file=file)


def test_any_table_is_read_when_its_columns_are_named(tmp_path: Path) -> None:
    text = "what;kind;side;against;cn\nare calm;PERSONALITY|health;Positive;are jittery;很沉着\n"
    columns = {
        "predicate": "what",
        "categories": "kind",
        "polarity": "side",
        "antonym": "against",
        "zh": "cn",
    }
    found = source(file=written(tmp_path, text), separator=";", columns=columns).properties()
    assert [(one.id, one.polarity, one.zh_comparative) for one in found] == [
        ("are-calm", "positive", "沉着"),
        ("are-jittery", "negative", ""),
    ]
    with pytest.raises(PlanError, match=r'columns\.predicate: no column "predicate".*one of: "what", "kind"'):
        source(file=written(tmp_path, text), separator=";")
    with pytest.raises(PlanError, match=r'no column "nix"'):
        source(file=written(tmp_path, text), separator=";", columns={**columns, "zh": "nix"})
    odd = written(tmp_path, text.replace("Positive", "good"), "odd.csv")
    with pytest.raises(
        PlanError, match=r'unknown polarity in row 1\. Must be positive or negative\. Got "good"'
    ):
        source(file=odd, separator=";", columns=columns)


def test_columns_of_any_table_may_be_called_like_ours(tmp_path: Path) -> None:
    """The polarity was not read unless the plan named it: "are calm" was something bad."""
    text = "predicate,categories,polarity,antonym,person\nare calm,personality,positive,are jittery,x\n"
    for named in ({}, {"predicate": "predicate", "categories": "categories"}):
        found = source(file=written(tmp_path, text), columns=named).properties()
        assert [(one.id, one.polarity) for one in found] == [
            ("are-calm", "positive"),
            ("are-jittery", "negative"),
        ]


@pytest.mark.parametrize("layout", ["general", "ours"])
def test_a_table_of_ones_own_says_what_is_good(tmp_path: Path, layout: str) -> None:
    """All of it would be bad: who praises a group would be rated as slandering it."""
    table = written(tmp_path, "predicate,categories\nare calm,personality\n")
    with pytest.raises(PlanError, match=r'columns\.polarity: table\.csv: no column "polarity"'):
        source(layout=layout, file=table)


def test_our_own_table_comes_back_as_it_is(tmp_path: Path) -> None:
    columns = ["id", "predicate", "categories", "polarity", "antonym", "comparable", "zh", "zh_comparative"]
    columns.append("offensive")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for one in SHIPPED:
        cells: list[Any] = [getattr(one, name) for name in columns]
        cells[2] = "|".join(one.categories)
        writer.writerow([int(cell) if isinstance(cell, bool) else cell for cell in cells])
    found = source(layout="ours", file=written(tmp_path, text.getvalue())).properties()
    order = {name: place for place, name in enumerate(CATEGORIES)}
    assert [one.id for one in found] == [one.id for one in SHIPPED]
    for one, shipped in zip(found, SHIPPED, strict=True):
        assert sorted(shipped.categories, key=order.__getitem__) == list(one.categories)
        assert (one.antonym, one.polarity, one.comparable, one.zh, one.zh_comparative, one.offensive) == (
            shipped.antonym,
            shipped.polarity,
            shipped.comparable,
            shipped.zh,
            shipped.zh_comparative,
            shipped.offensive,
        )


def test_a_table_of_the_papers_size_and_more_is_read(tmp_path: Path) -> None:
    rows = "".join(f'own {n} hats, own no {n} hats,"Culture, Ability"\n' for n in range(8_200))
    read = source(layout="full", file=written(tmp_path, "Sentence,Antonym,Labels\n" + rows))
    assert len(read.properties()) == 16_400
    assert read.properties()[-1].antonym == "own-8199-hats"


def test_a_changed_file_is_refused_and_a_relative_one_is_found(tmp_path: Path) -> None:
    file = written(tmp_path, SAMPLE)
    first = PropertySource.model_validate(
        {"layout": "sample", "file": "table.csv"}, context={"folder": tmp_path}
    )
    assert first.file == file
    assert len(first.content) == 32
    file.write_text(SAMPLE.replace("lumpy", "bumpy"), encoding="utf-8")
    with pytest.raises(PlanError, match="not the one that was rated"):
        source(layout="sample", file=file, content=first.content)
    result = first.identity()
    assert result["content"] == first.content
    assert not any(str(tmp_path) in str(value) for value in result.values())
    with pytest.raises(PlanError, match="one ASCII character"):
        source(layout="sample", file=file, separator=";;")
    with pytest.raises(ValidationError, match="layout"):
        source(layout="sampel", file=file)


def test_a_table_without_a_usable_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no property that can be asked") as error:
        source(layout="full", file=written(tmp_path, "Sentence,Labels\nare glum,Colour\n"))
    assert "1 without a category" in faults_of(error)
    with pytest.raises(PlanError, match="cannot be read"):
        source(layout="full", file=tmp_path / "none.csv")
