"""`reproduce social-bias`: what agrees, what is documented, and that a changed figure is seen."""

from __future__ import annotations

import copy
import doctest
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.papers.tables import cell, table_of
from trustgauge.apps.reproduce import social_bias_rates, verdicts
from trustgauge.apps.reproduce.paper_tables import PaperTable, figures
from trustgauge.apps.reproduce.reproduction import fill_from_data
from trustgauge.apps.reproduce.social_bias import FILES, LATER, TAGGER, from_data, tables
from trustgauge.errors import MethodError, PlanError

FIGURES: dict[str, Any] = figures("social_bias_tables")
as_it_is = cache(tables)
"""The tables of the paper, made once and when a test asks for them."""
COUNTS = {
    # table: cells, agreeing, documented
    "table-1": (12, 1, 11),
    "table-2": (15, 1, 14),
    "table-4": (5, 5, 0),
    "table-6": (44, 10, 34),
    "questions": (8, 8, 0),
    "table-7": (10, 7, 3),
    "table-7-rows": (70, 70, 0),
    "table-8": (10, 10, 0),
    "table-8-rows": (70, 0, 70),
    "claims": (10, 3, 7),
    "examples": (6, 6, 0),
    "chance": (2, 2, 0),
}


def named(name: str, made: list[PaperTable] | None = None) -> PaperTable:
    return table_of(name, made or as_it_is())


def changed(*path: str | int, to: Any) -> list[PaperTable]:
    """The tables, with one figure changed."""
    other = copy.deepcopy(FIGURES)
    place: Any = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return tables(other)


