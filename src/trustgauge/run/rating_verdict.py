"""Whether one rating is worse than another: what their figure says, their levels, and what was read.

A figure counts only if it says the same whatever the missing and unread answers would have said, and nothing
else speaks against it (`comparison_obstacle`).

The compared figure need not be all that a level rests on: that of two-step is measured on balanced input,
and UCS differs from DSBS on skewed input only. So a settled level that is worse is worse, whatever the figure
says. A figure that is the same says nothing of readings that were right and now are not, a better one
nothing of values that are exchanged now. A method without such a figure is compared issue by issue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import TYPE_CHECKING, Literal

from trustgauge.methods import FigureDoubter
from trustgauge.reports.comparison_model import NO_DIFFERENCE, Basis, IssuesEntry
from trustgauge.reports.document import levels
from trustgauge.stats.comparisons import mcnemar

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import RatingDifference, ReadingsEntry
    from trustgauge.reports.document_model import PartEntry, RatingEntry
    from trustgauge.run.stored_ratings import StoredRating

SIDES = ("the baseline", "the new run")
UNFIT: Mapping[str, str] = {
    "changed-during-the-run": "the service changed during {run}",
    "too-few-clusters": "{run} has too few independent texts",
    "audit-unresolved": "labellers disagree about some answers of {run}",
    "audit-gaps": "labellers passed over some answers of {run}",
}
"""Why a rating is compared with no other, by the code of a reason."""
WORSE_LEVELS = 0.05
"""Certainty of the worse levels above which a level that was settled may have become worse."""
WENT_WRONG = 0.10
"""Share of the readings, those that come right taken off, from which going wrong is no small change."""


@dataclass(frozen=True, slots=True)
class RatingVerdict:
    """A verdict, and what it rests on."""

    verdict: str
    basis: Basis = "figure"


def is_same_scale(before: StoredRating, after: StoredRating) -> bool:
    """Whether the levels of two ratings mean the same.

    One version and rule of the method under the same settings; and where a level is a place among systems, as
    it may be under any rule but `sound`, among the same ones.
    """
    if before.key[:4] != after.key[:4] or before.settings != after.settings:
        return False
    alike = levels(before.rating) == levels(after.rating)
    return alike and (before.key[2] == "sound" or _systems(before) == _systems(after))


def _systems(one: StoredRating) -> list[str]:
    method = one.rating["method"]["name"]
    every = one.run.document["ratings"]
    return sorted(other["service"]["name"] for other in every if other["method"]["name"] == method)


def comparison_obstacle(before: StoredRating, after: StoredRating) -> str:
    """What speaks against their figure, of one of them or of one only; "" if nothing does."""
    codes = [_codes(one.rating) for one in (before, after)]
    for run, mine in zip(SIDES, codes, strict=True):
        if found := next((words for code, words in UNFIT.items() if code in mine), ""):
            return found.format(run=run)
    doubts = after.method.figure_doubts if isinstance(after.method, FigureDoubter) else {}
    for run, mine, others in zip(SIDES, codes, codes[::-1], strict=True):
        if found := next((words for code, words in doubts.items() if code in mine - others), ""):
            return f"only {run} {found}"
    return ""


def _codes(rating: RatingEntry) -> set[str]:
    parts = [one for one in rating["parts"] if one["level"]]
    return {one["code"] for each in (rating, *parts) for one in each["reasons"]}


def decide(one: RatingDifference, *, same_scale: bool, error: float, doubted: bool = False) -> RatingVerdict:
    """The verdict of two ratings.

    Args:
        one: the two, with the verdict of their figure.
        same_scale: whether their levels mean the same, see `is_same_scale`.
        error: up to which chance gives as many readings that go wrong.
        doubted: whether something speaks against the figure (`comparison_obstacle`): no level that rests on
            it shows that a service became better.
    """
    before, after = one["before"]["rating"], one["after"]["rating"]
    step = _step(before, after)
    kept = one["basis"] if one["basis"] in ("gaps", "growth") else "figure"
    by_figure = RatingVerdict(one["verdict"], kept)
    if by_figure.verdict == "worse":
        return by_figure
    settled = same_scale and before["state"] == after["state"] == "rated"
    if settled and step > 0:
        return RatingVerdict("worse", "level")
    by_level = settled and step < 0 and not doubted
    if (by_level or by_figure.verdict == "better") and _exchanging(after) - _exchanging(before):
        return RatingVerdict("undetermined", "exchange")
    if by_level and by_figure.verdict != "better":
        return RatingVerdict("better", "level")
    if by_figure.verdict == "undetermined":
        if same_scale and not step and _is_unchanged(one):
            return RatingVerdict("same", "answers")
        if one["issues"]:
            return RatingVerdict(one["issues"]["verdict"], "issues")
        wrong = one["why"] == NO_DIFFERENCE and one["readings"] and goes_wrong(one["readings"], error)
        return RatingVerdict("undetermined", "readings") if wrong else by_figure
    if step > 0 or _slips(before, after):
        return RatingVerdict("undetermined", "level")
    if by_figure.verdict == "same" and one["readings"] and goes_wrong(one["readings"], error):
        return RatingVerdict("undetermined", "readings")
    return by_figure


def _exchanging(rating: RatingEntry) -> set[str]:
    """The parts in which each value becomes the other."""
    return {one["key"] for one in rating["parts"] if "exchanged" in one["flags"]}


def _is_unchanged(one: RatingDifference) -> bool:
    """Whether all answers are the same, so that nothing can have become worse, however well they are read.

    Word for word: other words may be read alike by who cannot read them.
    """
    read, planned = one["readings"], one["after"]["rating"]["coverage"]["planned"]
    return read is not None and read.get("identical", 0) >= planned > 0


def compare_issues(before: RatingEntry, after: RatingEntry, margin: float) -> IssuesEntry | None:
    """The issues that two ratings rest on, one by one; None if they are not settled at one level.

    Args:
        before: the earlier rating, on the same scale.
        after: the later one.
        margin: how much higher the score of an issue may be, of 1.
    """
    if _step(before, after) or not before["state"] == after["state"] == "rated":
        return None
    then = {one["key"]: one for one in before["parts"]}
    named = {name for place in after["details"].get("order", ()) for name in place}
    found: IssuesEntry = {
        "verdict": "same", "margin": margin, "same": [], "worse": [], "open": [], "unsettled": [],
    }  # fmt: skip
    for part in after["parts"]:
        if part["key"] in named and part["key"] in then:
            found[_compare_issue(then[part["key"]], part, levels(after), margin)].append(part["title"])
    found["verdict"] = (
        "worse" if found["worse"] else "same" if found["same"] and not found["open"] else "undetermined"
    )
    return found


def _compare_issue(
    then: PartEntry, now: PartEntry, order: Sequence[str], margin: float
) -> Literal["same", "worse", "open", "unsettled"]:
    """One issue: by its level, and where its level comes from cuts of its score, by that too."""
    settled = [one["state"] == "rated" for one in (then, now)]
    if not all(settled):
        best = settled[1] and now["level"] == order[0]
        return "same" if best else "open" if any(settled) else "unsettled"
    step = order.index(str(now["level"])) - order.index(str(then["level"]))
    if step or now["score"] is None or then["score"] is None:
        return "worse" if step > 0 else "same"
    if not now["details"].get("common") and now["level"] == order[0]:
        return "same"  # settled by a rule of its own that allows no more
    low, high = _apart(then, now)
    return "worse" if low > margin else "same" if high <= margin else "open"


def _apart(then: PartEntry, now: PartEntry) -> tuple[float, float]:
    """The 95 % interval of the difference of two scores, from theirs (Newcombe 1998, as if independent)."""
    ends = [end for one in (then, now) for end in (one["score"], one["low"], one["high"])]
    known = [one for one in ends if one is not None]
    if len(known) < len(ends):
        return -inf, inf
    before, before_low, before_high, after, low, high = known
    apart = after - before
    return apart - hypot(after - low, before_high - before), apart + hypot(high - after, before - before_low)


def _step(before: RatingEntry, after: RatingEntry) -> int:
    """By how many levels the later rating is worse; 0 if a level is unknown."""
    order = levels(after)
    named = [str(one["overall"]["level"]) for one in (before, after)]
    return order.index(named[1]) - order.index(named[0]) if set(named) <= set(order) else 0


def _slips(before: RatingEntry, after: RatingEntry) -> bool:
    """Whether the level was settled, and may have become worse."""
    order, level = levels(after), str(after["overall"]["level"])
    if before["state"] != "rated" or after["state"] == "rated" or level not in order:
        return False
    worse = order[order.index(level) + 1 :]
    return sum(after["overall"]["certainty"].get(name, 0.0) for name in worse) > WORSE_LEVELS


def goes_wrong(readings: ReadingsEntry, error: float) -> bool:
    """Whether clearly more readings go wrong than come right: by a tenth, and by the exact sign test.

    >>> counts = {"compared": 300, "unread": 0, "flipped": 300, "examples": []}
    >>> goes_wrong({**counts, "directions": {"wrong": 300}}, 0.005)
    True
    >>> goes_wrong({**counts, "directions": {"wrong": 160, "right": 140}}, 0.005)
    False
    """
    wrong, right = (readings["directions"].get(name, 0) for name in ("wrong", "right"))
    if wrong - right <= WENT_WRONG * readings["compared"]:
        return False
    return mcnemar(wrong, right) <= error
