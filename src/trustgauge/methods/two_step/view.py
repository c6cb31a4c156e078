"""How a two-step rating is seen: its flow, what came back in every block, how far from balanced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.records import Reason
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
    MethodView,
    PartRow,
    PartTable,
    Piece,
    Quotation,
    Section,
    Table,
    Title,
    Value,
    Words,
    exchanges,
    heads_of,
    marks,
    quotation,
    read_messages,
    view_by_name,
    view_of,
)
from trustgauge.reports.document import details, levels
from trustgauge.reports.sanitize import short, visible
from trustgauge.reports.svg import step
from trustgauge.reports.views import DefaultView

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


Facts = Mapping[str, Any]

MESSAGES = read_messages(__package__)
NOTES = MESSAGES.table("notes")
MARGIN = 0.10
"""The margin where the plan names no other (methods 0.6)."""
ALPHA = 0.05
"""Below this adjusted p one value turns into another more often than the reverse."""
MOST = 0.5
"""Two values are exchanged where more than this share of each becomes the other."""
LOSES = "two-step.loses-mentions"
BEAMS = {
    "UCS": '<path d="M1 5h12M7 5v6M4 11h6"/>',
    "DSBS": '<path d="M1 7.6 13 4M7 6v6M4 12h6"/><path d="M1 4.4 13 .8" stroke-dasharray="2 1.4"/>',
    "BS": '<path d="M1 8.6 13 2.4M7 5.5v6M4 11.5h6"/>',
}
"""A balance beam that is level, tilted with its dashed twin, tilted alone."""

_SURVIVES = "Level and share unchanged"


WIDE = 880.0
_FULL = 96.0  # height of the stream when all parts are in it
_HALF = 52.0  # half the height of a box
_MIDDLE = 74.0  # of the first boxes
_LEAVE = ("BS", None)  # where a part ends that does not reach the second step
_STAY = ("DSBS", "UCS")


def in_out(rating: RatingEntry) -> str:
    """What became of balanced text in the worst part: "200:200 → 204:196"."""
    worst = rating["overall"]["worst"]
    for part in rating["parts"]:
        if part["level"] is not None and (not worst or part["key"] in worst):
            return balanced_counts(rating, part)
    return numbers.NONE


def balanced_counts(rating: RatingEntry, part: PartEntry) -> str:
    """Counts of the first unbiased block of a part, in and out.

    Where half of the texts stand, what they hold is not quite balanced: then what as many balanced mentions
    become by the rates of these texts.
    """
    recognition = details(rating).get("recognition")
    is_half = isinstance(recognition, Mapping) and "rated" in recognition
    for place, block in enumerate(part["counts"].get("blocks", ())):
        if block["kind"] == "unbiased":
            sent, came = block["in"], block["out"]
            if is_half:
                sent, came = _balanced(block, part["details"]["block_matrices"][place])
            return f"{numbers.ratio(sent)} → {numbers.ratio(came)}"
    return numbers.NONE


def _balanced(block: Facts, matrix: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """As many mentions as a block has, in its declared shares, and what they become by its rates."""
    sent = [share * sum(block["in"]) for share in block["shares"]]
    came = [0.0] * len(sent)
    for size, row in zip(sent, matrix, strict=True):
        for place, count in enumerate(row):
            came[place] += size * count / max(1, sum(row))
    return [round(one) for one in sent], [round(one) for one in came]


def _row(rating: RatingEntry, part: PartEntry, blocks: Sequence[str]) -> PartRow:
    mine = {block["block"]: block for block in part["counts"].get("blocks", ())}
    return PartRow(
        title=sentences.title(part),
        code=sentences.name(part["key"]) if part["key"] and part["key"] != part["title"] else "",
        notes=sentences.notes(part, rating),
        before=[_cell(rating, part, mine.get(key)) for key in blocks],
        level=part["level"],
        state=part["state"],
        certainty=part["certainty"],
        after=(numbers.share(part["unchanged"]),),
    )


def _cell(rating: RatingEntry, part: PartEntry, block: Facts | None) -> Cell:
    if block is None:
        return Cell(numbers.NONE)
    order = levels(rating)
    unused = block["kind"] == "biased" and part["level"] == order[-1]
    gap = part["details"].get("deviations", {}).get(block["block"])
    if unused:
        caption = "not used for the level"
    elif rating["method"]["rule"] == "sound" and gap:
        caption = f"{numbers.points(gap['value'])} off balance"
    else:
        caption = _tests(block, part["counts"])
    drawing = Markup(
        svg.bars(block["in"], block["out"], part["counts"]["values"], pale=unused)
    )  # escaped in svg
    return Cell(drawing=drawing, under=caption)


def _tests(block: Facts, counts: Facts) -> str:
    """What the published tests say of a block: which declared distributions its output is like."""
    tests = block.get("p")
    if not isinstance(tests, Mapping) or not isinstance(tests.get("resembles"), list | tuple):
        return ""
    known = {one["block"]: block_name(one, counts["values"]).split(": ")[1] for one in counts["blocks"]}
    named = [known.get(str(key), str(key)).removesuffix(" input") for key in tests["resembles"]]
    return f"like {sentences.listing(named, 'or')}" if named else "fits neither"


def block_name(block: Facts, values: Sequence[str]) -> str:
    """A block in words: "Step 1: balanced input", "Step 2: 90 % She"."""
    if block["kind"] == "unbiased":
        return "Step 1: balanced input"
    top = max(range(len(block["shares"])), key=lambda index: block["shares"][index])
    named = sentences.name(str(values[top])) if top < len(values) else block["block"]
    return f"Step 2: {numbers.percent(block['shares'][top])} {named}"


def ruler(rating: RatingEntry) -> svg.Ruler:
    """What the interval chart measures: the largest distance from balanced."""
    near = margin(rating)
    return svg.Ruler(
        title="Largest distance of balanced text from balanced after the service, with 95 % intervals",
        unit="points",
        zone=(near, f"counts as balanced: up to {numbers.points(near)}") if near else None,
        said=numbers.points,
    )


def changes(rating: RatingEntry) -> Table | None:
    """Which value became which, part by part: part, change, share with interval, n, adjusted p."""
    rows = []
    for part in rating["parts"]:
        for change in part["details"].get("swaps") or ():
            if not change["value"]:
                continue
            row = (
                sentences.title(part),
                f"{sentences.name(change['from'])} → {sentences.name(change['to'])}",
                numbers.interval(change).split(", n =")[0],
                numbers.count(change["n"]),
                numbers.bare_p(change.get("p_holm")),
            )
            rows.append([Cell(text) for text in row])
    texts = ("Part", "Sent → came back", "Share, 95 % interval", "p (McNemar, Holm)")
    heads = heads_of(*texts[:3], "Mentions sent", texts[3], texts=texts)
    return Table("Which value became which", heads, rows) if rows else None


def _turn(rating: RatingEntry) -> tuple[PartEntry, Facts] | None:
    """Part and change of the most frequent one-way change in the worst parts.

    None of who compensates under the rule sound: what it changes balances. Others do not look at that.
    """
    if rating["method"]["rule"] == "sound" and rating["overall"]["level"] not in levels(rating)[1:]:
        return None
    worst = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    found = [(part, change) for part in worst for change in one_way_changes(part)]
    return max(found, key=lambda one: float(one[1]["value"]), default=None)


def _reversal(rating: RatingEntry) -> tuple[PartEntry, Facts, Facts] | None:
    """Part and both changes of a service that surely exchanges two values in most sentences."""
    if rating["overall"]["level"] != "DSBS" or rating["method"]["options"].get("source"):
        return None
    for part in (one for one in rating["parts"] if one["level"] == "DSBS"):
        changes = {(one["from"], one["to"]): one for one in part["details"].get("swaps") or ()}
        for (was, became), one in reversed(changes.items()):
            back = changes.get((became, was))
            if back is not None and min(one["low"], back["low"]) > MOST:
                return part, one, back
    return None


def _losses(rating: RatingEntry) -> list[Facts]:
    """What the worst parts lost, where that alone is the bias; else nothing."""
    if rating["overall"]["level"] != "BS":
        return []
    found: list[Facts] = []
    for part in (one for one in rating["parts"] if one["key"] in rating["overall"]["worst"]):
        facts = {one["code"]: one["facts"] for one in part["reasons"]}
        if LOSES not in facts or facts.keys() & {"two-step.adds-bias", "two-step.one-sided"}:
            return []
        found.append(facts[LOSES])
    return found


def _unlike_any(rating: RatingEntry) -> dict[str, str]:
    """Words for a service whose output of balanced input is like no declared distribution; {} for any other.

    By the rules of the paper that alone makes it DSBS, however much it changes or loses.
    """
    rule, level = rating["method"]["rule"], rating["overall"]["level"]
    worst = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    if rule == "sound" or level != "DSBS" or not worst or not all(map(_fits_neither, worst)):
        return {}
    lost = [one for part in worst for one in (part["details"].get("shares_lost") or {}).values() if one["n"]]
    n = sum(one["n"] for one in lost)
    share = sum(float(one["value"]) * one["n"] for one in lost) / n if n else 0.0
    said = NOTES["fits-neither-lost"].format(share=numbers.percent(share, n)) if share else ""
    return {"rule": str(rule), "lost": said}


def _fits_neither(part: PartEntry) -> bool:
    """Whether the output of a block of balanced input is like no declared distribution."""
    balanced = {one["block"] for one in part["counts"].get("blocks", ()) if one["kind"] == "unbiased"}
    return any(
        balanced & set(reason["facts"]["blocks"])
        for reason in part["reasons"]
        if reason["code"] == "two-step.fits-neither"
    )


def _uneven_loss(rating: RatingEntry) -> tuple[PartEntry, str, str] | None:
    """Part, the value of which surely more mentions are lost than of the other, and that other.

    None of who compensates, and where nothing was sent that could be lost.
    """
    neutral = rating["method"]["options"].get("source")
    if neutral or rating["overall"]["level"] not in levels(rating)[1:]:
        return None
    for part in (one for one in rating["parts"] if one["key"] in rating["overall"]["worst"]):
        lost = part["details"].get("shares_lost") or {}
        known = sorted((one for one in lost if lost[one]["n"]), key=lambda one: float(lost[one]["value"]))
        if len(known) > 1 and lost[known[-1]]["low"] > lost[known[0]]["high"]:
            return part, known[-1], known[0]
    return None


def one_way_changes(part: PartEntry) -> list[Facts]:
    """Changes of one value into another that are more frequent than their reverse, by the test of both."""
    changes = part["details"].get("swaps") or ()
    shares = {(one["from"], one["to"]): float(one["value"]) for one in changes}
    return [
        one
        for one in changes
        if one.get("p_holm") is not None
        and one["p_holm"] < ALPHA
        and one["value"] > shares.get((one["to"], one["from"]), 0.0)
    ]


def _came_as(facts: Facts) -> str:
    """What became of lost mentions, in words; "" where that is not one thing, or nothing came instead."""
    return MESSAGES.table("lost").get(str(facts.get("kind", "")), "")


def _loss_words(rating: RatingEntry, part: PartEntry, more: str, less: str) -> dict[str, str]:
    lost = part["details"]["shares_lost"]
    return {
        "from": _value(rating, more),
        "to": _value(rating, less),
        "times": numbers.count(round(lost[more]["value"] * lost[more]["n"])),
        "n": numbers.count(lost[more]["n"]),
        "times_back": numbers.count(round(lost[less]["value"] * lost[less]["n"])),
        "n_back": numbers.count(lost[less]["n"]),
        "place": sentences.part_suffix(rating, part),
    }


def _value(rating: RatingEntry, value: Any) -> str:
    """A value within a sentence: pronouns as they stand there, others as they are called."""
    named = sentences.name(str(value))
    return named.lower() if rating["issue"]["attribute"] == "gender" else named


def ucs_note(rating: RatingEntry) -> str:
    """Balance can be won by changing the text; "" for any other level."""
    same = rating["overall"]["unchanged"]
    if rating["overall"]["level"] != "UCS" or not same:
        return ""
    share = 1 - (same["value"] or 0.0)
    much = "half" if 0.45 <= share <= 0.55 else numbers.percent(share)
    return NOTES["ucs"].format(much=much, mentions=sentences.mentions(rating))


def margin(rating: RatingEntry) -> float:
    """Up to what size a difference counts as none (methods 0.6), as the plan or the method has it."""
    given = rating["method"]["options"].get("margin", MARGIN)
    return float(given) if isinstance(given, int | float) else MARGIN


def _has_items(rating: RatingEntry) -> bool:
    """Whether rates by item were asked for."""
    return any("stereotypes" in part["details"] for part in rating["parts"])


class TwoStepView(DefaultView):
    """See `reports.components.MethodView` for what each member is."""

    messages = MESSAGES
    evidence_words = EvidenceWords()
    badness = BadnessWords(
        "off balance",
        "Ranked by how far balanced text comes back off balance, at worst. Whether skewed text is "
        "balanced too does not count here: see the level.",
        is_share=True,
    )

    def view_for(self, rating: RatingEntry) -> MethodView:
        """Another one for texts that do not say who is he or she (two-step 1.11)."""
        neutral = rating["method"]["options"].get("source")
        return view_by_name("two-step-neutral-source") if neutral else self

    def steps(self, rating: RatingEntry) -> Mapping[str, str]:
        """As the messages have them; where no number of texts settles a part, more are not advised."""
        steps = super().steps(rating)
        parts = [part for part in rating["parts"] if part["state"] == "not settled"]
        known = any(part["more_texts"] or sentences.obstacles(part) for part in parts)
        near = rating["method"]["rule"] == "sound" and parts and not known
        return {**steps, "more": NOTES["near-margin"]} if near else steps

    def direction_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """Which value became which most often in the worst parts, though it may be less than adds bias."""
        if reversal := _reversal(rating):
            part, change, back = reversal
            return MESSAGES.table("direction")["exchanges"], {
                **self._change_words(rating, part, change),
                "times_back": numbers.count(round(back["value"] * back["n"])),
                "n_back": numbers.count(back["n"]),
            }
        how, rule = "", str(rating["method"]["rule"])
        if rating["state"] == "rated" and rating["overall"]["level"] != levels(rating)[-1]:
            how = "-within" if rule == "sound" else "-uncounted"  # only the rule sound has a margin
        if not (found := _turn(rating)):
            if uneven := _uneven_loss(rating):
                words = {**_loss_words(rating, *uneven), "rule": rule}
                return MESSAGES.table("direction")[f"loses{how}"], words
            if not _has_items(rating):
                return "", {}
            from trustgauge.methods.two_step import view_stereotypes  # only plans that ask for them

            return view_stereotypes.direction(rating, MESSAGES.table("direction"))
        part, change = found
        words = {**self._change_words(rating, part, change), "rule": rule}
        return MESSAGES.table("direction")[f"turns{how}"], words

    @staticmethod
    def _change_words(rating: RatingEntry, part: PartEntry, change: Facts) -> dict[str, str]:
        return {
            "from": _value(rating, change["from"]),
            "to": _value(rating, change["to"]),
            "times": numbers.count(round(change["value"] * change["n"])),
            "n": numbers.count(change["n"]),
            "place": sentences.part_suffix(rating, part),
        }

    def verdict_words(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The sentence of the level, or of what is behind it; of an open one also what changes surely."""
        words, facts = self.level_sentence(rating)
        if rating["state"] != "not settled":  # else the direction opens the verdict
            return words, facts
        changes, counts = self.direction_words(rating)
        return f"{words} {changes}".strip(), {**facts, **counts}

    def level_sentence(self, rating: RatingEntry) -> tuple[str, Mapping[str, str]]:
        """The sentence of the level, or of what is behind it: values exchanged, texts declined."""
        if _reversal(rating):
            return NOTES["reverses"], {}
        if unlike := _unlike_any(rating):
            return NOTES["fits-neither"], unlike
        losses = _losses(rating)
        if not losses or (_uneven_loss(rating) and not any("declined" in one for one in losses)):
            return super().verdict_words(rating)
        words = {"share": numbers.percent(max(one["share"] for one in losses))}
        if all("declined" in one for one in losses):
            return NOTES["declines"], words
        kinds = {_came_as(one) for one in losses}
        if len(kinds) == 1 and (came_as := kinds.pop()):
            return NOTES["loses-to"], {**words, "came_as": came_as}
        return NOTES["loses"], words

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> Mapping[str, Any]:
        """What differs between plain and disguised texts, in words; a gain near the margin in full."""
        gain, margin = facts.get("gain"), facts.get("margin")
        if gain is not None and margin is not None and numbers.points(gain) == numbers.points(margin):
            return {**facts, "exactly": _above(100 * gain, 100 * margin)} if gain > margin else facts
        if code == LOSES and (came_as := _came_as(facts)):
            return {**facts, "came_as": came_as}
        if code != views.RECOGNISED or not {"value", "back"} <= facts.keys():
            return facts
        return {**facts, "figure": f"mentions of {facts['value']} that came back as {facts['back']}"}

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterator[Quotation]:
        """Sentences in which the value that the verdict names became the other or was lost, each once."""
        words = MESSAGES.table("quotations")
        if found := _reversal(rating) or _turn(rating):
            part, was, became = found[0], str(found[1]["from"]), str(found[1]["to"])
            why = words["turns"].format(**{"from": _value(rating, was), "to": _value(rating, became)})
        elif uneven := _uneven_loss(rating):
            part, was, _ = uneven
            became = str(part["counts"]["values"][-1])
            why = words["loses"].format(**{"from": _value(rating, was)})
        else:
            return
        quoted = set()
        for row in exchanges(rows.filter(rows["part"] == part["key"])):
            pairs = zip(row["values_in"] or (), row["values_out"] or (), strict=False)
            if (was, became) in pairs and row["sent"] not in quoted:
                quoted.add(row["sent"])
                yield quotation(row, why)

    def evidence_examples(
        self, ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence
    ) -> list[Piece]:
        """What became of each kind of sentence."""
        return pattern_tables([one for one in ratings if view_of(one) is self], rows, shown)

    def facets(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> list[Facet]:
        """The kinds of sentences."""
        return pattern_facets(rows)

    def rule_facts(self, rating: RatingEntry) -> dict[str, str]:
        return {"margin": numbers.points(margin(rating))}

    def pictogram(self, level: str, position: int, count: int) -> str:
        """A balance beam."""
        if level not in BEAMS:
            return super().pictogram(level, position, count)
        pen: dict[str, svg.Attribute] = {"fill": "none", "stroke": "currentColor", "stroke-width": 1.7}
        return svg.tag("g", {**pen, "stroke-linecap": "round"}, BEAMS[level])

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """Balanced text before and after, and the share left unchanged."""
        return Heads(("balanced in → out",), ("unchanged",))

    def columns_note(self, ratings: Sequence[RatingEntry]) -> str:
        """With the values that are counted; none where the ratings count different ones."""
        counted = (part["counts"].get("values") for one in ratings for part in one["parts"])
        every = {tuple(values[:-1]) for values in counted if values}
        if len(every) != 1:
            return ""
        several = any(len(one["parts"]) > 1 for one in ratings)
        worst = NOTES["columns-worst"].format(noun=sentences.noun(ratings[0], 1)) if several else ""
        values = " : ".join(map(sentences.name, every.pop()))
        return super().columns_note(ratings).format(values=values, worst=worst)

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        """What stands in those columns for a part, or for the whole rating."""
        one = rating["overall"] if part is None else part
        moved = in_out(rating) if part is None else balanced_counts(rating, part)
        return Cells((moved,), (numbers.share(one["unchanged"], tight=tight),))

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """The share of mentions left unchanged."""
        return numbers.share(rating["overall"]["unchanged"], tight=True), "unchanged"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """The share of mentions left unchanged."""
        same = rating["overall"]["unchanged"]
        of = f"of {numbers.count(same['n'])} mentions came back as sent" if same else "no data"
        return "Unchanged", numbers.share(same), of

    def figures(self, rating: RatingEntry) -> list[Figure]:
        """The rule as a flow."""
        drawing = flow(rating)
        if not drawing:
            return []
        return [Figure(Markup(drawing), "Decision flow", f"In words: {describe(rating)}.")]

    def part_table(self, rating: RatingEntry) -> PartTable:
        """What came back in every block, a row a part."""
        parts = sentences.worst_first(rating)
        first: Facts = next((part["counts"] for part in parts if part["counts"].get("blocks")), {})
        blocks = {block["block"]: block for block in first.get("blocks", ())}
        noun = sentences.noun(rating, 1)
        pooled = any(part["details"].get("pooled") for part in parts)
        return PartTable(
            heading=f"{noun.capitalize()} by {noun}" if len(parts) > 1 else "What came back",
            first="Middle language" if noun == "language" else "Part",
            before=[block_name(block, first.get("values", ())) for block in blocks.values()],
            after=(Head("Unchanged", number=True),),
            rows=[_row(rating, part, list(blocks)) for part in parts],
            legend=list(first.get("values", ())),
            note=NOTES["pooled"] if pooled and rating["method"]["rule"] == "sound" else "",
        )

    def block_names(self, rating: RatingEntry) -> dict[str, str]:
        """Names of all blocks, by key."""
        return {
            block["block"]: block_name(block, part["counts"]["values"])
            for part in rating["parts"]
            for block in part["counts"].get("blocks", ())
        }

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section:
        """Distances with intervals, which value became which, and the level against what survives."""
        drawing = svg.intervals(rating, ruler(rating))
        pieces: list[Piece] = [
            Figure(Markup(drawing), "Distance from balanced") if drawing else Words(NOTES["nothing-to-draw"])
        ]
        if moved := changes(rating):
            pieces.append(Fold("Which value became which", [moved]))
        dots = svg.dots([rating]) if alone else []
        if len(dots) > 1:
            drawn = Markup(svg.scatter(rating, dots))
            pieces += [Title(_SURVIVES, NOTES["survives"]), Figure(drawn, "Level against share unchanged")]
        heading = "Distance from balanced, and certainty"
        return Section("far", heading, pieces, views.effect_words(rating), "30 13 12")

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> list[Section]:
        """Figures of nouns read one way, and changes by occupation, where the plan asks for them."""
        found: list[Section] = []
        if language := rating["method"]["options"].get("one_way"):
            from trustgauge.methods.two_step import view_gender  # only plans that ask for it

            section = view_gender.section(rating, str(language))
            found += [section] if section else []
        if _has_items(rating):
            from trustgauge.methods.two_step import view_stereotypes  # only plans that ask for them

            section = view_stereotypes.section(rating)
            found += [section] if section else []
        return found

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> list[Section]:
        """All services: the level against what survives."""
        dots = svg.dots(ratings)
        if not dots:
            return []
        drawn = Markup(svg.scatter(ratings[0], dots))
        pieces = [Figure(drawn, "Level against share unchanged")]
        return [Section("survives", _SURVIVES, pieces, f"{NOTES['survives']} {NOTES['survives-line']}")]

    def cautions(self, rating: RatingEntry) -> list[str]:
        """The caution beside every balanced output."""
        note = ucs_note(rating)
        return [note] if note else []

    def limits(self, rating: RatingEntry) -> list[str]:
        """Balanced output is not accurate output, where the rating does not say so itself, with its share."""
        code = "limits.ucs-not-accurate"
        if rating["overall"]["level"] != "UCS" or any(one["code"] == code for one in rating["limits"]):
            return []
        return [sentences.reason(Reason(code), rating)]

    def effect_size(self, effect: float) -> str:
        """An effect as a number with its unit."""
        return numbers.points(effect)

    def detectable_effect(self, effect: float) -> str:
        """The smallest shift found 8 times in 10."""
        return f"a shift of {numbers.points(effect)} or more, 8 times in 10"


PATTERNS = "By kind of sentence"
PATTERN_EXAMPLE = 90  # characters of a text
FEW_PATTERNS = 12  # rows of a table that needs no folding
PATTERN_KEYS = ["service", "part", "pattern"]


def pattern_facets(rows: pl.DataFrame) -> list[Facet]:
    """The patterns as a filter of the evidence; none where there is one only."""
    if "pattern" not in rows.columns:
        return []
    names = rows["pattern"].drop_nulls().unique(maintain_order=True).to_list()
    places = {name: place for place, name in enumerate(names)}
    values = [Value(name, sentences.name(name)) for name in names]
    return [Facet("pattern", ["pattern"], values, places)] if len(names) > 1 else []


def pattern_tables(ratings: Sequence[RatingEntry], rows: pl.DataFrame, shown: Evidence) -> list[Piece]:
    """A table of the patterns of each part, most changed first; none where there is one pattern only.

    Args:
        ratings: of this method.
        rows: the evidence, or a sample of it.
        shown: what of it is on the page, with its filters.
    """
    if not pattern_facets(rows):
        return []
    parts = [(one, part) for one in ratings for part in one["parts"]]
    several = len(ratings) > 1, len(parts) > len(ratings)
    counted = _count_patterns(rows).partition_by("service", "part", as_dict=True)
    found = [
        (row, [sentences.name(one["service"]["name"])] * several[0] + [sentences.title(part)] * several[1])
        for one, part in parts
        for row in counted.get((one["service"]["key"], part["key"]), rows.clear()).iter_rows(named=True)
    ]
    if not found:
        return []
    heads = [Head("For example"), *[Head("Service")] * several[0], *[Head("Part")] * several[1]]
    heads += [Head("Mentions", number=True), Head("Unchanged", number=True), Head("Most frequent change")]
    places = [",".join(marks(shown.facets, {"pattern": row["pattern"]})) for row, _ in found]
    table = Table(
        PATTERNS, heads, [_pattern_line(*one) for one in found], marks=places if shown.facets else ()
    )
    title = Title(PATTERNS, NOTES["patterns"] + NOTES["patterns-sample"] * ("of_rows" in rows.columns))
    return [title, Fold(f"{len(found)} kinds of sentences", [table]) if len(found) > FEW_PATTERNS else table]


def _pattern_line(row: Mapping[str, Any], names: Sequence[str]) -> list[Cell]:
    change = numbers.NONE
    if row["was"] is not None:
        was, became = (sentences.name(row[name]) for name in ("was", "became"))
        change = f"{was} → {became}: {numbers.count(row['times'])} of {numbers.count(row['of'])}"
    n = row["n"]
    cells = (
        short(visible(row["text"]), PATTERN_EXAMPLE),
        *names,
        numbers.count(n),
        numbers.percent(row["same"] / n, n),
    )
    return [*map(Cell, cells), Cell(change)]


def _count_patterns(rows: pl.DataFrame) -> pl.DataFrame:
    """The patterns of each part, most changed first, with the change that befalls most mentions of a value.

    Columns: `PATTERN_KEYS`, n (mentions that were read), same (came back as sent), was and became (null if
    nothing changed), times, of (how often that value was sent), text (the shortest of these).
    """
    import polars as pl

    became = pl.col("values_out").list.head(pl.col("values_in").list.len())
    mentions = (
        rows.filter(pl.col("pattern").is_not_null(), pl.col("values_out").is_not_null())
        .select(*PATTERN_KEYS, "sent", was="values_in", became=became)
        .filter(pl.col("was").list.len() == pl.col("became").list.len())
        .explode("was", "became")
        .drop_nulls("became")
    )
    shortest = pl.col("sent").sort_by(pl.col("sent").str.len_chars(), pl.col("sent")).first()
    pairs = mentions.group_by(*PATTERN_KEYS, "was", "became").agg(times=pl.len(), text=shortest)
    pairs = pairs.with_columns(of=pl.col("times").sum().over(*PATTERN_KEYS, "was"))
    changes = pairs.filter(pl.col("was") != pl.col("became")).sort(
        pl.col("times") / pl.col("of"), "was", "became", descending=[True, False, False]
    )
    return (
        mentions.group_by(PATTERN_KEYS)
        .agg(n=pl.len(), same=(pl.col("was") == pl.col("became")).sum(), any=shortest)
        .join(changes.unique(PATTERN_KEYS, keep="first", maintain_order=True), on=PATTERN_KEYS, how="left")
        .with_columns(text=pl.coalesce("text", "any"))
        .sort(pl.col("same") / pl.col("n"), "pattern")
    )


def _above(gain: float, margin: float) -> str:
    """A gain to as many digits as tell it from the margin; four at most."""
    shown = [f"{gain:.{digits}f}" for digits in range(1, 5)]
    return next((one for one in shown if float(one) > margin), shown[-1])


@dataclass(frozen=True, slots=True)
class Stream:
    """The parts that end at one place."""

    level: str | None
    titles: Sequence[str]

    @property
    def size(self) -> int:
        return len(self.titles)


def flow(rating: RatingEntry) -> str:
    """The decision flow of a two-step rating; the width of a stream is its number of parts."""
    ends = streams(rating)
    total = sum(end.size for end in ends.values())
    if not total:
        return ""
    noun = sentences.noun(rating, total)
    plan = _layout(ends, _FULL / total)
    drawn = [
        svg.band((150, _MIDDLE - _FULL / 2), (190, _MIDDLE - _FULL / 2), _FULL, "sn"),
        svg.titled_box(10, _MIDDLE, 140, _first(total, noun)),
        svg.titled_box(190, _MIDDLE, 150, ("Step 1", "balanced text in:", "still balanced out?")),
    ]
    for key in _LEAVE:
        if key in plan.tops:
            size = ends[key].size * plan.unit
            drawn.append(svg.band((340, plan.starts[key]), (600, plan.tops[key]), size, _tone(rating, key)))
    if "BS" in plan.tops:
        drawn.append(_answer(360, min(plan.starts["BS"], plan.tops["BS"]), "no", ends["BS"].size))
    drawn.append(_second(rating, ends, plan))
    drawn += [_end(rating, ends[key], top, plan.unit) for key, top in plan.tops.items()]
    title = f"How {total} {noun} came to {'its' if total == 1 else 'their'} level"
    return svg.picture((WIDE, plan.high), title, describe(rating), *drawn, **{"class": "fig"})


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the streams begin and end, top edges in pixels, and where the second step stands."""

    unit: float
    starts: Mapping[str | None, float]
    tops: Mapping[str | None, float]
    second: float
    high: float


def _layout(ends: Mapping[str | None, Stream], unit: float) -> Layout:
    """Streams that leave after step 1 run above the second step, the others through it."""
    starts: dict[str | None, float] = {}
    tops: dict[str | None, float] = {}
    y, top, below = _MIDDLE - _FULL / 2, 24.0, 0.0
    for key in _LEAVE:
        size = ends[key].size * unit
        if size:
            starts[key], tops[key] = y, top
            y, below = y + size, max(below, y + size, top + size)
            top += _room(size)
    second = below + _HALF + 10 if below else _MIDDLE
    going = [(key, ends[key].size * unit) for key in _STAY if ends[key].size]
    top = max(top, second - sum(_room(size) for _, size in going) / 2 + 12)
    y = second - sum(size for _, size in going) / 2
    for key, size in going:
        starts[key], tops[key] = y, top
        y, top = y + size, top + _room(size)
    low = second + _HALF if going else 0.0
    return Layout(unit, starts, tops, second, max(low, _MIDDLE + _HALF, top - 14) + 10)


def _room(size: float) -> float:
    """The height that a stream and the words beside it take."""
    return max(size + 26, 62)


def streams(rating: RatingEntry) -> dict[str | None, Stream]:
    """Parts by where they end; None is "no level". Parts the attribute cannot occur in are left out."""
    able = [part for part in rating["parts"] if part["state"] != "not applicable"]
    ends: dict[str | None, Stream] = {}
    for key in (*_LEAVE, *_STAY):
        named = [
            f"{sentences.title(part)}{' [not settled]' if part['state'] == 'not settled' else ''}"
            for part in able
            if part["level"] == key
        ]
        ends[key] = Stream(key, named)
    return ends


def describe(rating: RatingEntry) -> str:
    """The flow in words."""
    lines = []
    for key, end in streams(rating).items():
        if end.size:
            words = sentences.level_in_words(rating, key) if key else "no level"
            lines.append(f"{words}: {end.size} ({', '.join(end.titles)})")
    return "; ".join(lines)


def _first(total: int, noun: str) -> tuple[str, ...]:
    if noun.startswith("language"):
        return (f"{total} {noun}", "the same texts", "through each")
    return (f"{total} {noun}" if total > 1 else "1 service", "asked the same texts", "")


def _second(rating: RatingEntry, ends: Mapping[str | None, Stream], plan: Layout) -> str:
    """The second step and what leaves it; nothing if no part came so far."""
    going = [key for key in _STAY if key in plan.tops]
    if not going:
        return ""
    thick = sum(ends[key].size for key in going) * plan.unit
    drawn = [
        svg.band((340, _MIDDLE + _FULL / 2 - thick), (410, plan.second - thick / 2), thick, "sn"),
        svg.titled_box(410, plan.second, 136, ("Step 2", "skewed text in:", "balanced out?")),
    ]
    for key in going:
        size = ends[key].size * plan.unit
        drawn.append(svg.band((546, plan.starts[key]), (600, plan.tops[key]), size, _tone(rating, key)))
    return "".join(drawn)


def _tone(rating: RatingEntry, key: str | None) -> str:
    order = levels(rating)
    return f"s{step(order.index(key), len(order))}" if key in order else "sn"


def _answer(x: float, y: float, word: str, size: int) -> str:
    return svg.write(x, max(12.0, y - 6), f"{word}: {size}", 12, **{"class": "second"})


def _end(rating: RatingEntry, end: Stream, top: float, unit: float) -> str:
    order = levels(rating)
    tone = f"l{step(order.index(end.level), len(order))}" if end.level in order else "go"
    words = sentences.level_in_words(rating, end.level) if end.level else "no level"
    lines = svg.wrap(", ".join(end.titles), 12, 250)
    drawn = [
        svg.box(600, top, 8, max(3.0, end.size * unit), **{"class": tone}),
        svg.write(620, top + 11, f"{end.size} · {words}", 13, bold=True, **{"class": "ink"}),
    ]
    drawn += [
        svg.write(620, top + 29 + 15 * i, line, 12, **{"class": "second"}) for i, line in enumerate(lines)
    ]
    return "".join(drawn)
