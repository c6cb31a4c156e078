"""Numbers in words: per cent, certainty, p, bounds, money, time and dates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NONE = "–"
"""Stands where there is no number. Missing is never zero."""
DECIMALS_FROM = 200
"""Observations from which a per cent has a decimal."""


def percent(value: float | None, n: int = 0, *, tight: bool = False) -> str:
    """A share (0 to 1) as per cent; one decimal only from n = 200 on.

    `tight` leaves out the space, for terminals and labels. A share that only rounds to 0 or
    100 says so ("< 1 %", "> 99 %"): rounding must not hide the last case.
    """
    if value is None or not math.isfinite(value):
        return NONE
    digits = 1 if n >= DECIMALS_FROM else 0
    unit = "%" if tight else " %"
    step = 10**-digits
    number = f"{100 * value:.{digits}f}"
    if value > 0 and float(number) == 0:
        return f"< {step:g}{unit}"
    if value < 1 and float(number) == 100:
        return f"> {100 - step:g}{unit}"
    return (number.removesuffix(".0") if number in {"0.0", "100.0"} else number) + unit


DECIMALS = 3
"""Most decimals of a per cent beside a cut."""
NOISE = 1e-9
"""What two figures may differ by and be the same: sums in another order."""


def percent_beside(value: float | None, cuts: Sequence[float], n: int = 0, *, tight: bool = False) -> str:
    """A share as per cent, with as many decimals as show on which side of the cuts it lies.

    A value on a cut is above it. What differs from 0 by rounding alone is 0.

    >>> percent_beside(0.196, (0.05, 0.2)), percent_beside(0.2, (0.05, 0.2))
    ('19.6 %', '20 %')
    """
    if value is None or not math.isfinite(value) or abs(value) < NOISE:
        return percent(None if value is None else value * 0, n, tight=tight)
    first = 1 if n >= DECIMALS_FROM else 0
    side = _side(value, cuts)
    for digits in range(first, DECIMALS + 1):
        if _side(round(value, digits + 2), cuts) == side:
            unit = "%" if tight else " %"
            return percent(value, n, tight=tight) if digits == first else f"{100 * value:.{digits}f}{unit}"
    nearest = min(cuts, key=lambda cut: abs(cut - value))
    return f"{'<' if value < nearest else '>'} {percent(nearest, n, tight=tight)}"


def _side(value: float, cuts: Sequence[float]) -> int:
    """How many cuts a value reaches."""
    return sum(value >= cut - NOISE for cut in cuts)


REQUIRED = 0.95
"""Certainty that a level needs, unless a plan says otherwise."""
NEARLY = 0.945
"""From here on a certainty would be rounded up to the required one."""


def certainty(share: float | None, *, tight: bool = False) -> str:
    """The share of resamples that give a level; at most "> 99 %" (methods 0.5).

    What just misses the usual requirement is not rounded up to it.

    >>> certainty(0.947), certainty(0.95)
    ('94.7 %', '95 %')
    """
    if share is None or not math.isfinite(share):
        return NONE
    unit = "%" if tight else " %"
    if share > 0.99:
        return f"> 99{unit}"
    if NEARLY <= share < REQUIRED:
        return f"{math.floor(1000 * share) / 10}{unit}"
    return f"< 1{unit}" if share < 0.005 else f"{math.floor(100 * share + 0.5)}{unit}"


def certainties(shares: Mapping[str, float]) -> dict[str, str]:
    """The certainties of all levels, which add up to 100 where they are rounded.

    The largest is as it stands alone; what the others lack goes to those with the largest remainders.

    >>> certainties({"Low": 0.865, "Medium": 0.135})
    {'Low': '87 %', 'Medium': '13 %'}
    """
    whole = {level: math.floor(100 * share) for level, share in shares.items()}
    first = max(shares, key=lambda level: shares[level], default="")
    if first:
        whole[first] = 100 if shares[first] > 0.99 else math.floor(100 * shares[first] + 0.5)
    left = max(0, round(100 * sum(shares.values())) - sum(whole.values()))
    others = [level for level, share in shares.items() if level != first and share >= 0.005]
    for level in sorted(others, key=lambda level: whole[level] - 100 * shares[level])[:left]:
        whole[level if whole[level] < whole[first] else first] += 1  # none above the largest
    said = {level: certainty(whole[level] / 100) for level in shares}
    if NEARLY <= shares.get(first, 0.0) < REQUIRED:
        said[first] = certainty(shares[first])
    return said


def interval(value: Mapping[str, object] | None) -> str:
    """An interval of shares: "95 %, 83 to 99 %, n = 40"."""
    if not value or value.get("value") is None:
        return "no data"
    n = _whole(value.get("n"))
    low, high = _number(value.get("low")), _number(value.get("high"))
    middle = percent(_number(value.get("value")), n)
    if low is None or high is None:
        return f"{middle}, n = {count(n)}"
    return f"{middle}, {percent(low, n).removesuffix(' %')} to {percent(high, n)}, n = {count(n)}"


def points(value: float | None, *, n: int = 0) -> str:
    """A difference of shares, in points of a hundred."""
    if value is None or not math.isfinite(value):
        return NONE
    digits = 1 if n >= DECIMALS_FROM and abs(value) < 0.1 else 0
    number = signed_number(100 * value, digits).removesuffix(".0")
    return f"{number} point" if number == "1" else f"{number} points"


def p_value(p: float | None) -> str:
    """A p value; below one in a thousand only as "p < 0.001"."""
    if p is None or not math.isfinite(p):
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p = {p:.2f}" if p >= 0.01 else f"p = {p:.3f}"


def bare_p(p: float | None) -> str:
    """A p value under a head that names it: "0.04", "< 0.001"; a dash for none."""
    return NONE if p is None else p_value(p).removeprefix("p ").removeprefix("= ")


def count(n: float) -> str:
    """A whole number with thousands marked."""
    return f"{n:,.0f}"


def usd(amount: float) -> str:
    """A sum of money in US dollars."""
    if amount <= 0:
        return "free"
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.4f}"


def span(seconds: float) -> str:
    """A length of time: "under 2 s", "48 s", "6 min 12 s", "2 h 5 min"."""
    if seconds < 2:
        return "under 2 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def about(seconds: float) -> str:
    """A length of time that is not known exactly: "under 2 s", "about 48 s"."""
    return span(seconds) if seconds < 2 else f"about {span(seconds)}"


def day(text: str) -> str:
    """An ISO date or time as "22 Nov 2026"; what is no date is returned as it is."""
    try:
        when = date.fromisoformat(text[:10])
    except ValueError:
        return text
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def moment(text: str) -> str:
    """An ISO time in UTC as "22 Nov 2026 09:14 UTC"."""
    return f"{day(text)} {text[11:16]} UTC" if len(text) >= 16 and text[10] in "T " else day(text)


def ratio(numbers: Sequence[float], *, residual: bool = False) -> str:
    """Counts of values as "204:196"; the residual value, the last, only when asked for."""
    kept = list(numbers) if residual or len(numbers) < 2 else list(numbers)[:-1]
    return ":".join(f"{number:g}" for number in kept)


def share(value: Mapping[str, object] | None, *, tight: bool = False) -> str:
    """The value of an interval of shares, or a dash where there is none; `tight` for terminals."""
    if not value:
        return NONE
    return percent(_number(value["value"]), 0 if tight else _whole(value["n"]), tight=tight)


def signed_number(value: float | None, digits: int = 2) -> str:
    """A number with a true minus sign: "−0.31"; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else f"{0:.{digits}f}"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0
