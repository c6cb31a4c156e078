"""Labels of audits: the lines of `audit.jsonl` in a run's folder, and what they say of each answer.

A line is on disk before it is acknowledged; the last of a labeller about an answer counts. Everything is
derived from the lines again, so `verify` covers them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trustgauge.errors import StoreError
from trustgauge.rating.audit import AuditLabels, SampleGaps
from trustgauge.records import canonical, json_or_none
from trustgauge.run.audit_sample import AuditItem
from trustgauge.stats.agreement import fleiss_kappa
from trustgauge.stats.misclassification import Detection
from trustgauge.store.folder import map_errors, open_private

FILE = "audit.jsonl"
JUDGE = "judge: "
"""Before the name of a labeller that is a chat service."""
_MOST = 1 << 26  # bytes of the file


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """One line: a label that a labeller gave an answer; "" takes it back.

    `kind` says which labels the answer can have; lines of earlier versions do not.
    """

    experiment: int
    service: str
    key: str
    label: str
    by: str
    at: str
    place: tuple[str, str]
    by_lot: bool = True
    kind: str = ""


@dataclass(frozen=True)
class AuditLog:
    """The lines of a run's audits.

    Attributes:
        sizes: (experiment, service) -> sizes of the samples that were drawn.
        unread: (experiment, service) of which all answers were drawn that the reader had abstained from.
        labels: (experiment, service) -> key -> labeller -> label.
        judges: (experiment, service) -> labelled items on which its model judge was measured.
        tables: likewise by true class and what the judge said, where it tells several classes.
        of_unread: (experiment, service) -> keys of answers that were labelled for being unread first.
    """

    sizes: Mapping[tuple[int, str], tuple[int, ...]]
    unread: frozenset[tuple[int, str]]
    labels: Mapping[tuple[int, str], Mapping[str, Mapping[str, LabelRecord]]]
    judges: Mapping[tuple[int, str], Detection]
    tables: Mapping[tuple[int, str], tuple[tuple[int, ...], ...]]
    of_unread: Mapping[tuple[int, str], frozenset[str]] = field(default_factory=dict)


def read_log(folder: Path) -> AuditLog:
    """The audits of a run folder; none if there are none.

    A last line that was cut off by a crash was never acknowledged and is passed over. Of several models the
    last that was measured counts.

    Raises:
        StoreError: the file is damaged.
    """
    sizes: dict[tuple[int, str], tuple[int, ...]] = {}
    of_unread: dict[tuple[int, str], set[str]] = {}
    unread: set[tuple[int, str]] = set()
    labels: dict[tuple[int, str], dict[str, dict[str, LabelRecord]]] = {}
    judges: dict[tuple[int, str], Detection] = {}
    tables: dict[tuple[int, str], tuple[tuple[int, ...], ...]] = {}
    for number, line in enumerate(_lines(folder / FILE), 1):
        try:
            place = int(line["experiment"]), str(line["service"])
            if "size" in line:
                sizes[place] = (*sizes.get(place, ()), int(line["size"]))
            elif "unread" in line:
                unread.add(place)
            elif "measured" in line:
                judges[place] = Detection(*(int(one) for one in line["measured"]))
                tables[place] = tuple(tuple(int(n) for n in row) for row in line.get("table", ()))
                _drop_models(labels.get(place, {}))
            else:
                part, name = line["place"]
                key, label, by, at = (str(line[one]) for one in ("key", "label", "by", "at"))
                by_lot = bool(line.get("lot", True))
                kind = str(line.get("kind", ""))
                record = LabelRecord(*place, key, label, by, at, (str(part), str(name)), by_lot, kind)
                if not by_lot:
                    of_unread.setdefault(place, set()).add(key)
                labels.setdefault(place, {}).setdefault(record.key, {})[record.by] = record
        except (KeyError, TypeError, ValueError):
            raise StoreError(f"{folder / FILE} is damaged", got=f"line {number}", do="restore it") from None
    kept = {
        place: {
            key: {by: one for by, one in given.items() if one.label}
            for key, given in mine.items()
            if any(one.label for one in given.values())
        }
        for place, mine in labels.items()
    }
    early = {place: frozenset(keys) for place, keys in of_unread.items()}
    return AuditLog(sizes, frozenset(unread), kept, judges, tables, early)


def _drop_models(labels: Mapping[str, dict[str, LabelRecord]]) -> None:
    """Take out what an earlier model said: its labels would be corrected by the errors of the next one."""
    for given in labels.values():
        for by in [one for one in given if one.startswith(JUDGE)]:
            del given[by]


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    if not file.exists():
        return
    with map_errors(file):
        if file.stat().st_size > _MOST:
            raise StoreError(f"{file} is damaged", must=f"at most {_MOST:,} bytes")
        raw = file.read_bytes()
    whole, _, _ = raw.rpartition(b"\n")
    for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
        found = json_or_none(line)
        if not isinstance(found, dict):
            raise StoreError(f"{file} is damaged", got=f"line {number} is not a JSON object", do="restore it")
        yield found


def append(folder: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Add lines to the audits of a run; they are on disk when this returns."""
    file = folder / FILE
    data = "".join(f"{canonical(dict(one))}\n" for one in lines).encode()
    with map_errors(file):
        handle = open_private(file, os.O_RDWR | os.O_APPEND)
        with os.fdopen(handle, "r+b") as opened:
            size = opened.seek(0, os.SEEK_END)
            if size:
                opened.seek(size - 1)
                if opened.read(1) != b"\n":  # a line that a crash cut off
                    opened.seek(0)
                    opened.truncate(opened.read().rfind(b"\n") + 1)
            opened.seek(0, os.SEEK_END)
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())


