"""What the trust method shows of a rating: words, tables, figures and sections."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from trustgauge.methods.trust import view_figures, view_label, view_sentences, view_tables
from trustgauge.methods.trust.abuse_words import HATE, NEITHER
from trustgauge.methods.trust.abuse_words import OFFENSIVE as OFFENCE
from trustgauge.methods.trust.messages import (
    COMBINING,
    COMPARED,
    DIRECTION,
    MESSAGES,
    NOTES,
    PURPOSES,
    QUOTATIONS,
)
from trustgauge.reports import numbers, sentences, svg, views
from trustgauge.reports.components import (
    QUOTED,
    BadnessWords,
    Cell,
    Cells,
    EvidenceWords,
    Figure,
    Fold,
    Head,
    Heads,
    PartRow,
    PartTable,
    Piece,
    Quotation,
    Section,
    Title,
    Words,
    exchanges,
    quotation,
)
from trustgauge.reports.sanitize import count_with_noun
from trustgauge.reports.views import AUDITED, DefaultView

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunEntry


Facts = Mapping[str, Any]

_MOVES = 8
BETTER = "trust.better-checker"
COUNTED = {
    "utterance": ("answer", "answers"),
    "dialog": ("conversation", "conversations"),
    "session": ("conversation", "conversations"),
    "secret": ("secret", "secrets"),
}
"""What an issue counts, by the grain of its marks."""
COLUMNS = frozenset({"purpose", "user", "session", "turn"})
OFFENSIVE = ("abuse_score", "abuse_user")
"""Scores of what the bot and the user said; above 0 something may offend."""


def _row(rating: RatingEntry, part: PartEntry) -> PartRow:
    details = part["details"]
    place, cuts = details.get("rank"), details.get("cuts")
    said = "by its own rule" if view_sentences.by_rule(part) else None
    if said is None and cuts:
        said = f"{cuts[0]:g} and {cuts[1]:g}"
    return PartRow(
        title=view_sentences.title(str(part["key"])),
        code=sentences.name(str(details.get("code") or "")),
        notes=sentences.notes(part, rating),
        before=(
            Cell("left out" if place is None else view_sentences.amount(place)),
            Cell(view_sentences.score(part["score"]), under=view_sentences.reach(part)),
            Cell(said or numbers.NONE),
        ),
        level=part["level"],
        state=part["state"],
        certainty=sentences.shares(part),
        after=(_measured_on(part),),
    )


def _measured_on(part: PartEntry) -> str:
    """How many of what an issue was scored on: "30 secrets", "1,240 answers"."""
    if part["score"] is None:
        return numbers.NONE
    words = COUNTED.get(str(part["details"].get("grain")))
    if str(part["key"]) == "leakage":
        words = COUNTED["secret"]
    return count_with_noun(part["n"], *words) if words else numbers.count(part["n"])


def combination_rule(rating: RatingEntry) -> str:
    """The rule of combining by its name, and what it does."""
    settings = view_sentences.combination(rating)
    name = COMBINING.get(str(settings["rule"]), sentences.name(str(settings["rule"])))
    return f"{name.capitalize()}: {view_sentences.how(settings)}."


class TrustView(DefaultView):
    """See `reports.components.MethodView` for what each member is."""

    messages = MESSAGES
    evidence_words = EvidenceWords(
        back="The bot said", read="Asked for → scores", changed="only with something found"
    )
    badness = BadnessWords(
        "weighted risk",
        "Ranked by the weighted mean of the risks of the issues, the most important weighing most.",
        is_share=True,
    )
    noun = "issue"
    lettered = False
    ordered = True
    verdict_codes = frozenset({"trust.combined", "trust.depends-on", "trust.nothing-measured"})

    def verdict_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        return super().verdict_words(rating)[0], view_sentences.facts(rating)

    def direction_words(self, rating: RatingEntry) -> tuple[str, dict[str, str]]:
        """What was counted of the worst settled issue, the first in the order of the profile."""
        return view_sentences.direction(rating)

    def part_notes(self, part: PartEntry) -> list[str]:
        return view_sentences.part_notes(part)

    def quotations(self, rating: RatingEntry, rows: pl.DataFrame) -> Iterable[Quotation]:
        """Secrets told to somebody else, personal data or offensive answers, whichever the verdict counts."""
        shown = {DIRECTION[key]: leaks for key in ("leakage", "leakage-all", "leakage-partly")}
        shown |= {DIRECTION[key]: offences for key in ("abuse", "abuse-audited")}
        shown[DIRECTION[view_sentences.PERSONAL]] = personal_answers
        words, _ = self.direction_words(rating)
        return shown[words](rows) if words in shown else ()

    def pivotal(self, rating: RatingEntry) -> Collection[str]:
        """The issues that may change the level; those that the profile leaves out cannot."""
        # loads NumPy, and most ratings are settled
        from trustgauge.methods.trust.view_pivotal import pivotal

        possible = {str(part["key"]): self.possible_levels(rating, part) for part in rating["parts"]}
        return pivotal(rating, possible)

    def steps(self, rating: RatingEntry) -> Mapping[str, str]:
        """What to do; where another checker reads such answers better, that too."""
        known = {**super().steps(rating)}
        words = known.pop(BETTER)
        every = (one for part in rating["parts"] for one in part["reasons"])
        better = next((one["facts"]["checker"] for one in every if one["code"] == BETTER), None)
        if better is not None:
            known["instrument-not-measured"] = words.replace("{checker}", sentences.name(str(better)))
        return known

    def follows(self, rating: RatingEntry) -> str:
        return view_sentences.follows(rating)

    def fact_words(self, code: str, facts: Facts, rating: RatingEntry | None) -> dict[str, Any]:
        if code == views.RECOGNISED and facts.get("measure") in COMPARED:
            return {**facts, "figure": COMPARED[str(facts["measure"])]}
        return view_sentences.fact_words(code, facts, rating)

    def rule_facts(self, rating: RatingEntry) -> dict[str, str]:
        return {"combining": view_sentences.how(view_sentences.combination(rating))}

    def audience(self, rating: RatingEntry) -> str:
        return view_sentences.profile(rating)

    def pictogram(self, level: str, position: int, count: int) -> str:
        return svg.risk_dots(position) if count == 3 else super().pictogram(level, position, count)

    def label_title(self, rating: RatingEntry) -> str:
        return "chatbot trust"

    def label_body(self, rating: RatingEntry, band: str, *, dead: bool) -> list[str]:
        return view_label.body(rating, band, dead=dead)

    def label_foot(self, rating: RatingEntry, certainty: str) -> Sequence[str]:
        return view_label.foot(rating, certainty)

    def label_band(self, rating: RatingEntry) -> str:
        return view_label.band(rating)

    def open_outcome(self, rating: RatingEntry) -> str:
        return view_sentences.range_phrase(rating).lower()

    def outcome_audience(self, rating: RatingEntry) -> str:
        return view_label.profile_words(rating)

    def prepare_evidence(self, ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
        return prepare_evidence(ratings, rows)

    def heads(self, ratings: Sequence[RatingEntry]) -> Heads:
        """Score and what it rests on."""
        return Heads(("score",), ("n",))

    def columns_note(self, ratings: Sequence[RatingEntry]) -> str:
        """Rules that count levels have no score."""
        scored = any(one["overall"]["score"] is not None for one in ratings)
        return super().columns_note(ratings) if scored else ""

    def cells(self, rating: RatingEntry, part: PartEntry | None, *, tight: bool = False) -> Cells:
        """The score of an issue, or the weighted risk of the whole rating, with its interval."""
        one = rating["overall"] if part is None else part
        score = view_sentences.score(one["score"])
        reach = view_sentences.reach(one)
        shown = f"{score} ({reach})" if reach else score
        count = rating["details"].get("utterances") if part is None else one["n"]
        return Cells((shown,), (numbers.NONE if count is None else numbers.count(count),))

    def level_line(self, rating: RatingEntry, level: str) -> str:
        """For whom: "high risk for Privacy first"."""
        return sentences.level(rating, level).line.format(**view_sentences.facts(rating))

    def label_fact(self, rating: RatingEntry) -> tuple[str, str]:
        """How much the bot said."""
        said = rating["details"].get("utterances")
        return numbers.NONE if said is None else numbers.count(said), "utterances"

    def summary_tile(self, rating: RatingEntry) -> tuple[str, str, str]:
        """How much the bot said, and the weighted risk where the rule has one."""
        said = rating["details"].get("utterances")
        one = rating["overall"]
        text = "provisional" if rating["details"].get("provisional") else "of the bot"
        if one["score"] is not None:
            reach = view_sentences.reach(one)
            text += f"; weighted risk {view_sentences.score(one['score'])}" + (f" ({reach})" if reach else "")
        return "Utterances", numbers.NONE if said is None else numbers.count(said), text

    def figures(self, rating: RatingEntry) -> list[Figure]:
        """The scores of the issues, in the order of the profile."""
        who = sentences.name(str(rating["service"]["name"]))
        title = f"Issue scores of {who}, {view_sentences.profile(rating)}"
        drawing = view_figures.scores(rating["parts"], title)
        return [Figure(Markup(drawing), "Issue scores", NOTES["risks"])]  # escaped in svg

    def part_table(self, rating: RatingEntry) -> PartTable:
        """Every issue in the order of the profile: place, score, cuts."""
        return PartTable(
            heading="Issue by issue",
            first="Issue",
            before=("Place", "Score", "Cuts"),
            after=(Head("Measured on", number=True),),
            rows=[_row(rating, part) for part in rating["parts"]],
        )

    def effect_section(self, rating: RatingEntry, *, alone: bool) -> Section:
        """What the level depends on: the order, each issue alone, and what was changed in the service."""
        details = rating["details"]
        pieces: list[Piece] = []
        if facts := details.get("orders"):
            said = view_sentences.orders(facts)
            if any(part["state"] == "not settled" for part in rating["parts"]):
                said = f"{NOTES['orders-open']} {said[0].lower()}{said[1:]}"
            pieces.append(Words(said))
        moves = view_tables.changes(rating)
        pieces.append(Title("What would change this level"))
        pieces += [Words(line) for line in moves[:_MOVES]] or [Words(NOTES["no-change"])]
        if beside := view_tables.others(rating):
            pieces += [Title("For other users"), beside]
        pieces.append(Title("Sensitivity type"))
        pieces.append(view_tables.sensitivity(rating) or Words(NOTES["not-varied"]))
        return Section("far", "Certainty and sensitivity", pieces, views.effect_words(rating), "30 13 12")

    def sections(self, rating: RatingEntry, run: RunEntry, *, alone: bool) -> list[Section]:
        """How the levels combine, and what stands behind each score where no overview has shown it."""
        found = []
        if table := view_tables.combining(rating):
            order = view_sentences.order_words(rating["details"].get("order") or [])
            lead = f"{view_sentences.profile(rating)}: {order}. {combination_rule(rating)}"
            found.append(Section("combined", "How the levels combine", [table], lead, "11 15 14"))
        behind = view_tables.measurement_tables(rating) if alone else []
        if behind:
            found.append(Section("behind", "What was measured", behind, NOTES["behind"], "40 40 15"))
        return found

    def overview(self, ratings: Sequence[RatingEntry], run: RunEntry) -> list[Section]:
        """Once for each service what stands behind its scores."""
        sections = []
        pieces: list[Piece] = []
        seen: set[str] = set()
        for one in ratings:
            key = str(one["service"]["key"])
            if key in seen:
                continue
            seen.add(key)
            named = sentences.name(str(one["service"]["name"]))
            inner = view_tables.measurement_tables(one, f", {named}")
            if inner:
                pieces.append(Fold(f"What the scores of {named} are based on", inner))
        if pieces:
            sections.append(Section("behind", "What was measured", pieces, NOTES["behind"]))
        return sections

    def cautions(self, rating: RatingEntry) -> list[str]:
        """What was assumed or not counted, and that a rating is provisional."""
        combination = rating["details"].get("combination")
        counted = (
            combination if rating["overall"]["level"] is not None else None
        )  # no rating leaves an issue out
        lines = list(view_sentences.uncounted_issues(counted)) if counted else []
        codes = {"trust.assumed", "trust.missing-does-not-matter", "trust.provisional"}
        every = [*rating["reasons"], *rating["limits"]]
        return lines + [sentences.reason(one, rating) for one in every if one["code"] in codes]

    def block_names(self, rating: RatingEntry) -> dict[str, str]:
        """What the turns were asked for."""
        return dict(PURPOSES)

    def size(self, blocks: int, texts: int) -> str:
        """Ordinary conversations, and whether scenes of the issues come beside them."""
        talks = f"{numbers.count(texts)} conversation{'' if texts == 1 else 's'}"
        lines = [talks] if texts else []
        return " and ".join(lines + ["scenes"] * (blocks > len(lines)))

    def effect_size(self, effect: float) -> str:
        """An effect as a number with its unit."""
        return numbers.percent(effect)

    def detectable_effect(self, effect: float) -> str:
        """The smallest share of offensive utterances found 8 times in 10."""
        return f"a share of {numbers.percent(effect)} offensive utterances or more, 8 times in 10"


def leaks(rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers that tell somebody else the secret of their scene, or half of it where none does.

    As the method found them; one a secret.
    """
    if "leakage_told" not in rows.columns:
        return
    asked = rows.filter(rows["step"] == "ask")
    found = asked.filter(asked["leakage_told"])
    if found.is_empty() and "leakage_half" in rows.columns:
        found = asked.filter(asked["leakage_half"])
    told = rows.filter(rows["step"] == "tell").select("leakage_about", "sent").iter_rows()
    secrets = {about: _SECRET.findall((sent or "").lower()) for about, sent in told}
    for row in exchanges(found.unique("leakage_about", keep="first", maintain_order=True)):
        place = _first_place(row["back"] or "", secrets.get(dict(row)["leakage_about"], ()))
        yield quotation({**row, "span_start": place}, QUOTATIONS["leakage"])


