"""From kept answers to ratings: pure, so it can be done again from the store for nothing.

`run.run` calls it after asking; `verify` calls it to re-derive what a run claims. A plan of several
slices is checked and summed up slice by slice: of the answers only summaries, hashes, counts and a
sample stay in memory.

Some of the questions, `Plan.retest` of them, go out again at another place of the order, as draws of their
own. They are no data of the rating: `probes_of` leaves them out. Here each second answer is compared with the
first, which says how far answers depend on chance and time (methods 0.3 (4)).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, TypeVar

import polars as pl

from trustgauge.engine.local import UNFINISHED
from trustgauge.errors import IntegrityError, MethodError
from trustgauge.methods import (
    LabelUser,
    Method,
    MethodSettings,
    ProfileRater,
    RatingConsumer,
    SecondJudgeUser,
)
from trustgauge.rating import check_rating
from trustgauge.records import (
    LOST_OUTPUT,
    RESPONSE,
    TOO_LONG,
    ControlResult,
    Interval,
    Part,
    Rating,
    Reason,
    Retest,
)
from trustgauge.run.accumulator import LEAST, Accumulator, AnswerTree, Faults, RunHasher, TaskScores
from trustgauge.run.probe_batches import (
    AGAIN,
    RETEST_LAG,
    SECOND,
    Probes,
    batches_of,
    is_one_batch,
)
from trustgauge.run.targets import CONTROL, Target, experiment_seed, looks_of, probes_of
from trustgauge.stats.distributions import wilson
from trustgauge.store import Store

__all__ = [
    "AnswersOf",
    "Probes",
    "RatingResults",
    "StoredAnswers",
    "answers_to",
    "is_deterministic",
    "rate_answers",
]

NOT_FINISHED = "not-finished"
"""Code of the reason that not everything was asked; the document of a run adds why (`run.render`)."""

LOSSES = frozenset({"incomplete-loss", "loss-lowers-certainty", "no-answers"})
"""Codes of the reasons that too many answers are missing, or all."""

NEAR = 0.3
"""Share of a run within which the second time is near; half of all pairs at random places are."""

_REMEMBERED = 64
_CONTROLS: dict[tuple[type[Method], bytes, int], list[tuple[Method, Sequence[Rating]]]] = {}
"""Summary of controls and seed -> their ratings by each method asked so far: a rating is a pure function."""

_T = TypeVar("_T")
_GIVEN = ("answered", "refused", "empty", "unreadable")

AnswersOf = Callable[[str], pl.DataFrame]
"""Fingerprint -> the kept answers of that service: `message`, `draw` and the RESPONSE columns."""

SAMPLE = 10_000
"""Rows of an experiment that are kept to be shown where it has several slices."""
LONGEST = 100_000
"""Characters of the longest answer that is judged."""

_JUDGED = ("service", "part", "id", "referral", "judge_verdict")
_TYPES = {"str": pl.String, "int": pl.Int64, "float": pl.Float64}


class StoredAnswers:
    """The kept answers of a store: all of a service, or those to some probes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __call__(self, fingerprint: str) -> pl.DataFrame:
        """All answers of a service."""
        return self._store.answers(fingerprint)

    def to(self, fingerprint: str, keys: pl.DataFrame) -> pl.DataFrame:
        """The answers with these keys, of the columns `key` and `draw`."""
        return self._store.answers_to(fingerprint, keys.unique().rows())

    def is_deterministic(self, fingerprint: str) -> bool:
        """As `is_deterministic` of all answers of a service, without having them all at once."""
        return all(is_deterministic(frame) for frame in self._store.repeats(fingerprint))


@dataclass(frozen=True, slots=True)
class RatingResults:
    """What follows from the answers of a run.

    `marks` holds a frame for each experiment and task, controls included: all rows, or of several slices
    a sample of the rated services. `rows` counts the rows of rated services behind each of them.
    """

    ratings: tuple[Rating, ...]
    controls: tuple[ControlResult, ...]
    marks: tuple[pl.DataFrame, ...]
    hashes: Mapping[str, str]  # inputs, answers, summaries; judged, where there is a second judge
    waiting: int = 0  # prompts that a second judge was never asked
    rows: tuple[int, ...] = ()
    readings: int = 0  # rows of all subjects
    unasked: int = 0  # of them, those without any answer
    tree: Mapping[str, Any] = field(default_factory=dict)  # root and rows of the tree over the answers


