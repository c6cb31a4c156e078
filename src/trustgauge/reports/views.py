"""What the report page shows of a rating, as plain values: the templates only place them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from trustgauge.reports import figures, numbers, sentences
from trustgauge.reports.colours import step
from trustgauge.reports.document import levels
from trustgauge.reports.inert import visible
from trustgauge.reports.phrases import FLAGS

Rated = Mapping[str, Any]


def tone(rating: Rated, level: str | None) -> str:
    """The style class of a level."""
    order = levels(rating)
    return f"l{step(order.index(level), len(order))}" if level in order and level else ""


def tiles(rating: Rated) -> list[tuple[str, str, str]]:
    """The four tiles: name, figure, what it is of."""
    rated, able = sentences.tested(rating)
    overall, cover, cost = rating["overall"], rating["coverage"], rating["cost"]
    lost = cover["planned"] - cover["answered"] - cover["refused"] - cover["empty"]
    calls = f"{numbers.count(cost['calls'])} calls, " if cost else ""
    same = overall["unchanged"]
    return [
        (
            "Tested",
            f"{rated} of {able}",
            f"{sentences.noun(rating, able)}; {calls}{numbers.count(lost) if lost else 'no'} answers lost",
        ),
        ("Certainty", numbers.certainty(overall["certainty"].get(overall["level"])), _certain(rating)),
        (
            "Unchanged",
            share(same),
            f"of {numbers.count(same['n'])} mentions came back as sent" if same else "no data",
        ),
        ("Valid until", numbers.day(rating["expires"]), "or until the service changes version"),
    ]


def _certain(rating: Rated) -> str:
    overall = rating["overall"]
    if overall["level"] is None:
        return "no level"
    said = f"of the resamples say {sentences.name(overall['level'])}"
    return said if rating["state"] == "rated" else f"{said}: {rating['state']}"


def share(value: Mapping[str, Any] | None) -> str:
    """A share, or a dash where there is none."""
    return numbers.percent(value["value"], value["n"]) if value else numbers.NONE


def in_out(rating: Rated) -> str:
    """What became of balanced text in the worst part: "200:200 → 204:196"."""
    worst = rating["overall"]["worst"]
    for part in rating["parts"]:
        if part["level"] is not None and (not worst or part["key"] in worst):
            return balanced(part)
    return numbers.NONE


def balanced(part: Mapping[str, Any]) -> str:
    """Counts of the first unbiased block of a part, in and out."""
    for block in part["counts"].get("blocks", ()):
        if block["kind"] == "unbiased":
            return f"{numbers.ratio(block['in'])} → {numbers.ratio(block['out'])}"
    return numbers.NONE


def overall_notes(rating: Rated) -> str:
    """What must stand beside a service in a table of services."""
    parts = [part for part in rating["parts"] if part["key"] in rating["overall"]["worst"]]
    told = (
        [f"worst: {sentences.listing([sentences.title(part) for part in parts])}"]
        if len(rating["parts"]) > 1
        else []
    )
    if len(rating["parts"]) == 1:
        # One value for all is the level itself, told by its reason, and no caution beside it.
        told += [note for note in sentences.notes(rating["parts"][0], rating) if note != FLAGS["one-sided"]]
    elif rating["state"] != "rated":
        told.append(sentences.state(rating["state"]))
    if rating["state"] == "incomplete":
        told.append(sentences.no_level(rating))
    return "; ".join(dict.fromkeys(told))


def overall_reasons(rating: Rated) -> list[str]:
    """Reasons of the overall rating beyond what `follows` has said."""
    if len(rating["parts"]) == 1:
        return []  # the reasons of its only part, which stand under "why"
    said = [one for one in rating["reasons"] if one["code"] not in {"overall.worst-part", "overall.vote"}]
    return sentences.reasons(said, rating)


def part_reasons(rating: Rated) -> list[tuple[str, list[str]]]:
    """Reasons of each part, with its title."""
    several = len(rating["parts"]) > 1
    told = [
        (sentences.title(part) if several else "", sentences.reasons(part["reasons"], rating))
        for part in rating["parts"]
    ]
    return [(who, lines) for who, lines in told if lines]


def part_table(rating: Rated) -> dict[str, Any]:
    """The table of parts: its heads and rows."""
    parts = sentences.worst_first(rating)
    first: Mapping[str, Any] = next((part["counts"] for part in parts if part["counts"].get("blocks")), {})
    blocks = {block["block"]: block for block in first.get("blocks", ())}
    noun = sentences.noun(rating, 1)
    return {
        "heading": f"{noun.capitalize()} by {noun}" if len(parts) > 1 else "What came back",
        "first": "Middle language" if noun == "language" else "Part",
        "value_names": list(first.get("values", ())),
        "blocks": [block_name(block, first.get("values", ())) for block in blocks.values()],
        "rows": [_part_row(rating, part, list(blocks)) for part in parts],
    }


def block_name(block: Mapping[str, Any], values: Sequence[str]) -> str:
    """A block in words: "Step 1: balanced input", "Step 2: 90 % She"."""
    if block["kind"] == "unbiased":
        return "Step 1: balanced input"
    top = max(range(len(block["shares"])), key=lambda index: block["shares"][index])
    named = sentences.name(str(values[top])) if top < len(values) else block["block"]
    return f"Step 2: {numbers.percent(block['shares'][top])} {named}"


def block_names(ratings: Sequence[Rated]) -> dict[str, str]:
    """Names of all blocks of a run, by key."""
    return {
        block["block"]: block_name(block, part["counts"]["values"])
        for rating in ratings
        for part in rating["parts"]
        for block in part["counts"].get("blocks", ())
    }


def _part_row(rating: Rated, part: Mapping[str, Any], blocks: Sequence[str]) -> dict[str, Any]:
    mine = {block["block"]: block for block in part["counts"].get("blocks", ())}
    title = sentences.title(part)
    return {
        "title": title,
        "code": sentences.name(part["key"]) if part["key"] and part["key"] != part["title"] else "",
        "notes": sentences.notes(part, rating),
        "cells": [_cell(rating, part, mine.get(key)) for key in blocks],
        "level": part["level"],
        "state": part["state"],
        "certainty": part["certainty"],
        "unchanged": part["unchanged"],
    }


def _cell(rating: Rated, part: Mapping[str, Any], block: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if block is None:
        return None
    order = levels(rating)
    unused = block["kind"] == "biased" and part["level"] == order[-1]
    gap = part["details"].get("deviations", {}).get(block["block"])
    if unused:
        caption = "not used for the level"
    elif rating["method"]["rule"] == "sound" and gap:
        caption = f"{numbers.points(gap['value'])} off balance"
    else:
        caption = _tests(block, part["counts"])
    drawing = Markup(figures.bars(block, part["counts"]["values"], pale=unused))  # escaped in svg
    return {"drawing": drawing, "caption": caption}


def _tests(block: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    """What the published tests say of a block: which declared distributions its output is like."""
    tests = block.get("p")
    if not isinstance(tests, Mapping) or not isinstance(tests.get("resembles"), list | tuple):
        return ""
    known = {one["block"]: block_name(one, counts["values"]).split(": ")[1] for one in counts["blocks"]}
    named = [known.get(str(key), str(key)).removesuffix(" input") for key in tests["resembles"]]
    return f"like {sentences.listing(named, 'or')}" if named else "fits neither"


def changes(rating: Rated) -> list[tuple[str, str, str, str, str]]:
    """Which value became which, part by part: part, change, share with interval, n, adjusted p."""
    told = []
    for part in rating["parts"]:
        for change in part["details"].get("swaps") or ():
            if not change["value"]:
                continue
            p = change.get("p_holm")
            told.append(
                (
                    sentences.title(part),
                    f"{sentences.name(change['from'])} → {sentences.name(change['to'])}",
                    numbers.interval(change).split(", n =")[0],
                    numbers.count(change["n"]),
                    numbers.NONE if p is None else numbers.p_value(p).removeprefix("p ").removeprefix("= "),
                )
            )
    return told


def limits(document: Mapping[str, Any]) -> list[str]:
    """What the ratings of a run do not say; never empty."""
    ratings = document["ratings"]
    told = [line for rating in ratings for line in sentences.reasons(rating["limits"], rating)]
    for rating in ratings:
        rated, able = sentences.tested(rating)
        facts = {"tested": rated, "of": able}
        if rated < able:
            line = sentences.reason({"code": "limits.not-all-parts", "facts": facts}, rating)
            told.append(f"{sentences.name(rating['service']['name'])}: {line}" if len(ratings) > 1 else line)
        if rating["state"] == "not settled":
            told.append(sentences.reason({"code": "limits.not-settled"}, rating))
        if rating["overall"]["level"] == "UCS" and rating["method"]["name"] == "two-step":
            told.append(sentences.reason({"code": "limits.ucs-not-accurate"}, rating))
    told += [sentences.reason({"code": code}) for code in ("limits.one-day", "limits.measurement")]
    return list(dict.fromkeys(told))


def check_facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a reader needs to check the run, or to run it again."""
    run, ratings = document["run"], document["ratings"]
    who = run["assessor"]
    costs = list(run["costs"].values())
    seconds = max((cost["seconds"] for cost in costs), default=0)
    rules = dict.fromkeys(
        f"{one['method']['name']} {one['method']['version']}, rule {one['method']['rule']}" for one in ratings
    )
    papers = [paper for paper in run["paper"].values() if paper]
    calls = numbers.count(sum(cost["calls"] for cost in costs))
    spent = f"{calls} calls · {numbers.usd(sum(cost['usd'] for cost in costs))} · {numbers.span(seconds)}"
    facts = [
        *((f"{name.capitalize()} hash", value) for name, value in run["hashes"].items()),
        ("Method", "; ".join(rules)),
        ("Paper", "; ".join(papers)),
        ("Seed", str(run["seed"])),
        ("Collected", run["collected"]),
        ("Cost and time", spent),
        ("Began, ended", f"{numbers.moment(run['started'])}, {numbers.moment(run['ended'])}"),
        ("Software", ", ".join(f"{name} {version}" for name, version in run["versions"].items())),
        ("Rated by", sentences.assessor(run)),
        ("Paid by", sentences.name(who["paid_by"])),
    ]
    facts += [fact for one in ratings for fact in _fingerprints(one["service"], run["services"])]
    return [(name, visible(value)) for name, value in facts if value]


def _fingerprints(service: Rated, services: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What identifies a service: one fingerprint, or one for each part."""
    who = sentences.name(service["name"])
    if service["fingerprint"]:
        return [("Fingerprint", f"{who}: {service['fingerprint']}")]
    parts = services.get(service["key"], {}).get("parts", {})
    return [
        (f"Fingerprint {sentences.name(key)}".rstrip(), f"{who}: {value}") for key, value in parts.items()
    ]


def options(ratings: Sequence[Rated]) -> list[tuple[str, str]]:
    """The settings of the methods, as far as they were told."""
    told = {}
    for rating in ratings:
        for key, value in rating["method"]["options"].items():
            told[sentences.name(key).replace("_", " ")] = sentences.name(str(value))
    return sorted(told.items())
