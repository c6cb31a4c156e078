"""The tables of the two-step paper, and the figures that follow from its test, recomputed.

The output counts behind the levels per language are not published; `recorded_trips` reads what is
public of them. What follows from levels, from the test and from the definitions stands here
(reference cases 1 to 6).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from trustgauge.apps.reproduce import recorded_trips
from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures, paper_table, reasons
from trustgauge.apps.reproduce.verdicts import consistent, judge, judge_unprinted, unavailable
from trustgauge.methods.two_step.composition import (
    BITS,
    PUBLISHED,
    by_table,
    closed_form,
    combine,
    compose,
    from_levels,
    sort_levels,
    then,
)
from trustgauge.methods.two_step.method import TwoStep
from trustgauge.methods.two_step.operating_characteristics import SPECS, Trial, catalogue, sound_row, tree_row
from trustgauge.methods.two_step.published_rule import DecisionTree
from trustgauge.methods.two_step.reasons import TwoStepPart, aggregate
from trustgauge.methods.two_step.transition_model import LEVELS, MIX_LEVEL
from trustgauge.records import Json, Part
from trustgauge.stats import stream
from trustgauge.stats.comparisons import exact_multinomial, mcnemar, two_sample_chi_squared
from trustgauge.stats.distributions import binomial_probabilities, chi_squared_tail
from trustgauge.stats.equivalence import trials_for_equivalence

METHOD = "two-step"
WHY = reasons(METHOD)
MOST_MOVED = 1e-9  # outcomes less likely than this do not move a power of two decimals
SEED = 9
TREE_RUNS, REFERENCE_RUNS = 500, 10_000
SOUND_RUNS, SOUND_REFERENCE = 50, 2_000
LEAST = 1.5  # points: what the reference case allows


STATES = ("U", "B1", "B2")
LONGEST = 5

Map = tuple[str, ...]
"""Where each of `STATES` goes."""


def level_of_map(one: Map) -> str:
    """UCS: all to U. DSBS: U to U, something biased to biased. BS: U to biased."""
    if one[0] != "U":
        return "BS"
    return "UCS" if set(one) == {"U"} else "DSBS"


def is_part(one: Map) -> bool:
    """Whether a map can be a part: as a part, DSBS keeps every biased distribution biased."""
    return level_of_map(one) != "DSBS" or "U" not in one[1:]


def after(first: Map, second: Map) -> Map:
    """The map of two services in a row."""
    return tuple(second[STATES.index(state)] for state in first)


MAPS: tuple[Map, ...] = tuple(product(STATES, repeat=len(STATES)))
PARTS: Mapping[str, frozenset[Map]] = {
    level: frozenset(one for one in MAPS if is_part(one) and level_of_map(one) == level) for level in LEVELS
}


def levels_of_maps(chain: Iterable[str]) -> frozenset[str]:
    """All levels that some choice of maps of these levels gives to the chain, by brute force."""
    known: frozenset[Map] = frozenset({STATES})
    for level in chain:
        known = frozenset(after(one, two) for one in known for two in PARTS[level])
    return frozenset(map(level_of_map, known))


def chains(names: Iterable[str]) -> list[tuple[str, ...]]:
    """All chains of one to five services with these levels or behaviours."""
    given = sorted(names)
    return [chain for length in range(1, LONGEST + 1) for chain in product(given, repeat=length)]


def tables(given: Any = None) -> list[PaperTable]:
    """All tables, in the order of the paper; what the paper does not print stands last.

    Args:
        given: the figures; by default those that travel with the package.
    """
    printed = figures("two_step") if given is None else given
    return [
        paper_table(METHOD, "table-1", _levels(printed)),
        _overall(printed),
        paper_table(METHOD, "table-2", _composition(printed), triples=len(unassociative())),
        paper_table(METHOD, "effort", _effort(printed)),
        paper_table(METHOD, "figure-4", _figure_4(printed)),
        paper_table(METHOD, "ranges", _ranges(printed)),
        paper_table(METHOD, "all-he", _statistics(printed)),
        paper_table(METHOD, "power", _power(printed)),
        paper_table(METHOD, "texts", _equivalence(printed)),
        paper_table(METHOD, "chains", _chains(printed)),
        *simulated_tables(),
    ]


def from_data(folder: Path) -> list[PaperTable]:
    """What the authors' recorded round trips say of Table 1.

    Args:
        folder: a copy of their repository, or any folder with its records, see `recorded_trips`.

    Raises:
        MethodError: it holds no records, or one is of another shape.
    """
    return recorded_trips.tables(folder, figures("two_step"))


def _levels(printed: Any) -> Iterator[PrintedFigure]:
    return (
        unavailable(
            (language, service),
            level,
            WHY["recorded" if language in recorded_trips.LANGUAGES.values() else "no-counts"],
            kind="public" if language in recorded_trips.LANGUAGES.values() else "unpublished",
        )
        for language, row in printed["table_1"].items()
        for service, level in row.items()
    )


def overall(levels: dict[str, str], **options: Any) -> str:
    """The overall level of parts of known level, under the published rule.

    Args:
        levels: of each language.
        options: of the two-step settings, such as `aggregate`.
    """
    settings = TwoStep(method="two-step", services=("it",), rule="published", **options)
    results = [
        TwoStepPart(
            Part(key, "rated", level=level, certainty={level: 1.0}),
            np.full(2000, LEVELS.index(level), dtype=np.int8),
        )
        for key, level in levels.items()
    ]
    return str(aggregate(results, settings).level)


def _overall(printed: Any) -> PaperTable:
    given = printed["table_1_overall"]
    votes = []

    def cells() -> Iterator[PrintedFigure]:
        for service in given["all"]:
            levels = {language: row[service] for language, row in printed["table_1"].items()}
            rest = {key: level for key, level in levels.items() if key not in given["excluding"]}
            votes.append(f"{service} {overall(levels, aggregate='vote')}")
            for row, expected, of in (("all", "all", levels), ("without", "excluded", rest)):
                name = "all languages" if row == "all" else f"without {' and '.join(given['excluding'])}"
                found = overall(of)
                yield judge(PrintedFigure(name, service, given[expected][service], found, sound=found))

    made = tuple(cells())
    return paper_table(METHOD, "table-1-overall", made, votes=", ".join(votes))


def _composition(printed: Any) -> Iterator[PrintedFigure]:
    given, corrected = printed["table_2"], printed["table_2_corrected"]
    for first, second in product(LEVELS, repeat=2):
        known = sort_levels(from_levels((first, second)))
        is_named = list(known) == [corrected.get(f"{first} then {second}")]
        cell = PrintedFigure(
            first,
            second,
            list(sort_levels(given[first][second])),
            list(sort_levels(by_table((first, second))[0])),
            sound=list(known),
        )
        yield judge(cell, "sound", reason=WHY["contradiction"] if is_named else "")


def unassociative() -> list[tuple[str, str, str]]:
    """The triples of levels that the printed table composes to other results by another bracket."""
    return [
        (one, two, three)
        for one, two, three in product(LEVELS, repeat=3)
        if combine(combine([one], [two], PUBLISHED), [three], PUBLISHED)
        != combine([one], combine([two], [three], PUBLISHED), PUBLISHED)
    ]


def _effort(printed: Any) -> Iterator[PrintedFigure]:
    given, size = printed["effort"], printed["procedure"]["texts_per_block"]
    spec = TwoStep(method="two-step", services=("it",), texts=size).spec
    texts, languages = len(spec.blocks) * size, len(printed["table_1"])
    services = len(printed["table_1_overall"]["all"])
    found = {
        "blocks": len(spec.blocks),
        "texts": texts,
        "translations_per_language_and_service": 2 * texts,
        "languages": languages,
        "services": services,
        "translations_total": 2 * texts * languages * services,
        "tests_forward": len(spec.unbiased) * len(spec.biased),
    }
    for name, value in given.items():
        row = name.replace("_", " ")
        if name in found:
            yield judge(PrintedFigure(row, "count", value, found[name], sound=found[name]))
        else:
            yield unavailable((row, "count"), value, WHY["which-tests"])


def _figure_4(printed: Any) -> tuple[PrintedFigure, ...]:
    given = printed["figure_4_rating"]
    language, service = given["language"], given["service"]
    row = f"{service}, {language}"
    return (
        consistent(
            judge(
                PrintedFigure(
                    row, "level, against Table 1", given["rating"], printed["table_1"][language][service]
                )
            ),
            1 / len(LEVELS),
        ),
        unavailable((row, "level, from its counts"), given["rating"], WHY["only-drawn"], kind="effort"),
    )


def _ranges(printed: Any) -> Iterator[PrintedFigure]:
    given = printed["acceptance_ranges"]
    for key in (name for name in given if name != "note"):
        size = int(key.removeprefix("N_"))
        he = np.arange(size + 1)
        similar = DecisionTree(SPECS, 1, 2).measures(np.stack([he, size - he, 0 * he], axis=1))[2]
        for place, name in ((0, "similar_to_50_50"), (2, "similar_to_90_10")):
            found = he[similar[:, place]]
            ends: list[Json] = [int(found[0]), int(found[-1])]
            column = name.replace("_", " ").replace("50 50", "50/50").replace("90 10", "90/10")
            yield judge_unprinted(PrintedFigure(f"{size} mentions", column, given[key][name], ends))


def _statistics(printed: Any) -> Iterator[PrintedFigure]:
    given = printed["all_he_statistic"]
    for size in (40, 20):
        statistic, _, _ = two_sample_chi_squared([size, 0, 0], [0.9 * size, 0.1 * size, 0])
        yield judge_unprinted(
            PrintedFigure(f"{size} mentions, all He", "against 90/10", given[f"N_{size}"], float(statistic))
        )
    for df in (1, 2):
        tail = float(chi_squared_tail(given[f"critical_df{df}"], df))
        column = f"tail beyond {given[f'critical_df{df}']}"
        yield judge_unprinted(PrintedFigure(f"{df} degrees of freedom", column, 0.05, tail))
    for column, level, tree in (
        ("level", "DSBS", DecisionTree(SPECS, 1, 2)),
        ("level, the empty cell kept", "BS", DecisionTree(SPECS, 1, 2, empty="keep")),
        ("level, texts as counts", "BS", DecisionTree(SPECS, 1, 2, base="texts")),
    ):
        outputs = np.array([[40, 0, 0]] * len(SPECS))
        found = LEVELS[int(tree.levels(tree.measures(outputs)[2]))]
        yield judge_unprinted(PrintedFigure("40 mentions, all He", column, level, found))


def _power(printed: Any) -> Iterator[PrintedFigure]:
    rows = {key: row for key, row in printed["power_unbiased_block_She_to_He"].items() if key != "note"}
    for key, row in rows.items():
        she = int(key.removeprefix("n_"))
        for shift, expected in row.items():
            names = ("chi-squared", "exact multinomial", "paired McNemar")
            for name, value, found in zip(names, expected, powers(she, float(shift)), strict=True):
                cell = PrintedFigure(f"{she} texts, She becomes He {shift}", name, value, found)
                yield judge_unprinted(cell, within=0.005)


def powers(she: int, shift: float) -> tuple[float, float, float]:
    """Power of three tests where `she` balanced texts turn each She into He with probability `shift`.

    Exact over all outcomes: two-sample chi-squared against the balanced distribution, one-sample
    multinomial, and McNemar on the pairs (two-step 1.5, 1.7 step 7).
    """
    tree, rng = DecisionTree(SPECS, 1, 2), stream(1, "power")
    chances = binomial_probabilities(she, shift)
    moved = np.flatnonzero(chances > MOST_MOVED)
    outputs = np.stack([she + moved, she - moved, 0 * moved], axis=1)
    two = ~tree.measures(outputs)[2][:, 0]
    one = np.array([exact_multinomial(out, SPECS[0], rng) <= 0.05 for out in outputs])
    paired = np.array([mcnemar(int(count), 0) <= 0.05 for count in moved])
    found = [float(chances[moved][test].sum()) for test in (two, one, paired)]
    return found[0], found[1], found[2]


def _equivalence(printed: Any) -> Iterator[PrintedFigure]:
    given = printed["texts_for_marginal_equivalence_80_percent_power"]
    return (
        judge_unprinted(
            PrintedFigure(
                f"margin {margin}", "texts", texts, trials_for_equivalence(0.5, float(margin), step=2) // 2
            )
        )
        for margin, texts in given.items()
    )


def _chains(printed: Any) -> Iterator[PrintedFigure]:
    given = printed["closed_form_checks"]
    levels, bits = chains(LEVELS), chains(BITS)
    by_maps = sum(from_levels(chain) == levels_of_maps(chain) for chain in levels)
    by_bits = sum(compose([[one] for one in chain]) == {closed_form(chain)} for chain in bits)
    table = printed["two_bit_table"]
    words = ("chains of one to five", "as by brute force")
    yield judge_unprinted(
        PrintedFigure(f"levels, {words[0]}", words[1], given["labels_chains_length_1_to_5"], by_maps)
    )
    yield judge_unprinted(
        PrintedFigure(f"behaviours, {words[0]}", words[1], given["two_bit_chains_length_1_to_5"], by_bits)
    )
    for first, second in product(table, repeat=2):
        yield judge_unprinted(
            PrintedFigure(first, f"then {second}", table[first][second], then(first, second))
        )


def simulated_tables() -> list[PaperTable]:
    """Published tree and sound rule on simulated translators, in per cent (reference cases 3 and 4).

    Fewer runs than the reference, so that it stays quick: cells agree within four standard errors of both.
    The full simulation is the benchmark of operating characteristics.
    """
    reference = figures("two_step_simulation")
    tree_wrong = _mean(reference["published_mean_wrong"]["sampled"])
    sound_wrong = _mean({key: row["wrong"] for key, row in reference["sound_mean_over_20"].items()})
    return [
        paper_table(METHOD, "tree-simulated", _tree(reference), runs=TREE_RUNS, wrong=tree_wrong),
        paper_table(METHOD, "sound-simulated", _sound(reference), runs=SOUND_RUNS, wrong=sound_wrong),
    ]


def _tree(reference: Any) -> Iterator[PrintedFigure]:
    for inputs in ("sampled", "exact"):
        for one in catalogue():
            row = reference["published"][inputs][one.name]
            found = tree_row(one, Trial(20, TREE_RUNS, SEED, exact=inputs == "exact"))
            column = f"{inputs} counts, truth {one.truth}"
            printed: list[Json] = list(row["n_20"])
            within = _errors(printed, found, TREE_RUNS, REFERENCE_RUNS)
            cell = PrintedFigure(one.name, column, printed, published=_plain(found))
            yield judge_unprinted(cell, within=within)


def _sound(reference: Any) -> Iterator[PrintedFigure]:
    for one in catalogue():
        row = reference["sound"][one.name]
        # The reference simulation knows no time: its answers come in no order. Nor does it doubt pooling.
        trial = Trial(50, SOUND_RUNS, SEED, draws=1000, segments=1, doubtful=MIX_LEVEL)
        found = sound_row(one, trial)
        printed: list[Json] = list(row["n_50"])
        within = _errors(printed, found, SOUND_RUNS, SOUND_REFERENCE)
        yield judge_unprinted(
            PrintedFigure(one.name, f"truth {one.truth}", printed, sound=_plain(found)),
            "sound",
            within=within,
        )


def _plain(found: list[float]) -> list[Json]:
    return list(found)


def _errors(printed: list[Json], found: list[float], runs: int, reference: int) -> list[float]:
    """Four standard errors of the difference of each share from its reference, in points."""
    errors = []
    for here, there in zip(found, printed, strict=True):
        share = (here * runs + float(there) * reference) / (runs + reference) / 100
        share = min(max(share, 0.5 / runs), 1 - 0.5 / runs)
        errors.append(max(LEAST, 400 * math.sqrt(share * (1 - share) * (1 / runs + 1 / reference))))
    return errors


def _mean(wrong: Mapping[str, float]) -> str:
    return ", ".join(f"{value:g} % at {key.removeprefix('n_')} texts" for key, value in wrong.items())
