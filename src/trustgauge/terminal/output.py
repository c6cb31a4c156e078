"""Results of a verb: JSON, lines and files, and the exit code that a script sees.

Of several exit codes the first of ORDER wins: a gate passes or fails only on complete and settled
evidence, so with `--fail-on` a rating that is not settled exits 5 (docs/reference/commands.md).
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from trustgauge.reports.document import unread, usable

if TYPE_CHECKING:
    from trustgauge.reports.document_model import GateEntry, RatingEntry, RunDocument


WORDS = {
    0: "done",
    1: "internal error, or a void run",
    2: "usage or plan error; nothing was sent",
    3: "service unreachable, key missing or refused; nothing rated",
    4: "incomplete; all received answers are saved",
    5: "not settled, or below the certainty asked for",
    10: "gate failed",
    130: "interrupted; all received answers are saved",
}
ORDER = (130, 1, 2, 3, 4, 5, 10, 0)
NOTHING = ("incomplete", "not tested", "void")
"""States of a rating that says nothing."""


def emit_json(value: Any) -> None:
    """Exactly one JSON document on stdout."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")  # then no character may be replaced
    click.echo(json.dumps(value, indent=1, ensure_ascii=plain, sort_keys=True))


def say(lines: Any, options: dict[str, Any], *, err: bool = False) -> None:
    """Print lines of `reports.text`: coloured in a terminal, plain in a pipe."""
    from trustgauge.reports import terminal

    stream = sys.stderr if err else sys.stdout
    if options.get("no_color") or os.environ.get("NO_COLOR") or not stream.isatty():
        click.echo(terminal.plain(lines), err=err)
        return
    from rich.console import Console

    Console(stderr=err, highlight=False, soft_wrap=True).print(terminal.rich_text(lines))


def show_result(document: RunDocument, folder: Path, options: dict[str, Any]) -> None:
    """The outcome on stdout; where the report lies on stderr."""
    from trustgauge.reports import terminal

    if options["as_json"]:
        emit_json(document)
        return
    if options["quiet"]:
        for rating in document["ratings"]:
            say([terminal.headline(rating, brackets=True)], options)
        return
    say(terminal.result(document), options)
    say([terminal.line("report", str(folder / "report.html"))], options, err=True)


def write_output(path: Path | None, data: bytes | str, *, option: str = "-o") -> None:
    """Write a result to a file and say so on stderr; to stdout if there is no path.

    Raises:
        StoreError: the file cannot be written.
    """
    from trustgauge.errors import StoreError

    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if path is None:
        sys.stdout.buffer.write(data)
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        got, do = error.strerror or str(error), f"choose another place with {option}"
        raise StoreError(f"{path} cannot be written", got=got, do=do) from None
    click.echo(f"{'wrote':<9}{path}", err=True)


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit code and why, in words."""

    code: int
    why: str

    def __str__(self) -> str:
        return f"exit {self.code}: {self.why}"


def exit_of(document: RunDocument, refused: Mapping[str, str] = MappingProxyType({})) -> Exit:
    """The exit of a finished run.

    Args:
        document: the run's `rating.json`; its ratings carry their gate, if one was set.
        refused: service or part -> why it refused or could not be reached.
    """
    reached = [Exit(0, WORDS[0])]
    run = document["run"]
    if run["state"] == "void":
        wrong = ", ".join(one["name"] for one in run["anchors"] if one["wrong"])
        reached.append(
            Exit(1, f"void run: {wrong} got a wrong level, so our instrument is at fault; please report it")
        )
    ratings = document["ratings"]
    if refused:
        why = "; ".join(f"{part}: {said.rstrip('.')}" for part, said in refused.items())
        # Services that could be rated are; the code tells a script that one could not.
        rated = any(one["state"] not in NOTHING for one in ratings)
        told = "the others are rated" if rated else "nothing rated"
        reached.append(Exit(3, f"{why}; {told}"))
    if run["stopped"] or any(one["state"] == "incomplete" for one in ratings):
        why = run["stopped"] or _why_incomplete(ratings)
        reached.append(Exit(4, f"incomplete: {why}; all received answers are saved"))
    reached += [_gate(one, gate) for one in ratings if (gate := one.get("gate"))]
    return min(reached, key=lambda one: ORDER.index(one.code))


def _why_incomplete(ratings: Sequence[RatingEntry]) -> str:
    incomplete = [one for one in ratings if one["state"] == "incomplete"]
    codes = {reason["code"] for one in incomplete for reason in one.get("reasons", ())}
    if "same-answer" in codes:
        return "one and the same answer to different questions"
    cover = [one["coverage"] for one in incomplete]
    lost = any(usable(one) + unread(one) + one["not_applicable"] < one["planned"] for one in cover)
    return "too many calls lost" if lost else "what was asked could not be measured"


def _gate(rating: RatingEntry, gate: GateEntry) -> Exit:
    overall, name = rating["overall"], rating["service"]["name"]
    level = overall["level"]
    certainty = overall["certainty"].get(level, 0.0) if level else 0.0
    match gate["reason"]:
        case "gate.level":
            same = "as bad as" if level == gate["fail_on"] else "worse than"
            return Exit(10, f"gate failed: {level} is {same} --fail-on {gate['fail_on']}")
        case "gate.not-settled":
            from trustgauge.reports import sentences

            why = sentences.unsettled_state(rating).partition(": ")[2]
            told = f"not settled: {name} is {level} with certainty {certainty:.2f}"
            return Exit(5, f"{told}; {why}" if why else told)
        case "gate.certainty":
            return Exit(
                5, f"certainty of {name} is {certainty:.2f}, below --need-certainty {gate['need_certainty']}"
            )
        case "gate.incomplete":
            return Exit(4, f"incomplete: {name} cannot pass or fail a gate; all received answers are saved")
    return Exit(0, WORDS[0])
