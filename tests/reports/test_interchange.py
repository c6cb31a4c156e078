"""Ratings in the forms of others: by their own schema or validator where one is at hand."""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

import pytest
from a2a.types import AgentCard
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import MessageToDict, ParseDict
from in_toto_attestation.predicates.test_result.v0 import test_result_pb2
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from openapi_spec_validator import validate
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from pyld import jsonld

from tests.reports import fixtures, hostile, schemas
from trustgauge.errors import MethodError
from trustgauge.records import canonical
from trustgauge.reports import interchange, sentences
from trustgauge.reports.document import document

STATES = fixtures.all_states()
PLAIN = document(fixtures.run([STATES]), [STATES])
GATED = document(fixtures.run([STATES]), [STATES], fail_on=["BS"])
DEMO = document(*fixtures.demo())
HOSTILE = hostile.case()[0]
ALL = pytest.mark.parametrize(
    "told", [PLAIN, GATED, DEMO, HOSTILE], ids=["plain", "gated", "demo", "hostile"]
)


def read(data: bytes) -> Any:
    return json.loads(data)


def one(told: Any) -> Any:
    return {**told, "ratings": told["ratings"][:1]}


@ALL
def test_every_form_carries_level_certainty_state_date_and_assessor(told: Any) -> None:
    for export in (interchange.openapi, interchange.a2a):
        said = export(told).decode()
        for rating, copied in zip(told["ratings"], _copies(read(export(told))), strict=True):
            overall = rating["overall"]
            assert (copied["level"], copied["state"]) == (overall["level"], rating["state"])
            assert copied["certainty"] == overall["certainty"].get(overall["level"] or "")
            assert (copied["tested"], copied["expires"]) == (rating["tested"], rating["expires"])
            assert copied["relationship"] == rating["assessor"]["relationship"]
            assert copied["scale"] == [level["level"] for level in overall["scale"]]
            assert copied["hash"] == f"sha256:{hashlib.sha256(canonical(told).encode()).hexdigest()}"
        assert "best to worst" in said


def _copies(found: Any) -> list[Any]:
    if "actions" in found:
        return list(found["actions"][0]["update"]["x-ai-ratings"])
    return list(found["capabilities"]["extensions"][0]["params"]["ratings"])


@ALL
def test_an_overlaid_description_is_still_openapi(told: Any) -> None:
    overlay = schemas.is_overlay(interchange.openapi(told))
    assert overlay["overlay"] == "1.0.0"
    assert [action["target"] for action in overlay["actions"]] == ["$.info"]
    described = {"openapi": "3.1.0", "info": {"title": "a service", "version": "1"}, "paths": {}}
    validate({**described, "info": {**described["info"], **overlay["actions"][0]["update"]}})  # type: ignore[dict-item]


