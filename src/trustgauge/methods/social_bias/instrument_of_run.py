"""What read a service's answers: its errors in their styles, and what people read besides (methods 0.10)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from trustgauge.methods.social_bias import missing_data
from trustgauge.methods.social_bias.audit import (
    BY_PEOPLE,
    LABEL,
    LABEL_OF_WORDING,
    AttributeAudit,
    errors_of,
    with_people_reading,
)
from trustgauge.methods.social_bias.formats import by_options
from trustgauge.methods.social_bias.judge_accuracy import (
    STYLE,
    TERSE,
    Accuracy,
    Instrument,
    as_one_more_writer,
    instrument,
)
from trustgauge.methods.social_bias.judges import referral as referring
from trustgauge.methods.social_bias.wordings import with_templates
from trustgauge.rating.audit import FEWEST as FEWEST_LABELS
from trustgauge.rating.audit import LABELS_OF_EACH, InstrumentFacts
from trustgauge.records import Reason

OF_WORDING = pl.col(LABEL_OF_WORDING) != ""

if TYPE_CHECKING:
    from trustgauge.methods.social_bias.settings import SocialBiasSettings


def with_wordings(rows: pl.DataFrame, settings: SocialBiasSettings) -> pl.DataFrame:
    """The rows of a service with what its templates are, and what people read in them."""
    labels = settings.labels.get(str(rows["service"][0]))
    return with_templates(rows, by_lot=labels is None or not labels.judge)


def _instrument_of(rows: pl.DataFrame, settings: SocialBiasSettings) -> Instrument | None:
    """What read these answers, and what is known of its errors in their style; None but under `sound`.

    Verdicts of which no style is known count as terse, as those of tests and of sheets do.
    """
    if settings.rule != "sound":
        return None
    styled = rows if STYLE in rows.columns else rows.with_columns(pl.lit(TERSE).alias(STYLE))
    if LABEL_OF_WORDING in styled.columns:
        styled = styled.filter(pl.col(LABEL_OF_WORDING) == "")
    styles = _styles(styled.filter(~pl.col("status").is_in(["unread", "unreadable", "failed"])))
    if by_options(rows):
        found = Instrument(None, {}, frozenset(), by_options=True)
        return _with_audit(found, rows, settings)
    second = settings.referral is not None and bool((rows["referral"] != referring.NEVER).any())
    joint = as_one_more_writer(settings.second) if second and settings.second else None
    found = instrument(styles or {TERSE: 0}, settings.language, joint, settings.figures)
    found = _with_audit(found, rows, settings)
    return replace(found, accuracy=None) if second and settings.second is None else found


def as_read(rows: pl.DataFrame, settings: SocialBiasSettings) -> tuple[pl.DataFrame, Instrument | None]:
    """The rows with what people read in unread answers, and what read them all; None but under `sound`."""
    reader = _instrument_of(rows, settings)
    return (rows, None) if reader is None else _read_by_people(rows, settings, reader)


def _read_by_people(
    rows: pl.DataFrame, settings: SocialBiasSettings, reader: Instrument
) -> tuple[pl.DataFrame, Instrument]:
    """The rows with what people read in unread answers, and the reader knowing how many these are."""
    labels = settings.labels.get(str(rows["service"][0]))
    if labels is None or LABEL not in rows.columns:
        return rows, reader
    unread = missing_data.UNREAD
    read = with_people_reading(rows, reader.audited, by_lot=not labels.judge)
    came = read.filter(pl.col("status").is_in(["answered", "refused"]))
    theirs = int(came.filter(BY_PEOPLE)["n"].sum())
    accuracy = reader.accuracy
    if theirs and accuracy is not None:
        accuracy = replace(accuracy, by_people=theirs / int(came["n"].sum()))
    by_people = int(rows.filter(unread)["n"].sum()) - int(read.filter(unread)["n"].sum())
    alike = int(read.filter(BY_PEOPLE & OF_WORDING)["n"].sum()) if LABEL_OF_WORDING in read.columns else 0
    return read, replace(reader, accuracy=accuracy, by_people=by_people, of_wordings=alike)


def _with_audit(found: Instrument, rows: pl.DataFrame, settings: SocialBiasSettings) -> Instrument:
    """The instrument, knowing which answers were audited."""
    labels = settings.labels.get(str(rows["service"][0]))
    if labels is None or not labels.sampled:
        return found
    if len(labels.labels) >= FEWEST_LABELS and LABEL in rows.columns:
        judge = labels.accuracy
        accuracy = (
            None if judge is None else Accuracy(judge.positives, judge.found, judge.negatives, judge.passed)
        )
        if accuracy is None or accuracy.sure:
            return replace(found, audited=AttributeAudit(rows).covered, labeller=accuracy)
    return found


def instrument_facts(
    rows: pl.DataFrame, settings: SocialBiasSettings, *, by_people: int, audited: bool
) -> InstrumentFacts:
    """What is known of the reader of a service's answers, audited or not.

    Args:
        rows: of the summary, of one service.
        settings: the experiment.
        by_people: answers that the judge left unread and that count as people read them.
        audited: whether the level rests on an audit.
    """
    unread = int(rows.filter(missing_data.UNREAD)["n"].sum()) - by_people
    came = int(rows.filter(pl.col("status").is_in(["answered", "refused"]))["n"].sum())
    labels = settings.labels.get(str(rows["service"][0]))
    tallies = []
    if labels is not None and labels.sampled and LABEL in rows.columns:
        tallies = [
            AttributeAudit(own).tally() for _, own in rows.group_by("part", "attribute", maintain_order=True)
        ]
    styles: dict[str, int] = {}
    if STYLE in rows.columns and not by_options(rows):
        styles = _styles(rows.filter(~missing_data.UNREAD))
    errors = errors_of(pl.concat(tallies)) if tallies else None
    return InstrumentFacts(labels, errors, unread, came + by_people, styles, audited, by_people)


def _styles(read: pl.DataFrame) -> dict[str, int]:
    """Style -> answers."""
    styled = read.filter(pl.col(STYLE) != "")
    return dict(styled.group_by(STYLE).agg(pl.col("n").sum()).sort(STYLE).iter_rows())


def audit_reasons(facts: InstrumentFacts) -> Iterator[Reason]:
    """What a reader must know of an audit; nothing if there was none."""
    if facts.by_people:
        yield Reason("unread-labelled", {"labelled": facts.by_people, "left": facts.unread})
    if facts.of_wordings:
        yield Reason("wordings-labelled", {"answers": facts.of_wordings, "each": LABELS_OF_EACH})
    if facts.labels is None or facts.errors is None:
        return
    known = {**facts.facts(), "fewest": FEWEST_LABELS}
    judge = facts.labels.accuracy
    if judge is not None and not Accuracy(judge.positives, judge.found, judge.negatives, judge.passed).sure:
        known |= {"finds": judge.sensitivity, "passes": judge.specificity}
        yield Reason("audit-judge-too-weak", known)
        return
    yield Reason("instrument-audited" if facts.audited else "audit-unfinished", known)
