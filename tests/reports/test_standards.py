"""Exports for machines of others, by the standards' own schemas."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from jsonschema import ValidationError
from lxml.etree import DocumentInvalid

from tests.reports import fixtures, hostile, schemas
from trustgauge.reports import exports, sentences, standards
from trustgauge.reports.document import document
from trustgauge.reports.document_model import RunDocument

STATES = fixtures.all_states()
DOCUMENT = document(fixtures.run([STATES]), [STATES])
GATED = document(fixtures.run([STATES]), [STATES], fail_on=["BS"])


ALL = pytest.mark.parametrize("told", [DOCUMENT, GATED, document(*fixtures.demo()), hostile.case()[0]])


@ALL
def test_viewers_of_builds_and_of_code_take_what_they_get(told: RunDocument) -> None:
    schemas.is_junit(standards.junit(told))
    (run,) = schemas.is_sarif(standards.sarif(told))["runs"]
    assert len(run["results"]) == len(told["ratings"])


def test_the_schemas_refuse_what_is_wrong() -> None:
    """So that what they accept means something."""
    wrong = json.loads(standards.sarif(DOCUMENT))
    wrong["runs"][0]["results"][0]["kind"] = "cannot tell"
    with pytest.raises(ValidationError):
        schemas.is_sarif(json.dumps(wrong))
    with pytest.raises(DocumentInvalid):
        schemas.is_junit(standards.junit(DOCUMENT).replace(b"<skipped", b"<unsettled"))


@ALL
def test_declarations_are_what_cyclonedx_says(told: RunDocument) -> None:
    data = standards.cyclonedx(told).decode()
    assert JsonStrictValidator(SchemaVersion.V1_7).validate_str(data) is None
    said = json.loads(data)["declarations"]
    assert len(said["claims"]) == len(told["ratings"])
    for attestation, rating in zip(said["attestations"], told["ratings"], strict=True):
        level = rating["overall"]["level"]
        share = rating["overall"]["certainty"].get(str(level))
        assert attestation["map"][0].get("confidence", {}).get("score") == share
    for evidence, rating in zip(said["evidence"], told["ratings"], strict=True):
        assert evidence["expires"].startswith(rating["expires"])


def test_only_a_gate_makes_a_case_that_viewers_count_as_passed() -> None:
    """A settled BS without a gate was green in every viewer: it had only <system-out>."""
    plain, gated = (document(*fixtures.demo(), fail_on=limit) for limit in ((), ("BS",)))
    counted = []
    for told in (plain, gated):
        schemas.is_junit(standards.junit(told))
        tree = ElementTree.fromstring(standards.junit(told))
        cases = list(tree.iter("testcase"))
        passed = [case for case in cases if case.find("system-out") is not None]
        counted.append((len(passed), sum(case.find("skipped") is not None for case in cases)))
        assert sum(int(suite.get("skipped", 0)) for suite in tree) == counted[-1][1]
    assert counted[0][0] == 0
    assert counted[1][0] > 0
    message = 'message="no gate, so neither passed nor failed: BS, adds bias, rated, certainty '
    assert message in standards.junit(plain).decode()


def test_what_a_gate_on_certainty_says_of_the_whole_is_not_said_of_its_parts() -> None:
    told = document(*fixtures.demo(), need_certainty=0.5)
    for case in ElementTree.fromstring(standards.junit(told)).iter("testcase"):
        if case.get("name") != "overall" and case.find("error") is None:
            assert case.find("skipped") is not None


def test_what_is_not_settled_is_skipped_and_what_is_lost_an_error() -> None:
    cases = {
        case.get("name"): [child.tag for child in case]
        for case in ElementTree.fromstring(standards.junit(DOCUMENT)).iter("testcase")
    }
    states = {sentences.title(part): part["state"] for part in DOCUMENT["ratings"][0]["parts"]}
    for name, state in states.items():
        assert cases[name] == ["error" if state == "incomplete" else "skipped"]
    assert "<failure " not in standards.junit(DOCUMENT).decode()


def test_the_direction_of_a_scale_stands_once_in_a_suite() -> None:
    result = document(fixtures.run([STATES]), [STATES])
    said = standards.junit(result).decode("utf-8")
    assert said.count("<testcase ") > 2
    assert said.count("from best to worst: UCS") == 1
    schemas.is_junit(said.encode("utf-8"))
    both = document(fixtures.run([STATES, STATES]), [STATES, STATES])
    assert exports.markdown(both).decode("utf-8").count("Levels from best to worst: UCS") == 1


def test_only_a_gate_makes_a_failure() -> None:
    found = standards.junit(GATED).decode()
    gate = GATED["ratings"][0]["gate"]
    assert gate is not None
    assert ("<failure " in found) is (gate["passed"] is False)
    (result,) = json.loads(standards.sarif(GATED))["runs"][0]["results"]
    assert result["kind"] == {True: "pass", False: "fail", None: "open"}[gate["passed"]]
    (plain,) = json.loads(standards.sarif(DOCUMENT))["runs"][0]["results"]
    assert plain["level"] == "none"
    assert plain["partialFingerprints"] == result["partialFingerprints"], "one alert in every run"
    assert plain["kind"] in ("informational", "open")


def test_texts_of_others_are_inert() -> None:
    result, _ = hostile.case()
    ElementTree.fromstring(standards.junit(result))
    for export in (standards.junit, standards.sarif, standards.cyclonedx):
        assert "\x1b" not in export(result).decode()
        assert "\u202e" not in export(result).decode()
