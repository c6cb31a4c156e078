"""The page of results: every comparison with its ratio, its target and whether that is met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.pictures import bars, growth
from benchmarks.results import Curve, Found, Row, figure, from_json, limit, rows_in_words, verdict
from benchmarks.subjects import Subject

COMMAND = "python -m benchmarks"
BUSY = 1.5
"""Processes that wanted each core before a benchmark began; more are not of the benchmark before it."""
BARS = "benchmarks-ratios.svg"


def page(told: Mapping[str, Any], subjects: Mapping[str, Subject]) -> str:
    """All that was measured, as Markdown.

    Args:
        told: name of a subject to "found" (as `results.as_json` writes it) or "failed", with "machine",
            "quick", "load" (processes a core before it began) and "seconds".
        subjects: by name.
    """
    found = founds(told)
    machines = sorted({one["machine"] for one in told.values()})
    missed = [row for one in found.values() for row in one.rows if row.met is False]
    held = sum(row.met is True for one in found.values() for row in one.rows)
    lines = [
        "# Benchmarks",
        "",
        "What speed and memory come to, beside others who do the same work. Made by",
        f"`{COMMAND}`; one subject by itself is made again with `{COMMAND} --only NAME`.",
        "Each runs in a process of its own, one after the other, and both sides of a comparison run within",
        "it, so that the ratios say more than the seconds. Seconds hang on the machine: "
        + "; ".join(machines)
        + ".",
        "",
        "*Ratio* tells how many times better ours is: less time or memory, or more speed. Below 1 the other",
        "one is better. Targets are those the project set for itself before it measured.",
        "",
        f"Targets met: {held}. Missed: {len(missed)}.",
        "",
        f"![How many times better ours is]({BARS})",
    ]
    for name, one in told.items():
        lines += ["", *_section(name, subjects[name], one, found.get(name))]
    return "\n".join(lines) + "\n"


def founds(told: Mapping[str, Any]) -> dict[str, Found]:
    """What was found, of the subjects that did not fail."""
    return {name: from_json(one["found"]) for name, one in told.items() if "found" in one}


def pictures(told: Mapping[str, Any], subjects: Mapping[str, Subject]) -> dict[str, str]:
    """Every picture by the name of its file."""
    found = founds(told)
    drawn = {BARS: bars([row for one in found.values() for row in one.rows])}
    for name, one in found.items():
        if _grows(one.curves):
            drawn[_picture(name)] = growth(f"{subjects[name].title}: growth", one.curves)
    return drawn


def _grows(curves: tuple[Curve, ...]) -> bool:
    return any(len(curve.points) > 1 for curve in curves)


def _picture(name: str) -> str:
    return f"benchmarks-{name}.svg"


def _section(name: str, subject: Subject, told: Mapping[str, Any], found: Found | None) -> Iterator[str]:
    yield f"## {subject.title}"
    yield ""
    source = f"taken from `{told['taken']}`" if told.get("taken") else f"took {told['seconds']:,.0f} s"
    quick = ", at small sizes (`--quick`), by which no target is judged" if told["quick"] else ""
    if told["load"] > BUSY and not told.get("taken"):
        yield (
            f"**The machine had other work**: {told['load']:.1f} processes wanted each core, so seconds are "
            "too long, and the ratios are rough."
        )
        yield ""
    yield f"{subject.about} Subject `{name}`{quick}; {source}."
    yield ""
    if found is None:
        yield f"*Not measured:* {told['failed']}"
        return
    yield "| what | ours | against | other | ratio | target | |"
    yield "|---|---|---|---|---|---|---|"
    for row in found.rows:
        yield "| " + " | ".join(_cells(row)) + " |"
    for note in dict.fromkeys(row.note for row in found.rows if row.note):
        which = [str(place) for place, row in enumerate(found.rows, 1) if row.note == note]
        yield ""
        yield f"Row {', '.join(which)}: {note}."
    if found.curves:
        yield ""
        yield from _curves(found.curves)
    if _grows(found.curves):
        yield ""
        yield f"![How it grows]({_picture(name)})"


def _cells(row: Row) -> Iterator[str]:
    yield row.what
    yield f"{figure(row.ours)} {row.unit}" if row.ours is not None else "–"
    yield row.against
    yield f"{figure(row.other)} {row.unit}" if row.other is not None else ""
    yield figure(row.ratio) if row.ratio is not None else ""
    yield limit(row)
    yield verdict(row)


def _curves(curves: tuple[Curve, ...]) -> Iterator[str]:
    sizes = sorted({rows for curve in curves for rows, _ in curve.points})
    yield (
        "| growth | unit | "
        + " | ".join(f"{rows_in_words(rows)} rows" for rows in sizes)
        + " | power of the rows |"
    )
    yield "|" + "---|" * (len(sizes) + 3)
    for curve in curves:
        at = dict(curve.points)
        slope = "" if curve.slope is None else f"{curve.slope:.2f}"
        yield (
            f"| {curve.name} | {curve.unit} | "
            + " | ".join(figure(at.get(rows)) for rows in sizes)
            + f" | {slope} |"
        )
