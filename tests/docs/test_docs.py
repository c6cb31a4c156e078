"""Documentation that can fail: help, error codes, schemas and links are checked against the code."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import click
import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from pydantic import BaseModel

from trustgauge import errors, plugins
from trustgauge.cli.list import schemas
from trustgauge.cli.main import group, verbs
from trustgauge.data.conversations import ConversationSource
from trustgauge.data.dialogs import DialogSource
from trustgauge.data.properties import PropertySource
from trustgauge.data.social_groups import GroupSource
from trustgauge.data.terms import TermSource
from trustgauge.methods.causal.sentences import SentenceSource
from trustgauge.methods.causal.settings import CausalSettings
from trustgauge.methods.social_bias.settings import SocialBiasSettings
from trustgauge.methods.trust.combine import Combination
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.issues.bias import Bias
from trustgauge.methods.trust.issues.complexity import Complexity
from trustgauge.methods.trust.issues.leakage import Leakage
from trustgauge.methods.trust.issues.readability import Readability
from trustgauge.methods.trust.settings import TrustSettings, Variants

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"])


def classes(root: type[errors.TrustgaugeError]) -> list[type[errors.TrustgaugeError]]:
    return [root, *(each for child in root.__subclasses__() for each in classes(child))]


def test_every_error_code_has_its_heading_and_every_heading_its_code() -> None:
    codes = {one.code for one in classes(errors.TrustgaugeError)}
    headings = set(re.findall(r"^## (\S+)$", (DOCS / "reference/errors.md").read_text("utf-8"), re.M))
    assert headings == codes


def test_every_error_class_stands_in_the_tree_of_the_module() -> None:
    tree = errors.__doc__ or ""
    assert all(one.__name__ in tree for one in classes(errors.TrustgaugeError))


@pytest.mark.parametrize("verb", verbs())
def test_help_in_the_docs_is_what_the_command_prints(verb: str) -> None:
    context = group.make_context("trustgauge", [], resilient_parsing=True)
    command = group.get_command(context, verb)
    assert command is not None
    printed = command.get_help(click.Context(command, info_name=verb, parent=context, max_content_width=100))
    page = (DOCS / "reference/commands.md").read_text("utf-8")
    shown = re.search(rf"^## {verb}\n\n```text\n(.*?)\n```", page, re.M | re.S)
    assert shown is not None, (
        f"docs/reference/commands.md has no section for {verb}: run `python docs/build.py`"
    )
    assert shown[1] == printed.rstrip(), "run `python docs/build.py`"


def test_the_site_is_built_and_every_link_in_it_leads_somewhere(tmp_path: Path) -> None:
    settings = load_config(str(DOCS.parent / "mkdocs.yml"), site_dir=str(tmp_path), strict=True)
    build(settings)  # raises Abort if a link leads nowhere
    page = (tmp_path / "guide/importing.html").read_text("utf-8")
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=.https?:", page)  # nothing from other hosts


def test_the_manual_page_is_what_the_commands_print() -> None:
    made = runpy.run_path(str(DOCS / "build.py"))["manual"]()
    assert (DOCS / "reference/trustgauge.1").read_text("utf-8") == made, "run `python docs/build.py`"


def test_published_schemas_are_those_of_the_code() -> None:
    published = {
        path.stem.removesuffix("-1"): json.loads(path.read_text("utf-8"))
        for path in (DOCS / "reference/schemas").glob("*.json")
    }
    assert published == json.loads(json.dumps(schemas())), "run `python docs/build.py`"


@pytest.mark.parametrize("method", ["causal", "social-bias", "trust", "two-step"])
def test_the_published_schema_says_what_every_setting_of_a_method_means(method: str) -> None:
    plan = json.loads((DOCS / "reference/schemas/plan-1.json").read_text("utf-8"))
    settings = plan["$defs"][f"methods:{method}"]["properties"]
    assert [name for name, one in settings.items() if "description" not in one] == []


@pytest.mark.parametrize("service", plugins.names("services"))
def test_the_published_schema_says_what_every_setting_of_a_service_means(service: str) -> None:
    plan = json.loads((DOCS / "reference/schemas/plan-1.json").read_text("utf-8"))
    one = plan["$defs"][f"services:{service}"]
    assert [name for name, about in one["properties"].items() if "description" not in about] == []
    assert "Attributes:" not in one["description"]


def test_every_service_that_an_error_names_is_in_the_table_of_services() -> None:
    table = (DOCS / "guide/services.md").read_text("utf-8").partition("## Which one")[2].partition("\n## ")[0]
    documented = {
        name for cell in re.findall(r"^\| \[([^\]]+)\]\(", table, re.M) for name in cell.split(", ")
    }
    assert documented == set(plugins.names("services"))


def _undescribed(schema: Any, place: str = "") -> list[str]:
    """The places of properties that a schema names without a description, at any depth."""
    if isinstance(schema, list):
        return [one for number, part in enumerate(schema) for one in _undescribed(part, f"{place}/{number}")]
    if not isinstance(schema, dict):
        return []
    fields = schema.get("properties", {})
    bare = [f"{place}/{name}" for name, about in fields.items() if not about.get("description")]
    for key, part in schema.items():
        inner = part.items() if key in ("properties", "$defs") else [(key, part)]
        bare += [one for name, about in inner for one in _undescribed(about, f"{place}/{name}")]
    return bare


def test_the_published_schema_of_plans_describes_every_field() -> None:
    plan = json.loads((DOCS / "reference/schemas/plan-1.json").read_text("utf-8"))
    assert _undescribed(plan) == []
    assert "Attributes:" not in json.dumps(plan)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text("utf-8")):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_claims_that_a_service_is_fair(page: Path) -> None:
    text = page.read_text("utf-8").lower().replace('"it is fair"', "").replace('"is fair"', "")
    assert "is fair" not in text
    assert "unbiased service" not in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_docs_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, str(page), "exec"), {"__name__": "docs"})


@pytest.mark.parametrize(
    ("heading", "settings"),
    [
        ("## causal", CausalSettings),
        ("### sentences", SentenceSource),
        ("### conversations", ConversationSource),
        ("## social-bias", SocialBiasSettings),
        ("### group_table", GroupSource),
        ("### property_table", PropertySource),
        ("## trust", TrustSettings),
        ("### combination", Combination),
        ("### variants", Variants),
        ("### abuse", Abuse),
        ("### bias", Bias),
        ("### complexity", Complexity),
        ("### terms", TermSource),
        ("### leakage", Leakage),
        ("### readability", Readability),
        ("### dialogs", DialogSource),
    ],
    ids=lambda one: one if isinstance(one, str) else one.__name__,
)
def test_every_setting_of_a_method_stands_in_its_table(heading: str, settings: type[BaseModel]) -> None:
    page = (DOCS / "reference/plan.md").read_text("utf-8")
    section = re.search(rf"^{heading}\n(.*?)^##", page, re.M | re.S)
    assert section is not None
    cells = re.findall(r"^\| ([^|]*) \|", section[1], re.M)
    result = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert result == set(settings.model_fields)
