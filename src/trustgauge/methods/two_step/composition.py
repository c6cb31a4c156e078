"""Composition: what a chain of rated services can be, without testing it (two-step 1.9).

Two algebras. *Levels*: the paper's table 2, and the same table corrected. *Behaviours*: the class of
the output on balanced and on skewed input, two bits, which compose exactly; a level is a set of
behaviours. From measured rates the chain's own rates follow by multiplication.

`infer` chooses the sharpest way that the facts allow and says what stands against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

import numpy as np

from trustgauge.methods.two_step import chains
from trustgauge.methods.two_step.chains import Link
from trustgauge.methods.two_step.transition_model import LEVELS, deviations
from trustgauge.methods.two_step.transition_model import level_of as level_of_draws
from trustgauge.records import Reason, Rule

Levels = frozenset[str]
Table = Mapping[tuple[str, str], Levels]
Way = Literal["rates", "two-bit", "levels", "published"]

BITS: Mapping[str, tuple[int, int]] = {
    "UCS": (0, 0),
    "DSBS": (0, 1),
    "BS-constant": (1, 1),
    "BS-inverting": (1, 0),
}
"""Behaviours as (class of the output on unbiased input, on biased input); 0 unbiased, 1 biased."""

BEHAVIOURS: Mapping[str, Levels] = {
    "UCS": frozenset({"UCS"}),
    "DSBS": frozenset({"DSBS"}),
    "BS": frozenset({"BS-constant", "BS-inverting"}),
}
"""What a level alone says of the behaviour."""


def _table(text: str) -> Table:
    cells = (line.split(":") for line in text.split(";"))
    return {(pair.split()[0], pair.split()[1]): frozenset(result.split()) for pair, result in cells}


PUBLISHED: Table = _table(
    "BS BS: BS UCS DSBS; BS UCS: UCS; BS DSBS: BS;"
    "UCS BS: BS; UCS UCS: UCS; UCS DSBS: DSBS;"
    "DSBS BS: BS; DSBS UCS: UCS; DSBS DSBS: DSBS"
)
"""P1, table 2: (first, second) -> possible levels."""

CORRECTED: Table = {**PUBLISHED, ("UCS", "DSBS"): frozenset({"UCS"})}
"""Table 2 with the cell that contradicts the paper's own definitions put right."""


@dataclass(frozen=True, slots=True)
class CompositionStep:
    """One step of an inference: what is known so far, the next part, what follows."""

    first: tuple[str, ...]
    second: str
    result: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompositionTerms:
    """What an inference depends on beside its parts.

    Attributes:
        today: a date, ISO 8601; "" skips the check of expiry.
        margin: differences up to this count as none (methods 0.6).
        settle: certainty from which a level is settled.
        draws: T.
        seed: of the draws.
    """

    today: str = ""
    margin: float = 0.10
    settle: float = 0.95
    draws: int = 4000
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Inference:
    """What follows for a chain.

    Attributes:
        levels: the levels that remain possible, best first.
        state: `inferred` if nothing must be tested.
        certainty: share of joint draws in which no other level is possible.
        way: what it was inferred from: rates, two-bit, levels or published.
        steps: the cells used, in order.
        published: what the paper's table says of the same chain.
        must_test: what stands against deriving the level, one Reason a condition.
        calls: what testing the chain would cost, in calls.
        certainties: share of joint draws by set of possible levels ("UCS or BS").
        settle: certainty from which a level is ruled out.
    """

    levels: tuple[str, ...]
    state: Literal["inferred", "not settled"]
    certainty: float
    way: Way
    steps: tuple[CompositionStep, ...]
    published: tuple[str, ...]
    must_test: tuple[Reason, ...] = ()
    calls: int = 0
    certainties: Mapping[str, float] = field(default_factory=dict)
    settle: float = 0.95

    @property
    def derived(self) -> bool:
        """Whether every condition of two-step 1.9 holds."""
        return not self.must_test

    @property
    def fits_steps(self) -> bool:
        """Whether the steps, which are of levels alone, leave room for what sharper facts say."""
        return not self.steps or set(self.levels) <= set(self.steps[-1].result)

    def agrees_with(self, measured: str | None, state: str = "rated") -> bool | None:
        """Whether a measured level of the chain is among those inferred; None if that is unknown.

        It is unknown of a measurement that is not settled, nor where any level is possible, nor of a
        level that is only less likely than those inferred: a level is ruled out where `settle` of the draws
        leave no room for it.
        """
        if state != "rated" or measured is None or len(self.levels) == len(LEVELS):
            return None
        if measured in self.levels:
            return True
        without = sum(share for one, share in self.certainties.items() if measured not in one.split(" or "))
        return False if without >= self.settle else None

    def contradicted_by(self, measured: str | None, state: str = "rated") -> Reason | None:
        """The Reason to show if the chain, once measured, has a level that was ruled out."""
        if self.agrees_with(measured, state) is not False:
            return None
        return Reason("inference-contradicted", {"inferred": list(self.levels), "measured": measured})


