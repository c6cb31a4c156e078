"""The kit that proves that a method keeps its contract (methods.method.Method); for outsiders too.

    check_method(MyMethod(method="mine", services=("a",)), lambda probes: probes["message"].to_list())

It asks nothing of a network and knows no method: answers come from the function it is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, get_args

import polars as pl

from trustgauge.errors import MethodError
from trustgauge.methods import Method, absent_members
from trustgauge.records import PROBE, RESPONSE, Part, Rating, State, Status, Task, canonical, is_json, plain

Outputs = Sequence[str | None]
AnswerWith = Callable[[pl.DataFrame], Outputs]
"""Answers a probe frame: one text for each row (a score as text)."""

SERVICE = "conformance"
TYPES: dict[str, pl.DataType] = {"str": pl.String(), "int": pl.Int64(), "float": pl.Float64()}


def check_method(method: Method, answer_with: AnswerWith, seed: int = 1) -> None:
    """Check a method with its settings against the contract of `methods.method.Method`.

    Args:
        method: the method; keep its plan small, as everything is done several times.
        answer_with: an ordinary service, as a function from probes to outputs.
        seed: of the design and the rating.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    _check_facts(method)
    tasks = [task for task in method.tasks if _can_ask(method, seed, task)]
    _hold(bool(tasks), method, "no task can be asked", must="at least one task of `tasks` designed")
    for task in tasks:
        probes = _check_design(method, seed, task)
        marks = _check_marks(method, answers(probes, answer_with(probes)))
        summary = _check_merge(method, marks)
        _check_ratings(method, summary, seed)
        _check_degenerate(method, probes, answer_with, seed)
        _check_controls(method, task)
    _hold(
        is_json(dict(method.power(seed))), method, "power is not plain data", must="numbers, texts and lists"
    )


def answers(probes: pl.DataFrame, outputs: Outputs, status: Status = "answered") -> pl.DataFrame:
    """Probes with the columns that asking adds, as a method's `score` gets them."""
    given = {"status": status, "trail": "[]", "error": "", "millis": 1.0, "attempts": 1}
    columns = [
        pl.Series("output", list(outputs), dtype=pl.String)
        if name == "output"
        else pl.lit(given.get(name, 0 if kind != "str" else ""), dtype=TYPES[kind]).alias(name)
        for name, kind in RESPONSE.items()
    ]
    return probes.with_columns(
        pl.lit(SERVICE).alias("service"),
        pl.lit("").alias("part"),
        pl.lit(value=False).alias("shared"),
        *columns,
    )


def _hold(holds: bool, method: Method, what: str, *, must: str = "", got: Any = "") -> None:
    if not holds:
        name = getattr(method, "name", type(method).__name__)
        raise MethodError(f"{name}: {what}", must=must, got=str(got)[:200])


def _check_facts(method: Method) -> None:
    absent = absent_members(type(method))
    _hold(not absent, method, f"the method has no {', '.join(absent)}", must="all of the protocol Method")
    for fact in ("name", "paper", "version"):
        _hold(bool(getattr(method, fact)), method, f"`{fact}` is empty", must="words")
    scale = method.scale_in_use
    _hold(
        len(scale.levels) == len(scale.words) > 1, method, "the scale is broken", must="words for every level"
    )
    _hold(len(set(scale.levels)) == len(scale.levels), method, "a level stands twice", got=scale.levels)
    texts, issue = method.texts, method.issue
    whole = isinstance(texts, int) and texts > 0
    _hold(whole, method, "`texts` is no number of texts", must="a whole number above 0", got=repr(texts))
    _hold(bool(issue) and isinstance(issue, str), method, "`issue` is empty", must="a word", got=repr(issue))
    _hold(bool(method.tasks), method, "no task", must="one of: " + ", ".join(get_args(Task)))


def _can_ask(method: Method, seed: int, task: Task) -> bool:
    """A task that its settings do not fit must be refused with a MethodError."""
    try:
        next(iter(method.design(seed, task)))
    except MethodError:
        return False
    return True


def _check_design(method: Method, seed: int, task: Task) -> pl.DataFrame:
    first = method.design(seed, task)
    _hold(isinstance(first, Iterator), method, "the design is not lazy", must="an iterator", got=type(first))
    batches = list(first)
    again = list(method.design(seed, task))
    same = [_bytes(one) for one in batches] == [_bytes(one) for one in again]
    _hold(same, method, "two designs with one seed differ", must="byte-identical")
    probes = pl.concat(batches)
    _hold(not probes.is_empty(), method, "the design is empty", must="at least one probe")
    for column, kind in PROBE.items():
        got = probes.schema.get(column)
        _hold(got == TYPES[kind], method, f"column `{column}` of the probes", must=str(TYPES[kind]), got=got)
    _hold(probes["id"].is_unique().all(), method, "ids are not unique", must="one id for each probe")
    asked = probes.filter(pl.col("session") == "").select("message", "draw")
    _hold(asked.is_unique().all(), method, "a message is asked twice with one draw", must="a draw for each")
    return probes


def _check_marks(method: Method, given: pl.DataFrame) -> pl.DataFrame:
    marks = method.score(given)
    height = marks.height == given.height
    _hold(height, method, "score changed the height", must=str(given.height), got=marks.height)
    _hold(marks["id"].equals(given["id"]), method, "score changed the order", must="the order of the answers")
    missing = [column for column in given.columns if column not in marks.columns]
    _hold(not missing, method, "score dropped columns", must="the answers' columns kept", got=missing)
    shown = method.evidence(marks).height
    _hold(shown == given.height, method, "evidence leaves rows out", must=str(given.height), got=shown)
    return marks


