"""The bill of materials is valid CycloneDX, complete, and only of what is locked."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.version import Version
from supply.locks import Pin
from supply.sbom import SPECIFICATION, UnlockedError, bill, main, reached

from tests.supply.test_locks import CORE, spread


def as_locked(extras: set[str]) -> list[Pin]:
    """Pins of exactly what is installed here: the environment of a developer may be newer than the lock."""
    names = reached("trustgauge", extras) | {}
    return [Pin(name, Version(distribution(name).version), None, ("0" * 64,)) for name in names]


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    wheel = tmp_path_factory.mktemp("dist") / "thing.whl"
    wheel.write_bytes(b"a wheel")
    return bill(as_locked({"all"}), {"all"}, wheel)


def test_it_is_valid_by_the_published_schema(document: dict[str, Any]) -> None:
    validator = JsonStrictValidator(SchemaVersion.from_version(SPECIFICATION))
    assert validator.validate_str(json.dumps(document)) is None
    assert validator.validate_str(json.dumps({**document, "components": [{"name": "x"}]})) is not None


def test_it_names_every_package_that_is_brought_and_how_they_hang_together(document: dict[str, Any]) -> None:
    scopes = {each["bom-ref"]: each["scope"] for each in document["components"]}
    names = {reference.split("/")[1].split("@")[0]: reference for reference in scopes}
    assert {each.name.lower() for each in spread(CORE)} <= names.keys()
    assert (scopes[names["numpy"]], scopes[names["vadersentiment"]]) == ("required", "optional")
    graph = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    ours = document["metadata"]["component"]
    assert graph.keys() == {*scopes, ours["bom-ref"]}
    assert {need for needs in graph.values() for need in needs} == scopes.keys()
    assert names["markupsafe"] in graph[names["jinja2"]]
    assert all(each["licenses"] for each in document["components"])
    assert ours["hashes"][0]["content"] == hashlib.sha256(b"a wheel").hexdigest()


def test_the_same_environment_gives_the_same_document(document: dict[str, Any]) -> None:
    fewer = bill(as_locked(set()), set())
    assert fewer == bill(as_locked(set()), set())
    assert fewer["serialNumber"] != document["serialNumber"]
    assert len(fewer["components"]) < len(document["components"])


def test_an_environment_that_is_not_the_locked_one_is_refused() -> None:
    found = as_locked(set())
    for wrong, words in (
        ([each for each in found if each.name != "numpy"], "numpy must stand in the lock file"),
        ([*found, Pin("numpy", Version("1.0"), None, ())], r"numpy must be 1.0, as locked. Got"),
    ):
        with pytest.raises(UnlockedError, match=words):
            bill(wrong, set())


def test_the_command_writes_it_or_says_what_to_do(tmp_path: Path) -> None:
    """Whether this environment is the locked one depends on who made it; either way the command says so."""
    output = tmp_path / "bom.json"
    done = CliRunner().invoke(main, ["-o", str(output)])
    if done.exit_code == 0:
        assert json.loads(output.read_text("utf-8"))["bomFormat"] == "CycloneDX"
    else:
        assert "run bin/setup demo" in done.output
        assert not output.exists()
