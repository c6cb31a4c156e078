"""What a gate writes for others: JUnit XML, SARIF 2.1.0, and a summary in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from trustgauge.apps.gate.checks import SAID, Check, exit_of_checks
from trustgauge.records import canonical
from trustgauge.reports import sanitize

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
KINDS: Mapping[str, str] = {"passed": "pass", "failed": "fail"}
"""Outcome -> `kind` of SARIF; whatever cannot tell is "open"."""
RANKS: Mapping[str, int] = {"failed": 0, "unsettled": 1, "passed": 3}
"""Place of each outcome in a summary; what is missing stands third."""
MARKS: Mapping[str, str] = {"passed": "pass", "failed": "**fail**", "unsettled": "cannot tell"}


def junit(target: str, found: Sequence[Check]) -> str:
    """JUnit XML, one case a check: unsettled is `skipped` with its reason, lost evidence is an `error`."""
    count = {outcome: sum(one.outcome == outcome for one in found) for outcome in SAID}
    lost = count["incomplete"] + count["void"]
    head = f'tests="{len(found)}" failures="{count["failed"]}" errors="{lost}"'
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuites name="trustgauge gate" {head}>']
    lines.append(f'  <testsuite name="{sanitize.xml(target)}" {head} skipped="{count["unsettled"]}">')
    for one in found:
        case = f'    <testcase classname="{sanitize.xml(one.about)}" name="{sanitize.xml(one.name)}"'
        said = sanitize.xml(" ".join(filter(None, (one.sentence, one.following))))
        if one.outcome == "passed":
            lines.append(f"{case}><system-out>{said}</system-out></testcase>")
        elif one.outcome == "unsettled":
            lines.append(f'{case}><skipped message="{said}"/></testcase>')
        else:
            kind = "failure" if one.outcome == "failed" else "error"
            rows = "\n".join(map(sanitize.xml, one.examples))
            lines.append(f'{case}><{kind} message="{said}" type="{one.kind}">{rows}</{kind}></testcase>')
    return "\n".join([*lines, "  </testsuite>", "</testsuites>"]) + "\n"


def sarif(target: str, found: Sequence[Check]) -> str:
    """SARIF 2.1.0, one result a check; what cannot tell is `open`, and only failures have a level."""
    kinds = sorted({one.kind for one in found})
    rules = [{"id": kind, "shortDescription": {"text": RULES[kind]}} for kind in kinds]
    results = [_result(target, one, kinds.index(one.kind)) for one in found]
    tool = {"driver": {"name": "trustgauge", "version": version("trustgauge"), "rules": rules}}
    return (
        canonical({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [{"tool": tool, "results": results}]})
        + "\n"
    )


RULES: Mapping[str, str] = {
    "level": "A rating must be better than a level, with certainty",
    "regression": "A system must not be worse than its baseline",
    "threshold": "A metric must reach a limit",
}


def _result(target: str, one: Check, rule: int) -> dict[str, Any]:
    kind = KINDS.get(one.outcome, "open")
    said = " ".join(filter(None, (f"{one.name}: {one.sentence}", one.following, *one.examples)))
    return {
        "ruleId": one.kind,
        "ruleIndex": rule,
        "kind": kind,
        "level": "error" if kind == "fail" else "none",
        "message": {"text": sanitize.visible(said)},
        "locations": [
            {
                "logicalLocations": [
                    {"name": sanitize.visible(one.about), "fullyQualifiedName": sanitize.visible(target)}
                ]
            }
        ],
        "partialFingerprints": {"check/v1": f"{one.about}/{one.name}"},
    }


def _headline(code: int, found: Sequence[Check]) -> str:
    """The outcome in a word, and what else did not pass."""
    words = [{0: "passed", 10: "failed", 5: "cannot tell"}.get(code, "incomplete")]
    for outcome, word in (("failed", "failed"), ("unsettled", "cannot tell")):
        count = sum(one.outcome == outcome for one in found)
        if count and word != words[0]:
            words.append(f"{count} {word}")
    return ", ".join(words)


def markdown(target: str, found: Sequence[Check]) -> str:
    """A summary: the outcome, the sentences that decided, and the next step."""
    ended = exit_of_checks(found)
    found = sorted(found, key=lambda one: RANKS.get(one.outcome, 2))
    lines = [
        f"### trustgauge gate: {_headline(ended.code, found)}",
        "",
        f"`{sanitize.visible(target).replace('`', '')}`, exit {ended.code}",
        "",
    ]
    lines += ["| check | outcome | what decided |", "| --- | --- | --- |"]
    for one in found:
        mark = MARKS.get(one.outcome, one.outcome)
        lines.append(f"| {sanitize.markdown(one.name)} | {mark} | {sanitize.markdown(one.sentence)} |")
    steps = list(dict.fromkeys(f"{one.name}: {one.following}" for one in found if one.following))
    if steps:
        lines += ["", "Next:", "", *(f"- {sanitize.markdown(step)}" for step in steps)]
    rows = [(one.name, row) for one in found if one.outcome == "failed" for row in one.examples]
    if rows:
        lines += ["", "Rows behind a failure:", "", *(f"- {sanitize.markdown(row)}" for _, row in rows[:20])]
    return "\n".join(lines) + "\n"
