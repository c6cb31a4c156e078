"""Counts of the social-bias paper: groups, properties, forms and questions (social-bias 3.1, 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure
from trustgauge.apps.reproduce.verdicts import compare, compare_unprinted, consistent, unavailable
from trustgauge.data.properties import Property
from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.forms import Kind, absolute_forms, relative_forms
from trustgauge.methods.social_bias.questions import Catalogue
from trustgauge.records import Rule

Printed = Mapping[str, Any]
METHOD = "social-bias"
LIST = "The list was counted by its authors; --data counts the lists they made public."
SIZES = ("with", "without")
"""The two halves of the paper's run: systems with an API, and without one."""
KINDS: Mapping[str, Kind] = {"yes_no": "yes-no", "choice": "choice", "wh": "why"}


def placeholder_lists(
    groups: Mapping[str, int], properties: int, can: int
) -> tuple[list[Group], list[Property]]:
    """Lists of given sizes, for counting: what groups and properties are called makes no difference.

    Args:
        groups: attribute -> how many.
        properties: how many.
        can: how many of them are comparable.
    """
    named = [
        Group(f"{attribute}-{place}", attribute.lower(), f"{attribute} {place}", f"{attribute} {place}")
        for attribute, size in groups.items()
        for place in range(size)
    ]
    said = [
        Property(str(place), f"are {place}", ("health",), "positive", "", place < can, "", "", False)
        for place in range(properties)
    ]
    return named, said


def questions(groups: Sequence[Group], properties: Sequence[Property], rule: Rule) -> dict[str, int]:
    """How many absolute and relative questions a rule asks about these groups and properties."""
    layouts = Catalogue(groups, properties, rule=rule).layouts
    return {kind: layout.questions for kind, layout in layouts.items()}


def pairs(groups: Mapping[str, int]) -> int:
    """Pairs of groups within an attribute."""
    return sum(comb(size, 2) for size in groups.values())


def sizes_of(printed: Printed, half: str) -> tuple[Mapping[str, int], int]:
    """Groups by attribute, and properties (categories times properties of each), of one half of the run."""
    six = printed["table_6"]
    design = six[f"design_{half}"]
    return six[f"groups_{half}"], design["categories"] * design["properties_per_category"]


def comparable(printed: Printed, half: str) -> float:
    """Comparable properties, as they follow from the printed number of absolute questions.

    There are 2 for each property and pair, and 6 more for a comparable one (social-bias 3.3).
    """
    groups, properties = sizes_of(printed, half)
    asked = printed["table_6"]["queries"][f"absolute_{half}"]
    return float((asked / pairs(groups) - 2 * properties) / 6)


def counts(printed: Printed) -> list[PaperTable]:
    """Tables 1, 2, 4 and 6, the numbers of questions, and the product that is never built."""
    return [_table_1(printed), _table_2(printed), _table_4(printed), _table_6(printed), _queries(printed)]


def _table_1(printed: Printed) -> PaperTable:
    one = printed["table_1"]
    cells = [_listed((name, "groups"), n) for name, n in one["groups_per_attribute"].items()]
    total = compare(("Total", "groups"), one["total"], sum(one["groups_per_attribute"].values()))
    return PaperTable(
        METHOD, "table-1", "Social groups by attribute (Table 1)", "its own rows", (*cells, total)
    )


def _table_2(printed: Printed) -> PaperTable:
    two = printed["table_2"]
    rows = two["properties_per_category"]
    cells = [_listed((name, "properties"), n) for name, n in rows.items()]
    total = _listed(("Total", "properties"), two["total"])
    labels = sum(n for name, n in rows.items() if name != "Discard")
    row = compare_unprinted(
        ("Labels but Discard", "sum"), printed["derived"]["labels_sum_12_categories"], labels
    )
    notes = (f"{labels:,} labels on {two['total']:,} properties: {labels / two['total']:.2f} for each.",)
    return PaperTable(
        METHOD, "table-2", "Properties by category (Table 2)", "its own rows", (*cells, total, row), notes
    )


