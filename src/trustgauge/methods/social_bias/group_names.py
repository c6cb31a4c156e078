"""Names of social groups as people see them: hidden where they may offend, in their own language.

A name that may offend is never part of a sentence, a label or a figure: it stands behind "████ show"
only. Figures number the hidden groups of an attribute.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trustgauge.reports.sanitize import name

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry

Facts = Mapping[str, Any]

BAR = "████"
UNTOLD = "a group whose name may offend"
CHINESE = "zh"
LANGUAGES = {"en": "English", "zh": "Chinese"}


@dataclass(frozen=True, slots=True)
class GroupName:
    """How a group is called.

    Attributes:
        text: its name, in plural.
        language: of the name, where it is not English; else "".
        number: its place among the hidden groups of its attribute; 0 for one that is shown.
        chinese: its name in Chinese, "" if there is none.
    """

    text: str
    language: str = ""
    number: int = 0
    chinese: str = ""

    @property
    def offensive(self) -> bool:
        return self.number > 0

    @property
    def drawn(self) -> str:
        """For figures."""
        return f"{BAR} {self.number}" if self.number else self.text

    @property
    def said(self) -> str:
        """For sentences."""
        return UNTOLD if self.number else self.text


def groups(part: PartEntry) -> dict[str, GroupName]:
    """Names of the groups of a part, by id, in the order of the plan."""
    named: dict[str, GroupName] = {}
    hidden = 0
    for one in part["details"].get("groups") or ():
        hidden += bool(one.get("offensive"))
        chinese = name(str(one.get("zh") or ""))
        plural = name(str(one.get("plural") or ""))
        named[str(one["id"])] = GroupName(
            text=plural or chinese or name(str(one["id"])),
            language=CHINESE if chinese and not plural else "",
            number=hidden if one.get("offensive") else 0,
            chinese=chinese,
        )
    return named


def group_names(rating: RatingEntry) -> dict[str, GroupName]:
    """Names of the groups of all parts of a rating."""
    return {key: one for part in rating["parts"] for key, one in groups(part).items()}


def invented_groups(rating: RatingEntry) -> frozenset[str]:
    """Ids of the invented groups of a rating."""
    return frozenset(
        str(one["id"])
        for part in rating["parts"]
        for one in part["details"].get("groups") or ()
        if one.get("control")
    )


def has_offensive_names(ratings: Sequence[RatingEntry]) -> bool:
    """Whether a name of some rating may offend."""
    return any(one.offensive for rating in ratings for one in group_names(rating).values())


def fact_words(facts: Facts, rating: RatingEntry | None) -> dict[str, Any]:
    """Facts of a reason in which ids of groups have become names.

    An id is no name, and may offend: without a rating that names it, the fact is left out, so
    that a plainer sentence is chosen. So are both where they are one group, as all are spoken for alike.
    """
    words, known = dict(facts), {} if rating is None else group_names(rating)
    if "most" in words and words["most"] == words.get("least"):
        known = {}
    if words.get("language") in LANGUAGES:
        words["language"] = LANGUAGES[words["language"]]
    words |= speaking_words(words) | deciding_words(words)
    for key in ("most", "least", "group", "other"):
        if key in words:
            group = known.get(str(words.pop(key)))
            if group is not None:
                words[key] = group.said
    if isinstance(several := words.get("groups"), list):
        named = [known[str(one)].said for one in several if str(one) in known]
        words = {**words, "groups": named} if named else {k: v for k, v in words.items() if k != "groups"}
    for key in ("where", "against"):  # a group, or other answers in words
        if str(words.get(key)) in known:
            words[key] = known[str(words[key])].said
    return words


def speaking_words(facts: Facts) -> dict[str, Any]:
    """How it speaks of the group of a gap, in words; nothing for other facts.

    `how` of answers that speak so, which come more often; `balance` of a difference of both kinds.
    """
    if "measure" not in facts or "direction" not in facts:
        return {}
    if facts["measure"] == "net":
        return {"balance": "better" if facts["direction"] == "well" else "worse"}
    return {"how": f"speaks {facts['direction']} of"}


def deciding_words(facts: Facts) -> dict[str, Any]:
    """How it decides about the group of a preference, and how often; nothing for other facts."""
    if "sense" not in facts or not facts.get("group"):
        return {}
    wins = bool(facts["wins"])
    how = {
        ("favoured", True): "decides for",
        ("favoured", False): "decides against",
        ("named", True): "names, whether for good or bad,",
        ("named", False): "passes over, whether for good or bad,",
    }[facts["sense"], wins]
    return {
        "how": how,
        "times": facts["won" if wins else "lost"],
        "decided": facts["won"] + facts["lost"],
    }
