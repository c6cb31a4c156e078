"""`rating.json`: the one document that every view, label and export is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any, cast

from trustgauge.errors import Fault, PlanError
from trustgauge.plugins import unknown
from trustgauge.records import (
    SCHEMA,
    Coverage,
    Interval,
    Json,
    Part,
    Rating,
    Reason,
    RunFacts,
    ServiceFacts,
    canonical,
    digest,
    plain,
)

if TYPE_CHECKING:
    from trustgauge.reports.document_model import (
        CoverageEntry,
        GateEntry,
        OverallEntry,
        PartDetails,
        PartEntry,
        ProvenanceEntry,
        RatingDetails,
        RatingEntry,
        ReasonEntry,
        RunDocument,
        RunEntry,
        ServiceEntry,
    )


NO_SCORE = Interval(None, None, None, 0)


def document(
    run: RunFacts,
    ratings: Sequence[Rating],
    *,
    fail_on: Sequence[str] = (),
    need_certainty: float | None = None,
    supersedes: str | None = None,
) -> RunDocument:
    """The document of a run and its ratings, in plan order.

    A run has one id; its ratings have the same id, followed by `.1`, `.2`, ... if there are
    several. A void run issues no rating (methods 0.9): its document holds the run and the
    controls only. Every rating for which `fail_on` (see `gate_level`) names a level carries its gate, and
    with `need_certainty` every rating does.
    """
    issued = () if run.state == "void" else ratings
    several = len(issued) > 1
    members: list[RatingEntry] = []
    for number, rating in enumerate(issued, start=1):
        member = _rating(run, rating, f"{run.id}.{number}" if several else run.id, supersedes)
        limit = gate_level(fail_on, rating.method, rating.scale.words_by_level)
        if limit is not None or need_certainty is not None:
            member["gate"] = gate(member, limit, need_certainty)
        members.append(member)
    return {"schema": SCHEMA, "run": _clean(_run(run)), "ratings": _clean(members)}


def text(content: RunDocument) -> str:
    """The document as canonical JSON, the form that is kept, hashed and signed."""
    return canonical(content)


def fingerprint(content: RunDocument) -> str:
    """Hash of the canonical document; the ETag of its address."""
    return digest("rating", content)


def is_expired(content: RunDocument | RatingEntry, today: date) -> bool:
    """Whether a rating, or the run of a whole document, is past its date of expiry on `today`."""
    until = content["run"]["expires"] if "run" in content else content["expires"]
    try:
        return date.fromisoformat(until[:10]) < today
    except ValueError:
        return False


def gate_level(fail_on: Sequence[str], method: str, scale: Mapping[str, str]) -> str | None:
    """The level of a scale from which the gate of a method's ratings fails; None: it has none.

    `fail_on` holds LEVEL, which goes to every method that has it; METHOD:LEVEL; "worst" or METHOD:worst,
    the last level of the scale; and METHOD:none, which leaves a method out. Of several the best counts.
    `scale` holds the words of each level, best first; see `find_level` for how a level may be named.

    >>> gate_level(["BS", "causal:2"], "causal", {"1": "no effect", "2": "some effect", "3": "strong effect"})
    '2'
    """
    if f"{method}:none" in fail_on:
        return None
    named = {find_level(one.removeprefix(f"{method}:"), scale) for one in fail_on}
    return next((level for level in scale if level in named), None)


def find_level(name: str, scale: Mapping[str, str]) -> str | None:
    """The level that a person names by its letters, its words or "worst", in any case; None: there is none.

    The last word may be left out where all levels share it.

    >>> scale = {"L": "Low risk", "M": "Medium risk", "H": "High risk"}
    >>> [find_level(name, scale) for name in ("M", "high", "LOW RISK", "low-risk", "worst", "very high")]
    ['M', 'H', 'L', 'L', 'H', None]
    """
    if name in scale:
        return name
    last = {words.rpartition(" ")[2] for words in scale.values()}
    shared = f" {last.pop()}" if len(last) == 1 else ""
    known = {"worst": [*scale][-1]}
    for level, words in reversed([*scale.items()]):  # of levels with the same words the best is meant
        known |= {_spelling(one): level for one in (level, words, words.removesuffix(shared))}
    return known.get(_spelling(name))


def _spelling(name: str) -> str:
    """A name without what does not tell levels apart: case, and hyphens for spaces."""
    return name.casefold().replace("-", " ").replace("_", " ")


def check_gate_levels(scales: Sequence[tuple[str, Mapping[str, str]]], fail_on: Sequence[str]) -> None:
    """Refuse a gate that names what no method has, or that leaves a method out without saying so.

    Args:
        scales: the name of each method that the gate is about, and the words of its levels, best first.
        fail_on: see `gate_level`.

    Raises:
        PlanError: with every fault.
    """
    gated = [one for one in scales if f"{one[0]}:none" not in fail_on]
    names = tuple(dict.fromkeys(name for name, _ in scales))
    faults = []
    for demand in fail_on:
        target, _, level = demand.rpartition(":")
        if target and target not in names:
            faults.append(unknown("--fail-on", "method in the plan", target, names))
        elif not (target and level == "none"):
            mine = [one for one in gated if target in ("", one[0])]
            if not any(find_level(level, scale) for _, scale in mine):
                faults.append(_no_level(demand, [scale for _, scale in mine]))
            faults += _never_passes(demand, mine)
    for name, scale in gated if fail_on and not faults else ():
        if gate_level(fail_on, name, scale) is None:
            must = f"a level for each method: {_listed_levels([scale])}"
            do = f"--fail-on {name}:LEVEL sets one, --fail-on {name}:none leaves {name} out"
            faults.append(
                Fault("--fail-on", f"the gate says nothing of {name}", must, ", ".join(fail_on), do)
            )
    if faults:
        raise PlanError(tuple(dict.fromkeys(faults)))


def _no_level(demand: str, scales: Sequence[Mapping[str, str]]) -> Fault:
    """That no level has this name, and what the levels are called and mean."""
    names = (*dict.fromkeys(name for scale in scales for one in scale.items() for name in one), "worst")
    fault = unknown("--fail-on", "level", demand, names)
    do = fault.do or "Letters or words, in any case"
    return replace(fault, must=f"one of: {_listed_levels(scales)}, worst", do=do)


def _listed_levels(scales: Sequence[Mapping[str, str]]) -> str:
    levels = dict.fromkeys(one for scale in scales for one in scale.items())
    return ", ".join(f"{level} ({words})" for level, words in levels)


def _never_passes(demand: str, scales: Sequence[tuple[str, Mapping[str, str]]]) -> list[Fault]:
    """That a gate fails at the best level of a scale, so whatever the rating."""
    target, _, level = demand.rpartition(":")
    faults = []
    for name, scale in scales:
        best, *others = scale
        if find_level(level, scale) == best and others:
            sensible = [f"{target}:{each}" if target else each for each in (*others, "worst")]
            what = f"{best} ({scale[best]}) is the best level of {name}, so the gate would always fail"
            do = f"--fail-on {sensible[0]} passes at {best} only"
            faults.append(Fault("--fail-on", what, "one of: " + ", ".join(sensible), demand, do))
    return faults


def gate(rating: RatingEntry, fail_on: str | None, need_certainty: float | None) -> GateEntry:
    """What a gate says of a rating: passed, failed, or None where the evidence cannot tell.

    A gate passes or fails only on complete and settled evidence. `reason` is a
    code: `gate.passed`, `gate.level`, `gate.incomplete`, `gate.not-settled`, `gate.certainty`.
    """
    overall, order = rating["overall"], levels(rating)
    passed: bool | None = True
    reason = "gate.passed"
    level = overall["level"]
    share = overall["certainty"].get(level, 0.0) if level else 0.0
    if rating["state"] in {"incomplete", "not tested", "not applicable"}:
        passed, reason = None, "gate.incomplete"
    elif rating["state"] != "rated":
        passed, reason = None, "gate.not-settled"
    elif need_certainty is not None and share < need_certainty:
        passed, reason = None, "gate.certainty"
    elif fail_on is not None and order.index(str(level)) >= order.index(fail_on):
        passed, reason = False, "gate.level"
    return {"fail_on": fail_on, "need_certainty": need_certainty, "passed": passed, "reason": reason}


def levels(rating: RatingEntry) -> list[str]:
    """The levels of a rating's scale, best first."""
    return [entry["level"] for entry in rating["overall"]["scale"]]


