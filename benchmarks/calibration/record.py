"""What one simulated rating came to, and the setting that many of them belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import NamedTuple

from trustgauge.records import Part, Rating
from trustgauge.reports.sentences import states_share

NO_LEVEL = "none"
"""The truth of a service that changes during the run: whatever is settled is wrong."""


Wanted = Callable[[str], bool]
"""Whether the service of a name is to be rated."""


def every_one(name: str) -> bool:
    """All services are to be rated."""
    del name
    return True


class Trial(NamedTuple):
    """One simulated rating of a service whose truth is known.

    Attributes:
        level: the level given (the likeliest one, if not settled); None if nothing was rated.
        settled: whether the state is `rated`.
        certainty: what a report states of `level`, 0 to 1; NaN if nothing (`certainty_in_report`).
        right: whether `level` is the true one; None at a truth that lies on a cut, where no level is wrong.
        covered: whether the 95 % interval of the score holds the true score; None if there is no interval.
        unread: the share of the answers that the method did not read; None where it reads all.
    """

    level: str | None
    settled: bool
    certainty: float
    right: bool | None
    covered: bool | None
    unread: float | None = None


def certainty_in_report(one: Rating | Part) -> float:
    """The certainty that a report states of the level; NaN where it states none."""
    stated = states_share(one.state, (reason.code for reason in one.reasons))
    found = one.certainty.get(one.level or "", nan) if stated else nan
    misleads = one.state == "not settled" and found < max(one.certainty.values(), default=0.0)
    return nan if misleads else found


@dataclass(frozen=True, slots=True)
class Setting:
    """Many ratings of one built service at one size.

    Attributes:
        method: its name, as in plans.
        service: what was built, in words a reader of the table understands, such as "adds .08 of the range".
        kind: "null", "effect", "noise", "clustered", "one-sided", "changing", "lost" or "refusing": what it
            tests.
        truth: the true level, or `NO_LEVEL`.
        size: the size in the method's words, such as "50 texts a block".
        recommended: whether this is the size of the ready plan (targets hold there).
        trials: the ratings.
        promised: the probability of settling that the plan announced for this effect and size; None if none.
    """

    method: str
    service: str
    kind: str
    truth: str
    size: str
    recommended: bool
    trials: tuple[Trial, ...]
    promised: float | None = None
