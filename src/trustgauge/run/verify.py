"""Verify: re-derive every key, hash, summary and level of a run from its kept answers. Sends no requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trustgauge.catalogue import read, read_claims
from trustgauge.errors import IntegrityError, PlanError, StoreError, VerifyError
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Assessor, Cost, RunFacts, ServiceFacts, ServiceFailure
from trustgauge.reports.document import document, gate, text
from trustgauge.reports.html import report
from trustgauge.reports.notebook import RatingView
from trustgauge.run.accumulator import AnswerTree
from trustgauge.run.audit import unknown_labels, with_labels
from trustgauge.run.probe_batches import ProbeBatches
from trustgauge.run.rate import SAMPLE, RatingResults, StoredAnswers, rate_answers
from trustgauge.run.render import (
    evidence_rows,
    expiry_date,
    issued_ratings,
    overall_state,
    single_fingerprint,
)
from trustgauge.run.second_judge import stored_judges, with_replies
from trustgauge.run.stored_ratings import rating_places
from trustgauge.run.targets import Target, design, methods
from trustgauge.store import kind_of, open_store
from trustgauge.store.folder import read_manifest, write_file

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument

SHOWN = 80  # characters of a value in a difference


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What re-deriving a run gave. `differences` is empty when everything is equal."""

    answers: int
    readings: int
    levels: int
    differences: tuple[str, ...]
    expires: str
    expired: bool


def rederive(
    folder: Path, sample: int | None = SAMPLE, tree: AnswerTree | None = None
) -> tuple[Plan, list[Target], ProbeBatches, RatingResults]:
    """Plan, subjects, probes and everything that follows from the kept answers of a run.

    Services are not opened, and need not be installed: the manifest tells whom the plan asked. `sample`
    says how many rows of a large experiment are kept to be shown, None for all; `tree` takes all rows.

    Raises StoreError if the folder is broken, PlanError if its plan is.
    """
    plan = load_plan(folder / "plan.toml")
    facts = read_manifest(folder).get("subjects")
    if not facts:
        raise StoreError(f"{folder} was never run", must="a folder with a manifest that names its subjects")
    found = [Target.from_facts(one) for one in facts]
    with open_store(folder) as store:
        store.integrity()
        answers = StoredAnswers(store)
        known = with_labels(with_replies(methods(plan), stored_judges(folder), answers), folder)
        probes = design(plan, found)
        derived = rate_answers(known, found, probes, answers, seed=plan.seed, sample=sample, tree=tree)
    return plan, found, probes, derived


def open_rating(folder: str | Path) -> RatingView:
    """The ratings of a run folder as a notebook shows them, with their evidence. Sends no requests.

    >>> open_rating("ratings/TG-2026-1122-7f3a").parts()  # doctest: +SKIP
    """
    return RatingView(read(Path(folder)), evidence_of_run(Path(folder)))


def evidence_of_run(folder: Path) -> pl.DataFrame:
    """Every text a run sent and received, as its report shows it."""
    plan, found, _, derived = rederive(folder, sample=None)
    return evidence_rows(plan, found, derived)


def evidence_of_ratings(folder: Path, chosen: Sequence[str]) -> pl.DataFrame:
    """The texts that the chosen ratings of a run rest on; a column `rating` names them by their ids.

    Ratings of one experiment and service by several rules share their texts.
    """
    plan, found, _, derived = rederive(folder, sample=None)
    ratings = read(folder)["ratings"]
    ids: dict[tuple[int, str], list[str]] = {}
    for one, place in zip(ratings, rating_places(ratings, found, methods(plan)), strict=True):
        if place is not None:
            ids.setdefault(place, []).append(str(one["id"]))
    named = pl.DataFrame(
        [(*place, ";".join(many)) for place, many in ids.items() if not {*many}.isdisjoint(chosen)],
        {"experiment": pl.Int64, "service": pl.String, "rating": pl.String},
        orient="row",
    )
    rows = evidence_rows(plan, found, derived)
    how: Literal["left", "inner"] = "left" if len(chosen) == len(ratings) else "inner"
    return rows.join(named, on=["experiment", "service"], how=how, maintain_order="left").drop("experiment")


def verify(folder: Path, today: date) -> VerifyResult:
    """Compare what a run claims with what its answers give, field by field.

    What no answer can tell is taken as claimed: when it ran and for how long, the versions of
    what it ran on, and what the services say of themselves.

    Raises:
        IntegrityError: files of the folder are missing, damaged, or no longer what they were.
    """
    claimed = read_claims(folder)
    _check_files(folder)
    try:
        plan, found, probes, derived = rederive(folder)
    except PlanError as error:
        got = str(error).partition("\n")[0]
        raise IntegrityError(
            f"{folder / 'plan.toml'} no longer gives the plan that was rated", got=got
        ) from error
    manifest = read_manifest(folder)
    expected = json.loads(text(_expected(plan, found, derived, claimed, manifest)))
    differences = [
        *_apart("", expected, claimed),
        *_apart("manifest.plan", expected["run"]["hashes"]["plan"], manifest["plan"]),
        *_apart("manifest.id", manifest.get("id"), claimed["run"]["id"]),
        *_apart("manifest.lock", manifest.get("lock"), claimed["run"].get("lock")),
        *_lock_apart(expected["run"]),
        *_probes_apart(folder, probes),
        *unknown_labels(folder),
    ]
    rows, answers = derived.readings, derived.readings - derived.unasked
    levels = sum(1 + len(rating["parts"]) for rating in expected["ratings"])
    expires = expected["run"]["expires"]
    return VerifyResult(answers, rows, levels, tuple(differences), expires, expires < today.isoformat())


