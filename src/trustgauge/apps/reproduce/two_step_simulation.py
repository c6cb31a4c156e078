"""Published tree and sound rule on simulated translators (two-step 1.7, reference cases 3 and 4).

A simulation, of fewer runs than the reference, so that it stays quick: cells agree within four
standard errors of both. The full one is the benchmark of operating characteristics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from trustgauge.apps.reproduce.paper_tables import PaperTable, PrintedFigure, figures
from trustgauge.apps.reproduce.verdicts import judge_unprinted
from trustgauge.methods.two_step.operating_characteristics import Trial, catalogue, sound_row, tree_row
from trustgauge.records import Json

SEED = 9
TREE_RUNS, REFERENCE_RUNS = 500, 10_000
SOUND_RUNS, SOUND_REFERENCE = 50, 2_000
NOT_PRINTED = (
    "Not in the paper: a simulation of this product. A row agrees if each of its shares is within four "
    "standard errors of a larger simulation."
)
LEAST = 1.5  # points: what the reference case allows


def tables() -> list[PaperTable]:
    """Per cent of simulated runs by level: the published tree, and the sound rule."""
    reference = figures("two_step_simulation")
    tree = PaperTable(
        "two-step",
        "tree-simulated",
        "How often the published tree gives BS, DSBS and UCS to 20 translators of known truth, in per cent",
        f"{TREE_RUNS} simulated runs a cell, 20 texts a block",
        tuple(_tree(reference)),
        (NOT_PRINTED, _mean("The published tree", reference["published_mean_wrong"]["sampled"])),
    )
    sound = PaperTable(
        "two-step",
        "sound-simulated",
        "How often the sound rule gives BS, DSBS, UCS or does not settle, in per cent",
        f"{SOUND_RUNS} simulated runs a cell, 50 texts a block",
        tuple(_sound(reference)),
        (NOT_PRINTED, _mean("The sound rule", _wrongs(reference["sound_mean_over_20"]))),
    )
    return [tree, sound]


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
        # The reference simulation knows no time: its answers come in no order.
        found = sound_row(one, Trial(50, SOUND_RUNS, SEED, draws=1000, segments=1))
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


def _wrongs(means: Any) -> dict[str, float]:
    return {key: row["wrong"] for key, row in means.items()}


def _mean(who: str, wrong: dict[str, float]) -> str:
    told = ", ".join(f"{value:g} % at {key.removeprefix('n_')} texts" for key, value in wrong.items())
    return f"{who} is wrong, on average over the 20 and over the full reference, in {told}."
