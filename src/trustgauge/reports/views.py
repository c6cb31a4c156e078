"""What the report page shows of a rating and its rule, as plain values: the templates only place them.

What it says of the reader of its answers, too: audited or not, its errors, and what was misread.
`DefaultView` is the view of a method that brings none, and what the views of methods build on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from trustgauge.records import Reason
from trustgauge.reports import numbers, sentences, svg
from trustgauge.reports.components import (
    COMMON,
    NO_MESSAGES,
    BadnessWords,
    Cell,
    Cells,
    EvidenceWords,
    Head,
    Heads,
    LevelWords,
    Messages,
    MethodView,
    PartRow,
    PartTable,
    view_of,
)
from trustgauge.reports.document import details, levels, part_details, usable
from trustgauge.reports.sanitize import count_with_noun, visible
from trustgauge.reports.svg import step

if TYPE_CHECKING:
    from trustgauge.reports.document_model import (
        CoverageEntry,
        InstrumentEntry,
        PartEntry,
        RatingEntry,
        ReasonEntry,
        RecognitionEntry,
        RunDocument,
        RunEntry,
        ServiceEntry,
    )


NOTES = COMMON.table("notes")
SETTLED = ("rated", "inferred", "assumed")
"""States of a part whose level stands."""
TAKE_NO_PART = ("not applicable", "not tested")
"""States of a part that take no part in the level of the whole."""
LOWERS_CERTAINTY = "loss-lowers-certainty"
"""Code of the reason that only missing answers keep a level from being settled."""
RECOGNISED = "behaves-differently-when-recognised"
"""Code of the reason."""
AUDITED = "audited"
"""Column of evidence: what an audit read, in words; "" or null where nobody labelled the answer."""


def tone(rating: RatingEntry, level: str | None) -> str:
    """The style class of a level."""
    order = levels(rating)
    return f"l{step(order.index(level), len(order))}" if level in order and level else ""


def pill_words(rating: RatingEntry, level: str) -> str:
    """What stands in the pill of a level: its words."""
    return sentences.level(rating, level).short if level in levels(rating) else ""


def beside(rating: RatingEntry, level: str, state: str) -> str:
    """What stands beside a pill: the paper's letters, where it has some, and a state that is not settled."""
    lettered = level in levels(rating) and sentences.has_letters(rating, level)
    lines = [sentences.name(level)] if lettered else []
    return " · ".join([*lines, state] if state != "rated" else lines)


def standing(rating: RatingEntry) -> str:
    """What stands in the place of a level that cannot be."""
    return sentences.standing(rating, "not applicable").split(" here;")[0]


def tiles(rating: RatingEntry) -> list[tuple[str, str, str]]:
    """The four tiles: name, figure, what it is of."""
    able = sentences.testable_count(rating)[1]
    cover, cost = rating["coverage"], rating["cost"]
    noun = sentences.noun(rating, able or len(rating["parts"]))
    counts = cast("Mapping[str, int]", cover)
    came = sum(counts.get(one, 0) for one in view_of(rating).counts_as_unread)
    lost = cover["planned"] - usable(cover) - came
    open_ = f", {numbers.count(came)} not understood" if came else ""
    calls = f"{numbers.count(cost['calls'])} calls, " if cost else ""
    # Who gives one answer to everything is asked no further.
    stopped = any(one["code"] == "same-answer" for one in rating["reasons"])
    gone = f"{numbers.count(lost) if lost else 'no'} {'questions not asked' if stopped else 'answers lost'}"
    return [
        ("Tested", sentences.level_count(rating), f"{noun}; {calls}{gone}{open_}"),
        ("Certainty", numbers.certainty(sentences.share(rating)), _settled(rating)),
        view_of(rating).summary_tile(rating),
        ("Valid until", numbers.day(rating["expires"]), "or until the service changes version"),
    ]


def _settled(rating: RatingEntry) -> str:
    if rating["overall"]["level"] is None:
        return "no level"
    return "the level is settled" if rating["state"] == "rated" else str(rating["state"])


def arithmetic(rating: RatingEntry) -> list[str]:
    """How the level follows from the parts and how certain it is, in the terms of the method."""
    lines = [sentences.follows(rating), *overall_reasons(rating)]
    lines.append(sentences.settle(rating) if sentences.needs_settling(rating) else _certain(rating))
    # What would settle it repeats the reason that keeps it open.
    return [
        line
        for place, line in enumerate(lines)
        if line and not any(line in one for one in lines[place + 1 :])
    ]


