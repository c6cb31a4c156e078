"""Stage 4 of a rating: the rating document of a run, the evidence behind it, and its report."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from trustgauge.plan import Plan
from trustgauge.records import (
    Assessor,
    Cost,
    Json,
    Part,
    Rating,
    Reason,
    RunFacts,
    ServiceFacts,
    ServiceFailure,
)
from trustgauge.reports.document import document as rating_document
from trustgauge.reports.document import text as text
from trustgauge.reports.html import report
from trustgauge.run.cost import earlier_cost
from trustgauge.run.options import AskOutcome, AskPlan, RunOptions
from trustgauge.run.rate import NOT_FINISHED, RatingResults, source_part
from trustgauge.run.targets import Target, methods, rateable_service, target_title
from trustgauge.services import Recording, RoundTripParts, ServiceSpec
from trustgauge.store import BY_HAND
from trustgauge.store.folder import RunFolder

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument

RunState = Literal["complete", "incomplete", "void"]
LIMIT_REACHED = "limit reached: "
"""How the reason begins for which an engine stopped at a limit."""
LOSS = "incomplete-loss"
"""Code of the reason that too many answers are missing."""
PARTS = ("trustgauge", "numpy", "polars", "scipy")


def render(
    ask_plan: AskPlan, derived: RatingResults, folder: RunFolder, asked: AskOutcome, options: RunOptions
) -> RunDocument:
    """Write `rating.json` and `report.html` into the folder of a run. Returns the rating document."""
    document = build_document(ask_plan, derived, folder, asked, options)
    folder.write("rating.json", text(document))
    folder.write("report.html", report(document, evidence_rows(ask_plan.plan, ask_plan.targets, derived)))
    return document


def build_document(
    ask_plan: AskPlan, derived: RatingResults, folder: RunFolder, asked: AskOutcome, options: RunOptions
) -> RunDocument:
    """The `rating.json` of a run as it stands now."""
    plan = ask_plan.plan
    before = _before(folder)
    # A complete run that is only looked at again keeps its date.
    ended = (
        before["run"]["ended"] if before and not asked.calls else options.now().isoformat(timespec="seconds")
    )
    seconds = float(
        folder.manifest().get("seconds", 0.0)
    )  # of the whole run: services are asked side by side
    rated = ask_plan.rated_targets
    asked_of = [*rated, *ask_plan.judges]
    by_name = {one.service: [each for each in asked_of if each.service == one.service] for one in asked_of}
    run = RunFacts(
        id=folder.id,
        name=plan.name,
        seed=plan.seed,
        state=overall_state(derived, asked.stopped),
        hashes={"plan": plan.hash, **derived.hashes},
        versions=versions(),
        started=folder.manifest()["began"],
        ended=ended,
        expires=expiry_date(ended, plan.valid_days),
        collected=_collected(rated, folder),
        command=f"trustgauge rate {folder.path / 'plan.toml'}",
        assessor=Assessor(**plan.assessor.model_dump()),
        services={
            name: replace(
                _facts(name, plan, parts),
                answered_as=folder.store.answered_as(one.fingerprint for one in parts),
            )
            for name, parts in by_name.items()
        },
        costs={
            name: replace(folder.store.cost(one.fingerprint for one in parts), seconds=seconds)
            for name, parts in by_name.items()
        },
        sent=replace(earlier_cost(ask_plan, folder.store, folder.manifest()), seconds=0.0),
        uncertain=Cost(**folder.manifest().get("uncertain", {})),
        recovered=folder.manifest().get("recovered", {}),
        controls=derived.controls,
        paper={one.name: one.paper for one in methods(plan)},
        issues={one.name: one.issue_id for one in methods(plan)},
        stopped=asked.stopped,
        failures=asked.failures,
        lost=_lost_parts(derived, folder.manifest()),
        tree=derived.tree,
        lock=folder.manifest().get("lock", {}),
    )
    issued = issued_ratings(derived, plan, run)
    return rating_document(run, issued, fail_on=options.fail_on, need_certainty=options.need_certainty)


def _lost_parts(derived: RatingResults, manifest: Mapping[str, Any]) -> dict[str, ServiceFailure]:
    """Why answers were lost, where too many were to rate a part."""
    parts = [part for rating in derived.ratings for part in rating.parts]
    if not any(one.code == LOSS and _is_by_failures(part) for part in parts for one in part.reasons):
        return {}
    return {part: ServiceFailure(*failure) for part, failure in manifest.get("lost", {}).items()}


def overall_state(derived: RatingResults, stopped: str) -> RunState:
    """Void if a control got a wrong level; incomplete if asking did not come to its end."""
    if any(one.wrong for one in derived.controls):
        return "void"
    pending = derived.waiting or derived.unasked
    return "incomplete" if pending or stopped else "complete"


def expiry_date(ended: str, days: int) -> str:
    """The date until which a rating is valid; the last there is, if it would lie behind that."""
    try:
        return (date.fromisoformat(ended[:10]) + timedelta(days=days)).isoformat()
    except OverflowError:
        return date.max.isoformat()


def evidence_rows(plan: Plan, found: Sequence[Target], derived: RatingResults) -> pl.DataFrame:
    """Every text sent and received, as the report shows it; controls left out.

    Of a large run a sample; then a column `of_rows` tells of how many. `experiment` is its place in the plan.
    """
    controls = [one.service for one in found if one.control]
    order = dict.fromkeys((one.experiment, one.task) for one in found)
    frames = [
        methods(plan)[index]
        .evidence(marks.filter(~pl.col("service").is_in(controls)))
        .with_columns(experiment=pl.lit(index, pl.Int64))
        for (index, _), marks in zip(order, derived.marks, strict=True)
    ]
    # In one piece: Polars fails on lists of which one piece has none, where a window stands beside them.
    whole = pl.concat(frames, how="diagonal").rechunk()
    total = sum(derived.rows)
    return whole if total == whole.height else whole.with_columns(of_rows=pl.lit(total, pl.Int64))


def versions() -> Mapping[str, str]:
    """Versions of all that computes a rating."""
    found = {"python": platform.python_version()}
    for name in PARTS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _before(folder: RunFolder) -> dict[str, Any] | None:
    try:
        kept = json.loads((folder.path / "rating.json").read_text("utf-8"))
        return kept if kept["run"]["state"] != "incomplete" else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _collected(rated: Sequence[Target], folder: RunFolder) -> str:
    """How the answers came: asked, found in a file that its service names, or imported by hand."""
    ways = set()
    for one in rated:
        by_hand = folder.store.by_hand(one.fingerprint)
        ways |= {BY_HAND} if by_hand else set()
        if not by_hand or by_hand < len(folder.store.present(one.fingerprint)):
            ways.add(one.description.collected if isinstance(one.description, Recording) else "by API")
    return ", ".join(sorted(ways))


def _facts(name: str, plan: Plan, parts: Sequence[Target]) -> ServiceFacts:
    described = rateable_service(plan.services[name], there_and_back=any(one.part for one in parts))
    versions = {one.description.version() for one in parts if one.description is not None}
    return ServiceFacts(
        name=name,
        kind=described.kind,
        task=parts[0].task,
        # Parts of several versions, as the language pairs of one translator, have none in common.
        version=versions.pop() if len(versions) == 1 else "",
        provider=described.offered_by(),
        fingerprint=single_fingerprint({one.fingerprint for one in parts}),
        parts={one.part: one.fingerprint for one in parts},
        deterministic=all(one.deterministic for one in parts),
        talked_with=described.talked_with(),
        place=described.place_digest(),
    )


def single_fingerprint(prints: set[str]) -> str:
    """The fingerprint of a service of one part; several parts have their own."""
    return next(iter(prints)) if len(prints) == 1 else ""


def issued_ratings(derived: RatingResults, plan: Plan, run: RunFacts) -> list[Rating]:
    """The ratings as the document of a run holds them: parts by their names, and why what is missing is."""
    rated = {
        target_title(one.service, part) for one in derived.ratings for part in run.services[one.service].parts
    }
    judge = next((failure for title, failure in run.failures.items() if title not in rated), None)
    return [with_titles(with_cause(rating, run, judge), plan) for rating in derived.ratings]


def with_cause(rating: Rating, run: RunFacts, judge: ServiceFailure | None) -> Rating:
    """The rating with what ended the asking, where its answers are not all there.

    A service that was given up is the cause for its own parts; for all others a limit or another stop, else
    that the second judge was given up.
    """
    titles = {part: target_title(rating.service, part) for part in run.services[rating.service].parts}
    mine = {part: run.failures.get(title) for part, title in titles.items()}
    others = judge if not run.stopped else None
    lost = {part: run.lost.get(title) for part, title in titles.items()}
    parts = []
    for part in rating.parts:
        of = source_part(part)
        causes = _caused(part.reasons, mine.get(of) or others, run.stopped)
        why = lost.get(of) if _is_by_failures(part) else None
        parts.append(replace(part, reasons=_with_error(causes, why)))
    first = next(filter(None, mine.values()), others)
    reasons = _caused(rating.reasons, first, run.stopped)
    error = next(filter(None, lost.values()), None) if any(map(_is_by_failures, rating.parts)) else None
    return replace(rating, parts=tuple(parts), reasons=_with_error(reasons, error))


def _is_by_failures(part: Part) -> bool:
    """Whether most of what is missing of a part are calls that failed, and not refusals or empty answers."""
    cover = part.coverage
    return 2 * cover.failed > cover.refused + cover.empty + cover.unreadable + cover.failed


def _with_error(reasons: Sequence[Reason], lost: ServiceFailure | None) -> tuple[Reason, ...]:
    """The reasons; one that too much is missing says with which error most calls ended."""
    if lost is None:
        return tuple(reasons)
    error: dict[str, Json] = {"error": lost.error, "calls": lost.calls}
    return tuple(replace(one, facts={**one.facts, **error}) if one.code == LOSS else one for one in reasons)


def _caused(reasons: Sequence[Reason], failure: ServiceFailure | None, stopped: str) -> tuple[Reason, ...]:
    """The reasons; one that not everything was asked says why."""
    cause: dict[str, Json] = {}
    if failure is not None:
        cause = {"error": failure.error} | ({"calls": failure.calls} if failure.calls else {})
    elif stopped:
        limit = stopped.removeprefix(LIMIT_REACHED)
        cause = {"stop": stopped} if limit == stopped else {"limit": limit}
    return tuple(
        replace(one, facts={**one.facts, **cause}) if one.code == NOT_FINISHED else one for one in reasons
    )


def with_titles(rating: Rating, plan: Plan) -> Rating:
    """The rating with its parts in the plan's order, and languages called by their names."""
    there_and_back = any(part.key for part in rating.parts)
    described = rateable_service(plan.services[rating.service], there_and_back=there_and_back)
    # What was measured on no single part of the service, such as an issue of a bot, keeps its place.
    order = {key: place for place, key in enumerate(described.parts())}
    parts = sorted(rating.parts, key=lambda part: order.get(source_part(part), 0))
    named = [replace(part, details={**part.details, **_title(part, described)}) for part in parts]
    return replace(rating, parts=tuple(named))


def _title(part: Part, service: ServiceSpec) -> dict[str, str]:
    """What a part is called: the languages of its way, and what the method measured there, if it says so."""
    asked, measured = source_part(part), part.details.get("title")
    if not asked:
        return {}
    if isinstance(service, RoundTripParts):
        from trustgauge.services import languages

        way = " › ".join(languages.name(code) for code in service.middle_languages(asked))
        return {"title": f"{measured}, through {way}" if measured else way}
    return {"title": f"{measured}, {asked}"} if measured else {}
