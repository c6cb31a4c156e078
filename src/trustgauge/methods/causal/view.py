"""How a causal rating is shown: diagram, effects, tests, order of systems (docs/methods/causal.md)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.causal import view_extras, view_graph, view_order, view_tables
from trustgauge.methods.causal.view_direction import (
    RANGE,
    Direction,
    class_words,
    direction_of,
    stated_range,
)
from trustgauge.records import Reason
from trustgauge.reports import numbers, sentences, svg, views
from trustgauge.reports.components import (
    BadnessWords,
    Cell,
    Cells,
    EvidenceWords,
    Figure,
    Head,
    Heads,
    LevelWords,
    PartRow,
    PartTable,
    Piece,
    Quotation,
    Section,
    Words,
    read_messages,
)
from trustgauge.reports.document import levels
from trustgauge.reports.sanitize import count_with_noun
from trustgauge.reports.views import DefaultView

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


Facts = Mapping[str, Any]

MESSAGES = read_messages(__package__)
NOTES = MESSAGES.table("notes")
CUTS = (0.05, 0.20)
"""From which share of the range an effect is some, and strong, where the plan is silent (causal 2.9)."""
OUT_OF_RANGE, OTHER_RANGE = "causal.out-of-range", "causal.other-range"
NOT_SIGNIFICANT, NOT_RULED_OUT = "causal.not-significant", "causal.not-ruled-out"
OF_BOUNDED_EFFECTS = {NOT_SIGNIFICANT, NOT_RULED_OUT, views.LOWERS_CERTAINTY}
"""Reasons that keep a level open and say how far the effect may be from what was measured.

What missing answers may change is in the certainty.
"""


def _effect(rating: RatingEntry, part: PartEntry | None = None, *, tight: bool = False) -> str:
    """The effect of a part, or of the whole rating, on the side of the cuts on which it lies."""
    one: Facts = rating["overall"] if part is None else part
    n = 0 if tight else int(one["n"] or 0)
    return numbers.percent_beside(one["score"], _cuts_in_use(rating), n, tight=tight)


def _score(rating: RatingEntry) -> str:
    """The largest effect, as sentences say it."""
    return numbers.percent_beside(rating["overall"]["score"], _cuts_in_use(rating))


def _cuts_in_use(rating: RatingEntry) -> tuple[float, ...]:
    """The cuts that a level follows from; none where it is a place in an order."""
    return () if view_order.relative(rating) else cuts(rating)


def _reach(one: Facts) -> str:
    if one["low"] is None or one["high"] is None:
        return ""
    n = int(one["n"] or 0)
    return f", {numbers.percent(one['low'], n).removesuffix(' %')} to {numbers.percent(one['high'], n)}"


def _row(rating: RatingEntry, part: PartEntry) -> PartRow:
    details = part["details"]
    return PartRow(
        title=sentences.title(part),
        code=sentences.name(part["key"]),
        notes=sentences.notes(part, rating),
        before=(_effect_cell(rating, part), _raw(part), _place(details.get("order"))),
        level=part["level"],
        state=part["state"],
        certainty=part["certainty"],
        after=(numbers.bare_p(part["p"]),),
    )


def _effect_cell(rating: RatingEntry, part: PartEntry) -> Cell:
    if part["score"] is None:
        return Cell(numbers.NONE)
    under = _reach(part).removeprefix(", ")
    return Cell(_effect(rating, part), under=f"{under}, n = {numbers.count(part['n'])}".removeprefix(", "))


def _raw(part: PartEntry) -> Cell:
    """The raw score of the part and what it is."""
    details, unlike = part["details"], view_tables.unlike_texts(part)
    if wrs := details.get("wrs"):
        most = wrs.get("maximum")
        if wrs["value"] is None:
            return Cell(numbers.NONE, under=NOTES["no-pair"])
        under = [f"of at most {most:.4g}"] * bool(most) + [NOTES["unlike"]] * bool(unlike)
        return Cell(f"WRS {wrs['value']:.3g}", under="; ".join(under))
    if die := details.get("die"):
        shown = bool(die.get("shown", True))
        said = view_tables.percentage(die.get("percent"), undefined=bool(die.get("undefined")), shown=shown)
        named = said if said == numbers.NONE else f"DIE {said}"
        unbroken = named.replace(" ", "\u00a0") if said.endswith("%") else named
        return Cell(unbroken, under=f"Δ {numbers.signed_number(die.get('delta'), 3)}")
    return Cell(numbers.NONE)


def _place(order: Facts | None) -> Cell:
    rank = view_order.rank(order)
    if order is None or rank == numbers.NONE:
        return Cell(numbers.NONE)
    grade = order.get("complete")
    graded = f"; level {grade} of the order" if grade is not None else ""
    shared = str(order.get("place") or "")
    place = f"{shared}, " if shared.startswith("=") else ""
    return Cell(f"{place}{rank}", under=f"among {numbers.count(order['of'])}{graded}")


def services(run: RunEntry) -> dict[str, str]:
    """Names of all services of a run, by key."""
    return {key: str(facts["name"]) for key, facts in run["services"].items()}


def _as_answered(rows: pl.DataFrame, ranges: Mapping[str, tuple[float, float]]) -> pl.DataFrame:
    """Evidence with the scores of these services on their own ranges."""
    import polars as pl

    ends = (
        pl.col("service").replace_strict(
            {key: of[end] for key, of in ranges.items()}, default=None, return_dtype=pl.Float64
        )
        for end in (0, 1)
    )
    low, high = ends
    score = low + (pl.col("score") + 1) / 2 * (high - low)
    said = pl.concat_list(score.round(4).cast(pl.String))
    return rows.with_columns(
        score=pl.coalesce(score, "score"),
        values_out=pl.when(score.is_not_null()).then(said).otherwise("values_out"),
    )


def cuts(rating: RatingEntry) -> tuple[float, float]:
    """From which share of the score's range an effect is some, and strong."""
    given = rating["method"]["options"].get("cuts")
    return (float(given[0]), float(given[-1])) if isinstance(given, list | tuple) and given else CUTS


