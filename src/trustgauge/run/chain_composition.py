"""What follows for a chain of rated services: the catalogue's ratings, composed by the method.

A chain is written "A > B > C"; a part of a service is `service:part`, for example
`apertium:es > apertium:ca`. Texts pass from left to right. Names of services may hold ":" and "/": of the
rated services that a name begins with, the one with the longest name is meant.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge import plugins
from trustgauge.catalogue import CatalogueEntry, entries, named_entries
from trustgauge.errors import Fault, PlanError, StoreError, TrustgaugeError
from trustgauge.methods.two_step.chains import Link
from trustgauge.methods.two_step.composition import CompositionTerms, Inference, infer
from trustgauge.methods.two_step.settings import TwoStepSettings
from trustgauge.methods.two_step.text_dependence import FEATURES, MOST, text_dependence
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Reason, Rule, canonical
from trustgauge.run.cost import Estimate
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.rate import StoredAnswers, answer_batches
from trustgauge.run.targets import Target, design, methods, rateable_service
from trustgauge.services import ServiceSpec
from trustgauge.stats import stream
from trustgauge.store import open_store
from trustgauge.store.folder import read_manifest

METHOD = "two-step"
"""The method whose levels compose (two-step 1.9)."""
MOST_PRICED = 20_000
"""Calls of a test up to which it is computed how many of them are left to send."""
READING = ("reader", "rule", "margin", "loss", "score_range", "dead_zone")
"""Settings that give a level its meaning (two-step 1.9: one alphabet, one reader)."""


@dataclass(frozen=True, slots=True)
class ComposedChain:
    """An inferred chain and what it was inferred from.

    Attributes:
        names: of its parts.
        entries: the ratings used.
        links: what they say of each part.
        inference: what follows.
        rule: by which.
        measured: the newest settled rating in force of the whole chain, by this rule and read alike, else
            the newest one; its level counts, and not the inferred one. None if there is none.
        notes: of parts whose newest rating is not settled, and was not used.
    """

    names: tuple[str, ...]
    entries: tuple[CatalogueEntry, ...]
    links: tuple[Link, ...]
    inference: Inference
    rule: Rule
    measured: CatalogueEntry | None = None
    notes: tuple[Reason, ...] = ()

    @property
    def agrees(self) -> bool | None:
        """Whether the measured level of the chain is among those inferred; None if that is unknown."""
        return self.inference.agrees_with(*self._level)

    @property
    def contradiction(self) -> Reason | None:
        """The Reason to show if the chain was measured at a level that the inference rules out."""
        return self.inference.contradicted_by(*self._level)

    @property
    def limits(self) -> tuple[Reason, ...]:
        """What must be said beside an inference: on what else in a text it could depend, if several may."""
        if not self.inference.derived or sum(link.varies for link in self.links) < 2:
            return ()
        return (Reason("composition.features-looked-at", {"features": list(FEATURES)}),)

    @property
    def _level(self) -> tuple[str | None, str]:
        """The measured level and the state of its rating; None and "" where nothing was measured."""
        if self.measured is None:
            return None, ""
        return self.measured.rating["overall"]["level"], self.measured.rating["state"]

    def facts(self, ratings: Path) -> dict[str, Any]:
        """The inference as plain data, for --json; `calls` of a test without what is stored in `ratings`."""
        one, left = self.inference, chain_forecast(self, ratings)
        return {
            "chain": list(self.names),
            "ratings": [entry.rating["id"] for entry in self.entries],
            "rule": self.rule,
            "levels": list(one.levels),
            "state": one.state,
            "certainty": one.certainty,
            "certainties": dict(one.certainties),
            "way": one.way,
            "published": list(one.published),
            "steps": [
                {"first": list(s.first), "second": s.second, "result": list(s.result)} for s in one.steps
            ],
            "must_test": [{"code": r.code, "facts": dict(r.facts)} for r in one.must_test],
            "notes": [{"code": r.code, "facts": dict(r.facts)} for r in self.notes],
            "limits": [{"code": r.code, "facts": dict(r.facts)} for r in self.limits],
            "calls": one.calls if left is None else left.calls,
            "measured": self._measured_facts(),
        }

    def _measured_facts(self) -> dict[str, Any] | None:
        if self.measured is None:
            return None
        rating = self.measured.rating
        return {
            "id": rating["id"],
            "level": rating["overall"]["level"],
            "state": rating["state"],
            "certainty": rating["overall"]["certainty"],
            "tested": rating["tested"],
            "agrees": self.agrees,
        }


def chain_names(chain: str) -> tuple[str, ...]:
    """The names of a chain. Raises PlanError if there are fewer than two."""
    names = tuple(name.strip() for name in chain.split(" > "))
    if len(names) < 2 or "" in names:
        must = 'two or more rated services, such as "apertium:es > apertium:ca"'
        raise PlanError.of("CHAIN", "no chain", must=must, got=repr(chain))
    return names


def compose_chain(
    chain: str,
    ratings: Path,
    today: date,
    rule: Rule = "sound",
    attribute: str | None = None,
    withdrawn: Collection[str] = (),
) -> ComposedChain:
    """Infer the rating of a chain from the ratings of its parts, and find one of the whole.

    Sends no requests.

    Of several ratings of a part the newest settled one by this rule is used. All are of one
    attribute: the one asked for, else that of the rating found for the first part.

    Args:
        chain: names of its parts, "A > B".
        ratings: folder of the runs.
        today: by which ratings are expired.
        rule: by which parts are judged.
        attribute: of the ratings; None for that of the first part's newest one.
        withdrawn: ids of ratings that were withdrawn since, and say nothing any more.
    """
    names = chain_names(chain)
    known = [
        one for one in entries(ratings) if not one.rating["withdrawn"] and one.rating["id"] not in withdrawn
    ]
    found: list[CatalogueEntry] = []
    notes: list[Reason] = []
    for name in names:
        used, note = _in_use(name, _rated(name, known, ratings, attribute), rule)
        found.append(used)
        notes += [note] if note else []
        attribute = used.rating["issue"]["attribute"]
    links = tuple(_link(name, entry) for name, entry in zip(names, found, strict=True))
    plan = source_plan(found[0])
    experiment = plan.experiments[_experiment(found[0], plan)]
    terms = CompositionTerms(today=today.isoformat(), seed=found[0].document["run"]["seed"])
    if isinstance(experiment, TwoStepSettings):
        terms = replace(terms, margin=experiment.margin, settle=experiment.settle, draws=experiment.draws)
    distinct = tuple(one for place, one in enumerate(notes) if one not in notes[:place])
    composed = ComposedChain(names, tuple(found), links, infer(links, rule, terms), rule, notes=distinct)
    own = [one for one in known if one.rating["method"]["name"] == METHOD]
    return replace(composed, measured=_measured(composed, own, today))


def chain_forecast(composed: ComposedChain, ratings: Path) -> Estimate | None:
    """What a test of the whole chain would send, given what is stored. Sends nothing.

    None if the test is too large to be computed in passing, or its services cannot be asked from here.
    """
    if composed.inference.calls > MOST_PRICED:
        return None
    options = RunOptions(ratings=ratings)
    try:
        return forecast(prepare(load_plan(chain_plan(composed)), options, needs_keys=False), options)
    except TrustgaugeError:
        return None


def source_plan(entry: CatalogueEntry) -> Plan:
    """The plan that a rating came from."""
    return load_plan(entry.folder / "plan.toml")


def chain_plan(composed: ComposedChain) -> dict[str, Any]:
    """The plan that tests a chain as a whole: the first part's experiment on all services in order."""
    found = composed.entries
    tables = [
        _part(name, entry).model_dump(mode="json", exclude_none=True)
        for name, entry in zip(composed.names, found, strict=True)
    ]
    name = " > ".join(composed.names)
    first = source_plan(found[0])
    index = _experiment(found[0], first)
    experiment = first.experiments[index].model_dump(mode="json", exclude_none=True)
    experiment |= {"services": [name], "excluding": []}
    return {
        "name": f"chain: {name}",
        "seed": first.seed,
        "services": {name: {"use": "chain", "services": tables}},
        "experiments": [experiment],
    }


