"""The sound rule's parts against naive computations, and what simulated services get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.methods.two_step.summaries import settings as experiment
from tests.methods.two_step.summaries import shifted
from trustgauge.methods.two_step import transition_model
from trustgauge.methods.two_step.operating_characteristics import (
    DECLARED,
    SimulatedTranslator,
    Trial,
    by_occupation,
    by_rest_of_text,
    catalogue,
    sound_row,
    wrong,
)
from trustgauge.methods.two_step.simulation import Sizes, simulate, tally
from trustgauge.methods.two_step.transition_model import DeclaredDistributions, TextTypes, TransitionCounts
from trustgauge.rating import less_certain, level_shares
from trustgauge.stats import stream

SPECS = np.array([[0.5, 0.5], [0.1, 0.9], [0.9, 0.1]])


def runs_of(shift: float, texts: int, runs: int, sharing: float = 0.0) -> TransitionCounts:
    rng = stream(3, "runs", texts)
    return simulate(Sizes(SPECS, texts, 2, 60), shifted(shift)[:2], sharing, runs, rng)


def mentions(counts: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Cluster, value in, value out of every mention of one run's clusters [K, G, C]."""
    for cluster, given_, out in zip(*np.nonzero(counts), strict=True):
        for _ in range(int(counts[cluster, given_, out])):
            yield int(cluster), int(given_), int(out)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(2, 12))
def test_design_effect_agrees_with_the_formula(seed: int, clusters: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 4, size=(clusters, 2, 3))
    for value in range(2):
        rows = [(k, o) for k, g, o in mentions(counts) if g == value]
        present = sorted({k for k, _ in rows})
        total = len(rows)
        if len(present) < 2:
            expected = 1.0
        else:
            p = [sum(o == out for _, o in rows) / total for out in range(3)]
            plain = sum(share * (1 - share) for share in p) / total
            spread = sum(
                (sum(k == c and o == out for k, o in rows) - p[out] * sum(k == c for k, _ in rows)) ** 2
                for c in present
                for out in range(3)
            )
            size = len(present)
            expected = size / (size - 1) * spread / total**2 / plain if plain else 1.0
        assert transition_model.design_effect(counts)[value] == pytest.approx(expected, abs=1e-9)


def test_alike_pairs_have_design_effect_two() -> None:
    counts = np.zeros((200, 1, 2), dtype=np.int64)
    counts[:120, 0, 0] = counts[120:, 0, 1] = 2
    assert transition_model.design_effect(counts)[0] == pytest.approx(2 * 200 / 199)


def test_block_effect_reads_texts_within_blocks() -> None:
    units = TextTypes(np.array([[[30, 20], [5, 0]]]), np.array([[2, 0], [0, 2]]))
    clusters = np.concatenate([np.tile([[[2, 0]]], (30, 1, 1)), np.tile([[[0, 2]]], (20, 1, 1))])
    expected = transition_model.design_effect(clusters)[0]
    empty = np.zeros((1, 2, 3, 1, 2), dtype=np.int64)
    none = np.zeros((1, 2, 1, 2), dtype=np.int64)
    counts = TransitionCounts(
        own=none,
        pooled=none[:, 0],
        texts=empty[:, 0],
        items=empty[:, 0],
        segments=empty[:, 0],
        items_own=empty,
        segments_own=empty,
        units=(units,),
        times=(units,),
        answers=units,
    )
    found = transition_model.block_effect(counts)[0, :, 0]
    assert found.tolist() == pytest.approx([expected, 1.0])


def test_posterior_is_the_dirichlet_of_the_counts() -> None:
    counts, deff = np.array([[30, 10, 0], [0, 0, 0]]), np.array([2.0, 1.0])
    drawn = transition_model.posterior(counts, deff, 20_000, stream(1, "posterior"))
    assert drawn.shape == (20_000, 2, 3)
    np.testing.assert_allclose(drawn.sum(axis=-1), 1)
    a = np.array([15 + 1 / 3, 5 + 1 / 3, 1 / 3])
    np.testing.assert_allclose(drawn[:, 0].mean(axis=0), scipy.stats.dirichlet.mean(a), atol=0.004)
    np.testing.assert_allclose(drawn[:, 0].var(axis=0), scipy.stats.dirichlet.var(a), rtol=0.06)
    np.testing.assert_allclose(drawn[:, 1].mean(axis=0), 1 / 3, atol=0.01)


def test_posterior_of_many_runs_has_their_shape() -> None:
    counts = np.full((4, 2, 3), 5)
    drawn = transition_model.posterior(counts, np.ones((4, 2)), 7, stream(1, "p"))
    assert drawn.shape == (4, 7, 2, 3)


@given(st.integers(0, 2**32 - 1))
def test_deviations_agree_with_the_formula(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.ones(3), size=(4, 2))
    specs, unbiased = rng.dirichlet(np.ones(2), size=3), rng.dirichlet(np.ones(3), size=2)
    found = transition_model.deviations(drawn, specs, unbiased)
    for t in range(4):
        for s in range(3):
            output = [sum(specs[s, g] * drawn[t, g, o] for g in range(2)) for o in range(3)]
            expected = min(max(abs(output[o] - u[o]) for o in range(3)) for u in unbiased)
            assert found[t, s] == pytest.approx(expected)