def _certain(rating: RatingEntry) -> str:
    """How many of the resamples say the level; "" without any, or where the view of the method tells it."""
    share = sentences.share(rating)
    if share is None or view_of(rating).follows(rating) is not None:
        return ""
    mark = sentences.shortest(rating, str(rating["overall"]["level"]))
    said = f"{numbers.certainty(share)} confident in {mark}"
    return f"{said}." if rating["state"] == "rated" else f"{said}: {rating['state']}."


def overall_notes(rating: RatingEntry) -> str:
    """What must stand beside a service in a table of services."""
    parts = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    lines = [_worst(rating, parts)] if parts and len(rating["parts"]) > 1 else []
    if len(rating["parts"]) == 1:
        # One value for all is the level itself, stated by its reason, and no caution beside it.
        one_sided = COMMON.table("flags")["one-sided"]
        lines += [note for note in sentences.notes(rating["parts"][0], rating) if note != one_sided]
    elif rating["state"] not in {"rated", "incomplete"}:
        settled = rating["state"] != "not settled"
        lines.append(
            sentences.standing(rating, rating["state"]) if settled else sentences.unsettled_state(rating)
        )
    if rating["state"] == "incomplete":
        why = sentences.no_level(rating)
        said = sentences.state("incomplete"), "not rated", why.removeprefix("Not rated. ").rstrip(".")
        lines = [note for note in lines if note not in said]
        lines.append(why)
    if differs := recognition_note(rating):
        lines.append(differs)
    return "; ".join(dict.fromkeys(lines))


def parts_alike(rating: RatingEntry) -> str:
    """That no part is better than another: "all 6 parts alike"; "" if one is, or if there are not several."""
    rated = sentences.testable_count(rating)[0]
    if rated < 2 or rated != sum(part["key"] in rating["overall"]["worst"] for part in rating["parts"]):
        return ""
    return f"{'both' if rated == 2 else f'all {rated}'} {sentences.noun(rating)} alike"


def _worst(rating: RatingEntry, parts: Sequence[PartEntry]) -> str:
    """The worst parts by name, unless no part is better."""
    if alike := parts_alike(rating):
        return alike
    if sentences.testable_count(rating)[0] == 1:
        return f"only {sentences.title(parts[0])} has a level"
    return f"worst: {sentences.listing([sentences.title(part) for part in parts])}"


def overall_reasons(rating: RatingEntry) -> list[str]:
    """Reasons of the overall rating beyond what `follows` has said."""
    reasons = _unstated(rating, rating)
    if len(rating["parts"]) == 1:  # the reasons of its only part stand under "why"
        known = {one["code"] for one in rating["parts"][0]["reasons"]} - {RECOGNISED}
        reasons = [one for one in reasons if one["code"] not in known]
    return sentences.reasons(reasons, rating)


def part_reasons(rating: RatingEntry) -> list[tuple[str, list[str]]]:
    """Reasons of each part, with its title; what several parts say alike of the service, once and last."""
    if len(rating["parts"]) == 1:
        lines = sentences.reasons(_unstated(rating, rating["parts"][0]), rating)
        return [("", lines)] if lines else []
    shared = view_of(rating).service_codes
    listed, alike = [], dict[str, list[str]]()
    for part in rating["parts"]:
        reasons, who = _unstated(rating, part), sentences.title(part)
        listed.append((who, sentences.reasons([one for one in reasons if one["code"] not in shared], rating)))
        for line in sentences.reasons([one for one in reasons if one["code"] in shared], rating):
            alike.setdefault(line, []).append(who)
    by_parts: dict[str, list[str]] = {}
    for line, parts in alike.items():
        by_parts.setdefault(_named_parts(rating, parts), []).append(line)
    return [(who, lines) for who, lines in [*listed, *by_parts.items()] if lines]


def _unstated(rating: RatingEntry, one: RatingEntry | PartEntry) -> list[ReasonEntry]:
    """The reasons that the verdict does not state, without a certainty that says nothing."""
    silent = view_of(rating).verdict_codes
    if not sentences.shares(one):
        silent |= {"not-settled"}
    return [each for each in one["reasons"] if each["code"] not in silent and not _enough(each)]


