"""The only place that makes sentences: levels, states, reasons, limits, flags, errors.

A reason is a code with facts; its sentence is chosen here, the most telling one whose facts are
all present. We say what was measured, never that a service "is" something.
Sentences are plain text: each view escapes them for its own grammar.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from trustgauge.records import Reason
from trustgauge.reports import numbers, sanitize
from trustgauge.reports.components import COMMON, LevelWords, MethodView, view_by_name, view_of
from trustgauge.reports.document import certainty, levels, lossy, part_details, usable

if TYPE_CHECKING:
    from trustgauge.reports.document_model import (
        ControlEntry,
        GateEntry,
        OverallEntry,
        PartEntry,
        RatingEntry,
        ReasonEntry,
        RunEntry,
    )

NOTES = COMMON.table("notes")
BY_HAND = "by hand"
SURE = 0.95  # certainty that settles a level unless a plan says otherwise
WITH_LEVEL = ("rated", "not settled", "inferred", "assumed")
"""States in which a level says something."""
LOSS = "incomplete-loss"
EMPTY = 0.05  # share of empty answers from which the verdict says so
MOST_OBSTACLES = 2  # reasons that stand beside the certainty of an unsettled level

name, listing = sanitize.name, sanitize.listing


def level(rating: RatingEntry, key: str | None, rule: str | None = None) -> LevelWords:
    """The words of a level under the rule in use, or another. An unknown scale speaks with its own words."""
    return view_of(rating).level_words(rating, key, rule or str(rating["method"]["rule"]))


def level_in_words(rating: RatingEntry, key: str, rule: str | None = None) -> str:
    """A level with its letters and its words: "BS, adds bias"."""
    words = level(rating, key, rule).short
    return f"{name(key)}, {words}" if has_letters(rating, key) else words


def has_letters(rating: RatingEntry, key: str) -> bool:
    """Whether a level is shown with its letters; not where its method calls it by its words."""
    return view_of(rating).lettered and name(key).lower() != level(rating, key).short.lower()


def shortest(rating: RatingEntry, key: str) -> str:
    """A level within a sentence: its letters, or its words where those are a bare number: "2 62 %"."""
    lettered = view_of(rating).lettered and not key.isdigit()
    return name(key) if lettered else level(rating, key).short


def state(key: str) -> str:
    """A state in words."""
    return COMMON.table("states").get(key, name(key))


def standing(rating: RatingEntry, key: str) -> str:
    """The state of a rating or part in words; a rule that only measures gives no level by design."""
    view = view_of(rating)
    only = view.messages.table("states").get(key) if view.gives_no_level(rating) else None
    return only or state(key)


def part_standing(part: PartEntry, rating: RatingEntry) -> str:
    """The level of a part, with its state where that is not settled; or what stands in its place."""
    if part["level"] is None or part["state"] not in WITH_LEVEL:
        return standing(rating, part["state"])
    words = level_in_words(rating, part["level"])
    return words if part["state"] == "rated" else f"{words} ({part['state']})"


def noun(rating: RatingEntry, count: int = 2) -> str:
    """What the parts of a rating are called."""
    keys = [part["key"] for part in rating["parts"]]
    languages = rating["service"].get("task") == "translate" and all(keys)
    word = "language" if languages else view_of(rating).noun
    return word if count == 1 else word + "s"


def level_count(rating: RatingEntry) -> str:
    """How many parts have a level, of how many: "2 of 7"; under a rule without levels all of them."""
    rated, able = testable_count(rating)
    return str(len(rating["parts"])) if view_of(rating).gives_no_level(rating) else f"{rated} of {able}"


def testable_count(rating: RatingEntry) -> tuple[int, int]:
    """How many parts have a level, and how many could have one; "not applicable" never counts."""
    able = [part for part in rating["parts"] if part["state"] != "not applicable"]
    return sum(part["level"] is not None for part in able), len(able)


def at_level(rating: RatingEntry, key: str | None) -> list[PartEntry]:
    """The parts that have this level."""
    return [part for part in rating["parts"] if part["level"] == key and key is not None]


def shown_at_level(rating: RatingEntry, key: str | None) -> list[str]:
    """Titles of the parts that a verdict of this level is about: the settled ones, all if none is."""
    found = at_level(rating, key)
    return [title(part) for part in [one for one in found if one["state"] != "not settled"] or found]


def verdict_parts(rating: RatingEntry) -> list[str]:
    """Titles of the parts that stand beside a verdict; open ones too where it says the figure of one."""
    key = rating["overall"]["level"]
    shown = shown_at_level(rating, key)
    return shown if any(title(part) in shown for part in leading(rating)) else _marked(rating, str(key))


def worst_first(rating: RatingEntry) -> list[PartEntry]:
    """The parts, worst level first; those without a level come last, equals keep their order.

    Parts that have an order of their own keep it.
    """
    if view_of(rating).ordered:
        return list(rating["parts"])
    order = [entry["level"] for entry in rating["overall"]["scale"]]
    return sorted(
        rating["parts"], key=lambda part: -order.index(part["level"]) if part["level"] in order else 1
    )


def _marked(rating: RatingEntry, key: str) -> list[str]:
    """Titles of the parts at a level, those that are not settled marked by the words."""
    mine = [part for part in rating["parts"] if part["level"] == key]
    return [title(part) + (" [not settled]" if part["state"] == "not settled" else "") for part in mine]


def title(part: PartEntry) -> str:
    """What a part is called; a part without a key is the whole service."""
    return name(str(part["title"] or part["key"] or "whole service"))


def verdict(rating: RatingEntry, *, directed: bool = True) -> str:
    """What was measured, or why there is no level; of an unsettled rating, what would settle it too.

    With `directed` it begins with what goes wrong and towards whom, where that is settled.
    """
    words = headline(rating, directed=directed)
    return f"{words} {settle(rating)}".strip() if needs_settling(rating) else words


def needs_settling(rating: RatingEntry) -> bool:
    """Whether a rating has a level that more texts may change."""
    return rating["state"] == "not settled" and rating["overall"]["level"] is not None


def headline(rating: RatingEntry, *, directed: bool = True) -> str:
    """The verdict without the arithmetic of an unsettled level."""
    overall = rating["overall"]
    if rating["state"] not in WITH_LEVEL or overall["level"] is None:
        return no_level(rating)
    words = _sentence(rating)
    if rating["state"] == "assumed":
        return f"Assumed, not measured: {words[0].lower()}{words[1:]}"
    if rating["state"] == "not settled":
        opening = "As measured, " if share(rating) is None else "Most likely: "
        words = f"Not settled. {opening}{words[0].lower()}{words[1:]}"
    text = direction(rating) if directed else ""
    return " ".join(one for one in (text, words, empty_answers(rating)) if one)


def empty_answers(rating: RatingEntry) -> str:
    """How many answers said nothing, where they are more than a few: they are answers, and favour nobody."""
    empty, planned = rating["coverage"]["empty"], rating["coverage"]["planned"]
    if empty < EMPTY * planned or not empty:
        return ""
    return NOTES["empty-answers"].format(n=numbers.count(empty), planned=numbers.count(planned))


def direction(rating: RatingEntry) -> str:
    """What a service does wrong, and towards whom: "turns she into he in 120 of 200 sentences".

    "" if no direction is settled, or if the sentence of its level says it.
    """
    if not has_direction(rating):
        return ""
    words, facts = view_of(rating).direction_words(rating)
    return words.format(**facts)


def has_direction(rating: RatingEntry) -> bool:
    """Whether a rating may say what goes wrong: it is settled, or its issues are settled one by one."""
    return rating["state"] == "rated" or (needs_settling(rating) and view_of(rating).ordered)


def finding(rating: RatingEntry) -> str:
    """What a rating found, for a table of services; "" at the best level or where nothing is settled.

    The direction, or where there is none the line of a settled level on the label.
    """
    level_ = rating["overall"]["level"]
    if rating["state"] == "not settled":
        return direction(rating)
    if rating["state"] != "rated" or level_ is None or level_ in levels(rating)[:1]:
        return ""
    said = direction(rating) or view_of(rating).level_line(rating, level_)
    return f"{said[:1].upper()}{said[1:]}"


def advice(rating: RatingEntry) -> str:
    """What to do about a settled level, in a sentence; "" if the method gives no advice."""
    if rating["state"] != "rated":
        return ""
    view, level_ = view_of(rating), str(rating["overall"]["level"])
    said, (wrong, _) = view.messages.table("advice"), view.direction_words(rating)
    named = [key for key, words in view.messages.table("direction").items() if words == wrong]
    # Of what goes wrong, else of a worst part, where there is one.
    own = (f"{level_}-{key}" for key in (*named, *rating["overall"]["worst"]))
    return next((said[key] for key in own if key in said), said.get(level_, ""))


def part_suffix(rating: RatingEntry, part: PartEntry) -> str:
    """Where something was found, behind a sentence: " (Italian)"; "" if the rating has one part only."""
    return f" ({title(part)})" if len(rating["parts"]) > 1 else ""


def _sentence(rating: RatingEntry) -> str:
    """The sentence of the level, about the part that decides."""
    words, facts = view_of(rating).verdict_words(rating)
    general = {
        "attribute": protected_attribute(rating),
        "where": _where(rating),
        "score": numbers.percent(rating["overall"]["score"]),
    }
    return words.format(**{**general, **facts})


def leading(rating: RatingEntry) -> list[PartEntry]:
    """The parts whose score is that of the whole rating; all of the worst if none is."""
    worst = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    return [part for part in worst if part["score"] == rating["overall"]["score"]] or worst


def protected_attribute(rating: RatingEntry) -> str:
    """The attribute of the parts that lead: what they share, else all of theirs: "gender or race".

    At the best level that is said of all parts at it, whichever has the largest figure.
    """
    best = rating["overall"]["level"] in levels(rating)[:1]
    worst = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    leaders = [part_details(part) for part in (worst if best else leading(rating))]
    named = [key for one in leaders if (key := one.get("differs") or one.get("protected"))]
    if len(set(named)) < 2:
        return name(named[0] if named else str(rating["issue"]["attribute"]))
    singles = [set(one.split(" and ")) for one in named]
    shared = set[str]() if best else set.intersection(*singles)
    return listing(sorted(shared), "and") if shared else listing(sorted(set.union(*singles)), "or")


def _where(rating: RatingEntry) -> str:
    able = testable_count(rating)[1]
    hit = shown_at_level(rating, rating["overall"]["level"])
    if able < 2 or not hit:
        return ""
    return f" in {len(hit)} of {able} {noun(rating, able)}"


def no_level(rating: RatingEntry) -> str:
    """Why a rating has no level."""
    cover = rating["coverage"]
    if view_of(rating).ordered and rating["reasons"]:
        return reason(rating["reasons"][0], rating)
    if rating["state"] == "incomplete":
        if fault := next((one for one in rating["reasons"] if one["code"] in FAULTS), None):
            of = parts_at_fault(rating, fault["code"])
            because = f" because of {listing([title(part) for part in of])}" if of else ""
            return f"Not rated{because}. {reason(fault, rating)}"
        why = reasons(_deciding(rating)[:1], rating)
        if not lossy(cover):
            return f"Not rated. {why[0]}" if why else "Not rated: nothing could be measured."
        used = f"{numbers.count(usable(cover))} of {numbers.count(cover['planned'])} answers can be used"
        return f"Not rated: {used}. {why[0]}" if why else f"Not rated: {used}, too few for a rating."
    if view_of(rating).gives_no_level(rating):
        return _measured_only(rating)
    if rating["state"] in {"not tested", "not settled"} and rating["reasons"]:
        lost = [one for one in _deciding(rating) if one["code"] == LOSS][:1]
        return " ".join(reasons([rating["reasons"][0], *lost], rating))
    return f"No level: {state(str(rating['state']))}."


FAULTS = ("same-answer", "not-translated")
"""Reasons for which a part, and with it the service, is not rated."""


def parts_at_fault(rating: RatingEntry, code: str) -> list[PartEntry]:
    """The parts that have a fault where others have it not; none where all have it."""
    of = [part for part in rating["parts"] if any(one["code"] == code for one in part["reasons"])]
    return of if len(of) < len(rating["parts"]) else []


def _deciding(rating: RatingEntry) -> list[ReasonEntry]:
    """Why a rating is incomplete: what it says itself, then what its incomplete parts say."""
    own = [one for one in rating["reasons"] if not one["code"].startswith("overall.")]
    parts = [part for part in rating["parts"] if part["state"] == "incomplete"] or rating["parts"]
    return [*own, *(one for part in parts for one in part["reasons"])]


def _measured_only(rating: RatingEntry) -> str:
    """That the rule of a rating gives no level."""
    code = f"{rating['method']['name']}.measured-only"
    return reason(Reason(code, {"rule": rating["method"]["rule"]}), rating)


def _likeliest(one: RatingEntry | PartEntry) -> OverallEntry | PartEntry:
    """What holds the level and its certainty: of a rating the overall entry, of a part itself."""
    if "overall" in one:
        return one["overall"]
    return one


def shares(one: RatingEntry | PartEntry) -> Mapping[str, float]:
    """The share of the resamples at each level, where it says something; else nothing.

    It says nothing where a figure may be the largest of several by chance: nearly every resample has one; nor
    where unread answers can make another level the likeliest: the resamples are of the others.
    """
    stated = states_share(one["state"], (each["code"] for each in one["reasons"])) and not _is_guessed(one)
    return _likeliest(one)["certainty"] if stated else {}


def share(one: RatingEntry | PartEntry) -> float | None:
    """The share of the resamples at the level, where it says something (`shares`); else None.

    The level of the data is not always the likeliest, as where nobody knows what a checker misses.
    """
    return share_of_level(_likeliest(one)["level"], one["state"], shares(one))


def share_of_level(level: str | None, state: str, shares: Mapping[str, float]) -> float | None:
    """The share at a level; None without any, and for an unsettled level that is not the likeliest."""
    found = shares.get(level or "")
    misleads = found is not None and state == "not settled" and found < max(shares.values())
    return None if misleads else found


def states_share(state: str, codes: Iterable[str]) -> bool:
    """Whether the share of resamples at a level says something, by the state and the codes of the reasons."""
    return state != "not settled" or not any(
        code in view_by_name(code.split(".")[0]).by_chance for code in codes
    )


def _is_guessed(one: RatingEntry | PartEntry) -> bool:
    """Whether what was not read can make another level than that of the resamples the likeliest."""
    return one["state"] == "not settled" and any(each["facts"].get("guessed") for each in one["reasons"])


def _open_parts(one: RatingEntry | PartEntry) -> tuple[list[PartEntry], list[PartEntry]]:
    """The parts of a rating that are not settled: those that may change its level, and the others.

    Where none of them may, something of them keeps it open all the same. A part has none.
    """
    parts = [part for part in one["parts"] if part["state"] == "not settled"] if "parts" in one else []
    if "overall" not in one or len(one["parts"]) < 2 or not parts:
        return parts, []
    pivotal = view_of(one).pivotal(one)
    found = [part for part in parts if part["key"] in pivotal]
    return (found, [part for part in parts if part not in found]) if found else (parts, [])


def obstacles(one: RatingEntry | PartEntry) -> list[ReasonEntry]:
    """The reasons, besides its certainty, that keep a rating or part from being settled.

    Where none of them is known here and the certainty is high enough, all reasons are. What keeps only such
    parts open as cannot change the level of the whole is none, though the rating repeats it.
    """
    parts, others = _open_parts(one)
    stated = {each["code"] for part in others for each in part["reasons"] if _obstacle(each["code"])}
    stated -= {each["code"] for part in parts for each in part["reasons"]}
    own = [each for each in one["reasons"] if each["code"] not in stated]
    every = [*own, *(each for part in parts for each in part["reasons"])]
    known = [each for each in every if _obstacle(each["code"])]
    sure = (certainty(_likeliest(one)) or 0.0) >= SURE
    return known or (every if sure and all(each["code"] != "not-settled" for each in every) else [])


def _but_for_figures(many: Iterable[ReasonEntry]) -> list[ReasonEntry]:
    """Reasons, of those that differ only in their figures the first: parts are often open for one cause."""
    found: dict[tuple[str, ...], ReasonEntry] = {}
    for each in many:
        words = (f"{name}={fact}" for name, fact in each["facts"].items() if isinstance(fact, str))
        found.setdefault((each["code"], *words), each)
    return list(found.values())


def _obstacle(code: str) -> str:
    """Why a reason keeps a level from being settled, in a few words; "" for other reasons."""
    own = view_by_name(code.split(".")[0]).messages.table("obstacles")
    return own.get(code) or COMMON.table("obstacles").get(code, "")


def unsettled_state(one: RatingEntry | PartEntry) -> str:
    """The state in words, with its reasons where that is not the certainty."""
    found = dict.fromkeys(_obstacle(each["code"]) or "see its reasons" for each in obstacles(one))
    why = f": {', '.join(islice(found, MOST_OBSTACLES))}" if found else ""
    return f"{state('not settled')}{why}"


def settle(one: RatingEntry | PartEntry) -> str:
    """How certain each level of an unsettled rating is, why it is not settled, and what would settle it."""
    whole = one if "overall" in one else None
    sure = numbers.certainties(shares(one))

    def named(key: str) -> str:
        return name(key) if whole is None else shortest(whole, key)

    listed = [
        f"{named(key)} {sure[key]}"
        for key, said in sorted(shares(one).items(), key=lambda pair: -pair[1])
        if said >= 0.005
    ]
    words = NOTES["certainty" if share(one) is not None else "certainty-of-others"]
    lines = [words.format(shares=", ".join(listed))] if listed else []
    kinds = _but_for_figures(obstacles(one))
    lines += list(dict.fromkeys(_obstacle_sentence(each, whole) for each in kinds))[:MOST_OBSTACLES]
    said = " ".join(lines)
    holders = [one] if "more_texts" in one else _open_parts(one)[0]
    # What is the largest number that any part needs is no promise where no number of texts settles another.
    each = [holder["more_texts"] or 0 for holder in holders]
    more = max(each, default=0) if all(each) else 0
    if not more:
        return said
    # A method without texts of a block counts those of a whole part.
    per_block = whole is None or "texts" in whole["method"]["options"]
    of = "per block" if per_block else "in all"
    return f"{said} About {numbers.count(more)} texts {of} would settle it.".strip()


def _obstacle_sentence(one: ReasonEntry, rating: RatingEntry | None) -> str:
    """What keeps a level open, with the part that it is about where others are not open for it."""
    words = reason(one, rating)
    if rating is None or view_of(rating).ordered:  # there the parts are issues, and reasons name theirs
        return words
    mine = [part for part in rating["parts"] if one["code"] in {each["code"] for each in part["reasons"]}]
    if not mine or len(mine) == len(rating["parts"]):
        return words
    where = part_suffix(rating, mine[0]) if len(mine) == 1 else f" ({listing([*map(title, mine)])})"
    return f"{words.removesuffix('.')}{where}."


def follows(rating: RatingEntry) -> str:
    """How the overall level follows from the parts, so that a reader can redo it by hand."""
    parts, (rated, able) = rating["parts"], testable_count(rating)
    if (own := view_of(rating).follows(rating)) is not None:
        return own
    if able < 2:
        return ""
    rule = rating["method"]["options"].get("aggregate", "worst")
    aggregates = COMMON.table("aggregates")
    what = aggregates.get(str(rule), aggregates["worst"])
    sentences = [f"The overall rating is {what.format(noun=noun(rating, 1), nouns=noun(rating, 2))}."]
    groups = []
    for entry in rating["overall"]["scale"]:
        hit = at_level(rating, entry["level"])
        if hit:
            named = level_in_words(rating, entry["level"])
            at = "at level " if str(entry["level"]).isdigit() else ""
            groups.append(f"{len(hit)} {at}{named} ({listing(_marked(rating, entry['level']))})")
    if groups:
        sentences.append(f"Of {able} {noun(rating, able)}: {'; '.join(groups)}.")
    if rated < able:
        missing = [
            title(part) for part in parts if part["level"] is None and part["state"] != "not applicable"
        ]
        sentences.append(f"Without a level: {listing(missing)}.")
    return " ".join(sentences)


def reason(one: ReasonEntry | Reason, rating: RatingEntry | None = None) -> str:
    """The sentence of a reason or limit; an unknown code from a plug-in is shown with its facts.

    With its rating given, keys of parts become their titles.
    """
    code, given = (one.code, one.facts) if isinstance(one, Reason) else (one["code"], one["facts"])
    view = _speaker(code, rating)
    facts = dict(view.fact_words(code, given, rating))
    facts["audit_command"] = " ".join(["trustgauge audit", *([name(rating["id"])] if rating else [])])
    if rating is not None:
        if facts.get("level") in levels(rating):
            facts["level"] = shortest(rating, str(facts["level"]))
        facts.setdefault("attribute", rating["issue"]["attribute"])
        facts.setdefault("noun", noun(rating, 1))
        titles = {part["key"]: title(part) for part in rating["parts"]}
        for key in _KEYS & facts.keys():
            value = facts[key]
            if isinstance(value, list | tuple):
                facts[key] = [titles.get(each, each) if isinstance(each, str) else each for each in value]
            elif isinstance(value, str):
                facts[key] = titles.get(value, value)
    words = sanitize.FactWords(facts)
    for template in view.messages.reasons.get(code) or COMMON.reasons.get(code, ()):
        try:
            return words.vformat(template, (), facts)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            continue  # a fact is missing: a plainer sentence of the same code follows
    return unknown(code, facts)


def _speaker(code: str, rating: RatingEntry | None) -> MethodView:
    """The view whose method gives a reason: that of the rating, or of another that it takes results from."""
    other = view_by_name(code.split(".")[0])
    if rating is None or (code in other.messages.reasons and code not in view_of(rating).messages.reasons):
        return other
    return view_of(rating)


def unknown(code: str, facts: Mapping[str, object]) -> str:
    """The sentence of a code that has none of its own."""
    text = ", ".join(
        f"{name(str(key))}: {name(str(value))}" for key, value in facts.items() if key not in _ADDED
    )
    return f'The method gives the reason "{name(code)}"' + (f" ({text})." if text else ".")


_ADDED = frozenset({"attribute", "noun", "audit_command"})
_KEYS = frozenset({"part", "parts", "excluded"})


def reasons(many: Sequence[ReasonEntry], rating: RatingEntry | None = None) -> list[str]:
    """Sentences of several reasons, each once."""
    return list(dict.fromkeys(reason(one, rating) for one in many))


def flag(code: str) -> str:
    """A flag in words: a known word, a "lost-24", or itself."""
    flags = COMMON.table("flags")
    if code in flags:
        return flags[code]
    kind, _, amount = code.rpartition("-")
    if kind in flags and amount.isdigit():
        return f"{int(amount)} % {flags[kind]}"
    return name(code.replace("-", " "))


def notes(part: PartEntry, rating: RatingEntry) -> list[str]:
    """What must stand beside a part in a table: flags, its state, and what would settle it."""
    if fault := next((one["code"] for one in part["reasons"] if one["code"] in FAULTS), ""):
        return [COMMON.table("faults")[fault]]
    lines = [flag(code) for code in part["flags"]]
    lost = lost_share(part)
    if lost is not None and not any("lost" in one for one in lines):
        open_ = part_details(part).get("measure") == "choice"  # nothing was sent that could be lost
        lines.append(f"{numbers.percent(lost)} " + ("left open" if open_ else f"lost the {_mention(rating)}"))
    unread = unread_share(part)
    if unread:
        lines.append(f"{numbers.percent(unread)} not read")
    if gone := _missing_note(part):
        lines.append(gone)
    lines += view_of(rating).part_notes(part)
    if part["state"] == "not settled":
        lines.append(_to_settle(part))
    elif part["state"] == "incomplete" and not lossy(part["coverage"]):
        lines += [one.rstrip(".") for one in reasons(part["reasons"][:1], rating)] or ["not rated"]
    elif part["state"] != "rated":
        lines.append(standing(rating, part["state"]).split(";")[0])
    return lines


def _missing_note(part: PartEntry) -> str:
    """How many answers never came, where that is too many to pass over, and of which value more."""
    facts = {one["code"]: one["facts"] for one in part["reasons"]}
    found = facts.get("loss-does-not-matter") or facts.get("loss-lowers-certainty")
    if not found or "share" not in found:
        return ""
    more = (
        f", more for {name(found['where'])} than for {name(found['against'])}" if "against" in found else ""
    )
    return f"{numbers.percent(found['share'])} missing{more}"


def _to_settle(part: PartEntry) -> str:
    facts = {one["code"]: one["facts"] for one in part["reasons"]}
    to_read, more = facts.get("unread-matters", {}).get("to_read"), part["more_texts"]
    if to_read:
        label = " to label" * ("option" in facts["unread-matters"])
        return f"not settled: {numbers.count(to_read)} unread answer{'s' * (to_read != 1)}{label}"
    labels = next((one for one in facts.values() if one.keys() & {"to_label", "all_labels"}), {})
    if "to_label" in labels:
        return f"not settled: label about {numbers.count(labels['to_label'])} answers in all"
    if labels:
        return "not settled: larger run needed"
    return f"not settled: try {numbers.count(more)} texts" if more else unsettled_state(part)


def unread_share(part: PartEntry) -> float:
    """Share of the mentions sent that came back and that the reader is not sure of."""
    details = part_details(part)
    unread = sum((details.get("unread") or {}).values())
    # of earlier ratings, which do not say how many were sent, those of different texts stand for them
    sent = details.get("sent") or unread + sum(sum(row) for row in details.get("matrix") or ())
    return unread / sent if unread else 0.0


def lost_share(part: PartEntry, least: float = 0.05) -> float | None:
    """Share of mentions that came back as none of the attribute's values, if at least `least`."""
    matrix = part_details(part).get("matrix")
    if not matrix or len(matrix) < 2:
        return None
    kept = [row for row in matrix[:-1] if sum(row)]
    total = sum(sum(row) for row in kept)
    share = sum(row[-1] for row in kept) / total if total else 0.0
    return share if share >= least else None