def test_levels_and_behaviours() -> None:
    devs = np.array(
        [
            [0.1, 0.1, 0.1],
            [0.1, 0.4, 0.1],
            [0.05, 0.4, 0.4],
            [0.2, 0.0, 0.0],
            [0.2, 0.4, 0.4],
            [0.2, 0.0, 0.4],
        ]
    )
    levels = [transition_model.LEVELS[place] for place in transition_model.level_of(devs, 1, 0.1)]
    assert levels == ["UCS", "DSBS", "DSBS", "BS", "BS", "BS"]
    behaviours = [transition_model.BEHAVIOURS[place] for place in transition_model.behaviour_of(devs, 1, 0.1)]
    assert behaviours == [
        "UCS",
        "UCS|DSBS",
        "DSBS",
        "BS-inverting",
        "BS-constant",
        "BS-inverting|BS-constant",
    ]


def test_on_the_margin_counts_as_within() -> None:
    assert transition_model.level_of(np.array([[0.1 + 1e-12, 0.4]]), 1, 0.1)[
        0
    ] == transition_model.LEVELS.index("DSBS")
    assert transition_model.level_of(np.array([[0.1 + 1e-6, 0.4]]), 1, 0.1)[
        0
    ] == transition_model.LEVELS.index("BS")


@given(st.lists(st.integers(0, 2), min_size=1, max_size=30))
def test_level_shares_add_up(levels: list[int]) -> None:
    shares = level_shares(np.array(levels, dtype=np.int8))
    assert shares.tolist() == pytest.approx([levels.count(place) / len(levels) for place in range(3)])


def test_equal_rates_are_pooled_and_different_ones_are_not() -> None:
    rng = stream(1, "mix")
    alike = transition_model.homogeneity(runs_of(0.3, 60, 300), rng)
    rejected = (alike <= transition_model.MIX_LEVEL).any(axis=1).mean()
    assert rejected <= 0.01 + 3.5 * np.sqrt(0.01 * 0.99 / 300)
    parts = [runs_of(shift, 60, 10) for shift in (0.1, 0.6, 0.1)]
    own = np.stack([part.own[:, block] for block, part in enumerate(parts)], axis=1)
    assert own.shape == (10, 3, 2, 3)
    types = np.array([[0, 1, 0], [1, 0, 0]])
    table = np.stack([own[:, :, 1, 1], own[:, :, 1, 0]], axis=-1)
    units = (TextTypes(np.zeros((10, 3, 1), dtype=np.int64), types[:1]), TextTypes(table, types))
    mixed = replace(parts[0], own=own, pooled=own.sum(axis=1), units=units, answers=units[1])
    p = transition_model.homogeneity(mixed, rng)
    assert (p[:, 1] <= transition_model.MIX_LEVEL).all()
    assert (p[:, 0] == 1).all()


def test_what_depends_on_the_mix_is_judged_by_its_own_block() -> None:
    """Balanced text stays balanced, skewed text is flipped: only own rates can tell."""
    rng = stream(8, "mixed")
    values = np.stack([np.repeat([0, 1], count) for count in ((60, 60), (12, 108), (108, 12))])
    values = rng.permuted(values, axis=1).reshape(1, 3, 60, 2)
    outputs = values.copy()
    outputs[:, 1:] = 1 - outputs[:, 1:]
    items = np.broadcast_to(np.arange(120).reshape(60, 2) % 60, values.shape)
    counts = tally(values, outputs, items, np.zeros(values.shape[:-1], dtype=np.int64), (2, 3, 60))
    examined = transition_model.examine_pooling(counts, stream(1, "mix"))
    judged = transition_model.draw_levels(counts, examined, DECLARED, 1000, rng)
    assert not examined.pooled[0]
    shares = level_shares(judged.levels)[0]
    assert shares[transition_model.LEVELS.index("DSBS")] > 0.95
    # Pooled rates would have mixed both behaviours.
    pooled = transition_model.deviations(judged.rates, DECLARED.specs, DECLARED.unbiased)[0, :, 1].mean()
    assert judged.deviations[0, :, 1].mean() > pooled + 0.05


def test_a_run_alone_is_judged_as_in_a_batch() -> None:
    counts = runs_of(0.3, 40, 5)
    last = np.array([False] * 4 + [True])
    alone = transition_model.largest_design_effect(counts.take(last))
    assert alone[0].tolist() == transition_model.largest_design_effect(counts)[4].tolist()
    assert counts.take(last).units[1].table.shape[0] == 1


def test_losses_apart_are_left_out() -> None:
    declared = DeclaredDistributions.of(experiment(loss="apart"))
    assert declared.unbiased.tolist() == [[0.5, 0.5]]
    kept = runs_of(0.3, 30, 3).without_residual()
    assert kept.pooled.shape[-1] == kept.texts.shape[-1] == kept.units[0].types.shape[-1] == 2


