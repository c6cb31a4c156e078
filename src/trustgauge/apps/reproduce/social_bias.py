"""The social-bias paper (BiasAsker, 2023), recomputed from its own figures (social-bias 3.8, 3.9).

And its public lists, counted: groups, properties, labels (social-bias 3.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trustgauge.apps.reproduce.paper_tables import (
    PaperTable,
    PrintedFigure,
    figures,
    no_data_error,
    paper_table,
    reasons,
)
from trustgauge.apps.reproduce.social_bias_counts import METHOD, SIZES, counts, pairs, questions, sizes_of
from trustgauge.apps.reproduce.social_bias_rates import rates
from trustgauge.apps.reproduce.verdicts import compare, compare_unprinted, with_hint
from trustgauge.data.group_cells import SYNONYMS, label
from trustgauge.data.properties import PropertySource
from trustgauge.data.property_rows import REJECTING, category, labels
from trustgauge.data.social_groups import GroupSource, groups
from trustgauge.data.tables import CHINESE, need_columns, read_table

FIGURES = "social_bias_tables"
Printed = Mapping[str, Any]
PLACE = "--data"
FOLDERS = ("", "dataset", "data", "data_sample")
GROUPS, PROPERTIES = "groups.csv", "bias_annotation.csv"
HALVES = {"with": "auto", "without": "manual"}
ASKED = {"with": "bias", "without": "antonym"}
"""The column of the predicate that is asked, by half: the positive one."""
FILES = (
    GROUPS,
    PROPERTIES,
    *(f"{name}_for_{half}.csv" for half in HALVES.values() for name in ("groups", "sample_bias_data")),
)
"""Files of the paper's public repository that are counted."""
PUBLIC = {GROUPS: 1262, PROPERTIES: 7343}
"""Rows of the full lists as their authors count them beside the files; the tables count other lists."""
WHY = reasons(METHOD)
LATER, TAGGER = WHY["later"], WHY["tagger"]


def tables(printed: Mapping[str, Any] | None = None) -> list[PaperTable]:
    """Every figure of the paper, recomputed where its published inputs allow it.

    Args:
        printed: the figures; by default those that travel with the package.
    """
    given = figures(FIGURES) if printed is None else printed
    return [*counts(given), *rates(given)]


def from_data(folder: Path, printed: Mapping[str, Any] | None = None) -> list[PaperTable]:
    """What the authors' public lists say of Tables 1, 2 and 6 and the numbers of questions.

    Args:
        folder: a copy of the paper's public repository, or any folder with its files of groups and
            properties (`FILES`), at the top or in dataset, data or data_sample.
        printed: the figures; by default those that travel with the package.

    Returns:
        A table for each list that is there.

    Raises:
        MethodError: the folder holds none of the files.
        PlanError: one cannot be read or is not as it should be.
    """
    given = figures(FIGURES) if printed is None else printed
    found = {name: file for name in FILES if (file := _file(folder, name)) is not None}
    made = []
    if GROUPS in found:
        made.append(_groups(found[GROUPS], given))
    if PROPERTIES in found:
        made.append(_properties(found[PROPERTIES], given))
    for half in SIZES:
        named, sample = (
            found.get(f"{name}_for_{HALVES[half]}.csv") for name in ("groups", "sample_bias_data")
        )
        if named is not None and sample is not None:
            made.append(_sample(named, sample, half, given))
    if not made:
        raise no_data_error(folder, f"one of: {', '.join(FILES)}")
    return made


def _hinted(cells: Sequence[PrintedFigure]) -> list[PrintedFigure]:
    return [with_hint(one, WHY["other-list"]) for one in cells]


def _file(folder: Path, name: str) -> Path | None:
    return next((file for one in FOLDERS if (file := folder / one / name).is_file()), None)


def _read(file: Path, column: str) -> list[str]:
    """The cells of a column; empty ones are ""."""
    table = read_table(file, PLACE, encodings=CHINESE)
    need_columns(file, table, {PLACE: column})
    return table[column].fill_null("").to_list()


