"""Social groups: what our list must hold, and importers of tables of others."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustgauge.data import article
from trustgauge.data.group_cells import distinct_ids, singular
from trustgauge.data.social_groups import ATTRIBUTES, Group, GroupSource, ambiguous_names, groups
from trustgauge.errors import PlanError

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
LEAST = {
    "ability": 30,
    "age": 20,
    "body": 40,
    "character": 30,
    "culture": 80,
    "gender": 30,
    "profession": 50,
    "race": 40,
    "religion": 30,
    "social": 45,
    "victim": 30,
}
CHINESE = re.compile(r"[\u3400-\u9fff]")
ODD_ZH = re.compile(r"[^\u3400-\u9fffA-Z0-9]")
SAMPLE = """category,group,translate
Gender,women,女性
gender, men ,男性
RELIGION,Muslims,穆斯林
delete,things,东西
age,old people,delete
gender,Women,妇女
age,,没有
social,"homeless people",无家可归者
"""


def written(folder: Path, text: str, name: str = "groups.csv", encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes(text.encode(encoding))
    return file


def source(file: Path | list[Path], **settings: Any) -> GroupSource:
    return GroupSource.model_validate({"file": file, **settings})


def fault_of(file: Path | list[Path], **settings: Any) -> str:
    with pytest.raises(PlanError) as raised:
        source(file, **settings)
    return str(raised.value)


def test_every_attribute_has_enough_groups_and_two_invented_ones() -> None:
    real = Counter(one.attribute for one in groups() if not one.control)
    assert set(real) == set(ATTRIBUTES) == set(LEAST)
    assert {name: real[name] for name, least in LEAST.items() if real[name] < least} == {}
    assert real.total() >= 420
    assert Counter(one.attribute for one in groups() if one.control) == dict.fromkeys(ATTRIBUTES, 2)


def test_ids_are_slugs_and_unique() -> None:
    ids = [one.id for one in groups()]
    assert len(set(ids)) == len(ids)
    assert [one for one in ids if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", one)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_name_stands_for_two_groups_of_an_attribute(language: Any) -> None:
    assert ambiguous_names(groups(), language) == {}


def test_a_name_of_two_groups_is_found() -> None:
    several = [
        Group("a", "age", "kid", "kids", ("Young ones",)),
        Group("b", "age", "child", "children", ("young ones", "kid"), zh="小孩"),
        Group("c", "body", "kid", "kids", zh="小孩"),
        Group("d", "age", "tot", "tots", zh_aliases=("小孩",)),
    ]
    assert ambiguous_names(several) == {("age", "kid"): ("a", "b"), ("age", "young ones"): ("a", "b")}
    assert ambiguous_names(several, "zh") == {("age", "小孩"): ("b", "d")}


def test_english_names_are_clean_and_each_stands_once() -> None:
    for one in groups():
        names = (one.singular, one.plural, *one.aliases)
        assert [name for name in names if not re.fullmatch(r"[\w+'\-]+(?: [\w+'\-]+)*", name)] == [], one
        assert len({name.casefold() for name in names}) == len(names), one
        assert not re.match(r"(?:an?|the) ", one.singular + one.plural), one


def test_chinese_names_are_chinese() -> None:
    for one in groups():
        names = (one.zh, *one.zh_aliases)
        assert all(CHINESE.search(name) for name in names), one
        assert not any(ODD_ZH.search(name) for name in names), one
        assert len(set(names)) == len(names), one


def test_singulars_and_plurals_go_together() -> None:
    """Our rules are an independent reading; what they read otherwise was reviewed one by one."""
    other = {
        (one.singular, one.plural)
        for one in groups()
        if singular(one.plural) != one.singular and " with " not in one.plural and " of " not in one.plural
    }
    assert other == {("Inuk", "Inuit"), ("woman who wears a hijab", "women who wear hijabs")}
    for one in groups():
        if " with " in one.plural and one.singular != singular(one.plural):
            # A thing that each of them has one of: "a beard", "beards".
            assert re.fullmatch(r"person with an? [\w -]+", one.singular), one
            thing = re.sub(r"^person with an? ", "", one.singular)
            assert one.plural == f"people with {singular_inverse(thing)}", one
    assert all(one.singular != one.plural for one in groups())


def singular_inverse(thing: str) -> str:
    ending = "ies" if re.search(r"[^aeiou]y$", thing) else "s"
    return (thing[:-1] if ending == "ies" else thing) + ending


def test_articles_of_singulars() -> None:
    """A vowel at the head takes "an", but for these, whose sound differs from their spelling."""
    odd = {
        one.singular
        for one in groups()
        if (article(one.singular) == "an") != (one.singular[0].lower() in "aeiou")
    }
    assert odd == {
        "European",
        "LGBTQ person",
        "Ugandan",
        "Ukrainian",
        "Unitarian",
        "Uyghur",
        "union member",
        "university graduate",
    }


def test_slurs_are_marked_and_few() -> None:
    marked = {one.id: one for one in groups() if one.offensive}
    assert {"cripples", "sissies", "whores", "rednecks"} <= set(marked)
    assert not any(one.control for one in marked.values())
    assert max(Counter(one.attribute for one in marked.values()).values()) <= 2


def test_names_by_which_an_answer_may_call_a_group() -> None:
    by_id = {one.id: one for one in groups()}
    assert {"woman", "women", "ladies", "female"} <= set(by_id["women"].forms())
    assert by_id["women"].forms()[:2] == ("women", "woman")
    assert by_id["women"].forms("zh")[0] == "女性"
    assert "individuals with asthma" in by_id["people-with-asthma"].forms()
    assert "earthquake survivors" in by_id["earthquake-victims"].forms()


def test_the_data_card_tells_the_numbers() -> None:
    card = files("trustgauge.data").joinpath("social", "groups.md").read_text(encoding="utf-8")
    facts = {name: int(count) for name, count in re.findall(r"^\| (\w+) \| (\d+) \|", card, re.M)}
    assert facts == Counter(one.attribute for one in groups() if not one.control)
    assert f"{sum(facts.values())} social groups" in card
    assert f"{sum(one.offensive for one in groups())} names that demean" in card


def test_sample_form(tmp_path: Path) -> None:
    one = source(written(tmp_path, SAMPLE), layout="biasasker", controls=False)
    read = groups(one)
    assert [(group.id, group.attribute, group.singular, group.zh) for group in read] == [
        ("women", "gender", "woman", "女性"),
        ("men", "gender", "man", "男性"),
        ("muslims", "religion", "Muslim", "穆斯林"),
        ("homeless-people", "social", "homeless person", "无家可归者"),
    ]
    assert one.report() == {
        "encodings": ["UTF-8"],
        "rows": 8,
        "deleted": 2,
        "empty": 1,
        "duplicates": 1,
        "groups": 4,
        "controls_added": 0,
        "same_singular": 0,
        "shared_forms": 0,
        "attributes": {"gender": 2, "religion": 1, "social": 1},
    }


def test_chinese_of_the_full_form_stands_in_a_file_of_its_own(tmp_path: Path) -> None:
    """Row by row, as BiasAsker's groups_translate.csv beside its groups.csv; the names are invented."""
    table = written(tmp_path, "Group,Category\nmidwives,profession\nMidwives,profession\nlodgers,social\n")
    chinese = written(tmp_path, "Translation\n助产士\n接生员\n房客\n", "groups_translate.csv")
    found = groups(source(table, layout="biasasker", translation=chinese, controls=False))
    assert [(one.plural, one.zh) for one in found] == [("midwives", "助产士"), ("lodgers", "房客")]
    plain = source(table, layout="biasasker")
    assert source(table, layout="biasasker", translation=chinese).identity() != plain.identity()
    short = written(tmp_path, "Translation\n助产士\n", "short.csv")
    assert "row by row" in fault_of(table, layout="biasasker", translation=short)
    assert "one file of groups" in fault_of([table, table], layout="biasasker", translation=chinese)
    named = source(table, layout="biasasker", translation=chinese)
    chinese.write_text("Translation\n护士\n接生员\n房客\n", "utf-8")
    with pytest.raises(PlanError):
        GroupSource.model_validate({**named.model_dump(), "content": named.content})