def _measured(composed: ComposedChain, known: Sequence[CatalogueEntry], today: date) -> CatalogueEntry | None:
    """The rating in force of a chain as a whole: settled before others, newer before older.

    It is by the same rule, of the same attribute and read alike. The same chain is one of the same services
    as they are installed here now, whatever it is called; where that is unknown, one that is called as
    `chain_plan` calls it.
    """
    try:
        tested = load_plan(chain_plan(composed))
        whole = next(iter(tested.services.values()))
        fingerprint = whole.fingerprint if isinstance(whole, ServiceSpec) else ""
    except TrustgaugeError:
        fingerprint = ""
    name, first = " > ".join(composed.names), composed.links[0]
    found = []
    for entry in known:
        rating = entry.rating
        same = _fingerprints(entry) == [fingerprint] if fingerprint else rating["service"]["key"] == name
        meant = rating["method"]["rule"], rating["issue"]["attribute"]
        if (
            same
            and meant == (composed.rule, first.attribute)
            and rating["overall"]["level"]
            and not entry.is_expired(today)
            and _reads_alike(entry, first)
        ):
            found.append(entry)
    return min(found, key=lambda one: one.rating["state"] != "rated", default=None)


def _rated(
    name: str, known: Sequence[CatalogueEntry], ratings: Path, attribute: str | None
) -> list[CatalogueEntry]:
    """The ratings of a part, newest first; of one attribute, if one is meant.

    What was translated one way came out in another language, so it can be no part of a chain of texts in one.
    """
    able = [one for one in known if one.rating["method"]["name"] == METHOD and not _is_one_way(one)]
    found = [one for one in named_entries(able, name) if name in _names(one)]
    if not any(not _why_not(name, one) for one in found):
        raise PlanError((_not_composable(name, known, ratings),))
    if fitting := [one for one in found if attribute in (None, one.rating["issue"]["attribute"])]:
        return fitting
    must = "one of: " + ", ".join(sorted({str(one.rating["issue"]["attribute"]) for one in found}))
    what = f'"{name}" was not rated for the attribute "{attribute}"'
    raise PlanError.of("CHAIN", what, must=must, do="choose one that all parts have (--attribute)")


