"""What a rule does, in words: how it comes to a level, from where on, and what another rule says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trustgauge.reports import numbers, sentences, social_bias_told, trust_told
from trustgauge.reports.phrases import FAR, RULES

Rated = Mapping[str, Any]

MARGIN = 0.10
"""The margin of two-step where the plan names no other (methods 0.6)."""

CUTS = (0.05, 0.20)
"""From which share of the range an effect is some, and strong, where the plan is silent (causal 2.9)."""


def cuts(rating: Rated) -> tuple[float, float]:
    """From which share of the score's range an effect is some, and strong."""
    told = rating["method"]["options"].get("cuts")
    return (float(told[0]), float(told[-1])) if isinstance(told, list | tuple) and told else CUTS


def order_scale(rating: Rated) -> str:
    """Whether the levels on the page are those of the order."""
    if sentences.relative(rating):
        return "The levels of this rating are those of this order."
    return "The level of a rating does not depend on it."


def rule(rating: Rated) -> str:
    """How the rule comes to a level, in words; the rule is named wherever a level is explained."""
    method = rating["method"]
    known = RULES.get(str(method["name"]), {})
    measures = {str(part["details"].get("measure")) for part in rating["parts"]}
    alone = next(iter(measures)) if len(measures) == 1 else ""
    words = known.get(alone) or known.get(str(method["rule"]), "Rule: {rule}.")
    adjust = next((part["details"].get("adjust") for part in rating["parts"]), None) or ()
    some, strong = cuts(rating)
    return words.format(
        rule=sentences.name(method["rule"]),
        margin=numbers.points(margin(rating)),
        attribute=sentences.name(rating["issue"]["attribute"]).replace(", ", " and "),
        some=numbers.percent(some),
        strong=numbers.percent(strong),
        of=len(rating["overall"]["scale"]),
        adjust=sentences.listing(adjust),
        combining=trust_told.rule_words(rating),
        **_risk(rating),
    )


def _risk(rating: Rated) -> dict[str, str]:
    """From which excess, preference and gap the risk is medium and high."""
    low, high = map(numbers.percent, social_bias_told.cuts(rating, "absolute"))
    near, wide = map(numbers.points, social_bias_told.cuts(rating, "relative"))
    slight, clear = map(numbers.points, social_bias_told.cuts(rating, "direction"))
    return {"low": low, "high": high, "near": near, "wide": wide, "slight": slight, "clear": clear}


def margin(rating: Rated) -> float:
    """Up to what size a difference counts as none (methods 0.6), as the plan or the method has it."""
    told = rating["method"]["options"].get("margin", MARGIN)
    return float(told) if isinstance(told, int | float) else MARGIN


def other_rule(rating: Rated) -> str:
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
        said = sentences.named_level(rating, next(iter(named)), rule=other)
        return f"By the rule “{other}” the same answers give {said}."
    groups = "; ".join(
        f"{sentences.named_level(rating, key, rule=other)} for {sentences.listing(titles)}"
        for key, titles in named.items()
    )
    return f"By the rule “{other}” the same answers give {groups}."


def far(rating: Rated) -> str:
    """What the interval chart shows, and what size of shift the texts could have shown."""
    shows, finds = FAR[str(rating["method"]["name"])]
    power = rating["details"].get("power")
    least = power.get("deff_1") if isinstance(power, Mapping) else None
    could = ""
    if isinstance(least, int | float):
        could = f" {finds.format(points=numbers.points(least), percent=numbers.percent(least))}"
    narrows = "" if sentences.ordered(rating) else " More text narrows the lines."
    return f"{shows}{could}{narrows}"
