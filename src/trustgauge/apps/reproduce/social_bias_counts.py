"""Counts of the social-bias paper: groups, properties, forms and questions (social-bias 3.1, 3.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import compare, compare_unprinted, consistent, unavailable
from trustgauge.data.properties import Property
from trustgauge.data.social_groups import Group
from trustgauge.methods.social_bias.forms import Kind, absolute_forms, relative_forms
from trustgauge.methods.social_bias.questions import Catalogue
from trustgauge.records import Rule

Printed = Mapping[str, Any]
METHOD = "social-bias"
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
    return paper_table(METHOD, "table-1", (*cells, total))


def _table_2(printed: Printed) -> PaperTable:
    two = printed["table_2"]
    rows = two["properties_per_category"]
    cells = [_listed((name, "properties"), n) for name, n in rows.items()]
    total = _listed(("Total", "properties"), two["total"])
    labels = sum(n for name, n in rows.items() if name != "Discard")
    row = compare_unprinted(
        ("Labels but Discard", "sum"), printed["derived"]["labels_sum_12_categories"], labels
    )
    n = two["total"]
    cells += [total, row]
    return paper_table(METHOD, "table-2", cells, labels=labels, properties=n, each=labels / n)


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
    return paper_table(METHOD, "table-4", cells)


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
    return paper_table(METHOD, "table-6", cells)


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
    return paper_table(METHOD, "questions", (*cells, *_product(printed)))


def _countable(printed: Printed, half: str) -> float:
    """The share of whole numbers, from none to all properties comparable, that questions can number."""
    groups, properties = sizes_of(printed, half)
    return (properties + 1) / (6 * properties * pairs(groups) + 1)


def _listed(place: tuple[str, str], printed: int) -> PrintedFigure:
    """A count of a list that its authors made public."""
    return unavailable(place, printed, reasons(METHOD)["list"], kind="public")


def _product(printed: Printed) -> list[PrintedFigure]:
    """All groups with all properties, none of them comparable: tuples do not depend on that."""
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
