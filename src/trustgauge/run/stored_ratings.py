"""Ratings as run folders keep them, opened as far as comparing needs. Nothing is asked."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from trustgauge.catalogue import find_folder, index, read, run_folders, select_rating
from trustgauge.errors import TrustgaugeError
from trustgauge.methods import Method, ProfileRater
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Json, digest
from trustgauge.reports import sentences
from trustgauge.reports.document import is_expired
from trustgauge.run.audit_log import read_log
from trustgauge.run.rate import answers_to
from trustgauge.run.second_judge import stored_judges, with_replies
from trustgauge.run.targets import ONLY, PART, Target, design, methods, probes_of
from trustgauge.store import open_store
from trustgauge.store.folder import read_manifest

if TYPE_CHECKING:
    from trustgauge.reports.comparison_model import ComparisonRow
    from trustgauge.reports.document_model import RatingEntry, RunDocument

DATES = 2
"""Dates of one service that are compared."""

PLACE = ("services", "method", "before")  # settings that say who is asked, not what


@dataclass(frozen=True)
class StoredRun:
    """A run folder, opened as far as comparing needs."""

    folder: Path
    document: RunDocument

    @property
    def id(self) -> str:
        return str(self.document["run"]["id"])

    @property
    def began(self) -> str:
        return str(self.document["run"]["started"])

    @cached_property
    def plan(self) -> Plan:
        return load_plan(self.folder / "plan.toml")

    @cached_property
    def targets(self) -> list[Target]:
        """Whom the plan asked, controls left out."""
        facts = read_manifest(self.folder).get("subjects") or []
        return [one for one in map(Target.from_facts, facts) if one.control is None]

    @cached_property
    def probes(self) -> Mapping[tuple[int, Any], pl.DataFrame]:
        return design(self.plan, self.targets)


@dataclass(frozen=True)
class StoredRating:
    """One rating with what it was made from; `why` says why its answers cannot be read, if so."""

    run: StoredRun
    rating: RatingEntry
    experiment: int = -1
    parts: tuple[Target, ...] = ()
    why: str = ""

    @property
    def service(self) -> str:
        return str(self.rating["service"]["key"])

    @property
    def id(self) -> str:
        return str(self.rating["id"])

    @cached_property
    def method(self) -> Method:
        """The experiment; one with a second judge knows what that replied."""
        judges = stored_judges(self.run.folder)
        if not judges:
            return methods(self.run.plan)[self.experiment]
        with open_store(self.run.folder) as store:
            return with_replies(methods(self.run.plan), judges, store.answers)[self.experiment]

    @cached_property
    def labels(self) -> int:
        """Answers that people or a model labelled in audits."""
        return len(read_log(self.run.folder).labels.get((self.experiment, self.service), {}))

    @cached_property
    def settings(self) -> dict[str, Json]:
        """What may change the rating, whoever is asked."""
        if self.why:
            return dict(self.rating["method"]["options"])
        facts: Mapping[str, Json] = self.method.identity()  # type: ignore[attr-defined]
        judged_by = [
            one.fingerprint for one in stored_judges(self.run.folder) if one.experiment == self.experiment
        ]
        known = {name: value for name, value in facts.items() if name not in PLACE}
        return {**known, "judged_by": judged_by} if judged_by else known

    @cached_property
    def inputs(self) -> str:
        """Hash of what was asked."""
        if self.why:
            return f"not read: {self.run.id}"
        part = self.parts[0]
        frame = probes_of(part, self.run.probes[self.experiment, part.task])
        # the segment tells when something is asked, not what
        frame = frame.drop("key", "segment", ONLY, PART, strict=False)
        return digest("probes", frame.write_ndjson())

    @cached_property
    def key(self) -> tuple[str, ...]:
        """Ratings with equal keys can stand in one ranking."""
        method = self.rating["method"]
        return (
            str(method["name"]),
            str(method["version"]),
            str(method["rule"]),
            str(self.rating["issue"]["attribute"]),
            digest("settings", self.settings),
            self.inputs,
        )

    @cached_property
    def marks(self) -> pl.DataFrame:
        """The kept answers, checked."""
        with open_store(self.run.folder) as store:
            rows = [
                answers_to(part, self.run.probes[self.experiment, part.task], store.answers)
                for part in self.parts
            ]
        return self.method.score(pl.concat(rows))


def select_runs(ratings: Path, names: Sequence[str]) -> list[StoredRun]:
    """The runs that are meant, newest first; a rating named alone leaves the others of its run out."""
    if not names:
        return [StoredRun(folder, read(folder)) for folder in run_folders(ratings)]
    found: dict[Path, RunDocument] = {}
    for name in names:
        folder = find_folder(name, ratings).resolve()
        document = select_rating(read(folder), name)
        if folder in found:
            asked = {one["id"] for part in (found[folder], document) for one in part["ratings"]}
            document = read(folder)
            document["ratings"] = [one for one in document["ratings"] if one["id"] in asked]
        found[folder] = document
    return sorted(
        (StoredRun(folder, document) for folder, document in found.items()),
        key=lambda run: (run.began, run.id),
        reverse=True,
    )


def recent_runs(ratings: Path, rule: str, states: Sequence[str]) -> tuple[list[StoredRun], int]:
    """The runs of a folder that a comparison reads, newest first, and how many it passes over.

    Of ratings of one service by one plan, method and attribute the last two dates are compared. A run
    that has none of these is not opened, so that a folder may hold thousands.

    Args:
        ratings: folder of all runs.
        rule: only ratings under this rule count; "" for all.
        states: only ratings of these states count; none for all.
    """
    known = index(ratings)
    taken: Counter[tuple[str, ...]] = Counter()
    chosen: list[StoredRun] = []
    passed_over = 0
    for folder in run_folders(ratings):
        run = known[folder.name]
        due = {
            (run.plan or folder.name, one.key, one.method, one.rule, one.attribute)
            for one in run.lines
            if (not rule or one.rule == rule) and (not states or one.state in states)
        }
        if run.state == "void" or any(taken[key] < DATES for key in due):
            chosen.append(StoredRun(folder, read(folder)))
        else:
            passed_over += bool(due)
        taken.update(due)
    return chosen, passed_over


def stored_ratings(run: StoredRun) -> Iterator[StoredRating]:
    """The ratings of a run, each with the experiment and the parts that it came from."""
    try:
        whole = read(run.folder)["ratings"]
        known = methods(run.plan)
        with open_store(run.folder) as store:
            store.integrity()
        if run.targets:
            run.probes  # noqa: B018  a plan whose texts are gone cannot be compared
        why = "" if run.targets else "the manifest names no subjects"
    except (TrustgaugeError, OSError) as error:
        yield from (StoredRating(run, one, why=str(error)) for one in run.document["ratings"])
        return
    asked = {one["id"] for one in run.document["ratings"]}
    for rating, place in zip(whole, rating_places(whole, run.targets, known), strict=True):
        if rating["id"] not in asked:
            continue
        parts = tuple(one for one in run.targets if (one.experiment, one.service) == place)
        if place is None:
            yield StoredRating(run, rating, why=why or "its plan does not name it")
        else:
            yield StoredRating(run, rating, place[0], parts)


def rating_places(
    ratings: Sequence[RatingEntry], asked: Sequence[Target], known: Sequence[Method]
) -> list[tuple[int, str] | None]:
    """Experiment and service that each rating of a run came from; None of one that its plan does not name.

    Args:
        ratings: all of the run, in order.
        asked: whom the plan asked; controls count for nothing.
        known: its experiments.
    """
    free = list(dict.fromkeys((one.experiment, one.service) for one in asked if one.control is None))
    places = _Places(free, known)
    return [places.of(one) for one in ratings]


def place_of(folder: Path, name: str) -> tuple[int, str] | None:
    """Experiment and service of the rating that a name means; None if it means the whole run.

    Raises:
        PlanError: the run has no such rating.
    """
    document = read(folder)
    ids = [str(one["id"]) for one in document["ratings"]]
    select_rating(document, name)
    if name not in ids:
        return None
    run = StoredRun(folder, document)
    return rating_places(document["ratings"], run.targets, methods(run.plan))[ids.index(name)]


class _Places:
    """Experiment and service that each rating of a run came from; ask in the order of its document."""

    def __init__(self, free: list[tuple[int, str]], known: Sequence[Method]) -> None:
        self._free, self._methods = free, known
        self._rated: dict[tuple[int, str], set[str]] = {}

    def of(self, rating: RatingEntry) -> tuple[int, str] | None:
        """The first place that has not given this rating yet; some methods rate a service several times."""
        name, service = rating["method"]["name"], rating["service"]["key"]
        attribute = str(rating["issue"]["attribute"])
        for place in self._free:
            method = self._methods[place[0]]
            rated = self._rated.setdefault(place, set())
            several = method.profiles if isinstance(method, ProfileRater) else None
            due = not rated if several is None else attribute in several and attribute not in rated
            if place[1] == service and method.name == name and due:
                rated.add(attribute)
                return place
        return None


HERE = "#"
"""In place of a folder or address: the page itself carries what its links lead to."""


@dataclass(frozen=True)
class RowBuilder:
    """How a rating becomes a row.

    `links`: the folder that links to reports start from, the address of the catalogue where they are, or
    `HERE`.
    """

    links: Path | str | None
    today: date

    def row(self, one: StoredRating) -> ComparisonRow:
        """What views need of a rating, and nothing of its details."""
        cost = one.rating["cost"]
        calls, usd = (cost["calls"], cost["usd"]) if cost else (0, None)
        return {
            "id": one.id,
            "run": one.run.id,
            "rating": slim(one.rating),
            "verdict": sentences.verdict(one.rating),
            "expired": is_expired(one.rating, self.today),
            "stopped": one.run.document["run"]["stopped"],
            "usd_estimated": bool(cost and cost.get("tokens_estimated")),
            "usd_per_1000": 1000 * usd / calls if calls and usd is not None else None,
            "latency_median_ms": cost["latency_median_ms"] if cost else None,
            "report": self._report(one),
            "rank": None,
        }

    def _report(self, one: StoredRating) -> str | None:
        """Where the report's section on this rating is, from where the links start."""
        if self.links == HERE:
            return f"#rating-{quote(one.id)}"
        if isinstance(self.links, str):
            return f"{self.links.rstrip('/')}/r/{quote(one.id)}/"
        page = one.run.folder / "report.html"
        if self.links is None or not page.is_file():
            return None
        ids = [rating["id"] for rating in read(one.run.folder)["ratings"]]
        section = f"#r{ids.index(one.id) + 1}" if len(ids) > 1 else ""
        try:
            way = os.path.relpath(page.resolve(), self.links.resolve())
        except ValueError:  # on another drive
            return None
        return quote(os.fsencode(Path(way).as_posix())) + section


def slim(rating: RatingEntry) -> RatingEntry:
    """The rating without the tables behind it."""
    part = ("key", "title", "level", "words", "state", "score", "low", "high", "n", "certainty", "unchanged")
    whole = (
        "id",
        "service",
        "issue",
        "method",
        "state",
        "overall",
        "coverage",
        "tested",
        "expires",
        "reasons",
    )
    # Titles, and what tells which parts may change the level: by their order and cut-offs.
    names = ("asked", "title", "protected", "measure", "cuts", "common")
    parts = [
        {name: value for name, value in one.items() if name in part}
        | {"more_texts": one["more_texts"], "flags": one["flags"], "reasons": one["reasons"]}
        | {"details": {name: one["details"][name] for name in names if name in one["details"]}}
        for one in rating["parts"]
    ]
    kept: Any = {name: value for name, value in rating.items() if name in whole}
    details = {name: rating["details"][name] for name in ("order", "mode") if name in rating["details"]}
    found: RatingEntry = kept | {"parts": parts, "details": details}
    return found
