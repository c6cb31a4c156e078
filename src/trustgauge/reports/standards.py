"""Exports for machines of others: JUnit XML, SARIF 2.1.0 and CycloneDX 1.7 declarations.

Each is a function of the document alone. What is not settled, lost or untested never counts as passed, and a
level alone is no failure: only a gate makes it one. The direction of the scale stands in words.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from trustgauge.records import canonical
from trustgauge.reports import label, numbers, sanitize, sentences
from trustgauge.reports.components import COMMON
from trustgauge.reports.document import certainty, levels

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RunDocument

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LOST = ("incomplete", "void")
OPEN = ("not settled", "not tested", "inferred", "assumed")
"""States of which nobody can say that they passed."""


def junit(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """JUnit XML, a case a rating and a case a part. Loses intervals, counts, dates and evidence.

    `failure` only where a gate failed; lost calls are an `error`. Only what a gate passed has no mark, since
    viewers count that as passed: not settled, not tested and without a gate are `skipped` with their reason.
    """
    suites = []
    for rating in document["ratings"]:
        cases = list(_cases(rating))
        count = {kind: sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error", "skipped")}
        text = f'tests="{len(cases)}" failures="{count["failure"]}" errors="{count["error"]}"'
        name = sanitize.xml(label.subject(rating, versioned=False))
        scale = f'<property name="levels" value="{sanitize.xml(rating["overall"]["direction"])}"/>'
        suites.append(
            f'<testsuite name="{name}" {text} skipped="{count["skipped"]}"><properties>{scale}</properties>'
            f"{''.join(cases)}</testsuite>"
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>{"".join(suites)}</testsuites>\n'.encode(
        "utf-8", "replace"
    )


def _cases(rating: RatingEntry) -> Iterator[str]:
    gate = rating.get("gate")
    for one in test_cases(rating):
        of, name = sanitize.xml(rating["service"]["name"]), sanitize.xml(one.name)
        words = sanitize.xml(_found(rating, one))  # the direction of the scale stands once, in the suite
        if one.state in LOST:
            inside = f'<error message="{words}" type="{one.state}"/>'
        elif one.state in OPEN or one.state == "not applicable":
            inside = f'<skipped message="{words}"/>'
        elif gate and (said := outcome(rating, one)) != "open":
            kind = sanitize.xml(str(gate["reason"]))
            failure = f'<failure message="{words}" type="{kind}"/>'
            inside = failure if said == "failed" else f"<system-out>{words}</system-out>"
        else:
            why = COMMON.table("ungated")["gate" if gate else "no-gate"]
            inside = f'<skipped message="{sanitize.xml(why)}: {words}"/>'
        yield f'<testcase classname="{of}" name="{name}">{inside}</testcase>'


@dataclass(frozen=True, slots=True)
class TestCase:
    """A rating or a part of it, as other forms know a test.

    Attributes:
        name: of the part in words; "overall" for the whole.
        level: None where there is none.
        state: of the level.
        certainty: share of the resamples at this level; None without resamples.
        whole: whether it is the rating itself.
    """

    name: str
    level: str | None
    state: str
    certainty: float | None
    whole: bool = False


def test_cases(rating: RatingEntry) -> Iterator[TestCase]:
    """What was tested: the whole, and each part."""
    whole = rating["overall"]
    yield TestCase("overall", whole["level"], rating["state"], certainty(whole), whole=True)
    for part in rating["parts"]:
        name = sentences.title(part) or part["key"] or "the service"
        yield TestCase(name, part["level"], part["state"], certainty(part))


def outcome(rating: RatingEntry, one: TestCase) -> str:
    """What a gate says of a test: "passed", "failed"; else "not applicable", "not tested", "open"."""
    if one.state in ("not applicable", "not tested"):
        return one.state
    gate, order = rating.get("gate"), levels(rating)
    if one.state != "rated" or gate is None or gate["passed"] is None:
        return "open"
    if one.whole:
        return "passed" if gate["passed"] else "failed"
    limit = gate["fail_on"]
    if limit not in order or one.level not in order:
        return "open"
    return "failed" if order.index(one.level) >= order.index(limit) else "passed"


def level_phrase(rating: RatingEntry, one: TestCase) -> str:
    """Level, certainty and state of a rating or part, with the direction of the scale."""
    return f"{_found(rating, one)}; {rating['overall']['direction']}"


def _found(rating: RatingEntry, one: TestCase) -> str:
    """Level, certainty and state of a rating or part."""
    if one.level is None:
        return one.state
    words = sentences.level_in_words(rating, one.level)
    return f"{words}, {one.state}, certainty {numbers.certainty(one.certainty)}"


def sarif(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """SARIF 2.1.0, a result a rating. Loses parts, intervals and evidence.

    `kind` is `open` for what is not settled, `fail` or `pass` by a gate, `notApplicable`, and else
    `informational`; only failures have a `level`.
    """
    results = []
    for rating in document["ratings"]:
        kind = _kind(rating)
        level = level_phrase(rating, next(test_cases(rating)))
        # The next run of it is the same alert.
        alike = f"{rating['method']['name']}: {label.subject(rating, versioned=False)}"
        words = f"{sentences.verdict(rating)} ({level}; rated by {sentences.assessor(rating)})"
        results.append(
            {
                "ruleId": rating["method"]["name"],
                "kind": kind,
                "level": "error" if kind == "fail" else "none",
                "message": {"text": sanitize.visible(words)},
                "locations": [{"logicalLocations": [{"name": sanitize.visible(label.service(rating))}]}],
                "partialFingerprints": {"rating/v2": sanitize.visible(alike)},
                "properties": {
                    "certainty": rating["overall"]["certainty"],
                    "expires": rating["expires"],
                    "tested": rating["tested"],
                },
            }
        )
    names = sorted({rating["method"]["name"] for rating in document["ratings"]})
    rules = [{"id": name, "name": name} for name in names]
    tool = {"driver": {"name": "trustgauge", "version": version("trustgauge"), "rules": rules}}
    facts = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": tool, "results": results}]}
    return json.dumps(inert(facts), ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")


def _kind(rating: RatingEntry) -> str:
    if rating["state"] == "not applicable":
        return "notApplicable"
    if rating["state"] != "rated":
        return "open"
    gate = rating.get("gate")
    if not gate:
        return "informational"
    return "open" if gate["passed"] is None else "pass" if gate["passed"] else "fail"


def cyclonedx(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """CycloneDX 1.7 `declarations`: assessor, target, claim and evidence of every rating.

    The claim is the verdict, its confidence the certainty of the level; there is no score of conformance,
    since a rating attests to no requirement. Loses parts, intervals and cost.
    """
    ratings = document["ratings"]
    facts = {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, canonical(dict(document)))}",
        "version": 1,
        "metadata": {
            "timestamp": document["run"]["started"],
            "tools": {
                "components": [
                    {"type": "application", "name": "trustgauge", "version": version("trustgauge")}
                ]
            },
        },
        "declarations": {
            "assessors": _each_once(_assessor(rating) for rating in ratings),
            "attestations": [_attestation(rating) for rating in ratings],
            "claims": [_claim(rating) for rating in ratings],
            "evidence": [_evidence(rating) for rating in ratings],
            "targets": {"services": _each_once(_target(rating) for rating in ratings)},
        },
    }
    return json.dumps(inert(facts), ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")


def _each_once(things: Iterable[dict[str, object]]) -> list[dict[str, object]]:
    """Of things with the same reference the last."""
    return list({thing["bom-ref"]: thing for thing in things}.values())


def _assessor(rating: RatingEntry) -> dict[str, object]:
    by = rating["assessor"]
    return {
        "bom-ref": f"assessor:{by['name']}",
        "thirdParty": by["relationship"] == "third party",
        "organization": {"name": sanitize.visible(by["name"])},
    }


def _target(rating: RatingEntry) -> dict[str, object]:
    service = rating["service"]
    return {
        "bom-ref": f"service:{service['key']}",
        "name": sanitize.visible(service["name"]),
        "version": service["version"],
    }


def _claim(rating: RatingEntry) -> dict[str, object]:
    return {
        "bom-ref": f"claim:{rating['id']}",
        "target": f"service:{rating['service']['key']}",
        "predicate": sanitize.visible(sentences.verdict(rating)),
        "reasoning": sanitize.visible(level_phrase(rating, next(test_cases(rating)))),
        "evidence": [f"evidence:{rating['id']}"],
    }


def _evidence(rating: RatingEntry) -> dict[str, object]:
    return {
        "bom-ref": f"evidence:{rating['id']}",
        "propertyName": f"trustgauge:{rating['method']['name']}",
        "description": f"rating.json of {rating['id']}, answers {rating['provenance']['answers']}",
        "created": f"{rating['tested']}T00:00:00Z",
        "expires": f"{rating['expires']}T00:00:00Z",
    }


def _attestation(rating: RatingEntry) -> dict[str, object]:
    entry: dict[str, object] = {"claims": [f"claim:{rating['id']}"]}
    share = certainty(rating["overall"])
    if share is not None:
        rationale = f"{rating['state']}; share of resamples at this level"
        entry["confidence"] = {"score": share, "rationale": rationale}
    return {
        "summary": f"Rating {rating['id']}: {rating['state']}",
        "assessor": f"assessor:{rating['assessor']['name']}",
        "map": [entry],
    }


def inert(value: Any) -> Any:
    """The same plain data with every control character made visible."""
    if isinstance(value, Mapping):
        return {key: inert(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [inert(inner) for inner in value]
    return sanitize.visible(value) if isinstance(value, str) else value
