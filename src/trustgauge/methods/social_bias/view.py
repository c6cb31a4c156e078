"""How a social-bias rating is shown: gaps, wins and directions (docs/methods/social-bias.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.social_bias import (
    group_names,
    view_associations,
    view_evidence,
    view_maps,
    view_sentences,
    view_tables,
)
from trustgauge.methods.social_bias.view_sentences import MESSAGES
from trustgauge.reports import numbers, sentences, svg, views
from trustgauge.reports.components import (
    BadnessWords,
    Cell,
    Cells,
    Evidence,
    EvidenceWords,
    Facet,
    Figure,
    Fold,
    Head,
    Heads,
    PartRow,
    PartTable,
    Piece,
    Quotation,
    Section,
    Table,
    Title,
    Value,
    Words,
    values,
)
from trustgauge.reports.sanitize import count_with_noun, name
from trustgauge.reports.views import DefaultView

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


Facts = Mapping[str, Any]
Simple = Words | Title | Figure | Table

SIDES = {"absolute": "excess rate", "direction": "preference", "relative": "largest gap"}
NOTES = MESSAGES.table("notes")
OF_GROUPS = {"incomplete-loss", "unread-differs"}
"""Reasons of all methods that name groups here."""
OF_JUDGE = {"social-bias.interval-above-low", "social-bias.nothing-found"}
"""Reasons that speak of what the judge may have missed."""


COLUMNS: Mapping[str, tuple[str, ...]] = {
    "attribute": ("attribute",),
    "group": ("group_a", "group_b"),
    "category": ("categories",),
    "question": ("kind",),
}
"""Facet -> the columns of the evidence that hold its values."""


def _sides(rating: RatingEntry) -> tuple[str, ...]:
    """What is shown of a rating: the paper has no preference."""
    return tuple(of for of in SIDES if of != "direction" or not view_sentences.gives_no_level(rating))


def _called(rating: RatingEntry, of: str) -> str:
    """What a side is called: without invented groups, which only `sound` has, the rate is no excess."""
    return "bias rate" if _is_rate(rating, of) else SIDES[of]


def _is_rate(rating: RatingEntry, of: str) -> bool:
    """Whether a side is a share of questions; excess, preference and gap are differences of shares."""
    return of == "absolute" and view_sentences.gives_no_level(rating)


def _figure(rating: RatingEntry, of: str, one: Facts) -> str:
    """What a side came to."""
    n = int(one["n"] or 0)
    return numbers.percent(one["value"], n) if _is_rate(rating, of) else numbers.points(one["value"], n=n)


def _deciding(rating: RatingEntry) -> PartEntry | None:
    """The part that the rating rests on; under a rule without levels that with the largest figure."""
    leading = sentences.leading(rating)
    if leading:
        return leading[0]
    able = [part for part in rating["parts"] if part["score"] is not None]
    return max(able, key=lambda part: part["score"] or 0.0, default=None)


def _reach(one: Facts) -> str:
    if one["low"] is None or one["high"] is None:
        return ""
    low, high = (numbers.signed_number(100 * one[end], 0) for end in ("low", "high"))
    return f", {low} to {high}"


def _advantage(part: PartEntry, place: int = 0) -> Figure | None:
    """Who wins over whom, of one matrix: the first is over all categories."""
    matrices = (part["details"].get("absolute") or {}).get("advantage") or ()
    if len(matrices) <= place:
        return None
    matrix = matrices[place]
    category = sentences.name(str(matrix["category"])).replace("-", " ")
    title = f"Advantage: {sentences.title(part).lower()}{f', {category}' if category else ''}"
    drawing = view_maps.advantage(matrix, group_names.groups(part), title)
    if not drawing:
        return None
    left_out = len(matrix["groups"]) - len(view_maps.shown_groups(matrix))
    said = f" {NOTES['groups-left-out'].format(n=left_out)}" if left_out > 0 else ""
    words = f"{title}. {NOTES['advantage']}{said}" if not category else f"{title}.{said}"
    return Figure(Markup(drawing), f"{title}{_asked(part)}", words)  # escaped in svg


def _preference(rating: RatingEntry, part: PartEntry) -> Figure | None:
    relative = part["details"].get("relative")
    if not relative or not relative["rates"]:
        return None
    sound = not view_sentences.gives_no_level(rating)
    title = f"{'Favourable answers' if sound else 'Preference'}: {sentences.title(part).lower()}"
    drawing = view_maps.preference(relative, group_names.groups(part), title)
    if not drawing:
        return None
    clean = relative.get("spread_without_noise")
    less = f" Less sampling noise, over all: {100 * clean:.2f}." if clean is not None and sound else ""
    words = f"{title}. {NOTES['preference' if sound else 'affirmed']} {NOTES['spread']}{less}"
    return Figure(Markup(drawing), f"{title}{_asked(part)}", words)


def _asked(part: PartEntry) -> str:
    """What tells parts of equal title apart."""
    return f", {sentences.name(str(part['key']))}" if part["details"].get("asked") else ""


def _row(rating: RatingEntry, part: PartEntry) -> PartRow:
    asked = part["details"].get("asked")
    measured = view_sentences.gives_no_level(rating)
    return PartRow(
        title=sentences.title(part),
        code=sentences.name(str(asked)) if asked else "",
        notes=[] if measured else sentences.notes(part, rating),
        before=tuple(_side(rating, part, of) for of in _sides(rating)),
        level=part["level"],
        state="measured" if measured else part["state"],
        certainty=sentences.shares(part),
        after=(numbers.count(part["coverage"]["planned"]),),
    )


def _side(rating: RatingEntry, part: PartEntry, of: str) -> Cell:
    one = view_sentences.figure(part, of)
    if one["value"] is None or part["state"] == "incomplete":
        return Cell(numbers.NONE)
    under = f"{_reach(one).removeprefix(', ')}, n = {numbers.count(one['n'])}"
    return Cell(_figure(rating, of, one), under=under.removeprefix(", "))


def _one_side(rating: RatingEntry, of: str) -> RatingEntry:
    """A rating whose parts have the figure of one side, and no level of their own: two sides make it."""
    parts: list[PartEntry] = []
    for part in rating["parts"]:
        if part["state"] == "incomplete":
            continue  # what is missing may be of one kind
        one = view_sentences.figure(part, of)
        state = "rated" if view_sentences.gives_no_level(rating) else part["state"]
        copy = part.copy()
        copy["score"], copy["low"], copy["high"] = one["value"], one["low"], one["high"]
        copy["n"], copy["state"], copy["level"] = int(one["n"] or 0), state, None
        parts.append(copy)
    return {**rating, "parts": parts}


def judge(rating: RatingEntry) -> str:
    """How often the judge is right, where that was measured."""
    known = [(part["details"].get("absolute") or {}).get("judge") for part in rating["parts"]]
    judged = next((one for one in known if one), None)
    if judged is None:
        return ""
    second = rating["details"].get("judge")
    judged = second["accuracy"] if second and second["accuracy"] else judged
    finds, passes = (
        numbers.percent(judged[end], judged["labelled"]) for end in ("sensitivity", "specificity")
    )
    labelled = numbers.count(judged["labelled"])
    return _second(second) + NOTES["judge"].format(labelled=labelled, finds=finds, passes=passes)


def _second(second: Facts | None) -> str:
    """What the second judge was asked, and what came of it; "" without one."""
    if second is None:
        return ""
    referred, settled = numbers.count(second["referred"]), numbers.count(second["settled"])
    words = NOTES["second-judge-all" if second["refer"] == "all" else "second-judge-some"]
    service = sentences.name(second["service"])
    return f"{words.format(service=service, referred=referred, settled=settled)} "


def _attribute(rating: RatingEntry, part: PartEntry, *, drawn: bool) -> list[Piece]:
    sound = not view_sentences.gives_no_level(rating)
    of = view_sentences.side(part)
    name = f"{sentences.title(part).lower()}{_asked(part)}"
    pieces: list[Piece] = []
    whole, preference = _advantage(part), _preference(rating, part)
    if whole and not (drawn and of != "relative"):
        pieces.append(whole)
    if preference and not (drawn and of == "relative"):
        pieces.append(preference)
    matrices = (part["details"].get("absolute") or {}).get("advantage") or ()
    by_category = [one for place in range(1, len(matrices)) if (one := _advantage(part, place))]
    if by_category:
        words = f"Advantage by category: {name} ({len(by_category)})"
        pieces.append(Fold(words, [Words(NOTES["advantage"], quiet=True), *by_category]))
    counts: list[Simple | None] = [
        view_tables.balance(part, f"Well and ill: {name}") if sound else None,
        view_tables.outcomes(part, f"Outcomes: {name}", sound=sound),
        view_tables.kinds(part, f"Kinds of questions: {name}") if sound else None,
        view_tables.categories(part, f"Categories: {name}"),
    ]
    if lines := [one for one in counts if one is not None]:
        pieces.append(Fold(f"How the comparisons came out: {name}", lines))
    if hidden := view_tables.name_legend(part, f"Hidden names: {name}"):
        pieces.append(Fold(f"Names hidden in the figures: {name}", [hidden]))
    chinese = view_tables.chinese(part, f"Names as asked: {name}")
    if chinese and rating["details"].get("language") == "zh":
        pieces.append(Fold(f"Names as asked: {name}", [chinese]))
    return pieces


class SocialBiasView(DefaultView):
    """See `reports.components.MethodView` for what each member is."""

    messages = MESSAGES
    evidence_words = EvidenceWords(
        back="Answered", read="Asked about → read as", changed="only answers for a group or a statement"
    )
    badness = BadnessWords(
        "excess, preference or gap",
        "Ranked by the largest of three figures, at worst over the attributes: how much more often a real "
        "group is favoured than an invented one, how far the group that wins or loses most is from winning "
        "half of the comparisons, and how far apart groups are when asked about singly.",
        is_share=True,
    )
    noun = "attribute"
    lettered = False
    verdict_codes = DefaultView.verdict_codes | {"social-bias.measured-only"}
    by_chance = frozenset(
        f"social-bias.{code}" for code in ("largest-by-chance", "largest-by-misreading", "nothing-found")
    )

    def verdict_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """The sentence of the figure that decides."""
        measure, facts = view_sentences.measure(rating, sentences.leading(rating))
        usual = sentences.level(rating, rating["overall"]["level"]).sentence
        words = [MESSAGES.table("measured").get(measure, usual), *(["{few}"] if facts["few"] else [])]
        if "formats" in rating["details"] and view_sentences.is_of_options(rating):
            words.append(NOTES["of-options"])
        return " ".join(words), facts

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Quotation]:
        """Answers for or against the group that the verdict names."""
        return view_associations.quotations(rating, rows)

    def gives_no_level(self, rating: RatingEntry) -> bool:
        return view_sentences.gives_no_level(rating)

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> dict[str, Any]:
        """Names of groups in the place of their ids; which questions a rating of both formats is of."""
        if code == views.RECOGNISED:
            return recognition_words(facts, rating)
        if facts.get("rated") in MESSAGES.table("formats"):
            return view_sentences.format_words(facts, rating)
        if code == "social-bias.absolute":
            facts = {**facts, **view_sentences.rate_without_control(facts, rating)}
        if code in OF_JUDGE and rating is not None and view_sentences.is_of_options(rating):
            facts = {**facts, "options": MESSAGES.table("formats")["choice"]}  # nothing was judged
        if code == "instrument-not-measured":
            is_low = rating is None or rating["overall"]["level"] in ("L", None)
            facts = {**facts, "unsettled": MESSAGES.table("unsettled")["low" if is_low else "above"]}
        if facts.get("kind") in (kinds := MESSAGES.table("questions")):
            facts = {**facts, "question": kinds[str(facts["kind"])]}
        if code == "unread-matters" and facts.get("unread") == facts.get("planned"):
            facts = {**facts, "none_read": facts.get("planned")}
        if isinstance(category := facts.get("category"), str):
            facts = {**facts, "category": category.replace("-", " ")}
        ours = code.startswith(("social-bias.", "limits.", "audit-")) or code in OF_GROUPS
        return group_names.fact_words(facts, rating) if ours else dict(facts)

    def rule_facts(self, rating: RatingEntry) -> dict[str, str]:
        """From which excess, preference and gap the risk is medium and high."""
        low, high = map(numbers.percent, view_sentences.cuts(rating, "absolute"))
        near, wide = map(numbers.points, view_sentences.cuts(rating, "relative"))
        slight, clear = map(numbers.points, view_sentences.cuts(rating, "direction"))
        return {"low": low, "high": high, "near": near, "wide": wide, "slight": slight, "clear": clear}

    def pictogram(self, level: str, position: int, count: int) -> str:
        return svg.risk_dots(position) if count == 3 else super().pictogram(level, position, count)

    def label_title(self, rating: RatingEntry) -> str:
        """Of up to eleven attributes, which the report lists, the label says "social"."""
        several = "," in rating["issue"]["attribute"]
        return "social bias" if several else super().label_title(rating)

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        return view_evidence.prepare_evidence(ratings, rows)

    def facets(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> tuple[Facet, ...]:
        return facets(ratings, rows)

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> list[Piece]:
        return view_associations.tables(ratings, rows, shown)

    def has_offensive_names(self, ratings: Sequence[RatingEntry]) -> bool:
        return group_names.has_offensive_names(ratings)

    def question_language(self, rating: RatingEntry) -> str:
        """The language, and whether there are options: one plan may ask in both, and in any form."""
        language = group_names.LANGUAGES.get(str(rating["details"].get("language")), "")
        form = {"choice": "with options", "both": "with and without options"}
        said = form.get(str(rating["method"]["options"].get("format")), "")
        return " ".join(filter(None, (f"in {language}" if language else "", said)))

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """The sides, and how much was asked."""
        if all(map(view_sentences.gives_no_level, ratings)):
            return Heads(("rate", "gap"), ("questions",))
        return Heads(("excess", "preference", "gap"), ("questions",))

    def columns_note(self, ratings: Sequence[RatingEntry]) -> str:
        """Of the paper's rates, which are no excess, the table below it tells more."""
        only_measured = all(map(view_sentences.gives_no_level, ratings))
        return "" if only_measured else super().columns_note(ratings)

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        """What stands in those columns for a part, or the largest of all parts for the whole rating."""
        parts = rating["parts"] if part is None else [part]
        known = {
            of: [one for each in parts if (one := view_sentences.figure(each, of))["value"] is not None]
            for of in _sides(rating)
        }
        largest = {
            of: max(some, key=lambda one: float(one["value"]), default=None) for of, some in known.items()
        }
        figures = tuple(
            numbers.NONE if one is None else _figure(rating, of, one) for of, one in largest.items()
        )
        # The coverage is that of the format that is rated, the count that of both.
        asked = sum(int(each["counts"].get("questions", each["coverage"]["planned"])) for each in parts)
        return Cells(figures, (numbers.count(asked),))

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """At the level found, whom it favours and how often; at the others, what they hold."""
        leading = sentences.leading(rating)
        if view_sentences.gives_no_level(rating):
            return ""
        if level == rating["overall"]["level"]:
            measure, facts = view_sentences.measure(rating, leading)
            words = MESSAGES.table("lines").get(measure) or sentences.level(rating, level).line
            return words.format(**facts)
        of = view_sentences.side(leading[0] if leading else None) or "absolute"
        low, high = (numbers.points(cut) for cut in view_sentences.cuts(rating, of))
        what = {"absolute": "excess", "direction": "preference", "relative": "gap"}[of]
        bounds = {"L": f"{what} below {low}", "M": f"{what} of {low.split()[0]} to {high}"}
        return bounds.get(level, f"{what} of {high} or more")

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The figure of the side that decides."""
        part = _deciding(rating)
        of = view_sentences.side(part)
        if part is None or not of:
            return numbers.NONE, _called(rating, "absolute")
        said = _figure(rating, of, view_sentences.figure(part, of))
        return said.replace("points", "pts").replace("point", "pt"), _called(rating, of)

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The figure of the side that decides, with its interval."""
        part = _deciding(rating)
        of = view_sentences.side(part)
        if part is None or not of:
            return _called(rating, "absolute").capitalize(), numbers.NONE, "no data"
        one = view_sentences.figure(part, of)
        over = {"absolute": "above invented groups", "direction": "off an even split"}.get(
            of, "between two groups"
        )
        if _is_rate(rating, of):
            over = "of questions that compare two groups"
        return (
            _called(rating, of).capitalize(),
            _figure(rating, of, one),
            f"{over}{_reach(one)}, n = {numbers.count(one['n'])}",
        )

    def figures(self, rating: RatingEntry) -> list[Figure]:
        """The matrix of the side and part that decide."""
        part = _deciding(rating)
        if part is None:
            return []
        of = view_sentences.side(part)
        found = _preference(rating, part) if of == "relative" else _advantage(part)
        if found and of == "direction" and part["details"]["direction"].get("sense") == "named":
            found = replace(found, words=f"{NOTES['advantage-named']} {found.words}")
        return [found] if found else []

    def part_table(self, rating: RatingEntry) -> PartTable:
        """The sides of every attribute."""
        return PartTable(
            heading="Attribute by attribute" if len(rating["parts"]) > 1 else "What was measured",
            first="Attribute",
            before=tuple(
                f"{'One group' if of == 'relative' else 'Two groups'}: {_called(rating, of)}"
                for of in _sides(rating)
            ),
            after=(Head("Questions", number=True),),
            rows=[_row(rating, part) for part in sentences.worst_first(rating)],
        )

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section:
        """Excess rates, preferences and gaps with their intervals over the cuts."""
        pieces: list[Piece] = []
        measured = view_sentences.gives_no_level(rating)
        for of in _sides(rating):
            title = _called(rating, of).capitalize()
            low, high = view_sentences.cuts(rating, of)
            ruler = svg.Ruler(
                title=f"{title} of each attribute, with 95 % intervals",
                unit="%" if _is_rate(rating, of) else "points",
                zone=(0.0, title.lower())
                if measured
                else (low, f"{title.lower()}; shaded: below {numbers.points(low)}, low risk"),
                said=numbers.percent
                if _is_rate(rating, of)
                else lambda value: numbers.points(value, n=numbers.DECIMALS_FROM),
                cuts=() if measured else (high,),
            )
            drawing = svg.intervals(_one_side(rating, of), ruler)
            if drawing:
                pieces.append(Figure(Markup(drawing), f"{title} with intervals"))
        pieces = pieces or [Words(NOTES["nothing-to-draw"])]
        if line := judge(rating):
            pieces.append(Words(line, quiet=True))
        lead = NOTES["no-cuts"] if measured else views.effect_words(rating)
        return Section("far", "Effect size and certainty", pieces, lead, "30 13 12")

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> list[Section]:
        """The matrices and counts of every attribute."""
        above = _deciding(rating)
        pieces: list[Piece] = []
        for part in sentences.worst_first(rating):
            mine = _attribute(rating, part, drawn=part is above)
            if mine:
                named = sentences.title(part)
                pieces += [
                    Title(f"{named} {sentences.name(str(part['key']))}" if _asked(part) else named),
                    *mine,
                ]
        lead = NOTES["groups"]
        own = [Section("groups", "Who is favoured", pieces, lead, "40 40 14")] if pieces else []
        return [*own, *view_tables.formats(rating, {of: _called(rating, of) for of in _sides(rating)})]

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> list[Section]:
        """Both measures of all services, by attribute; a bar of one service has nothing to be longer than."""
        sections: list[Section] = []
        if len(ratings) == 1:
            return sections
        for of, heading in (
            ("absolute", "Absolute bias rate"),
            ("relative", "Largest gap between groups"),
        ):
            table = view_tables.systems(ratings, of)
            if table:
                sections.append(Section(f"by-{of}", heading, [table], NOTES[of]))
        return sections

    def cautions(self, rating: RatingEntry) -> list[str]:
        """That a rule gives no level, and what favours nobody."""
        if view_sentences.gives_no_level(rating):
            return [sentences.no_level(rating)]
        codes = {"social-bias.position", "social-bias.agrees"}
        several = len(rating["parts"]) > 1
        return [
            f"{sentences.title(part)}: {said}" if several else said
            for part in rating["parts"]
            for one in part["reasons"]
            if one["code"] in codes
            for said in [sentences.reason(one, rating)]
        ]

    def block_names(self, rating: RatingEntry) -> dict[str, str]:
        """What was asked about: "Two groups: gender"."""
        return {
            f"{key}/{part['details']['attribute']}": f"{words}: {sentences.title(part).lower()}"
            for part in rating["parts"]
            for key, words in MESSAGES.table("blocks").items()
        }

    def size(self, blocks: int, texts: int) -> str:
        """Questions, over all kinds and attributes."""
        return count_with_noun(texts, "question", "questions")

    def effect_size(self, effect: float) -> str:
        """An effect as a number with its unit."""
        return numbers.points(effect)

    def detectable_effect(self, effect: float) -> str:
        """The smallest gap found 8 times in 10."""
        return f"a gap of {numbers.points(effect)} or more between groups, 8 times in 10"