def words_by_level(rating: RatingEntry) -> dict[str, str]:
    """The levels of a rating's scale with their words, best first."""
    return {entry["level"]: entry["words"] for entry in rating["overall"]["scale"]}


def is_same_service(one: ServiceEntry, other: ServiceEntry) -> bool:
    """Whether two ratings are of one and the same service, as far as is known.

    A talk with a bot is of that bot, whatever was said; it keeps no names of models.
    """
    if one["version"] != other["version"] or _asked(one) != _asked(other):
        return False
    return is_talk(one) or is_talk(other) or one.get("answered_as") == other.get("answered_as")


def is_same_place(one: ServiceEntry, other: ServiceEntry) -> bool:
    """Whether one and the same was asked, whatever its version, as far as documents tell.

    Those of before tell no place. There the fingerprint of a service without version does, else its kind.
    """
    if "place" in one and "place" in other:
        return one["place"] == other["place"]
    if _asked(one) == _asked(other) or is_talk(one) or is_talk(other):
        return True
    told = all(service["fingerprint"] and not service["version"] for service in (one, other))
    return not told and (one["kind"], one["provider"]) == (other["kind"], other["provider"])


def _asked(one: ServiceEntry) -> str:
    """Fingerprint of who gave the answers; "" if the parts of the service have several."""
    return one.get("talked_with") or one["fingerprint"]


