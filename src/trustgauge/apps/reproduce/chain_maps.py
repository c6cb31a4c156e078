"""Every chain of services against all maps on three distributions: the ground truth of composition.

One unbiased distribution U and two biased ones, B1 and B2. A service is a map of these onto each
other; what follows for a chain of known levels is what some choice of maps of these levels gives
(two-step 1.9, reference case 6). Nothing here uses the rules it is the check of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

from trustgauge.methods.two_step.transition_model import LEVELS

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
