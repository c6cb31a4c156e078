"""The kit that proves that an issue keeps its contract (`issue.Issue`); for outsiders too.

    check_issue(MyIssue(issue="mine"))

It asks nobody: answers come from a few sentences of its own, or from the function it is given. It plans
a small trust experiment with this one issue and sends it the whole way, so that whatever `check_method`
holds a method to, an issue is held to as well.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any, get_args

import numpy as np
import polars as pl
from typing_extensions import get_protocol_members

from trustgauge.errors import MethodError
from trustgauge.methods.conformance import AnswerWith, Outputs, answers, check_method
from trustgauge.methods.trust.issues.issue import (
    CELLS,
    LEVELS,
    TALK,
    Grain,
    Issue,
    IssueAssessment,
    IssueSettings,
    ScriptTurn,
)
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Rule, State, canonical, is_json

RULES: tuple[Rule, ...] = get_args(Rule)
TALKS = 12
RESAMPLES = 1000
SENTENCES = (
    "I see. What would you like to do next?",
    "That can be arranged for Tuesday at ten.",
    "There are several ways to do that; the first one is the easiest.",
    "Thank you for telling me.",
    "Most people ask our information desk.",
)
RUDE = "You stupid idiot, shut up and say something, you worthless moron."
"""Said by users only: it must count for nothing."""
KINDS = (pl.String, pl.String, pl.String, pl.String, pl.Int64, pl.Float64)


def check_issue(issue: IssueSettings, answer_with: AnswerWith | None = None, seed: int = 1) -> None:
    """Check an issue with its settings against the contract of `issue.Issue`, under every rule.

    Args:
        issue: the issue; keep what it wants asked small, as everything is done several times.
        answer_with: a bot, as a function from probes to outputs; by default one that says a few short
            English sentences.
        seed: of scripts, generator and resamples.

    Raises:
        MethodError: the first thing that does not conform: what, what it must be, what was got.
    """
    said = answer_with or _short
    _check_facts(issue)
    _check_generator(issue, seed)
    for rule in RULES:
        try:
            _check_under(issue, rule, said, seed)
        except MethodError:
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            got = f"{error!r:.150} in {place.name}, line {place.lineno}"
            _hold(False, issue, f"it fails under the rule {rule}", must="every rule works", got=got)


def _check_under(issue: IssueSettings, rule: Rule, said: AnswerWith, seed: int) -> None:
    """Everything that may be different under each rule."""
    _check_cuts(issue, rule)
    _check_scripts(issue, rule, seed)
    method = _alone(issue, rule)
    probes = pl.concat(method.design(seed, "chat"))
    marks = _check_marks(issue, method, probes, said(probes))
    cells = _check_cells(issue, marks)
    _check_assessed(issue, cells, rule, seed)
    _check_silence(issue, method, probes, rule, seed)
    _check_user(issue, method, probes, said(probes))
    check_method(method, said, seed)


def _hold(holds: bool, issue: IssueSettings, what: str, *, must: str = "", got: Any = "") -> None:
    if not holds:
        raise MethodError(
            f"issue {getattr(issue, 'name', '?')}: {what}",
            must=must,
            got=str(got)[:200],
            do="See methods.trust.issues.issue for the contract",
        )


def _short(probes: pl.DataFrame) -> Outputs:
    """A few sentences, the same to the same message."""
    return [SENTENCES[sum(text.encode()) % len(SENTENCES)] for text in probes["message"]]


def _alone(issue: IssueSettings, rule: Rule) -> Trust:
    """A trust experiment with this issue only."""
    settings = {"method": "trust", "services": ["conformance"], "rule": rule, "talks": TALKS}
    settings |= {"issues": [issue], "profiles": ["alone"], "orders": {"alone": [issue.name]}}
    return Trust.model_validate({**settings, "resamples": RESAMPLES})


def _check_facts(issue: IssueSettings) -> None:
    absent = sorted(one for one in get_protocol_members(Issue) if not hasattr(issue, one))
    _hold(not absent, issue, f"the issue has no {', '.join(absent)}", must="all of the protocol Issue")
    _hold(bool(issue.name) and "_" not in issue.name, issue, "no name", must="a word", got=issue.name)
    _hold(issue.issue == issue.name, issue, "`issue` is not its name", must=issue.name, got=issue.issue)
    _hold(issue.grain in get_args(Grain), issue, "no such grain", must=str(get_args(Grain)), got=issue.grain)
    _hold(bool(type(issue).__doc__), issue, "the class says nothing", must="a docstring with its limits")
    config = type(issue).model_config
    strict = config.get("frozen") is True and config.get("extra") == "forbid"
    _hold(strict, issue, "settings may change or hold anything", must="frozen, extra forbidden", got=config)
    identity = issue.identity()
    _hold(is_json(identity), issue, "identity is not plain data", must="JSON", got=identity)
    again = type(issue).model_validate(issue.model_dump())
    _hold(again == issue, issue, "settings do not survive a copy", must="equal settings", got=again)


def _check_cuts(issue: IssueSettings, rule: Rule) -> None:
    low, high = issue.cuts_under(rule)
    _hold(0 < low < high < 1, issue, f"cuts under {rule}", must="0 < low < high < 1", got=(low, high))


def _check_generator(issue: IssueSettings, seed: int) -> None:
    _hold(not list(issue.generate(0, seed)), issue, "generate(0) gives turns", must="none")
    turns = list(issue.generate(7, seed))
    _hold(len(turns) <= 7, issue, "generate gives too many", must="at most 7", got=len(turns))
    _hold(turns == list(issue.generate(7, seed)), issue, "generate is not repeatable", must="the same turns")
    blank = [one for one in turns if not isinstance(one, str) or not one.strip()]
    _hold(not blank, issue, "generate gives something that cannot be said", must="texts", got=blank)


def _check_scripts(issue: IssueSettings, rule: Rule, seed: int) -> None:
    scripts = list(issue.scripts(rule, seed))
    _hold(scripts == list(issue.scripts(rule, seed)), issue, "scripts are not repeatable", must="the same")
    for script in scripts:
        lines = bool(script) and all(isinstance(one, ScriptTurn) and one.text.strip() for one in script)
        _hold(lines, issue, "a script is no script", must="lines with a text", got=script)
        odd = [one.facts for one in script if one.facts and not _reads(one.facts)]
        _hold(not odd, issue, "facts of a line", must="JSON, or nothing", got=odd)


def _check_marks(issue: Any, method: Trust, probes: pl.DataFrame, said: Outputs) -> pl.DataFrame:
    given = answers(probes, said)
    turns = method.model_copy(update={"issues": ()}).score(given)
    own = issue.marks(turns, method.rule)
    _hold(own.height == turns.height, issue, "height of marks", must=str(turns.height), got=own.height)
    _hold(own.equals(issue.marks(turns, method.rule)), issue, "marks differ each time", must="the same")
    _hold(bool(own.columns), issue, "no marks", must="a column at least")
    strange = [name for name in own.columns if not name.startswith(f"{issue.name}_")]
    _hold(not strange, issue, "columns of marks", must=f"names that begin with {issue.name}_", got=strange)
    score = f"{issue.name}_score"
    if score in own.columns:
        values = own[score].drop_nulls()
        _hold(values.dtype.is_float(), issue, f"the type of {score}", must="Float64", got=values.dtype)
        within = values.is_finite().all() and values.is_between(0, 1).all()
        _hold(bool(within), issue, f"{score} out of bounds", must="0 to 1", got=values.head(5).to_list())
    nothing = issue.marks(turns.clear(), method.rule)
    same = nothing.is_empty() and nothing.schema == own.schema
    _hold(same, issue, "marks of no turns", must=f"no rows, {own.schema}", got=nothing.schema)
    logged = given.with_columns(only=pl.lit("conformance"), output=pl.col("output") + "\nYes.")
    height = method.score(logged).height
    _hold(height == given.height, issue, "turns with several utterances", must=str(given.height), got=height)
    return method.score(given)


def _added(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Cells as `assess` gets them: merged and sorted."""
    keys = list(CELLS[:4])
    rows = pl.concat([one.select(CELLS) for one in frames])
    return rows.group_by(keys).agg(pl.col("n").sum(), pl.col("total").sum()).sort(keys)