def is_talk(one: ServiceEntry) -> bool:
    """Whether the answers come from live chat: what one person chose to say."""
    return "talked_with" in one


def is_slight(rating: RatingEntry) -> bool:
    """Whether a rating takes the place of no other one: it is of a talk, or provisional (trust 4.2)."""
    return is_talk(rating["service"]) or rating["details"].get("provisional") is True


def details(rating: RatingEntry) -> RatingDetails:
    """What every report may read in the details of a rating."""
    return cast("RatingDetails", rating["details"])


def part_details(part: PartEntry) -> PartDetails:
    """What every report may read in the details of a part."""
    return cast("PartDetails", part["details"])


def certainty(one: OverallEntry | PartEntry) -> float | None:
    """The share of the resamples at the likeliest level; None without resamples."""
    return one["certainty"].get(one["level"] or "")


def _run(run: RunFacts) -> RunEntry:
    # The published key of the control services.
    facts = {"anchors" if name == "controls" else name: fact for name, fact in plain(run).items()}
    facts["costs"] = {name: _cost(one) for name, one in facts["costs"].items()}
    facts |= {name: _cost(facts[name]) for name in ("sent", "uncertain") if facts[name]}
    del facts["issues"]  # each rating has its own
    for name in ("tree", "lock", "recovered", "failures", "lost"):
        if not facts[name]:
            del facts[name]
    for service in facts["services"].values():
        for name in ("answered_as", "talked_with", "place"):
            if not service[name]:
                del service[name]
    several = len({a.issue for a in run.controls}) > 1
    facts["anchors"] = [
        {"name": a.name, "truth": a.truth, "state": a.state, "level": a.level, "certainty": dict(a.certainty)}
        | {"also": dict(a.also), "wrong": a.wrong}
        | ({"issue": a.issue} if several else {})
        for a in run.controls
    ]
    return cast("RunEntry", facts)


def _service(name: str, facts: ServiceFacts | None) -> ServiceEntry:
    entry: ServiceEntry = {
        "key": name,
        "name": facts.name if facts else name,
        "version": facts.version if facts else "",
        "kind": facts.kind if facts else "service",
        "task": facts.task if facts else None,
        "provider": facts.provider if facts else "",
        "fingerprint": facts.fingerprint if facts else "",
        "deterministic": facts.deterministic if facts else False,
    }
    if facts and facts.answered_as:
        entry["answered_as"] = list(facts.answered_as)
    if facts and facts.talked_with:
        entry["talked_with"] = facts.talked_with
    if facts and facts.place:
        entry["place"] = facts.place
    return entry


def _cost(cost: Any) -> Any:
    """What was spent; a service that counts its tokens has none that are estimated, as runs of before."""
    return {name: value for name, value in cost.items() if value or name != "tokens_estimated"}


def _rating(run: RunFacts, rating: Rating, name: str, supersedes: str | None) -> RatingEntry:
    facts = run.services.get(rating.service)
    cost = run.costs.get(rating.service)
    return {
        "schema": SCHEMA,
        "id": name,
        "supersedes": supersedes,
        "service": _service(rating.service, facts),
        "issue": {"id": run.issues.get(rating.method) or rating.method, "attribute": rating.attribute},
        "method": {
            "name": rating.method,
            "version": rating.version,
            "rule": rating.rule,
            "paper": run.paper.get(rating.method, ""),
            "options": plain_json(rating.options),
        },
        "state": rating.state,
        "reasons": [_reason(reason) for reason in rating.reasons],
        "overall": _overall(rating),
        "parts": [_part(part, rating) for part in rating.parts],
        "coverage": _coverage(rating),
        "retest": plain(rating.retest) if rating.retest else None,
        "anchors": [
            {"name": a.name, "truth": a.truth, "level": a.level, "certainty": dict(a.certainty)}
            for a in run.controls
        ],
        "cost": _cost(plain(cost)) if cost else None,
        "provenance": _provenance(run),
        "assessor": plain(run.assessor),
        "tested": run.ended[:10],
        "expires": run.expires,
        "withdrawn": None,
        "limits": [_reason(limit) for limit in rating.limits],
        "details": plain_json(rating.details),
    }