def test_truths_of_the_catalogue() -> None:
    truths = {translator.name: translator.truth for translator in catalogue()}
    assert len(truths) == 20
    assert [name for name, truth in truths.items() if truth == "UCS"] == [
        "flip p=0.40",
        "flip p=0.50",
        "coin 50/50",
    ]
    assert truths["She->He q=0.20"] == truths["lost to Other r=0.10"] == "DSBS"
    assert truths["She->He q=0.40"] == truths["all->Other"] == truths["lost to Other r=0.30"] == "BS"


@pytest.mark.parametrize("name", ["identity", "all->He", "all->Other", "She->He q=0.60", "flip p=0.10"])
def test_clear_cases_are_settled_and_right(name: str) -> None:
    translator = next(one for one in catalogue() if one.name == name)
    row = sound_row(translator, Trial(50, 100, 4, draws=1000))
    assert wrong(translator.truth, row) == 0
    assert row[3] <= 5


@pytest.mark.parametrize(
    ("name", "limit"), [("She->He q=0.20", 7), ("lost to Other r=0.10", 7), ("flip p=0.40", 6)]
)
def test_on_the_margin_wrong_levels_are_rare(name: str, limit: float) -> None:
    translator = next(one for one in catalogue() if one.name == name)
    runs = 300
    row = sound_row(translator, Trial(50, runs, 4, draws=1000))
    assert wrong(translator.truth, row) <= limit + 300 * np.sqrt(limit / 100 * (1 - limit / 100) / runs)
    assert row[3] > 80


def test_occupations_that_change_whole_do_not_fool_the_rule() -> None:
    translator = next(one for one in by_occupation() if one.name.endswith("0.20"))
    runs = 300
    row = sound_row(translator, Trial(50, runs, 4, draws=1000))
    assert wrong("DSBS", row) <= 8 + 300 * np.sqrt(0.08 * 0.92 / runs)
    blind = SimulatedTranslator("as if independent", translator.rates)
    counts = simulate(Trial(50, 200, 4).sizes(), translator.rates, 1.0, 200, stream(1, "occupations"))
    drawn = transition_model.posterior(counts.pooled, np.ones((200, 2)), 1000, stream(1, "blind"))
    devs = transition_model.deviations(drawn, DECLARED.specs, DECLARED.unbiased)
    shares = level_shares(transition_model.level_of(devs, 1, 0.1))
    ignoring = 100 * (shares[:, transition_model.LEVELS.index("BS")] >= 0.95).mean()
    assert blind.truth == "DSBS"
    assert ignoring > wrong("DSBS", row) + 4


def test_rates_that_depend_on_the_rest_of_the_text_rarely_fool_the_rule() -> None:
    """They would if pooling were not doubted: 24, 20 and 0 % wrong."""
    runs = 200
    rows = {
        one.name: (one.truth, sound_row(one, Trial(100, runs, 4, draws=1000))) for one in by_rest_of_text()
    }
    assert [truth for truth, _ in rows.values()] == ["DSBS", "DSBS", "BS"]
    for truth, row in rows.values():
        assert wrong(truth, row) <= 5 + 300 * np.sqrt(0.05 * 0.95 / runs)
        assert row[3] < 95


def test_rates_by_the_rest_of_the_text_are_simulated() -> None:
    women_alone = by_rest_of_text()[1].rates
    counts = simulate(Trial(100, 200, 4).sizes(), women_alone, 0.0, 200, stream(1, "rest"))
    rates = transition_model.plain_rates(counts.own.sum(axis=0))
    # of two mentions the other is She in a half, nine tenths and a tenth of the texts
    assert np.allclose(rates[:, 1, 0], [0.36 * 0.5, 0.36 * 0.9, 0.36 * 0.1], atol=0.02)
    assert (rates[:, 0] == [1, 0, 0]).all()


def test_required_characteristics() -> None:
    """Two-step 1.7: the means over the 20, within binomial error of a few hundred runs."""
    runs = 200
    for texts, settled_limit in ((20, 35), (50, 24), (100, 17)):
        rows = {
            one.name: (one.truth, sound_row(one, Trial(texts, runs, 5, draws=400))) for one in catalogue()
        }
        mean_wrong = np.mean([wrong(truth, row) for truth, row in rows.values()])
        unsettled = np.mean([row[3] for _, row in rows.values()])
        assert mean_wrong <= 1 + 300 * np.sqrt(0.01 * 0.99 / (20 * runs))
        assert unsettled <= settled_limit + 300 * np.sqrt(0.25 / (20 * runs))


def test_of_two_ways_to_draw_a_level_the_less_certain_counts() -> None:
    drawn = [np.repeat([2, 1, 0], sizes).astype(np.int8) for sizes in ((97, 3, 0), (90, 5, 5), (2, 98, 0))]
    sure, less, other = (np.tile(one, (1, 1)) for one in drawn)

    def taken(one: NDArray[np.int8], two: NDArray[np.int8]) -> NDArray[np.int8]:
        return np.where(less_certain(one, two), two, one)

    assert (taken(sure, less) == less).all()
    assert (taken(less, sure) == less).all()
    disagreeing = level_shares(taken(sure, other))[0]
    assert disagreeing.max() < 0.6
