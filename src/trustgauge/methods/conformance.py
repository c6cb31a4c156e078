"""The kit that proves that a method keeps its contract (methods.method.Method); for outsiders too.

    check_method(MyMethod(method="mine", services=("a",)), lambda probes: probes["message"].to_list())

It asks nothing of a network and knows no method: answers come from the function it is given.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from typing import Any, get_args

import polars as pl
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.errors import MethodError, PlanError
from trustgauge.kit_process import in_another_process
from trustgauge.methods import DESIGN_EFFECTS, Method, MethodSettings, absent_members
from trustgauge.rating import check_rating
from trustgauge.records import (
    PROBE,
    RESPONSE,
    Control,
    Rating,
    Status,
    Task,
    canonical,
    digest,
    is_json,
    plain,
)

Outputs = Sequence[str | None]
AnswerWith = Callable[[pl.DataFrame], Outputs]
"""Answers a probe frame: one text for each row (a score as text)."""

SERVICE, OTHER = "conformance", "conformance-2"
ASKED = ("service", "part", "segment", "shared")
"""Columns that asking adds before those of records.RESPONSE."""
EVIDENCE = {
    **dict.fromkeys(("service", "part", "id", "block", "sent", "trail", "back", "status"), pl.String()),
    **dict.fromkeys(("values_in", "values_out", "kinds"), pl.List(pl.String())),
    "changed": pl.Boolean(),
}
"""Columns of the evidence and their types; a column without any value may have no type."""
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
    summaries: dict[Task, pl.DataFrame] = {}
    for task in tasks:
        probes = _check_design(method, seed, task)
        given = answers(probes, answer_with(probes))
        marks = _check_marks(method, given)
        _check_evidence(method, marks)
        summaries[task] = summary = method.merge([method.summarise(marks)])
        _check_ratings(method, summary, seed)
        mixed = _mixed(given)
        marks = _check_marks(method, mixed)
        _check_evidence(method, marks)
        _check_row_by_row(method, mixed, marks)
        _check_merge(method, marks)
        _check_services(method, marks, seed)
        _check_degenerate(method, probes, answer_with, seed)
        _check_controls(method, task)
    _check_power(method, seed)
    for task, summary in summaries.items():  # last, as starting a process takes longest
        _check_elsewhere(method, task, summary, seed)


def _check_power(method: Method, seed: int) -> None:
    """Nothing, or the smallest effect at design effect 1 and perhaps at others."""
    found = dict(method.power(seed))
    _hold(is_json(found), method, "power is not plain data", must="numbers, texts and lists")
    known = [f"deff_{one}" for one in DESIGN_EFFECTS]
    right = not found or known[0] in found
    _hold(right, method, "power lacks the effect", must=f"{known[0]}, or nothing", got=list(found))
    for name in known:
        effect = found.get(name)
        is_effect = effect is None or (isinstance(effect, int | float) and effect > 0)
        _hold(
            is_effect, method, f"power has no effect at {name}", must="a number above 0, or None", got=effect
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
    segment = pl.col("segment") if "segment" in probes.columns else pl.lit(0, pl.Int64).alias("segment")
    return probes.with_columns(
        segment,
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
    named = getattr(method, "method", method.name)
    _hold(named == method.name, method, "`method` is not its name", must=method.name, got=named)
    _hold(all(scale.words), method, "a level has no words", must="words for every level", got=scale.words)
    _check_settings(method)


def _check_settings(method: Method) -> None:
    """Settings cannot change, refuse what they do not know, and are the same after a way through a plan."""
    if not isinstance(method, MethodSettings):
        return
    config = type(method).model_config
    strict = config.get("frozen") is True and config.get("extra") == "forbid"
    _hold(strict, method, "settings may change or hold anything", must="frozen, extra forbidden", got=config)
    _hold(
        is_json(method.identity()), method, "identity is not plain data", must="JSON", got=method.identity()
    )
    given = method.model_dump(mode="json")
    try:
        again = type(method).model_validate(given)
    except PlanError:  # they name a plug-in that is not registered yet, as an issue under test
        return
    except ValidationError as error:
        _hold(False, method, "settings do not survive a copy", must="valid", got=error.errors()[0]["msg"])
        return
    same = canonical(again.identity()) == canonical(method.identity())
    changed = [name for name, value in again.model_dump(mode="json").items() if value != given.get(name)]
    _hold(same, method, "settings do not survive a copy", must="equal settings", got=", ".join(changed))


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
    taken = [name for name in (*ASKED, *RESPONSE) if name in probes.columns]
    _hold(not taken, method, "factors with names of what asking adds", must="other names", got=taken)
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
    changed = [name for name in given.columns if not marks[name].equals(given[name])]
    _hold(not changed, method, "score changed columns", must="the answers' columns kept", got=changed)
    return marks


def _mixed(given: pl.DataFrame) -> pl.DataFrame:
    """Of six answers one is that to the question before, one empty, one missing, and one a refusal.

    Where all answers are alike, as those of a service without a fault, any sum and any order looks right.
    """
    place = pl.int_range(pl.len()) % 6
    output = pl.when(place == 1).then(pl.col("output").shift(1)).when(place == 2).then(pl.lit(""))
    status = pl.when(place == 2).then(pl.lit("empty")).when(place == 3).then(pl.lit("failed"))
    return given.with_columns(
        output=output.when(place == 3).then(None).when(place == 4).then(pl.lit("No.")).otherwise("output"),
        status=status.when(place == 4).then(pl.lit("refused")).otherwise("status"),
    )


def _shards(rows: pl.DataFrame) -> pl.Series:
    """The shard of each row, 0 to 2; a session is in one."""
    unit = pl.when(pl.col("session") == "").then("id").otherwise("session")
    return rows.select(unit.rank("dense").cast(pl.Int64) % 3).to_series()


def _check_row_by_row(method: Method, given: pl.DataFrame, marks: pl.DataFrame) -> None:
    """Answers come in slices of any size: what is read in one, or in a session, hangs on no other."""
    shard = _shards(given)
    for index in range(3):
        alone = method.score(given.filter(shard == index))
        same = alone.select(marks.columns).equals(marks.filter(shard == index))
        _hold(same, method, "a score depends on other answers", must="each answer, or session, by itself")


def _check_evidence(method: Method, marks: pl.DataFrame) -> None:
    """Evidence has a row for each answer, in their order, and what a report shows of it."""
    shown = method.evidence(marks)
    height = shown.height == marks.height
    _hold(height, method, "evidence leaves rows out", must=str(marks.height), got=shown.height)
    absent = [name for name in EVIDENCE if name not in shown.columns]
    _hold(not absent, method, "evidence lacks columns", must=", ".join(EVIDENCE), got=", ".join(absent))
    odd = [name for name, kind in EVIDENCE.items() if shown.schema[name] not in (kind, pl.Null())]
    types = ", ".join(f"{name} {EVIDENCE[name]}" for name in odd)
    _hold(not odd, method, "types of the evidence", must=types, got=[shown.schema[name] for name in odd])
    order = shown.select("id", "sent").equals(marks.select("id", sent="message"))
    _hold(order, method, "evidence changed the order", must="the order of the answers, with their texts")
    kept = [name for name in ("service", "block", "trail", "status") if not shown[name].equals(marks[name])]
    _hold(not kept, method, "evidence changed columns", must="as they were scored", got=kept)
    came = marks["status"] == "answered"
    same = shown["back"].filter(came).equals(marks["output"].filter(came))
    _hold(same, method, "`back` of the evidence is not what came back", must="the answer, word for word")


def _check_merge(method: Method, marks: pl.DataFrame) -> None:
    """Shards may be added up in any order and grouping; nothing added changes nothing."""
    whole = method.merge([method.summarise(marks)])
    shard = _shards(marks)
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


def _check_ratings(method: Method, summary: pl.DataFrame, seed: int) -> list[Rating]:
    ratings = method.rate(summary, seed)
    again = method.rate(summary, seed)
    _hold(bool(ratings), method, "no rating", must="a rating for each service")
    for one in ratings:
        _hold(one.service == SERVICE, method, "a rating of another service", must=SERVICE, got=one.service)
        _check_rating(method, one)
    same = canonical([plain(one) for one in ratings]) == canonical([plain(one) for one in again])
    _hold(same, method, "two ratings with one seed differ", must="byte-identical")
    return ratings


def _check_rating(method: Method, one: Rating) -> None:
    levels = method.scale_in_use.levels
    _hold(one.method == method.name, method, "a rating by another method", must=method.name, got=one.method)
    _hold(one.rule == method.rule, method, "a rating under another rule", must=method.rule, got=one.rule)
    version = one.version == method.version
    _hold(version, method, "a rating of another version", must=method.version, got=one.version)
    same = one.scale == method.scale_in_use
    _hold(same, method, "a rating on another scale", must=str(levels), got=one.scale)
    _hold(bool(one.attribute), method, "`attribute` of a rating is empty", must="what it rates, in a word")
    check_rating(one, method.settle if isinstance(method, MethodSettings) else 0.5)


def _check_services(method: Method, marks: pl.DataFrame, seed: int) -> None:
    """Services are told apart, and so are the parts of one; the order of what is merged says nothing."""
    other = marks.with_columns(service=pl.lit(OTHER))
    both = method.merge([method.summarise(marks), method.summarise(other)])
    ratings = method.rate(both, seed)
    named = sorted({one.service for one in ratings})
    _hold(
        named == [SERVICE, OTHER], method, "not every service is rated", must=f"{SERVICE}, {OTHER}", got=named
    )
    coverage = [part.coverage for one in ratings for part in one.parts if part.coverage]
    counted = "failed" not in marks["status"] or not coverage or any(one.failed for one in coverage)
    _hold(counted, method, "missing answers are not counted", must="`failed` in the coverage of a part")
    turned = method.rate(method.merge([both.reverse()]), seed)
    same = _written(ratings) == _written(turned)
    _hold(same, method, "a rating depends on the order of what is merged", must="the same in any order")
    parted = [method.summarise(marks.with_columns(part=pl.lit(part))) for part in ("es", "fr")]
    for one in method.rate(method.merge(parted), seed):
        _check_rating(method, one)


def _written(ratings: Sequence[Rating]) -> str:
    """Ratings as they are stored, whatever their order."""
    return canonical(sorted((plain(one) for one in ratings), key=canonical))


def _check_elsewhere(method: Method, task: Task, summary: pl.DataFrame, seed: int) -> None:
    """Whoever verifies a rating is another process, where sets and hashes of texts have another order.

    Only of a method that can be sent there: one whose classes stand in modules.
    """
    try:
        packed = pickle.dumps((method, task, summary, seed))
    except Exception:  # whatever a class may raise that is made in a function or at the prompt
        return
    if b"__main__" in packed:  # there it would be another one
        return
    found, error = in_another_process(_fingerprints_of, packed)
    _hold(not error, method, "it cannot work in another process", got=error)
    same = found == _fingerprints(method, task, summary, seed)
    _hold(same, method, "another process designs or rates otherwise", must="the same, byte for byte")


def _fingerprints_of(packed: bytes) -> tuple[str, str]:
    return _fingerprints(*pickle.loads(packed))


def _fingerprints(method: Method, task: Task, summary: pl.DataFrame, seed: int) -> tuple[str, str]:
    """Digests of what a method designs and of how it rates."""
    design = [frame.write_json() for frame in method.design(seed, task)]
    return digest("design", design), digest("ratings", _written(method.rate(summary, seed)))


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
    controls = method.controls(task)
    names = [control.name for control in controls]
    _hold(len(set(names)) == len(names), method, "two controls have one name", must="a name each", got=names)
    for control in controls:
        truths = set(control.truth.split(" or "))
        _hold(truths <= set(method.scale.levels), method, "a control's truth is no level", got=control)
        _check_control(method, task, control)


def _check_control(method: Method, task: Task, control: Control) -> None:
    """The service of a control can be had with its settings, and is of the task."""
    settings = dict(control.settings)
    name = settings.get("use")
    _hold(bool(name), method, "a control names no service", must="use", got=control)
    _hold(is_json(settings), method, "a control's settings are not plain data", got=control)
    try:
        service = plugins.load("services", str(name)).model_validate(settings)
    except PlanError as error:
        _hold(False, method, f"the control {control.name}", must="a service that is registered", got=error)
    except ValidationError as error:
        fault = error.errors()[0]
        got = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        _hold(False, method, f"settings of the control {control.name}", must=f"those of {name}", got=got)
    else:
        kind = service.task
        _hold(kind == task, method, f"the task of the control {control.name}", must=task, got=kind)


def _bytes(frame: pl.DataFrame) -> tuple[Any, str]:
    return frame.schema, frame.write_json()


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    keys = [name for name, kind in other.schema.items() if not kind.is_nested()]
    return one.schema == other.schema and one.sort(keys).equals(other.sort(keys))
