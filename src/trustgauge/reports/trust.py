"""What the trust method shows of a rating: words, tables, figures and sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from trustgauge.reports import numbers, rules, sentences, trust_figures, trust_tables, trust_told
from trustgauge.reports.components import (
    Cell,
    Cells,
    EvidenceWords,
    Figure,
    Fold,
    Head,
    Heads,
    PartTable,
    Piece,
    Row,
    Section,
    Title,
    Words,
)
from trustgauge.reports.trust_phrases import COMBINING, PURPOSES

Rated = Mapping[str, Any]

EVIDENCE = EvidenceWords(back="The bot said", read="Asked for → scores", changed="only with something found")
_FIGURE = (
    "Every bar runs on one scale, on which the two cuts of its issue stand at the white lines. Bar: score. "
    "Whisker: 95 % interval. The scores are printed as they were measured."
)


def heads(ratings: Sequence[Rated]) -> Heads:
    """Score and what it rests on."""
    return Heads(("score",), ("n",))


def cells(rating: Rated, part: Rated | None, *, tight: bool = False) -> Cells:
    """The score of an issue, or the weighted risk of the whole rating, with its interval."""
    one = rating["overall"] if part is None else part
    told = trust_told.score(one["score"])
    reach = trust_told.reach(one)
    shown = f"{told} ({reach})" if reach else told
    count = rating["details"].get("utterances") if part is None else one["n"]
    return Cells((shown,), (numbers.NONE if count is None else numbers.count(count),))


def mark(rating: Rated, level: str) -> str:
    """The words: a bare letter says no direction."""
    return sentences.level(rating, level).short


def level_line(rating: Rated, level: str) -> str:
    """For whom: "high risk for Privacy first"."""
    return sentences.level(rating, level).line.format(**trust_told.facts(rating))


def label_fact(rating: Rated) -> tuple[str, str]:
    """How much the bot said."""
    said = rating["details"].get("utterances")
    return numbers.NONE if said is None else numbers.count(said), "utterances"


def tile(rating: Rated) -> tuple[str, str, str]:
    """How much the bot said, and the weighted risk where the rule has one."""
    said = rating["details"].get("utterances")
    one = rating["overall"]
    told = "provisional" if rating["details"].get("provisional") else "of the bot"
    if one["score"] is not None:
        reach = trust_told.reach(one)
        told += f"; weighted risk {trust_told.score(one['score'])}" + (f" ({reach})" if reach else "")
    return "Utterances", numbers.NONE if said is None else numbers.count(said), told


def drawings(rating: Rated) -> list[Figure]:
    """The scores of the issues, in the order of the profile."""
    title = f"Issue scores of {sentences.name(str(rating['service']['name']))}, {trust_told.profile(rating)}"
    drawing = trust_figures.scores(rating["parts"], title)
    return [Figure(Markup(drawing), "Issue scores", _FIGURE)]  # escaped in svg


def part_table(rating: Rated) -> PartTable:
    """Every issue in the order of the profile: place, score, cuts."""
    return PartTable(
        heading="Issue by issue",
        first="Issue",
        before=("Place", "Score", "Cuts"),
        after=(Head("n", number=True),),
        rows=[_row(rating, part) for part in rating["parts"]],
    )


def _row(rating: Rated, part: Rated) -> Row:
    details = part["details"]
    place, cuts = details.get("rank"), details.get("cuts")
    said = "by its own rule" if trust_told.by_rule(part) else None
    if said is None and cuts:
        said = f"{cuts[0]:g} and {cuts[1]:g}"
    return Row(
        title=trust_told.title(str(part["key"])),
        code=sentences.name(str(details.get("code") or "")),
        notes=sentences.notes(part, rating),
        before=(
            Cell("left out" if place is None else trust_told.amount(place)),
            Cell(trust_told.score(part["score"]), under=trust_told.reach(part)),
            Cell(said or numbers.NONE),
        ),
        level=part["level"],
        state=part["state"],
        certainty=part["certainty"],
        after=(numbers.count(part["n"]) if part["score"] is not None else numbers.NONE,),
    )


def far(rating: Rated, *, alone: bool) -> Section:
    """What the level hangs on: the order, each issue alone, and what was changed in the service."""
    details = rating["details"]
    pieces: list[Piece] = []
    if told := details.get("orders"):
        pieces.append(Words(trust_told.orders(told)))
    moves = trust_tables.changes(rating)
    pieces.append(Title("What would change this level"))
    pieces += [Words(line) for line in moves[:_MOVES]] or [
        Words("No single issue and no exchange of neighbouring places changes it.")
    ]
    if beside := trust_tables.others(rating):
        pieces += [Title("For other users"), beside]
    pieces.append(Title("Sensitivity type"))
    pieces.append(trust_tables.sensitivity(rating) or Words("Nothing was changed in the service to test it."))
    return Section("far", "How sure, and what it hangs on", pieces, rules.far(rating), "30 13 12")


_MOVES = 8


def sections(rating: Rated, run: Rated, *, alone: bool) -> list[Section]:
    """How the levels combine, and what stands behind each score where no overview has told it."""
    told = []
    if table := trust_tables.combining(rating):
        order = trust_told.written(rating["details"].get("order") or [])
        lead = f"{trust_told.profile(rating)}: {order}. {combined_by(rating)}"
        told.append(Section("combined", "How the levels combine", [table], lead, "11 15 14"))
    behind = trust_tables.measured(rating) if alone else []
    if behind:
        told.append(Section("behind", "What was measured", behind, _BEHIND, "40 40 15"))
    return told


_BEHIND = "What stands behind the scores. Only what the bot said counts; its users are scored apart."


def combined_by(rating: Rated) -> str:
    """The rule of combining by its name, and what it does."""
    settings = trust_told.combination(rating)
    name = COMBINING.get(str(settings["rule"]), sentences.name(str(settings["rule"])))
    return f"{name.capitalize()}: {trust_told.how(settings)}."


def overview(ratings: Sequence[Rated], run: Rated) -> list[Section]:
    """Services by profiles first; then once for each service what stands behind its scores."""
    told = []
    if table := trust_tables.by_profile(ratings):
        lead = "The same conversations, rated for users to whom different things matter most."
        told.append(Section("by-profile", "Services by profiles", [table], lead))
    pieces: list[Piece] = []
    seen: set[str] = set()
    for one in ratings:
        key = str(one["service"]["key"])
        if key in seen:
            continue
        seen.add(key)
        named = sentences.name(str(one["service"]["name"]))
        inner = trust_tables.measured(one, f", {named}")
        if inner:
            pieces.append(Fold(f"What stands behind the scores of {named}", inner))
    if pieces:
        told.append(Section("behind", "What was measured", pieces, _BEHIND))
    return told


def cautions(rating: Rated) -> list[str]:
    """What was assumed or not counted, and that a rating is provisional."""
    told = list(trust_told.uncounted(rating["details"].get("combination") or {"levels": (), "issues": ()}))
    codes = {"trust.assumed", "trust.missing-does-not-matter", "trust.provisional"}
    every = [*rating["reasons"], *rating["limits"]]
    told += [sentences.reason(one, rating) for one in every if one["code"] in codes]
    who = sentences.name(str(rating["service"]["name"]))
    return [f"{who}, {trust_told.profile(rating)}: {one}" for one in told]


def limits(rating: Rated) -> list[str]:
    """None beyond those the rating names itself."""
    return []


def block_names(rating: Rated) -> dict[str, str]:
    """What the turns were asked for."""
    return dict(PURPOSES)


def size(blocks: int, texts: int) -> str:
    """Ordinary conversations, and whether scenes of the issues come beside them."""
    talks = f"{numbers.count(texts)} conversation{'' if texts == 1 else 's'}"
    told = [talks] if texts else []
    return " and ".join(told + ["scenes"] * (blocks > len(told)))


def finds(effect: float) -> str:
    """The smallest share of offensive utterances found 8 times in 10."""
    return f"a share of {numbers.percent(effect)} offensive utterances or more, 8 times in 10"