def _mention(rating: RatingEntry) -> str:
    return "pronoun" if rating["issue"]["attribute"] == "gender" else name(rating["issue"]["attribute"])


def controls(results: Sequence[ControlEntry], *, at_length: bool = False) -> str:
    """One line on the control services with known behaviour.

    What several experiments rated for the same counts once. Whoever meets it for the first time takes
    "8 of 15" for seven faults, so that `at_length` it says that there are none.
    """
    if not results:
        return "no control service was run"
    called = _control_names(results)
    open_ones = dict.fromkeys(
        who
        for who, one in zip(called, results, strict=True)
        if one["level"] not in one["truth"].split(" or ") or one.get("state", "rated") != "rated"
    )
    count = len(set(called))
    line = f"{count - len(open_ones)} of {count} got the expected rating"
    wrong = dict.fromkeys(
        f"{who} is built as {one['truth']}, but was rated {one['level']}"
        for who, one in zip(called, results, strict=True)
        if one.get("wrong")
    )
    if wrong:
        return f"{line}; the run is void: {listing(list(wrong))}"
    if not open_ones:
        return line
    return f"{line}{', none a wrong one' * at_length}; not settled: {listing(list(open_ones))}"


def _control_names(results: Sequence[ControlEntry]) -> list[str]:
    """Controls by name, those of one name with what they were rated for."""
    issues: dict[str, set[str]] = {}
    for one in results:
        issues.setdefault(one["name"], set()).add(one.get("issue", ""))
    return [
        f"{one['name']} ({name(one.get('issue', ''))})" if len(issues[one["name"]]) > 1 else one["name"]
        for one in results
    ]


