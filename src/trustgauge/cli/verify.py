"""The verb verify: re-derive a rating from its stored answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import emit_json


@click.command("verify")
@click.argument("name", metavar="ID or FILE", default="latest")
@output_options
def verify_verb(name: str, **options: Any) -> Any:
    """Recompute hashes, summaries and levels from the stored answers. Sends no requests.

    \b
    trustgauge verify TG-2026-1122-7f3a
    """
    from trustgauge.catalogue import find_folder
    from trustgauge.reports import numbers
    from trustgauge.run.verify import verify
    from trustgauge.terminal.exits import Exit

    verdict = verify(find_folder(name, options["ratings"]), datetime.now(UTC).date())
    if options["as_json"]:
        emit_json(verdict.facts())
    elif not verdict.differences:
        until = f"{'expired' if verdict.expired else 'valid until'} {numbers.day(verdict.expires)}"
        click.echo(
            f"{'ok':<9}{verdict.answers:,} answers, {verdict.readings:,} readings, "
            f"{verdict.levels:,} levels re-derived; all equal · {until}"
        )
    for difference in verdict.differences:
        click.echo(f"{'differs':<9}{difference}", err=options["as_json"])
    if verdict.differences:
        return Exit(10, "verify disagrees with the rating that was issued")
    return None