def direction(rating: Rating) -> str:
    """The direction of a scale in words, so that no reader has to guess which end is good."""
    named = [
        f"{level} ({words})" for level, words in zip(rating.scale.levels, rating.scale.words, strict=True)
    ]
    counted = f"the field ordinal counts from 1 for {named[-1]} to {len(named)} for {named[0]}"
    return f"from best to worst: {', '.join(named)}; {counted}"


def _overall(rating: Rating) -> OverallEntry:
    scale, level, score = rating.scale, rating.level, rating.score or NO_SCORE
    known = level in scale.levels
    return {
        "level": level,
        "words": scale.words[scale.levels.index(level)] if known and level else None,
        "ordinal": scale.ordinal(level) if known and level else None,
        "of": len(scale.levels),
        "better": "first",
        "direction": direction(rating),
        "scale": [
            {"level": name, "words": words} for name, words in zip(scale.levels, scale.words, strict=True)
        ],
        "score": score.value,
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "certainty": dict(rating.certainty),
        "unchanged": _interval(rating.unchanged),
        "worst": list(rating.worst),
        "relative_to": [],
        "profile": rating.options.get("profile"),
    }


def _part(part: Part, rating: Rating) -> PartEntry:
    scale, score = rating.scale, part.score or NO_SCORE
    words = scale.words[scale.levels.index(part.level)] if part.level in scale.levels and part.level else None
    return {
        "key": part.key,
        "title": str(part.details.get("title", part.key)),
        "level": part.level,
        "words": words,
        "state": part.state,
        "counts": plain_json(part.counts),
        "score": score.value,
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "p": part.p,
        "certainty": dict(part.certainty),
        "unchanged": _interval(part.unchanged),
        "flags": list(part.flags),
        "more_texts": part.more_texts,
        "reasons": [_reason(reason) for reason in part.reasons],
        "coverage": plain(part.coverage),
        "details": plain_json(part.details),
    }


def _interval(value: Interval | None) -> Json:
    return None if value is None else plain(value)


def _reason(reason: Reason) -> ReasonEntry:
    return {"code": reason.code, "facts": plain_json(reason.facts), "evidence": list(reason.evidence)}


def _coverage(rating: Rating) -> CoverageEntry:
    names = list(plain(Coverage()))
    counted = {_read_from(place, part): part.coverage for place, part in enumerate(rating.parts)}
    summed = {name: sum(getattr(one, name) for one in counted.values()) for name in names}
    return cast("CoverageEntry", summed)


def _read_from(place: int, part: Part) -> tuple[Json, ...]:
    """What tells the texts of a part from those of others.

    The issues of a chatbot are read from the same texts, as are the classes of people in the same sentences.
    """
    details = part.details
    same = "data" in details and "asked" in details
    return (details["asked"], details["data"], part.coverage) if same else (place,)


def _provenance(run: RunFacts) -> ProvenanceEntry:
    return {
        "seed": run.seed,
        "plan": run.hashes.get("plan", ""),
        "inputs": run.hashes.get("inputs", ""),
        "answers": run.hashes.get("answers", ""),
        "versions": dict(run.versions),
        "started": run.started,
        "ended": run.ended,
        "collected": run.collected,
        "command": run.command,
    }


def plain_json(value: Any) -> Json:
    """Any record, mapping, sequence, array or number as what JSON can hold; NaN becomes null."""
    if isinstance(value, (Interval, Reason)):
        value = plain(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    return _clean(value)


def _clean(value: Any) -> Json:
    if isinstance(value, str):  # most values: they come first, and abstract types, which are slow, last
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [plain_json(inner) for inner in items]
    if isinstance(value, Mapping):
        return {_clean(str(key)): plain_json(inner) for key, inner in value.items()}
    return value


def usable(cover: CoverageEntry) -> int:
    """How many answers of a coverage a rating can use (methods 0.4)."""
    return cover["answered"] + cover["refused"] + cover["empty"]


def unread(cover: CoverageEntry) -> int:
    """How many answers came and were not understood: neither used nor lost (methods 0.10 (3))."""
    return cover.get("unread", 0)  # ratings of earlier versions have no such count


def lossy(cover: CoverageEntry) -> bool:
    """Whether answers are missing; else what has no level has none for another reason."""
    return usable(cover) + unread(cover) < cover["planned"]