def sort_levels(levels: Iterable[str]) -> tuple[str, ...]:
    """Levels from best to worst."""
    return tuple(sorted(set(levels), key=LEVELS.index))


def combine(first: Iterable[str], second: Iterable[str], table: Table) -> Levels:
    """Possible levels of two services in a row, each known as a set of levels."""
    return frozenset().union(*(table[one, two] for one in first for two in second))


def by_table(levels: Sequence[str], table: Table = PUBLISHED) -> tuple[Levels, tuple[CompositionStep, ...]]:
    """Possible levels of a chain by a table, from left to right, and the cells used."""
    known: Levels = frozenset(levels[:1])
    steps = []
    for level in levels[1:]:
        result = combine(known, [level], table)
        steps.append(CompositionStep(sort_levels(known), level, sort_levels(result)))
        known = result
    return known, tuple(steps)


def then(first: str, second: str) -> str:
    """The behaviour of two services in a row: (u, b) then g is (g[u], g[b]). Exact and associative."""
    bits = BITS[second]
    unbiased, biased = BITS[first]
    wanted = (bits[unbiased], bits[biased])
    return next(name for name, pair in BITS.items() if pair == wanted)


def compose(behaviours: Sequence[Iterable[str]]) -> Levels:
    """Possible behaviours of a chain whose parts are known as sets of behaviours."""

    def one(first: Levels, second: Levels) -> Levels:
        return frozenset(then(before, after) for before in first for after in second)

    return reduce(one, (frozenset(part) for part in behaviours), frozenset({"DSBS"}))


def level_of(behaviour: str) -> str:
    """The level of a behaviour."""
    return behaviour.partition("-")[0]


def closed_form(behaviours: Sequence[str]) -> str:
    """The behaviour of a chain without composing it: only what comes after the last constant counts.

    The last UCS or BS-constant fixes the output's class; each later BS-inverting flips it. Without
    one, an even number of BS-inverting gives DSBS, an odd one BS-inverting.
    """
    constant = max((at for at, one in enumerate(behaviours) if one in ("UCS", "BS-constant")), default=-1)
    flips = sum(one == "BS-inverting" for one in behaviours[constant + 1 :])
    if constant < 0:
        return "BS-inverting" if flips % 2 else "DSBS"
    output = (BITS[behaviours[constant]][0] + flips) % 2
    return "BS-constant" if output else "UCS"


def from_levels(levels: Sequence[str]) -> Levels:
    """Possible levels of a chain from levels alone, any number of biased distributions (two-step 1.9).

    Wider than composing sets of behaviours, which takes every service to treat all biased inputs alike.
    """
    last = max((at for at, level in enumerate(levels) if level == "UCS"), default=-1)
    count = sum(level == "BS" for level in levels[last + 1 :])
    if last >= 0:
        return frozenset((("UCS",), ("BS",), ("BS", "UCS"))[min(count, 2)])
    return frozenset((("DSBS",), ("BS",), LEVELS)[min(count, 2)])


def infer(chain: Sequence[Link], rule: Rule = "sound", terms: CompositionTerms | None = None) -> Inference:
    """What a chain of rated parts can be (two-step 1.9).

    `published` reads the paper's table. `sound` multiplies measured rates where every part has
    them; else composes measured two-bit behaviours; else argues from levels alone.

    Args:
        chain: the parts in the order in which a text passes them; at least one.
        rule: the rule set.
        terms: date, margin, certainty and draws.

    Raises:
        ValueError: the chain is empty.
    """
    if not chain:
        raise ValueError("a chain needs at least one part")
    terms = terms or CompositionTerms()
    table, steps, way, shares = _inferred(chain, rule, terms)
    reasons = list(chains.conditions(chain, terms.today, terms.margin))
    possible, certainty = _likeliest(shares)
    if way in ("two-bit", "levels"):
        reasons += chains.other_specs(chain)
    if certainty < terms.settle:
        doubt = {"certainty": certainty, "settle": terms.settle, "calls": chains.calls(chain)}
        reasons.append(Reason("composition.uncertain", doubt))
    if len(possible) > 1:
        facts = {"levels": list(sort_levels(possible)), "calls": chains.calls(chain)}
        reasons.append(Reason("composition.several-levels", facts))
    return Inference(
        levels=sort_levels(possible),
        state="not settled" if reasons else "inferred",
        certainty=certainty,
        way=way,
        steps=steps,
        published=sort_levels(table),
        must_test=tuple(reasons),
        calls=chains.calls(chain),
        certainties={" or ".join(sort_levels(one)): share for one, share in shares.items()},
        settle=terms.settle,
    )


