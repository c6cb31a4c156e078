"""Reference case 6: every chain of one to five services against all maps (two-step 1.9)."""

from __future__ import annotations

from itertools import product
from typing import Any

from trustgauge.apps.reproduce.paper_tables import figures
from trustgauge.apps.reproduce.two_step import chains, levels_of_maps, unassociative
from trustgauge.methods.two_step.composition import (
    BITS,
    CORRECTED,
    PUBLISHED,
    by_table,
    closed_form,
    compose,
    from_levels,
    then,
)
from trustgauge.methods.two_step.transition_model import LEVELS


def reference() -> dict[str, Any]:
    return figures("two_step")


def test_levels_alone_against_all_maps() -> None:
    every = chains(LEVELS)
    assert len(every) == 363
    assert [chain for chain in every if from_levels(chain) != levels_of_maps(chain)] == []


def test_two_bit_chains_by_closed_form() -> None:
    every = chains(BITS)
    assert len(every) == 1364
    for chain in every:
        assert compose([[one] for one in chain]) == {closed_form(chain)}


def test_two_bit_behaviours_against_functions_on_bits() -> None:
    for chain in chains(BITS):
        bits = [0, 1]
        for one in chain:
            bits = [BITS[one][bit] for bit in bits]
        assert BITS[closed_form(chain)] == tuple(bits)


def test_associativity() -> None:
    assert len(unassociative()) == 3
    for one, two, three in product(BITS, repeat=3):
        assert then(then(one, two), three) == then(one, then(two, three))


def test_the_printed_table() -> None:
    printed = reference()["table_2"]
    cells = {
        (first, second): frozenset(printed[first][second]) for first, second in product(LEVELS, repeat=2)
    }
    assert cells == dict(PUBLISHED)
    for pair, expected in cells.items():
        assert by_table(pair)[0] == expected


def test_the_derived_figures_of_the_reference() -> None:
    given = reference()
    assert given["table_2_corrected"] == {
        f"{first} then {second}": "".join(result)
        for (first, second), result in CORRECTED.items()
        if PUBLISHED[first, second] != result
    }
    table = given["two_bit_table"]
    assert {(first, second): table[first][second] for first in table for second in table} == {
        (first, second): then(first, second) for first, second in product(BITS, repeat=2)
    }
    checks = given["closed_form_checks"]
    assert (checks["labels_chains_length_1_to_5"], checks["two_bit_chains_length_1_to_5"]) == (363, 1364)
