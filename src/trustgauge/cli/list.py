"""The verb list. Each list is a function that gives rows; that of ratings gets the folder of all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import trustgauge
from trustgauge import plugins
from trustgauge.errors import PlanError, TrustgaugeError
from trustgauge.terminal.options import output_options
from trustgauge.terminal.output import emit_json

if TYPE_CHECKING:
    from trustgauge.catalogue import IndexedRun

Rows = list[dict[str, Any]]


def _load(group: str, name: str) -> tuple[Any, str]:
    """A plug-in; if it cannot be imported, or is no whole method, None, and why: all others can be had."""
    from trustgauge.methods import method_fault

    try:
        found = plugins.load(group, name)
    except PlanError as error:
        return None, str(error)
    fault = method_fault(found, name, group) if group == "methods" else None
    return (None, str(fault)) if fault else (found, "")


def _plug_ins(group: str) -> Rows:
    """Every plug-in of a group, with the first line of its docstring."""
    rows = []
    for name in plugins.names(group):
        found, why = _load(group, name)
        first = (found.__doc__ or "").strip().splitlines() if found else [why]
        rows.append({"name": name, "what": first[0] if first else ""})
    return rows


def methods() -> Rows:
    """Every method, its paper and its scale, best first."""
    rows = []
    for name in plugins.names("methods"):
        model, why = _load("methods", name)
        scale, paper = (" > ".join(model.scale.levels), model.paper) if model else ("", why)
        rows.append({"name": name, "scale": scale, "paper": paper})
    return rows


def issues() -> Rows:
    """Every issue that the trust method can measure, with the paper's letters."""
    rows = []
    for name in plugins.names("issues"):
        model, why = _load("issues", name)
        what = " ".join((model.__doc__ or "").strip().split("\n\n")[0].split()) if model else why
        rows.append({"name": name, "code": model.code if model else "", "what": what})
    return rows


def profiles() -> Rows:
    """The published profiles, each with its order of issues; a plan may have others."""
    from trustgauge.methods.trust.profiles import PUBLISHED

    return [{"name": one.name, "order": " > ".join(one.order)} for one in PUBLISHED.values()]


def pages() -> Rows:
    """The pages of the documentation, with the file of each: errors and plans name them."""
    package = Path(trustgauge.__file__).parent
    docs = next((one for one in (package / "docs", package.parents[1] / "docs") if one.is_dir()), None)
    folders = ("guide", "methods", "reference")
    files = sorted(file for name in folders for file in (docs / name).glob("*.md")) if docs else []
    return [{"name": f"docs/{one.parent.name}/{one.name}", "file": str(one)} for one in files]


def attributes() -> Rows:
    """The attributes that are shipped."""
    from trustgauge.data import ATTRIBUTES, load_attribute

    found = [(name, load_attribute(name)) for name in ATTRIBUTES]
    return [
        {"name": name, "values": ", ".join(one.values), "tasks": f"({', '.join(one.tasks)})"}
        for name, one in found
    ]


def groups() -> Rows:
    """The social groups that are shipped, by attribute (social-bias)."""
    from trustgauge.data import social_groups

    shipped = (one for one in social_groups.groups() if not one.control)
    found = sorted(shipped, key=lambda one: (one.attribute, one.id))
    return [{"attribute": one.attribute, "name": one.id, "plural": one.plural} for one in found]


def controls() -> Rows:
    """The control services with known behaviour of every method, and the level each must get."""
    rows = []
    for name in plugins.names("methods"):
        model, why = _load("methods", name)
        try:
            method = model and model(method=name, services=("any",))
        except TrustgaugeError as error:  # its usual settings need a library that is not installed
            method, why = None, str(error)
        if not method:
            rows.append({"name": name, "method": name, "truth": why.replace("\n", ". ")})
            continue
        for control in method.controls(method.tasks[0]):
            rows.append({"name": control.name, "method": name, "truth": f"must get {control.truth}"})
    return rows


def languages() -> Rows:
    """Codes and names of the languages that plans may name."""
    from trustgauge.services import languages as codes

    return [{"code": code, "name": codes.name(code)} for code in sorted(codes.language_names())]


def exports() -> Rows:
    """The forms that `show --as` can give."""
    return [{"name": "text"}, *({"name": name} for name in plugins.names("exports"))]