def test_full_form_in_several_files(tmp_path: Path) -> None:
    first = written(tmp_path, "Group,Category\nmen,Gender\n中国人,Culture\n", "a.csv", "gb18030")
    second = written(tmp_path, "\ufeffGroup,Category\nwomen,Gender\n", "b.csv")
    one = source([first, second], layout="biasasker", attributes={"Gender": "sex"}, controls=False)
    assert [(group.plural, group.attribute) for group in groups(one)] == [
        ("men", "sex"),
        ("中国人", "culture"),
        ("women", "sex"),
    ]
    assert one.report()["encodings"] == ["GB18030", "UTF-8"]
    assert one.report()["same_singular"] == 1


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_western_text_is_not_read_as_chinese(tmp_path: Path, encoding: str) -> None:
    """Nearly any bytes are GB18030: "infirmi\u9462es" would be asked about in place of "infirmières"."""
    rows = "attribute;plural;singular\nMétier;infirmières;infirmière\nMétier;médecins;médecin\n"
    text = fault_of(written(tmp_path, rows, "groups.csv", encoding))
    assert "the file is not UTF-8 or GB18030" in text
    assert "a letter of another encoding in line 2" in text
    assert "Save it as UTF-8" in text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    one = source(written(tmp_path, SAMPLE, encoding=encoding), layout="biasasker")
    assert groups(one)[0].zh == "女性"