def _not_composable(name: str, known: Sequence[CatalogueEntry], ratings: Path) -> Fault:
    """That a name means nothing that can be part of a chain, which names do, and why others do not."""
    reasons: dict[str, str] = {}
    for entry in known:
        for each in _names(entry):
            why = _why_not(each, entry)
            reasons[each] = reasons.get(each, why) if why else ""  # one rating that can be composed is enough
    if not reasons:
        return Fault(
            "CHAIN", f'no rating of "{name}" in {ratings}', do="rate the services of the chain first"
        )
    names = tuple(each for each, why in reasons.items() if not why)
    others: dict[str, list[str]] = {}
    for service in dict.fromkeys(str(one.rating["service"]["key"]) for one in known):
        if service != name and not any(f"{each}:".startswith(f"{service}:") for each in names):
            others.setdefault(reasons[service], []).append(service)
    must = f"a service with a level by {METHOD}: {', '.join(names) or 'none yet'}"
    do = "" if name in reasons else plugins.unknown("CHAIN", "service", name, names).do or ""
    if others:
        text = "; ".join(f"{', '.join(services)} ({why})" for why, services in others.items())
        do = f"{do} Not composable: {text}".strip()
    if own := reasons.get(name):
        return Fault("CHAIN", f'"{name}" cannot be part of a chain', must=must, got=own, do=do)
    return Fault("CHAIN", f'no rated service "{name}"', must=must, do=do)


def _is_one_way(entry: CatalogueEntry) -> bool:
    return bool(entry.rating["method"]["options"].get("one_way"))


def _why_not(name: str, entry: CatalogueEntry) -> str:
    """Why a rating cannot be that of a part of a chain; "" if it can."""
    method = str(entry.rating["method"]["name"])
    if method != METHOD:
        return f"rated by {method}, which does not measure what is passed on"
    if _is_one_way(entry):
        return "translated one way, into another language"
    return "" if _chosen(name, entry)[0]["level"] else "no level yet"