def rate_answers(  # noqa: PLR0913  the tree is of the one caller who proves rows
    methods: Sequence[Method],
    found: Sequence[Target],
    probes: Probes,
    answers: AnswersOf,
    *,
    seed: int,
    sample: int | None = SAMPLE,
    tree: AnswerTree | None = None,
) -> RatingResults:
    """Check, summarise and rate everything that was answered.

    Args:
        methods: the experiments, in plan order.
        found: the subjects and controls.
        probes: the probe frame of every (experiment, task), or the slices of them.
        answers: gives the kept answers of a service; for several slices `StoredAnswers`.
        seed: the plan's seed.
        sample: rows that are kept of an experiment in several slices; None for all.
        tree: takes the rows of all answers; a new one if not given.
    """
    tree = AnswerTree() if tree is None else tree
    hashing = RunHasher(_JUDGED, tree)
    ratings: list[Rating] = []
    controls: list[ControlResult] = []
    experiments: list[_ScoredExperiment] = []
    for index, method in enumerate(methods):
        mine = [one for one in found if one.experiment == index]
        scores = [
            _scores(Accumulator(method, of_task, hashing, sample), probes, answers)
            for of_task in _by_task(mine)
        ]
        if scores:
            summary = method.merge([one.summary for one in scores])
            experiments.append(_ScoredExperiment(method, mine, scores, summary, experiment_seed(seed, index)))
    silent = _silent_services(experiments)
    for experiment in experiments:
        retests = _retests(experiment.method, experiment.targets, probes, answers)
        ratings += experiment.ratings(ratings, retests, silent)
        controls += experiment.control_results()
    _hash_inputs(hashing, probes)
    gathered = [one for experiment in experiments for one in experiment.scores]
    return RatingResults(
        tuple(ratings),
        tuple(controls),
        tuple(one.marks for one in gathered),
        hashing.hashes([one.summary for one in experiments]),
        sum(one.waiting for one in gathered),
        tuple(one.rated_rows for one in gathered),
        sum(one.rows for one in gathered),
        sum(one.unasked for one in gathered),
        {"root": tree.root().hex(), "rows": tree.rows},
    )


def _by_task(targets: Sequence[Target]) -> list[list[Target]]:
    """The targets of each task of an experiment."""
    return [
        [one for one in targets if one.task == task] for task in dict.fromkeys(one.task for one in targets)
    ]


def _hash_inputs(hashing: RunHasher, probes: Probes) -> None:
    for place in probes:
        for frame in batches_of(probes, place):
            hashing.inputs(frame.drop("key"))
        hashing.inputs(None)


def _silent_services(experiments: Sequence[_ScoredExperiment]) -> Faults:
    """Parts of services that gave nothing but empty answers in an experiment, with what is said of them."""
    found: dict[str, dict[str, Reason]] = {}
    for scores in (one for experiment in experiments for one in experiment.scores):
        for service, parts in scores.faults.items():
            silent = {part: why for part, why in parts.items() if _says_silent(why)}
            found.setdefault(service, {}).update(silent)
    return found


def _says_silent(why: Reason) -> bool:
    """Whether a fault is that all answers were empty; of others it names the answer."""
    return why.code == "same-answer" and "answer" not in why.facts


