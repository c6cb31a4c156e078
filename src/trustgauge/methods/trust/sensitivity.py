"""What a rating depends on: the model, its data, the user, or none of them (trust 4.5).

The type follows from ratings of variants that were really run; factors without a variant are reported as
untested, and a variant that could not be settled leaves its factor open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from trustgauge.errors import MethodError
from trustgauge.methods.trust.issues.issue import LEVELS
from trustgauge.records import Json, Rule, State

Factor = Literal["model", "data", "users"]
FACTORS: tuple[Factor, ...] = get_args(Factor)
COMBINED = "combined"
TYPES = {"model": "2", "data": "3", "users": "4"}


@dataclass(frozen=True, slots=True)
class Variant:
    """A rating of the service with something changed; the rating of the service itself changes nothing.

    Attributes:
        factors: what was changed: one of FACTORS, or several in combination; () of the service itself.
        name: of the variant: of a service, or of a profile.
        level: it was rated at; None if it has none.
        state: of its rating.
        score: its common risk, if it has one.
    """

    factors: tuple[Factor, ...]
    name: str
    level: str | None
    state: State
    score: float | None = None


def sensitivity(base: Variant, variants: Sequence[Variant], rule: Rule = "sound") -> dict[str, Json]:
    """The sensitivity type and what it follows from.

    Under `sound` only a variant that is `rated` sways, and only a base that is `rated` can be swayed; under
    the other rules every level counts.

    Args:
        base: the rating of the service as it is.
        variants: ratings with something changed; several may change the same.
        rule: whether levels must be settled.

    Returns:
        - `type`: "1" none sways, and all three factors were tested and settled; "2" only the model
          sways of those that were tested, "3" only the data, "4" only the users; "N" several, or only a
          combination; None if a variant that is open may make it another type, if nothing swayed and
          something is untested, or if the base has no level that counts.
        - `factors`: a row for model, data, users and combined each: `factor`, `tested` (a variant was
          run), `swayed` (None if nothing of it is settled), `levels` seen, how many levels a variant is
          `better` and `worse` at most, `by` (largest change of risk, None if unknown), the names of
          variants that are `open`, and `variants`.
        - `untested` and `open`: factors without a variant, and with one that is not settled.
        - `base`: its level and state.

    Raises:
        MethodError: a variant changes nothing, or the base does.
    """
    if base.factors or not all(one.factors for one in variants):
        raise MethodError(
            "no variants of a service", must="a base that changes nothing, and variants that change something"
        )
    counted = base.level is not None and _counts(base, rule)
    rows = [
        _row(factor, base, [one for one in variants if one.factors == (factor,)], rule) for factor in FACTORS
    ]
    several = [one for one in variants if len(one.factors) > 1]
    rows.append(_row(COMBINED, base, several, rule))
    swayed = {str(row["factor"]) for row in rows if row["swayed"]} - {COMBINED}
    # A combination with a factor that sways alone shows nothing new.
    joint = [one for one in several if _sways(base, one, rule) and not swayed & set(one.factors)]
    untested = [row["factor"] for row in rows if not row["tested"]]
    still_open = [row["factor"] for row in rows if row["open"]]
    # A variant that is not settled may show that more sways than what does.
    unsure = any(not _counts(one, rule) and not swayed & set(one.factors) for one in variants)
    unsure |= not swayed and bool(set(untested) - {COMBINED})
    return {
        "type": _type(swayed, joint=bool(joint), unsure=unsure) if counted else None,
        "factors": rows,
        "untested": untested,
        "open": still_open,
        "base": {"name": base.name, "level": base.level, "state": base.state},
    }


def _type(swayed: set[str], *, joint: bool, unsure: bool) -> str | None:
    if len(swayed) > 1 or joint:
        return "N"
    if unsure:
        return None
    return TYPES[next(iter(swayed))] if swayed else "1"


def _counts(one: Variant, rule: Rule) -> bool:
    return one.level is not None and (rule != "sound" or one.state == "rated")


def _sways(base: Variant, one: Variant, rule: Rule) -> bool:
    return _counts(base, rule) and _counts(one, rule) and one.level != base.level


def _row(factor: str, base: Variant, variants: Sequence[Variant], rule: Rule) -> dict[str, Json]:
    """One row: whether a factor was tested, whether it swayed, and by how much."""
    settled = [one for one in variants if _counts(one, rule)]
    seen = {one.level for one in settled}
    apart = [_place(one) - _place(base) for one in settled] if _counts(base, rule) else []
    changes = [one.score - base.score for one in settled if one.score is not None and base.score is not None]
    return {
        "factor": factor,
        "tested": bool(variants),
        "swayed": any(apart) if apart else None,
        "levels": [level for level in LEVELS if level in seen],
        "better": max([-step for step in apart if step < 0], default=0),
        "worse": max([step for step in apart if step > 0], default=0),
        "by": max(changes, key=abs) if changes else None,
        "open": [one.name for one in variants if not _counts(one, rule)],
        "variants": [
            {"name": one.name, "factors": list(one.factors), "level": one.level, "state": one.state}
            for one in variants
        ],
    }


def _place(one: Variant) -> int:
    return LEVELS.index(one.level) if one.level is not None else 0