def _in_use(name: str, found: Sequence[CatalogueEntry], rule: Rule) -> tuple[CatalogueEntry, Reason | None]:
    """The rating of a part to use, of those by this rule: settled before others, newer before older.

    With it a Reason to tell, if a newer one is not settled.

    Raises:
        PlanError: it has a level by another rule only.
    """
    able = [one for one in found if one.rating["method"]["rule"] == rule]
    used = min(able, key=lambda one: (bool(_why_not(name, one)), not _settled(name, one)), default=None)
    if used is None or _why_not(name, used):
        others = sorted({str(one.rating["method"]["rule"]) for one in found if not _why_not(name, one)})
        what = f'"{name}" has no level under the rule {rule}'
        do = f'Set rule = "{rule}" in its plan and rate it again, or compose with --rule {others[0]}'
        raise PlanError.of("--rule", what, must=rule, got=f"rated under {', '.join(others)}", do=do)
    newest = able[0]
    if newest.folder == used.folder or _settled(name, newest):
        return used, None
    facts = {"service": name, "used": used.rating["id"], "used_tested": used.rating["tested"]}
    facts |= {"newer": newest.rating["id"], "newer_tested": newest.rating["tested"]}
    return used, Reason("composition.newer-not-settled", facts)


def _settled(name: str, entry: CatalogueEntry) -> bool:
    part = _part_name(name, entry)
    states = {one["key"]: one["state"] for one in entry.rating["parts"]}
    return str(states.get(part, entry.rating["state"])) == "rated"


def _part_name(name: str, entry: CatalogueEntry) -> str:
    """The part of a rated service that a name means, "" for the service itself."""
    return name.removeprefix(str(entry.rating["service"]["key"])).removeprefix(":")


def _names(entry: CatalogueEntry) -> list[str]:
    key = entry.rating["service"]["key"]
    parts = [part["key"] for part in entry.rating["parts"] if part["key"]]
    return [key, *(f"{key}:{part}" for part in parts)]


def _chosen(name: str, entry: CatalogueEntry) -> tuple[Mapping[str, Any], bool]:
    """The part of a rating that a name means, and whether it stands for several languages together."""
    parts = entry.rating["parts"]
    wanted = _part_name(name, entry)
    if not wanted:
        return (parts[0], False) if len(parts) == 1 else (entry.rating["overall"], True)
    for part in parts:
        if part["key"] == wanted:
            return part, False
    raise PlanError((plugins.unknown("CHAIN", "part", name, tuple(_names(entry)[1:])),))


def _link(name: str, entry: CatalogueEntry) -> Link:
    """The facts of one part of a chain, from its rating."""
    rating = entry.rating
    one, together = _chosen(name, entry)
    detailed = rating["parts"][0] if together else one
    counts, details = detailed["counts"], detailed["details"]
    shares = {
        kind: tuple(tuple(b["shares"]) for b in counts["blocks"] if b["kind"] == kind)
        for kind in ("unbiased", "biased")
    }
    options = rating["method"]["options"]
    pooled = not together and details.get("pooled", True) and details.get("matrix")
    described = _described(name, entry)
    return Link(
        service=name,
        level=one["level"],
        state=rating["state"] if together else one["state"],
        certainty=one["certainty"],
        attribute=rating["issue"]["attribute"],
        reader=_reading(entry),
        values=tuple(counts["values"]),
        unbiased=shares["unbiased"],
        biased=shares["biased"],
        language=None if together else "",
        fingerprint=_fingerprint(name, entry),
        current=described.fingerprint if described is not None and not together else None,
        expires=rating["expires"],
        matrix=tuple(map(tuple, details["matrix"])) if pooled else None,
        deff=tuple(details["deff"]) if pooled else (),
        depends=() if together else _depends(one, entry),
        deterministic=any(target.deterministic for target in _targets(detailed["key"], entry)),
        two_bit={} if together else details.get("two_bit", {}),
        texts=int(options.get("texts", 200)),
        legs=len(described.stages()) if described is not None and not together else 1,
    )