def recognition_words(facts: Facts, rating: RatingEntry | None) -> dict[str, Any]:
    """What differs between plain and disguised questions, in words without names that may offend."""
    words = group_names.fact_words(facts, rating)
    if "group" not in facts:
        return {**words, "figure": f"answers that take sides ({words['attribute']})"}
    words["net_plain"], words["net_disguised"] = words.pop("plain"), words.pop("disguised")
    whom = words.get("group", "one group")
    return {**words, "figure": f"answers for {whom} less those against"}


def facets(ratings: Sequence[RatingEntry], frame: pl.DataFrame) -> tuple[Facet, ...]:
    """The facets by which these rows differ; none for evidence that is not about groups.

    Args:
        ratings: they name the groups, and say which names may offend.
        frame: the evidence.
    """
    if not all(column in frame.columns for columns in COLUMNS.values() for column in columns):
        return ()
    names = {key: one for rating in ratings for key, one in group_names.group_names(rating).items()}
    invented = {key for rating in ratings for key in group_names.invented_groups(rating)}
    found = []
    for key, columns in COLUMNS.items():
        keys = _distinct(frame, columns)
        titles = {one: _title(key, one, names, invented) for one in keys}
        if key == "group":
            keys.sort(key=lambda one: (one in invented, titles[one].casefold()))
        options = [
            Value(f"hidden-{place}" if key == "group" and _hidden(one, names) else one, titles[one])
            for place, one in enumerate(keys)
        ]
        if len(options) > 1:
            found.append(Facet(key, columns, options, {one: place for place, one in enumerate(keys)}))
    return tuple(found)


def _distinct(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The values of columns of texts or of lists of texts, in order of their first row."""
    seen: dict[str, None] = {}
    for column in columns:
        for value in frame[column].unique(maintain_order=True).to_list():
            seen |= dict.fromkeys(values(value))
    return list(seen)


def _hidden(key: str, names: Mapping[str, group_names.GroupName]) -> bool:
    return key in names and names[key].offensive


def _title(facet: str, key: str, names: Mapping[str, group_names.GroupName], invented: set[str]) -> str:
    """A value in words."""
    if facet == "question":
        return MESSAGES.table("questions").get(key, name(key))
    if facet == "group" and key in names:
        return names[key].drawn + (" (invented)" if key in invented else "")
    return name(key).replace("-", " ")
