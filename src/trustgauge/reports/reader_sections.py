"""Sections of the report on the reader of the answers: audited or not, its errors, and what was misread.

And on what differs where a service recognises the test (methods 0.12). Imported for ratings that say such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from trustgauge.reports import numbers, sentences, views
from trustgauge.reports.components import (
    COMMON,
    Cell,
    EvidenceExchange,
    Head,
    Piece,
    Section,
    Table,
    Title,
    Words,
    exchanges,
    heads_of,
    quotation,
    view_of,
)
from trustgauge.reports.document import details

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import InstrumentEntry, RatingEntry, RecognitionEntry

MOST_MISREAD = 20
"""Misread answers that are shown."""


def reading_section(rating: RatingEntry) -> Iterator[Section]:
    """How the answers were read: styles, unread ones, and what an audit says of the reader."""
    instrument = views.instrument(rating)
    if instrument is None or rating["state"] == "not applicable":
        return
    pieces: list[Piece] = []
    for issue, facts in (("", instrument), *(details(rating).get("instruments") or {}).items()):
        pieces += [Title(sentences.name(issue).capitalize())] if issue else []
        pieces.append(Words(" ".join(_sentences(facts))))
        if "sensitivity" in facts:
            pieces.append(_errors(facts, sentences.name(rating["service"]["name"])))
    yield Section("instrument", "How the answers were read", pieces, rank="60 45 30")


def _sentences(instrument: InstrumentEntry) -> Iterator[str]:
    if instrument.get("judge"):
        whom = f"the chat service “{sentences.name(instrument['judge'])}”"
    else:
        people = instrument.get("labellers", 0)
        whom = "one person" if people == 1 else f"{numbers.count(people)} people"
    if instrument["audited"]:
        yield views.NOTES["audited"].format(whom=whom, n=numbers.count(instrument["n"]))
    else:
        yield views.NOTES["not-audited"]
        if instrument.get("n"):
            yield views.NOTES["audit-begun"].format(whom=whom.capitalize(), n=numbers.count(instrument["n"]))
    if instrument.get("twice"):
        kappa = instrument["kappa"]
        agreed = "" if kappa is None else views.NOTES["kappa"].format(kappa=f"{kappa:.2f}")
        unresolved = instrument["unresolved"]
        left = views.NOTES["third"].format(n=numbers.count(unresolved)) if unresolved else ""
        yield views.NOTES["read-by-two"].format(
            n=numbers.count(instrument["twice"]), agreed=agreed, left=left
        )
    if instrument["unread"]:
        yield views.NOTES["abstained"].format(share=numbers.percent(instrument["unread_share"]))
    styles = instrument.get("styles", {})
    total = sum(styles.values())
    if total:
        shares = sorted(styles.items(), key=lambda one: (-one[1], one[0]))
        named = [f"{sentences.name(style)} {numbers.percent(n / total, total)}" for style, n in shares]
        yield views.NOTES["styles"].format(styles=", ".join(named))


def _errors(instrument: InstrumentEntry, service: str) -> Table:
    rows, facts = [], cast("Mapping[str, Any]", instrument)
    for name, of in (("sensitivity", "positives"), ("specificity", "negatives")):
        value, (low, high), n = facts[name], facts[f"{name}_interval"], facts[of]
        shown = numbers.NONE if value is None else numbers.percent(value, n)
        reach = "" if low is None else f"{numbers.percent(low)} to {numbers.percent(high)}"
        words = (COMMON.table("reader")[name], shown, reach, numbers.count(n))
        rows.append([Cell(one) for one in words])
    names = ("Of the program, on these answers", "Share", "95 % interval", "Labelled answers")
    heads = [Head(one) for one in names]
    return Table(f"Errors of the reader on {service}", heads, rows)


def audit_examples(rows: pl.DataFrame) -> list[Piece]:
    """Audited answers that the program read otherwise than the people who labelled them."""
    if views.AUDITED not in rows.columns or "misread" not in rows.columns:
        return []
    labelled = rows.filter(rows[views.AUDITED].fill_null("") != "")
    if labelled.is_empty():
        return []
    wrong = labelled.filter(labelled["misread"].fill_null(value=False))
    count, n = numbers.count(wrong.height), numbers.count(labelled.height)
    lead = views.NOTES["misread"].format(count=count, n=n)
    if wrong.is_empty():
        return [Title("Audited answers", lead)]
    lines = [_row(row) for row in exchanges(wrong.head(MOST_MISREAD))]
    heads = [Head("Asked"), Head("Answered"), Head("The program read"), Head("A person read")]
    note = views.NOTES["first-shown"].format(n=MOST_MISREAD) if wrong.height > MOST_MISREAD else ""
    return [Title("Audited answers", lead), Table("Answers that were misread", heads, lines, note)]


def _row(row: EvidenceExchange) -> Sequence[Cell]:
    quoted = quotation(row, "")
    read = row.get("reading") or ", ".join(str(one) for one in row["values_out"] or () if one)
    return [quoted.sent, quoted.back, Cell(read), Cell(row.get("audited") or "")]


DISGUISE = "disguise"
"""Column of evidence: whether a probe was disguised."""
DIFFERS = 0.01  # p below which plain and disguised probes differ significantly
EXCHANGES = 4
"""Plain exchanges, and disguised ones, that are shown of a service."""


def recognition_section(rating: RatingEntry) -> Iterator[Section]:
    """Plain and disguised probes side by side."""
    known = views.recognition(rating)
    if known is None:
        return
    if known["plain"] is None or known["disguised"] is None:
        yield _recognised([Words(views.NOTES["recognition-unread"])])
        return
    about = view_of(rating).fact_words(views.RECOGNISED, known, rating)
    ends = [numbers.signed_number(100 * end, 0) for end in (known["low"], known["high"]) if end is not None]
    row = [
        Cell(str(about.get("figure", "what differs most"))),
        *map(Cell, views.halves(known)),
        Cell(numbers.points(known["difference"]), under=" to ".join(ends)),
        Cell(numbers.p_value(known["p"])),
    ]
    first = "What differs most"
    heads = heads_of(first, "Plain", "In disguise", "Difference", "p", texts=(first,))
    if known["sure"]:
        said = views.NOTES["recognition-sure"]
    else:
        said = views.NOTES["recognition-small"] if known["p"] < DIFFERS else views.NOTES["recognition-unsure"]
    yield _recognised([Words(said), Table("Plain and disguised probes", heads, [row])])


def _recognised(pieces: list[Piece]) -> Section:
    return Section("recognition", "When the test is recognisable", pieces, rank="60 46 31")


def recognition_examples(ratings: Sequence[RatingEntry], rows: pl.DataFrame) -> list[Piece]:
    """Exchanges of both kinds, of services that answer them differently for sure."""
    sure = [
        (rating, recognition)
        for rating in ratings
        if (recognition := views.recognition(rating)) and recognition["sure"]
    ]
    if not sure or DISGUISE not in rows.columns:
        return []
    drawn: list[list[Cell]] = []
    once = {rating["service"]["key"]: (rating, recognition) for rating, recognition in reversed(sure)}
    for rating, recognition in reversed(once.values()):
        mine = _compared(rows.filter(rows["service"] == rating["service"]["key"]), recognition)
        disguise_is_more = abs(recognition["disguised"] or 0.0) > abs(recognition["plain"] or 0.0)
        if recognition.get("value") == recognition.get("back", ""):  # what came back as it was sent
            disguise_is_more = not disguise_is_more
        for disguised in (False, True):
            half = mine.filter((mine[DISGUISE] == disguised) & (mine["status"] == "answered"))
            more = disguised == disguise_is_more
            typical = half.sort("changed", descending=more, maintain_order=True)
            for row in exchanges(typical.head(EXCHANGES)):
                quoted = quotation(row, "")
                who = sentences.name(rating["service"]["name"])
                drawn.append(
                    [Cell(who), Cell("in disguise" if disguised else "plain"), quoted.sent, quoted.back]
                )
    heads = [Head("Service"), Head("Asked how"), Head("Asked"), Head("Answered")]
    return [
        Title("Plain and in disguise", views.NOTES["exchanges"]),
        Table("Plain and disguised exchanges", heads, drawn),
    ]


def _compared(rows: pl.DataFrame, recognition: RecognitionEntry) -> pl.DataFrame:
    """The exchanges that the figure is about: of classes, a group of an attribute, a value, or a purpose."""
    if "classes" in recognition and "frame" in rows.columns:
        return _side_by_side(rows, recognition)
    if "purpose" in recognition and {"purpose", "step"} <= set(rows.columns):
        rows = rows.filter(rows["purpose"] == recognition["purpose"])
        return rows.filter(rows["step"] == recognition["step"]) if "step" in recognition else rows
    if "value" in recognition and "values_in" in rows.columns:
        return rows.filter(rows["values_in"].list.contains(recognition["value"]))
    if "attribute" in recognition and "attribute" in rows.columns:
        rows = rows.filter((rows["attribute"] == recognition["attribute"]) & ~rows["control"])
        if "group" in recognition:
            rows = rows.filter(
                (rows["group_a"] == recognition["group"]) | (rows["group_b"] == recognition["group"])
            )
    return rows


def _side_by_side(rows: pl.DataFrame, recognition: RecognitionEntry) -> pl.DataFrame:
    """A text of each of two classes in every frame, with the same word."""
    of_data = rows["block"].str.starts_with(f"{recognition['data']}/")
    rows = rows.filter(
        of_data & (rows["part"] == recognition["part"]) & rows["word"].is_in(recognition["words"])
    )
    sides = []
    for of in recognition["classes"]:
        mine = rows
        for single in of.split():
            mine = mine.filter(mine["values_in"].list.contains(single))
        sides.append(mine.unique(["frame", "word"], keep="first", maintain_order=True))
    first, second = sides
    both = first.join(second, on=["frame", "word"], how="semi").unique("frame", maintain_order=True)
    other = second.join(both, on=["frame", "word"], how="semi")
    return both.vstack(other).sort("frame", maintain_order=True)