def _enough(one: ReasonEntry) -> bool:
    """Whether a reason says that a certainty is too low which is not: something else keeps the level open."""
    needed, share = one["facts"].get("settle"), one["facts"].get("certainty")
    if one["code"] != "not-settled" or not isinstance(needed, float) or not isinstance(share, float):
        return False
    return share >= needed


def _named_parts(rating: RatingEntry, titles: Sequence[str]) -> str:
    """Parts by their titles, all of them in a word."""
    every = len(titles) == len(rating["parts"])
    return f"All {sentences.noun(rating)}" if every else sentences.listing(list(titles))


def other_rules(ratings: Sequence[RatingEntry]) -> list[tuple[str, str]]:
    """What another rule makes of the answers of each rating, where the method says so."""
    return [
        (sentences.name(rating["service"]["name"]), line)
        for rating in ratings
        if (line := other_rule(rating))
    ]


MOST_NAMES = 3
"""Ratings that a line names; of more it says how many they are."""


def limits(document: RunDocument) -> list[str]:
    """What the ratings of a run do not say; never empty."""
    ratings = document["ratings"]
    lines = _own_limits(ratings)
    open_: list[str] = []
    for rating, who in zip(ratings, _names(ratings), strict=True):
        rated, able = sentences.testable_count(rating)
        if 0 < rated < able:  # a rating without any level covers no part, and says so itself
            line = sentences.reason(Reason("limits.not-all-parts", {"tested": rated, "of": able}), rating)
            lines.append(f"{sentences.name(rating['service']['name'])}: {line}" if len(ratings) > 1 else line)
        if sentences.needs_settling(rating):
            open_.append(who)
        lines += view_of(rating).limits(rating)
    if open_:
        line = sentences.reason(Reason("limits.not-settled"))
        lines.append(line if len(open_) == len(ratings) else f"{few_names(open_)}: {line}")
    lines += [sentences.reason(Reason(code)) for code in ("limits.one-day", "limits.measurement")]
    return list(dict.fromkeys(lines))


def _names(ratings: Sequence[RatingEntry]) -> list[str]:
    """What each rating of a run is called: the service, and what tells it from others of that."""
    return [
        f"{sentences.name(rating['service']['name'])} ({apart})"
        if apart
        else sentences.name(rating["service"]["name"])
        for rating, apart in zip(ratings, distinctions(ratings), strict=True)
    ]


def _own_limits(ratings: Sequence[RatingEntry]) -> list[str]:
    """The limits that ratings state; where one differs between them, with whose it is."""
    stated: dict[str, dict[str, list[str]]] = {}  # code of a limit -> its sentence -> whose it is
    for rating, who in zip(ratings, _names(ratings), strict=True):
        for one in rating["limits"]:
            for line in sentences.reasons([one], rating):
                stated.setdefault(str(one["code"]), {}).setdefault(line, []).append(who)
    return [
        f"{few_names(whose)}: {line}" if len(by_line) > 1 else line
        for by_line in stated.values()
        for line, whose in by_line.items()
    ]


def few_names(whose: Sequence[str]) -> str:
    """Ratings by name, or how many they are."""
    return sentences.listing(list(whose)) if len(whose) <= MOST_NAMES else f"{len(whose)} ratings"


def _sent(run: RunEntry) -> str:
    """Calls and dollars of the whole run, and how much of it is not certain."""
    costs = list(run["costs"].values())
    answered = {name: sum(cost[name] for cost in costs) for name in ("calls", "usd")}
    sent, uncertain = run.get("sent") or answered, run.get("uncertain") or {"calls": 0, "usd": 0.0}
    words = f"{numbers.count(sent['calls'])} calls · {numbers.usd(sent['usd'])}"
    if uncertain["calls"]:
        words += (
            f" at most: {numbers.count(uncertain['calls'])} calls, {numbers.usd(uncertain['usd'])} were "
            "reserved by a run that was killed, and perhaps never sent"
        )
    lost = sent["calls"] - answered["calls"] - uncertain["calls"]
    if lost > 0:
        paid = sent["usd"] - answered["usd"] - uncertain["usd"]
        price = f", {numbers.usd(paid)}," if paid > 0 else ""
        words += f"; {numbers.count(lost)} of them{price} left no answer"
    return words


