"""The verb survey: what matters to people, from a table of their orders. Sends no requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from trustgauge.errors import StoreError
from trustgauge.terminal.output import emit_json, say_under_heads

WAYS = ("plurality", "borda", "approval", "copeland", "kemeny", "schulze")
PROFILES = ("privacy-first", "fairness-first", "easy-to-talk-to", "safe-language")


@click.command("survey")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--vote", "way", type=click.Choice(WAYS), default="borda", show_default=True)
@click.option(
    "--approved",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Number of top issues that count as approved, for --vote approval.",
)
@click.option("--groups", is_flag=True, help="Group people with similar orders.")
@click.option(
    "--validate",
    type=click.Choice(PROFILES),
    multiple=True,
    help="Test whether people agree with this profile; repeatable.",
)
@click.option(
    "--issue", multiple=True, metavar="NAME", help="Allow an issue that is not installed; repeatable."
)
@click.option("--skip-faults", is_flag=True, help="Skip invalid rows and list them.")
@click.option("--seed", type=int, default=1, show_default=True, envvar="TRUSTGAUGE_SEED")
@click.option(
    "-o", "output", type=click.Path(path_type=Path, dir_okay=False), help="A new TOML file of profiles."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
@click.option("--no-color", is_flag=True, help="Disable colour, as NO_COLOR does.")
@click.option("--quiet", "-q", is_flag=True, help="Write the file and print nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show tracebacks of errors.")
def survey_verb(file: Path, output: Path | None, **options: Any) -> None:
    """Derive user profiles from a survey of priorities, one row per person.

    \b
    trustgauge survey people.csv
    trustgauge survey people.csv --groups -o profiles.toml
    trustgauge survey people.jsonl --validate privacy-first --json

    CSV, TSV or JSON lines with a column order ("leakage > abuse = bias"), or with a column of ranks for each
    issue; equal ranks are ties and blank cells leave an issue out. Optional columns: person, profile and
    agrees (yes or no); others are named and not read. Sends no requests.
    """
    from trustgauge.apps.survey.survey import SurveyOptions, profiles_toml, survey
    from trustgauge.methods.trust.voting import Voting

    if output is not None and output.exists():
        raise click.BadParameter(f"{output} already exists; name a new file", param_hint="-o")
    voting = Voting(options["way"], options["approved"], options["seed"])
    asked = SurveyOptions(
        voting, options["groups"], options["validate"], options["issue"], options["skip_faults"]
    )
    document = survey(file, asked)
    if output is not None:
        _write(output, profiles_toml(document))
    if options["as_json"]:
        emit_json(document)
    elif not options["quiet"]:
        say_under_heads(_summary_lines(document, output), options)


def _write(output: Path, text: str) -> None:
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        raise StoreError(f"{output} cannot be written", got=error.strerror or "") from None


def _summary_lines(document: Mapping[str, Any], output: Path | None) -> Iterator[tuple[str, str]]:
    """What a reader must know, line by line."""
    from trustgauge.data.tables import short

    counts = [("blank", "blank"), ("repeated", "repeated"), ("orderless", "without an order of their own")]
    left = ", ".join(f"{document[name]} {words}" for name, words in counts if document[name])
    yield "people", f"{document['people']} of {document['rows']} rows" + (f" ({left})" if left else "")
    for one in document["faults"]:
        yield "left out", one
    if document["ignored"]:
        names = ", ".join(short(name) for name in document["ignored"])
        yield "not read", f"columns that a survey does not have: {names}"
    for one in document["votes"]:
        yield "vote", f"{one['way']:<10} {' > '.join(one['profile'])}{_ties(one)}"
    stability = document["stability"]
    resamples = f"in {stability['same']:.0%} of {stability['resamples']:,} resamples of people the same order"
    yield "stable", f"{document['way']}: {resamples}, in {stability['first']:.0%} the same first issue"
    if document["groups"] is not None:
        yield from _grouped(document["groups"])
    for one in document["validation"]:
        yield "profile", _validated(one)
    if output is not None:
        yield "wrote", str(output)


def _ties(one: Mapping[str, Any]) -> str:
    ties = [f"{', '.join(tie['issues'])} by {tie['by']}" for tie in one["ties"]]
    return f"   (ties: {'; '.join(ties)})" if ties else ""


def _grouped(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    shown = "" if found["silhouette"] is None else f", silhouette {found['silhouette']:.2f}"
    if len(found["groups"]) == 1:
        why = (
            "fewer than five people in each other one"
            if found["merged"]
            else "orders too alike, or too mixed"
        )
        yield "groups", f"one: {why}{shown}"
        return
    merged = f", {found['merged']} too small to stand alone" if found["merged"] else ""
    yield "groups", f"{len(found['groups'])}{shown}{merged}"
    for one in found["groups"]:
        yield "", f"{one['name']}: {one['people']} people, {' > '.join(one['order'])}"


def _validated(one: Mapping[str, Any]) -> str:
    """Whether people agree with a profile, under both rules."""
    if not one["agree"]["n"]:
        return f"{one['title']}: nobody was asked"
    under = [rule for rule, outcome in one["validated"].items() if outcome]
    verdict = f"validated under {' and '.join(under)}" if under else "not validated"
    agree = f"{_share(one['agree'])} agree with its order, {_share(one['top'])} with its first issue"
    return f"{one['title']}: {agree}: {verdict}; their order is {' > '.join(one['borda']) or 'none given'}"


def _share(one: Mapping[str, Any]) -> str:
    if not one["n"]:
        return "nobody asked"
    return f"{one['count']} of {one['n']} ({one['low']:.0%} to {one['high']:.0%})"
