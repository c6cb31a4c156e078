"""The verb check: one request to each service of a plan."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from trustgauge.terminal.options import access_options, confirm_plan, plan_of, plan_options
from trustgauge.terminal.output import Exit, emit_json


@click.command("check")
@click.argument("target", required=False, metavar="[PLAN or SERVICE]")
@access_options
@plan_options
def check_verb(target: str | None, **options: Any) -> Any:
    """Check a plan, then send one request to each service.

    \b
    trustgauge check trustgauge.toml
    """
    from trustgauge.run.ask import smoke_test
    from trustgauge.run.prepare import prepare

    plan = plan_of(target, options)
    confirm_plan(plan, options)
    results = smoke_test(prepare(plan))
    if options["as_json"]:
        emit_json([asdict(one) for one in results])
    else:
        for one in results:
            click.echo(one.text())
    failed = [one.name for one in results if one.error]
    return (
        Exit(3, f"{', '.join(failed)} did not answer as the plan expects; nothing was rated")
        if failed
        else None
    )