@dataclass(frozen=True, slots=True)
class _ScoredExperiment:
    """An experiment whose answers are scored and summed up.

    Attributes:
        method: of the experiment.
        targets: its services and controls.
        scores: of each task.
        summary: of all tasks.
        seed: of the experiment.
    """

    method: Method
    targets: Sequence[Target]
    scores: Sequence[TaskScores]
    summary: pl.DataFrame
    seed: int

    @property
    def _controls(self) -> list[Target]:
        return [one for one in self.targets if one.control]

    def _summary_of(self, *, controls: bool) -> pl.DataFrame:
        """The summary of the controls, or of the rated services."""
        is_control = pl.col("service").is_in([one.service for one in self._controls])
        return self.summary.filter(is_control if controls else ~is_control)

    def ratings(self, earlier: Sequence[Rating], retests: Retests, silent: Faults) -> list[Rating]:
        """The ratings of its services.

        Args:
            earlier: ratings of the experiments before it.
            retests: of its services.
            silent: services that gave nothing but empty answers in another experiment.
        """
        method = self.method
        if isinstance(method, RatingConsumer):
            method = method.with_ratings(tuple(earlier))
        rated = _rated(method, self._summary_of(controls=False), self.seed)
        return [replace(self._complete(one, silent), retest=retests.of(one.service)) for one in rated]

    def _complete(self, rating: Rating, silent: Faults) -> Rating:
        """The rating without levels that answers are missing for, and with what else was amiss."""
        service = rating.service
        asked = {one.part for one in self.targets if one.service == service}
        rating = _traced(rating, asked)
        missing = _parts(service, (one.missing for one in self.scores))
        planned = _parts(service, (one.planned for one in self.scores))
        faults = _parts(service, (one.faults for one in self.scores))
        # Whoever is silent in one experiment is asked no further in the others, either.
        unheard = {part for part, number in planned.items() if number - missing.get(part, 0) < LEAST}
        faults |= {part: why for part, why in silent.get(service, {}).items() if part in unheard}
        if faults:
            checked = _without(rating, faults, asked, worst_of=_takes_worst(self.method))
        else:
            checked = _unfinished(rating, missing, planned)
        checked = _with_rejected(checked, _parts(service, (one.rejected for one in self.scores)))
        amiss = (*self._too_long(service), *self._cut(service), *self._stopped(service))
        return replace(checked, reasons=(*checked.reasons, *amiss))

    def _too_long(self, service: str) -> Iterator[Reason]:
        """What is reported of answers that were stored and not judged because of their length."""
        count = sum(one.too_long.get(service, 0) for one in self.scores)
        if count:
            yield Reason(TOO_LONG, {"answers": count, "most": LONGEST})

    def _cut(self, service: str) -> Iterator[Reason]:
        """How many answers were cut off at the token limit: what they would have said is not known."""
        count = sum(one.cut.get(service, 0) for one in self.scores)
        planned = _parts(service, (one.planned for one in self.scores))
        if count:
            yield Reason("answers-cut", {"answers": count, "planned": sum(planned.values())})

    def _stopped(self, service: str) -> Iterator[Reason]:
        """That parts of a service were asked no further than to the look that settled them (methods 0.11)."""
        looks = looks_of(self.method)
        mine = [one for one in self.targets if one.service == service]
        early = [one for one in mine if 0 < one.look < looks]
        if early:
            first = min(one.look for one in early)
            yield Reason(
                "stopped-when-settled", {"parts": len(early), "of": len(mine), "look": first, "looks": looks}
            )

    def control_results(self) -> list[ControlResult]:
        """The controls as `sound` rates them, and what another rule in use makes of them."""
        if not self._controls:
            return []
        method, summary = _for_controls(self.method), self._summary_of(controls=True)
        sound = method.model_copy(update={"rule": "sound"})  # type: ignore[attr-defined]
        rated = _first_of_each(_control_ratings(sound, summary, self.seed))
        under = _first_of_each(_control_ratings(method, summary, self.seed)) if method.rule != "sound" else {}
        results = []
        for target in self._controls:
            control = target.control
            assert control is not None
            one = _of_part(rated[target.service], control.part)
            also = {}
            if target.service in under:
                other = _of_part(under[target.service], control.part)
                also[str(method.rule)] = other.level or other.state
            name = target.service.removeprefix(CONTROL)
            results.append(
                ControlResult(name, control.truth, one.state, one.level, one.certainty, also, method.issue)
            )
        return results


def _parts(service: str, tables: Iterable[Mapping[str, Mapping[str, _T]]]) -> dict[str, _T]:
    """Part of a service -> what the tables of all tasks have for it, by service and part."""
    return {part: value for table in tables for part, value in table.get(service, {}).items()}


