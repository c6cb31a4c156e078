"""From kept answers to ratings: pure, so it can be done again from the store for nothing.

`pipeline` calls it after asking; `verify` calls it to re-derive what a run claims.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from trustgauge.methods.method import Method
from trustgauge.pipeline.subjects import CONTROL, Subject, experiment_seed, probes_of
from trustgauge.records import RESPONSE, AnchorResult, Part, Rating, Reason, Task, digest

Probes = Mapping[tuple[int, Task], pl.DataFrame]
Answers = Callable[[str], pl.DataFrame]
"""Fingerprint -> the kept answers of that service: `message`, `draw` and the RESPONSE columns."""

REFERRAL = "referral"
"""Column of marks with a second judge: what became of an answer; "pending" if it is still to be asked."""
_JUDGED = ("service", "part", "id", REFERRAL, "judge_verdict")
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}


@dataclass(frozen=True, slots=True)
class Derived:
    """What follows from the answers of a run."""

    ratings: tuple[Rating, ...]
    anchors: tuple[AnchorResult, ...]
    marks: tuple[pl.DataFrame, ...]  # one frame an experiment and task, anchors included
    hashes: Mapping[str, str]  # inputs, answers, summaries; judged, where there is a second judge
    waiting: int = 0  # prompts that a second judge was never asked


def derive(
    methods: Sequence[Method], found: Sequence[Subject], probes: Probes, answers: Answers, *, seed: int
) -> Derived:
    """Check, summarise and rate everything that was answered.

    Args:
        methods: the experiments, in plan order.
        found: the subjects and anchors.
        probes: the probe frame of every (experiment, task).
        answers: gives the kept answers of a service.
        seed: the plan's seed.
    """
    ratings: list[Rating] = []
    anchors: list[AnchorResult] = []
    marks: list[pl.DataFrame] = []
    summaries: list[pl.DataFrame] = []
    waiting = 0
    for index, method in enumerate(methods):
        of_method: list[pl.DataFrame] = []
        for task in dict.fromkeys(one.task for one in found if one.experiment == index):
            mine = [one for one in found if one.experiment == index and one.task == task]
            joined = pl.concat([answered(one, probes[index, task], answers) for one in mine])
            marked = method.check(joined)
            marks.append(marked)
            waiting += method.waiting(marked) if getattr(method, "referee", "") else 0  # type: ignore[attr-defined]
            of_method.append(method.summarise(marked))
        if not of_method:
            continue
        summary = method.merge(of_method)
        summaries.append(summary)
        own = [one for one in found if one.experiment == index and one.anchor]
        names = [one.service for one in own]
        own_seed = experiment_seed(seed, index)
        knowing = method.given(tuple(ratings)) if hasattr(method, "given") else method
        rated = knowing.rate(summary.filter(~pl.col("service").is_in(names)), own_seed)
        ratings += [_unfinished(one, _not_asked(marks[-len(of_method) :], one.service)) for one in rated]
        anchors += _anchor_results(method, summary.filter(pl.col("service").is_in(names)), own, own_seed)
    hashes = {
        "inputs": _hash("inputs", [frame.drop("key") for frame in probes.values()]),
        "answers": _hash("answers", [_evidence(frame) for frame in marks]),
        "summaries": _hash("summaries", [frame.sort(_keys(frame)) for frame in summaries]),
    }
    judged = [frame.select(*_JUDGED) for frame in marks if REFERRAL in frame.columns]
    hashes |= {"judged": _hash("judged", judged)} if judged else {}
    return Derived(tuple(ratings), tuple(anchors), tuple(marks), hashes, waiting)


def _not_asked(marks: Sequence[pl.DataFrame], service: str) -> dict[str, int]:
    """Part -> probes that were never answered, or not judged: the run was stopped or a service is down."""
    missing: dict[str, int] = {}
    for frame in marks:
        open_ = pl.col("error") == "not-asked"
        if REFERRAL in frame.columns:
            open_ |= pl.col(REFERRAL) == "pending"
        mine = frame.filter((pl.col("service") == service) & open_)
        same = ["part", "block", "session", "turn", "message"]
        mine = mine.unique(same if mine["shared"].any() else ["part", "id"])
        missing |= dict(mine.group_by("part").len().iter_rows())
    return missing


def _unfinished(rating: Rating, missing: Mapping[str, int]) -> Rating:
    """The rating without the levels of parts that were not asked to the end (interface 2.2)."""
    if not missing:
        return rating
    parts = []
    for part in rating.parts:
        asked = asked_part(part)
        if asked in missing:
            reason = Reason("not-finished", {"missing": missing[asked], "planned": part.coverage.planned})
            part = replace(part, state="incomplete", level=None, certainty={}, reasons=(reason,))
        parts.append(part)
    # Several parts of a rating may be read from the same texts.
    planned = {
        (asked_part(part), part.details.get("data", part.key)): part.coverage.planned for part in parts
    }
    reason = Reason("not-finished", {"missing": sum(missing.values()), "planned": sum(planned.values())})
    return replace(
        rating, state="incomplete", level=None, certainty={}, parts=tuple(parts), worst=(), reasons=(reason,)
    )


def asked_part(part: Part) -> str:
    """The part of the service that a part of a rating was read from: of one there may be several."""
    return str(part.details.get("asked", part.key))


def answered(subject: Subject, probes: pl.DataFrame, answers: Answers) -> pl.DataFrame:
    """The probes of one subject with their answers; what was never answered is a failed row."""
    found = answers(subject.fingerprint).select("message", "draw", *RESPONSE)
    shared = subject.deterministic and is_deterministic(found)
    kept = found.rename({"message": "key", "draw": "_draw"})
    asked = pl.lit(0, pl.Int64) if shared else pl.col("draw").cast(pl.Int64)
    frame = probes_of(subject, probes).with_columns(
        service=pl.lit(subject.service), part=pl.lit(subject.part), shared=pl.lit(shared), _draw=asked
    )
    joined = frame.join(
        kept.with_columns(pl.col("_draw").cast(pl.Int64)),
        on=["key", "_draw"],
        how="left",
        maintain_order="left",
    )
    filled = joined.with_columns(
        pl.col("status").fill_null("failed"),
        pl.when(pl.col("status").is_null())
        .then(pl.lit("not-asked"))
        .otherwise(pl.col("error"))
        .alias("error"),
    )
    return filled.drop("_draw").with_columns(
        [pl.col(name).cast(_TYPES[kind]) for name, kind in RESPONSE.items()]
    )


def is_deterministic(kept: pl.DataFrame) -> bool:
    """Whether the messages asked twice got equal answers (methods 0.3); True if none was.

    `kept` has the columns `message`, `draw`, `status` and `output` of one service.
    """
    given = kept.filter(pl.col("status").is_in(["answered", "empty", "refused"]))
    further = given.filter(pl.col("draw") > 0)  # of all draws, so that what was proved stays proved
    both = further.join(given.filter(pl.col("draw") == 0), on="message", how="inner", suffix="_first")
    return both.filter(pl.col("output").ne_missing(pl.col("output_first"))).is_empty()


def _anchor_results(
    method: Method, summary: pl.DataFrame, own: Sequence[Subject], seed: int
) -> list[AnchorResult]:
    """The anchors as `sound` rates them, and what another rule in use makes of them."""
    if not own:
        return []
    sound = method.model_copy(update={"rule": "sound"})  # type: ignore[attr-defined]
    rated = _first_of_each(sound.rate(summary, seed))
    under = _first_of_each(method.rate(summary, seed)) if method.rule != "sound" else {}
    results = []
    for subject in own:
        anchor = subject.anchor
        assert anchor is not None
        one = _of_part(rated[subject.service], anchor.part)
        also = {}
        if subject.service in under:
            other = _of_part(under[subject.service], anchor.part)
            also[str(method.rule)] = other.level or other.state
        name = subject.service.removeprefix(CONTROL)
        results.append(AnchorResult(name, anchor.truth, one.state, one.level, one.certainty, also))
    return results


def _first_of_each(ratings: Sequence[Rating]) -> dict[str, Rating]:
    """Service -> its rating; of several, one for each profile, the first."""
    return {one.service: one for one in reversed(ratings)}


def _of_part(rating: Rating, key: str) -> Rating | Part:
    """What an anchor is judged by: one part of its rating, or the whole of it."""
    return next((part for part in rating.parts if key and part.key == key), rating)


def _evidence(marks: pl.DataFrame) -> pl.DataFrame:
    """The part of the answers that a rating hangs on: no times, no costs."""
    return marks.select("service", "part", "id", "message", "draw", "status", "output", "trail")


def _keys(summary: pl.DataFrame) -> list[str]:
    return [name for name, kind in summary.schema.items() if not (kind == pl.Int64 or kind.is_float())]


def _hash(tag: str, frames: Sequence[pl.DataFrame]) -> str:
    """One hash over frames, from their rows as JSON lines."""
    whole = hashlib.blake2b(digest_size=16)
    for frame in frames:
        whole.update(frame.write_ndjson().encode())
        whole.update(b"\0")
    return digest(tag, whole.hexdigest())
