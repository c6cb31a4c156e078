"""Exports for catalogues, researchers, observability and audit: ratings in the forms of others' standards.

Each is a function of the document alone. A level is no verdict by itself: something passed or failed only
where a gate says so, and what is not settled, lost or untested is reported as open. The direction of the
scale stands in words. `hash` is the SHA-256 of `show ID --as json`, by which a copy is followed to the
original.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trustgauge.data import package_table
from trustgauge.errors import MethodError
from trustgauge.records import canonical
from trustgauge.reports import label, numbers, sanitize, sentences
from trustgauge.reports.document import certainty, levels
from trustgauge.reports.standards import inert, level_phrase, outcome, test_cases

if TYPE_CHECKING:
    import polars as pl

    from trustgauge.reports.document_model import RatingEntry, RunDocument

MCP_KEY, MCP_MOST = "io.modelcontextprotocol.registry/publisher-provided", 4096  # bytes of JSON
A2A_EXTENSION = "urn:trustgauge:a2a:ratings:1"
REPORT = "urn:trustgauge:relation:report"
EARL = {"passed": "passed", "failed": "failed", "not applicable": "inapplicable", "not tested": "untested"}
OUTSIDERS = {"third party": "third_party", "first party": "first_party"}


def openapi(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """OpenAPI Overlay 1.0.0 that adds `info.x-ai-ratings`. Loses parts, intervals and cost."""
    update = {"x-ai-ratings": _summaries(document)}
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": f"Ratings of {document['run']['id']}", "version": document["run"]["ended"][:10]},
        "actions": [{"target": "$.info", "update": update}],
    }
    return _json(overlay)


def api_catalog(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """API catalogue of RFC 9727, a linkset of RFC 9264: each rated service with links to data and report.

    The links are relative to where the run's folder is published. Loses all but state and address.
    """
    linkset = [
        {
            "anchor": f"urn:trustgauge:service:{quote(rating['service']['key'], safe='')}",
            "service-meta": [
                {"href": "rating.json", "type": "application/json", "title": _line(rating)},
            ],
            REPORT: [{"href": "report.html", "type": "text/html"}],
        }
        for rating in document["ratings"]
    ]
    return _json({"linkset": linkset})


def a2a(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """What goes into an A2A agent card: an extension with the ratings. Loses parts, intervals and cost."""
    extension = {
        "uri": A2A_EXTENSION,
        "description": "Ratings by trustgauge, copied: follow data and hash to the original",
        "required": False,
        "params": {"ratings": _summaries(document)},
    }
    return _json({"capabilities": {"extensions": [extension]}})


def mcp(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """What goes into the `server.json` of the MCP registry: `_meta`, at most 4,096 bytes.

    Loses parts, intervals and cost. Raises MethodError if the ratings are too many for the limit.
    """
    content = {"trustgauge": {"ratings": _summaries(document)}}
    size = len(_json(content))
    if size > MCP_MOST:
        raise MethodError(
            "the ratings are too many for the MCP registry",
            must=f"at most {MCP_MOST} bytes",
            got=str(size),
            do="Name one rating, not the run",
        )
    return _json({"_meta": {MCP_KEY: content}})


def in_toto(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """in-toto Statement v1 with the predicate test-result v0.1, unsigned (`trustgauge sign` signs its own).

    Tests are ratings and their parts. All are warned without a gate. Loses levels, intervals and dates.
    """
    named: dict[str, list[str]] = {"passed": [], "warned": [], "failed": []}
    for rating in document["ratings"]:
        for one in test_cases(rating):
            found = outcome(rating, one)
            test = f"{rating['id']} {sanitize.visible(one.name)}"
            named[found if found in ("passed", "failed") else "warned"].append(test)
    order = ("failed", "warned", "passed")
    worst = next((one for one in order if named[one]), "warned")
    run = document["run"]
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "rating.json", "digest": {"sha256": _hash(document)}}],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": worst.upper(),
            "configuration": [
                {"name": "plan.toml", "uri": f"urn:trustgauge:plan:{run['hashes'].get('plan', '')}"}
            ],
            **{f"{name}Tests": tests for name, tests in named.items()},
        },
    }
    return _json(statement)


def earl(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """W3C EARL 1.0 as JSON-LD, an assertion a rating and a part, with the context inline.

    Without a gate no outcome is passed or failed: it is cantTell, and `earl:info` has the level in words.
    Loses intervals and cost.
    """
    graph = []
    for rating in document["ratings"]:
        for one in test_cases(rating):
            found = EARL.get(outcome(rating, one), "cantTell")
            graph.append(
                {
                    "@type": "earl:Assertion",
                    "earl:assertedBy": {
                        "@type": "earl:Assertor",
                        "dct:title": sentences.assessor(rating),
                    },
                    "earl:subject": {"@type": "earl:TestSubject", "dct:title": label.service(rating)},
                    "earl:test": {
                        "@type": "earl:TestCriterion",
                        "dct:identifier": f"{rating['method']['name']}/{one.name}",
                        "dct:title": f"{label.issue(rating)}: {one.name}",
                    },
                    "earl:mode": {"@id": "earl:automatic"},
                    "earl:result": {
                        "@type": "earl:TestResult",
                        "earl:outcome": {"@id": f"earl:{found}"},
                        "earl:info": level_phrase(rating, one),
                        "dct:date": rating["tested"],
                    },
                }
            )
    context = {"earl": "http://www.w3.org/ns/earl#", "dct": "http://purl.org/dc/terms/"}
    return _json({"@context": context, "@graph": graph})


def otel(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """OpenTelemetry `gen_ai.evaluation.result` events as OTLP JSON logs, one a rating and one a part.

    The value is the ordinal, bigger is better; without a settled level there is none and the label is the
    state. The convention is in development. Loses intervals and cost.
    """
    at = datetime.fromisoformat(document["run"]["ended"])
    nanos = str(int(at.timestamp()) * 10**9)
    records = []
    for rating in document["ratings"]:
        order = levels(rating)
        for one in test_cases(rating):
            place = order.index(one.level) if one.state == "rated" and one.level in order else None
            facts: dict[str, object] = {
                "gen_ai.evaluation.name": f"trustgauge.{rating['method']['name']}.{one.name}",
                "gen_ai.evaluation.score.label": one.state if place is None else one.level,
                "gen_ai.evaluation.explanation": level_phrase(rating, one),
                "trustgauge.rating.id": rating["id"],
                "trustgauge.state": one.state,
                "trustgauge.service": label.service(rating),
                "trustgauge.assessor": sentences.assessor(rating),
                "trustgauge.expires": rating["expires"],
            }
            if place is not None:
                facts["gen_ai.evaluation.score.value"] = float(len(order) - place)
            if one.certainty is not None:
                facts["trustgauge.certainty"] = float(one.certainty)
            attributes = [{"key": key, "value": _any_value(value)} for key, value in sorted(facts.items())]
            event = {"timeUnixNano": nanos, "eventName": "gen_ai.evaluation.result", "attributes": attributes}
            records.append(event)
    scope = {"name": "trustgauge", "version": version("trustgauge")}
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "trustgauge"}}]}
    logs = {"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": records}]}
    return _json({"resourceLogs": [logs]})


def eee(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """Every Eval Ever 0.3.0: the ratings of one service, scores as levels, worst to best.

    The score is the level's place from 0; -1, the form's unknown level, where it is not settled. The form
    asks for facts that nobody knows of a black box: deployment and weights are "unknown". Loses parts.
    """
    services = {rating["service"]["key"] for rating in document["ratings"]}
    if len(services) != 1:
        raise MethodError(
            "Every Eval Ever holds the results of one service",
            must="one rating",
            got=f"{len(services)} services",
            do=f"Name one of {', '.join(one['id'] for one in document['ratings']) or 'another run'}",
        )
    run, service = document["run"], document["ratings"][0]["service"]
    at = str(int(datetime.fromisoformat(run["ended"]).timestamp()))
    by = document["ratings"][0]["assessor"]
    content = {
        "schema_version": "0.3.0",
        "evaluation_id": f"trustgauge/{service['name']}/{run['id']}",
        "evaluation_timestamp": at,
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": "trustgauge",
            "source_type": "evaluation_run",
            "source_organization_name": by["name"],
            "evaluator_relationship": OUTSIDERS.get(by["relationship"], "other"),
            "additional_details": {"relationship": by["relationship"], "paid_by": by["paid_by"]},
        },
        "eval_library": {"name": "trustgauge", "version": version("trustgauge")},
        "model_info": {
            "name": service["name"],
            "id": f"{service['provider'] or 'unknown'}/{service['name']}",
            **({"developer": service["provider"]} if service["provider"] else {}),
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_eee_result(rating) for rating in document["ratings"]],
    }
    return _json(content)


def _eee_result(rating: RatingEntry) -> dict[str, object]:
    overall, order = rating["overall"], levels(rating)[::-1]
    level = overall["level"]
    share = certainty(overall)
    details = {
        "state": rating["state"],
        "level": overall["level"] or "",
        "certainty": "" if share is None else repr(share),
        "direction": overall["direction"],
        "tested": rating["tested"],
        "expires": rating["expires"],
        "rating": rating["id"],
    }
    name = f"trustgauge {rating['method']['name']} {rating['issue']['attribute']}".strip()
    return {
        "evaluation_name": name,
        "source_data": {"dataset_name": f"{name}, drawn by its plan", "source_type": "other"},
        "metric_config": {
            "evaluation_description": label.issue(rating),
            "lower_is_better": False,
            "score_type": "levels",
            "level_names": order,
            "has_unknown_level": True,
        },
        "score_details": {
            "score": order.index(level) if rating["state"] == "rated" and level in order else -1,
            "details": details,
            "uncertainty": {"num_samples": overall["n"]},
        },
    }


def model_card(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """The section Evaluation of a model card, Markdown. Loses counts, cost and evidence."""
    lines = ["## Evaluation", ""]
    for rating in document["ratings"]:
        method = rating["method"]
        lines += [f"### {_md(label.service(rating))}: {_md(label.issue(rating))}", ""]
        lines += ["#### Testing data, factors and metrics", ""]
        lines += [
            _md(f"{method['name']}, version {method['version']}, rule {method['rule']} ({method['paper']}).")
            + f" {rating['coverage']['answered']:,} of {rating['coverage']['planned']:,} questions answered."
            + f" Levels {_md(rating['overall']['direction'])}.",
            "",
            "#### Results",
            "",
            _md(sentences.verdict(rating)),
            "",
            "| | level | state | certainty |",
            "| --- | --- | --- | --- |",
        ]
        for one in test_cases(rating):
            share = numbers.certainty(one.certainty)
            lines.append(f"| {_md(one.name)} | {_md(one.level or 'none')} | {one.state} | {share} |")
        lines += ["", "#### Limitations", ""]
        lines += [f"- {_md(one)}" for one in sentences.reasons(rating["limits"], rating)]
        days = f"Tested {numbers.day(rating['tested'])}, valid until {numbers.day(rating['expires'])}"
        lines += ["", f"{days}, by {_md(sentences.assessor(rating))}; rating {rating['id']}.", ""]
    return ("\n".join(lines)).encode("utf-8", "replace")


def evidence_pack(document: RunDocument, rows: pl.DataFrame | None = None) -> bytes:
    """What the ratings are evidence of, clause by clause of published frameworks, Markdown.

    Each clause is covered, partly or **not covered**, with date and source. It is a reader's aid and no
    judgement of a service or of anybody's duties. Loses parts, counts and evidence.
    """
    pack = package_table(__package__, "evidence_pack.toml")
    run = document["run"]
    has: dict[str, list[RatingEntry]] = {"provenance": [*document["ratings"]], "uncertainty": []}
    has["locked"] = [one for one in document["ratings"] if "lock" in run and one.get("gate")]
    has["controls"] = [one for one in document["ratings"] if one["anchors"]]
    for rating in document["ratings"]:
        if rating["state"] == "rated":
            has.setdefault(str(rating["issue"]["id"]), []).append(rating)
            has["uncertainty"].append(rating)
            for part in rating["parts"]:
                if rating["method"]["name"] == "trust" and part["state"] == "rated":
                    has.setdefault(part["key"].rpartition("/")[2], []).append(rating)
    lines = [f"# Evidence pack of {run['id']}", ""]
    lines += [
        "What these ratings are evidence of, clause by clause, in our words and as we read the sources.",
        "Covered: the clause asks for what the rating holds. Partly: for more than that. It says nothing of",
        "what else exists, and judges neither the service nor anybody's duties.",
        "",
    ]
    for framework in pack["frameworks"]:
        lines += [f"## {framework['name']}", "", f"Source: {framework['source']}, {framework['date']}.", ""]
        lines += ["| clause | asks for | evidence | from |", "| --- | --- | --- | --- |"]
        for clause in framework["clauses"]:
            known = [one for topic in clause["needs"] for one in has.get(topic, ())]
            found = {one["id"]: one for one in known}
            state = clause["at_most"] if found else "**not covered**"
            sources = "; ".join(
                f"{name}, {_md(label.service(one))}: {_md(_state(one))}, tested {one['tested']}"
                for name, one in sorted(found.items())
            )
            lines.append(f"| {clause['id']} | {clause['asks']} | {state} | {sources or clause['instead']} |")
        lines.append("")
    lines += [f"Ratings of {run['ended'][:10]}, valid until {run['expires']}; SHA-256 {_hash(document)}.", ""]
    return "\n".join(lines).encode("utf-8", "replace")


def _state(rating: RatingEntry) -> str:
    level = rating["overall"]["level"]
    return f"{level}, {rating['state']}" if level else str(rating["state"])


def _summaries(document: RunDocument) -> list[dict[str, object]]:
    """The ratings as catalogues copy them."""
    return [
        {
            "id": rating["id"],
            "service": label.service(rating),
            "issue": rating["issue"]["id"],
            "level": rating["overall"]["level"],
            "state": rating["state"],
            "certainty": certainty(rating["overall"]),
            "scale": levels(rating),
            "better": "first",
            "tested": rating["tested"],
            "expires": rating["expires"],
            "assessor": rating["assessor"]["name"],
            "relationship": rating["assessor"]["relationship"],
            "method": rating["method"]["name"],
            "method_version": rating["method"]["version"],
            "rule": rating["method"]["rule"],
            "direction": rating["overall"]["direction"],
            "report": "report.html",
            "data": "rating.json",
            "hash": f"sha256:{_hash(document)}",
        }
        for rating in document["ratings"]
    ]


def _line(rating: RatingEntry) -> str:
    return f"{label.service(rating)}: {label.outcome(rating)}, {rating['state']}, tested {rating['tested']}"


def _any_value(value: object) -> dict[str, object]:
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


def _hash(document: RunDocument) -> str:
    return hashlib.sha256(canonical(dict(document)).encode()).hexdigest()


def _md(text: str) -> str:
    return sanitize.markdown(text)


def _json(value: Any) -> bytes:
    return json.dumps(inert(value), ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