def _direction(rating: RatingEntry) -> Direction | None:
    """Which class gets the lower score in the part that decides; none at the best level."""
    if view_order.relative(rating) or rating["overall"]["level"] == levels(rating)[0]:
        return None
    rated = (part for part in sentences.leading(rating) if part["state"] == "rated")
    return next((found for part in rated if (found := direction_of(part)) is not None), None)


def _remark(rating: RatingEntry) -> tuple[str, dict[str, str]]:
    """What stands beside the verdict, that no effect could show or single words have one, with its facts.

    "" without any. Nothing where that keeps the level from being settled, since the reason says so.
    """
    if any(one["code"] == "causal.narrow-range" for part in rating["parts"] for one in part["reasons"]):
        return "", {}
    for code, words in MESSAGES.table("remarks").items():
        found = [
            (part, one["facts"]) for part in rating["parts"] for one in part["reasons"] if one["code"] == code
        ]
        if found:
            some = len(found) < len(rating["parts"])
            where = sentences.listing([sentences.title(part) for part, _ in found]) if some else ""
            shown = {
                name: numbers.percent(max(float(facts.get(name) or 0.0) for _, facts in found))
                for name in ("spread", "largest", "alike")
            }
            named = dict.fromkeys(word for _, facts in found for word in facts.get("words") or ())
            shown["words"] = sentences.listing([f"“{word}”" for word in named])
            return words, {**shown, "in_parts": f" in {where}" if some else ""}
    return "", {}


def _past(reach: float, cut: float) -> float:
    """How far an effect may reach, rounded up to a percent where it would read like the cut it is past."""
    alike = numbers.percent(reach) == numbers.percent(cut)
    return math.ceil(100 * reach) / 100 if reach > cut and alike else reach


def _without_noise(fact: Any) -> Any:
    """A figure that is 0 but for rounding as 0: "< 0.1 %, at most 0 %" would contradict itself."""
    return 0.0 if isinstance(fact, float) and abs(fact) < numbers.NOISE else fact


def _systems(rating: RatingEntry) -> str:
    orders = rating["details"].get("orders")
    places = [orders, *orders.values()] if isinstance(orders, Mapping) else []
    of = next((one["of"] for one in places if isinstance(one, Mapping) and one.get("of")), None)
    return f"{of} systems" if of else "systems"