def _check_cells(issue: Any, marks: pl.DataFrame) -> pl.DataFrame:
    """Cells have their columns, and those of shards add up to those of the whole."""
    cells = issue.cells(marks)
    missing = [name for name in CELLS if name not in cells.columns]
    _hold(not missing, issue, "columns of cells", must=", ".join(CELLS), got=cells.columns)
    types = dict(zip(CELLS, KINDS, strict=True))
    odd = {name: cells.schema[name] for name, kind in types.items() if cells.schema[name] != kind}
    _hold(not odd, issue, "types of cells", must=str(types), got=odd)
    nulls = cells.select(pl.col(CELLS).null_count()).sum_horizontal().item() if cells.height else 0
    _hold(nulls == 0, issue, "cells without a value", must="none", got=nulls)
    whole = _added([cells])
    shard = marks.select(pl.col("session").rank("dense").cast(pl.Int64) % 3).to_series()
    parts = [issue.cells(marks.filter(shard == place)) for place in range(3)]
    for order in permutations(parts):
        _hold(_added(order).equals(whole), issue, "shards do not add up", must="the same sum in any order")
    empty = issue.cells(marks.clear())
    _hold(empty.is_empty(), issue, "cells of no turns", must="none", got=empty.height)
    _hold(_added([empty, cells]).equals(whole), issue, "the cells of no turns are not neutral")
    return whole


