"""What a watch knows: the looks at every rating so far, and whether a settled level has changed.

A series is one rating over time: a service, a method, an attribute. Its first settled level is what later
looks are compared with; until there is one, the likeliest level of the last open look. A change is announced
when a look is settled at another level *and* the shares of resamples have moved by more than `looks` looks
would find by chance (`stats.sequential`). The error of a service, all its ratings and all looks together, is
ERROR at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trustgauge.errors import StoreError
from trustgauge.records import Json, canonical, digest
from trustgauge.reports import sentences
from trustgauge.stats.sequential import probit, scan, threshold
from trustgauge.store.folder import map_errors, write_file

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry, RunDocument, RunEntry

SCHEMA = "trustgauge.watch/1"
ERROR = 0.05
"""Of a whole watch of one service that does not change, all looks together."""
KNOWN = ("rated", "not settled")  # states whose certainty tells something
Finding = Literal["not rated", "not settled", "first", "same", "unsure", "changed", "over"]
"""What a look says: `first` settled level; `unsure` is settled elsewhere, but no more than chance may do;
`over` is settled elsewhere after the last declared look."""


@dataclass(frozen=True)
class Look:
    """One rating as a look found it."""

    at: str
    run: str
    rating: str
    state: str
    level: str | None
    certainty: Mapping[str, float]
    score: float | None
    low: float | None
    high: float | None
    size: int  # answers it rests on
    clusters: int | None
    version: str
    fingerprint: str
    finding: Finding = "not rated"
    # Of its parts, beside a level that may be as before; None in old files.
    flags: Sequence[str] | None = None

    @property
    def tells(self) -> bool:
        """Whether there are shares of resamples to go by."""
        return self.state in KNOWN and sum(self.certainty.values()) > 0 and self.size > 0


@dataclass
class Series:
    """One rating over time.

    Attributes:
        key: service, method, attribute and rule.
        levels: best first.
        words: level -> its name for people.
        error: that this series may spend.
        looks: all of them, in order.
        start: of the looks that later ones are compared with; an announced change moves it.
        level: the settled level that holds.
    """

    key: Mapping[str, str]
    levels: Sequence[str]
    words: Mapping[str, str]
    error: float
    threshold: float
    looks: list[Look] = field(default_factory=list)
    start: int = 0
    level: str | None = None

    @property
    def spent(self) -> int:
        """Looks that showed something."""
        return sum(look.tells for look in self.looks)

    @property
    def new_flags(self) -> list[str]:
        """Flags of the last look that the one before it, of those that showed something, did not have."""
        known = [look for look in self.looks if look.tells][-2:]
        flags = [look.flags for look in known if look.flags is not None]
        return sorted({*flags[1]} - {*flags[0]}) if len(flags) > 1 and known[-1] is self.looks[-1] else []


@dataclass
class WatchState:
    """The state of a watch, as its file holds it."""

    name: str
    plan: str  # what tells watches apart: the plan, without who is asked
    most: int  # declared looks
    log: str = ""
    began: str = ""
    tried: str = ""  # when the last look began
    offset: int = 0  # bytes of the log that are rated
    under_way: dict[str, Json] | None = None
    failed: str = ""  # why the last look came to nothing
    taken: int = 0  # end of the piece of the log that a look took last
    series: dict[str, Series] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)  # of all looks
    changes: list[dict[str, Json]] = field(default_factory=list)
    untold: list[dict[str, Json]] = field(default_factory=list)  # changes that were not reported yet


def add_look(watched: WatchState, document: RunDocument) -> list[dict[str, Json]]:
    """Enter the ratings of a run as a look; the changes that it shows.

    Args:
        watched: changed in place.
        document: the run's `rating.json`.
    """
    run, found = document["run"], []
    watched.runs.append(run["id"])
    for rating in document["ratings"]:
        key = _key(rating)
        name = canonical(key)
        if name not in watched.series:
            watched.series[name] = _series(rating, key, document["ratings"], watched.most)
        series = watched.series[name]
        change = _judge(series, _look(run, rating), watched.most)
        if change is not None:
            place = {"look": len(watched.runs), "looks": watched.most}
            about = {"event": "change", "watch": watched.plan, **key, **place, **change}
            found.append({"id": digest("change", about)[:12], **about})
    watched.changes += found
    watched.untold += found
    return found


def failing(document: RunDocument) -> list[Mapping[str, str]]:
    """Keys of the ratings of a run that are settled at a level that its gate does not allow."""
    return [_key(one) for one in document["ratings"] if (gate := one.get("gate")) and gate["passed"] is False]


def _key(rating: RatingEntry) -> dict[str, str]:
    return {
        "service": rating["service"]["key"],
        "method": rating["method"]["name"],
        "attribute": rating["issue"]["attribute"],
        "rule": rating["method"]["rule"],
    }


def _series(rating: RatingEntry, key: Mapping[str, str], ratings: Sequence[RatingEntry], most: int) -> Series:
    """A new series; the ratings of one service share its error, and so do the cuts between the levels."""
    levels = [one["level"] for one in rating["overall"]["scale"]]
    words = {level: sentences.level_in_words(rating, level) for level in levels}
    mine = sum(one["service"]["key"] == key["service"] for one in ratings)
    error = ERROR / mine
    height = threshold(most, error / max(1, len(levels) - 1))
    return Series(key, levels, words, error, height)


def _look(run: RunEntry, rating: RatingEntry) -> Look:
    overall, cover = rating["overall"], rating["coverage"]
    counts = [part["details"].get("clusters") for part in rating["parts"]]
    known = [one for one in counts if isinstance(one, int) and one > 0]
    return Look(
        at=run["ended"],
        run=run["id"],
        rating=rating["id"],
        state=rating["state"],
        level=overall["level"],
        certainty=dict(overall["certainty"]),
        score=overall["score"],
        low=overall["low"],
        high=overall["high"],
        size=cover["answered"] + cover["refused"] + cover["empty"],
        clusters=min(known, default=None),
        version=rating["service"]["version"],
        fingerprint=digest("parts", run["services"][rating["service"]["key"]]["parts"]),
        flags=sorted({flag for part in rating["parts"] for flag in part["flags"]}),
    )


def _judge(series: Series, look: Look, most: int) -> dict[str, Json] | None:
    """Enter a look with what it says; the change, if it shows one."""
    finding, change = _finding(series, look, most)
    series.looks.append(replace(look, finding=finding))
    if finding in ("first", "changed"):
        series.level = look.level
    if change is not None:
        series.start = int(change.pop("start"))
    return change


def _finding(series: Series, look: Look, most: int) -> tuple[Finding, dict[str, Json] | None]:
    if look.state not in KNOWN or look.level not in series.levels:
        return "not rated", None
    if look.state != "rated":
        return "not settled", None
    if look.level == series.level:
        return "same", None
    if series.spent >= most:
        return "first" if series.level is None else "over", None
    change = _change(series, look)
    if change is not None:
        return "changed", change
    return "first" if series.level is None else "unsure", None


def _change(series: Series, look: Look) -> dict[str, Json] | None:
    """The change from the level that holds to that of the look, if chance does not do as much.

    Where no level is settled yet, from the likeliest of the last open look: the threshold is that of any
    step between any looks, settled or not.
    """
    current = [(place, one) for place, one in enumerate(series.looks) if place >= series.start and one.tells]
    settled = [
        one for _, one in current if one.finding in ("first", "same", "changed") and one.state == "rated"
    ]
    before = settled or [one for _, one in current if series.level is None]
    if not before or not look.tells:
        return None
    order = series.levels
    shares = before[-1].certainty
    level = series.level or max(order, key=lambda one: shares.get(one, 0.0))
    old, new = order.index(level), order.index(str(look.level))
    if old == new:
        return None
    seen = [*(one for _, one in current), look]
    sign, sizes = (1 if new > old else -1), [one.size for one in seen]
    steps = [
        scan([sign * _beyond(one, order[cut:]) for one in seen], sizes)
        for cut in range(min(old, new) + 1, max(old, new) + 1)
    ]
    best = max(steps, key=lambda step: step.height)
    if best.height < series.threshold:
        return None
    exchanged, exchanges = ("exchanged" in (one.flags or ()) for one in (before[-1], look))
    first = [place for place, _ in current] + [len(series.looks)]
    start = first[len(first) - best.last]
    return {
        "from": level,
        "to": look.level,
        "words": [series.words[level], series.words[str(look.level)]],
        "direction": "worse" if new > old else "other" if exchanges and not exchanged else "better",
        "since": look.at if start == len(series.looks) else series.looks[start].at,
        "step": round(best.height, 4),
        "threshold": round(series.threshold, 4),
        "error": series.error,
        "before": _facts(before[-1]),
        "after": _facts(look),
        "start": start,
    }


def _beyond(look: Look, worse: Sequence[str]) -> float:
    """Probit of the share of resamples at these levels."""
    total = sum(look.certainty.values())
    share = sum(look.certainty.get(level, 0.0) for level in worse) / total
    return probit(share, look.clusters)


def _facts(look: Look) -> dict[str, Json]:
    names = ("run", "rating", "level", "state", "certainty", "score", "low", "high", "version", "fingerprint")
    return {"tested": look.at, **{name: getattr(look, name) for name in names}}


def load(path: Path) -> WatchState | None:
    """The state of a watch; None where there is none yet.

    Raises:
        StoreError: it cannot be read, or is no state of a watch.
    """
    with map_errors(path):
        if not path.exists():
            return None
        raw = path.read_bytes()
    try:
        data = json.loads(raw)
        if data.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        data["series"] = {name: _read_series(one) for name, one in data["series"].items()}
        return WatchState(**data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        do = "restore it, or move it away: the watch then starts over"
        raise StoreError(f"{path} is damaged", must="the state of a watch", got=str(error), do=do) from error


def _read_series(data: Mapping[str, Any]) -> Series:
    return Series(**{**data, "looks": [Look(**one) for one in data["looks"]]})


def save(path: Path, watched: WatchState) -> None:
    """Write the state of a watch, whole or not at all.

    Raises:
        StoreError, DiskFullError: it cannot be written; then the file is as it was.
    """
    write_file(path, canonical(document(watched)) + "\n")


def document(watched: WatchState) -> dict[str, Json]:
    """The state as plain data: what the file holds and the page shows."""
    return {"schema": SCHEMA, **asdict(watched)}
