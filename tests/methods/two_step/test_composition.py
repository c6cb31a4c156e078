"""Composition of rated services (two-step 1.9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from trustgauge.methods.two_step import chains
from trustgauge.methods.two_step.chains import Link, differing_settings
from trustgauge.methods.two_step.composition import (
    BEHAVIOURS,
    BITS,
    CORRECTED,
    PUBLISHED,
    CompositionTerms,
    Inference,
    behaviour_set,
    by_table,
    closed_form,
    compose,
    from_levels,
    infer,
    level_of,
    then,
)
from trustgauge.methods.two_step.transition_model import BEHAVIOURS as MEASURED
from trustgauge.methods.two_step.transition_model import LEVELS
from trustgauge.records import Reason
from trustgauge.reports import sentences

Matrix = tuple[tuple[int, ...], ...]
IDENTITY: Matrix = ((600, 0, 0), (0, 600, 0), (0, 0, 0))
COIN: Matrix = ((300, 300, 0), (300, 300, 0), (0, 0, 0))
ALL_HE: Matrix = ((600, 0, 0), (600, 0, 0), (0, 0, 0))
SHIFT: Matrix = ((600, 0, 0), (180, 420, 0), (0, 0, 0))  # She -> He .30
FLIP: Matrix = ((30, 570, 0), (570, 30, 0), (0, 0, 0))
LOSSY: Matrix = ((300, 0, 300), (0, 300, 300), (0, 0, 0))
levels = st.sampled_from(LEVELS)
behaviours = st.sampled_from(sorted(BITS))


def link(level: str | None = "DSBS", matrix: Matrix | None = None, **changes: Any) -> Link:
    facts: dict[str, Any] = {
        "service": f"service-{level}",
        "level": level,
        "state": "rated",
        "certainty": {level: 0.99},
        "attribute": "gender",
        "reader": "sound",
        "values": ("He", "She", "Other"),
        "unbiased": ((0.5, 0.5, 0.0),),
        "biased": ((0.1, 0.9, 0.0), (0.9, 0.1, 0.0)),
        "fingerprint": "f",
        "matrix": matrix,
        "deff": (1.0, 1.0, 1.0) if matrix else (),
    }
    return Link(**{**facts, **changes})


def codes(inference: Inference) -> list[str]:
    return [reason.code for reason in inference.must_test]


def test_the_tables_differ_in_one_cell() -> None:
    assert len(PUBLISHED) == 9
    assert [cell for cell in PUBLISHED if PUBLISHED[cell] != CORRECTED[cell]] == [("UCS", "DSBS")]


@given(behaviours, behaviours, behaviours)
def test_behaviours_compose_associatively_with_follows_as_identity(one: str, two: str, three: str) -> None:
    assert then(then(one, two), three) == then(one, then(two, three))
    assert then("DSBS", one) == one == then(one, "DSBS")


@given(st.lists(levels, min_size=1, max_size=7))
def test_levels_alone_allow_all_that_two_bits_allow(chain: list[str]) -> None:
    assert from_levels(chain) >= frozenset(map(level_of, compose([BEHAVIOURS[level] for level in chain])))


def test_a_third_biased_service_may_undo_what_two_bits_cannot_tell() -> None:
    assert from_levels(["BS"] * 3) == frozenset(LEVELS)
    assert compose([BEHAVIOURS["BS"]] * 3) == frozenset({"UCS", "BS-constant", "BS-inverting"})


@given(st.lists(behaviours, min_size=1, max_size=8))
def test_the_closed_form_is_the_composition(chain: list[str]) -> None:
    assert compose([[one] for one in chain]) == {closed_form(chain)}


@given(st.lists(levels, min_size=1, max_size=6))
def test_levels_alone_never_say_less_than_the_corrected_table(chain: list[str]) -> None:
    assert from_levels(chain) <= by_table(chain, CORRECTED)[0]


def test_every_measured_behaviour_has_its_set() -> None:
    assert {name: behaviour_set(name) for name in MEASURED} == {
        **{name: frozenset({name}) for name in BITS},
        "UCS|DSBS": frozenset({"UCS", "DSBS"}),
        "BS-inverting|BS-constant": frozenset({"BS-inverting", "BS-constant"}),
    }
    assert behaviour_set("BS") == BEHAVIOURS["BS"]


def test_the_published_rule_reads_the_table_and_shows_its_cells() -> None:
    found = infer([link("UCS"), link("DSBS"), link("BS")], "published")
    assert found.levels == ("BS",)
    assert [(step.first, step.second, step.result) for step in found.steps] == [
        (("UCS",), "DSBS", ("DSBS",)),
        (("DSBS",), "BS", ("BS",)),
    ]


def test_where_the_table_contradicts_the_definitions_both_are_shown() -> None:
    found = infer([link("UCS", COIN), link("DSBS", IDENTITY)])
    assert found.levels == ("UCS",)
    assert found.published == ("DSBS",)
    assert found.derived
    assert found.state == "inferred"
    assert found.way == "rates"
    assert found.certainty > 0.99


def test_rates_settle_what_levels_leave_open() -> None:
    twice = [link("BS", FLIP), link("BS", FLIP)]
    assert infer(twice).levels == ("DSBS",)
    assert from_levels(["BS", "BS"]) == frozenset(LEVELS)
    shifts = [link("BS", SHIFT), link("BS", SHIFT)]
    assert infer(shifts).levels == ("BS",)
    assert infer([link("BS", ALL_HE), link("UCS", COIN)]).levels == ("UCS",)


def test_small_shifts_add_up_to_a_bias() -> None:
    little: Matrix = ((2000, 0, 0), (240, 1760, 0), (0, 0, 0))  # She -> He .12: one is DSBS, two are BS
    found = infer([link("DSBS", little), link("DSBS", little)])
    assert found.levels == ("BS",)
    assert found.published == ("DSBS",)
    assert infer([link("DSBS", little)]).levels == ("DSBS",)


def test_rows_for_tested_values_only_mean_the_same() -> None:
    short = [link("BS", FLIP[:2], deff=(2.0, 1.0)), link("DSBS", IDENTITY[:2], deff=(1.0, 1.0))]
    full = [link("BS", FLIP, deff=(2.0, 1.0, 1.0)), link("DSBS", IDENTITY)]
    assert infer(short) == infer(full)


def test_the_product_is_that_of_the_true_rates() -> None:
    chain = [link("BS", SHIFT), link("BS", FLIP)]
    true = np.array([[1, 0], [0.3, 0.7]]) @ np.array([[0.05, 0.95], [0.95, 0.05]])
    means = [product.mean(axis=0)[:2, :2] for product in chains.products(chain, 2000, 1)]
    assert len(means) == 3  # Other was never sent to the second part: three vertices
    for mean in means:
        np.testing.assert_allclose(mean, true, atol=0.01)


def test_an_unknown_row_leaves_every_level_that_a_vertex_gives() -> None:
    found = infer([link("BS", LOSSY), link("DSBS", IDENTITY)])
    assert set(found.levels) >= {"BS"}
    assert "composition.inputs-untested" in codes(found)
    half: Matrix = ((450, 0, 150), (0, 450, 150), (0, 0, 0))  # a quarter lost: what becomes of it decides
    open_ = infer([link("BS", half), link("DSBS", IDENTITY)])
    assert "composition.inputs-untested" in codes(open_)
    assert open_.state == "not settled"


def test_measured_behaviours_compose_where_rates_are_missing() -> None:
    inverting = link("BS", two_bit={"BS-inverting": 0.98, "BS-constant": 0.02})
    found = infer([inverting, inverting])
    assert found.way == "two-bit"
    assert found.levels == ("DSBS",)
    assert found.certainty == pytest.approx(0.98**2)
    assert found.certainties["UCS"] == pytest.approx(0.02 * 0.98)
    assert found.certainties["BS"] == pytest.approx(0.02 * 0.98 + 0.02**2)
    mixed = link("DSBS", two_bit={"UCS|DSBS": 1.0})
    open_ = infer([mixed, mixed])
    assert open_.levels == ("UCS", "DSBS")
    assert codes(open_)[0] == "composition.rates-depend-on-mix"  # measured, though not in one table


def test_levels_alone_add_the_doubts_up() -> None:
    found = infer([link("DSBS"), link("UCS"), link("BS")])
    assert found.way == "levels"
    assert found.levels == ("BS",)
    assert found.certainty == pytest.approx(0.97)
    assert codes(found) == ["composition.outputs-unknown"]
    assert [step.result for step in found.steps] == [("UCS",), ("BS",)]
    assert infer([link("BS", certainty={"BS": 0.3})] * 2).certainty == 0


def test_several_levels_must_be_tested_and_the_cost_is_named() -> None:
    found = infer([link("BS"), link("BS", legs=2)])
    assert found.levels == LEVELS
    assert found.state == "not settled"
    assert codes(found)[-1] == "composition.several-levels"
    assert found.calls == 200 * 3 * 3
    assert found.must_test[-1].facts == {"levels": list(LEVELS), "calls": 1800}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"attribute": "worship"}, "composition.other-attribute"),
        ({"values": ("He", "She", "They", "Other")}, "composition.other-values"),
        ({"reader": "released"}, "composition.other-reader"),
        ({"state": "not settled"}, "composition.not-rated"),
        ({"level": None, "state": "incomplete"}, "composition.not-rated"),
        ({"current": "g"}, "composition.changed"),
        ({"expires": "2026-01-01"}, "composition.expired"),
        ({"language": None}, "composition.worst-of-languages"),
        ({"language": "fr"}, "composition.other-language"),
    ],
)
def test_every_condition_is_named(changes: dict[str, Any], code: str) -> None:
    good = [link("DSBS", IDENTITY, current="f", expires="2026-12-31"), link("UCS", COIN)]
    terms = CompositionTerms(today="2026-06-01")
    assert infer(good, "sound", terms).derived
    bad = infer([good[0], replace(good[1], **changes)], "sound", terms)
    assert code in codes(bad)
    assert bad.state == "not settled"
    assert [reason.facts["calls"] for reason in bad.must_test] == [1200] * len(bad.must_test)


def test_other_distributions_matter_to_levels_and_not_to_rates() -> None:
    other = ((0.2, 0.8, 0.0), (0.8, 0.2, 0.0))
    assert infer([link("DSBS", IDENTITY), link("UCS", COIN, biased=other)]).derived
    found = infer([link("DSBS", IDENTITY), link("UCS", biased=other)])
    assert "composition.other-distributions" in codes(found)


def test_inputs_far_from_what_was_tested() -> None:
    narrow = link("DSBS", IDENTITY, biased=((0.3, 0.7, 0.0), (0.7, 0.3, 0.0)))
    found = infer([link("BS", ALL_HE), narrow])
    assert codes(found) == ["composition.inputs-untested"]
    assert found.must_test[0].facts["distance"] == pytest.approx(0.3)
    assert infer([link("BS", ALL_HE), link("DSBS", IDENTITY)]).derived  # (1, 0, 0) is .1 from (.9, .1, 0)


def test_doubt_in_the_rates_is_not_settled() -> None:
    thin: Matrix = ((14, 6, 0), (6, 14, 0), (0, 0, 0))
    found = infer([link("DSBS", thin), link("DSBS", IDENTITY)])
    assert found.certainty < 0.95
    assert found.state == "not settled"
    assert codes(found)[-1] == "composition.uncertain"
    doubtful = infer([link("BS", certainty={"BS": 0.6}), link("DSBS")], "published")
    assert codes(doubtful)[-1] == "composition.uncertain"
    assert sentences.reason(doubtful.must_test[-1]).endswith("certainty of 59 %, and 95 % is needed.")
    assert sum(found.certainties.values()) == pytest.approx(1)


def test_a_part_twice_shares_its_draws() -> None:
    thin: Matrix = ((20, 20, 0), (20, 20, 0), (0, 0, 0))
    first, second = (next(chains.products([link("UCS", thin)] * 2, 1000, 1)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    alone = next(chains.products([link("UCS", thin)], 1000, 1))
    np.testing.assert_allclose(
        first[:, :2, :2], alone[:, :2, :2] @ alone[:, :2, :2] + alone[:, :2, 2:] * [1, 0]
    )


def test_a_measurement_overrides_and_a_contradiction_is_told() -> None:
    found = infer([link("UCS", COIN), link("DSBS", IDENTITY)])
    assert found.contradicted_by("UCS") is None
    reason = found.contradicted_by("BS")
    assert reason is not None
    assert reason.code == "inference-contradicted"
    assert reason.facts == {"inferred": ["UCS"], "measured": "BS"}
    said = sentences.reason(Reason(reason.code, {"inferred": ["UCS", "DSBS"], "measured": "BS"}))
    assert said == "Inferred UCS or DSBS, measured BS; the measurement takes precedence."


def test_only_a_level_that_is_ruled_out_contradicts_an_inference() -> None:
    weak: Matrix = ((180, 20, 0), (40, 160, 0), (0, 0, 0))  # 55 % He of balanced text
    less: Matrix = ((194, 6, 0), (30, 170, 0), (0, 0, 0))  # 56 %
    found = infer([link("DSBS", weak), link("DSBS", less)])  # 60 %: at the margin
    assert found.state == "not settled"
    assert min(found.certainties["DSBS"], found.certainties["BS"]) > 0.05
    likely, other = found.levels[0], "BS" if found.levels == ("DSBS",) else "DSBS"
    assert [found.agrees_with(one) for one in (likely, other, "UCS")] == [True, None, False]
    assert found.contradicted_by(other) is None
    assert found.contradicted_by("UCS") is not None
    assert found.agrees_with("UCS", "not settled") is None
    assert found.contradicted_by("UCS", "not settled") is None


def test_where_any_level_is_possible_no_test_agrees() -> None:
    found = infer([link("BS"), link("BS")])
    assert set(found.levels) == {"UCS", "DSBS", "BS"}
    assert [found.agrees_with(one) for one in (*found.levels, None)] == [None] * 4
    assert found.contradicted_by("UCS") is None


def test_margins_add_up_along_a_chain_which_levels_alone_do_not_see() -> None:
    weak: Matrix = ((2000, 0, 0), (320, 1680, 0), (0, 0, 0))  # 58 % He of balanced text: within the margin
    found = infer([link("DSBS", weak), link("DSBS", weak)])
    assert found.levels == ("BS",)
    assert found.steps[-1].result == ("DSBS",)
    assert not found.fits_steps
    assert infer([link("UCS", COIN), link("DSBS", IDENTITY)]).fits_steps


def test_a_chain_of_one_is_its_part_and_an_empty_chain_is_none() -> None:
    found = infer([link("BS", ALL_HE)])
    assert (found.levels, found.steps, found.derived) == (("BS",), (), True)
    with pytest.raises(ValueError, match="at least one part"):
        infer([])


@given(st.lists(st.sampled_from([IDENTITY, COIN, ALL_HE, FLIP]), min_size=1, max_size=3))
@hypothesis_settings(max_examples=25, deadline=None)
def test_rates_agree_with_the_behaviours_of_clear_cases(matrices: list[Matrix]) -> None:
    names = {IDENTITY: "DSBS", COIN: "UCS", ALL_HE: "BS-constant", FLIP: "BS-constant"}
    names[FLIP] = "DSBS"  # swapping keeps balance and skew
    big = [tuple(tuple(10 * n for n in row) for row in matrix) for matrix in matrices]
    chain = [link(level_of(names[one]), many) for one, many in zip(matrices, big, strict=True)]
    expected = frozenset(map(level_of, compose([[names[one]] for one in matrices])))
    assert frozenset(infer(chain, "sound", CompositionTerms(draws=1000)).levels) == expected


def test_settings_that_differ_are_named() -> None:
    own, first = '{"margin": 0.12, "reader": "sound"}', '{"margin": 0.1, "reader": "sound"}'
    assert differing_settings(own, first) == "margin 0.12, not 0.1"
    assert differing_settings("released", "sound") == "released, not sound"
