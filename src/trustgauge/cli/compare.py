"""The verb compare: ratings beside each other. Sends no requests."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from trustgauge.errors import PlanError
from trustgauge.records import Rule, State
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import emit_json, say, write_output

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import PairedDocument

FORMS = ("text", "html", "json", "csv", "personal")


@click.command("compare")
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--profile", help="Rank chatbots for this profile, such as privacy-first.")
@click.option("--order", help='Rank chatbots for your own order, such as "IL > AL = B > CC".')
@click.option(
    "--rule",
    help="Only ratings under this rule: sound, published or released. For a profile or order: how levels "
    "combine, which may be count, raw-weighted, worst-of or lexicographic too.",
)
@click.option(
    "--state",
    "states",
    type=click.Choice(get_args(State)),
    multiple=True,
    help="Only ratings in this state; repeatable.",
)
@click.option("--differences", is_flag=True, help="Show only differences (text form).")
@click.option(
    "--paired", is_flag=True, help="What changed from the first to the second, with Holm's correction."
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.1,
    show_default=True,
    help="Paired: smallest difference that matters, as a share of the scale.",
)
@click.option(
    "--address",
    metavar="URL",
    help="Link to the ratings in the catalogue at this address instead of embedding summaries.",
)
@click.option("--as", "form", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of stdout.",
)
@output_options
def compare_verb(names: tuple[str, ...], form: str, output: Path | None, **options: Any) -> None:
    """Compare ratings, or one service over time. Sends no requests.

    Without ids it compares all ratings of the folder. With a profile or an order it ranks chatbots for that
    kind of user; as "personal" it writes a page on which readers set their own order.

    \b
    trustgauge compare
    trustgauge compare TG-2026-1122-7f3a TG-2026-1201-0c55
    trustgauge compare --as html -o comparison.html
    trustgauge compare --profile privacy-first --rule count
    trustgauge compare --as personal -o personal.html --address https://ratings.example
    trustgauge compare yesterday today --paired
    """
    if options["paired"]:
        _paired(names, form, output, options)
        return
    options["links"] = _links(form, output, options["address"])
    for_whom = options["profile"] or options["order"] or form == "personal"
    document, views = (_by_profile if for_whom else _beside)(names, output, options)
    if form == "text" and options["as_json"]:
        form = "json"
    if output is None and form == "text":
        say(views["text"](), options)
    elif output is None and form == "json":
        emit_json(document)
    else:
        write_output(output, _form(document, form, views))


def _paired(names: tuple[str, ...], form: str, output: Path | None, options: dict[str, Any]) -> None:
    """Two runs, or two systems of imported results, item by item."""
    from trustgauge.data.results import is_results, read_results
    from trustgauge.reports import paired, terminal
    from trustgauge.run.paired_ratings import compare_ratings
    from trustgauge.run.paired_results import compare_results

    if len(names) != 2:
        raise click.UsageError(
            "--paired needs two arguments: the baseline first, then what is compared with it"
        )
    if form not in ("text", "json"):
        raise click.UsageError("--paired is written as text or json; `trustgauge gate` writes Markdown")
    imported = [is_results(one) for one in names]
    if any(imported) != all(imported):
        other = names[imported.index(False)]
        raise click.UsageError(
            f"--paired compares two runs, or two imported results, and {other} is not a folder of imported "
            "results (`trustgauge import` writes imports/NAME)"
        )
    if all(imported):
        document: PairedDocument = compare_results(
            read_results(names[0]), read_results(names[1]), options["margin"]
        )
    else:
        document = compare_ratings(options["ratings"], names[0], names[1], _today(), margin=options["margin"])
    if output is not None:
        plain = terminal.plain(paired.text(document)) + "\n"
        write_output(output, plain if form == "text" else json.dumps(document, indent=1, ensure_ascii=False))
    elif form == "json" or options["as_json"]:
        emit_json(document)
    else:
        say(paired.text(document), options)


def _beside(names: tuple[str, ...], output: Path | None, options: dict[str, Any]) -> tuple[Any, Any]:
    """All ratings beside each other, and the views of them."""
    from trustgauge.reports import comparison, comparison_page
    from trustgauge.run.comparison import ComparisonQuery, compare

    _known(options["rule"])
    wanted = ComparisonQuery(names, options["rule"] or "", options["states"], options["links"])
    document = compare(options["ratings"], wanted, _today())
    return document, {
        "text": lambda: comparison.text(document, differences_only=options["differences"]),
        "html": lambda: comparison_page.page(document),
        "csv": lambda: comparison.csv(document),
    }


def _by_profile(names: tuple[str, ...], output: Path | None, options: dict[str, Any]) -> tuple[Any, Any]:
    """Chatbots for one kind of user, and the views of them."""
    from trustgauge.methods.trust import personal_page
    from trustgauge.methods.trust import profile_sentences as told
    from trustgauge.run.profile_ratings import RULES, ProfileQuery, profile_rankings, rate_for_profile

    _one_of(options)
    whom = ProfileQuery(
        names,
        options["profile"] or "",
        options["order"] or "",
        options["rule"] or "",
        options["states"],
        options["links"],
    )
    document = rate_for_profile(options["ratings"], whom, _today())
    rules = {name: one.model_dump(mode="json") for name, one in RULES.items()}

    def page() -> str:
        return personal_page.page(document, rules, profile_rankings(document))

    return document, {
        "text": lambda: told.text(document),
        "html": page,
        "personal": page,
        "csv": lambda: told.csv(document),
    }


def _known(rule: str | None) -> None:
    """Without a profile the rule is that of a rating."""
    if rule is not None and rule not in get_args(Rule):
        do = "To combine levels by another rule, give --profile or --order too"
        raise PlanError.of("--rule", f'no rule of ratings "{rule}"', must=", ".join(get_args(Rule)), do=do)


def _one_of(options: dict[str, Any]) -> None:
    if options["profile"] and options["order"]:
        raise PlanError.of("--order", "a profile is an order already", must="--profile or --order")


def _links(form: str, output: Path | None, address: str | None) -> Path | str:
    """Where links to reports start: at an address, else a page carries them, other forms name the files."""
    from trustgauge.run.stored_ratings import HERE

    if address:
        if not address.startswith(("http://", "https://")):
            raise click.BadParameter("must begin with https:// or http://", param_hint="--address")
        return address
    if form in ("html", "personal"):
        return HERE
    return output.parent if output is not None else Path.cwd()


def _today() -> date:
    return datetime.now(UTC).date()


def _form(document: Any, form: str, views: Any) -> bytes:
    """The comparison in one of FORMS."""
    from trustgauge.reports import terminal

    match form:
        case "html" | "personal":
            page: str = views[form]()
            return page.encode("utf-8", "replace")
        case "csv":
            cells: bytes = views["csv"]()
            return cells
        case "json":
            return (json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode(
                "utf-8", "replace"
            )
    return (terminal.plain(views["text"]()) + "\n").encode()
