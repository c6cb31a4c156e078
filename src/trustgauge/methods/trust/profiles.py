"""Kinds of users: what matters to each of them, in order (trust 4.3)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from trustgauge.errors import PlanError
from trustgauge.methods.trust.preference_parsing import Places, places
from trustgauge.records import Profile


@dataclass(frozen=True, slots=True)
class IssueOrder:
    """Issues, most important first; those of one place matter alike, those left out do not count.

    Attributes:
        places: names of issues, place by place; within a place sorted by name.
    """

    places: Places

    @staticmethod
    def parse(written: str | Sequence[str], known: Sequence[str] = ()) -> IssueOrder:
        """The order that somebody writes; see `written_orders.places` for how, and for its ValueErrors.

        >>> IssueOrder.parse("IL > AL = B").written
        ('leakage', 'abuse = bias')
        """
        return IssueOrder(places(written, known))

    @property
    def issues(self) -> tuple[str, ...]:
        """All issues of the order; this is the order of columns of what is combined by it."""
        return tuple(name for place in self.places for name in place)

    @property
    def ranks(self) -> tuple[float, ...]:
        """Imp of trust 4.4, in the order of `issues`: 1 first; tied ones have the mean of their ranks."""
        found: list[float] = []
        for place in self.places:
            found += [len(found) + (len(place) + 1) / 2] * len(place)
        return tuple(found)

    @property
    def written(self) -> tuple[str, ...]:
        """The places as a plan holds them: ("leakage", "abuse = bias")."""
        return tuple(" = ".join(place) for place in self.places)

    def among(self, issues: Collection[str]) -> IssueOrder:
        """The same order of only those issues that are in `issues`."""
        kept = (tuple(name for name in place if name in issues) for place in self.places)
        return IssueOrder(tuple(place for place in kept if place))

    def __str__(self) -> str:
        return " > ".join(self.written)


PUBLISHED: Mapping[str, Profile] = {
    one.name: one
    for one in (
        Profile("privacy-first", ("leakage", "abuse", "bias", "complexity")),
        Profile("fairness-first", ("bias", "complexity", "abuse", "leakage")),
        Profile("easy-to-talk-to", ("complexity", "abuse", "bias", "leakage")),
        Profile("safe-language", ("abuse", "complexity", "bias", "leakage")),
    )
}
"""The four published profiles by their everyday names (trust 4.3)."""

TITLES: Mapping[str, str] = {
    "privacy-first": "Privacy first",
    "fairness-first": "Fairness first",
    "easy-to-talk-to": "Easy to talk to",
    "safe-language": "Safe language",
}
PAPER_NAMES: Mapping[str, str] = {
    "P_PU": "privacy-first",
    "P_FU": "fairness-first",
    "P_CU": "easy-to-talk-to",
    "P_AU": "safe-language",
}


def title(name: str) -> str:
    """What a profile is called: "Privacy first"; an own one by its name.

    >>> title("safe-language"), title("parents")
    ('Safe language', 'parents')
    """
    return TITLES.get(name, name)


def order_of(written: str | Sequence[str], known: Sequence[str] = (), place: str = "order") -> IssueOrder:
    """The order that a plan, a command or a person writes.

    Args:
        written: "IL > AL = B > CC", "abuse, bias", or a list of places such as ["abuse", "bias = leakage"].
        known: names of issues that may occur; none given: any name may.
        place: of the setting, for errors.

    Raises:
        PlanError: it is empty, names an unknown issue, or one twice.
    """
    try:
        return IssueOrder.parse(written, known)
    except ValueError as error:
        shown = written if isinstance(written, str) else ", ".join(written)
        raise PlanError.of(
            place,
            f"no order of issues: {error}",
            must='issues, most important first, as in "leakage > abuse = bias"',
            got=repr(shown if len(shown) <= 80 else shown[:77] + "..."),
        ) from None


def profile_order(
    name: str, own: Mapping[str, Sequence[str]], known: Sequence[str] = (), place: str = "profiles"
) -> IssueOrder:
    """The order of a profile: one of the plan's own, or a published one by its everyday or paper name.

    Args:
        name: of the profile.
        own: the plan's profiles, name -> places; one with a published name takes its place.
        known: names of issues that may occur in an own profile.
        place: of the setting, for errors.

    Raises:
        PlanError: there is no such profile, or its order is none.
    """
    if name in own:
        return order_of(own[name], known, f"profiles.{name}.order")
    found = PUBLISHED.get(PAPER_NAMES.get(name, name))
    if found is None:
        valid = (*PUBLISHED, *own)
        near = get_close_matches(name, valid, n=1, cutoff=0.5)
        do = f'Did you mean "{near[0]}"?' if near else "Add it to the plan as [profiles.NAME]"
        raise PlanError.of(place, f'no profile "{name}"', must="one of: " + ", ".join(valid), do=do)
    return IssueOrder.parse(found.order)