def _inferred(
    chain: Sequence[Link], rule: Rule, terms: CompositionTerms
) -> tuple[Levels, tuple[CompositionStep, ...], Way, dict[Levels, float]]:
    """What the table says, the steps, the way taken, and share of joint draws by set of levels."""
    levels = [link.level for link in chain if link.level in LEVELS]
    if len(levels) < len(chain):
        return frozenset(LEVELS), (), "levels", {frozenset(LEVELS): 1.0}
    table, steps = by_table(levels)
    if rule == "published":
        return table, steps, "published", {table: _certainty_of_levels(chain)}
    steps = _level_steps(levels)
    if chains.multiplicable(chain):
        return table, steps, "rates", _from_rates(chain, terms)
    if all(link.two_bit for link in chain):
        return table, steps, "two-bit", _from_behaviours(chain)
    return table, steps, "levels", {from_levels(levels): _certainty_of_levels(chain)}


def _level_steps(levels: Sequence[str]) -> tuple[CompositionStep, ...]:
    """What levels alone say after each part."""
    known = [sort_levels(from_levels(levels[:count])) for count in range(1, len(levels) + 1)]
    return tuple(map(CompositionStep, known[:-1], levels[1:], known[1:]))


def _likeliest(shares: Mapping[Levels, float]) -> tuple[Levels, float]:
    """The likeliest set of levels, the sharper one of equals, and how sure it is that none is outside."""
    best = max(shares, key=lambda one: (shares[one], -len(one), sort_levels(one)))
    certainty = sum(share for one, share in shares.items() if one <= best)
    return best, min(1.0, certainty)


def _certainty_of_levels(chain: Sequence[Link]) -> float:
    """At least this sure: the parts' doubts added up (two-step 1.9)."""
    return max(0.0, 1.0 - sum(1.0 - link.certainty.get(link.level or "", 0.0) for link in chain))


def behaviour_set(name: str) -> Levels:
    """The behaviours that a name stands for: one, or a level whose second bit varies ("BS").

    Several are written as in `rates.BEHAVIOURS`: "UCS|DSBS".
    """
    found: Levels = frozenset()
    for one in name.split("|"):
        found |= frozenset({one}) if one in BITS else BEHAVIOURS[one]
    return found


def _from_behaviours(chain: Sequence[Link]) -> dict[Levels, float]:
    """Share of joint draws by set of levels, the parts' draws taken as independent."""
    joint: dict[Levels, float] = {frozenset({"DSBS"}): 1.0}
    for link in chain:
        following: dict[Levels, float] = {}
        for known, share in joint.items():
            for name, other in link.two_bit.items():
                result = compose([known, behaviour_set(name)])
                following[result] = following.get(result, 0.0) + share * other
        joint = following
    return _projected(joint)


def _projected(behaviours: Mapping[Levels, float]) -> dict[Levels, float]:
    shares: dict[Levels, float] = {}
    for known, share in behaviours.items():
        if share > 0:
            levels = frozenset(map(level_of, known))
            shares[levels] = shares.get(levels, 0.0) + share
    return shares


def _from_rates(chain: Sequence[Link], terms: CompositionTerms) -> dict[Levels, float]:
    """Share of joint draws by set of levels over all vertices of the unknown rows."""
    unbiased = np.array(chain[0].unbiased, dtype=np.float64)
    possible = np.zeros((terms.draws, len(LEVELS)), dtype=bool)
    for product in chains.products(chain, terms.draws, terms.seed):
        devs = deviations(product, chain[0].tested, unbiased)
        possible[np.arange(terms.draws), level_of_draws(devs, len(unbiased), terms.margin)] = True
    sets, counts = np.unique(possible, axis=0, return_counts=True)
    return {
        frozenset(level for level, share in zip(LEVELS, row, strict=True) if share): int(count) / terms.draws
        for row, count in zip(sets, counts, strict=True)
    }
