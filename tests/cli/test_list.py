"""What can be listed: padded for people, as it is for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from tests.apps.catalogue.documents import two_step
from trustgauge import plugins
from trustgauge.cli.list import LISTS, list_verb
from trustgauge.cli.main import group
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.targets import plan_targets


@pytest.mark.parametrize("what", [name for name in LISTS if name not in ("ratings", "schemas")])
def test_programs_get_no_padding(what: str) -> None:
    cells = [str(cell) for row in LISTS[what]() for cell in row.values()]
    assert cells
    assert [cell for cell in cells if cell != cell.strip()] == []


def test_columns_are_aligned_for_people(tmp_path: Path) -> None:
    shown = CliRunner().invoke(list_verb, ["groups", "--ratings", str(tmp_path)]).output.splitlines()
    assert len({line.index(line.split()[1]) for line in shown if line.split()[1] != line.split()[0]}) == 1


def test_names_of_services_turn_no_line_around(tmp_path: Path) -> None:
    run = two_step(service="\u202elive\x1b[2J")
    folder = tmp_path / run["run"]["id"]
    folder.mkdir()
    (folder / "rating.json").write_text(json.dumps(run))
    shown = CliRunner().invoke(list_verb, ["ratings", "--ratings", str(tmp_path)]).output
    assert "‹U+202E›live" in shown
    assert not {"\u202e", "\x1b"} & set(shown)


def test_every_judge_engine_store_and_importer_is_listed_with_what_it_is() -> None:
    for what in ("judges", "engines", "stores", "importers"):
        rows = json.loads(CliRunner().invoke(list_verb, [what, "--json"]).output)
        assert [row["name"] for row in rows] == list(plugins.names(what))
        assert all(row["what"].endswith(".") for row in rows)


def install(folder: Path, points: str) -> None:
    """A package of no code that names plug-ins."""
    facts = folder / "careless-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: careless\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text(points)


STRANGE = """
from collections.abc import Callable
from trustgauge.services import ServiceSpec

class Odd(ServiceSpec):
    call: Callable[[], str]

def bare():
    pass
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package whose module imports what is not there, and one whose settings have no schema or are none."""
    install(
        tmp_path / "installed",
        "[trustgauge.services]\nlost = careless:Lost\nodd = strange:Odd\nbare = strange:bare\n"
        "[trustgauge.methods]\nlost = careless:Lost\n"
        "[trustgauge.issues]\nlost = careless:Lost\n"
        "[trustgauge.commands]\nlose = careless:lose\n",
    )
    (tmp_path / "installed" / "careless.py").write_text("import does_not_exist\n")
    (tmp_path / "installed" / "strange.py").write_text(STRANGE)
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    plugins._installed.cache_clear()
    yield
    monkeypatch.undo()
    plugins._installed.cache_clear()


@pytest.mark.usefixtures("broken")
def test_a_plug_in_that_cannot_be_imported_is_named_and_hides_no_other(tmp_path: Path) -> None:
    shown = CliRunner().invoke(list_verb, ["services", "--ratings", str(tmp_path)], catch_exceptions=False)
    (lost,) = [line for line in shown.output.splitlines() if line.startswith("lost ")]
    assert 'the service "lost" cannot be imported' in lost
    assert any(line.startswith("eliza ") for line in shown.output.splitlines())
    assert "lose" not in CliRunner().invoke(group, ["--help"], catch_exceptions=False).output
    for place, name in (("services", "lost"), ("commands", "lose")):
        with pytest.raises(PlanError, match=r"No module named 'does_not_exist'.*the package careless"):
            plugins.load(place, name)
    with pytest.raises(PlanError, match=r'no service "chivalrous".*install that plug-in'):
        plugins.load("services", "chivalrous")


@pytest.mark.usefixtures("broken")
def test_schemas_without_a_broken_plug_in_say_which(tmp_path: Path) -> None:
    shown = CliRunner().invoke(list_verb, ["schemas", "--ratings", str(tmp_path)], catch_exceptions=False)
    assert shown.exit_code == 0
    noted = shown.stderr.splitlines()
    assert len(noted) == 4
    for name, cause in {
        'the service "lost"': "Mend or remove the package careless",
        'the method "lost"': "No module named 'does_not_exist'",
        'the service "odd"': "Mend or remove the package strange",
        'the service "bare"': "a subclass of pydantic.BaseModel",
    }.items():
        assert [line for line in noted if name in line and cause in line]
    plan = json.loads(shown.stdout)["plan"]
    assert 'the service "lost" cannot be imported' in plan["$defs"]["services:lost"]["description"]
    assert "behaviour" in plan["$defs"]["services:anchor"]["properties"]
    validator = jsonschema.Draft202012Validator(plan)
    experiments = [{"method": "two-step", "services": ["a"]}]
    assert validator.is_valid({"services": {"a": {"use": "eliza"}}, "experiments": experiments})
    assert not validator.is_valid({"services": {"a": {"use": "lost"}}, "experiments": experiments})
    with pytest.raises(PlanError, match=r'the service "bare" has no settings.*Mend or remove'):
        load_plan({"services": {"a": {"use": "bare"}}, "experiments": experiments})


def test_a_method_without_all_of_the_contract_is_named_with_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "installed", "[trustgauge.methods]\nmute = tests.methods.incomplete:Mute\n")
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    plugins._installed.cache_clear()
    lacking = 'the method "mute" is incomplete'
    try:
        for what in ("methods", "anchors"):
            shown = CliRunner().invoke(list_verb, [what, "--ratings", str(tmp_path)], catch_exceptions=False)
            (line,) = [line for line in shown.output.splitlines() if line.startswith("mute ")]
            assert lacking in line
        experiments = [{"method": "two-step", "services": ["a"]}, {"method": "mute", "services": ["a"]}]
        plan = load_plan({"services": {"a": {"use": "eliza"}}, "experiments": experiments})
        with pytest.raises(PlanError) as caught:
            plan_targets(plan)
    finally:
        monkeypatch.undo()
        plugins._installed.cache_clear()
    (fault,) = caught.value.faults
    assert (fault.place, fault.what, fault.got) == ("experiments[1].method", lacking, "none called texts")
    assert fault.must == "a class with all members of trustgauge.methods.Method"
    assert fault.do == "Add it to Mute, or mend or remove the package tests"
