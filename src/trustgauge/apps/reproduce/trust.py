"""The trust paper (personalised chatbot ratings, 2020), recomputed from its own scores (trust 4.4, 4.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from trustgauge.apps.reproduce import trust_dialogs, trust_records
from trustgauge.apps.reproduce.paper_tables import PaperTable, figures, paper_table, reasons
from trustgauge.apps.reproduce.trust_scores import CODES, METHOD, scores
from trustgauge.apps.reproduce.verdicts import as_constant, compare, compare_unprinted, consistent
from trustgauge.methods.trust.arithmetic import explain
from trustgauge.methods.trust.combine import PUBLISHED_RULE, Combination, IssueValue, outcome
from trustgauge.methods.trust.issues.issue import LEVELS, PUBLISHED_CUTS
from trustgauge.methods.trust.order_sensitivity import all_orders, issue_at_score
from trustgauge.methods.trust.profiles import PAPER_NAMES, PUBLISHED, IssueOrder
from trustgauge.methods.trust.sensitivity import Variant, sensitivity
from trustgauge.records import Json
from trustgauge.stats.distributions import wilson

Printed = Mapping[str, Any]
FIGURES = "chatbot_trust"
OTHER_CUTS = (0.5, 0.9)
"""Cuts under which the count rule gives all of Table III; the text of the paper has .33 and .67."""


def tables(printed: Printed | None = None) -> list[PaperTable]:
    """Every figure of the paper, recomputed where its published inputs allow it.

    Args:
        printed: the figures; by default those that travel with the package.
    """
    given = figures(FIGURES) if printed is None else printed
    return [
        *scores(given),
        _profiles(given),
        _example(given),
        _table_3(given),
        _table_3_cuts(given),
        _orders(given),
        _sound(given),
        _survey(given),
        _types(given),
    ]


def from_data(folder: Path, printed: Printed | None = None) -> list[PaperTable]:
    """What the authors' released tables, or recorded dialogs of the four corpora, say of Tables II and III.

    Args:
        folder: a copy of the authors' repository, see `trust_records`; or a folder that holds a file or a
            folder of dialogs named after each corpus that the reader has (ubuntu, insurance, hr,
            restaurant), in a shape that recorded dialogs are read in.
        printed: the figures; by default those that travel with the package.

    Raises:
        MethodError: there is none of both.
        PlanError: a table or its dialogs cannot be read.
    """
    given = figures(FIGURES) if printed is None else printed
    if trust_records.is_here(folder):
        return trust_records.tables(folder, given)
    return trust_dialogs.from_dialogs(folder, given)


def measure_issues(
    printed: Printed, corpus: str, cuts: tuple[float, float] = PUBLISHED_CUTS
) -> dict[str, IssueValue]:
    """The four issues of a row of Table II, at levels by these cuts."""
    row = printed["table_II"][corpus]
    return {name: issue_at_score(float(row[code]), cuts) for code, name in CODES.items()}


def order(printed: Printed, profile: str) -> IssueOrder:
    """The order of issues of a kind of user, as printed."""
    return IssueOrder.parse(printed["profiles"][profile])


def _level(
    printed: Printed,
    place: tuple[str, str],
    settings: Combination,
    cuts: tuple[float, float] = PUBLISHED_CUTS,
) -> str:
    """The level of a corpus for a profile."""
    corpus, profile = place
    (level,) = outcome(order(printed, profile), measure_issues(printed, corpus, cuts), settings)
    return level


def _places(printed: Printed) -> list[tuple[str, str]]:
    return [(corpus, profile) for corpus, row in printed["table_III"].items() for profile in row]


def _profiles(printed: Printed) -> PaperTable:
    """The kinds of users that the product ships, against the printed ones."""
    cells = [
        as_constant(compare((profile, "order"), list(codes), _codes(PUBLISHED[PAPER_NAMES[profile]].order)))
        for profile, codes in printed["profiles"].items()
    ]
    return paper_table(METHOD, "profiles", cells)


def _codes(order_of: Iterable[str]) -> list[Json]:
    letters = {name: code for code, name in CODES.items()}
    return [letters[name] for name in order_of]


def _example(printed: Printed) -> PaperTable:
    """Points of levels, and both ways to break the tie."""
    worked = printed["worked_example"]
    issues = {CODES[code]: IssueValue.at(LEVELS.index(level)) for code, level in worked["levels"].items()}
    ranked = IssueOrder.parse(sorted(worked["importance"], key=worked["importance"].__getitem__))
    by_ties = {
        ties: explain(ranked, issues, Combination.model_validate({"rule": "count", "ties": ties}))
        for ties in ("pessimistic", "optimistic")
    }
    found = by_ties["pessimistic"]
    (sound,) = outcome(ranked, issues, Combination())
    cells = [compare((level, "points"), n, found["points"][level]) for level, n in worked["counts"].items()]
    cells += [
        compare((ties, "level"), worked[ties], one["levels"][0], sound=sound) for ties, one in by_ties.items()
    ]
    return paper_table(METHOD, "example", cells, last=", ".join(found["not_counted"]))


def _table_3(printed: Printed) -> PaperTable:
    cells = []
    for place in _places(printed):
        corpus, profile = place
        expected = printed["table_III"][corpus][profile]
        documented = _level(printed, place, PUBLISHED_RULE, OTHER_CUTS) == expected
        cells.append(
            compare(
                place,
                expected,
                _level(printed, place, PUBLISHED_RULE),
                sound=_level(printed, place, Combination()),
                exception=reasons(METHOD)["not-by-its-cuts"] if documented else "",
            )
        )
    return paper_table(METHOD, "table-3", cells)


def _table_3_cuts(printed: Printed) -> PaperTable:
    """Table III again, by cuts that give all of it, and which cuts do."""
    cells = [
        consistent(
            compare(
                place,
                printed["table_III"][place[0]][place[1]],
                _level(printed, place, PUBLISHED_RULE, OTHER_CUTS),
            ),
            len({_level(printed, place, PUBLISHED_RULE, cuts) for cuts in _cuts(printed)}) / len(LEVELS),
        )
        for place in _places(printed)
    ]
    derived, found = printed["derived"]["thresholds_giving_16"], _fitting(printed)
    cells += [
        compare_unprinted((name, "range"), derived[name], one)
        for name, one in zip(("t1", "t2"), found, strict=True)
    ]
    low, high = OTHER_CUTS
    return paper_table(METHOD, "table-3-cuts", cells, low=low, high=high)


def _fitting(printed: Printed) -> tuple[str, str]:
    """The cuts that give every cell of Table III, as ranges between scores of Table II."""
    fits = [(low, high) for low, high in _steps(printed) if _fits(printed, low[1], high[0])]
    if not fits:
        return "none", "none"
    lows, highs = zip(*fits, strict=True)
    return f"({min(lows)[0]:g}, {max(lows)[1]:g}]", f"[{min(highs)[0]:g}, {max(highs)[1]:g})"


def _steps(printed: Printed) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Pairs of ranges between scores of Table II; within them it makes no difference where the cuts lie."""
    known = {float(row[code]) for row in printed["table_II"].values() for code in CODES}
    steps = list(pairwise(sorted(known | {0.0, 1.0})))
    return [(low, high) for low, high in combinations(steps, 2) if low[1] < high[0]]


