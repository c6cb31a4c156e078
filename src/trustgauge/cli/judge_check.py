"""The verb judge-check: measure a judge against labelled answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import PlanError
from trustgauge.terminal.options import access_options, confirm, load_environment
from trustgauge.terminal.output import Exit, emit_json, progress_display

if TYPE_CHECKING:
    from trustgauge.data.social_groups import GroupSource
    from trustgauge.plan import Plan
    from trustgauge.run.judge_calls import JudgeCallOptions
    from trustgauge.run.judge_evaluation import JudgeEvaluation

ABUSE = "abuse:"
"""Before a checker of abusive language, where a judge is named."""
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("judge-check")
@click.argument("judge")
@click.argument("table")
@click.option("--split", default="", metavar="NAME", help="Use only rows with NAME in the column split.")
@click.option(
    "--groups",
    "group_files",
    type=_FILE,
    multiple=True,
    metavar="FILE",
    help="Groups that the table refers to.",
)
@click.option(
    "--layout",
    type=click.Choice(["general", "biasasker", "holistic-bias"]),
    default="general",
    show_default=True,
    help="Layout of --groups.",
)
@click.option(
    "--expressions", type=_FILE, metavar="FILE", help="Expression lists for published and released."
)
@click.option(
    "--plan", "plan_file", type=_FILE, metavar="FILE", help="Plan that defines SERVICE or the group_table."
)
@click.option("--styles", type=_FILE, metavar="FILE", help="Write counts per answer style, as CSV.")
@click.option("--keep", type=_FILE, metavar="FILE", help="Save replies here; the same command resumes.")
@click.option("--limit-calls", type=int)
@click.option("--limit-usd", type=float)
@click.option("--limit-tokens", type=int)
@click.option("--limit-seconds", type=float)
@click.option("--progress", type=click.Choice(["auto", "plain", "json", "none"]), default="auto")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors.")
@access_options
def judge_check_verb(judge: str, table: str, split: str, **options: Any) -> Any:
    """Measure a judge against labelled answers. Only model judges send requests.

    \b
    trustgauge judge-check sound labelled.csv
    trustgauge judge-check released shipped --split held-out
    trustgauge judge-check sound assistant --split held-out --styles accuracy.csv
    trustgauge judge-check trained assistant --split held-out
    trustgauge judge-check released labelled.csv --expressions mine.toml
    trustgauge judge-check sound labelled.csv --groups groups.csv --layout biasasker
    trustgauge judge-check embedding:glove.txt shipped
    trustgauge judge-check model:openai/gpt-4o-mini shipped --split held-out --limit-usd 1
    trustgauge judge-check abuse:words labelled-answers.csv

    JUDGE is sound, trained, trained:FILE (of `train judge`), published, released, embedding:PATH (vectors of
    words, or of sentences) or model:SERVICE (PROVIDER/MODEL, or a service of a plan).

    TABLE has the columns question, answer, language (en, zh), kind (choice, yes-no, why), group_a,
    group_b (ids of groups) and verdict; "shipped" stands for our own labelled answers, "assistant" for
    those that others wrote in the styles of assistants.

    abuse:CHECKER (words, sentences, profanity-check or a trained model's folder) is measured for each style
    of answers; its TABLE has the columns text and label (hate, offensive, neither).
    """
    if judge.startswith(ABUSE):
        return _abuse_check(judge.removeprefix(ABUSE), Path(table), as_json=options["as_json"])
    from trustgauge.run.judge_evaluation import evaluate_judge

    with progress_display(options) as watch:
        asking = _asking(judge, options, watch)
        groups = _group_table(options, asking.plan)
        lists = options["expressions"]
        checked = evaluate_judge(
            judge, table, split=split, group_table=groups, expressions=lists, asking=asking
        )
    if options["styles"]:
        _write_styles(options["styles"], checked)
    if options["as_json"]:
        emit_json(checked.facts())
    else:
        click.echo("\n".join(_judged(checked)))
    if checked.asked is None or not checked.asked.waiting:
        return None
    return Exit(4, f"incomplete: {checked.asked.stopped}; {checked.asked.waiting:,} answers were not judged")


def _write_styles(file: Path, checked: JudgeEvaluation) -> None:
    """A row for each language and style, in the columns of the shipped `judge_accuracy.csv`."""
    import polars as pl

    pl.DataFrame(checked.styles).write_csv(file)


def _group_table(options: dict[str, Any], plan: Plan | None) -> GroupSource | None:
    """The table of groups that --groups names, else that of the plan; None: ours."""
    from pydantic import ValidationError

    from trustgauge.data.social_groups import GroupSource
    from trustgauge.methods import GroupTableUser
    from trustgauge.plan_faults import faults_of

    if not options["group_files"]:
        experiments = plan.experiments if plan else ()
        tables = (one.group_table for one in experiments if isinstance(one, GroupTableUser))
        return next((one for one in tables if one is not None), None)
    try:
        return GroupSource(layout=options["layout"], file=options["group_files"])
    except ValidationError as error:
        raise PlanError(tuple(faults_of(error, GroupSource, "--groups"))) from None


def _abuse_check(name: str, table: Path, *, as_json: bool) -> None:
    """Measure a checker of abusive language on labelled answers, style by style."""
    from trustgauge.methods.trust.abuse_checkers import by_style, checker, read_abuse_labels
    from trustgauge.methods.trust.issues.abuse_rates import figures_of
    from trustgauge.reports.sanitize import terminal

    rows = read_abuse_labels(table, "TABLE")
    found = by_style(checker(name), rows, answers=True, on=table.name)
    facts = {
        style: figures_of(one) | {"table": [list(row) for row in one.table]} for style, one in found.items()
    }
    if as_json:
        emit_json({"judge": f"{ABUSE}{name}", "table": table.name, "styles": facts})
        return
    lines = [f"{'judged':<9}{len(rows):,} labelled texts of {terminal(table.name)}, by {terminal(name)}"]
    heads = ["style", "n", "sensitivity", "specificity", "unread", "usable"]
    cells = [heads, *([style, *_abuse_figures(one)] for style, one in facts.items())]
    click.echo("\n".join(lines + _aligned(cells)))


def _abuse_figures(one: Mapping[str, Any]) -> list[str]:
    shares = (one[name] for name in ("sensitivity", "specificity", "unread"))
    figures = [{"": end["value"], "_low": end["low"], "_high": end["high"], "n": end["n"]} for end in shares]
    return [f"{one['labelled']:,}", *(_share(end, "") for end in figures), "yes" if one["usable"] else "no"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _asking(judge: str, options: dict[str, Any], watch: Any) -> JudgeCallOptions:
    """How a judge that is a service is asked; the user has confirmed what that reaches."""
    from trustgauge.engine import BudgetLimits
    from trustgauge.methods.social_bias.judges.model import ModelJudge
    from trustgauge.plan import load_plan
    from trustgauge.run.judge_calls import JudgeCallOptions, service_of

    plan = load_plan(options["plan_file"]) if options["plan_file"] else None
    if judge.startswith("model:"):
        service = service_of(ModelJudge.from_argument(judge.removeprefix("model:")).service, plan)
        load_environment([service])
        confirm({judge: service}, service.fingerprint, options)
    limits = BudgetLimits(*(options[f"limit_{name}"] for name in ("calls", "usd", "tokens", "seconds")))
    return JudgeCallOptions(plan, limits, watch, options["keep"])


SHARES = ("accuracy", "sensitivity", "specificity", "precision", "recall", "same")
"""What is printed of a judge, with 95 % intervals."""


def _judged(checked: JudgeEvaluation) -> list[str]:
    """The measures as a table: a row for each language and question type."""
    from trustgauge.reports import numbers
    from trustgauge.reports.sanitize import terminal

    split = f", {checked.split}" if checked.split else ""
    table = f"{terminal(checked.table)}{split}"
    lines = [f"{'judged':<9}{checked.pairs:,} labelled answers of {table}, by {terminal(checked.judge)}"]
    if asked := checked.asked:
        spent = f"{asked.calls:,} calls, {numbers.usd(asked.usd)}"
        lines.append(
            f"{'asked':<9}{asked.asked:,}, {asked.kept:,} stored before, {asked.failed:,} failed: {spent}"
        )
    if not checked.rows:
        return lines
    heads = ["question", *SHARES, "kappa", "n", "unclear"]
    lines += _aligned([heads, *(_measures(row) for row in checked.rows)])
    lines.append(
        f"{'note':<9}right or wrong as to whether an answer favours a group, with 95 % intervals; "
        "same: the very verdict of the label"
    )
    return lines


def _measures(row: Mapping[str, Any]) -> list[str]:
    from trustgauge.reports import numbers

    who = " ".join(dict.fromkeys((row["language"], row["kind"])))
    shares = [_share(row, name) for name in SHARES]
    kappa = numbers.NONE if row["kappa"] is None else f"{row['kappa']:.2f}"
    return [who, *shares, kappa, f"{row['n']:,}", f"{row['unclear']:,}"]


def _share(row: Mapping[str, Any], name: str) -> str:
    """A share with its interval: "97% (94 to 99)"."""
    from trustgauge.reports import numbers

    if row[name] is None:
        return numbers.NONE
    value, low, high = (
        numbers.percent(row[f"{name}{end}"], row["n"], tight=True) for end in ("", "_low", "_high")
    )
    return f"{value} ({low.removesuffix('%')} to {high.removesuffix('%')})"
