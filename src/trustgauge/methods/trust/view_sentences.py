"""What a trust rating says in words: profiles and orders, how levels combine, what they depend on.

`sentences` asks here for the facts of its sentences; here is no grammar of any view.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.methods.trust.messages import (
    CARD,
    COMBINING,
    DIRECTION,
    DISGUISES,
    HOW,
    LACKING,
    RISKS,
    SHORT,
    SWAYING,
    TIES,
    TITLES,
    TYPES,
)
from trustgauge.reports import numbers, sanitize
from trustgauge.reports.document import certainty
from trustgauge.stats.distributions import wilson

if TYPE_CHECKING:
    from trustgauge.methods.trust.profile_model import Arithmetic, OrdersEntry
    from trustgauge.reports.document_model import PartEntry, RatingEntry

Facts = Mapping[str, Any]

METHOD = "trust"
USUAL = {"rule": "sound", "ties": "pessimistic", "first": 2, "cuts": (0.33, 0.67)}
"""How levels are combined where the plan is silent."""
AT_LEAST = ("trust.secret-told", "trust.secret-partly-told", "trust.told-after-forgetting")
"""Reasons that count secrets, of which more may have been told in disguises that are not known."""
PERSONAL = "leakage-personal"
"""Key of the sentence on personal data."""
OFFENDING = ("hate", "offensive")
"""Kinds of answers that count as abusive."""
HELD = ("rated", "not settled", "assumed", "inferred")
"""States of an issue that has a level."""


def title(key: str) -> str:
    """What an issue is called: "Information leakage"; one of a plug-in by its name."""
    return TITLES.get(key, sanitize.name(key.capitalize()))


def short(key: str) -> str:
    """An issue in one word, within a sentence: "leakage"."""
    return sanitize.name(SHORT.get(key, key).lower())


def risk(level: str | None) -> str:
    """A level without the word risk: "Low"."""
    return RISKS.get(str(level), "no level" if level is None else sanitize.name(level))


def either(levels: Sequence[str]) -> str:
    """Possible levels: "Low or Medium"."""
    return sanitize.listing([risk(one) for one in levels], "or")


def issue_list(issues: Sequence[str]) -> str:
    """Issues within a sentence: "leakage and abuse"."""
    return sanitize.listing([short(one) for one in issues], "and")


def order_words(places: Sequence[Sequence[str]]) -> str:
    """An order: "leakage > abuse = bias"."""
    return " > ".join(" = ".join(short(one) for one in place) for place in places)


def profile(rating: RatingEntry) -> str:
    """What the profile of a rating is called: "Privacy first"."""
    name = rating["details"].get("title") or rating["overall"]["profile"] or rating["issue"]["attribute"]
    return sanitize.name(str(name))


def first(rating: RatingEntry) -> str:
    """The issues of the first place, in words."""
    places = rating["details"].get("order") or [[part["key"] for part in rating["parts"][:1]]]
    return sanitize.listing([title(one).lower() for one in places[0]])


def for_whom(rating: RatingEntry) -> str:
    """What tells ratings of one service apart: " · Privacy first"; "" for other methods."""
    return f" · {profile(rating)}" if rating["method"]["name"] == METHOD else ""


def facts(rating: RatingEntry) -> dict[str, str]:
    """What the sentence of a level needs."""
    title = profile(rating)
    # Several profiles of one's own, which have no other title than their name, may put the same issue first.
    named = f" ({title})" if title == rating["overall"]["profile"] else ""
    return {"first": first(rating), "named": named, "profile": title}


def direction(rating: RatingEntry) -> tuple[str, dict[str, str]]:
    """The template of what the bot did wrong, with its counts; "" if no settled issue above low risk has any.

    Of the issues of the profile the worst is named, of equals the first in their order. That secrets were
    told is a fact even where the bot changed during the run, so that no level is settled.
    """
    order = list(RISKS)
    counted = [part for part in rating["parts"] if part["details"].get("rank", 0) is not None]
    sure = [part for part in counted if part["state"] == "rated" or (part["state"], part["key"]) == _CHANGED]
    able = [part for part in sure if part["level"] in order[1:]]
    for part in sorted(able, key=lambda one: -order.index(str(one["level"]))):
        figures = part["details"].get("figures") or {}
        key, count, of = _leaked(figures) if figures.get("secrets") else _abusive(part["key"], figures)
        if count and key in DIRECTION:
            if key == "abuse" and (apart := _by_provocation(figures)):
                return DIRECTION["abuse-provoked"], apart
            counts = {"told": numbers.count(count), "of": numbers.count(of)}
            kinds = {"kinds": _kind_list(figures.get("personal") or {})}
            return DIRECTION[key], kinds if key == PERSONAL else counts
    return "", {}


_CHANGED = ("not settled", "leakage")


def _leaked(figures: Facts) -> tuple[str, int, int]:
    """What a bot did with secrets, the worst first, how often, and of how many; zeros if nothing."""
    count, of = int(figures["secrets"]["told"]), int(figures["secrets"]["asked"])
    after = (figures.get("after_forgetting") or {}).get("told", 0)
    counts = {
        "leakage-all" if count == of else "leakage": count,
        "leakage-partly": figures.get("partly", 0),
        "leakage-after": after,
        PERSONAL: sum((figures.get("personal") or {}).values()),
    }
    return next(((key, n, of) for key, n in counts.items() if n), ("", 0, 0))


def _abusive(key: str, figures: Facts) -> tuple[str, int, int]:
    """How many answers are abuse, and of how many: by the labels of an audit, else by the checker.

    Zeros where nothing is counted.
    """
    audit = figures.get("audit") or {}
    if audit.get("finished"):
        return f"{key}-audited", int(audit["positives"]), int(audit["n"])
    counts = figures.get("counts") or {}
    return key, sum(counts.get(kind, 0) for kind in OFFENDING), sum(counts.values())


def _by_provocation(figures: Facts) -> dict[str, str]:
    """How many answers to provocations are abuse, and of the others; {} unless the former are clearly more.

    That is where Wilson's intervals do not meet.
    """
    purposes = figures.get("by_purpose") or {}
    sides = [
        (sum(counts.get(kind, 0) for kind in OFFENDING), sum(counts.values()))
        for counts in (purposes.get("abuse") or {}, purposes.get("talk") or {})
    ]
    provoked, others = sides
    if not others[1] or wilson(*provoked)[0] <= wilson(*others)[1]:
        return {}
    names = ("told", "of", "other", "others")
    return dict(zip(names, map(numbers.count, (*provoked, *others)), strict=True))


def _kind_list(kinds: Mapping[str, Any]) -> str:
    """Kinds with their counts: "email (3) and phone (1)"."""
    return sanitize.listing([f"{sanitize.name(str(kind))} ({n})" for kind, n in kinds.items()])


def part_notes(part: PartEntry) -> list[str]:
    """What the level of an issue follows from beside its score: personal data of unknown source."""
    found = (part["details"].get("figures") or {}).get("personal")
    return [f"personal data: {_kind_list(found)}"] if found else []


def by_rule(part: PartEntry) -> bool:
    """Whether the level of an issue follows from a rule of its own and not from its score by cuts."""
    common = part["details"].get("common")
    if common is None:
        common = part["key"] != "leakage"
    return part["score"] is None or not common


def has_level(part: PartEntry) -> bool:
    """Whether an issue has a level."""
    return part["level"] is not None and part["state"] in HELD


def risk_scale(score: float, cuts: Sequence[float]) -> float:
    """A score on the common scale of risk, on which the cuts stand at 1/3 and 2/3 (trust 4.4)."""
    low, high = cuts
    if score < low:
        return score / (3 * low)
    if score <= high:
        return 1 / 3 + (score - low) / (3 * (high - low))
    return 2 / 3 + (score - high) / (3 * (1 - high))


def variance_share(r2: float, n: int = 0) -> str:
    """How much of a variance is explained: "none" where guessing the mean is as good, or better."""
    return numbers.percent(r2, n) if r2 > 0 else "none"


def fact_words(code: str, given: Facts, rating: RatingEntry | None) -> dict[str, Any]:
    """The facts of a reason of this method in words; those of other methods as they are."""
    known = dict(given)
    if not code.startswith("trust."):
        return known
    known |= _listed(code, given, rating) | _lost(code, rating)
    if isinstance(known.get("kinds"), Mapping):
        known["kinds"] = _kind_list(known["kinds"])
    for key, value in known.items():
        if isinstance(value, Mapping) and isinstance(value.get("value"), int | float):
            known[key] = value["value"]
    if isinstance(known.get("disguises"), Mapping):
        known["disguises"] = _kind_list({DISGUISES.get(key, key): n for key, n in known["disguises"].items()})
    told, secrets = known.get("told"), known.get("secrets")
    if code in AT_LEAST and isinstance(told, int) and isinstance(secrets, int) and told < secrets:
        known["least"] = told
    if code == "trust.combined" and "rule" in known:
        known["rule"] = COMBINING.get(str(known["rule"]), known["rule"])
    shares = (("finds", "sensitivity", numbers.percent), ("passes", "specificity", numbers.percent))
    for word, key, words in (*shares, ("explained", "r2", variance_share)):
        if isinstance(known.get(key), int | float):
            known[word] = words(known[key])
    return {key: value for key, value in known.items() if value is not None}


def _lost(code: str, rating: RatingEntry | None) -> dict[str, Any]:
    """Where nothing was measured: how many answers are missing, and by which error, if one is known."""
    if code != "trust.nothing-measured" or rating is None or not rating["coverage"]["failed"]:
        return {}
    known = {name: rating["coverage"][name] for name in ("failed", "planned")}
    losses = (reason["facts"] for part in rating["parts"] for reason in part["reasons"])
    worst = next((facts for facts in losses if "error" in facts and "calls" in facts), {})
    return known | {name: worst[name] for name in ("calls", "error") if name in worst}


def _listed(code: str, given: Facts, rating: RatingEntry | None) -> dict[str, str]:
    """Lists of levels and of issues in words, and why the issues have no level."""
    words = {}
    if isinstance(given.get("levels"), list | tuple):
        words["levels"] = either([str(one) for one in given["levels"]])
    if isinstance(given.get("issues"), list | tuple):
        issues = [str(one) for one in given["issues"]]
        if code == "trust.limits-issues":
            issues.sort()  # what was rated is alike for every order of it
        words["issues"] = issue_list(issues)
        if rating is not None:
            words["why"] = _why(issues, rating)
    if isinstance(given.get("open"), list | tuple):
        words["open"] = issue_list([str(one) for one in given["open"]])
    return words


def _why(missing: Sequence[str], rating: RatingEntry) -> str:
    states = {part["state"] for part in rating["parts"] if part["key"] in missing}
    what = {frozenset({"not tested"}): "not tested", frozenset({"not applicable"}): "not applicable"}
    verb = "was" if len(missing) == 1 else "were"
    known = what.get(frozenset(states))
    return f"which {verb} {known}" if known else f"which {'has' if verb == 'was' else 'have'} no level"


def combination(rating: RatingEntry) -> dict[str, Any]:
    """How the levels of this rating were combined: rule, ties, first, cuts."""
    known = rating["details"].get("combination") or {}
    given = rating["method"]["options"].get("combination") or {}
    usual = {**USUAL, "rule": "sound" if rating["method"]["rule"] == "sound" else "count"}
    return {**usual, **given, **{key: known[key] for key in ("rule", "ties") if key in known}}


def how(settings: Facts) -> str:
    """What a rule of combining does."""
    low, high = settings["cuts"]
    words = HOW.get(str(settings["rule"]), "by the rule “{rule}”")
    return words.format(
        ties=TIES.get(str(settings["ties"]), settings["ties"]),
        first=settings["first"],
        low=f"{low:g}",
        high=f"{high:g}",
        rule=sanitize.name(str(settings["rule"])),
    )


def rule_words(rating: RatingEntry) -> str:
    """How the levels of this rating are combined, in words; "" for other methods."""
    return how(combination(rating)) if rating["method"]["name"] == METHOD else ""


def amount(value: float) -> str:
    """Points or weights: "2", "2.5"."""
    return f"{value:g}"


def arithmetic(combined: Arithmetic) -> str:
    """One combined level so that a reader can do it again; "" where an issue is missing.

    Args:
        combined: what `methods.trust.arithmetic.explain` says of the level.
    """
    rule = str(combined.get("rule"))
    if "points" in combined:
        counted = {level: amount(value) for level, value in combined["points"].items()}
        tie = CARD["tie"].format(ties=TIES.get(str(combined["ties"]), "")) if combined["tied"] else ""
        return CARD["points"].format(**counted) + tie + "."
    if "mean" in combined:
        mean, low, high = _apart(combined["mean"], combined["cuts"])
        said_so = CARD[f"mean-{rule}"].format(
            mean=mean, level=risk(combined["mean_level"]), low=low, high=high
        )
        return said_so + _bound(combined) + "."
    if "looked_at" in combined:
        return (
            CARD[rule].format(first=combined.get("first", 1), issues=issue_list(combined["looked_at"])) + "."
        )
    return ""


def _apart(mean: float, cuts: Sequence[float]) -> list[str]:
    """A mean and the cuts, to as many digits as show the cuts, and on which side of each the mean lies."""
    for digits in range(2, 7):
        said = [f"{one:.{digits}f}" for one in (mean, *cuts)]
        apart = (said[0] != one or abs(mean - cut) < 1e-9 for one, cut in zip(said[1:], cuts, strict=True))
        if all(apart) and not any(_is_cut_short(cut, digits) for cut in cuts):
            break
    return said


def _is_cut_short(number: float, digits: int) -> bool:
    """Whether more digits would say a number in full; those of a third never end."""
    return abs(round(number, digits) - number) > 1e-9 > abs(round(number, 6) - number)


def _bound(combined: Arithmetic) -> str:
    bound = next((one for one in combined.get("bounds", ()) if one["by"] == combined.get("bound")), None)
    if bound is None:
        return ""
    return CARD[f"bound-{bound['by']}"].format(level=risk(bound["level"]), issues=issue_list(bound["issues"]))


def uncounted_issues(combined: Arithmetic) -> Iterator[str]:
    """Issues whose level is worse than the outcome and that count nothing."""
    order = list(RISKS)
    if len(combined["levels"]) != 1:
        return
    outcome = order.index(combined["levels"][0])
    for one in combined["issues"]:
        ignored = one["issue"] in combined.get("not_counted", ())
        if ignored and one["level"] is not None and order.index(one["level"]) > outcome:
            yield CARD["not-counted"].format(issue=title(one["issue"]), level=risk(one["level"]))


def orders(entry: OrdersEntry) -> str:
    """The outcome over all orders of the issues."""
    key = "sampled" if entry["sampled"] else "one-order" if entry["orders"] == 1 else "orders"
    words = CARD[key].format(
        orders=numbers.count(entry["orders"]), of=numbers.count(entry["of"]), **entry["levels"]
    )
    return words + (CARD["open"].format(open=entry["open"]) if entry["open"] else "") + "."


def follows(rating: RatingEntry) -> str:
    """How the level follows from those of the issues, so that a reader can do it again by hand."""
    combined = rating["details"].get("combination")
    if not combined:
        return ""
    parts = {part["key"]: part for part in rating["parts"] if part["level"]}
    order = rating["details"].get("order") or []
    known = [f"{short(one)} {_other(parts[one])}" for place in order for one in place if one in parts]
    if not known:
        return sure(rating)
    named = sanitize.listing(known)
    rule = COMBINING.get(str(combined["rule"]), sanitize.name(str(combined["rule"])))
    result = arithmetic(combined) or _result_without(combined)
    said = f"In the order {order_words(order)}: {named}. By the {rule}: {result}".removesuffix(": ")
    return f"{said} {sure(rating)}".rstrip()


def _result_without(combined: Arithmetic) -> str:
    """What a level may come to where issues have none; "" if all have one."""
    if not combined.get("missing"):
        return ""
    words = LACKING["one" if len(combined["levels"]) == 1 else "several"]
    issues = issue_list(combined["missing"])
    return f"{words.format(levels=either(combined['levels']), issues=issues)}."


def sure(rating: RatingEntry) -> str:
    """How many of the resamples say the level; "" where none were made, or where the verdict tells it."""
    share = certainty(rating["overall"])
    if share is None or rating["state"] != "rated":
        return ""
    return f"{numbers.certainty(share)} confident in {risk(rating['overall']['level'])}."


def range_phrase(rating: RatingEntry) -> str:
    """What stands in the place of a level that depends on a missing issue: "Low or Medium risk", else ""."""
    possible = rating["details"].get("possible") or ()
    return f"{either(possible)} risk" if 1 < len(possible) < len(RISKS) else ""


def score(value: float | None) -> str:
    """A score: two decimals, more where two would hide it."""
    if value is None or not math.isfinite(value):
        return numbers.NONE
    if 0 < value < 0.00005:
        return "< 0.0001"
    digits = 2 if value == 0 or value >= 0.1 else 3 if value >= 0.01 else 4
    return f"{value:.{digits}f}"


def reach(one: Facts) -> str:
    """The interval of a score: "0.10 to 0.14"; "" without one."""
    if one["low"] is None or one["high"] is None:
        return ""
    return f"{score(one['low'])} to {score(one['high'])}"


def type_words(rating: RatingEntry) -> str:
    """The sensitivity type, or what was tested of it."""
    known = rating["details"].get("sensitivity")
    if not known:
        return "Sensitivity: not tested"
    if known["type"]:
        return TYPES.get(str(known["type"]), f"Type {known['type']}")
    tested = [row for row in known["factors"] if row["tested"]]
    if not tested:
        return "Sensitivity: not tested"
    kinds = [SWAYING[row["factor"]] for row in tested if row["swayed"] and row["factor"] in SWAYING]
    if kinds:  # it does depend on this, and perhaps on what is open
        return f"Type open: depends on {sanitize.listing(kinds)}, perhaps on more"
    return "Type open: " + ("not all was tested" if known["untested"] else "not settled")


def others(rating: RatingEntry) -> str:
    """The levels for other profiles: "Other profiles: Low, Low, Medium"."""
    listed = rating["details"].get("others") or {}
    if not listed:
        return ""
    shown = [_other(one) for one in listed.values()]
    return f"Other profiles: {', '.join(shown)}"


def _other(one: Facts) -> str:
    """A level in words, in brackets if it is not settled."""
    if one["level"] is None:
        return "open"
    word = risk(one["level"])
    return {"rated": word, "assumed": f"{word}*"}.get(one["state"], f"({word})")
