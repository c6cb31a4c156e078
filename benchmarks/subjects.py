"""What `python -m benchmarks` runs, and how each benchmark's figures become rows and curves.

A benchmark is a command whose last line of output is one JSON document. New ones print rows; the others
print figures of their own, which the functions here turn into rows. Targets stand here too, with why they
are missed where they are: a reason is told only in that case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.results import Curve, Found, Row, Target, from_json, rows_in_words

LONG = "long, "
"""Begins the names of the figures for long answers in the JSON of `benchmarks.judges`."""
LONG_TARGETS = {
    "sound": Target(20_000, "cutting a new text into words alone takes that long; next, one scan"),
    "trained": Target(300, "runs of words are looked up one by one; next, fewer of them"),
}
"""Answers of about 60 words that each judge is to read in a second."""
ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
"""Figures for each core are taken with one."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One benchmark.

    Attributes:
        title: of its section.
        about: what is measured, in a sentence or two.
        command: what Python is given, without arguments.
        full, quick: the arguments.
        read: from its JSON to what it found.
        environment: variables that are set.
        file: where its JSON goes, if it writes a file (`--json FILE`) instead of a last line. A file of this
            name beside the results is taken as it is, for benchmarks that take long.
    """

    title: str
    about: str
    command: tuple[str, ...]
    full: tuple[str, ...]
    quick: tuple[str, ...]
    read: Callable[[Any], Found]
    environment: Mapping[str, str] = field(default_factory=dict)
    file: str = ""


def ask(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.ask --json`: wall and CPU seconds by way."""
    calls, ways = told["calls"], told["ways"]
    what = f"{calls:,} calls through engine, adapter and durable store"
    whole, bare = ways["whole"], ways["bare"]
    costs = Target(100, "the engine wakes for each answer that comes alone; next, fewer wake-ups a call")
    return Found(
        (
            Row(what=what, unit="s", ours=whole[0], against="a bare loop, same client", other=bare[0]),
            Row(what=what, unit="s", ours=whole[0], against="the ideal: latency only", other=told["ideal"]),
            Row(
                what=f"{what}, processor time of a call",
                unit="µs",
                ours=whole[1] / calls * 1e6,
                against="a bare loop, same client",
                other=bare[1] / calls * 1e6,
                target=costs,
            ),
        )
    )