@ALL
def test_a_card_with_the_ratings_is_still_an_agents_card(told: Any) -> None:
    extended = read(interchange.a2a(told))
    card = {
        "name": "a service",
        "description": "answers",
        "version": "1",
        "supportedInterfaces": [
            {"url": "https://service.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "answer", "name": "Answer", "description": "Answers", "tags": ["text"]}],
        **extended,
    }
    parsed = ParseDict(card, AgentCard())
    validate_proto_required_fields(parsed)
    assert MessageToDict(parsed)["capabilities"] == {
        "extensions": [
            {k: v for k, v in each.items() if v} for each in extended["capabilities"]["extensions"]
        ]
    }


@ALL
def test_the_statement_is_in_toto_and_passes_nothing_without_a_gate(told: Any) -> None:
    found = read(interchange.in_toto(told))
    Statement.copy_from_pb(ParseDict(found, statement_pb2.Statement())).validate()
    result = ParseDict(found["predicate"], test_result_pb2.TestResult())
    tests = [*result.passed_tests, *result.warned_tests, *result.failed_tests]
    assert len(tests) == sum(1 + len(rating["parts"]) for rating in told["ratings"])
    if told is not GATED:
        assert result.result == "WARNED"
        assert not [*result.passed_tests, *result.failed_tests]


def test_only_what_is_settled_passes_or_fails_at_a_gate() -> None:
    settled = copy.deepcopy(GATED)
    rating = settled["ratings"][0]
    gate = rating.get("gate")
    assert gate is not None
    rating["state"], gate["passed"] = "rated", False
    found = read(interchange.in_toto(settled))["predicate"]
    assert found["result"] == "FAILED"
    states = {sentences.title(part): part for part in rating["parts"]}
    for kind, at in (("failedTests", "BS"), ("passedTests", "")):
        for name in found[kind][kind == "failedTests" :]:
            part = states[name.removeprefix(f"{rating['id']} ")]
            assert part["state"] == "rated"
            assert (part["level"] == "BS") is bool(at)
    outcomes = {
        each["earl:test"]["dct:identifier"]: each["earl:result"]["earl:outcome"]["@id"]
        for each in read(interchange.earl(settled))["@graph"]
    }
    assert outcomes["two-step/overall"] == "earl:failed"


@ALL
def test_the_assertions_are_earl(told: Any) -> None:
    """In its vocabulary: one asserter, subject, test and result an assertion, and one of five outcomes."""
    (graph,) = jsonld.to_rdf(read(interchange.earl(told))).values()
    used = {each["value"] for triple in graph for each in (triple["predicate"], triple["object"])}
    assert {each for each in used if each.startswith("http://www.w3.org/ns/earl")} <= schemas.terms_of_earl()
    spoken: dict[str, list[tuple[str, str]]] = {}
    for triple in graph:
        verb = triple["predicate"]["value"]
        spoken.setdefault(triple["subject"]["value"], []).append((verb, triple["object"]["value"]))
    earl = "http://www.w3.org/ns/earl#"
    assertions = [
        facts for facts in spoken.values() if any(value == f"{earl}Assertion" for _, value in facts)
    ]
    assert len(assertions) == sum(1 + len(rating["parts"]) for rating in told["ratings"])
    for facts in assertions:
        verbs = sorted(verb.removeprefix(earl) for verb, _ in facts if verb.startswith(earl))
        assert verbs == ["assertedBy", "mode", "result", "subject", "test"]
    outcomes = {value for facts in spoken.values() for verb, value in facts if verb == f"{earl}outcome"}
    known = {"cantTell", "inapplicable", "untested", *({"passed", "failed"} if told is GATED else ())}
    assert {value.removeprefix(earl) for value in outcomes} <= known


@ALL
def test_the_events_are_otlp(told: Any) -> None:
    found = ParseDict(read(interchange.otel(told)), ExportLogsServiceRequest())
    known = {name for key, name in vars(gen_ai_attributes).items() if key.startswith("GEN_AI_")}
    records = found.resource_logs[0].scope_logs[0].log_records
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    for record in records:
        facts = {each.key: each.value for each in record.attributes}
        assert {key for key in facts if key.startswith("gen_ai.")} <= known
        rated = facts["trustgauge.state"].string_value == "rated"
        assert ("gen_ai.evaluation.score.value" in facts) is rated
        assert facts["gen_ai.evaluation.name"].string_value.startswith("trustgauge.")


@ALL
def test_the_catalogue_is_a_linkset(told: Any) -> None:
    """As we read RFC 9264, section 4.2: objects with an anchor and, by relation, targets with href."""
    found = read(interchange.api_catalog(told))
    assert list(found) == ["linkset"]
    assert len(found["linkset"]) == len(told["ratings"])
    for context in found["linkset"]:
        assert context.pop("anchor").startswith("urn:trustgauge:service:")
        assert "service-meta" in context
        for relation, targets in context.items():
            assert relation == relation.lower()
            assert all(isinstance(target["href"], str) for target in targets)


@ALL
def test_the_registry_takes_a_rating(told: Any) -> None:
    """By its documentation: one key below `_meta`, at most 4,096 bytes; too many are refused in words."""
    (kept,) = read(interchange.mcp(one(told)))["_meta"].values()
    assert len(json.dumps(kept).encode()) < 2 * interchange.MCP_MOST
    many: Any = {**told, "ratings": told["ratings"] * 12}
    with pytest.raises(MethodError, match="too many"):
        interchange.mcp(many)


@ALL
def test_the_results_are_every_eval_ever(told: Any) -> None:
    """By its schema, which takes any version of itself and any text as a time."""
    found = schemas.is_every_eval_ever(interchange.eee(one(told)))
    assert found["schema_version"] == "0.3.0"
    assert found["retrieved_timestamp"].isdigit()
    for result, rating in zip(found["evaluation_results"], one(told)["ratings"], strict=True):
        config, score = result["metric_config"], result["score_details"]
        assert (config["score_type"], config["lower_is_better"]) == ("levels", False)
        assert all(isinstance(value, str) for value in score["details"].values())
        rated = rating["state"] == "rated"
        assert rated is (score["score"] >= 0)
        if rated:
            assert config["level_names"][score["score"]] == rating["overall"]["level"]
    if len({rating["service"]["key"] for rating in told["ratings"]}) > 1:
        with pytest.raises(MethodError, match="one service"):
            interchange.eee(told)


@ALL
def test_the_evidence_pack_says_what_is_not_covered(told: Any) -> None:
    text = interchange.evidence_pack(told).decode()
    assert "complian" not in text.lower()
    rows = [line for line in text.splitlines() if line.startswith(("| MEASURE", "| Article"))]
    assert len(rows) == 27
    assert all(
        row.count("| **not covered** |") + row.count("| partly |") + row.count("| covered |") == 1
        for row in rows
    )
    assert any("2.7 |" in row and "**not covered**" in row for row in rows)
    settled = any(
        rating["state"] == "rated" and rating["issue"]["id"] == "bias" for rating in told["ratings"]
    )
    (bias,) = (row for row in rows if "MEASURE 2.11" in row)
    assert ("**not covered**" in bias) is not settled


def test_texts_of_others_are_inert() -> None:
    result = one(HOSTILE)
    for name in (
        "openapi",
        "api_catalog",
        "a2a",
        "in_toto",
        "earl",
        "otel",
        "eee",
        "model_card",
        "evidence_pack",
    ):
        text = getattr(interchange, name)(result).decode()
        assert "\x1b" not in text, name
        assert "\u202e" not in text, name
    assert "<script" not in interchange.model_card(result).decode()
    assert "<script" not in interchange.evidence_pack(result).decode()