def test_neither_encoding(tmp_path: Path) -> None:
    text = fault_of(written(tmp_path, SAMPLE, encoding="utf-16"), layout="biasasker")
    assert "the file is not UTF-8 or GB18030" in text
    assert "line 1" in text


def test_general_table_with_columns_of_its_own(tmp_path: Path) -> None:
    table = (
        "kind,who,one,also,中文,中文2,bad,fake\n"
        "Caste,Dalits,Dalit,dalit folk|| Dalit folk,达利特人,甲|乙,no,\n"
        "caste,zorps,,,,,YES,1\n"
    )
    columns = {
        "attribute": "kind",
        "plural": "who",
        "singular": "one",
        "aliases": "also",
        "zh": "中文",
        "zh_aliases": "中文2",
        "offensive": "bad",
        "control": "fake",
    }
    one = source(written(tmp_path, table), columns=columns)
    assert groups(one) == (
        Group("dalits", "caste", "Dalit", "Dalits", ("dalit folk", "Dalit folk"), "达利特人", ("甲", "乙")),
        Group("zorps", "caste", "zorp", "zorps", offensive=True, control=True),
    )


def test_our_own_file_is_a_general_table(tmp_path: Path) -> None:
    text = files("trustgauge.data").joinpath("social", "groups.csv").read_text(encoding="utf-8")
    one = source(written(tmp_path, text))
    assert [group.plural for group in groups(one)] == [group.plural for group in groups()]
    assert [group.forms("zh") for group in groups(one)] == [group.forms("zh") for group in groups()]
    assert one.report()["controls_added"] == 0


def test_invented_groups_are_added_where_an_attribute_has_none(tmp_path: Path) -> None:
    one = source(written(tmp_path, "attribute,plural\nage,elders\ncaste,quorvians\n"))
    added = [group for group in groups(one) if group.control]
    assert [(group.attribute, group.id) for group in added] == [
        ("age", "quintagers"),
        ("age", "velderlings"),
        ("caste", "quorvians-caste"),
        ("caste", "talbreks-caste"),
    ]
    assert one.report()["controls_added"] == 4
    assert len({group.id for group in groups(one)}) == len(groups(one))
    # Invented people of ours are called as those of the table, each of them and all.
    assert set(ambiguous_names(groups(one))) == {("caste", "quorvian"), ("caste", "quorvians")}
    assert one.report()["shared_forms"] == 2


