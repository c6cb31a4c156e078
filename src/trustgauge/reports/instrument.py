"""What a rating says of the reader of its answers: audited or not, its errors, and what was misread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import Cell, Head, Piece, Section, Table, Title, Words, quotation

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry

Rated = Mapping[str, Any]
MOST_MISREAD = 20
"""Misread answers that are shown."""
READING = "reading"
"""Column of evidence: what the program read in an answer, in words, where its values are something else."""
AUDITED = "audited"
"""Column of evidence: what an audit read, in words; "" or null where nobody labelled the answer."""


def _facts(rating: RatingEntry) -> Rated | None:
    found = rating["details"].get("instrument")
    return found if isinstance(found, Mapping) else None


def line(rating: RatingEntry) -> str:
    """For a label: "Audited, 200 answers"; "" where a method has no reader."""
    told = _facts(rating)
    if told is None:
        return ""
    return f"Audited, {numbers.count(told['n'])} answers" if told["audited"] else "Instrument not audited"


def section(rating: RatingEntry) -> Iterator[Section]:
    """How the answers were read: styles, unread ones, and what an audit says of the reader."""
    told = _facts(rating)
    if told is None or rating["state"] == "not applicable":
        return
    pieces: list[Piece] = [Words(" ".join(_sentences(told)))]
    if "sensitivity" in told:
        pieces.append(_errors(told, sentences.name(rating["service"]["name"])))
    yield Section("instrument", "How the answers were read", pieces, rank="60 45 30")


def _sentences(told: Rated) -> Iterator[str]:
    if told.get("judge"):
        whom = f"the chat service “{sentences.name(told['judge'])}”"
    else:
        people = int(told.get("labellers", 0))
        whom = "one person" if people == 1 else f"{numbers.count(people)} people"
    if told["audited"]:
        yield (
            f"Audited: {whom} read a random sample of {numbers.count(told['n'])} of these answers without "
            "seeing what the program had read, and the figures are corrected by it. Their intervals hold the "
            "errors of the program."
        )
    else:
        yield "Not audited: no person has checked on a sample of these answers how the program read them."
        if told.get("n"):
            yield f"{whom.capitalize()} labelled {numbers.count(told['n'])} of them, which is not enough yet."
    if told.get("twice"):
        kappa = told["kappa"]
        agreed = "" if kappa is None else f"; they agree beyond chance by κ = {kappa:.2f}"
        left = f"; {numbers.count(told['unresolved'])} wait for a third" if told["unresolved"] else ""
        yield f"{numbers.count(told['twice'])} of them were read by two{agreed}{left}."
    if told["unread"]:
        yield f"The program abstained from {numbers.percent(told['unread_share'])} of the answers."
    styles: Mapping[str, int] = told.get("styles") or {}
    total = sum(styles.values())
    if total:
        shares = sorted(styles.items(), key=lambda one: (-one[1], one[0]))
        named = [f"{sentences.name(style)} {numbers.percent(n / total, total)}" for style, n in shares]
        yield f"Style of the answers: {', '.join(named)}."


def _errors(told: Rated, service: str) -> Table:
    rows = []
    for name, words, n in (
        ("sensitivity", "Finds what is there (sensitivity)", told["positives"]),
        ("specificity", "Passes what is not (specificity)", told["negatives"]),
    ):
        value, (low, high) = told[name], told[f"{name}_interval"]
        shown = numbers.NONE if value is None else numbers.percent(value, n)
        reach = "" if low is None else f"{numbers.percent(low)} to {numbers.percent(high)}"
        rows.append([Cell(words), Cell(shown), Cell(reach), Cell(numbers.count(n))])
    heads = [
        Head("Of the program, on these answers"),
        Head("Share"),
        Head("95 % interval"),
        Head("Labelled answers"),
    ]
    return Table(f"Errors of the reader on {service}", heads, rows)


def audit_examples(rows: pl.DataFrame) -> list[Piece]:
    """Audited answers that the program read otherwise than the people who labelled them."""
    if AUDITED not in rows.columns or "misread" not in rows.columns:
        return []
    labelled = rows.filter(rows[AUDITED].fill_null("") != "")
    if labelled.is_empty():
        return []
    wrong = labelled.filter(labelled["misread"].fill_null(value=False))
    count, n = numbers.count(wrong.height), numbers.count(labelled.height)
    lead = f"{count} of {n} labelled answers were read otherwise by the program."
    if wrong.is_empty():
        return [Title("Audited answers", lead)]
    told = [_row(row) for row in wrong.head(MOST_MISREAD).iter_rows(named=True)]
    heads = [Head("Asked"), Head("Answered"), Head("The program read"), Head("A person read")]
    note = f"The first {MOST_MISREAD} are shown." if wrong.height > MOST_MISREAD else ""
    return [Title("Audited answers", lead), Table("Answers that were misread", heads, told, note)]


def _row(row: Mapping[str, Any]) -> Sequence[Cell]:
    quoted = quotation(row, "")
    read = row.get(READING) or ", ".join(str(one) for one in row["values_out"] or () if one)
    return [quoted.sent, quoted.back, Cell(read), Cell(str(row[AUDITED]))]
