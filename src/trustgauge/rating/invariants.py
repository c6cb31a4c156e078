"""What holds of every rating, whoever wrote its method: one that breaks it is not issued (methods 0.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple
from itertools import chain, pairwise
from typing import get_args

from trustgauge.errors import MethodError
from trustgauge.records import Interval, Part, Rating, State, is_json, plain

_ROUNDING = 1e-6
_WITH_LEVEL = ("rated", "assumed", "inferred")
_SHOWN = 200
Broken = tuple[str, str, object]
"""What is broken, what it must be, what was got."""


def check_rating(rating: Rating, settle: float | None = None) -> None:
    """Check that a rating and its parts can be true.

    Args:
        rating: of any method.
        settle: certainty from which its method calls a level settled. With it, as in the kit of methods,
            what would be odd and yet no false claim is an error too: intervals and coverage.

    Raises:
        MethodError: the first thing that cannot be.
    """
    broken = _broken(rating, 0.5 if settle is None else settle)
    for what, must, got in broken if settle is None else chain(broken, _odd(rating)):
        where = f'"{rating.method}" of "{rating.service}"'
        do = "Mend the method, or report it to its author"
        raise MethodError(f"the rating by {where}: {what}", must=must, got=str(got)[:_SHOWN], do=do)


def _broken(rating: Rating, settle: float) -> Iterator[Broken]:
    if not rating.parts:
        yield "a rating without parts", "at least one part", "none"
    levels, keys = rating.scale.levels, [part.key for part in rating.parts]
    for one in _whole_and_parts(rating):
        yield from _of_level(one, levels)
        yield from _of_certainty(one, levels, settle)
        if one.score is not None and not all(map(_is_number, _known(one.score))):
            yield "a score is no number", "finite numbers or None", _known(one.score)
    if len(set(keys)) < len(keys):
        yield "two parts have one key", "a key for each part", keys
    if strangers := set(rating.worst) - set(keys):
        yield "`worst` names no part", f"keys of parts: {', '.join(keys)}", sorted(strangers)
    if not is_json(plain(rating)):
        yield "a rating is not plain data", "JSON without NaN", rating


def _odd(rating: Rating) -> Iterator[Broken]:
    for one in _whole_and_parts(rating):
        values = [] if one.score is None else _known(one.score)
        if any(before > after + _ROUNDING for before, after in pairwise(values)):
            yield "a score outside its interval", "low, value, high in this order", values
    for part in rating.parts:
        cover = part.coverage
        came = cover.answered + cover.refused + cover.empty + cover.unreadable + cover.failed
        if min(astuple(cover)) < 0 or came > cover.planned:
            yield "coverage counts more than was planned", f"{cover.planned} texts at most", cover


def _whole_and_parts(rating: Rating) -> tuple[Rating | Part, ...]:
    return (rating, *rating.parts)


def _known(score: Interval) -> list[float]:
    """The figures of a score that are there: low, value, high."""
    return [value for value in (score.low, score.value, score.high) if value is not None]


def _of_level(one: Rating | Part, levels: tuple[str, ...]) -> Iterator[Broken]:
    if one.state not in get_args(State):
        yield "no such state", ", ".join(get_args(State)), one.state
    if one.level is not None and one.level not in levels:
        yield "no such level", ", ".join(levels), one.level
    if one.state in _WITH_LEVEL and one.level is None:
        yield f"{one.state} without a level", "a level, or another state", "None"


def _of_certainty(one: Rating | Part, levels: tuple[str, ...], settle: float) -> Iterator[Broken]:
    shares: Mapping[str, float] = one.certainty
    if not set(shares) <= set(levels):
        yield "certainty of no level", ", ".join(levels), ", ".join(shares)
        return
    if not all(_is_number(share) and -_ROUNDING <= share <= 1 + _ROUNDING for share in shares.values()):
        yield "a certainty is no share", "0 to 1 for each level", dict(shares)
        return
    if shares and abs(math.fsum(shares.values()) - 1) > _ROUNDING:
        yield "certainties do not add up", "1", math.fsum(shares.values())
    if shares and one.level is None:
        yield "certainties without a level", "none, where no level is given", dict(shares)
    if one.state == "rated" and one.level is not None and shares.get(one.level, 0.0) < settle - _ROUNDING:
        must = f'certainty of {settle:g} or more, or the state "not settled"'
        yield f"rated as {one.level} without enough certainty", must, dict(shares)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