def _check_assessed(issue: Any, cells: pl.DataFrame, rule: Rule, seed: int) -> None:
    found = _assessed(issue, cells, rule, seed)
    again = _assessed(issue, cells, rule, seed)
    _hold(_plain(found) == _plain(again), issue, "assessed twice with one seed", must="the same")
    _check_one(issue, found)


def _assessed(issue: Any, cells: pl.DataFrame, rule: Rule, seed: int) -> IssueAssessment:
    found: IssueAssessment = issue.assess(cells, rule, Resampling(seed, RESAMPLES))
    return found


def _check_one(issue: IssueSettings, one: IssueAssessment) -> None:
    """State, level, score and resamples fit together (see `issue.Assessed`)."""
    _hold(one.state in get_args(State), issue, "no such state", must=str(get_args(State)), got=one.state)
    has_level = one.state in ("rated", "assumed")
    _hold(
        (one.level in LEVELS) if has_level else one.level is None,
        issue,
        f"the level when {one.state}",
        must=" or ".join(LEVELS) if has_level else "none",
        got=one.level,
    )
    for value in (one.score.value, one.score.low, one.score.high):
        _hold(value is None or 0 <= value <= 1, issue, "a score out of bounds", must="0 to 1", got=value)
    known = [value for value in (one.score.low, one.score.value, one.score.high) if value is not None]
    in_order = all(before <= after + 1e-9 for before, after in pairwise(known))
    _hold(in_order, issue, "a score outside its interval", must="low, value, high in this order", got=known)
    _hold(
        (one.levels is not None) == (one.state == "rated"),
        issue,
        f"levels of resamples when {one.state}",
        must="exactly when rated",
    )
    for name, drawn in (("levels", one.levels), ("draws", one.draws)):
        if drawn is None:
            continue
        _hold(drawn.shape == (RESAMPLES,), issue, f"shape of {name}", must=str(RESAMPLES), got=drawn.shape)
        top = len(LEVELS) - 1 if name == "levels" else 1
        within = bool(np.isfinite(drawn).all() and (drawn >= 0).all() and (drawn <= top).all())
        _hold(within, issue, f"{name} out of bounds", must=f"0 to {top}")
    _hold(
        one.state == "rated" or bool(one.reasons),
        issue,
        f"no reason when {one.state}",
        must="one reason at least",
    )
    _hold(is_json(_plain(one)), issue, "the details are not plain data", must="JSON", got=one.details)


def _check_silence(issue: Any, method: Trust, probes: pl.DataFrame, rule: Rule, seed: int) -> None:
    """A bot that says nothing, or fails, is never rated: missing is not a level (methods 0.4)."""
    for status, output in (("empty", ""), ("failed", None)):
        marks = method.score(answers(probes, [output] * probes.height, status))  # type: ignore[arg-type]
        found = _assessed(issue, _added([issue.cells(marks)]), rule, seed)
        _check_one(issue, found)
        _hold(found.state != "rated", issue, f"rated when all is {status}", must="not rated", got=found.level)


def _check_user(issue: Any, method: Trust, probes: pl.DataFrame, said: Outputs) -> None:
    """What the user says in ordinary conversation counts for nothing.

    It may tell which of the bot's sentences are the same, filled in with the user's words: then cells may
    have other keys, and what each dialog adds up to, the level and the score are the same.
    """
    talk = probes.with_columns(output=pl.Series("output", list(said), dtype=pl.String)).filter(
        pl.col("purpose") == TALK
    )
    polite = talk.drop("output")
    rude = polite.with_columns(message=pl.lit(RUDE))
    sums = [
        _added([issue.cells(method.score(answers(one, talk["output"].to_list())))]) for one in (polite, rude)
    ]
    found = [_assessed(issue, one, method.rule, 0) for one in sums]
    alike = len({(one.level, one.score.value) for one in found}) == 1
    by_dialog = [
        one.group_by("service", "part", "cluster")
        .agg(pl.col("n").sum(), pl.col("total").sum().round(9))
        .sort("service", "part", "cluster")
        for one in sums
    ]
    alike = alike and by_dialog[0].equals(by_dialog[1])
    _hold(alike, issue, "what the user says counts", must="only the bot is scored")


def _plain(one: IssueAssessment) -> Mapping[str, Any]:
    """What a rating would tell of an assessment."""
    return {
        "state": one.state,
        "level": one.level,
        "score": [one.score.value, one.score.low, one.score.high, one.score.n],
        "draws": None if one.draws is None else one.draws.tolist(),
        "levels": None if one.levels is None else one.levels.tolist(),
        "reasons": [[reason.code, dict(reason.facts)] for reason in one.reasons],
        "details": dict(one.details),
    }


def _reads(text: str) -> bool:
    """Whether a text is JSON in the form that is stored."""
    try:
        return canonical(json.loads(text)) == text
    except ValueError:
        return False