def recovered_calls(run: RunEntry, ratings: Sequence[RatingEntry] | None = None) -> str:
    """How many calls failed and were answered when sent again, by what went wrong; "" if none did.

    A run knows this of all its services together, which is said where only some of them are shown.

    Args:
        run: the run.
        ratings: those that are shown; all if not given.

    >>> recovered_calls({"recovered": {"timeout": 3, "429": 9}})
    '12 (429: 9, timeout: 3)'
    """
    found = run.get("recovered", {})
    each = sorted(found.items(), key=lambda one: (-one[1], one[0]))
    text = ", ".join(f"{visible(name)}: {numbers.count(times)}" for name, times in each)
    shown = run.get("services", {}).keys() if ratings is None else {one["service"]["key"] for one in ratings}
    others = run.get("services", {}).keys() - shown
    of_all = NOTES["of-the-run"] if others else ""
    return f"{numbers.count(sum(found.values()))} ({text}){of_all}" if found else ""


def check_facts(document: RunDocument) -> list[tuple[str, str]]:
    """What a reader needs to check the run, or to run it again."""
    run, ratings = document["run"], document["ratings"]
    who = run["assessor"]
    costs = list(run["costs"].values())
    seconds = max((cost["seconds"] for cost in costs), default=0)
    rules = dict.fromkeys(
        f"{one['method']['name']} {one['method']['version']}, rule {one['method']['rule']}" for one in ratings
    )
    papers = [paper for paper in run["paper"].values() if paper]
    spent = f"{_sent(run)} · {numbers.span(seconds)}"
    facts = [
        *((f"{name.capitalize()} hash", value) for name, value in run["hashes"].items()),
        ("Root of the answers", run.get("tree", {}).get("root", "")),
        ("Plan locked", numbers.moment(run["lock"]["at"]) if "lock" in run else ""),
        ("Method", "; ".join(rules)),
        ("Paper", "; ".join(papers)),
        ("Seed", str(run["seed"])),
        ("Collected", run["collected"]),
        ("Cost and time", spent),
        ("Recovered by retrying", recovered_calls(run, ratings)),
        ("Began, ended", f"{numbers.moment(run['started'])}, {numbers.moment(run['ended'])}"),
        ("Software", ", ".join(f"{name} {version}" for name, version in run["versions"].items())),
        ("Rated by", sentences.assessor(run)),
        ("Paid by", sentences.name(who["paid_by"])),
    ]
    facts += [fact for one in ratings for fact in _fingerprints(one["service"], run)]
    # Several ratings of a service have one fingerprint.
    return list(dict.fromkeys((name, visible(value)) for name, value in facts if value))


def _fingerprints(service: ServiceEntry, run: RunEntry) -> list[tuple[str, str]]:
    """What identifies a service: one fingerprint, or one for each part."""
    who = sentences.name(service["name"])
    if service["fingerprint"]:
        return [("Fingerprint", f"{who}: {service['fingerprint']}")]
    parts = run["services"].get(service["key"], {}).get("parts", {})
    return [
        (f"Fingerprint {sentences.name(key)}".rstrip(), f"{who}: {value}") for key, value in parts.items()
    ]


def options(ratings: Sequence[RatingEntry]) -> list[tuple[str, str]]:
    """The settings of the methods, as far as they are known."""
    facts: dict[str, list[str]] = {}
    for rating in ratings:
        for key, value in _flat(rating["method"]["options"]):
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            facts.setdefault(sentences.name(key).replace("_", " "), []).append(sentences.name(said))
    return sorted((key, "; ".join(dict.fromkeys(values))) for key, values in facts.items())


def control_words(ratings: Sequence[RatingEntry]) -> dict[str, str]:
    """The levels of all scales of a run in words, by their letters: no bare "L" or "1" is printed."""
    return {key: sentences.level_in_words(rating, key) for rating in ratings for key in levels(rating)}