def _check_merge(method: Method, marks: pl.DataFrame) -> pl.DataFrame:
    """Shards may be added up in any order and grouping; nothing added changes nothing."""
    whole = method.merge([method.summarise(marks)])
    unit = pl.when(pl.col("session") == "").then("id").otherwise("session")
    shard = marks.select(unit.rank("dense").cast(pl.Int64) % 3).to_series()
    parts = [method.summarise(marks.filter(shard == index)) for index in range(3)]
    for order in permutations(parts):
        first, second, third = order
        for merged in (
            method.merge(order),
            method.merge([method.merge([first, second]), third]),
            method.merge([first, method.merge([second, third])]),
        ):
            _hold(_same(merged, whole), method, "shards do not add up", must="the same sum in any order")
    empty = method.merge([])
    _hold(empty.is_empty(), method, "a merge of nothing holds something", must="an empty summary")
    _hold(_same(method.merge([empty, whole]), whole), method, "the empty summary is not neutral")
    none = method.summarise(marks.clear())
    _hold(_same(method.merge([none, whole]), whole), method, "the summary of no marks is not neutral")
    return whole


def _check_ratings(method: Method, summary: pl.DataFrame, seed: int) -> list[Rating]:
    ratings = method.rate(summary, seed)
    again = method.rate(summary, seed)
    _hold(bool(ratings), method, "no rating", must="a rating for each service")
    for one in ratings:
        _hold(is_json(plain(one)), method, "a rating is not plain data", must="JSON without NaN", got=one)
        _check_rating(method, one)
    same = canonical([plain(one) for one in ratings]) == canonical([plain(one) for one in again])
    _hold(same, method, "two ratings with one seed differ", must="byte-identical")
    return ratings


def _check_rating(method: Method, one: Rating) -> None:
    levels = method.scale_in_use.levels
    _hold(one.service == SERVICE, method, "a rating of another service", must=SERVICE, got=one.service)
    version = one.version == method.version
    _hold(version, method, "a rating of another version", must=method.version, got=one.version)
    same = one.scale == method.scale_in_use
    _hold(same, method, "a rating on another scale", must=str(levels), got=one.scale)
    _hold(bool(one.parts), method, "a rating without parts", must="at least one part")
    judged: tuple[Rating | Part, ...] = (one, *one.parts)
    for what in judged:
        _hold(
            what.state in get_args(State), method, "no such state", must=str(get_args(State)), got=what.state
        )
        _hold(
            what.level is None or what.level in levels,
            method,
            "no such level",
            must=str(levels),
            got=what.level,
        )
        _hold(what.state != "rated" or what.level is not None, method, "rated without a level")
        shares = dict(what.certainty)
        _hold(set(shares) <= set(levels), method, "certainty of no level", must=str(levels), got=shares)
        total = math.fsum(shares.values())
        _hold(not shares or abs(total - 1) < 1e-6, method, "certainties do not add up", must="1", got=total)


def _check_degenerate(method: Method, probes: pl.DataFrame, answer_with: AnswerWith, seed: int) -> None:
    """Data without a message have defined answers, and missing data are never a level (methods 0.4)."""
    nothing: list[str | None] = [None] * probes.height
    hostile = ["</script>\x00\u202e\N{REPLACEMENT CHARACTER}" + "x" * 1000] * probes.height
    cases: list[tuple[str, Outputs, Status]] = [
        ("all failed", nothing, "failed"),
        ("all empty", [""] * probes.height, "empty"),
        ("all refused", ["No."] * probes.height, "refused"),
        ("all the same", [answer_with(probes.head(1))[0]] * probes.height, "answered"),
        ("all hostile", hostile, "answered"),
    ]
    for name, outputs, status in cases:
        try:
            summary = method.merge([method.summarise(method.score(answers(probes, outputs, status)))])
            ratings = _check_ratings(method, summary, seed)
        except MethodError:
            raise
        except Exception as error:
            what = f"{method.name}: no defined answer when {name}"
            raise MethodError(what, must="a rating or a state", got=repr(error)[:200]) from error
        if status == "failed":
            states = {one.state for one in ratings}
            _hold(
                "rated" not in states, method, "rated without a single answer", must="incomplete", got=states
            )
    single = method.merge(
        [method.summarise(method.score(answers(probes.head(1), answer_with(probes.head(1)))))]
    )
    _check_ratings(method, single, seed)
    _hold(method.rate(method.merge([]), seed) == [], method, "a rating without any data", must="no rating")


def _check_controls(method: Method, task: Task) -> None:
    for control in method.controls(task):
        truths = set(control.truth.split(" or "))
        _hold(truths <= set(method.scale.levels), method, "a control's truth is no level", got=control)
        _hold(
            bool(control.settings.get("use")), method, "a control names no service", must="use", got=control
        )
        _hold(is_json(dict(control.settings)), method, "a control's settings are not plain data", got=control)


def _bytes(frame: pl.DataFrame) -> tuple[Any, str]:
    return frame.schema, frame.write_json()


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    keys = [name for name, kind in other.schema.items() if not kind.is_nested()]
    return one.schema == other.schema and one.sort(keys).equals(other.sort(keys))