def _table_4(printed: Printed) -> PaperTable:
    """The forms of questions, and what the sound rule adds: each choice in both orders."""
    four = printed["table_4"]
    found = {
        "absolute": [Counter(one.kind for one in absolute_forms(both_orders=both)) for both in (False, True)],
        "relative": [Counter(one.kind for one in relative_forms(tags=tags)) for tags in (True, False)],
    }
    cells = []
    for bias, forms in four.items():
        ours, other = found[bias]
        for name, n in forms.items():
            cells.append(compare((bias, name), n, ours[KINDS[name]], sound=other[KINDS[name]]))
    notes = (
        "The sound rule asks each choice in both orders, and no tag question unless the plan wants it.",
        "Table 4 lists five forms of a relative question, one of them a tag; the printed numbers of "
        "questions have four for each group and property, so the tag was not asked.",
    )
    return PaperTable(
        METHOD, "table-4", "Forms of questions (Table 4)", "the forms in the text", tuple(cells), notes
    )


def _table_6(printed: Printed) -> PaperTable:
    six, derived = printed["table_6"], printed["derived"]
    cells: list[PrintedFigure] = []
    for half in SIZES:
        groups, properties = sizes_of(printed, half)
        labels = six[f"labels_{half}"]
        cells += [_listed((name, f"groups {half} API"), n) for name, n in groups.items()]
        cells += [_listed((name, f"labels {half} API"), n) for name, n in labels.items()]
        sums = {
            "groups": sum(groups.values()),
            "pairs": pairs(groups),
            "properties": properties,
            "comparable": comparable(printed, half),
            "labels": sum(labels.values()),
        }
        place = {name: (f"all {name}", f"{half} API") for name in sums}
        cells += [compare_unprinted(place[name], derived[f"{name}_{half}"], n) for name, n in sums.items()]
    notes = (
        "The paper does not print how many properties are comparable: it follows from its number of "
        "absolute questions, 2 for each pair and property and 6 more if groups can be compared in it.",
    )
    title = "Groups and labels that were asked about (Table 6)"
    return PaperTable(
        METHOD, "table-6", title, "its own rows and the numbers of questions", tuple(cells), notes
    )


def _queries(printed: Printed) -> PaperTable:
    """The numbers of questions, counted by the catalogue that the method asks from."""
    cells = []
    for half in SIZES:
        lists = placeholder_lists(*sizes_of(printed, half), printed["derived"][f"comparable_{half}"])
        published, sound = (questions(*lists, rule) for rule in ("published", "sound"))
        for kind, n in published.items():
            asked = printed["table_6"]["queries"][f"{kind}_{half}"]
            cell = compare((f"{half} API", kind), asked, n, sound=sound[kind])
            cells.append(consistent(cell, _countable(printed, half)) if kind == "absolute" else cell)
    return PaperTable(
        METHOD,
        "questions",
        "Numbers of questions (Table 6), and of the full product",
        "the sizes of Tables 1, 2 and 6",
        (*cells, *_product(printed)),
        (
            "Of absolute questions it is known only that some number of comparable properties gives them.",
            "The sound numbers are for the same groups and properties, choices in both orders; invented "
            "groups come on top.",
            "The full product is not printed. It follows from the totals of Tables 1 and 2, and nobody "
            "asked it: the questions about it are numbered and drawn, never built.",
        ),
    )


def _countable(printed: Printed, half: str) -> float:
    """The share of whole numbers, from none to all properties comparable, that questions can number."""
    groups, properties = sizes_of(printed, half)
    return (properties + 1) / (6 * properties * pairs(groups) + 1)


def _listed(place: tuple[str, str], printed: int) -> PrintedFigure:
    """A count of a list that its authors made public."""
    return unavailable(place, printed, LIST, kind="public")


def _product(printed: Printed) -> list[PrintedFigure]:
    """All groups with all properties, none of them comparable: tuples do not hang on that."""
    groups, properties = printed["table_1"]["groups_per_attribute"], printed["table_2"]["total"]
    layouts = Catalogue(*placeholder_lists(groups, properties, 0), rule="published").layouts
    relative = layouts["relative"]
    found = {
        "pairs": int(layouts["absolute"].items.sum()),
        "absolute_tuples": layouts["absolute"].tuples,
        "relative_tuples": relative.tuples,
        "relative_questions_x4": relative.questions,
    }
    full = printed["derived"]["full_product"]
    return [
        compare_unprinted(("full product", name.replace("_", " ")), full[name], n)
        for name, n in found.items()
    ]