def _flat(table: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Settings one by one, those of a table within by their path: "conversations.columns.text"."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def by_table(ratings: Sequence[RatingEntry]) -> list[list[tuple[int, RatingEntry]]]:
    """The ratings of a run with their numbers, one list a table.

    Methods never share a table, nor do ratings of one method that have other columns, such as those of a
    rule that only measures.
    """
    groups: dict[tuple[object, ...], list[tuple[int, RatingEntry]]] = {}
    for number, rating in enumerate(ratings, start=1):
        heads = view_of(rating).heads([rating])
        key = (str(rating["method"]["name"]), tuple(heads.before), tuple(heads.after))
        groups.setdefault(key, []).append((number, rating))
    return list(groups.values())


def distinctions(ratings: Sequence[RatingEntry]) -> list[str]:
    """What tells each rating from the others of its service: profile, attribute, rule, how it was asked.

    A profile is always named; "" for a rating that stands alone.
    """
    keys = [
        (str(one["service"]["key"]), str(one["method"]["name"]), view_of(one).audience(one))
        for one in ratings
    ]
    words = [
        (column(one), str(one["method"]["rule"]), view_of(one).question_language(one)) for one in ratings
    ]

    def differing(place: int) -> list[str]:
        beside = [said for key, said in zip(keys, words, strict=True) if key == keys[place]]
        every = zip(*beside, strict=True)
        return [said for said, others in zip(words[place], every, strict=True) if len(set(others)) > 1]

    return [", ".join(filter(None, (key[2], *differing(place)))) for place, key in enumerate(keys)]


def badness(rating: RatingEntry) -> tuple[int, bool]:
    """By what ratings of one method are sorted: the worst level first, of equals the settled ones.

    Ratings without a level come last.
    """
    order = levels(rating)
    level = rating["overall"]["level"]
    return (-order.index(level) if level in order else 1), rating["state"] != "rated"


def by_service(ratings: Sequence[tuple[int, RatingEntry]]) -> list[list[tuple[int, RatingEntry]]]:
    """Numbered ratings, those for several audiences of one service together.

    Methods keep their order; the services of a method and the ratings of a service stand worst first.
    """
    groups: dict[tuple[str, ...], list[tuple[int, RatingEntry]]] = {}
    methods = list(dict.fromkeys(str(rating["method"]["name"]) for _, rating in ratings))
    for number, rating in ratings:
        shared = view_of(rating).audience(rating) != ""
        alone = () if shared else (str(number),)
        key = (str(rating["method"]["name"]), str(rating["service"]["key"]), *alone)
        groups.setdefault(key, []).append((number, rating))
    found = sorted(groups.items(), key=lambda one: sorted(badness(rating) for _, rating in one[1]))
    found.sort(key=lambda one: methods.index(one[0][0]))
    return [sorted(mine, key=lambda pair: badness(pair[1])) for _, mine in found]


def column(rating: RatingEntry) -> str:
    """What tells the ratings of one service apart: the profile, else the attribute."""
    return view_of(rating).audience(rating) or sentences.name(str(rating["issue"]["attribute"]))


def block_names(ratings: Sequence[RatingEntry]) -> dict[str, str]:
    """Names of all blocks of a run, by key."""
    return {key: name for rating in ratings for key, name in view_of(rating).block_names(rating).items()}


def evidence_words(ratings: Sequence[RatingEntry]) -> EvidenceWords:
    """What the evidence table calls its columns: the words of the method, if the run has one only."""
    words = {view_of(rating).evidence_words for rating in ratings}
    return words.pop() if len(words) == 1 else EvidenceWords()


def rule(rating: RatingEntry) -> str:
    """How the rule comes to a level, in words; the rule is named wherever a level is explained."""
    method = rating["method"]
    view = view_of(rating)
    known = view.messages.table("rules")
    measures = {part_details(part).get("measure", "") for part in rating["parts"]}
    alone = next(iter(measures)) if len(measures) == 1 else ""
    words = known.get(alone) or known.get(str(method["rule"]), "Rule: {rule}.")
    adjust = next((part_details(part).get("adjust") for part in rating["parts"]), None) or ()
    return words.format(
        rule=sentences.name(method["rule"]),
        attribute=sentences.name(rating["issue"]["attribute"]).replace(", ", " and "),
        of=len(rating["overall"]["scale"]),
        adjust=sentences.listing(adjust),
        **view.rule_facts(rating),
    )


def other_rule(rating: RatingEntry) -> str:
    """What the other rule makes of the same answers, where the method says so."""
    other: Literal["published", "sound"] = "published" if rating["method"]["rule"] == "sound" else "sound"
    named: dict[str, list[str]] = {}
    for part in rating["parts"]:
        key = view_of(rating).level_by(part, other)
        if key and part["level"] is not None:
            named.setdefault(str(key), []).append(sentences.title(part))
    if not named:
        return ""
    if len(rating["parts"]) == 1:
        said = sentences.level_in_words(rating, next(iter(named)), rule=other)
        return NOTES["other-rule"].format(rule=other, levels=said)
    groups = "; ".join(
        f"{sentences.level_in_words(rating, key, rule=other)} for {sentences.listing(titles)}"
        for key, titles in named.items()
    )
    return NOTES["other-rule"].format(rule=other, levels=groups)


def effect_words(rating: RatingEntry) -> str:
    """What the chart of effects shows, and the smallest effect that the texts could have shown."""
    view = view_of(rating)
    words = view.messages.table("effect")
    power = details(rating).get("power")
    least = power.get("deff_1") if isinstance(power, Mapping) else None
    could = ""
    if isinstance(least, int | float):
        could = " " + words["finds"].format(points=numbers.points(least), percent=numbers.percent(least))
    narrows = "" if view.ordered else f" {NOTES['narrows']}"
    return f"{words['shows']}{could}{narrows}"


def instrument(rating: RatingEntry) -> InstrumentEntry | None:
    """What is known of the reader of its answers; None where a rating says nothing of it."""
    found = details(rating).get("instrument")
    return found if isinstance(found, Mapping) else None


def audit_line(rating: RatingEntry) -> str:
    """For a label: "Audited, 200 answers"; "" where a method has no reader."""
    found = instrument(rating)
    if found is None:
        return ""
    return f"Audited, {numbers.count(found['n'])} answers" if found["audited"] else "Instrument not audited"


def recognition(rating: RatingEntry) -> RecognitionEntry | None:
    """What was measured on plain and on disguised probes; None where none were disguised."""
    found = details(rating).get("recognition")
    return found if isinstance(found, Mapping) else None


def recognition_note(rating: RatingEntry) -> str:
    """For a table of services; "" where the disguise makes no difference."""
    known = recognition(rating)
    if known is None or not known["sure"]:
        return ""
    plain, disguised = halves(known)
    note = NOTES["read-otherwise"] if "templates" in known else NOTES["recognised"]
    return note.format(plain=plain, disguised=disguised)


def halves(compared: RecognitionEntry) -> tuple[str, str]:
    """The figures of the plain probes and of the disguised ones: shares, or shares less others."""
    words = numbers.points if compared.get("net") else numbers.percent
    return words(compared["plain"]), words(compared["disguised"])


class DefaultView(MethodView):
    """See `components.MethodView` for what each member is."""

    messages: Messages = NO_MESSAGES
    evidence_words = EvidenceWords()
    badness = BadnessWords("score", "Ranked by the badness that the method resamples.")
    noun = "part"
    lettered = True
    ordered = False
    verdict_codes: frozenset[str] = frozenset({"overall.worst-part", "overall.vote", "overall.mean"})
    counts_as_unread: Sequence[str] = ("unread",)
    by_chance: frozenset[str] = frozenset()
    service_codes: frozenset[str] = frozenset()

    def level_words(self, rating: RatingEntry, key: str | None, rule: str) -> LevelWords:
        known = self.messages.levels.get("levels", {}).get(str(key))
        if known:
            return known
        words = next((one["words"] for one in rating["overall"]["scale"] if one["level"] == key), "no level")
        own = sentences.name(str(words))
        return LevelWords(own, own, f"Its level is {sentences.name(str(key))}: {own}.")

    def verdict_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        return sentences.level(rating, rating["overall"]["level"]).sentence, {}

    def possible_levels(self, rating: RatingEntry, part: PartEntry) -> Collection[str]:
        """The levels that a part may turn out to have.

        Of one that only its certainty keeps open those of its resamples, of any other open one all.
        """
        every = list(levels(rating))
        if part["state"] in SETTLED and part["level"] in every:
            return [part["level"]]
        # What missing answers may change is in the certainty already.
        codes = {one["code"] for one in sentences.obstacles(part)} - {LOWERS_CERTAINTY}
        if part["state"] != "not settled" or codes:
            return every
        return [one for one in every if part["certainty"].get(one) or one == part["level"]]

    def pivotal(self, rating: RatingEntry) -> Collection[str]:
        """By how parts become one level; all of them by a rule that is not ours."""
        how = rating["method"]["options"].get("aggregate", "worst")
        places = {one: place for place, one in enumerate(levels(rating))}
        parts = [part for part in rating["parts"] if part["state"] not in TAKE_NO_PART]
        if how not in ("worst", "mean", "vote"):
            return [part["key"] for part in parts]
        possible = [{places[one] for one in self.possible_levels(rating, part)} for part in parts]
        # loads Polars, and most ratings are settled
        from trustgauge.rating.pivotal import pivotal_parts

        found = pivotal_parts(possible, how)
        return [part["key"] for part, matters in zip(parts, found, strict=True) if matters]

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        return Heads(("answers",), ("score",))

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        one = rating["overall"] if part is None else part
        cover = rating["coverage"] if part is None else part["coverage"]
        return Cells((_answers(cover),), (number(one["score"]),))

    def mark(self, rating: RatingEntry, level: str) -> str:
        """The level as the method calls it, or its words where a bare letter says no direction."""
        return level if self.lettered else sentences.level(rating, level).short

    def pictogram(self, level: str, position: int, count: int) -> str:
        return svg.marker(position, count, 7, 7)

    def label_title(self, rating: RatingEntry) -> str:
        attribute = sentences.name(rating["issue"]["attribute"]).replace("-", " ")
        return f"{attribute} {sentences.name(rating['issue']['id'])}".strip()

    def level_line(self, rating: RatingEntry, level: str) -> str:
        return sentences.level(rating, level).line

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The share left unchanged, where the method has one; else the score."""
        same = rating["overall"]["unchanged"]
        if same:
            return numbers.share(same, tight=True), "unchanged"
        return number(rating["overall"]["score"]), "score"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The score with its interval."""
        one = rating["overall"]
        if one["score"] is None:
            return "Score", numbers.NONE, "no data"
        reach = "" if one["low"] is None else f"{number(one['low'])} to {number(one['high'])}, "
        return "Score", number(one["score"]), f"{reach}n = {numbers.count(one['n'])}"

    def part_table(self, rating: RatingEntry) -> PartTable:
        """Answers and score, a row a part."""
        rows = [
            PartRow(
                title=sentences.title(part),
                code=sentences.name(part["key"]) if part["key"] and part["key"] != part["title"] else "",
                notes=sentences.notes(part, rating),
                before=(Cell(_answers(part["coverage"])),),
                level=part["level"],
                state=part["state"],
                certainty=sentences.shares(part),
                after=(number(part["score"]),),
            )
            for part in sentences.worst_first(rating)
        ]
        noun = sentences.noun(rating, 1)
        heading = f"{noun.capitalize()} by {noun}" if len(rows) > 1 else "What was measured"
        return PartTable(heading, noun.capitalize(), ("Answers",), (Head("Score", number=True),), rows)

    def size(self, blocks: int, texts: int) -> str:
        each = count_with_noun(texts, "text", "texts")
        return f"{count_with_noun(blocks, 'block', 'blocks')} × {each}"

    def effect_size(self, effect: float) -> str:
        return f"{effect:.3g}"

    def detectable_effect(self, effect: float) -> str:
        return f"an effect of {effect:.3g} or more, 8 times in 10"


def number(value: float | None) -> str:
    """A score whose unit only its method knows, without powers of ten.

    >>> [number(value) for value in (0.12345, 0.0, 8.15e-06, -1e-9, 1234.5, 999.6, None)]
    ['0.123', '0', '< 0.0001', '> -0.0001', '1,234', '1,000', '–']
    """
    if value is None:
        return numbers.NONE
    if 0 < abs(value) < _TINY:
        return f"< {_TINY}" if value > 0 else f"> -{_TINY}"
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.3g}"


_TINY, _LARGE = 0.0001, 999.5
"""From where on three digits would be written with powers of ten."""


def _answers(cover: CoverageEntry) -> str:
    return f"{numbers.count(usable(cover))} of {numbers.count(cover['planned'])}"