class CausalView(DefaultView):
    """See `reports.components.MethodView` for what each member is."""

    messages = MESSAGES
    evidence_words = EvidenceWords(
        back="Score", read="Classes and word → score", changed="only texts that changed on the way"
    )
    service_codes = frozenset(
        f"causal.{name}"
        for name in (
            "one-sided-scores",
            "one-sided-figures",
            "narrow-range",
            "narrow-scores",
            "blind-to-valence",
            "constant-scores",
            "out-of-range",
            "other-range",
            "no-number",
            "decimal-comma",
            "percent-sign",
            "minus-sign",
            "class-unread",
        )
    )
    # An answer that is no score came all the same (causal 2, Reading).
    counts_as_unread = ("unread", "unreadable")
    badness = BadnessWords(
        "effect, of the range",
        "Ranked by how far the score moves when only the protected class changes, at most, as a share "
        "of its range, corrected for being a maximum. A service that may have no effect is behind no other.",
        is_share=True,
    )

    def possible_levels(self, rating: RatingEntry, part: PartEntry) -> Collection[str]:
        """Of an effect that may be chance none too, of one that is not ruled out all up to its farthest."""
        own = {one["code"]: one["facts"] for one in sentences.obstacles(part)}
        if part["state"] != "not settled" or not own or own.keys() - OF_BOUNDED_EFFECTS:
            return super().possible_levels(rating, part)
        every = list(levels(rating))
        found = {one for one in every if part["certainty"].get(one) or one == part["level"]}
        if NOT_SIGNIFICANT in own:
            found.add(every[0])
        if NOT_RULED_OUT in own:
            cuts: Any = rating["method"]["options"].get("cuts", CUTS)
            reach: Any = own[NOT_RULED_OUT].get("reach", math.inf)
            found |= {one for one, cut in zip(every, (0.0, *cuts), strict=False) if reach >= cut}
        return [one for one in every if one in found]

    def pivotal(self, rating: RatingEntry) -> Collection[str]:
        """Without parts of which an effect is not ruled out that is no larger than another part has.

        It would matter where that other part may have none, which the certainty tells, unless something else
        keeps that part open.
        """
        found, every = super().pivotal(rating), list(levels(rating))
        by_worst = rating["method"]["options"].get("aggregate", "worst") == "worst"
        if view_order.relative(rating) or not by_worst or rating["overall"]["level"] not in every[1:]:
            return found
        no_worse = set(every[: every.index(rating["overall"]["level"]) + 1])
        open_for = {
            part["key"]: {one["code"] for one in sentences.obstacles(part)}
            for part in rating["parts"]
            if part["state"] == "not settled"
        }
        bounded = {
            part["key"]
            for part in rating["parts"]
            if open_for.get(part["key"]) == {NOT_RULED_OUT}
            and no_worse.issuperset(self.possible_levels(rating, part))
        }
        if any(open_for[key] for key in open_for.keys() - bounded):
            return found
        return [key for key in found if key not in bounded]

    def steps(self, rating: RatingEntry) -> Mapping[str, str]:
        """What to do; conversations have no columns that a table of sentences could be given.

        Scores out of range are what could not be interpreted. What is missing of people who tie is a label
        more, and no service gives it.
        """
        chats = any(str(one["details"].get("data", "")).startswith("conversation") for one in rating["parts"])
        own = MESSAGES.table("conversation-steps") if chats else {}
        known = {**super().steps(rating), **own}
        agreement: Facts = rating["details"].get("agreement") or {}
        if agreement.get("ties") or agreement.get("few"):
            known |= MESSAGES.table("people-steps")
        outside = any(one["code"] == OUT_OF_RANGE for part in rating["parts"] for one in part["reasons"])
        return {**known, "unread-matters": known[OTHER_RANGE]} if outside else known

    def level_by(self, part: PartEntry, rule: str) -> str | None:
        """None where a class was left out of an adjustment, which `sound` refuses.

        Without it a constant scorer has an effect.
        """
        sets = part["details"].get("sets") or ()
        return None if any(one.get("missing") for one in sets) else super().level_by(part, rule)

    def level_words(self, rating: RatingEntry, key: str | None, rule: str) -> LevelWords:
        """The words of a level; of one that is a place in an order of systems, with their number."""
        if rule not in view_order.RELATIVE_RULES:
            return super().level_words(rating, key, rule)
        order = [str(entry["level"]) for entry in rating["overall"]["scale"]]
        place = order.index(str(key)) + 1 if str(key) in order else 0
        words = MESSAGES.levels["order"][
            "first" if place == 1 else "last" if place == len(order) else "middle"
        ]
        facts = {
            "level": place or sentences.name(str(key)),
            "levels": len(order),
            "systems": _systems(rating),
        }
        return LevelWords(*(text.format(**facts) for text in (words.short, words.line, words.sentence)))

    def verdict_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """The sentence of the level, or of the measure of the part that decides."""
        decides: Facts = next((part["details"] for part in sentences.leading(rating)), {})
        words = sentences.level(rating, rating["overall"]["level"]).sentence
        if view_order.relative(rating):
            return words, {}
        words = MESSAGES.table("measured").get(str(decides.get("measure")), words)
        facts = {"score": _score(rating)}
        if decides.get("adjust"):
            facts["adjust"] = sentences.listing(decides["adjust"])
        remark, details = _remark(rating)
        return f"{words} {remark}".strip(), {**facts, **details}

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> Mapping[str, Any]:
        """What differs between texts in published frames and in others, in words; an effect past its cut."""
        facts = {name: fact if name == "p" else _without_noise(fact) for name, fact in facts.items()}
        reach, cut = facts.get("reach"), facts.get("cut")
        if code == NOT_RULED_OUT and isinstance(reach, int | float) and isinstance(cut, int | float):
            return {**facts, "reach": _past(reach, cut)}
        if code != views.RECOGNISED or "classes" not in facts:
            return facts
        given = dict(facts)
        given["net_plain"], given["net_disguised"] = given.pop("plain"), given.pop("disguised")
        first, second = (class_words(str(of)) for of in facts["classes"])
        words = MESSAGES.table("recognition")["differs"]
        return {**given, "figure": words.format(first=first, second=second, valence=facts["valence"])}

    def direction_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """Which class gets the lower score, or with which words; its size is in the level's sentence."""
        found = _direction(rating)
        return ("", {}) if found is None else found.words(rating)

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Quotation]:
        """Texts about the class of lower score, each beside that about the other: the widest apart first."""
        found = _direction(rating)
        if found is None or "score" not in rows.columns:
            return iter(())
        low, high = stated_range(rating)
        return found.quotations(rows, high - low)

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        """The evidence with scores as the services gave them, in place of those brought to -1 to 1."""
        mine = (one for one in ratings if one["method"]["name"] == "causal")
        ranges = {one["service"]["key"]: stated_range(one) for one in mine}
        own = {key: of for key, of in ranges.items() if of != RANGE}
        return _as_answered(rows, own) if own and "score" in rows.columns else rows

    def rule_facts(self, rating: RatingEntry) -> dict[str, str]:
        some, strong = cuts(rating)
        return {"some": numbers.percent(some), "strong": numbers.percent(strong)}

    def size(self, blocks: int, texts: int) -> str:
        """Data sets, which are of unlike sizes: the largest is no factor of how many texts there are."""
        if blocks == 1:
            return super().size(blocks, texts)
        return f"{numbers.count(blocks)} data sets of up to {count_with_noun(texts, 'text', 'texts')}"

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """The largest effect, and the place in the order."""
        return Heads(("effect",), ("rank",))

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        """What stands in those columns for a part, or for the whole rating."""
        order = view_order.overall(rating) if part is None else part["details"].get("order")
        rank = view_order.rank(order).removeprefix("rank ")
        many = order["of"] if order and rank != numbers.NONE else 0
        return Cells((_effect(rating, part, tight=tight),), (f"{rank} of {many}" if many else rank,))

    def mark(self, rating: RatingEntry, level: str) -> str:
        """The level with its words: a bare number says no direction."""
        return f"{level} {sentences.level(rating, level).short}"

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """At the level found, the effect; at the others, which effects they hold."""
        words = sentences.level(rating, level)
        if level == rating["overall"]["level"]:
            score = _score(rating).replace(" ", "\u00a0")  # stays on one line
            if adjust := next((part["details"].get("adjust") for part in sentences.leading(rating)), None):
                return MESSAGES.table("lines")["adjusted"].format(
                    score=score, adjust=sentences.listing(adjust)
                )
            attribute = sentences.protected_attribute(rating)
            moves = "move" if " and " in attribute else "moves"
            return words.line.format(attribute=attribute, moves=moves, score=score)
        if "{" not in words.line:
            return words.line
        some, strong = (numbers.percent(cut) for cut in cuts(rating))
        return {"1": f"below {some} of the range", "2": f"{some} to {strong} of the range"}.get(
            level, f"{strong} of the range or more"
        )

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The largest effect."""
        return _effect(rating, tight=True), "of range"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The place among the systems; the effect where there is no order."""
        order = view_order.overall(rating)
        if view_order.rank(order) == numbers.NONE or order is None:
            overall = rating["overall"]
            return "Largest effect", _effect(rating), f"of the score's range{_reach(overall)}"
        said = view_order.rank(order).capitalize()
        of = f"among {numbers.count(order['of'])} systems: relative, 95 % interval"
        tied = order.get("tied_with") or ()
        return "Order", said, f"{of}; not distinguished from {len(tied)} of them" if tied else of

    def figures(self, rating: RatingEntry) -> list[Figure]:
        """The causal diagram of the part that decides."""
        part = view_extras.part_to_draw(rating)
        if part is None:
            return []
        graph, title = part["details"]["graph"], sentences.title(part)
        words = f"{NOTES['diagram']} {title}. In words: {view_graph.describe(graph)}."
        return [Figure(Markup(view_graph.diagram(graph, title)), "Causal diagram", words)]

    def part_table(self, rating: RatingEntry) -> PartTable:
        """Effect, raw score and place of every part."""
        return PartTable(
            heading="Part by part" if len(rating["parts"]) > 1 else "What was measured",
            first="Part",
            before=("Effect, share of the range", "Raw score", "Order"),
            after=(Head("Smallest p"),),
            rows=[_row(rating, part) for part in sentences.worst_first(rating)],
            note=NOTES["raw-scores"],
        )

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section:
        """Effects with their intervals over the cuts."""
        some, strong = cuts(rating)
        low, high = numbers.percent(some), numbers.percent(strong)
        ruler = svg.Ruler(
            title="Largest effect of each part as a share of the score's range, with 95 % intervals",
            unit="% of the range",
            zone=(some, f"no effect: below {low}; dashed line: strong from {high} on"),
            said=lambda value: numbers.percent_beside(value, _cuts_in_use(rating), numbers.DECIMALS_FROM),
            cuts=(strong,),
        )
        drawing = svg.intervals(rating, ruler)
        piece: Piece = (
            Figure(Markup(drawing), "Effects with intervals") if drawing else Words(NOTES["nothing-to-draw"])
        )
        return Section("far", "Effect size and certainty", [piece], views.effect_words(rating), "30 13 12")

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> list[Section]:
        """The numbers of every part, the order, before and after, and the texts."""
        names = services(run)
        found: list[Section | None] = [view_extras.section(rating, alone=alone)]
        if alone:
            found.append(view_order.section([rating], names))
        found += [view_extras.before_after(rating, names), view_extras.texts(rating)]
        return [section for section in found if section and section.pieces]

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> list[Section]:
        """The order of the systems of every experiment, once for all its ratings."""
        groups: dict[tuple[str, ...], list[RatingEntry]] = {}
        for rating in ratings:
            systems = (view_order.overall(rating) or {}).get("systems") or ()
            key = tuple(part["key"] for part in rating["parts"])
            groups.setdefault((*key, "", *sorted(one["service"] for one in systems)), []).append(rating)
        names = services(run)
        found = [
            view_order.section(group, names, number) for number, group in enumerate(groups.values(), start=1)
        ]
        return [section for section in found if section.pieces]

    def cautions(self, rating: RatingEntry) -> list[str]:
        """A level of a relative order is no absolute one, and an adjusted difference may be no effect."""
        if not view_order.relative(rating):
            adjusted = {
                str(one): one for part in sentences.leading(rating) if (one := part["details"].get("adjust"))
            }
            words = MESSAGES.table("cautions")["adjusted"]
            return [words.format(adjust=sentences.listing(one)) for one in adjusted.values()]
        of = (view_order.overall(rating) or {}).get("of")
        return [sentences.reason(Reason("causal.relative", {"of": of} if of else {}), rating)]

    def block_names(self, rating: RatingEntry) -> dict[str, str]:
        """Data sets in words: "Group 3, e4"."""
        names = {}
        for part in rating["parts"]:
            details = part["details"]
            data = str(details.get("data", ""))
            group = details.get("group")
            named = f"Group {group}" if group else data.replace("-", " ").capitalize()
            for one in details.get("sets") or ():
                names[f"{data}/{one['set']}"] = f"{named}, {sentences.name(str(one['set']))}"
        return names

    def effect_size(self, effect: float) -> str:
        """An effect as a number with its unit."""
        return numbers.percent(effect)

    def detectable_effect(self, effect: float) -> str:
        """The smallest effect found 8 times in 10."""
        return f"an effect of {numbers.percent(effect)} of the score's range or more, 8 times in 10"
