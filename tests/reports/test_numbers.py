from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from trustgauge.reports import numbers


@pytest.mark.parametrize(
    ("value", "n", "said"),
    [
        (0.5, 40, "50 %"),
        (0.523, 199, "52 %"),
        (0.523, 200, "52.3 %"),
        (0.0, 1000, "0 %"),
        (1.0, 1000, "100 %"),
        (0.0001, 1000, "< 0.1 %"),
        (0.9999, 1000, "> 99.9 %"),
        (0.996, 50, "> 99 %"),
        (0.004, 50, "< 1 %"),
        (None, 50, "–"),
        (float("nan"), 50, "–"),
    ],
)
def test_percent(value: float | None, n: int, said: str) -> None:
    assert numbers.percent(value, n) == said
    assert numbers.percent(value, n, tight=True) == said.replace(" %", "%")


@given(some.floats(0, 1), some.integers(0, 10_000))
@example(0.005, 0)  # halves are rounded to even
@example(0.995, 0)
@example(0.0005, 200)
@example(math.nextafter(1, 0), 0)  # times 100 it is 100
def test_percent_never_rounds_to_all_or_nothing(value: float, n: int) -> None:
    said = numbers.percent(value, n)
    assert (said == "0 %") is (value == 0)
    assert (said == "100 %") is (value == 1)


@pytest.mark.parametrize(
    ("value", "n", "said"),
    [
        (0.195, 0, "19.5 %"),
        (0.19986, 0, "19.99 %"),
        (0.04997, 4000, "4.997 %"),
        (0.1999999, 0, "< 20 %"),
        (math.nextafter(0.2, 0), 0, "20 %"),  # on the cut but for rounding
        (0.2, 0, "20 %"),
        (0.123, 0, "12 %"),
        (0.123, 200, "12.3 %"),
        (2.5e-18, 0, "0 %"),
        (0.004, 0, "< 1 %"),
        (None, 0, "–"),
    ],
)
def test_percent_beside_a_cut_stays_on_its_side(value: float | None, n: int, said: str) -> None:
    assert numbers.percent_beside(value, (0.05, 0.2), n) == said
    assert numbers.percent_beside(value, (0.05, 0.2), n, tight=True) == said.replace(" %", "%")


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "> 99 %"),
        (0.991, "> 99 %"),
        (0.99, "99 %"),
        (0.95, "95 %"),
        (0.9496, "94.9 %"),
        (0.9449, "94 %"),
        (0.845, "85 %"),
        (0.001, "< 1 %"),
        (None, "–"),
    ],
)
def test_certainty_is_at_most_above_99(share: float | None, said: str) -> None:
    assert numbers.certainty(share) == said


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((0.865, 0.135), ("87 %", "13 %")),
        ((0.504, 0.304, 0.192), ("50 %", "31 %", "19 %")),  # the first is 50 % where it stands alone
        ((0.334, 0.333, 0.333), ("34 %", "33 %", "33 %")),
        ((0.947, 0.053), ("94.7 %", "5 %")),
        ((0.992, 0.008), ("> 99 %", "< 1 %")),
        ((0.99, 0.004, 0.003, 0.003), ("99 %", "< 1 %", "< 1 %", "< 1 %")),
        ((1.0, 0.0), ("> 99 %", "< 1 %")),
        ((), ()),
    ],
)
def test_certainties_add_up(shares: tuple[float, ...], said: tuple[str, ...]) -> None:
    assert tuple(numbers.certainties(dict(zip("abcd", shares, strict=False))).values()) == said


@given(some.lists(some.integers(0, 2000), min_size=2, max_size=5).filter(any))
def test_certainties_of_resamples_add_up_and_keep_their_order(counts: list[int]) -> None:
    shares = {str(place): count / sum(counts) for place, count in enumerate(counts)}
    said = numbers.certainties(shares)
    bounds = {"< 1 %": 0, "> 99 %": 100}
    whole = {
        level: bounds[words] if words in bounds else math.ceil(float(words[:-2]))  # 94.7 % counts as 95
        for level, words in said.items()
    }
    small = sum(words == "< 1 %" and shares[level] > 0 for level, words in said.items())
    assert 100 - small <= sum(whole.values()) <= 100
    for level, share in shares.items():
        assert abs(whole[level] - 100 * share) <= 1 or (share > 0.99 and whole[level] == 100)
    assert max(whole.values()) == max(
        whole[level] for level in shares if shares[level] == max(shares.values())
    )


@pytest.mark.parametrize(
    ("p", "said"), [(0.0009, "p < 0.001"), (0.001, "p = 0.001"), (0.59, "p = 0.59"), (None, "p undefined")]
)
def test_p(p: float | None, said: str) -> None:
    assert numbers.p_value(p) == said


def test_interval_carries_its_n() -> None:
    facts = {"value": 0.95, "low": 0.83, "high": 0.99, "n": 40}
    assert numbers.interval(facts) == "95 %, 83 to 99 %, n = 40"
    assert numbers.interval({"value": None, "low": None, "high": None, "n": 0}) == "no data"
    assert numbers.interval({"value": 0.5, "low": None, "high": None, "n": 3}) == "50 %, n = 3"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "under 2 s"),
        (48, "48 s"),
        (60, "1 min"),
        (372, "6 min 12 s"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
    ],
)
def test_span(seconds: float, said: str) -> None:
    assert numbers.span(seconds) == said


def test_money_dates_and_counts() -> None:
    assert [numbers.usd(amount) for amount in (0, 0.0004, 0.43, 12)] == ["free", "$0.0004", "$0.43", "$12.00"]
    assert numbers.day("2026-11-22T09:14:14Z") == "22 Nov 2026"
    assert numbers.day("soon") == "soon"
    assert numbers.moment("2026-11-22T09:14:14Z") == "22 Nov 2026 09:14 UTC"
    assert numbers.count(1800) == "1,800"


def test_ratio_leaves_the_residual_out() -> None:
    assert numbers.ratio([204, 196, 0]) == "204:196"
    assert numbers.ratio([204, 196, 3], residual=True) == "204:196:3"
    assert [numbers.points(value, n=400) for value in (0.45, 0.01, 0.015)] == [
        "45 points",
        "1 point",
        "1.5 points",
    ]