_SECRET = re.compile(r"\d{2,3}|[a-z]+\d\w*|[a-z]+(?=-\w)")
"""What a secret looks like in the sentence that tells it: groups of digits, and words before a hyphen."""


def _first_place(text: str, words: Iterable[str]) -> int:
    """Where the first of some words in small letters stands in a text; 0 if none does."""
    return min((place for one in words if (place := text.lower().find(one)) > 0), default=0)


_MASKED = re.compile(r"\S?•[•@ ().+/-]*")


def personal_answers(rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers with personal data of unknown source, masked; what an earlier one had is not shown again."""
    if "leakage_personal" not in rows.columns:
        return
    # loads the detector, which most reports do not need
    from trustgauge.methods.trust.pii import mask_personal_data, personal_data

    shown: set[str] = set()
    found = rows.filter(rows["leakage_personal"].fill_null("") != "")
    for row in exchanges(found.unique("back", keep="first", maintain_order=True)):
        values = {one.value for one in personal_data(row["back"] or "")}
        if values and values <= shown:
            continue
        shown |= values
        why = QUOTATIONS["leakage-personal"].format(kinds=dict(row)["leakage_personal"])
        masked = mask_personal_data(row["back"] or "")
        runs = sorted(_MASKED.finditer(masked), key=lambda one: one[0].count("•"))
        place = runs[-1].start() if runs else 0
        yield quotation({**row, "back": masked, "span_start": place}, why)


def offences(rows: pl.DataFrame) -> Iterator[Quotation]:
    """Answers labelled as abuse, then those that the checker took for it, the worst first, each once."""
    if "abuse_score" not in rows.columns:
        return
    if AUDITED in rows.columns:
        label, read = rows[AUDITED].fill_null(""), rows["abuse_score"]
        worth = label.replace_strict({HATE: 2.0, OFFENCE: 1.5, NEITHER: 0.0}, default=None)
        rows = rows.with_columns(abuse_score=worth.cast(read.dtype).fill_null(read))
    # Of answers that are as bad those first that can be read whole: nothing tells which sentence it is for.
    found = rows.filter(rows["abuse_score"] > 0)
    is_long = (found["back"].str.len_chars() > QUOTED).alias("is_long")
    found = found.with_columns(is_long).sort(
        "abuse_score", "is_long", descending=[True, False], maintain_order=True
    )
    for row in exchanges(found.unique("back", keep="first", maintain_order=True)):
        why = QUOTATIONS["abuse-audited" if row.get(AUDITED) else "abuse"]
        quoted = quotation({**row, "offensive": True}, why)
        yield replace(quoted, sent=replace(quoted.sent, offensive=bool(row.get("abuse_user"))))


def _offends(rows: pl.DataFrame, polars: Any) -> pl.Expr:
    """Rows in which somebody said something offensive.

    Turns that no checker read, such as questions for secrets, are hidden too where their bot was
    offensive elsewhere.
    """
    found = polars.lit(value=False)
    for column in {"offensive", *OFFENSIVE} & set(rows.columns):
        known = polars.col(column)
        found = found | (known if column == "offensive" else known > 0).fill_null(value=False)
    if AUDITED in rows.columns:
        found = found | polars.col(AUDITED).is_in([HATE, OFFENCE]).fill_null(value=False)
    if "abuse_score" in rows.columns:
        unread = polars.col("abuse_score").is_null() & polars.col("back").is_not_null()
        rude = (polars.col("abuse_score") > 0).fill_null(value=False).any().over("service")
        found = found | (unread & rude)
    offends: pl.Expr = found
    return offends


def prepare_evidence(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> pl.DataFrame:
    """Evidence with words in the place of keys; other evidence as it is.

    Args:
        ratings: of the document.
        rows: the evidence; a column `offensive` that it has already is kept.

    Returns:
        `values_in` (what for, which conversation and turn), `offensive`, and no words
        marked as changed: an answer is no copy of a question.
    """
    if rows.is_empty() or not set(rows.columns) >= COLUMNS:
        return rows
    import polars as pl

    trust = pl.col("purpose").is_not_null()
    offends = _offends(rows, pl)
    purpose = pl.col("purpose").replace_strict(PURPOSES, default=pl.col("purpose"))
    place = pl.format("turn {} of {}", pl.col("turn") + 1, pl.col("session"))
    shown = {
        "values_in": pl.concat_list(pl.format("{},", purpose), place),
        "values_out": pl.col("values_out").list.eval(
            pl.when(pl.int_range(pl.len()) < pl.len() - 1)
            .then(pl.format("{},", pl.element()))
            .otherwise(pl.element())
        ),
        "kinds": pl.lit([], dtype=pl.List(pl.String)),
    }
    spans = {"span_start", "span_end"} - set(rows.columns)
    return rows.with_columns(
        *(pl.when(trust).then(new).otherwise(pl.col(name)).alias(name) for name, new in shown.items()),
        *(pl.lit(-1).alias(name) for name in sorted(spans)),
        offensive=offends,
    )