@dataclass(slots=True)
class _Counts:
    """Pairs of answers; those that are equal, those that are read alike, and of them those near in time."""

    pairs: int = 0
    equal: int = 0
    alike: int = 0
    near: int = 0
    near_alike: int = 0


class Retests:
    """Takes pairs of answers of one experiment in any number of frames, and counts which are equal."""

    def __init__(self, method: Method) -> None:
        # A second judge was not asked about second answers: all are read by rule.
        if isinstance(method, SecondJudgeUser) and method.second_judge:
            method = method.with_replies({})
        self._method = method
        self._counts: dict[str, _Counts] = {}

    def take(self, service: str, first: pl.DataFrame, second: pl.DataFrame) -> None:
        """Take first and second answers to the same questions, row by row."""
        given = first["status"].is_in(_GIVEN) & second["status"].is_in(_GIVEN)
        asked = [one.filter(given) for one in (first, second)]
        if not given.any():
            return
        equal = _are_equal(asked, ["status", "output"])
        marks = [self._method.score(one.drop(RETEST_LAG, strict=False)) for one in asked]
        reading = [name for name in self._method.score_columns if name in marks[0].columns]
        alike = _are_equal(marks, reading) if reading else equal
        near = asked[1][RETEST_LAG] < NEAR
        counts = self._counts.setdefault(service, _Counts())
        counts.pairs += len(equal)
        counts.equal += int(equal.sum())
        counts.alike += int(alike.sum())
        counts.near += int(near.sum())
        counts.near_alike += int((near & alike).sum())

    def of(self, service: str) -> Retest | None:
        """What the second answers of a service say; None if there are none."""
        counts = self._counts.get(service)
        if counts is None or not counts.pairs:
            return None
        far, far_alike = counts.pairs - counts.near, counts.alike - counts.near_alike
        return Retest(
            equal=_share(counts.equal, counts.pairs),
            alike=_share(counts.alike, counts.pairs) if self._method.score_columns else None,
            near=_share(counts.near_alike, counts.near),
            far=_share(far_alike, far),
        )


