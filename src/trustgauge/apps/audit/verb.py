"""The verb audit: people label a blind sample of a run's own answers, and the rating follows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trustgauge.terminal.options import access_options, confirm, load_environment, output_options
from trustgauge.terminal.output import exit_of, say_or_emit, say_under_heads, show_result

if TYPE_CHECKING:
    from trustgauge.run.audit import Audit
    from trustgauge.run.audit_sample import AuditSample
    from trustgauge.run.labelling import Labelling

_FILE = click.Path(path_type=Path, dir_okay=False)
LABELLER = "labeller 1"


@click.command("audit")
@click.argument("name", metavar="ID or FILE", default="latest")
@click.option("--service", default="", metavar="NAME", help="Service to audit, if the run rates several.")
@click.option("--method", default="", metavar="NAME", help="Method to audit, if several rate the service.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help="Answers to sample.  [default: 200, or up to 600 where comparisons need them]",
)
@click.option(
    "--unread",
    is_flag=True,
    help="Only the answers that the program could not interpret, and two of each sentence that repeats.",
)
@click.option("--by", default=LABELLER, show_default=True, metavar="NAME", help="Name of the labeller.")
@click.option("--export", "export_to", type=_FILE, metavar="FILE", help="Write a sheet to fill in.")
@click.option("--import", "import_from", type=_FILE, metavar="FILE", help="Import the labels of a sheet.")
@click.option("--disputed", is_flag=True, help="Only answers on which two labellers disagree.")
@click.option("--blanks", is_flag=True, help="Only answers of the sample that nobody has labelled.")
@click.option("--judge", metavar="SERVICE", help="Let a chat service label, after measuring it.")
@click.option("--status", is_flag=True, help="Show the progress of the audit and exit.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the page.  [default: a free one]"
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@output_options
@access_options
def audit_verb(name: str, **options: Any) -> Any:
    """Audit the reader of a rating: label a blind sample of its answers.

    \b
    trustgauge audit latest --service assistant
    trustgauge audit TG-2026-1122-7f3a.2
    trustgauge audit latest --unread
    trustgauge audit latest --export sample.xlsx
    trustgauge audit latest --import sample.xlsx --by "A. Reader"

    Opens a local page: one key labels an answer, u undoes, q quits. Neither the service nor the program's
    verdict is shown. Every label is saved at once, so an audit can be stopped and resumed. The rating is then
    recomputed from the labels; `trustgauge verify` covers them. Two people label the same sample under two
    names (--by); a third labels what they disagree on (--disputed). Sends requests only with --judge: a chat
    service of the plan, or PROVIDER/MODEL, is measured on labelled answers of the same styles and labels the
    sample, and its errors are taken into account.
    """
    from trustgauge.catalogue import find_folder
    from trustgauge.run.labelling import Labelling

    export_to, import_from = options["export_to"], options["import_from"]
    if options["unread"] and (options["sample"] or options["judge"]):
        raise click.UsageError(
            "--unread takes all such answers, and people label them: no --sample, no --judge"
        )
    if sum((export_to is not None, import_from is not None, options["status"], bool(options["judge"]))) > 1:
        raise click.UsageError("give one of --export FILE, --import FILE, --judge SERVICE and --status")
    folder = find_folder(name, options["ratings"])
    audit = _audit(folder, name, options)
    sample = _sample(audit, options)
    labelling = Labelling(
        audit, sample, options["by"], disputed=options["disputed"], blanks=options["blanks"]
    )
    if options["status"]:
        return _tell(labelling, options)
    from trustgauge.reports.sanitize import count_with_noun

    if export_to is not None:
        rows = labelling.export(export_to, overwrite=options["force"])
        chosen = [f"--{one} {shlex.quote(options[one])}" for one in ("service", "method") if options[one]]
        chosen += ["--unread"] if options["unread"] else []
        meant = folder.name if name == "latest" else name  # tomorrow another run may be the latest
        elsewhere = options["ratings"] != Path("ratings")
        chosen += ["--ratings", shlex.quote(str(options["ratings"]))] if elsewhere else []
        again = " ".join(
            ["trustgauge audit", shlex.quote(meant), *chosen, "--import", shlex.quote(str(export_to))]
        )
        after = f"fill in the column label, then {again} --by NAME"
        wrote = f"{export_to}: {count_with_noun(rows, 'answer', 'answers')}"
        return say_or_emit({"rows": rows}, [("wrote", wrote), ("next", after)], options)
    if import_from is not None:
        added = labelling.import_labels(import_from)
        if not options["as_json"]:
            say_under_heads([("stored", f"{count_with_noun(added, 'label', 'labels')} in {folder}")], options)
    elif options["judge"]:
        _judge(audit, sample, options)
    else:
        _page(labelling, options)
    return _rate_again(folder, Labelling(audit, sample, options["by"]), options)


def _audit(folder: Path, name: str, options: dict[str, Any]) -> Audit:
    """The audit of the rating that the name means, or of the one that the options choose."""
    from trustgauge.run.audit import Audit
    from trustgauge.run.stored_ratings import place_of

    place = place_of(folder, name)
    if place is None:
        return Audit(folder, options["service"], options["method"])
    return Audit(folder, options["service"] or place[1], options["method"], experiment=place[0])


def _sample(audit: Audit, options: dict[str, Any]) -> AuditSample:
    """The answers at hand: those that are drawn now, or were before."""
    from trustgauge.run.audit_log import read_log

    size = options["sample"]
    if options["unread"]:
        return audit.unread_sample() if options["status"] else audit.draw_unread()
    log = read_log(audit.folder)
    drawn = log.sizes.get(audit.place) or (audit.place in log.unread and not options["judge"])
    if size or not (drawn or options["status"]):
        return audit.draw(size or audit.default_size())
    return audit.sample()


def _judge(audit: Audit, sample: AuditSample, options: dict[str, Any]) -> None:
    """Have a model label; the user has confirmed whom that reaches."""
    from trustgauge.apps.audit.model_labels import label_by_model
    from trustgauge.reports.sanitize import count_with_noun
    from trustgauge.run.judge_calls import JudgeCallOptions, service_of

    name = options["judge"]
    service = service_of(name, audit.plan if name in audit.plan.services else None)
    load_environment([service])
    confirm({name: service}, service.fingerprint, options)
    plan = audit.plan if name in audit.plan.services else None
    asking = JudgeCallOptions(plan, keep=audit.folder / "audit-judge.sqlite")
    by_lot = replace(sample, items=tuple(one for one in sample.items if one.by_lot))
    done = label_by_model(audit, by_lot, name, asking)
    said = (
        f"{name}: {count_with_noun(done.labels, 'label', 'labels')}, {done.undecided:,} undecided; "
        f"right in {done.sensitivity:.0%} and {done.specificity:.0%} of {done.measured_on:,} labelled "
        "answers of these styles"
    )
    if not options["as_json"]:
        say_under_heads([("judge", said)], options, err=True)


def _page(labelling: Labelling, options: dict[str, Any]) -> None:
    from trustgauge.apps.audit.page import serve

    def ready(address: str) -> None:
        lines = [
            ("page", address),
            ("keys", "1, 2, 3 and so on label the answer; u takes back; q ends; Ctrl-C stops here"),
        ]
        say_under_heads(lines, options, err=True)

    serve(labelling, options["port"], ready)


def _rate_again(folder: Path, labelling: Labelling, options: dict[str, Any]) -> Any:
    """What the labels make of the ratings of the service; other services of the run stay as they were."""
    from trustgauge.run.verify import rerate

    document = rerate(folder)
    if not options["as_json"]:
        if not options["quiet"]:
            _tell(labelling, options, err=True)
        own = [one for one in document["ratings"] if one["service"]["name"] == labelling.audit.service]
        document["ratings"] = own
    show_result(document, folder, options)
    return exit_of(document)


def _tell(labelling: Labelling, options: dict[str, Any], *, err: bool = False) -> None:
    from trustgauge.reports.sanitize import count_with_noun

    status = labelling.status()
    facts = {**asdict(status), "disputed": [list(one) for one in _disputed(labelling)]}
    text = f"{status.labelled:,} of {status.drawn:,} answers are labelled, of {status.population:,} in all"
    if not status.drawn:
        text = f"no sample is drawn yet, of {status.population:,} answers"
    lines = [("audit", text)]
    if status.twice:
        differ = f"they disagree about {status.disagreements:,}"
        lines.append(("twice", f"{status.twice:,} by two or more; {differ}"))
    if status.passed_over:
        blank = count_with_noun(status.passed_over, "answer", "answers")
        then = "which may keep the level open: label them with --blanks"
        lines.append(("blank", f"{blank} passed over, {then}"))
    lines += [("differ", f"{said}: {question}") for question, said in _disputed(labelling)]
    say_or_emit(facts, lines, options, err=err)


def _disputed(labelling: Labelling) -> Iterator[tuple[str, str]]:
    from trustgauge.run.labelling import disputes

    yield from disputes(labelling.sample.items, labelling.audit.labels)
