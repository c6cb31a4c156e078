"""The page: targets first, then each method setting by setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.calibration.counting import VARIES, Row, certainties
from benchmarks.calibration.targets import NOMINAL, percent, span, targets

PICTURE = "calibration.svg"


@dataclass(frozen=True, slots=True)
class Measured:
    """One method, measured.

    Attributes:
        rows: its settings.
        day: on which the last of them was measured.
        seed: of all streams.
        seconds: of processor time.
        notes: why a target is missed and what follows, by what it is about (`Target.about`); "known"
            is told whether or not one is missed.
    """

    rows: tuple[Row, ...]
    day: str
    seed: int
    seconds: int
    notes: Mapping[str, str]


def page(methods: Mapping[str, Measured]) -> str:
    """Everything that was measured, as Markdown."""
    command = "python -m benchmarks.calibration"
    lines = [
        "# Calibration",
        "",
        "How often ratings are right, on services of known truth that answer in text. Each is built, asked,",
        "read and rated many times, with another seed each time; what the reader of a method gets wrong",
        f"counts as wrong. Made by `{command}`; a method by itself is made again with",
        f"`{command} --method NAME`, what is missing with `--missing`. Each method says when it was",
        "measured.",
        "",
        "A rating is *wrong* if it is settled at a level that is not the true one. A level that is not",
        "settled claims nothing and is not counted as wrong. A truth on a cut has two right levels: there",
        'only the interval and the share "not settled" are told. Shares are in per cent, with their 95 %',
        "interval by Wilson. Sizes in *italics* are smaller than those of the ready plans; targets do not",
        "hold there, except that of power.",
        "",
        f"![Certainty said against share right]({PICTURE})",
        "",
        "## Targets at the recommended sizes",
        "",
        "| method | target | limit | measured | |",
        "|---|---|---|---|---|",
    ]
    for name, one in methods.items():
        for target in targets(one.rows):
            verdict = "met" if target.met else "**missed**"
            lines.append(f"| {name} | {target.what} | {target.limit} | {target.measured} | {verdict} |")
    for name, one in methods.items():
        lines += ["", *_method(name, one)]
    return "\n".join(lines) + "\n"


def _method(name: str, one: Measured) -> Iterator[str]:
    total = sum(row.runs for row in one.rows)
    yield f"## {name}"
    yield ""
    yield f"{total:,} ratings; seed {one.seed}; {one.seconds:,} seconds of a processor, last on {one.day}."
    yield ""
    yield from _settings(one.rows)
    yield ""
    yield from _bins(one.rows)
    missed = {target.about for target in targets(one.rows) if not target.met}
    for about, note in one.notes.items():
        if about in missed or about == "known":
            yield ""
            yield f"*{'Known' if about == 'known' else f'Missed, {about}'}:* {note}"


def _settings(rows: Sequence[Row]) -> Iterator[str]:
    yield (
        "| tests | service | truth | size | runs | wrong | not settled | of these without a level | "
        f"not read | {100 * NOMINAL:g} % interval holds the truth | power promised | found |"
    )
    yield "|" + "---|" * 12
    for row in sorted(rows, key=lambda row: not row.recommended):
        yield "| " + " | ".join(_cells(row)) + " |"


def _cells(row: Row) -> Iterator[str]:
    yield from (row.kind, row.service, f"{row.truth}, on a cut" if row.on_cut else row.truth)
    yield row.size if row.recommended else f"*{row.size}*"
    yield f"{row.runs:,}"
    yield "–" if row.on_cut else percent(row.wrong, row.runs)
    yield percent(row.unsettled, row.runs)
    yield percent(row.unrated, row.runs) if row.unrated else "0"
    yield "" if row.unread is None else f"{100 * row.unread:.0f}"
    yield percent(row.covered, row.intervals)
    yield "" if row.promised is None else f"{100 * row.promised:.0f}"
    yield "" if row.promised is None else percent(row.found, row.runs)


def _bins(rows: Sequence[Row]) -> Iterator[str]:
    varied = any(row.truth == VARIES for row in rows)
    which = "the services that are drawn anew in each run" if varied else "all services"
    yield f"Certainty said and share of right levels, over {which}, at all sizes:"
    yield ""
    yield "| certainty | said | right | ratings |"
    yield "|---|---|---|---|"
    for place, one in enumerate(certainties(rows)):
        if one.n or place:
            said = f"{100 * one.said / one.n:.1f}" if one.n else "–"
            yield f"| {span(place)} | {said} | {percent(one.right, one.n)} | {one.n:,} |"
