"""Where two rating documents differ, and which documented changes of the program explain it."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).with_name("same_ratings.toml")
PASSING = re.compile(
    r"(run|ratings\.provenance)\.(command|started|ended)|ratings\.tested"
    r"|(run|ratings)\.(id|expires)|run\.hashes\.plan|ratings\.provenance\.plan|run\.versions\..*"
    r"|(ratings\.cost|run\.costs\..*|run\.sent|run\.uncertain)\.(seconds|latency_median_ms)"
)
"""Keys of a rating document that say when, where and by which program it was made, not what was rated."""
REUSING = re.compile(
    r"(ratings\.cost|run\.costs\..*|run\.sent)\.\w+|ratings\.provenance\.copied.*|run\.copied.*"
)
"""Keys that differ besides where answers were not asked but copied."""
FOLLOWING = re.compile(r"run\.(hashes|tree)\.\w+|ratings\.provenance\.answers")
"""Hashes of what is rated: they differ with it."""
ABSENT = object()


class Within(NamedTuple):
    """What a difference is a part of: one rating, or the run.

    Attributes:
        method: of the rating; empty for the run.
        rule: likewise.
        options: names of the options that the plan sets in the rating, or in any of the run.
        reasons: codes that the new revision gives anywhere in it, and the old one does not.
    """

    method: str
    rule: str
    options: frozenset[str]
    reasons: frozenset[str]


class Difference(NamedTuple):
    """A place where two rating documents differ.

    Attributes:
        key: the path without numbers, "ratings.overall.level"; reasons by their codes.
        old: what stands there by the old revision, `ABSENT` for nothing.
        new: likewise.
        within: whose rating it is a part of.
    """

    key: str
    old: Any
    new: Any
    within: Within

    def __str__(self) -> str:
        """Key and both values, shortened: "ratings.overall.level: M -> H"."""
        old, new = ("nothing" if one is ABSENT else str(one)[:60] for one in (self.old, self.new))
        return f"{self.key}: {old} -> {new}"


@dataclass(frozen=True)
class Change:
    """A documented change of ratings, a row of `same_ratings.toml`.

    Attributes:
        date: when it was made. It explains differences between revisions before and after it, no others.
        changelog: words of its entry in `CHANGELOG.md`.
        keys: what it may change, as regular expressions over a whole key; all keys if empty.
        methods: whose ratings; empty for all.
        rules: of which rules; empty for all.
        option: one that the plan must set; empty for none.
        reason: a code that the new revision must give in the rating, and the old one not; empty for none.
    """

    date: datetime
    changelog: str
    keys: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    option: str = ""
    reason: str = ""

    def explains(self, difference: Difference) -> bool:
        """Whether the difference may be due to this change; the run is part of all its ratings."""
        within = difference.within
        return (
            (not within.method or not self.methods or within.method in self.methods)
            and (not within.rule or not self.rules or within.rule in self.rules)
            and (not self.option or self.option in within.options)
            and (not self.reason or self.reason in within.reasons)
            and (not self.keys or any(re.fullmatch(key, difference.key) for key in self.keys))
        )


def documented(old: datetime, new: datetime, file: Path = TABLE) -> list[Change]:
    """The documented changes that were made after one date and until another."""
    rows: list[dict[str, Any]] = tomllib.loads(file.read_text("utf-8"))["change"]
    return [Change(**dict(map(_field, row.items()))) for row in rows if old < row["date"] <= new]


def _field(entry: tuple[str, Any]) -> tuple[str, Any]:
    """A field of a change as it is kept: lists as tuples."""
    name, value = entry
    return name, tuple(value) if isinstance(value, list) else value


def differences(old: Mapping[str, Any], new: Mapping[str, Any], *, reuse: bool) -> list[Difference]:
    """Where two rating documents differ beyond what passes; hashes count only if nothing else differs.

    Args:
        old: the document of one revision.
        new: that of the other.
        reuse: whether it rates the answers that the old one got.
    """
    found = [one for one in _everywhere(old, new) if not _passes(one.key, reuse)]
    return [one for one in found if not FOLLOWING.fullmatch(one.key)] or found


def _everywhere(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    options = frozenset[str]().union(*(one["method"]["options"] for one in new["ratings"]))
    run = Within("", "", options, _codes(new) - _codes(old))
    for key in {**old, **new}:
        if key != "ratings":
            yield from _below(old.get(key, ABSENT), new.get(key, ABSENT), key, run)
    if len(old["ratings"]) != len(new["ratings"]):
        yield Difference("ratings", f"{len(old['ratings'])} ratings", f"{len(new['ratings'])} ratings", run)
        return
    for one, other in zip(old["ratings"], new["ratings"], strict=True):
        method = one["method"]
        reasons = _codes(other) - _codes(one)
        options = frozenset(other["method"]["options"])
        yield from _below(one, other, "ratings", Within(method["name"], method["rule"], options, reasons))


def _codes(value: Any) -> frozenset[str]:
    """The codes of all reasons and limits in a document."""
    if isinstance(value, dict):
        below = frozenset[str]().union(*map(_codes, value.values()))
        return below | {value["code"]} if "code" in value and "facts" in value else below
    return frozenset[str]().union(*map(_codes, value)) if isinstance(value, list) else frozenset()


def _below(old: Any, new: Any, key: str, within: Within) -> Iterator[Difference]:
    old, new = _by_code(old), _by_code(new)
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from _below(old.get(name, ABSENT), new.get(name, ABSENT), f"{key}.{name}", within)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from _below(one, other, key, within)
    elif old != new:
        yield Difference(key, old, new, within)


def _passes(key: str, reuse: bool) -> bool:
    """Whether a key may differ between two ratings of the same answers."""
    return bool(PASSING.fullmatch(key) or (reuse and REUSING.fullmatch(key)))


def _by_code(value: Any) -> Any:
    """Reasons and limits by their codes, so that one more does not shift the others; all else as it is."""
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(one, dict) and "code" in one for one in value)
    ):
        return value
    seen: Counter[str] = Counter()
    found = {}
    for one in value:
        seen[one["code"]] += 1
        found[one["code"] + "+" * (seen[one["code"]] - 1)] = one
    return found
