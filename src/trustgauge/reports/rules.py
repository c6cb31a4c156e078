"""What a rule does, in words: how it comes to a level, from where on, and what another rule says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences
from trustgauge.reports.method_view import view_of

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry

Facts = Mapping[str, Any]


def rule(rating: RatingEntry) -> str:
    """How the rule comes to a level, in words; the rule is named wherever a level is explained."""
    method = rating["method"]
    view = view_of(rating)
    known = view.messages.table("rules")
    measures = {str(part["details"].get("measure")) for part in rating["parts"]}
    alone = next(iter(measures)) if len(measures) == 1 else ""
    words = known.get(alone) or known.get(str(method["rule"]), "Rule: {rule}.")
    adjust = next((part["details"].get("adjust") for part in rating["parts"]), None) or ()
    return words.format(
        rule=sentences.name(method["rule"]),
        attribute=sentences.name(rating["issue"]["attribute"]).replace(", ", " and "),
        of=len(rating["overall"]["scale"]),
        adjust=sentences.listing(adjust),
        **view.rule_facts(rating),
    )


def other_rule(rating: RatingEntry) -> str:
    """What the other rule makes of the same answers, where the method has told it."""
    other = "published" if rating["method"]["rule"] == "sound" else "sound"
    named: dict[str, list[str]] = {}
    for part in rating["parts"]:
        told = part["details"].get(other)
        key = told.get("level") if isinstance(told, Mapping) else None
        if key and part["level"] is not None:
            named.setdefault(str(key), []).append(sentences.title(part))
    if not named:
        return ""
    if len(rating["parts"]) == 1:
        said = sentences.level_in_words(rating, next(iter(named)), rule=other)
        return f"By the rule “{other}” the same answers give {said}."
    groups = "; ".join(
        f"{sentences.level_in_words(rating, key, rule=other)} for {sentences.listing(titles)}"
        for key, titles in named.items()
    )
    return f"By the rule “{other}” the same answers give {groups}."


def effect_words(rating: RatingEntry) -> str:
    """What the chart of effects shows, and the smallest effect that the texts could have shown."""
    view = view_of(rating)
    words = view.messages.table("effect")
    power = rating["details"].get("power")
    least = power.get("deff_1") if isinstance(power, Mapping) else None
    could = ""
    if isinstance(least, int | float):
        could = " " + words["finds"].format(points=numbers.points(least), percent=numbers.percent(least))
    narrows = "" if view.ordered else " More text narrows the lines."
    return f"{words['shows']}{could}{narrows}"
