"""Verify: re-derive every key, hash, summary and level of a run from its kept answers. Makes no call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.catalogue import read
from trustgauge.errors import StoreError
from trustgauge.pipeline.derive import Derived, derive
from trustgauge.pipeline.issue import evidence
from trustgauge.pipeline.subjects import Subject, design, methods
from trustgauge.plan import Plan, load_plan
from trustgauge.records import Rating, canonical
from trustgauge.reports.document import plain_json
from trustgauge.reports.notebook import RatingView
from trustgauge.store.folder import STORE, read_manifest
from trustgauge.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Verdict:
    """What re-deriving a run gave. `differences` is empty when everything is equal."""

    answers: int
    readings: int
    levels: int
    differences: tuple[str, ...]
    expires: str
    expired: bool

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def rederive(folder: Path) -> tuple[Plan, list[Subject], Derived]:
    """Plan, subjects and everything that follows from the kept answers of a run.

    Services are not opened, and need not be installed: the manifest tells whom the plan asked.

    Raises StoreError if the folder is broken, PlanError if its plan is.
    """
    plan = load_plan(folder / "plan.toml")
    facts = read_manifest(folder).get("subjects")
    if not facts:
        raise StoreError(f"{folder} was never run", must="a folder with a manifest that names its subjects")
    found = [Subject.from_facts(one) for one in facts]
    with SqliteStore(folder / STORE, read_only=True) as store:
        store.integrity()
        derived = derive(methods(plan), found, design(plan, found), store.answers, seed=plan.seed)
    return plan, found, derived


def open_rating(folder: str | Path) -> RatingView:
    """The ratings of a run folder as a notebook shows them, with their evidence. Makes no call.

    >>> open_rating("ratings/TG-2026-1122-7f3a").parts()  # doctest: +SKIP
    """
    return RatingView(read(Path(folder)), evidence_of_run(Path(folder)))


def evidence_of_run(folder: Path) -> pl.DataFrame:
    """Every text a run sent and received, as its report shows it."""
    plan, found, derived = rederive(folder)
    return evidence(plan, found, derived)


def verify(folder: Path, today: date) -> Verdict:
    """Compare what a run claims with what its answers give."""
    claimed = read(folder)
    plan, _, derived = rederive(folder)
    hashes = {"plan": plan.hash, **derived.hashes}
    differences = [
        f"hash of {name}: claimed {claimed['run']['hashes'].get(name)}, derived {value}"
        for name, value in hashes.items()
        if claimed["run"]["hashes"].get(name) != value
    ]
    anchors = {one["name"]: one["level"] for one in claimed["run"]["anchors"]}
    for anchor in derived.anchors:
        if anchors.get(anchor.name) != anchor.level:
            differences.append(f"{anchor.name}: claimed {anchors.get(anchor.name)}, derived {anchor.level}")
    issued = derived.ratings if claimed["run"]["state"] != "void" else ()
    levels = 0
    if len(issued) != len(claimed["ratings"]):
        differences.append(f"ratings: claimed {len(claimed['ratings'])}, derived {len(issued)}")
    for rating, shown in zip(issued, claimed["ratings"], strict=False):
        levels += 1 + len(rating.parts)
        differences += _differences(rating, shown)
    rows = sum(frame.height for frame in derived.marks)
    answers = sum(frame.filter(frame["error"] != "not-asked").height for frame in derived.marks)
    expires = claimed["run"]["expires"]
    return Verdict(answers, rows, levels, tuple(differences), expires, expires < today.isoformat())


def _differences(rating: Rating, shown: Mapping[str, Any]) -> list[str]:
    """Where a re-derived rating differs from the one that was issued."""
    overall = {**shown, "level": shown["overall"]["level"], "certainty": shown["overall"]["certainty"]}
    found = _compare(rating.service, rating, overall)
    parts = {one["key"]: one for one in shown["parts"]}
    for part in rating.parts:
        name = f"{rating.service} {part.key}".strip()
        if part.key not in parts:
            found.append(f"{name}: not in the issued rating")
            continue
        found += _compare(name, part, parts[part.key])
        if _text(part.counts) != _text(parts[part.key]["counts"]):
            found.append(f"{name}: other counts")
    return found


def _compare(name: str, derived: Any, shown: Mapping[str, Any]) -> list[str]:
    found = []
    for key in ("level", "state"):
        if getattr(derived, key) != shown[key]:
            found.append(f"{name}: {key} claimed {shown[key]}, derived {getattr(derived, key)}")
    if _text(derived.certainty) != _text(shown["certainty"]):
        found.append(
            f"{name}: certainty claimed {dict(shown['certainty'])}, derived {dict(derived.certainty)}"
        )
    return found


def _text(value: Any) -> str:
    return canonical(json.loads(canonical(plain_json(value))))