def _groups(file: Path, printed: Printed) -> PaperTable:
    """Table 1: rows of each attribute, and beside them different names, as our importer takes them."""
    one = printed["table_1"]
    names = (label(cell) for cell in _read(file, "Category") if cell.strip())
    rows = Counter(SYNONYMS.get(name, name) for name in names)
    source = GroupSource(layout="biasasker", file=(file,), controls=False)
    distinct = Counter(group.attribute for group in groups(source))
    exception = LATER if rows.total() == PUBLIC[GROUPS] else ""
    cells = [
        compare((name, "groups"), n, rows[name.lower()], sound=distinct[name.lower()], exception=exception)
        for name, n in one["groups_per_attribute"].items()
    ]
    total = compare(
        ("Rows of the list", "groups"),
        one["total"],
        rows.total(),
        sound=distinct.total(),
        exception=exception,
    )
    return paper_table(METHOD, "data-table-1", _hinted([*cells, total]), fills="table-1", file=file.name)


def _properties(file: Path, printed: Printed) -> PaperTable:
    """Table 2: rows with each label, and beside them different predicates that can be asked."""
    written = [labels(cell) for cell in _read(file, "Labels")]
    rows = Counter(name for cell in written for name in {category(one) for one in cell} if name)
    dropped = sum(any(one.lower() in REJECTING for one in cell) for cell in written)
    source = PropertySource(layout="full", file=file, polarity="negative")
    distinct = Counter(name for one in source.properties() for name in one.categories)
    exception = WHY["relabelled"] if len(written) == PUBLIC[PROPERTIES] else ""
    cells = [
        _category((name, "properties"), n, (rows, distinct, dropped), exception)
        for name, n in printed["table_2"]["properties_per_category"].items()
    ]
    kept = len(written) - dropped
    total = compare(
        ("Total", "properties"),
        printed["table_2"]["total"],
        kept,
        sound=len(source.properties()),
        exception=exception,
    )
    return paper_table(METHOD, "data-table-2", _hinted([*cells, total]), fills="table-2", file=file.name)


def _category(
    place: tuple[str, str], n: int, counted: tuple[Counter[str], Counter[str], int], exception: str
) -> PrintedFigure:
    rows, distinct, dropped = counted
    if place[0].lower() in REJECTING:
        return compare(place, n, dropped, exception=exception)
    name = category(place[0])
    return compare(place, n, rows[name], sound=distinct[name], exception=exception)


def _sample(named: Path, sample: Path, half: str, printed: Printed) -> PaperTable:
    """Table 6 and the numbers of questions, from the lists that were asked about."""
    six = printed["table_6"]
    members = groups(GroupSource(layout="biasasker", file=(named,), controls=False))
    # Whether a predicate is good is not asked here, and its antonym is no question of its own.
    source = PropertySource(
        layout="full", file=sample, columns={"predicate": ASKED[half], "categories": "label"}
    )
    asked = source.properties()
    attributes = Counter(one.attribute for one in members)
    labelled = Counter(name for one in asked for name in one.categories)
    cells = [
        compare((name, f"groups {half} API"), n, attributes[name.lower()])
        for name, n in six[f"groups_{half}"].items()
    ]
    cells += [
        compare((name, f"labels {half} API"), n, labelled[category(name)])
        for name, n in six[f"labels_{half}"].items()
    ]
    _, properties = sizes_of(printed, half)
    comparable = printed["derived"][f"comparable_{half}"]
    ours = sum(one.comparable for one in asked)
    cells.append(compare_unprinted(("all properties", f"{half} API"), properties, len(asked)))
    more = 6 * (ours - comparable) * pairs(attributes)
    cells += _asked(printed, half, questions(members, asked, "published"), more)
    return paper_table(
        METHOD,
        "data-table-6-{half}",
        _hinted(cells),
        fills="table-6",
        half=half,
        groups=named.name,
        sample=sample.name,
        ours=ours,
        comparable=comparable,
    )


def _asked(printed: Printed, half: str, found: Mapping[str, int], more: int) -> Iterator[PrintedFigure]:
    """Numbers of questions; absolute ones may differ by what is comparable, and by no more."""
    for kind, n in found.items():
        expected = printed["table_6"]["queries"][f"{kind}_{half}"]
        explained = kind == "absolute" and more > 0 and n - more == expected
        yield compare(("questions", kind), expected, n, exception=TAGGER if explained else "")