def _depends(part: Mapping[str, Any], entry: CatalogueEntry) -> tuple[str, ...] | None:
    """On which features of the text a part's answers depend; None if its answers cannot be read here."""
    if all(sum(count > 0 for count in row) < 2 for row in part["details"].get("matrix", [[1, 1]])):
        return ()  # every value comes back as one, whatever the text
    service, seed = entry.rating["service"]["key"], entry.document["run"]["seed"]
    try:
        marks = _marks(service, part["key"], entry)
    except TrustgaugeError:
        return None
    return text_dependence(marks, stream(seed, METHOD, "text-dependence", service, part["key"]))


def _targets(part: str, entry: CatalogueEntry) -> list[Target]:
    """One part of a rated service as its run knows it."""
    wanted = (_experiment(entry, source_plan(entry)), entry.rating["service"]["key"], part)
    found = map(Target.from_facts, read_manifest(entry.folder).get("subjects", ()))
    return [one for one in found if not one.control and (one.experiment, one.service, one.part) == wanted]


def _marks(service: str, part: str, entry: CatalogueEntry) -> pl.DataFrame:
    """The stored answers of one part as its method reads them, of a large run as many as are looked at."""
    plan = source_plan(entry)
    index = _experiment(entry, plan)
    mine = _targets(part, entry)
    frames: list[pl.DataFrame] = []
    with open_store(entry.folder) as store:
        probes = design(plan, mine)
        for target in mine:
            for rows in answer_batches(target, probes, StoredAnswers(store)):
                frames.append(methods(plan)[index].score(rows))
                if sum(frame.height for frame in frames) >= MOST:
                    break
    if not frames:
        raise StoreError(f"{entry.folder} has no answers of {service}")
    return pl.concat(frames)


def _fingerprint(name: str, entry: CatalogueEntry) -> str:
    service, part = entry.rating["service"]["key"], _part_name(name, entry)
    parts = entry.document["run"]["services"][service]["parts"]
    found: str = parts.get(part, next(iter(parts.values())) if len(parts) == 1 else "")
    return found


def _fingerprints(entry: CatalogueEntry) -> list[str]:
    """Fingerprints of the parts of a rated service; none if its document does not tell."""
    try:
        return list(entry.document["run"]["services"][entry.rating["service"]["key"]]["parts"].values())
    except (KeyError, TypeError, AttributeError):
        return []


def _described(name: str, entry: CatalogueEntry) -> ServiceSpec | None:
    """The service as this machine has it now; None if it is not installed here."""
    try:
        return _part(name, entry)
    except TrustgaugeError:
        return None


def _part(name: str, entry: CatalogueEntry) -> ServiceSpec:
    service, part = entry.rating["service"]["key"], _part_name(name, entry)
    parts = rateable_service(source_plan(entry).services[service]).parts()
    if part in parts:
        return parts[part]
    if not part and len(parts) == 1:
        return next(iter(parts.values()))
    must = "one part of it: " + ", ".join(f"{service}:{key}" for key in parts)
    raise PlanError.of("CHAIN", f'"{name}" is several services', must=must)


def _experiment(entry: CatalogueEntry, plan: Plan) -> int:
    """The experiment of a plan that a rating came from: by service, method, rule and attribute."""
    rating = entry.rating
    meant = rating["method"]["name"], rating["method"]["rule"], rating["issue"]["attribute"]
    for index, one in enumerate(methods(plan)):
        named = one.services  # type: ignore[attr-defined]
        if rating["service"]["key"] in named and (one.name, one.rule, one.issue) == meant:
            return index
    return 0


def _reads_alike(entry: CatalogueEntry, first: Link) -> bool:
    """Whether a rating read its answers as those of the parts were read; not if its plan is gone."""
    try:
        return _reading(entry) == first.reader
    except TrustgaugeError:
        return False


def _reading(entry: CatalogueEntry) -> str:
    """How a rating read its answers and judged them: levels compose only where this is the same."""
    plan = source_plan(entry)
    one = plan.experiments[_experiment(entry, plan)]
    return canonical(one.model_dump(mode="json", include=set(READING)))
