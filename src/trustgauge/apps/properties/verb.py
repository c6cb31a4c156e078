"""The verb build-properties: raw statements about groups to a set of properties."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.output import emit_json, say_under_heads

if TYPE_CHECKING:
    from trustgauge.apps.properties.raw_statements import Role
    from trustgauge.data.translations import Similarity

SHAPES = ("sbic", "stereoset", "ours", "table")
HEADS = {
    "statements": "read",
    "rows": "read",
    "labels": "labels",
    "antonyms": "antonyms",
    "translations": "chinese",
}
"""Step of the report -> the head of its line."""


@click.command("build-properties")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "-o", "output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="A new CSV file."
)
@click.option(
    "--shape", type=click.Choice(SHAPES), help="Layout of FILE. [default: inferred from its columns]"
)
@click.option("--column", multiple=True, metavar="ROLE=COLUMN", help="Column for a role; repeatable.")
@click.option("--label", multiple=True, metavar="COLUMN", help="Labels of one annotator; repeatable.")
@click.option(
    "--recode", multiple=True, metavar="LABEL=CATEGORY[,…]", help="Merge a label, or split it; repeatable."
)
@click.option(
    "--similarity", metavar="MODULE:FUNCTION", help="Similarity of translations. [default: n-grams]"
)
@click.option("--separator", default="", help="Delimiter of a CSV file. [default: that of the header]")
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document to stdout.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("--quiet", "-q", is_flag=True, help="Write the files and print nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors.")
def build_properties_verb(file: Path, output: Path, **options: Any) -> None:
    """Build a property set from raw statements such as "women can't drive".

    \b
    trustgauge build-properties statements.csv -o set.csv --column statement=text --label ann --label bob
    trustgauge build-properties SBIC.v2.trn.csv -o set.csv
    trustgauge build-properties set.csv -o set-2.csv

    Removes the subject, drops questions, empty statements and statements about nobody, removes duplicates,
    takes the majority labels, adds given antonyms and compares two translations. Undecided rows are marked
    in the column `person`: fill it in and build again from that file. The counts of every step are written
    to a JSON file next to the output.
    """
    from trustgauge.apps.properties.building import BuildOptions, build
    from trustgauge.apps.properties.raw_statements import RawShape
    from trustgauge.data.translations import ngram_cosines
    from trustgauge.stats.agreement import fleiss_kappa

    report_file = output.with_suffix(".report.json")
    _new(file, output, report_file)
    similarity = _similarity(options["similarity"]) if options["similarity"] else ngram_cosines
    building = BuildOptions(fleiss_kappa, _codes(options["recode"]), similarity)
    how = RawShape(options["shape"], _columns(options["column"]), options["label"], options["separator"])
    built = build(file, building, how)
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("x", encoding="utf-8", newline="") as opened:
        built.write(opened)
    report_file.write_text(
        json.dumps(built.report, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
    if options["as_json"]:
        emit_json(built.report)
    elif not options["quiet"]:
        _tell(built.report, output, options)


def _new(*files: Path) -> None:
    """Refuse to write over a file: a person may have worked in it."""
    for one in files[1:]:
        if one.exists():
            raise click.BadParameter(f"{one} already exists; name a new file", param_hint="-o")
    if not files[0].is_file():
        raise click.BadParameter(f"no file {files[0]}", param_hint="FILE")


def _columns(given: Sequence[str]) -> dict[Role, str]:
    """The columns written ROLE=COLUMN."""
    from trustgauge.apps.properties.raw_statements import DEFAULTS

    found: dict[Role, str] = {}
    for one in given:
        role, equals, column = one.partition("=")
        known = next((name for name in DEFAULTS["table"] if name == role), None)
        if known is None or not equals or not column:
            must = ", ".join(DEFAULTS["table"])
            raise click.BadParameter(
                f'must be ROLE=COLUMN, the role one of: {must}; got "{one}"', param_hint="--column"
            )
        found[known] = column
    return found


def _codes(given: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The labels written LABEL=CATEGORY, or LABEL=CATEGORY,CATEGORY where one is split."""
    from trustgauge.data.property_rows import CATEGORIES, category

    found = {}
    for one in given:
        label, _, written = one.rpartition("=")
        parts = tuple(category(part) for part in written.split(","))
        if not label.strip() or not all(parts):
            must = ", ".join(CATEGORIES)
            raise click.BadParameter(
                f'must be LABEL=CATEGORY, the category one of: {must}; got "{one}"', param_hint="--recode"
            )
        found[label.strip().lower()] = parts
    return found


def _similarity(given: str) -> Similarity:
    """A function of the user's: pairs of texts to cosines, such as those of an embedding model."""
    module, _, name = given.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.BadParameter(
            f'must be MODULE:FUNCTION that can be imported; got "{given}": {error}', param_hint="--similarity"
        ) from None
    similarity: Similarity = function
    return similarity


def _tell(report: Mapping[str, Any], output: Path, options: dict[str, Any]) -> None:
    """The counts of every step, and what a person has to do."""
    lines = []
    for step, head in HEADS.items():
        counts = {name: value for name, value in report.get(step, {}).items() if isinstance(value, int)}
        if counts:
            lines.append((head, ", ".join(f"{count:,} {name}" for name, count in counts.items())))
    for mark, one in report["person"].items():
        lines.append(("person", f"{one['rows']:,} {mark}: {one['do']}"))
    done = report["properties"]
    lines.append(("written", f"{output}: {done['rows']:,} properties, {done['waiting']:,} wait for a person"))
    say_under_heads(lines, options)