CAUSES: Mapping[str, str] = {"": "", "limit": "a limit was reached", "error": "the service failed"}
"""Why not everything was asked, by the cause of the index."""
CONTRADICTS = "contradicts itself; `trustgauge verify` says where"


def ratings(ratings: Path) -> Rows:
    """All ratings of the folder and its unfinished runs, newest first."""
    from trustgauge.catalogue import index, unfinished_runs

    found = [(run.started, name, _rows(run)) for name, run in index(ratings).items()]
    found += [(run.began, run.folder.name, [run.facts()]) for run in unfinished_runs(ratings)]
    return [row for *_, rows in sorted(found, key=lambda run: run[:2], reverse=True) for row in rows]


def _rows(run: IndexedRun) -> Rows:
    """The ratings of a run."""
    today = datetime.now(UTC).date().isoformat()
    return [
        {
            "id": one.id,
            "tested": one.tested,
            "method": f"{one.method}, {one.attribute}",
            "rule": one.rule,
            "level": (one.level or "not rated") if one.state == "rated" else f"({one.level or 'not rated'})",
            "state": one.state,
            "service": one.service,
            "note": "; ".join(
                filter(
                    None,
                    (CAUSES[one.cause], "expired" * (one.expires < today), CONTRADICTS * run.contradicts),
                )
            ),
        }
        for one in run.lines
    ]


def schemas() -> dict[str, Any]:
    """The published JSON schemas of a plan, a rating and the three comparisons."""
    from trustgauge.methods.trust.profile_model import profile_schema
    from trustgauge.plan import plan_schema
    from trustgauge.reports.comparison_model import comparison_schema, paired_schema
    from trustgauge.reports.document_model import document_schema

    return {
        "plan": plan_schema(),
        "rating": document_schema(),
        "comparison": comparison_schema(),
        "by-profile": profile_schema(),
        "paired": paired_schema(),
    }


LISTS: Mapping[str, Callable[..., Any]] = {
    "services": partial(_plug_ins, "services"),
    "methods": methods,
    "judges": partial(_plug_ins, "judges"),
    "issues": issues,
    "profiles": profiles,
    "attributes": attributes,
    "groups": groups,
    "pages": pages,
    "anchors": controls,
    "languages": languages,
    "exports": exports,
    "engines": partial(_plug_ins, "engines"),
    "stores": partial(_plug_ins, "stores"),
    "importers": partial(_plug_ins, "importers"),
    "ratings": ratings,
    "schemas": schemas,
}

WIDTHS: Mapping[str, Mapping[str, int]] = {
    "services": {"name": 16},
    "methods": {"name": 12},
    "judges": {"name": 9},
    "issues": {"name": 12, "code": 2},
    "profiles": {"name": 16},
    "attributes": {"name": 10},
    "groups": {"attribute": 11, "name": 32},
    "pages": {"name": 32},
    "anchors": {"name": 20},
    "languages": {"code": 4},
    "engines": {"name": 7},
    "stores": {"name": 7},
    "importers": {"name": 12},
}
"""List -> column -> how wide it is for people."""


def _shown(what: str, name: str, value: Any) -> str:
    from trustgauge.reports.sanitize import visible

    text = f"{value:,} answer{'s' * (value != 1)}" if name == "answers" else visible(str(value))
    return text.ljust(WIDTHS.get(what, {}).get(name, 0))


@click.command("list")
@click.argument("what", required=False, default="ratings")
@output_options
def list_verb(what: str, **options: Any) -> None:
    """List services, methods, judges, issues, profiles, attributes, groups, anchors or languages.

    Or engines, exports, importers, pages, ratings, schemas and stores.

    \b
    trustgauge list services
    trustgauge list ratings --json
    """
    if what not in LISTS:
        raise PlanError((plugins.unknown("WHAT", "list", what, tuple(LISTS)),))
    rows = LISTS[what](options["ratings"]) if what == "ratings" else LISTS[what]()
    if what == "schemas":
        for why in [one["description"] for one in rows["plan"]["$defs"].values() if one.get("not") == {}]:
            click.echo(f"{'note':<9}left out: {why}", err=True)
    if options["as_json"] or isinstance(rows, dict):
        emit_json(rows)
        return
    for row in rows:
        click.echo(
            "  ".join(_shown(what, name, value) for name, value in row.items() if value not in ("", None))
        )
    if not rows:
        click.echo(f"no {what}", err=True)
