"""Audits: a blind sample of a run's own answers, and its labels in the run's folder (methods 0.10 (4)).

What is drawn follows from the plan, the answers and the size alone. Labels are lines of `audit.jsonl`, each
on disk before it is acknowledged; the last of a labeller about an answer counts. Everything is derived from
them again, so `verify` covers them.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.errors import Fault, PlanError, StoreError
from trustgauge.methods import AuditUser, Method, UnreadLabelUser
from trustgauge.plan import load_plan
from trustgauge.rating.audit import (
    ALIKE,
    CARRIES,
    COARSE,
    ELEMENT,
    FEWEST_ITEMS,
    FINE,
    LABELS_OF_EACH,
    LARGEST_DEFAULT,
    PER_STRATUM,
    READER,
    SAMPLE,
    UNREAD,
    AuditLabels,
    Choice,
)
from trustgauge.records import canonical, digest
from trustgauge.run.rate import StoredAnswers, answer_batches
from trustgauge.run.second_judge import stored_judges, with_replies
from trustgauge.run.targets import Target, design, experiment_seed, methods
from trustgauge.stats.agreement import fleiss_kappa
from trustgauge.stats.misclassification import Detection
from trustgauge.stats.two_phase import allocate
from trustgauge.store import open_store
from trustgauge.store.folder import map_errors, open_private, read_manifest

FILE = "audit.jsonl"
TOGETHER = 40  # answers among which those of one pair of groups are scattered
LOT = "lot"
"""Column: whether a sample that was drawn by lot holds an answer."""
DUE = "due"
"""Column: whether people must read an answer for want of a reader that can."""
JUDGE = "judge: "
"""Before the name of a labeller that is a chat service."""
LONGEST_BY = 80
_MOST = 1 << 26  # bytes of the file


@dataclass(frozen=True, slots=True)
class AuditItem:
    """One answer to be labelled. Neither the service nor the judge's verdict is in it."""

    key: str
    kind: str
    question: str
    answer: str
    a: str
    b: str
    place: tuple[str, str]  # part and id of the probe
    by_lot: bool = True  # whether it was drawn by lot, and not only because it is unread


@dataclass(frozen=True)
class AuditSample:
    """What was drawn of one service.

    Attributes:
        experiment: its place in the plan.
        service: whose answers they are.
        items: in the order in which they are shown.
        choices: labels by kind.
        population: answers that could have been drawn.
    """

    experiment: int
    service: str
    items: tuple[AuditItem, ...]
    choices: Mapping[str, Sequence[Choice]]
    population: int


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """One line: a label that a labeller gave an answer; "" takes it back."""

    experiment: int
    service: str
    key: str
    label: str
    by: str
    at: str
    place: tuple[str, str]
    by_lot: bool = True


@dataclass(frozen=True)
class AuditLog:
    """The lines of a run's audits.

    Attributes:
        sizes: (experiment, service) -> sizes of the samples that were drawn.
        unread: (experiment, service) of which all answers were drawn that the reader had abstained from.
        labels: (experiment, service) -> key -> labeller -> label.
        judges: (experiment, service) -> labelled items on which its model judge was measured.
        tables: likewise by true class and what the judge said, where it tells several classes.
    """

    sizes: Mapping[tuple[int, str], tuple[int, ...]]
    unread: frozenset[tuple[int, str]]
    labels: Mapping[tuple[int, str], Mapping[str, Mapping[str, LabelRecord]]]
    judges: Mapping[tuple[int, str], Detection]
    tables: Mapping[tuple[int, str], tuple[tuple[int, ...], ...]]


