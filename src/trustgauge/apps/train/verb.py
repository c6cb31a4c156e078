"""The verb train: small models from labelled tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.output import say_or_emit, say_under_heads

if TYPE_CHECKING:
    from trustgauge.apps.train.kinds import Kind

MODELS = ("sentence-bias", "sentiment-gru", "abuse", "judge", "leakage-trial")
LAYOUTS = ("davidson", "hutto", "rated-bias")
DIALOGS = ("auto", "schema-guided", "csv", "jsonl", "irc", "qa", "released")
HIDDEN = ("pairs", "outputs")


@click.command("train")
@click.argument("model", type=click.Choice(MODELS))
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "-o", "folder", type=click.Path(path_type=Path), required=True, help="A new folder for the model."
)
@click.option("--text", default="text", show_default=True, help="Column of the texts.")
@click.option("--score", default="score", show_default=True, help="Column of the labels.")
@click.option("--group", default="", help="Column that groups rows, such as the review of a sentence.")
@click.option("--range", "span", metavar="LOW:HIGH", help="Scale of the labels, such as 1:5. [default: -1:1]")
@click.option("--label", multiple=True, metavar="WORD=SCORE", help="Score of a label in words; repeatable.")
@click.option(
    "--layout",
    type=click.Choice((*LAYOUTS, *DIALOGS)),
    help="Layout of a known public table; for a leakage trial, of the dialogs.",
)
@click.option(
    "--answers",
    is_flag=True,
    help="Abuse: the texts are answers of chatbots, so measure each style of answers.",
)
@click.option(
    "--hidden",
    type=click.Choice(HIDDEN),
    default="pairs",
    show_default=True,
    help="Leakage trial: secret inputs and outputs, or outputs only.",
)
@click.option("--epochs", type=click.IntRange(1, 1000), help="[default: 6; 40 for a leakage trial]")
@click.option("--seed", type=int, default=1, show_default=True, envvar="TRUSTGAUGE_SEED")
@click.option(
    "--held-out",
    type=click.FloatRange(0.02, 0.5),
    default=0.1,
    show_default=True,
    help="Share of rows held out for testing.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the model card as one JSON document to stdout.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors.")
def train_verb(model: str, table: Path, folder: Path, **options: Any) -> None:
    """Train a model locally from a labelled table and test it on held-out rows.

    \b
    trustgauge train sentiment-gru reviews.csv -o my-scorer --score stars --range 1:5
    trustgauge train sentiment-gru labels.jsonl -o my-scorer --label bad=-1 --label good=1
    trustgauge train sentiment-gru hutto_ICWSM_2014.tar.gz -o my-scorer --layout hutto
    trustgauge train abuse utterances.csv -o my-checker --score class --answers
    trustgauge train abuse labeled_data.csv -o my-checker --layout davidson
    trustgauge train sentence-bias collapsedData.csv -o my-regression --layout rated-bias
    trustgauge train judge labelled-answers.csv -o my-judge
    trustgauge train leakage-trial dialogs.jsonl -o my-trial

    The table is CSV, TSV, JSON lines or Parquet, in UTF-8. The same table, seed and library
    versions give the same model. A judge learns from answers labelled as for judge-check (CSV, TSV,
    JSON lines or XLSX) beside our own, and is tested on each of them by weights learned without it.
    A leakage trial hides secrets in recorded dialogs (a file or folder) and reports after how many epochs
    a model reveals them.
    """
    from trustgauge.apps.train.kinds import KINDS, Effort

    def tell(said: str) -> None:
        if not options["quiet"]:
            say_under_heads([("train", said)], options, err=True)

    kind = KINDS[model]
    data = _table(table, options, kind)
    effort = Effort(options["epochs"] or kind.epochs, options["seed"], options["held_out"])
    card = kind.trainer()(data, folder, effort, tell=tell)
    explain = kind.teller()
    say_or_emit(card, explain(card, folder) if explain else _results(card, folder, kind.use), options)


def _table(table: Path, options: Mapping[str, Any], kind: Kind) -> Any:
    """The rows of the table as the options say; the kind's labels stand where nothing is said of them."""
    from trustgauge.apps.train import labelled

    layout, read = options["layout"], kind.reader()
    known = DIALOGS if read else LAYOUTS
    if layout and layout not in known:
        raise click.BadParameter(f'must be one of: {", ".join(known)}; got "{layout}"', param_hint="--layout")
    if read:
        return read(table, layout or "auto", options["hidden"])
    if layout:
        return labelled.LAYOUTS[layout](table, kind.fewest)
    span, given = _span(options["span"]), _labels(options["label"])
    words = given if given or span else kind.labels
    columns = labelled.Columns(options["text"], options["score"], options["group"], span, words)
    return replace(labelled.read_label_table(table, columns, kind.fewest), answers=options["answers"])


def _span(given: str | None) -> tuple[float, float] | None:
    """The scale written LOW:HIGH."""
    from trustgauge.apps.train.labelled import check_span

    if given is None:
        return None
    low, _, high = given.partition(":")
    try:
        return check_span((float(low), float(high)))
    except ValueError:
        raise click.BadParameter(
            f'must be two numbers, the smaller first, such as 1:5; got "{given}"', param_hint="--range"
        ) from None


def _labels(given: Sequence[str]) -> dict[str, float]:
    """The scores written WORD=SCORE."""
    found = {}
    for one in given:
        word, _, number = one.rpartition("=")
        try:
            score = float(number)
        except ValueError:
            score = float("nan")
        if not word or not -1 <= score <= 1:
            raise click.BadParameter(
                f'must be WORD=SCORE with a score from -1 to 1, such as good=1; got "{one}"',
                param_hint="--label",
            )
        found[word] = score
    return found


def _results(card: Mapping[str, Any], folder: Path, use: str) -> list[tuple[str, str]]:
    """What a reader must know of the trained model, line by line."""
    from trustgauge.apps.train.kinds import figure_in_words

    tested, data = card["held_out"], card["data"]
    lines = [
        (
            "trained",
            f"{folder}: {card['training']['rows']:,} rows of {data['file']}, seed {card['training']['seed']}",
        ),
        ("held out", f"{tested['n']:,} rows of {tested['groups']:,} groups unseen in training"),
        *_figures(tested),
    ]
    for name, one in tested["sources"].items():
        lines.append(
            ("source", f"{name}: correlation {figure_in_words(one['correlation'])}, n = {one['n']:,}")
        )
    lines += [("limits", limit) for limit in card["limits"]]
    lines.append(("use", f'use = "{use}", folder = "{folder}"'))
    return lines


def _figures(tested: Mapping[str, Any]) -> list[tuple[str, str]]:
    from trustgauge.apps.train.kinds import figure_in_words

    sign, constant = tested["sign"], tested["commoner_sign"]
    beside = "" if constant is None else f" (a constant answer: {constant:.0%})"
    return [
        ("", f"correlation with the labels {figure_in_words(tested['correlation'])}"),
        ("", f"mean absolute error {figure_in_words(tested['error'])} on the scale from -1 to 1"),
        ("", f"right sign {figure_in_words(sign)} of {sign['n']:,} rows with one{beside}"),
    ]
