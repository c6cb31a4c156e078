"""Audits: a blind sample of a run's own answers, and its labels in the run's folder (methods 0.10 (4)).

`AuditableRatings` chooses the rating, `audit_sample` draws its answers, `audit_log` keeps and reads their
labels; `Audit` is all of it for one service of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from trustgauge.errors import Fault, PlanError
from trustgauge.methods import AuditUser, Method, UnreadLabelUser
from trustgauge.plan import load_plan
from trustgauge.rating.audit import ELEMENT, READER
from trustgauge.run.audit_log import LabelRecord, append, read_log, resolve, with_gaps
from trustgauge.run.audit_sample import (
    DRAW,
    DUE,
    LOT,
    AuditItem,
    AuditSample,
    default_size,
    drawn_elements,
    due,
    ordered_items,
)
from trustgauge.run.rate import StoredAnswers, answer_batches
from trustgauge.run.second_judge import stored_judges, with_replies
from trustgauge.run.targets import Target, design, experiment_seed, methods
from trustgauge.store import open_store
from trustgauge.store.folder import read_manifest

LONGEST_BY = 80


class AuditableRatings:
    """The ratings of a run whose reader people can check.

    Attributes:
        plan: of the run.
        targets: of the run.
        methods: of the run, as its plan has them.
        names: experiment and service of each rating -> its method.
    """

    def __init__(self, folder: Path) -> None:
        self._run = folder.name
        self.plan = load_plan(folder / "plan.toml")
        self.targets = [Target.from_facts(one) for one in read_manifest(folder).get("subjects") or []]
        self.methods = methods(self.plan)
        able = [
            index
            for index, one in enumerate(self.methods)
            if isinstance(one, AuditUser) and one.audit_choices
        ]
        self.names = {
            (one.experiment, one.service): self.methods[one.experiment].name
            for one in self.targets
            if one.control is None and one.experiment in able
        }

    def choose(self, service: str, method: str, experiment: int | None) -> tuple[int, str]:
        """Experiment and service of the one rating that is meant.

        Args:
            service: "" for any.
            method: "" for any.
            experiment: its place in the plan; None for any.

        Raises:
            PlanError: there is none that can be audited, or there are several.
        """
        fitting = [
            (place, name)
            for place, name in self.names.items()
            if service in ("", place[1]) and method in ("", name) and experiment in (None, place[0])
        ]
        if len(fitting) == 1:
            return fitting[0][0]
        fault = self._several(dict(fitting)) if fitting else self._none(service, method, experiment)
        raise PlanError((fault,))

    def _none(self, service: str, method: str, experiment: int | None) -> Fault:
        """Why no rating is meant."""
        services = _one_of(service for _, service in self.names)
        if not self.names:
            must = "a rating by social-bias, two-step, or trust with abuse or leakage, under the rule sound"
            return Fault(self.plan.name, "no rating that can be audited", must=must)
        if experiment is not None:
            name = self.methods[experiment].name
            what = f"no rating of {service or 'a service'} by {name} that can be audited"
            return Fault("ID", what, must=services)
        if method and method not in self.names.values():
            return Fault("--method", "no rating to audit", must=_one_of(self.names.values()), got=method)
        what = f"no answers to audit in {self._run}"
        return Fault("--service", what, must=services, got=service or self.plan.name)

    def _several(self, fitting: Mapping[tuple[int, str], str]) -> Fault:
        """Which choice is missing."""
        if len({service for _, service in fitting}) > 1:
            must = _one_of(service for _, service in self.names)
            return Fault("--service", "several services can be audited", must=must)
        if len(set(fitting.values())) > 1:
            return Fault("--method", "several ratings can be audited", must=_one_of(fitting.values()))
        must = f"the id of a rating, as `trustgauge list ratings` shows it, such as {self._run}.2"
        return Fault("ID", "several ratings of the service can be audited", must=must)


def _one_of(names: Iterable[str]) -> str:
    return f"one of: {', '.join(dict.fromkeys(names))}"


def auditable_ratings(folder: Path) -> list[tuple[int, str]]:
    """Experiment and service of every rating of a run whose reader people can check."""
    return list(AuditableRatings(folder).names)


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
        ratings = AuditableRatings(folder)
        self.experiment, self.service = ratings.choose(service, method, experiment)
        self.plan, self._targets = ratings.plan, ratings.targets
        with open_store(folder) as store:
            known = with_replies(ratings.methods, stored_judges(folder), StoredAnswers(store))
        self._method = known[self.experiment]

    @property
    def place(self) -> tuple[int, str]:
        """Experiment and service, as lines name them."""
        return self.experiment, self.service

    @property
    def labels(self) -> Mapping[str, Mapping[str, LabelRecord]]:
        """Labels so far: key of an answer -> labeller -> label."""
        return read_log(self.folder).labels.get(self.place, {})

    @property
    def method(self) -> AuditUser:
        """The experiment, without any labels."""
        assert isinstance(self._method, AuditUser)
        return self._method

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
        frame = self.frame
        sizes = [*read_log(self.folder).sizes.get(self.place, ()), *([size] if size else [])]
        drawn: dict[str, int] = {}
        for number, each in enumerate(sizes):
            for mine in frame.partition_by(READER):
                for element in drawn_elements(mine, each, self.plan.seed):
                    drawn.setdefault(element, number)
        first = pl.col(ELEMENT).replace_strict(drawn or {"": -1}, default=-1, return_dtype=pl.Int64)
        labels = resolve(self.labels, None, 0)
        return frame.with_columns(
            first.alias(DRAW),
            (first >= 0).alias(LOT),
            due(frame, {**labels.labels, **labels.unread}, self.plan.seed).alias(DUE),
        )

    def _shown(self, frame: pl.DataFrame, wanted: pl.Expr) -> AuditSample:
        """These answers in the order in which they are labelled."""
        items = ordered_items(frame, wanted, self.place, self.plan.seed)
        return AuditSample(self.experiment, self.service, items, self.method.audit_choices, frame.height)

    def default_size(self) -> int:
        """How many answers to draw where nobody says (`audit_sample.default_size`)."""
        return default_size(self.frame, self.plan.seed)

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
        given = self.labels
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
            raise PlanError.of("--unread", "not for this rating", must, do=do)
        sample = self.unread_sample()
        if not sample.items:
            raise PlanError.of(
                "--unread",
                "nothing to label",
                got="no answer was left unread, and none is read with others that say the same",
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
                    "kind": item.kind,
                    **({} if item.by_lot else {"lot": False}),
                }
                for item, label in labels
            ],
        )

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All answers that can be labelled (`AuditUser.audit_frame`): these take a rating of their own."""
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


def with_labels(known: Sequence[Method], folder: Path) -> list[Method]:
    """The methods of a run, those of audited services knowing the labels, and what was passed over."""
    log = read_log(folder)
    methods = list(known)
    for index, method in enumerate(methods):
        mine = {}
        for place, given in log.labels.items():
            if place[0] != index or not given:
                continue
            labels = resolve(
                given,
                log.judges.get(place),
                max(log.sizes.get(place, (0,))),
                log.tables.get(place, ()),
            )
            if labels.labels:
                sample = Audit(folder, place[1], experiment=index).sample()
                labels = with_gaps(labels, sample.items, given, log.of_unread.get(place, frozenset()))
            mine[place[1]] = labels
        if mine and isinstance(method, AuditUser):
            methods[index] = method.with_labels(mine)
    return methods


def unknown_labels(folder: Path) -> Iterator[str]:
    """Labels of answers that no sample of the run holds: what an audit rests on must have been drawn."""
    for (experiment, service), given in read_log(folder).labels.items():
        by_lot = Audit(folder, service, experiment=experiment).keys_by_lot()
        for key, every in given.items():
            if key not in by_lot or any(one.by_lot for one in every.values()) > by_lot[key]:
                yield f"audit of {service}: {key} labels an answer that was not drawn"
