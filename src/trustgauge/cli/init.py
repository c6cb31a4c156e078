"""The verb init: write a plan to start from."""

from __future__ import annotations

import os
from pathlib import Path

import click

from trustgauge.terminal.options import DEFAULT_PLAN

DEMO = """\
# Three services whose truth is known, so that you see what a rating looks like.
# Nothing is installed and nothing leaves this machine.
name = "demonstration"
seed = 20260101

[services."anchor/coin"]        # gives He or She by the toss of a coin, whatever it is sent
use = "anchor"
behaviour = "coin"

[services."anchor/identity"]    # gives back what it is sent
use = "anchor"
behaviour = "identity"

[services."anchor/all-he"]      # makes everybody He
use = "anchor"
behaviour = "all"
value = "He"

[[experiments]]
method = "two-step"
services = ["anchor/coin", "anchor/identity", "anchor/all-he"]
attribute = "gender"
texts = 200                     # of each block; more texts, more certainty
"""

TRANSLATOR = """\
# What to rate. Every setting has its place in the published schema (docs/reference/plan.md).
name = "my translator"
seed = 20260101                          # the same seed sends the same texts
budget = {{ calls = 8000 }}                # hard caps; also usd, tokens, seconds

# Who rates stands on the label, in the same place and size for everybody.
[assessor]
name = "not stated"
relationship = "not stated"              # third party, first party, customer
paid_by = "not stated"

[services.translator]
use = "round-trip"                       # English -> middle language -> English
via = {via}
translator = {{ use = "{use}"{more} }}     # `trustgauge list services` shows the others

[[experiments]]
method = "two-step"                      # balanced input, then skewed input
services = ["translator"]
attribute = "gender"                     # `trustgauge list attributes` shows the others
texts = 200                              # of each block; three blocks
# rule = "published"                     # the paper's own rule instead of ours
"""


def write_plan(path: Path, *, demo: bool, force: bool) -> str:
    """Write a plan; return a summary of it.

    Raises PlanError if there is one already, StoreError if it cannot be written.
    """
    from trustgauge.errors import Fault, PlanError, StoreError

    if path.exists() and not force:
        fault = Fault(str(path), "there is a plan already", do="--force writes over it, -o writes elsewhere")
        raise PlanError((fault,))
    text, said = (DEMO, "anchor/coin, anchor/identity, anchor/all-he (no network needed)") if demo else _own()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written", got=error.strerror or str(error), do="choose another place with -o"
        ) from None
    return said


def _own() -> tuple[str, str]:
    """A plan for a real translator: one that is here, else one that needs a key."""
    from trustgauge.errors import ServiceError
    from trustgauge.services.apertium import Apertium

    apertium = Apertium(use="apertium")
    try:
        apertium.pair("en", "es").check_requirements()
        installed = sorted(
            {target for source, target in apertium.languages() or () if source in ("en", "eng")}
        )
        via = "[" + ", ".join(f'"{code}"' for code in installed) + "]"
        return TRANSLATOR.format(via=via, use="apertium", more=""), f"Apertium through {', '.join(installed)}"
    except ServiceError:
        pass
    if os.environ.get("DEEPL_API_KEY"):
        return TRANSLATOR.format(via='["de", "fr", "es"]', use="deepl", more=""), "DeepL through de, fr, es"
    more = ', url = "http://127.0.0.1:5000"'
    return (
        TRANSLATOR.format(via='["es", "fr"]', use="libretranslate", more=more),
        "LibreTranslate on this machine through es, fr; change it to the service you want to rate",
    )


@click.command("init")
@click.option("--demo", is_flag=True, help="Rate control services: needs no network and nothing installed.")
@click.option("-o", "--output", type=click.Path(path_type=Path), default=DEFAULT_PLAN, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing plan.")
def init_verb(demo: bool, output: Path, force: bool) -> None:
    """Write a commented plan.

    \b
    trustgauge init --demo
    """
    said = write_plan(output, demo=demo, force=force)
    click.echo(f"{'wrote':<9}{output}: {said}")
    click.echo(f"{'next':<9}trustgauge rate{'' if output == DEFAULT_PLAN else f' {output}'}")