def error(code: str) -> str:
    """What an error code means."""
    return COMMON.table("errors").get(code, f'An error of the kind "{name(code)}".')


def event(
    *,
    event: str,
    state: str = "",
    at_once: int | None = None,
    rate: float | None = None,
    wait: float | None = None,
    **others: object,
) -> str:
    """What happened while services were asked, in words, by the fields of an event (`execution.events`)."""
    pace = [f"{numbers.count(at_once)} {'call' if at_once == 1 else 'calls'} at once"] if at_once else []
    pace += [f"{rate:.{0 if rate >= 10 else 1}f} a second"] if rate else []
    words = COMMON.table("events")[state if event == "breaker" else event]
    facts = {
        "pace": f"at most {' and '.join(pace)}",
        "error": error(str(others.get("error", ""))).rstrip("."),
        "wait": numbers.span(wait or 0.0),
    }
    return words.format(**{**others, **facts})


def gate(outcome: GateEntry) -> str:
    """What a gate says, in words."""
    words = COMMON.table("gates").get(outcome["reason"], name(outcome["reason"]))
    return words.format(fail_on=outcome["fail_on"], need=numbers.certainty(outcome["need_certainty"]))


def assessor(rating: RatingEntry | RunEntry) -> str:
    """Who rated, and in what relationship to the provider. Always said, in the same place."""
    who = rating["assessor"]
    relation = {"first party": "its provider"}.get(who["relationship"], who["relationship"])
    if who["relationship"] == "not stated":
        return f"Assessor {name(who['name'])}"
    return f"{name(who['name'])} ({relation})"


