"""A model as labeller: any chat service, once it is measured on answers of the same styles (methods 0.10)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from trustgauge.data.social_groups import groups as shipped_groups
from trustgauge.errors import Fault, PlanError
from trustgauge.methods.social_bias.judge_accuracy import MARGIN, STYLE, styles_of
from trustgauge.methods.social_bias.judges.dispatch import READ
from trustgauge.methods.social_bias.judges.evaluation import (
    assistant_answers,
    assistant_groups,
    labelled_answers,
    measure,
)
from trustgauge.methods.social_bias.judges.model import ModelJudge
from trustgauge.records import digest
from trustgauge.run.audit import JUDGE, Audit, AuditSample, append
from trustgauge.run.judge_calls import JudgeCallOptions, ask_judge
from trustgauge.run.labelling import JUDGE_OPTION
from trustgauge.stats.misclassification import Detection

FEWEST = 200
"""Labelled answers in the styles of the run on which a judge must be measured (methods 0.10 (4))."""
MOST = 600
"""Of them as many are asked about."""
SIDES = ("affirms", "explains", "denies", "chooses-a", "chooses-b")


@dataclass(frozen=True, slots=True)
class ModelLabels:
    """What a model made of a sample: labels it gave, answers it could not tell, and its own errors."""

    service: str
    labels: int
    undecided: int
    measured_on: int
    sensitivity: float
    specificity: float

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def label_by_model(audit: Audit, sample: AuditSample, service: str, asking: JudgeCallOptions) -> ModelLabels:
    """Have a chat service label a sample, after measuring it on labelled answers of ours.

    Args:
        audit: of the rated service.
        sample: what was drawn.
        service: who labels, one of the plan or PROVIDER/MODEL.
        asking: how it is asked.

    Raises:
        PlanError: there are no answers of this kind that it could be measured on, or no such service.
        ServiceError: it refused every call.
    """
    frame = audit.frame()
    if not set(READ) <= {*frame.columns, "message", "output"}:
        what, must = "a model cannot label these answers", "a social-bias rating"
        raise PlanError((Fault(JUDGE_OPTION, what, must=must, got=audit.service),))
    judge = ModelJudge(service)
    rows = frame.rename({"question": "message", "answer": "output"})
    accuracy = _measured(judge, rows, asking)
    items = {one.place: one for one in sample.items}
    places = rows.select("part", "id").iter_rows()
    drawn = rows.filter(pl.Series([place in items for place in places], dtype=pl.Boolean))
    groups = {one.id: one for one in shipped_groups()}
    verdicts, _ = ask_judge(judge, drawn.select(READ), groups, asking)
    labels, undecided = [], 0
    for part, name, verdict in drawn.select("part", "id", verdicts.alias("verdict")).iter_rows():
        if verdict in ("", "unclear"):
            undecided += 1
            continue
        labels.append((items[part, name], verdict if verdict in SIDES else "neither"))
    counts = [accuracy.positives, accuracy.found, accuracy.negatives, accuracy.passed]
    append(audit.folder, [{"experiment": audit.experiment, "service": audit.service, "measured": counts}])
    audit.add(labels, f"{JUDGE}{service}")
    n = accuracy.positives + accuracy.negatives
    return ModelLabels(service, len(labels), undecided, n, accuracy.sensitivity, accuracy.specificity)


def _measured(judge: ModelJudge, rows: pl.DataFrame, asking: JudgeCallOptions) -> Detection:
    """How often the model is right on labelled answers in the styles of these."""
    language = str(rows["language"][0]) if rows.height else "en"
    styles = styles_of(rows["output"], language).value_counts().with_columns(pl.col("count") / rows.height)
    common = styles.filter(pl.col("count") >= MARGIN)[STYLE].to_list()
    columns = ["question", "answer", "language", "kind", "group_a", "group_b", "verdict"]
    # rules were written by some of these answers, but no model was
    table = pl.concat([one.select(columns) for one in (labelled_answers(), assistant_answers())])
    table = table.filter(pl.col("language") == language)
    table = table.filter(styles_of(table["answer"], language).is_in(common))
    lot = [digest("labelled", list(row)) for row in table.select("question", "answer").iter_rows()]
    table = table.with_columns(_lot=pl.Series(lot, dtype=pl.String)).sort("_lot").head(MOST).select(columns)
    if table.height < FEWEST:
        what = "no labelled answers to measure the model on"
        must = f"{FEWEST} in the styles {', '.join(common)}, {language}"
        do = "Have people label the sample"
        raise PlanError((Fault(JUDGE_OPTION, what, must=must, got=str(table.height), do=do),))
    asked = table.rename({"question": "message", "answer": "output"}).select(READ)
    verdicts, _ = ask_judge(judge, asked, assistant_groups(), asking)
    read = table.filter(verdicts != "").with_columns(verdicts.filter(verdicts != "").alias("_read"))
    counts = measure(lambda one: one.select(pl.col("_read").alias("verdict")), read).row(0, named=True)
    return Detection(*(int(counts[name] or 0) for name in ("biased", "found", "unbiased", "passed")))