def _check_files(folder: Path) -> None:
    missing = [name for name in ("plan.toml", "manifest.json") if not (folder / name).is_file()]
    missing += [] if kind_of(folder) else ["its answers"]
    if missing:
        raise IntegrityError(
            f"{folder} is not whole", got=f"without {', '.join(missing)}", do="Restore it from a copy"
        )


def check_rating(folder: Path, today: date, undone: str) -> VerifyResult:
    """What `verify` finds, where that is no difference. `undone` says what is not done otherwise.

    Raises:
        VerifyError: the rating does not follow from its answers, or these are damaged.
    """
    try:
        verdict = verify(folder, today)
    except IntegrityError as error:
        raise VerifyError(f"{undone}: its folder cannot be verified", got=str(error)) from error
    if verdict.differences:
        more = len(verdict.differences) - 1
        got = verdict.differences[0] + (f"; and {more} more" if more else "")
        do = f"See all with: trustgauge verify {folder.name}"
        raise VerifyError(f"{undone}: the rating does not follow from its answers", got=got, do=do)
    return verdict


def rerate(folder: Path) -> RunDocument:
    """Rate the answers of a run again, as after an audit, and write its document and report. Sends nothing.

    Raises StoreError if the folder is broken, or cannot be written.
    """
    claimed, manifest = read_claims(folder), read_manifest(folder)
    plan, found, _, derived = rederive(folder)
    content = _expected(plan, found, derived, claimed, manifest)
    write_file(folder / "rating.json", text(content))
    write_file(folder / "report.html", report(content, evidence_rows(plan, found, derived)))
    return content


def _expected(
    plan: Plan,
    found: list[Target],
    derived: RatingResults,
    claimed: Mapping[str, Any],
    manifest: Mapping[str, Any],
) -> RunDocument:
    """The document that the kept answers give."""
    run = claimed["run"]
    judges = [Target.from_facts(one) for one in manifest.get("judges", ())]
    rated = [*(one for one in found if one.control is None), *judges]
    services = {}
    for name in dict.fromkeys(one.service for one in rated):
        parts = {one.part: one.fingerprint for one in rated if one.service == name}
        facts = run["services"].get(name, {"kind": "", "task": ""})
        services[name] = ServiceFacts(
            **{**facts, "name": name, "parts": parts, "fingerprint": single_fingerprint(set(parts.values()))}
        )
    made = RunFacts(
        **{
            **{name: value for name, value in run.items() if name != "anchors"},
            "name": plan.name,
            "seed": plan.seed,
            "state": overall_state(derived, run["stopped"]),
            "hashes": {"plan": plan.hash_with(manifest.get("services", {})), **derived.hashes},
            "controls": derived.controls,
            "tree": derived.tree if "tree" in run else {},  # runs of before have none
            "services": services,
            "assessor": Assessor(**plan.assessor.model_dump()),
            "costs": {name: Cost(**cost) for name, cost in run["costs"].items()},
            **{
                name: {part: ServiceFailure(**one) for part, one in run.get(name, {}).items()}
                for name in ("failures", "lost")
            },
            **{name: Cost(**run[name]) for name in ("sent", "uncertain") if name in run},
            "expires": expiry_date(run["ended"], plan.valid_days),
            "issues": {one.name: one.issue_id for one in methods(plan)},
        }
    )
    expected = document(made, issued_ratings(derived, plan, made))
    for rating, other in zip(expected["ratings"], claimed["ratings"], strict=False):
        if facts := other.get("gate"):
            rating["gate"] = gate(rating, facts["fail_on"], facts["need_certainty"])
    return expected


def _apart(place: str, derived: Any, claimed: Any) -> Iterator[str]:
    """Every place where two documents differ."""
    if isinstance(derived, Mapping) and isinstance(claimed, Mapping):
        for key in sorted({*derived, *claimed}):
            yield from _apart(f"{place}.{key}".lstrip("."), derived.get(key), claimed.get(key))
    elif isinstance(derived, list) and isinstance(claimed, list) and len(derived) == len(claimed):
        for index, (one, other) in enumerate(zip(derived, claimed, strict=True)):
            yield from _apart(f"{place}[{index}]", one, other)
    elif derived != claimed:
        yield f"{place}: claimed {_short(claimed)}, derived {_short(derived)}"


def _lock_apart(run: Mapping[str, Any]) -> Iterator[str]:
    """Whether the plan that was locked is another than the one that was run."""
    if lock := run.get("lock"):
        yield from _apart("run.lock.plan", run["hashes"]["plan"], lock["plan"])


def _short(value: Any) -> str:
    shown = str(value)
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."


def _probes_apart(folder: Path, probes: ProbeBatches) -> Iterator[str]:
    """Whether the kept probes are those that the plan draws."""
    columns = ["id", "message", "session", "turn", "draw", "block"]
    with open_store(folder) as store:
        for index, task in probes:
            kept = store.probe_slices(f"{index}:{task}")
            drawn = probes.slices((index, task))
            hashes = [_hash_of(frame.select(columns) for frame in frames) for frames in (kept, drawn)]
            if hashes[0] != hashes[1]:
                yield f"probes of experiment {index}: not those that the plan draws"


def _hash_of(frames: Iterable[pl.DataFrame]) -> str:
    """A hash of rows, in however many frames they come."""
    tally = hashlib.blake2b(digest_size=16)
    for frame in frames:
        tally.update(frame.write_ndjson().encode())
    return tally.hexdigest()
