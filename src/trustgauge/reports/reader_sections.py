"""Sections of the report on the reader of the answers: audited or not, its errors, and what was misread.

Imported only for ratings that state their reader, and for audited answers.
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
    quotation,
)
from trustgauge.reports.document import details

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import InstrumentEntry, RatingEntry

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
