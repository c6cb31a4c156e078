"""Every engine passes the kit, and the kit finds engines that break their contract."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from tests.apps.distributed.pools import Threads
from trustgauge import plugins
from trustgauge.apps.distributed.engine import DistributedEngine
from trustgauge.engine import AnswerSink, BudgetLimits, Watch
from trustgauge.engine.conformance import check_engine
from trustgauge.engine.local import EngineConfig, EngineOutcome, Interruption, Job, LocalEngine
from trustgauge.errors import TrustgaugeError
from trustgauge.records import Answer, Cost


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "dask" else [])
        for name in plugins.names("engines")
    ],
)
def test_every_engine(name: str, tmp_path: Path) -> None:
    if name == "dask":
        pytest.importorskip("distributed")
    check_engine(plugins.load("engines", name).at, tmp_path)


def test_several_workers(tmp_path: Path) -> None:
    check_engine(lambda site: DistributedEngine(site, lambda _: Threads()), tmp_path)


class Changing(LocalEngine):
    """Changes what it is given."""

    def start(self, keep: AnswerSink, limits: BudgetLimits, watch: Watch | None) -> None:
        super().start(self.sink(keep), self.limits(limits), self.watching(watch))

    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        return super().run([replace(job, units=self.units(job)) for job in jobs])

    def sink(self, keep: AnswerSink) -> AnswerSink:
        return keep

    def limits(self, limits: BudgetLimits) -> BudgetLimits:
        return limits

    def watching(self, watch: Watch | None) -> Watch | None:
        return watch

    def units(self, job: Job) -> Sequence[Any]:
        return job.units


class Losing(Changing):
    def units(self, job: Job) -> Sequence[Any]:
        return job.units[1:]


class Merging(Changing):
    def units(self, job: Job) -> Sequence[Any]:
        return [unit for unit in job.units if not unit[0].draw]


class Forgetful(Changing):
    def units(self, job: Job) -> Sequence[Any]:
        return [(turn,) for unit in job.units for turn in unit]


class Inventing(Changing):
    def units(self, job: Job) -> Sequence[Any]:
        return [*job.units, *((replace(one, draw=7),) for (one, *_) in job.units[:1] if not one.session)]


class Doubling(Changing):
    def sink(self, keep: AnswerSink) -> AnswerSink:
        return lambda *answers: keep(*answers, *answers)


class Hopeful(Changing):
    def sink(self, keep: AnswerSink) -> AnswerSink:
        return lambda *answers: keep(*(one for one in answers if one.status != "failed"))


class Cheap(Changing):
    def sink(self, keep: AnswerSink) -> AnswerSink:
        return lambda *answers: keep(*(replace(one, attempts=min(one.attempts, 1)) for one in answers))


class Tidy(Changing):
    def sink(self, keep: AnswerSink) -> AnswerSink:
        def tidied(one: Answer) -> Answer:
            return replace(one, output=one.output and one.output.rstrip("0123456789"))

        return lambda *answers: keep(*map(tidied, answers))


class Deaf(Changing):
    def sink(self, keep: AnswerSink) -> AnswerSink:
        def kept(*answers: Answer) -> None:
            with suppress(TrustgaugeError):
                keep(*answers)

        return kept


class Unlimited(Changing):
    def limits(self, limits: BudgetLimits) -> BudgetLimits:
        return BudgetLimits()


class Fresh(Changing):
    def limits(self, limits: BudgetLimits) -> BudgetLimits:
        return replace(limits, before=Cost())


class Renewing(LocalEngine):
    def start(self, keep: AnswerSink, limits: BudgetLimits, watch: Watch | None) -> None:
        super().start(keep, limits, watch)
        self.given = keep, limits, watch

    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        super().start(*self.given)
        return super().run(jobs)


class Silent(Changing):
    def watching(self, watch: Watch | None) -> Watch | None:
        return None


class Chatty(Changing):
    def watching(self, watch: Watch | None) -> Watch | None:
        return watch and (lambda event: watch({**event, "event": event["event"].upper()}))


class Unreserved(LocalEngine):
    @classmethod
    def at(cls, site: EngineConfig) -> Self:
        return super().at(replace(site, ledger=None))


class Elsewhere(LocalEngine):
    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(super().run, jobs).result()


class Miscounting(LocalEngine):
    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        return replace(super().run(jobs), calls=0)


class Vague(LocalEngine):
    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        outcome = super().run(jobs)
        for tally in outcome.tallies.values():
            tally.stopped = None
        return outcome


class Stubborn(LocalEngine):
    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        try:
            return super().run(jobs)
        except Interruption as interrupted:
            return interrupted.outcome


class Content(LocalEngine):
    def run(self, jobs: Sequence[Job]) -> EngineOutcome:
        return replace(super().run(jobs), stopped=None)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (Losing, "units were never asked"),
        (Merging, "units were never asked"),
        (Forgetful, "becomes .* must be"),
        (Inventing, "answers that nobody asked for"),
        (Doubling, "given to `keep` twice"),
        (Hopeful, "units were never asked"),
        (Cheap, "becomes .* must be"),
        (Tidy, "becomes .* must be"),
        (Deaf, "goes on although `keep` raises SameAnswerError"),
        (Unlimited, "calls where 11 are left"),
        (Fresh, "calls where 11 are left"),
        (Renewing, "calls where 11 are left"),
        (Silent, "tells `plan` 0 times; must be 5"),
        (Chatty, "tells what nobody knows"),
        (Unreserved, "before it is reserved"),
        (Elsewhere, "in another thread"),
        (Miscounting, "counts 0 calls"),
        (Vague, "it counts .*locked.*; must be"),
        (Stubborn, "does not end it with an Interruption"),
        (Content, "does not say that a limit was reached"),
    ],
)
def test_the_kit_finds_what_is_broken(broken: type[LocalEngine], fault: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_engine(broken.at, tmp_path)