def read_log(folder: Path) -> AuditLog:
    """The audits of a run folder; none if there are none.

    A last line that was cut off by a crash was never acknowledged and is passed over.

    Raises:
        StoreError: the file is damaged.
    """
    sizes: dict[tuple[int, str], tuple[int, ...]] = {}
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
            else:
                part, name = line["place"]
                key, label, by, at = (str(line[one]) for one in ("key", "label", "by", "at"))
                by_lot = bool(line.get("lot", True))
                record = LabelRecord(*place, key, label, by, at, (str(part), str(name)), by_lot)
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
    return AuditLog(sizes, frozenset(unread), kept, judges, tables)


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    if not file.exists():
        return
    with map_errors(file):
        if file.stat().st_size > _MOST:
            raise StoreError(f"{file} is damaged", must=f"at most {_MOST:,} bytes")
        raw = file.read_bytes()
    whole, _, _ = raw.rpartition(b"\n")
    for number, line in enumerate(whole.split(b"\n") if whole else (), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
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


class Audit:
    """The audit of one service of a run.

    Args:
        folder: of the run.
        service: whose answers they are; may be left out where there is one.
        method: of the rating; may be left out where one method rates the service.
        experiment: its place in the plan, in place of `method`.

    Raises:
        PlanError: there is no such service, or its method has no reader to be audited.
    """

    def __init__(
        self, folder: Path, service: str = "", method: str = "", *, experiment: int | None = None
    ) -> None:
        self.folder = folder
        self.plan = load_plan(folder / "plan.toml")
        facts = read_manifest(folder).get("subjects") or []
        self._targets = [Target.from_facts(one) for one in facts]
        with open_store(folder) as store:
            self._methods = with_replies(methods(self.plan), stored_judges(folder), StoredAnswers(store))
        able = {
            (one.experiment, one.service): self._methods[one.experiment].name
            for one in self._targets
            if one.control is None and _auditable(self._methods[one.experiment])
        }
        named = [
            place
            for place, name in able.items()
            if service in ("", place[1]) and method in ("", name) and experiment in (None, place[0])
        ]
        names = ", ".join(dict.fromkeys(name for _, name in able))
        if not able:
            what = "no rating that can be audited"
            must = "a rating by social-bias, two-step, or trust with abuse or leakage, under the rule sound"
            raise PlanError((Fault(self.plan.name, what, must=must),))
        if not named and experiment is not None:
            method_name = self._methods[experiment].name
            what = f"no rating of {service or 'a service'} by {method_name} that can be audited"
            raise PlanError((Fault("ID", what, must=f"one of: {names}"),))
        if not named and method and method not in able.values():
            must = f"one of: {', '.join(dict.fromkeys(able.values()))}"
            raise PlanError((Fault("--method", "no rating to audit", must=must, got=method),))
        if not named:
            what = f"no answers to audit in {folder.name}"
            got = service or self.plan.name
            raise PlanError((Fault("--service", what, must=f"one of: {names}", got=got),))
        if len({name for _, name in named}) > 1:
            what = "several services can be audited"
            raise PlanError((Fault("--service", what, must=f"one of: {names}"),))
        if len({able[place] for place in named}) > 1:
            must = f"one of: {', '.join(able[place] for place in named)}"
            raise PlanError((Fault("--method", "several ratings can be audited", must=must),))
        if len(named) > 1:
            must = f"the id of a rating, as `trustgauge list ratings` shows it, such as {folder.name}.2"
            raise PlanError((Fault("ID", "several ratings of the service can be audited", must=must),))
        self.experiment, self.service = named[0]

    @property
    def place(self) -> tuple[int, str]:
        """Experiment and service, as lines name them."""
        return self.experiment, self.service

    @property
    def method(self) -> AuditUser:
        """The experiment, without any labels."""
        method = self._methods[self.experiment]
        assert isinstance(method, AuditUser)
        return method

    def sample(self, size: int | None = None) -> AuditSample:
        """What is drawn: all samples of this run so far together, and one of `size`.

        Args:
            size: answers to draw; None for what was drawn before.
        """
        frame = self._with_lot(size)
        unread = self.place in read_log(self.folder).unread
        return self._shown(frame, (pl.col(LOT) | pl.col(DUE)) if unread else pl.col(LOT))

    def unread_sample(self) -> AuditSample:
        """The answers that the reader abstained from, and two of each that are read together."""
        return self._shown(self._with_lot(), pl.col(DUE))

    def keys_by_lot(self) -> Mapping[str, bool]:
        """Key of every answer that can be labelled -> whether a sample that was drawn by lot holds it."""
        return {one.key: one.by_lot for one in self._shown(self._with_lot(), pl.lit(value=True)).items}

    def _with_lot(self, size: int | None = None) -> pl.DataFrame:
        """All answers, and whether a sample holds them that was drawn by lot, or one of `size`."""
        frame = self.frame()
        sizes = {*read_log(self.folder).sizes.get(self.place, ()), *([size] if size else [])}
        drawn = {
            one
            for mine in frame.partition_by(READER)
            for each in sizes
            for one in drawn_elements(mine, each, self.plan.seed)
        }
        labels = resolve(read_log(self.folder).labels.get(self.place, {}), None, 0)
        return frame.with_columns(
            pl.col(ELEMENT).is_in(list(drawn)).alias(LOT),
            due(frame, {**labels.labels, **labels.unread}, self.plan.seed).alias(DUE),
        )

    def _shown(self, frame: pl.DataFrame, wanted: pl.Expr) -> AuditSample:
        """These answers in the order in which they are labelled."""
        by_lot = drawn_order(frame, self.plan.seed)
        order = sorted(by_lot, key=lambda one: (by_lot[one], one))
        places = {one: place for place, one in enumerate(order)}
        rows = frame.filter(wanted).with_columns(
            _order=pl.col(ELEMENT).replace_strict(places or {"": 0}, default=0, return_dtype=pl.Int64)
        )
        items = [_item(row, self.place) for row in rows.sort("_order", "id").iter_rows(named=True)]
        shown = []
        for start in range(0, len(items), TOGETHER):
            shown += sorted(items[start : start + TOGETHER], key=lambda one: one.key)
        return AuditSample(
            self.experiment, self.service, tuple(shown), self.method.audit_choices, frame.height
        )

    def default_size(self) -> int:
        """How many answers to draw: 200, or what 30 items and a fifth of each kind that carries it take.

        Where a method has several readers, the most that one of them takes.
        """
        most: float = SAMPLE
        for frame in self.frame().partition_by(READER):
            found = _elements(frame, self.plan.seed).filter(CARRIES)
            kinds = found.group_by(pl.col(COARSE).str.replace("/[^/]*$", "")).agg(
                pl.len(), pl.col("answers").mean()
            )
            need: float = sum(min(n, 1.2 * FEWEST_ITEMS) * answers for _, n, answers in kinds.iter_rows())
            most = max(most, need)
        return min(LARGEST_DEFAULT, math.ceil(most))

    def draw(self, size: int) -> AuditSample:
        """Draw a sample of at least `size` answers, and note that it was drawn."""
        known = read_log(self.folder).sizes.get(self.place, ())
        if size not in known:
            append(self.folder, [{"experiment": self.experiment, "service": self.service, "size": size}])
        sample = self.sample()
        self._count_by_lot(sample)
        return sample

    def _count_by_lot(self, sample: AuditSample) -> None:
        """Keep labels again that were given because their answers are unread, and which the lot now holds."""
        given = read_log(self.folder).labels.get(self.place, {})
        again: dict[str, list[tuple[AuditItem, str]]] = {}
        for item in sample.items:
            for by, record in given.get(item.key, {}).items():
                if item.by_lot and not record.by_lot:
                    again.setdefault(by, []).append((item, record.label))
        for by, labels in again.items():
            self.add(labels, by)

    def draw_unread(self) -> AuditSample:
        """Draw what people must read (`unread_sample`), and note that it was drawn.

        Raises:
            PlanError: the method does not read labels of these alone, or there are none.
        """
        method = self.method
        if not (isinstance(method, UnreadLabelUser) and method.fills_unread):
            must, do = (
                "a rating by social-bias or two-step in which a program reads words, under the rule sound",
                "Leave it out: `trustgauge audit ID` draws a sample",
            )
            raise PlanError((Fault("--unread", "not for this rating", must, do=do),))
        sample = self.unread_sample()
        if not sample.items:
            raise PlanError(
                (
                    Fault(
                        "--unread",
                        "nothing to label",
                        got="no answer was left unread, and none is read with others that say the same",
                    ),
                )
            )
        if self.place not in read_log(self.folder).unread:
            facts = {"experiment": self.experiment, "service": self.service, "unread": len(sample.items)}
            append(self.folder, [facts])
        return sample

    def add(self, labels: Sequence[tuple[AuditItem, str]], by: str) -> None:
        """Keep labels; "" takes one back. They are on disk when this returns."""
        at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        append(
            self.folder,
            [
                {
                    "experiment": self.experiment,
                    "service": self.service,
                    "key": item.key,
                    "label": label,
                    "by": by[:LONGEST_BY],
                    "at": at,
                    "place": list(item.place),
                    **({} if item.by_lot else {"lot": False}),
                }
                for item, label in labels
            ],
        )

    def frame(self) -> pl.DataFrame:
        """All answers that can be labelled (`AuditUser.audit_frame`)."""
        mine = [
            one
            for one in self._targets
            if (one.experiment, one.service) == self.place and one.control is None
        ]
        probes = design(self.plan, self._targets)
        method: Any = self.method
        with open_store(self.folder) as store:
            answers = StoredAnswers(store)
            frames = [method.score(rows) for one in mine for rows in answer_batches(one, probes, answers)]
        scores = pl.concat(frames)
        (rating, *_) = method.rate(method.summarise(scores), experiment_seed(self.plan.seed, self.experiment))
        frame: pl.DataFrame = method.audit_frame(scores, rating)
        return frame


def auditable_ratings(folder: Path) -> list[tuple[int, str]]:
    """Experiment and service of every rating of a run whose reader people can check."""
    known = methods(load_plan(folder / "plan.toml"))
    targets = [Target.from_facts(one) for one in read_manifest(folder).get("subjects") or []]
    able = [one for one in targets if one.control is None and _auditable(known[one.experiment])]
    return list(dict.fromkeys((one.experiment, one.service) for one in able))


def _auditable(method: Method) -> bool:
    """Whether people can check how the answers were read."""
    return isinstance(method, AuditUser) and bool(method.audit_choices)


def _item(row: Mapping[str, Any], place: tuple[int, str]) -> AuditItem:
    about = [*place, row["part"], row["id"], row["question"], row["answer"]]
    key = "a" + digest("audit", about)[:16]
    return AuditItem(
        key,
        row["kind"],
        row["question"],
        row["answer"],
        row["a"],
        row["b"],
        (row["part"], row["id"]),
        row[LOT],
    )


def _elements(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """What is drawn together, with its stratum, the answers it has, and its place in the order of the lot."""
    found = frame.group_by(ELEMENT, maintain_order=True).agg(
        pl.col(FINE, COARSE).first(), pl.col(CARRIES, UNREAD).any(), pl.len().alias("answers")
    )
    lot = [digest("audit lot", [seed, one]) for one in found[ELEMENT]]
    return found.with_columns(_lot=pl.Series(lot, dtype=pl.String)).sort("_lot")


def drawn_order(frame: pl.DataFrame, seed: int) -> Mapping[str, float]:
    """Element -> its place within its stratum, from 0 to 1: in this order any beginning is a fair sample."""
    found = _elements(frame, seed).with_columns(
        ((pl.int_range(pl.len()).over(FINE) + 0.5) / pl.len().over(FINE).sqrt()).alias("_at")
    )
    return dict(found.select(ELEMENT, "_at").iter_rows())


def drawn_elements(frame: pl.DataFrame, size: int, seed: int) -> list[str]:
    """The elements of a sample of so many answers, random within strata."""
    found = _elements(frame, seed)
    strata = (
        found.group_by(FINE)
        .agg(
            pl.len().alias("n"),
            pl.col("answers").mean(),
            # unread ones first, then those that carry the level
            (2 - pl.col(CARRIES).any().cast(pl.Int64) * (1 + pl.col(UNREAD).any().cast(pl.Int64)))
            .first()
            .alias("rank"),
        )
        .sort(FINE)
    )
    counts = allocate(
        strata["n"].to_list(), strata["answers"].to_list(), strata["rank"].to_list(), size, PER_STRATUM
    )
    take = dict(zip(strata[FINE].to_list(), counts.tolist(), strict=True))
    limit = pl.col(FINE).replace_strict(take, return_dtype=pl.Int64)
    return found.filter(pl.int_range(pl.len()).over(FINE) < limit)[ELEMENT].to_list()


def due(frame: pl.DataFrame, labels: Mapping[tuple[str, str], str], seed: int) -> pl.Series:
    """Whether people must read each answer for want of a reader that can.

    That are all that it abstained from. Of answers that are read together it is the first `LABELS_OF_EACH` of
    the lot; the labels of these may show that each must be read for itself.

    Args:
        frame: all answers that can be labelled.
        labels: of these, by part and id.
        seed: of the plan.
    """
    rows = frame.select("part", "id", ALIKE, UNREAD).with_row_index("_row")
    together = rows.filter(pl.col(ALIKE) != "")
    lot = [digest("audit wording", [seed, *place]) for place in together.select("part", "id").iter_rows()]
    said = [labels.get(place, "") for place in together.select("part", "id").iter_rows()]
    given = pl.col("_said").filter(pl.col("_said") != "")
    drawn = (
        together.with_columns(_lot=pl.Series(lot, dtype=pl.String), _said=pl.Series(said, dtype=pl.String))
        .sort(ALIKE, "_lot")
        .with_columns(
            _first=pl.int_range(pl.len()).over(ALIKE) < LABELS_OF_EACH,
            _apart=(given.n_unique().over(ALIKE) > 1) | given.str.starts_with("chooses").any().over(ALIKE),
        )
    )
    wanted = drawn.filter(pl.col("_first") | (pl.col("_apart") & pl.col(UNREAD)))["_row"].to_list()
    alone = (pl.col(ALIKE) == "") & pl.col(UNREAD)
    return rows.select(alone | pl.col("_row").is_in(wanted)).to_series()


# -- labels


def resolve(
    given: Mapping[str, Mapping[str, LabelRecord]],
    detection: Detection | None,
    sampled: int,
    errors: tuple[tuple[int, ...], ...] = (),
) -> AuditLabels:
    """One label an answer: that of most people who read it, of equals the first; else a model's."""
    labels: dict[tuple[str, str], str] = {}
    of_unread: dict[tuple[str, str], str] = {}
    table: list[Counter[str]] = []
    labellers: set[str] = set()
    judges: set[str] = set()
    unresolved = 0
    for every in given.values():
        people = {by: one for by, one in every.items() if not by.startswith(JUDGE)}
        counted = sorted((people or every).values(), key=lambda one: (one.at, one.by))
        labellers |= {one.by for one in counted}
        judges |= {one.by.removeprefix(JUDGE) for one in counted if one.by.startswith(JUDGE)}
        votes = Counter(one.label for one in counted)
        table.append(votes)
        (label, most), *others = votes.most_common()
        unresolved += bool(others and others[0][1] == most)
        if any(one.by_lot for one in every.values()):
            labels[counted[0].place] = label
        elif people:  # a model's labels of what nobody could read are no evidence
            of_unread[counted[0].place] = label
    kinds = sorted({label for votes in table for label in votes})
    counts = [[votes[kind] for kind in kinds] for votes in table if votes.total() > 1]
    kappa = fleiss_kappa(counts) if counts else float("nan")
    return AuditLabels(
        labels,
        sampled,
        len(labellers),
        len(counts),
        None if kappa != kappa else float(kappa),
        unresolved,
        ", ".join(sorted(judges)),
        detection if judges else None,
        errors if judges else (),
        of_unread,
    )


def disagreements(given: Mapping[str, Mapping[str, LabelRecord]]) -> list[str]:
    """Keys of answers that people read differently, and that no majority decides."""
    found = []
    for key, every in given.items():
        votes = Counter(one.label for by, one in every.items() if not by.startswith(JUDGE)).most_common()
        if len(votes) > 1 and votes[0][1] == votes[1][1]:
            found.append(key)
    return found


def with_labels(known: Sequence[Method], folder: Path) -> list[Method]:
    """The methods of a run, those of audited services knowing the labels."""
    log = read_log(folder)
    told = list(known)
    for index, method in enumerate(told):
        mine = {
            service: resolve(
                given,
                log.judges.get((experiment, service)),
                max(log.sizes.get((experiment, service), (0,))),
                log.tables.get((experiment, service), ()),
            )
            for (experiment, service), given in log.labels.items()
            if experiment == index and given
        }
        if mine and isinstance(method, AuditUser):
            told[index] = method.with_labels(mine)
    return told


def unknown_labels(folder: Path) -> Iterator[str]:
    """Labels of answers that no sample of the run holds: what an audit rests on must have been drawn."""
    for (experiment, service), given in read_log(folder).labels.items():
        by_lot = Audit(folder, service, experiment=experiment).keys_by_lot()
        for key, every in given.items():
            if key not in by_lot or any(one.by_lot for one in every.values()) > by_lot[key]:
                yield f"audit of {service}: {key} labels an answer that was not drawn"