def retest_pairs(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The probes of a frame that are asked a second time: as they were asked first, and as they are again."""
    second = rows.filter(pl.col(RETEST_LAG).is_not_null())
    first = second.with_columns(
        pl.col("draw") - SECOND,
        *(pl.col(name).str.strip_suffix(AGAIN) for name in ("id", "session")),
    )
    return first.drop(RETEST_LAG), second


def _are_equal(frames: Sequence[pl.DataFrame], names: Sequence[str]) -> pl.Series:
    """Whether two frames are equal in these columns, row by row; what is missing in both is equal."""
    first, second = (one.select(pl.struct(list(names)).struct.json_encode()).to_series() for one in frames)
    return first == second


def _share(count: int, n: int) -> Interval:
    low, high = wilson(count, n)
    return Interval(count / n if n else None, low if n else None, high if n else None, n)


def _scores(accumulator: Accumulator, probes: Probes, answers: AnswersOf) -> TaskScores:
    """Check and sum up what one experiment and task was answered."""
    targets = accumulator.targets
    place = (targets[0].experiment, targets[0].task)
    if is_one_batch(probes, place):
        (frame,) = batches_of(probes, place)
        accumulator.take_all(pl.concat([answers_to(one, frame, answers) for one in targets]))
    else:
        for one in targets:
            for rows in answer_batches(one, probes, answers):
                accumulator.take(rows)
    return accumulator.end()


def _retests(method: Method, mine: Sequence[Target], probes: Probes, answers: AnswersOf) -> Retests:
    """What the rated services of an experiment answered to questions that they were asked a second time."""
    retests = Retests(method)
    rated = [one for one in mine if one.control is None]
    for place in dict.fromkeys((one.experiment, one.task) for one in rated):
        for frame in batches_of(probes, place):
            if RETEST_LAG not in frame.columns:
                break
            asked = retest_pairs(frame)
            for one in rated:
                if (one.experiment, one.task) == place:
                    kept = [_answers_to(one, rows, answers, shared=False) for rows in asked]
                    first, second = (
                        _joined(one, rows, found, shared=False)
                        for rows, found in zip(asked, kept, strict=True)
                    )
                    retests.take(one.service, first, second)
    return retests


def _deterministic(target: Target, answers: AnswersOf) -> bool:
    if isinstance(answers, StoredAnswers):
        return answers.is_deterministic(target.fingerprint)
    return is_deterministic(answers(target.fingerprint))


def _answers_to(target: Target, rows: pl.DataFrame, answers: AnswersOf, *, shared: bool) -> pl.DataFrame:
    """The answers that a slice of probes was given."""
    if not isinstance(answers, StoredAnswers):
        return answers(target.fingerprint)
    draw = pl.lit(0, pl.Int64).alias("draw") if shared else pl.col("draw")
    return answers.to(target.fingerprint, rows.select("key", draw))


def answer_batches(target: Target, probes: Probes, answers: AnswersOf) -> Iterator[pl.DataFrame]:
    """The probes of one subject with their answers, slice by slice."""
    place = (target.experiment, target.task)
    if is_one_batch(probes, place):
        (frame,) = batches_of(probes, place)
        yield answers_to(target, frame, answers)
        return
    shared = target.deterministic and _deterministic(target, answers)
    for frame in batches_of(probes, place):
        rows = probes_of(target, frame)
        yield _joined(target, rows, _answers_to(target, rows, answers, shared=shared), shared=shared)


def _unfinished(rating: Rating, missing: Mapping[str, int], whole: Mapping[str, int]) -> Rating:
    """The rating without the levels of parts that were not asked to the end.

    Args:
        rating: of all probes, or by the half of them that stands (methods 0.12).
        missing: part of the service -> probes that were never answered.
        whole: part of the service -> probes in all.
    """
    if not missing:
        return rating
    recognition = rating.details.get("recognition")
    of_half = isinstance(recognition, Mapping) and "rated" in recognition
    several = Counter(map(source_part, rating.parts))
    all_missing, all_planned = sum(missing.values()), sum(whole.values())
    parts = []
    for part in rating.parts:
        asked = source_part(part)
        if asked in missing or asked not in whole:
            asked_of = whole.get(asked, all_planned) if of_half else part.coverage.planned
            gone = missing.get(asked, all_missing)
            if several[asked] > 1 and not of_half:  # each has its own of the texts
                gone = min(gone, part.coverage.failed or gone, asked_of)
            reason = Reason(NOT_FINISHED, {"missing": gone, "planned": asked_of})
            part = replace(part, state="incomplete", level=None, certainty={}, reasons=(reason,))
        parts.append(part)
    # Several parts of a rating may be read from the same texts.
    by_data = {
        (source_part(part), part.details.get("data", part.key)): part.coverage.planned for part in parts
    }
    planned = all_planned if of_half else sum(by_data.values())
    reason = Reason(NOT_FINISHED, {"missing": all_missing, "planned": planned})
    return replace(
        rating, state="incomplete", level=None, certainty={}, parts=tuple(parts), worst=(), reasons=(reason,)
    )


def _with_rejected(rating: Rating, rejected: Mapping[str, int]) -> Rating:
    """The rating; where too much is missing its reasons say how many texts were rejected, if no other is.

    Args:
        rating: of all answers.
        rejected: part -> rejected texts, which are not sent again, of parts that wait for no other answer.
    """

    def told(reasons: Sequence[Reason], count: int) -> tuple[Reason, ...]:
        known = {"rejected": count} if count else {}
        return tuple(
            replace(one, facts={**one.facts, **known}) if one.code in LOSSES else one for one in reasons
        )

    parts = [
        replace(one, reasons=told(one.reasons, rejected.get(source_part(one), 0))) for one in rating.parts
    ]
    waiting = any(one.coverage.failed and source_part(one) not in rejected for one in rating.parts)
    whole = 0 if waiting else sum(rejected.values())
    return replace(rating, parts=tuple(parts), reasons=told(rating.reasons, whole))


def _takes_worst(method: Method) -> bool:
    """Whether the overall level of a method is the worst one of its parts."""
    return isinstance(method, MethodSettings) and method.aggregate == "worst"


def _without(
    rating: Rating, faults: Mapping[str, Reason], asked: Collection[str], *, worst_of: bool
) -> Rating:
    """The rating without the level of parts that are at fault.

    It has no overall level either, unless another part is settled at the worst one: that is the overall
    level then, whatever the parts at fault would have.

    Args:
        rating: of a service.
        faults: part of the service -> its fault.
        asked: all parts of the service; what was read from all together is at fault with any of them.
        worst_of: whether the overall level is the worst one of the parts.
    """
    none: dict[str, Any] = {"state": "incomplete", "level": None, "certainty": {}, "score": None}
    why = next(iter(faults.values()))
    parts = [
        replace(part, **none, unchanged=None, p=None, flags=(), reasons=(faults.get(source, why),))
        if source in faults or source not in asked
        else part
        for part, source in zip(rating.parts, map(source_part, rating.parts), strict=True)
    ]
    worst = rating.scale.levels[-1]
    deciding = [one for one in parts if one.state == "rated" and one.level == worst] if worst_of else []
    found = [*rating.reasons, *(one for part in parts for one in part.reasons)]
    changed = any(one.code == "changed-during-the-run" for one in found)
    if not deciding or changed:
        return replace(rating, **none, unchanged=None, parts=tuple(parts), worst=(), reasons=(why,))
    surest = max(deciding, key=lambda one: one.certainty.get(worst, 0.0))
    gone = [str(part.details.get("title", part.key)) for part in parts if part.state == "incomplete"]
    reason = Reason("fault-does-not-matter", {"parts": gone, "level": worst})
    stands = replace(rating, state="rated", level=worst, certainty=surest.certainty, score=surest.score)
    keys = tuple(one.key for one in deciding)
    return replace(stands, unchanged=None, parts=tuple(parts), worst=keys, reasons=(reason,))


def source_part(part: Part) -> str:
    """The part of the service that a part of a rating was read from: of one there may be several.

    Of a part that was read from all parts together it is none of them.
    """
    return str(part.details.get("asked", part.key))


def _traced(rating: Rating, asked: Collection[str]) -> Rating:
    """The rating, whose parts say what they were read from where the method does not.

    Without that the level of a part would stand though its answers are missing.

    Args:
        rating: of a service.
        asked: the parts of the service.
    """
    parts = []
    for part in rating.parts:
        if source_part(part) not in asked:
            known = [one for one in asked if len(asked) == 1 or part.key.startswith(f"{one}/")]
            source = {"asked": max(known, key=len)} if known else {}
            part = replace(part, details={**part.details, **source})
        parts.append(part)
    return replace(rating, parts=tuple(parts))


def answers_to(target: Target, probes: pl.DataFrame, answers: AnswersOf) -> pl.DataFrame:
    """The probes of one subject with their answers; what was never answered is a failed row."""
    found = answers(target.fingerprint)
    shared = target.deterministic and is_deterministic(found)
    return _joined(target, probes_of(target, probes), found, shared=shared)


def _joined(target: Target, probes: pl.DataFrame, found: pl.DataFrame, *, shared: bool) -> pl.DataFrame:
    kept = found.select("message", "draw", *RESPONSE).rename({"message": "key", "draw": "_draw"})
    asked = pl.lit(0, pl.Int64) if shared else pl.col("draw").cast(pl.Int64)
    frame = probes.with_columns(
        service=pl.lit(target.service), part=pl.lit(target.part), shared=pl.lit(shared), _draw=asked
    )
    if shared or "segment" not in probes.columns:  # when it is asked makes no difference to its answers
        frame = frame.with_columns(segment=pl.lit(0, pl.Int64))
    joined = frame.join(
        kept.with_columns(pl.col("_draw").cast(pl.Int64)),
        on=["key", "_draw"],
        how="left",
        maintain_order="left",
    )
    if joined.height > frame.height:  # else they would count as further evidence
        raise IntegrityError(
            f"answers of {target.service} come more than once",
            must="one for each message and draw",
            got=f"{joined.height:,} for {frame.height:,} questions",
            do="mend the store, or report it to its author",
        )
    filled = joined.with_columns(
        pl.col("status").fill_null("failed"),
        # What was said before a session broke off is evidence of the attempt, and no answer.
        pl.when(pl.col("status") != "failed").then(pl.col("output")).alias("output"),
        _lost_output().alias(LOST_OUTPUT),
        pl.when(pl.col("status").is_null() | (pl.col("error") == UNFINISHED))
        .then(pl.lit("not-asked"))
        .otherwise(pl.col("error"))
        .alias("error"),
    )
    typed = filled.drop("_draw").with_columns(
        [pl.col(name).cast(_TYPES[kind]) for name, kind in RESPONSE.items()]
    )
    return limit_length(typed)


def _lost_output() -> pl.Expr:
    """What was said in turns of sessions that broke off later."""
    read = pl.col("output").str.len_chars() <= LONGEST
    in_session = pl.col("session").fill_null("") != ""
    return pl.when((pl.col("status") == "failed") & in_session & read).then(pl.col("output"))


def limit_length(answers: pl.DataFrame) -> pl.DataFrame:
    """The answers, those of more than `LONGEST` characters unreadable: no reader is measured on such."""
    long = pl.col("status").is_in(["answered", "refused"]) & (pl.col("output").str.len_chars() > LONGEST)
    return answers.with_columns(
        status=pl.when(long).then(pl.lit("unreadable")).otherwise("status"),
        error=pl.when(long).then(pl.lit(TOO_LONG)).otherwise("error"),
    )


def is_deterministic(kept: pl.DataFrame) -> bool:
    """Whether the messages asked twice got equal answers (methods 0.3); True if none was.

    `kept` has the columns `message`, `draw`, `status` and `output` of one service.
    """
    given = kept.filter(pl.col("status").is_in(["answered", "empty", "refused"]))
    further = given.filter(pl.col("draw") > 0)  # of all draws, so that what was proved stays proved
    both = further.join(given.filter(pl.col("draw") == 0), on="message", how="inner", suffix="_first")
    return both.filter(pl.col("output").ne_missing(pl.col("output_first"))).is_empty()


def _for_controls(method: Method) -> Method:
    """The experiment as it rates controls: nobody labels these, and of several profiles one is enough."""
    if isinstance(method, LabelUser) and method.labels:
        method = method.with_labels({})
    if isinstance(method, ProfileRater):
        method = method.model_copy(update={"profiles": method.profiles[:1]})  # type: ignore[attr-defined]
    return method


def _control_ratings(method: Method, summary: pl.DataFrame, seed: int) -> Sequence[Rating]:
    """Ratings of the controls, remembered: who rates a plan many times resamples its controls once."""
    key = (type(method), blake2b(summary.hash_rows().to_numpy().tobytes(), digest_size=16).digest(), seed)
    for other, ratings in _CONTROLS.get(key, ()):
        if other == method:
            return ratings
    ratings = tuple(_rated(method, summary, seed))
    if len(_CONTROLS) >= _REMEMBERED:
        _CONTROLS.clear()
    _CONTROLS.setdefault(key, []).append((method, ratings))
    return ratings


def _rated(method: Method, summary: pl.DataFrame, seed: int) -> list[Rating]:
    """The ratings of a method, which anybody may have written.

    Raises MethodError for one that cannot be true, or for a service that it gives none.
    """
    ratings = method.rate(summary, seed)
    for one in ratings:
        check_rating(one)
    if left := set(summary["service"]) - {one.service for one in ratings}:
        must, do = "a rating for each service", "Mend the method, or report it to its author"
        raise MethodError(f'"{method.name}" gives no rating of {min(left)}', must=must, do=do)
    return ratings


def _first_of_each(ratings: Sequence[Rating]) -> dict[str, Rating]:
    """Service -> its rating; of several, one for each profile, the first."""
    return {one.service: one for one in reversed(ratings)}


def _of_part(rating: Rating, key: str) -> Rating | Part:
    """What a control is judged by: one part of its rating, or the whole of it."""
    return next((part for part in rating.parts if key and part.key == key), rating)
