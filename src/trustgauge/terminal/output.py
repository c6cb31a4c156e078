"""Printing and writing results: JSON, lines, files, and the result of a run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument


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
