"""What to do about a rating without a settled level: it follows from the reason that is in the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trustgauge.reports import numbers, sanitize
from trustgauge.reports.components import COMMON, view_of
from trustgauge.reports.document import lossy
from trustgauge.reports.sentences import advice, name, obstacles, share, unsettled_state

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry, ReasonEntry

NOTES = COMMON.table("notes")
STEPS = COMMON.table("steps")
"""Steps by the code of a reason; a method may say its own in a table of this name."""
LABELS = ("to_label", "audit", "sample")
"""Facts of a reason that say how many labels would take it away."""
OF_UNREAD = (frozenset({"to_read", "option"}), frozenset({"each"}))
"""Facts that say how many labels of answers that could not be interpreted would, or of each sentence."""

LOSSES = ("incomplete-loss", "loss-lowers-certainty")
"""Codes of the reasons that too many answers are missing: for any level, or for a settled one."""
CAUSES = frozenset({"error", "limit"})
"""Facts that say why a run ended early: of a reason with one of them the step is `code-fact`."""


def what_to_do(rating: RatingEntry) -> str:
    """What a reader of the report should do about a level, or until one is settled; "" if nothing."""
    if rating["state"] == "incomplete":
        return next_step(rating)
    if rating["state"] != "not settled" or rating["overall"]["level"] is None:
        return advice(rating)
    why = unsettled_state(rating).partition(": ")[2]
    sure = numbers.certainty(share(rating))
    open_ = NOTES["open-for"].format(why=why) if why else NOTES["open"].format(certainty=sure)
    step = next_step(rating)
    # The command of the usual step prints the reasons that stand on the page already.
    circular = step == STEPS["reasons"].format(id=name(rating["id"]))
    return f"{open_} {NOTES['open-reasons'] if circular else step}"


def next_step(rating: RatingEntry) -> str:
    """What to do about the first reason that keeps a rating from a settled level."""
    known = {**STEPS, **view_of(rating).steps(rating)}
    if not rating["coverage"]["failed"]:  # all was answered, so that nothing would be sent again
        known |= dict.fromkeys((*LOSSES, "again"), known["fresh"])
    if rating["state"] == "not applicable":
        return known["not-applicable"].format(id=name(rating["id"]))
    said = next(filter(None, (_step(one, known) for one in _in_the_way(rating))), "")
    return (said or known[_other(rating)]).format(id=name(rating["id"]))


def _step(one: ReasonEntry, known: dict[str, str]) -> str:
    if "rejected" in one["facts"]:
        texts = sanitize.count_with_noun(one["facts"]["rejected"], "text", "texts")
        return known["rejected"].replace("{texts}", texts)
    for fact in CAUSES & one["facts"].keys():
        if f"{one['code']}-{fact}" in known:
            return known[f"{one['code']}-{fact}"]
    if one["code"] in known:
        return known[one["code"]]
    facts = one["facts"].keys()
    if any(needed <= facts for needed in OF_UNREAD):
        return known["unread"]
    return known["labels"] if facts & set(LABELS) else ""


def _in_the_way(rating: RatingEntry) -> Iterator[ReasonEntry]:
    if rating["state"] == "not settled":
        yield from obstacles(rating)
    elif rating["state"] != "rated":
        yield from rating["reasons"]
        able = (part for part in rating["parts"] if part["state"] != "not applicable")
        yield from (one for part in able for one in part["reasons"])


def _other(rating: RatingEntry) -> str:
    """Which step there is where no reason names one: only a lack of certainty asks for more texts."""
    lost = any(part["state"] == "incomplete" for part in rating["parts"]) and lossy(rating["coverage"])
    if rating["state"] == "incomplete" and lost:
        return "again"
    known = list(_in_the_way(rating))
    if any(one["code"] == "unread-matters" and _in_vain(one["facts"]) for one in known):
        return "more"
    if rating["state"] not in {"rated", "not settled"} or known:
        return "reasons"
    counted = any(part["more_texts"] for part in rating["parts"])
    return "texts" if counted else "more"


def _in_vain(facts: Mapping[str, object]) -> bool:
    """Whether people can label what is unread, and no number of labels would settle the level."""
    return "option" in facts and not any(needed <= facts.keys() for needed in OF_UNREAD)