def rate(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.rate --json`: wall and CPU seconds of whole processes."""
    (wall, cpu), bare = told["rate"], told["bare"]
    what = "rating of a chatbot by 2,000 questions, the whole process"
    loop = "a process that only asks, same client"
    why = (
        "the same process asks, keeps and rates seven services of known truth, 14,000 further answers, and "
        "loading libraries takes about a quarter; next, ask and read those services in columns"
    )
    return Found(
        (
            Row(what=what, unit="s", ours=wall, against=loop, other=bare[0], target=Target(1.25, why)),
            Row(what=what, unit="s", ours=wall, against="the ideal: latency only", other=told["ideal"]),
            Row(
                what=f"{what}, processor time",
                unit="s",
                ours=cpu,
                against=loop,
                other=bare[1],
                target=Target(0.8, why),
            ),
        )
    )


def design(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.questions --json`: questions a CPU second, and peak memory."""
    speeds = told["speeds"]
    quick = Target(1_000_000, "strings are put together for each question; next, longer batches")
    rows = [
        Row(
            what=f"questions made from their numbers, {way}",
            unit="questions/s",
            ours=speed,
            better="more",
            target=quick,
            note="a core",
        )
        for way, speed in speeds.items()
    ]
    rows.append(
        Row(
            what=f"peak memory after {told['questions']:,} more questions",
            unit="MB",
            ours=told["end"],
            against="after 2,000,000",
            other=told["first"],
            target=Target(1.05 * told["first"], "memory grows with the questions; next, smaller batches"),
            note="constant memory: within a twentieth",
        )
    )
    return Found(tuple(rows))


def judges(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.judges --json`: answers a CPU second by what they are."""
    target = Target(200_000, "names are looked up in each text; next, once in each distinct question")
    rows = []
    for name, figures in told.items():
        if name == "repeated":
            continue
        if name.startswith(LONG):
            judge = name.removeprefix(LONG)
            rows.append(
                Row(
                    what=f"answers of about 60 words, each read once, by the {judge} judge",
                    unit="answers/s",
                    ours=figures[0],
                    better="more",
                    target=LONG_TARGETS[judge],
                    note="a core",
                )
            )
            continue
        number, warm, _, naive = figures
        rows.append(
            Row(
                what=f"{number:,.0f} distinct answers judged, {name}",
                unit="answers/s",
                ours=warm,
                against="the published judge, row after row",
                other=naive,
                better="more",
                target=target,
                note="a core",
            )
        )
    number, speed = told["repeated"]
    rows.append(
        Row(
            what=f"{number:,.0f} answers judged, 2,000 of them distinct",
            unit="answers/s",
            ours=speed,
            better="more",
            target=Target(1_000_000, "finding equal answers takes most of it; next, keep their codes"),
            note="a core",
        )
    )
    return Found(tuple(rows))


def causal(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.causal --json`: seconds by stage, and those of the loop."""
    stages = told["stages"]
    what = f"{rows_in_words(told['rows'])} scores, 10 classes, 10,000 resamples of all effects"
    why = "bootstrap weights are multinomial draws; next, draw them as integers"
    return Found(
        (
            Row(
                what=f"{what}, rated",
                unit="s",
                ours=stages["rate"],
                target=Target(2.0, why) if told["rows"] == 1_000_000 else None,
            ),
            Row(
                what=f"{what}, summed up and rated",
                unit="s",
                ours=sum(stages.values()),
                against="a loop of scipy.stats.ttest_ind over resampled scores",
                other=told["loop"],
                note=f"the loop was timed on {told['loops']} resamples of one pair and scaled",
            ),
        )
    )


def trust(told: Mapping[str, Any]) -> Found:
    """From `benchmarks.trust --json`: turns a CPU second by issue, and a whole run."""
    turns = f"{told['turns']:,}"
    rows = [
        Row(what=f"{turns} turns read for {name}", unit="turns/s", ours=speed, better="more", note="a core")
        for name, speed in told["speeds"].items()
    ]
    rows += [
        Row(what=f"{turns} recorded turns rated, a whole run", unit="s", ours=told["rated"]),
        Row(what=f"{turns} recorded turns rated, peak memory", unit="MB", ours=told["memory"]),
        Row(what=f"{turns} recorded turns verified", unit="s", ours=told["verified"]),
    ]
    return Found(tuple(rows))


def proxy(told: Mapping[str, Sequence[float]]) -> Found:
    """From `benchmarks.proxy --json`: medians of both ways, in milliseconds."""
    why = "each piece wakes the proxy, which waits if cores are busy; next, pass on what lies ready at once"
    return Found(
        tuple(
            Row(
                what=f"added by the proxy to {direct:.1f} ms: {name}",
                unit="ms",
                ours=through - direct,
                target=Target(2.0, why),
            )
            for name, (direct, through) in told.items()
        )
    )


STAGES = {
    "ask": "a whole run",
    "fill": "answers written without asking",
    "rate": "a run again, nothing asked: checked, summed up, rated, reported",
    "verify": "everything derived again and compared",
    "store": "store alone: cost, hash, all keys looked up",
    "codes": "summary and rating from a Parquet file of integer codes",
}


def memory(told: Mapping[str, Any]) -> Found:
    """From the JSON of `benchmarks.scale`: seconds and peak memory of each stage at each size."""
    rows: list[Row] = []
    curves: list[Curve] = []
    for stage, words in STAGES.items():
        sizes = sorted((one for one in told["stages"] if one["stage"] == stage), key=lambda one: one["rows"])
        if not sizes:
            continue
        curves.append(Curve(stage, "s", tuple((one["rows"], one["seconds"]) for one in sizes)))
        curves.append(Curve(stage, "MB", tuple((one["rows"], one["peak_mb"]) for one in sizes)))
        rows.append(_peak(words, sizes, curves[-1]))
        if stage == "codes":
            rows += _codes(words, sizes[-1])
    return Found(tuple(rows), tuple(curves))


def _peak(words: str, sizes: Sequence[Mapping[str, Any]], curve: Curve) -> Row:
    first, last = sizes[0], sizes[-1]
    grown = len(sizes) > 1
    slope = curve.slope
    return Row(
        what=f"peak memory at {rows_in_words(last['rows'])} rows, {words}",
        unit="MB",
        ours=last["peak_mb"],
        against=f"the same at {rows_in_words(first['rows'])} rows" if grown else "",
        other=first["peak_mb"] if grown else None,
        note=f"grows as the rows to the power {slope:.2f}" if slope is not None else "",
    )


def _codes(words: str, one: Mapping[str, Any]) -> list[Row]:
    whole = one["rows"] >= 10_000_000
    why = "libraries alone take 100 MB, and row groups are read side by side; next, smaller row groups"
    slow = "decompression of nine columns; next, one column of cells"
    size = rows_in_words(one["rows"])
    return [
        Row(
            what=f"{size} rows, {words}",
            unit="s",
            ours=one["summarise"] + one["rate"],
            target=Target(0.6, slow) if whole else None,
        ),
        Row(
            what=f"{size} rows, {words}, peak memory",
            unit="MB",
            ours=one["peak_mb"],
            target=Target(250, why) if whole else None,
        ),
    ]


def _module(name: str) -> tuple[str, ...]:
    return ("-m", f"benchmarks.{name}", "--json")


SUBJECTS: dict[str, Subject] = {
    "startup": Subject(
        "Start-up",
        "Whole processes, in turns.",
        _module("startup"),
        (),
        ("--rounds", "5"),
        from_json,
    ),
    "ask": Subject(
        "Asking",
        "A local server answers after 20 ms, 64 calls at a time. Start-up is left out.",
        _module("ask"),
        (),
        ("--rounds", "1"),
        ask,
    ),
    "rate-limits": Subject(
        "Refused calls",
        "A local server answers after 20 ms, 64 calls at a time, and now and then with 429 and "
        "`Retry-After: 1`. The wait of the last refused call weighs less the longer a run is.",
        _module("rate_limits"),
        (),
        ("--calls", "500"),
        from_json,
    ),
    "folders": Subject(
        "Folders of many ratings",
        "A folder of 5,000 runs of 20 services, copies of one run; whole processes of the command.",
        _module("folders"),
        (),
        ("--runs", "20"),
        from_json,
    ),
    "rate": Subject(
        "A whole rating",
        "2,000 questions to a local chatbot that answers after 20 ms, 64 at a time: start-up, design, "
        "asking, a durable store, services of known truth, judging, rating and report.",
        _module("rate"),
        (),
        ("--rounds", "1"),
        rate,
    ),
    "design": Subject(
        "Design",
        "Questions of a catalogue of 841 groups and 8,110 properties, in a row and at permuted places.",
        _module("questions"),
        (),
        ("--questions", "1000000"),
        design,
        ONE_THREAD,
    ),
    "judges": Subject(
        "Judges",
        "Short answers read by the sound judge, after its caches are warm; long ones by both judges, anew.",
        _module("judges"),
        (),
        ("--answers", "10000", "--repeated", "200000"),
        judges,
        ONE_THREAD,
    ),
    "analysis": Subject(
        "Summing up and rating",
        "Both ways must come to the same figures, or the benchmark fails.",
        _module("analysis"),
        (),
        (
            *("--rows", "100000", "1000000", "--pairs", "1000", "--adjusted", "100000"),
            *("--answers", "100000", "--rounds", "1"),
        ),
        from_json,
    ),
    "causal": Subject(
        "The causal method",
        "All pairs of ten classes: effects, rejection score and impact, with their resamples and levels.",
        _module("causal"),
        (),
        ("--rows", "200000"),
        causal,
    ),
    "trust": Subject(
        "The trust method",
        "A transcript of dialogs of five turns in which nearly all answers differ.",
        _module("trust"),
        ("--turns", "20000"),
        ("--turns", "1000"),
        trust,
    ),
    "store": Subject(
        "Store",
        "Every transaction is synced to the disk. Both ways must read back the same rows.",
        _module("store"),
        (),
        ("--answers", "10000"),
        from_json,
    ),
    "proxy": Subject(
        "Proxy",
        "Medians of requests that take turns, direct and through the proxy.",
        _module("proxy"),
        (),
        ("--requests", "100"),
        proxy,
    ),
    "memory": Subject(
        "Memory, and how everything grows",
        "A two-step run of a service that answers differently each time, with its controls, in the Parquet "
        "store; each stage in a process of its own. Peak memory is that of the whole process, of which "
        "Python and its libraries take about 100 MB. Up to ten million rows it takes long, so it is measured "
        "by itself: `python -m benchmarks.scale --json docs/figures/scale.json`.",
        ("-m", "benchmarks.scale"),
        ("--rows", "10000", "100000"),
        ("--rows", "10000"),
        memory,
        file="scale.json",
    ),
}