@pytest.mark.parametrize("module", [verdicts, social_bias_rates])
def test_doctests(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_every_table_has_so_many_that_agree_and_so_many_documented() -> None:
    found = {one.name: (len(one.cells), one.agreeing, one.documented) for one in as_it_is()}
    assert found == COUNTS
    assert all(one.as_expected and one.method == "social-bias" for one in as_it_is())


def test_whatever_does_not_agree_says_why() -> None:
    for table in as_it_is():
        for one in table.cells:
            assert bool(one.reason) == (one.verdict != "agrees")
            if one.verdict == "cannot be recomputed":
                assert (one.published, one.released) == (None, None)


def test_questions_are_those_of_the_catalogue() -> None:
    found = named("questions")
    assert [one.published for one in found.cells[:4]] == [18_396, 11_760, 780, 1_020]
    assert [one.published for one in found.cells[4:6]] == [45_131, 366_012_410]
    # Both orders of each choice: 2 more for each pair and property.
    assert cell(found, "with API", "absolute").sound == 18_396 + 2 * 73 * 84


def test_three_systems_are_divided_by_another_base() -> None:
    differing = [one for one in named("table-7").cells if one.verdict == "differs"]
    assert [one.row for one in differing] == ["Jovi", "Breeno(Oppo)", "XiaoAi"]
    assert [one.published for one in differing] == pytest.approx([16.98, 16.58, 13.46], abs=0.005)
    for one, value in zip(differing, ("16.98", "16.58", "13.46"), strict=True):
        assert value in one.reason
    assert named("table-7").notes[1].endswith("Tencent-Chat has 6.1 and comes to 6.08.")


def test_rows_fit_a_whole_number_of_answers_on_two_bases() -> None:
    """Of 28 cells without an API, all fit 116 questions a pair and 8 fit the 60 that were asked."""
    found = named("table-7-rows")
    assert cell(found, "Age", "ChatGPT").published == pytest.approx(100 * 30 / 348, abs=0.005)
    assert "Only 8 of the cells" in found.notes[1]


def test_who_is_highest_is_read_from_the_tables() -> None:
    claims = named("claims")
    assert cell(claims, "highest absolute bias on gender", "text").published == "GPT-3"
    assert cell(claims, "highest relative bias on gender", "text").published == "XiaoAi"
    assert cell(claims, "average rate", "text").reason.endswith("it is 15.10.")
    accuracy = cell(claims, "accuracy", "text")
    assert 0.93 <= accuracy.sound <= 1


def test_chance_alone_gives_a_rate_and_the_sound_rule_takes_it_off() -> None:
    raw, corrected = named("chance").cells
    assert raw.published == pytest.approx(0.00199, abs=1e-4)
    assert corrected.sound == pytest.approx(0, abs=1e-4)
    assert corrected.published is None


def test_sound_spread_of_a_few_answers() -> None:
    examples = named("examples")
    # 1/9 less (1/4) x (1/3)(2/3)/2; and 1/36 less (1/4) x (1/3)(2/3)/2 is nothing.
    assert cell(examples, "figure 2", "variance").sound == pytest.approx(1 / 12, abs=1e-4)
    assert cell(examples, "table 9", "variance").sound == 0


@pytest.mark.parametrize(
    ("path", "value", "table", "place"),
    [
        (("table_1", "total"), 842, "table-1", ("Total", "groups")),
        (("table_4", "absolute", "choice"), 3, "table-4", ("absolute", "choice")),
        (("table_6", "queries", "absolute_with"), 18_834, "questions", ("with API", "absolute")),
        (("table_6", "queries", "relative_without"), 1_021, "questions", ("without API", "relative")),
        (("table_7", "overall", 0), 25.04, "table-7", ("GPT-3", "overall")),
        (("table_7", "overall", 7), 32.9, "table-7", ("Jovi", "overall")),
        (("table_7", "rows", "Age", 6), 8.63, "table-7-rows", ("Age", "ChatGPT")),
        (("table_8", "average", 3), 0.93, "table-8", ("BlenderBot", "average")),
        (("claims", "balanced_pairs"), 2601, "claims", ("balanced pairs", "text")),
        (("claims", "abstract_max_percent"), 38.23, "claims", ("largest rate", "abstract")),
        (("worked", "advantage", "a_ij"), 0.5, "examples", ("advantage", "i over j")),
        (("worked", "table_9_affirmations", "tall"), [1, 3], "examples", ("table 9", "variance")),
    ],
)
def test_a_changed_figure_differs(
    path: tuple[str | int, ...], value: Any, table: str, place: tuple[str, str]
) -> None:
    found = named(table, changed(*path, to=value))
    one = cell(found, *place)
    assert (one.verdict, one.documented) == ("differs", False)
    assert not found.as_expected


def written(folder: Path, name: str, text: str) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


GROUPS = {
    "ability": ["sighted people", "blind people"],
    "age": ["young people", "old people", "teenagers"],
    "body": ["tall people", "short people"],
    "gender": ["men", "women", "agender people"],
    "profession": ["cooks", "nurses"],
    "race": ["Danes", "Finns", "Swedes"],
    "religion": ["Sikhs", "Jains"],
}
"""As many groups of each attribute as Table 6 has without an API."""


def manual(folder: Path, rows: list[str]) -> PaperTable:
    """The table of lists that are shaped like the public ones, without an API."""
    groups = "".join(f"{name},{group},x\n" for name, members in GROUPS.items() for group in members)
    written(folder, "data_sample/groups_for_manual.csv", f"category,group,translate\n{groups}")
    text = "cat,label,bias,translation,antonym,translate a\n" + "\n".join(rows) + "\n"
    written(folder, "data/sample_bias_data_for_manual.csv", text)
    return named("data-table-6-without", from_data(folder))


# Labels as many as Table 6 counts; 5 of the 15 asked predicates are comparable.
ROWS = [
    '1,"[1, 2, 3]",are poor,x,are rich,x',
    '1,"[1, 2, 3]",are mean,x,are kind,x',
    '1,"[1, 2, 3]",are weak,x,are strong,x',
    '1,"[1, 2, 3]",are stupid,x,are smart,x',
    '1,"[1, 2, 3]",are sad,x,are happy,x',
    '2,"[7]",steal cars,x,return cars,x',
    '2,"[5, 7]",break rules,x,keep rules,x',
    '2,"[6, 7]",tell lies,x,tell the truth,x',
    '2,"[6, 7]",waste money,x,save money,x',
    '7,"[6, 7]",sleep at work,x,work hard,x',
    '7,"[7]",fail tests,x,pass tests,x',
    '7,"[8]",cheat at games,x,play by the rules,x',
    '7,"[10]",catch colds,x,keep healthy habits,x',
    '7,"[1]",wear rags,x,wear clean clothes,x',
]


def test_the_lists_that_were_asked_about(tmp_path: Path) -> None:
    last = '7,"[1]",lose keys,x,find keys,x'
    found = manual(tmp_path, [*ROWS, last])
    by_place = {(one.row, one.column): one for one in found.cells}
    assert by_place["questions", "absolute"].published == 780
    assert by_place["questions", "relative"].published == 1_020
    assert all(by_place[name.capitalize(), "groups without API"].verdict == "agrees" for name in GROUPS)
    # Appearance has 7 labels here, and Table 6 has 6.
    assert by_place["Appearance", "labels without API"].published == 7
    assert [one.row for one in found.cells if one.verdict == "differs"] == ["Appearance"]
    assert not found.as_expected


def test_a_comparable_predicate_more_is_the_taggers(tmp_path: Path) -> None:
    more = manual(tmp_path, [*ROWS, '7,"[1]",are ugly,x,are fit,x'])
    one = cell(more, "questions", "absolute")
    assert (one.published, one.documented, one.reason) == (780 + 13 * 6, True, TAGGER)


def test_a_missing_property_is_not_documented(tmp_path: Path) -> None:
    one = cell(manual(tmp_path, ROWS), "questions", "absolute")
    assert (one.published, one.verdict, one.documented) == (13 * (2 * 14 + 6 * 5), "differs", False)


def test_the_full_lists(tmp_path: Path) -> None:
    written(
        tmp_path,
        "dataset/groups.csv",
        "Group,Category\nmidwives,profession\nMidwives,profession\nlodgers,characteristics\n",
    )
    written(
        tmp_path,
        "dataset/bias_annotation.csv",
        'Sentence,Labels\nare lazy,"Ability, Personality"\nare lazy,"Ability, Personality"\n'
        "have odd hats,Family & relationship\nare great,Discard\n",
    )
    groups, properties = from_data(tmp_path)
    assert (groups.name, properties.name) == ("data-table-1", "data-table-2")
    two = cell(groups, "Profession", "groups")
    assert (two.published, two.sound) == (2, 1)
    assert cell(groups, "Character", "groups").published == 1
    assert not any(one.documented for one in groups.cells)
    able = cell(properties, "Competence", "properties")
    assert (able.published, able.sound, able.verdict) == (2, 1, "differs")
    assert cell(properties, "Family & relation", "properties").published == 1
    assert cell(properties, "Discard", "properties").published == 1
    assert cell(properties, "Total", "properties").published == 3


def test_counts_of_lists_take_the_place_of_those_that_could_not_be_counted(tmp_path: Path) -> None:
    """All 34 counts of Table 6 were confirmed by the lists and still told as lost."""
    manual(tmp_path, [*ROWS, '7,"[1]",lose keys,x,find keys,x'])
    before = named("table-6")
    after = table_of("table-6", fill_from_data(as_it_is(), from_data(tmp_path)))
    kinds = [
        {one.kind for one in table.cells if one.column.endswith("without API")} for table in (before, after)
    ]
    assert kinds == [{"public", "constant"}, {"recomputed", "constant"}]
    assert len(before.cells) == len(after.cells)
    assert cell(after, "Gender", "groups without API").verdict == "agrees"
    assert cell(after, "Appearance", "labels without API").verdict == "differs"
    assert cell(after, "Gender", "groups with API").kind == "public"
    left = table_of("data-table-6-without", fill_from_data(as_it_is(), from_data(tmp_path)))
    assert [one.row for one in left.cells] == ["questions", "questions"]


@pytest.mark.parametrize(("rows", "documented"), [(1262, True), (1261, False), (842, False)])
def test_only_the_public_list_of_groups_is_documented(tmp_path: Path, rows: int, documented: bool) -> None:
    listed = "".join(f"guild {number},profession\n" for number in range(rows))
    written(tmp_path, "groups.csv", f"Group,Category\n{listed}")
    (found,) = from_data(tmp_path)
    one = cell(found, "Rows of the list", "groups")
    assert (one.published, one.reason == LATER, one.documented) == (rows, documented, documented)
    assert found.as_expected is documented


@pytest.mark.parametrize(("rows", "documented"), [(7343, True), (7342, False)])
def test_only_the_public_list_of_properties_is_documented(
    tmp_path: Path, rows: int, documented: bool
) -> None:
    """The authors count 7,343 properties in the list that they released, and 8,110 in Table 2."""
    listed = "".join(f"own {number} hats,Health\n" for number in range(rows))
    written(tmp_path, "dataset/bias_annotation.csv", f"Sentence,Labels\n{listed}")
    (found,) = from_data(tmp_path)
    assert {one.verdict for one in found.cells} == {"differs"}
    assert {one.documented for one in found.cells} == {documented}
    assert cell(found, "Discard", "properties").published == 0


def test_a_folder_without_the_files(tmp_path: Path) -> None:
    with pytest.raises(MethodError) as raised:
        from_data(tmp_path)
    assert all(name in str(raised.value) for name in FILES)
    with pytest.raises(MethodError, match="no folder"):
        from_data(tmp_path / "none")


def test_a_file_of_another_shape(tmp_path: Path) -> None:
    written(tmp_path, "groups.csv", "name,kind\na,b\n")
    with pytest.raises(PlanError, match=r"groups\.csv"):
        from_data(tmp_path)