def import_note(rating: RatingEntry) -> str:
    """That answers were imported by hand; "" if none was."""
    ways = str(rating["provenance"]["collected"]).split(", ")
    if BY_HAND not in ways:
        return ""
    return COMMON.table("collected")[BY_HAND if len(ways) == 1 else "some by hand"]


def retest(rating: RatingEntry) -> str:
    """How questions asked a second time were answered (methods 0.3); "" if none was, or all were alike."""
    found = rating.get("retest")
    if not found or not (equal := found["equal"]) or equal["value"] == 1:
        return ""
    alike, near, far = found["alike"], found["near"], found["far"]
    low, high = numbers.percent(equal["low"]), numbers.percent(equal["high"])
    differ = alike and alike["value"] != equal["value"]
    read = NOTES["retest-alike"].format(alike=numbers.percent(alike["value"])) if alike and differ else ""
    n, share = numbers.count(equal["n"]), numbers.percent(equal["value"])
    text = NOTES["retest"].format(n=n, equal=share, low=low, high=high, alike=read)
    if near and far and near["n"] and far["n"] and (near["low"] or 0.0) > (far["high"] or 1.0):
        agree = {"near": numbers.percent(near["value"]), "far": numbers.percent(far["value"])}
        text += f" {NOTES['retest-in-time'].format(**agree)}"
    return text


def mask_text(text: str) -> str:
    """What stands in the place of offensive text until the reader asks for it."""
    words = len(text.split())
    return f"████ {words} {'word' if words == 1 else 'words'} hidden"


def mentions(rating: RatingEntry) -> str:
    """What a mention of the attribute is called, in the plural."""
    return "pronouns" if rating["issue"]["attribute"] == "gender" else "mentions"


# -- what to do about a rating without a settled level: it follows from the reason in the way

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
    return " ".join((*_settled_advice(rating), open_, NOTES["open-reasons"] if circular else step))


def _settled_advice(rating: RatingEntry) -> list[str]:
    """What settled parts call for that are not at the best level, though the level of the whole is open."""
    said, best = view_of(rating).messages.table("advice"), levels(rating)[0]
    bad = (part["key"] for part in rating["parts"] if part["state"] == "rated" and part["level"] != best)
    return [said[f"open-{key}"] for key in bad if f"open-{key}" in said]


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