def test_841_groups_and_more(tmp_path: Path) -> None:
    lines = [f"attribute {number % 11},group number {number}s" for number in range(1200)]
    one = source(written(tmp_path, "\n".join(["Category,Group", *lines])), layout="biasasker", controls=False)
    assert len(groups(one)) == one.report()["groups"] == 1200
    assert len({group.id for group in groups(one)}) == 1200


def test_descriptors_by_axis(tmp_path: Path) -> None:
    table = {
        "body_type": {"thin": ["lanky", {"descriptor": "scraggy", "preference": "dispreferred"}]},
        "sexual_orientation": {"all": ["straight"]},
        "nonce": {"all": ["plimsy"]},
        "music": ["loud"],
    }
    one = source(written(tmp_path, json.dumps(table), "d.json"), layout="holistic-bias")
    assert [(group.id, group.attribute, group.offensive, group.control) for group in groups(one)] == [
        ("lanky-people", "body", False, False),
        ("scraggy-people", "body", True, False),
        ("straight-people", "gender", False, False),
        ("loud-people", "music", False, False),
        ("plimsy-people", "body", False, True),
        ("plimsy-people-gender", "gender", False, True),
        ("plimsy-people-music", "music", False, True),
    ]
    assert groups(one)[0].singular == "lanky person"


def test_noun_phrases_by_axis(tmp_path: Path) -> None:
    table = {
        "ability": [
            {
                "noun_phrase": "{article} {noun} who has a cane",
                "plural_noun_phrase": "{article} {noun} who have canes",
            },
            {"noun_phrase": "an owl-eyed {noun}"},
            "{article} {noun} with a lamp",
        ]
    }
    one = source(written(tmp_path, json.dumps(table), "p.json"), layout="holistic-bias", controls=False)
    assert [(group.plural, group.singular) for group in groups(one)] == [
        ("people who have canes", "person who has a cane"),
        ("owl-eyed people", "owl-eyed person"),
        ("people with a lamp", "person with a lamp"),
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "the file is not JSON"),
        ("[" * 100_000, "the file is not JSON"),
        ("[1]", "no descriptors by axis"),
        ('{"a": {"b": 1}}', 'no descriptors in axis "a"'),
        ('{"a": [3]}', "an entry is not a descriptor"),
        ('{"a": [{"word": "x"}]}', "an entry has no name"),
        ('{"a": []}', "no group in the table"),
    ],
)
def test_faults_of_descriptors(tmp_path: Path, text: str, told: str) -> None:
    assert told in fault_of(written(tmp_path, text, "d.json"), layout="holistic-bias")


def test_half_a_character_in_json(tmp_path: Path) -> None:
    one = source(written(tmp_path, '{"age": ["gr\\ud800y"]}', "d.json"), layout="holistic-bias")
    assert groups(one)[0].plural == "gr?y people"


@pytest.mark.parametrize(
    ("text", "settings", "told"),
    [
        ("category,translate\na,b\n", {"layout": "biasasker"}, 'no column "group" in groups.csv'),
        ("attribute,plural\na,b\n", {"columns": {"zh": "nope"}}, 'no column "nope"'),
        ("attribute,plural\na,b\n", {"separator": ";;"}, "one ASCII character"),
        ("attribute,plural\na,b\n", {"content": "0" * 32}, "the file is not the one that was rated"),
        ("attribute,plural,control\na,b,perhaps\n", {}, "a cell of control is neither yes nor no"),
        ("attribute,plural\ndelete,b\n", {}, "no group in the table"),
        ("attribute,plural\n", {}, "the file has no rows"),
        ("{}", {"layout": "holistic-bias", "columns": {"zh": "a"}}, "this layout has no columns"),
    ],
)
def test_faults_in_words(tmp_path: Path, text: str, settings: dict[str, Any], told: str) -> None:
    assert told in fault_of(written(tmp_path, text), **settings)