def _cuts(printed: Printed) -> list[tuple[float, float]]:
    return [(low[1], high[0]) for low, high in _steps(printed)]


def _fits(printed: Printed, low: float, high: float) -> bool:
    """Whether the count rule gives all of Table III by these cuts."""
    return all(
        _level(printed, place, PUBLISHED_RULE, (low, high)) == printed["table_III"][place[0]][place[1]]
        for place in _places(printed)
    )


def _orders(printed: Printed) -> PaperTable:
    """How many of the 24 orders of four issues give each level."""
    cells = []
    for corpus, expected in printed["derived"]["all_24_orders_printed_bins"].items():
        published, sound = (
            all_orders(measure_issues(printed, corpus), rule)["levels"]
            for rule in (PUBLISHED_RULE, Combination())
        )
        cells += [
            compare_unprinted((corpus, name), n, published[name], sound=sound[name])
            for name, n in expected.items()
        ]
    return paper_table(METHOD, "orders", cells)


def _sound(printed: Printed) -> PaperTable:
    """The weighted risk of the sound rule, against the reference (reference case 17)."""
    cells = []
    for corpus, row in printed["derived"]["sound_with_cuts_0.33_0.67"].items():
        for profile, (level, risk) in row.items():
            found = explain(order(printed, profile), measure_issues(printed, corpus), Combination())
            cells.append(compare_unprinted((corpus, f"{profile} level"), level, found["levels"][0]))
            cells.append(compare_unprinted((corpus, f"{profile} risk"), risk, round(float(found["mean"]), 6)))
    return paper_table(METHOD, "sound", cells)


def _survey(printed: Printed) -> PaperTable:
    """Shares of the people asked; beside them what so few people leave open."""
    people = printed["survey"]["n"]
    cells = []
    for place, (count, percent) in enumerate(printed["survey"]["counts_percent"], 1):
        low, high = (round(100 * one) for one in wilson(count, people))
        row = (f"{count} of {people}", f"percent, figure {place}")
        cells.append(compare(row, percent, round(100 * count / people), sound=[low, high]))
    return paper_table(METHOD, "survey", cells)


def _types(printed: Printed) -> PaperTable:
    """The corpora were rated for several users only: type 4 if that changes the level."""
    cells = []
    for corpus, row in printed["table_III"].items():
        (first, level), *others = row.items()
        variants = [Variant(("users",), name, one, "rated") for name, one in others]
        found = sensitivity(Variant((), first, level, "rated"), variants, "published")
        cells.append(compare((corpus, "type"), printed["user_sensitive_type"], f"Type-{found['type']}"))
    return paper_table(METHOD, "type", cells)