def resolve(
    given: Mapping[str, Mapping[str, LabelRecord]],
    detection: Detection | None,
    sampled: int,
    errors: tuple[tuple[int, ...], ...] = (),
) -> AuditLabels:
    """One label an answer: that of most people who read it, of equals the first; else a model's."""
    labels: dict[tuple[str, str], str] = {}
    of_unread: dict[tuple[str, str], str] = {}
    by_kind: dict[str, list[Counter[str]]] = {}
    labellers: set[str] = set()
    judges: set[str] = set()
    unresolved, twice = 0, 0
    arbiters = _arbiters(given)
    for every in given.values():
        people = {by: one for by, one in every.items() if not by.startswith(JUDGE)}
        counted = sorted((people or every).values(), key=lambda one: (one.at, one.by))
        labellers |= {one.by for one in counted}
        judges |= {one.by.removeprefix(JUDGE) for one in counted if one.by.startswith(JUDGE)}
        votes = Counter(one.label for one in counted)
        twice += votes.total() > 1
        own = Counter(one.label for one in counted if one.by not in arbiters)
        by_kind.setdefault(counted[0].kind, []).append(own)
        ((label, _),) = votes.most_common(1)
        unresolved += _is_tied(votes)
        if any(one.by_lot for one in every.values()):
            labels[counted[0].place] = label
        elif people:  # a model's labels of what nobody could read are no evidence
            of_unread[counted[0].place] = label
    kappa = fleiss_kappa(*map(_table, by_kind.values()))
    return AuditLabels(
        labels,
        sampled,
        len(labellers),
        twice,
        None if kappa != kappa else float(kappa),
        unresolved,
        ", ".join(sorted(judges)),
        detection if judges else None,
        errors if judges else (),
        of_unread,
    )


def _table(votes: Sequence[Counter[str]]) -> list[list[int]]:
    """How many people gave each answer each label, [answers, labels]."""
    labels = sorted({label for one in votes for label in one})
    return [[one[label] for label in labels] for one in votes]


def _arbiters(given: Mapping[str, Mapping[str, LabelRecord]]) -> set[str]:
    """People who labelled nothing but answers that others had read differently, with no majority.

    Whichever label they choose agrees with somebody, so theirs say nothing of how far people agree.
    """
    asked, alone = set[str](), set[str]()
    for every in given.values():
        votes = Counter[str]()
        for by, one in every.items():  # in the order in which they first labelled it
            if by.startswith(JUDGE):
                continue
            (asked if _is_tied(votes) else alone).add(by)
            votes[one.label] += 1
    return asked - alone


def _is_tied(votes: Counter[str]) -> bool:
    """Whether people chose several labels, and no one label most often."""
    (_, most), *others = votes.most_common() or [("", 0)]
    return bool(others and others[0][1] == most)


def disagreements(given: Mapping[str, Mapping[str, LabelRecord]]) -> list[str]:
    """Keys of answers that people read differently, and that no majority decides."""
    return [
        key
        for key, every in given.items()
        if _is_tied(Counter(one.label for by, one in every.items() if not by.startswith(JUDGE)))
    ]


def with_gaps(
    labels: AuditLabels,
    items: Sequence[AuditItem],
    given: Mapping[str, Mapping[str, LabelRecord]],
    of_unread: Collection[str] = (),
) -> AuditLabels:
    """Labels that know which answers were passed over, of the sample of each reader (`SampleGaps`).

    What was labelled for being unread, before the lot held it, says nothing of how far the labellers came;
    beyond that it is no part of the sample.

    Args:
        labels: of these answers.
        items: of the sample, in the order in which they are labelled.
        given: key -> labeller -> label.
        of_unread: keys of answers that were labelled for being unread first.
    """
    by_reader: dict[str, list[AuditItem]] = {}
    for item in items:
        if item.by_lot:
            by_reader.setdefault(item.reader, []).append(item)
    found, late = {}, set[tuple[str, str]]()
    for reader, drawn in by_reader.items():
        reached = [place for place, one in enumerate(drawn) if one.key in given and one.key not in of_unread]
        end = max(reached, default=-1) + 1
        over = frozenset(one.place for one in drawn[:end] if one.key not in given)
        late |= {one.place for one in drawn[end:] if one.place in labels.labels}
        if over:
            found[reader] = SampleGaps(over, end)
    by_lot = {place: label for place, label in labels.labels.items() if place not in late}
    apart = {} if labels.judge else {place: labels.labels[place] for place in late}
    return replace(labels, labels=by_lot, unread={**labels.unread, **apart}, gaps=found)
