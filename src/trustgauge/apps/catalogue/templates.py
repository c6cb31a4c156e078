"""Templates and style of the catalogue's pages, over those of the reports."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader

from trustgauge.data import package_text
from trustgauge.reports import comparison_page, components, html, label, numbers


@cache
def environment() -> Environment:
    """The templates of the report and of the catalogue, with the filters of the report."""
    return with_templates(html.environment())


def with_templates(shared: Environment) -> Environment:
    """Templates of `reports` with those of the catalogue before them."""
    assert shared.loader is not None
    made = shared.overlay(loader=ChoiceLoader([PackageLoader("trustgauge.apps.catalogue"), shared.loader]))
    made.filters = dict(shared.filters)
    made.globals = dict(shared.globals)
    return made


@cache
def site_environment() -> Environment:
    """The templates of the catalogue, with all filters of the report."""
    made = with_templates(environment())
    made.filters["moment"] = numbers.moment
    made.filters["badge_words"] = lambda rating: f"{label.issue(rating)}: {label.outcome(rating)}"
    return made


@cache
def comparison_environment() -> Environment:
    """The templates of the comparison, within the catalogue."""
    return with_templates(comparison_page.environment())


@cache
def personal_environment() -> Environment:
    """The templates of the personal page, within the catalogue."""
    from trustgauge.methods.trust import personal_page

    return with_templates(personal_page.environment())


def load_templates() -> None:
    """Compile all templates now: Python does not always bear that from several threads at once."""
    made = site_environment()
    for name in PackageLoader("trustgauge.apps.catalogue").list_templates():
        if name.endswith(".j2") and name not in ("compare.html.j2", "profile.html.j2"):
            made.get_template(name)
    environment().get_template("card.html.j2")
    html.environment().get_template("report.html.j2")
    comparison_environment().get_template("compare.html.j2")
    personal_environment().get_template("profile.html.j2")


@cache
def own_file(name: str) -> str:
    """The text of a file beside the templates."""
    return package_text(__package__, f"templates/{name}")


@cache
def style() -> str:
    """The style of every page."""
    shared = (html.style(), comparison_page.style().removeprefix(html.style()), components.file("audit.css"))
    return "\n".join((*shared, own_file("site.css")))


@cache
def policy(styles: str, script: str = "", *, own_script: bool = False) -> str:
    """The content policy of a page: its own style and script, pictures and forms of the catalogue."""
    text = components.policy(styles, script)
    text = text.replace("img-src data:", "img-src 'self' data:").replace(
        "form-action 'none'", "form-action 'self'"
    )
    return f"{text}; script-src 'self'; connect-src 'self'" if own_script else text