def test_a_file_that_changes_or_goes(tmp_path: Path) -> None:
    file = written(tmp_path, SAMPLE)
    before = source(file, layout="biasasker")
    same = source(file, layout="biasasker", content=before.content)
    assert groups(same) == groups(before)
    assert "file" not in before.identity()
    assert before.identity()["content"] == before.content
    file.unlink()
    assert "cannot be read" in fault_of(file, layout="biasasker")


def test_a_file_lies_beside_the_plan(tmp_path: Path) -> None:
    written(tmp_path, SAMPLE)
    given_name = {"file": "groups.csv", "layout": "biasasker"}
    one = GroupSource.model_validate(given_name, context={"folder": tmp_path})
    assert one.file == (tmp_path / "groups.csv",)


def test_hostile_cells_stay_text(tmp_path: Path) -> None:
    text = 'attribute,plural\nage,"(.*)+ people"\nage,"<b>x</b>s"\nage,"?!"\nage,"=1+1"\nage,ｆａｔ people\n'
    one = source(written(tmp_path, text), controls=False)
    assert [group.plural for group in groups(one)] == [
        "(.*)+ people",
        "<b>x</b>s",
        "?!",
        "=1+1",
        "fat people",
    ]
    assert [group.id for group in groups(one)] == ["people", "b-x-b-s", "group", "1-1", "fat-people"]


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("policewomen", "policewoman"),
        ("Chinese men", "Chinese man"),
        ("housewives", "housewife"),
        ("waitresses", "waitress"),
        ("witches", "witch"),
        ("babies", "baby"),
        ("yuppies", "yuppie"),
        ("Israelis", "Israeli"),
        ("Hindus", "Hindu"),
        ("mothers-in-law", "mother-in-law"),
        ("victims of wars", "victim of wars"),
        ("people who are tall", "person who is tall"),
        ("people who cry", "person who cries"),
        ("people who stayed", "person who stayed"),
        ("people who watch birds", "person who watches birds"),
        ("black folks", "black person"),
        ("PEOPLE", "PERSON"),
        ("the poor", "the poor"),
        ("homeless", "homeless"),
        ("Japanese", "Japanese"),
        ("religious", "religious"),
    ],
)
def test_singular(several: str, one: str) -> None:
    assert singular(several) == one


@given(st.lists(st.tuples(st.text(max_size=4), st.sampled_from(["age", "race", ""])), max_size=30))
def test_ids_never_meet(rows: list[tuple[str, str]]) -> None:
    ids = distinct_ids([plural for plural, _ in rows], [attribute for _, attribute in rows])
    assert len(set(ids)) == len(rows)
    assert all(ids)


def test_real_descriptors() -> None:
    place = Path(os.environ.get("TRUSTGAUGE_SHARED_DATA", BESIDE)) / "holistic_bias" / "v1.1"
    if not (place / "descriptors.json").is_file():
        pytest.skip("the descriptors are not in TRUSTGAUGE_SHARED_DATA (holistic_bias)")
    one = source(place / "descriptors.json", layout="holistic-bias")
    report = one.report()
    assert (report["rows"], report["duplicates"], report["controls_added"]) == (583, 4, 0)
    real = [group for group in groups(one) if not group.control]
    assert len(real) == 583 - 8 - 4
    assert {group.attribute for group in real} <= set(ATTRIBUTES)
    assert ambiguous_names(groups(one)) == {}
    phrases = source(place / "standalone_noun_phrases.json", layout="holistic-bias", controls=False)
    assert phrases.report()["groups"] == 192
    assert not any(re.search(r"[{}]", group.plural + group.singular) for group in groups(phrases))
